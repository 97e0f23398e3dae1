/**
 * Authorization by an assertion of somebody whom the authorization server trusts: the JWT bearer grant (RFC 7523 section
 * 2.1). Workload identity is its use: the platform that a program runs on vouches for it.
 *
 * **Example** (The service account token of a pod)
 *
 * ```ts
 * import { JwtBearer } from "@mcp-effect/auth"
 * import { Effect, FileSystem, Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const http = Layer.unwrap(Effect.gen(function*() {
 *   const files = yield* FileSystem.FileSystem
 *   return JwtBearer.layer({
 *     issuer: "https://as.example",
 *     // The platform replaces the file, so it is read each time.
 *     assertion: () => files.readFileString("/var/run/secrets/tokens/mcp")
 *   })
 * })).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 *
 * @since 0.1.0
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type * as AuthorizedClient from "./internal/AuthorizedClient.ts"
import * as Unattended from "./internal/Unattended.ts"
import type * as Registration from "./Registration.ts"

/**
 * What an assertion is wanted for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** The MCP server. */
  readonly server: URL
  /** The authorization server, which the assertion has to name as its audience. */
  readonly issuer: string
  /** The resource identifier of the MCP server (RFC 9728). */
  readonly resource: string
  readonly scopes: ReadonlyArray<string>
}

/**
 * What is presented to one authorization server, and the client, where it is registered there: one without a secret or key
 * only says its id. Credentials and assertions go to the authorization server of that `issuer` and to no other.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends AuthorizedClient.Options, Omit<Registration.Preregistered, "clientId"> {
  /** @default none: the assertion says who it is */
  readonly clientId?: string | undefined
  /**
   * The assertion, a signed JWT, or what gives one. It is asked for whenever a token is: an assertion lives shorter than
   * the program. A failure of it fails the request that waits with `AuthorizationFailed`.
   */
  readonly assertion:
    | string
    | Redacted.Redacted
    | ((request: Request) => Effect.Effect<string | Redacted.Redacted, unknown>)
}

/**
 * Makes the client.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: Options
): Effect.Effect<HttpClient.HttpClient, McpError.McpError, HttpClient.HttpClient | Scope.Scope> =>
  Unattended.make(options, (attempt) =>
    Effect.map(
      Unattended.secretOf(options.assertion, Unattended.requestOf(attempt), "the assertion", options.issuer),
      (assertion) => ({ grant_type: Unattended.jwtBearer, assertion, scope: Unattended.scopeOf(attempt) })
    ))

/**
 * Layer that wraps an `HttpClient`: requests carry the token of their server, which is got by an assertion when the server
 * first asks for one and replaced before it runs out, once for all who wait. An assertion that is refused is not sent
 * again for the same request, and no other grant is tried: the request fails with `InvalidGrant`.
 *
 * Fails with `InvalidRequest` for credentials that cannot be used. A request fails with an `HttpClientError` whose cause
 * is an `McpError` of reason `AuthorizationFailed`, `InvalidGrant` or `ConnectionFailed`. `TokenStore`, `UrlPolicy` and
 * `Dpop` apply as they do to `OAuth`.
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
