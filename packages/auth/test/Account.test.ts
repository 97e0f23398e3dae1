import { assert, describe, it } from "@effect/vitest"
import { Account, type OAuth, TokenStore } from "@mcp-effect/auth"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import type { McpError } from "@mcp-effect/protocol"
import { Effect, Fiber, Redacted } from "effect"
import { FetchHttpClient, type HttpClient } from "effect/http"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"

const run = <A, E>(
  store: TokenStore.TokenStore["Service"],
  effect: Effect.Effect<A, E, TokenStore.TokenStore | HttpClient.HttpClient>
) => effect.pipe(Effect.provideService(TokenStore.TokenStore, store), Effect.provide(FetchHttpClient.layer))

/** Somebody who signed in at a server, whose authorization server takes tokens back. */
const signedIn = Effect.fnUntraced(function*(options: OAuth.Options = {}, answer: number | "silence" = 200) {
  const authority = yield* TestAuthority.start
  authority.metadataOverrides = { revocation_endpoint: `${authority.origin}/as1/revoke` }
  authority.intercept = ({ path }, raw) => {
    if (path !== "/as1/revoke") return false
    if (answer !== "silence") raw.writeHead(answer).end()
    return true
  }
  const store = yield* TokenStore.makeMemory
  const client = yield* Client.make(authority, { ...options, store })
  assert.strictEqual(yield* client.call, 200)
  return { authority, client, store, tokens: [...authority.tokens.keys(), ...authority.refreshTokens.keys()] }
})

const textOf = (store: TokenStore.TokenStore["Service"], key: string) =>
  Effect.map(store.get(key), (text) => text === undefined ? undefined : Redacted.value(text))

describe("Account.accounts", () => {
  verifiesLive(["OAT-12", "ERR-12"], "tells what is known of a server, and no secret", () =>
    Effect.gen(function*() {
      const { authority, store, tokens } = yield* signedIn({ scopes: ["read"] })
      const before = Date.now()
      const accounts = yield* run(store, Account.accounts(authority.url))
      const [{ expiresAt = 0, ...account }] = accounts as [Account.Account]
      assert.deepStrictEqual(account, {
        issuer: authority.issuer,
        isCurrent: true,
        isSignedIn: true,
        clientId: "client-1",
        scopes: ["read"],
        resource: authority.url,
        canRefresh: true
      })
      // An hour, less the time that this test takes.
      assert.isTrue(expiresAt > before && expiresAt <= before + 3_600_000)
      assert.lengthOf(tokens, 2)
      for (const token of tokens) assert.notInclude(JSON.stringify(accounts), token)
      assert.deepStrictEqual(yield* run(store, Account.accounts(`${authority.origin}/other`)), [])
    }))

  verifiesLive(
    ["OAT-07", "OAT-12"],
    "has an account for each authorization server, the current one first",
    () =>
      Effect.gen(function*() {
        const { authority, client, store } = yield* signedIn()
        authority.migrate(`${authority.origin}/as2`)
        assert.strictEqual(yield* client.call, 200)
        const accounts = yield* run(store, Account.accounts(authority.url))
        assert.deepStrictEqual(
          accounts.map(({ clientId, isCurrent, isSignedIn, issuer }) => [issuer, isCurrent, isSignedIn, clientId]),
          [
            [`${authority.origin}/as2`, true, true, "client-2"],
            // Its token was rejected by the server that named the other one.
            [`${authority.origin}/as1`, false, false, "client-1"]
          ]
        )
      })
  )

  it.effect("refuses what is no URL", () =>
    Effect.gen(function*() {
      const store = yield* TokenStore.makeMemory
      const tagOf = <A>(effect: Effect.Effect<A, McpError.McpError, TokenStore.TokenStore | HttpClient.HttpClient>) =>
        Effect.map(Effect.flip(run(store, effect)), ({ reason }) => reason._tag)
      assert.strictEqual(yield* tagOf(Account.accounts("server")), "InvalidRequest")
      assert.strictEqual(yield* tagOf(Account.forget("server")), "InvalidRequest")
    }))
})

describe("Account.forget", () => {
  verifiesLive(
    "OAT-12",
    "has both tokens revoked, forgets them, and keeps the registration",
    () =>
      Effect.gen(function*() {
        const { authority, store, tokens } = yield* signedIn({ scopes: ["read"] })
        assert.deepStrictEqual(yield* run(store, Account.forget(authority.url)), [
          { issuer: authority.issuer, isRevoked: true }
        ])
        const [access, refresh] = tokens
        assert.deepStrictEqual(
          authority.requests("/as1/revoke").map(({ form }) => [...form]),
          [
            [["client_id", "client-1"], ["token", refresh], ["token_type_hint", "refresh_token"]],
            [["client_id", "client-1"], ["token", access], ["token_type_hint", "access_token"]]
          ]
        )
        const kept = (yield* textOf(store, authority.url)) ?? ""
        for (const token of tokens) assert.notInclude(kept, token)
        const [account] = yield* run(store, Account.accounts(authority.url))
        assert.deepInclude(account, {
          isSignedIn: false,
          clientId: "client-1",
          scopes: [],
          expiresAt: undefined,
          canRefresh: false
        })
        // The next sign-in registers no client, and asks for no scope of the one before.
        const next = yield* Client.make(authority, { store })
        assert.strictEqual(yield* next.call, 200)
        assert.strictEqual(authority.clients.size, 1)
        assert.isNull(authority.requests("/as1/authorize").at(-1)?.query.get("scope"))
        assert.deepStrictEqual((yield* run(store, Account.forget(authority.url, { registration: "forget" }))).length, 1)
        assert.isUndefined(yield* textOf(store, authority.url))
        assert.deepStrictEqual(yield* run(store, Account.forget(authority.url)), [])
      })
  )

  verifiesLive(["OAT-10", "OAT-14"], "shows who it is as the client is registered", () =>
    Effect.gen(function*() {
      const { authority, store } = yield* signedIn()
      const client = { issuer: authority.issuer, clientId: "app", clientSecret: "s: %" }
      authority.clients.set("app", { secret: "s: %", issuer: authority.issuer })
      yield* run(store, Account.forget(authority.url, { registration: "forget" }))
      const registered = yield* Client.make(authority, { store, clients: [client] })
      assert.strictEqual(yield* registered.call, 200)
      const others = [{ ...client, issuer: "https://other.example", clientSecret: "other" }]
      yield* run(store, Account.forget(authority.url, { clients: [...others, client] }))
      const [refresh] = authority.requests("/as1/revoke").slice(2)
      // RFC 6749 section 2.3.1: app:s%3A+%25 in base64.
      assert.strictEqual(refresh?.headers.authorization, `Basic ${btoa("app:s%3A+%25")}`)
      assert.isFalse(refresh?.form.has("client_id"))
    }))

  for (
    const [what, answer, metadata] of [
      ["refuses", 503, {}],
      ["redirects", 307, {}],
      ["says nothing", "silence", {}],
      ["has no endpoint", 200, { revocation_endpoint: undefined }],
      ["names an endpoint inside a private network", 200, { revocation_endpoint: "https://10.0.0.1/revoke" }]
    ] as const
  ) {
    verifiesLive("OAT-12", `forgets all the same where the authorization server ${what}`, () =>
      Effect.gen(function*() {
        const { authority, store, tokens } = yield* signedIn({}, answer)
        authority.metadataOverrides = { ...authority.metadataOverrides, ...metadata }
        const forgotten = yield* run(store, Account.forget(authority.url, { revocationTimeout: "300 millis" }))
        assert.deepStrictEqual(forgotten, [{ issuer: authority.issuer, isRevoked: false }])
        const kept = (yield* textOf(store, authority.url)) ?? ""
        for (const token of tokens) assert.notInclude(kept, token)
      }))
  }

  verifiesLive("OAT-12", "ends the sign-in of one principal", () =>
    Effect.gen(function*() {
      const { authority, store } = yield* signedIn({ principal: "ada" })
      const bob = yield* Client.make(authority, { store, principal: "bob" })
      assert.strictEqual(yield* bob.call, 200)
      assert.deepStrictEqual(yield* run(store, Account.forget(authority.url)), [])
      assert.lengthOf(yield* run(store, Account.forget(authority.url, { principal: "ada" })), 1)
      const of = (principal: string) =>
        Effect.map(run(store, Account.accounts(authority.url, { principal })), ([account]) => account?.isSignedIn)
      assert.deepStrictEqual([yield* of("ada"), yield* of("bob")], [false, true])
    }))

  verifiesLive(
    ["OAT-12", "PAIN-65"],
    "lets no refresh of another process come in between",
    () =>
      Effect.gen(function*() {
        const { authority, store } = yield* signedIn()
        authority.expireAll()
        const before = yield* store.get(authority.url)
        const record = JSON.parse(before === undefined ? "{}" : Redacted.value(before))
        record.authorizations[0].token.expiresAt = 0
        yield* store.compareAndSet(authority.url, before, Redacted.make(JSON.stringify(record)))
        const other = yield* Client.make(authority, { store })
        const forgetting = yield* Effect.forkChild(run(store, Account.forget(authority.url)), {
          startImmediately: true
        })
        assert.strictEqual(yield* other.call, 200)
        yield* Fiber.join(forgetting)
        // The other one found nothing to refresh, and signed in anew.
        assert.deepStrictEqual(
          authority.requests(/\/(revoke|token)$/).map(({ form, path }) => form.get("grant_type") ?? path),
          ["authorization_code", "/as1/revoke", "/as1/revoke", "authorization_code"]
        )
        const [account] = yield* run(store, Account.accounts(authority.url))
        assert.isTrue(account?.isSignedIn)
      })
  )
})

describe("Account.keepClient", () => {
  verifiesLive(
    ["OAT-04", "OAR-11", "OAT-14"],
    "lets later programs refresh without the credentials in their options",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { issuer } = authority
        const client = { issuer, clientId: "app", clientSecret: "app secret" }
        authority.clients.set("app", { secret: "app secret", issuer })
        const store = yield* TokenStore.makeMemory
        assert.isFalse(yield* run(store, Account.keepClient(authority.url, client)))
        const first = yield* Client.make(authority, { store, clients: [client] })
        assert.strictEqual(yield* first.call, 200)
        assert.isFalse(
          yield* run(store, Account.keepClient(authority.url, { ...client, issuer: "https://other.example" }))
        )
        assert.isFalse(yield* run(store, Account.keepClient(authority.url, { ...client, clientId: "other" })))
        assert.isTrue(yield* run(store, Account.keepClient(authority.url, client)))
        authority.expireAll()
        const later = yield* Client.make(authority, { store })
        assert.strictEqual(yield* later.call, 200)
        assert.strictEqual(authority.requests("/as1/token").at(-1)?.form.get("grant_type"), "refresh_token")
        // And a sign-in, wherever the browser comes back to.
        yield* run(store, Account.forget(authority.url))
        const again = yield* Client.make(authority, { store })
        assert.strictEqual(yield* again.call, 200)
        assert.strictEqual(authority.requests("/as1/authorize").at(-1)?.query.get("client_id"), "app")
        assert.deepStrictEqual(authority.requests("/as1/register"), [])
      })
  )
})
