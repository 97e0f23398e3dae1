/**
 * Every way in which a call can be ended early, against every stage at which it can be: what the caller is told, what
 * the server is told, and that nothing is left behind.
 */
import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { type Json, McpError } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber, Option, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { ClientOptions } from "../src/ClientOptions.ts"
import type { McpHandlers } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"
import * as TaskServer from "./TaskServer.ts"

const { answer, inTurn, never } = Scripted

type End = "cancel" | "signal" | "deadline" | "interrupt"
const ends: ReadonlyArray<End> = ["cancel", "signal", "deadline", "interrupt"]

interface Stage {
  readonly name: string
  /** Everything but the call itself, which is made by `start` under the id "mine". */
  readonly open: () => Effect.Effect<
    { readonly server: Scripted.Server; readonly client: Asking.Client; readonly interrupted: () => number },
    McpError.McpError,
    Scope.Scope
  >
  /** Ends when the call has come to the stage. */
  readonly reach: (server: Scripted.Server) => Effect.Effect<void>
  /** What the deadline fails with. */
  readonly deadline: "RequestTimeout" | "InputRequired"
  /** What silence of the server comes to: an error, nothing, or that the call goes on without what was waited for. */
  readonly silence: "RequestTimeout" | "HeaderMismatch" | "waits" | "goes on"
  /** What is sent because the call has ended; `id` is that of the request that was in flight. */
  readonly told: (end: End) => ReadonlyArray<unknown>
  /** How many handlers are interrupted. */
  readonly handlers: number
}

const reasonOf = (end: End): { readonly reason?: string } => {
  if (end === "interrupt") return {}
  return { reason: end === "deadline" ? "Request timed out" : "why" }
}

const cancelled = (end: End, requestId: unknown) => ({
  method: "notifications/cancelled",
  params: { requestId, ...reasonOf(end) }
})
const taskCancelled = { method: "tasks/cancel", params: { taskId: "t-1" } }

const form: Json.JsonObject = {
  message: "Who?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } }
}
const question = Asking.inputRequired({ q: { method: "elicitation/create", params: form } }, "s")

/** Never answers, and counts how often it was interrupted. */
const pondering = () => {
  let interrupted = 0
  const handlers: McpHandlers = {
    elicitation: { form: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++)) }
  }
  return { handlers, interrupted: () => interrupted }
}

const decline: McpHandlers = { elicitation: { form: () => Effect.succeed({ action: "decline" }) } }

const modern = (handlers: Scripted.Handlers, options?: ClientOptions, transport?: Scripted.Options) =>
  Effect.gen(function*() {
    const server = yield* Scripted.modern(handlers, { kind: "stdio", ...transport })
    const client = yield* Asking.connectQuietly(server, options)
    return { server, client, interrupted: () => 0 }
  })

const listed = answer({ tools: ["work", "next"].map((name) => ({ name, inputSchema: { type: "object" } })) })

const sent = (method: string, count = 1) => (server: Scripted.Server): Effect.Effect<void> =>
  Effect.andThen(server.until(() => server.sentOf(method).length >= count), Scripted.settled)

const asked = (server: Scripted.Server): Effect.Effect<void> =>
  Effect.gen(function*() {
    const call = yield* server.take("tools/call")
    call.ask("q", "elicitation/create", form)
    yield* Scripted.settled
  })

const legacyAsking = (kind: string) =>
  Effect.gen(function*() {
    const { handlers, interrupted } = pondering()
    const server = yield* Scripted.legacy({ "tools/call": inTurn(never, answer(Asking.done)) }, { kind })
    const client = yield* Asking.connectQuietly(server, { handlers })
    return { server, client, interrupted }
  })

/** A legacy server that wants a page visited before its first call can succeed. */
const visiting = (options: ClientOptions, interrupted: () => number = () => 0) =>
  Effect.gen(function*() {
    const page = { mode: "url", message: "Pay", url: "https://pay.example", elicitationId: "e-1" }
    const required: Scripted.Handler = ({ error }) => error(-32042, "Visit it", { elicitations: [page] })
    const server = yield* Scripted.legacy({ "tools/call": inTurn(required, answer(Asking.done)) }, { kind: "stdio" })
    const client = yield* Asking.connectQuietly(server, options)
    return { server, client, interrupted }
  })

/** A server of 2025-11-25 whose calls become a task that is done, but whose result is not told. */
const coreTask = (kind: string) =>
  Effect.gen(function*() {
    const { handlers, interrupted } = pondering()
    const made = yield* TaskServer.legacy({
      taskSupport: "optional",
      call: inTurn(answer({ task: TaskServer.core("working") }), answer(Asking.done)),
      more: {
        "tools/list": answer({
          tools: ["work", "next"].map((name) => ({
            name,
            inputSchema: { type: "object" },
            execution: { taskSupport: name === "work" ? "required" : "forbidden" }
          }))
        }),
        "tasks/result": never
      },
      kind,
      client: { handlers }
    })
    return { ...made, interrupted }
  })

/** A server whose first call becomes a task, and whose later calls are answered. */
const task = (get: ReadonlyArray<Scripted.Handler>) =>
  Effect.map(
    TaskServer.modern({ call: inTurn(answer(TaskServer.created()), answer(Asking.done)), get }),
    (made) => ({ ...made, interrupted: () => 0 })
  )

const stages: ReadonlyArray<Stage> = [
  {
    name: "while the client connects",
    open: () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "server/discover": inTurn(never, answer(Scripted.discovery())),
          "tools/call": answer(Asking.done)
        }, { kind: "stdio" })
        const client = yield* Asking.connectQuietly(server, { lazy: true, protocol: "modern", probeTimeout: "1 hour" })
        return { server, client, interrupted: () => 0 }
      }),
    reach: sent("server/discover"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [],
    handlers: 0
  },
  {
    name: "while the list is read on its behalf",
    open: () =>
      modern(
        { "tools/list": inTurn(never, answer({ tools: [] })), "tools/call": answer(Asking.done) },
        {},
        { kind: "streamable-http" }
      ),
    reach: sent("tools/list"),
    deadline: "RequestTimeout",
    silence: "goes on",
    told: () => [],
    handlers: 0
  },
  {
    name: "in flight",
    open: () => modern({ "tools/call": inTurn(never, answer(Asking.done)) }),
    reach: sent("tools/call"),
    deadline: "RequestTimeout",
    silence: "RequestTimeout",
    told: (end) => [cancelled(end, "mine")],
    handlers: 0
  },
  {
    name: "in a handler of a modern server",
    open: () =>
      Effect.gen(function*() {
        const { handlers, interrupted } = pondering()
        const made = yield* modern({ "tools/call": inTurn(answer(question), answer(Asking.done)) }, { handlers })
        return { ...made, interrupted }
      }),
    reach: sent("tools/call"),
    deadline: "InputRequired",
    silence: "waits",
    told: () => [],
    handlers: 1
  },
  {
    name: "in a handler of a legacy server, on a shared channel",
    open: () => legacyAsking("stdio"),
    reach: asked,
    deadline: "RequestTimeout",
    silence: "waits",
    told: (end) => [
      { id: "q", error: { code: -32603, message: "Cancelled" } },
      cancelled(end, "mine")
    ],
    handlers: 1
  },
  {
    name: "in a handler of a legacy server, on the stream of the call",
    open: () => legacyAsking("streamable-http"),
    reach: asked,
    deadline: "RequestTimeout",
    silence: "waits",
    told: (end) => [cancelled(end, "mine")],
    handlers: 1
  },
  {
    name: "in the second round",
    open: () =>
      modern(
        { "tools/call": inTurn(answer(question), never, answer(Asking.done)) },
        { handlers: decline }
      ),
    reach: sent("tools/call", 2),
    deadline: "RequestTimeout",
    silence: "RequestTimeout",
    told: (end) => [cancelled(end, "second")],
    handlers: 0
  },
  {
    name: "in a pause between rounds",
    open: () =>
      modern({
        "tools/call": inTurn(
          ...Array.from({ length: 2 }, () => answer(Asking.inputRequired(undefined, "s"))),
          answer(Asking.done)
        )
      }, {
        onInputRequiredWait: ({ round }) =>
          round === 0 ? Effect.succeed("retry") : Effect.as(Effect.sleep("1 hour"), "wait")
      }),
    reach: sent("tools/call", 2),
    deadline: "InputRequired",
    silence: "waits",
    told: () => [],
    handlers: 0
  },
  {
    name: "while the list is read anew after -32020",
    open: () =>
      modern(
        {
          "tools/list": inTurn(listed, never, listed),
          "tools/call": inTurn(({ error }) => error(-32020, "mismatch", undefined, 400), answer(Asking.done))
        },
        {},
        { kind: "streamable-http" }
      ),
    reach: sent("tools/list", 2),
    deadline: "RequestTimeout",
    silence: "HeaderMismatch",
    told: () => [],
    handlers: 0
  },
  {
    name: "while a page is to be visited",
    open: () => {
      let interrupted = 0
      const url = () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      return visiting({ handlers: { elicitation: { url } } }, () => interrupted)
    },
    reach: sent("tools/call"),
    deadline: "InputRequired",
    silence: "waits",
    told: () => [],
    handlers: 1
  },
  {
    name: "while a visit is not over",
    open: () =>
      visiting({
        handlers: { elicitation: { url: () => Effect.succeed(true) } },
        onInputRequiredWait: () => Effect.as(Effect.sleep("1 hour"), "wait")
      }),
    reach: sent("tools/call"),
    deadline: "InputRequired",
    silence: "waits",
    told: () => [],
    handlers: 0
  },
  {
    name: "while the result of its core task is awaited",
    open: () => coreTask("stdio"),
    reach: sent("tasks/result"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [cancelled("interrupt", "result"), taskCancelled],
    handlers: 0
  },
  {
    name: "in a handler of its core task, on the stream of the result",
    open: () => coreTask("streamable-http"),
    reach: (server) =>
      Effect.gen(function*() {
        const result = yield* server.take("tasks/result")
        result.ask("q", "elicitation/create", form)
        yield* Scripted.settled
      }),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [cancelled("interrupt", "result"), taskCancelled],
    handlers: 1
  },
  {
    name: "between two polls of its task",
    open: () => task([TaskServer.working({ pollIntervalMs: 3_600_000 })]),
    reach: sent("tasks/get"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [taskCancelled],
    handlers: 0
  },
  {
    name: "in a poll of its task",
    open: () => task([never]),
    reach: sent("tasks/get"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [cancelled("interrupt", "poll"), taskCancelled],
    handlers: 0
  },
  {
    name: "in a handler of its task",
    open: () =>
      Effect.gen(function*() {
        const { handlers, interrupted } = pondering()
        const made = yield* TaskServer.modern({
          call: inTurn(answer(TaskServer.created()), answer(Asking.done)),
          get: [TaskServer.asking({ q: TaskServer.form("?") })],
          client: { handlers }
        })
        return { ...made, interrupted }
      }),
    reach: sent("tasks/get"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [taskCancelled],
    handlers: 1
  }
]

/** What a message says, without what is the same for every request, and with names for the ids of later requests. */
const summary = (server: Scripted.Server) => (entry: Scripted.Sent): unknown => {
  if (entry.method === undefined) {
    const { id, error } = entry.message
    return { id, error }
  }
  const names = new Map<unknown, string>([
    [server.sentOf("tools/call")[1]?.id, "second"],
    [server.sentOf("tasks/get")[0]?.id, "poll"],
    [server.sentOf("tasks/result")[0]?.id, "result"]
  ])
  const { requestId, ...rest } = entry.content
  if (requestId === undefined) return { method: entry.method, params: rest }
  const name = names.get(requestId) ?? requestId
  // Why a task is not asked about any more concerns nobody.
  const isAboutTask = name === "poll" || name === "result"
  return { method: entry.method, params: isAboutTask ? { requestId: name } : { requestId: name, ...rest } }
}

const asText = (value: unknown): string => JSON.stringify(value)

describe("A call that is ended early", () => {
  for (const stage of stages) {
    verifies(
      ["TMO-03", "TMO-16", "TAS-34", "MRT-09", "PAIN-6"],
      `${stage.name}: by cancel, signal, deadline or interruption`,
      () =>
        Effect.gen(function*() {
          for (const end of ends) {
            const { client, interrupted, server } = yield* stage.open()
            const controller = new AbortController()
            const fiber = yield* Asking.start(
              client.callTool("work", {}, { requestId: "mine", signal: controller.signal, deadline: "10 seconds" })
            )
            yield* stage.reach(server)
            assert.isUndefined(fiber.pollUnsafe(), end)
            const before = server.sent.length
            const closed = server.streamsClosed.length
            switch (end) {
              case "cancel":
                yield* client.cancel("mine", "why")
                break
              case "signal":
                controller.abort("why")
                break
              case "deadline":
                yield* TestClock.adjust("10 seconds")
                break
              case "interrupt":
                yield* Fiber.interrupt(fiber)
            }
            const exit = yield* Fiber.await(fiber)
            yield* Scripted.settled

            const error = Option.getOrUndefined(Exit.findErrorOption(exit))
            if (end === "interrupt") assert.isTrue(Exit.hasInterrupts(exit))
            else if (end === "deadline") assert.strictEqual(error?.reason._tag, stage.deadline)
            else assert.deepStrictEqual(error?.reason, new McpError.Cancelled({ reason: "why" }), end)

            const messages = server.sent.slice(before).map(summary(server))
            assert.deepStrictEqual(messages.map(asText).sort(), stage.told(end).map(asText).sort(), end)
            assert.strictEqual(interrupted(), stage.handlers, end)
            // The stream of a modern request over HTTP is its cancellation.
            if (server.transport.kind === "streamable-http" && messages.length === 0) {
              assert.strictEqual(server.streamsClosed.length, closed + 1, end)
            }

            // Nothing comes after it, and nothing of it stands in the way of the next call, not even its id.
            const after = server.sent.length
            yield* TaskServer.pass(3_600_000)
            assert.strictEqual(server.sent.length, after, end)
            yield* Asking.start(client.cancel("mine", "again"))
            if (stage.name !== "while the client connects") {
              assert.deepStrictEqual<unknown>(yield* client.callTool("next", {}, { requestId: "mine" }), Asking.done)
            }
          }
        }),
      30_000
    )
  }

  for (const stage of stages) {
    verifies(
      ["TMO-01", "PAIN-4", "MRT-09"],
      `${stage.name}: the server is silent for longer than it may be`,
      () =>
        Effect.gen(function*() {
          const { client, server } = yield* stage.open()
          const fiber = yield* Asking.start(client.callTool("work", {}, { idleTimeout: "1 second" }))
          yield* stage.reach(server)
          yield* TestClock.adjust("999 millis")
          assert.isUndefined(fiber.pollUnsafe())
          yield* TestClock.adjust("4 seconds")
          yield* Scripted.settled
          if (stage.silence === "waits") return assert.isUndefined(fiber.pollUnsafe())
          const exit = yield* Fiber.await(fiber)
          const reason = Option.getOrUndefined(Exit.findErrorOption(exit))?.reason
          assert.strictEqual(reason?._tag ?? "goes on", stage.silence)
          if (reason?._tag === "RequestTimeout") assert.deepStrictEqual([reason.kind, reason.millis], ["idle", 1_000])
        })
    )
  }

  verifies(
    ["TMO-16", "TMO-09"],
    "an id is in use for as long as anything is done under it",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({ "tools/call": answer(Asking.inputRequired(undefined, "s")) })
        yield* Asking.start(client.callTool("work", {}, { requestId: "mine" }))
        yield* sent("tools/call")(server)
        // The pause has no request in flight.
        const error = yield* Effect.flip(client.callTool("other", {}, { requestId: "mine" }))
        assert.deepStrictEqual([error.reason._tag, error.delivery], ["InvalidRequest", "unsent"])
        assert.strictEqual(server.sentOf("tools/call").length, 1)
      })
  )
})
