/**
 * What comes in the middle of a refresh or of a sign-in: the end of the layer, a store that fails, another authorization
 * server, a challenge that cannot be accepted.
 */
import { assert, describe } from "@effect/vitest"
import { Authorize, OAuth, TokenStore } from "@mcp-effect/auth"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Queue, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { ServerResponse } from "node:http"
import * as Flights from "../src/internal/Flights.ts"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"
import * as Servers from "./TestTokenEndpoint.ts"

const refused = "https://169.254.169.254/latest"

const windows = (authority: TestAuthority.TestAuthority): number => authority.requests(/authorize$/).length

const presented = (authority: TestAuthority.TestAuthority): ReadonlyArray<string | undefined> =>
  authority.requests("/mcp").map(({ headers }) => headers.authorization)

const problemOf = (error: McpError.McpError): string => {
  assert(error.reason._tag === "AuthorizationFailed", error.reason._tag)
  return error.reason.problem
}

/** Holds the next request for which `matches` is true, until it is let go. */
const holding = Effect.fnUntraced(function*(
  authority: TestAuthority.TestAuthority,
  matches: (seen: Parameters<TestAuthority.TestAuthority["intercept"]>[0]) => boolean
) {
  const reached = yield* Deferred.make<{ readonly raw: ServerResponse; readonly answer: () => void }>()
  authority.intercept = (seen, raw) => {
    if (!matches(seen)) return false
    authority.intercept = () => false
    Deferred.doneUnsafe(reached, Effect.succeed({ raw, answer: () => authority.handle(seen, raw) }))
    return true
  }
  return Deferred.await(reached)
})

const isRefresh = ({ form }: { readonly form: URLSearchParams }): boolean => form.get("grant_type") === "refresh_token"

/** A person at a window of each authorization server, who signs in when told. */
const persons = Effect.gen(function*() {
  const asked = yield* Queue.unbounded<{ readonly path: string; readonly signIn: Effect.Effect<void> }>()
  return {
    asked: Queue.take(asked),
    authorize: Authorize.layer({
      redirectUri: "http://127.0.0.1/callback",
      authorize: ({ url }) =>
        Effect.gen(function*() {
          const go = yield* Deferred.make<void>()
          yield* Queue.offer(asked, {
            path: url.pathname,
            signIn: Effect.asVoid(Deferred.succeed(go, undefined))
          })
          yield* Deferred.await(go)
          return yield* Client.visit(url)
        })
    })
  }
})

describe("A layer that is closed", () => {
  verifiesLive(
    ["PAIN-64", "PAIN-65"],
    "during a refresh keeps what comes of it: the person stays signed in",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const store = yield* TokenStore.makeMemory
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(Client.make(authority, { store }), scope)
        assert.strictEqual(yield* client.call, 200)
        authority.expireAll()
        const held = yield* holding(authority, isRefresh)
        const calling = yield* Effect.forkScoped(client.call)
        const { answer } = yield* held
        const closing = yield* Effect.forkScoped(Scope.close(scope, Exit.void), { startImmediately: true })
        assert.strictEqual(yield* Fiber.join(calling), "AuthorizationFailed")
        assert.isUndefined(closing.pollUnsafe())
        answer()
        yield* Fiber.join(closing)
        const next = yield* Client.make(authority, { store })
        assert.strictEqual(yield* next.call, 200)
        assert.strictEqual(windows(authority), 1)
        const refreshes = authority.requests(/token$/).filter(isRefresh)
        assert.lengthOf(new Set(refreshes.map(({ form }) => form.get("refresh_token"))), 1)
      })
  )

  verifiesLive(
    ["ERR-12", "PAIN-64"],
    "does not wait for a refresh longer than for any request",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const client = yield* Client.make(authority, { requestTimeout: "200 millis" })
        assert.strictEqual(yield* client.call, 200)
        authority.expireAll()
        yield* holding(authority, isRefresh)
        assert.include(problemOf(yield* client.failure), "no answer within 200 ms")
        assert.strictEqual(windows(authority), 1)
      })
  )

  verifies("PAIN-65", "waits five seconds for what must come to its end, and no longer", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const flights = yield* Scope.provide(Flights.make(Context.empty()), scope)
      const begun = yield* Deferred.make<void>()
      const waiting = yield* Effect.forkScoped(
        Effect.flip(flights.run(
          "key",
          Effect.uninterruptible(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
        ))
      )
      yield* Deferred.await(begun)
      // Whoever began it goes on first.
      yield* Effect.yieldNow
      const closing = yield* Effect.forkScoped(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* TestClock.adjust(4_999)
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* Fiber.join(closing)
      assert.include(problemOf(yield* Effect.flip(flights.run("other", Effect.void))), "was closed")
      yield* Fiber.interrupt(waiting)
    }))
})

describe("A store that fails", () => {
  /** A memory store whose writes fail where `fails` says so. */
  const failing = Effect.fnUntraced(function*() {
    const memory = yield* TokenStore.makeMemory
    const state = { fails: (): boolean => false }
    const store = TokenStore.TokenStore.of({
      ...memory,
      compareAndSet: (key, expected, next) =>
        Effect.suspend(() =>
          state.fails()
            ? Effect.fail(
              McpError.make(
                new McpError.AuthorizationFailed({ stage: "storage", problem: "no space is left" }),
                "unsent"
              )
            )
            : memory.compareAndSet(key, expected, next)
        )
    })
    return { state, store }
  })

  verifiesLive("PAIN-64", "costs no refresh token: none is sent that could not be kept", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const { state, store } = yield* failing()
      const client = yield* Client.make(authority, { store })
      assert.strictEqual(yield* client.call, 200)
      authority.expireAll()
      state.fails = () => true
      assert.include(problemOf(yield* client.failure), "no space is left")
      assert.isFalse(authority.requests(/token$/).some(isRefresh))
      state.fails = () => false
      assert.strictEqual(yield* client.call, 200)
      assert.strictEqual(windows(authority), 1)
    }))

  verifiesLive("PAIN-64", "once, after the refresh, is tried again", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const { state, store } = yield* failing()
      const client = yield* Client.make(authority, { store })
      assert.strictEqual(yield* client.call, 200)
      authority.expireAll()
      let left = 1
      state.fails = () => authority.requests(/token$/).some(isRefresh) && left-- > 0
      assert.strictEqual(yield* client.call, 200)
      authority.expireAll()
      assert.strictEqual(yield* client.call, 200)
      assert.strictEqual(windows(authority), 1)
    }))
})

describe("A token that runs out at once", () => {
  verifies(
    "OAT-03",
    "is good for the request that it was issued for, and opens no window",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        servers.metadata = {
          authorization_endpoint: `${servers.issuer}/authorize`,
          code_challenge_methods_supported: ["S256"],
          client_id_metadata_document_supported: true
        }
        let opened = 0
        servers.intercept = ({ at, form, url }) =>
          url.pathname === "/token"
            ? servers.issue(at, {
              refresh_token: `refresh-secret-${servers.tokens.size + 1}`,
              ...(isRefresh({ form }) ? { expires_in: 0 } : undefined)
            })
            : undefined
        const authorize = Authorize.layer({
          redirectUri: "http://127.0.0.1/callback",
          authorize: ({ url }) =>
            Effect.sync(() => {
              opened++
              return new URLSearchParams({ code: "code", state: url.searchParams.get("state") ?? "" })
            })
        })
        const client = yield* Servers.connect(
          servers,
          OAuth.layer({ clientMetadataUrl: "https://app.example/client.json" }).pipe(Layer.provide(authorize)),
          {}
        )
        assert.strictEqual(yield* client.call, 200)
        yield* TestClock.adjust("2 hours")
        for (let count = 0; count < 3; count++) assert.strictEqual(yield* client.call, 200)
        assert.strictEqual(opened, 1)
        assert.deepStrictEqual(
          servers.calls.map(({ headers }) => headers["authorization"]),
          [undefined, "1", "2", "3", "4"].map((token) => token && `Bearer access-secret-${token}`)
        )
      })
  )
})

describe("Another authorization server", () => {
  verifiesLive(
    ["OAZ-04", "PAIN-66"],
    "ends the step-up at the one before, whose window would stand in the way of its own",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { asked, authorize } = yield* persons
        const client = yield* Client.make(authority, { authorize })
        const first = yield* Effect.forkScoped(client.call)
        yield* (yield* asked).signIn
        assert.strictEqual(yield* Fiber.join(first), 200)
        authority.requiredScope = "write"
        const steppingUp = yield* Effect.forkScoped(client.failure)
        assert.strictEqual((yield* asked).path, "/as1/authorize")
        authority.migrate(`${authority.origin}/as2`)
        authority.requiredScope = undefined
        const second = yield* Effect.forkScoped(client.call)
        const window = yield* asked
        assert.strictEqual(window.path, "/as2/authorize")
        yield* window.signIn
        assert.strictEqual(yield* Fiber.join(second), 200)
        assert.include(problemOf(yield* Fiber.join(steppingUp)), "named another authorization server")
      })
  )
})

describe("Scopes that one step-up has given", () => {
  verifiesLive(
    ["OAS-08", "PAIN-66"],
    "are not asked for again by a request that wanted some of them",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { asked, authorize } = yield* persons
        const client = yield* Client.make(authority, { authorize })
        const first = yield* Effect.forkScoped(client.call)
        yield* (yield* asked).signIn
        assert.strictEqual(yield* Fiber.join(first), 200)
        const wanted = ["a b", "a"]
        authority.intercept = ({ path }, raw) => {
          const scope = path === "/mcp" ? wanted.shift() : undefined
          if (scope === undefined) return false
          raw.writeHead(403, { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` })
          raw.end()
          return true
        }
        const both = yield* Effect.forkScoped(client.call)
        const window = yield* asked
        const some = yield* Effect.forkScoped(client.call)
        yield* Effect.repeat(Effect.yieldNow, { until: () => wanted.length === 0 })
        yield* window.signIn
        assert.deepStrictEqual([yield* Fiber.join(both), yield* Fiber.join(some)], [200, 200])
        assert.strictEqual(windows(authority), 2)
      })
  )
})

describe("A challenge that cannot be accepted", () => {
  verifiesLive(
    "OAD-13",
    "ends a sign-in that is under way: nothing is exchanged, and no token is presented",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { asked, authorize } = yield* persons
        const client = yield* Client.make(authority, { authorize })
        const signingIn = yield* Effect.forkScoped(client.failure)
        const window = yield* asked
        authority.challengedMetadata = refused
        assert.include(problemOf(yield* client.failure), "nothing was sent to it")
        yield* window.signIn
        assert.include(problemOf(yield* Fiber.join(signingIn)), "named what cannot be accepted")
        assert.lengthOf(authority.requests(/token$/), 0)
        assert.deepStrictEqual(presented(authority), [undefined, undefined])
      })
  )

  verifiesLive("OAD-13", "withholds a better token from a request that comes back late", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const store = yield* TokenStore.makeMemory
      const client = yield* Client.make(authority, { store })
      const other = yield* Client.make(authority, { store })
      assert.strictEqual(yield* client.call, 200)
      const held = yield* holding(authority, ({ path }) => path === "/mcp")
      const late = yield* Effect.forkScoped(client.failure)
      const { raw } = yield* held
      // Another client of the store gets a token for more.
      authority.requiredScope = "write"
      assert.strictEqual(yield* other.call, 200)
      authority.challengedMetadata = refused
      assert.include(problemOf(yield* client.failure), "nothing was sent to it")
      const before = presented(authority).length
      raw.writeHead(403, {
        "www-authenticate": `Bearer error="insufficient_scope", scope="write", resource_metadata="${refused}"`
      })
      raw.end()
      assert.include(problemOf(yield* Fiber.join(late)), "nothing was sent to it")
      assert.lengthOf(presented(authority), before)
    }))
})

describe("A sign-in", () => {
  verifiesLive("OAZ-11", "whose URL no browser could be given is refused", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      authority.metadataOverrides = {
        authorization_endpoint: `${authority.issuer}/authorize?x=${"y".repeat(30_000)}`
      }
      const client = yield* Client.make(authority)
      assert.include(problemOf(yield* client.failure), "more than 30000 characters")
      assert.strictEqual(windows(authority), 0)
    }))
})

describe("A token of a kind that this client does not present", () => {
  verifiesLive("OAT-01", "is not used where it is read back from a store", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const store = yield* TokenStore.makeMemory
      assert.strictEqual(yield* (yield* Client.make(authority, { store })).call, 200)
      const text = yield* store.get(authority.url)
      assert(text !== undefined)
      const changed = Redacted.make(Redacted.value(text).replace(/"tokenType":"bearer"/i, "\"tokenType\":\"mac\""))
      assert.notStrictEqual(Redacted.value(changed), Redacted.value(text))
      assert.isTrue(yield* store.compareAndSet(authority.url, text, changed))
      const before = presented(authority).length
      assert.strictEqual(yield* (yield* Client.make(authority, { store })).call, 200)
      assert.isUndefined(presented(authority)[before])
      assert.strictEqual(windows(authority), 2)
    }))
})
