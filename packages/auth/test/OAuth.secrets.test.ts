import { assert, describe } from "@effect/vitest"
import { Authorize, OAuth, TokenStore } from "@mcp-effect/auth"
import { McpClient } from "@mcp-effect/client"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { StreamableHttpTransport } from "@mcp-effect/transport"
import { Cause, Context, Effect, Exit, Layer, Logger, References, Tracer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError } from "effect/http"
import { inspect } from "node:util"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"

const unattended = Authorize.layerUnattended().pipe(Layer.provide(FetchHttpClient.layer))

/** Everything that comes out of a client other than by its requests, in every form that somebody might print. */
class Output {
  readonly texts: Array<string> = []
  spans = 0
  logs = 0

  add(value: unknown): void {
    this.texts.push(String(value), inspect(value, { depth: 30, getters: true }))
    try {
      this.texts.push(JSON.stringify(value) ?? "")
    } catch {
      // What refers to itself has no JSON.
    }
  }

  addExit(exit: Exit.Exit<unknown, unknown>): void {
    this.add(exit)
    if (!Exit.isFailure(exit)) return
    this.texts.push(Cause.pretty(exit.cause))
    for (const error of Cause.prettyErrors(exit.cause)) this.add(error)
  }

  readonly layer = Layer.mergeAll(
    Logger.layer([
      Logger.make((options) => {
        this.logs++
        this.add([options.message, options.cause])
        this.texts.push(Logger.formatStructured.log(options).toString(), Logger.formatLogFmt.log(options))
      })
    ]),
    Layer.succeed(References.MinimumLogLevel, "All"),
    Layer.succeed(
      Tracer.Tracer,
      Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          const end = span.end.bind(span)
          span.end = (time, exit) => {
            this.spans++
            this.add([span.name, [...span.attributes], span.events, span.links.map(({ attributes }) => attributes)])
            this.addExit(exit)
            end(time, exit)
          }
          return span
        }
      })
    )
  )
}

const encodings = (secret: string): ReadonlyArray<string> => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams([["", secret]]).toString().slice(1),
  Buffer.from(secret).toString("base64"),
  Buffer.from(secret).toString("base64url")
]

/** What the servers saw that nobody else may see. */
const secretsOf = (authority: TestAuthority.TestAuthority): ReadonlyArray<string> => {
  const secrets = new Set<string>()
  for (const { form, headers, query } of authority.seen) {
    for (const name of ["code", "code_verifier", "refresh_token", "client_secret"]) secrets.add(form.get(name) ?? "")
    secrets.add(query.get("state") ?? "")
    secrets.add(headers.authorization?.replace(/^\w+ /, "") ?? "")
  }
  for (const token of [...authority.tokens.keys(), ...authority.refreshTokens.keys()]) secrets.add(token)
  for (const { secret } of authority.clients.values()) secrets.add(secret ?? "")
  secrets.delete("")
  return [...secrets]
}

/** Where authorization failed, else what it failed for. */
const stageOf = (exit: Exit.Failure<unknown, HttpClientError.HttpClientError>): string => {
  const error = Cause.squash(exit.cause)
  assert(HttpClientError.isHttpClientError(error), String(error))
  const { reason } = error
  if (reason._tag !== "TransportError" || !McpError.isMcpError(reason.cause)) return reason._tag
  return reason.cause.reason._tag === "AuthorizationFailed" ? reason.cause.reason.stage : reason.cause.reason._tag
}

type Change = (authority: TestAuthority.TestAuthority) => void

/** Breaks the connection under a request with a secret. */
const destroying = (path: string): Change => (authority) => {
  authority.intercept = (seen, raw) => {
    if (seen.path !== path || seen.headers.authorization === undefined) return false
    raw.destroy()
    return true
  }
}

const answering = (path: string, status: number, value: Record<string, unknown>): Change => (authority) => {
  authority.intercept = (seen, raw) => {
    if (seen.path !== path) return false
    TestAuthority.json(raw, value, status)
    return true
  }
}

/** Peers that write what they were sent where an error may show it. */
const echoing: Change = (authority) => {
  authority.intercept = ({ body, headers, path }, raw) => {
    if (path !== "/as1/token") return false
    raw.writeHead(400, { "content-type": "text/plain", "x-echo": `${headers.authorization ?? ""} ${body}` })
    raw.end(`${headers.authorization ?? ""} ${body}`)
    return true
  }
}

describe("What a client lets out", () => {
  verifiesLive(
    ["SEC-14", "ERR-12"],
    "holds no secret: not in a log line, a span, an error, a store or the client itself",
    () =>
      Effect.gen(function*() {
        const fine: Change = (authority) => authority.intercept = () => false
        const restart: Change = (authority) => {
          fine(authority)
          authority.tokens.clear()
          authority.refreshTokens.clear()
        }
        const issuing = (body: Record<string, unknown>) => answering("/as1/token", 200, body)
        const changes: ReadonlyArray<readonly [change: Change, expected: number | string]> = [
          [fine, 200],
          [(authority) => authority.expireAll(), 200],
          [(authority) => authority.requiredScope = "write", 200],
          [(authority) => authority.migrate(`${authority.origin}/as2`), 200],
          [(authority) => authority.migrate(`${authority.origin}/as1`), 200],
          [destroying("/mcp"), "TransportError"],
          [
            (authority) => {
              authority.expireAll()
              echoing(authority)
            },
            "token"
          ],
          [destroying("/as1/token"), "ConnectionFailed"],
          [answering("/as1/token", 307, {}), "token"],
          [answering("/as1/token", 500, {}), "token"],
          [answering("/as1/token", 400, { error: "invalid_request", error_description: "no" }), "token"],
          [issuing({ access_token: "access-secret-0", token_type: "mac" }), "token"],
          [issuing({ access_token: "access-secret\n0", token_type: "Bearer" }), "token"],
          [issuing({ access_token: "access-secret-0", token_type: "Bearer", scope: 7 }), "token"],
          [fine, 200],
          [restart, 200],
          [
            (authority) => {
              restart(authority)
              authority.callbackOverrides = { iss: "https://evil.example" }
            },
            "sign-in"
          ],
          [(authority) => authority.callbackOverrides = { error: "access_denied", code: undefined }, "sign-in"],
          [
            (authority) => {
              authority.callbackOverrides = {}
              answering("/as1/token", 400, { error: "invalid_grant" })(authority)
            },
            "InvalidGrant"
          ]
        ]
        const authority = yield* TestAuthority.start
        authority.challengedScope = "read"
        authority.metadataOverrides = { token_endpoint_auth_methods_supported: ["client_secret_basic"] }
        const output = new Output()
        const layer = OAuth.layer().pipe(
          Layer.provide(unattended),
          Layer.provideMerge(TokenStore.layerMemory),
          Layer.provide(FetchHttpClient.layer),
          Layer.provideMerge(output.layer)
        )
        const context = yield* Layer.build(Layer.fresh(layer))
        const http = Context.get(context, HttpClient.HttpClient)
        for (const [change, expected] of changes) {
          change(authority)
          const call = Effect.flatMap(http.get(authority.url), (response) => Effect.as(response.text, response.status))
          const exit = yield* call.pipe(Effect.withSpan("call"), Effect.provide(context), Effect.exit)
          output.addExit(exit)
          assert.strictEqual(Exit.isSuccess(exit) ? exit.value : stageOf(exit), expected)
        }
        assert.isAbove(output.spans, changes.length)
        assert.isAbove(output.logs, 0)
        const store = Context.get(context, TokenStore.TokenStore)
        output.add(yield* store.get(authority.url))
        output.add([store, http, context])
        const secrets = secretsOf(authority)
        assert.isAbove(secrets.length, 25)
        for (const secret of secrets.flatMap(encodings)) {
          for (const text of output.texts) assert.notInclude(text, secret)
        }
        for (const text of output.texts) assert.notMatch(text, /access-secret|refresh-secret/)
      })
  )

  verifiesLive(
    "SEC-14",
    "of a connection that breaks under a token holds no secret either",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        destroying("/mcp")(authority)
        const output = new Output()
        const layer = McpClient.layer().pipe(
          Layer.provide(StreamableHttpTransport.layer({ url: authority.url })),
          Layer.provide(OAuth.layer()),
          Layer.provide(unattended),
          Layer.provide(FetchHttpClient.layer),
          Layer.provideMerge(output.layer)
        )
        const exit = yield* Effect.exit(Effect.scoped(Layer.build(Layer.fresh(layer))))
        assert.isTrue(Exit.isFailure(exit))
        output.addExit(exit)
        assert.lengthOf(authority.requests("/as1/token"), 1)
        for (const secret of secretsOf(authority).flatMap(encodings)) {
          for (const text of output.texts) assert.notInclude(text, secret)
        }
      })
  )

  verifiesLive("SEC-14", "to a person is the URL alone, whose state nobody else sees", () =>
    Effect.gen(function*() {
      const authority = yield* TestAuthority.start
      const logs: Array<string> = []
      const authorize = Authorize.layer({
        redirectUri: "http://127.0.0.1/callback",
        authorize: (request) => {
          const { url, ...rest } = request
          const verifier = authority.requests("/as1/token")
          assert.lengthOf(verifier, 0)
          assert.notInclude(inspect(rest, { depth: 10 }), url.searchParams.get("state") ?? "none")
          return Client.visit(url)
        }
      })
      assert.strictEqual(yield* (yield* Client.make(authority, { authorize, logs })).call, 200)
      // The verifier is no part of the URL, its digest is (RFC 7636).
      const verifier = authority.requests("/as1/token")[0]?.form.get("code_verifier") ?? ""
      assert.match(verifier, /^[\w-]{43}$/)
      assert.notInclude(String(authority.requests("/as1/authorize")[0]?.query), verifier)
    }))
})
