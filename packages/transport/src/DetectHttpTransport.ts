/**
 * Servers at a URL whose transport is not known: Streamable HTTP is spoken first, then HTTP+SSE, then plain HTTP
 * (2026-07-28 streamable-http, Backwards Compatibility).
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as HttpTransport from "./HttpTransport.ts"
import * as HttpDetection from "./internal/HttpDetection.ts"
import * as SseTransport from "./SseTransport.ts"
import * as StreamableHttpTransport from "./StreamableHttpTransport.ts"
import { Transport } from "./Transport.ts"

/**
 * Where the server is, and how it is spoken to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The URL of the server, `http:` or `https:`. Credentials in it are sent as Basic authorization and appear, like its
   * query, in no error and no log.
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
   * The largest event of a stream that is accepted, in bytes after decompression. A larger one fails its own request.
   *
   * @default 33_554_432, 32 MiB
   */
  readonly maxEventBytes?: number | undefined
  /**
   * How long the stream of HTTP+SSE may be silent before the server is pinged, see `SseTransport`.
   *
   * @default 10 seconds
   */
  readonly pingInterval?: Duration.Input | undefined
}

/**
 * Creates the transport.
 *
 * What is sent first goes out over Streamable HTTP. Only where `initialize` is then refused with HTTP 400, 404 or 405
 * and without an error that a server of Streamable HTTP gives, or is answered with the `endpoint` event of HTTP+SSE, the
 * others are tried: HTTP+SSE has 10 seconds to say where messages go. Whatever else happens (401, 500, no connection)
 * is the error as it stands. When all three fail, `ConnectionFailed` has the problem of each in `attempts`, and the
 * error of Streamable HTTP as its `cause`; it may pass if one of those problems may.
 *
 * A client that speaks only modern revisions sends no `initialize`, and nothing else is tried for it.
 *
 * What was found is used for later connections too, until one of them cannot be opened. `kind` names it, and Streamable
 * HTTP before that.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Transport["Service"], never, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const streamable = yield* StreamableHttpTransport.make(options)
    const sse = yield* SseTransport.make(options)
    const plain = yield* HttpTransport.make(options)
    let found = streamable

    return Transport.of({
      get kind() {
        return found.kind
      },
      target: streamable.target,
      fingerprint: `detect ${streamable.fingerprint}`,
      connect: (inbound) => {
        if (found !== streamable) {
          return Effect.tapError(found.connect(inbound), () =>
            Effect.sync(() => {
              found = streamable
            }))
        }
        return HttpDetection.connect({
          streamable,
          sse,
          plain,
          onChosen: (transport) => {
            found = transport
          }
        }, inbound)
      }
    })
  })

/**
 * Layer that provides the transport. It opens nothing: each client connects for itself.
 *
 * **Example** (Reaching a server of any age)
 *
 * ```ts
 * import { DetectHttpTransport } from "@mcp-effect/transport"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const Somewhere = DetectHttpTransport.layer({ url: "https://tools.example/api" }).pipe(
 *   Layer.provide(FetchHttpClient.layer)
 * )
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
