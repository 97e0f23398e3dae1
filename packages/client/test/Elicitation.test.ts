import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Json, Metadata, Revision } from "@mcp-effect/protocol"
import { Context, Effect, Layer } from "effect"
import * as Form from "../src/Form.ts"
import * as McpClient from "../src/McpClient.ts"
import type { FormElicitation, McpHandlers, UrlElicitation } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as CapturedLogs from "./CapturedLogs.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { connect, discovery } = Scripted

type Fields = Readonly<Record<string, unknown>>

const schemaOf = (properties: Fields, required?: ReadonlyArray<string>) => ({
  type: "object",
  properties,
  ...(required === undefined ? undefined : { required })
})

const form = (properties: Fields, required?: ReadonlyArray<string>): Json.JsonObject => ({
  message: "Who are you?",
  requestedSchema: schemaOf(properties, required)
})

const answering = (content: Json.JsonObject): McpHandlers => ({
  elicitation: { form: () => Effect.succeed({ action: "accept", content: JSON.parse(JSON.stringify(content)) }) }
})

/** Code without types may answer anything. */
const untyped = (answer: string): McpHandlers => ({
  elicitation: {
    form: () => Effect.sync(() => answer === "undefined" ? undefined : JSON.parse(answer)),
    url: () => Effect.sync(() => answer === "undefined" ? undefined : JSON.parse(answer))
  }
})

const page = (more?: Fields): Json.JsonObject => ({
  mode: "url",
  message: "Please pay",
  url: "https://pay.example/42?a=b",
  elicitationId: "e-1",
  ...more
})

const mismatch = { code: -32603, message: "Elicitation answer does not match the requested schema" }
const handlerError = { code: -32603, message: "Elicitation handler error" }

const modernCapabilities = (server: Scripted.Server) =>
  server.sentOf("server/discover")[0]?.meta[Metadata.clientCapabilitiesKey]
const legacyCapabilities = (server: Scripted.Server) => server.sentOf("initialize")[0]?.params["capabilities"]

describe("The elicitation capability", () => {
  const formHandler = () => Effect.succeed({ action: "decline" as const })
  const urlHandler = () => Effect.succeed({ action: "decline" as const })

  verifies(
    ["ELI-07", "CAP-04", "CAP-06"],
    "names the forms that have a handler, in either era",
    () =>
      Effect.gen(function*() {
        const cases: ReadonlyArray<readonly [McpHandlers, unknown]> = [
          [{}, {}],
          [{ elicitation: {} }, {}],
          [{ elicitation: { form: formHandler } }, { elicitation: { form: {} } }],
          [{ elicitation: { url: urlHandler } }, { elicitation: { url: {} } }],
          [{ elicitation: { form: formHandler, url: urlHandler } }, { elicitation: { form: {}, url: {} } }]
        ]
        for (const [handlers, expected] of cases) {
          const modern = yield* Scripted.modern({ "tools/call": Scripted.answer(Asking.done) })
          const client = yield* connect(modern, { handlers })
          yield* client.callTool("work")
          assert.deepStrictEqual(modernCapabilities(modern), expected)
          // "on each request": a modern server keeps nothing.
          assert.deepStrictEqual(modern.sentOf("tools/call")[0]?.meta[Metadata.clientCapabilitiesKey], expected)
          const legacy = yield* Scripted.legacy()
          yield* connect(legacy, { handlers })
          assert.deepStrictEqual(legacyCapabilities(legacy), expected)
        }
      })
  )

  verifies(
    ["ELI-07", "ELI-08"],
    "decides what is answered: -32601 without handlers, -32602 for an undeclared mode",
    () =>
      Effect.gen(function*() {
        let runs = 0
        const count = () => Effect.sync(() => ({ action: "cancel" as const, runs: runs++ }))
        const onlyUrl: McpHandlers = { elicitation: { url: count } }
        const onlyForm: McpHandlers = { elicitation: { form: count } }
        const asked = form({ name: { type: "string" } })
        assert.strictEqual((yield* Asking.legacy({}, "elicitation/create", asked)).error?.["code"], -32601)
        // A server of 2025-06-18 takes any `elicitation` for forms.
        for (const version of ["2025-06-18", "2025-11-25"] as const) {
          const refused = yield* Asking.legacy(onlyUrl, "elicitation/create", asked, version)
          assert.strictEqual(refused.error?.["code"], -32602)
        }
        assert.strictEqual((yield* Asking.legacy(onlyForm, "elicitation/create", page())).error?.["code"], -32602)
        for (const [handlers, params] of [[{}, asked], [onlyUrl, asked], [onlyForm, page()]] as const) {
          const outcome = yield* Asking.modern(handlers, "elicitation/create", params)
          assert.strictEqual(Asking.problemOf(outcome.error), "unhandled")
          assert.strictEqual(outcome.sends, 1)
        }
        assert.strictEqual(runs, 0)
      })
  )

  verifies("ELI-07", "a URL is not asked for in a revision without that mode", () =>
    Effect.gen(function*() {
      let runs = 0
      const handlers: McpHandlers = {
        elicitation: { form: formHandler, url: () => Effect.sync(() => ({ action: "accept" as const, runs: runs++ })) }
      }
      const { error } = yield* Asking.legacy(handlers, "elicitation/create", page(), "2025-06-18")
      assert.strictEqual(error?.["code"], -32602)
      assert.strictEqual(runs, 0)
    }))

  verifies(
    ["CON-22", "ELI-06"],
    "its handlers may require services, which the layer of the client then does",
    () =>
      Effect.gen(function*() {
        class Person extends Context.Service<Person, { readonly name: string }>()("test/Person") {}
        const server = yield* Scripted.legacy()
        const layer: Layer.Layer<McpClient.McpClient, unknown, Person> = McpClient.layer({
          handlers: {
            elicitation: {
              form: () => Effect.map(Person, ({ name }) => ({ action: "accept" as const, content: { name } }))
            }
          }
        }).pipe(Layer.provide(server.layer))
        yield* Layer.build(Layer.provide(layer, Layer.succeed(Person, { name: "Ada" })))
        server.links[0]?.ask(1, "elicitation/create", form({ name: { type: "string" } }))
        yield* server.until(() => server.replies().length === 1)
        assert.deepStrictEqual(server.replies()[0]?.["result"], { action: "accept", content: { name: "Ada" } })
      })
  )
})

describe("A form", () => {
  verifies(
    ["ELI-01", "ELI-06", "ELI-10", "ELI-12"],
    "reaches the same handler in either era, with message, schema and defaults, and its answer the server",
    () =>
      Effect.gen(function*() {
        const seen: Array<FormElicitation> = []
        const handlers: McpHandlers = {
          elicitation: {
            form: (request) =>
              Effect.sync(() => {
                seen.push(request)
                return { action: "accept" as const, content: { name: "Ada" }, _meta: { trace: 1 } }
              })
          }
        }
        const properties = { name: { type: "string", title: "Name" }, newsletter: { type: "boolean", default: true } }
        const params: Json.JsonObject = { ...form(properties, ["name"]), _meta: { note: "x" } }
        const expected = { _meta: { trace: 1 }, action: "accept", content: { newsletter: true, name: "Ada" } }
        for (const asked of [params, { ...params, mode: "form" }]) {
          assert.deepStrictEqual((yield* Asking.legacy(handlers, "elicitation/create", asked)).result, expected)
          assert.deepStrictEqual((yield* Asking.modern(handlers, "elicitation/create", asked)).response, expected)
        }
        assert.deepStrictEqual(
          seen.map(({ revision }) => revision.version),
          ["2025-11-25", "2026-07-28", "2025-11-25", "2026-07-28"]
        )
        for (const { defaults, message, meta, requestedSchema, server } of seen) {
          assert.deepStrictEqual([server, message, meta], ["scripted", "Who are you?", { note: "x" }])
          assert.deepStrictEqual(requestedSchema as unknown, params["requestedSchema"])
          assert.deepStrictEqual(defaults, { newsletter: true })
        }
      })
  )

  verifies(
    ["ELI-01", "ELI-08", "ELI-02", "ELI-12"],
    "is declined or cancelled without content",
    () =>
      Effect.gen(function*() {
        const cases = [
          ["{\"action\":\"decline\"}", { action: "decline" }],
          ["{\"action\":\"cancel\"}", { action: "cancel" }],
          ["{\"action\":\"decline\",\"content\":{\"name\":\"Ada\"},\"_meta\":{\"a\":1}}", {
            _meta: { a: 1 },
            action: "decline"
          }],
          // What is no action of the protocol is a cancel; content without an action is an accept.
          ["{\"action\":\"maybe\",\"content\":{\"name\":\"Ada\"}}", { action: "cancel" }],
          ["{\"action\":7}", { action: "cancel" }],
          ["{\"content\":{\"name\":\"Ada\"}}", { action: "accept", content: { name: "Ada" } }]
        ] as const
        const asked = form({ name: { type: "string" } }, ["name"])
        for (const [answer, expected] of cases) {
          assert.deepStrictEqual((yield* Asking.legacy(untyped(answer), "elicitation/create", asked)).result, expected)
          assert.deepStrictEqual(
            (yield* Asking.modern(untyped(answer), "elicitation/create", asked)).response,
            expected
          )
        }
      })
  )

  verifies(
    ["ELI-08", "MRT-13"],
    "is answered with an error where the handler answers what is no answer",
    () =>
      Effect.gen(function*() {
        const asked = form({ name: { type: "string" } })
        for (
          const answer of [
            "undefined",
            "null",
            "7",
            "\"accept\"",
            "[]",
            "{\"action\":\"accept\",\"content\":\"Ada\"}",
            "{\"action\":\"accept\",\"content\":[\"Ada\"]}",
            "{\"action\":\"accept\",\"content\":null}",
            "{\"action\":\"accept\",\"content\":{\"other\":{\"nested\":true}}}",
            "{\"action\":\"cancel\",\"_meta\":7}"
          ]
        ) {
          const reply = yield* Asking.legacy(untyped(answer), "elicitation/create", asked)
          assert.deepStrictEqual(reply.error, handlerError, answer)
          const outcome = yield* Asking.modern(untyped(answer), "elicitation/create", asked)
          assert.strictEqual(Asking.problemOf(outcome.error), "handler-failed", answer)
        }
      })
  )

  const titled = (...values: ReadonlyArray<string>) => values.map((value) => ({ const: value, title: `The ${value}` }))
  const pointer = (value: unknown): string => JSON.stringify(value)

  /** A field, what fits it, and what does not. */
  const fields: ReadonlyArray<readonly [Fields, ReadonlyArray<unknown>, ReadonlyArray<unknown>]> = [
    [{ type: "string" }, ["", "x"], [1, true, ["x"]]],
    [{ type: "string", minLength: 2, maxLength: 3 }, ["ab", "abc", "😀😀"], ["a", "abcd", "😀"]],
    [{ type: "string", format: "email" }, ["a@b.example"], ["a", "a@", "@b", "a b@c.example", "a@b@c"]],
    [{ type: "string", format: "uri" }, ["https://a.example/x?y", "urn:isbn:0451450523"], [
      "/x",
      "a",
      "//a.example",
      "https://a.example/x y",
      "https://a.example/\nx",
      "https://ä.example/"
    ]],
    [{ type: "string", format: "date" }, ["2024-02-29", "1999-12-31"], ["2023-02-29", "2024-2-9", "2024-13-01", "x"]],
    [
      { type: "string", format: "date-time" },
      ["2024-02-29T23:59:59Z", "2024-01-01t00:00:00.5+05:30"],
      ["2024-02-29", "2024-02-29T24:00:00Z", "2024-02-29T10:00:00", "2023-02-29T10:00:00Z", "2024-01-01T00:00:00+99:00"]
    ],
    [{ type: "string", pattern: "^[A-Z]{2}\\d+$" }, ["AB1", "ZZ042"], ["ab1", "AB", "AB1 "]],
    [{ type: "string", pattern: "b" }, ["abc"], ["ac", ""]],
    [{ type: "string", pattern: "^a+$", maxLength: 2, format: "x" }, ["aa"], ["aaa", "b"]],
    // No expression of ECMA-262: it cannot be checked here, and the server checks for itself.
    [{ type: "string", pattern: "(?i)a" }, ["anything"], [1]],
    [{ type: "string", format: "hostname" }, ["what the client does not know, it does not check"], [1]],
    [{ type: "number", minimum: -1.5, maximum: 2.5 }, [-1.5, 0, 2.5], [-1.6, 2.6, "1", true]],
    [{ type: "integer", minimum: 1, maximum: 3 }, [1, 3, 2.0], [0, 4, 1.5, "1"]],
    [{ type: "boolean" }, [true, false], [0, "true", []]],
    // Choices of one value: untitled, titled, and those of 2025-06-18.
    [{ type: "string", enum: ["red", "green"] }, ["red", "green"], ["Red", "", 1]],
    [{ type: "string", oneOf: titled("red", "green") }, ["red"], ["The red", "blue"]],
    [{ type: "string", enum: ["red", "green"], enumNames: ["Red", "Green"] }, ["green"], ["Green"]],
    // Choices of several values: untitled and titled.
    [
      { type: "array", items: { type: "string", enum: ["a", "b", "c"] }, minItems: 1, maxItems: 2 },
      [["a"], ["a", "c"]],
      [[], ["a", "b", "c"], ["d"], "a", [1]]
    ],
    [{ type: "array", items: { anyOf: titled("a", "b") } }, [[], ["b", "a"]], [["The a"], ["a", "x"]]]
  ]

  verifies(
    "ELI-09",
    "is held against its schema: every type, format and choice, in either era",
    () =>
      Effect.gen(function*() {
        for (const [field, fitting, unfitting] of fields) {
          const asked = form({ value: field }, ["value"])
          for (const value of fitting) {
            const expected = { action: "accept", content: { value } }
            const handlers = answering({ value })
            assert.deepStrictEqual(
              (yield* Asking.legacy(handlers, "elicitation/create", asked)).result,
              expected,
              `${pointer(field)} ${pointer(value)}`
            )
            assert.deepStrictEqual((yield* Asking.modern(handlers, "elicitation/create", asked)).response, expected)
          }
          for (const value of unfitting) {
            const handlers = answering({ value })
            assert.deepStrictEqual(
              (yield* Asking.legacy(handlers, "elicitation/create", asked)).error,
              mismatch,
              `${pointer(field)} ${pointer(value)}`
            )
            const { error, sends } = yield* Asking.modern(handlers, "elicitation/create", asked)
            assert.strictEqual(Asking.problemOf(error), "handler-failed")
            assert.strictEqual(sends, 1)
          }
        }
      }),
    60_000
  )

  verifies("ELI-09", "is held against its patterns by its handler as the client does it", () =>
    Effect.gen(function*() {
      const problems: Array<unknown> = []
      const handlers: McpHandlers = {
        elicitation: {
          form: ({ requestedSchema }) =>
            Effect.sync(() => {
              problems.push(Form.problem(requestedSchema, { code: "7" }))
              return { content: { code: "A7" } }
            })
        }
      }
      const asked = form({ code: { type: "string", pattern: "^[A-Z]" } })
      assert.isDefined((yield* Asking.legacy(handlers, "elicitation/create", asked)).result)
      assert.deepStrictEqual(problems, [{ field: "code", problem: "does not match the pattern asked for" }])
    }))

  verifies(
    ["ELI-09", "SEC-10"],
    "is held against patterns that would run for years elsewhere, in one second for the whole form",
    () =>
      Effect.gen(function*() {
        const count = 40
        const hostile = (pattern: string): Json.JsonObject =>
          form(Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, { type: "string", pattern }])))
        const filled = (text: string) =>
          answering(Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, text])))
        const millis = (handlers: McpHandlers, asked: Json.JsonObject) =>
          Effect.gen(function*() {
            const before = performance.now()
            const reply = yield* Asking.legacy(handlers, "elicitation/create", asked)
            return { reply, millis: performance.now() - before }
          })
        // Linear time: it is decided, and no budget is needed.
        const linear = yield* millis(filled(`${"a".repeat(26)}!`), hostile("^(a+)+$"))
        assert.deepStrictEqual(linear.reply.error, mismatch)
        // What only backtracking can decide runs out of its time, which is never taken for a match.
        const backtracking = yield* millis(filled("a".repeat(40)), hostile("^(?:(a+)+\\1b|a+)$"))
        assert.deepStrictEqual(backtracking.reply.error, mismatch)
        assert.isBelow(backtracking.millis, 10_000)
      }),
    60_000
  )

  verifies(
    "ELI-09",
    "wants its required fields, which a default may fill in, an inherited name and undefined may not",
    () =>
      Effect.gen(function*() {
        const asked = form({ a: { type: "string" }, toString: { type: "string" } }, ["a", "toString"])
        for (const content of [{}, { a: "x" }, { a: undefined, toString: "y" }]) {
          const handlers: McpHandlers = {
            elicitation: {
              form: () => Effect.succeed({ action: "accept", content: JSON.parse(JSON.stringify(content)) })
            }
          }
          assert.deepStrictEqual((yield* Asking.legacy(handlers, "elicitation/create", asked)).error, mismatch)
        }
        const withDefaults = form({
          text: { type: "string", default: "t" },
          number: { type: "number", default: 0.5 },
          integer: { type: "integer", default: 3 },
          yes: { type: "boolean", default: false },
          one: { type: "string", oneOf: titled("a", "b"), default: "b" },
          several: { type: "array", items: { type: "string", enum: ["x", "y"] }, default: ["y"] },
          free: { type: "string" }
        }, ["text", "number", "integer", "yes", "one", "several"])
        const defaults = { text: "t", number: 0.5, integer: 3, yes: false, one: "b", several: ["y"] }
        const undefinedText: McpHandlers = {
          elicitation: {
            form: () =>
              Effect.sync(() => ({ action: "accept" as const, content: JSON.parse("{}", () => ({ text: undefined })) }))
          }
        }
        for (const handlers of [answering({}), undefinedText]) {
          for (
            const answer of [
              (yield* Asking.legacy(handlers, "elicitation/create", withDefaults)).result,
              (yield* Asking.modern(handlers, "elicitation/create", withDefaults)).response
            ]
          ) assert.deepStrictEqual(answer, { action: "accept", content: defaults })
        }
        const overridden = yield* Asking.legacy(answering({ text: "mine" }), "elicitation/create", withDefaults)
        assert.deepStrictEqual(overridden.result, { action: "accept", content: { ...defaults, text: "mine" } })
      })
  )

  verifies(
    "ELI-09",
    "of 2025-06-18 has no lists: such a field is refused before, such an answer after the handler",
    () =>
      Effect.gen(function*() {
        let runs = 0
        const handlers: McpHandlers = {
          elicitation: {
            form: () =>
              Effect.sync(() => {
                runs++
                return { action: "accept" as const, content: { name: "Ada", more: ["x"] } }
              })
          }
        }
        const several = form({ several: { type: "array", items: { type: "string", enum: ["x"] } } })
        const refused = yield* Asking.legacy(handlers, "elicitation/create", several, "2025-06-18")
        assert.strictEqual(refused.error?.["code"], -32602)
        assert.strictEqual(runs, 0)
        const plain = form({ name: { type: "string" } })
        assert.deepStrictEqual(
          (yield* Asking.legacy(handlers, "elicitation/create", plain, "2025-06-18")).error,
          mismatch
        )
        // What no field asks for is allowed where it is a value of a form.
        assert.deepStrictEqual((yield* Asking.legacy(handlers, "elicitation/create", plain)).result, {
          action: "accept",
          content: { name: "Ada", more: ["x"] }
        })
        const choice = form({ colour: { type: "string", enum: ["red"], enumNames: ["Red"] } })
        assert.deepStrictEqual(
          (yield* Asking.legacy(answering({ colour: "red" }), "elicitation/create", choice, "2025-06-18")).result,
          { action: "accept", content: { colour: "red" } }
        )
      })
  )

  verifies("ELI-09", "that is none is refused with -32602 before the handler", () =>
    Effect.gen(function*() {
      const handlers = answering({})
      for (
        const params of [
          {},
          { message: "x" },
          { message: 7, requestedSchema: schemaOf({}) },
          { message: "x", requestedSchema: { type: "array" } },
          { message: "x", requestedSchema: schemaOf({ nested: { type: "object", properties: {} } }) },
          { mode: "hologram", message: "x", requestedSchema: schemaOf({}) }
        ]
      ) {
        const { error } = yield* Asking.legacy(handlers, "elicitation/create", params)
        assert.strictEqual(error?.["code"], -32602, JSON.stringify(params))
      }
    }))

  verifies("ELI-09", "a field named __proto__ is a field like any other", () =>
    Effect.gen(function*() {
      const asked = JSON.parse(
        "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\","
          + "\"properties\":{\"__proto__\":{\"type\":\"string\",\"default\":\"d\"}},\"required\":[\"__proto__\"]}}"
      )
      const { result } = yield* Asking.legacy(answering({}), "elicitation/create", asked)
      assert.strictEqual(JSON.stringify(result), "{\"action\":\"accept\",\"content\":{\"__proto__\":\"d\"}}")
    }))
})

describe("A URL", () => {
  verifies(
    ["ELI-03", "ELI-11", "ELI-04"],
    "reaches the handler, with the id that only 2025-11-25 has",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          const seen: Array<UrlElicitation> = []
          const handlers: McpHandlers = {
            elicitation: {
              url: (request) =>
                Effect.sync(() => {
                  seen.push(request)
                  return { action: "accept" as const }
                })
            }
          }
          yield* Asking.legacy(handlers, "elicitation/create", page({ _meta: { a: 1 } }))
          assert.isEmpty(lines.filter(({ level }) => level === "Warn"))
          yield* Asking.modern(handlers, "elicitation/create", page())
          assert.deepStrictEqual(seen, [
            {
              server: "scripted",
              revision: Revision.latestLegacy,
              message: "Please pay",
              url: "https://pay.example/42?a=b",
              elicitationId: "e-1",
              meta: { a: 1 }
            },
            {
              server: "scripted",
              revision: Revision.latestModern,
              message: "Please pay",
              url: "https://pay.example/42?a=b",
              elicitationId: undefined,
              meta: undefined
            }
          ])
          const warning = lines.find(({ level }) => level === "Warn")
          assert.include(warning?.message, "elicitationId")
          yield* Asking.modern(handlers, "elicitation/create", { mode: "url", message: "m", url: "https://a.example" })
          assert.strictEqual(lines.filter(({ level }) => level === "Warn").length, 1)
        })
      )
  )

  verifies(
    "ELI-05",
    "is answered with consent only: an explicit action or true, never content",
    () =>
      Effect.gen(function*() {
        const cases = [
          ["{\"action\":\"accept\",\"content\":{\"card\":\"1\"},\"_meta\":{\"a\":1}}", {
            _meta: { a: 1 },
            action: "accept"
          }],
          ["{\"action\":\"decline\"}", { action: "decline" }],
          ["{\"action\":\"cancel\"}", { action: "cancel" }],
          ["true", { action: "accept" }],
          ["false", { action: "cancel" }],
          ["{\"action\":\"yes\"}", { action: "cancel" }],
          ["{\"content\":{}}", { action: "cancel" }],
          ["{}", { action: "cancel" }],
          ["1", { action: "cancel" }],
          ["\"accept\"", { action: "cancel" }],
          ["null", { action: "cancel" }],
          ["undefined", { action: "cancel" }]
        ] as const
        for (const [answer, expected] of cases) {
          assert.deepStrictEqual(
            (yield* Asking.legacy(untyped(answer), "elicitation/create", page())).result,
            expected,
            answer
          )
          assert.deepStrictEqual(
            (yield* Asking.modern(untyped(answer), "elicitation/create", page())).response,
            expected
          )
        }
      })
  )

  verifies("ELI-05", "that a browser must not be sent to is refused before the handler", () =>
    Effect.gen(function*() {
      let runs = 0
      const handlers: McpHandlers = {
        elicitation: { url: () => Effect.sync(() => ({ action: "accept" as const, runs: runs++ })) }
      }
      for (
        const url of ["javascript:alert(1)", "file:///etc/passwd", "calc:", "https://", "not a url", "//x.example"]
      ) {
        const { error } = yield* Asking.legacy(handlers, "elicitation/create", page({ url }))
        assert.strictEqual(error?.["code"], -32602, url)
      }
      assert.strictEqual(runs, 0)
      assert.isDefined((yield* Asking.legacy(handlers, "elicitation/create", page({ url: "HTTP://x.example" }))).result)
    }))
})

describe("A handler that fails", () => {
  const failures: ReadonlyArray<readonly [string, () => Effect.Effect<never, unknown>]> = [
    ["fails", () => Effect.fail("secret 42")],
    ["dies", () => Effect.die(new Error("secret 42"))],
    ["throws", () => {
      throw new Error("secret 42")
    }],
    ["interrupts itself", () => Effect.interrupt]
  ]

  verifies(
    ["SEC-13", "ELI-08", "ELI-13", "MRT-13", "SAM-08"],
    "gives the server a constant message; its own text is in the local log alone",
    () =>
      Effect.gen(function*() {
        const cases: ReadonlyArray<
          readonly [
            (fail: () => Effect.Effect<never, unknown>) => McpHandlers,
            string,
            Json.JsonObject | undefined,
            string
          ]
        > = [
          [(fail) => ({ elicitation: { form: fail } }), "elicitation/create", form({}), "Elicitation handler error"],
          [(fail) => ({ elicitation: { url: fail } }), "elicitation/create", page(), "Elicitation handler error"],
          [
            (fail) => ({ sampling: { createMessage: fail } }),
            "sampling/createMessage",
            { messages: [], maxTokens: 1 },
            "Sampling error"
          ],
          [(fail) => ({ roots: Effect.suspend(fail) }), "roots/list", undefined, "Roots error"]
        ]
        for (const [handlersOf, method, params, message] of cases) {
          for (const [how, fail] of failures) {
            yield* CapturedLogs.capture((lines) =>
              Effect.gen(function*() {
                const { error } = yield* Asking.legacy(handlersOf(fail), method, params)
                assert.deepStrictEqual(error, { code: -32603, message }, `${method} ${how}`)
                const outcome = yield* Asking.modern(handlersOf(fail), method, params)
                assert.strictEqual(Asking.problemOf(outcome.error), "handler-failed", `${method} ${how}`)
                assert.notInclude(JSON.stringify(outcome.error), "secret")
                assert.notInclude(outcome.error?.message, "secret")
                const logged = lines.filter(({ level }) => level === "Error")
                assert.strictEqual(logged.length, 2, `${method} ${how}`)
                if (how !== "interrupts itself") {
                  for (const { text } of logged) assert.include(text, "secret 42")
                }
              })
            )
          }
        }
      })
  )
})

describe("The server that declares nothing of it", () => {
  verifies("ELI-06", "may ask all the same over each kind of transport of its era", () =>
    Effect.gen(function*() {
      const handlers = answering({ name: "Ada" })
      const asked = form({ name: { type: "string" } })
      const expected = { action: "accept", content: { name: "Ada" } }
      for (const kind of ["stdio", "sse", "memory"]) {
        const server = yield* Scripted.legacy({}, { kind })
        yield* Asking.connectQuietly(server, { handlers })
        server.links[0]?.ask("q", "elicitation/create", asked)
        yield* server.until(() => server.replies().length === 1)
        assert.deepStrictEqual(server.replies(), [{ jsonrpc: "2.0", id: "q", result: expected }])
      }
      for (const kind of ["stdio", "streamable-http", "memory"]) {
        const server = yield* Scripted.modern({
          "server/discover": Scripted.answer(discovery({ capabilities: { tools: {} } })),
          "tools/list": Scripted.answer({ tools: [] }),
          "tools/call": Scripted.inTurn(
            Scripted.answer(Asking.inputRequired({ q: { method: "elicitation/create", params: asked } })),
            Scripted.answer(Asking.done)
          ),
          "prompts/get": Scripted.inTurn(
            Scripted.answer(Asking.inputRequired({ q: { method: "elicitation/create", params: asked } })),
            Scripted.answer({ messages: [] })
          )
        }, { kind })
        const client = yield* Asking.connectQuietly(server, { handlers })
        yield* client.getPrompt("p")
        assert.deepStrictEqual(server.sentOf("prompts/get")[1]?.params["inputResponses"], { q: expected })
      }
      const http = yield* Scripted.legacy({ "tools/call": Scripted.never }, { kind: "streamable-http" })
      const client = yield* Asking.connectQuietly(http, { handlers })
      yield* Asking.start(client.callTool("work"))
      const call = yield* http.take("tools/call")
      call.ask(7, "elicitation/create", asked)
      yield* http.until(() => http.replies().length === 1)
      assert.deepStrictEqual(Json.objectMember(http.replies()[0], "result"), expected)
    }))
})
