/**
 * OAuth 2.1 for MCP servers over HTTP, with a person who signs in: an `HttpClient` around an `HttpClient` (2026-07-28
 * authorization).
 *
 * **Example** (A server that wants a sign-in)
 *
 * ```ts
 * import { OAuth, type Authorize } from "@mcp-effect/auth"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * declare const browser: Layer.Layer<Authorize.Authorize>
 *
 * const http = OAuth.layer({ clientMetadataUrl: "https://app.example/client.json" }).pipe(
 *   Layer.provide(browser),
 *   Layer.provide(FetchHttpClient.layer)
 * )
 * ```
 *
 * @since 0.1.0
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as AuthorizationCode from "./AuthorizationCode.ts"
import * as Authorize from "./Authorize.ts"
import * as AuthorizedClient from "./internal/AuthorizedClient.ts"
import * as Crypto from "./internal/Crypto.ts"
import * as Failure from "./internal/Failure.ts"
import type { Attempt, Grant, Obtained } from "./internal/Grant.ts"
import * as Registration from "./Registration.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

// ====================================================================================================================
// Options
// ====================================================================================================================

/**
 * How a client signs in.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends AuthorizedClient.Options, Registration.Options {
  /**
   * How long a person may take to sign in.
   *
   * @default "5 minutes"
   */
  readonly signInTimeout?: Duration.Input | undefined
}

const defaultSignInTimeout = Duration.minutes(5)

/** What a program that opens a URL can be given: on Windows a command line has at most 32,767 characters. */
const maxUrlLength = 30_000

const check = (options: Options): Effect.Effect<void, McpError.McpError> => {
  const { clientMetadataUrl, clients = [], server } = options
  if (server !== undefined && !URL.canParse(server)) return Effect.fail(Failure.invalid("server", "is no URL"))
  const problem = clientMetadataUrl === undefined ? undefined : Registration.clientMetadataUrlProblem(clientMetadataUrl)
  if (problem !== undefined) return Effect.fail(Failure.invalid("clientMetadataUrl", problem))
  const nameless = clients.findIndex(({ clientId, issuer }) => clientId === "" || !URL.canParse(issuer))
  return nameless === -1 ? Effect.void : Effect.fail(
    Failure.invalid(`clients/${nameless}`, "needs a clientId and the issuer URL of the authorization server it is for")
  )
}

// ====================================================================================================================
// The grant
// ====================================================================================================================

/** Sends the person to the authorization server and gives what the browser brings back. */
const signIn = (
  attempt: Attempt,
  receiver: Authorize.Receiver,
  record: AuthorizationCode.Pending,
  url: URL,
  timeout: Duration.Duration
): Effect.Effect<URLSearchParams, McpError.McpError> =>
  attempt.person(
    receiver.authorize({
      url,
      redirectUri: receiver.redirectUri,
      server: attempt.server,
      issuer: record.issuer,
      accepts: (parameters) => AuthorizationCode.answers(record, parameters),
      verdictOf: (parameters) => AuthorizationCode.verdictOf(record, parameters)
    }).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () =>
          Effect.fail(
            Failure.failed("sign-in", `nobody signed in within ${Duration.format(timeout)} (signInTimeout)`, {
              issuer: record.issuer
            })
          )
      }),
      Effect.map((callback) => callback instanceof URLSearchParams ? callback : callback.searchParams)
    )
  )

const obtain = Effect.fnUntraced(function*(options: Options, receiver: Authorize.Receiver, attempt: Attempt) {
  const { http, known, proof, resource, scopes } = attempt
  const { authorizationServer } = attempt.discovered
  const { authorizationEndpoint = "", issuer } = authorizationServer
  const { redirectUri } = receiver
  const problem = AuthorizationCode.redirectUriProblem(redirectUri)
  if (problem !== undefined) {
    return yield* Effect.fail(Failure.failed("sign-in", `the redirect URI of this client ${problem}`))
  }
  if (!AuthorizationCode.hasPkce(authorizationServer)) {
    return yield* Effect.fail(
      Failure.failed("sign-in", "the authorization server does not say that it has PKCE with S256", { issuer })
    )
  }
  if (!URL.canParse(authorizationEndpoint)) {
    return yield* Effect.fail(
      Failure.failed("sign-in", "the authorization server has no authorization endpoint", { issuer })
    )
  }
  const endpoint = new URL(authorizationEndpoint)
  yield* http.check(endpoint, "authorization")
  const client = yield* Registration.choose(http, authorizationServer, options, {
    redirectUri,
    scopes,
    kept: known?.registered,
    keep: attempt.keep
  })
  const record = yield* AuthorizationCode.pending(authorizationServer, client.clientId, redirectUri)
  const url = AuthorizationCode.requestUrl(endpoint, record, { scopes, resource, boundTo: proof.thumbprint })
  if (url.href.length > maxUrlLength) {
    return yield* Effect.fail(
      Failure.failed("sign-in", `the URL of the sign-in would have more than ${maxUrlLength} characters`, { issuer })
    )
  }
  const timeout = Duration.fromInputUnsafe(options.signInTimeout ?? defaultSignInTimeout)
  const callback = yield* signIn(attempt, receiver, record, url, timeout)
  const code = yield* Effect.fromResult(AuthorizationCode.codeOf(record, callback))
  yield* attempt.ensureCurrent
  const issued = yield* TokenEndpoint.request(http, { authorizationServer, client, proof }, {
    grant_type: "authorization_code",
    code: Redacted.value(code),
    redirect_uri: redirectUri,
    code_verifier: Redacted.value(record.pkce.verifier),
    resource
  })
  return { client, issued } satisfies Obtained
})

const grantOf = (options: Options, authorize: Authorize.Authorize["Service"]): Grant => ({
  obtain: (attempt) =>
    Effect.scoped(
      Effect.flatMap(authorize.receiver, (receiver) =>
        receiver === undefined ? Effect.succeed(undefined) : obtain(options, receiver, attempt))
    ),
  clientOf: (known, clientId) => Registration.find(options, known.issuer, clientId, known.registered),
  prefer: (issuers) => options.clients?.map(({ issuer }) => issuer).find((issuer) => issuers.includes(issuer)),
  isUnattended: false
})

// ====================================================================================================================
// Layers
// ====================================================================================================================

/**
 * Makes the client.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*(options: Options) {
  yield* check(options)
  return yield* Effect.provide(
    AuthorizedClient.make(options, grantOf(options, yield* Authorize.Authorize)),
    Crypto.layer
  )
})

/**
 * Layer that wraps an `HttpClient`: requests carry the token of their server, a token that runs out is refreshed in time
 * and once for all who wait, and a server that answers 401 or 403 `insufficient_scope` gets one sign-in and the request
 * once more.
 *
 * A `TokenStore`, where one is provided, keeps tokens and registrations; without one they are forgotten with the layer.
 * `UrlPolicy` decides what URLs may be contacted. A request fails with an `HttpClientError` whose cause is an `McpError`
 * of reason `AuthorizationFailed`, `InvalidGrant` or `ConnectionFailed`; when nobody can be asked it gets the answer of
 * the server.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options = {}
): Layer.Layer<HttpClient.HttpClient, McpError.McpError, HttpClient.HttpClient | Authorize.Authorize> =>
  Layer.effect(HttpClient.HttpClient, make(options))

/**
 * Layer with options from configuration.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Config.Wrap<Options>
): Layer.Layer<
  HttpClient.HttpClient,
  McpError.McpError | Config.ConfigError,
  HttpClient.HttpClient | Authorize.Authorize
> => Layer.effect(HttpClient.HttpClient, Effect.flatMap(Config.unwrap(options), make))
