/**
 * Servers of the first revision at a URL: one stream for all that the server says, and a POST for each message to it
 * (2024-11-05 basic/transports, HTTP with SSE).
 *
 * The protocol has deprecated this transport since 2025-03-26; it is here for servers that have no other.
 *
 * @since 0.1.0
 */
import { McpError } from "@mcp-effect/protocol"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { AuthorizationDigest } from "./internal/AuthorizationDigest.ts"
import { Draining } from "./internal/Draining.ts"
import * as HttpEndpoint from "./internal/HttpEndpoint.ts"
import * as HttpHeaders from "./internal/HttpHeaders.ts"
import * as HttpOptions from "./internal/HttpOptions.ts"
import { HttpSession } from "./internal/HttpSession.ts"
import * as SseConnection from "./internal/SseConnection.ts"
import { Transport } from "./Transport.ts"

/**
 * Where the server is, and how it is spoken to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The URL of the stream, `http:` or `https:`; many servers have it at `/sse`. Credentials in it are sent as Basic
   * authorization and appear, like its query, in no error and no log.
   */
  readonly url: string | URL
  /**
   * What the server is called in errors and in logs.
   *
   * @default the URL, without its query
   */
  readonly name?: string | undefined
  /**
   * Headers to send with the stream and with every message. Those of the protocol and of the framing of HTTP cannot be
   * set.
   *
   * @default none
   */
  readonly headers?: Readonly<Record<string, string | Redacted.Redacted>> | undefined
  /**
   * The largest event that is accepted, in bytes; each is one message. A larger one fails its own request and leaves
   * the connection standing.
   *
   * @default 33_554_432, 32 MiB
   */
  readonly maxEventBytes?: number | undefined
  /**
   * How long the stream may be silent before the server is pinged. A ping that cannot be delivered is tried again each
   * second; after three of them, or once the stream was silent for two and a half times as long, the connection ends,
   * and whatever is under way fails. Any byte is a sign of life, also a comment.
   *
   * A server that does one thing at a time answers no ping meanwhile: give it more, or `Duration.infinity`, which
   * turns pings off.
   *
   * @default 10 seconds
   */
  readonly pingInterval?: Duration.Input | undefined
}

const kind = "sse"

const defaultPingInterval = "10 seconds"

const pingMillisOf = (
  interval: Duration.Input,
  server: string
): Effect.Effect<number, McpError.McpError> => {
  const millis = Duration.toMillis(Duration.fromInputUnsafe(interval))
  if (millis > 0) return Effect.succeed(millis)
  const reason = new McpError.InvalidRequest({ problem: "must be longer than nothing", path: "pingInterval" })
  return Effect.fail(McpError.make(reason, "unsent", { server }))
}

/**
 * Creates the transport.
 *
 * `connect` opens the stream and succeeds once the server has said where messages go to (its `endpoint` event); it
 * waits for that as long as it is let, which is the client's `connectTimeout`. It fails with `InvalidRequest` when the
 * options are not usable, with the reason of the HTTP exchange when there is no stream, and with `MalformedMessage`
 * when the stream does not begin with an `endpoint` event or that event names another origin: nothing is sent then.
 *
 * A redirect, of the stream or of a message, is not followed and fails with `RedirectRefused`.
 *
 * A connection whose stream has ended is gone. Every request on it fails at once, and whoever sends another opens
 * another connection.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Transport["Service"], never, HttpClient.HttpClient> =>
  Effect.map(Effect.context<HttpClient.HttpClient>(), (context) => {
    const client = Context.get(context, HttpClient.HttpClient)
    const target = HttpOptions.targetOf(options)

    const connect: Transport["Service"]["connect"] = Effect.fnUntraced(function*(inbound) {
      const endpoint = yield* HttpOptions.check(options, target)
      const pingMillis = yield* pingMillisOf(options.pingInterval ?? defaultPingInterval, target)
      const own = Context.merge(context, yield* Effect.context<never>())
      const overrides = HttpOptions.overridesOf(own)
      const services = Context.merge(own, overrides)
      // What is under way ends after the connection, so that it has the connection's reason.
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
      const opened = yield* SseConnection.open({
        peer: {
          client,
          endpoint,
          headers: HttpHeaders.make(endpoint),
          session: new HttpSession(),
          inbound,
          isStreamable: false,
          maxMessageBytes: HttpOptions.defaultMaxMessageBytes,
          maxEventBytes: options.maxEventBytes ?? HttpOptions.defaultMaxEventBytes,
          digest: new AuthorizationDigest(),
          draining: new Draining((effect) => {
            Fiber.runIn(Effect.runForkWith(services)(effect), scope)
          }),
          scope,
          overrides,
          context: services
        },
        pingMillis
      }).pipe(
        Effect.provideContext(services),
        Effect.mapError(({ delivery, reason }) => McpError.make(reason, delivery, { server: target }))
      )
      yield* Effect.addFinalizer(() => opened.close)
      return opened.connection
    })

    return Transport.of({
      kind,
      target,
      fingerprint: HttpEndpoint.fingerprintOf(kind, options.url, options.headers ?? {}),
      connect
    })
  })

/**
 * Layer that provides the transport. It opens nothing: each client connects for itself.
 *
 * **Example** (Reaching an old server)
 *
 * ```ts
 * import { SseTransport } from "@mcp-effect/transport"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const Archive = SseTransport.layer({ url: "https://archive.example/sse" }).pipe(Layer.provide(FetchHttpClient.layer))
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
