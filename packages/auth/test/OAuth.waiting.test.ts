import { assert, describe } from "@effect/vitest"
import { Authorize, OAuth } from "@mcp-effect/auth"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Activity } from "@mcp-effect/protocol"
import { Deferred, Effect, Fiber, Layer, Queue } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"
import * as Servers from "./TestTokenEndpoint.ts"

const wellKnown = "/.well-known/oauth-protected-resource/mcp"

/** Requests whose URLs end like this get no answer, or the beginning of one that never ends. */
const stalling = (path: string, hasHeaders: boolean, reached: Deferred.Deferred<void>) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(
      HttpClient.HttpClient,
      HttpClient.transform((answer, request) =>
        request.url.endsWith(path)
          ? Effect.andThen(
            Deferred.succeed(reached, undefined),
            hasHeaders
              ? Effect.succeed(HttpClientResponse.fromWeb(request, new Response(new ReadableStream())))
              : Effect.never
          )
          : answer
      )
    )
  )

const signedIn = Authorize.layer({
  redirectUri: "http://127.0.0.1/callback",
  authorize: ({ url }) =>
    Effect.succeed(new URLSearchParams({ code: "code", state: url.searchParams.get("state") ?? "" }))
})

const servers = () => {
  const all = new Servers.TestTokenEndpoint()
  all.metadata = {
    authorization_endpoint: `${all.issuer}/authorize`,
    registration_endpoint: `${all.issuer}/register`,
    code_challenge_methods_supported: ["S256"]
  }
  all.intercept = ({ url }) => url.pathname === "/register" ? { status: 201, body: { client_id: "c" } } : undefined
  return all
}

describe("An authorization server that does not answer", () => {
  const table = [
    [wellKnown, "discovery"],
    ["/.well-known/oauth-authorization-server", "discovery"],
    ["/register", "registration"],
    ["/token", "token"]
  ] as const
  for (const [path, stage] of table) {
    for (const hasHeaders of [false, true]) {
      verifies(
        ["ERR-12", "OAD-20"],
        `is given up after 30 seconds: ${path}, ${hasHeaders ? "in the middle of its answer" : "before its answer"}`,
        () =>
          Effect.gen(function*() {
            const all = servers()
            const reached = yield* Deferred.make<void>()
            const layer = OAuth.layer().pipe(
              Layer.provide(signedIn),
              Layer.provide(stalling(path, hasHeaders, reached))
            )
            const client = yield* Servers.connect(all, layer)
            const failing = yield* Effect.forkChild(client.failure)
            yield* Deferred.await(reached)
            yield* TestClock.adjust(29_999)
            assert.isUndefined(failing.pollUnsafe())
            yield* TestClock.adjust(1)
            const { delivery, reason } = yield* Fiber.join(failing)
            assert(reason._tag === "AuthorizationFailed", reason._tag)
            assert.deepInclude(reason, { stage, problem: "no answer within 30000 ms", isTransient: true })
            assert.strictEqual(delivery, "refused")
          })
      )
    }
  }

  verifiesLive(
    ["ERR-12", "OAD-20"],
    "is told as unreachable, and asked again by the next request",
    () =>
      Effect.gen(function*() {
        for (
          const path of [wellKnown, "/.well-known/oauth-authorization-server/as1", "/as1/register", "/as1/token"]
        ) {
          const authority = yield* TestAuthority.start
          const client = yield* Client.make(authority)
          authority.intercept = (seen, raw) => {
            if (seen.path !== path) return false
            raw.destroy()
            return true
          }
          const { delivery, reason } = yield* client.failure
          assert(reason._tag === "ConnectionFailed", reason._tag)
          assert.strictEqual(reason.target, authority.origin)
          assert.isTrue(reason.isTransient)
          assert.strictEqual(delivery, "refused")
          authority.intercept = () => false
          assert.strictEqual(yield* client.call, 200)
        }
      })
  )

  verifiesLive("OAS-10", "does not use up the step-ups of a scope", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const client = yield* Client.make(authority)
      assert.strictEqual(yield* client.call, 200)
      authority.requiredScope = "write"
      authority.intercept = ({ path }, raw) => {
        if (path !== "/as1/token") return false
        TestAuthority.json(raw, {}, 503)
        return true
      }
      for (let count = 0; count < 3; count++) {
        const { reason } = yield* client.failure
        assert.deepInclude(reason, { _tag: "AuthorizationFailed", stage: "token", status: 503 })
      }
      authority.intercept = () => false
      assert.strictEqual(yield* client.call, 200)
      // One that grants and never suffices is asked twice, and its server's answer told from then on.
      authority.intercept = ({ path }, raw) => {
        if (path !== "/mcp") return false
        raw.writeHead(403, { "www-authenticate": "Bearer error=\"insufficient_scope\", scope=\"all\"" })
        raw.end()
        return true
      }
      const before = authority.requests(/authorize$/).length
      for (let count = 0; count < 4; count++) assert.strictEqual(yield* client.call, 403)
      assert.lengthOf(authority.requests(/authorize$/).slice(before), 2)
    }))
})

describe("A server that wants ever more", () => {
  verifies("OAS-10", "is told as it answered once it has wanted 64 sets of scopes", () =>
    Effect.gen(function*() {
      const all = servers()
      let wanted = 0
      const { intercept } = all
      all.intercept = (seen) =>
        seen.url.href === all.server && seen.headers["authorization"] !== undefined
          ? {
            status: 403,
            headers: {
              "www-authenticate": `Bearer error="insufficient_scope", scope="scope-${Math.floor(wanted++ / 2)}"`
            }
          }
          : intercept(seen)
      const client = yield* Servers.connect(all, OAuth.layer().pipe(Layer.provide(signedIn)))
      for (let count = 0; count < 80; count++) assert.strictEqual(yield* client.call, 403)
      // One for the first token.
      assert.lengthOf(all.tokenRequests, 65)
    }))
})

describe("A person", () => {
  verifies(
    ["OAZ-12", "OAD-20"],
    "has five minutes to sign in, or as long as the host says",
    () =>
      Effect.gen(function*() {
        for (
          const [signInTimeout, millis, text] of [[undefined, 300_000, "5m"], ["20 seconds", 20_000, "20s"]] as const
        ) {
          const asked = yield* Queue.unbounded<void>()
          let closed = 0
          const nobody = Authorize.layer({
            redirectUri: "http://127.0.0.1/callback",
            authorize: () =>
              Effect.andThen(
                Queue.offer(asked, undefined),
                Effect.onInterrupt(Effect.never, () => Effect.sync(() => void closed++))
              )
          })
          const all = servers()
          const client = yield* Servers.connect(all, OAuth.layer({ signInTimeout }).pipe(Layer.provide(nobody)))
          for (let count = 1; count <= 2; count++) {
            const failing = yield* Effect.forkChild(client.failure)
            yield* Queue.take(asked)
            yield* TestClock.adjust(millis - 1)
            assert.isUndefined(failing.pollUnsafe())
            yield* TestClock.adjust(1)
            const { reason } = yield* Fiber.join(failing)
            assert.deepInclude(reason, {
              _tag: "AuthorizationFailed",
              stage: "sign-in",
              problem: `nobody signed in within ${text} (signInTimeout)`
            })
            assert.strictEqual(closed, count)
          }
        }
      })
  )

  verifiesLive(
    "PAIN-66",
    "sees one window at a time, and no second one for what the first one gave",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        authority.issuesRefreshTokens = false
        const asked = yield* Queue.unbounded<void>()
        const go = yield* Deferred.make<void>()
        let windows = 0
        let isSecond = false
        const authorize = Authorize.layer({
          redirectUri: "http://127.0.0.1/callback",
          authorize: ({ url }) =>
            Effect.gen(function*() {
              assert.strictEqual(++windows, 1)
              yield* Queue.offer(asked, undefined)
              if (isSecond) yield* Deferred.await(go)
              isSecond = true
              windows--
              return yield* Client.visit(url)
            })
        })
        const client = yield* Client.make(authority, { authorize })
        assert.strictEqual(yield* client.call, 200)
        yield* Queue.take(asked)
        authority.requiredScope = "write"
        const steppingUp = yield* Effect.forkScoped(client.call)
        yield* Queue.take(asked)
        // Another request finds that the token is of no use at all while the person consents to a wider one.
        authority.expireAll()
        const discovered = yield* Deferred.make<void>()
        authority.intercept = ({ path }) => {
          if (path === "/.well-known/oauth-authorization-server/as1") Deferred.doneUnsafe(discovered, Effect.void)
          return false
        }
        const refused = yield* Effect.forkScoped(client.call)
        yield* Deferred.await(discovered)
        yield* Deferred.succeed(go, undefined)
        assert.deepStrictEqual([yield* Fiber.join(steppingUp), yield* Fiber.join(refused)], [200, 200])
        assert.lengthOf(authority.requests(/authorize$/), 2)
      })
  )

  verifiesLive(
    "PAIN-4",
    "who signs in keeps every request that waits from being silent, for as long as that takes",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
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
        const client = yield* Client.make(authority, { authorize })
        let held = 0
        let most = 0
        const activity: Activity.Activity = {
          hold: () => {
            most = Math.max(most, ++held)
            return () => held--
          }
        }
        const heldDuring: Array<readonly [path: string, held: number]> = []
        authority.intercept = ({ path }) => {
          heldDuring.push([path, held])
          return false
        }
        const call = yield* Effect.forkScoped(Effect.provideService(client.call, Activity.Activity, activity))
        yield* Deferred.await(asked)
        assert.strictEqual(held, 1)
        // One that comes later waits for the person, too; one that gives up is let go.
        const arrived = yield* Deferred.make<void>()
        authority.intercept = ({ path }) => {
          heldDuring.push([path, held])
          if (path === "/.well-known/oauth-authorization-server/as1") Deferred.doneUnsafe(arrived, Effect.void)
          return false
        }
        const second = yield* Effect.forkScoped(Effect.provideService(client.call, Activity.Activity, activity))
        yield* Deferred.await(arrived)
        assert.strictEqual(held, 2)
        yield* Fiber.interrupt(second)
        assert.strictEqual(held, 1)
        yield* Deferred.succeed(go, undefined)
        assert.strictEqual(yield* Fiber.join(call), 200)
        assert.strictEqual(held, 0)
        assert.strictEqual(most, 2)
        // What servers take of their time is theirs.
        assert.deepStrictEqual(
          heldDuring.filter(([path]) => path === "/as1/token" || path === "/as1/register").map(([, held]) => held),
          [0, 0]
        )
      })
  )
})
