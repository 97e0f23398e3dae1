import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, never } = Scripted
const http = { kind: "streamable-http" }

const annotated = (header: string, more?: Record<string, unknown>) => ({
  name: "search",
  inputSchema: {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": header },
      limit: { type: "integer", "x-mcp-header": "Limit" },
      deep: { type: "object", properties: { flag: { type: "boolean", "x-mcp-header": "Flag" } } },
      query: { type: "string" },
      ...more
    }
  }
})
const list = (...tools: ReadonlyArray<unknown>) => answer({ tools })
const done = answer({ content: [] })
const mismatch: Scripted.Handler = (request) => request.error(-32020, "Header mismatch", undefined, 400)
const callMethods = (server: Scripted.Server) => server.methods().slice(1)

/** What the calls told the transport about headers. */
const routings = Effect.fnUntraced(function*(server: Scripted.Server, calls: number) {
  const requests = yield* Effect.forEach(Array.from({ length: calls }), () => server.take("tools/call"))
  return requests.map(({ outgoing }) => outgoing.routing)
})

describe("A call over modern HTTP", () => {
  verifies(
    ["HDR-10", "HDR-03"],
    "tells the name of the tool and the arguments that its definition wants mirrored",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "tools/list": list(annotated("Region")), "tools/call": done }, http)
        const client = yield* connect(server)
        yield* client.listTools()
        yield* client.callTool("search", { region: "eu", limit: 7, deep: { flag: false }, query: "x" })
        yield* client.callTool("search", { region: null, query: "x" })
        const [first, second] = yield* routings(server, 2)
        assert.strictEqual(first?.name, "search")
        assert.deepStrictEqual(Object.fromEntries(first?.params ?? []), { Region: "eu", Limit: 7, Flag: false })
        assert.deepStrictEqual(second?.params ?? [], [])
        // The body says it all as well.
        assert.deepStrictEqual(server.sentOf("tools/call")[0]?.params["arguments"], {
          region: "eu",
          limit: 7,
          deep: { flag: false },
          query: "x"
        })
      })
  )

  verifies("HDR-03", "names prompts and resources too, and nothing for other methods", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "prompts/get": answer({ messages: [] }),
        "resources/read": answer({ contents: [] }),
        "prompts/list": answer({ prompts: [] })
      }, http)
      const client = yield* connect(server)
      yield* client.getPrompt("p")
      yield* client.readResource("file:///a")
      yield* client.listPrompts()
      assert.strictEqual((yield* server.take("prompts/get")).outgoing.routing?.name, "p")
      assert.strictEqual((yield* server.take("resources/read")).outgoing.routing?.name, "file:///a")
      assert.isUndefined((yield* server.take("prompts/list")).outgoing.routing?.name)
    }))

  it.effect("reads the list first for a tool that was not listed, and only once", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": list(annotated("Region")), "tools/call": done }, http)
      const client = yield* connect(server)
      yield* client.callTool("search", { region: "eu" })
      yield* client.callTool("search", { region: "us" })
      assert.deepStrictEqual(callMethods(server), ["tools/list", "tools/call", "tools/call"])
      const [first] = yield* routings(server, 1)
      assert.deepStrictEqual(first?.params, [["Region", "eu"]])
    }))

  it.effect("goes out without headers of arguments where the list cannot be had", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/call": done }, http)
      const client = yield* connect(server)
      yield* client.callTool("search", { region: "eu" })
      const [first] = yield* routings(server, 1)
      assert.strictEqual(first?.name, "search")
      assert.isUndefined(first?.params)
    }))

  it.effect("shares its deadline with the list that is read for it", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": never, "tools/call": never }, http)
      const client = yield* connect(server)
      const call = yield* Effect.forkScoped(
        client.callTool("search", {}, { idleTimeout: "4 seconds", deadline: "6 seconds" })
      )
      yield* server.take("tools/list")
      yield* TestClock.adjust("4 seconds")
      yield* server.take("tools/call")
      yield* TestClock.adjust("2 seconds")
      const error = yield* Effect.flip(Fiber.join(call))
      assert.isTrue(error.reason._tag === "RequestTimeout" && error.reason.kind === "deadline")
    }))

  verifies(
    "HDR-15",
    "sets a tool with an invalid annotation aside, with a diagnostic, and gives the others",
    () =>
      Effect.gen(function*() {
        const invalid = {
          name: "odd",
          inputSchema: { type: "object", properties: { n: { type: "number", "x-mcp-header": "Number" } } }
        }
        const server = yield* Scripted.modern({ "tools/list": list(invalid, annotated("Region")) }, http)
        const client = yield* connect(server)
        const diagnostics = yield* collect(client.diagnostics)
        assert.deepStrictEqual((yield* client.listTools()).map(({ name }) => name), ["search"])
        yield* Scripted.settled
        assert.strictEqual(diagnostics.length, 1)
        assert.isTrue(diagnostics[0]?._tag === "InvalidItem" && diagnostics[0].name === "odd")
      })
  )

  it.effect("is sent again once, after -32020, with a definition read anew, under a new id", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/list": Scripted.inTurn(list(annotated("Old")), list(annotated("New"))),
        "tools/call": Scripted.inTurn(mismatch, done)
      }, http)
      const client = yield* connect(server)
      const heard = yield* collect(client.notifications)
      yield* client.listTools()
      yield* client.callTool("search", { region: "eu" }, { requestId: "mine" })
      assert.deepStrictEqual(callMethods(server), ["tools/list", "tools/call", "tools/list", "tools/call"])
      const [first, second] = yield* routings(server, 2)
      assert.deepStrictEqual([first?.params, second?.params], [[["Old", "eu"]], [["New", "eu"]]])
      assert.notStrictEqual(server.sentOf("tools/call")[1]?.id, "mine")
      yield* Scripted.settled
      assert.deepStrictEqual(heard.map(({ method }) => method), ["notifications/tools/list_changed"])
    }))

  it.effect("fails with the second -32020, and with the first where the list cannot be had", () =>
    Effect.gen(function*() {
      const twice = yield* Scripted.modern({ "tools/list": list(annotated("Region")), "tools/call": mismatch }, http)
      const error = yield* Effect.flip((yield* connect(twice)).callTool("search"))
      assert.strictEqual(error.reason._tag, "HeaderMismatch")
      assert.strictEqual(twice.sentOf("tools/call").length, 2)

      const once = yield* Scripted.modern({ "tools/call": mismatch }, http)
      yield* Effect.flip((yield* connect(once)).callTool("search"))
      assert.strictEqual(once.sentOf("tools/call").length, 1)
    }))

  it.effect("fails before it is sent with an argument that no header can hold", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": list(annotated("Region")), "tools/call": done }, http)
      const client = yield* connect(server)
      const error = yield* Effect.flip(client.callTool("search", { limit: 2 ** 53 }))
      assert.strictEqual(error.reason._tag, "InvalidRequest")
      assert.strictEqual(error.delivery, "unsent")
      assert.strictEqual(server.sentOf("tools/call").length, 0)
    }))
})

describe("A call over legacy HTTP", () => {
  it.effect("mirrors nothing, refuses no annotation and reads no list first", () =>
    Effect.gen(function*() {
      const invalid = {
        name: "search",
        inputSchema: { type: "object", properties: { n: { type: "number", "x-mcp-header": "Number" } } }
      }
      const server = yield* Scripted.legacy({ "tools/list": list(invalid), "tools/call": done }, http)
      const client = yield* connect(server)
      yield* client.callTool("search", { n: 1 })
      assert.strictEqual((yield* client.listTools()).length, 1)
      yield* client.callTool("search", { n: 1 })
      assert.deepStrictEqual(server.methods().slice(-3), ["tools/call", "tools/list", "tools/call"])
      assert.isTrue((yield* routings(server, 2)).every((routing) => routing?.params === undefined))
    }))
})
