/**
 * The requests about tasks, in both ways the protocol has had them, read into one state.
 */
import { CoreTask, Decode, ErrorCode, type Json, McpError, PeerText, Task } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { TaskState } from "../McpTask.ts"
import type { Calls, RunOptions } from "./Calls.ts"
import * as Read from "./Read.ts"
import type { Session } from "./Session.ts"

const defaultPollMillis = 1_000

/** One request about a task does not wait longer for an answer; a poll is simply made again. */
export const requestMillis = 30_000

type Read<A> = Exit.Exit<A, McpError.McpErrorReason>

const detailedTask = Decode.validator(Task.DetailedTask)
const createdTask = Decode.validator(Task.CreateTaskResult)
const coreTask = Decode.validator(CoreTask.Task)
const createdCoreTask = Decode.validator(CoreTask.CreateTaskResult)
const coreTaskList = Decode.validator(
  Schema.Struct({ tasks: Schema.Array(CoreTask.Task), nextCursor: Schema.optional(Schema.String) })
)

const fromCore = (task: CoreTask.Task): TaskState => ({
  taskId: task.taskId,
  status: task.status,
  statusMessage: task.statusMessage,
  createdAt: task.createdAt,
  lastUpdatedAt: task.lastUpdatedAt,
  ttlMillis: task.ttl,
  pollIntervalMillis: task.pollInterval ?? defaultPollMillis,
  inputRequests: undefined,
  result: undefined,
  error: undefined
})

const fromExtension = (task: Task.Task): TaskState => ({
  taskId: task.taskId,
  status: task.status,
  statusMessage: task.statusMessage,
  createdAt: task.createdAt,
  lastUpdatedAt: task.lastUpdatedAt,
  ttlMillis: task.ttlMs,
  pollIntervalMillis: task.pollIntervalMs ?? defaultPollMillis,
  inputRequests: undefined,
  result: undefined,
  error: undefined
})

const detailed = (task: Task.DetailedTask): Read<TaskState> => {
  const state = fromExtension(task)
  switch (task.status) {
    case "input_required":
      return Exit.succeed({ ...state, inputRequests: task.inputRequests })
    case "completed":
      return Exit.map(Read.callToolResult(task.result), (result) => ({ ...state, result }))
    case "failed":
      return Exit.succeed({ ...state, error: task.error })
    default:
      return Exit.succeed(state)
  }
}

/** Reads the task that a call was answered with. */
export const readCreated = (result: Json.JsonObject, session: Session): Read<TaskState> =>
  session.revision.tasks === "core"
    ? Exit.map(Exit.mapError(createdCoreTask(result), Decode.malformed), ({ task }) => fromCore(task))
    : Exit.map(Exit.mapError(createdTask(result), Decode.malformed), fromExtension)

const readState = (taskId: string) => (result: Json.JsonObject, session: Session): Read<TaskState> => {
  const state: Read<TaskState> = session.revision.tasks === "core"
    ? Exit.map(Exit.mapError(coreTask(result), Decode.malformed), fromCore)
    : Exit.match(detailedTask(result), {
      onSuccess: detailed,
      onFailure: (cause): Read<TaskState> => Exit.mapError(Exit.failCause(cause), Decode.malformed)
    })
  return Exit.isSuccess(state) && state.value.taskId !== taskId
    ? Exit.fail(new McpError.MalformedMessage({ path: "/taskId", problem: "is not that of the task asked for" }))
    : state
}

/** The requests about one task. `pinned` is the session that it lives in, where it does not outlive it. */
export const make = (calls: Calls, server: string, taskId: string, pinned: number | undefined) => {
  const run = <A>(
    method: string,
    params: Json.JsonObject,
    decode: (result: Json.JsonObject, session: Session) => Read<A>,
    options?: RunOptions
  ): Effect.Effect<A, McpError.McpError> =>
    Effect.catch(
      calls.run({
        method,
        name: taskId,
        params: { taskId, ...params },
        generation: pinned,
        onOtherGeneration: () => new McpError.TaskFailed({ taskId, problem: "session-ended" }),
        decode
      }, options),
      (error) =>
        error.reason._tag === "ServerError" && error.reason.code === ErrorCode.InvalidParams
          ? Effect.fail(McpError.make(
            new McpError.TaskFailed({
              taskId,
              problem: "not-found",
              code: error.reason.code,
              excerpt: error.reason.excerpt,
              data: error.reason.data
            }),
            "refused",
            { server, method }
          ))
          : Effect.fail(error)
    )
  return {
    get: (options?: RunOptions) => run("tasks/get", {}, readState(taskId), options),
    update: (inputResponses: Json.JsonObject, options?: RunOptions) =>
      run("tasks/update", { inputResponses }, () => Exit.void, options),
    cancel: (options?: RunOptions) => run("tasks/cancel", {}, () => Exit.void, options),
    /** Blocks until a core task is done, and gives what the call would have given. */
    result: (options?: RunOptions) => run("tasks/result", {}, Read.callToolResult, options)
  }
}

export type TaskRequests = ReturnType<typeof make>

/** One page of the tasks of a server (2025-11-25 only). */
export const readList = (
  result: Json.JsonObject
): Read<{ readonly tasks: ReadonlyArray<TaskState>; readonly nextCursor: string | undefined }> =>
  Exit.map(Exit.mapError(coreTaskList(result), Decode.malformed), ({ nextCursor, tasks }) => ({
    tasks: tasks.map(fromCore),
    nextCursor
  }))

/** The error of a task that did not come to a result. */
export const failure = (server: string, state: TaskState): McpError.McpError =>
  McpError.make(
    new McpError.TaskFailed({
      taskId: state.taskId,
      problem: state.status === "cancelled" ? "cancelled" : "failed",
      code: state.error?.code,
      data: state.error?.data,
      excerpt: PeerText.excerpt(state.error?.message ?? state.statusMessage ?? "")
    }),
    "unknown",
    { server, method: "tools/call" }
  )
