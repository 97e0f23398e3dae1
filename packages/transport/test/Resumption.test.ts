import { assert, describe } from "@effect/vitest"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifies, verifiesLive, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Activity, type McpError } from "@mcp-effect/protocol"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Zlib from "node:zlib"
import { EventStream } from "../src/internal/EventStream.ts"

const { legacy, modern, resultOf } = TestClient

const result = (id: unknown, value: unknown = {}) => ({ jsonrpc: "2.0", id, result: value })
const progress = (step: number) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: step }
})

/** An event as it stands on the wire. */
const event = (id: string | undefined, data: unknown, retry?: number | string): string =>
  (id === undefined ? "" : `id: ${id}\n`)
  + (retry === undefined ? "" : `retry: ${retry}\n`)
  + `data: ${data === undefined ? "" : JSON.stringify(data)}\n\n`

/** Begins a response stream and writes to it, all of it before whatever is done next. */
const write = (response: TestServer.Response, text: string, next: () => void = () => {}): void => {
  response.stream()
  response.raw.write(text, next)
}

/** A server in a session: `post` answers calls, `get` what is asked for by GET. */
const resumable = (post: TestServer.Handler, get: TestServer.Handler) =>
  TestServer.serve((request, response) => {
    if (request.httpMethod === "GET") return get(request, response)
    if (request.httpMethod === "DELETE" || request.message.id === undefined) return response.send(202, {})
    if (request.message.method === "initialize") {
      response.raw.setHeader("Mcp-Session-Id", "session-1")
      return response.result({ protocolVersion: "2025-11-25" })
    }
    post(request, response)
  })

/** Writes that much and ends the stream. */
const ending = (text: string): TestServer.Handler => (_request, response) => write(response, text, response.end)

const primed = ending(event("e1", undefined))

const gets = (server: TestServer.TestServer) => server.received.filter(({ httpMethod }) => httpMethod === "GET")
const lastEventIds = (server: TestServer.TestServer) => gets(server).map(({ headers }) => headers["last-event-id"])

const inSession = (server: TestServer.TestServer, options: TestClient.Options = {}) =>
  Effect.gen(function*() {
    const client = yield* TestClient.connect(server.url, { revision: legacy, ...options })
    yield* client.response("initialize")
    yield* client.connection.established(legacy)
    return client
  })

/** Opens a request and collects the waits that are announced for it. */
const opening = (client: TestClient.TestClient, method: string, options: TestClient.RequestOptions = {}) => {
  const waits: Array<number> = []
  const announced = Deferred.makeUnsafe<number>()
  const call = client.open(method, {
    ...options,
    onActivity: (graceMillis) => {
      if (graceMillis === 0) return
      waits.push(graceMillis)
      Deferred.doneUnsafe(announced, Effect.succeed(graceMillis))
    }
  })
  // The wait itself begins right after it was announced.
  return { ...call, waits, announced: Effect.tap(Deferred.await(announced), () => Effect.yieldNow) }
}

const reasonOf = (settled: TestClient.Settled): McpError.McpErrorReason => {
  assert(settled._tag === "Failure")
  return settled.error.reason
}

for (const [name, httpClient] of TestClient.httpClients) {
  describe(`resumption over ${name}`, () => {
    verifies(
      ["RES-01", "RES-02", "RES-03", "RES-04", "RES-10", "RES-14", "PAIN-11"],
      "a stream that ends or breaks after an event with an id is asked for by GET, after a second",
      () =>
        Effect.gen(function*() {
          for (const how of ["end", "reset"] as const) {
            const server = yield* resumable(
              (_request, response) =>
                write(response, event("e1", undefined) + event("e2", progress(1)), () => response[how]()),
              (_request, response) =>
                write(response, event("e3", progress(2)) + event("e4", result(2, { done: true })), response.end)
            )
            const client = yield* inSession(server, { httpClient })
            const call = opening(client, "tools/call")
            assert.strictEqual(yield* call.announced, 1_000)
            yield* TestClock.adjust(999)
            // Another request has come and gone meanwhile: there was time for a GET.
            yield* client.connection.send({ _tag: "Notification", method: "n", params: {} }, legacy)
            assert.strictEqual(gets(server).length, 0)
            yield* TestClock.adjust(1)
            const settled = yield* call.settled
            assert(settled._tag === "Response")
            assert.deepStrictEqual(resultOf(settled), { done: true })
            assert.strictEqual(settled.evidence.httpStatus, 200)
            assert.deepStrictEqual(call.messages.map(({ params }) => params?.["progress"]), [1, 2])
            assert.deepStrictEqual(call.waits, [1_000])
            assert.deepStrictEqual(client.diagnostics, [])
            const [get] = gets(server)
            assert.deepInclude(get?.headers, {
              accept: "text/event-stream",
              "last-event-id": "e2",
              "mcp-session-id": "session-1",
              "mcp-protocol-version": "2025-11-25"
            })
            assert.strictEqual(gets(server).length, 1)
            const posts = server.received.filter(({ httpMethod }) => httpMethod === "POST")
            assert.isTrue(posts.every(({ headers }) => headers["last-event-id"] === undefined))
          }
        })
    )

    verifies(
      ["RES-03", "RES-06", "RES-08", "SEC-05", "PAIN-15"],
      "the wait is what the server asks for, within 100 milliseconds and a minute, and of this stream alone",
      () =>
        Effect.gen(function*() {
          const server = yield* resumable(
            (request, response) => write(response, event("e1", undefined, request.message.params.retry), response.end),
            (_request, response) => response.send(405, {})
          )
          const client = yield* inSession(server, { httpClient })
          for (
            const [retry, wait] of [
              ["0", 100],
              ["99", 100],
              ["500", 500],
              ["60001", 60_000],
              ["99999999999999999999999999", 60_000],
              ["-1", 1_000],
              ["soon", 1_000],
              [undefined, 1_000]
            ] as const
          ) {
            const before = gets(server).length
            const call = opening(client, "tools/call", { params: { retry } })
            assert.strictEqual(yield* call.announced, wait, String(retry))
            yield* TestClock.adjust(wait - 1)
            yield* client.connection.send({ _tag: "Notification", method: "n", params: {} }, legacy)
            assert.strictEqual(gets(server).length, before)
            yield* TestClock.adjust(1)
            yield* call.settled
            assert.strictEqual(gets(server).length, before + 1)
          }
        })
    )

    verifiesLive(
      ["RES-05", "PAIN-11"],
      "two attempts in a row without a new event are the last; each goes on from the newest event",
      () =>
        Effect.gen(function*() {
          let asked = 0
          const server = yield* resumable(
            ending(event("e1", undefined, 100)),
            (_request, response) => {
              asked++
              // The second and the fourth bring something new.
              write(
                response,
                asked % 2 === 0 && asked < 5 ? event(`e${asked}`, undefined) : ": nothing\n\n",
                response.end
              )
            }
          )
          const client = yield* inSession(server, { httpClient })
          const error = yield* client.failure("tools/call")
          assert.deepStrictEqual(lastEventIds(server), ["e1", "e1", "e2", "e2", "e4", "e4"])
          assert(error.reason._tag === "StreamEnded")
          assert.isTrue(error.reason.resumable)
          assert.strictEqual(error.delivery, "unknown")
        })
    )

    verifiesLive(
      ["RES-05", "RES-11"],
      "an attempt that cannot be made, or is refused for the moment, counts as one",
      () =>
        Effect.gen(function*() {
          for (const status of [undefined, 409, 503]) {
            const server = yield* resumable(ending(event("e1", undefined, 100)), (_request, response) => {
              if (status === undefined) response.reset()
              else response.send(status, {})
            })
            const client = yield* inSession(server, { httpClient })
            const error = yield* client.failure("tools/call")
            assert.strictEqual(gets(server).length, 2, String(status))
            assert(error.reason._tag === "StreamEnded")
            assert.isTrue(error.reason.resumable)
            assert.isDefined(error.reason.cause)
            assert.strictEqual(error.delivery, "unknown")
            assert.isFalse(error.isRetryable)
          }
        })
    )

    verifiesLive(
      "RES-11",
      "a server that refuses is asked once, and the call may have been executed",
      () =>
        Effect.gen(function*() {
          for (
            const [status, headers, tag] of [
              [405, {}, "StreamEnded"],
              [400, {}, "StreamEnded"],
              [200, { "content-type": "text/html" }, "StreamEnded"],
              [401, {}, "Unauthorized"],
              // The session went, and what was accepted in it may have run.
              [404, {}, "SessionExpired"]
            ] as const
          ) {
            const server = yield* resumable(
              ending(event("e1", undefined, 100)),
              (_request, response) => response.send(status, headers, "no")
            )
            const client = yield* inSession(server, { httpClient })
            const error = yield* client.failure("tools/call")
            assert.strictEqual(error.reason._tag, tag)
            if (error.reason._tag === "StreamEnded") assert.isFalse(error.reason.resumable)
            assert.strictEqual(error.delivery, "unknown")
            assert.isFalse(error.isRetryable)
            assert.strictEqual(gets(server).length, 1)
          }
        })
    )

    verifiesLive(
      ["RES-09", "SEC-06"],
      "an id that no header can hold, or that is too long, is never sent back",
      () =>
        Effect.gen(function*() {
          for (const id of ["\u00e9", "a\tb", "x".repeat(1_025), "\u007f"]) {
            const server = yield* resumable(
              (request, response) => {
                const first = request.message.method === "tools/call" ? event("e1", undefined, 100) : ""
                write(response, first + event(id, progress(1)), response.end)
              },
              (_request, response) => write(response, event(undefined, result(2)), response.end)
            )
            const client = yield* inSession(server, { httpClient })
            yield* client.response("tools/call")
            assert.deepStrictEqual(lastEventIds(server), ["e1"])
            const error = yield* client.failure("prompts/get")
            assert(error.reason._tag === "StreamEnded")
            assert.isFalse(error.reason.resumable)
            assert.strictEqual(gets(server).length, 1)
          }
          const longest = `${"x".repeat(1_022)} ~`
          const server = yield* resumable(
            ending(event(longest, undefined, 100)),
            (_request, response) => write(response, event(undefined, result(2)), response.end)
          )
          const client = yield* inSession(server, { httpClient })
          yield* client.response("tools/call")
          assert.deepStrictEqual(lastEventIds(server), [longest])
        })
    )

    verifies(
      "PAIN-5",
      "nothing is asked for once nobody waits, whatever is waited for",
      () =>
        Effect.gen(function*() {
          const held = Deferred.makeUnsafe<void>()
          const server = yield* resumable(primed, (_request, response) => {
            response.stream()
            Deferred.doneUnsafe(held, Effect.void)
          })
          const client = yield* inSession(server, { httpClient })
          // During the wait.
          const waiting = opening(client, "tools/call")
          yield* waiting.announced
          waiting.cancel("enough")
          yield* TestClock.adjust("10 minutes")
          // initialize, the call, and that it is cancelled.
          yield* server.arrived(3)
          assert.strictEqual(server.received[2]?.message.method, "notifications/cancelled")
          assert.strictEqual(gets(server).length, 0)
          // While the resumed stream is open.
          const reading = opening(client, "tools/call")
          yield* reading.announced
          yield* TestClock.adjust("1 second")
          yield* Deferred.await(held)
          reading.cancel("enough")
          yield* server.abandoned(1)
          yield* server.arrived(6)
          yield* TestClock.adjust("10 minutes")
          yield* client.connection.send({ _tag: "Notification", method: "n", params: {} }, legacy)
          assert.strictEqual(gets(server).length, 1)
          assert.deepStrictEqual([waiting.settlements, reading.settlements], [[], []])
        })
    )

    verifies(
      ["PAIN-5", "PAIN-31", "SHT-26"],
      "closing the connection ends the wait and the stream, and one DELETE ends the session",
      () =>
        Effect.gen(function*() {
          const held = Deferred.makeUnsafe<void>()
          const server = yield* resumable(primed, (_request, response) => {
            response.stream()
            Deferred.doneUnsafe(held, Effect.void)
          })
          const scope = yield* Scope.make()
          const client = yield* Scope.provide(inSession(server, { httpClient }), scope)
          const reading = opening(client, "tools/call")
          yield* reading.announced
          yield* TestClock.adjust("1 second")
          yield* Deferred.await(held)
          const waiting = opening(client, "tools/call")
          yield* waiting.announced
          yield* Scope.close(scope, Exit.void)
          yield* server.abandoned(1)
          yield* TestClock.adjust("10 minutes")
          for (const call of [reading, waiting]) {
            assert.strictEqual(reasonOf(yield* call.settled)._tag, "ConnectionClosed")
          }
          assert.deepStrictEqual(
            server.received.map(({ httpMethod }) => httpMethod),
            ["POST", "POST", "GET", "POST", "DELETE"]
          )
        })
    )

    verifiesLive(
      ["RES-12", "RES-01"],
      "initialize may be answered by a stream, and by one that is resumed: its session is taken up",
      () =>
        Effect.gen(function*() {
          for (const breaks of [false, true]) {
            const server = yield* TestServer.serve((request, response) => {
              if (request.httpMethod === "GET") return write(response, event(undefined, result(1)), response.end)
              if (request.message?.method !== "initialize") return response.send(202, {})
              response.stream({ "mcp-session-id": "session-1" })
              response.raw.write(event("e1", undefined, 100))
              if (!breaks) response.raw.write(event("e2", result(1)))
              response.end()
            })
            const client = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
            yield* client.response("initialize")
            yield* client.connection.established(legacy)
            yield* client.connection.send({ _tag: "Notification", method: "n", params: {} }, legacy)
            assert.deepStrictEqual(
              server.received.map(({ headers }) => [headers["mcp-session-id"], headers["mcp-protocol-version"]]),
              [
                [undefined, undefined],
                // No revision is agreed on yet.
                ...(breaks ? [["session-1", undefined]] : []),
                ["session-1", "2025-11-25"]
              ]
            )
          }
        })
    )

    verifiesLive(
      ["RES-13", "RES-14", "SHT-07", "SHT-15"],
      "nothing is resumed in the modern era, or where the server named no event",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            if (request.httpMethod === "GET") return response.send(405, {})
            write(response, request.message.params.text, response.end)
          })
          for (
            const [revision, text] of [
              [modern, event("e1", undefined)],
              [legacy, event(undefined, progress(1))]
            ] as const
          ) {
            const client = yield* TestClient.connect(server.url, { httpClient, revision })
            const call = opening(client, "tools/call", { params: { text } })
            const reason = reasonOf(yield* call.settled)
            assert(reason._tag === "StreamEnded")
            assert.isFalse(reason.resumable)
            assert.deepStrictEqual(call.waits, [])
          }
          assert.strictEqual(gets(server).length, 0)
        })
    )

    verifiesLive(
      ["SHT-06", "SHT-11", "RES-01"],
      "a resumed stream may ask, answers, and is given up after that",
      () =>
        Effect.gen(function*() {
          const server = yield* resumable(
            ending(event("e1", undefined, 100)),
            (_request, response) =>
              write(
                response,
                event("e2", { jsonrpc: "2.0", id: "s1", method: "ping" }) + event("e3", result(2, { done: true }))
              )
          )
          const client = yield* inSession(server, { httpClient })
          const call = client.open("tools/call")
          assert.strictEqual((yield* call.settled)._tag, "Response")
          assert.deepStrictEqual(call.messages.map(({ method }) => method), ["ping"])
          yield* server.abandoned(1)
          assert.strictEqual(call.settlements.length, 1)
        })
    )

    verifiesLive(
      ["SHT-12", "RES-10"],
      "a resumed stream may replay what answers other requests: it answers this one by its id alone",
      () =>
        Effect.gen(function*() {
          const server = yield* resumable(
            ending(event("e1", undefined, 100)),
            (request, response) =>
              request.headers["last-event-id"] === "e1"
                ? ending(event("e2", result(99, { done: false })))(request, response)
                : ending(event("e3", result(2, { done: true })))(request, response)
          )
          const client = yield* inSession(server, { httpClient })
          assert.deepStrictEqual(resultOf(yield* client.response("tools/call")), { done: true })
          assert.deepStrictEqual(lastEventIds(server), ["e1", "e2"])
        })
    )

    verifiesLive(["RES-01", "RES-02"], "gzip that is cut short is a stream that broke", () =>
      Effect.gen(function*() {
        const cut: TestServer.Handler = (request, response) => {
          const next = request.httpMethod === "GET" ? event("e2", progress(2)) : event("e1", progress(1), 100)
          response.raw.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" })
          response.raw.end(Zlib.gzipSync(next).subarray(0, -8))
        }
        const server = yield* resumable(cut, (request, response) =>
          request.headers["last-event-id"] === "e1"
            ? cut(request, response)
            : ending(event("e3", result(2, { done: true })))(request, response))
        const client = yield* inSession(server, { httpClient })
        const call = client.open("tools/call")
        const settled = yield* call.settled
        assert(settled._tag === "Response")
        assert.deepStrictEqual(resultOf(settled), { done: true })
        assert.deepStrictEqual(call.messages.map(({ params }) => params?.["progress"]), [1, 2])
        assert.deepStrictEqual(lastEventIds(server), ["e1", "e2"])
      }))

    verifiesLive(
      "RES-11",
      "a GET that begins HTTP+SSE does not make the request one that was refused",
      () =>
        Effect.gen(function*() {
          const server = yield* resumable(
            ending(event("e1", undefined, 100)),
            (_request, response) => write(response, "event: endpoint\ndata: /messages\n\n")
          )
          const client = yield* inSession(server, { httpClient })
          const { delivery, reason } = yield* client.failure("tools/call")
          assert.deepStrictEqual([reason._tag, delivery], ["StreamEnded", "unknown"])
          yield* server.abandoned(1)
        })
    )

    verifiesLive("SEC-07", "a resumption that is redirected is not followed", () =>
      Effect.gen(function*() {
        const elsewhere = yield* TestServer.serve((_request, response) => response.result({}))
        const server = yield* resumable(
          ending(event("e1", undefined, 100)),
          (_request, response) => response.send(307, { location: elsewhere.url })
        )
        const client = yield* inSession(server, { httpClient, headers: { Authorization: "Bearer secret" } })
        const error = yield* client.failure("tools/call")
        assert.strictEqual(error.reason._tag, "RedirectRefused")
        assert.strictEqual(elsewhere.received.length, 0)
      }))
  })
}

describe("a resumption that has to wait for a person", () => {
  verifies(
    ["RES-11", "PAIN-5"],
    "is no silence of the server, which is told when the call is given up meanwhile: it has the request",
    () =>
      Effect.gen(function*() {
        const server = yield* resumable(primed, (_request, response) => response.send(405, {}))
        const held = yield* Deferred.make<void>()
        const signingIn = Layer.effect(
          HttpClient.HttpClient,
          Effect.map(
            HttpClient.HttpClient,
            HttpClient.mapRequestEffect((request) => {
              if (request.method !== "GET") return Effect.succeed(request)
              return Effect.flatMap(Activity.Activity, ({ hold }) => {
                hold()
                return Effect.andThen(Deferred.succeed(held, undefined), Effect.never)
              })
            })
          )
        )
        const client = yield* inSession(server, { httpClient: Layer.provide(signingIn, TestClient.dispatch) })
        const call = opening(client, "tools/call")
        yield* call.announced
        yield* TestClock.adjust("1 second")
        yield* Deferred.await(held)
        assert.deepStrictEqual(call.waits, [1_000, Infinity])
        call.cancel("changed my mind")
        yield* server.arrived(3)
        assert.strictEqual(server.received[2]?.message.method, "notifications/cancelled")
        assert.strictEqual(gets(server).length, 0)
      })
  )
})

describe("the limit of an event", () => {
  verifiesPure("SEC-04", "is that of its data, wherever what is read ends", () => {
    const data: Array<string> = []
    const feed = (maxEventBytes: number) => {
      const events = new EventStream({ maxEventBytes, onData: (one) => data.push(one) })
      return ["data: 12345", "\n", "\n"].every((chunk) => events.feed(new TextEncoder().encode(chunk)))
    }
    assert.isTrue(feed(5))
    assert.isFalse(feed(4))
    assert.deepStrictEqual(data, ["12345"])
  })
})

describe("where a stream goes on", () => {
  const read = (...chunks: ReadonlyArray<string>) => {
    const data: Array<string> = []
    const events = new EventStream({ maxEventBytes: 1_000, onData: (one) => data.push(one) })
    for (const chunk of chunks) events.feed(new TextEncoder().encode(chunk))
    events.end()
    return { data, lastEventId: events.lastEventId, retryMillis: events.retryMillis }
  }

  verifiesPure(["RES-01", "RES-02"], "is the last whole event with an id, with data or without", () => {
    for (
      const [chunks, lastEventId, data] of [
        [["id: 1\ndata: a\n\n"], "1", ["a"]],
        [["id: 1\ndata:\n\n"], "1", []],
        [["id: 1\n\n"], "1", []],
        [["id: 1\r\n", "\r", "\n"], "1", []],
        [["id: 1\r", "\r"], "1", []],
        // An event that has not ended is no event.
        [["id: 1\n"], undefined, []],
        [["id: 1\r\n"], undefined, []],
        [["id: 1\n\nid: 2\ndata: a\n"], undefined, []],
        [["id: 1\ndata: a\n\nid: 2\ndata: b"], "1", ["a"]],
        [["id: 1\ndata: a\n\ndata: b\n\n: comment\n\n"], "1", ["a", "b"]]
      ] as const
    ) {
      assert.deepInclude(read(...chunks), { lastEventId, data: [...data] }, JSON.stringify(chunks))
    }
  })

  verifiesPure("RES-10", "and how long to wait are kept from one connection to the next, and nothing else is", () => {
    const data: Array<string> = []
    const events = new EventStream({ maxEventBytes: 1_000, onData: (one) => data.push(one) })
    events.feed(new TextEncoder().encode("retry: 300\nid: 1\ndata: a\n\nid: 2\ndata: half of it"))
    events.end()
    events.feed(new TextEncoder().encode("data: b\n\n"))
    events.end()
    assert.deepStrictEqual(data, ["a", "b"])
    assert.deepInclude(events, { lastEventId: "1", retryMillis: 300 })
  })
})
