/**
 * A request is given up (2026-07-28 basic/patterns/cancellation).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"

/**
 * Schema of `CancelledNotificationParams`. The schema of 2025-11-25 alone lets `requestId` be absent, for tasks, which
 * are not cancelled by this notification; one without it names nothing.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CancelledNotificationParams = Schema.Struct({
  _meta: Wire.meta,
  requestId: Wire.requestId,
  reason: Schema.optional(Schema.String)
})

/**
 * Params of `notifications/cancelled`.
 *
 * @category models
 * @since 0.1.0
 */
export type CancelledNotificationParams = typeof CancelledNotificationParams.Type
