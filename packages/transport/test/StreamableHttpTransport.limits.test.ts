import { assert, describe, it } from "@effect/vitest"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Effect } from "effect"
import * as Zlib from "node:zlib"

const { resultOf } = TestClient

const answer = (id: unknown, result: unknown) => JSON.stringify({ jsonrpc: "2.0", id, result })
const json = { "content-type": "application/json" }
const kilobyte = 1024

for (const [name, httpClient] of TestClient.httpClients) {
  describe(`limits over ${name}`, () => {
    verifiesLive(
      ["SHT-36", "SEC-01"],
      "a JSON answer over the limit fails its own request, however it is framed",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            const { id, method } = request.message
            if (method === "small") return response.result({ text: "x" })
            const body = answer(id, { text: "x".repeat(100 * kilobyte) })
            if (method === "measured") return response.send(200, json, body)
            response.raw.writeHead(200, json)
            response.raw.end(body)
          })
          const client = yield* TestClient.connect(server.url, { httpClient, maxMessageBytes: 100 * kilobyte })
          for (const method of ["measured", "chunked"]) {
            const error = yield* client.failure(method)
            assert.deepInclude({ ...error.reason, delivery: error.delivery }, {
              _tag: "MessageTooLarge",
              limit: 102_400,
              direction: "received",
              delivery: "unknown"
            })
            assert.isTrue(error.reason._tag === "MessageTooLarge" && (error.reason.size ?? 0) > 102_400)
          }
          assert.deepStrictEqual(resultOf(yield* client.response("small")), { text: "x" })
          const roomy = yield* TestClient.connect(server.url, { httpClient, maxMessageBytes: 101 * kilobyte })
          yield* roomy.response("chunked")
        })
    )

    verifiesLive(
      "SEC-04",
      "an event over the limit fails its own request, whole or without an end",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            const { id, method } = request.message
            response.stream()
            const event = `data: ${answer(id, { text: "x".repeat(100 * kilobyte) })}\n\n`
            if (method === "endless") {
              const flood = (): void => {
                if (!response.raw.destroyed && response.raw.write("x".repeat(10 * kilobyte))) setImmediate(flood)
                else if (!response.raw.destroyed) response.raw.once("drain", flood)
              }
              response.raw.write("data: ")
              return flood()
            }
            if (method === "lines") response.raw.write("data: x\n".repeat(60_000))
            if (method === "long") response.raw.write(`: ${"x".repeat(99 * kilobyte)}\n\n`.repeat(10))
            response.raw.end(event)
          })
          const client = yield* TestClient.connect(server.url, { httpClient, maxEventBytes: 100 * kilobyte })
          for (const method of ["whole", "endless", "lines"]) {
            const error = yield* client.failure(method)
            assert.deepInclude({ ...error.reason, delivery: error.delivery }, {
              _tag: "MessageTooLarge",
              limit: 102_400,
              direction: "received",
              delivery: "unknown"
            })
          }
          // The stream as a whole has no limit, and comments count for nothing.
          const roomy = yield* TestClient.connect(server.url, { httpClient, maxEventBytes: 101 * kilobyte })
          yield* roomy.response("long")
        })
    )

    verifiesLive("SEC-04", "the limit of an event counts bytes, not characters", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          response.stream()
          // 300 bytes in 100 characters, and little around it.
          response.event(answer(request.message.id, { text: "世".repeat(100) }))
          response.end()
        })
        const client = yield* TestClient.connect(server.url, { httpClient, maxEventBytes: 300 })
        assert.strictEqual((yield* client.failure("tools/call")).reason._tag, "MessageTooLarge")
        const roomy = yield* TestClient.connect(server.url, { httpClient, maxEventBytes: 400 })
        yield* roomy.response("tools/call")
      }))

    it.live("gzip is inflated, in JSON and in events", () =>
      Effect.gen(function*() {
        const text = "é世x".repeat(30_000)
        const server = yield* TestServer.serve((request, response) => {
          const { id, method } = request.message
          const [type, body] = method === "json"
            ? ["application/json", answer(id, { text })]
            : ["text/event-stream", `data: ${answer(id, { text })}\n\n`]
          const bytes = Zlib.gzipSync(body)
          response.raw.writeHead(200, { "content-type": type, "content-encoding": "gzip" })
          // The first byte alone does not tell yet.
          response.raw.write(bytes.subarray(0, 1))
          setTimeout(() => response.raw.end(bytes.subarray(1)), 5)
        })
        const client = yield* TestClient.connect(server.url, { httpClient })
        assert.deepStrictEqual(resultOf(yield* client.response("json")), { text })
        assert.deepStrictEqual(resultOf(yield* client.response("events")), { text })
      }))

    it.live("an answer that only says it is gzip is read as it stands", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) =>
          response.send(200, { ...json, "content-encoding": "gzip" }, answer(request.message.id, {}))
        )
        const client = yield* TestClient.connect(server.url, { httpClient: TestClient.dispatch })
        assert.deepStrictEqual(resultOf(yield* client.response("tools/call")), {})
      }))

    verifiesLive(
      "RTY-10",
      "gzip that is cut short is a stream that broke, other bytes are an answer that is none",
      () =>
        Effect.gen(function*() {
          const server = yield* TestServer.serve((request, response) => {
            const bytes = Zlib.gzipSync(answer(request.message.id, { text: "x".repeat(1000) }))
            const broken = request.message.method === "short"
              ? bytes.subarray(0, -12)
              : Buffer.concat([bytes]).fill(7, 10)
            response.send(200, { ...json, "content-encoding": "gzip" }, broken)
          })
          const client = yield* TestClient.connect(server.url, { httpClient })
          // What `fetch` inflates it takes for whole, however short it is.
          const short = name === "fetch" ? "MalformedMessage" : "StreamEnded"
          for (const [method, expected] of [["short", short], ["broken", "MalformedMessage"]] as const) {
            const { delivery, reason } = yield* client.failure(method)
            assert.strictEqual(reason._tag, expected, method)
            assert.strictEqual(delivery, "unknown")
          }
        })
    )

    verifiesLive(
      ["SEC-02", "SEC-03"],
      "a body that inflates past the limit is abandoned before it is inflated whole",
      () =>
        Effect.gen(function*() {
          // 300 MB of spaces in 300 kB, as JSON and as one event.
          const bomb = Zlib.gzipSync(Buffer.alloc(300 * kilobyte * kilobyte, " "), { level: 9 })
          const server = yield* TestServer.serve((request, response) =>
            response.send(200, {
              "content-type": request.message.method === "json" ? "application/json" : "text/event-stream",
              "content-encoding": "gzip"
            }, bomb)
          )
          const client = yield* TestClient.connect(server.url, {
            httpClient,
            maxMessageBytes: 4 * kilobyte * kilobyte,
            maxEventBytes: 4 * kilobyte * kilobyte
          })
          for (const method of ["json", "events"]) {
            const before = process.memoryUsage().arrayBuffers
            const error = yield* client.failure(method)
            const held = process.memoryUsage().arrayBuffers - before
            assert.strictEqual(error.reason._tag, "MessageTooLarge")
            if (error.reason._tag !== "MessageTooLarge") return
            assert.strictEqual(error.reason.limit, 4_194_304)
            // What was inflated stays near the limit; the pieces are small.
            if (method === "json") assert.isBelow(error.reason.size ?? Infinity, 5_000_000)
            assert.isBelow(held, 100_000_000)
          }
        })
    )
  })
}

describe("defaults", () => {
  verifiesLive(
    ["SHT-36", "SEC-17"],
    "64 MiB for JSON and 32 MiB for an event hold without being asked for",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          if (request.message.method === "events") {
            response.stream()
            response.raw.write("data: ")
            const piece = "x".repeat(1024 * kilobyte)
            const flood = (): void => {
              while (!response.raw.destroyed && response.raw.write(piece));
              if (!response.raw.destroyed) response.raw.once("drain", flood)
            }
            return flood()
          }
          response.raw.writeHead(200, { ...json, "content-length": 64 * kilobyte * kilobyte + 1 })
          response.raw.flushHeaders()
        })
        const client = yield* TestClient.connect(server.url)
        for (const [method, limit] of [["json", 67_108_864], ["events", 33_554_432]] as const) {
          const { reason } = yield* client.failure(method)
          assert.deepInclude({ ...reason }, { _tag: "MessageTooLarge", limit })
        }
        yield* server.abandoned(2)
      })
  )
})
