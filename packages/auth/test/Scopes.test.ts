import { assert, describe, it } from "@effect/vitest"
import { Scopes } from "@mcp-effect/auth"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"

const nothing: Scopes.Sources = {
  challenged: undefined,
  resource: undefined,
  configured: undefined,
  previous: [],
  authorizationServer: undefined
}

const select = (sources: Partial<Scopes.Sources>) => Scopes.select({ ...nothing, ...sources })

describe("Scopes.select", () => {
  verifiesPure("OAD-16", "takes the challenge, else the metadata of the resource, else what is configured", () => {
    assert.deepStrictEqual(select({ challenged: "a  b a", resource: ["c"], configured: ["d"] }), ["a", "b"])
    assert.deepStrictEqual(select({ resource: ["c"], configured: ["d"] }), ["c"])
    assert.deepStrictEqual(select({ configured: ["d"] }), ["d"])
    assert.deepStrictEqual(select({ challenged: " ", resource: [], configured: ["d"] }), ["d"])
  })

  verifiesPure("OAD-21", "asks for nothing where nobody names a scope", () => {
    assert.deepStrictEqual(select({}), [])
    // On its own it would narrow what the server grants by default.
    assert.deepStrictEqual(select({ authorizationServer: ["offline_access"] }), [])
  })

  verifiesPure("OAS-04", "adds what was asked for before", () => {
    assert.deepStrictEqual(select({ challenged: "c", previous: ["a", "b"] }), ["a", "b", "c"])
    assert.deepStrictEqual(select({ challenged: "c", resource: ["x", "y"] }), ["c"])
  })

  verifiesPure(
    "OAS-05",
    "adds offline_access where the authorization server lists it, and leaves it out where not",
    () => {
      assert.deepStrictEqual(select({ challenged: "a", authorizationServer: ["offline_access", "a"] }), [
        "a",
        "offline_access"
      ])
      assert.deepStrictEqual(select({ challenged: "offline_access a", authorizationServer: ["a"] }), ["a"])
      assert.deepStrictEqual(select({ resource: ["a", "offline_access"] }), ["a"])
    }
  )
})

describe("Scopes.split", () => {
  it("reads any white space", () => {
    assert.deepStrictEqual(Scopes.split(" a\tb  a "), ["a", "b"])
    assert.deepStrictEqual(Scopes.split(undefined), [])
  })
})
