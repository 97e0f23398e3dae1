/**
 * Which definition of a tool counts, where there is more than one: the one that the answered request went out under.
 */
import { assert, describe } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import type { Json, ListResult, Tool } from "@mcp-effect/protocol"
import { Effect, Fiber, Stream } from "effect"
import { ToolDefinitions } from "../src/internal/ToolDefinitions.ts"
import type { McpHandlers } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"
import * as TaskServer from "./TaskServer.ts"

const { answer, connect, inTurn, never } = Scripted
const http = { kind: "streamable-http" }

const output = (type: string) => ({ type: "object", properties: { sum: { type } }, required: ["sum"] })

const tool = (type: string, name = "add", inputSchema: Json.JsonObject = { type: "object" }) => ({
  name,
  inputSchema,
  outputSchema: output(type)
})

const tools = (...tools: ReadonlyArray<unknown>): Scripted.Handler => answer({ tools })
const sum = (sum: unknown): Json.JsonObject => ({ content: [], structuredContent: { sum } })
const mismatch: Scripted.Handler = ({ error }) => error(-32020, "Header mismatch", undefined, 400)

const issues = (result: { readonly outputIssues?: ReadonlyArray<{ readonly path: string }> | undefined }) =>
  (result.outputIssues ?? []).map(({ path }) => path)

const draft04 = "http://json-schema.org/draft-04/schema#"

describe("A result", () => {
  verifies(
    ["SCH-07", "SCH-02"],
    "is held against the definition that its request went out under, whatever was listed since",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": inTurn(tools(tool("integer")), tools(tool("string"))),
          "tools/call": never
        }, http)
        const client = yield* connect(server)
        yield* client.listTools()
        const before = yield* Effect.forkScoped(client.callTool("add"))
        const first = yield* server.take("tools/call")
        const events = yield* Effect.forkScoped(Stream.runCollect(client.callToolStream("add")))
        const streamed = yield* server.take("tools/call")
        yield* client.listTools()
        const after = yield* Effect.forkScoped(client.callTool("add"))
        const second = yield* server.take("tools/call")
        for (const { result } of [first, streamed, second]) result(sum(3))
        assert.deepStrictEqual(issues(yield* Fiber.join(before)), [])
        assert.deepStrictEqual(
          (yield* Fiber.join(events)).map((event) => event._tag === "Final" ? issues(event.result) : event._tag),
          [[]]
        )
        assert.deepStrictEqual(issues(yield* Fiber.join(after)), ["/sum"])
      })
  )

  verifies(
    "SCH-02",
    "of a stream of events, a batch or a task is held against the output schema alike",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": tools(tool("integer")),
          "tools/call": answer(sum("three"))
        })
        const client = yield* connect(server)
        yield* client.listTools()
        const events = yield* Stream.runCollect(client.callToolStream("add"))
        assert.deepStrictEqual(
          events.map((event) => event._tag === "Final" ? issues(event.result) : event._tag),
          [["/sum"]]
        )
        const batch = yield* client.callTools([{ name: "add" }, { name: "add" }])
        assert.deepStrictEqual(
          batch.map((outcome) => outcome._tag === "Success" ? issues(outcome.success) : outcome._tag),
          [["/sum"], ["/sum"]]
        )
        const task = yield* TaskServer.modern({
          get: [TaskServer.completed({ result: sum("three") })],
          more: { "tools/list": tools(tool("integer")) }
        })
        yield* task.client.listTools()
        assert.deepStrictEqual(issues(yield* task.client.callTool("add")), ["/sum"])
        const core = yield* TaskServer.legacy({
          more: {
            "tools/list": tools({ ...tool("integer"), execution: { taskSupport: "required" } }),
            "tasks/result": answer(sum("three"))
          }
        })
        assert.deepStrictEqual(issues(yield* core.client.callTool("add")), ["/sum"])
      })
  )

  verifies(
    ["SCH-08", "SCH-07"],
    "of a call within another has its own definition, and leaves that of the other alone",
    () =>
      Effect.gen(function*() {
        let client: Asking.Client | undefined
        const inner: Array<unknown> = []
        const handlers: McpHandlers = {
          elicitation: {
            form: () =>
              Effect.gen(function*() {
                if (client !== undefined) inner.push(issues(yield* client.callTool("inner")))
                return { action: "decline" as const }
              })
          }
        }
        const question = Asking.inputRequired({
          q: { method: "elicitation/create", params: { message: "?", requestedSchema: output("string") } }
        }, "s")
        let outer = 0
        const server = yield* Scripted.modern({
          "tools/list": tools(tool("integer", "outer"), tool("string", "inner")),
          "tools/call": ({ params, progress, result }) => {
            if (params["name"] === "inner") return result(sum("three"))
            if (outer++ === 0) return result(question)
            progress(1)
            result(sum(3))
          }
        }, http)
        client = yield* connect(server, { handlers, outputValidation: "strict" })
        yield* client.listTools()
        const within = client
        const result = yield* client.callTool("outer", {}, {
          onProgress: () => Effect.ignore(Effect.map(within.callTool("inner"), (result) => inner.push(issues(result))))
        })
        assert.deepStrictEqual([issues(result), inner], [[], [[], []]])
      })
  )

  verifies(
    ["SCH-07", "SCH-41"],
    "of a call that -32020 had sent again is held against the definition that this brought",
    () =>
      Effect.gen(function*() {
        for (const [value, expected] of [["three", []], [3, ["/sum"]]] as const) {
          const server = yield* Scripted.modern({
            "tools/list": inTurn(tools(tool("integer")), tools(tool("string"))),
            "tools/call": inTurn(mismatch, answer(sum(value)))
          }, http)
          const client = yield* connect(server)
          yield* client.listTools()
          assert.deepStrictEqual<unknown>(issues(yield* client.callTool("add")), expected)
          assert.strictEqual(server.sentOf("tools/call").length, 2)
        }
      })
  )
})

describe("A call that -32020 wants sent again", () => {
  verifies(
    ["SCH-24", "SCH-38", "SCH-41", "SCH-36"],
    "is not, where the new definition is in a dialect that is not supported",
    () =>
      Effect.gen(function*() {
        for (
          const [which, changed] of [
            ["inputSchema", tool("integer", "add", { $schema: draft04, type: "object" })],
            ["outputSchema", { ...tool("integer"), outputSchema: { ...output("integer"), $schema: draft04 } }]
          ] as const
        ) {
          const server = yield* Scripted.modern({
            "tools/list": inTurn(tools(tool("integer")), tools(changed)),
            "tools/call": mismatch
          }, http)
          const client = yield* connect(server)
          yield* client.listTools()
          const { delivery, message, reason } = yield* Effect.flip(client.callTool("add"))
          assert.isTrue(reason._tag === "SchemaUnsupported" && reason.which === which && reason.dialect === draft04)
          assert.strictEqual(delivery, "unsent")
          assert.include(message, `${which} of tool "add"`)
          assert.include(message, draft04)
          assert.include(
            message,
            "not supported (supported: https://json-schema.org/draft/2020-12/schema, "
              + "https://json-schema.org/draft/2019-09/schema, http://json-schema.org/draft-07/schema"
          )
          assert.strictEqual(server.sentOf("tools/call").length, 1)
          assert.strictEqual(server.sentOf("tools/list").length, 2)
        }
      })
  )
})

describe("A handle of a task", () => {
  const started = (options?: { readonly outputValidation: "strict" }) =>
    Effect.gen(function*() {
      const made = yield* TaskServer.modern({
        get: [TaskServer.completed({ result: sum("three") })],
        more: { "tools/list": inTurn(tools(tool("integer", "long")), tools(tool("string", "long"))) },
        client: options ?? {}
      })
      yield* made.client.listTools()
      const task = yield* made.client.startTool("long")
      yield* made.client.listTools()
      return { ...made, task }
    })

  verifies(
    ["SCH-09", "SCH-37", "TAS-30", "SCH-02"],
    "keeps the definition that its call went out under, as every other handle of it does in this client",
    () =>
      Effect.gen(function*() {
        const { client, task } = yield* started()
        assert.deepStrictEqual(issues(yield* task.await()), ["/sum"])
        const again = yield* client.task(JSON.parse(JSON.stringify(task.serialized)))
        assert.deepStrictEqual(issues(yield* again.await()), ["/sum"])
        // An id alone names no tool, and another client knows nothing of the call.
        assert.deepStrictEqual(issues(yield* (yield* client.task({ taskId: task.id })).await()), [])
        const other = yield* TaskServer.modern({ get: [TaskServer.completed({ result: sum("three") })] })
        assert.deepStrictEqual(issues(yield* (yield* other.client.task(task.serialized)).await()), [])
      })
  )

  verifies(
    ["SCH-09", "SCH-03", "PAIN-52"],
    "fails a strict client with the whole result",
    () =>
      Effect.gen(function*() {
        const { task } = yield* started({ outputValidation: "strict" })
        const { reason } = yield* Effect.flip(task.await())
        assert.deepStrictEqual(reason._tag === "OutputInvalid" ? reason.result : reason._tag, sum("three"))
      })
  )

  verifies(
    ["SCH-02", "TAS-25"],
    "that is done already checks what the call was answered with",
    () =>
      Effect.gen(function*() {
        const { client } = yield* TaskServer.modern({
          call: answer(sum("three")),
          more: { "tools/list": tools(tool("integer", "long")) }
        })
        yield* client.listTools()
        assert.deepStrictEqual(issues(yield* (yield* client.startTool("long")).await()), ["/sum"])
      })
  )
})

describe("What is known of tools", () => {
  const page = (first: number, count: number): ListResult.Page<Tool.Tool> => ({
    items: Array.from({ length: count }, (_, at): Tool.Tool => ({
      name: `t${first + at}`,
      inputSchema: { type: "object" }
    })),
    setAside: [],
    nextCursor: undefined,
    cache: { ttlMs: 0, cacheScope: "private" }
  })

  verifiesPure("HDR-21", "is bounded: as many as a list may have, and the newest of them", () => {
    const definitions = new ToolDefinitions()
    definitions.replace(Array.from({ length: 10 }, (_, at) => page(at * 10_000, 10_000)))
    assert.isTrue(definitions.lacks("t100000"))
    assert.deepStrictEqual([definitions.get("t0")?.name, definitions.get("t99999")?.name], ["t0", "t99999"])
    // Learned anew, which makes it no older.
    definitions.learn(page(0, 1))
    definitions.learn(page(100_000, 2))
    assert.deepStrictEqual(
      ["t0", "t1", "t2", "t3", "t100001"].map((name) => definitions.get(name)?.name),
      ["t0", undefined, undefined, "t3", "t100001"]
    )
    assert.isTrue(definitions.isUnknown("t1"))
    assert.isFalse(definitions.lacks("t1"))
  })
})
