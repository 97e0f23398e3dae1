import { assert, describe } from "@effect/vitest"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import { Deferred, Effect, SubscriptionRef } from "effect"

type Reply = (method: string, message: any) => unknown

const tool = {
  name: "search",
  inputSchema: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } }
}

/** What a server of an era answers; `undefined` for what it does not know. */
const legacy: Reply = (method) =>
  method === "initialize"
    ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "plain", version: "1.0.0" } }
    : method === "tools/list"
    ? { tools: [tool] }
    : method === "tools/call"
    ? { content: [] }
    : undefined

const modern: Reply = (method) =>
  method === "server/discover"
    ? {
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      ttlMs: 0,
      cacheScope: "private"
    }
    : method === "tools/list"
    ? { resultType: "complete", tools: [tool], ttlMs: 0, cacheScope: "private" }
    : method === "tools/call"
    ? { resultType: "complete", content: [] }
    : undefined

const serving = (reply: Reply, on: (...args: Parameters<TestServer.Handler>) => boolean = () => false) =>
  TestServer.serve((request, response) => {
    if (on(request, response)) return
    const { message } = request
    if (request.httpMethod === "DELETE") return response.send(204, {})
    if (message?.id === undefined || message.method === undefined) return response.send(202, {})
    const result = reply(message.method, message)
    if (result === undefined) {
      response.json({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "Method not found" } }, 400)
    } else if (message.method === "initialize") {
      const body = JSON.stringify({ jsonrpc: "2.0", id: message.id, result })
      response.send(200, { "content-type": "application/json", "mcp-session-id": "s-1" }, body)
    } else response.result(result)
  })

const methods = (server: TestServer.TestServer): ReadonlyArray<string> =>
  server.received.map(({ httpMethod, message }) => message?.method ?? httpMethod)

const plain = { transport: "http" } as const

const handlers = {
  roots: [{ uri: "file:///work" }],
  elicitation: { form: () => Effect.succeed({ content: { name: "Ada" } }) }
}

describe("Connect over plain HTTP", () => {
  verifiesLive(
    ["HTT-01", "HTT-03", "HTT-09"],
    "a modern server is probed and told what goes with each request; nothing is compressed",
    () =>
      Effect.gen(function*() {
        const server = yield* serving(modern)
        const client = yield* Connect.connect(server.url, plain)
        yield* client.listTools()
        assert.strictEqual((yield* client.server).era, "modern")
        assert.deepStrictEqual(methods(server), ["server/discover", "tools/list"])
        for (const { headers, message } of server.received) {
          assert.deepInclude(headers, { "mcp-protocol-version": "2026-07-28", "mcp-method": message.method })
          assert.notProperty(headers, "accept-encoding")
        }
      })
  )

  verifiesLive(
    ["HTT-01", "HTT-03", "HTT-08", "HTT-09"],
    "a legacy server keeps its session, which is ended; no stream is asked for",
    () =>
      Effect.gen(function*() {
        const server = yield* serving(legacy)
        yield* Effect.scoped(Effect.gen(function*() {
          const client = yield* Connect.connect(server.url, { ...plain, handlers })
          yield* client.listTools()
          assert.strictEqual((yield* client.server).era, "legacy")
        }))
        assert.deepStrictEqual(
          server.received.map(({ headers, httpMethod, message }) => [
            message?.method ?? httpMethod,
            headers["mcp-session-id"],
            headers["accept-encoding"]
          ]),
          [
            ["server/discover", undefined, undefined],
            ["initialize", undefined, undefined],
            ["notifications/initialized", "s-1", undefined],
            ["tools/list", "s-1", undefined],
            ["DELETE", "s-1", undefined]
          ]
        )
      })
  )

  verifiesLive("HTT-04", "arguments go into headers as the tool wants it", () =>
    Effect.gen(function*() {
      const server = yield* serving(modern)
      const client = yield* Connect.connect(server.url, plain)
      yield* client.callTool("search", { region: "eu" })
      assert.strictEqual(server.received.at(-1)?.headers["mcp-param-region"], "eu")
      assert.strictEqual(server.received.at(-1)?.headers["mcp-name"], "search")
    }))

  verifiesLive(
    "HTT-05",
    "a legacy server cannot ask: nothing is declared, and no change of roots is announced",
    () =>
      Effect.gen(function*() {
        const server = yield* serving(legacy)
        const roots = yield* SubscriptionRef.make<ReadonlyArray<{ readonly uri: string }>>([])
        const client = yield* Connect.connect(server.url, { ...plain, handlers: { ...handlers, roots } })
        yield* SubscriptionRef.set(roots, [{ uri: "file:///work" }])
        yield* client.listTools()
        const initialize = server.received.find(({ message }) => message.method === "initialize")
        assert.deepStrictEqual(initialize?.message.params.capabilities, {})
        assert.notInclude(methods(server), "notifications/roots/list_changed")
      })
  )

  verifiesLive("HTT-06", "a modern server asks in its answer, and is answered", () =>
    Effect.gen(function*() {
      const server = yield* serving((method, message) =>
        method !== "tools/call"
          ? modern(method, message)
          : message.params.inputResponses === undefined
          ? {
            resultType: "input_required",
            inputRequests: {
              who: {
                method: "elicitation/create",
                params: {
                  mode: "form",
                  message: "Who?",
                  requestedSchema: { type: "object", properties: { name: { type: "string" } } }
                }
              }
            },
            requestState: "1"
          }
          : { resultType: "complete", content: [] }
      )
      const client = yield* Connect.connect(server.url, { ...plain, handlers })
      yield* client.callTool("search", {})
      assert.deepStrictEqual(server.received.at(-1)?.message.params.inputResponses, {
        who: { action: "accept", content: { name: "Ada" } }
      })
    }))

  verifiesLive(
    "HTT-07",
    "on a response stream a legacy server's ping is answered, and nothing else it asks is served",
    () =>
      Effect.gen(function*() {
        const replies: Array<any> = []
        const replied = yield* Deferred.make<void>()
        const server = yield* serving(legacy, ({ message }, response) => {
          if (message?.method === "tools/call") {
            assert.include(response.raw.req.headers.accept, "text/event-stream")
            response.stream()
            response.event({ jsonrpc: "2.0", id: "p", method: "ping" })
            response.event({ jsonrpc: "2.0", id: "r", method: "roots/list" })
            response.event({
              jsonrpc: "2.0",
              id: "e",
              method: "elicitation/create",
              params: { message: "Who?", requestedSchema: { type: "object", properties: {} } }
            })
            Effect.runFork(Effect.andThen(
              Deferred.await(replied),
              Effect.sync(() => {
                response.event({ jsonrpc: "2.0", id: message.id, result: { content: [] } })
                response.end()
              })
            ))
            return true
          }
          if (message !== undefined && message.method === undefined) {
            replies.push(message)
            if (replies.length === 3) Deferred.doneUnsafe(replied, Effect.void)
          }
          return false
        })
        const client = yield* Connect.connect(server.url, { ...plain, handlers })
        yield* client.callTool("search", {})
        const outcomes = Object.fromEntries(replies.map(({ error, id, result }) => [id, result ?? error.code]))
        assert.deepStrictEqual(outcomes, { p: {}, r: -32601, e: -32601 })
      })
  )

  verifiesLive("HTT-07", "what a modern server asks on a response stream is dropped", () =>
    Effect.gen(function*() {
      const server = yield* serving(modern, ({ message }, response) => {
        if (message?.method !== "tools/call") return false
        response.stream()
        response.event({ jsonrpc: "2.0", id: "p", method: "ping" })
        response.event({ jsonrpc: "2.0", id: "r", method: "roots/list" })
        response.event({ jsonrpc: "2.0", id: message.id, result: { resultType: "complete", content: [] } })
        response.end()
        return true
      })
      const client = yield* Connect.connect(server.url, { ...plain, handlers })
      yield* client.callTool("search", { region: "eu" })
      yield* client.listTools()
      assert.isTrue(server.received.every(({ message }) => message.method !== undefined), methods(server).join())
    }))

  verifiesLive("HTT-02", "its timeouts are those of the client", () =>
    Effect.gen(function*() {
      const server = yield* serving(modern, ({ message }) => message?.method === "tools/call")
      const client = yield* Connect.connect(server.url, plain)
      const error = yield* Effect.flip(client.callTool("search", {}, { idleTimeout: "50 millis" }))
      assert.deepInclude(error.reason, { _tag: "RequestTimeout", kind: "idle", millis: 50 })
    }))
})
