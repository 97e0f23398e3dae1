/**
 * Checks what a server answers with. Checks are made once; the parsed JSON is kept as it is.
 */
import {
  Completion,
  Decode,
  type Envelope,
  Implementation,
  type Json,
  ListResult,
  Logging,
  type McpError,
  Progress,
  Prompt,
  Resource,
  Tool,
  ToolCall
} from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"

const check = <A>(validate: Decode.Validator<A>) => (value: unknown): Exit.Exit<A, McpError.McpErrorReason> =>
  Exit.mapError(validate(value), Decode.malformed)

const list = <A>(method: string, key: string, validate: Decode.Validator<A>) => (result: Json.JsonObject) =>
  Exit.mapError(ListResult.read(method, result, key, validate), Decode.malformed)

export const tools = list("tools/list", "tools", Decode.validator(Tool.Tool))
export const prompts = list("prompts/list", "prompts", Decode.validator(Prompt.Prompt))
export const resources = list("resources/list", "resources", Decode.validator(Resource.Resource))
export const resourceTemplates = list(
  "resources/templates/list",
  "resourceTemplates",
  Decode.validator(Resource.ResourceTemplate)
)

export const callToolResult = check(Decode.validator(ToolCall.CallToolResult))
export const getPromptResult = check(Decode.validator(Prompt.GetPromptResult))
export const readResourceResult = check(Decode.validator(Resource.ReadResourceResult))

const completeResult = Decode.validator(Completion.CompleteResult)

/** Servers that have nothing to say about an argument leave the member out. */
export const completion = (
  result: Json.JsonObject
): Exit.Exit<Completion.CompleteResult["completion"], McpError.McpErrorReason> => {
  if (result["completion"] === undefined) return Exit.succeed({ values: [] })
  return Exit.map(Exit.mapError(completeResult(result), Decode.malformed), ({ completion }) => completion)
}

const optional = <A>(validate: Decode.Validator<A>) => (value: unknown): A | undefined => {
  const checked = validate(value)
  return Exit.isSuccess(checked) ? checked.value : undefined
}

export const progress = optional(Decode.validator(Progress.ProgressNotificationParams))
export const implementation = optional(Decode.validator(Implementation.Implementation))

const logMessageParams = optional(Decode.validator(Logging.LoggingMessageNotificationParams))

/** The log message that a notification carries, if it carries one. */
export const logMessage = (
  notification: Envelope.Notification
): Logging.LoggingMessageNotificationParams | undefined =>
  notification.method === "notifications/message" ? logMessageParams(notification.params) : undefined
