import { assert, describe, it } from "@effect/vitest"
import { AuthorizationCode } from "@mcp-effect/auth"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Effect, Layer, Redacted, Result } from "effect"
import { Digest, SecureRandom } from "effect/crypto"

const Crypto = Layer.merge(Digest.layerWebCrypto, SecureRandom.layerWebCrypto)

const issuer = "https://as.example"
const record: AuthorizationCode.Pending = {
  state: Redacted.make("the-state"),
  pkce: { verifier: Redacted.make("the-verifier"), challenge: "the-challenge" },
  issuer,
  issInResponse: false,
  clientId: "client",
  redirectUri: "http://127.0.0.1:7777/callback"
}

const outcome = (query: string, changes: Partial<AuthorizationCode.Pending> = {}) => {
  const code = AuthorizationCode.codeOf({ ...record, ...changes }, new URLSearchParams(query))
  return Result.isSuccess(code) ? `code ${Redacted.value(code.success)}` : code.failure.message
}

const refused = (problem: string) => `Authorization failed (sign-in): ${problem}`

describe("AuthorizationCode.pkce", () => {
  verifies(["OAZ-15", "OAD-10"], "makes the S256 challenge of RFC 7636 appendix B", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* AuthorizationCode.challengeOf("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
      )
    }).pipe(Effect.provide(Crypto)))

  verifies(["OAZ-15", "OAZ-02"], "makes a state and a verifier for each request", () =>
    Effect.gen(function*() {
      const make = AuthorizationCode.pending({ issuer, issInResponse: true }, "client", "http://127.0.0.1/callback")
      const first = yield* make
      const second = yield* make
      for (const { pkce, state } of [first, second]) {
        assert.match(Redacted.value(state), /^[\w-]{43}$/)
        assert.match(Redacted.value(pkce.verifier), /^[\w-]{43}$/)
        assert.strictEqual(yield* AuthorizationCode.challengeOf(Redacted.value(pkce.verifier)), pkce.challenge)
      }
      assert.notStrictEqual(Redacted.value(first.state), Redacted.value(second.state))
      assert.notStrictEqual(Redacted.value(first.pkce.verifier), Redacted.value(second.pkce.verifier))
      assert.deepInclude(first, {
        issuer,
        issInResponse: true,
        clientId: "client",
        redirectUri: "http://127.0.0.1/callback"
      })
    }).pipe(Effect.provide(Crypto)))

  verifiesPure("OAD-10", "needs S256 to be listed", () => {
    assert.isTrue(AuthorizationCode.hasPkce({ codeChallengeMethods: ["plain", "S256"] }))
    assert.isFalse(AuthorizationCode.hasPkce({ codeChallengeMethods: ["plain", "s256"] }))
    assert.isFalse(AuthorizationCode.hasPkce({ codeChallengeMethods: undefined }))
  })
})

describe("AuthorizationCode.requestUrl", () => {
  verifiesPure(["OAZ-05", "OAZ-06", "OAZ-14"], "keeps the endpoint's own query and has each parameter once", () => {
    const endpoint = new URL("https://as.example/authorize?tenant=a+b&state=theirs&state=again&scope=all&locale=en#top")
    const url = AuthorizationCode.requestUrl(endpoint, record, { scopes: ["a", "b"], resource: "https://h.example" })
    assert.strictEqual(url.origin + url.pathname + url.hash, "https://as.example/authorize")
    assert.deepStrictEqual([...url.searchParams], [
      ["tenant", "a b"],
      ["locale", "en"],
      ["response_type", "code"],
      ["client_id", "client"],
      ["redirect_uri", "http://127.0.0.1:7777/callback"],
      ["state", "the-state"],
      ["code_challenge", "the-challenge"],
      ["code_challenge_method", "S256"],
      ["scope", "a b"],
      ["resource", "https://h.example"]
    ])
  })

  verifiesPure(["OAD-21", "PAIN-70"], "leaves scope and resource out where there is none", () => {
    const endpoint = new URL("https://as.example/authorize?scope=all&resource=theirs")
    const url = AuthorizationCode.requestUrl(endpoint, record, { scopes: [], resource: undefined })
    assert.isFalse(url.searchParams.has("scope"))
    assert.isFalse(url.searchParams.has("resource"))
  })
})

describe("AuthorizationCode.codeOf", () => {
  verifiesPure(["OAZ-01", "OAZ-03"], "applies the table of RFC 9207 to the issuer", () => {
    const missing = refused("the callback does not name its issuer, although the authorization server always does")
    const other = refused("the callback comes from another authorization server than the one that was asked (iss)")
    const table: ReadonlyArray<readonly [advertised: boolean, iss: string | undefined, expected: string]> = [
      [true, issuer, "code c"],
      [true, undefined, missing],
      [false, issuer, "code c"],
      [false, undefined, "code c"],
      [true, "https://evil.example", other],
      [false, "https://evil.example", other],
      // No normalization of any kind.
      [true, "https://as.example/", other],
      [true, "https://AS.example", other],
      [true, "https://as.example:443", other],
      [true, "https://as%2eexample", other],
      [false, "", other]
    ]
    for (const [issInResponse, iss, expected] of table) {
      const query = new URLSearchParams({ code: "c", state: "the-state", ...(iss === undefined ? {} : { iss }) })
      assert.strictEqual(outcome(query.toString(), { issInResponse }), expected, `${issInResponse} ${iss}`)
    }
  })

  verifiesPure(["OAZ-02", "OAZ-07", "OAZ-15"], "wants the state of the request", () => {
    const other = refused("the callback answers another request: its state differs")
    for (
      const query of [
        "code=c",
        "code=c&state=",
        "code=c&state=the-stat",
        "code=c&state=the-state2",
        "code=c&state=THE-STATE"
      ]
    ) {
      assert.strictEqual(outcome(query), other, query)
    }
  })

  verifiesPure(["OAZ-10", "OAZ-03"], "tells a refusal of the authorization server from what is no answer of it", () => {
    const iss = encodeURIComponent(issuer)
    const table = [
      [`code=c&state=the-state&iss=${iss}`, "code"],
      [`error=access_denied&state=the-state&iss=${iss}`, "refused"],
      [`error=server_error&state=the-state&iss=${iss}`, "refused"],
      ["error=access_denied&state=the-state&iss=https://evil.example", "invalid"],
      ["error=access_denied&state=the-state", "invalid"],
      [`error=access_denied&state=other&iss=${iss}`, "invalid"],
      ["code=c&state=the-state&iss=https://evil.example", "invalid"],
      [`state=the-state&iss=${iss}`, "invalid"]
    ] as const
    for (const [query, expected] of table) {
      const verdict = AuthorizationCode.verdictOf({ ...record, issInResponse: true }, new URLSearchParams(query))
      assert.strictEqual(verdict, expected, query)
    }
  })

  verifiesPure("OAZ-09", "takes no parameter twice", () => {
    for (
      const query of [
        "code=c&code=c&state=the-state",
        "code=c&state=the-state&state=the-state",
        "code=c&state=the-state&iss=https://as.example&iss=https://as.example",
        "code=c&state=the-state&x=1&x=2"
      ]
    ) assert.strictEqual(outcome(query), refused("the callback repeats a parameter"), query)
  })

  verifiesPure("OAZ-10", "checks state and issuer of errors before it looks at them", () => {
    const error = "error=access_denied&error_description=written+by+a+stranger"
    const fields = (query: string) => {
      const code = AuthorizationCode.codeOf(record, new URLSearchParams(query))
      const reason = Result.isFailure(code) ? code.failure.reason : undefined
      return reason?._tag === "AuthorizationFailed" ? [reason.problem, reason.error, reason.excerpt] : undefined
    }
    assert.deepStrictEqual(fields(`${error}&state=other`), [
      "the callback answers another request: its state differs",
      undefined,
      undefined
    ])
    assert.deepStrictEqual(fields(`${error}&state=the-state&iss=https://evil.example`), [
      "the callback comes from another authorization server than the one that was asked (iss)",
      undefined,
      undefined
    ])
    assert.deepStrictEqual(fields(`${error}&state=the-state&iss=https://as.example`), [
      "access was denied",
      "access_denied",
      "written by a stranger"
    ])
    assert.deepStrictEqual(fields("error=%1b[2Jx&state=the-state"), [
      "the authorization server refused the request",
      "\\u001b[2Jx",
      undefined
    ])
  })

  it("wants a code", () => {
    assert.strictEqual(outcome("state=the-state"), refused("the callback holds no code"))
    assert.strictEqual(outcome("state=the-state&code="), refused("the callback holds no code"))
  })
})

describe("AuthorizationCode.redirectUriProblem", () => {
  verifiesPure("OAZ-08", "takes this machine, https: and private schemes", () => {
    for (
      const uri of [
        "http://127.0.0.1:8080/callback",
        "http://localhost/callback",
        "http://[::1]:1/",
        "https://app.example/callback",
        "com.example.app:/callback"
      ]
    ) assert.isUndefined(AuthorizationCode.redirectUriProblem(uri), uri)
    for (
      const uri of [
        "http://app.example/callback",
        "http://127.0.0.1.evil.example/",
        "http://10.0.0.1/",
        "https://app.example/callback#x",
        "http://127.0.0.1/#",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///tmp/x",
        "myapp:/callback",
        "callback",
        ""
      ]
    ) assert.isString(AuthorizationCode.redirectUriProblem(uri), uri)
  })
})
