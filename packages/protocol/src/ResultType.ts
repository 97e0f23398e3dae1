/**
 * Which kind of result an answer is (2026-07-28 basic/index, Messages).
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Decode from "./Decode.ts"
import type { JsonObject } from "./Json.ts"
import type * as Revision from "./Revision.ts"

/**
 * What was asked for, a request for input in its place, or a task that brings it later.
 *
 * @category models
 * @since 0.1.0
 */
export type ResultType = "complete" | "input_required" | "task"

// "Servers MUST NOT use it elsewhere" (basic/patterns/mrtr).
const mayRequireInput: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"])

/**
 * Reads the kind of a result. Refused is one that the client does not know, or that the answer to `method` cannot be:
 * "clients MUST consider any `resultType` value it does not recognize invalid". An absent one means complete, and a
 * legacy revision knows no other.
 *
 * `tasks` tells whether the client declared the extension `io.modelcontextprotocol/tasks`.
 *
 * @category decoding
 * @since 0.1.0
 */
export const read = (
  result: JsonObject,
  context: { readonly revision: Revision.Facts; readonly method: string; readonly tasks: boolean }
): Exit.Exit<ResultType, Decode.DecodeIssue> => {
  const { method, revision, tasks } = context
  const resultType = Object.hasOwn(result, "resultType") ? result["resultType"] : undefined
  switch (resultType) {
    case undefined:
    case "complete":
      return Exit.succeed("complete")
    case "input_required":
      return revision.resultType && mayRequireInput.has(method)
        ? Exit.succeed(resultType)
        : Decode.refuse("/resultType", `is input_required, which the answer to ${method} cannot be`)
    case "task":
      if (revision.tasks === "extension" && tasks) {
        if (method === "tools/call") return Exit.succeed(resultType)
        // Two examples of the extension's own text write it here, where its schema says complete.
        if (method === "tasks/get") return Exit.succeed("complete")
      }
      return Decode.refuse("/resultType", `is task, which the answer to ${method} cannot be`)
    default:
      return Decode.refuse(
        "/resultType",
        typeof resultType === "string" ? "is of a kind that this client does not know" : "is not a string"
      )
  }
}
