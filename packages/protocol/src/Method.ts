/**
 * Every method a client can send, with the params that go with it. `_meta` of the protocol's own is added on the way.
 *
 * @since 0.1.0
 */
import type { CancelledNotificationParams } from "./Cancellation.ts"
import type { CompleteRequestParams } from "./Completion.ts"
import type { InitializeRequestParams } from "./Discovery.ts"
import type { JsonObject } from "./Json.ts"
import type { PaginatedRequestParams } from "./ListResult.ts"
import type { SetLevelRequestParams } from "./Logging.ts"
import type { ProgressNotificationParams } from "./Progress.ts"
import type { GetPromptRequestParams } from "./Prompt.ts"
import type { ReadResourceRequestParams, SubscribeRequestParams } from "./Resource.ts"
import type { SubscriptionsListenRequestParams } from "./Subscription.ts"
import type { TaskRequestParams, UpdateTaskRequestParams } from "./Task.ts"
import type { CallToolRequestParams } from "./ToolCall.ts"

/**
 * Params that have no members of their own.
 *
 * @category models
 * @since 0.1.0
 */
export interface EmptyParams {
  readonly _meta?: JsonObject | undefined
}

/**
 * The requests of a client, of all revisions.
 *
 * @category models
 * @since 0.1.0
 */
export interface Requests {
  readonly "server/discover": EmptyParams
  readonly "initialize": InitializeRequestParams
  readonly "ping": EmptyParams
  readonly "tools/list": PaginatedRequestParams
  readonly "tools/call": CallToolRequestParams
  readonly "prompts/list": PaginatedRequestParams
  readonly "prompts/get": GetPromptRequestParams
  readonly "resources/list": PaginatedRequestParams
  readonly "resources/templates/list": PaginatedRequestParams
  readonly "resources/read": ReadResourceRequestParams
  readonly "resources/subscribe": SubscribeRequestParams
  readonly "resources/unsubscribe": SubscribeRequestParams
  readonly "completion/complete": CompleteRequestParams
  readonly "logging/setLevel": SetLevelRequestParams
  readonly "subscriptions/listen": SubscriptionsListenRequestParams
  readonly "tasks/get": TaskRequestParams
  readonly "tasks/result": TaskRequestParams
  readonly "tasks/list": PaginatedRequestParams
  readonly "tasks/update": UpdateTaskRequestParams
  readonly "tasks/cancel": TaskRequestParams
}

/**
 * The notifications of a client, of all revisions.
 *
 * @category models
 * @since 0.1.0
 */
export interface Notifications {
  readonly "notifications/initialized": EmptyParams
  readonly "notifications/cancelled": CancelledNotificationParams
  readonly "notifications/progress": ProgressNotificationParams
  readonly "notifications/roots/list_changed": EmptyParams
}
