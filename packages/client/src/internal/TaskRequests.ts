/**
 * The requests about tasks, in both ways the protocol has had them, read into one state.
 */
import { CoreTask, Decode, ErrorCode, type Json, ListResult, McpError, PeerText, Task } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
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

// -32602 in answer to anything but `tasks/get` may also be about what was sent along.
const isNotFound = (method: string, { code, excerpt }: McpError.ServerError): boolean =>
  code === ErrorCode.InvalidParams && (method === "tasks/get" || /task/i.test(excerpt))

/** The requests about one task. `pinned` is the session that it lives in, where it does not outlive it. */
export const make = (calls: Calls, server: string, taskId: string, pinned: number | undefined) => {
  const failed = (
    method: string,
    problem: McpError.TaskFailed["problem"],
    { code, data, excerpt }: McpError.ServerError
  ): Effect.Effect<never, McpError.McpError> =>
    Effect.fail(McpError.make(
      new McpError.TaskFailed({ taskId, problem, code, excerpt, data }),
      problem === "not-found" ? "refused" : "unknown",
      { server, method }
    ))

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
        // Two examples of the extension's own text answer `tasks/get` as if the task had just been created.
        tasks: true,
        onOtherGeneration: () => new McpError.TaskFailed({ taskId, problem: "session-ended" }),
        decode
      }, { ...options, requestId: undefined }),
      (error) =>
        error.reason._tag === "ServerError" && isNotFound(method, error.reason)
          ? failed(method, "not-found", error.reason)
          : Effect.fail(error)
    )
  return {
    get: (options?: RunOptions) => run("tasks/get", {}, readState(taskId), options),
    update: (inputResponses: Json.JsonObject, options?: RunOptions) =>
      run("tasks/update", { inputResponses }, () => Exit.void, options),
    cancel: (options?: RunOptions) => run("tasks/cancel", {}, () => Exit.void, options),
    /** Blocks until a core task is done, and gives what the call would have given: its error, where it failed. */
    result: (status: Task.TaskStatus, options?: RunOptions) =>
      Effect.catch(run("tasks/result", {}, Read.callToolResult, options), (error) => {
        const { reason } = error
        if (reason._tag === "ServerError") return failed("tasks/result", "failed", reason)
        // That the task exists was just told, so this is what became of it.
        return reason._tag === "TaskFailed" && reason.problem === "not-found" && status === "failed"
          ? Effect.fail(McpError.make(
            new McpError.TaskFailed({ ...reason, problem: "failed" }),
            "unknown",
            { server, method: "tasks/result" }
          ))
          : Effect.fail(error)
      })
  }
}

export type TaskRequests = ReturnType<typeof make>

/** One page of the tasks of a server (2025-11-25 only). */
export const readList = (result: Json.JsonObject): Read<ListResult.Page<TaskState>> =>
  Exit.map(
    Exit.mapError(ListResult.read("tasks/list", result, "tasks", coreTask), Decode.malformed),
    (page) => ({ ...page, items: page.items.map(fromCore) })
  )

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
