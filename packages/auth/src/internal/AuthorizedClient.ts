/**
 * An `HttpClient` that presents tokens and answers what servers say to them.
 */
import { McpError, WwwAuthenticate } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ProtectedResource from "../ProtectedResource.ts"
import * as TokenStore from "../TokenStore.ts"
import * as UrlPolicy from "../UrlPolicy.ts"
import * as AuthHttp from "./AuthHttp.ts"
import { CurrentProof } from "./CurrentProof.ts"
import * as Flights from "./Flights.ts"
import type { Crypto, Grant } from "./Grant.ts"
import * as Records from "./Records.ts"
import { type Presented, ServerTokens } from "./ServerTokens.ts"

/** What every way to authorize can be told. */
export interface Options {
  /**
   * The URL of the MCP server. Requests to another origin get no token.
   *
   * @default the URL of each request, without its fragment: right where a server has one URL, as with Streamable HTTP
   */
  readonly server?: string | URL | undefined
  /**
   * Scopes to ask for where neither the server's challenge nor its metadata names any.
   *
   * @default none
   */
  readonly scopes?: ReadonlyArray<string> | undefined
  /**
   * RFC 8707 `resource`: `"omit"` for authorization servers that do not accept it, or another string than the server's.
   *
   * @default the resource of the server's metadata, byte for byte; without metadata its canonical URL
   */
  readonly resource?: "omit" | (string & {}) | undefined
  /**
   * What to do when a token lacks scopes (HTTP 403 `insufficient_scope`): `"authorize"` asks for them together with those
   * asked for before, at most once a request; `"fail"` reports `InsufficientScope`.
   *
   * @default "authorize"
   */
  readonly stepUp?: "authorize" | "fail" | undefined
  /**
   * Whose tokens they are, where one store serves several users.
   *
   * @default one for all
   */
  readonly principal?: string | undefined
  /**
   * How long one request of authorization itself may take, with its answer.
   *
   * @default "30 seconds"
   */
  readonly requestTimeout?: Duration.Input | undefined
}

const defaultRequestTimeout = Duration.seconds(30)

const urlOf = (request: HttpClientRequest.HttpClientRequest): URL | undefined => {
  const query = UrlParams.toString(request.urlParams)
  const text = query === "" ? request.url : `${request.url}${request.url.includes("?") ? "&" : "?"}${query}`
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  url.hash = ""
  return url
}

/** Gives a body up that nobody reads, and its connection with it. */
const discard = (response: HttpClientResponse): Effect.Effect<void> =>
  Effect.ignore(Effect.scoped(Stream.toPull(response.stream)))

const isAboutProof = (challenge: McpError.Unauthorized["challenges"][number] | undefined): boolean => {
  const error = ProtectedResource.parameter(challenge, "error")
  return error === "use_dpop_nonce" || error === "invalid_dpop_proof"
}

// A stream is sent once.
const isRepeatable = ({ body }: HttpClientRequest.HttpClientRequest): boolean =>
  body._tag === "Empty" || body._tag === "Uint8Array" || (body._tag === "Raw" && typeof body.body === "string")

/** Wraps the error of authorization in the error of an HTTP client. The request it shows has no token. */
const clientError = (
  request: HttpClientRequest.HttpClientRequest,
  delivery: McpError.Delivery
) =>
(error: McpError.McpError): HttpClientError.HttpClientError =>
  new HttpClientError.HttpClientError({
    reason: new HttpClientError.TransportError({
      request,
      cause: McpError.make(error.reason, delivery),
      description: error.message
    })
  })

/** Makes the client. Its sign-ins end with the scope. */
export const make = Effect.fnUntraced(function*(
  options: Options,
  grant: Grant
): Effect.fn.Return<HttpClient.HttpClient, never, HttpClient.HttpClient | Scope.Scope | Crypto> {
  const client = yield* HttpClient.HttpClient
  const context = yield* Effect.context<Crypto>()
  const policy = yield* UrlPolicy.UrlPolicy
  const proof = yield* CurrentProof
  const configured = Context.getOption(yield* Effect.context<never>(), TokenStore.TokenStore)
  const store = Option.isSome(configured) ? configured.value : yield* TokenStore.makeMemory
  const records = Records.make(store)
  const flights = yield* Flights.make(context)
  const servers = new Map<string, ServerTokens>()
  const fixed = options.server === undefined ? undefined : new URL(options.server)
  const timeoutMillis = Duration.toMillis(options.requestTimeout ?? defaultRequestTimeout)

  const tokensFor = (url: URL): ServerTokens | undefined => {
    if (fixed !== undefined && url.origin !== fixed.origin) return undefined
    const server = fixed ?? url
    const key = Records.keyOf(server, options.principal)
    const found = servers.get(key)
    if (found !== undefined) return found
    const http = AuthHttp.make({ client, policy, server, timeoutMillis })
    const tokens = new ServerTokens(key, server, http, flights, {
      grant,
      store,
      records,
      proof,
      scopes: options.scopes,
      resource: options.resource,
      stepUp: options.stepUp !== "fail"
    })
    servers.set(key, tokens)
    return tokens
  }

  const handle = Effect.fnUntraced(function*(
    request: HttpClientRequest.HttpClientRequest
  ): Effect.fn.Return<HttpClientResponse, HttpClientError.HttpClientError> {
    const url = urlOf(request)
    const tokens = url === undefined ? undefined : tokensFor(url)
    // A header that the host gave is the host's own business.
    if (url === undefined || tokens === undefined || request.headers["authorization"] !== undefined) {
      return yield* client.execute(request)
    }

    const execute = (request: HttpClientRequest.HttpClientRequest) =>
      client.execute(request).pipe(
        // A client that only lets success pass has the response in its error.
        Effect.catch((error) =>
          error.reason._tag === "StatusCodeError" ? Effect.succeed(error.reason.response) : Effect.fail(error)
        )
      )

    /** RFC 9449 section 7.1: with a proof of its own each time it is sent. */
    const prove = (token: Presented) =>
      Effect.flatMap(
        Effect.mapError(proof.headers(request.method, url, token), clientError(request, "unsent")),
        (proofs) =>
          execute(HttpClientRequest.setHeaders(request, {
            authorization: `DPoP ${Redacted.value(token)}`,
            ...proofs
          }))
      )

    const send = (
      token: Presented | undefined
    ): Effect.Effect<HttpClientResponse, HttpClientError.HttpClientError> => {
      if (proof.tokenType !== "dpop") {
        return execute(
          token === undefined
            ? request
            : HttpClientRequest.setHeader(request, "authorization", `Bearer ${Redacted.value(token)}`)
        )
      }
      const note = (response: HttpClientResponse) => Effect.sync(() => proof.retryRequest(url, response))
      if (token === undefined) return Effect.tap(execute(request), note)
      return Effect.flatMap(prove(token), (response) =>
        proof.retryRequest(url, response) && isRepeatable(request)
          ? Effect.tap(Effect.andThen(discard(response), prove(token)), note)
          : Effect.succeed(response))
    }

    let token = yield* Effect.mapError(tokens.present, clientError(request, "unsent"))
    let response = yield* send(token)
    let isAuthorized = false
    let isSteppedUp = false
    // Each of the two answers is given at most once a request.
    while ((response.status === 401 && !isAuthorized) || (response.status === 403 && !isSteppedUp)) {
      if (!isRepeatable(request)) return response
      const challenge = ProtectedResource.challengeOf(
        WwwAuthenticate.parse(response.headers["www-authenticate"] ?? ""),
        proof.tokenType === "dpop" ? "dpop" : "bearer"
      )
      // RFC 9449: it is the proof that is refused, which another token does not mend.
      if (proof.tokenType === "dpop" && token !== undefined && isAboutProof(challenge)) break
      let next: Presented | undefined
      if (response.status === 401) {
        isAuthorized = true
        next = yield* attempt(tokens.afterUnauthorized(token, challenge), response, request)
      } else {
        isSteppedUp = true
        if (challenge === undefined || ProtectedResource.parameter(challenge, "error") !== "insufficient_scope") break
        next = yield* attempt(tokens.afterInsufficientScope(token, challenge), response, request)
      }
      if (next === undefined) break
      yield* discard(response)
      token = next
      response = yield* send(token)
    }
    return response
  })

  return HttpClient.makeWith(
    (request: Effect.Effect<HttpClientRequest.HttpClientRequest, HttpClientError.HttpClientError>) =>
      Effect.flatMap(request, handle),
    Effect.succeed
  )
})

/** What authorization does about a refusal. The response is given up unless it is what the caller gets. */
const attempt = <A>(
  effect: Effect.Effect<A, McpError.McpError>,
  response: HttpClientResponse,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<A, HttpClientError.HttpClientError> =>
  effect.pipe(
    Effect.mapError(clientError(request, "refused")),
    Effect.onError(() => discard(response))
  )
