import { assert, describe } from "@effect/vitest"
import { Authorize, ClientCredentials, Dpop, OAuth, TokenStore } from "@mcp-effect/auth"
import { McpClient } from "@mcp-effect/client"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { NodeHttp } from "@mcp-effect/node"
import type { McpError } from "@mcp-effect/protocol"
import { StreamableHttpTransport } from "@mcp-effect/transport"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import { generateKeyPairSync } from "node:crypto"
import { signIn } from "../src/auth/Person.ts"
import * as SteppedClock from "../src/auth/SteppedClock.ts"
import * as AuthorizationServer from "../src/servers/AuthorizationServer.ts"
import * as ProtectedServer from "../src/servers/ProtectedServer.ts"

const timeoutMillis = 60_000

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" })
const privateKey = { key: pair.privateKey.export({ format: "jwk" }), algorithm: "ES256", keyId: "k1" } as const

const unattended = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] }
const clients: ReadonlyArray<AuthorizationServer.RegisteredClient> = [
  { ...unattended, client_id: "by:header", client_secret: "s: %&+", token_endpoint_auth_method: "client_secret_basic" },
  { ...unattended, client_id: "by-body", client_secret: "s: %&+", token_endpoint_auth_method: "client_secret_post" },
  {
    ...unattended,
    client_id: "by-key",
    jwks: { keys: [{ ...pair.publicKey.export({ format: "jwk" }), kid: "k1" }] },
    token_endpoint_auth_method: "private_key_jwt"
  }
]

type Authorized = Layer.Layer<HttpClient.HttpClient, McpError.McpError, HttpClient.HttpClient>

const connect = (url: string, authorization: Authorized, protocol?: "legacy") =>
  Effect.map(
    Layer.build(
      McpClient.layer({ protocol }).pipe(
        Layer.provide(StreamableHttpTransport.layer({ url })),
        Layer.provide(authorization),
        Layer.provide(NodeHttp.layer())
      )
    ),
    Context.get(McpClient.McpClient)
  )

const textOf = ({ content: [first] }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  first !== undefined && "text" in first ? first.text : undefined

const whoami = (client: McpClient.McpClient) => Effect.map(client.callTool("whoami", {}), textOf)

/** The authorization server and a server that trusts it. */
const start = (options?: AuthorizationServer.Options, rest?: ProtectedServer.Options) =>
  Effect.gen(function*() {
    const authorizationServer = yield* AuthorizationServer.start({ clients, ...options })
    const server = yield* ProtectedServer.start(authorizationServer, rest)
    return { authorizationServer, issuer: authorizationServer.issuer, server }
  })

describe("client credentials at a real authorization server", () => {
  const cases: ReadonlyArray<Omit<ClientCredentials.Options, "issuer">> = [
    { clientId: "by:header", clientSecret: "s: %&+" },
    { clientId: "by-body", clientSecret: "s: %&+", authMethod: "client_secret_post" },
    { clientId: "by-key", privateKey }
  ]
  for (const credentials of cases) {
    for (const protocol of [undefined, "legacy"] as const) {
      verifiesLive(
        ["OAS-06", "OAT-10", "OAT-11"],
        `${credentials.clientId}, ${protocol ?? "modern"}: one token serves a whole conversation`,
        Effect.fnUntraced(function*() {
          const { authorizationServer, issuer, server } = yield* start()
          const client = yield* connect(server.url, ClientCredentials.layer({ ...credentials, issuer }), protocol)
          assert.strictEqual(yield* whoami(client), credentials.clientId)
          assert.deepStrictEqual(authorizationServer.tokenRequests, [{
            grantType: "client_credentials",
            clientId: credentials.clientId,
            error: undefined
          }])
          assert.lengthOf(server.calls.filter(({ status }) => status === 401), 1)
        }),
        timeoutMillis
      )
    }
  }

  verifiesLive(
    ["OAS-03", "OAS-06"],
    "asks for the scope that a tool needs, when it needs it",
    Effect.fnUntraced(function*() {
      const { authorizationServer, issuer, server } = yield* start()
      const client = yield* connect(
        server.url,
        ClientCredentials.layer({ issuer, clientId: "by-key", privateKey })
      )
      assert.strictEqual(yield* whoami(client), "by-key")
      assert.strictEqual(textOf(yield* client.callTool("write", {})), "written")
      assert.strictEqual(yield* whoami(client), "by-key")
      assert.lengthOf(authorizationServer.tokenRequests, 2)
      assert.lengthOf(server.calls.filter(({ status }) => status === 403), 1)
    }),
    timeoutMillis
  )

  verifiesLive(
    ["ERR-12", "OAS-06"],
    "tells that the authorization server does not know the client",
    Effect.fnUntraced(function*() {
      const { issuer, server } = yield* start()
      for (const credentials of [{ clientId: "by:header", clientSecret: "wrong" }, { clientId: "x", privateKey }]) {
        const error = yield* Effect.flip(connect(server.url, ClientCredentials.layer({ ...credentials, issuer })))
        assert.deepInclude(error.reason, {
          _tag: "AuthorizationFailed",
          stage: "token",
          error: "invalid_client",
          status: 401
        })
      }
    }),
    timeoutMillis
  )
})

describe("DPoP at a real authorization server", () => {
  const credentials = { clientId: "by-key", privateKey } as const

  for (const nonces of [false, true]) {
    verifiesLive(
      "OAS-06",
      `proves each request${nonces ? ", with the nonces of both servers" : ""}`,
      Effect.fnUntraced(function*() {
        const { authorizationServer, issuer, server } = yield* start(
          { nonces },
          { scheme: "dpop", requestsPerNonce: nonces ? 3 : undefined }
        )
        const authorization = ClientCredentials.layer({ ...credentials, issuer }).pipe(Layer.provide(Dpop.layer()))
        const client = yield* connect(server.url, authorization)
        const calls = Array.from({ length: 10 }, () => whoami(client))
        for (const call of calls) assert.strictEqual(yield* call, "by-key")
        assert.deepStrictEqual(
          new Set(yield* Effect.all(calls, { concurrency: "unbounded" })),
          new Set(["by-key"])
        )
        assert.deepStrictEqual(authorizationServer.tokenRequests.map(({ error }) => error), [
          ...(nonces ? ["use_dpop_nonce"] : []),
          undefined
        ])
        assert.isTrue(server.calls.every(({ scheme }, index) => (scheme === "DPoP") === (index > 0)))
      }),
      timeoutMillis
    )
  }

  verifiesLive(
    ["OAT-01", "OAS-06"],
    "a server that takes bound tokens alone is not worth a token of a client that has no key",
    Effect.fnUntraced(function*() {
      const { authorizationServer, issuer, server } = yield* start({}, { scheme: "dpop" })
      const error = yield* Effect.flip(connect(server.url, ClientCredentials.layer({ ...credentials, issuer })))
      assert.deepInclude(error.reason, { _tag: "AuthorizationFailed", stage: "token" })
      assert.deepStrictEqual(authorizationServer.tokenRequests, [])
    }),
    timeoutMillis
  )
})

describe("a sign-in at a real authorization server", () => {
  /** A client of somebody who signs in as often as asked, and runs on a clock that the test steps. */
  const startSignedIn = Effect.fnUntraced(function*(scheme: "bearer" | "dpop") {
    const { authorizationServer, server } = yield* start(
      { accessTokenSeconds: 60, nonces: scheme === "dpop" },
      { scheme, requestsPerNonce: 5 }
    )
    const store = yield* TokenStore.makeMemory
    const time = SteppedClock.make(yield* Clock.Clock, 61_000)
    const signIns: Array<URL> = []
    const person = Authorize.layer({
      redirectUri: "http://127.0.0.1/callback",
      authorize: ({ redirectUri, url }) => {
        signIns.push(url)
        return signIn(url, redirectUri, { name: "ada", choice: "allow" })
      }
    })
    const authorization = OAuth.layer().pipe(
      Layer.provide(person),
      Layer.provide(Layer.succeed(TokenStore.TokenStore, store)),
      Layer.provide(scheme === "dpop" ? Dpop.layer() : Layer.empty),
      Layer.provide(Logger.layer([]))
    )
    const onTime = Effect.provideService(Clock.Clock, time.clock)
    const client = yield* onTime(connect(server.url, authorization))
    return { authorizationServer, server, store, time, signIns, whoami: onTime(whoami(client)) }
  })

  for (const scheme of ["bearer", "dpop"] as const) {
    verifiesLive(
      ["OAS-05", "OAT-03", "OAS-06"],
      `${scheme}: registers, signs in and consents once, then refreshes with tokens that rotate`,
      Effect.fnUntraced(function*() {
        const { authorizationServer: { tokenRequests }, signIns, time, whoami } = yield* startSignedIn(scheme)
        for (let count = 0; count < 4; count++) {
          assert.isString(yield* whoami)
          time.step()
        }
        assert.lengthOf(signIns, 1)
        assert.deepStrictEqual(
          tokenRequests.filter(({ error }) => error === undefined).map(({ grantType }) => grantType),
          ["authorization_code", "refresh_token", "refresh_token", "refresh_token"]
        )
        assert.isTrue(tokenRequests.every(({ error }) => error === undefined || error === "use_dpop_nonce"))
      }),
      timeoutMillis
    )
  }

  verifiesLive(
    ["OAD-20", "ERR-12"],
    "tells that the person said no",
    Effect.fnUntraced(function*() {
      const { authorizationServer, server } = yield* start()
      const person = Authorize.layer({
        redirectUri: "http://127.0.0.1/callback",
        authorize: ({ redirectUri, url }) => signIn(url, redirectUri, { name: "ada", choice: "deny" })
      })
      const authorization = OAuth.layer().pipe(Layer.provide(person), Layer.provide(Logger.layer([])))
      const error = yield* Effect.flip(connect(server.url, authorization))
      assert.deepInclude(error.reason, {
        _tag: "AuthorizationFailed",
        stage: "sign-in",
        error: "access_denied",
        excerpt: "The person said no"
      })
      assert.deepStrictEqual(authorizationServer.tokenRequests, [])
    }),
    timeoutMillis
  )

  verifiesLive(
    ["OAT-09", "OAS-05"],
    "a refresh token that somebody else used is worth nothing any more, to both",
    Effect.fnUntraced(function*() {
      const { authorizationServer: { issuer }, server, signIns, store, time, whoami } = yield* startSignedIn("bearer")
      assert.isString(yield* whoami)
      const kept = JSON.parse(Redacted.value((yield* store.get(server.url)) ?? Redacted.make("{}")))
      const [{ token }] = kept.authorizations
      const steal = (refreshToken: string) =>
        Effect.promise(async () => {
          const parameters = { grant_type: "refresh_token", refresh_token: refreshToken, client_id: token.clientId }
          const response = await fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams(parameters) })
          return await response.json() as Record<string, string>
        })
      const { refresh_token: stolen = "" } = yield* steal(token.refreshToken)
      assert.notStrictEqual(stolen, "")
      time.step()
      // The reuse is noticed, the family revoked, and the person asked.
      assert.isString(yield* whoami)
      assert.lengthOf(signIns, 2)
      assert.strictEqual((yield* steal(stolen))["error"], "invalid_grant")
      time.step()
      assert.isString(yield* whoami)
      assert.lengthOf(signIns, 2)
    }),
    timeoutMillis
  )
})
