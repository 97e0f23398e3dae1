/**
 * The one error type of this library. Its `reason` says why; `delivery` says how far the request got.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Reason from "./McpErrorReason.ts"

const TypeId = "~@mcp-effect/protocol/McpError" as const

/**
 * Schema of every reason an `McpError` can have.
 *
 * @category schemas
 * @since 0.1.0
 */
export const McpErrorReason = Schema.Union([
  Reason.SpawnFailed,
  Reason.ConnectionFailed,
  Reason.ConnectionClosed,
  Reason.HttpStatus,
  Reason.RedirectRefused,
  Reason.StreamEnded,
  Reason.StreamIdle,
  Reason.MalformedMessage,
  Reason.MessageTooLarge,
  Reason.ServerError,
  Reason.HeaderMismatch,
  Reason.MissingClientCapability,
  Reason.UnsupportedProtocolVersion,
  Reason.ResourceNotFound,
  Reason.NegotiationFailed,
  Reason.SessionExpired,
  Reason.ServerUnavailable,
  Reason.CapabilityMissing,
  Reason.RequestTimeout,
  Reason.AmbiguousDelivery,
  Reason.InputRequired,
  Reason.UnknownTool,
  Reason.InvalidRequest,
  Reason.SchemaUnsupported,
  Reason.TaskFailed,
  Reason.TaskReplaced,
  Reason.ToolFailed,
  Reason.OutputInvalid,
  Reason.SkillRejected,
  Reason.Cancelled,
  Reason.Unauthorized,
  Reason.InsufficientScope,
  Reason.AuthorizationFailed,
  Reason.InvalidGrant
])

/**
 * Every reason an `McpError` can have.
 *
 * @category models
 * @since 0.1.0
 */
export type McpErrorReason = typeof McpErrorReason.Type

/**
 * How far a request got: it never left (`unsent`), the server turned it away without executing it (`refused`), or it
 * may have been executed (`unknown`).
 *
 * @category models
 * @since 0.1.0
 */
export type Delivery = "unsent" | "refused" | "unknown"

// What these methods do may be done twice: they ask and change nothing.
const safeMethods: ReadonlySet<string> = new Set([
  "server/discover",
  "initialize",
  "ping",
  "tools/list",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "completion/complete",
  "logging/setLevel",
  "tasks/get",
  "tasks/list",
  "tasks/result"
])

/**
 * Tells whether a method only asks, so that repeating it does no harm.
 *
 * @category guards
 * @since 0.1.0
 */
export const isSafeMethod = (method: string): boolean => safeMethods.has(method)

/**
 * Any failure of this library.
 *
 * **Example** (Handling one cause)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { McpError } from "@mcp-effect/protocol"
 *
 * declare const call: Effect.Effect<string, McpError.McpError>
 *
 * const answered = call.pipe(
 *   Effect.catchReason("McpError", "RequestTimeout", (timeout) => Effect.succeed(`gave up after ${timeout.millis} ms`))
 * )
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class McpError extends Schema.Error<McpError>("@mcp-effect/protocol/McpError")({
  _tag: Schema.tag("McpError"),
  reason: McpErrorReason,
  delivery: Schema.Literals(["unsent", "refused", "unknown"]),
  /** The server, as the transport names it. */
  server: Schema.optional(Schema.String),
  /** The method of the request that failed. */
  method: Schema.optional(Schema.String)
}) {
  readonly [TypeId] = TypeId
  override readonly cause = this.reason

  override get message(): string {
    const subject = [this.server, this.method].filter((part) => part !== undefined).join(" ")
    return subject === "" ? this.reason.message : `${subject}: ${this.reason.message}`
  }

  /**
   * The same request may succeed later, and repeating it cannot execute anything twice: it was not executed, or its
   * method only asks.
   */
  get isRetryable(): boolean {
    if (!this.reason.isTransient) return false
    return this.delivery !== "unknown" || (this.method !== undefined && isSafeMethod(this.method))
  }
}

/**
 * Tells whether a value is an `McpError`, also one of another copy of this library.
 *
 * @category guards
 * @since 0.1.0
 */
export const isMcpError = (value: unknown): value is McpError => Predicate.hasProperty(value, TypeId)

/**
 * Creates an error with the way the request went.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  reason: McpErrorReason,
  delivery: Delivery,
  context?: { readonly server?: string | undefined; readonly method?: string | undefined }
): McpError => new McpError({ reason, delivery, server: context?.server, method: context?.method })

/**
 * Adds the server and the method to an error that does not name them yet.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withContext = (
  error: McpError,
  context: { readonly server?: string | undefined; readonly method?: string | undefined }
): McpError =>
  error.server !== undefined && error.method !== undefined
    ? error
    : new McpError({
      reason: error.reason,
      delivery: error.delivery,
      server: error.server ?? context.server,
      method: error.method ?? context.method
    })

export * from "./McpErrorReason.ts"
