import { assert, describe } from "@effect/vitest"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Effect, Stream } from "effect"
import { HttpClientRequest } from "effect/http"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"

describe("OAuth.layer", () => {
  verifiesLive(
    ["OAD-01", "OAS-01", "OAT-01", "SHT-10"],
    "signs in on 401 and sends the request once more",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(authority.seen.map(({ method, path }) => `${method} ${path}`), [
          "POST /mcp",
          "GET /.well-known/oauth-protected-resource/mcp",
          "GET /.well-known/oauth-authorization-server/as1",
          "POST /as1/register",
          "GET /as1/authorize",
          "POST /as1/token",
          "POST /mcp",
          "POST /mcp"
        ])
      })
  )

  verifiesLive(
    ["OAT-14", "SHT-10"],
    "gives the token of a server to every request to its origin, and to no other",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const other = yield* TestAuthority.start
        const { call, http } = yield* Client.make(authority, { server: authority.url })
        assert.strictEqual(yield* call, 200)
        const presented = ({ seen }: TestAuthority.TestAuthority) => seen.at(-1)?.headers.authorization
        const token = presented(authority)
        assert.match(token ?? "", /^Bearer access-secret-/)
        for (const method of ["GET", "POST", "DELETE"] as const) {
          const request = HttpClientRequest.make(method)(`${authority.origin}/messages?session=1`)
          yield* Effect.flatMap(http.execute(request), ({ text }) => text)
          assert.strictEqual(presented(authority), token)
        }
        assert.lengthOf(authority.requests(/token$/), 1)
        const { status } = yield* http.get(other.url)
        assert.strictEqual(status, 401)
        assert.deepStrictEqual(other.seen.map(({ headers, path }) => [path, headers.authorization]), [[
          "/mcp",
          undefined
        ]])
      })
  )

  verifiesLive("OAS-01", "sends nothing twice that can be read once", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const { call, http } = yield* Client.make(authority)
      const stream = HttpClientRequest.post(authority.url).pipe(
        HttpClientRequest.bodyStream(Stream.make(new TextEncoder().encode("{}")), { contentType: "application/json" })
      )
      const send = Effect.map(http.execute(stream), ({ status }) => status)
      assert.strictEqual(yield* send, 401)
      assert.deepStrictEqual(authority.seen.map(({ path }) => path), ["/mcp"])
      // It gets the token that others have brought about.
      assert.strictEqual(yield* call, 200)
      assert.strictEqual(yield* send, 200)
    }))

  verifiesLive("OAT-01", "leaves a request alone that brings its own authorization", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const { call, http } = yield* Client.make(authority)
      assert.strictEqual(yield* call, 200)
      const own = HttpClientRequest.setHeader(
        HttpClientRequest.get(authority.url),
        "authorization",
        "Bearer of the host"
      )
      const { status } = yield* http.execute(own)
      assert.strictEqual(status, 401)
      assert.strictEqual(authority.seen.at(-1)?.headers.authorization, "Bearer of the host")
      assert.lengthOf(authority.requests(/token$/), 1)
    }))
})
