import { assert, describe, it } from "@effect/vitest"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import type { McpError } from "@mcp-effect/protocol"
import { Deferred, Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"

const { legacy, modern, resultOf } = TestClient

const progress = (value: number) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: value }
})
const answer = (id: unknown, result: unknown) => ({ jsonrpc: "2.0", id, result })

/** The fields of a reason, for comparison. */
const fieldsOf = ({ delivery, reason }: McpError.McpError): Record<string, unknown> => ({ ...reason, delivery })

const statuses = (status: number, headers: Record<string, string> = {}, body = "") =>
  TestServer.serve((_request, response) => response.send(status, headers, body))

for (const [name, httpClient] of TestClient.httpClients) {
  describe(`JSON answers over ${name}`, () => {
    verifiesLive(
      ["SHT-01", "SHT-31"],
      "a JSON answer is read whole, in one piece or in many",
      () =>
        Effect.gen(function*() {
          const text = "é世x".repeat(60_000)
          const server = yield* TestServer.serve((request, response) => {
            if (request.message.method === "small") return response.result({ text: "é世" })
            const body = Buffer.from(JSON.stringify(answer(request.message.id, { text })))
            // Without a length, and cut within a character.
            response.raw.writeHead(200, { "content-type": "Application/JSON; charset=utf-8" })
            response.raw.write(body.subarray(0, 100_001))
            setTimeout(() => response.raw.end(body.subarray(100_001)), 5)
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          assert.deepStrictEqual(resultOf(yield* client.response("small")), { text: "é世" })
          assert.deepStrictEqual(resultOf(yield* client.response("large")), { text })
        })
    )

    verifiesLive(
      "PAIN-23",
      "an answer that answers nothing fails the request at once",
      () =>
        Effect.gen(function*() {
          const bodies: Record<string, (response: TestServer.Response) => void> = {
            object: (response) => response.json({}),
            null: (response) => response.json(null),
            "other id": (response) => response.json(answer(999, {})),
            "id of another type": (response) => response.json(answer("1", {})),
            empty: (response) => response.send(200, { "content-type": "application/json" }),
            accepted: (response) => response.send(202, {}),
            "no content": (response) => {
              response.raw.writeHead(204)
              response.raw.end()
            },
            "a batch": (response) => response.json([answer(1, {})]),
            "not JSON": (response) => response.send(200, { "content-type": "application/json" }, "oops\u001b[2J")
          }
          const server = yield* TestServer.serve((request, response) => bodies[request.message.method]?.(response))
          for (const revision of [modern, legacy]) {
            for (const method of Object.keys(bodies)) {
              const client = yield* TestClient.connect(server.url, { httpClient, revision })
              const error = yield* client.failure(method)
              assert.strictEqual(error.reason._tag, "MalformedMessage", method)
              assert.strictEqual(error.delivery, "unknown")
              assert.strictEqual(error.method, method)
            }
          }
          const client = yield* TestClient.connect(server.url, { httpClient })
          const { problem: _, ...fields } = fieldsOf(yield* client.failure("not JSON"))
          assert.include(fields, {
            _tag: "MalformedMessage",
            status: 200,
            contentType: "application/json",
            excerpt: "oops\\u001b[2J"
          })
        })
    )

    verifiesLive(
      ["SHT-03", "SEC-15"],
      "HTML in place of JSON fails the request and is shown as an excerpt",
      () =>
        Effect.gen(function*() {
          const html = `<!doctype html>\n<title>Sign in</title>${"<p>secret</p>".repeat(100)}`
          const server = yield* statuses(200, { "content-type": "text/html; charset=utf-8" }, html)
          const client = yield* TestClient.connect(server.url, { httpClient })
          const error = yield* client.failure("tools/list")
          assert.strictEqual(error.reason._tag, "MalformedMessage")
          if (error.reason._tag !== "MalformedMessage") return
          assert.strictEqual(error.reason.contentType, "text/html")
          assert.match(error.reason.excerpt ?? "", /^<!doctype html>\\n<title>Sign in/)
          assert.isAtMost(error.reason.excerpt?.length ?? 0, 200)
          assert.include(error.message, "text/html")
          assert.notInclude(error.message, "secret")
        })
    )

    verifiesLive("SHT-03", "an answer that says no type fails the request", () =>
      Effect.gen(function*() {
        const server = yield* statuses(200, {}, "{}")
        const client = yield* TestClient.connect(server.url, { httpClient })
        assert.strictEqual((yield* client.failure("tools/list")).reason._tag, "MalformedMessage")
      }))

    it.live("an HTML answer that never ends fails the request all the same", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((_request, response) => {
          response.raw.writeHead(200, { "content-type": "text/html" })
          response.raw.write("<p>")
        })
        const client = yield* TestClient.connect(server.url, { httpClient })
        assert.strictEqual((yield* client.failure("tools/list")).reason._tag, "MalformedMessage")
        yield* server.abandoned(1)
      }))

    verifiesLive(
      "RTY-10",
      "a JSON answer that breaks off fails the request, and it may have been executed",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            response.raw.writeHead(200, { "content-type": "application/json", "content-length": 1000 })
            response.raw.write("{\"jsonrpc\"", () => response.reset())
            assert.isDefined(request)
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          const error = yield* client.failure("tools/call")
          assert.strictEqual(error.reason._tag, "StreamEnded")
          assert.strictEqual(error.delivery, "unknown")
          assert.isFalse(error.isRetryable)
        })
    )

    it.live("2025-03-26: a JSON answer may be a batch", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) =>
          response.json([progress(1), answer(request.message.id, { done: true }), progress(2)])
        )
        const batching = { ...legacy, batching: true }
        const client = yield* TestClient.connect(server.url, { httpClient, revision: batching })
        const call = client.open("tools/call")
        const settled = yield* call.settled
        assert.deepStrictEqual(settled._tag === "Response" ? resultOf(settled) : settled, { done: true })
        assert.deepStrictEqual(call.messages.map(({ params }) => params?.["progress"]), [1])
        assert.deepStrictEqual(client.inbound.map(({ params }) => params?.["progress"]), [2])
      }))
  })

  describe(`event streams over ${name}`, () => {
    verifiesLive(
      ["SHT-05", "SHT-13", "SHT-11"],
      "events are delivered while the stream is open, in order, once, before the response",
      () =>
        Effect.gen(function*() {
          const proceed = yield* Deferred.make<void>()
          const server = yield* TestServer.serve((request, response) => {
            if (request.message.id === undefined) return response.send(202, {})
            response.stream()
            response.event(progress(1))
            response.event({ jsonrpc: "2.0", id: "s1", method: "ping" })
            Effect.runFork(Effect.andThen(
              Deferred.await(proceed),
              Effect.sync(() => {
                response.event(progress(2))
                response.event(answer(request.message.id, { done: true }))
                response.end()
              })
            ))
          })
          const client = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
          const seen: Array<unknown> = []
          const pinged = yield* Deferred.make<void>()
          const call = client.open("tools/call", {
            onMessage: (message) => {
              seen.push(message._tag === "Request" ? [message.id, message.method] : message.params?.["progress"])
              if (message._tag === "Request") Deferred.doneUnsafe(pinged, Effect.void)
            }
          })
          // The stream is open, and the server waits for an answer to its ping.
          yield* Deferred.await(pinged)
          assert.deepStrictEqual(seen, [1, ["s1", "ping"]])
          assert.strictEqual(call.settlements.length, 0)
          yield* client.connection.send({ _tag: "Reply", id: "s1", outcome: { _tag: "Result", result: {} } }, legacy)
          assert.deepStrictEqual(server.received[1]?.message, { jsonrpc: "2.0", id: "s1", result: {} })
          yield* Deferred.succeed(proceed, undefined)
          const settled = yield* call.settled
          assert.strictEqual(settled._tag, "Response")
          assert.deepStrictEqual(seen, [1, ["s1", "ping"], 2])
          assert.strictEqual(call.settlements.length, 1)
        })
    )

    verifiesLive(
      "PAIN-2",
      "progress that arrives in one piece with the response comes first",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            response.stream()
            response.raw.end(
              [progress(1), progress(2), progress(3), answer(request.message.id, {})]
                .map((message) => `data: ${JSON.stringify(message)}\n\n`).join("")
            )
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          const call = client.open("tools/call")
          yield* call.settled
          assert.deepStrictEqual(call.messages.map(({ params }) => params?.["progress"]), [1, 2, 3])
        })
    )

    verifiesLive(
      "SHT-14",
      "any end of line, a byte order mark and comments; an event without its end is dropped",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            response.stream()
            const [first = "", second = ""] = JSON.stringify(answer(request.message.id, { text: "é世" })).split(",", 2)
            const rest = JSON.stringify(answer(request.message.id, { text: "é世" })).slice(
              first.length + second.length + 2
            )
            const bytes = Buffer.from(
              `\ufeff: comment\r\n\r\nid: 1\r\ndata:\r\n\r\ndata: ${
                JSON.stringify(progress(1))
              }\r\revent: other\ndata: 1\n\n`
                + `retry: 5\ndata: ${first},\ndata:${second},\r\ndata: ${rest}\r\n\r\ndata: ${
                  JSON.stringify(progress(9))
                }\n`
            )
            // Byte by byte, so that every boundary is crossed.
            for (const byte of bytes) response.raw.write(Uint8Array.of(byte))
            response.end()
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          const call = client.open("tools/call")
          const settled = yield* call.settled
          assert.deepStrictEqual(settled._tag === "Response" ? resultOf(settled) : settled, { text: "é世" })
          assert.deepStrictEqual(call.messages.map(({ params }) => params?.["progress"]), [1])
          assert.deepStrictEqual([client.inbound, client.diagnostics], [[], []])
        })
    )

    it.live("every piece that arrives counts as a sign of life, comments too", () =>
      Effect.gen(function*() {
        const heard = yield* Deferred.make<void>()
        let response: TestServer.Response | undefined
        const server = yield* TestServer.serve((request, reply) => {
          response = reply
          reply.stream()
          reply.raw.write(": still here\n\n")
          assert.isDefined(request)
        })
        const client = yield* TestClient.connect(server.url, { httpClient })
        let count = 0
        const call = client.open("tools/call", {
          onActivity: () => {
            // The first is the head of the response.
            count++
            if (count === 1) response?.raw.write(": and now\n\n")
            if (count === 2) Deferred.doneUnsafe(heard, Effect.void)
          }
        })
        yield* Deferred.await(heard)
        assert.isTrue(call.activity.every((grace) => grace === 0))
        assert.deepStrictEqual(call.messages, [])
        call.cancel(undefined)
      }))

    verifiesLive(
      ["SHT-06", "SHT-32"],
      "a stream that stays open after the response is abandoned",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            response.stream()
            response.event(answer(request.message.id, { first: true }))
            response.event(answer(request.message.id, { first: false }))
            response.event({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          const call = client.open("tools/call")
          const settled = yield* call.settled
          assert.deepStrictEqual(settled._tag === "Response" ? resultOf(settled) : settled, { first: true })
          yield* server.abandoned(1)
          assert.strictEqual(call.settlements.length, 1)
          // What follows the response belongs to no request.
          assert.deepStrictEqual(client.inbound.map(({ method }) => method), ["notifications/tools/list_changed"])
          assert.deepStrictEqual(client.diagnostics.map(({ _tag }) => _tag), ["UnexpectedMessage"])
        })
    )

    it.live("a stream that floods after the response is abandoned", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          response.stream()
          response.event(answer(request.message.id, {}))
          const flood = (): void => {
            if (response.raw.destroyed) return
            response.raw.write(`: ${"x".repeat(10_000)}\n\n`)
            setImmediate(flood)
          }
          flood()
        })
        const client = yield* TestClient.connect(server.url, { httpClient })
        yield* client.response("tools/call")
        yield* server.abandoned(1)
      }))

    verifiesLive(
      ["PAIN-11", "SHT-07"],
      "a stream that ends or breaks before the response fails the request at once",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            response.stream()
            if (request.message.params.id !== undefined) {
              response.raw.write(`id: ${request.message.params.id}\ndata:\n\n`)
            }
            response.raw.write(`data: ${JSON.stringify(progress(1))}\n\n`, () => {
              if (request.message.method === "end") response.end()
              else response.reset()
            })
          })
          for (
            const [revision, id] of [
              [modern, undefined],
              [modern, "1"],
              [legacy, undefined]
            ] as const
          ) {
            const client = yield* TestClient.connect(server.url, { httpClient, revision })
            for (const method of ["end", "break"]) {
              const before = server.received.length
              const error = yield* client.failure(method, { params: { id } })
              assert.strictEqual(error.reason._tag, "StreamEnded", method)
              assert.deepInclude(fieldsOf(error), { resumable: false, delivery: "unknown" })
              assert.strictEqual(server.received.length, before + 1)
            }
          }
        })
    )

    verifiesLive(
      "SHT-12",
      "a response under another id: accepted in the legacy era if it is the only one, a lost stream otherwise",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            response.stream()
            for (const id of request.message.params.ids) response.event(answer(id, { id }))
            response.end()
          })
          const old = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
          const accepted = yield* old.response("tools/call", { params: { ids: ["changed"] } })
          assert.deepStrictEqual(resultOf(accepted), { id: "changed" })
          assert.deepStrictEqual(old.diagnostics.map(({ _tag }) => _tag), ["UnexpectedMessage"])
          const ambiguous = yield* old.failure("tools/call", { params: { ids: ["a", "b"] } })
          assert.strictEqual(ambiguous.reason._tag, "StreamEnded")
          const current = yield* TestClient.connect(server.url, { httpClient, revision: modern })
          const lost = yield* current.failure("tools/call", { params: { ids: ["changed"] } })
          assert.strictEqual(lost.reason._tag, "StreamEnded")
          assert.deepStrictEqual(current.diagnostics.map(({ _tag }) => _tag), ["UnexpectedMessage"])
        })
    )

    verifiesLive(
      ["SEC-08", "SHT-32"],
      "a response to another request is dropped, and the right one settles",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            response.stream()
            if (request.message.method === "victim") return
            response.event(answer(1, { forged: true }))
            response.event(answer(request.message.id, { forged: false }))
            response.end()
          })
          const client = yield* TestClient.connect(server.url, { httpClient, revision: legacy })
          const victim = client.open("victim", { id: 1 })
          const settled = yield* client.response("tools/call", { id: 2 })
          assert.deepStrictEqual(resultOf(settled), { forged: false })
          assert.strictEqual(victim.settlements.length, 0)
          assert.deepStrictEqual(client.diagnostics.map(({ _tag }) => _tag), ["UnexpectedMessage"])
          victim.cancel(undefined)
        })
    )

    verifiesLive("SEC-16", "an event that is no message is skipped", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          response.stream()
          for (const data of ["{oops", "42", "[]", "null", "{\"level\":\"info\"}"]) response.event(data)
          if (request.message.method === "answered") response.event(answer(request.message.id, {}))
          response.end()
        })
        const client = yield* TestClient.connect(server.url, { httpClient })
        yield* client.response("answered")
        assert.strictEqual(client.diagnostics.length, 5)
        const error = yield* client.failure("unanswered")
        assert.strictEqual(error.reason._tag, "MalformedMessage")
        assert.deepInclude(fieldsOf(error), { excerpt: "{oops", contentType: "text/event-stream", delivery: "unknown" })
      }))

    it.live("an error that could not name the id answers the request of its stream", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          response.stream()
          response.event({
            jsonrpc: "2.0",
            ...(request.message.method === "null" ? { id: null } : {}),
            error: { code: -32700, message: "?" }
          })
          response.end()
        })
        const client = yield* TestClient.connect(server.url, { httpClient })
        for (const method of ["null", "absent"]) {
          const { response } = yield* client.response(method)
          assert.deepInclude(response, { id: undefined })
          assert.strictEqual(response.outcome._tag === "Error" && response.outcome.error.code, -32700)
        }
      }))
  })

  describe(`statuses over ${name}`, () => {
    verifiesLive(
      ["SHT-29", "SHT-28"],
      "a JSON-RPC error in the body of a 4xx or 5xx is the answer",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            const { id, method } = request.message
            const error = { code: -32022, message: "Unsupported", data: { supported: ["2025-11-25"], requested: "x" } }
            if (method === "absent") response.json({ jsonrpc: "2.0", error }, 400)
            else if (method === "null") response.json({ jsonrpc: "2.0", id: null, error }, 404)
            else if (method === "plain") {
              response.send(400, { "content-type": "text/plain" }, JSON.stringify({ jsonrpc: "2.0", id, error }))
            } else response.json({ jsonrpc: "2.0", id, error }, 500)
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          for (const [method, status] of [["absent", 400], ["null", 404], ["plain", 400], ["own", 500]] as const) {
            const { evidence, response } = yield* client.response(method)
            assert.strictEqual(evidence.httpStatus, status)
            assert.deepStrictEqual(response.outcome, {
              _tag: "Error",
              error: { code: -32022, message: "Unsupported", data: { supported: ["2025-11-25"], requested: "x" } }
            })
          }
        })
    )

    verifiesLive(
      ["ERR-09", "SHT-29", "SHT-23"],
      "without one it is the status that tells",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            const { retryAfter, status, text = "" } = request.message.params
            response.send(
              status,
              { "content-type": "text/plain", ...(retryAfter && { "retry-after": retryAfter }) },
              text
            )
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          const at = (status: number, more: Record<string, unknown> = {}) =>
            Effect.map(client.failure("tools/call", { params: { status, ...more } }), fieldsOf)
          for (const status of [400, 404, 405, 413, 422, 429, 431, 503]) {
            assert.deepInclude(yield* at(status), { _tag: "HttpStatus", status, delivery: "refused" })
          }
          for (const status of [500, 502, 504]) {
            assert.deepInclude(yield* at(status), { _tag: "HttpStatus", status, delivery: "unknown" })
          }
          assert.deepInclude(yield* at(503, { retryAfter: "7" }), { retryAfterMillis: 7000 })
          assert.deepInclude(yield* at(429, { retryAfter: "soon" }), { retryAfterMillis: undefined })
          const date = yield* at(429, { retryAfter: new Date(Date.now() + 3_600_000).toUTCString() })
          assert.isAbove(date["retryAfterMillis"] as number, 3_500_000)
          assert.isAtMost(date["retryAfterMillis"] as number, 3_600_000)
          assert.deepInclude(yield* at(400, { text: "bad\nline" }), {
            excerpt: "bad\\nline",
            contentType: "text/plain"
          })
        })
    )

    verifiesLive(
      "ERR-09",
      "401 is Unauthorized with what the server asks for, 403 is InsufficientScope",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            const { challenge, status } = request.message.params
            response.send(
              status,
              { "content-type": "application/json", ...(challenge && { "www-authenticate": challenge }) },
              JSON.stringify({ jsonrpc: "2.0", id: request.message.id, error: { code: -32000, message: "no" } })
            )
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          const unauthorized = yield* client.failure("tools/call", {
            params: { status: 401, challenge: "Bearer realm=\"x\", resource_metadata=\"https://h/.well-known\"" }
          })
          assert.deepInclude(fieldsOf(unauthorized), {
            _tag: "Unauthorized",
            challenges: [{ scheme: "bearer", parameters: { realm: "x", resource_metadata: "https://h/.well-known" } }],
            delivery: "refused"
          })
          const forbidden = yield* client.failure("tools/call", {
            params: {
              status: 403,
              challenge: "Bearer error=\"insufficient_scope\", scope=\"a b\", error_description=\"more\""
            }
          })
          assert.deepInclude(fieldsOf(forbidden), {
            _tag: "InsufficientScope",
            scope: "a b",
            excerpt: "more",
            delivery: "refused"
          })
          const bare = yield* client.failure("tools/call", { params: { status: 403 } })
          assert.deepInclude(fieldsOf(bare), { _tag: "InsufficientScope", scope: undefined, challenges: [] })
        })
    )

    it.live("a redirect is never followed, and only its origin is told", () =>
      Effect.gen(function*() {
        const other = yield* statuses(200, { "content-type": "application/json" }, "{}")
        const server = yield* TestServer.serve((request, response) =>
          response.send(request.message.params.status, { location: `${other.url}?token=secret` })
        )
        const client = yield* TestClient.connect(server.url, { httpClient, headers: { Authorization: "Bearer x" } })
        for (const status of [301, 302, 303, 307, 308]) {
          const error = yield* client.failure("tools/list", { params: { status } })
          assert.deepInclude(fieldsOf(error), {
            _tag: "RedirectRefused",
            status,
            location: new URL(other.url).origin,
            delivery: "refused"
          })
        }
        assert.strictEqual(other.received.length, 0)
      }))

    it.live("an error status whose body does not come fails the request all the same", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          response.raw.writeHead(500, { "content-type": "text/plain" })
          response.raw.flushHeaders()
          assert.isDefined(request)
        })
        const client = yield* TestClient.connect(server.url, { httpClient })
        assert.deepInclude(fieldsOf(yield* client.failure("tools/call")), { _tag: "HttpStatus", status: 500 })
        yield* server.abandoned(1)
      }))
  })

  describe(`connections over ${name}`, () => {
    it.live("a port where nothing listens, and a name that is none, are told with their codes: nothing was sent", () =>
      Effect.gen(function*() {
        const port = yield* Effect.scoped(Effect.map(statuses(200), (server) => server.port))
        const refused = yield* TestClient.connect(`http://127.0.0.1:${port}/mcp`, { httpClient })
        const error = yield* refused.failure("tools/call")
        assert.deepInclude(fieldsOf(error), { _tag: "ConnectionFailed", code: "ECONNREFUSED", delivery: "unsent" })
        assert.isTrue(error.isRetryable)
        assert.include(error.message, `http://127.0.0.1:${port}/mcp`)
        const unknown = yield* TestClient.connect("http://mcp-effect.invalid/mcp", { httpClient })
        const lookup = fieldsOf(yield* unknown.failure("tools/call"))
        assert.deepInclude(lookup, { _tag: "ConnectionFailed", delivery: "unsent" })
        assert.oneOf(lookup["code"], ["ENOTFOUND", "EAI_AGAIN"])
      }))

    it.live("a connection that breaks before the answer leaves open whether the request was executed", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((_request, response) => response.reset())
        const client = yield* TestClient.connect(server.url, { httpClient })
        const error = yield* client.failure("tools/call")
        assert.deepInclude(fieldsOf(error), { _tag: "ConnectionFailed", delivery: "unknown" })
        assert.isFalse(error.isRetryable)
      }))
  })
}

describe("any HttpClient", () => {
  const answering = (respond: (message: any) => Response) =>
    Layer.succeed(
      HttpClient.HttpClient,
      HttpClient.make((request) =>
        Effect.sync(() => {
          const body = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : ""
          return HttpClientResponse.fromWeb(request, respond(JSON.parse(body)))
        })
      )
    )

  verifiesLive(
    ["SHT-08", "SHT-35", "SHT-27"],
    "one that has its answers whole serves JSON and events",
    () =>
      Effect.gen(function*() {
        const client = yield* TestClient.connect("http://memory/mcp", {
          httpClient: answering(({ id, method }) =>
            method === "json"
              ? Response.json(answer(id, { json: true }))
              : new Response(
                `data: ${JSON.stringify(progress(1))}\n\ndata: ${JSON.stringify(answer(id, { sse: true }))}\n\n`,
                {
                  headers: { "content-type": "text/event-stream" }
                }
              )
          )
        })
        assert.deepStrictEqual(resultOf(yield* client.response("json")), { json: true })
        assert.deepStrictEqual(resultOf(yield* client.response("events")), { sse: true })
      })
  )

  verifiesLive(
    ["SHT-34", "SHT-28"],
    "one with layers of the host around it: requests as sent, errors as answered",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) =>
          request.headers["x-host"] === "yes"
            ? response.json({
              jsonrpc: "2.0",
              id: request.message.id,
              error: { code: -32602, message: "no", data: [1] }
            }, 400)
            : response.send(500, {})
        )
        const seen: Array<string | undefined> = []
        const wrapped = Layer.effect(
          HttpClient.HttpClient,
          Effect.map(HttpClient.HttpClient, (client) =>
            client.pipe(
              HttpClient.filterStatusOk,
              HttpClient.mapRequest((request) => {
                seen.push(request.headers["mcp-method"])
                return { ...request, headers: { ...request.headers, "x-host": "yes" } } as typeof request
              })
            ))
        )
        const client = yield* TestClient.connect(server.url, {
          httpClient: Layer.provide(wrapped, TestClient.dispatch)
        })
        const { evidence, response } = yield* client.response("tools/call")
        assert.deepStrictEqual(seen, ["tools/call"])
        assert.strictEqual(evidence.httpStatus, 400)
        assert.deepStrictEqual(response.outcome, { _tag: "Error", error: { code: -32602, message: "no", data: [1] } })
      })
  )

  it.live("one that dies fails the request", () =>
    Effect.gen(function*() {
      const client = yield* TestClient.connect("http://memory/mcp", {
        httpClient: Layer.succeed(HttpClient.HttpClient, HttpClient.make(() => Effect.die(new Error("a defect"))))
      })
      assert.deepInclude(fieldsOf(yield* client.failure("tools/call")), {
        _tag: "ConnectionFailed",
        delivery: "unknown"
      })
    }))

  it.live("what a browser shows of a redirect is a redirect", () =>
    Effect.gen(function*() {
      const opaque = Object.defineProperties(new Response(null), { status: { value: 0 } })
      const client = yield* TestClient.connect("http://memory/mcp", { httpClient: answering(() => opaque) })
      assert.deepInclude(fieldsOf(yield* client.failure("tools/call")), { _tag: "RedirectRefused", status: 0 })
    }))

  it.live("settings for fetch are kept, but for redirects", () =>
    Effect.gen(function*() {
      const inits: Array<RequestInit | undefined> = []
      const fetch = Layer.succeed(FetchHttpClient.Fetch, (_input, init) => {
        inits.push(init)
        return Promise.resolve(Response.json(answer(1, {})))
      })
      const settings = Layer.succeed(FetchHttpClient.RequestInit, { credentials: "include", redirect: "follow" })
      yield* Effect.gen(function*() {
        const client = yield* TestClient.connect("http://memory/mcp", {
          httpClient: FetchHttpClient.layer.pipe(Layer.provide(fetch))
        })
        yield* client.response("tools/list")
      }).pipe(Effect.provide(settings))
      assert.strictEqual(inits[0]?.credentials, "include")
      assert.strictEqual(inits[0]?.redirect, "manual")
    }))
})
