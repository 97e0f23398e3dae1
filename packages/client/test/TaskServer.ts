/**
 * Servers that answer calls with tasks, in both ways that the protocol has had them.
 */
import type { Json } from "@mcp-effect/protocol"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { ClientOptions } from "../src/ClientOptions.ts"
import * as McpTask from "../src/McpTask.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"

export const createdAt = "2026-11-25T10:30:00Z"

const times = { createdAt, lastUpdatedAt: "2026-11-25T10:40:00Z" }

export const result: Json.JsonObject = { content: [{ type: "text", text: "done at last" }] }

/** The answer to a call that became a task of the extension. */
export const created = (more?: Json.JsonObject): Json.JsonObject => ({
  resultType: "task",
  taskId: "t-1",
  status: "working",
  ...times,
  ttlMs: null,
  ...more
})

/** The answer to `tasks/get` of the extension. */
export const state = (status: string, more?: Json.JsonObject): Json.JsonObject => ({
  resultType: "complete",
  taskId: "t-1",
  status,
  ...times,
  ttlMs: null,
  ...more
})

export const working = (more?: Json.JsonObject) => Scripted.answer(state("working", more))
export const completed = (more?: Json.JsonObject) => Scripted.answer(state("completed", { result, ...more }))
export const asking = (inputRequests: Json.JsonObject, more?: Json.JsonObject) =>
  Scripted.answer(state("input_required", { inputRequests, ...more }))

export const form = (message: string): Json.JsonObject => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: { name: { type: "string" } } } }
})

export const acknowledge = Scripted.answer({ resultType: "complete" })

export const declared = { [McpTask.extension]: {} }

export interface Setup {
  readonly get?: ReadonlyArray<Scripted.Handler>
  readonly call?: Scripted.Handler
  readonly more?: Scripted.Handlers
  readonly kind?: string
  readonly client?: ClientOptions
}

/** A server of the extension whose calls become the task `t-1`, and a client that declares it. */
export const modern = Effect.fnUntraced(function*(setup: Setup = {}) {
  const server = yield* Scripted.modern({
    "server/discover": Scripted.answer(
      Scripted.discovery({ capabilities: { ...Scripted.everyCapability, extensions: declared } })
    ),
    "tools/list": Scripted.answer({ tools: [] }),
    "tools/call": setup.call ?? Scripted.answer(created()),
    "tasks/get": Scripted.inTurn(...(setup.get ?? [completed()])),
    "tasks/update": acknowledge,
    "tasks/cancel": acknowledge,
    ...setup.more
  }, { kind: setup.kind ?? "stdio" })
  const client = yield* Asking.connectQuietly(server, { extensions: declared, ...setup.client })
  return { server, client }
})

/** A task of the core of 2025-11-25. */
export const core = (status: string, more?: Json.JsonObject): Json.JsonObject => ({
  taskId: "t-1",
  status,
  ...times,
  ttl: null,
  ...more
})

const coreCapabilities: Json.JsonObject = { list: {}, cancel: {}, requests: { tools: { call: {} } } }

const longTool = (taskSupport: string): Json.JsonObject => ({
  name: "long",
  inputSchema: { type: "object" },
  execution: { taskSupport }
})

/** A server of 2025-11-25 whose tool `long` becomes the task `t-1`, and a client of it. */
export const legacy = Effect.fnUntraced(function*(
  setup: Setup & { readonly taskSupport?: string; readonly tasks?: Json.JsonObject | undefined } = {}
) {
  const server = yield* Scripted.legacy({
    initialize: Scripted.answer(
      Scripted.initialization("2025-11-25", {
        capabilities: { tools: {}, tasks: Object.hasOwn(setup, "tasks") ? setup.tasks : coreCapabilities }
      })
    ),
    "tools/list": Scripted.answer({ tools: [longTool(setup.taskSupport ?? "required")] }),
    "tools/call": setup.call
      ?? (({ params, result: reply }) => reply(Object.hasOwn(params, "task") ? { task: core("working") } : result)),
    "tasks/get": Scripted.inTurn(...(setup.get ?? [Scripted.answer(core("completed"))])),
    "tasks/result": Scripted.answer({
      ...result,
      _meta: { "io.modelcontextprotocol/related-task": { taskId: "t-1" } }
    }),
    "tasks/cancel": Scripted.answer(core("cancelled")),
    ...setup.more
  }, { kind: setup.kind ?? "stdio" })
  const client = yield* Asking.connectQuietly(server, setup.client)
  return { server, client }
})

/** Lets what is under way come to rest, then time pass, in steps. */
export const pass = (millis: number, steps = 1): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (let i = 0; i < steps; i++) {
      yield* Scripted.settled
      yield* TestClock.adjust(millis)
    }
    yield* Scripted.settled
  })
