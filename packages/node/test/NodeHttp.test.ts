import { assert, describe, it } from "@effect/vitest"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { NodeHttp } from "@mcp-effect/node"
import { Json } from "@mcp-effect/protocol"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { HttpBody, HttpClient, HttpClientError, HttpClientRequest } from "effect/http"

const direct = NodeHttp.layer({ proxy: "none" })

const live = (title: string, body: Effect.Effect<void, unknown, HttpClient.HttpClient | Scope.Scope>): void =>
  it.live(title, () => Effect.provide(body, direct))

/** Answers with what it was sent. */
const echo = TestServer.serve(({ headers, httpMethod, text }, response) => response.json({ httpMethod, headers, text }))

describe("NodeHttp", () => {
  describe("requests", () => {
    live(
      "every kind of body arrives, with its type",
      Effect.gen(function*() {
        const server = yield* echo
        const form = new FormData()
        form.append("field", "é")
        const bodies: ReadonlyArray<readonly [HttpBody.HttpBody, RegExp, RegExp]> = [
          [HttpBody.empty, /^undefined$/, /^$/],
          [HttpBody.text("é😀", "text/x"), /^text\/x$/, /^é😀$/],
          [HttpBody.uint8Array(new TextEncoder().encode("é😀")), /^application\/octet-stream$/, /^é😀$/],
          [HttpBody.raw("raw", { contentType: "text/raw" }), /^text\/raw$/, /^raw$/],
          [HttpBody.stream(Stream.encodeText(Stream.make("a", "é", "b")), "text/stream"), /^text\/stream$/, /^aéb$/],
          [HttpBody.formData(form), /^multipart\/form-data; boundary=/, /name="field"\r\n\r\né\r\n/]
        ]
        for (const [body, type, text] of bodies) {
          const request = HttpClientRequest.put(`${server.url}?a=1#part`, { body, urlParams: { b: "ü" } })
          const received: unknown = yield* (yield* HttpClient.execute(request)).json
          if (!Json.isJsonObject(received)) return assert.fail("no object")
          assert.strictEqual(received["httpMethod"], "PUT")
          assert.match(String(Json.objectMember(received, "headers")?.["content-type"]), type)
          assert.match(String(received["text"]), text)
        }
        assert.isTrue(server.received.every(({ url }) => url === "/mcp?a=1&b=%C3%BC"))
      })
    )

    live(
      "nothing is added to a request: no trace, no encodings, no redirects",
      Effect.gen(function*() {
        const server = yield* TestServer.serve((_request, response) => response.send(307, { location: "/elsewhere" }))
        const response = yield* HttpClient.get(server.url)
        assert.strictEqual(response.status, 307)
        assert.strictEqual(server.received.length, 1)
        assert.sameMembers(Object.keys(server.received[0]?.headers ?? {}), ["host", "connection"])
      })
    )

    live(
      "what cannot be a request fails, and throws nothing",
      Effect.gen(function*() {
        const server = yield* echo
        const requests = [
          HttpClientRequest.get(server.url, { headers: { "not a name": "x" } }),
          HttpClientRequest.get(server.url, { headers: { name: "a\r\nb: c" } }),
          HttpClientRequest.get("ftp://example.com/"),
          HttpClientRequest.get("not a url"),
          HttpClientRequest.post(server.url, { body: HttpBody.raw({ not: "a body" }) })
        ]
        const reasons = yield* Effect.forEach(
          requests,
          (request) => Effect.map(Effect.flip(HttpClient.execute(request)), ({ reason }) => reason._tag)
        )
        assert.deepStrictEqual(reasons, [
          "TransportError",
          "TransportError",
          "TransportError",
          "InvalidUrlError",
          "TransportError"
        ])
        assert.strictEqual(server.received.length, 0)
      })
    )

    live(
      "a port where nothing listens fails with the code of the system",
      Effect.gen(function*() {
        const port = yield* Effect.scoped(Effect.map(echo, (server) => server.port))
        const { reason } = yield* Effect.flip(HttpClient.get(`http://127.0.0.1:${port}/`))
        assert.strictEqual(reason._tag, "TransportError")
        if (reason._tag === "TransportError") {
          assert.deepInclude({ ...(reason.cause as object) }, { code: "ECONNREFUSED" })
        }
      })
    )
  })

  describe("responses", () => {
    live(
      "the body is read as text, JSON, bytes, parameters, a form or a stream, more than once where it is whole",
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) =>
          response.send(200, {
            "content-type": request.url === "/form" ? "application/x-www-form-urlencoded" : "application/json",
            "set-cookie": ["a=1; Path=/", "b=2"],
            "X-Twice": ["1", "2"]
          }, request.url === "/form" ? "a=1&b=%C3%BC" : request.url === "/empty" ? "" : "{\"text\":\"é😀\"}")
        )
        const get = (path: string) => HttpClient.get(new URL(path, server.url))
        const response = yield* get("/json")
        assert.strictEqual(response.url, new URL("/json", server.url).href)
        assert.strictEqual(response.status, 200)
        assert.strictEqual(response.headers["x-twice"], "1, 2")
        assert.deepStrictEqual(Object.keys(response.cookies.cookies), ["a", "b"])
        assert.strictEqual(response.request.url, new URL("/json", server.url).href)
        assert.strictEqual(yield* response.text, "{\"text\":\"é😀\"}")
        assert.deepStrictEqual(yield* response.json, { text: "é😀" })
        assert.strictEqual((yield* response.arrayBuffer).byteLength, 17)
        assert.deepStrictEqual([...(yield* (yield* get("/form")).urlParamsBody)], [["a", "1"], ["b", "ü"]])
        assert.strictEqual((yield* (yield* get("/form")).formData).get("b"), "ü")
        assert.strictEqual(
          yield* Stream.mkString(Stream.decodeText((yield* get("/json")).stream)),
          "{\"text\":\"é😀\"}"
        )
        assert.strictEqual(yield* Stream.mkString(Stream.decodeText((yield* get("/empty")).stream)), "")
        assert.strictEqual(yield* (yield* get("/empty")).json, null)
        const malformed = yield* Effect.flip((yield* get("/form")).json)
        assert.strictEqual(malformed.reason._tag, "DecodeError")
        assert.strictEqual((yield* Effect.flip(response.upgrade)).reason._tag, "StatusCodeError")
        // Nothing of it may throw when it is logged.
        assert.isString(JSON.stringify(response))
      })
    )

    live(
      "a body that breaks off fails its readers",
      Effect.gen(function*() {
        const server = yield* TestServer.serve((_request, response) => {
          response.raw.writeHead(200)
          response.raw.write("begun", () => response.reset())
        })
        for (
          const read of [
            (response: { readonly text: Effect.Effect<unknown, unknown> }) => response.text,
            (response: { readonly stream: Stream.Stream<Uint8Array, unknown> }) => Stream.runDrain(response.stream)
          ]
        ) {
          const error = yield* Effect.flip(read(yield* HttpClient.get(server.url)))
          if (!HttpClientError.isHttpClientError(error)) return assert.fail("no error of the HTTP client")
          assert.strictEqual(error.reason._tag, "DecodeError")
          assert.isDefined(error.reason.cause)
        }
      })
    )

    live(
      "a reader that is slow slows the server down, and loses nothing",
      Effect.gen(function*() {
        const size = 48 * 1024 * 1024
        let written = 0
        const stalled = yield* Deferred.make<void>()
        const server = yield* TestServer.serve((_request, response) => {
          response.raw.writeHead(200)
          const piece = Buffer.alloc(64 * 1024, "x")
          const write = (): void => {
            while (written < size) {
              written += piece.byteLength
              if (!response.raw.write(piece)) return void response.raw.once("drain", write)
            }
            response.end()
          }
          write()
          // The kernel takes some megabytes; then nothing moves any more.
          let before = -1
          const timer = setInterval(() => {
            if (before === written) {
              clearInterval(timer)
              Deferred.doneUnsafe(stalled, Effect.void)
            }
            before = written
          }, 200)
          response.raw.on("close", () => clearInterval(timer))
        })
        const response = yield* HttpClient.get(server.url)
        yield* Deferred.await(stalled)
        assert.isBelow(written, size)
        let read = 0
        yield* Stream.runForEachArray(response.stream, (chunks) => {
          for (const chunk of chunks) read += chunk.byteLength
          return Effect.yieldNow
        })
        assert.strictEqual(read, size)
      })
    )

    live(
      "calls in a row share one connection",
      Effect.gen(function*() {
        const server = yield* echo
        for (let count = 0; count < 30; count++) yield* Effect.flatMap(HttpClient.get(server.url), ({ json }) => json)
        for (let count = 0; count < 30; count++) {
          yield* Effect.flatMap(HttpClient.get(server.url), ({ stream }) => Stream.runDrain(stream))
        }
        assert.strictEqual(server.connections(), 1)
      })
    )
  })

  describe("the end", () => {
    live(
      "an interruption closes the connection: before the head, in the body, in a stream",
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          if (request.url === "/silent") return
          response.raw.writeHead(200)
          response.raw.write("begun")
        })
        const at = (path: string) => HttpClient.get(new URL(path, server.url))
        const readers = [
          at("/silent"),
          Effect.flatMap(at("/body"), ({ text }) => text),
          Effect.flatMap(at("/body"), ({ stream }) => Stream.runDrain(stream))
        ]
        for (const [index, reader] of readers.entries()) {
          const fiber = yield* Effect.forkChild(reader, { startImmediately: true })
          yield* server.arrived(index + 1)
          yield* Fiber.interrupt(fiber)
          yield* server.abandoned(index + 1)
        }
        // So does a reader that has read enough.
        const first = yield* Effect.flatMap(at("/body"), ({ stream }) => Stream.runCollect(Stream.take(stream, 1)))
        assert.strictEqual(first.length, 1)
        yield* server.abandoned(4)
      })
    )

    it.live("the scope ends what is under way", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((_request, response) => {
          response.raw.writeHead(200)
          response.raw.write("begun")
        })
        const scope = yield* Scope.make()
        const client = Context.get(yield* Layer.buildWithScope(direct, scope), HttpClient.HttpClient)
        const response = yield* client.get(server.url)
        const reading = yield* Effect.forkChild(Effect.flip(response.text), { startImmediately: true })
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual((yield* Fiber.join(reading)).reason._tag, "DecodeError")
        yield* server.abandoned(1)
        assert.strictEqual((yield* Effect.flip(client.get(server.url))).reason._tag, "TransportError")
        assert.strictEqual(server.received.length, 1)
      }))

    verifiesLive(
      "PAIN-16",
      "a request leaves nothing behind on the process or the client",
      () =>
        Effect.gen(function*() {
          const server = yield* echo
          const warnings: Array<Error> = []
          const onWarning = (warning: Error): void => {
            warnings.push(warning)
          }
          process.on("warning", onWarning)
          for (let count = 0; count < 300; count++) {
            yield* Effect.flatMap(HttpClient.get(server.url), ({ json }) => json)
          }
          process.off("warning", onWarning)
          assert.deepStrictEqual(warnings, [])
          assert.strictEqual(server.connections(), 1)
        }).pipe(Effect.provide(direct))
    )
  })
})
