import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Diagnostic, McpError } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber, Option, Schedule } from "effect"
import { TestClock } from "effect/testing"
import * as CapturedLogs from "./CapturedLogs.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, inTurn, never } = Scripted
const http = { kind: "streamable-http" }

const toolWith = (properties: Readonly<Record<string, unknown>>, name = "query") => ({
  name,
  inputSchema: { type: "object", properties }
})
const annotated = (header: unknown, type: unknown = "string") => ({ value: { type, "x-mcp-header": header } })
const tools = (...tools: ReadonlyArray<unknown>): Scripted.Handler => answer({ tools })
const done = answer({ content: [] })
const mismatch: Scripted.Handler = ({ error }) => error(-32020, "Header mismatch", undefined, 400)

/** What the transport was told to send in `Mcp-Param-*`, for each call. */
const headersOf = Effect.fnUntraced(function*(server: Scripted.Server) {
  const calls: Array<unknown> = []
  for (let i = server.sentOf("tools/call").length; i > 0; i--) {
    const { outgoing } = yield* server.take("tools/call")
    calls.push(Object.fromEntries(outgoing.routing?.params ?? []))
  }
  return calls
})

describe("Arguments of annotated parameters", () => {
  verifies("HDR-09", "are mirrored, nested ones as well, and stay in the body", () =>
    Effect.gen(function*() {
      const tool = toolWith({
        region: { type: "string", "x-mcp-header": "Region" },
        options: {
          type: "object",
          properties: { priority: { type: "integer", "x-mcp-header": "Priority" } }
        },
        dryRun: { type: ["boolean", "null"], "x-mcp-header": "Dry-Run" },
        sql: { type: "string" }
      })
      const server = yield* Scripted.modern({ "tools/list": tools(tool), "tools/call": done }, http)
      const client = yield* connect(server)
      const args = { region: "Hello, 世界", options: { priority: -7 }, dryRun: true, sql: "SELECT 1" }
      yield* client.callTool("query", args)
      yield* client.callTool("query", { options: { priority: 3.0 }, dryRun: null, region: "" })
      assert.deepStrictEqual<unknown>(yield* headersOf(server), [
        { "Region": "Hello, 世界", "Priority": -7, "Dry-Run": true },
        { Priority: 3, Region: "" }
      ])
      assert.deepStrictEqual(server.sentOf("tools/call")[0]?.params["arguments"], args)
    }))

  verifies("HDR-09", "are mirrored on modern HTTP alone", () =>
    Effect.gen(function*() {
      for (const open of [Scripted.modern, Scripted.legacy]) {
        for (const kind of ["stdio", "memory"]) {
          const server = yield* open({ "tools/list": tools(toolWith(annotated("Region"))), "tools/call": done }, {
            kind
          })
          const client = yield* connect(server)
          assert.strictEqual((yield* client.listTools()).length, 1)
          yield* client.callTool("query", { value: "eu" })
          assert.deepStrictEqual<unknown>(yield* headersOf(server), [{}])
        }
      }
    }))

  verifies("HDR-11", "that no header can hold fail the call before it is sent", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(
        { "tools/list": tools(toolWith(annotated("Value", "integer"))), "tools/call": done },
        http
      )
      const client = yield* connect(server)
      for (const value of [1.5, 2 ** 53, -(2 ** 53), [1], { a: 1 }, "\ud800"]) {
        const error = yield* Effect.flip(client.callTool("query", { value }))
        assert.strictEqual(error.reason._tag, "InvalidRequest", JSON.stringify(value))
        assert.isTrue(error.reason._tag === "InvalidRequest" && error.reason.path === "/value")
        assert.strictEqual(error.delivery, "unsent")
      }
      assert.isEmpty(server.sentOf("tools/call"))
      for (const value of [2 ** 53 - 1, -(2 ** 53 - 1), 7.0, null, undefined]) {
        yield* client.callTool("query", { value })
      }
      assert.strictEqual(server.sentOf("tools/call").length, 5)
    }))
})

describe("A tool whose annotation is invalid", () => {
  const invalid: ReadonlyArray<Readonly<Record<string, unknown>>> = [
    ...["", "My Region", "Region:Primary", "Région", "Region\t1", 7, null].map((header) => annotated(header)),
    ...["object", "array", "null", "number"].map((type) => annotated("Region", type)),
    { a: { type: "string", "x-mcp-header": "Region" }, b: { type: "string", "x-mcp-header": "REGION" } },
    { list: { type: "array", items: { type: "string", "x-mcp-header": "Region" } } },
    { any: { anyOf: [{ type: "string", "x-mcp-header": "Region" }] } }
  ]

  verifies(
    ["HDR-14", "HDR-15"],
    "is left out of the list over modern HTTP, with a warning that names it",
    () =>
      Effect.gen(function*() {
        for (const properties of invalid) {
          yield* CapturedLogs.capture((lines) =>
            Effect.gen(function*() {
              const server = yield* Scripted.modern({
                "tools/list": tools(toolWith(properties, "odd"), toolWith(annotated("Method"), "even"))
              }, http)
              const client = yield* connect(server)
              const diagnostics = yield* collect(client.diagnostics)
              assert.deepStrictEqual((yield* client.listTools()).map(({ name }) => name), ["even"])
              yield* Scripted.settled
              const [diagnostic] = diagnostics
              assert.isTrue(diagnostic?._tag === "InvalidItem" && diagnostic.name === "odd", JSON.stringify(properties))
              const warning = lines.find(({ level }) => level === "Warn")
              assert.include(warning?.message, "odd")
              assert.include(warning?.message, "x-mcp-header")
              if (diagnostic !== undefined) assert.strictEqual(warning?.message, Diagnostic.describe(diagnostic))
            })
          )
        }
      })
  )

  verifies("HDR-14", "stays in the list everywhere else", () =>
    Effect.gen(function*() {
      const list = tools(toolWith(annotated("")))
      for (
        const server of [
          yield* Scripted.modern({ "tools/list": list }, { kind: "stdio" }),
          yield* Scripted.legacy({ "tools/list": list }, http)
        ]
      ) assert.strictEqual((yield* (yield* connect(server)).listTools()).length, 1)
    }))

  verifies("HDR-16", "has it where a schema stands; in data it means nothing", () =>
    Effect.gen(function*() {
      const data = { "x-mcp-header": "not a token" }
      const tool = toolWith({ value: { type: "object", default: data, examples: [data], enum: [data], const: data } })
      const server = yield* Scripted.modern({ "tools/list": tools(tool), "tools/call": done }, http)
      const client = yield* connect(server)
      assert.strictEqual((yield* client.listTools()).length, 1)
      yield* client.callTool("query", { value: data })
      assert.deepStrictEqual<unknown>(yield* headersOf(server), [{}])
    }))
})

describe("The definition of a tool", () => {
  verifies(
    ["HDR-13", "HDR-21"],
    "is fetched once for a call of a tool that was not listed, or does without",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": ({ params, result }) =>
            params["cursor"] === undefined
              ? result({ tools: [toolWith(annotated("Region"))], nextCursor: "2" })
              : result({ tools: [toolWith(annotated("Zone"), "other")] }),
          "tools/call": done
        }, http)
        const client = yield* connect(server)
        yield* client.callTool("query", { value: "eu" })
        yield* client.callTool("other", { value: "z1" })
        assert.strictEqual(server.sentOf("tools/list").length, 2)
        assert.deepStrictEqual<unknown>(yield* headersOf(server), [{ Region: "eu" }, { Zone: "z1" }])
        for (const list of [({ error }: Scripted.Received) => error(-32603, "broken"), answer({ tools: "none" })]) {
          const without = yield* Scripted.modern({ "tools/list": list, "tools/call": done }, http)
          yield* (yield* connect(without)).callTool("query", { value: "eu" })
          assert.deepStrictEqual<unknown>(yield* headersOf(without), [{}])
        }
      })
  )

  verifies(
    "HDR-21",
    "is the newest that a list told, and gone where a whole list lacks it",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": inTurn(
            tools(toolWith(annotated("Old"))),
            tools(toolWith(annotated("New"))),
            tools(toolWith({}, "other"))
          ),
          "tools/call": done
        }, http)
        const client = yield* connect(server)
        for (let i = 0; i < 2; i++) {
          yield* client.listTools()
          yield* client.callTool("query", { value: "eu" })
        }
        assert.deepStrictEqual<unknown>(yield* headersOf(server), [{ Old: "eu" }, { New: "eu" }])
        yield* client.listTools()
        const { reason } = yield* Effect.flip(client.callTool("query", { value: "eu" }))
        assert.strictEqual(reason._tag, "UnknownTool")
      })
  )
})

describe("-32020", () => {
  verifies(
    ["HDR-17", "HDR-18"],
    "has the list read anew, which listeners hear of, and the call sent once more with what it says",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": inTurn(tools(toolWith(annotated("Old"))), tools(toolWith(annotated("New")))),
          "tools/call": inTurn(mismatch, done)
        }, http)
        const client = yield* connect(server)
        const heard = yield* collect(client.notifications)
        yield* client.callTool("query", { value: "eu" })
        assert.deepStrictEqual<unknown>(yield* headersOf(server), [{ Old: "eu" }, { New: "eu" }])
        const [first, second] = server.sentOf("tools/call")
        assert.notStrictEqual(first?.id, second?.id)
        assert.deepStrictEqual(first?.content, second?.content)
        yield* Scripted.settled
        assert.deepStrictEqual(heard.map(({ method }) => method), ["notifications/tools/list_changed"])
      })
  )

  verifies(
    ["HDR-17", "HDR-18"],
    "is the error where it comes again, or where the list cannot be had, which listeners hear of too",
    () =>
      Effect.gen(function*() {
        const list = tools(toolWith(annotated("Region")))
        const broken: Scripted.Handler = ({ error }) => error(-32603, "broken")
        for (
          const [lists, calls] of [
            [[list], 2],
            [[list, broken], 1],
            [[list, answer({ tools: 7 })], 1]
          ] as const
        ) {
          const server = yield* Scripted.modern({ "tools/list": inTurn(...lists), "tools/call": mismatch }, http)
          const client = yield* connect(server)
          const heard = yield* collect(client.notifications)
          const error = yield* Effect.flip(client.callTool("query", { value: "eu" }))
          assert.strictEqual(error.reason._tag, "HeaderMismatch")
          assert.strictEqual(error.method, "tools/call")
          assert.strictEqual(server.sentOf("tools/call").length, calls)
          yield* Scripted.settled
          assert.deepStrictEqual(heard.map(({ method }) => method), ["notifications/tools/list_changed"])
        }
      })
  )

  verifies("HDR-17", "has all of it done within the one deadline of the call", () =>
    Effect.gen(function*() {
      const list = tools(toolWith(annotated("Region")))
      const server = yield* Scripted.modern(
        { "tools/list": inTurn(list, never), "tools/call": inTurn(never, never) },
        http
      )
      const client = yield* connect(server)
      yield* client.listTools()
      yield* server.take("tools/list")
      const fiber = yield* Effect.forkScoped(client.callTool("query", { value: "eu" }, { deadline: "5 seconds" }))
      const first = yield* server.take("tools/call")
      yield* TestClock.adjust("2 seconds")
      mismatch(first)
      const refresh = yield* server.take("tools/list")
      yield* TestClock.adjust("2 seconds")
      list(refresh)
      yield* server.take("tools/call")
      yield* TestClock.adjust("1 second")
      const { reason } = yield* Effect.flip(Fiber.join(fiber))
      assert.isTrue(reason._tag === "RequestTimeout" && reason.kind === "deadline" && reason.millis === 5_000)
    }))

  verifies(
    ["HDR-17", "RTY-11"],
    "is mended once in a call that a schedule repeats, at once and beside what the schedule allows",
    () =>
      Effect.gen(function*() {
        const busy: Scripted.Handler = ({ fail }) => fail(new McpError.HttpStatus({ status: 503 }), "refused")
        const retry = Schedule.spaced("10 seconds").pipe(Schedule.upTo({ times: 2 }))
        const cases = [
          { attempts: [busy, mismatch, done], sends: [0, 10_000, 10_000], lists: 2, outcome: "success" },
          { attempts: [mismatch, busy, done], sends: [0, 0, 10_000], lists: 2, outcome: "success" },
          { attempts: [busy, mismatch, busy, done], sends: [0, 10_000, 10_000, 20_000], lists: 2, outcome: "success" },
          { attempts: [mismatch, busy, mismatch], sends: [0, 0, 10_000], lists: 2, outcome: "HeaderMismatch" },
          { attempts: [mismatch, busy, busy, busy], sends: [0, 0, 10_000, 20_000], lists: 2, outcome: "HttpStatus" }
        ]
        for (const { attempts, lists, outcome, sends } of cases) {
          const server = yield* Scripted.modern({
            "tools/list": inTurn(tools(toolWith(annotated("Old"))), tools(toolWith(annotated("New")))),
            "tools/call": inTurn(...attempts)
          }, http)
          const client = yield* connect(server, { retry: undefined })
          yield* client.listTools()
          const fiber = yield* Effect.forkScoped(client.callTool("query", { value: "eu" }, { retry }), {
            startImmediately: true
          })
          const times: Array<number> = []
          for (let millis = 0; millis <= 60_000; millis += 1_000) {
            yield* Scripted.settled
            while (times.length < server.sentOf("tools/call").length) times.push(millis)
            if (fiber.pollUnsafe() !== undefined) break
            yield* TestClock.adjust(1_000)
          }
          const exit = yield* Fiber.await(fiber)
          assert.strictEqual(Option.getOrUndefined(Exit.findErrorOption(exit))?.reason._tag ?? "success", outcome)
          assert.deepStrictEqual(times, sends)
          assert.strictEqual(server.sentOf("tools/list").length, lists)
          const mended = attempts.indexOf(mismatch)
          assert.deepStrictEqual<unknown>(
            yield* headersOf(server),
            attempts.map((_, at) => at > mended ? { New: "eu" } : { Old: "eu" })
          )
        }
      })
  )

  verifies("HDR-17", "in answer to any other method is the error it is", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "prompts/get": mismatch, "resources/read": mismatch }, http)
      const client = yield* connect(server)
      for (const request of [Effect.asVoid(client.getPrompt("p")), Effect.asVoid(client.readResource("a:b"))]) {
        assert.strictEqual((yield* Effect.flip(request)).reason._tag, "HeaderMismatch")
      }
      assert.strictEqual(server.sent.filter(({ method }) => method !== "server/discover").length, 2)
    }))
})
