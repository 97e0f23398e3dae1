import { assert, describe } from "@effect/vitest"
import { Authorize, ClientCredentials, Dpop, OAuth, TokenStore } from "@mcp-effect/auth"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Config, ConfigProvider, Effect, Layer, Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import * as Crypto from "node:crypto"
import * as Servers from "./TestTokenEndpoint.ts"

const credentials = { issuer: "https://as.example", clientId: "report", clientSecret: "pw" } as const

const connect = (
  servers: Servers.TestTokenEndpoint,
  dpop: Dpop.Options = {},
  rest?: Servers.Options
) => Servers.connect(servers, ClientCredentials.layer(credentials), { dpop: Dpop.layer(dpop), ...rest })

const bound = (): Servers.TestTokenEndpoint => {
  const servers = new Servers.TestTokenEndpoint()
  servers.scheme = "DPoP"
  return servers
}

const proofOf = (seen: Servers.Seen | undefined) => Servers.jwtOf(seen?.headers["dpop"])
const nonces = (requests: ReadonlyArray<Servers.Seen>) => requests.map((seen) => proofOf(seen).claims["nonce"])

const isPublic = ({ header }: Servers.Jwt): boolean =>
  ["d", "p", "q", "dp", "dq", "qi", "k"].every((member) => !Object.hasOwn(header["jwk"] as object, member))

const isOwnSignature = (proof: Servers.Jwt): boolean =>
  proof.isSignedBy(Crypto.createPublicKey({ key: proof.header["jwk"] as Crypto.JsonWebKey, format: "jwk" }))

const athOf = (token: string): string => Crypto.createHash("sha256").update(token).digest("base64url")

describe("What Dpop.layer proves", () => {
  for (const algorithm of Servers.algorithms) {
    verifies("OAS-06", `that it has the key of each token, by ${algorithm}`, () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(1_800_000_000_900)
        const servers = bound()
        servers.metadata = { dpop_signing_alg_values_supported: [algorithm] }
        const client = yield* connect(servers, { algorithm })
        assert.strictEqual(yield* client.call, 200)
        // The first request has no token, so there is nothing to prove.
        assert.isUndefined(servers.calls[0]?.headers["dpop"])
        const atToken = proofOf(servers.tokenRequests[0])
        const atServer = proofOf(servers.calls[1])
        assert.strictEqual(servers.calls[1]?.headers["authorization"], "DPoP access-secret-1")
        for (const proof of [atToken, atServer]) {
          assert.deepStrictEqual(Object.keys(proof.header).sort(), ["alg", "jwk", "typ"])
          assert.deepInclude(proof.header, { alg: algorithm, typ: "dpop+jwt" })
          assert.isTrue(isPublic(proof))
          assert.isTrue(isOwnSignature(proof))
        }
        assert.deepStrictEqual(atServer.header["jwk"], atToken.header["jwk"])
        const { jti, ...claims } = atToken.claims
        assert.match(String(jti), /^[0-9a-f-]{36}$/)
        assert.deepStrictEqual(claims, { htm: "POST", htu: "https://as.example/token", iat: 1_800_000_000 })
        const { jti: second, ...own } = atServer.claims
        assert.notStrictEqual(second, jti)
        assert.deepStrictEqual(own, {
          htm: "POST",
          htu: "https://mcp.example/mcp",
          iat: 1_800_000_000,
          ath: athOf("access-secret-1")
        })
      }))
  }

  verifies(
    "OAS-06",
    "the token that it presents, as in the example of RFC 9449 section 7.1",
    () =>
      Effect.gen(function*() {
        const servers = bound()
        servers.intercept = ({ at, url }) => {
          if (url.pathname !== "/token") return undefined
          servers.tokens.set("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", at + 1000)
          return {
            body: { access_token: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", token_type: "dpop", expires_in: 3600 }
          }
        }
        assert.strictEqual(yield* (yield* connect(servers)).call, 200)
        assert.strictEqual(proofOf(servers.calls[1]).claims["ath"], "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
      })
  )

  verifies("OAS-06", "method and URL of the request, without query and fragment", () =>
    Effect.gen(function*() {
      const servers = bound()
      const client = yield* connect(servers)
      assert.strictEqual(yield* client.call, 200)
      yield* client.http.execute(HttpClientRequest.get("https://mcp.example/mcp?cursor=a%20b#there"))
      const last = servers.calls.at(-1)
      assert.strictEqual(last?.url.search, "?cursor=a%20b")
      assert.deepInclude(proofOf(last).claims, { htm: "GET", htu: "https://mcp.example/mcp" })
    }))

  verifies("OAS-06", "a fresh one each time, also at once: a replayed proof is refused", () =>
    Effect.gen(function*() {
      const servers = bound()
      const known = new Set<unknown>()
      servers.intercept = (seen) => {
        if (seen.headers["dpop"] === undefined) return undefined
        const { claims } = proofOf(seen)
        // The clock of this server is half a minute behind, and it takes a minute for a tolerable difference.
        const isFar = Math.abs(seen.at / 1000 - 30 - Number(claims["iat"])) > 60
        if (known.has(claims["jti"]) || isFar) return { status: 401 }
        known.add(claims["jti"])
        return undefined
      }
      const client = yield* connect(servers)
      assert.strictEqual(yield* client.call, 200)
      yield* TestClock.adjust("20 minutes")
      const many = yield* Effect.all(Array.from({ length: 30 }, () => client.call), { concurrency: "unbounded" })
      assert.isTrue(many.every((status) => status === 200))
      assert.strictEqual(known.size, 32)
    }))
})

describe("The nonces of Dpop.layer", () => {
  const challenge = { "www-authenticate": "Bearer realm=\"a\", DPoP error=\"use_dpop_nonce\", algs=\"ES256\"" }
  const demand = (nonce: string): Servers.Answer => ({ status: 401, headers: { ...challenge, "dpop-nonce": nonce } })

  verifies("OAS-06", "are used where a server asks for them, each server's own", () =>
    Effect.gen(function*() {
      const servers = bound()
      servers.intercept = (seen) => {
        if (seen.headers["dpop"] === undefined) return undefined
        const { nonce } = proofOf(seen).claims
        if (seen.url.pathname === "/token") {
          return nonce === "from-as" ? undefined : {
            status: 400,
            headers: { "dpop-nonce": "from-as" },
            body: { error: "use_dpop_nonce" }
          }
        }
        return nonce === "from-server" ? undefined : demand("from-server")
      }
      const client = yield* connect(servers)
      assert.strictEqual(yield* client.call, 200)
      assert.strictEqual(yield* client.call, 200)
      assert.deepStrictEqual(nonces(servers.tokenRequests), [undefined, "from-as"])
      assert.deepStrictEqual(nonces(servers.calls.slice(1)), [undefined, "from-server", "from-server"])
      // What was sent twice was proved twice.
      assert.strictEqual(new Set(servers.calls.slice(1).map((seen) => proofOf(seen).claims["jti"])).size, 3)
      assert.lengthOf(servers.tokens, 1)
    }))

  verifies(
    ["OAS-06", "OAT-10"],
    "do not make a client say twice by the same assertion who it is",
    () =>
      Effect.gen(function*() {
        const servers = bound()
        servers.intercept = (seen) =>
          seen.url.pathname === "/token" && proofOf(seen).claims["nonce"] === undefined
            ? { status: 400, headers: { "dpop-nonce": "n" }, body: { error: "use_dpop_nonce" } }
            : undefined
        const privateKey = { key: Servers.keyPair("ES256").pem, algorithm: "ES256" } as const
        const client = yield* Servers.connect(
          servers,
          ClientCredentials.layer({ issuer: servers.issuer, clientId: "report", privateKey }),
          { dpop: Dpop.layer() }
        )
        assert.strictEqual(yield* client.call, 200)
        const ids = servers.tokenRequests.map(({ form }) => Servers.jwtOf(form.get("client_assertion")).claims["jti"])
        assert.lengthOf(ids, 2)
        assert.notStrictEqual(ids[0], ids[1])
      })
  )

  verifies("OAS-06", "are apart on one origin, and change with any answer", () =>
    Effect.gen(function*() {
      const servers = bound()
      servers.expiresIn = 60
      servers.metadata = { token_endpoint: "https://mcp.example/token" }
      let count = 0
      servers.intercept = (seen) => {
        if (seen.url.pathname === "/token") {
          return { ...servers.issue(seen.at), headers: { "dpop-nonce": `as-${++count}` } }
        }
        return seen.headers["dpop"] === undefined
          ? undefined
          : { body: {}, headers: { "dpop-nonce": `rs-${++count}` } }
      }
      const client = yield* connect(servers)
      for (let call = 0; call < 3; call++) assert.strictEqual(yield* client.call, 200)
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(yield* client.call, 200)
      assert.deepStrictEqual(nonces(servers.requests("https://mcp.example/token")), [undefined, "as-1"])
      assert.deepStrictEqual(nonces(servers.calls.slice(1)), [undefined, "rs-2", "rs-3", "rs-4"])
    }))

  verifies(
    "OAS-06",
    "are asked for once: then the server's answer stands, and nobody signs in again for it",
    () =>
      Effect.gen(function*() {
        const servers = bound()
        let count = 0
        servers.intercept = ({ headers, url }) =>
          url.pathname === "/mcp" && headers["dpop"] !== undefined ? demand(`nonce-${++count}`) : undefined
        const client = yield* connect(servers)
        assert.strictEqual(yield* client.call, 401)
        assert.deepStrictEqual(nonces(servers.calls.slice(1)), [undefined, "nonce-1"])
        assert.strictEqual(yield* client.call, 401)
        assert.deepStrictEqual(nonces(servers.calls.slice(3)), ["nonce-2", "nonce-3"])
        assert.lengthOf(servers.tokenRequests, 1)
      })
  )

  verifies("OAS-06", "are taken from a server that asks for one before there is a token", () =>
    Effect.gen(function*() {
      const servers = bound()
      servers.intercept = (seen) =>
        seen.url.pathname === "/mcp" &&
          (seen.headers["dpop"] === undefined || proofOf(seen).claims["nonce"] !== "early")
          ? demand("early")
          : undefined
      const client = yield* connect(servers)
      assert.strictEqual(yield* client.call, 200)
      assert.lengthOf(servers.calls, 2)
      assert.deepStrictEqual(nonces(servers.calls.slice(1)), ["early"])
    }))

  verifies("OAS-06", "are not made of what is none", () =>
    Effect.gen(function*() {
      for (const nonce of [undefined, "", "a b", "a\"b", "x".repeat(1025)]) {
        const servers = bound()
        servers.intercept = ({ headers, url }) =>
          url.pathname === "/token" && headers["dpop"] !== undefined
            ? {
              status: 400,
              headers: nonce === undefined ? {} : { "dpop-nonce": nonce },
              body: { error: "use_dpop_nonce", error_description: "say it again" }
            }
            : undefined
        const { reason } = yield* (yield* connect(servers)).failure
        assert.deepInclude(reason, { _tag: "AuthorizationFailed", error: "use_dpop_nonce", excerpt: "say it again" })
        assert.lengthOf(servers.tokenRequests, 1)
      }
    }))

  verifies("OAS-06", "do not repeat what cannot be sent twice", () =>
    Effect.gen(function*() {
      const servers = bound()
      const client = yield* connect(servers)
      assert.strictEqual(yield* client.call, 200)
      servers.intercept = ({ headers }) => headers["dpop"] === undefined ? undefined : demand("late")
      const form = HttpClientRequest.post(servers.server).pipe(HttpClientRequest.bodyFormData(new FormData()))
      const { status } = yield* client.http.execute(form)
      assert.strictEqual(status, 401)
      assert.lengthOf(servers.calls, 3)
      servers.intercept = () => undefined
      assert.strictEqual(yield* client.call, 200)
      assert.deepStrictEqual(nonces(servers.calls.slice(3)), ["late"])
    }))
})

describe("The tokens of Dpop.layer", () => {
  verifies(["OAT-01", "OAS-06"], "are bound, and no others are presented", () =>
    Effect.gen(function*() {
      const plain = new Servers.TestTokenEndpoint()
      const downgraded = yield* (yield* connect(plain)).failure
      assert.deepInclude(downgraded.reason, {
        _tag: "AuthorizationFailed",
        problem: "the authorization server issued a token that is not bound to the key it was shown (DPoP)"
      })
      const servers = bound()
      const unasked = yield* (yield* Servers.connect(servers, ClientCredentials.layer(credentials))).failure
      assert.deepInclude(unasked.reason, {
        _tag: "AuthorizationFailed",
        problem: "the authorization server issued a token bound to a key (DPoP) that was not asked for"
      })
      for (const { calls } of [plain, servers]) {
        assert.deepStrictEqual(calls.map(({ headers }) => headers["authorization"]), [undefined])
      }
    }))

  verifies("OAS-06", "are what a server wants that says so, and no others are asked for", () =>
    Effect.gen(function*() {
      const servers = bound()
      servers.resourceMetadata = { ...servers.resourceMetadata, dpop_bound_access_tokens_required: true }
      const { reason } = yield* (yield* Servers.connect(servers, ClientCredentials.layer(credentials))).failure
      assert.deepInclude(reason, {
        _tag: "AuthorizationFailed",
        problem: "the server takes only tokens that are bound to a key (DPoP); provide Dpop.layer"
      })
      assert.lengthOf(servers.tokenRequests, 0)
      assert.strictEqual(yield* (yield* connect(servers)).call, 200)
    }))

  verifies(
    "OAS-06",
    "are asked for with the algorithms that the authorization server takes",
    () =>
      Effect.gen(function*() {
        const servers = bound()
        servers.metadata = { dpop_signing_alg_values_supported: ["RS256"] }
        const { reason } = yield* (yield* connect(servers)).failure
        assert.deepInclude(reason, {
          _tag: "AuthorizationFailed",
          problem:
            "the authorization server takes no proofs that are signed with ES256 (DPoP); set the algorithm option"
        })
        assert.lengthOf(servers.tokenRequests, 0)
        assert.strictEqual(yield* (yield* connect(servers, { algorithm: "RS256" })).call, 200)
      })
  )

  verifies(
    ["OAT-13", "OAS-06"],
    "are taken up again with the same key, and set aside with another",
    () =>
      Effect.gen(function*() {
        const servers = bound()
        const store = yield* TokenStore.makeMemory
        const pair = Servers.keyPair("ES256")
        const [pem, jwk, other] = [{ key: Redacted.make(pair.pem) }, { key: pair.jwk }, {}] as const
        for (const key of [pem, jwk]) assert.strictEqual(yield* (yield* connect(servers, key, { store })).call, 200)
        assert.lengthOf(servers.tokenRequests, 1)
        const kept = yield* store.get("https://mcp.example/mcp")
        assert.include(
          Redacted.value(kept ?? Redacted.make("")),
          Servers.thumbprint(proofOf(servers.tokenRequests[0]).header["jwk"] as Record<string, unknown>)
        )
        assert.strictEqual(yield* (yield* connect(servers, other, { store })).call, 200)
        assert.strictEqual(yield* (yield* connect(servers, other, { store })).call, 200)
        assert.lengthOf(servers.tokenRequests, 3)
        assert.strictEqual(new Set(servers.tokenRequests.map((seen) => JSON.stringify(proofOf(seen).header))).size, 3)
        // A bound token is no use without the layer, and a bearer token none with it.
        servers.scheme = "Bearer"
        const bare = yield* Servers.connect(servers, ClientCredentials.layer(credentials), { store })
        assert.strictEqual(yield* bare.call, 200)
        servers.scheme = "DPoP"
        assert.strictEqual(yield* (yield* connect(servers, pem, { store })).call, 200)
        assert.lengthOf(servers.tokenRequests, 5)
        for (const { headers } of servers.calls) {
          const scheme = headers["authorization"]?.split(" ")[0]
          assert.strictEqual(headers["dpop"] === undefined, scheme !== "DPoP")
        }
      })
  )

  verifies("OAS-06", "of a sign-in are bound too, and refreshed with a proof", () =>
    Effect.gen(function*() {
      const servers = bound()
      servers.metadata = {
        authorization_endpoint: "https://as.example/authorize",
        code_challenge_methods_supported: ["S256"]
      }
      servers.intercept = ({ at, url }) =>
        url.pathname === "/token" ? servers.issue(at, { refresh_token: "refresh-secret" }) : undefined
      const bindings: Array<string | null> = []
      const person = Authorize.layer({
        redirectUri: "http://127.0.0.1/callback",
        authorize: ({ url }) =>
          Effect.sync(() => {
            bindings.push(url.searchParams.get("dpop_jkt"))
            return new URLSearchParams({ code: "code", state: url.searchParams.get("state") ?? "" })
          })
      })
      const layer = OAuth.layer({ clients: [credentials] }).pipe(Layer.provide(person))
      const client = yield* Servers.connect(servers, layer, { dpop: Dpop.layer() })
      assert.strictEqual(yield* client.call, 200)
      yield* TestClock.adjust("2 hours")
      assert.strictEqual(yield* client.call, 200)
      assert.deepStrictEqual(servers.tokenRequests.map(({ form }) => form.get("grant_type")), [
        "authorization_code",
        "refresh_token"
      ])
      assert.isTrue(servers.tokenRequests.every((seen) => isOwnSignature(proofOf(seen))))
      // RFC 9449 section 10: the code too is of no use without the key.
      const { jwk } = proofOf(servers.tokenRequests[0]).header
      assert.deepStrictEqual(bindings, [Servers.thumbprint(jwk as Record<string, unknown>)])
    }))
})

describe("How Dpop.layer fails", () => {
  verifies(
    ["OAS-06", "SEC-14"],
    "at once for a key that does not fit, without a word of it",
    () =>
      Effect.gen(function*() {
        const rsa = Servers.keyPair("RS256")
        for (const key of [rsa.pem, rsa.jwk, "not a key"]) {
          const { message, reason } = yield* Effect.flip(connect(bound(), { key }))
          assert.deepInclude(reason, { _tag: "InvalidRequest", path: "key" })
          assert.notInclude(message, rsa.jwk.d ?? "")
          assert.notInclude(message, "PRIVATE KEY")
        }
      })
  )

  verifies("OAS-06", "takes its key from the configuration", () =>
    Effect.gen(function*() {
      const pair = Servers.keyPair("ES384")
      const servers = bound()
      const dpop = Dpop.layerConfig({ algorithm: Config.succeed("ES384"), key: Config.Redacted("KEY") }).pipe(
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { KEY: pair.pem } }))),
        Layer.orDie
      )
      const client = yield* Servers.connect(servers, ClientCredentials.layer(credentials), { dpop })
      assert.strictEqual(yield* client.call, 200)
      assert.isTrue(proofOf(servers.calls[1]).isSignedBy(pair.publicKey))
    }))
})
