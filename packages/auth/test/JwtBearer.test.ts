import { assert, describe } from "@effect/vitest"
import { JwtBearer, TokenStore } from "@mcp-effect/auth"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Servers from "./TestTokenEndpoint.ts"

const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const base = { issuer: "https://as.example", clientId: "pod" } as const

const connect = (
  servers: Servers.TestTokenEndpoint,
  options: Omit<JwtBearer.Options, "issuer" | "clientId"> & Partial<JwtBearer.Options>,
  rest?: Servers.Options
) => Servers.connect(servers, JwtBearer.layer({ ...base, ...options }), rest)

describe("JwtBearer.layer", () => {
  verifies("OAS-06", "presents the assertion as it is, and only says who the client is", () =>
    Effect.gen(function*() {
      for (const assertion of ["a.b.c", Redacted.make("a.b.c"), () => Effect.succeed(Redacted.make("a.b.c\n"))]) {
        const servers = new Servers.TestTokenEndpoint()
        const client = yield* connect(servers, { assertion, scopes: ["read", "write"] })
        assert.strictEqual(yield* client.call, 200)
        const [request] = servers.tokenRequests
        assert.isUndefined(request?.headers["authorization"])
        assert.deepStrictEqual(Object.fromEntries(request?.form ?? []), {
          grant_type: grantType,
          assertion: "a.b.c",
          scope: "read write",
          client_id: "pod",
          resource: "https://mcp.example/mcp"
        })
      }
    }))

  verifies("OAS-06", "presents the assertion alone where nobody is registered", () =>
    Effect.gen(function*() {
      const servers = new Servers.TestTokenEndpoint()
      const store = yield* TokenStore.makeMemory
      for (let count = 0; count < 2; count++) {
        const client = yield* connect(servers, { clientId: undefined, assertion: "a.b.c" }, { store })
        assert.strictEqual(yield* client.call, 200)
      }
      assert.lengthOf(servers.tokenRequests, 1)
      assert.deepStrictEqual(Object.fromEntries(servers.tokenRequests[0]?.form ?? []), {
        grant_type: grantType,
        assertion: "a.b.c",
        resource: "https://mcp.example/mcp"
      })
      for (const changed of [{ clientId: "" }, { clientId: undefined, clientSecret: "pw" }]) {
        const { reason } = yield* Effect.flip(connect(servers, { assertion: "a.b.c", ...changed }))
        assert.deepInclude(reason, { _tag: "InvalidRequest", path: "clientId" })
      }
    }))

  verifies(["OAS-06", "OAT-10"], "authenticates where the client has a secret", () =>
    Effect.gen(function*() {
      const servers = new Servers.TestTokenEndpoint()
      const client = yield* connect(servers, { assertion: "a.b.c", clientSecret: "pw" })
      assert.strictEqual(yield* client.call, 200)
      // The base64 of "pod:pw".
      assert.strictEqual(servers.tokenRequests[0]?.headers["authorization"], "Basic cG9kOnB3")
      assert.isNull(servers.tokenRequests[0]?.form.get("client_id"))
    }))

  verifies(
    "OAS-06",
    "asks for an assertion whenever it wants a token, and says what for",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        servers.resourceMetadata = {
          ...servers.resourceMetadata,
          resource: "https://mcp.example",
          scopes_supported: ["a"]
        }
        const wanted: Array<JwtBearer.Request> = []
        const client = yield* connect(servers, {
          assertion: (request) => Effect.sync(() => `assertion-${wanted.push(request)}`)
        })
        assert.strictEqual(yield* client.call, 200)
        assert.strictEqual(yield* client.call, 200)
        yield* TestClock.adjust("2 hours")
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(servers.tokenRequests.map(({ form }) => form.get("assertion")), [
          "assertion-1",
          "assertion-2"
        ])
        assert.deepStrictEqual(wanted[0], {
          server: new URL("https://mcp.example/mcp"),
          issuer: "https://as.example",
          resource: "https://mcp.example",
          scopes: ["a"]
        })
      })
  )

  verifies(
    ["OAS-06", "ERR-12"],
    "an assertion that is refused is not sent again, nor another grant tried",
    () =>
      Effect.gen(function*() {
        for (const error of ["invalid_grant", "invalid_scope", "unauthorized_client"]) {
          const servers = new Servers.TestTokenEndpoint()
          servers.intercept = ({ url }) =>
            url.pathname === "/token" ? { status: 400, body: { error, error_description: "expired" } } : undefined
          const { delivery, isRetryable, reason } = yield* (yield* connect(servers, { assertion: "a.b.c" })).failure
          assert.deepInclude(reason, {
            _tag: error === "invalid_grant" ? "InvalidGrant" : "AuthorizationFailed",
            issuer: servers.issuer,
            excerpt: "expired"
          })
          assert.strictEqual(delivery, "refused")
          assert.isFalse(isRetryable)
          assert.deepStrictEqual(servers.tokenRequests.map(({ form }) => form.get("grant_type")), [grantType])
          assert.lengthOf(servers.calls, 1)
        }
      })
  )

  verifies(
    ["OAT-14", "OAS-06"],
    "shows the assertion to its own authorization server alone",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        let count = 0
        const client = yield* connect(servers, {
          issuer: "https://trusted.example",
          assertion: () => Effect.sync(() => `assertion-${++count}`)
        })
        const { reason } = yield* client.failure
        assert.deepInclude(reason, { _tag: "AuthorizationFailed", issuer: "https://as.example" })
        assert.lengthOf(servers.tokenRequests, 0)
        assert.strictEqual(count, 0)
      })
  )

  verifies(
    ["OAT-05", "OAS-06"],
    "an assertion that comes when the server names another goes nowhere",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        const store = yield* TokenStore.makeMemory
        const second = "https://second.example"
        servers.intercept = ({ at, url }) => {
          if (url.origin !== second) return undefined
          return url.pathname === "/token"
            ? servers.issue(at)
            : { body: { issuer: second, token_endpoint: `${second}/token` } }
        }
        const other = yield* connect(servers, { assertion: "for second", issuer: second }, { store })
        const client = yield* connect(servers, {
          assertion: () =>
            Effect.gen(function*() {
              servers.resourceMetadata = { ...servers.resourceMetadata, authorization_servers: [second] }
              assert.strictEqual(yield* other.call, 200)
              return "late"
            })
        }, { store })
        assert.strictEqual((yield* client.failure).reason._tag, "AuthorizationFailed")
        assert.lengthOf(servers.tokenRequests, 0)
        assert.strictEqual(servers.requests(`${second}/token`)[0]?.form.get("assertion"), "for second")
      })
  )

  verifies(
    ["OAS-06", "SEC-14"],
    "says so when there is no assertion, and keeps it to itself",
    () =>
      Effect.gen(function*() {
        const servers = new Servers.TestTokenEndpoint()
        const cause = new Error("no such file")
        const { message, reason } = yield* (yield* connect(servers, { assertion: () => Effect.fail(cause) })).failure
        assert.deepInclude(reason, { _tag: "AuthorizationFailed", stage: "token", cause })
        assert.strictEqual(message, "Authorization failed (token): the assertion cannot be had")
        assert.lengthOf(servers.tokenRequests, 0)

        servers.intercept = ({ url }) => url.pathname === "/token" ? { status: 400, body: "{}" } : undefined
        const traces = new Servers.Traces()
        const client = yield* connect(servers, { assertion: "assertion-secret" }, { traces })
        const error = yield* Effect.withSpan(client.failure, "call")
        for (const text of [String(error), JSON.stringify(error), error.stack ?? "", ...traces.logs, ...traces.spans]) {
          assert.notInclude(text, "assertion-secret")
        }
      })
  )
})
