/**
 * Servers at a URL: every message is a POST, every answer JSON or a stream of events (2026-07-28 and 2025-11-25
 * streamable-http). A server of the legacy era may keep a session, send what belongs to no request on a stream of its
 * own, and break off the stream of a request that it goes on with later: its end is then waited for as long as the
 * server asks, within the time of the request.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as HttpConnection from "./internal/HttpConnection.ts"
import { Transport } from "./Transport.ts"

/**
 * Where the server is, and how it is spoken to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The URL of the MCP endpoint, `http:` or `https:`. Credentials in it are sent as Basic authorization and appear, like
   * its query, in no error and no log.
   */
  readonly url: string | URL
  /**
   * What the server is called in errors and in logs.
   *
   * @default the URL, without its query
   */
  readonly name?: string | undefined
  /**
   * Headers to send with every message. Those of the protocol and of the framing of HTTP cannot be set, nor can
   * `Mcp-Param-*` where the revision fills them from arguments.
   *
   * @default none
   */
  readonly headers?: Readonly<Record<string, string | Redacted.Redacted>> | undefined
  /**
   * The largest JSON answer that is accepted, in bytes after decompression. A larger one fails its own request.
   *
   * @default 67_108_864, 64 MiB
   */
  readonly maxMessageBytes?: number | undefined
  /**
   * The largest event of a response stream that is accepted, in bytes after decompression. A larger one fails the
   * request of its stream.
   *
   * @default 33_554_432, 32 MiB
   */
  readonly maxEventBytes?: number | undefined
}

/**
 * Creates the transport.
 *
 * `connect` sends nothing; it fails with `InvalidRequest` when the options are not usable. A session of the legacy era
 * begins with `initialize` and is ended by a DELETE when the connection closes, for which the server has a second.
 *
 * With the `HttpClient` of `fetch`, redirects are not followed, whatever its `RequestInit` says.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Transport["Service"], never, HttpClient.HttpClient> =>
  HttpConnection.make("streamable-http", options)

/**
 * Layer that provides the transport. It opens nothing: each client connects for itself.
 *
 * **Example** (Reaching a server by its URL)
 *
 * ```ts
 * import { StreamableHttpTransport } from "@mcp-effect/transport"
 * import { Layer, Redacted } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const Weather = StreamableHttpTransport.layer({
 *   url: "https://weather.example/mcp",
 *   headers: { Authorization: Redacted.make("Bearer ...") }
 * }).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Transport, never, HttpClient.HttpClient> =>
  Layer.effect(Transport, make(options))

/**
 * Layer that provides the transport with options from configuration.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Config.Wrap<Options>
): Layer.Layer<Transport, Config.ConfigError, HttpClient.HttpClient> =>
  Layer.effect(Transport, Effect.flatMap(Config.unwrap(options), make))
