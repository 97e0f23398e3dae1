import { assert, describe } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import type { ToolCall } from "@mcp-effect/protocol"
import { Effect, Exit, Option, Schema } from "effect"
import * as McpTool from "../src/McpTool.ts"
import * as Scripted from "./ScriptedTransport.ts"

const Day = McpTool.make("day", {
  parameters: Schema.Struct({ at: Schema.DateFromString, zone: Schema.optional(Schema.String) }),
  success: Schema.Struct({ day: Schema.Literals(["Monday", "Tuesday"]), since: Schema.DateFromString })
})
const Text = McpTool.make("text", { parameters: Schema.Struct({}), success: Schema.String })
const Count = McpTool.make("count", { parameters: Schema.Struct({}), success: Schema.Finite })
const Nothing = McpTool.make("nothing", { parameters: Schema.Struct({}), success: Schema.Null })

const at = new Date("2026-01-05T00:00:00.000Z")
const monday = { day: "Monday", since: "2026-01-05T00:00:00.000Z" }
const text = (text: string) => ({ type: "text", text }) as const

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E => Option.getOrThrow(Exit.findErrorOption(exit))

describe("McpTool", () => {
  verifiesPure("TOO-11", "encodes arguments, and refuses those that do not fit with the place", () => {
    assert.deepStrictEqual(McpTool.encode(Day, { at }), Exit.succeed({ at: "2026-01-05T00:00:00.000Z" }))
    const wrong: typeof Day.parameters.Type = JSON.parse("{\"at\":\"2026-01-05\"}")
    const reason = failureOf(McpTool.encode(Day, wrong))
    assert.strictEqual(reason._tag, "InvalidRequest")
    assert.strictEqual(reason.path, "/at")
    const NoObject = McpTool.make("no-object", { parameters: Schema.String, success: Schema.Unknown })
    assert.strictEqual(failureOf(McpTool.encode(NoObject, "x"))._tag, "InvalidRequest")
  })

  verifiesPure("TOO-02", "reads structured content, else one text as JSON, else that text", () => {
    const read = McpTool.decode
    assert.deepStrictEqual<unknown>(
      read(Day, { content: [], structuredContent: monday }),
      Exit.succeed({ day: "Monday", since: at })
    )
    assert.deepStrictEqual<unknown>(
      read(Day, { content: [text(JSON.stringify(monday))] }),
      Exit.succeed({ day: "Monday", since: at })
    )
    assert.deepStrictEqual<unknown>(read(Text, { content: [text("hello")] }), Exit.succeed("hello"))
    assert.deepStrictEqual<unknown>(read(Text, { content: [text("\"quoted\"")] }), Exit.succeed("quoted"))
    assert.deepStrictEqual<unknown>(read(Text, { content: [text("42")] }), Exit.succeed("42"))
    assert.deepStrictEqual<unknown>(read(Count, { content: [text("42")] }), Exit.succeed(42))
    assert.deepStrictEqual<unknown>(read(Nothing, { content: [], structuredContent: null }), Exit.succeed(null))
    // Structured content is the answer, whatever the text beside it says.
    assert.isTrue(Exit.isFailure(read(Count, { content: [text("42")], structuredContent: "forty-two" })))
  })

  verifiesPure("TOO-02", "keeps the whole result where the answer does not fit, or is not there", () => {
    const results: ReadonlyArray<ToolCall.CallToolResult> = [
      { content: [text("see below")], structuredContent: { day: "Sunday", since: "2026-01-04T00:00:00Z" } },
      { content: [] },
      { content: [text("{}"), text("{}")] },
      { content: [{ type: "image", data: "", mimeType: "image/png" }] },
      { content: [text("not JSON")] }
    ]
    for (const result of results) {
      const reason = failureOf(McpTool.decode(Day, result))
      assert.strictEqual(reason._tag, "OutputInvalid")
      assert.strictEqual(reason.name, "day")
      assert.strictEqual(reason.result, result)
      assert.strictEqual(reason._tag === "OutputInvalid" ? reason.issues.length : 0, 1)
    }
    const [first] = results
    const reason = first === undefined ? undefined : failureOf(McpTool.decode(Day, first))
    assert.strictEqual(reason?._tag === "OutputInvalid" ? reason.issues[0]?.path : undefined, "/day")
    assert.notInclude(reason?.message, "Sunday")
  })

  verifiesPure("TOO-02", "tells a failure of the tool from an answer, with the whole result", () => {
    const result = { content: [text("no such day")], structuredContent: monday, isError: true }
    const reason = failureOf(McpTool.decode(Day, result))
    assert.strictEqual(reason._tag, "ToolFailed")
    assert.strictEqual(reason.result, result)
  })
})

describe("call", () => {
  verifies(
    "TOO-02",
    "sends encoded arguments and gives the decoded value, or a typed failure",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/call": Scripted.inTurn(
            Scripted.answer({ content: [], structuredContent: monday }),
            Scripted.answer({ content: [], structuredContent: { day: "Sunday" } }),
            Scripted.answer({ content: [text("no")], isError: true }),
            ({ error }) => error(-32603)
          )
        })
        const client = yield* Scripted.connect(server)
        assert.deepStrictEqual<unknown>(yield* client.call(Day, { at }), { day: "Monday", since: at })
        assert.deepStrictEqual(server.sentOf("tools/call")[0]?.content, {
          name: "day",
          arguments: { at: "2026-01-05T00:00:00.000Z" }
        })
        const invalid = yield* Effect.flip(client.call(Day, { at }))
        assert.deepStrictEqual([invalid.reason._tag, invalid.delivery, invalid.method, invalid.server], [
          "OutputInvalid",
          "unknown",
          "tools/call",
          "scripted"
        ])
        assert.deepStrictEqual(
          invalid.reason._tag === "OutputInvalid" ? invalid.reason.result : undefined,
          { content: [], structuredContent: { day: "Sunday" } }
        )
        assert.strictEqual((yield* Effect.flip(client.call(Day, { at }))).reason._tag, "ToolFailed")
        assert.strictEqual((yield* Effect.flip(client.call(Day, { at }))).reason._tag, "ServerError")
      })
  )

  verifies("TOO-11", "fails before anything is sent where the arguments do not fit", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/call": Scripted.answer({ content: [] }) })
      const client = yield* Scripted.connect(server)
      const error = yield* Effect.flip(client.call(Day, JSON.parse("{}")))
      assert.deepStrictEqual([error.reason._tag, error.delivery], ["InvalidRequest", "unsent"])
      assert.isEmpty(server.sentOf("tools/call"))
    }))

  verifies("TOO-02", "takes the options of a call", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/call": Scripted.answer({ content: [], structuredContent: 1 }) })
      const client = yield* Scripted.connect(server)
      yield* client.call(Count, {}, { requestId: "mine" })
      assert.strictEqual(server.sentOf("tools/call")[0]?.id, "mine")
    }))
})

describe("Schemas of a tool that cannot be used", () => {
  verifies("PAIN-54", "do not keep a call from its server, and have nothing fetched", () =>
    Effect.gen(function*() {
      const fetched: Array<unknown> = []
      const original = globalThis.fetch
      globalThis.fetch = (input) => {
        fetched.push(input)
        return Promise.reject(new Error("no network"))
      }
      yield* Effect.addFinalizer(() => Effect.sync(() => (globalThis.fetch = original)))
      const schemas = [
        { type: "object", $ref: "#/$defs/nowhere" },
        { type: "object", $ref: "https://schemas.example/remote.json" },
        { type: "object", properties: { a: { type: "string", pattern: "(" } } },
        { type: "object", properties: "none" }
      ]
      for (const schema of schemas) {
        const tool = { name: "odd", inputSchema: schema, outputSchema: schema }
        const server = yield* Scripted.modern({
          "tools/list": Scripted.answer({ tools: [tool] }),
          "tools/call": Scripted.answer({ content: [], structuredContent: { a: "x" } })
        })
        const client = yield* Scripted.connect(server)
        assert.strictEqual((yield* client.listTools()).length, 1)
        assert.deepStrictEqual((yield* client.callTool("odd", { a: "x" })).structuredContent, { a: "x" })
      }
      assert.isEmpty(fetched)
    }))
})
