import { assert, describe, it } from "@effect/vitest"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Activity, type Envelope, McpError } from "@mcp-effect/protocol"
import { Deferred, Effect, Exit, Fiber, Layer, Ref, Schedule, Scope } from "effect"
import { HttpClient, HttpClientError, HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"

const { legacy, modern } = TestClient

const answer = (id: unknown, result: unknown = {}) => ({ jsonrpc: "2.0", id, result })
const notification = (method: string): Envelope.Notification => ({ _tag: "Notification", method, params: {} })

/** A server of the legacy era that keeps a session under that id. */
const keepingSession = (sessionId: string | Array<string>, handler?: TestServer.Handler) =>
  TestServer.serve((request, response) => {
    if (request.httpMethod === "DELETE") return response.send(204, {})
    if (request.message.method === "initialize") {
      response.raw.setHeader("Mcp-Session-Id", sessionId)
      return response.result({ protocolVersion: "2025-11-25" })
    }
    if (handler !== undefined) return handler(request, response)
    if (request.message.id === undefined) response.send(202, {})
    else response.result({})
  })

const methodsOf = (server: TestServer.TestServer) =>
  server.received.map(({ httpMethod, message }) => message?.method ?? httpMethod)

for (const [name, httpClient] of TestClient.httpClients) {
  describe(`sessions over ${name}`, () => {
    verifiesLive(
      ["SHT-17", "SHT-37", "SHT-19", "PAIN-31", "CON-28"],
      "the id of the session goes with every later message, and one DELETE ends it",
      () =>
        Effect.gen(function*() {
          const server = yield* keepingSession("session-1")
          yield* Effect.scoped(Effect.gen(function*() {
            const client = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
            yield* client.response("initialize")
            yield* client.connection.established(legacy)
            yield* client.connection.send(notification("notifications/initialized"), legacy)
            yield* client.response("tools/list")
            yield* client.connection.send({ _tag: "Reply", id: 1, outcome: { _tag: "Result", result: {} } }, legacy)
          }))
          assert.deepStrictEqual(
            server.received.map(({ headers, httpMethod, message }) => [
              httpMethod,
              message?.method,
              headers["mcp-session-id"],
              headers["mcp-protocol-version"]
            ]),
            [
              ["POST", "initialize", undefined, undefined],
              ["POST", "notifications/initialized", "session-1", "2025-11-25"],
              ["POST", "tools/list", "session-1", "2025-11-25"],
              ["POST", undefined, "session-1", "2025-11-25"],
              ["DELETE", undefined, "session-1", "2025-11-25"]
            ]
          )
        })
    )

    verifiesLive(
      "SHT-19",
      "the DELETE may be refused, and a server that does not answer it is not waited for",
      () =>
        Effect.gen(function*() {
          for (const status of [405, 404, 500, undefined]) {
            const server = yield* TestServer.serve((request, response) => {
              if (request.httpMethod === "POST") {
                response.raw.setHeader("Mcp-Session-Id", "s")
                response.result({})
              } else if (status !== undefined) {
                response.send(status, {})
              }
            })
            const scope = yield* Scope.make()
            const client = yield* Scope.provide(TestClient.connect(server.url, { httpClient, revision: legacy }), scope)
            yield* client.response("initialize")
            const started = Date.now()
            yield* Scope.close(scope, Exit.void)
            assert.isBelow(Date.now() - started, 10_000)
            assert.deepStrictEqual(methodsOf(server), ["initialize", "DELETE"])
          }
        })
    )

    verifiesLive(
      ["SHT-15", "SHT-19"],
      "without a session, and in the modern era, there is nothing to end",
      () =>
        Effect.gen(function*() {
          const server = yield* keepingSession("session-1")
          yield* Effect.scoped(Effect.gen(function*() {
            const client = yield* TestClient.connect(server.url, { httpClient, revision: modern })
            // A modern server has no such method; it must not begin a session even if it answers like this.
            yield* client.response("initialize")
            yield* client.connection.established(modern)
            yield* client.response("tools/list")
          }))
          const stateless = yield* TestServer.serve((_request, response) => response.result({}))
          yield* Effect.scoped(Effect.gen(function*() {
            const client = yield* TestClient.connect(stateless.url, { httpClient, revision: legacy })
            yield* client.response("initialize")
          }))
          assert.deepStrictEqual(methodsOf(server), ["initialize", "tools/list"])
          assert.deepStrictEqual(methodsOf(stateless), ["initialize"])
          assert.isTrue(server.received.every(({ headers }) => headers["mcp-session-id"] === undefined))
        })
    )

    verifiesLive(
      "SHT-20",
      "an id that is not visible ASCII, or too long, is not taken up",
      () =>
        Effect.gen(function*() {
          for (
            const [id, adopted] of [
              ["!~", true],
              ["x".repeat(4096), true],
              ["x".repeat(4097), false],
              ["", false],
              ["a b", false],
              ["\u00e9", false]
            ] as const
          ) {
            const server = yield* keepingSession(id)
            const client = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
            yield* client.response("initialize")
            yield* client.response("tools/list")
            assert.strictEqual(server.received[1]?.headers["mcp-session-id"], adopted ? id : undefined, id)
          }
        })
    )

    verifiesLive(
      ["SHT-21", "SHT-24", "SHT-33"],
      "404 in a session: nothing was executed, and only initialize goes out, without the id",
      () =>
        Effect.gen(function*() {
          let known = true
          const server = yield* keepingSession("session-1", (request, response) => {
            if (!known) response.json({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "?" } }, 404)
            else if (request.message.id === undefined) response.send(202, {})
            else response.result({})
          })
          yield* Effect.scoped(Effect.gen(function*() {
            const client = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
            yield* client.response("initialize")
            yield* client.response("tools/list")
            known = false
            const both = yield* Effect.all([client.failure("tools/call"), client.failure("tools/call")], {
              concurrency: "unbounded"
            })
            for (const error of both) {
              assert.strictEqual(error.reason._tag, "SessionExpired")
              assert.strictEqual(error.delivery, "refused")
              assert.isTrue(error.isRetryable)
            }
            const count = server.received.length
            const later = yield* client.failure("tools/list")
            assert.deepStrictEqual([later.reason._tag, later.delivery], ["SessionExpired", "unsent"])
            assert.strictEqual(server.received.length, count)
            known = true
            yield* client.response("initialize")
            assert.isUndefined(server.received.at(-1)?.headers["mcp-session-id"])
            yield* client.response("tools/list")
            assert.strictEqual(server.received.at(-1)?.headers["mcp-session-id"], "session-1")
            known = false
            const failed = yield* Effect.flip(client.connection.send(notification("notifications/x"), legacy))
            assert.deepStrictEqual([failed.reason._tag, failed.delivery], ["SessionExpired", "refused"])
          }))
          // The server has ended the session itself.
          assert.notInclude(methodsOf(server), "DELETE")
        })
    )
  })

  describe(`messages without an answer over ${name}`, () => {
    verifiesLive(
      ["PAIN-24", "SHT-04", "SHT-38"],
      "any 2xx will do, whatever the body, and the connection lives on",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            switch (request.message.method) {
              case "202":
                return response.send(202, {})
              case "200 null":
                return response.json(null)
              case "204":
                response.raw.writeHead(204)
                return response.end()
              case "html":
                return response.send(200, { "content-type": "text/html" }, "<p>thanks</p>")
              case "chunked":
                response.raw.writeHead(202)
                response.raw.write("a")
                return response.end()
              default:
                return response.send(200, { "content-type": "application/json" })
            }
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          const methods = ["202", "200", "200 null", "204", "html", "chunked", "202"]
          for (const method of [...methods, ...methods, ...methods]) {
            yield* client.connection.send(notification(method), modern)
          }
          // The next message does not wait for the end of the last body, and may need a connection more.
          assert.isAtMost(server.connections(), 5)
          assert.strictEqual(server.received.length, 21)
        })
    )

    it.live("a body that does not end is not waited for", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          response.stream()
          assert.isDefined(request)
        })
        const client = yield* TestClient.connect(server.url, { httpClient })
        yield* client.connection.send(notification("notifications/x"), modern)
        yield* server.abandoned(1)
      }))

    verifiesLive(
      "SHT-38",
      "what could not be delivered fails with the transport's error",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) =>
            request.message.method === "redirect"
              ? response.send(307, { location: "http://elsewhere/" })
              : response.send(Number(request.message.method), { "content-type": "text/plain" }, "no")
          )
          const client = yield* TestClient.connect(server.url, { httpClient })
          const failure = (method: string) =>
            Effect.map(Effect.flip(client.connection.send(notification(method), modern)), (error) => [
              error.reason._tag,
              error.delivery
            ])
          assert.deepStrictEqual(yield* failure("400"), ["HttpStatus", "refused"])
          assert.deepStrictEqual(yield* failure("401"), ["Unauthorized", "refused"])
          assert.deepStrictEqual(yield* failure("403"), ["InsufficientScope", "refused"])
          assert.deepStrictEqual(yield* failure("500"), ["HttpStatus", "unknown"])
          assert.deepStrictEqual(yield* failure("redirect"), ["RedirectRefused", "refused"])
          const port = yield* Effect.scoped(Effect.map(TestServer.serve(() => {}), (gone) => gone.port))
          const unreachable = yield* TestClient.connect(`http://127.0.0.1:${port}/mcp`, { httpClient })
          const error = yield* Effect.flip(unreachable.connection.send(notification("x"), modern))
          assert.deepStrictEqual([error.reason._tag, error.delivery, error.method], ["ConnectionFailed", "unsent", "x"])
        })
    )

    it.live("a modern server gets no answers to requests", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((_request, response) => response.send(202, {}))
        const client = yield* TestClient.connect(server.url, { httpClient })
        const reply: Envelope.Reply = { _tag: "Reply", id: 1, outcome: { _tag: "Result", result: {} } }
        const error = yield* Effect.flip(client.connection.send(reply, modern))
        assert.deepStrictEqual([error.reason._tag, error.delivery], ["InvalidRequest", "unsent"])
        assert.strictEqual(server.received.length, 0)
      }))
  })

  describe(`cancellation over ${name}`, () => {
    verifiesLive("PAIN-6", "legacy: the connection closes, then the server is told once", () =>
      Effect.gen(function*() {
        const server = yield* keepingSession("session-1", (request, response) => {
          if (request.message.method === "notifications/cancelled") response.send(202, {})
          else if (request.message.method === "streaming") response.stream()
        })
        const client = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
        yield* client.response("initialize")
        for (const [index, method] of ["waiting", "streaming"].entries()) {
          const arrived = server.received.length
          const call = client.open(method, { id: `call-${index}` })
          yield* server.arrived(arrived + 1)
          call.cancel(index === 0 ? "no longer needed" : undefined)
          call.cancel("again")
          yield* server.arrived(arrived + 2)
          yield* server.abandoned(index + 1)
          const cancelled = server.received.at(-1)
          assert.deepStrictEqual(cancelled?.message, {
            jsonrpc: "2.0",
            method: "notifications/cancelled",
            params: index === 0
              ? { requestId: "call-0", reason: "no longer needed" }
              : { requestId: "call-1" }
          })
          assert.strictEqual(cancelled?.headers["mcp-session-id"], "session-1")
          assert.strictEqual(cancelled?.headers["mcp-protocol-version"], "2025-11-25")
          assert.deepStrictEqual(call.settlements, [])
        }
        assert.strictEqual(methodsOf(server).filter((method) => method === "notifications/cancelled").length, 2)
      }))

    verifiesLive(
      "PAIN-6",
      "what must not be cancelled, such as initialize, is abandoned silently",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            if (request.message.method === "tools/list") response.result({})
          })
          const client = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
          const call = client.open("initialize", { onAbandon: "silent" })
          yield* server.arrived(1)
          call.cancel(undefined)
          yield* server.abandoned(1)
          yield* client.response("tools/list")
          assert.deepStrictEqual(methodsOf(server), ["initialize", "tools/list"])
        })
    )

    verifiesLive(
      ["TMO-04", "PAIN-6"],
      "modern: closing the connection is the cancellation",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            if (request.message.method === "tools/list") response.result({})
            else response.stream()
          })
          const client = yield* TestClient.connect(server.url, { httpClient, revision: modern })
          const call = client.open("tools/call")
          yield* server.arrived(1)
          call.cancel("no longer needed")
          yield* server.abandoned(1)
          yield* client.response("tools/list")
          assert.deepStrictEqual(methodsOf(server), ["tools/call", "tools/list"])
          assert.deepStrictEqual(call.settlements, [])
        })
    )

    it.live("a server that has forgotten the session, or does not answer, cannot hold up a cancellation", () =>
      Effect.gen(function*() {
        const server = yield* keepingSession("session-1", (request, response) => {
          if (request.message.method === "notifications/cancelled") response.send(404, {})
          else if (request.message.method === "tools/list") response.result({})
        })
        const client = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
        yield* client.response("initialize")
        const call = client.open("tools/call")
        yield* server.arrived(2)
        call.cancel(undefined)
        yield* server.arrived(3)
        // By the last of these its answer has long been read.
        for (let count = 0; count < 20; count++) yield* client.response("tools/list")
        assert.strictEqual(server.received.at(-1)?.headers["mcp-session-id"], "session-1")
      }))
  })

  describe(`connections over ${name}`, () => {
    it.live("calls in a row share a connection, JSON and events alike", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          switch (request.message.method) {
            case "json":
              return response.result({})
            case "status":
              return response.send(400, { "content-type": "text/plain" }, "no")
            default:
              response.stream()
              response.event(answer(request.message.id))
              response.end()
          }
        })
        const client = yield* TestClient.connect(server.url, { httpClient })
        for (let count = 0; count < 50; count++) yield* client.response("json")
        assert.strictEqual(server.connections(), 1)
        for (let count = 0; count < 10; count++) yield* client.failure("status")
        assert.strictEqual(server.connections(), 1)
        // The next call does not wait for the end of the stream, and may need a connection more.
        for (let count = 0; count < 50; count++) yield* client.response("events")
        assert.isAtMost(server.connections(), 4)
      }))

    verifiesLive("PAIN-16", "nothing that is kept for a call outlives it", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          if (request.message.method === "json") return response.result({})
          response.stream()
          response.event(answer(request.message.id))
          response.end()
        })
        const warnings: Array<Error> = []
        const onWarning = (warning: Error): void => {
          warnings.push(warning)
        }
        process.on("warning", onWarning)
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(TestClient.connect(server.url, { httpClient }), scope)
        const finalizers = (): number => scope.state._tag === "Open" ? scope.state.finalizers?.size ?? 1 : 0
        const before = finalizers()
        for (let count = 0; count < 200; count++) yield* client.response(count % 2 === 0 ? "json" : "events")
        yield* Effect.repeat(Effect.sync(finalizers), {
          until: (count) => count === before,
          schedule: Schedule.max([Schedule.spaced("50 millis"), Schedule.recurs(200)])
        })
        assert.strictEqual(finalizers(), before)
        assert.deepStrictEqual(warnings, [])
        yield* Scope.close(scope, Exit.void)
        process.off("warning", onWarning)
      }))
  })
}

describe("evidence", () => {
  it.live("the digest of the authorization that was sent, none without one, unknown where it cannot be told", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve((_request, response) => {
        response.stream()
        response.event(answer(1))
        response.end()
      })
      const authorization = (client: TestClient.TestClient) =>
        Effect.map(client.response("tools/list", { id: 1 }), ({ evidence }) => evidence.authorization)
      const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

      for (const [, httpClient] of TestClient.httpClients) {
        const anonymous = yield* TestClient.connect(server.url, { httpClient })
        assert.strictEqual(yield* authorization(anonymous), "none")
        const known = yield* TestClient.connect(server.url, { httpClient, headers: { Authorization: "Bearer a" } })
        assert.strictEqual(yield* authorization(known), sha256("Bearer a"))
        assert.strictEqual(yield* authorization(known), sha256("Bearer a"))
      }

      // An authorization layer below the transport decides what is sent.
      let token = 0
      const authorized = Layer.effect(
        HttpClient.HttpClient,
        Effect.map(
          HttpClient.HttpClient,
          HttpClient.mapRequest((request) => HttpClientRequest.bearerToken(request, `t${token++ % 20}`))
        )
      )
      const client = yield* TestClient.connect(server.url, {
        httpClient: Layer.provide(authorized, TestClient.dispatch)
      })
      for (let count = 0; count < 40; count++) {
        assert.strictEqual(yield* authorization(client), sha256(`Bearer t${count % 20}`))
      }

      const forgetful = Layer.effect(
        HttpClient.HttpClient,
        Effect.map(
          HttpClient.HttpClient,
          HttpClient.transformResponse(
            Effect.map((response) => Object.create(response, { request: { value: undefined } }))
          )
        )
      )
      const blind = yield* TestClient.connect(server.url, { httpClient: Layer.provide(forgetful, TestClient.dispatch) })
      assert.strictEqual(yield* authorization(blind), "unknown")
    }))
})

/** An authorization layer that waits for a person before each request. */
const signingIn = (proceed: Deferred.Deferred<void>, held: Deferred.Deferred<void>) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(
      HttpClient.HttpClient,
      HttpClient.mapRequestEffect((request) =>
        Effect.gen(function*() {
          const { hold } = yield* Activity.Activity
          const release = hold()
          const releaseAgain = hold()
          yield* Deferred.succeed(held, undefined)
          yield* Deferred.await(proceed)
          release()
          release()
          releaseAgain()
          return request
        })
      )
    )
  )

describe("a person in between", () => {
  it.live("the time it takes does not count as silence", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve((_request, response) => response.result({}))
      const [proceed, held] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const client = yield* TestClient.connect(server.url, {
        httpClient: Layer.provide(signingIn(proceed, held), TestClient.dispatch)
      })
      const call = client.open("tools/list")
      yield* Deferred.await(held)
      assert.deepStrictEqual(call.activity, [Infinity])
      yield* Deferred.succeed(proceed, undefined)
      yield* call.settled
      assert.deepStrictEqual(call.activity.slice(0, 2), [Infinity, 0])
      assert.isTrue(call.activity.slice(1).every((grace) => grace === 0))
    }))

  it.live("a request that is given up meanwhile was never sent, so that nothing is cancelled", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve((_request, response) => response.result({}))
      const [proceed, held] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const client = yield* TestClient.connect(server.url, {
        revision: legacy,
        httpClient: Layer.provide(signingIn(proceed, held), TestClient.dispatch)
      })
      const call = client.open("tools/call")
      yield* Deferred.await(held)
      call.cancel("changed my mind")
      yield* Deferred.succeed(proceed, undefined)
      yield* client.response("tools/list")
      assert.deepStrictEqual(methodsOf(server), ["tools/list"])
    }))
})

describe("a server that does not accept a message", () => {
  const silent = Layer.succeed(HttpClient.HttpClient, HttpClient.make(() => Effect.never))

  it.effect("is given up after a minute", () =>
    Effect.gen(function*() {
      const client = yield* TestClient.connect("http://memory/mcp", { httpClient: silent })
      const sending = yield* Effect.forkChild(
        Effect.flip(client.connection.send(notification("notifications/x"), modern)),
        { startImmediately: true }
      )
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(sending.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(sending)
      assert.deepInclude({ ...error.reason, delivery: error.delivery }, {
        _tag: "RequestTimeout",
        kind: "idle",
        millis: 60_000,
        delivery: "unknown"
      })
    }))

  it.effect("is not blamed for the time that a person takes", () =>
    Effect.gen(function*() {
      const [proceed, held] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const client = yield* TestClient.connect("http://memory/mcp", {
        httpClient: Layer.provide(signingIn(proceed, held), silent)
      })
      const sending = yield* Effect.forkChild(
        Effect.flip(client.connection.send(notification("notifications/x"), modern)),
        { startImmediately: true }
      )
      yield* Deferred.await(held)
      yield* TestClock.adjust("10 minutes")
      assert.isUndefined(sending.pollUnsafe())
      yield* Deferred.succeed(proceed, undefined)
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(sending.pollUnsafe())
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual((yield* Fiber.join(sending)).reason._tag, "RequestTimeout")
    }))

  it.live("does not hold up the end of the connection", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(TestClient.connect("http://memory/mcp", { httpClient: silent }), scope)
      const sending = yield* Effect.forkChild(
        Effect.flip(client.connection.send(notification("notifications/x"), modern)),
        { startImmediately: true }
      )
      yield* Scope.close(scope, Exit.void)
      const error = yield* Fiber.join(sending)
      assert.deepStrictEqual([error.reason._tag, error.delivery], ["ConnectionClosed", "unknown"])
    }))

  it.live("is left when the sender is interrupted", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve(() => {})
      const client = yield* TestClient.connect(server.url)
      const sending = yield* Effect.forkChild(client.connection.send(notification("notifications/x"), modern), {
        startImmediately: true
      })
      yield* server.arrived(1)
      yield* Fiber.interrupt(sending)
      yield* server.abandoned(1)
    }))
})

describe("the end of a connection", () => {
  it.live("what is under way fails, what comes later is not sent, and closed completes", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve((_request, response) => response.stream())
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(TestClient.connect(server.url), scope)
      const call = client.open("tools/call")
      yield* server.arrived(1)
      const closed = yield* Effect.forkChild(client.connection.closed, { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      const settled = yield* call.settled
      assert.strictEqual(settled._tag === "Failure" && settled.error.delivery, "unknown")
      assert.deepInclude({ ...(yield* Fiber.join(closed)).reason }, { _tag: "ConnectionClosed", local: true })
      const late = yield* client.failure("tools/call")
      assert.deepStrictEqual([late.reason._tag, late.delivery], ["ConnectionClosed", "unsent"])
      yield* server.abandoned(1)
      assert.strictEqual(server.received.length, 1)
    }))

  it.live("an McpError that a layer below put into its error comes through", () =>
    Effect.gen(function*() {
      const count = yield* Ref.make(0)
      const inner = McpError.make(new McpError.Unauthorized({ challenges: [] }), "refused")
      const refusing = Layer.succeed(
        HttpClient.HttpClient,
        HttpClient.make((request) =>
          Effect.andThen(
            Ref.update(count, (count) => count + 1),
            Effect.fail(
              new HttpClientError.HttpClientError({
                reason: new HttpClientError.TransportError({ request, cause: inner })
              })
            )
          )
        )
      )
      const client = yield* TestClient.connect("http://memory/mcp", { httpClient: refusing })
      const error = yield* client.failure("tools/list")
      assert.deepStrictEqual([error.reason._tag, error.delivery], ["Unauthorized", "refused"])
      assert.strictEqual(yield* Ref.get(count), 1)
    }))
})
