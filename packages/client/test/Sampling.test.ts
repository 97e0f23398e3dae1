import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { type Json, Metadata } from "@mcp-effect/protocol"
import { Effect } from "effect"
import { type McpHandlers, SamplingRejected, type SamplingRequest } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"

const text = (text: string) => ({ type: "text", text })
const user = (...content: ReadonlyArray<unknown>) => ({ role: "user", content })
const assistant = (...content: ReadonlyArray<unknown>) => ({ role: "assistant", content })
const use = (id: string, more?: Json.JsonObject) => ({ type: "tool_use", id, name: "weather", input: {}, ...more })
const resultOf = (toolUseId: string, more?: Json.JsonObject) => ({
  type: "tool_result",
  toolUseId,
  content: [],
  ...more
})

const request = (more?: Json.JsonObject): Json.JsonObject => ({
  messages: [{ role: "user", content: text("What is the capital of France?") }],
  maxTokens: 100,
  ...more
})

const paris = { role: "assistant" as const, content: { type: "text" as const, text: "Paris" }, model: "m-1" }
const weather = { name: "weather", inputSchema: { type: "object" } }

/** A model that answers the same, and what it was asked. */
const model = (options: { readonly tools?: boolean; readonly answer?: string } = {}) => {
  const asked: Array<SamplingRequest> = []
  const handlers: McpHandlers = {
    sampling: {
      tools: options.tools,
      createMessage: (request) =>
        Effect.sync(() => {
          asked.push(request)
          return options.answer === undefined ? paris : JSON.parse(options.answer)
        })
    }
  }
  return { asked, handlers }
}

const ask = (handlers: McpHandlers, params: Json.JsonObject, version?: Asking.LegacyVersion) =>
  Asking.legacy(handlers, "sampling/createMessage", params, version)

describe("The sampling capability", () => {
  verifies(
    ["SAM-06", "CAP-04", "CAP-06"],
    "follows from the handler, tools only where they were opted in",
    () =>
      Effect.gen(function*() {
        for (
          const [tools, expected] of [
            [undefined, { sampling: {} }],
            [false, { sampling: {} }],
            [true, { sampling: { tools: {} } }]
          ] as const
        ) {
          const { handlers } = model(tools === undefined ? {} : { tools })
          const modern = yield* Scripted.modern()
          yield* Asking.connectQuietly(modern, { handlers })
          assert.deepStrictEqual(
            modern.sentOf("server/discover")[0]?.meta[Metadata.clientCapabilitiesKey],
            expected
          )
          const legacy = yield* Scripted.legacy()
          yield* Asking.connectQuietly(legacy, { handlers })
          assert.deepStrictEqual(legacy.sentOf("initialize")[0]?.params["capabilities"], expected)
        }
      })
  )

  verifies("SAM-08", "is not there without a handler: -32601, or the end of the call", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* ask({}, request())).error?.["code"], -32601)
      const { error } = yield* Asking.modern({}, "sampling/createMessage", request())
      assert.strictEqual(Asking.problemOf(error), "unhandled")
    }))
})

describe("A sampling request", () => {
  verifies(
    ["SAM-01", "SAM-02"],
    "reaches the same handler in either era with all that it says, and the answer the server",
    () =>
      Effect.gen(function*() {
        const answer = { ...paris, stopReason: "endTurn", _meta: { trace: 1 } }
        const { asked, handlers } = model({ answer: JSON.stringify(answer) })
        const params = request({
          systemPrompt: "Be brief",
          temperature: 0.2,
          stopSequences: ["END"],
          includeContext: "none",
          metadata: { vendor: [1, null] },
          _meta: { note: "x" }
        })
        assert.deepStrictEqual((yield* ask(handlers, params)).result, answer)
        assert.deepStrictEqual(
          (yield* Asking.modern(handlers, "sampling/createMessage", params)).response,
          answer
        )
        for (const { params: seen, server } of asked) {
          assert.deepStrictEqual(seen as unknown, params)
          assert.strictEqual(server, "scripted")
        }
        assert.deepStrictEqual(
          asked.map(({ revision }) => revision.version),
          ["2025-11-25", "2026-07-28"]
        )
      })
  )

  verifies("SAM-09", "has priorities within 0 and 1, and hints by their names", () =>
    Effect.gen(function*() {
      const { asked, handlers } = model()
      yield* ask(
        handlers,
        request({
          modelPreferences: {
            hints: [{ name: "claude", vendor: "x" }, {}],
            costPriority: -1,
            speedPriority: 1.5,
            intelligencePriority: 0.5
          }
        })
      )
      const { modelPreferences } = asked[0]?.params ?? {}
      assert.deepStrictEqual(JSON.parse(JSON.stringify(modelPreferences)), {
        hints: [{ name: "claude" }, {}],
        costPriority: 0,
        speedPriority: 1,
        intelligencePriority: 0.5
      })
    }))

  verifies("SAM-08", "that the user rejects is -1, and nothing is logged as a failure", () =>
    Effect.gen(function*() {
      const handlers: McpHandlers = { sampling: { createMessage: () => Effect.fail(new SamplingRejected()) } }
      assert.deepStrictEqual((yield* ask(handlers, request())).error, {
        code: -1,
        message: "User rejected sampling request"
      })
      const { error, sends } = yield* Asking.modern(handlers, "sampling/createMessage", request())
      assert.strictEqual(Asking.problemOf(error), "rejected")
      assert.strictEqual(sends, 1)
    }))

  verifies(
    ["SAM-08", "MRT-13"],
    "is answered with a constant error where the handler answers what is no message",
    () =>
      Effect.gen(function*() {
        for (
          const answer of [
            "null",
            "\"Paris\"",
            "[]",
            "{}",
            "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"Paris\"}}",
            "{\"role\":\"assistant\",\"content\":{\"type\":\"text\"},\"model\":\"m\"}",
            "{\"role\":\"nobody\",\"content\":{\"type\":\"text\",\"text\":\"Paris\"},\"model\":\"m\"}"
          ]
        ) {
          const { handlers } = model({ answer })
          assert.deepStrictEqual(
            (yield* ask(handlers, request())).error,
            { code: -32603, message: "Sampling error" },
            answer
          )
          const { error } = yield* Asking.modern(handlers, "sampling/createMessage", request())
          assert.strictEqual(Asking.problemOf(error), "handler-failed", answer)
        }
      })
  )

  verifies("SAM-04", "that is none is -32602 before the handler", () =>
    Effect.gen(function*() {
      const { asked, handlers } = model()
      for (
        const params of [
          {},
          { messages: [] },
          { maxTokens: 5 },
          { messages: "x", maxTokens: 5 },
          request({ maxTokens: "100" }),
          request({ messages: [{ role: "system", content: text("x") }] }),
          request({ messages: [{ role: "user" }] }),
          request({ messages: [{ role: "user", content: { type: "text" } }] })
        ]
      ) {
        assert.strictEqual((yield* ask(handlers, params)).error?.["code"], -32602, JSON.stringify(params))
        const { error } = yield* Asking.modern(handlers, "sampling/createMessage", params)
        assert.strictEqual(Asking.problemOf(error), "malformed", JSON.stringify(params))
      }
      assert.isEmpty(asked)
    }))
})

describe("Tools in sampling", () => {
  verifies(
    ["SAM-06", "SAM-07", "SAM-11"],
    "never reach a model that was not opted in: -32602, or the end of the call",
    () =>
      Effect.gen(function*() {
        const { asked, handlers } = model()
        for (
          const more of [
            { tools: [weather] },
            { tools: [] },
            { toolChoice: { mode: "auto" } },
            { tools: [weather], toolChoice: { mode: "required" } }
          ]
        ) {
          assert.strictEqual((yield* ask(handlers, request(more))).error?.["code"], -32602)
          const { error, sends } = yield* Asking.modern(handlers, "sampling/createMessage", request(more))
          assert.strictEqual(Asking.problemOf(error), "unhandled")
          assert.strictEqual(sends, 1)
        }
        assert.isEmpty(asked)
      })
  )

  verifies(["SAM-06", "SAM-12"], "reach a model that was, whose answer may use them", () =>
    Effect.gen(function*() {
      const answer = {
        role: "assistant",
        model: "m-1",
        stopReason: "toolUse",
        content: [text("Let me look"), use("call-1")]
      }
      const { asked, handlers } = model({ tools: true, answer: JSON.stringify(answer) })
      const params = request({ tools: [weather], toolChoice: { mode: "auto" } })
      assert.deepStrictEqual((yield* ask(handlers, params)).result, answer)
      assert.deepStrictEqual((yield* Asking.modern(handlers, "sampling/createMessage", params)).response, answer)
      assert.deepStrictEqual(asked.map(({ params }) => params.tools as unknown), [[weather], [weather]])
    }))

  verifies("SAM-06", "do not exist up to 2025-06-18, where a message is one block", () =>
    Effect.gen(function*() {
      const { asked, handlers } = model({ tools: true })
      for (const version of ["2024-11-05", "2025-03-26", "2025-06-18"] as const) {
        assert.strictEqual((yield* ask(handlers, request({ tools: [weather] }), version)).error?.["code"], -32602)
      }
      assert.isEmpty(asked)
      const one = model({ answer: JSON.stringify({ ...paris, content: [text("Paris")] }) })
      assert.deepStrictEqual((yield* ask(one.handlers, request(), "2025-06-18")).result, {
        ...paris,
        content: text("Paris")
      })
      for (const content of [[], [text("a"), text("b")], use("call-1"), [use("call-1")]]) {
        const several = model({ tools: true, answer: JSON.stringify({ ...paris, content }) })
        assert.deepStrictEqual(
          (yield* ask(several.handlers, request(), "2025-06-18")).error,
          { code: -32603, message: "Sampling error" },
          JSON.stringify(content)
        )
      }
    }))
})

describe("A sampling history", () => {
  const good: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> = [
    ["empty", []],
    ["one message", [user(text("hi"))]],
    ["starts with the assistant", [assistant(text("hi")), user(text("hi"))]],
    ["a use and its result", [user(text("hi")), assistant(use("1")), user(resultOf("1"))]],
    ["results in another order", [assistant(text("x"), use("1"), use("2")), user(resultOf("2"), resultOf("1"))]],
    ["two turns with the same id", [
      assistant(use("1")),
      user(resultOf("1")),
      assistant(use("1")),
      user(resultOf("1"))
    ]],
    ["a single block", [{ role: "assistant", content: use("1") }, { role: "user", content: resultOf("1") }]],
    ["a block of an unknown type", [user({ type: "hologram", frames: 3 })]],
    ["_meta on uses and results", [assistant(use("1", { _meta: { a: 1 } })), user(resultOf("1", { _meta: { b: 2 } }))]]
  ]

  const bad: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> = [
    ["results beside text", [assistant(use("1")), user(resultOf("1"), text("and more"))]],
    ["results beside a block of an unknown type", [assistant(use("1")), user(resultOf("1"), { type: "hologram" })]],
    ["a use without a result", [assistant(use("1")), user(text("hi"))]],
    ["one of two uses without a result", [assistant(use("1"), use("2")), user(resultOf("1"))]],
    ["a result of something else", [assistant(use("1")), user(resultOf("2"))]],
    ["one result twice", [assistant(use("1")), user(resultOf("1"), resultOf("1"))]],
    ["a result of nothing", [user(resultOf("1"))]],
    ["a result too late", [assistant(use("1")), assistant(text("x")), user(resultOf("1"))]],
    ["an end with an unanswered use", [user(text("hi")), assistant(use("1"))]],
    ["a use of the user", [user(use("1")), user(resultOf("1"))]],
    ["a result of the assistant", [assistant(use("1")), assistant(resultOf("1"))]],
    ["two uses of one id", [assistant(use("1"), use("1")), user(resultOf("1"))]],
    ["a use without an id", [assistant({ type: "tool_use", name: "weather", input: {} }), user(resultOf("1"))]],
    ["a result without an id", [assistant(use("1")), user({ type: "tool_result", content: [] })]]
  ]

  verifies(["SAM-03", "SAM-05"], "that keeps the rules reaches the handler as it is", () =>
    Effect.gen(function*() {
      for (const [what, messages] of good) {
        const { asked, handlers } = model({ tools: true })
        const params = request({ messages })
        assert.isDefined((yield* ask(handlers, params)).result, what)
        assert.isDefined((yield* Asking.modern(handlers, "sampling/createMessage", params)).response, what)
        assert.deepStrictEqual(asked.map(({ params }) => params.messages as unknown), [messages, messages], what)
      }
    }))

  verifies(
    ["SAM-03", "SAM-04", "SAM-05"],
    "that breaks them is refused before the handler: -32602, or the end of the call",
    () =>
      Effect.gen(function*() {
        for (const [what, messages] of bad) {
          const { asked, handlers } = model({ tools: true })
          const params = request({ messages })
          assert.strictEqual((yield* ask(handlers, params)).error?.["code"], -32602, what)
          const { error, sends } = yield* Asking.modern(handlers, "sampling/createMessage", params)
          assert.strictEqual(Asking.problemOf(error), "malformed", what)
          assert.strictEqual(sends, 1, what)
          assert.isEmpty(asked, what)
        }
      })
  )
})
