/**
 * What a tool gave: shown, and turned into the outcome of the command.
 */
import type { ToolCall } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import { type Output, type OutputFailed, print } from "./Output.ts"
import * as Content from "./render/Content.ts"
import { ToolFailed } from "./ToolFailed.ts"

/** Fails where the result tells of an error of `subject`, as in `The tool echo`. */
export const outcome = (result: ToolCall.CallToolResult, subject: string): Effect.Effect<void, ToolFailed> =>
  result.isError === true ? Effect.fail(new ToolFailed({ subject })) : Effect.void

/** Writes the result, and gives its outcome. */
export const show = (
  result: ToolCall.CallToolResult,
  subject: string
): Effect.Effect<void, OutputFailed | ToolFailed, Output> =>
  Effect.andThen(print(result, (text) => Content.toolResult(result, text)), outcome(result, subject))
