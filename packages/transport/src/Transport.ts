/**
 * The contract between the conversation and what carries it.
 *
 * A **Transport** is a recipe (a Layer), a **Connection** is an open pipe (a Scope). A transport never reconnects and
 * owns no timer of a request: who waits for an answer decides how long.
 *
 * @since 0.1.0
 */
import type { Diagnostic, Envelope, McpError, Revision } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * What a transport that routes by headers needs to know of a request (2026-07-28 streamable-http, Headers): what it
 * names, and the arguments that the tool's definition wants mirrored.
 *
 * @category models
 * @since 0.1.0
 */
export interface Routing {
  readonly name?: string | undefined
  readonly params?: ReadonlyArray<readonly [name: string, value: string | number | boolean]> | undefined
}

/**
 * A request, built and encoded once by the session.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outgoing {
  readonly id: Envelope.RequestId
  readonly method: string
  /** The whole message as one line of JSON. */
  readonly text: string
  /** The revision that this message travels under; probe, handshake and requests differ on one connection. */
  readonly revision: Revision.Facts
  readonly routing: Routing | undefined
  /** Whether the peer is told when nobody waits for the answer any more. */
  readonly onAbandon: "cancel" | "silent"
}

/**
 * What else is known about a response.
 *
 * @category models
 * @since 0.1.0
 */
export interface Evidence {
  /** A digest of the authorization that was sent; `none` without one; `unknown` where it cannot be told. */
  readonly authorization: string | "none" | "unknown"
  /** Whether that is what the transport is configured with, so that its next request goes out under it, too. */
  readonly isConfigured?: boolean | undefined
  readonly httpStatus?: number | undefined
}

/**
 * What a transport tells about one request, synchronously and in the order of arrival. No member may throw.
 * Exactly one of `onResponse` and `onFailure` is called, once; after that, or after a cancel, nothing more.
 *
 * @category models
 * @since 0.1.0
 */
export interface Exchange {
  readonly onMessage: (message: Envelope.Request | Envelope.Notification) => void
  /** A sign of life. `graceMillis` more of silence are announced, such as the wait before a resumption. */
  readonly onActivity: (graceMillis: number) => void
  /** The answer comes as a stream of this request alone, which is open from now on, or not any more. */
  readonly onStream?: ((isOpen: boolean) => void) | undefined
  readonly onResponse: (message: Envelope.Response, evidence: Evidence) => void
  readonly onFailure: (error: McpError.McpError) => void
}

/**
 * Takes what belongs to no request, synchronously. No member may throw.
 *
 * @category models
 * @since 0.1.0
 */
export interface Inbound {
  readonly onMessage: (message: Envelope.Request | Envelope.Notification) => void
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
}

/**
 * Gives up a request. Idempotent, never waits, and no callback of the exchange follows it. What the peer is told, and
 * how, is the connection's business; it never delays the caller.
 *
 * @category models
 * @since 0.1.0
 */
export type Cancel = (reason: string | undefined) => void

/**
 * An open pipe to one server. It ends with its scope.
 *
 * @category models
 * @since 0.1.0
 */
export interface Connection {
  /** Sends one request. `context` is the caller's, for what runs on its behalf. */
  readonly open: (outgoing: Outgoing, exchange: Exchange, context: Context.Context<never>) => Cancel
  /** Sends a notification, or the answer to a request of the server. */
  readonly send: (
    message: Envelope.Notification | Envelope.Reply,
    revision: Revision.Facts
  ) => Effect.Effect<void, McpError.McpError>
  /** Tells once which revision was agreed on, for what lasts longer than a message. */
  readonly established: (revision: Revision.Facts) => Effect.Effect<void, McpError.McpError>
  /**
   * Opens the stream for messages that belong to no request, on transports that have one. Opened again, it goes on where
   * the last one ended, as far as the server named its events. It ends with `onFailure`, since nothing answers it.
   */
  readonly standby?: ((exchange: Exchange, context: Context.Context<never>) => Cancel) | undefined
  /** Completes when the connection is gone, with the reason. */
  readonly closed: Effect.Effect<McpError.McpError>
}

/**
 * How to reach one server.
 *
 * @category services
 * @since 0.1.0
 */
export class Transport extends Context.Service<Transport, {
  readonly kind: "stdio" | "streamable-http" | "http" | "sse" | "memory" | (string & {})
  /** Names the server in errors and logs: the command, or the URL without query and credentials. */
  readonly target: string
  /** Tells one configuration from another, without secrets: command or URL, and names of variables and headers. */
  readonly fingerprint: string
  /** Opens one connection per call, which closes with the scope. */
  readonly connect: (inbound: Inbound) => Effect.Effect<Connection, McpError.McpError, Scope.Scope>
}>()("@mcp-effect/transport/Transport") {}
