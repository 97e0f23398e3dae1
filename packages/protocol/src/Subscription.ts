/**
 * A request that stays open and brings notifications (2026-07-28 basic/patterns/subscriptions).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"
import { subscriptionIdKey } from "./Metadata.ts"

const flag = Schema.optional(Schema.Boolean)
const strings = Schema.optional(Schema.Array(Schema.String))

/**
 * Schema of `SubscriptionFilter`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SubscriptionFilter = Schema.Struct({
  toolsListChanged: flag,
  promptsListChanged: flag,
  resourcesListChanged: flag,
  /** URIs whose updates are wanted. */
  resourceSubscriptions: strings,
  /** Tasks whose status is wanted (extension `io.modelcontextprotocol/tasks`). */
  taskIds: strings
})

/**
 * What a subscription is about. What is left out is not subscribed to.
 *
 * @category models
 * @since 0.1.0
 */
export type SubscriptionFilter = typeof SubscriptionFilter.Type

/**
 * Schema of `SubscriptionsListenRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SubscriptionsListenRequestParams = Schema.Struct({ _meta: Wire.meta, notifications: SubscriptionFilter })

/**
 * Params of `subscriptions/listen`.
 *
 * @category models
 * @since 0.1.0
 */
export type SubscriptionsListenRequestParams = typeof SubscriptionsListenRequestParams.Type

/**
 * Schema of `SubscriptionsAcknowledgedNotificationParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SubscriptionsAcknowledgedNotificationParams = Schema.Struct({
  _meta: Wire.meta,
  /** What of the filter the server honours. */
  notifications: SubscriptionFilter
})

/**
 * Params of `notifications/subscriptions/acknowledged`, the first message of a subscription.
 *
 * @category models
 * @since 0.1.0
 */
export type SubscriptionsAcknowledgedNotificationParams = typeof SubscriptionsAcknowledgedNotificationParams.Type

/**
 * Schema of `SubscriptionsListenResult`. The id in `_meta` may be absent: the response itself names the request.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SubscriptionsListenResult = Schema.Struct({
  resultType: Wire.resultFields.resultType,
  _meta: Schema.optional(Wire.open(Schema.Struct({ [subscriptionIdKey]: Schema.optional(Wire.requestId) })))
})

/**
 * The answer to `subscriptions/listen`: the server ended the subscription in good order.
 *
 * @category models
 * @since 0.1.0
 */
export type SubscriptionsListenResult = typeof SubscriptionsListenResult.Type
