/**
 * Who may speak: OAuth 2.1 for MCP servers over HTTP, as an `HttpClient` around an `HttpClient`.
 *
 * `HttpClient` is part of the public types here, and Effect marks `effect/http` as unstable: a minor release of Effect may
 * need a release of this package.
 *
 * @since 0.1.0
 */
export * as Account from "./Account.ts"
export * as AuthorizationCode from "./AuthorizationCode.ts"
export * as AuthorizationServer from "./AuthorizationServer.ts"
export * as Authorize from "./Authorize.ts"
export * as ClientCredentials from "./ClientCredentials.ts"
export * as Discovery from "./Discovery.ts"
export * as Dpop from "./Dpop.ts"
export * as EnterpriseManaged from "./EnterpriseManaged.ts"
export * as JwtBearer from "./JwtBearer.ts"
export * as OAuth from "./OAuth.ts"
export * as ProtectedResource from "./ProtectedResource.ts"
export * as Registration from "./Registration.ts"
export * as Scopes from "./Scopes.ts"
export * as TokenEndpoint from "./TokenEndpoint.ts"
export * as TokenStore from "./TokenStore.ts"
export * as UrlPolicy from "./UrlPolicy.ts"
