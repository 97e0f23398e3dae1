import { assert, describe } from "@effect/vitest"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import type { Envelope, McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
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
  })
}
