import { assert, describe } from "@effect/vitest"
import { Deprecations, McpClient } from "@mcp-effect/client"
import * as SseServer from "@mcp-effect/conformance/http/SseServer"
import type * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect, NodeHttp } from "@mcp-effect/node"
import { SseTransport } from "@mcp-effect/transport"
import { Deferred, Effect, Fiber, Layer, Logger, Redacted, Schedule, Stream, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"

const initialized = {
  protocolVersion: "2024-11-05",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "old", version: "1.0.0" }
}

type OnMessage = SseServer.Handlers["onMessage"]

/** A server of 2024-11-05 with one tool; `on` takes messages before it does. */
const old = (
  on: (...message: Parameters<OnMessage>) => boolean | void = () => false,
  handlers: Partial<SseServer.Handlers> = {}
) =>
  SseServer.serve({
    onPost: (accept, request, response) => request.url === "/sse" ? response.send(405, {}) : accept(),
    onMessage: (message, stream, request) => {
      if (on(message, stream, request) === true) return
      if (message.method === "initialize") stream.result(message, initialized)
      else if (message.method === "tools/list") {
        stream.result(message, { tools: [{ name: "echo", inputSchema: { type: "object" } }] })
      } else if (message.method === "tools/call") stream.result(message, { content: [] })
      else if (message.method === "ping") stream.result(message, {})
    },
    ...handlers
  })

const methods = (server: TestServer.TestServer): ReadonlyArray<string> =>
  server.received.map(({ httpMethod, message }) => message?.method ?? (message === undefined ? httpMethod : "reply"))

const namesOf = (client: McpClient.McpClient) =>
  Effect.map(client.listTools(), (tools) => tools.map(({ name }) => name))

describe("Connect over HTTP+SSE", () => {
  for (
    const [what, options] of [
      ["a path that ends in /sse", {}],
      ["protocol and probeTimeout, which mean nothing there", { protocol: "legacy", probeTimeout: "1 milli" }],
      ["the transport that is named", { transport: "sse" }]
    ] as const
  ) {
    verifiesLive(
      ["CON-02", "CON-11", "CON-17", "SSE-03"],
      `${what}: the handshake, and no probe`,
      () =>
        Effect.gen(function*() {
          const server = yield* old()
          const client = yield* Connect.connect(server.url, options)
          assert.deepStrictEqual(yield* namesOf(client), ["echo"])
          assert.deepInclude((yield* client.server).revision, { era: "legacy", version: "2024-11-05" })
          assert.deepStrictEqual(methods(server), ["GET", "initialize", "notifications/initialized", "tools/list"])
        })
    )
  }

  verifiesLive("CON-07", "a server at any other path is found to speak it", () =>
    Effect.gen(function*() {
      const server = yield* old(undefined, {
        onPost: (accept, request, response) => request.url === "/" ? response.send(404, {}) : accept()
      })
      const client = yield* Connect.connect(`http://127.0.0.1:${server.port}/`)
      assert.deepStrictEqual(yield* namesOf(client), ["echo"])
      assert.deepStrictEqual(methods(server), [
        "server/discover",
        "initialize",
        "GET",
        "initialize",
        "notifications/initialized",
        "tools/list"
      ])
    }))

  for (
    const [status, tag] of [[401, "Unauthorized"], [403, "InsufficientScope"], [500, "HttpStatus"], [
      502,
      "HttpStatus"
    ]] as const
  ) {
    verifiesLive(
      "PAIN-25",
      `HTTP ${status} is what connecting fails with, and no stream is asked for`,
      () =>
        Effect.gen(function*() {
          const server = yield* old(undefined, { onPost: (_accept, _request, response) => response.send(status, {}) })
          const error = yield* Effect.flip(Effect.scoped(Connect.connect(`http://127.0.0.1:${server.port}/any`)))
          assert.strictEqual(error.reason._tag, tag)
          assert.isTrue(server.received.every(({ httpMethod }) => httpMethod === "POST"))
        })
    )
  }

  verifiesLive(
    ["CON-08", "PAIN-25"],
    "where nothing is spoken at all, the error tells what came of each",
    () =>
      Effect.gen(function*() {
        const server = yield* old(undefined, {
          onGet: (_open, _request, response) => response.send(404, {}),
          onPost: (_accept, _request, response) => response.send(405, {})
        })
        const error = yield* Effect.flip(Effect.scoped(Connect.connect(`http://127.0.0.1:${server.port}/any`)))
        for (const part of ["streamable-http: The server answered HTTP 405", "sse: The server answered HTTP 404"]) {
          assert.include(error.message, part)
        }
      })
  )

  verifiesLive("CON-20", "for a modern server nothing but Streamable HTTP is tried", () =>
    Effect.gen(function*() {
      const server = yield* old()
      for (const path of ["/sse", "/any"]) {
        const url = `http://127.0.0.1:${server.port}${path}`
        const error = yield* Effect.flip(Effect.scoped(Connect.connect(url, { protocol: "modern" })))
        assert.strictEqual(error.reason._tag, "NegotiationFailed")
      }
      assert.deepStrictEqual(methods(server), ["server/discover", "server/discover"])
    }))

  verifiesLive(
    ["CON-18", "SSE-03"],
    "it is refused for a modern server, and nothing is sent",
    () =>
      Effect.gen(function*() {
        const server = yield* old()
        const byConnect = yield* Effect.flip(Connect.connect(server.url, { transport: "sse", protocol: "modern" }))
        const byLayer = yield* Effect.flip(Effect.provide(
          McpClient.make({ protocol: "modern" }),
          SseTransport.layer({ url: server.url }).pipe(Layer.provide(NodeHttp.layer({ proxy: "none" })))
        ))
        for (const error of [byConnect, byLayer]) {
          assert.strictEqual((error as { readonly reason: { readonly _tag: string } }).reason._tag, "InvalidRequest")
        }
        assert.deepStrictEqual(server.received, [])
      })
  )

  verifiesLive(["SSE-01", "DEP-01"], "its use is noticed, also where it was found out", () =>
    Effect.gen(function*() {
      for (const path of ["/sse", "/"]) {
        const server = yield* old(undefined, {
          onPost: (accept, request, response) => request.url === path ? response.send(404, {}) : accept()
        })
        const messages: Array<string> = []
        const logger = Logger.make<unknown, void>(({ message }) => {
          messages.push(String(message))
        })
        yield* Connect.connect(`http://127.0.0.1:${server.port}${path}`).pipe(
          Effect.provideService(Deprecations.Noticed, new Set()),
          Effect.provide(Logger.layer([logger]))
        )
        const notices = messages.filter((message) => message.includes("HTTP+SSE transport is deprecated"))
        assert.lengthOf(notices, 1)
        assert.include(notices[0], "Streamable HTTP")
      }
    }))

  verifiesLive(
    ["CON-12", "CON-31", "SSE-02"],
    "headers, intervals, timeouts, retries and a name are given alike",
    () =>
      Effect.gen(function*() {
        let failures = 2
        const pinged = yield* Deferred.make<void>()
        const server = yield* old(({ id, method }, stream) => {
          if (method === "ping") Deferred.doneUnsafe(pinged, Effect.void)
          if (method !== "tools/list" || failures-- <= 0) return false
          stream.message({ jsonrpc: "2.0", id, error: { code: -32603, message: "Busy" } })
          return true
        })
        const client = yield* Connect.connect(server.url, {
          headers: { authorization: Redacted.make("Bearer s3cret") },
          pingInterval: "1 second",
          idleTimeout: "30 seconds",
          name: "archive"
        })
        const error = yield* Effect.flip(client.listTools())
        assert.strictEqual(error.server, "archive")
        assert.isTrue(error.message.startsWith("archive "), error.message)
        assert.deepStrictEqual(
          yield* Effect.retry(namesOf(client), { schedule: Schedule.spaced("1 millis"), times: 3 }),
          ["echo"]
        )
        for (const { headers } of server.received) assert.strictEqual(headers.authorization, "Bearer s3cret")
        yield* Deferred.await(pinged)
      })
  )

  verifies(
    "PAIN-8",
    "a server that never says where messages go to fails in time, and its socket is closed",
    () =>
      Effect.gen(function*() {
        const server = yield* old(undefined, { onGet: (_open, _request, response) => response.stream() })
        const connecting = yield* Effect.forkChild(
          Effect.flip(Effect.scoped(Connect.connect(server.url, { connectTimeout: "1 second" })))
        )
        yield* server.arrived(1)
        yield* TestClock.adjust("1 second")
        const error = yield* Fiber.join(connecting)
        assert.deepInclude(error.reason, { _tag: "RequestTimeout", kind: "connect", millis: 1_000 })
        yield* server.abandoned(1)
      })
  )

  verifies("PAIN-8", "so does one that takes initialize and never answers", () =>
    Effect.gen(function*() {
      const server = yield* old(() => true)
      const connecting = yield* Effect.forkChild(
        Effect.flip(Effect.scoped(Connect.connect(server.url, { connectTimeout: "1 second" })))
      )
      yield* server.arrived(2)
      yield* TestClock.adjust("1 second")
      assert.deepInclude((yield* Fiber.join(connecting)).reason, { _tag: "RequestTimeout", kind: "connect" })
      yield* server.abandoned(1)
    }))

  verifiesLive(
    ["SSE-11", "PAIN-34"],
    "the next request after the stream has ended connects and shakes hands anew",
    () =>
      Effect.gen(function*() {
        const server = yield* old(({ method }, stream) => {
          if (method !== "tools/call" || stream.session !== "1") return false
          stream.reset()
          return true
        })
        const client = yield* Connect.connect(server.url)
        const error = yield* Effect.flip(client.callTool("echo", {}))
        assert.strictEqual(error.delivery, "unknown")
        yield* client.callTool("echo", {})
        assert.deepStrictEqual(methods(server), [
          "GET",
          "initialize",
          "notifications/initialized",
          "tools/call",
          "GET",
          "initialize",
          "notifications/initialized",
          "tools/call"
        ])
      })
  )

  verifiesLive(
    "PAIN-34",
    "when the server is gone every request fails, and works once it is back",
    () =>
      Effect.gen(function*() {
        let isGone = false
        const server = yield* old(undefined, {
          onGet: (open, _request, response) => isGone ? response.send(503, {}) : void open()
        })
        const client = yield* Connect.connect(server.url)
        yield* namesOf(client)
        isGone = true
        server.streams[0]?.end()
        yield* Stream.runDrain(Stream.takeUntil(client.state, ({ _tag }) => _tag === "Failed"))
        for (let index = 0; index < 3; index++) {
          const error = yield* Effect.flip(client.callTool("echo", {}))
          assert.notStrictEqual(error.delivery, "unknown")
        }
        isGone = false
        assert.deepStrictEqual(yield* namesOf(client), ["echo"])
      })
  )

  verifiesLive("SSE-12", "elicitation, roots and sampling are served", () =>
    Effect.gen(function*() {
      const questions = [
        ["roots/list", {}],
        [
          "sampling/createMessage",
          { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 10 }
        ],
        ["elicitation/create", { message: "Who?", requestedSchema: { type: "object", properties: {} } }]
      ] as const
      const answered = yield* Deferred.make<ReadonlyArray<unknown>>()
      const answers: Array<unknown> = []
      const server = yield* old((message, stream) => {
        if (message.method === "initialize") {
          stream.result(message, { ...initialized, protocolVersion: "2025-11-25" })
          return true
        }
        if (message.method === "notifications/initialized") {
          questions.forEach(([method, params], id) => stream.message({ jsonrpc: "2.0", id, method, params }))
        }
        if (message.method === undefined) {
          answers[message.id] = message.result ?? message.error
          if (answers.filter((answer) => answer !== undefined).length === questions.length) {
            Deferred.doneUnsafe(answered, Effect.succeed(answers))
          }
        }
        return false
      })
      const message = { role: "assistant", content: { type: "text", text: "Hello" }, model: "m" } as const
      yield* Connect.connect(server.url, {
        handlers: {
          roots: [{ uri: "file:///work" }],
          sampling: { createMessage: () => Effect.succeed(message) },
          elicitation: { form: () => Effect.succeed({ content: {} }) }
        }
      })
      assert.deepStrictEqual<unknown>(yield* Deferred.await(answered), [
        { roots: [{ uri: "file:///work" }] },
        message,
        { action: "accept", content: {} }
      ])
    }))

  verifiesLive("SSE-13", "whoever hears of a change and lists again sees the new list", () =>
    Effect.gen(function*() {
      let names = ["old"]
      const server = yield* old((message, stream) => {
        if (message.method !== "tools/list") return false
        const tools = names.map((name) => ({ name, inputSchema: { type: "object" } }))
        stream.result(message, { tools, ttlMs: 60_000, cacheScope: "private" })
        return true
      })
      const client = yield* Connect.connect(server.url)
      assert.deepStrictEqual(yield* namesOf(client), ["old"])
      const notifications = yield* client.subscribeNotifications
      names = ["new"]
      server.streams[0]?.message({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
      const heard = yield* Stream.runHead(Stream.mapEffect(notifications, () => namesOf(client)))
      assert.deepStrictEqual(heard._tag === "Some" && heard.value, ["new"])
    }))

  verifiesLive(
    "SSE-14",
    "a list that cannot be had again is an error, and no stale copy",
    () =>
      Effect.gen(function*() {
        let fails = false
        const server = yield* old((message, stream) => {
          if (message.method !== "tools/list" || !fails) return false
          stream.message({ jsonrpc: "2.0", id: message.id, error: { code: -32603, message: "Broken" } })
          return true
        })
        const client = yield* Connect.connect(server.url)
        yield* namesOf(client)
        fails = true
        server.streams[0]?.message({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
        assert.strictEqual((yield* Effect.flip(client.listTools())).reason._tag, "ServerError")
      })
  )

  verifiesLive("SSE-12", "a change of the roots is announced", () =>
    Effect.gen(function*() {
      const server = yield* old()
      const roots = yield* SubscriptionRef.make<ReadonlyArray<{ readonly uri: string }>>([])
      yield* Connect.connect(server.url, { handlers: { roots } })
      yield* SubscriptionRef.set(roots, [{ uri: "file:///work" }])
      yield* server.arrived(4)
      assert.strictEqual(methods(server).at(-1), "notifications/roots/list_changed")
    }))

  verifiesLive(
    "SSE-16",
    "a streamed call of which nothing else is heard is its result alone",
    () =>
      Effect.gen(function*() {
        const server = yield* old()
        const client = yield* Connect.connect(server.url)
        const events = yield* Stream.runCollect(client.callToolStream("echo", {}))
        assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["Final"])
      })
  )
})
