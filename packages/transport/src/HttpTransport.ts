/**
 * Servers at a URL that only answer: every message is a POST, as over Streamable HTTP, and nothing more is asked of the
 * server. No compression, and no stream for what belongs to no request.
 *
 * In the legacy era such a server has no way to ask its client anything.
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
   * The URL that messages are sent to, `http:` or `https:`. Credentials in it are sent as Basic authorization and
   * appear, like its query, in no error and no log.
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
   * The largest JSON answer that is accepted, in bytes. A larger one fails its own request.
   *
   * @default 67_108_864, 64 MiB
   */
  readonly maxMessageBytes?: number | undefined
  /**
   * The largest event of a response stream that is accepted, in bytes. A larger one fails the request of its stream.
   *
   * @default 33_554_432, 32 MiB
   */
  readonly maxEventBytes?: number | undefined
}

/**
 * Creates the transport.
 *
 * `connect` sends nothing; it fails with `InvalidRequest` when the options are not usable. Answers may be JSON or a
 * response stream, since servers choose. A session of the legacy era is kept and ended as over Streamable HTTP.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Transport["Service"], never, HttpClient.HttpClient> =>
  HttpConnection.make("http", options)

/**
 * Layer that provides the transport. It opens nothing: each client connects for itself.
 *
 * **Example** (Reaching a server that only answers)
 *
 * ```ts
 * import { HttpTransport } from "@mcp-effect/transport"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const Rates = HttpTransport.layer({ url: "https://rates.example/rpc" }).pipe(Layer.provide(FetchHttpClient.layer))
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
  Layer.effect(Transport, Effect.flatMap(Config.unwrap<Options>(options), make))
