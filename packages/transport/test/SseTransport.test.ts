import { assert, describe, it } from "@effect/vitest"
import * as SseServer from "@mcp-effect/conformance/http/SseServer"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import { McpError, Revision } from "@mcp-effect/protocol"
import { SseTransport } from "@mcp-effect/transport"
import { ConfigProvider, Effect, Exit, Fiber, Layer, Redacted, Scope } from "effect"
import * as Config from "effect/Config"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"

const legacy = TestClient.legacy

type Options = Omit<SseTransport.Options, "url">

const connect = (url: string, options: Options = {}) =>
  TestClient.connectBy(SseTransport.make({ url, ...options }), { revision: legacy })

/** Why there is no connection. */
const refusal = (url: string, options: Options = {}) =>
  Effect.map(
    Effect.flip(Effect.scoped(connect(url, options))),
    (error) => McpError.isMcpError(error) ? error : assert.fail(String(error))
  )

/** Answers every request with its method, unless told not to. */
const answer: SseServer.Handlers["onMessage"] = (message, stream) => {
  if (message?.id !== undefined && message.method !== "silence") stream.result(message, { method: message.method })
}

const answering = (handlers: Partial<SseServer.Handlers> = {}) => SseServer.serve({ onMessage: answer, ...handlers })

/** A stream that begins with this. */
const beginning = (text: string) =>
  TestServer.serve((request, response) => {
    if (request.httpMethod !== "GET") return response.send(202, {})
    response.stream()
    response.raw.write(text)
  })

describe("the endpoint event", () => {
  for (
    const [what, place, posted] of [
      ["an absolute path", "/messages?session=1", "/messages?session=1"],
      ["a relative path", "messages/1", "/v1/messages/1"],
      ["a query", "?session=1", "/v1/sse?session=1"],
      ["white space around it", "  /messages ", "/messages"]
    ] as const
  ) {
    verifiesLive("SSE-04", `${what} is resolved against the URL of the stream`, () =>
      Effect.gen(function*() {
        const server = yield* beginning(SseServer.endpointEvent(place))
        const client = yield* connect(`http://127.0.0.1:${server.port}/v1/sse`)
        client.open("echo")
        yield* server.arrived(2)
        assert.deepStrictEqual(server.received.map(({ httpMethod, url }) => [httpMethod, url]), [
          ["GET", "/v1/sse"],
          ["POST", posted]
        ])
      }))
  }

  verifiesLive(
    "SSE-04",
    "a URL of the same origin is taken, without credentials of its own",
    () =>
      Effect.gen(function*() {
        let place = ""
        const server = yield* TestServer.serve((request, response) => {
          if (request.httpMethod !== "GET") return response.send(202, {})
          response.stream()
          response.raw.write(SseServer.endpointEvent(place))
        })
        place = `http://user:password@127.0.0.1:${server.port}/messages#part`
        const client = yield* connect(server.url)
        client.open("echo")
        yield* server.arrived(2)
        assert.strictEqual(server.received[1]?.url, "/messages")
        assert.isUndefined(server.received[1]?.headers.authorization)
      })
  )

  verifiesLive(
    ["SSE-04", "SEC-07"],
    "another scheme, host or port is refused, and nothing is sent to it",
    () =>
      Effect.gen(function*() {
        const other = yield* TestServer.serve((_request, response) => response.send(202, {}))
        for (
          const place of [
            `http://127.0.0.1:${other.port}/messages`,
            `//127.0.0.1:${other.port}/messages`,
            `http://localhost:${other.port}/messages`,
            "https://127.0.0.1/messages",
            "http://evil.example/messages",
            "javascript:alert(1)",
            "data:text/plain,x"
          ]
        ) {
          const server = yield* beginning(SseServer.endpointEvent(place))
          const error = yield* refusal(server.url, { headers: { authorization: Redacted.make("Bearer s3cret") } })
          assert.strictEqual(error.reason._tag, "MalformedMessage", place)
          assert.include(error.message, "another origin")
          assert.notInclude(error.message, place)
          assert.strictEqual(error.delivery, "refused")
          assert.deepStrictEqual(server.received.map(({ httpMethod }) => httpMethod), ["GET"])
          yield* server.abandoned(1)
        }
        assert.deepStrictEqual(other.received, [])
      })
  )

  verifiesLive("SSE-06", "one that cannot be resolved is refused", () =>
    Effect.gen(function*() {
      const server = yield* beginning(SseServer.endpointEvent("http://["))
      const error = yield* refusal(server.url)
      assert.strictEqual(error.reason._tag, "MalformedMessage")
      assert.include(error.message, "holds no URL")
    }))

  verifiesLive(["SSE-04", "SEC-07"], "a later one changes nothing", () =>
    Effect.gen(function*() {
      const other = yield* TestServer.serve((_request, response) => response.send(202, {}))
      const server = yield* answering()
      const client = yield* connect(server.url)
      server.streams[0]?.write(SseServer.endpointEvent(`http://127.0.0.1:${other.port}/messages`))
      server.streams[0]?.write(SseServer.endpointEvent("/elsewhere"))
      yield* client.response("echo")
      yield* client.response("echo")
      assert.strictEqual(server.received.at(-1)?.url, "/messages?session=1")
      assert.deepStrictEqual(other.received, [])
    }))

  it.live("a stream that begins with a message is no stream of HTTP+SSE", () =>
    Effect.gen(function*() {
      const server = yield* beginning(`data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n`)
      const error = yield* refusal(server.url)
      assert.strictEqual(error.reason._tag, "MalformedMessage")
      assert.include(error.message, "does not begin with an endpoint event")
    }))

  it.live("a stream that breaks before it says what broke it", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve((_request, response) => {
        response.raw.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" })
        response.raw.write(Buffer.from([0x1f, 0x8b, ...Array(50).fill(7)]))
      })
      const { delivery, reason } = yield* refusal(server.url)
      if (reason._tag !== "StreamEnded") assert.fail(reason._tag)
      assert.strictEqual(delivery, "refused")
      assert.instanceOf(reason.cause, Error)
    }))

  verifies(
    "PAIN-8",
    "a server that never sends one keeps waiting whoever lets it, and loses its stream then",
    () =>
      Effect.gen(function*() {
        const server = yield* beginning(": nothing comes\n\n")
        const connecting = yield* Effect.forkChild(Effect.timeout(Effect.scoped(connect(server.url)), "1 second"))
        yield* server.arrived(1)
        yield* TestClock.adjust("1 second")
        assert.isTrue(Exit.isFailure(yield* Fiber.await(connecting)))
        yield* server.abandoned(1)
      })
  )
})

describe("connecting", () => {
  for (
    const [status, tag] of [[401, "Unauthorized"], [403, "InsufficientScope"], [404, "HttpStatus"], [
      405,
      "HttpStatus"
    ], [500, "HttpStatus"]] as const
  ) {
    it.live(`HTTP ${status} is ${tag}`, () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((_request, response) => response.send(status, {}, "no"))
        assert.strictEqual((yield* refusal(server.url)).reason._tag, tag)
      }))
  }

  it.live("a page is no stream", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve((_request, response) =>
        response.send(200, { "content-type": "text/html" }, "<html>")
      )
      assert.deepInclude((yield* refusal(server.url)).reason, {
        _tag: "MalformedMessage",
        status: 200,
        contentType: "text/html"
      })
    }))

  it.live("a stream that ends before it says anything", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve((_request, response) => {
        response.stream()
        response.end()
      })
      const { delivery, reason } = yield* refusal(server.url)
      assert.deepStrictEqual([reason._tag, delivery], ["StreamEnded", "refused"])
    }))

  verifiesLive("SSE-02", "the stream and every message carry the headers", () =>
    Effect.gen(function*() {
      const server = yield* answering()
      const client = yield* connect(server.url, { headers: { authorization: Redacted.make("Bearer s3cret") } })
      yield* client.response("echo")
      assert.strictEqual(server.received[0]?.headers.accept, "text/event-stream")
      assert.deepStrictEqual(server.received.map(({ headers }) => headers.authorization), [
        "Bearer s3cret",
        "Bearer s3cret"
      ])
    }))

  verifiesLive(
    "SSE-02",
    "limits and intervals that are none are refused, and nothing is sent",
    () =>
      Effect.gen(function*() {
        const server = yield* answering()
        for (const path of ["maxEventBytes", "pingInterval"]) {
          const error = yield* refusal(server.url, { [path]: 0 })
          assert.deepInclude(error.reason, { _tag: "InvalidRequest", path })
        }
        assert.deepStrictEqual(server.received, [])
      })
  )

  verifiesLive(
    ["SSE-05", "SEC-07"],
    "a redirect is refused, and where it points to hears nothing",
    () =>
      Effect.gen(function*() {
        const other = yield* answering()
        for (const status of [301, 302, 303, 307, 308]) {
          const server = yield* TestServer.serve((_request, response) => response.send(status, { location: other.url }))
          const error = yield* refusal(server.url, { headers: { authorization: Redacted.make("Bearer s3cret") } })
          assert.deepInclude(error.reason, {
            _tag: "RedirectRefused",
            status,
            location: `http://127.0.0.1:${other.port}`
          })
        }
        assert.deepStrictEqual(other.received, [])
      })
  )

  verifiesLive(["SSE-05", "SEC-07"], "so is one of a message", () =>
    Effect.gen(function*() {
      const other = yield* answering()
      const server = yield* answering({
        onPost: (_accept, _request, response) => response.send(307, { location: other.url })
      })
      const client = yield* connect(server.url)
      const error = yield* client.failure("echo")
      assert.deepStrictEqual([error.reason._tag, error.delivery], ["RedirectRefused", "refused"])
      assert.deepStrictEqual(other.received, [])
    }))

  it.live("layerConfig takes the options from the configuration", () =>
    Effect.gen(function*() {
      const server = yield* answering()
      const layer = SseTransport.layerConfig({
        url: Config.String("URL"),
        headers: { authorization: Config.Redacted("TOKEN") }
      }).pipe(
        Layer.provide(FetchHttpClient.layer),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { URL: server.url, TOKEN: "s3cret" } })))
      )
      assert.isDefined(yield* Layer.build(layer))
    }))
})

describe("requests", () => {
  verifiesLive("SSE-07", "an error on the stream is the answer at once", () =>
    Effect.gen(function*() {
      const server = yield* answering({
        onMessage: ({ id }, stream) =>
          stream.message({ jsonrpc: "2.0", id, error: { code: -32603, message: "Broken" } })
      })
      const client = yield* connect(server.url)
      const { response } = yield* client.response("echo")
      assert.deepStrictEqual(response.outcome, { _tag: "Error", error: { code: -32603, message: "Broken" } })
    }))

  verifiesLive(
    "SSE-10",
    "what was agreed on goes with every message after the handshake",
    () =>
      Effect.gen(function*() {
        const server = yield* answering()
        const client = yield* connect(server.url)
        yield* client.response("initialize")
        yield* client.connection.established(legacy)
        yield* client.connection.send(
          { _tag: "Notification", method: "notifications/initialized", params: undefined },
          legacy
        )
        yield* client.response("echo")
        assert.deepStrictEqual(
          server.received.map(({ headers, message }) => [message?.method, headers["mcp-protocol-version"]]),
          [
            [undefined, undefined],
            ["initialize", undefined],
            ["notifications/initialized", legacy.version],
            ["echo", legacy.version]
          ]
        )
      })
  )

  verifiesLive("SSE-10", "2024-11-05 has no such header", () =>
    Effect.gen(function*() {
      const server = yield* answering()
      const client = yield* connect(server.url)
      const oldest = Revision.legacy.find(({ version }) => version === "2024-11-05")
      yield* client.response("echo", oldest === undefined ? {} : { revision: oldest })
      assert.isUndefined(server.received[1]?.headers["mcp-protocol-version"])
    }))

  for (
    const [status, tag, delivery] of [
      [401, "Unauthorized", "refused"],
      [400, "HttpStatus", "refused"],
      // The URL that messages go to stands for one session.
      [404, "SessionExpired", "refused"],
      [500, "HttpStatus", "unknown"]
    ] as const
  ) {
    it.live(`HTTP ${status} to a message is ${tag}`, () =>
      Effect.gen(function*() {
        const server = yield* answering({
          onPost: (accept, { message }, response) =>
            message.method === "refused" ? response.send(status, {}, "no") : accept()
        })
        const client = yield* connect(server.url)
        const error = yield* client.failure("refused")
        assert.deepStrictEqual([error.reason._tag, error.delivery], [tag, delivery])
        yield* client.response("echo")
      }))
  }

  it.live("a JSON-RPC error in a refusal is the answer", () =>
    Effect.gen(function*() {
      const server = yield* answering({
        onPost: (_accept, _request, response) =>
          response.json({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } }, 400)
      })
      const client = yield* connect(server.url)
      const { response } = yield* client.response("echo")
      assert.deepStrictEqual(response.outcome, { _tag: "Error", error: { code: -32700, message: "Parse error" } })
    }))

  it.live("an answer may come before its message is accepted", () =>
    Effect.gen(function*() {
      const server: SseServer.SseServer = yield* answering({
        onPost: (_accept, { message }) => answer(message, server.streams[0] as SseServer.Stream, undefined as never)
      })
      const client = yield* connect(server.url)
      yield* client.response("echo")
      // The first is still not accepted; the next does not wait for it.
      yield* client.response("echo")
    }))

  verifiesLive(
    "PAIN-5",
    "a message that is never accepted is not held on to once its request is over",
    () =>
      Effect.gen(function*() {
        const server: SseServer.SseServer = yield* answering({
          onPost: (accept, { message }) => {
            if (message.id === undefined) accept()
            else answer(message, server.streams[0] as SseServer.Stream, undefined as never)
          }
        })
        const client = yield* connect(server.url)
        yield* client.response("echo")
        yield* server.abandoned(1)
        for (const [onAbandon, over, arrived] of [["silent", 2, 3], ["cancel", 3, 4]] as const) {
          const call = client.open("silence", { onAbandon })
          yield* server.arrived(arrived)
          call.cancel(undefined)
          yield* server.abandoned(over)
        }
        yield* server.arrived(5)
        assert.strictEqual(server.messages().at(-1)?.method, "notifications/cancelled")
      })
  )

  it.live("a cancel does not overtake its request", () =>
    Effect.gen(function*() {
      const waiting: Array<() => void> = []
      const server = yield* answering({
        onPost: (accept, { message }) => message.method === "silence" ? void waiting.push(accept) : accept()
      })
      const client = yield* connect(server.url)
      const call = client.open("silence")
      yield* server.arrived(2)
      call.cancel("not needed")
      yield* client.response("echo")
      assert.deepStrictEqual(server.messages().map(({ method }) => method), ["silence", "echo"])
      for (const accept of waiting) accept()
      yield* server.arrived(4)
      assert.deepInclude(server.messages().at(-1), {
        method: "notifications/cancelled",
        params: { requestId: 1, reason: "not needed" }
      })
      assert.deepStrictEqual(call.settlements, [])
    }))

  it.live("a cancel is sent all the same to a server that accepts no request before it is done with it", () =>
    Effect.gen(function*() {
      const server = yield* answering({
        onPost: (accept, { message }) => message.method === "silence" ? undefined : accept()
      })
      const client = yield* connect(server.url)
      const call = client.open("silence")
      yield* server.arrived(2)
      call.cancel(undefined)
      yield* server.arrived(3)
      assert.deepInclude(server.messages().at(-1), { method: "notifications/cancelled", params: { requestId: 1 } })
    }))

  verifiesLive(
    "SSE-15",
    "an error about credentials that names no request fails all that wait",
    () =>
      Effect.gen(function*() {
        for (
          const error of [
            { code: 401, message: "no" },
            { code: -32000, message: "Unauthorized" },
            { code: -32001, message: "Authorization header is missing" }
          ]
        ) {
          const server = yield* answering()
          const client = yield* connect(server.url)
          const calls = [client.open("silence"), client.open("silence")]
          yield* server.arrived(3)
          server.streams[0]?.message({ jsonrpc: "2.0", id: null, error })
          for (const call of calls) {
            const settled = yield* call.settled
            if (settled._tag === "Response") assert.fail("it was answered")
            assert.strictEqual(settled.error.reason._tag, "Unauthorized")
            assert.notInclude(settled.error.message, error.message)
          }
        }
      })
  )

  verifiesLive("SSE-15", "any other error that names no request fails none of several", () =>
    Effect.gen(function*() {
      const server = yield* answering()
      const client = yield* connect(server.url)
      const calls = [client.open("silence"), client.open("silence")]
      yield* server.arrived(3)
      server.streams[0]?.message({ jsonrpc: "2.0", id: null, error: { code: -32603, message: "Broken" } })
      yield* client.response("echo")
      assert.deepStrictEqual(calls.map(({ settlements }) => settlements), [[], []])
      assert.deepInclude(client.diagnostics[0], { _tag: "UnexpectedMessage" })
    }))

  it.live("what is no message is skipped, with a diagnostic that does not speak of standard output", () =>
    Effect.gen(function*() {
      const server = yield* answering()
      const client = yield* connect(server.url)
      server.streams[0]?.write("data: hello\n\nevent: other\ndata: {}\n\n")
      yield* client.response("echo")
      assert.deepStrictEqual(client.diagnostics.map(({ _tag }) => _tag), ["UnexpectedMessage"])
    }))
})

describe("the end", () => {
  verifiesLive(
    "PAIN-34",
    "once the stream is over nothing is sent, and everything fails at once",
    () =>
      Effect.gen(function*() {
        const server = yield* answering()
        const client = yield* connect(server.url)
        const call = client.open("silence")
        yield* server.arrived(2)
        server.streams[0]?.reset()
        const settled = yield* call.settled
        if (settled._tag === "Response") assert.fail("it was answered")
        assert.deepStrictEqual([settled.error.reason._tag, settled.error.delivery], ["ConnectionClosed", "unknown"])
        assert.strictEqual((yield* client.connection.closed).reason._tag, "ConnectionClosed")

        const late = yield* client.failure("echo")
        assert.deepStrictEqual([late.reason._tag, late.delivery], ["ConnectionClosed", "unsent"])
        const notification = yield* Effect.flip(
          client.connection.send({ _tag: "Notification", method: "notifications/x", params: undefined }, legacy)
        )
        assert.deepStrictEqual([notification.reason._tag, notification.delivery], ["ConnectionClosed", "unsent"])
        assert.lengthOf(server.received, 2)
      })
  )

  verifiesLive(
    ["SSE-08", "PAIN-34"],
    "a server that answers no ping loses its stream, and what waits fails",
    () =>
      Effect.gen(function*() {
        const server = yield* answering({ onMessage: () => {} })
        const client = yield* connect(server.url, { pingInterval: "100 millis" })
        yield* client.connection.established(legacy)
        const call = client.open("silence")
        const settled = yield* call.settled
        if (settled._tag === "Response") assert.fail("it was answered")
        assert.deepStrictEqual([settled.error.reason._tag, settled.error.delivery], ["ConnectionFailed", "unknown"])
        yield* server.abandoned(1)
        assert.deepInclude(server.messages().find(({ method }) => method === "ping"), { jsonrpc: "2.0" })
        assert.strictEqual((yield* client.failure("echo")).delivery, "unsent")
      })
  )

  verifiesLive("SSE-08", "a server that answers pings keeps its stream", () =>
    Effect.gen(function*() {
      const server = yield* answering()
      const client = yield* connect(server.url, { pingInterval: "1 second" })
      yield* client.connection.established(legacy)
      // The stream, and four seconds of silence but for pings, which is more than a dead server would have.
      yield* server.arrived(5)
      yield* client.response("echo")
    }))

  it.live("the stream ends with the scope", () =>
    Effect.gen(function*() {
      const server = yield* answering()
      const scope = yield* Scope.make()
      yield* Scope.provide(connect(server.url), scope)
      yield* Scope.close(scope, Exit.void)
      yield* server.abandoned(1)
    }))
})
