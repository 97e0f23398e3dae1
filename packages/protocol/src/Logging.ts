/**
 * Log messages that a server sends to its client (2026-07-28 server/utilities/logging; deprecated there).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"

/**
 * Every level (RFC 5424), the least severe first.
 *
 * @category models
 * @since 0.1.0
 */
export const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const

/**
 * Schema of `LoggingLevel`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LoggingLevel = Schema.Literals(levels)

/**
 * How severe a log message is.
 *
 * @category models
 * @since 0.1.0
 */
export type LoggingLevel = typeof LoggingLevel.Type

/**
 * Tells whether a value is a level.
 *
 * @category guards
 * @since 0.1.0
 */
export const isLoggingLevel = (value: unknown): value is LoggingLevel => levels.some((level) => level === value)

/**
 * Schema of `SetLevelRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SetLevelRequestParams = Schema.Struct({ _meta: Wire.meta, level: LoggingLevel })

/**
 * Params of `logging/setLevel`, which exists up to 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export type SetLevelRequestParams = typeof SetLevelRequestParams.Type

/**
 * Schema of `LoggingMessageNotificationParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LoggingMessageNotificationParams = Schema.Struct({
  _meta: Wire.meta,
  level: LoggingLevel,
  /** The name of the logger. */
  logger: Schema.optional(Schema.String),
  /** A string or any other JSON value. */
  data: Schema.Unknown
})

/**
 * Params of `notifications/message`: one log message.
 *
 * @category models
 * @since 0.1.0
 */
export type LoggingMessageNotificationParams = typeof LoggingMessageNotificationParams.Type
