/**
 * Calls that go on by themselves, as the extension `io.modelcontextprotocol/tasks` of 2026-07-28 has them (extension
 * Tasks). Those of the core of 2025-11-25 are in `CoreTask`; the two do not mix on the wire.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { InputRequests, InputResponses } from "./InputRequired.ts"
import * as Wire from "./internal/Wire.ts"

/**
 * The id under which both sides declare the extension.
 *
 * @category models
 * @since 0.1.0
 */
export const extensionId = "io.modelcontextprotocol/tasks"

/**
 * Schema of `TaskStatus`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TaskStatus = Schema.Literals(["working", "input_required", "completed", "failed", "cancelled"])

/**
 * Where a task stands, in either surface.
 *
 * @category models
 * @since 0.1.0
 */
export type TaskStatus = typeof TaskStatus.Type

/**
 * Tells whether a task of this status has come to its end.
 *
 * @category guards
 * @since 0.1.0
 */
export const isTerminal = (status: TaskStatus): boolean => status !== "working" && status !== "input_required"

const isoTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?$/

const Timestamp = Schema.String.check(
  Schema.makeFilter((text) => isoTime.test(text), { expected: "a date and time in ISO 8601" })
)

const Natural = Schema.Int.check(Schema.makeFilter((n) => n >= 0, { expected: "zero or a positive integer" }))

const taskFields = {
  taskId: Schema.String,
  statusMessage: Schema.optional(Schema.String),
  createdAt: Timestamp,
  lastUpdatedAt: Timestamp,
  /** How long after its creation the server keeps the task, in milliseconds; `null` for no limit. */
  ttlMs: Schema.NullOr(Schema.Int),
  /** How long to wait between polls, in milliseconds. */
  pollIntervalMs: Schema.optional(Natural)
}

/**
 * Schema of `Task`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Task = Schema.Struct({ ...taskFields, status: TaskStatus })

/**
 * What is always known of a task.
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
export const CreateTaskResult = Schema.Struct({
  _meta: Wire.meta,
  resultType: Schema.Literal("task"),
  ...Task.fields
})

/**
 * The answer to a call that became a task.
 *
 * @category models
 * @since 0.1.0
 */
export type CreateTaskResult = typeof CreateTaskResult.Type

const detailedFields = { ...Wire.resultFields, ...taskFields }

const WorkingTask = Schema.Struct({ ...detailedFields, status: Schema.Literal("working") })

const InputRequiredTask = Schema.Struct({
  ...detailedFields,
  status: Schema.Literal("input_required"),
  inputRequests: InputRequests
})

const CompletedTask = Schema.Struct({ ...detailedFields, status: Schema.Literal("completed"), result: Wire.object })

const FailedTask = Schema.Struct({
  ...detailedFields,
  status: Schema.Literal("failed"),
  /** A JSON-RPC error. */
  error: Schema.Struct({ code: Schema.Int, message: Schema.String, data: Schema.optional(Schema.Unknown) })
})

const CancelledTask = Schema.Struct({ ...detailedFields, status: Schema.Literal("cancelled") })

/**
 * A task with what its status brings: input requests, its result, or its error.
 *
 * It is the answer to `tasks/get`, and the params of `notifications/tasks`.
 *
 * @category models
 * @since 0.1.0
 */
export type DetailedTask =
  | typeof WorkingTask.Type
  | typeof InputRequiredTask.Type
  | typeof CompletedTask.Type
  | typeof FailedTask.Type
  | typeof CancelledTask.Type

/**
 * Schema of `DetailedTask`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DetailedTask: Schema.Codec<DetailedTask> = Wire.byMember<DetailedTask>(
  "status",
  {
    working: WorkingTask,
    input_required: InputRequiredTask,
    completed: CompletedTask,
    failed: FailedTask,
    cancelled: CancelledTask
  },
  "refuse"
)

/**
 * Schema of `TaskRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TaskRequestParams = Schema.Struct({ _meta: Wire.meta, taskId: Schema.String })

/**
 * Params of `tasks/get` and `tasks/cancel`, in either surface, and of `tasks/result` of the core.
 *
 * @category models
 * @since 0.1.0
 */
export type TaskRequestParams = typeof TaskRequestParams.Type

/**
 * Schema of `UpdateTaskRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UpdateTaskRequestParams = Schema.Struct({ ...TaskRequestParams.fields, inputResponses: InputResponses })

/**
 * Params of `tasks/update`: answers to input requests of the task.
 *
 * @category models
 * @since 0.1.0
 */
export type UpdateTaskRequestParams = typeof UpdateTaskRequestParams.Type
