import { assert, describe, it } from "@effect/vitest"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { NodeHttp } from "@mcp-effect/node"
import { Config, ConfigProvider, Effect, Layer, Redacted, type Scope } from "effect"
import { HttpClient } from "effect/http"
import * as ProxyEnvironment from "../src/internal/ProxyEnvironment.ts"
import * as Servers from "./http/Servers.ts"

const hello = TestServer.serve((_request, response) => response.send(200, { "content-type": "text/plain" }, "hello"))

const variables = ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]

/** The variables of this process for the rest of the scope: these, and no other about proxies. */
const environment = (values: Record<string, string>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(Effect.acquireRelease(
    Effect.sync(() => {
      const before = variables.map((name) => [name, process.env[name]] as const)
      for (const name of variables) delete process.env[name]
      Object.assign(process.env, values)
      return before
    }),
    (before) =>
      Effect.sync(() => {
        for (const [name, value] of before) {
          if (value === undefined) delete process.env[name]
          else process.env[name] = value
        }
      })
  ))

const fetchText = (url: string, options?: NodeHttp.Options) =>
  Effect.flatMap(HttpClient.get(url), ({ text }) => text).pipe(Effect.provide(NodeHttp.layer(options)))

describe("proxies", () => {
  verifiesLive("PAIN-26", "HTTP_PROXY is asked for http servers, in either case", () =>
    Effect.gen(function*() {
      const server = yield* hello
      const proxy = yield* Servers.serveProxy()
      for (const name of ["HTTP_PROXY", "http_proxy"]) {
        const text = yield* Effect.scoped(
          Effect.andThen(environment({ [name]: proxy.url }), fetchText(server.url))
        )
        assert.strictEqual(text, "hello")
      }
      assert.deepStrictEqual(proxy.hits, [`GET ${server.url}`, `GET ${server.url}`])
      assert.strictEqual(server.received.length, 2)
    }))

  verifiesLive(
    "PAIN-26",
    "HTTPS_PROXY is asked for tunnels to https servers, whose certificate is still checked",
    () =>
      Effect.gen(function*() {
        const server = yield* Servers.serveTls({ clientCertificate: false })
        const proxy = yield* Servers.serveProxy()
        yield* environment({ HTTPS_PROXY: proxy.url })
        const text = yield* fetchText(server.url, { tls: { ca: Servers.pem("authority") } })
        assert.include(text, "\"client\":\"none\"")
        assert.deepStrictEqual(proxy.hits, [`CONNECT ${new URL(server.url).host}`])
        const { reason } = yield* Effect.flip(Effect.scoped(fetchText(server.url)))
        assert.strictEqual(reason._tag, "TransportError")
      })
  )

  verifiesLive("PAIN-26", "NO_PROXY reaches its hosts directly", () =>
    Effect.gen(function*() {
      const server = yield* hello
      const proxy = yield* Servers.serveProxy()
      for (const noProxy of ["127.0.0.1", `localhost, 127.0.0.1:${server.port}`, "*"]) {
        yield* Effect.scoped(
          Effect.andThen(environment({ HTTP_PROXY: proxy.url, NO_PROXY: noProxy }), fetchText(server.url))
        )
      }
      assert.deepStrictEqual(proxy.hits, [])
      yield* environment({ HTTP_PROXY: proxy.url, no_proxy: "example.com" })
      yield* fetchText(server.url)
      assert.strictEqual(proxy.hits.length, 1)
    }))

  it.live("options stand in for the environment", () =>
    Effect.gen(function*() {
      const server = yield* hello
      const [named, fromEnvironment] = [yield* Servers.serveProxy(), yield* Servers.serveProxy()]
      yield* environment({ HTTP_PROXY: fromEnvironment.url })
      yield* fetchText(server.url, { proxy: "none" })
      assert.deepStrictEqual([named.hits.length, fromEnvironment.hits.length], [0, 0])
      yield* fetchText(server.url, { proxy: { http: Redacted.make(named.url) } })
      yield* fetchText(server.url, { proxy: { http: named.url, noProxy: "127.0.0.1" } })
      assert.deepStrictEqual([named.hits.length, fromEnvironment.hits.length], [1, 0])
      yield* fetchText(server.url, { proxy: {} })
      yield* fetchText(server.url, { proxy: "environment" })
      assert.deepStrictEqual([named.hits.length, fromEnvironment.hits.length], [1, 1])
    }))

  it.live("credentials of the proxy go to the proxy alone", () =>
    Effect.gen(function*() {
      const server = yield* hello
      const proxy = yield* Servers.serveProxy()
      yield* fetchText(server.url, { proxy: { http: proxy.url.replace("http://", "http://user:p%40ss@") } })
      // base64 of "user:p@ss".
      assert.deepStrictEqual(proxy.authorizations, ["Basic dXNlcjpwQHNz"])
      assert.notProperty(server.received[0]?.headers, "authorization")
    }))

  it.live("a proxy that is none is refused when the client is made, without showing it", () =>
    Effect.gen(function*() {
      for (const http of ["not a url with secret", "ftp://secret@proxy"]) {
        const error = yield* Effect.flip(
          Effect.scoped(Layer.build(NodeHttp.layer({ proxy: { http: Redacted.make(http) } })))
        )
        assert.strictEqual(error.reason._tag, "InvalidRequest", http)
        assert.strictEqual(error.delivery, "unsent")
        assert.notInclude(JSON.stringify(error), "secret")
      }
    }))

  it.live("a proxy that is down or refuses the tunnel fails the request, which was not sent", () =>
    Effect.gen(function*() {
      const secure = yield* Servers.serveTls({ clientCertificate: false })
      const refusing = yield* Servers.serveProxy({ refuse: 403 })
      const down = yield* Effect.scoped(Effect.map(hello, (server) => new URL(server.url).origin))
      for (const https of [refusing.url, down]) {
        const client = yield* TestClient.connect(secure.url, { httpClient: NodeHttp.layer({ proxy: { https } }) })
        const error = yield* client.failure("tools/call")
        assert.strictEqual(error.reason._tag, "ConnectionFailed")
        assert.strictEqual(error.delivery, "unsent")
      }
    }))

  it.live("the layer takes its options from configuration", () =>
    Effect.gen(function*() {
      const server = yield* hello
      const proxy = yield* Servers.serveProxy()
      const layer = NodeHttp.layerConfig({
        proxy: Config.all({ http: Config.Redacted("PROXY"), noProxy: Config.String("DIRECT") })
      }).pipe(
        Layer.provide(
          ConfigProvider.layer(ConfigProvider.fromEnv({ env: { PROXY: proxy.url, DIRECT: "example.com" } }))
        )
      )
      yield* Effect.provide(HttpClient.get(server.url), layer)
      assert.strictEqual(proxy.hits.length, 1)
    }))

  verifiesPure("PAIN-26", "the lower case counts first, even when it is empty", () => {
    assert.deepStrictEqual(
      ProxyEnvironment.read({
        http_proxy: "http://lower",
        HTTP_PROXY: "http://upper",
        https_proxy: "",
        HTTPS_PROXY: "http://x",
        NO_PROXY: "a"
      }),
      { http: "http://lower", https: "", noProxy: "a" }
    )
    assert.deepStrictEqual(ProxyEnvironment.read({}), { http: "", https: "", noProxy: "" })
  })
})
