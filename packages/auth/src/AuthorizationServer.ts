/**
 * Authorization server metadata: where an authorization server is and what it can do (RFC 8414, OpenID Connect
 * Discovery 1.0).
 *
 * @since 0.1.0
 */
import type { Json } from "@mcp-effect/protocol"
import * as Result from "effect/Result"
import * as Fields from "./internal/Fields.ts"

/**
 * What of the metadata matters to a client. `scopesSupported` and the like are `undefined` where the server says nothing.
 *
 * @category models
 * @since 0.1.0
 */
export interface AuthorizationServer {
  /** Byte for byte as the metadata has it. Everything that this server issues is bound to it. */
  readonly issuer: string
  readonly authorizationEndpoint: string | undefined
  readonly tokenEndpoint: string
  readonly registrationEndpoint: string | undefined
  /** RFC 7009: where tokens are given back. */
  readonly revocationEndpoint: string | undefined
  readonly scopesSupported: ReadonlyArray<string> | undefined
  readonly grantTypesSupported: ReadonlyArray<string> | undefined
  readonly tokenEndpointAuthMethods: ReadonlyArray<string> | undefined
  /** RFC 7636 in the metadata: `S256` has to be among them. */
  readonly codeChallengeMethods: ReadonlyArray<string> | undefined
  /** RFC 9207: its answers name the issuer. */
  readonly issInResponse: boolean
  /** It takes the URL of a Client ID Metadata Document for a `client_id`. */
  readonly clientIdMetadataDocument: boolean
  /** RFC 9449: the algorithms of the proofs it takes; `undefined` where it does not say that it takes any. */
  readonly dpopSigningAlgorithms: ReadonlyArray<string> | undefined
}

/**
 * Where the metadata of an issuer may be, in the order to try (2026-07-28 authorization, Authorization Server Metadata
 * Discovery).
 *
 * @category constructors
 * @since 0.1.0
 */
export const wellKnownUrls = (issuer: URL): ReadonlyArray<URL> => {
  const path = issuer.pathname.replace(/\/$/, "")
  const at = (location: string): URL => new URL(location, issuer.origin)
  return path === ""
    ? [at("/.well-known/oauth-authorization-server"), at("/.well-known/openid-configuration")]
    : [
      at(`/.well-known/oauth-authorization-server${path}`),
      at(`/.well-known/openid-configuration${path}`),
      at(`${path}/.well-known/openid-configuration`)
    ]
}

/**
 * Reads the metadata. A member of the wrong type refuses the whole document.
 *
 * @category decoding
 * @since 0.1.0
 */
export const read = (document: Json.JsonObject): Result.Result<AuthorizationServer, string> =>
  Result.gen(function*() {
    const issuer = yield* Fields.string("issuer")(document)
    if (issuer === undefined) return yield* Result.fail("issuer is missing")
    const tokenEndpoint = yield* Fields.string("token_endpoint")(document)
    if (tokenEndpoint === undefined) return yield* Result.fail("token_endpoint is missing")
    return {
      issuer,
      authorizationEndpoint: yield* Fields.string("authorization_endpoint")(document),
      tokenEndpoint,
      registrationEndpoint: yield* Fields.string("registration_endpoint")(document),
      revocationEndpoint: yield* Fields.string("revocation_endpoint")(document),
      scopesSupported: yield* Fields.strings("scopes_supported")(document),
      grantTypesSupported: yield* Fields.strings("grant_types_supported")(document),
      tokenEndpointAuthMethods: yield* Fields.strings("token_endpoint_auth_methods_supported")(document),
      codeChallengeMethods: yield* Fields.strings("code_challenge_methods_supported")(document),
      issInResponse: (yield* Fields.boolean("authorization_response_iss_parameter_supported")(document)) === true,
      clientIdMetadataDocument: (yield* Fields.boolean("client_id_metadata_document_supported")(document)) === true,
      dpopSigningAlgorithms: yield* Fields.strings("dpop_signing_alg_values_supported")(document)
    }
  })

/**
 * The endpoints that a server of 2025-03-26 has when it publishes no metadata at all (2025-03-26 authorization, Fallbacks
 * for Servers without Metadata Discovery). That revision requires PKCE.
 *
 * @category constructors
 * @since 0.1.0
 */
export const legacyDefaults = (origin: string): AuthorizationServer => ({
  issuer: origin,
  authorizationEndpoint: `${origin}/authorize`,
  tokenEndpoint: `${origin}/token`,
  registrationEndpoint: `${origin}/register`,
  revocationEndpoint: undefined,
  scopesSupported: undefined,
  grantTypesSupported: undefined,
  tokenEndpointAuthMethods: undefined,
  codeChallengeMethods: ["S256"],
  issInResponse: false,
  clientIdMetadataDocument: false,
  dpopSigningAlgorithms: undefined
})
