import { assert, describe } from "@effect/vitest"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Effect } from "effect"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"

/** The scopes of each request for authorization, and the authorization server that got it. */
const asked = (authority: TestAuthority.TestAuthority) =>
  authority.requests(/authorize$/).map(({ path, query }) => `${path} ${query.get("scope") ?? "-"}`)

const grants = (authority: TestAuthority.TestAuthority) =>
  authority.requests(/token$/).map(({ form }) => form.get("grant_type"))

describe("A token that lacks scopes", () => {
  verifiesLive(
    ["OAS-08", "OAS-01"],
    "is replaced by one for the scopes asked for before and those that are wanted, never by refresh",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        authority.challengedScope = "read"
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        authority.requiredScope = "write"
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(asked(authority), ["/as1/authorize read", "/as1/authorize read write"])
        assert.deepStrictEqual(grants(authority), ["authorization_code", "authorization_code"])
        // It is good for what follows.
        assert.strictEqual(yield* client.call, 200)
        assert.lengthOf(asked(authority), 2)
      })
  )

  verifiesLive(
    "OAS-10",
    "is replaced once a request; a server that wants ever more is told as it answered",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        let wanted = 0
        authority.intercept = ({ path }, raw) => {
          if (path !== "/mcp") return false
          raw.writeHead(403, {
            "www-authenticate": `Bearer error="insufficient_scope", scope="scope-${++wanted}"`
          })
          raw.end()
          return true
        }
        const before = asked(authority).length
        assert.strictEqual(yield* client.call, 403)
        assert.strictEqual(asked(authority).length - before, 1)
        assert.strictEqual(wanted, 2)
      })
  )

  verifiesLive(
    "OAS-02",
    "is reported where step-up is switched off, without asking anybody",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const client = yield* Client.make(authority, { stepUp: "fail" })
        assert.strictEqual(yield* client.call, 200)
        authority.requiredScope = "write"
        assert.strictEqual(yield* client.call, 403)
        assert.lengthOf(asked(authority), 1)
      })
  )

  verifiesLive(
    "OAS-09",
    "counts scopes for the authorization server alone that they were asked of",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        authority.challengedScope = "one"
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        authority.migrate(`${authority.origin}/as2`)
        authority.challengedScope = "two"
        assert.strictEqual(yield* client.call, 200)
        authority.requiredScope = "three"
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(asked(authority), [
          "/as1/authorize one",
          "/as2/authorize two",
          "/as2/authorize two three"
        ])
      })
  )
})

describe("A token that is refused", () => {
  verifiesLive(
    "OAS-11",
    "is replaced once a request; each request has its own try",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        let calls = 0
        authority.intercept = ({ path }, raw) => {
          if (path !== "/mcp") return false
          calls++
          raw.writeHead(401, { "www-authenticate": "Bearer error=\"invalid_token\"" })
          raw.end()
          return true
        }
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 401)
        assert.strictEqual(calls, 2)
        assert.strictEqual(yield* client.call, 401)
        assert.strictEqual(calls, 4)
      })
  )
})
