/**
 * The authorization code grant with PKCE: the request a person is sent to, and the check of what comes back (OAuth 2.1
 * section 4.1, RFC 7636, RFC 9207).
 *
 * @since 0.1.0
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Digest from "effect/crypto/Digest"
import * as Mac from "effect/crypto/Mac"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type { AuthorizationServer } from "./AuthorizationServer.ts"
import * as Failure from "./internal/Failure.ts"
import * as IpAddress from "./internal/IpAddress.ts"

const encoder = new TextEncoder()

// ====================================================================================================================
// PKCE
// ====================================================================================================================

/**
 * A secret that only this client knows, and what the authorization server is told of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pkce {
  readonly verifier: Redacted.Redacted
  readonly challenge: string
}

/**
 * A new secret of 256 bits with its S256 challenge (RFC 7636 section 4).
 *
 * @category constructors
 * @since 0.1.0
 */
export const pkce: Effect.Effect<Pkce, never, SecureRandom.SecureRandom | Digest.Digest> = Effect.gen(function*() {
  const random = yield* SecureRandom.SecureRandom
  const verifier = Base64Url.encode(yield* random.randomBytes(32))
  return { verifier: Redacted.make(verifier), challenge: yield* challengeOf(verifier) }
})

/**
 * The S256 challenge of a verifier (RFC 7636 section 4.2).
 *
 * @category encoding
 * @since 0.1.0
 */
export const challengeOf = (verifier: string): Effect.Effect<string, never, Digest.Digest> =>
  Effect.gen(function*() {
    const digest = yield* Digest.Digest
    return Base64Url.encode(yield* digest.digest(Digest.sha256, encoder.encode(verifier)))
  })

/**
 * Tells whether an authorization server says that it has S256. One that says nothing may ignore the challenge, which
 * would leave the code unprotected (2026-07-28 authorization, Authorization Code Protection).
 *
 * @category guards
 * @since 0.1.0
 */
export const hasPkce = (server: Pick<AuthorizationServer, "codeChallengeMethods">): boolean =>
  server.codeChallengeMethods?.includes("S256") === true

// ====================================================================================================================
// The request
// ====================================================================================================================

/**
 * What is kept of one authorization request until its answer comes, and never shared with another: everything that the
 * answer is checked against.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pending {
  readonly state: Redacted.Redacted
  readonly pkce: Pkce
  /** The issuer whose metadata was validated before the person was sent there. */
  readonly issuer: string
  /** RFC 9207: the answer must name the issuer. */
  readonly issInResponse: boolean
  readonly clientId: string
  readonly redirectUri: string
}

/**
 * A new record with a state and a verifier of its own.
 *
 * @category constructors
 * @since 0.1.0
 */
export const pending = Effect.fnUntraced(function*(
  server: Pick<AuthorizationServer, "issuer" | "issInResponse">,
  clientId: string,
  redirectUri: string
): Effect.fn.Return<Pending, never, SecureRandom.SecureRandom | Digest.Digest> {
  const random = yield* SecureRandom.SecureRandom
  return {
    state: Redacted.make(Base64Url.encode(yield* random.randomBytes(32))),
    pkce: yield* pkce,
    issuer: server.issuer,
    issInResponse: server.issInResponse,
    clientId,
    redirectUri
  }
})

/**
 * The URL to send a person to. The endpoint's own query is kept, save for the parameters of this request: each of them
 * stands there once.
 *
 * @category constructors
 * @since 0.1.0
 */
export const requestUrl = (
  endpoint: URL,
  record: Pending,
  options: {
    readonly scopes: ReadonlyArray<string>
    readonly resource: string | undefined
    /** RFC 9449 section 10: the key that the code is to be bound to, by its thumbprint. */
    readonly boundTo?: string | undefined
  }
): URL => {
  const url = new URL(endpoint)
  url.hash = ""
  const parameters = {
    response_type: "code",
    client_id: record.clientId,
    redirect_uri: record.redirectUri,
    state: Redacted.value(record.state),
    code_challenge: record.pkce.challenge,
    code_challenge_method: "S256",
    scope: options.scopes.length === 0 ? undefined : options.scopes.join(" "),
    resource: options.resource,
    dpop_jkt: options.boundTo
  }
  for (const [name, value] of Object.entries(parameters)) {
    url.searchParams.delete(name)
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url
}

/**
 * Says what is wrong with a redirect URI: it has to be on this machine, `https:` or of a scheme private to the
 * application (RFC 8252 section 7, 2026-07-28 authorization, Communication Security).
 *
 * @category guards
 * @since 0.1.0
 */
export const redirectUriProblem = (redirectUri: string): string | undefined => {
  if (!URL.canParse(redirectUri)) return "is no URL"
  const { hash, hostname, protocol } = new URL(redirectUri)
  if (hash !== "" || redirectUri.includes("#")) return "has a fragment"
  if (protocol === "https:") return undefined
  if (protocol === "http:") {
    return IpAddress.reachOfHost(hostname) === "loopback"
      ? undefined
      : "is http: and not on this machine"
  }
  // A private-use scheme is a reversed domain name (RFC 8252 section 7.1), which no scheme of a browser's own is.
  return protocol.includes(".") ? undefined : "is of a scheme that is neither https: nor private to an application"
}

// ====================================================================================================================
// The answer
// ====================================================================================================================

const isEqual = (left: string, right: string): boolean =>
  Mac.timingSafeEqual(encoder.encode(left), encoder.encode(right))

/**
 * Tells whether the parameters of a callback answer a request: by its `state`, compared in constant time. A callback that
 * answers another request is to be turned away while the right one is waited for.
 *
 * @category guards
 * @since 0.1.0
 */
export const answers = (record: Pick<Pending, "state">, parameters: URLSearchParams): boolean => {
  const states = parameters.getAll("state")
  return states.length === 1 && isEqual(states[0] ?? "", Redacted.value(record.state))
}

const refuse = (
  problem: string,
  record: Pending,
  parameters?: URLSearchParams
): Result.Result<never, McpError.McpError> =>
  Result.fail(
    Failure.failed("sign-in", problem, {
      issuer: record.issuer,
      error: parameters?.get("error") ?? undefined,
      description: parameters?.get("error_description") ?? undefined
    })
  )

/**
 * Checks the parameters of a callback and gives the code. State and issuer are checked before anything else is looked at,
 * in answers that report an error too: what a stranger wrote is not shown. Issuers are compared character by character,
 * by the table of RFC 9207 section 2.4.
 *
 * @category decoding
 * @since 0.1.0
 */
export const codeOf = (
  record: Pending,
  parameters: URLSearchParams
): Result.Result<Redacted.Redacted, McpError.McpError> => {
  const names = [...parameters.keys()]
  if (new Set(names).size !== names.length) return refuse("the callback repeats a parameter", record)
  if (!answers(record, parameters)) return refuse("the callback answers another request: its state differs", record)
  const iss = parameters.get("iss")
  if (iss === null && record.issInResponse) {
    return refuse("the callback does not name its issuer, although the authorization server always does", record)
  }
  if (iss !== null && iss !== record.issuer) {
    return refuse("the callback comes from another authorization server than the one that was asked (iss)", record)
  }
  const error = parameters.get("error")
  if (error === "access_denied") return refuse("access was denied", record, parameters)
  if (error !== null) return refuse("the authorization server refused the request", record, parameters)
  const code = parameters.get("code")
  return code === null || code === ""
    ? refuse("the callback holds no code", record)
    : Result.succeed(Redacted.make(code))
}

/**
 * Tells what a callback comes to: a code, a refusal that the authorization server itself has sent, or neither. See
 * {@link codeOf}.
 *
 * @category decoding
 * @since 0.1.0
 */
export const verdictOf = (record: Pending, parameters: URLSearchParams): "code" | "refused" | "invalid" =>
  Result.match(codeOf(record, parameters), {
    onSuccess: () => "code",
    onFailure: ({ reason }) =>
      reason._tag === "AuthorizationFailed" && reason.error !== undefined ? "refused" : "invalid"
  })
