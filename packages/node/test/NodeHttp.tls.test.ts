import { assert, describe, it } from "@effect/vitest"
import * as TestClient from "@mcp-effect/conformance/http/TestClient"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { NodeHttp } from "@mcp-effect/node"
import { Context, Effect, Exit, Fiber, Layer, Redacted, Scope } from "effect"
import { HttpClient } from "effect/http"
import * as Servers from "./http/Servers.ts"

const call = (url: string, tls: NodeHttp.TlsOptions | undefined) =>
  Effect.map(
    Effect.flatMap(
      TestClient.connect(url, { httpClient: NodeHttp.layer({ proxy: "none", tls }) }),
      (client) => client.open("tools/list").settled
    ),
    (settled) =>
      settled._tag === "Response" ? TestClient.resultOf(settled) : {
        reason: settled.error.reason._tag,
        delivery: settled.error.delivery,
        message: settled.error.message
      }
  )

describe("TLS", () => {
  verifiesLive(
    "PAIN-27",
    "a private authority can be trusted, as text, bytes or several",
    () =>
      Effect.gen(function*() {
        const { url } = yield* Servers.serveTls({ clientCertificate: false })
        const authority = Servers.pem("authority")
        for (
          const ca of [authority, new TextEncoder().encode(authority), [Servers.pem("client"), Buffer.from(authority)]]
        ) {
          assert.deepStrictEqual(yield* call(url, { ca }), { client: "none" })
        }
      })
  )

  verifiesLive("PAIN-27", "without it nothing is sent, and the error names the option", () =>
    Effect.gen(function*() {
      const { url } = yield* Servers.serveTls({ clientCertificate: false })
      const failed = yield* call(url, undefined)
      assert.deepInclude(failed, { reason: "ConnectionFailed", delivery: "unsent" })
      assert.include((failed as { readonly message: string }).message, "tls option (ca)")
    }))

  verifiesLive(
    "PAIN-27",
    "a client certificate is presented to a server that asks for one",
    () =>
      Effect.gen(function*() {
        const { url } = yield* Servers.serveTls({ clientCertificate: true })
        const ca = Servers.pem("authority")
        const cert = Servers.pem("client")
        for (const key of [Servers.pem("client.key"), Redacted.make(Servers.pem("client.key"))]) {
          assert.deepStrictEqual(yield* call(url, { ca, cert, key }), { client: "mcp-effect test client" })
        }
        const failed = yield* call(url, { ca })
        assert.deepInclude(failed, { reason: "ConnectionFailed" })
      })
  )

  it.live("a handshake that the server does not finish ends with the client", () =>
    Effect.gen(function*() {
      const silent = yield* Servers.serveSilently()
      const tunnels = yield* Servers.serveProxy()
      for (const proxy of ["none", { https: silent.url.replace("https:", "http:") }, { https: tunnels.url }] as const) {
        const scope = yield* Scope.make()
        const services = yield* Layer.buildWithScope(NodeHttp.layer({ proxy }), scope)
        const client = Context.get(services, HttpClient.HttpClient)
        const before = silent.connections()
        const fiber = yield* Effect.forkChild(client.get(silent.url), { startImmediately: true })
        yield* silent.connected(before + 1)
        yield* Fiber.interrupt(fiber)
        yield* Scope.close(scope, Exit.void)
        yield* silent.disconnected(before + 1)
      }
    }))

  it.live("what is no certificate fails the request, and a server without TLS is told", () =>
    Effect.gen(function*() {
      const { url } = yield* Servers.serveTls({ clientCertificate: false })
      assert.deepInclude(yield* call(url, { ca: "no pem" }), { reason: "ConnectionFailed" })
      assert.deepInclude(yield* call(url, { cert: "no pem", key: "no pem" }), { reason: "ConnectionFailed" })
      const plain = yield* TestServer.serve((_request, response) => response.result({}))
      const failed = yield* call(plain.url.replace("http:", "https:"), undefined)
      assert.deepInclude(failed, { reason: "ConnectionFailed", delivery: "unsent" })
    }))
})
