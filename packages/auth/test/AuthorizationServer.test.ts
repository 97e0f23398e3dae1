import { assert, describe, it } from "@effect/vitest"
import { AuthorizationServer } from "@mcp-effect/auth"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Result } from "effect"

describe("AuthorizationServer.wellKnownUrls", () => {
  verifiesPure(
    ["OAD-07", "OAD-01"],
    "asks by RFC 8414, then by OpenID Connect, in the order of the specification",
    () => {
      const table: ReadonlyArray<readonly [issuer: string, urls: ReadonlyArray<string>]> = [
        ["https://as.example", [
          "https://as.example/.well-known/oauth-authorization-server",
          "https://as.example/.well-known/openid-configuration"
        ]],
        ["https://as.example/", [
          "https://as.example/.well-known/oauth-authorization-server",
          "https://as.example/.well-known/openid-configuration"
        ]],
        ["https://as.example:8443/tenant/one", [
          "https://as.example:8443/.well-known/oauth-authorization-server/tenant/one",
          "https://as.example:8443/.well-known/openid-configuration/tenant/one",
          "https://as.example:8443/tenant/one/.well-known/openid-configuration"
        ]]
      ]
      for (const [issuer, urls] of table) {
        assert.deepStrictEqual(AuthorizationServer.wellKnownUrls(new URL(issuer)).map(({ href }) => href), urls)
      }
    }
  )
})

const least = { issuer: "https://as.example", token_endpoint: "https://as.example/token" }

describe("AuthorizationServer.read", () => {
  it("takes what matters and leaves the rest", () => {
    const read = Result.getOrThrow(AuthorizationServer.read({
      ...least,
      authorization_endpoint: "https://as.example/authorize",
      code_challenge_methods_supported: ["plain", "S256"],
      authorization_response_iss_parameter_supported: true,
      jwks_uri: 5
    }))
    assert.strictEqual(read.authorizationEndpoint, "https://as.example/authorize")
    assert.deepStrictEqual(read.codeChallengeMethods, ["plain", "S256"])
    assert.isTrue(read.issInResponse)
    assert.isFalse(read.clientIdMetadataDocument)
    assert.isUndefined(read.registrationEndpoint)
  })

  verifiesPure("OAD-17", "refuses what is missing or of the wrong type", () => {
    for (
      const [document, problem] of [
        [{ token_endpoint: "x" }, "issuer is missing"],
        [{ issuer: "x" }, "token_endpoint is missing"],
        [{ ...least, issuer: 5 }, "issuer is not a string"],
        [{ ...least, authorization_endpoint: [] }, "authorization_endpoint is not a string"],
        [{ ...least, registration_endpoint: true }, "registration_endpoint is not a string"],
        [
          { ...least, code_challenge_methods_supported: "S256" },
          "code_challenge_methods_supported is not an array of strings"
        ],
        [
          { ...least, authorization_response_iss_parameter_supported: "true" },
          "authorization_response_iss_parameter_supported is not a boolean"
        ],
        [{ ...least, scopes_supported: "a b" }, "scopes_supported is not an array of strings"]
      ] as const
    ) assert.deepStrictEqual(AuthorizationServer.read(document), Result.fail(problem))
  })
})

describe("AuthorizationServer.legacyDefaults", () => {
  verifiesPure("OAS-05", "has the endpoints of 2025-03-26 at the root", () => {
    const server = AuthorizationServer.legacyDefaults("https://h.example")
    assert.deepStrictEqual(
      [server.issuer, server.authorizationEndpoint, server.tokenEndpoint, server.registrationEndpoint],
      ["https://h.example", "https://h.example/authorize", "https://h.example/token", "https://h.example/register"]
    )
  })
})
