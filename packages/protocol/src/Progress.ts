/**
 * How far a request has come (2026-07-28 basic/patterns/progress).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"

/**
 * Schema of `ProgressNotificationParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ProgressNotificationParams = Schema.Struct({
  _meta: Wire.meta,
  /** The token that the request carried in its `_meta`, of the same JSON type. */
  progressToken: Wire.requestId,
  /** It grows with each notification, and may be a fraction. */
  progress: Schema.Finite,
  total: Schema.optional(Schema.Finite),
  /** Since 2025-03-26. */
  message: Schema.optional(Schema.String)
})

/**
 * Params of `notifications/progress`.
 *
 * @category models
 * @since 0.1.0
 */
export type ProgressNotificationParams = typeof ProgressNotificationParams.Type
