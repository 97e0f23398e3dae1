import { assert, describe, it } from "@effect/vitest"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import { type Json, McpError, type Tool } from "@mcp-effect/protocol"
import { Config, ConfigProvider, Context, Effect, Exit, Fiber, Layer, ManagedRuntime, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Around, AroundRequest } from "../src/ClientOptions.ts"
import * as McpClient from "../src/McpClient.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, never } = Scripted

const handlers: Scripted.Handlers = {
  "tools/list": answer({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
  "tools/call": (request) => request.result({ content: [], structuredContent: request.params["arguments"] }),
  "prompts/get": answer({ messages: [] }),
  ping: answer({})
}
const names = (tools: ReadonlyArray<Tool.Tool>) => tools.map(({ name }) => name)

describe("McpClient.layer", () => {
  verifies(
    "CON-23",
    "connects when it is built, and closes the connection with its scope",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(handlers)
        const scope = yield* Scope.make()
        yield* Layer.buildWithScope(McpClient.layer().pipe(Layer.provide(server.layer)), scope)
        assert.deepStrictEqual(server.methods(), ["server/discover"])
        assert.isFalse(server.links[0]?.closed)
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(server.links[0]?.closed)
      })
  )

  verifies("CON-13", "fails where the server cannot be connected to", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.make({})
      const error = yield* Effect.flip(
        Effect.provide(
          McpClient.McpClient.use((client) => client.ping()),
          McpClient.layer().pipe(Layer.provide(server.layer))
        )
      )
      assert.isTrue(McpError.isMcpError(error) && error.method === "initialize")
    }))

  it.effect("waits for the first use with lazy, and never connects without one", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const layer = McpClient.layer({ lazy: true }).pipe(Layer.provide(server.layer))
      yield* Effect.provide(
        Effect.gen(function*() {
          const client = yield* McpClient.McpClient
          assert.strictEqual(server.links.length, 0)
          yield* client.listTools()
          assert.strictEqual(server.links.length, 1)
        }),
        layer
      )
      assert.isTrue(server.links[0]?.closed)
      const unused = yield* Scripted.modern(handlers)
      yield* Effect.provide(
        McpClient.McpClient.use(() => Effect.void),
        McpClient.layer({ lazy: true }).pipe(Layer.provide(unused.layer))
      )
      assert.strictEqual(unused.links.length, 0)
    }))

  verifies(
    ["CON-16", "TMO-01"],
    "has a twin that reads its options from the configuration",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ ...handlers, "prompts/get": never })
        const provider = ConfigProvider.fromUnknown({ NAME: "configured", PROTOCOL: "legacy", IDLE: "3 seconds" })
        const layer = McpClient.layerConfig({
          clientInfo: { name: Config.String("NAME"), version: Config.succeed("9") },
          protocol: Config.Literals(["auto", "modern", "legacy"], "PROTOCOL"),
          idleTimeout: Config.Duration("IDLE")
        }).pipe(Layer.provide(server.layer), Layer.provide(ConfigProvider.layer(provider)))
        const client = Context.get(yield* Layer.build(layer), McpClient.McpClient)
        assert.deepStrictEqual(server.sentOf("initialize")[0]?.params["clientInfo"], {
          name: "configured",
          version: "9"
        })
        assert.deepStrictEqual(server.sentOf("server/discover"), [])
        const running = yield* Effect.forkScoped(client.getPrompt("p"))
        yield* server.take("prompts/get")
        yield* TestClock.adjust("3 seconds")
        assert.strictEqual((yield* Effect.flip(Fiber.join(running))).reason._tag, "RequestTimeout")
      })
  )

  it.effect("fails with a ConfigError where the configuration lacks something", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const layer = McpClient.layerConfig({ idleTimeout: Config.Duration("IDLE") }).pipe(
        Layer.provide(server.layer),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
      )
      const error = yield* Effect.flip(Layer.build(layer))
      assert.strictEqual(error._tag, "ConfigError")
      assert.strictEqual(server.links.length, 0)
    }))
})

describe("McpClient.Service", () => {
  class Files extends McpClient.Service<Files>()("test/Files") {}
  class Search extends McpClient.Service<Search>()("test/Search") {}

  it.effect("gives each server a tag of its own, each with its own transport", () =>
    Effect.gen(function*() {
      const toolNamed = (name: string) => answer({ tools: [{ name, inputSchema: { type: "object" } }] })
      const files = yield* Scripted.modern({ "tools/list": toolNamed("read") })
      const search = yield* Scripted.legacy({ "tools/list": toolNamed("find") })
      const layer = Layer.mergeAll(
        Files.layer({ clientInfo: { name: "files", version: "1" } }).pipe(Layer.provide(files.layer)),
        Search.layer({ clientInfo: { name: "search", version: "1" } }).pipe(Layer.provide(search.layer))
      )
      yield* Effect.provide(
        Effect.gen(function*() {
          assert.deepStrictEqual(names(yield* Files.use((client) => client.listTools())), ["read"])
          assert.deepStrictEqual(names(yield* Search.use((client) => client.listTools())), ["find"])
          assert.strictEqual((yield* (yield* Files).server).era, "modern")
          assert.strictEqual((yield* (yield* Search).server).era, "legacy")
        }),
        layer
      )
      assert.isTrue(files.links[0]?.closed)
      assert.isTrue(search.links[0]?.closed)
    }))

  it.effect("opens a connection for each client of one and the same transport", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const layer = Layer.mergeAll(Files.layer(), Search.layer()).pipe(Layer.provide(server.layer))
      yield* Effect.provide(
        Effect.gen(function*() {
          yield* Files.use((client) => client.listTools())
          yield* Search.use((client) => client.listTools())
        }),
        layer
      )
      assert.strictEqual(server.links.length, 2)
    }))

  it.effect("has the twin that reads the configuration", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const layer = Files.layerConfig({ lazy: Config.Boolean("LAZY") }).pipe(
        Layer.provide(server.layer),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ LAZY: "true" })))
      )
      yield* Effect.provide(Files.use(() => Effect.sync(() => assert.strictEqual(server.links.length, 0))), layer)
    }))

  it("is named by its identifier", () => {
    assert.strictEqual(Files.key, "test/Files")
    assert.notStrictEqual(Files.key, Search.key)
  })
})

describe("A client in a test", () => {
  it.effect("is replaced by Layer.mock with what the test needs", () =>
    Effect.gen(function*() {
      const mock = Layer.mock(McpClient.McpClient)({
        callTool: (name) => Effect.succeed({ content: [{ type: "text", text: name }] })
      })
      yield* Effect.provide(
        Effect.gen(function*() {
          const client = yield* McpClient.McpClient
          const result = yield* client.callTool("echo")
          assert.deepStrictEqual(result.content as unknown, [{ type: "text", text: "echo" }])
          assert.isTrue(Exit.hasDies(yield* Effect.exit(client.listTools())))
          assert.isTrue(Exit.hasDies(yield* Effect.exit(client.ping())))
        }),
        mock
      )
    }))

  it.effect("is a record, which is taken apart, spread and replaced in part", () =>
    Effect.gen(function*() {
      const client = yield* connect(yield* Scripted.modern(handlers))
      const { listTools, server } = client
      assert.deepStrictEqual(names(yield* listTools()), ["echo"])
      assert.strictEqual((yield* server).era, "modern")
      assert.strictEqual(client.listTools, listTools)

      const decorated: McpClient.McpClient = {
        ...client,
        callTool: (name, args, options) => client.callTool(name, { ...args, decorated: true }, options)
      }
      const result = yield* decorated.callTool("echo", { message: "hi" })
      assert.deepStrictEqual(result.structuredContent, { message: "hi", decorated: true })
      assert.deepStrictEqual(names(yield* decorated.listTools()), ["echo"])
      assert.deepStrictEqual(Object.keys(decorated), Object.keys(client))

      const derived: McpClient.McpClient = Object.create(client)
      assert.deepStrictEqual(names(yield* derived.listTools()), ["echo"])
    }))

  verifiesLive(
    ["CON-23", "TMO-17"],
    "outside Effect runs in a ManagedRuntime, whose signal cancels and dispose closes",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ ...handlers, "prompts/get": never })
        const runtime = ManagedRuntime.make(McpClient.layer().pipe(Layer.provide(server.layer)))
        yield* Effect.promise(async () => {
          assert.deepStrictEqual(
            names(await runtime.runPromise(McpClient.McpClient.use((client) => client.listTools()))),
            [
              "echo"
            ]
          )
          const controller = new AbortController()
          const running = runtime.runPromiseExit(McpClient.McpClient.use((client) => client.getPrompt("p")), {
            signal: controller.signal
          })
          await Effect.runPromise(server.take("prompts/get"))
          controller.abort()
          assert.isTrue(Exit.hasInterrupts(await running))
          await Effect.runPromise(server.until(() => server.sentOf("notifications/cancelled").length === 1))
          await runtime.dispose()
        })
        assert.isTrue(server.links[0]?.closed)
        assert.strictEqual(server.links.length, 1)
      })
  )
})

describe("around", () => {
  const seen = (requests: Array<AroundRequest>): Around => (request, proceed) => {
    requests.push(request)
    return proceed(request.params)
  }

  it.effect("wraps every request of the application, and not the handshake", () =>
    Effect.gen(function*() {
      const requests: Array<AroundRequest> = []
      const server = yield* Scripted.legacy(handlers)
      const client = yield* connect(server, { around: seen(requests) })
      yield* client.listTools()
      yield* client.callTool("echo", { a: 1 })
      yield* client.getPrompt("p")
      yield* client.ping()
      assert.deepStrictEqual(requests.map(({ method, server }) => [server, method]), [
        [Scripted.target, "tools/list"],
        [Scripted.target, "tools/call"],
        [Scripted.target, "prompts/get"],
        [Scripted.target, "ping"]
      ])
      assert.deepStrictEqual(requests[1]?.params, { name: "echo", arguments: { a: 1 } })
    }))

  it.effect("may change what is sent and what comes back", () =>
    Effect.gen(function*() {
      const redact: Around = (request, proceed) =>
        request.method === "tools/call"
          ? Effect.map(
            proceed({ ...request.params, arguments: { password: "[redacted]" } }),
            (result): Json.JsonObject => ({ ...result, structuredContent: { redacted: true } })
          )
          : proceed(request.params)
      const server = yield* Scripted.modern(handlers)
      const client = yield* connect(server, { around: redact })
      const result = yield* client.callTool("echo", { password: "secret" })
      assert.deepStrictEqual(server.sentOf("tools/call")[0]?.params["arguments"], { password: "[redacted]" })
      assert.deepStrictEqual(result.structuredContent, { redacted: true })
      assert.deepStrictEqual(names(yield* client.listTools()), ["echo"])
    }))

  it.effect("may refuse a request, or answer it without the server", () =>
    Effect.gen(function*() {
      const refusal = McpError.make(new McpError.InvalidRequest({ problem: "not allowed" }), "unsent")
      const around: Around = (request, proceed) =>
        request.method === "tools/call"
          ? Effect.fail(refusal)
          : request.method === "prompts/get"
          ? Effect.succeed({ messages: [{ role: "user", content: { type: "text", text: "cached" } }] })
          : proceed(request.params)
      const server = yield* Scripted.modern(handlers)
      const client = yield* connect(server, { around })
      assert.strictEqual(yield* Effect.flip(client.callTool("echo")), refusal)
      assert.strictEqual((yield* client.getPrompt("p")).messages.length, 1)
      assert.deepStrictEqual(server.methods(), ["server/discover"])
    }))

  it.effect("may wait, for an approval or a rate limit, within the deadline of the request", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ ...handlers, "prompts/get": never })
      const client = yield* connect(server, {
        around: (request, proceed) => Effect.andThen(Effect.sleep("4 seconds"), proceed(request.params))
      })
      const running = yield* Effect.forkScoped(client.getPrompt("p", {}, { deadline: "10 seconds" }))
      yield* TestClock.adjust("4 seconds")
      yield* server.take("prompts/get")
      yield* TestClock.adjust("5999 millis")
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const error = yield* Effect.flip(Fiber.join(running))
      assert.isTrue(error.reason._tag === "RequestTimeout" && error.reason.kind === "deadline")
    }))

  it.effect("gives its result to the same checks as a server", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const client = yield* connect(server, { around: () => Effect.succeed({ tools: "none" }) })
      const error = yield* Effect.flip(client.listTools())
      assert.isTrue(error.reason._tag === "MalformedMessage" && error.reason.path === "/tools")
      assert.strictEqual(error.method, "tools/list")
    }))
})
