/**
 * What a client and a request can be told, each with its unit and its default.
 *
 * @since 0.1.0
 */
import type { Envelope, Implementation, Json, Logging, McpError, Progress } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
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
 * When a request that failed is sent again. A schedule is asked after each failure that may pass (no connection, a lost
 * session, HTTP 429 or 5xx), where repeating cannot execute anything twice: the request was never sent, the server has
 * refused it, or its method only asks. Never after a timeout, a JSON-RPC error under any other status, or any other HTTP
 * 4xx. A server's `Retry-After` is waited for, up to a minute; what is longer, or does not fit into the deadline, fails at
 * once.
 *
 * A schedule that is given goes for every method, the default only for those that ask: lists, reads, `get`, `complete`,
 * `ping`. `Schedule.recurs(0)` turns it off.
 *
 * @category models
 * @since 0.1.0
 */
export type Retry = Schedule.Schedule<unknown, McpError.McpError>

/**
 * Whether a request whose response stream broke before the response is sent once more, as a new one. Modern servers take
 * the closed stream for a cancellation, and the protocol wants the request issued anew (2026-07-28 changelog).
 *
 * - `always` does so for every request, `tools/call` included. **The hazard:** a server that had already finished the
 *   tool, or does not stop it when the stream closes, runs it a second time.
 * - `safe` does so only where repeating does no harm: the method only asks, or `trustAnnotations` is on and the tool is
 *   annotated as read-only or idempotent. It departs from a MUST of the protocol, as does `never`.
 * - `never` fails.
 *
 * A call that is not issued anew fails with `AmbiguousDelivery`. In the legacy era, where a stream that broke does not
 * cancel, `always` means `safe`.
 *
 * @category models
 * @since 0.1.0
 */
export type Reissue = "always" | "safe" | "never"

/**
 * The schedule of retries of every request in a region, where the request gives none of its own.
 *
 * @category references
 * @since 0.1.0
 */
export const RetrySchedule: Context.Reference<Retry | undefined> = Context.Reference<Retry | undefined>(
  "@mcp-effect/client/ClientOptions/RetrySchedule",
  { defaultValue: () => undefined }
)

/**
 * What becomes of broken response streams in a region, where the request says nothing of its own.
 *
 * @category references
 * @since 0.1.0
 */
export const ReissuePolicy: Context.Reference<Reissue | undefined> = Context.Reference<Reissue | undefined>(
  "@mcp-effect/client/ClientOptions/ReissuePolicy",
  { defaultValue: () => undefined }
)

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
  /**
   * When the request is sent again after it failed, within its deadline. See {@link Retry} for what is never repeated.
   *
   * @default 3 times, after 200 ms doubling to 5 s with jitter, where the method only asks; never otherwise
   */
  readonly retry?: Retry | undefined
  /**
   * Whether the request is issued anew once where its response stream broke. See {@link Reissue} for the hazard.
   *
   * @default "always"
   */
  readonly reissue?: Reissue | undefined
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
  /** The server's whole answer; empty, where it was the error -32042. */
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
   * announced time, `retry` at once, or `cancel` the request, which can then be resumed. So it does while the user visits
   * the pages that a server of 2025-11-25 requires by the error -32042; there the server may end the wait, and whatever is
   * being decided, by telling that the visits are over.
   *
   * @default waits 0.5 seconds, doubling up to 5, or up to 60 for a visit
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
  /**
   * `_meta` for every request: a value, or an Effect that is run for each. With an Effect nothing is kept; see
   * `ResultCache`.
   */
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
   * How long starting the server and agreeing on a revision may take in all. The time that a person takes, such as to
   * sign in, does not count.
   *
   * @default 60 seconds
   */
  readonly connectTimeout?: Duration.Input | undefined
  /**
   * When requests are sent again after they failed, those of connecting over HTTP included. See {@link Retry}.
   *
   * @default 3 times, after 200 ms doubling to 5 s with jitter, where the method only asks; never otherwise
   */
  readonly retry?: Retry | undefined
  /**
   * Whether a request is issued anew once where its response stream broke. See {@link Reissue} for the hazard.
   *
   * @default "always"
   */
  readonly reissue?: Reissue | undefined
  /**
   * Whether what a server says about its tools is believed when a call failed: one annotated as read-only or idempotent
   * is then repeated like a method that only asks. The specification calls annotations untrusted (server/tools).
   *
   * @default false
   */
  readonly trustAnnotations?: boolean | undefined
  /**
   * How long a server may say nothing before it is asked whether it is still there. A server that does not answer within
   * the same time is `Degraded` in `state`, until it does; nothing is ended for it. The timer keeps no process alive.
   *
   * @default off
   */
  readonly keepAlive?: Duration.Input | undefined
  /**
   * How long a server may take to answer the probe for a modern revision. After that, a server on a shared channel is
   * offered `initialize` beside it; over HTTP connecting fails.
   *
   * @default 2 seconds on stdio, 10 seconds on HTTP
   */
  readonly probeTimeout?: Duration.Input | undefined
  /**
   * Whether a legacy HTTP server is given a stream for what belongs to no request (2025-11-25 basic/transports, Listening
   * for Messages from the Server). `auto` opens one once something needs it: handlers, a log level, a subscription or a
   * list under watch, somebody who listens to `notifications` or `logs`. `off` never does, so that none of these hears
   * what comes outside of a request. `required` always does, and connecting fails where the server has none. Other
   * servers have no such stream.
   *
   * @default "auto"
   */
  readonly standbyStream?: "auto" | "off" | "required" | undefined
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
  /** Wraps every request. Nothing is kept then, so that it hears of each; see `ResultCache`. */
  readonly around?: Around | undefined
}
