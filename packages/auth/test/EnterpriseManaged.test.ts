import { assert, describe } from "@effect/vitest"
import { EnterpriseManaged, UrlPolicy } from "@mcp-effect/auth"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Servers from "./TestTokenEndpoint.ts"

const idp = "https://idp.acme.example"
const idJag = "urn:ietf:params:oauth:token-type:id-jag"

const identityProvider = {
  issuer: idp,
  clientId: "acme-desk",
  clientSecret: Redacted.make("idp-secret"),
  subjectToken: "subject-secret"
} satisfies EnterpriseManaged.IdentityProvider

const options = {
  issuer: "https://as.example",
  clientId: "desk",
  clientSecret: Redacted.make("as-secret"),
  scopes: ["read", "write"],
  identityProvider
} satisfies EnterpriseManaged.Options

const granted = { access_token: "grant-secret", issued_token_type: idJag, token_type: "N_A", expires_in: 300 }

/** An identity provider beside the other servers; `grant` is what its token endpoint says. */
const servers = (grant: Servers.Answer = { body: granted }, metadata: object = {}): Servers.TestTokenEndpoint => {
  const all = new Servers.TestTokenEndpoint()
  all.intercept = ({ url }) => {
    if (url.origin !== idp) return undefined
    if (url.pathname === "/oauth2/token") return grant
    return url.pathname === "/.well-known/openid-configuration"
      ? { body: { issuer: idp, token_endpoint: `${idp}/oauth2/token`, ...metadata } }
      : { status: 404 }
  }
  return all
}

const connect = (
  all: Servers.TestTokenEndpoint,
  changed: Partial<EnterpriseManaged.Options> = {},
  rest?: Servers.Options
) => Servers.connect(all, EnterpriseManaged.layer({ ...options, ...changed }), rest)

const exchanges = (all: Servers.TestTokenEndpoint) => all.requests(`${idp}/oauth2/token`)

describe("EnterpriseManaged.layer", () => {
  verifies(
    ["OAS-06", "OAT-10"],
    "exchanges what is known of the person for a grant, and the grant for a token",
    () =>
      Effect.gen(function*() {
        const all = servers()
        const client = yield* connect(all)
        assert.strictEqual(yield* client.call, 200)
        assert.strictEqual(yield* client.call, 200)
        assert.lengthOf(exchanges(all), 1)
        assert.lengthOf(all.tokenRequests, 1)
        const [exchange] = exchanges(all)
        assert.deepStrictEqual(Object.fromEntries(exchange?.form ?? []), {
          grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
          requested_token_type: idJag,
          audience: "https://as.example",
          resource: "https://mcp.example/mcp",
          scope: "read write",
          subject_token: "subject-secret",
          subject_token_type: "urn:ietf:params:oauth:token-type:id_token"
        })
        // The base64 of "acme-desk:idp-secret" and of "desk:as-secret".
        assert.strictEqual(exchange?.headers["authorization"], "Basic YWNtZS1kZXNrOmlkcC1zZWNyZXQ=")
        const [request] = all.tokenRequests
        assert.strictEqual(request?.headers["authorization"], "Basic ZGVzazphcy1zZWNyZXQ=")
        assert.deepStrictEqual(Object.fromEntries(request?.form ?? []), {
          grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
          assertion: "grant-secret",
          resource: "https://mcp.example/mcp"
        })
      })
  )

  verifies(
    "OAS-06",
    "asks for a new grant with each token: a grant is short and a sign-in may be renewed",
    () =>
      Effect.gen(function*() {
        const all = servers()
        let count = 0
        const client = yield* connect(all, {
          identityProvider: { ...identityProvider, subjectToken: () => Effect.sync(() => `subject-${++count}`) }
        })
        assert.strictEqual(yield* client.call, 200)
        yield* TestClock.adjust("2 hours")
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(exchanges(all).map(({ form }) => form.get("subject_token")), ["subject-1", "subject-2"])
      })
  )

  verifies(
    "OAS-06",
    "takes other things for a sign-in, and a token endpoint that is known",
    () =>
      Effect.gen(function*() {
        for (const subjectTokenType of ["saml2", "refresh_token"] as const) {
          const all = servers()
          const client = yield* connect(all, {
            identityProvider: {
              issuer: idp,
              clientId: "acme-desk",
              tokenEndpoint: `${idp}/oauth2/token`,
              subjectToken: "subject-secret",
              subjectTokenType
            }
          })
          assert.strictEqual(yield* client.call, 200)
          assert.strictEqual(
            exchanges(all)[0]?.form.get("subject_token_type"),
            `urn:ietf:params:oauth:token-type:${subjectTokenType}`
          )
          // A public client there says who it is.
          assert.strictEqual(exchanges(all)[0]?.form.get("client_id"), "acme-desk")
          assert.lengthOf(all.seen.filter(({ url }) => url.origin === idp), 1)
        }
      })
  )

  verifies(
    "OAS-06",
    "takes the grant from a host that asks for it itself (cross-app access)",
    () =>
      Effect.gen(function*() {
        const all = servers()
        const client = yield* connect(all, {
          identityProvider: ({ issuer, resource, scopes, server }) =>
            Effect.succeed(`grant of ${issuer} for ${resource} at ${server.href}: ${scopes.join()}`)
        })
        assert.strictEqual(yield* client.call, 200)
        assert.strictEqual(
          all.tokenRequests[0]?.form.get("assertion"),
          "grant of https://as.example for https://mcp.example/mcp at https://mcp.example/mcp: read,write"
        )
        assert.lengthOf(all.seen.filter(({ url }) => url.origin === idp), 0)
      })
  )

  verifies(["OAT-14", "OAS-06"], "tells nobody what is another's", () =>
    Effect.gen(function*() {
      const all = servers()
      const client = yield* connect(all)
      assert.strictEqual(yield* client.call, 200)
      const basic = (text: string) => Buffer.from(text).toString("base64")
      const secrets: Record<string, ReadonlyArray<string>> = {
        [idp]: ["idp-secret", basic("acme-desk:idp-secret"), "subject-secret"],
        [all.issuer]: ["as-secret", basic("desk:as-secret"), "grant-secret"],
        "https://mcp.example": ["access-secret-1"]
      }
      for (const { body, headers, url } of all.seen) {
        const text = `${url.href} ${JSON.stringify(headers)} ${body}`
        for (const [origin, known] of Object.entries(secrets)) {
          for (const secret of origin === url.origin ? [] : known) assert.notInclude(text, secret)
        }
      }
      // Another authorization server than the client is registered with gets no grant made out.
      const elsewhere = servers()
      const other = yield* connect(elsewhere, { issuer: "https://trusted.example" })
      assert.strictEqual((yield* other.failure).reason._tag, "AuthorizationFailed")
      assert.lengthOf(exchanges(elsewhere), 0)
    }))
})

describe("How EnterpriseManaged.layer fails", () => {
  verifies(["ERR-12", "OAS-06"], "tells who refused", () =>
    Effect.gen(function*() {
      const refusal = { status: 400, body: { error: "invalid_grant", error_description: "policy" } }
      const provider = servers(refusal)
      assert.deepInclude((yield* (yield* connect(provider)).failure).reason, {
        _tag: "InvalidGrant",
        issuer: idp,
        excerpt: "policy"
      })
      assert.lengthOf(exchanges(provider), 1)
      assert.lengthOf(provider.tokenRequests, 0)

      const server = servers()
      const intercept = server.intercept
      server.intercept = (seen) => seen.url.href === `${server.issuer}/token` ? refusal : intercept(seen)
      assert.deepInclude((yield* (yield* connect(server)).failure).reason, {
        _tag: "InvalidGrant",
        issuer: server.issuer
      })
      assert.lengthOf(server.tokenRequests, 1)
    }))

  verifies(["OAS-06", "SEC-14"], "takes nothing else for a grant, and shows none of it", () =>
    Effect.gen(function*() {
      const other = "the identity provider issued something else than the grant that was asked for (ID-JAG)"
      const unusable = "the authorization server issued a token of a type that this client does not present"
      const table: ReadonlyArray<readonly [body: object, problem: string]> = [
        [{ ...granted, issued_token_type: "urn:ietf:params:oauth:token-type:access_token" }, other],
        [{ ...granted, issued_token_type: undefined }, other],
        [{ ...granted, token_type: "Bearer" }, unusable],
        [
          { ...granted, token_type: undefined },
          "the answer of the token endpoint cannot be used: token_type is missing"
        ]
      ]
      for (const [body, problem] of table) {
        const traces = new Servers.Traces()
        const all = servers({ body })
        const error = yield* Effect.withSpan((yield* connect(all, {}, { traces })).failure, "call")
        assert.deepInclude(error.reason, { _tag: "AuthorizationFailed", stage: "token", issuer: idp, problem })
        assert.lengthOf(all.tokenRequests, 0)
        for (const text of [JSON.stringify(error), error.stack ?? "", ...traces.logs, ...traces.spans]) {
          assert.notMatch(text, /(grant|idp|as|subject)-secret/)
        }
      }
    }))

  verifies(
    ["OAD-09", "PAIN-71", "OAS-06"],
    "does not go where the metadata of an identity provider must not lead",
    () =>
      Effect.gen(function*() {
        const table: ReadonlyArray<readonly [metadata: object, problem: string]> = [
          [
            { issuer: "https://idp.acme.example/" },
            "discovery): the authorization server metadata names another issuer"
          ],
          [
            { token_endpoint: "https://169.254.169.254/token" },
            "discovery): the URL of the token endpoint points into"
          ],
          [
            { token_endpoint: "http://idp.acme.example/oauth2/token" },
            "discovery): the URL of the token endpoint is not https:"
          ]
        ]
        for (const [metadata, problem] of table) {
          const all = servers(undefined, metadata)
          const { message } = yield* (yield* connect(all)).failure
          assert.include(message, `Authorization failed (${problem}`)
          assert.lengthOf(all.seen.filter(({ method }) => method === "POST"), 1)
        }
      })
  )

  verifies(
    "OAS-06",
    "an identity provider inside the network is the host's own choice, whatever the server is",
    () =>
      Effect.gen(function*() {
        const inside = "https://10.1.2.3"
        const all = servers()
        all.intercept = ({ url }) => url.origin === inside ? { body: granted } : undefined
        const changed = { identityProvider: { ...identityProvider, issuer: inside, tokenEndpoint: `${inside}/token` } }
        assert.strictEqual(yield* (yield* connect(all, changed)).call, 200)
        const closed: UrlPolicy.UrlPolicy = {
          check: (url, use) =>
            url.origin === inside
              ? UrlPolicy.strict.check(new URL("ftp://refused.example"), use)
              : UrlPolicy.strict.check(url, use)
        }
        const layer = EnterpriseManaged.layer({ ...options, ...changed }).pipe(Layer.provide(UrlPolicy.layer(closed)))
        assert.strictEqual((yield* (yield* Servers.connect(all, layer)).failure).reason._tag, "AuthorizationFailed")
      })
  )

  verifies("OAS-06", "at once for an identity provider that cannot be asked", () =>
    Effect.gen(function*() {
      for (const [changed, path] of [[{ issuer: "idp" }, "issuer"], [{ clientId: "" }, "clientId"]] as const) {
        const provider = { ...identityProvider, ...changed }
        const { reason } = yield* Effect.flip(connect(servers(), { identityProvider: provider }))
        assert.deepInclude(reason, { _tag: "InvalidRequest", path: `identityProvider/${path}` })
      }
    }))
})
