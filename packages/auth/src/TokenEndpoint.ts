/**
 * Requests to the token endpoint of an authorization server, and how a client authenticates there (OAuth 2.1 section 3.2,
 * RFC 6749 section 2.3.1, RFC 7523 section 2.2).
 *
 * @since 0.1.0
 */
import type { Json, McpError } from "@mcp-effect/protocol"
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import type * as Signature from "effect/crypto/Signature"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type { AuthorizationServer } from "./AuthorizationServer.ts"
import type { Discovered } from "./Discovery.ts"
import type { Answer, AuthHttp } from "./internal/AuthHttp.ts"
import * as Failure from "./internal/Failure.ts"
import * as Fields from "./internal/Fields.ts"
import * as Jwt from "./internal/Jwt.ts"

// ====================================================================================================================
// Models
// ====================================================================================================================

/**
 * How a client authenticates at the token endpoint, by its registered name.
 *
 * @category models
 * @since 0.1.0
 */
export type AuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt"

/**
 * A private key, in PKCS#8 (PEM) or as a JWK, and the algorithm to sign with.
 *
 * @category models
 * @since 0.1.0
 */
export interface PrivateKey {
  readonly key: Jwt.KeyInput
  readonly algorithm: Jwt.Algorithm
  /** `kid` in the header of what is signed. */
  readonly keyId?: string | undefined
}

/**
 * A client as an authorization server knows it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Client {
  /** Empty for a client that is not registered, which an assertion stands in for (RFC 7521 section 4.1). */
  readonly clientId: string
  readonly clientSecret?: Redacted.Redacted | undefined
  readonly privateKey?: PrivateKey | undefined
  /** What the registration names; any other string than an {@link AuthMethod} is one that this client does not have. */
  readonly authMethod?: string | undefined
}

/**
 * What the token endpoint issued.
 *
 * @category models
 * @since 0.1.0
 */
export interface Issued {
  readonly accessToken: Redacted.Redacted
  /** In lower case. */
  readonly tokenType: string
  /** RFC 8693 section 2.2.1: what was issued, where it is the answer to a token exchange. */
  readonly issuedTokenType: string | undefined
  /** In seconds, as the server said it. */
  readonly expiresIn: number | undefined
  readonly refreshToken: Redacted.Redacted | undefined
  readonly scope: string | undefined
}

// ====================================================================================================================
// Client authentication
// ====================================================================================================================

const known: ReadonlySet<string> = new Set<AuthMethod>([
  "none",
  "client_secret_basic",
  "client_secret_post",
  "private_key_jwt"
])

const isAuthMethod = (method: string): method is AuthMethod => known.has(method)

/**
 * The method of a client: the one it is registered with, else the first that client and server both have. A server that
 * lists none has `client_secret_basic` (RFC 8414 section 2). `undefined` for a method that this client does not have.
 *
 * @category accessors
 * @since 0.1.0
 */
export const authMethod = (client: Client, supported: ReadonlyArray<string> | undefined): AuthMethod | undefined => {
  if (client.authMethod !== undefined) return isAuthMethod(client.authMethod) ? client.authMethod : undefined
  if (client.privateKey !== undefined) return "private_key_jwt"
  if (client.clientSecret === undefined) return "none"
  const methods = supported ?? ["client_secret_basic"]
  return methods.includes("client_secret_basic") || !methods.includes("client_secret_post")
    ? "client_secret_basic"
    : "client_secret_post"
}

// application/x-www-form-urlencoded, as RFC 6749 section 2.3.1 wants id and secret before they are joined.
const formEncode = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1)

/**
 * The value of the `Authorization` header for `client_secret_basic`.
 *
 * @category encoding
 * @since 0.1.0
 */
export const basic = (clientId: string, secret: Redacted.Redacted): Redacted.Redacted =>
  Redacted.make(`Basic ${Base64.encode(`${formEncode(clientId)}:${formEncode(Redacted.value(secret))}`)}`)

const assertionLifetimeSeconds = 300

/** A JWT by which a client shows that it has its key (RFC 7523 section 3). */
const assertion = (
  clientId: string,
  privateKey: PrivateKey,
  audience: string
): Effect.Effect<string, McpError.McpError, SecureRandom.SecureRandom | Signature.Signature> =>
  Effect.gen(function*() {
    const random = yield* SecureRandom.SecureRandom
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const key = yield* Jwt.decodeKey(privateKey.key, privateKey.algorithm)
    return yield* Jwt.sign(key, {
      alg: privateKey.algorithm,
      typ: "JWT",
      ...(privateKey.keyId === undefined ? undefined : { kid: privateKey.keyId })
    }, {
      iss: clientId,
      sub: clientId,
      aud: audience,
      jti: yield* random.uuidV4(),
      iat: now,
      exp: now + assertionLifetimeSeconds
    })
  }).pipe(
    Effect.mapError(() =>
      Failure.failed("token", `the private key of the client cannot be used with ${privateKey.algorithm}`)
    )
  )

// ====================================================================================================================
// The answer
// ====================================================================================================================

// What no header field could carry is no token (RFC 9110 section 5.5).
export const isHeaderSafe = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)

const issued = (document: Json.JsonObject): Result.Result<Issued, string> =>
  Result.gen(function*() {
    const accessToken = yield* Fields.string("access_token")(document)
    if (accessToken === undefined || accessToken === "") return yield* Result.fail("access_token is missing")
    if (!isHeaderSafe(accessToken)) return yield* Result.fail("access_token holds characters that no header can carry")
    const tokenType = yield* Fields.string("token_type")(document)
    if (tokenType === undefined || tokenType === "") return yield* Result.fail("token_type is missing")
    const refreshToken = yield* Fields.string("refresh_token")(document)
    return {
      accessToken: Redacted.make(accessToken),
      tokenType: tokenType.toLowerCase(),
      issuedTokenType: yield* Fields.string("issued_token_type")(document),
      expiresIn: yield* Fields.number("expires_in")(document),
      refreshToken: refreshToken === undefined || refreshToken === "" ? undefined : Redacted.make(refreshToken),
      scope: yield* Fields.string("scope")(document)
    }
  })

/**
 * Reads the answer of a token endpoint.
 *
 * @category decoding
 * @since 0.1.0
 */
export const readAnswer = (
  answer: { readonly status: number; readonly text: string },
  issuer: string,
  tokenType: Proof["tokenType"]
): Result.Result<Issued, McpError.McpError> => {
  const { status, text } = answer
  if (status < 200 || status > 299) return Result.fail(refusal(status, text, issuer))
  const read = Result.flatMap(Fields.parse(text), issued)
  if (Result.isFailure(read)) {
    return Result.fail(
      Failure.failed("token", `the answer of the token endpoint cannot be used: ${read.failure}`, { issuer })
    )
  }
  return read.success.tokenType === tokenType ? Result.succeed(read.success) : Result.fail(
    Failure.failed(
      "token",
      read.success.tokenType === "dpop"
        ? "the authorization server issued a token bound to a key (DPoP) that was not asked for"
        : tokenType === "dpop"
        ? "the authorization server issued a token that is not bound to the key it was shown (DPoP)"
        : "the authorization server issued a token of a type that this client does not present",
      { issuer }
    )
  )
}

const refusal = (status: number, text: string, issuer: string): McpError.McpError => {
  const document = Result.getOrUndefined(Fields.parse(text))
  const field = (name: string) =>
    document === undefined ? undefined : Result.getOrUndefined(Fields.string(name)(document))
  const error = field("error")
  const description = field("error_description")
  if (error === "invalid_grant") return Failure.invalidGrant({ issuer, description })
  const problem = error === "invalid_client"
    ? "the authorization server does not accept this client; check its id, secret and authentication method"
    : error === "invalid_target"
    ? "the authorization server does not accept the resource; set the resource option to \"omit\" or to what it expects"
    : error === "invalid_scope"
    ? "the authorization server does not grant the scopes that were asked for"
    : error === "unauthorized_client"
    ? "this client may not use this grant"
    : error === "unsupported_grant_type"
    ? "the authorization server does not have this grant"
    : `the token endpoint refused the request (HTTP ${status})`
  return Failure.failed("token", problem, { issuer, status, error, description })
}

// ====================================================================================================================
// The request
// ====================================================================================================================

/**
 * Adds to requests what proves possession of a key; the answer may ask for another try. Bearer tokens need none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Proof {
  /** In lower case. `n_a` is what is no access token (RFC 8693 section 2.2.1). */
  readonly tokenType: "bearer" | "dpop" | "n_a"
  /** The key that tokens are bound to, by its thumbprint (RFC 7638). */
  readonly thumbprint: string | undefined
  /** Says why such tokens cannot be had, or would be of no use. */
  readonly problem: (discovered: Discovered) => string | undefined
  /** For a request to the token endpoint, or with a token to the MCP server. */
  readonly headers: (
    method: string,
    url: URL,
    token?: Redacted.Redacted
  ) => Effect.Effect<Readonly<Record<string, string>>, McpError.McpError>
  /** Takes note of an answer of the token endpoint. `true` when the request is worth another try. */
  readonly retryToken: (url: URL, answer: Answer) => boolean
  /** Takes note of an answer of the MCP server. `true` when the request is worth another try. */
  readonly retryRequest: (url: URL, answer: Omit<Answer, "text">) => boolean
}

/**
 * No proof: whoever bears the token may use it (RFC 6750).
 *
 * @category constructors
 * @since 0.1.0
 */
export const bearer: Proof = {
  tokenType: "bearer",
  thumbprint: undefined,
  problem: ({ dpopRequired }) =>
    dpopRequired ? "the server takes only tokens that are bound to a key (DPoP); provide Dpop.layer" : undefined,
  headers: () => Effect.succeed({}),
  retryToken: () => false,
  retryRequest: () => false
}

/**
 * Where and as whom a token is asked for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Endpoint {
  readonly authorizationServer: Pick<AuthorizationServer, "issuer" | "tokenEndpoint" | "tokenEndpointAuthMethods">
  readonly client: Client
  readonly proof: Proof
}

/** What a client adds to a request to show who it is. An assertion is taken once, so each request has its own. */
const authentication = Effect.fnUntraced(function*(
  { authorizationServer, client }: Omit<Endpoint, "proof">
): Effect.fn.Return<
  { readonly headers: Readonly<Record<string, string>>; readonly parameters: Readonly<Record<string, string>> },
  McpError.McpError,
  SecureRandom.SecureRandom | Signature.Signature
> {
  const { clientId, clientSecret, privateKey } = client
  const named: Readonly<Record<string, string>> = clientId === "" ? {} : { client_id: clientId }
  switch (authMethod(client, authorizationServer.tokenEndpointAuthMethods)) {
    case "client_secret_basic":
      return clientSecret === undefined
        ? { headers: {}, parameters: named }
        : { headers: { authorization: Redacted.value(basic(clientId, clientSecret)) }, parameters: {} }
    case "client_secret_post":
      return {
        headers: {},
        parameters: clientSecret === undefined ? named : { ...named, client_secret: Redacted.value(clientSecret) }
      }
    case "private_key_jwt":
      return {
        headers: {},
        parameters: privateKey === undefined ? named : {
          ...named,
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
          client_assertion: yield* assertion(clientId, privateKey, authorizationServer.issuer)
        }
      }
    case undefined:
      yield* Effect.logWarning(
        "The client is registered with a way to authenticate at the token endpoint that mcp-effect does not have; it "
          + "sends no credentials"
      )
      return { headers: {}, parameters: named }
    case "none":
      return { headers: {}, parameters: named }
  }
})

type Parameters = Readonly<Record<string, string | undefined>>

const formOf = (...parameters: ReadonlyArray<Parameters>): string => {
  const form = new URLSearchParams()
  for (const [name, value] of parameters.flatMap(Object.entries)) if (value !== undefined) form.set(name, value)
  return form.toString()
}

/** Sends a form to an endpoint that wants to know the client. */
const post = Effect.fnUntraced(function*(
  http: AuthHttp,
  endpoint: Omit<Endpoint, "proof">,
  url: URL,
  purpose: "token" | "revocation",
  parameters: Parameters,
  headers: Readonly<Record<string, string>>
): Effect.fn.Return<Answer, McpError.McpError, SecureRandom.SecureRandom | Signature.Signature> {
  const authenticated = yield* authentication(endpoint)
  return yield* http.post(
    url,
    purpose,
    HttpClientRequest.post(url, { headers: { accept: "application/json", ...authenticated.headers, ...headers } }).pipe(
      HttpClientRequest.bodyText(
        formOf(authenticated.parameters, parameters),
        "application/x-www-form-urlencoded"
      )
    )
  )
})

/**
 * Asks for a token. `parameters` are those of the grant.
 *
 * @category constructors
 * @since 0.1.0
 */
export const request = Effect.fnUntraced(function*(
  http: AuthHttp,
  endpoint: Endpoint,
  parameters: Parameters
): Effect.fn.Return<Issued, McpError.McpError, SecureRandom.SecureRandom | Signature.Signature> {
  const { authorizationServer: { issuer, tokenEndpoint }, proof } = endpoint
  if (!URL.canParse(tokenEndpoint)) {
    return yield* Effect.fail(Failure.failed("token", "the token endpoint is no URL", { issuer }))
  }
  const url = new URL(tokenEndpoint)
  const send = Effect.flatMap(
    proof.headers("POST", url),
    (headers) => post(http, endpoint, url, "token", parameters, headers)
  )
  const first = yield* send
  const answer = proof.retryToken(url, first) ? yield* send : first
  return yield* Effect.fromResult(readAnswer(answer, issuer, proof.tokenType))
})

/**
 * Gives a token back, and tells whether the authorization server says that it took it (RFC 7009). One that has no
 * endpoint for it is not asked.
 *
 * @category constructors
 * @since 0.1.0
 */
export const revoke = Effect.fnUntraced(function*(
  http: AuthHttp,
  endpoint: {
    readonly authorizationServer: AuthorizationServer
    readonly client: Client
  },
  token: Redacted.Redacted,
  type: "access_token" | "refresh_token"
): Effect.fn.Return<boolean, McpError.McpError, SecureRandom.SecureRandom | Signature.Signature> {
  const { revocationEndpoint } = endpoint.authorizationServer
  if (revocationEndpoint === undefined || !URL.canParse(revocationEndpoint)) return false
  const parameters = { token: Redacted.value(token), token_type_hint: type }
  const { status } = yield* post(http, endpoint, new URL(revocationEndpoint), "revocation", parameters, {})
  return status === 200
})
