/**
 * What names a task on a command line.
 */
import { McpTask } from "@mcp-effect/client"
import * as Result from "effect/Result"
import * as CallArguments from "./CallArguments.ts"
import { UsageError } from "./UsageError.ts"

/** Declares the extension, without which modern servers answer no call with a task, and no question about one. */
export const extensions = { [McpTask.extension]: {} }

const hint = "give the id of a task, or the JSON that call --as-task --output json has printed"

/** Reads the id of a task, or its handle as JSON, which tells it from a later one with the same id. */
export const parse = (word: string): Result.Result<McpTask.SerializedTask, UsageError> => {
  if (!word.trimStart().startsWith("{")) {
    return word === ""
      ? Result.fail(new UsageError({ message: "The id of the task is empty", hint }))
      : Result.succeed({ taskId: word })
  }
  return Result.flatMap(CallArguments.fromJson(word, "The handle of the task"), (handle) => {
    const { createdAt, taskId, tool } = handle
    return typeof taskId === "string" && taskId !== ""
      ? Result.succeed({
        taskId,
        createdAt: typeof createdAt === "string" ? createdAt : undefined,
        tool: typeof tool === "string" ? tool : undefined
      })
      : Result.fail(new UsageError({ message: "The handle of the task has no taskId", hint }))
  })
}
