import { assert, describe } from "@effect/vitest"
import { Authorize, TokenStore } from "@mcp-effect/auth"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import type { Layer } from "effect"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"

const redirectUri = "http://127.0.0.1/callback"

/** Follows the URL as a browser does, and gives where it ends. */
const visit = (url: URL): Effect.Effect<URL> =>
  Effect.promise(async () => {
    const response = await fetch(url, { redirect: "manual" })
    await response.body?.cancel()
    return new URL(response.headers.get("location") ?? "about:blank")
  })

/** A store in memory, and what is in it. */
const keeping = () => {
  const texts = new Map<string, Redacted.Redacted>()
  const isSame = (left: Redacted.Redacted | undefined, right: Redacted.Redacted | undefined): boolean =>
    left === undefined || right === undefined ? left === right : Redacted.value(left) === Redacted.value(right)
  const store: TokenStore.TokenStore["Service"] = {
    get: (key) => Effect.sync(() => texts.get(key)),
    compareAndSet: (key, expected, next) =>
      Effect.sync(() => {
        if (!isSame(texts.get(key), expected)) return false
        if (next === undefined) texts.delete(key)
        else texts.set(key, next)
        return true
      }),
    withLock: (_, effect) => effect
  }
  return { store, texts }
}

const stored = (texts: ReadonlyMap<string, Redacted.Redacted>): string =>
  [...texts.values()].map((text) => Redacted.value(text)).join()

/** A person who signs in as soon as `until` allows it. */
const person = (until: (url: URL) => Effect.Effect<unknown>): Layer.Layer<Authorize.Authorize> =>
  Authorize.layer({ redirectUri, authorize: ({ url }) => Effect.andThen(until(url), visit(url)) })

const grants = (authority: TestAuthority.TestAuthority, path: string | RegExp = /token$/) =>
  authority.requests(path).map(({ form }) => form.get("grant_type"))

const calls = (authority: TestAuthority.TestAuthority) =>
  authority.requests("/mcp").map(({ headers }) => headers.authorization?.replace("Bearer ", ""))

describe("Tokens of several authorization servers", () => {
  verifiesLive(
    ["OAT-15", "OAT-02"],
    "one that a server refuses when it names another authorization server is gone from the store and never sent again",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { store, texts } = keeping()
        const client = yield* Client.make(authority, { store })
        assert.strictEqual(yield* client.call, 200)
        const first = calls(authority).at(-1) ?? ""
        assert.include(stored(texts), first)
        authority.migrate(`${authority.origin}/as2`)
        assert.strictEqual(yield* client.call, 200)
        assert.notInclude(stored(texts), first)
        authority.migrate(`${authority.origin}/as1`)
        assert.strictEqual(yield* client.call, 200)
        // Once when it was good, once when it was refused.
        assert.strictEqual(calls(authority).filter((token) => token === first).length, 2)
        assert.lengthOf(authority.requests("/as1/register"), 1)
      })
  )

  verifiesLive(
    "OAT-07",
    "one that was not refused is taken up again when its authorization server returns",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        const first = calls(authority).at(-1)
        // The server wants more than the token of the first one is good for, and names a second one for it.
        authority.pathMetadata = { resource: authority.url, authorization_servers: [`${authority.origin}/as2`] }
        authority.intercept = ({ headers, path }, raw) => {
          if (path !== "/mcp") return false
          const token = authority.tokens.get(headers.authorization?.replace("Bearer ", "") ?? "")
          if (token?.issuer.endsWith("as2") === true) TestAuthority.json(raw, { ok: true })
          else {
            raw.writeHead(403, { "www-authenticate": "Bearer error=\"insufficient_scope\", scope=\"write\"" })
            raw.end()
          }
          return true
        }
        assert.strictEqual(yield* client.call, 200)
        authority.intercept = () => false
        authority.migrate(`${authority.origin}/as1`)
        assert.strictEqual(yield* client.call, 200)
        assert.strictEqual(calls(authority).at(-1), first)
        assert.deepStrictEqual(authority.requests(/authorize$/).map(({ path }) => path), [
          "/as1/authorize",
          "/as2/authorize"
        ])
      })
  )

  verifiesLive(
    "OAZ-04",
    "a server that turns to another one during a sign-in ends it, and its code is not exchanged",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const asked = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        let isFirst = true
        const client = yield* Client.make(authority, {
          authorize: person(() => {
            if (!isFirst) return Effect.void
            isFirst = false
            return Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(go))
          })
        })
        const waiting = yield* Effect.forkScoped(client.failure)
        yield* Deferred.await(asked)
        authority.migrate(`${authority.origin}/as2`)
        assert.strictEqual(yield* client.call, 200)
        yield* Deferred.succeed(go, undefined)
        const error = yield* Fiber.join(waiting)
        assert(error.reason._tag === "AuthorizationFailed")
        assert.include(error.reason.problem, "another authorization server")
        assert.lengthOf(authority.requests("/as1/token"), 0)
      })
  )
})

describe("Sign-ins that share a store", () => {
  verifiesLive(
    ["OAZ-13", "OAT-06"],
    "keep their states apart, and a late one does not undo another",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const store = yield* TokenStore.makeMemory
        const asked = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const slow = yield* Client.make(authority, {
          store,
          principal: "slow",
          authorize: person(() => Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(go)))
        })
        const quick = yield* Client.make(authority, { store, principal: "quick" })
        const late = yield* Effect.forkScoped(slow.call)
        yield* Deferred.await(asked)
        assert.strictEqual(yield* quick.call, 200)
        yield* Deferred.succeed(go, undefined)
        assert.strictEqual(yield* Fiber.join(late), 200)
        const states = authority.requests(/authorize$/).map(({ query }) => query.get("state"))
        assert.strictEqual(new Set(states).size, 2)
        // Each goes on with its own token.
        assert.deepStrictEqual([yield* quick.call, yield* slow.call], [200, 200])
        assert.deepStrictEqual(grants(authority), ["authorization_code", "authorization_code"])
      })
  )
})

describe("Refresh", () => {
  verifiesLive(
    ["PAIN-64", "OAT-04"],
    "of an expired token happens once for five calls, which all succeed",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        authority.expiresIn = 1
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        authority.expireAll()
        authority.expiresIn = 3600
        const outcomes = yield* Effect.all(Array.from({ length: 5 }, () => client.call), { concurrency: "unbounded" })
        assert.deepStrictEqual(outcomes, [200, 200, 200, 200, 200])
        assert.deepStrictEqual(grants(authority), ["authorization_code", "refresh_token"])
      })
  )

  verifiesLive(
    "OAT-08",
    "keeps the refresh token and the scopes where the answer leaves them out",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        authority.challengedScope = "read"
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        const [first = ""] = authority.refreshTokens.keys()
        authority.intercept = ({ form, path }, raw) => {
          if (form.get("grant_type") !== "refresh_token") return false
          const token = `access-secret-${authority.requests(path).length}`
          authority.tokens.set(token, {
            issuer: authority.issuer,
            scope: "read",
            expiresAt: Date.now() + 3_600_000,
            family: token
          })
          TestAuthority.json(raw, { access_token: token, token_type: "Bearer", expires_in: 3600 })
          return true
        }
        for (let round = 0; round < 2; round++) {
          authority.expireAll()
          assert.strictEqual(yield* client.call, 200)
        }
        const refreshes = authority.requests(/token$/).slice(1).map(({ form }) => form.get("refresh_token"))
        assert.deepStrictEqual(refreshes, [first, first])
        // The scopes asked for so far are known still: a step-up asks for them, too.
        authority.requiredScope = "write"
        authority.intercept = () => false
        assert.strictEqual(yield* client.call, 200)
        assert.strictEqual(authority.requests(/authorize$/).at(-1)?.query.get("scope"), "read write")
      })
  )
})

describe("A person", () => {
  verifiesLive("PAIN-66", "is asked once for four calls that need a sign-in", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const client = yield* Client.make(authority)
      const outcomes = yield* Effect.all(Array.from({ length: 4 }, () => client.call), { concurrency: "unbounded" })
      assert.deepStrictEqual(outcomes, [200, 200, 200, 200])
      assert.lengthOf(authority.requests(/authorize$/), 1)
    }))

  verifiesLive(
    "PAIN-66",
    "is waited for although the call that asked first was interrupted",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const asked = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const client = yield* Client.make(authority, {
          authorize: person(() => Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(go)))
        })
        const first = yield* Effect.forkScoped(client.call)
        yield* Deferred.await(asked)
        const second = yield* Effect.forkScoped(client.call)
        yield* Fiber.interrupt(first)
        yield* Deferred.succeed(go, undefined)
        assert.strictEqual(yield* Fiber.join(second), 200)
        assert.lengthOf(authority.requests(/authorize$/), 1)
      })
  )
})

describe("The store", () => {
  verifiesLive(
    "OAT-12",
    "is whatever keeps a text for a key; without one tokens are forgotten with the client",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { store, texts } = keeping()
        assert.strictEqual(yield* (yield* Client.make(authority, { store })).call, 200)
        assert.strictEqual(yield* (yield* Client.make(authority, { store })).call, 200)
        assert.lengthOf(authority.requests(/authorize$/), 1)
        assert.strictEqual(texts.size, 1)
        // What is removed is forgotten.
        texts.clear()
        assert.strictEqual(yield* (yield* Client.make(authority, { store })).call, 200)
        assert.lengthOf(authority.requests(/authorize$/), 2)
      })
  )
})
