/**
 * Work that a server goes on with after it has answered: one handle for both ways the protocol has had it, the core
 * tasks of 2025-11-25 and the `io.modelcontextprotocol/tasks` extension.
 *
 * @since 0.1.0
 */
import type { InputRequired, Json, McpError, Task, ToolCall } from "@mcp-effect/protocol"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { RequestOptions } from "./ClientOptions.ts"
import type { CheckedResult } from "./McpClient.ts"

/**
 * The identifier of the extension. Declare it with `extensions: { [McpTask.extension]: {} }` to let modern servers
 * answer calls with tasks.
 *
 * @category models
 * @since 0.1.0
 */
export const extension = "io.modelcontextprotocol/tasks"

/**
 * What a server last said of a task.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskState {
  readonly taskId: string
  readonly status: Task.TaskStatus
  readonly statusMessage: string | undefined
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** How long after its creation the server keeps the task, in milliseconds; `null` for no limit. */
  readonly ttlMillis: number | null
  /** How long the server wants a client to wait between polls, in milliseconds; 1,000 where it does not say. */
  readonly pollIntervalMillis: number
  /** What the server asks, while `status` is `input_required`; the extension only. */
  readonly inputRequests: InputRequired.InputRequests | undefined
  /** The result, where `status` is `completed`; the extension only, since core tasks tell it by `tasks/result`. */
  readonly result: ToolCall.CallToolResult | undefined
  /** The JSON-RPC error of a task that `failed`; the extension only. */
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined
}

/**
 * What names a task in another process.
 *
 * @category models
 * @since 0.1.0
 */
export interface SerializedTask {
  readonly taskId: string
  /** Tells the task from a later one with the same id. Without it, the task that has the id now is meant. */
  readonly createdAt?: string | undefined
  /** The tool that the task runs. */
  readonly tool?: string | undefined
}

/**
 * What starting a task can be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskOptions extends RequestOptions {
  /** How long the server should keep the task; servers of the extension decide that themselves. */
  readonly ttl?: Duration.Input | undefined
}

/**
 * A task.
 *
 * @category models
 * @since 0.1.0
 */
export interface McpTask {
  readonly id: string
  /** The tool that the task runs, where it is known. */
  readonly tool: string | undefined
  /** What the server said of the task when this handle was made. */
  readonly initial: TaskState
  /** Asks the server for the state of the task. */
  readonly get: Effect.Effect<TaskState, McpError.McpError>
  /** The states of the task, each once, until it is done: polled at the server's pace, sooner when it announces one. */
  readonly updates: Stream.Stream<TaskState, McpError.McpError>
  /**
   * Waits for the result, and answers with the client's handlers what the server asks meanwhile. An interruption, or
   * the end of its deadline, cancels the task on the server. The result is held against the definition that the call
   * went out under; a task that another client has started has none here.
   */
  readonly await: (options?: RequestOptions) => Effect.Effect<CheckedResult, McpError.McpError>
  /** Answers what the server asks; each key once (the extension only). */
  readonly answer: (responses: InputRequired.InputResponses) => Effect.Effect<void, McpError.McpError>
  /** Asks the server to cancel the task. It may end otherwise all the same. */
  readonly cancel: Effect.Effect<void, McpError.McpError>
  /** What names the task in another process; see `client.task`. */
  readonly serialized: SerializedTask & Json.JsonObject
}
