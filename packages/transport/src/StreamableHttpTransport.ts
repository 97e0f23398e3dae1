/**
 * Servers at a URL: every message is a POST, every answer JSON or a stream of events (2026-07-28 and 2025-11-25
 * streamable-http).
 *
 * Not there yet: the stream for messages that belong to no request, and the resumption of a broken one.
 *
 * @since 0.1.0
 */
import { McpError, type Revision } from "@mcp-effect/protocol"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { AuthorizationDigest } from "./internal/AuthorizationDigest.ts"
import { Draining } from "./internal/Draining.ts"
import * as HttpEndpoint from "./internal/HttpEndpoint.ts"
import { HttpExchange } from "./internal/HttpExchange.ts"
import * as HttpHeaders from "./internal/HttpHeaders.ts"
import type { HttpPeer } from "./internal/HttpPeer.ts"
import * as HttpSend from "./internal/HttpSend.ts"
import { HttpSession } from "./internal/HttpSession.ts"
import * as StandbyStream from "./internal/StandbyStream.ts"
import { type Connection, Transport } from "./Transport.ts"

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

const defaultMaxMessageBytes = 64 * 1024 * 1024
const defaultMaxEventBytes = 32 * 1024 * 1024

const kind = "streamable-http"

/** What must hold of every request, whoever makes it. `context` may have more to say to `fetch`. */
const overridesOf = (context: Context.Context<never>): Context.Context<never> =>
  // The call has a span of its own, and its trace context travels in the message.
  Context.make(HttpClient.TracerDisabledWhen, () => true).pipe(
    // A redirect could take credentials to another origin.
    Context.add(FetchHttpClient.RequestInit, {
      ...Context.getOrUndefined(context, FetchHttpClient.RequestInit),
      redirect: "manual"
    })
  )

const isLimit = (value: number): boolean => Number.isSafeInteger(value) && value > 0

const check = (options: Options): Result.Result<HttpEndpoint.HttpEndpoint, McpError.InvalidRequest> => {
  for (const name of ["maxMessageBytes", "maxEventBytes"] as const) {
    const limit = options[name]
    if (limit !== undefined && !isLimit(limit)) {
      return Result.fail(new McpError.InvalidRequest({ problem: "must be a positive number of bytes", path: name }))
    }
  }
  return HttpEndpoint.make(options.url, options.headers ?? {})
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
  Effect.map(Effect.context<HttpClient.HttpClient>(), (context) => {
    const client = Context.get(context, HttpClient.HttpClient)
    const target = HttpEndpoint.targetOf(options.url)

    const connect: Transport["Service"]["connect"] = Effect.fnUntraced(function*(inbound) {
      const endpoint = yield* Effect.mapError(
        Effect.fromResult(check(options)),
        (reason) => McpError.make(reason, "unsent", { server: target })
      )
      for (const warning of endpoint.warnings) yield* Effect.logWarning(`${target}: ${warning}`)
      const scope = yield* Scope.Scope
      const own = Context.merge(context, yield* Effect.context<never>())
      const overrides = overridesOf(own)
      const services = Context.merge(own, overrides)
      const ended = yield* Deferred.make<McpError.McpError>()

      const peer: HttpPeer = {
        client,
        endpoint,
        headers: HttpHeaders.make(endpoint),
        session: new HttpSession(),
        inbound,
        maxMessageBytes: options.maxMessageBytes ?? defaultMaxMessageBytes,
        maxEventBytes: options.maxEventBytes ?? defaultMaxEventBytes,
        digest: new AuthorizationDigest(),
        draining: new Draining((effect) => {
          Fiber.runIn(Effect.runForkWith(services)(effect), scope)
        }),
        scope,
        overrides,
        context: services
      }
      // Finalizers run in reverse: what is under way ends first, then the session.
      yield* Scope.addFinalizer(
        scope,
        Deferred.succeed(
          ended,
          McpError.make(new McpError.ConnectionClosed({ target, local: true }), "unknown", { server: target })
        )
      )
      yield* Scope.addFinalizer(scope, HttpSend.endSession(peer))

      return {
        open: (outgoing, exchange, context) =>
          new HttpExchange(peer, outgoing, exchange, (outgoing, reason) => HttpSend.cancelled(peer, outgoing, reason))
            .start(context),
        send: (message, revision) => HttpSend.send(peer, message, revision),
        established: (revision: Revision.Facts) =>
          Effect.sync(() => {
            peer.session.revision = revision
          }),
        standby: (exchange, context) => StandbyStream.open(peer, exchange, context),
        closed: Deferred.await(ended)
      } satisfies Connection
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
