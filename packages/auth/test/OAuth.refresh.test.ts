import { assert, describe } from "@effect/vitest"
import { Authorize, OAuth, TokenStore } from "@mcp-effect/auth"
import * as SteppedClock from "@mcp-effect/conformance/auth/SteppedClock"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Clock, Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { ServerResponse } from "node:http"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"
import * as Servers from "./TestTokenEndpoint.ts"

// ====================================================================================================================
// In memory, on the test's clock
// ====================================================================================================================

/** Servers whose tokens come with refresh tokens, numbered alike. */
const refreshing = (expiresIn: number): Servers.TestTokenEndpoint => {
  const servers = new Servers.TestTokenEndpoint()
  servers.expiresIn = expiresIn
  servers.metadata = {
    authorization_endpoint: `${servers.issuer}/authorize`,
    code_challenge_methods_supported: ["S256"],
    client_id_metadata_document_supported: true
  }
  servers.intercept = (seen) => issued(servers, seen)
  return servers
}

const issued = (servers: Servers.TestTokenEndpoint, { at, url }: Servers.Seen): Servers.Answer | undefined =>
  url.pathname === "/token"
    ? servers.issue(at, { refresh_token: `refresh-secret-${servers.tokens.size + 1}` })
    : undefined

/** Answers refreshes, and leaves everything else to the servers. */
const answering = (servers: Servers.TestTokenEndpoint, answer: Servers.Answer) => {
  servers.intercept = (seen) => seen.form.get("grant_type") === "refresh_token" ? answer : issued(servers, seen)
}

const healthy = (servers: Servers.TestTokenEndpoint) => {
  servers.intercept = (seen) => issued(servers, seen)
}

/** Somebody who is always signed in at the authorization server. */
const person = Authorize.layer({
  redirectUri: "http://127.0.0.1/callback",
  authorize: ({ url }) =>
    Effect.succeed(new URLSearchParams({ code: "code-secret", state: url.searchParams.get("state") ?? "" }))
})

const connect = Effect.fnUntraced(function*(
  servers: Servers.TestTokenEndpoint,
  rest: Servers.Options & { readonly authorize?: Layer.Layer<Authorize.Authorize> } = {}
) {
  const { authorize = person, ...options } = rest
  const layer = OAuth.layer({ clientMetadataUrl: "https://app.example/client.json" }).pipe(Layer.provide(authorize))
  return yield* Servers.connect(servers, layer, options)
})

/** A store that tells when a text has been kept. */
const telling = Effect.gen(function*() {
  const store = yield* TokenStore.makeMemory
  const waiting = new Set<{ readonly text: string; readonly kept: Deferred.Deferred<void> }>()
  return {
    store: TokenStore.TokenStore.of({
      ...store,
      compareAndSet: (key, expected, next) =>
        Effect.tap(store.compareAndSet(key, expected, next), () =>
          Effect.sync(() => {
            for (const { kept, text } of waiting) {
              if (next !== undefined && Redacted.value(next).includes(text)) Deferred.doneUnsafe(kept, Effect.void)
            }
          }))
    }),
    /** Waits until a text is kept, from now on. */
    kept: (text: string) => {
      const kept = Deferred.makeUnsafe<void>()
      waiting.add({ text, kept })
      return Deferred.await(kept)
    }
  }
})

const grants = ({ tokenRequests }: Servers.TestTokenEndpoint) => tokenRequests.map(({ form }) => form.get("grant_type"))

const presented = ({ calls }: Servers.TestTokenEndpoint) =>
  calls.map(({ headers }) => headers["authorization"]?.replace("Bearer access-secret-", "") ?? "none")

describe("A token that runs out", () => {
  verifies(
    ["OAT-03", "PAIN-67"],
    "is replaced a minute or a tenth of its life ahead, while it is still presented; no request fails",
    () =>
      Effect.gen(function*() {
        // Lifetime, and when it is due, in seconds: 10 %, 10 % and a minute at once, a minute, half of a short life.
        const table = [[3600, 3240], [600, 540], [300, 240], [90, 45]] as const
        for (const [lifetime, due] of table) {
          const servers = refreshing(lifetime)
          const { kept, store } = yield* telling
          const client = yield* connect(servers, { store })
          assert.strictEqual(yield* client.call, 200)
          yield* TestClock.adjust(due * 1000 - 1)
          assert.strictEqual(yield* client.call, 200)
          assert.deepStrictEqual(grants(servers), ["authorization_code"])

          const replaced = kept("access-secret-2")
          yield* TestClock.adjust(1)
          assert.strictEqual(yield* client.call, 200)
          yield* replaced
          // Whoever keeps it goes on first.
          yield* Effect.yieldNow
          assert.strictEqual(yield* client.call, 200)
          assert.deepStrictEqual(grants(servers), ["authorization_code", "refresh_token"])
          assert.deepStrictEqual(presented(servers), ["none", "1", "1", "1", "2"])
        }
      })
  )

  verifies(
    "OAT-03",
    "is presented as long as it is good where it cannot be refreshed, which is not tried each time",
    () =>
      Effect.gen(function*() {
        const servers = refreshing(3600)
        const client = yield* connect(servers)
        assert.strictEqual(yield* client.call, 200)
        answering(servers, { status: 503, body: {} })
        yield* TestClock.adjust("55 minutes")
        for (const pause of ["1 second", "8 seconds", "2 seconds"] as const) {
          assert.strictEqual(yield* client.call, 200)
          // What goes on in the background comes to its end.
          yield* TestClock.adjust(pause)
          assert.deepStrictEqual(grants(servers), ["authorization_code", "refresh_token"])
        }
        assert.strictEqual(yield* client.call, 200)
        yield* TestClock.adjust(1)
        assert.lengthOf(grants(servers), 3)
        assert.deepStrictEqual(presented(servers), ["none", "1", "1", "1", "1", "1"])
      })
  )

  verifies(
    "PAIN-67",
    "is not sent any more once it has, even where nobody can replace it",
    () =>
      Effect.gen(function*() {
        const servers = refreshing(3600)
        // It issues no refresh token.
        servers.intercept = () => undefined
        const store = yield* TokenStore.makeMemory
        assert.strictEqual(yield* (yield* connect(servers, { store })).call, 200)
        const client = yield* connect(servers, { store, authorize: Authorize.layerNone })
        yield* TestClock.adjust("59 minutes")
        assert.strictEqual(yield* client.call, 200)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* client.call, 401)
        assert.deepStrictEqual(presented(servers), ["none", "1", "1", "none"])
      })
  )
})

describe("A refresh that fails", () => {
  const table: ReadonlyArray<readonly [answer: Servers.Answer, expected: object]> = [
    [{ status: 500, body: "oops" }, { status: 500, isTransient: true }],
    [{ status: 429, body: {} }, { status: 429, isTransient: true }],
    [{ status: 400, body: { error: "invalid_request" } }, { error: "invalid_request", isTransient: false }],
    [{ status: 401, body: { error: "invalid_client" } }, { error: "invalid_client", isTransient: false }],
    [{ status: 307, headers: { location: "https://evil.example/" } }, { status: 307, isTransient: false }],
    [{ body: "<html>" }, { isTransient: false }],
    [{ body: { access_token: "access-secret-9" } }, { isTransient: false }],
    [{ body: { access_token: "access\nsecret", token_type: "Bearer" } }, { isTransient: false }],
    [{ body: { access_token: "access-secret-9", token_type: "mac" } }, { isTransient: false }]
  ]
  for (const [answer, expected] of table) {
    verifies(
      ["OAT-09", "ERR-12", "OAT-02"],
      `is told and changes nothing: ${answer.status ?? 200} ${JSON.stringify(answer.body ?? null)}`,
      () =>
        Effect.gen(function*() {
          const servers = refreshing(3600)
          const client = yield* connect(servers)
          assert.strictEqual(yield* client.call, 200)
          answering(servers, answer)
          yield* TestClock.adjust("1 hour")
          const { delivery, reason } = yield* client.failure
          assert(reason._tag === "AuthorizationFailed", reason._tag)
          assert.strictEqual(reason.stage, "token")
          assert.strictEqual(delivery, "unsent")
          assert.deepInclude({ status: reason.status, error: reason.error, isTransient: reason.isTransient }, expected)
          assert.lengthOf(servers.calls, 2)
          // The same refresh token is good when the authorization server is.
          healthy(servers)
          assert.strictEqual(yield* client.call, 200)
          assert.deepStrictEqual(grants(servers), ["authorization_code", "refresh_token", "refresh_token"])
          assert.deepStrictEqual(
            servers.tokenRequests.slice(1).map(({ form }) => form.get("refresh_token")),
            ["refresh-secret-1", "refresh-secret-1"]
          )
        })
    )
  }

  verifies(
    ["OAT-09", "ERR-12"],
    "by invalid_grant leads to a new sign-in, and to InvalidGrant where nobody can be asked",
    () =>
      Effect.gen(function*() {
        const servers = refreshing(3600)
        const store = yield* TokenStore.makeMemory
        assert.strictEqual(yield* (yield* connect(servers, { store })).call, 200)
        answering(servers, {
          status: 400,
          body: { error: "invalid_grant", error_description: "it was\u001b[2J revoked" }
        })
        yield* TestClock.adjust("1 hour")
        const nobody = yield* connect(servers, { store, authorize: Authorize.layerNone })
        for (let count = 0; count < 2; count++) {
          const { delivery, reason } = yield* nobody.failure
          assert(reason._tag === "InvalidGrant", reason._tag)
          assert.strictEqual(reason.issuer, servers.issuer)
          assert.notInclude(reason.excerpt ?? "", "\u001b")
          assert.include(reason.excerpt ?? "", "revoked")
          assert.strictEqual(delivery, "refused")
        }
        assert.strictEqual(yield* (yield* connect(servers, { store })).call, 200)
        // The refused token was shown once.
        assert.deepStrictEqual(grants(servers), ["authorization_code", "refresh_token", "authorization_code"])
      })
  )
})

// ====================================================================================================================
// Over real connections
// ====================================================================================================================

describe("A request to refresh", () => {
  verifiesLive(
    ["OAT-04", "OAT-10", "PAIN-70"],
    "is made as the client that the token was issued to, for the same resource",
    () =>
      Effect.gen(function*() {
        const document = "https://app.example/client.json"
        const table: ReadonlyArray<readonly [OAuth.Options, expected: object, basic?: string]> = [
          [{}, { client_id: "client-1", resource: "SERVER" }],
          [{ resource: "omit" }, { client_id: "client-1" }],
          [{ clientMetadataUrl: document, resource: "urn:example:mcp" }, {
            client_id: document,
            resource: "urn:example:mcp"
          }],
          // Form-encoded before they are joined: "given:s%3A+%25%26%2B".
          [
            { clients: [{ issuer: "AS", clientId: "given", clientSecret: "s: %&+" }] },
            { resource: "SERVER" },
            "given:s%3A+%25%26%2B"
          ]
        ]
        for (const [options, expected, basic] of table) {
          const authority = yield* TestAuthority.start
          authority.metadataOverrides = { client_id_metadata_document_supported: true }
          authority.clients.set("given", { secret: "s: %&+", issuer: authority.issuer })
          const clients = options.clients?.map((client) => ({ ...client, issuer: authority.issuer }))
          if (clients === undefined) authority.clients.delete("given")
          const client = yield* Client.make(authority, { ...options, clients })
          assert.strictEqual(yield* client.call, 200)
          const [refreshToken] = authority.refreshTokens.keys()
          authority.expireAll()
          assert.strictEqual(yield* client.call, 200)
          const request = authority.requests("/as1/token")[1]
          assert.deepStrictEqual(
            Object.fromEntries(request?.form ?? []),
            JSON.parse(
              JSON.stringify({ grant_type: "refresh_token", refresh_token: refreshToken, ...expected }).replace(
                "SERVER",
                authority.url
              )
            )
          )
          assert.strictEqual(
            request?.headers.authorization,
            basic === undefined ? undefined : `Basic ${Buffer.from(basic).toString("base64")}`
          )
        }
      })
  )
})

describe("An answer that comes late", () => {
  verifiesLive(
    "PAIN-64",
    "to a token that was replaced meanwhile leads to the new one, not to a refresh",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        const arrived = yield* Deferred.make<ServerResponse>()
        authority.intercept = ({ path }, raw) => {
          if (path !== "/mcp") return false
          authority.intercept = () => false
          Deferred.doneUnsafe(arrived, Effect.succeed(raw))
          return true
        }
        const late = yield* Effect.forkScoped(client.call)
        const raw = yield* Deferred.await(arrived)
        authority.expireAll()
        assert.strictEqual(yield* client.call, 200)
        raw.writeHead(401, { "www-authenticate": "Bearer error=\"invalid_token\"" })
        raw.end()
        assert.strictEqual(yield* Fiber.join(late), 200)
        assert.deepStrictEqual(
          authority.requests(/token$/).map(({ form }) => form.get("grant_type")),
          ["authorization_code", "refresh_token"]
        )
      })
  )

  verifiesLive(
    "PAIN-65",
    "is not needed to learn that another client of the store has a new token",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const store = yield* TokenStore.makeMemory
        const first = yield* Client.make(authority, { store })
        const second = yield* Client.make(authority, { store })
        assert.deepStrictEqual([yield* first.call, yield* second.call], [200, 200])
        authority.expireAll()
        assert.strictEqual(yield* second.call, 200)
        const before = authority.seen.length
        assert.strictEqual(yield* first.call, 200)
        // Neither discovery nor a refresh: the store had it.
        assert.deepStrictEqual(authority.seen.slice(before).map(({ path }) => path), ["/mcp", "/mcp"])
      })
  )

  verifiesLive(
    ["OAT-05", "OAT-14"],
    "of an authorization server that is not the server's any more is neither kept nor presented",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const time = SteppedClock.make(yield* Clock.Clock, 3_500_000)
        const store = yield* TokenStore.makeMemory
        const client = yield* Effect.provideService(Client.make(authority, { store }), Clock.Clock, time.clock)
        const call = Effect.provideService(client.call, Clock.Clock, time.clock)
        assert.strictEqual(yield* call, 200)
        const asked = yield* Deferred.make<ServerResponse>()
        authority.intercept = ({ form, path }, raw) => {
          if (form.get("grant_type") !== "refresh_token") return false
          assert.strictEqual(path, "/as1/token")
          Deferred.doneUnsafe(asked, Effect.succeed(raw))
          return true
        }
        // It is due, and refreshed in the background; meanwhile the server turns to another authorization server.
        time.step()
        assert.strictEqual(yield* call, 200)
        const raw = yield* Deferred.await(asked)
        authority.migrate(`${authority.origin}/as2`)
        assert.strictEqual(yield* call, 200)
        TestAuthority.json(raw, { access_token: "late-secret", token_type: "Bearer", expires_in: 3600 })
        // The lock of the store is free when the late answer has been dealt with.
        yield* store.withLock(authority.url, Effect.void)
        assert.notInclude(Redacted.value((yield* store.get(authority.url)) ?? Redacted.make("")), "late-secret")
        authority.migrate(`${authority.origin}/as1`)
        assert.strictEqual(yield* call, 200)
        const sent = authority.requests("/mcp").map(({ headers }) => headers.authorization)
        assert.notInclude(sent, "Bearer late-secret")
      })
  )

  verifiesLive(
    ["OAZ-04", "OAT-05"],
    "of a person is not exchanged where another client learned that it is of no use",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const store = yield* TokenStore.makeMemory
        const asked = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const authorize = Authorize.layer({
          redirectUri: "http://127.0.0.1/callback",
          authorize: ({ url }) =>
            Deferred.succeed(asked, undefined).pipe(
              Effect.andThen(Deferred.await(go)),
              Effect.andThen(Client.visit(url))
            )
        })
        const slow = yield* Client.make(authority, { store, authorize })
        const quick = yield* Client.make(authority, { store })
        const waiting = yield* Effect.forkScoped(slow.failure)
        yield* Deferred.await(asked)
        authority.migrate(`${authority.origin}/as2`)
        assert.strictEqual(yield* quick.call, 200)
        yield* Deferred.succeed(go, undefined)
        const { reason } = yield* Fiber.join(waiting)
        assert(reason._tag === "AuthorizationFailed", reason._tag)
        assert.include(reason.problem, "the server has meanwhile named another authorization server")
        assert.lengthOf(authority.requests("/as1/token"), 0)
        // The other's token is there for it.
        assert.strictEqual(yield* slow.call, 200)
        assert.lengthOf(authority.requests(/authorize$/), 2)
      })
  )

  verifiesLive(
    "OAR-05",
    "and forgets the client ends the registration, which is then made anew",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        authority.expireAll()
        authority.intercept = ({ form }, raw) => {
          if (form.get("grant_type") !== "refresh_token") return false
          TestAuthority.json(raw, { error: "invalid_client" }, 401)
          return true
        }
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(
          authority.requests(/authorize$/).map(({ query }) => query.get("client_id")),
          ["client-1", "client-2"]
        )
      })
  )
})
