/**
 * What a client and a request can be told, each with its unit and its default.
 *
 * @since 0.1.0
 */
import type { Envelope, Implementation, Json, Logging, McpError, Progress } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { McpHandlers } from "./McpHandlers.ts"

/**
 * How long a request may go without any sign of life: 60 seconds.
 *
 * @category models
 * @since 0.1.0
 */
export const defaultIdleTimeout: Duration.Input = "60 seconds"

/**
 * How long a request may take in all: 10 minutes.
 *
 * @category models
 * @since 0.1.0
 */
export const defaultDeadline: Duration.Input = "10 minutes"

/**
 * How long starting a server and agreeing on a revision may take: 60 seconds.
 *
 * @category models
 * @since 0.1.0
 */
export const defaultConnectTimeout: Duration.Input = "60 seconds"

/**
 * The idle timeout of every request in a region, where the request gives none of its own.
 *
 * **Example** (Giving a region more patience)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ClientOptions, McpClient } from "@mcp-effect/client"
 *
 * const patient = Effect.gen(function*() {
 *   const client = yield* McpClient.McpClient
 *   return yield* client.callTool("train", { epochs: 10 })
 * }).pipe(Effect.provideService(ClientOptions.IdleTimeout, "1 hour"))
 * ```
 *
 * @category references
 * @since 0.1.0
 */
export const IdleTimeout: Context.Reference<Duration.Input | undefined> = Context.Reference<
  Duration.Input | undefined
>("@mcp-effect/client/ClientOptions/IdleTimeout", { defaultValue: () => undefined })

/**
 * The total deadline of every request in a region, where the request gives none of its own.
 *
 * @category references
 * @since 0.1.0
 */
export const Deadline: Context.Reference<Duration.Input | undefined> = Context.Reference<
  Duration.Input | undefined
>("@mcp-effect/client/ClientOptions/Deadline", { defaultValue: () => undefined })

/**
 * `_meta` for every request in a region, beneath what a request gives itself.
 *
 * @category references
 * @since 0.1.0
 */
export const RequestMetadata: Context.Reference<Json.JsonObject | undefined> = Context.Reference<
  Json.JsonObject | undefined
>("@mcp-effect/client/ClientOptions/RequestMetadata", { defaultValue: () => undefined })

/**
 * What one request can be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface RequestOptions {
  /**
   * How long nothing may be heard of the request. Any sign of life for it starts this time anew: progress, a message,
   * bytes of its response stream.
   *
   * @default 60 seconds
   */
  readonly idleTimeout?: Duration.Input | undefined
  /**
   * How long the request may take in all, whatever is heard of it.
   *
   * @default 10 minutes
   */
  readonly deadline?: Duration.Input | undefined
  /**
   * Members for the `_meta` of the request. The protocol's own keys always win; a `progressToken` replaces the
   * client's.
   */
  readonly meta?: Json.JsonObject | undefined
  /**
   * Runs for each progress notification, in order, before the request returns. A failure is logged and changes
   * nothing.
   */
  readonly onProgress?: ((progress: Progress.ProgressNotificationParams) => Effect.Effect<void>) | undefined
  /**
   * The id of the request, for a later `cancel`. It must not be in use.
   *
   * @default a counter
   */
  readonly requestId?: Envelope.RequestId | undefined
  /** Cancels the request, with the signal's reason, when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/**
 * A request on its way through `around`.
 *
 * @category models
 * @since 0.1.0
 */
export interface AroundRequest {
  readonly server: string
  readonly method: string
  readonly params: Json.JsonObject
}

/**
 * Wraps every request that an application makes of a client: approval, audit, redaction, rate limits. `proceed` sends
 * the parameters it is given and gives the result as the server sent it; not calling it refuses the request.
 *
 * @category models
 * @since 0.1.0
 */
export type Around = (
  request: AroundRequest,
  proceed: (params: Json.JsonObject) => Effect.Effect<Json.JsonObject, McpError.McpError>
) => Effect.Effect<Json.JsonObject, McpError.McpError>

/**
 * A server that answers a request with nothing but a state wants to be asked again later; this tells of the wait.
 *
 * @category models
 * @since 0.1.0
 */
export interface InputRequiredWait {
  readonly method: string
  /** How many times the server has asked before during this request. */
  readonly round: number
  readonly delayMillis: number
  readonly elapsedMillis: number
  readonly requestState: string | undefined
  /** The server's whole answer. */
  readonly result: Json.JsonObject
}

/**
 * What a client can be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClientOptions<in out R = never> {
  /** What a server may ask for: the user, the model, the file system. None by default. */
  readonly handlers?: McpHandlers<R> | undefined
  /**
   * Runs before each pause of a multi round-trip request whose server only wants to be asked again: `wait` for the
   * announced time, `retry` at once, or `cancel` the request, which can then be resumed.
   *
   * @default waits 0.5 seconds, doubling up to 5
   */
  readonly onInputRequiredWait?:
    | ((wait: InputRequiredWait) => Effect.Effect<"wait" | "retry" | "cancel">)
    | undefined
  /**
   * Who the client is. `name` and `version` must not be empty.
   *
   * @default mcp-effect and its version
   */
  readonly clientInfo?: Implementation.Implementation | undefined
  /**
   * Whether a modern server is told who the client is on each request. A legacy server always is, in `initialize`.
   *
   * @default true
   */
  readonly sendClientInfo?: boolean | undefined
  /**
   * Which era to speak. `auto` finds out; `modern` fails on a server that speaks only legacy revisions; `legacy` never
   * probes (2026-07-28 basic/versioning).
   *
   * @default "auto"
   */
  readonly protocol?: "auto" | "modern" | "legacy" | undefined
  /** Extensions to declare, by identifier (`vendor.example/name`), with their settings. None by default. */
  readonly extensions?: { readonly [identifier: string]: Json.JsonObject } | undefined
  /** `_meta` for every request: a value, or an Effect that is run for each. */
  readonly requestMetadata?: Json.JsonObject | Effect.Effect<Json.JsonObject> | undefined
  /**
   * The log level asked of a server at the start; no level is asked for by default.
   *
   * @deprecated the protocol deprecates logging in 2026-07-28
   */
  readonly logLevel?: Logging.LoggingLevel | undefined
  /**
   * Whether log messages of the server also go to Effect's logger, escaped and at most 4,096 characters each.
   *
   * @default true
   */
  readonly forwardLogs?: boolean | undefined
  /** @default 60 seconds */
  readonly idleTimeout?: Duration.Input | undefined
  /** @default 10 minutes */
  readonly deadline?: Duration.Input | undefined
  /**
   * How long starting the server and agreeing on a revision may take in all.
   *
   * @default 60 seconds
   */
  readonly connectTimeout?: Duration.Input | undefined
  /**
   * How long a server may take to answer the probe for a modern revision. After that, a server on a shared channel is
   * offered `initialize` beside it; over HTTP connecting fails.
   *
   * @default 2 seconds on stdio, 10 seconds on HTTP
   */
  readonly probeTimeout?: Duration.Input | undefined
  /**
   * Whether a legacy HTTP server is given a stream for what belongs to no request: `auto` opens one where the client
   * has handlers, since the server may ask on it; `off` never does.
   *
   * @default "auto"
   */
  readonly standbyStream?: "auto" | "off" | undefined
  /**
   * What becomes of a tool's structured content that does not fit the output schema of its definition: `report` gives
   * the result with `outputIssues`, `strict` fails the call with `OutputInvalid`, which carries the result. A schema
   * that cannot be used checks nothing, with a diagnostic (server/tools, Output Schema).
   *
   * @default "report"
   */
  readonly outputValidation?: "report" | "strict" | undefined
  /**
   * Whether to connect at the first use instead of when the layer is built.
   *
   * @default false
   */
  readonly lazy?: boolean | undefined
  /** Wraps every request. */
  readonly around?: Around | undefined
}
