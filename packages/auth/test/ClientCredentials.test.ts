import { assert, describe } from "@effect/vitest"
import { ClientCredentials, TokenStore } from "@mcp-effect/auth"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Config, ConfigProvider, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Crypto from "node:crypto"
import * as Servers from "./TestTokenEndpoint.ts"

const clientSecret = Redacted.make("s3cret: 100%&+ä")
const withSecret = { issuer: "https://as.example", clientId: "report:er", clientSecret } as const

const connect = (
  servers: Servers.TestTokenEndpoint,
  options: ClientCredentials.Options = withSecret,
  rest?: Servers.Options
) => Servers.connect(servers, ClientCredentials.layer(options), rest)

const parameters = (seen: Servers.Seen | undefined) => Object.fromEntries(seen?.form ?? [])

describe("ClientCredentials.layer with a secret", () => {
  verifies(
    ["OAS-06", "OAT-10", "OAT-11"],
    "authenticates by header, and asks for the resource",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        servers.resourceMetadata = { ...servers.resourceMetadata, scopes_supported: ["a", "b"] }
        const client = yield* connect(servers)
        assert.strictEqual(yield* client.call, 200)
        // The base64 of "report%3Aer:s3cret%3A+100%25%26%2B%C3%A4".
        assert.strictEqual(
          servers.tokenRequests[0]?.headers["authorization"],
          "Basic cmVwb3J0JTNBZXI6czNjcmV0JTNBKzEwMCUyNSUyNiUyQiVDMyVBNA=="
        )
        assert.deepStrictEqual(parameters(servers.tokenRequests[0]), {
          grant_type: "client_credentials",
          scope: "a b",
          resource: "https://mcp.example/mcp"
        })
      })
  )

  verifies(
    ["OAS-06", "OAT-10"],
    "authenticates in the body where the server has only that, or the host says so",
    () =>
      Effect.gen(function*() {
        for (const authMethod of ["client_secret_post", undefined] as const) {
          const servers = new Servers.TestTokenEndpoint()
          const methods = ["client_secret_post", ...(authMethod === undefined ? [] : ["client_secret_basic"])]
          servers.metadata = { token_endpoint_auth_methods_supported: methods }
          const client = yield* connect(servers, { ...withSecret, authMethod })
          assert.strictEqual(yield* client.call, 200)
          assert.isUndefined(servers.tokenRequests[0]?.headers["authorization"])
          assert.deepStrictEqual(parameters(servers.tokenRequests[0]), {
            grant_type: "client_credentials",
            client_id: "report:er",
            client_secret: "s3cret: 100%&+ä",
            resource: "https://mcp.example/mcp"
          })
        }
      })
  )

  verifies("OAS-06", "does not ask for offline access: nothing is refreshed", () =>
    Effect.gen(function*() {
      const servers = new Servers.TestTokenEndpoint()
      servers.metadata = { scopes_supported: ["offline_access", "a"] }
      const client = yield* connect(servers, { ...withSecret, scopes: ["a", "offline_access"] })
      assert.strictEqual(yield* client.call, 200)
      assert.strictEqual(servers.tokenRequests[0]?.form.get("scope"), "a")
    }))
})

describe("ClientCredentials.layer with a key", () => {
  for (const algorithm of Servers.algorithms) {
    verifies(["OAS-06", "OAT-10"], `signs who it is by ${algorithm}`, () =>
      Effect.gen(function*() {
        const pair = Servers.keyPair(algorithm)
        for (const key of [pair.pem, pair.jwk, Redacted.make(pair.pem)]) {
          const servers = new Servers.TestTokenEndpoint()
          servers.metadata = { token_endpoint_auth_methods_supported: ["private_key_jwt"] }
          yield* TestClock.setTime(1_800_000_000_900)
          const client = yield* connect(servers, {
            issuer: servers.issuer,
            clientId: "reporter",
            privateKey: { key, algorithm, keyId: "2026-12" }
          })
          assert.strictEqual(yield* client.call, 200)
          const [request] = servers.tokenRequests
          const { client_assertion, ...rest } = parameters(request)
          assert.deepStrictEqual(rest, {
            grant_type: "client_credentials",
            client_id: "reporter",
            client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            resource: "https://mcp.example/mcp"
          })
          assert.isUndefined(request?.headers["authorization"])
          const { claims: { jti, ...claims }, header, isSignedBy } = Servers.jwtOf(client_assertion)
          assert.isTrue(isSignedBy(pair.publicKey))
          assert.isFalse(isSignedBy(Servers.keyPair(algorithm).publicKey))
          assert.deepStrictEqual(header, { alg: algorithm, typ: "JWT", kid: "2026-12" })
          assert.match(String(jti), /^[0-9a-f-]{36}$/)
          // No `nbf`, and whole seconds of now: a server whose clock is a little behind takes it too.
          assert.deepStrictEqual(claims, {
            iss: "reporter",
            sub: "reporter",
            aud: "https://as.example",
            iat: 1_800_000_000,
            exp: 1_800_000_300
          })
        }
      }))
  }

  verifies(
    "OAS-06",
    "signs anew for each request: an assertion is taken once and not late",
    () =>
      Effect.gen(function*() {
        const pair = Servers.keyPair("ES256")
        const servers = new Servers.TestTokenEndpoint()
        servers.expiresIn = 600
        const known = new Set<unknown>()
        servers.intercept = ({ at, form, url }) => {
          if (url.pathname !== "/token") return undefined
          const { claims } = Servers.jwtOf(form.get("client_assertion"))
          // The clock of this server is four minutes ahead.
          const isLate = at / 1000 + 240 >= Number(claims["exp"])
          if (isLate || known.has(claims["jti"])) return { status: 401, body: { error: "invalid_client" } }
          known.add(claims["jti"])
          return servers.issue(at)
        }
        const client = yield* connect(servers, {
          issuer: servers.issuer,
          clientId: "reporter",
          privateKey: { key: pair.pem, algorithm: "ES256" }
        })
        for (let count = 1; count <= 4; count++) {
          assert.strictEqual(yield* client.call, 200)
          assert.lengthOf(servers.tokenRequests, count)
          yield* TestClock.adjust("11 minutes")
        }
        assert.strictEqual(known.size, 4)
      })
  )
})

describe("What ClientCredentials.layer keeps", () => {
  verifies(
    ["OAT-03", "PAIN-67"],
    "one token for all requests, replaced before it runs out",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        const client = yield* connect(servers)
        for (let count = 0; count < 3; count++) assert.strictEqual(yield* client.call, 200)
        assert.lengthOf(servers.tokenRequests, 1)
        // A tenth of the hour before its end, and not earlier.
        yield* TestClock.adjust("53 minutes")
        assert.strictEqual(yield* client.call, 200)
        assert.lengthOf(servers.tokenRequests, 1)
        yield* TestClock.adjust("90 seconds")
        assert.strictEqual(yield* client.call, 200)
        yield* Effect.yieldNow
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(yield* client.call, 200)
        assert.lengthOf(servers.tokenRequests, 2)
        // The server said no but the first time, when there was no token.
        assert.deepStrictEqual(servers.calls.map(({ headers }) => headers["authorization"]), [
          undefined,
          ...Array.from({ length: 5 }, () => "Bearer access-secret-1"),
          "Bearer access-secret-2"
        ])
      })
  )

  verifies(["OAT-03", "PAIN-64"], "one token request for all who wait", () =>
    Effect.gen(function*() {
      const servers = new Servers.TestTokenEndpoint()
      const client = yield* connect(servers)
      const five = Effect.all(Array.from({ length: 5 }, () => client.call), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* five, [200, 200, 200, 200, 200])
      assert.lengthOf(servers.tokenRequests, 1)
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(yield* five, [200, 200, 200, 200, 200])
      assert.lengthOf(servers.tokenRequests, 2)
    }))

  verifies(
    "OAT-03",
    "a token that cannot be replaced yet is used, and the attempt not repeated at once",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        const client = yield* connect(servers)
        assert.strictEqual(yield* client.call, 200)
        servers.intercept = ({ url }) => url.pathname === "/token" ? { status: 503 } : undefined
        yield* TestClock.adjust("55 minutes")
        for (let count = 0; count < 3; count++) {
          assert.strictEqual(yield* client.call, 200)
          yield* TestClock.adjust("1 second")
        }
        assert.lengthOf(servers.tokenRequests, 2)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(yield* client.call, 200)
        yield* TestClock.adjust("1 second")
        assert.lengthOf(servers.tokenRequests, 3)
      })
  )

  verifies("OAT-14", "no token of another client, although the store is shared", () =>
    Effect.gen(function*() {
      const servers = new Servers.TestTokenEndpoint()
      const store = yield* TokenStore.makeMemory
      assert.strictEqual(yield* (yield* connect(servers, withSecret, { store })).call, 200)
      // The same client takes it up again.
      assert.strictEqual(yield* (yield* connect(servers, withSecret, { store })).call, 200)
      assert.lengthOf(servers.tokenRequests, 1)
      const other = yield* connect(servers, { ...withSecret, clientId: "other" }, { store })
      assert.strictEqual(yield* other.call, 200)
      assert.lengthOf(servers.tokenRequests, 2)
      assert.deepStrictEqual(servers.calls.slice(-2).map(({ headers }) => headers["authorization"]), [
        undefined,
        "Bearer access-secret-2"
      ])
    }))

  verifies(
    ["OAS-03", "OAS-04", "OAS-06"],
    "the scopes asked for before, together with those that were missing",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        servers.intercept = ({ headers, url }) =>
          url.pathname === "/mcp" && headers["authorization"] === "Bearer access-secret-1"
            ? { status: 403, headers: { "www-authenticate": "Bearer error=\"insufficient_scope\", scope=\"write\"" } }
            : undefined
        const client = yield* connect(servers, { ...withSecret, scopes: ["read"] })
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(servers.tokenRequests.map(({ form }) => form.get("scope")), ["read", "read write"])
        const failing = yield* connect(servers, { ...withSecret, stepUp: "fail" })
        servers.tokens.clear()
        assert.strictEqual(yield* failing.call, 403)
      })
  )
})

describe("Whom ClientCredentials.layer trusts", () => {
  verifies(
    ["OAT-14", "OAS-06"],
    "its own authorization server, whatever the server names",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        const others = ["https://other.example", "https://as.example.evil.example"]
        servers.intercept = ({ url }) =>
          url.origin !== servers.issuer && url.pathname === "/.well-known/oauth-authorization-server"
            ? { body: { issuer: url.origin, token_endpoint: `${url.origin}/token` } }
            : undefined
        servers.resourceMetadata = { ...servers.resourceMetadata, authorization_servers: [...others, servers.issuer] }
        assert.strictEqual(yield* (yield* connect(servers)).call, 200)
        assert.lengthOf(servers.tokenRequests, 1)

        servers.resourceMetadata = { ...servers.resourceMetadata, authorization_servers: others }
        const { delivery, message, reason } = yield* (yield* connect(servers)).failure
        assert.strictEqual(delivery, "refused")
        assert.deepInclude(reason, { _tag: "AuthorizationFailed", stage: "token", issuer: others[0] })
        assert.strictEqual(
          message,
          "Authorization failed (token): the client is registered with another authorization server (issuer) than the one "
            + "that the server names; nothing was sent to it"
        )
        assert.lengthOf(servers.seen.filter(({ url }) => url.pathname === "/token"), 1)
      })
  )

  verifies(
    ["PAIN-71", "OAS-06"],
    "no token endpoint inside a network, none that redirects, and no endless answer",
    () =>
      Effect.gen(function*() {
        const table: ReadonlyArray<readonly [endpoint: string, answer: Servers.Answer | undefined, problem: string]> = [
          [
            "https://10.0.0.7/token",
            undefined,
            "discovery): the URL of the token endpoint points into a private network; allow its origin by "
            + "UrlPolicy.layerAllow if it is trusted; nothing was sent to it"
          ],
          [
            "http://as.example/token",
            undefined,
            "discovery): the URL of the token endpoint is not https:, which only a server on this machine may do without; "
            + "nothing was sent to it"
          ],
          [
            "https://as.example/token",
            { status: 307, headers: { location: "https://sink.example/token" } },
            "token): the endpoint redirected the request, which is not followed"
          ],
          [
            "https://as.example/token",
            { body: `{"access_token":"${"a".repeat(4 * 1024 * 1024)}","token_type":"Bearer"}` },
            "token): the answer is over 4194304 bytes"
          ]
        ]
        for (const [endpoint, answer, problem] of table) {
          const servers = new Servers.TestTokenEndpoint()
          servers.metadata = { token_endpoint: endpoint }
          servers.intercept = ({ url }) => url.pathname === "/token" ? answer : undefined
          const { message } = yield* (yield* connect(servers)).failure
          assert.strictEqual(message, `Authorization failed (${problem}`)
          assert.lengthOf(
            servers.seen.filter(({ url }) => url.pathname === "/token"),
            answer === undefined ? 0 : 1,
            endpoint
          )
        }
      })
  )
})

describe("How ClientCredentials.layer fails", () => {
  verifies(
    ["ERR-12", "OAS-06"],
    "as the authorization server says, once, and not as another grant",
    () =>
      Effect.gen(function*() {
        for (const error of ["invalid_client", "unauthorized_client", "invalid_scope", "invalid_grant"]) {
          const servers = new Servers.TestTokenEndpoint()
          servers.intercept = ({ url }) =>
            url.pathname === "/token" ? { status: 400, body: { error, error_description: "\u001b[2Jwhy" } } : undefined
          const { reason } = yield* (yield* connect(servers)).failure
          assert.deepInclude(reason, {
            _tag: error === "invalid_grant" ? "InvalidGrant" : "AuthorizationFailed",
            issuer: servers.issuer,
            excerpt: "\\u001b[2Jwhy"
          })
          assert.lengthOf(servers.tokenRequests, 1)
        }
      })
  )

  verifies("OAS-06", "at once for credentials that cannot be used", () =>
    Effect.gen(function*() {
      const rsa = Servers.keyPair("RS256").pem
      const publicOnly = Crypto.createPublicKey(rsa).export({ format: "pem", type: "spki" }) as string
      const { clientSecret: _, ...bare } = withSecret
      const table: ReadonlyArray<readonly [options: ClientCredentials.Options, path: string]> = [
        [bare, "clientSecret"],
        [{ ...withSecret, issuer: "as.example" }, "issuer"],
        [{ ...withSecret, clientId: "" }, "clientId"],
        [{ ...withSecret, server: "mcp.example" }, "server"],
        [{ ...withSecret, authMethod: "private_key_jwt" }, "privateKey"],
        [{ ...bare, privateKey: { key: rsa, algorithm: "RS256" }, authMethod: "client_secret_post" }, "clientSecret"],
        [{ ...bare, privateKey: { key: rsa, algorithm: "ES256" } }, "privateKey"],
        [{ ...bare, privateKey: { key: publicOnly, algorithm: "RS256" } }, "privateKey"],
        [{ ...bare, privateKey: { key: "not a key", algorithm: "ES256" } }, "privateKey"]
      ]
      for (const [options, path] of table) {
        const { message, reason } = yield* Effect.flip(connect(new Servers.TestTokenEndpoint(), options))
        assert.deepInclude(reason, { _tag: "InvalidRequest", path })
        assert.notInclude(message, "PRIVATE KEY")
      }
    }))

  verifies("SEC-14", "without a word of what is secret", () =>
    Effect.gen(function*() {
      const pair = Servers.keyPair("ES256")
      const traces = new Servers.Traces()
      const texts: Array<string> = []
      const answers: ReadonlyArray<Servers.Answer | undefined> = [
        undefined,
        { status: 400, body: { error: "invalid_client" } },
        { status: 307 },
        { status: 500, body: "no" },
        { body: { access_token: "access-secret-9", token_type: "mac" } }
      ]
      const credentials = [withSecret, {
        issuer: withSecret.issuer,
        clientId: "reporter",
        privateKey: { key: pair.jwk, algorithm: "ES256" }
      }] as const
      for (const options of credentials) {
        for (const answer of answers) {
          const servers = new Servers.TestTokenEndpoint()
          servers.intercept = ({ url }) => url.pathname === "/token" ? answer : undefined
          const client = yield* connect(servers, options, { traces })
          if (answer === undefined) assert.strictEqual(yield* Effect.withSpan(client.call, "call"), 200)
          else {
            const error = yield* Effect.withSpan(client.failure, "call")
            texts.push(String(error), JSON.stringify(error), error.stack ?? "")
          }
        }
      }
      texts.push(...traces.logs, ...traces.spans)
      assert.isAbove(traces.spans.length, 0)
      for (const secret of ["s3cret", "access-secret", pair.jwk.d ?? "", "Basic ", "eyJ"]) {
        for (const text of texts) assert.notInclude(text, secret)
      }
    }))
})

describe("ClientCredentials.layerConfig", () => {
  verifies("OAS-06", "takes credentials from the configuration", () =>
    Effect.gen(function*() {
      const servers = new Servers.TestTokenEndpoint()
      const layer = ClientCredentials.layerConfig({
        issuer: Config.String("ISSUER"),
        clientId: Config.String("CLIENT_ID"),
        clientSecret: Config.Redacted("CLIENT_SECRET")
      }).pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({
        env: { ISSUER: servers.issuer, CLIENT_ID: "report:er", CLIENT_SECRET: "s3cret: 100%&+ä" }
      }))))
      const client = yield* Servers.connect(servers, Layer.orDie(layer))
      assert.strictEqual(yield* client.call, 200)
      assert.strictEqual(
        servers.tokenRequests[0]?.headers["authorization"],
        "Basic cmVwb3J0JTNBZXI6czNjcmV0JTNBKzEwMCUyNSUyNiUyQiVDMyVBNA=="
      )
    }))
})
