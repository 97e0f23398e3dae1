import { assert, describe } from "@effect/vitest"
import { TokenEndpoint } from "@mcp-effect/auth"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Redacted, Result } from "effect"

const secret = Redacted.make("s")

describe("TokenEndpoint.authMethod", () => {
  verifiesPure(["OAT-10", "OAT-11"], "follows from registration, credentials and what the server lists", () => {
    const all = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
    const table: ReadonlyArray<
      readonly [
        client: Partial<TokenEndpoint.Client>,
        supported: ReadonlyArray<string> | undefined,
        expected: string | undefined
      ]
    > = [
      [{}, undefined, "none"],
      [{}, ["client_secret_basic"], "none"],
      [{ clientSecret: secret }, undefined, "client_secret_basic"],
      [{ clientSecret: secret }, all, "client_secret_basic"],
      [{ clientSecret: secret }, ["client_secret_post"], "client_secret_post"],
      [{ clientSecret: secret }, ["tls_client_auth"], "client_secret_basic"],
      [{ clientSecret: secret, authMethod: "client_secret_post" }, all, "client_secret_post"],
      [{ clientSecret: secret, authMethod: "none" }, all, "none"],
      [{ privateKey: { key: "", algorithm: "ES256" } }, all, "private_key_jwt"],
      [{ clientSecret: secret, authMethod: "tls_client_auth" }, all, undefined]
    ]
    for (const [client, supported, expected] of table) {
      assert.strictEqual(TokenEndpoint.authMethod({ clientId: "c", ...client }, supported), expected)
    }
  })
})

describe("TokenEndpoint.basic", () => {
  verifiesPure("OAT-11", "encodes id and secret as a form before it joins them", () => {
    // base64 of "a%3Ab+c:%25%26%2B%C3%A4"
    assert.strictEqual(
      Redacted.value(TokenEndpoint.basic("a:b c", Redacted.make("%&+ä"))),
      "Basic YSUzQWIrYzolMjUlMjYlMkIlQzMlQTQ="
    )
  })
})

const issuer = "https://as.example"
const read = (body: unknown, status = 200, tokenType: "bearer" | "dpop" = "bearer") => {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  return TokenEndpoint.readAnswer({ status, text }, issuer, tokenType)
}
const failure = (body: unknown, status = 200, tokenType: "bearer" | "dpop" = "bearer") =>
  Result.getOrThrow(Result.flip(read(body, status, tokenType)))

describe("TokenEndpoint.readAnswer", () => {
  verifiesPure(["OAT-01", "OAT-02"], "reads a bearer token", () => {
    const issued = Result.getOrThrow(read({
      access_token: "a-._~+/=",
      token_type: "BEARER",
      expires_in: 3600,
      refresh_token: "r",
      scope: "a b",
      id_token: 5
    }))
    assert.strictEqual(Redacted.value(issued.accessToken), "a-._~+/=")
    assert.deepInclude(issued, { tokenType: "bearer", expiresIn: 3600, scope: "a b" })
    assert.notInclude(JSON.stringify(issued), "a-._~+/=")
  })

  verifiesPure(["OAT-01", "OAT-02", "OAT-13"], "refuses what it cannot present", () => {
    const table: ReadonlyArray<readonly [body: unknown, problem: string]> = [
      [{ token_type: "Bearer" }, "access_token is missing"],
      [{ access_token: "", token_type: "Bearer" }, "access_token is missing"],
      [{ access_token: 5, token_type: "Bearer" }, "access_token is not a string"],
      [{ access_token: "a\r\nb", token_type: "Bearer" }, "access_token holds characters that no header can carry"],
      [{ access_token: "ä", token_type: "Bearer" }, "access_token holds characters that no header can carry"],
      [{ access_token: "a" }, "token_type is missing"],
      [{ access_token: "a", token_type: 5 }, "token_type is not a string"],
      [{ access_token: "a", token_type: "Bearer", expires_in: "3600" }, "expires_in is not a number"],
      [{ access_token: "a", token_type: "Bearer", refresh_token: {} }, "refresh_token is not a string"],
      [{ access_token: "a", token_type: "Bearer", scope: ["a"] }, "scope is not a string"],
      [["a"], "it is not a JSON object"],
      ["access_token=a", "it is not JSON (14 characters)"]
    ]
    for (const [body, problem] of table) {
      assert.strictEqual(
        failure(body).message,
        `Authorization failed (token): the answer of the token endpoint cannot be used: ${problem}`
      )
    }
    for (const type of ["DPoP", "mac", "N_A"]) {
      assert.strictEqual(failure({ access_token: "a", token_type: type }).reason._tag, "AuthorizationFailed")
    }
    assert.strictEqual(
      failure({ access_token: "a", token_type: "Bearer" }, 200, "dpop").reason._tag,
      "AuthorizationFailed"
    )
  })

  verifiesPure("ERR-12", "tells invalid_grant from every other refusal", () => {
    const grant = failure({ error: "invalid_grant", error_description: "\u001b[2Jgone" }, 400)
    assert.deepInclude(grant.reason, { _tag: "InvalidGrant", issuer, excerpt: "\\u001b[2Jgone" })
    assert.isFalse(grant.isRetryable)
    for (const error of ["invalid_client", "invalid_target", "invalid_scope", "x", undefined]) {
      const { reason } = failure({ error, error_description: "words" }, 400)
      assert.deepInclude(reason, { _tag: "AuthorizationFailed", stage: "token", status: 400, error, excerpt: "words" })
      assert.notInclude(reason.message, "words")
    }
    assert.isTrue(failure("busy", 503).isRetryable)
    assert.isFalse(failure("busy", 400).isRetryable)
  })
})
