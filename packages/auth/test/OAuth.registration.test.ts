import { assert, describe } from "@effect/vitest"
import { Authorize, OAuth, type TokenStore } from "@mcp-effect/auth"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"

const document = "https://app.example/client.json"

/** The client ids that people were sent to sign in with. */
const signIns = (authority: TestAuthority.TestAuthority) =>
  authority.requests(/authorize$/).map(({ path, query }) => `${path.slice(1, 4)} ${query.get("client_id")}`)

const registrations = (authority: TestAuthority.TestAuthority) =>
  authority.requests(/register$/).map(({ body }) => JSON.parse(body) as Record<string, unknown>)

/** Answers registrations. `undefined` leaves them to the server. */
const answering = (
  authority: TestAuthority.TestAuthority,
  answer: (request: Record<string, unknown>) => readonly [status: number, body: unknown] | undefined
) => {
  authority.intercept = ({ body, path }, raw) => {
    if (!path.endsWith("/register")) return false
    const [status, answered] = answer(JSON.parse(body)) ?? []
    if (status === undefined) return false
    raw.writeHead(status, { "content-type": "application/json" })
    raw.end(typeof answered === "string" ? answered : JSON.stringify(answered))
    return true
  }
}

const failedAt = (error: McpError.McpError) => {
  assert(error.reason._tag === "AuthorizationFailed", error.reason._tag)
  return error.reason
}

/** A person whose browser ends at another redirect URI. */
const endingAt = (redirectUri: string) => Authorize.layer({ redirectUri, authorize: ({ url }) => Client.visit(url) })

/** A store in memory that a test looks into, or that fails to keep some texts. */
const keeping = (isRefused: (text: string) => boolean = () => false) => {
  const texts = new Map<string, Redacted.Redacted>()
  const textOf = (text: Redacted.Redacted | undefined) => text === undefined ? undefined : Redacted.value(text)
  const store: TokenStore.TokenStore["Service"] = {
    get: (key) => Effect.sync(() => texts.get(key)),
    compareAndSet: (key, expected, next) =>
      Effect.suspend(() => {
        if (isRefused(textOf(next) ?? "")) {
          return Effect.fail(
            McpError.make(new McpError.AuthorizationFailed({ stage: "storage", problem: "the disk is full" }), "unsent")
          )
        }
        if (textOf(texts.get(key)) !== textOf(expected)) return Effect.succeed(false)
        if (next === undefined) texts.delete(key)
        else texts.set(key, next)
        return Effect.succeed(true)
      }),
    withLock: (_, effect) => effect
  }
  return { store, texts }
}

describe("How the client becomes known", () => {
  verifiesLive(
    ["OAR-03", "OAR-08", "OAR-12"],
    "credentials for the very issuer come first, then the document, then what registered itself",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { issuer } = authority
        const { store } = keeping()
        const signedIn = (options: OAuth.Options) =>
          Effect.gen(function*() {
            authority.tokens.clear()
            authority.refreshTokens.clear()
            assert.strictEqual(yield* (yield* Client.make(authority, { ...options, store })).call, 200)
          })
        yield* signedIn({ clientMetadataUrl: document })
        authority.clients.set("given", { secret: "s: %&+", issuer })
        authority.metadataOverrides = { client_id_metadata_document_supported: true }
        yield* signedIn({ clientMetadataUrl: document })
        for (const clientSecret of ["s: %&+", Redacted.make("s: %&+")]) {
          yield* signedIn({ clientMetadataUrl: document, clients: [{ issuer, clientId: "given", clientSecret }] })
        }
        assert.deepStrictEqual(signIns(authority), ["as1 client-1", `as1 ${document}`, "as1 given", "as1 given"])
        assert.lengthOf(registrations(authority), 1)
        // The registration is still there for whom has nothing better.
        yield* signedIn({})
        assert.strictEqual(signIns(authority).at(-1), "as1 client-1")
        assert.lengthOf(registrations(authority), 1)
      })
  )

  verifiesLive(
    ["OAR-04", "OAT-14"],
    "credentials for another issuer are told as such, and nothing is sent",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const clients = [{ issuer: `${authority.origin}/as2`, clientId: "given", clientSecret: "secret-of-as2" }]
        const reason = failedAt(yield* (yield* Client.make(authority, { clients })).failure)
        assert.strictEqual(reason.stage, "registration")
        assert.include(reason.problem, "for other authorization servers than this one (issuer)")
        assert.strictEqual(reason.issuer, authority.issuer)
        assert.lengthOf(authority.requests(/authorize$|token$|register$/), 0)
        assert.notInclude(JSON.stringify(authority.seen), "secret-of-as2")
      })
  )

  verifiesLive("OAR-04", "credentials without an issuer are refused when they are given", () =>
    Effect.gen(function*() {
      const invalid: ReadonlyArray<readonly [OAuth.Options, path: string]> = [
        [{ clients: [{ issuer: "", clientId: "given" }] }, "clients/0"],
        [{ clients: [{ issuer: "https://as.example", clientId: "" }] }, "clients/0"],
        [{ clientMetadataUrl: "http://app.example/client.json" }, "clientMetadataUrl"],
        [{ server: "mcp.example" }, "server"]
      ]
      for (const [options, path] of invalid) {
        const error = yield* Effect.flip(Effect.scoped(
          Layer.build(
            OAuth.layer(options).pipe(Layer.provide(Authorize.layerNone), Layer.provide(FetchHttpClient.layer))
          )
        ))
        assert.deepInclude(error.reason, { _tag: "InvalidRequest", path })
      }
    }))

  verifiesLive(
    ["OAR-05", "OAT-14"],
    "a registration is kept for the authorization server that gave it, over a restart too",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { store, texts } = keeping()
        for (const issuer of ["as1", "as2", "as1", "as2"]) {
          authority.migrate(`${authority.origin}/${issuer}`)
          assert.strictEqual(yield* (yield* Client.make(authority, { store })).call, 200)
        }
        assert.deepStrictEqual(signIns(authority), ["as1 client-1", "as2 client-2", "as1 client-1", "as2 client-2"])
        assert.deepStrictEqual(authority.requests(/register$/).map(({ path }) => path), [
          "/as1/register",
          "/as2/register"
        ])
        assert.lengthOf([...texts.keys()], 1)
        // Neither learns of the other's client.
        for (const [issuer, other] of [["as1", "client-2"], ["as2", "client-1"]] as const) {
          assert.notInclude(JSON.stringify(authority.requests(new RegExp(`^/${issuer}/`))), other)
        }
      })
  )

  verifiesLive(
    "OAR-11",
    "the id of a metadata document goes to every server that takes one",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        authority.metadataOverrides = { client_id_metadata_document_supported: true }
        const client = yield* Client.make(authority, { clientMetadataUrl: document })
        assert.strictEqual(yield* client.call, 200)
        authority.migrate(`${authority.origin}/as2`)
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(signIns(authority), [`as1 ${document}`, `as2 ${document}`])
        assert.lengthOf(registrations(authority), 0)
      })
  )
})

describe("Dynamic registration", () => {
  verifiesLive(
    ["OAR-07", "PAIN-70"],
    "is logged as deprecated unless it is meant, and can be ruled out",
    () =>
      Effect.gen(function*() {
        const warned = (options: OAuth.Options) =>
          Effect.gen(function*() {
            const authority = yield* TestAuthority.start
            const logs: Array<string> = []
            assert.strictEqual(yield* (yield* Client.make(authority, { ...options, logs })).call, 200)
            return logs.filter((line) => line.includes("the protocol deprecates"))
          })
        assert.lengthOf(yield* warned({}), 1)
        assert.lengthOf(yield* warned({ dynamicRegistration: true }), 0)
        for (
          const [options, metadata] of [
            [{ dynamicRegistration: false }, {}],
            [{}, { registration_endpoint: undefined }]
          ] as const
        ) {
          const authority = yield* TestAuthority.start
          authority.metadataOverrides = metadata
          const reason = failedAt(yield* (yield* Client.make(authority, options)).failure)
          assert.strictEqual(reason.stage, "registration")
          assert.include(reason.problem, "register one with it and give it (clients), with the issuer it is for")
          assert.lengthOf(authority.requests(/authorize$|token$|register$/), 0)
        }
      })
  )

  verifiesLive(
    ["OAR-06", "SDK-07"],
    "says what the application is: by where its redirect URI leads, or as the host says",
    () =>
      Effect.gen(function*() {
        const table: ReadonlyArray<readonly [redirectUri: string, chosen: "native" | "web" | undefined, sent: string]> =
          [
            ["http://127.0.0.1:8080/callback", undefined, "native"],
            ["http://localhost/callback", undefined, "native"],
            ["com.example.app:/callback", undefined, "native"],
            ["https://app.example/callback", undefined, "web"],
            ["https://app.example/callback", "native", "native"],
            ["http://127.0.0.1/callback", "web", "web"]
          ]
        for (const [redirectUri, applicationType, sent] of table) {
          const authority = yield* TestAuthority.start
          authority.challengedScope = "read write"
          const client = yield* Client.make(authority, {
            authorize: endingAt(redirectUri),
            clientMetadata: {
              applicationType,
              clientName: "Tracker",
              clientUri: "https://app.example",
              logoUri: "https://app.example/logo.png",
              softwareId: "tracker",
              softwareVersion: "2.0.0"
            }
          })
          assert.strictEqual(yield* client.call, 200)
          assert.deepStrictEqual(registrations(authority), [{
            client_name: "Tracker",
            client_uri: "https://app.example",
            logo_uri: "https://app.example/logo.png",
            software_id: "tracker",
            software_version: "2.0.0",
            redirect_uris: [redirectUri],
            application_type: sent,
            grant_types: ["authorization_code", "refresh_token"],
            response_types: ["code"],
            token_endpoint_auth_method: "none",
            scope: "read write"
          }])
          assert.strictEqual(authority.requests("/as1/token")[0]?.form.get("redirect_uri"), redirectUri)
        }
      })
  )

  verifiesLive(
    "OAR-06",
    "is tried once more as the other type where the redirect URI is refused",
    () =>
      Effect.gen(function*() {
        const refusal = [400, { error: "invalid_redirect_uri", error_description: "no loopback here" }] as const
        const authority = yield* TestAuthority.start
        answering(authority, ({ application_type }) => application_type === "native" ? refusal : undefined)
        assert.strictEqual(yield* (yield* Client.make(authority)).call, 200)
        const types = () => registrations(authority).map(({ application_type }) => application_type)
        assert.deepStrictEqual(types(), ["native", "web"])

        answering(authority, () => refusal)
        const reason = failedAt(yield* (yield* Client.make(authority)).failure)
        assert.deepInclude(reason, {
          stage: "registration",
          status: 400,
          error: "invalid_redirect_uri",
          excerpt: "no loopback here"
        })
        assert.include(reason.problem, "register a client by hand and give its id (clients)")
        assert.deepStrictEqual(types(), ["native", "web", "native", "web"])

        // What is not about the redirect URI is no reason to ask again.
        answering(authority, () => [400, { error: "invalid_client_metadata" }])
        assert.strictEqual(failedAt(yield* (yield* Client.make(authority)).failure).error, "invalid_client_metadata")
        assert.lengthOf(types(), 5)
      })
  )

  verifiesLive(
    ["OAR-09", "OAR-13"],
    "is held against what was asked for before anybody is sent anywhere",
    () =>
      Effect.gen(function*() {
        const good = { client_id: "c", redirect_uris: ["http://127.0.0.1/callback"] }
        const table: ReadonlyArray<readonly [body: unknown, problem: string]> = [
          ["<html>written by the peer", "it is not JSON (25 characters)"],
          [[good], "it is not a JSON object"],
          [{ redirect_uris: good.redirect_uris }, "client_id is missing"],
          [{ ...good, client_id: "" }, "client_id is missing"],
          [{ ...good, client_id: 7 }, "client_id is not a string"],
          [{ ...good, client_secret: 7 }, "client_secret is not a string"],
          [{ ...good, client_secret_expires_at: "never" }, "client_secret_expires_at is not a number"],
          [{ ...good, token_endpoint_auth_method: [] }, "token_endpoint_auth_method is not a string"],
          [{ ...good, redirect_uris: "http://127.0.0.1/callback" }, "redirect_uris is not an array of strings"],
          [
            { ...good, redirect_uris: ["http://127.0.0.1/callback", "http://evil.example/callback"] },
            "it registers a redirect URI that is neither local nor https:"
          ],
          [
            { ...good, redirect_uris: ["https://evil.example/callback"] },
            "it registers other redirect URIs than the one that was asked for"
          ]
        ]
        for (const [body, problem] of table) {
          const authority = yield* TestAuthority.start
          answering(authority, () => [201, body])
          const { store, texts } = keeping()
          const reason = failedAt(yield* (yield* Client.make(authority, { store })).failure)
          assert.strictEqual(reason.stage, "registration")
          assert.strictEqual(reason.problem, `the answer of the registration endpoint cannot be used: ${problem}`)
          assert.lengthOf(authority.requests(/authorize$|token$/), 0)
          assert.notInclude([...texts.values()].map(Redacted.value).join(), "registered")
        }
        const authority = yield* TestAuthority.start
        answering(authority, () => [307, ""])
        const reason = failedAt(yield* (yield* Client.make(authority)).failure)
        assert.include(reason.problem, "redirected the request, which is not followed")
      })
  )

  verifiesLive(
    "OAR-10",
    "that cannot be kept is an error, and nobody is sent to sign in with it",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { store } = keeping((text) => text.includes("client-1"))
        const reason = failedAt(yield* (yield* Client.make(authority, { store })).failure)
        assert.deepInclude(reason, { stage: "storage", problem: "the disk is full" })
        assert.lengthOf(registrations(authority), 1)
        assert.lengthOf(authority.requests(/authorize$|token$/), 0)
      })
  )

  verifiesLive(
    "OAR-05",
    "is done anew where the secret ran out, the redirect URI is another, or more scopes are wanted",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const { store } = keeping()
        let expires = 1
        let scope: string | undefined = "read"
        answering(authority, ({ redirect_uris }) => {
          const clientId = `client-${registrations(authority).length}`
          return [201, { client_id: clientId, redirect_uris, client_secret_expires_at: expires, scope }]
        })
        const signedIn = (redirectUri = "http://127.0.0.1/callback") =>
          Effect.gen(function*() {
            authority.tokens.clear()
            authority.refreshTokens.clear()
            const client = yield* Client.make(authority, { store, authorize: endingAt(redirectUri) })
            assert.strictEqual(yield* client.call, 200)
            return signIns(authority).at(-1)
          })
        authority.challengedScope = "read"
        assert.strictEqual(yield* signedIn(), "as1 client-1")
        expires = 0
        assert.strictEqual(yield* signedIn(), "as1 client-2")
        assert.strictEqual(yield* signedIn(), "as1 client-2")
        assert.strictEqual(yield* signedIn("http://127.0.0.1/other"), "as1 client-3")
        authority.challengedScope = "write"
        assert.strictEqual(yield* signedIn("http://127.0.0.1/other"), "as1 client-4")
        // The server still says "read" alone; it was asked for "write" once, which is enough.
        assert.strictEqual(yield* signedIn("http://127.0.0.1/other"), "as1 client-4")
      })
  )
})

describe("What a host brings", () => {
  verifiesLive(
    ["SDK-01", "SDK-07", "OAT-12"],
    "is where the answer comes, how a person gets there, and where tokens are kept; in memory by default",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const requests: Array<Authorize.Request> = []
        const { store, texts } = keeping()
        const authorize = Authorize.layer({
          redirectUri: "https://app.example/callback",
          // An application may have no more than the query of the callback.
          authorize: (request) => {
            requests.push(request)
            return Effect.map(Client.visit(request.url), ({ searchParams }) => searchParams)
          }
        })
        assert.strictEqual(yield* (yield* Client.make(authority, { authorize, store })).call, 200)
        assert.lengthOf(requests, 1)
        const [request] = requests
        assert(request !== undefined)
        assert.strictEqual(`${request.url.origin}${request.url.pathname}`, `${authority.issuer}/authorize`)
        assert.strictEqual(request.redirectUri, "https://app.example/callback")
        assert.strictEqual(request.server.href, authority.url)
        assert.strictEqual(request.issuer, authority.issuer)
        assert.isTrue(request.accepts(new URLSearchParams({ state: request.url.searchParams.get("state") ?? "" })))
        assert.isFalse(request.accepts(new URLSearchParams({ state: "of another tab" })))
        assert.deepStrictEqual([...texts.keys()], [authority.url])
        // Without a store the next client begins anew.
        for (const count of [2, 3]) {
          assert.strictEqual(yield* (yield* Client.make(authority, { authorize })).call, 200)
          assert.lengthOf(requests, count)
        }
      })
  )
})
