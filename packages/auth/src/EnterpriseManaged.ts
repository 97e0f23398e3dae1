/**
 * Authorization that an enterprise decides: whoever signed in to the enterprise's identity provider is let in to an MCP
 * server without being asked again (MCP extension `io.modelcontextprotocol/enterprise-managed-authorization`, also called
 * cross-app access; Identity Assertion Authorization Grant).
 *
 * The identity provider exchanges what it said about the person for a grant, the ID-JAG (RFC 8693), and the authorization
 * server of the MCP server takes the grant for a token (RFC 7523).
 *
 * **Example** (With the ID token of a sign-in)
 *
 * ```ts
 * import { EnterpriseManaged } from "@mcp-effect/auth"
 * import { Effect, Layer, Redacted } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * declare const idToken: Effect.Effect<string>
 * declare const secrets: { readonly as: Redacted.Redacted; readonly idp: Redacted.Redacted }
 *
 * const http = EnterpriseManaged.layer({
 *   issuer: "https://as.example",
 *   clientId: "desk",
 *   clientSecret: secrets.as,
 *   identityProvider: {
 *     issuer: "https://idp.acme.example",
 *     clientId: "acme-desk",
 *     clientSecret: secrets.idp,
 *     subjectToken: () => idToken
 *   }
 * }).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 *
 * @since 0.1.0
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Discovery from "./Discovery.ts"
import type * as AuthorizedClient from "./internal/AuthorizedClient.ts"
import * as Failure from "./internal/Failure.ts"
import type { Attempt } from "./internal/Grant.ts"
import * as Unattended from "./internal/Unattended.ts"
import type * as JwtBearer from "./JwtBearer.ts"
import * as Registration from "./Registration.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"

// ====================================================================================================================
// Options
// ====================================================================================================================

const tokenTypes = {
  id_token: "urn:ietf:params:oauth:token-type:id_token",
  saml2: "urn:ietf:params:oauth:token-type:saml2",
  refresh_token: "urn:ietf:params:oauth:token-type:refresh_token"
} as const

const idJag = "urn:ietf:params:oauth:token-type:id-jag"

/**
 * The identity provider, the client as it is registered there, and what the identity provider said about the person.
 *
 * @category models
 * @since 0.1.0
 */
export interface IdentityProvider extends Registration.Preregistered {
  /**
   * Where it issues tokens.
   *
   * @default what its metadata says (RFC 8414, OpenID Connect Discovery)
   */
  readonly tokenEndpoint?: string | undefined
  /**
   * What it issued when the person signed in, or what gives it. It is asked for whenever a token is. A failure of it fails
   * the request that waits with `AuthorizationFailed`.
   */
  readonly subjectToken:
    | string
    | Redacted.Redacted
    | ((request: JwtBearer.Request) => Effect.Effect<string | Redacted.Redacted, unknown>)
  /**
   * What that is.
   *
   * @default "id_token"
   */
  readonly subjectTokenType?: keyof typeof tokenTypes | undefined
}

/**
 * The client, as it is registered with the authorization server of the MCP server, and who vouches for the person.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends AuthorizedClient.Options, Registration.Preregistered {
  /**
   * The identity provider to ask for a grant, or, for a host that asks it itself, what gives the grant. It is asked
   * whenever a token is wanted. A failure fails the request that waits.
   */
  readonly identityProvider:
    | IdentityProvider
    | ((request: JwtBearer.Request) => Effect.Effect<string | Redacted.Redacted, unknown>)
}

// ====================================================================================================================
// The exchange
// ====================================================================================================================

// What is issued is no access token (RFC 8693 section 2.2.1).
const proof: TokenEndpoint.Proof = { ...TokenEndpoint.bearer, tokenType: "n_a" }

/** Exchanges what is known of the person for a grant (Enterprise-Managed Authorization, section 4). */
const exchange = Effect.fnUntraced(function*(provider: IdentityProvider, attempt: Attempt) {
  const { issuer } = provider
  const request = Unattended.requestOf(attempt)
  const http = attempt.http.onBehalfOf(new URL(issuer))
  const authorizationServer = provider.tokenEndpoint === undefined
    ? yield* Discovery.authorizationServer(http, issuer)
    : { issuer, tokenEndpoint: provider.tokenEndpoint, tokenEndpointAuthMethods: undefined }
  const subjectToken = yield* Unattended.secretOf(provider.subjectToken, request, "the subject token", issuer)
  const issued = yield* TokenEndpoint.request(http, {
    authorizationServer,
    client: Registration.clientOf(provider),
    proof
  }, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    requested_token_type: idJag,
    audience: request.issuer,
    resource: request.resource,
    scope: Unattended.scopeOf(attempt),
    subject_token: subjectToken,
    subject_token_type: tokenTypes[provider.subjectTokenType ?? "id_token"]
  })
  return issued.issuedTokenType === idJag ? Redacted.value(issued.accessToken) : yield* Effect.fail(
    Failure.failed("token", "the identity provider issued something else than the grant that was asked for (ID-JAG)", {
      issuer
    })
  )
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
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<HttpClient.HttpClient, McpError.McpError, HttpClient.HttpClient | Scope.Scope> {
  const { identityProvider } = options
  if (!Predicate.isFunction(identityProvider)) {
    yield* Unattended.checkCredentials(identityProvider, "identityProvider/")
  }
  return yield* Unattended.make(options, (attempt) =>
    Effect.map(
      Predicate.isFunction(identityProvider)
        ? Unattended.secretOf(identityProvider, Unattended.requestOf(attempt), "the grant", options.issuer)
        : exchange(identityProvider, attempt),
      // The grant says which scopes.
      (assertion) => ({ grant_type: Unattended.jwtBearer, assertion })
    ))
})

/**
 * Layer that wraps an `HttpClient`: requests carry the token of their server, which is got through the identity provider
 * when the server first asks for one and replaced before it runs out, once for all who wait.
 *
 * Fails with `InvalidRequest` for credentials that cannot be used. A request fails with an `HttpClientError` whose cause
 * is an `McpError` of reason `AuthorizationFailed`, `InvalidGrant` or `ConnectionFailed`; its `issuer` tells who refused.
 * `TokenStore`, `UrlPolicy` and `Dpop` apply as they do to `OAuth`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options
): Layer.Layer<HttpClient.HttpClient, McpError.McpError, HttpClient.HttpClient> =>
  Layer.effect(HttpClient.HttpClient, make(options))

/**
 * Layer with options from configuration.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Config.Wrap<Options>
): Layer.Layer<HttpClient.HttpClient, McpError.McpError | Config.ConfigError, HttpClient.HttpClient> =>
  Layer.effect(HttpClient.HttpClient, Effect.flatMap(Config.unwrap(options), make))
