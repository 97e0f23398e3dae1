/**
 * Authorization of a program by itself: the client credentials grant, with a secret or with a key (OAuth 2.1 section
 * 4.2, RFC 7523, MCP extension `io.modelcontextprotocol/oauth-client-credentials`).
 *
 * **Example** (A program with a key)
 *
 * ```ts
 * import { ClientCredentials } from "@mcp-effect/auth"
 * import { Config, Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const http = ClientCredentials.layerConfig({
 *   issuer: Config.succeed("https://as.example"),
 *   clientId: Config.succeed("nightly-report"),
 *   privateKey: { key: Config.Redacted("REPORT_KEY"), algorithm: Config.succeed("ES256") }
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
import type * as Scope from "effect/Scope"
import type * as AuthorizedClient from "./internal/AuthorizedClient.ts"
import * as Failure from "./internal/Failure.ts"
import * as Unattended from "./internal/Unattended.ts"
import type * as Registration from "./Registration.ts"

/**
 * The client, as it is registered with one authorization server: with a `clientSecret` or a `privateKey`. Its credentials
 * go to the authorization server of that `issuer` and to no other, whatever a server names.
 *
 * The method follows from them: `private_key_jwt` with a key; with a secret `client_secret_basic`, or
 * `client_secret_post` where the authorization server has only that.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends AuthorizedClient.Options, Registration.Preregistered {}

/**
 * Makes the client.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: Options
): Effect.Effect<HttpClient.HttpClient, McpError.McpError, HttpClient.HttpClient | Scope.Scope> =>
  options.clientSecret === undefined && options.privateKey === undefined
    ? Effect.fail(Failure.invalid("clientSecret", "is missing, and so is a privateKey"))
    : Unattended.make(
      options,
      (attempt) => Effect.succeed({ grant_type: "client_credentials", scope: Unattended.scopeOf(attempt) })
    )

/**
 * Layer that wraps an `HttpClient`: requests carry the token of their server, which is got when the server first asks for
 * one and replaced before it runs out, once for all who wait.
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
