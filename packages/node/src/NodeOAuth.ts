/**
 * OAuth with everything wired for a program on the machine of a person: the browser, a file of tokens, and a URL policy
 * that looks at what host names resolve to.
 *
 * **Example** (A server that wants a sign-in)
 *
 * ```ts
 * import { McpClient } from "@mcp-effect/client"
 * import { NodeHttp, NodeOAuth } from "@mcp-effect/node"
 * import { StreamableHttpTransport } from "@mcp-effect/transport"
 * import { Layer } from "effect"
 *
 * const Tracker = McpClient.layer().pipe(
 *   Layer.provide(StreamableHttpTransport.layer({ url: "https://tracker.example/mcp" })),
 *   Layer.provide(NodeOAuth.layer()),
 *   Layer.provide(NodeHttp.layer())
 * )
 * ```
 *
 * @since 0.1.0
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { type Authorize, OAuth, TokenStore, UrlPolicy } from "@mcp-effect/auth"
import type { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import { lookup } from "node:dns/promises"
import { homedir } from "node:os"
import { join } from "node:path"
import * as BrowserAuthorize from "./BrowserAuthorize.ts"

/**
 * How a client signs in, and where what it is given is kept.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends OAuth.Options {
  /**
   * How a person is asked.
   *
   * @default `BrowserAuthorize.layer()`
   */
  readonly authorize?: Layer.Layer<Authorize.Authorize, McpError.McpError> | undefined
  /**
   * Where tokens and registrations are kept. Several processes may share one file.
   *
   * @default a file of the user, see `defaultTokenFile`
   */
  readonly store?: Layer.Layer<TokenStore.TokenStore, McpError.McpError> | undefined
  /**
   * Which URLs may be contacted that a server or an authorization server names.
   *
   * @default `UrlPolicy.strict`, and no host name may resolve into a private network
   */
  readonly urlPolicy?: UrlPolicy.UrlPolicy | undefined
}

const stateFolder = (
  platform: NodeJS.Platform,
  environment: { readonly [name: string]: string | undefined },
  home: string
): string => {
  switch (platform) {
    case "darwin":
      return join(home, "Library", "Application Support")
    case "win32":
      return environment["LOCALAPPDATA"] || join(home, "AppData", "Local")
    default:
      return environment["XDG_STATE_HOME"] || join(home, ".local", "state")
  }
}

/**
 * The file that tokens are kept in: `mcp-effect/tokens.json` where the platform wants such files, which is
 * `$XDG_STATE_HOME` or `~/.local/state`, `~/Library/Application Support`, or `%LOCALAPPDATA%`.
 *
 * @category accessors
 * @since 0.1.0
 */
export const defaultTokenFile = (
  platform: NodeJS.Platform = process.platform,
  environment: { readonly [name: string]: string | undefined } = process.env,
  home: string = homedir()
): string => join(stateFolder(platform, environment, home), "mcp-effect", "tokens.json")

/**
 * Layer of a store in a file, for its owner alone.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerTokenStore = (path: string = defaultTokenFile()): Layer.Layer<TokenStore.TokenStore> =>
  TokenStore.layerFile({ path }).pipe(Layer.provide(NodeServices.layer))

/**
 * The default rules for URLs that a peer names, which here also look at the addresses that a host name resolves to.
 *
 * @category services
 * @since 0.1.0
 */
export const urlPolicy: UrlPolicy.UrlPolicy = UrlPolicy.resolving(
  UrlPolicy.strict,
  (hostname) =>
    Effect.map(
      Effect.tryPromise(() => lookup(hostname, { all: true })),
      (addresses) => addresses.map(({ address }) => address)
    )
)

/**
 * Layer that wraps an `HttpClient` so that its requests are authorized, as `OAuth.layer` does.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options = {}
): Layer.Layer<HttpClient.HttpClient, McpError.McpError, HttpClient.HttpClient> =>
  OAuth.layer(options).pipe(
    Layer.provide([
      options.authorize ?? BrowserAuthorize.layer(),
      options.store ?? layerTokenStore(),
      UrlPolicy.layer(options.urlPolicy ?? urlPolicy)
    ])
  )
