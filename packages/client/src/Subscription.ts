/**
 * A request that stays open for what a server has to tell: changes of its lists, updates of resources, the status of tasks
 * (2026-07-28 basic/patterns/subscriptions).
 *
 * The client keeps it open. A stream that breaks over HTTP is opened again, after 1 second, doubling to 30; to a process
 * that ended, the request is sent again as soon as another one runs. Each is a new request, which the server has to
 * acknowledge anew, and what it had to tell in between is lost. A subscription is in one of these states:
 *
 * | state                 | what happens                                                            | next state          |
 * | --------------------- | ----------------------------------------------------------------------- | ------------------- |
 * | Opening, Reconnecting | the server acknowledges the request                                     | Active              |
 * |                       | it does not within `ackTimeout`                                         | Closed: failed      |
 * | Opening, Active,      | over HTTP: the stream ends without an answer, is silent for 5 minutes,  | Reconnecting        |
 * | Reconnecting          | cannot be had, or is answered with a status of 500 or more              |                     |
 * |                       | the process ends                                                        | Reconnecting        |
 * |                       | the process ends less than 5 seconds after it was first given a         | Closed: failed      |
 * |                       | subscription                                                            |                     |
 * |                       | the server answers the request: it has nothing more to tell             | Closed: graceful    |
 * |                       | the server cancels the request, answers with an error, or with          | Closed: failed      |
 * |                       | something that cannot be understood; HTTP 4xx; permission is gone       |                     |
 * |                       | `close`; its scope or the client is closed; `client.cancel` of its id   | Closed: by client   |
 * | Reconnecting          | the process cannot be started again, or speaks a legacy revision now    | Closed: failed      |
 * | Closed                | nothing                                                                 |                     |
 *
 * One that is still Opening is Closed once it is sure that it will not be acknowledged within `ackTimeout` of its first
 * request, however often it was tried.
 *
 * @since 0.1.0
 */
import type { Envelope, Json, McpError, Subscription as Protocol } from "@mcp-effect/protocol"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"

/**
 * How long a server may take to acknowledge a subscription: 30 seconds.
 *
 * @category models
 * @since 0.1.0
 */
export const defaultAckTimeout: Duration.Input = "30 seconds"

/**
 * What a subscription is about. What is left out is not subscribed to; `taskIds` needs the tasks extension.
 *
 * @category models
 * @since 0.1.0
 */
export type Filter = Protocol.SubscriptionFilter

/**
 * What a subscription can be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListenOptions {
  /**
   * How long the server may take to acknowledge each request that is made for the subscription; it may be infinite.
   * What is acknowledged lasts as long as the server keeps it.
   *
   * @default 30 seconds
   */
  readonly ackTimeout?: Duration.Input | undefined
  /** Members for the `_meta` of each request that is made for the subscription. */
  readonly meta?: Json.JsonObject | undefined
}

/**
 * Where a subscription stands; the table of this module has how it gets there.
 *
 * @category models
 * @since 0.1.0
 */
export type State =
  | { readonly _tag: "Opening" }
  /** `id` is that of the request that the server has acknowledged. */
  | { readonly _tag: "Active"; readonly id: Envelope.RequestId }
  /** `error` is what ended the last request. Nobody is told anything at the moment. */
  | { readonly _tag: "Reconnecting"; readonly error: McpError.McpError }
  | {
    readonly _tag: "Closed"
    readonly cause: "graceful" | "byClient" | "failed"
    /** Why it failed. */
    readonly error: McpError.McpError | undefined
  }

/**
 * An open subscription.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subscription {
  /** What was asked for. */
  readonly requested: Filter
  /** What of it the server has said that it honours, in its last acknowledgment. */
  readonly acknowledged: Effect.Effect<Filter | undefined>
  /** The fields of the filter that were asked for and that the last acknowledgment grants nothing of. */
  readonly unsupported: Effect.Effect<ReadonlyArray<keyof Filter>>
  /** The state, and each that follows; it ends with `Closed`. */
  readonly state: Stream.Stream<State>
  /**
   * What the server tells, in its order. Every reader is given all of it; what comes while nobody reads waits for the next
   * reader. It ends with the subscription, and fails where that fails, once what came before is read.
   *
   * For each reader at most 1,024 notifications of at most 8 MiB in all wait, and one that is larger by itself. What a
   * slow reader loses is repeats: of two about the same resource, task or list the older one, and never the only one
   * about anything while there are such repeats.
   */
  readonly notifications: Stream.Stream<Envelope.Notification, McpError.McpError>
  /** How many notifications wait for the reader that is furthest behind. */
  readonly pending: Effect.Effect<number>
  /** How many bytes they have: method and params, as JSON. */
  readonly pendingBytes: Effect.Effect<number>
  /** How many notifications readers have lost because they are slow. */
  readonly dropped: Effect.Effect<number>
  /**
   * Ends the subscription. After that no request is sent for it, and the one that was open is cancelled: over HTTP by the
   * end of its stream, on a shared channel by `notifications/cancelled`.
   */
  readonly close: Effect.Effect<void>
}
