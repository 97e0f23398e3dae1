import { assert, describe, it } from "@effect/vitest"
import * as SseServer from "@mcp-effect/conformance/http/SseServer"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { DetectHttpTransport } from "@mcp-effect/transport"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as HttpPeers from "./HttpPeers.ts"

const { legacy, modern } = TestClient

const connect = (url: string) => TestClient.connectBy(DetectHttpTransport.make({ url }), { revision: legacy })

const methods = (server: TestServer.TestServer): ReadonlyArray<string> =>
  server.received.map(({ httpMethod, message }) => `${httpMethod} ${message?.method ?? ""}`.trim())

/** What a server of one URL makes of a POST; a GET begins the stream of HTTP+SSE where it has one. */
interface Behaviour {
  readonly post: (response: TestServer.Response, request: TestServer.Received) => void
  readonly hasStream: boolean
}

const behaving = ({ hasStream, post }: Behaviour) =>
  SseServer.serve({
    onGet: (open, _request, response) => {
      if (hasStream) open()
      else response.send(405, {})
    },
    onPost: (accept, request, response) => request.url === "/sse" ? post(response, request) : accept(),
    onMessage: (message, stream) => stream.result(message, { over: "sse" })
  })

const refusing = (status: number, text = "no", type = "text/plain"): Behaviour["post"] => (response) =>
  response.send(status, { "content-type": type }, text)

const error = (status: number, code: number, data?: unknown): Behaviour["post"] => (response, { message }) =>
  response.json({ jsonrpc: "2.0", id: message.id, error: { code, message: "Refused", data } }, status)

describe("initialize", () => {
  for (const status of [400, 404, 405]) {
    verifiesLive(
      ["CON-07", "PAIN-25"],
      `HTTP ${status} and a stream that begins with an endpoint: HTTP+SSE`,
      () =>
        Effect.gen(function*() {
          const server = yield* behaving({ hasStream: true, post: refusing(status) })
          const client = yield* connect(server.url)
          const answered = yield* client.response("initialize")
          assert.deepStrictEqual(TestClient.resultOf(answered), { over: "sse" })
          yield* client.connection.established(legacy)
          assert.isUndefined(client.connection.standby)
          yield* client.response("tools/list")
          assert.deepStrictEqual(methods(server), ["POST initialize", "GET", "POST initialize", "POST tools/list"])
          assert.deepStrictEqual(server.received.map(({ url }) => url), [
            "/sse",
            "/sse",
            "/messages?session=1",
            "/messages?session=1"
          ])
        })
    )
  }

  verifiesLive(
    ["CON-07", "PAIN-25"],
    "a JSON-RPC error that any server may give leaves it open, too",
    () =>
      Effect.gen(function*() {
        for (const post of [error(400, -32000), error(400, -32600), error(405, -32601)]) {
          const server = yield* behaving({ hasStream: true, post })
          const client = yield* connect(server.url)
          assert.deepStrictEqual(TestClient.resultOf(yield* client.response("initialize")), { over: "sse" })
        }
      })
  )

  verifiesLive(
    ["CON-07", "PAIN-25"],
    "a POST that is answered with the stream of HTTP+SSE shows it, too",
    () =>
      Effect.gen(function*() {
        const server = yield* behaving({
          hasStream: true,
          post: (response) => {
            response.stream()
            response.raw.write(SseServer.endpointEvent("/messages?session=0"))
          }
        })
        const client = yield* connect(server.url)
        const probed = yield* client.failure("server/discover", { revision: modern })
        assert.deepStrictEqual([probed.reason._tag, probed.delivery], ["MalformedMessage", "refused"])
        assert.deepStrictEqual(TestClient.resultOf(yield* client.response("initialize")), { over: "sse" })
      })
  )

  for (const status of [401, 403, 406, 410, 415, 429, 500, 502, 503]) {
    verifiesLive(
      ["CON-07", "PAIN-25"],
      `HTTP ${status} is the error as it stands: nothing else is tried`,
      () =>
        Effect.gen(function*() {
          const server = yield* behaving({ hasStream: true, post: refusing(status) })
          const client = yield* connect(server.url)
          const { reason } = yield* client.failure("initialize")
          assert.isTrue(["Unauthorized", "InsufficientScope", "HttpStatus"].includes(reason._tag), reason._tag)
          assert.deepStrictEqual(methods(server), ["POST initialize"])
        })
    )
  }

  for (
    const [what, post] of [
      ["-32020", error(400, -32020)],
      ["-32021", error(400, -32021, { requiredCapabilities: {} })],
      ["-32022", error(400, -32022, { supported: ["2026-07-28"], requested: "2025-11-25" })],
      ["HTTP 404 with -32601", error(404, -32601)],
      ["-32602 that names revisions", error(400, -32602, { supported: ["2025-03-26"], requested: "2025-11-25" })],
      ["an error in a 200", error(200, -32000)]
    ] as const
  ) {
    verifiesLive(
      ["CON-21", "PAIN-25"],
      `${what} comes from a server of Streamable HTTP: nothing else is tried`,
      () =>
        Effect.gen(function*() {
          const server = yield* behaving({ hasStream: true, post })
          const client = yield* connect(server.url)
          const { response } = yield* client.response("initialize")
          assert.strictEqual(response.outcome._tag, "Error")
          assert.deepStrictEqual(methods(server), ["POST initialize"])
        })
    )
  }

  for (const [what, refuse] of [["404", refusing(404)], ["400 with -32601", error(400, -32601)]] as const) {
    verifiesLive(
      "CON-21",
      `HTTP ${what} after 404 with -32601 to the probe: a modern server without discovery`,
      () =>
        Effect.gen(function*() {
          const server = yield* behaving({
            hasStream: true,
            post: (response, request) =>
              request.message.method === "server/discover"
                ? error(404, -32601)(response, request)
                : refuse(response, request)
          })
          const client = yield* connect(server.url)
          yield* client.response("server/discover", { revision: modern })
          const settled = yield* client.open("initialize").settled
          assert.isTrue(settled._tag === "Failure" || settled.response.outcome._tag === "Error")
          assert.deepStrictEqual(methods(server), ["POST server/discover", "POST initialize"])
        })
    )
  }

  verifiesLive("CON-07", "plain HTTP comes last: the same without compression", () =>
    Effect.gen(function*() {
      const server = yield* behaving({
        hasStream: false,
        post: (response, { headers }) =>
          headers["accept-encoding"] === undefined ? response.result({ over: "http" }) : response.send(400, {})
      })
      const client = yield* connect(server.url)
      assert.deepStrictEqual(TestClient.resultOf(yield* client.response("initialize")), { over: "http" })
      yield* client.connection.established(legacy)
      assert.isUndefined(client.connection.standby)
      assert.deepStrictEqual(methods(server), ["POST initialize", "GET", "POST initialize"])
    }))

  verifiesLive(
    ["CON-08", "PAIN-25"],
    "when nothing works, one error tells the problem of each",
    () =>
      Effect.gen(function*() {
        const server = yield* behaving({ hasStream: false, post: refusing(404) })
        const client = yield* connect(server.url)
        const error = yield* client.failure("initialize")
        if (error.reason._tag !== "ConnectionFailed") assert.fail(error.reason._tag)
        assert.deepStrictEqual(error.reason.attempts?.map(({ transport }) => transport), [
          "streamable-http",
          "sse",
          "http"
        ])
        assert.deepStrictEqual(error.reason.attempts?.map(({ problem }) => /HTTP \d+/.exec(problem)?.[0]), [
          "HTTP 404",
          "HTTP 405",
          "HTTP 404"
        ])
        assert.strictEqual(error.delivery, "refused")
        assert.isFalse(error.isRetryable)
        for (const part of ["streamable-http: The server answered HTTP 404", "sse: The server answered HTTP 405"]) {
          assert.include(error.message, part)
        }
        const { cause } = error.reason
        assert.isTrue(McpError.isMcpError(cause) && cause.reason._tag === "HttpStatus")
      })
  )

  verifiesLive("CON-08", "it may pass if the problem of any of them may", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve(({ httpMethod }, response) =>
        response.send(httpMethod === "GET" ? 503 : 404, {})
      )
      const client = yield* connect(server.url)
      assert.isTrue((yield* client.failure("initialize")).isRetryable)
    }))

  verifiesLive("CON-08", "whatever the last one comes to is one of the problems", () =>
    Effect.gen(function*() {
      const server = yield* behaving({
        hasStream: false,
        post: (response, { headers }) => response.send(headers["accept-encoding"] === undefined ? 500 : 404, {})
      })
      const client = yield* connect(server.url)
      const error = yield* client.failure("initialize")
      assert.include(error.message, "; http: The server answered HTTP 500")
      // It may have opened a session.
      assert.strictEqual(error.delivery, "unknown")
    }))

  verifiesLive(
    ["CON-08", "SEC-07", "PAIN-25"],
    "an endpoint on another origin is one of the problems",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve(({ httpMethod }, response) => {
          if (httpMethod !== "GET") return response.send(405, {})
          response.stream()
          response.raw.write(SseServer.endpointEvent("http://evil.example/messages"))
        })
        const client = yield* connect(server.url)
        const error = yield* client.failure("initialize")
        assert.include(error.message, "sse: The server's answer is malformed: its endpoint event names another origin")
      })
  )

  verifies(
    ["CON-08", "PAIN-8", "PAIN-25"],
    "a stream without an endpoint event is given ten seconds",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve(({ httpMethod }, response) => {
          if (httpMethod === "GET") response.stream()
          else response.send(404, {})
        })
        const client = yield* connect(server.url)
        const failing = yield* Effect.forkChild(client.failure("initialize"))
        yield* server.arrived(2)
        yield* TestClock.adjust("10 seconds")
        const error = yield* Fiber.join(failing)
        assert.include(error.message, "sse: The server's answer is malformed: no endpoint event came within 10000 ms")
        yield* server.abandoned(1)
      })
  )

  verifiesLive("CON-07", "a cancel while the others are tried ends that", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve(({ httpMethod }, response) => {
        if (httpMethod === "GET") response.stream()
        else response.send(404, {})
      })
      const client = yield* connect(server.url)
      const call = client.open("initialize")
      yield* server.arrived(2)
      call.cancel(undefined)
      yield* server.abandoned(1)
      assert.deepStrictEqual(call.settlements, [])
      assert.lengthOf(server.received, 2)
    }))
})

describe("any other request", () => {
  verifiesLive("CON-20", "is sent over Streamable HTTP alone, whatever it comes to", () =>
    Effect.gen(function*() {
      const server = yield* behaving({ hasStream: true, post: refusing(404) })
      const client = yield* connect(server.url)
      for (const method of ["server/discover", "tools/list"]) {
        const { reason } = yield* client.failure(method, { revision: modern })
        assert.deepInclude(reason, { _tag: "HttpStatus", status: 404 })
      }
      assert.deepStrictEqual(methods(server), ["POST server/discover", "POST tools/list"])
    }))
})

describe("what was found", () => {
  it.live("is used for the next connection, and forgotten when that cannot be opened", () =>
    Effect.gen(function*() {
      let hasStream = true
      const server = yield* SseServer.serve({
        onGet: (open, _request, response) => hasStream ? void open() : response.send(503, {}),
        onPost: (accept, request, response) => {
          if (request.url !== "/sse") accept()
          else if (hasStream) response.send(405, {})
          else response.result({ over: "streamable-http" })
        },
        onMessage: (message, stream) => stream.result(message, { over: "sse" })
      })
      const transport = yield* HttpPeers.over(TestClient.dispatch, DetectHttpTransport.make({ url: server.url }))
      const shake = Effect.scoped(Effect.gen(function*() {
        const client = yield* TestClient.connectBy(Effect.succeed(transport), { revision: legacy })
        return TestClient.resultOf(yield* client.response("initialize"))
      }))
      assert.deepStrictEqual(yield* shake, { over: "sse" })
      assert.deepStrictEqual(yield* shake, { over: "sse" })
      assert.deepStrictEqual(methods(server), ["POST initialize", "GET", "POST initialize", "GET", "POST initialize"])
      hasStream = false
      yield* Effect.flip(shake)
      assert.deepStrictEqual(yield* shake, { over: "streamable-http" })
    }))

  verifiesLive("CON-07", "is what the transport says it is", () =>
    Effect.gen(function*() {
      const server = yield* behaving({ hasStream: true, post: refusing(405) })
      const transport = yield* HttpPeers.over(TestClient.dispatch, DetectHttpTransport.make({ url: server.url }))
      const client = yield* TestClient.connectBy(Effect.succeed(transport), { revision: legacy })
      assert.strictEqual(transport.kind, "streamable-http")
      yield* client.response("initialize")
      assert.strictEqual(transport.kind, "sse")
    }))
})
