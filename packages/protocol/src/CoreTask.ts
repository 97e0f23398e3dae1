/**
 * Tasks as the core of 2025-11-25 had them (2025-11-25 basic/utilities/tasks). The extension that took their place is
 * in `Task`; the two do not mix on the wire.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"
import { TaskStatus } from "./Task.ts"

/**
 * Schema of `TaskMetadata`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TaskMetadata = Schema.Struct({
  /** How long the task should be kept, in milliseconds. */
  ttl: Schema.optional(Schema.Finite)
})

/**
 * What a request says that wants to become a task.
 *
 * @category models
 * @since 0.1.0
 */
export type TaskMetadata = typeof TaskMetadata.Type

/**
 * Schema of `Task`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Task = Schema.Struct({
  ...Wire.resultFields,
  taskId: Schema.String,
  status: TaskStatus,
  statusMessage: Schema.optional(Schema.String),
  createdAt: Schema.String,
  lastUpdatedAt: Schema.String,
  /** How long after its creation the server keeps the task, in milliseconds; `null` for no limit. */
  ttl: Schema.NullOr(Schema.Finite),
  /** How long to wait between polls, in milliseconds. */
  pollInterval: Schema.optional(Schema.Finite)
})

/**
 * A task. It is the answer to `tasks/get` and `tasks/cancel`, and the params of `notifications/tasks/status`.
 *
 * @category models
 * @since 0.1.0
 */
export type Task = typeof Task.Type

/**
 * Schema of `CreateTaskResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateTaskResult = Schema.Struct({ ...Wire.resultFields, task: Task })

/**
 * The answer to a call that became a task.
 *
 * @category models
 * @since 0.1.0
 */
export type CreateTaskResult = typeof CreateTaskResult.Type

/**
 * Schema of `RelatedTaskMetadata`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RelatedTaskMetadata = Schema.Struct({ taskId: Schema.String })

/**
 * What stands under `Metadata.relatedTaskKey` in the `_meta` of a message that belongs to a task.
 *
 * @category models
 * @since 0.1.0
 */
export type RelatedTaskMetadata = typeof RelatedTaskMetadata.Type
