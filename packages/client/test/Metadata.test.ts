import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Metadata } from "@mcp-effect/protocol"
import { Effect } from "effect"
import { RequestMetadata } from "../src/ClientOptions.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, never } = Scripted

const handlers: Scripted.Handlers = {
  "tools/list": answer({ tools: [{ name: "work", inputSchema: { type: "object" } }] }),
  "tools/call": answer({ content: [] }),
  "prompts/get": answer({ messages: [] }),
  "vendor/raw": answer({})
}
const own: ReadonlyArray<string> = [
  Metadata.protocolVersionKey,
  Metadata.clientInfoKey,
  Metadata.clientCapabilitiesKey,
  "progressToken"
]

/** What the host put into the metadata of the last request of that method. */
const hostMetadata = (server: Scripted.Server, method: string): Record<string, unknown> => {
  const meta = server.sentOf(method).at(-1)?.meta ?? {}
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !own.includes(key)))
}

describe("_meta of the host", () => {
  verifies("MET-02", "a value goes with every request, in either era", () =>
    Effect.gen(function*() {
      for (const server of [yield* Scripted.modern(handlers), yield* Scripted.legacy(handlers)]) {
        const client = yield* connect(server, { requestMetadata: { tenant: "a", deep: { b: [1] } } })
        yield* client.listTools()
        yield* client.callTool("work")
        yield* client.getPrompt("p")
        for (const method of ["tools/list", "tools/call", "prompts/get"]) {
          assert.deepStrictEqual(hostMetadata(server, method), { tenant: "a", deep: { b: [1] } })
        }
      }
    }))

  verifies("MET-02", "an Effect is run for each request", () =>
    Effect.gen(function*() {
      let count = 0
      const server = yield* Scripted.modern(handlers)
      const client = yield* connect(server, { requestMetadata: Effect.sync(() => ({ count: ++count })) })
      yield* client.listTools()
      yield* client.callTool("work")
      assert.deepStrictEqual(hostMetadata(server, "tools/list"), { count: 1 })
      assert.deepStrictEqual(hostMetadata(server, "tools/call"), { count: 2 })
    }))

  verifies("MET-02", "a region has metadata of its own", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const client = yield* connect(server)
      yield* Effect.provideService(client.listTools(), RequestMetadata, { region: true })
      yield* client.callTool("work")
      assert.deepStrictEqual(hostMetadata(server, "tools/list"), { region: true })
      assert.deepStrictEqual(hostMetadata(server, "tools/call"), {})
    }))

  verifies("MET-03", "the call prevails over the region, and the region over the client", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const client = yield* connect(server, { requestMetadata: { a: "client", b: "client", c: "client" } })
      yield* Effect.provideService(
        client.callTool("work", {}, { meta: { c: "call" } }),
        RequestMetadata,
        { b: "region", c: "region" }
      )
      assert.deepStrictEqual(hostMetadata(server, "tools/call"), { a: "client", b: "region", c: "call" })
    }))

  verifies("MET-03", "the protocol's own keys cannot be set by anybody, in either era", () =>
    Effect.gen(function*() {
      const forged = {
        [Metadata.protocolVersionKey]: "1999-01-01",
        [Metadata.clientInfoKey]: { name: "forged", version: "0" },
        [Metadata.clientCapabilitiesKey]: { sampling: {} },
        kept: true
      }
      const info = { name: "tester", version: "1" }
      const modern = yield* Scripted.modern(handlers)
      const legacy = yield* Scripted.legacy(handlers)
      for (const server of [modern, legacy]) {
        const client = yield* connect(server, { clientInfo: info, requestMetadata: forged })
        yield* Effect.provideService(
          client.callTool("work", { _meta: forged }, { meta: forged }),
          RequestMetadata,
          forged
        )
        yield* client.notify("vendor/notice", { _meta: forged })
        yield* server.until(() => server.sentOf("vendor/notice").length === 1)
      }
      for (const method of ["tools/call", "vendor/notice"]) {
        const { progressToken: _, ...meta } = modern.sentOf(method)[0]?.meta ?? {}
        assert.deepStrictEqual(meta, {
          kept: true,
          [Metadata.protocolVersionKey]: "2026-07-28",
          [Metadata.clientInfoKey]: info,
          [Metadata.clientCapabilitiesKey]: {}
        })
      }
      assert.deepStrictEqual(hostMetadata(legacy, "tools/call"), { kept: true })
      assert.isFalse(Object.hasOwn(legacy.sentOf("tools/call")[0]?.meta ?? {}, Metadata.protocolVersionKey))
      assert.deepStrictEqual(legacy.sentOf("vendor/notice")[0]?.meta, { kept: true })
    }))

  verifies("MET-04", "what the host changes after a request was made does not reach it", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ ...handlers, "tools/call": never })
      const host: Record<string, unknown> = { a: 1 }
      const args: Record<string, unknown> = { list: [1] }
      const client = yield* connect(server, { requestMetadata: host })
      yield* Effect.forkScoped(client.callTool("work", args), { startImmediately: true })
      host["a"] = 2
      args["list"] = [2]
      yield* server.take("tools/call")
      assert.deepStrictEqual(hostMetadata(server, "tools/call"), { a: 1 })
      assert.deepStrictEqual(server.sentOf("tools/call")[0]?.params["arguments"], { list: [1] })
    }))

  verifies(
    "MET-05",
    "a _meta among arguments of a tool or a prompt moves up to the params",
    () =>
      Effect.gen(function*() {
        for (const server of [yield* Scripted.modern(handlers), yield* Scripted.legacy(handlers)]) {
          const client = yield* connect(server)
          const args = JSON.parse("{\"text\":\"x\",\"_meta\":{\"lifted\":true}}")
          yield* client.callTool("work", args)
          yield* client.getPrompt("p", args)
          for (const method of ["tools/call", "prompts/get"]) {
            assert.deepStrictEqual(server.sentOf(method)[0]?.params["arguments"], { text: "x" })
            assert.deepStrictEqual(hostMetadata(server, method), { lifted: true })
          }
        }
      })
  )

  verifies(
    "MET-05",
    "it stays an argument where the tool's schema has a property of that name",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          ...handlers,
          "tools/list": answer({
            tools: [{ name: "work", inputSchema: { type: "object", properties: { _meta: { type: "object" } } } }]
          })
        })
        const client = yield* connect(server)
        yield* client.listTools()
        yield* client.callTool("work", { _meta: { own: true } })
        assert.deepStrictEqual(server.sentOf("tools/call")[0]?.params["arguments"], { _meta: { own: true } })
        assert.deepStrictEqual(hostMetadata(server, "tools/call"), {})
      })
  )

  verifies(
    "MET-06",
    "the identity can be kept back from a modern server, and no _meta brings it in again",
    () =>
      Effect.gen(function*() {
        const forged = { [Metadata.clientInfoKey]: { name: "forged", version: "0" } }
        const modern = yield* Scripted.modern(handlers)
        const client = yield* connect(modern, { sendClientInfo: false, requestMetadata: forged })
        yield* client.callTool("work", { _meta: forged }, { meta: forged })
        yield* client.notify("vendor/notice", { _meta: forged })
        yield* modern.until(() => modern.sentOf("vendor/notice").length === 1)
        for (const { meta } of modern.sent) assert.isFalse(Object.hasOwn(meta, Metadata.clientInfoKey))

        // "clientInfo" is a required member of initialize.
        const legacy = yield* Scripted.legacy(handlers)
        yield* connect(legacy, {
          clientInfo: { name: "tester", version: "1" },
          sendClientInfo: false,
          protocol: "legacy"
        })
        assert.deepStrictEqual(legacy.sentOf("initialize")[0]?.params["clientInfo"], { name: "tester", version: "1" })
      })
  )

  verifies(
    "MET-07",
    "modern notifications say what requests say of revision, client and capabilities",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(handlers)
        const client = yield* connect(server, { clientInfo: { name: "tester", version: "1" } })
        yield* client.notify("vendor/notice", { value: 1, _meta: { own: true } })
        yield* client.notify("vendor/bare")
        yield* server.until(() => server.sentOf("vendor/bare").length === 1)
        const said = {
          [Metadata.protocolVersionKey]: "2026-07-28",
          [Metadata.clientInfoKey]: { name: "tester", version: "1" },
          [Metadata.clientCapabilitiesKey]: {}
        }
        assert.deepStrictEqual(server.sentOf("vendor/notice")[0]?.message, {
          jsonrpc: "2.0",
          method: "vendor/notice",
          params: { value: 1, _meta: { own: true, ...said } }
        })
        assert.deepStrictEqual(server.sentOf("vendor/bare")[0]?.meta, said)
      })
  )

  verifies(
    "MET-08",
    "the log level travels with modern requests, and a host may set it in its own metadata",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(handlers)
        const client = yield* connect(server, { logLevel: "warning" })
        yield* client.listTools()
        assert.deepStrictEqual(hostMetadata(server, "tools/list"), { [Metadata.logLevelKey]: "warning" })
        yield* client.callTool("work", {}, { meta: { [Metadata.logLevelKey]: "debug" } })
        assert.deepStrictEqual(hostMetadata(server, "tools/call"), { [Metadata.logLevelKey]: "debug" })
      })
  )

  verifies("MET-08", "no level is asked for unless somebody does", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const client = yield* connect(server)
      yield* client.listTools()
      assert.deepStrictEqual(hostMetadata(server, "tools/list"), {})
    }))
})

describe("extensions", () => {
  verifies(
    ["MET-10", "CON-15"],
    "travel in clientCapabilities.extensions with every request",
    () =>
      Effect.gen(function*() {
        const extensions = { "com.example/search": {}, "vendor.example/view": { modes: ["a"] } }
        const modern = yield* Scripted.modern(handlers)
        const client = yield* connect(modern, { extensions })
        yield* client.listTools()
        for (const { meta } of modern.sent) {
          assert.deepStrictEqual(meta[Metadata.clientCapabilitiesKey], { extensions })
        }
        const legacy = yield* Scripted.legacy(handlers)
        yield* connect(legacy, { extensions })
        assert.deepStrictEqual(legacy.sentOf("initialize")[0]?.params["capabilities"], { extensions })
      })
  )

  verifies(
    "MET-09",
    "an id without prefix and slash, or settings that are no object, are refused",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern()
        const refused = ["{\"search\":{}}", "{\"com.example\":{}}", "{\"com..example/x\":{}}", "{\"/x\":{}}"]
          .concat("{\"com.example/x\":true}", "{\"com.example/x\":[]}", "{\"com.example/x\":null}")
        for (const extensions of refused) {
          const error = yield* Effect.flip(connect(server, { extensions: JSON.parse(extensions) }))
          assert.strictEqual(error.reason._tag, "InvalidRequest", extensions)
          assert.strictEqual(error.delivery, "unsent")
        }
        assert.strictEqual(server.links.length, 0)
      })
  )

  verifies("MET-09", "the name after the slash may be empty", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern()
      yield* connect(server, { extensions: { "com.example/": {} } })
      assert.deepStrictEqual(server.sent[0]?.meta[Metadata.clientCapabilitiesKey], {
        extensions: { "com.example/": {} }
      })
    }))

  verifies(
    "MET-10",
    "with a kind of result that this client knows can be declared like any other",
    () =>
      Effect.gen(function*() {
        const extensions = { "io.modelcontextprotocol/tasks": {} }
        const server = yield* Scripted.modern()
        yield* connect(server, { extensions })
        assert.deepStrictEqual(server.sent[0]?.meta[Metadata.clientCapabilitiesKey], { extensions })
      })
  )
})
