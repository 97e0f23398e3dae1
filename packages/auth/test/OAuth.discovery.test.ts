import { assert, describe } from "@effect/vitest"
import { Authorize, type OAuth } from "@mcp-effect/auth"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Effect } from "effect"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"

const wellKnown = "/.well-known/oauth-protected-resource"
const asMetadata = "/.well-known/oauth-authorization-server"

const problemOf = (client: Client.TestClient) =>
  Effect.map(client.failure, ({ delivery, reason }) => {
    assert.strictEqual(reason._tag, "AuthorizationFailed")
    assert.strictEqual(delivery, "refused")
    return reason._tag === "AuthorizationFailed" ? `${reason.stage}: ${reason.problem}` : ""
  })

/** A server whose answers a test changes, and what a client says of it; nobody may be sent to sign in. */
const refused = (
  change: (authority: TestAuthority.TestAuthority) => void,
  options?: OAuth.Options
) =>
  Effect.gen(function*() {
    const authority = yield* TestAuthority.start
    change(authority)
    const problem = yield* problemOf(yield* Client.make(authority, options))
    assert.lengthOf(authority.requests(/authorize$|token$|register$/), 0)
    return { authority, problem }
  })

const paths = (authority: TestAuthority.TestAuthority) => authority.seen.map(({ path }) => path)

describe("Where the metadata of the resource is", () => {
  verifiesLive(["OAD-02", "OAD-05"], "goes by the URL of the challenge first", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      authority.challengedMetadata = `${authority.origin}/custom/metadata.json`
      authority.intercept = ({ path }, raw) => {
        if (path !== "/custom/metadata.json") return false
        TestAuthority.json(raw, { resource: authority.url, authorization_servers: [authority.issuer] })
        return true
      }
      const client = yield* Client.make(authority)
      assert.strictEqual(yield* client.call, 200)
      assert.notInclude(paths(authority).join(), wellKnown)
    }))

  verifiesLive("OAD-06", "does not look elsewhere when the challenge's URL has nothing", () =>
    Effect.gen(function*() {
      for (const status of [404, 500]) {
        const { authority, problem } = yield* refused((authority) => {
          authority.challengedMetadata = `${authority.origin}/custom/metadata.json`
          authority.intercept = ({ path }, raw) => {
            if (path !== "/custom/metadata.json") return false
            TestAuthority.json(raw, {}, status)
            return true
          }
        })
        assert.strictEqual(problem, `discovery: the protected resource metadata cannot be had (HTTP ${status})`)
        assert.notInclude(paths(authority).join(), wellKnown)
      }
    }))

  verifiesLive(["OAD-05", "OAD-06"], "without one, asks with the path, then at the root", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      authority.challengedMetadata = undefined
      authority.rootMetadata = { resource: authority.origin, authorization_servers: [authority.issuer] }
      authority.pathMetadata = undefined
      const client = yield* Client.make(authority)
      assert.strictEqual(yield* client.call, 200)
      assert.deepStrictEqual(paths(authority).filter((path) => path.startsWith(wellKnown)), [
        `${wellKnown}/mcp`,
        wellKnown
      ])
    }))

  verifiesLive("OAD-06", "a failure of the well-known location is an error", () =>
    Effect.gen(function*() {
      const { authority, problem } = yield* refused((authority) => {
        authority.challengedMetadata = undefined
        authority.intercept = ({ path }, raw) => {
          if (path !== `${wellKnown}/mcp`) return false
          TestAuthority.json(raw, {}, 500)
          return true
        }
      })
      assert.strictEqual(problem, "discovery: the protected resource metadata cannot be had (HTTP 500)")
      assert.notInclude(paths(authority), wellKnown)
    }))

  verifiesLive(
    ["OAD-07", "OAS-05"],
    "without any, takes the server for its own authorization server",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        authority.challengedMetadata = undefined
        authority.pathMetadata = undefined
        authority.intercept = ({ path }, raw) => {
          if (path !== asMetadata) return false
          TestAuthority.json(raw, { ...authority.metadata(authority.issuer), issuer: authority.origin })
          return true
        }
        // Its callback still names the issuer of the endpoint that was used.
        authority.callbackOverrides = { iss: authority.origin }
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        const metadata = authority.requests(asMetadata)[0]
        assert.match(String(metadata?.headers["mcp-protocol-version"]), /^\d{4}-\d\d-\d\d$/)
        assert.strictEqual(authority.requests("/as1/token")[0]?.form.get("resource"), authority.url)
      })
  )

  verifiesLive(
    ["OAS-05", "OAD-07"],
    "without any metadata at all, uses the endpoints of 2025-03-26",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        authority.challengedMetadata = undefined
        authority.pathMetadata = undefined
        authority.issuer = authority.origin
        authority.callbackOverrides = { iss: undefined }
        authority.intercept = (seen, raw) => {
          if (!["/authorize", "/token", "/register"].includes(seen.path)) return false
          authority.endpoint(authority.origin, seen.path.slice(1), seen, raw)
          return true
        }
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(paths(authority).slice(1, -1), [
          `${wellKnown}/mcp`,
          wellKnown,
          asMetadata,
          "/.well-known/openid-configuration",
          "/register",
          "/authorize",
          "/token"
        ])
      })
  )
})

describe("What the metadata may say", () => {
  verifiesLive(["OAD-08", "PAIN-70"], "the resource has to cover the server", () =>
    Effect.gen(function*() {
      const { problem } = yield* refused((authority) => {
        authority.pathMetadata = { resource: "https://evil.example/mcp", authorization_servers: [authority.issuer] }
      })
      assert.strictEqual(
        problem,
        "discovery: the protected resource metadata is for another resource than this server; no token is asked for"
      )
    }))

  verifiesLive(
    ["OAD-18", "OAZ-06"],
    "without a resource, the canonical URL of the server goes out",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        authority.pathMetadata = { authorization_servers: [authority.issuer] }
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        assert.strictEqual(authority.requests("/as1/authorize")[0]?.query.get("resource"), authority.url)
        assert.strictEqual(authority.requests("/as1/token")[0]?.form.get("resource"), authority.url)
      })
  )

  verifiesLive(
    ["PAIN-70", "OAZ-06"],
    "the resource goes out byte for byte, omitted or replaced as the host says",
    () =>
      Effect.gen(function*() {
        const table: ReadonlyArray<readonly [OAuth.Options["resource"], string | null]> = [
          [undefined, "ORIGIN"],
          ["omit", null],
          ["urn:example:mcp", "urn:example:mcp"]
        ]
        for (const [resource, expected] of table) {
          const authority = yield* TestAuthority.start
          authority.pathMetadata = { resource: authority.origin, authorization_servers: [authority.issuer] }
          const client = yield* Client.make(authority, { resource })
          assert.strictEqual(yield* client.call, 200)
          const sent = expected === "ORIGIN" ? authority.origin : expected
          assert.strictEqual(authority.requests("/as1/authorize")[0]?.query.get("resource"), sent)
          assert.strictEqual(authority.requests("/as1/token")[0]?.form.get("resource"), sent)
        }
      })
  )

  verifiesLive(
    "OAD-09",
    "the issuer has to be the one that was asked for, character by character",
    () =>
      Effect.gen(function*() {
        for (const suffix of ["/", "2"]) {
          const { problem } = yield* refused((authority) => {
            authority.metadataOverrides = { issuer: `${authority.issuer}${suffix}` }
          })
          assert.strictEqual(
            problem,
            "discovery: the authorization server metadata names another issuer than the one it was asked for (RFC 8414 section 3.3)"
          )
        }
      })
  )

  verifiesLive("OAD-10", "PKCE with S256 has to be listed", () =>
    Effect.gen(function*() {
      for (const methods of [undefined, [], ["plain"]]) {
        const { problem } = yield* refused((authority) => {
          authority.metadataOverrides = { code_challenge_methods_supported: methods }
        })
        assert.strictEqual(problem, "sign-in: the authorization server does not say that it has PKCE with S256")
      }
      const { problem } = yield* refused((authority) => {
        authority.metadataOverrides = { code_challenge_methods_supported: "S256" }
      })
      assert.include(problem, "code_challenge_methods_supported is not an array of strings")
    }))

  verifiesLive(
    "OAD-17",
    "what is not JSON or too large is refused, and nothing of it shown",
    () =>
      Effect.gen(function*() {
        const body = "<html>written by the peer"
        const { problem } = yield* refused((authority) => {
          authority.intercept = ({ path }, raw) => {
            if (path !== `${asMetadata}/as1`) return false
            raw.end(body)
            return true
          }
        })
        assert.strictEqual(
          problem,
          `discovery: the authorization server metadata cannot be used: it is not JSON (${body.length} characters)`
        )
        const large = yield* refused((authority) => {
          authority.intercept = ({ path }, raw) => {
            if (path !== `${asMetadata}/as1`) return false
            raw.end("x".repeat(4 * 1024 * 1024 + 1))
            return true
          }
        })
        assert.strictEqual(large.problem, "discovery: the answer is over 4194304 bytes")
      })
  )
})

describe("Where requests may go", () => {
  verifiesLive(["OAD-11", "OAD-15", "PAIN-71"], "nothing is sent into other networks", () =>
    Effect.gen(function*() {
      const inside = "https://169.254.169.254/latest"
      const changes: ReadonlyArray<(authority: TestAuthority.TestAuthority) => void> = [
        (authority) => authority.challengedMetadata = inside,
        (authority) => authority.challengedMetadata = "http://mcp.example/metadata",
        (authority) => authority.pathMetadata = { authorization_servers: ["https://10.0.0.1"] },
        (authority) => authority.metadataOverrides = { authorization_endpoint: "https://10.0.0.1/authorize" },
        (authority) => authority.metadataOverrides = { authorization_endpoint: "javascript:alert(1)" },
        (authority) => authority.metadataOverrides = { registration_endpoint: "http://[::ffff:10.0.0.1]/register" }
      ]
      for (const change of changes) {
        const { problem } = yield* refused(change)
        assert.include(problem, "nothing was sent to it")
      }
      const authority = yield* TestAuthority.start
      authority.metadataOverrides = { token_endpoint: "https://192.168.0.1/token" }
      assert.include(yield* problemOf(yield* Client.make(authority)), "nothing was sent to it")
    }))

  verifiesLive(
    "PAIN-71",
    "a redirect of metadata is followed where its target may be asked, and no further",
    () =>
      Effect.gen(function*() {
        const redirect =
          (target: (authority: TestAuthority.TestAuthority) => string) => (authority: TestAuthority.TestAuthority) => {
            authority.intercept = ({ path }, raw) => {
              if (path !== `${asMetadata}/as1`) return false
              raw.writeHead(307, { location: target(authority) })
              raw.end()
              return true
            }
          }
        assert.include(
          (yield* refused(redirect(() => "https://169.254.169.254/latest"))).problem,
          "points into a private network"
        )
        assert.include(
          (yield* refused(redirect(() => `${asMetadata}/as1`))).problem,
          "behind a redirect that leads nowhere"
        )
        const authority = yield* TestAuthority.start
        authority.intercept = ({ path }, raw) => {
          if (path === `${asMetadata}/as1`) {
            raw.writeHead(302, { location: "/moved" })
            raw.end()
            return true
          }
          if (path !== "/moved") return false
          TestAuthority.json(raw, authority.metadata(authority.issuer))
          return true
        }
        assert.strictEqual(yield* (yield* Client.make(authority)).call, 200)
      })
  )

  verifiesLive(
    "PAIN-71",
    "a redirect of an endpoint is not followed: nothing is sent where it leads",
    () =>
      Effect.gen(function*() {
        for (const path of ["/as1/register", "/as1/token"]) {
          for (const status of [301, 302, 303, 307, 308]) {
            const authority = yield* TestAuthority.start
            authority.intercept = (seen, raw) => {
              if (seen.path !== path) return false
              raw.writeHead(status, { location: `${authority.origin}/sink` })
              raw.end()
              return true
            }
            const problem = yield* problemOf(yield* Client.make(authority))
            assert.include(problem, "the endpoint redirected the request, which is not followed")
            assert.lengthOf(authority.requests("/sink"), 0)
          }
        }
      })
  )

  verifiesLive(
    "OAD-13",
    "a refused challenge ends the use of the token until the server names something else",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        const good = authority.challengedMetadata
        authority.challengedMetadata = "https://169.254.169.254/latest"
        const tokens = new Map(authority.tokens)
        authority.expireAll()
        assert.include(yield* problemOf(client), "nothing was sent to it")
        // The token would be good again, and is not shown.
        for (const [token, facts] of tokens) authority.tokens.set(token, facts)
        assert.include(yield* problemOf(client), "nothing was sent to it")
        assert.isUndefined(authority.requests("/mcp").at(-1)?.headers.authorization)
        authority.challengedMetadata = good
        assert.strictEqual(yield* client.call, 200)
        assert.isString(authority.requests("/mcp").at(-1)?.headers.authorization)
      })
  )
})

describe("What is asked for", () => {
  verifiesLive(
    ["OAD-16", "OAD-21"],
    "the scopes of the challenge, else of the metadata, else the configured, else none",
    () =>
      Effect.gen(function*() {
        const table: ReadonlyArray<
          readonly [challenged: string | undefined, listed: ReadonlyArray<string> | undefined, string | null]
        > = [
          ["a b", ["c"], "a b"],
          [undefined, ["c", "d"], "c d"],
          [undefined, undefined, "e"]
        ]
        for (const [challenged, listed, expected] of table) {
          const authority = yield* TestAuthority.start
          authority.challengedScope = challenged
          authority.pathMetadata = { ...authority.pathMetadata, scopes_supported: listed }
          assert.strictEqual(yield* (yield* Client.make(authority, { scopes: ["e"] })).call, 200)
          assert.strictEqual(authority.requests("/as1/authorize")[0]?.query.get("scope"), expected)
        }
        const authority = yield* TestAuthority.start
        assert.strictEqual(yield* (yield* Client.make(authority)).call, 200)
        assert.isFalse(authority.requests("/as1/authorize")[0]?.query.has("scope"))
      })
  )

  verifiesLive(["OAD-19", "OAS-07"], "nobody to ask: the server's 401 is the answer", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const client = yield* Client.make(authority, { authorize: Authorize.layerNone })
      assert.strictEqual(yield* client.call, 401)
      assert.lengthOf(authority.requests(/authorize$|token$|register$/), 0)
    }))

  verifiesLive("OAD-20", "a failure is told once and not repeated", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      authority.callbackOverrides = { error: "access_denied", code: undefined }
      const client = yield* Client.make(authority)
      assert.strictEqual(yield* problemOf(client), "sign-in: access was denied")
      assert.lengthOf(authority.requests("/as1/authorize"), 1)
      assert.lengthOf(authority.requests("/as1/token"), 0)
      assert.lengthOf(authority.requests("/mcp"), 1)
    }))
})
