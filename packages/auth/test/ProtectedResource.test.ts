import { assert, describe, it } from "@effect/vitest"
import { ProtectedResource } from "@mcp-effect/auth"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { WwwAuthenticate } from "@mcp-effect/protocol"
import { Result } from "effect"

const challengeOf = (header: string) => ProtectedResource.challengeOf(WwwAuthenticate.parse(header))

describe("ProtectedResource.challengeOf", () => {
  verifiesPure(["OAD-02", "OAD-03", "PAIN-68"], "takes the parameters of the Bearer challenge alone", () => {
    const url = "https://mcp.example/.well-known/oauth-protected-resource"
    // Each header, and what is read of it: metadata URL and scope.
    const table: ReadonlyArray<readonly [header: string, url: string | undefined, scope: string | undefined]> = [
      [`Bearer resource_metadata="${url}", scope="a b"`, url, "a b"],
      [`bearer  scope="a b" , Resource_Metadata="${url}"`, url, "a b"],
      [`BEARER resource_metadata=${url}`, url, undefined],
      [`Basic realm="x", Bearer scope="a", resource_metadata="${url}"`, url, "a"],
      [`Bearer scope="a", Basic realm="x", scope="evil", resource_metadata="https://evil.example/"`, undefined, "a"],
      [`Digest scope="evil", Bearer realm="x"`, undefined, undefined],
      [`Bearer error_description="scope=evil, resource_metadata=https://evil.example/"`, undefined, undefined],
      [`Bearer error_description="a \\", scope=\\"evil", scope="a"`, undefined, "a"],
      [`Bearer scope="a", scope="b"`, undefined, "a"],
      [`Negotiate dG9rZW4=, Bearer scope="a"`, undefined, "a"],
      [`Bearer`, undefined, undefined],
      [`DPoP scope="d", algs="ES256"`, undefined, "d"],
      [`DPoP scope="d", Bearer scope="b"`, undefined, "b"],
      [`Basic realm="x", scope="evil"`, undefined, undefined],
      [``, undefined, undefined]
    ]
    for (const [header, expectedUrl, scope] of table) {
      const challenge = challengeOf(header)
      assert.strictEqual(ProtectedResource.metadataUrl(challenge), expectedUrl, header)
      assert.strictEqual(ProtectedResource.parameter(challenge, "scope"), scope, header)
    }
  })

  verifiesPure(
    "OAD-04",
    "takes a legacy resource parameter for the URL of the metadata where it can only be that",
    () => {
      const url = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
      assert.strictEqual(ProtectedResource.metadataUrl(challengeOf(`Bearer resource="${url}"`)), url)
      assert.strictEqual(
        ProtectedResource.metadataUrl(
          challengeOf(`Bearer resource="https://mcp.example/other", resource_metadata="${url}"`)
        ),
        url
      )
      // The identifier of the resource is no place to look.
      assert.isUndefined(ProtectedResource.metadataUrl(challengeOf(`Bearer resource="https://mcp.example/mcp"`)))
    }
  )
})

describe("ProtectedResource.wellKnownUrls", () => {
  verifiesPure("OAD-05", "puts the path of the server behind the well-known location, then asks at the root", () => {
    const table: ReadonlyArray<readonly [server: string, urls: ReadonlyArray<string>]> = [
      ["https://h.example", ["https://h.example/.well-known/oauth-protected-resource"]],
      ["https://h.example/", ["https://h.example/.well-known/oauth-protected-resource"]],
      ["https://h.example:8443/public/mcp", [
        "https://h.example:8443/.well-known/oauth-protected-resource/public/mcp",
        "https://h.example:8443/.well-known/oauth-protected-resource"
      ]],
      ["https://h.example/mcp/", [
        "https://h.example/.well-known/oauth-protected-resource/mcp",
        "https://h.example/.well-known/oauth-protected-resource"
      ]],
      ["https://h.example/mcp?tenant=1", [
        "https://h.example/.well-known/oauth-protected-resource/mcp?tenant=1",
        "https://h.example/.well-known/oauth-protected-resource"
      ]]
    ]
    for (const [server, urls] of table) {
      assert.deepStrictEqual(ProtectedResource.wellKnownUrls(new URL(server)).map(({ href }) => href), urls)
    }
  })
})

describe("ProtectedResource.covers", () => {
  verifiesPure("OAD-08", "takes the same origin with a path that the server's begins with", () => {
    const server = new URL("https://h.example/api/mcp?x=1")
    for (
      const resource of [
        "https://h.example",
        "https://h.example/",
        "HTTPS://H.example:443/api",
        "https://h.example/api/",
        "https://h.example/api/mcp",
        "https://h.example/api/mcp?x=1"
      ]
    ) assert.isTrue(ProtectedResource.covers(resource, server), resource)
    for (
      const resource of [
        "https://evil.example/api/mcp",
        "http://h.example/api/mcp",
        "https://h.example:8443/api/mcp",
        "https://h.example.evil.example/api",
        "https://h.example/ap",
        "https://h.example/api/mcp/more",
        "https://h.example/api/mcp?x=2",
        "https://h.example/api#fragment",
        "https://h.example@evil.example/api",
        "https://user@h.example/api",
        "urn:mcp",
        "h.example",
        ""
      ]
    ) assert.isFalse(ProtectedResource.covers(resource, server), resource)
  })
})

describe("ProtectedResource.canonical", () => {
  verifiesPure(["OAD-18", "PAIN-70"], "adds no slash to an origin and keeps the path as it is", () => {
    const table: ReadonlyArray<readonly [server: string, canonical: string]> = [
      ["https://h.example", "https://h.example"],
      ["https://h.example/", "https://h.example"],
      ["HTTPS://H.Example:443/mcp#x", "https://h.example/mcp"],
      ["https://h.example/mcp/", "https://h.example/mcp/"],
      ["https://h.example?x=1", "https://h.example/?x=1"]
    ]
    for (const [server, canonical] of table) assert.strictEqual(ProtectedResource.canonical(new URL(server)), canonical)
  })
})

describe("ProtectedResource.read", () => {
  it("takes what matters and leaves the rest", () => {
    assert.deepStrictEqual(
      ProtectedResource.read({
        resource: "https://h.example",
        authorization_servers: ["https://as.example"],
        scopes_supported: ["a"],
        jwks_uri: 5
      }),
      Result.succeed({
        resource: "https://h.example",
        authorizationServers: ["https://as.example"],
        scopesSupported: ["a"],
        dpopRequired: false
      })
    )
    assert.deepStrictEqual(
      ProtectedResource.read({}),
      Result.succeed({ resource: undefined, authorizationServers: [], scopesSupported: undefined, dpopRequired: false })
    )
  })

  verifiesPure("OAD-17", "refuses members of the wrong type", () => {
    for (
      const [document, problem] of [
        [{ resource: 5 }, "resource is not a string"],
        [{ authorization_servers: "https://as.example" }, "authorization_servers is not an array of strings"],
        [{ authorization_servers: ["https://as.example", 5] }, "authorization_servers is not an array of strings"],
        [{ scopes_supported: { a: 1 } }, "scopes_supported is not an array of strings"]
      ] as const
    ) assert.deepStrictEqual(ProtectedResource.read(document), Result.fail(problem))
  })
})
