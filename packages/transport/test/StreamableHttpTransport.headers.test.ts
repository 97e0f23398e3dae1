import { assert, describe, it } from "@effect/vitest"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Revision } from "@mcp-effect/protocol"
import { StreamableHttpTransport, Transport } from "@mcp-effect/transport"
import { Config, ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"

const { legacy, modern } = TestClient

const answering = TestServer.serve((request, response) => {
  if (request.message?.id === undefined) response.send(202, {})
  else response.result({})
})

for (const [name, httpClient] of TestClient.httpClients) {
  describe(`headers over ${name}`, () => {
    verifiesLive(
      ["SHT-01", "SHT-02", "SHT-09"],
      "a request is a POST that accepts JSON and events, and gzip",
      () =>
        Effect.gen(function*() {
          const server = yield* answering
          const client = yield* TestClient.connect(`${server.url}?key=1`, { httpClient })
          yield* client.response("tools/list", { params: { cursor: "x" } })
          const [request] = server.received
          assert.strictEqual(request?.httpMethod, "POST")
          assert.strictEqual(request?.url, "/mcp?key=1")
          assert.strictEqual(request?.headers["accept"], "application/json, text/event-stream")
          assert.strictEqual(request?.headers["content-type"], "application/json")
          assert.strictEqual(request?.headers["accept-encoding"], "gzip")
          assert.deepStrictEqual(request?.message, {
            jsonrpc: "2.0",
            id: 1,
            method: "tools/list",
            params: { cursor: "x" }
          })
          assert.notProperty(request?.headers, "traceparent")
          assert.notProperty(request?.headers, "b3")
        })
    )

    verifiesLive(
      ["HDR-01", "HDR-02", "HDR-03", "HDR-05"],
      "a modern POST says its version, method and name",
      () =>
        Effect.gen(function*() {
          const server = yield* answering
          const client = yield* TestClient.connect(server.url, { httpClient })
          yield* client.response("tools/call", { routing: { name: "get_weather" } })
          yield* client.response("tools/list")
          yield* client.connection.send({ _tag: "Notification", method: "notifications/x", params: {} }, modern)
          const seen = server.received.map(({ headers }) => [
            headers["mcp-protocol-version"],
            headers["mcp-method"],
            headers["mcp-name"],
            headers["mcp-session-id"]
          ])
          assert.deepStrictEqual(seen, [
            ["2026-07-28", "tools/call", "get_weather", undefined],
            ["2026-07-28", "tools/list", undefined, undefined],
            ["2026-07-28", "notifications/x", undefined, undefined]
          ])
        })
    )

    verifiesLive(
      ["HDR-06", "HDR-22", "HDR-23"],
      "values that no header may hold are sent as base64",
      () =>
        Effect.gen(function*() {
          const server = yield* answering
          const client = yield* TestClient.connect(server.url, { httpClient })
          for (const name of ["us west 1", "Hello, 世界", " padded ", "a\r\nX-Injected: 1", "=?base64?literal?="]) {
            yield* client.response("tools/call", { routing: { name, params: [["Region", name]] } })
          }
          // 2026-07-28 streamable-http, Value Encoding; the fourth worked out by hand.
          const expected = [
            "us west 1",
            "=?base64?SGVsbG8sIOS4lueVjA==?=",
            "=?base64?IHBhZGRlZCA=?=",
            "=?base64?YQ0KWC1JbmplY3RlZDogMQ==?=",
            "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="
          ]
          assert.deepStrictEqual(server.received.map(({ headers }) => headers["mcp-name"]), expected)
          assert.deepStrictEqual(server.received.map(({ headers }) => headers["mcp-param-region"]), expected)
          assert.isTrue(server.received.every(({ headers }) => !("x-injected" in headers)))
        })
    )

    verifiesLive("HDR-22", "the name of a mirrored argument cannot add a header", () =>
      Effect.gen(function*() {
        const server = yield* answering
        const client = yield* TestClient.connect(server.url, { httpClient })
        const error = yield* client.failure("tools/call", { routing: { params: [["a\r\nX-Injected: 1\r\nb", "c"]] } })
        assert.strictEqual(error.reason._tag, "InvalidRequest")
        assert.strictEqual(error.delivery, "unsent")
        assert.strictEqual(server.received.length, 0)
      }))

    it.live("mirrored arguments are written as text, decimal and boolean", () =>
      Effect.gen(function*() {
        const server = yield* answering
        const client = yield* TestClient.connect(server.url, { httpClient })
        yield* client.response("tools/call", { routing: { params: [["Count", -7], ["Deep", true], ["Tag", ""]] } })
        const headers = server.received[0]?.headers
        assert.strictEqual(headers?.["mcp-param-count"], "-7")
        assert.strictEqual(headers?.["mcp-param-deep"], "true")
        assert.strictEqual(headers?.["mcp-param-tag"], "")
      }))

    verifiesLive(
      "HDR-12",
      "configured headers go with every message; mirrored arguments are the protocol's",
      () =>
        Effect.gen(function*() {
          const server = yield* answering
          const client = yield* TestClient.connect(server.url, {
            httpClient,
            headers: {
              "X-Api-Key": Redacted.make("secret"),
              "MCP-PARAM-Region": "configured",
              "Mcp-Method": "configured",
              Accept: "text/html"
            }
          })
          yield* client.response("tools/call", { routing: { name: "t" } })
          yield* client.response("tools/call", { revision: legacy })
          yield* client.connection.send({ _tag: "Notification", method: "notifications/x", params: {} }, legacy)
          assert.deepStrictEqual(
            server.received.map(({ headers }) => [
              headers["x-api-key"],
              headers["mcp-param-region"],
              headers["mcp-method"],
              headers["accept"]
            ]),
            [
              ["secret", undefined, "tools/call", "application/json, text/event-stream"],
              ["secret", "configured", undefined, "application/json, text/event-stream"],
              ["secret", "configured", undefined, "application/json, text/event-stream"]
            ]
          )
        }).pipe(Effect.provide(Logger.layer([])))
    )

    it.live("a listen stream is not compressed", () =>
      Effect.gen(function*() {
        const server = yield* answering
        const client = yield* TestClient.connect(server.url, { httpClient: TestClient.dispatch })
        yield* client.response("subscriptions/listen")
        assert.notProperty(server.received[0]?.headers, "accept-encoding")
      }))

    verifiesLive(
      ["SHT-18", "SHT-37"],
      "the version goes with every legacy message after the handshake",
      () =>
        Effect.gen(function*() {
          const server = yield* answering
          const client = yield* TestClient.connect(server.url, { httpClient })
          for (const revision of [...Revision.legacy].reverse()) {
            yield* client.response("initialize", { revision })
            yield* client.connection.send(
              { _tag: "Notification", method: "notifications/initialized", params: {} },
              revision
            )
            yield* client.response("tools/list", { revision })
          }
          assert.deepStrictEqual(
            server.received.map(({ headers }) => headers["mcp-protocol-version"]),
            [
              [undefined, undefined, undefined],
              [undefined, undefined, undefined],
              [undefined, "2025-06-18", "2025-06-18"],
              [undefined, "2025-11-25", "2025-11-25"]
            ].flat()
          )
          assert.isTrue(server.received.every(({ headers }) => headers["mcp-method"] === undefined))
        })
    )
  })
}

describe("options", () => {
  const connectTo = (options: StreamableHttpTransport.Options) =>
    Effect.gen(function*() {
      const transport = yield* StreamableHttpTransport.make(options)
      return yield* transport.connect({ onMessage: () => {}, onDiagnostic: () => {} })
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))

  verifiesLive(
    "CON-26",
    "a URL without http or https, or without a host, is refused before anything is sent",
    () =>
      Effect.gen(function*() {
        for (const url of ["ftp://example.com/", "example.com/mcp", "http://", "", "file:///etc/passwd"]) {
          const error = yield* Effect.flip(connectTo({ url }))
          assert.strictEqual(error.reason._tag, "InvalidRequest", url)
          assert.strictEqual(error.delivery, "unsent")
        }
      })
  )

  verifiesLive("CON-26", "0.0.0.0 is accepted with a warning", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => {
        logged.push(`${logLevel} ${String(message)}`)
      })
      yield* Effect.provide(connectTo({ url: "http://0.0.0.0:3000/mcp" }), Logger.layer([logger]))
      assert.strictEqual(logged.length, 1)
      assert.match(logged[0] ?? "", /^Warn .*0\.0\.0\.0/)
      yield* Effect.provide(connectTo({ url: "http://127.0.0.1:3000/mcp" }), Logger.layer([logger]))
      assert.strictEqual(logged.length, 1)
    }))

  it.live("headers that are none, and limits that are none, are refused without showing a value", () =>
    Effect.gen(function*() {
      const url = "http://127.0.0.1/mcp"
      for (
        const options of [
          { url, headers: { "not a name": "secret" } },
          { url, headers: { "X-Key": Redacted.make("secret\r\nX-Injected: 1") } },
          { url, headers: { "X-Key": "secret 世界" } },
          { url, maxMessageBytes: 0 },
          { url, maxEventBytes: Number.NaN }
        ]
      ) {
        const error = yield* Effect.flip(connectTo(options))
        assert.strictEqual(error.reason._tag, "InvalidRequest")
        assert.notInclude(error.message, "secret")
      }
    }))

  verifiesLive(
    "SEC-12",
    "target and fingerprint hold no secret, and credentials of the URL are sent as Basic",
    () =>
      Effect.gen(function*() {
        const server = yield* answering
        const url = server.url.replace("http://", "http://us%20er:p%40ss@") + "?token=secret#part"
        const transport = yield* StreamableHttpTransport.make({ url, headers: { "X-Key": "secret", Accept: "x" } })
          .pipe(
            Effect.provide(FetchHttpClient.layer)
          )
        assert.strictEqual(transport.kind, "streamable-http")
        assert.strictEqual(transport.target, server.url)
        assert.strictEqual(transport.fingerprint, `streamable-http ${server.url} ?token accept,x-key`)
        const client = yield* TestClient.connect(url)
        yield* client.response("tools/list")
        // RFC 7617: base64 of "us er:p@ss".
        assert.strictEqual(server.received[0]?.headers["authorization"], "Basic dXMgZXI6cEBzcw==")
        assert.strictEqual(server.received[0]?.url, "/mcp?token=secret")
      })
  )

  it.live("the fingerprint tells configurations apart", () =>
    Effect.gen(function*() {
      const fingerprint = (options: StreamableHttpTransport.Options) =>
        Effect.map(StreamableHttpTransport.make(options), (transport) => transport.fingerprint)
      const all = yield* Effect.all([
        fingerprint({ url: "http://a/mcp" }),
        fingerprint({ url: "http://a/other" }),
        fingerprint({ url: "http://a/mcp?x=1" }),
        fingerprint({ url: "http://a/mcp", headers: { Authorization: "x" } })
      ]).pipe(Effect.provide(FetchHttpClient.layer))
      assert.strictEqual(new Set(all).size, 4)
    }))

  it.live("the layer takes its options from configuration", () =>
    Effect.gen(function*() {
      const server = yield* answering
      const layer = StreamableHttpTransport.layerConfig({
        url: Config.String("MCP_URL"),
        headers: Config.map(Config.Redacted("MCP_KEY"), (key) => ({ "X-Key": key }))
      }).pipe(
        Layer.provide(FetchHttpClient.layer),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { MCP_URL: server.url, MCP_KEY: "k" } })))
      )
      const target = yield* Transport.Transport.use((transport) => Effect.succeed(transport.target)).pipe(
        Effect.provide(layer)
      )
      assert.strictEqual(target, server.url)
    }))
})
