import { assert, describe } from "@effect/vitest"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import type { Envelope, McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { inspect } from "node:util"
import type { Connection } from "../src/Transport.ts"

type Incoming = Envelope.Request | Envelope.Notification

/** Opens the stream and collects what comes until it ends. */
const listen = (connection: Connection) => {
  const messages: Array<Incoming> = []
  const ended = Deferred.makeUnsafe<McpError.McpError>()
  const opened = Deferred.makeUnsafe<void>()
  const cancel = connection.standby?.({
    onMessage: (message) => messages.push(message),
    onActivity: () => Deferred.doneUnsafe(opened, Effect.void),
    onResponse: () => assert.fail("nothing is answered on this stream"),
    onFailure: (error) => Deferred.doneUnsafe(ended, Effect.succeed(error))
  }, Context.empty())
  return { messages, ended: Deferred.await(ended), opened: Deferred.await(opened), cancel }
}

/** A server in a session, whose GET is answered as given. */
const answeringGet = (answer: (response: TestServer.Response) => void) =>
  TestServer.serve((request, response) => {
    if (request.httpMethod === "GET") return answer(response)
    if (request.message?.method === "initialize") {
      return response.send(
        200,
        { "content-type": "application/json", "mcp-session-id": "session-1" },
        JSON.stringify({ jsonrpc: "2.0", id: request.message.id, result: {} })
      )
    }
    response.result({})
  })

const inSession = (server: TestServer.TestServer, httpClient: TestClient.Options["httpClient"]) =>
  Effect.gen(function*() {
    const client = yield* TestClient.connect(server.url, {
      ...(httpClient === undefined ? undefined : { httpClient }),
      revision: TestClient.legacy
    })
    yield* client.response("initialize")
    yield* client.connection.established(TestClient.legacy)
    return client
  })

for (const [name, httpClient] of TestClient.httpClients) {
  describe(`the standby stream over ${name}`, () => {
    verifiesLive(
      ["SDK-04", "SHT-17", "SHT-18"],
      "is a GET in the session, and hands over what comes",
      () =>
        Effect.gen(function*() {
          const server = yield* answeringGet((response) => {
            response.stream()
            response.event({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
            response.event({ jsonrpc: "2.0", id: "s1", method: "ping" })
            response.event("this is not JSON")
            response.end()
          })
          const client = yield* inSession(server, httpClient)
          const stream = listen(client.connection)
          const error = yield* stream.ended
          assert.strictEqual(error.reason._tag, "StreamEnded")
          assert.deepStrictEqual(stream.messages.map(({ method }) => method), [
            "notifications/tools/list_changed",
            "ping"
          ])
          assert.deepStrictEqual(client.diagnostics.map(({ _tag }) => _tag), ["UnexpectedMessage"])
          const get = server.received.find(({ httpMethod }) => httpMethod === "GET")
          assert.strictEqual(get?.headers["accept"], "text/event-stream")
          assert.strictEqual(get?.headers["mcp-session-id"], "session-1")
          assert.strictEqual(get?.headers["mcp-protocol-version"], "2025-11-25")
        })
    )

    verifiesLive("SDK-04", "that the server does not offer ends with its status", () =>
      Effect.gen(function*() {
        const server = yield* answeringGet((response) => response.send(405, {}))
        const client = yield* inSession(server, httpClient)
        const { reason } = yield* listen(client.connection).ended
        assert.strictEqual(reason._tag, "HttpStatus")
        if (reason._tag === "HttpStatus") assert.strictEqual(reason.status, 405)
      }))

    verifiesLive(
      ["SDK-04", "SHT-23"],
      "404 where the server never had such a stream is not about the session",
      () =>
        Effect.gen(function*() {
          const server = yield* answeringGet((response) => response.send(404, {}))
          const client = yield* inSession(server, httpClient)
          const { reason } = yield* listen(client.connection).ended
          assert(reason._tag === "HttpStatus")
          assert.strictEqual(reason.status, 404)
          yield* client.response("tools/list")
          assert.strictEqual(server.received.at(-1)?.headers["mcp-session-id"], "session-1")
        })
    )

    verifiesLive(
      ["SDK-04", "SEC-14"],
      "that breaks says why, without the request and its credentials",
      () =>
        Effect.gen(function*() {
          const server = yield* answeringGet((response) => {
            response.stream()
            response.raw.write(": here\n\n", () => response.reset())
          })
          const client = yield* TestClient.connect(server.url, {
            ...(httpClient === undefined ? undefined : { httpClient }),
            revision: TestClient.legacy,
            headers: { Authorization: "Bearer secret" }
          })
          yield* client.response("initialize")
          yield* client.connection.established(TestClient.legacy)
          const error = yield* listen(client.connection).ended
          assert(error.reason._tag === "StreamEnded")
          assert.isDefined(error.reason.cause)
          assert.notInclude(inspect(error, { depth: 20 }), "secret")
        })
    )

    verifiesLive("SDK-04", "ends when it is given up, and nothing is reported", () =>
      Effect.gen(function*() {
        const server = yield* answeringGet((response) => response.stream())
        const client = yield* inSession(server, httpClient)
        const stream = listen(client.connection)
        yield* stream.opened
        stream.cancel?.(undefined)
        yield* server.abandoned(1)
        assert.deepStrictEqual(stream.messages, [])
      }))

    verifiesLive(
      ["RES-01", "RES-03", "SDK-04", "PAIN-15"],
      "goes on after the last event when it is opened again, and tells how long the server wants to be left alone",
      () =>
        Effect.gen(function*() {
          let opened = 0
          const server = yield* answeringGet((response) => {
            response.stream()
            response.raw.write(["id: a\nretry: 0\ndata:\n\n", "retry: 250\ndata: 1\n\n", "id: b\n\n"][opened++] ?? "")
            response.end()
          })
          const client = yield* inSession(server, httpClient)
          const ends: Array<unknown> = []
          for (let round = 0; round < 4; round++) {
            const { reason } = yield* listen(client.connection).ended
            assert(reason._tag === "StreamEnded")
            ends.push([reason.resumable, reason.retryAfterMillis])
          }
          assert.deepStrictEqual(ends, [[true, 100], [true, 250], [true, undefined], [true, undefined]])
          const gets = server.received.filter(({ httpMethod }) => httpMethod === "GET")
          assert.deepStrictEqual(gets.map(({ headers }) => headers["last-event-id"]), [undefined, "a", "a", "b"])
        })
    )

    verifiesLive(
      ["RES-10", "SDK-04"],
      "begins anew where the server does not know the event any more, and in another session",
      () =>
        Effect.gen(function*() {
          const asked: Array<string | undefined> = []
          const server = yield* TestServer.serve(({ headers, httpMethod, message }, response) => {
            const eventId = headers["last-event-id"]
            if (httpMethod === "GET") {
              asked.push(eventId === undefined ? undefined : String(eventId))
              if (eventId === "gone") return response.send(400, {})
              response.stream()
              response.raw.write(`id: ${asked.length === 1 ? "gone" : "kept"}\ndata:\n\n`)
              return response.end()
            }
            if (message?.method !== "initialize") return response.send(202, {})
            response.raw.setHeader("mcp-session-id", "session-1")
            response.result({})
          })
          const client = yield* inSession(server, httpClient)
          yield* listen(client.connection).ended
          const { reason } = yield* listen(client.connection).ended
          assert(reason._tag === "StreamEnded")
          assert.isFalse(reason.resumable)
          yield* listen(client.connection).ended
          assert.deepStrictEqual(asked, [undefined, "gone", undefined])
          yield* client.response("initialize")
          yield* listen(client.connection).ended
          assert.deepStrictEqual(asked, [undefined, "gone", undefined, undefined])
        })
    )

    verifiesLive(
      ["SHT-21", "SHT-24", "SHT-30", "SHT-33"],
      "404 in the session ends the session for whatever comes next, unless another one has begun",
      () =>
        Effect.gen(function*() {
          let sessions = 0
          let gets = 0
          const late: Array<TestServer.Response> = []
          const server = yield* TestServer.serve(({ httpMethod, message }, response) => {
            if (httpMethod === "GET" && ++gets > 1) return response.send(404, {})
            if (httpMethod === "GET") {
              response.stream()
              return response.end()
            }
            if (message?.method === "initialize") {
              response.raw.setHeader("mcp-session-id", `session-${++sessions}`)
              return response.result({})
            }
            if (message?.method === "late") return void late.push(response)
            response.result({})
          })
          const client = yield* inSession(server, httpClient)
          const waiting = client.open("late")
          yield* server.arrived(2)
          yield* listen(client.connection).ended
          const { reason } = yield* listen(client.connection).ended
          assert.strictEqual(reason._tag, "SessionExpired")
          const refused = yield* client.failure("tools/list")
          // It is an error like any other, with the reason that tells it apart; nothing was sent in vain.
          assert.strictEqual(refused._tag, "McpError")
          assert.strictEqual(refused.reason._tag, "SessionExpired")
          assert.strictEqual(refused.delivery, "unsent")
          const again = yield* listen(client.connection).ended
          assert.strictEqual(again.reason._tag, "SessionExpired")
          assert.strictEqual(gets, 2)
          // A 404 of the old session comes when the new one is under way.
          yield* client.response("initialize")
          late[0]?.send(404, {})
          const settled = yield* waiting.settled
          assert(settled._tag === "Failure")
          assert.strictEqual(settled.error.reason._tag, "SessionExpired")
          yield* client.response("tools/list")
          assert.strictEqual(server.received.at(-1)?.headers["mcp-session-id"], "session-2")
        })
    )

    verifiesLive(
      ["SHT-36", "SEC-07"],
      "ends with an event that is too large, and with a redirect, which is not followed",
      () =>
        Effect.gen(function*() {
          const elsewhere = yield* TestServer.serve((_request, response) => response.result({}))
          let gets = 0
          const server = yield* answeringGet((response) => {
            if (gets++ > 0) return response.send(302, { location: elsewhere.url })
            response.stream()
            response.raw.write(`id: a\ndata:\n\nid: b\ndata: ${"x".repeat(5_000)}\n\n`)
          })
          const client = yield* TestClient.connect(server.url, {
            ...(httpClient === undefined ? undefined : { httpClient }),
            revision: TestClient.legacy,
            maxEventBytes: 1_000,
            headers: { Authorization: "Bearer secret" }
          })
          yield* client.response("initialize")
          yield* client.connection.established(TestClient.legacy)
          const large = yield* listen(client.connection).ended
          assert.strictEqual(large.reason._tag, "MessageTooLarge")
          const redirected = yield* listen(client.connection).ended
          assert.strictEqual(redirected.reason._tag, "RedirectRefused")
          // It would only be too large again.
          assert.isUndefined(server.received.at(-1)?.headers["last-event-id"])
          assert.strictEqual(elsewhere.received.length, 0)
        })
    )
  })
}
