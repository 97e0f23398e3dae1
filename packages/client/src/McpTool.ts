/**
 * Tools whose arguments and result have types.
 *
 * **Example** (Calling a typed tool)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { McpClient, McpTool } from "@mcp-effect/client"
 *
 * const Add = McpTool.make("add", {
 *   parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
 *   success: Schema.Struct({ sum: Schema.Finite })
 * })
 *
 * const program = Effect.gen(function*() {
 *   const client = yield* McpClient.McpClient
 *   const { sum } = yield* client.call(Add, { a: 1, b: 2 })
 *   return sum
 * })
 * ```
 *
 * @since 0.1.0
 */
import { Decode, Json, McpError, type ToolCall } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/**
 * A tool by its name, with the schema of its arguments and of what it answers.
 *
 * @category models
 * @since 0.1.0
 */
export interface McpTool<out Name extends string, in out Parameters, in out Success> {
  readonly name: Name
  readonly parameters: Schema.Codec<Parameters, unknown>
  readonly success: Schema.Codec<Success, unknown>
}

/**
 * Describes a tool.
 *
 * **Details**
 *
 * Arguments are encoded with `parameters` before they are sent. The answer is read from `structuredContent`; a server
 * without it may answer with one text block that holds JSON, or with the text itself.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Name extends string, P, PI, S, SI>(
  name: Name,
  schemas: { readonly parameters: Schema.Codec<P, PI>; readonly success: Schema.Codec<S, SI> }
): McpTool<Name, P, S> => ({ name, parameters: schemas.parameters, success: schemas.success })

/**
 * Checks and encodes the arguments of a call.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encode = <P, S>(
  tool: McpTool<string, P, S>,
  args: P
): Exit.Exit<Json.JsonObject, McpError.InvalidRequest> => {
  const encoded = Schema.encodeUnknownExit(tool.parameters)(args)
  if (Exit.isSuccess(encoded)) {
    return Json.isJsonObject(encoded.value)
      ? Exit.succeed(encoded.value)
      : Exit.fail(new McpError.InvalidRequest({ path: "", problem: "the arguments of a tool must be an object" }))
  }
  const error = Exit.findErrorOption(encoded)
  const issue = Option.isSome(error) ? Decode.fromSchemaIssue(error.value.issue) : { path: "", problem: "is not valid" }
  return Exit.fail(new McpError.InvalidRequest(issue))
}

const parsed = (text: string): Option.Option<unknown> => {
  try {
    return Option.some(JSON.parse(text))
  } catch {
    return Option.none()
  }
}

/** What a result may mean, the most telling first. */
const readings = (result: ToolCall.CallToolResult): ReadonlyArray<unknown> => {
  if (result.structuredContent !== undefined) return [result.structuredContent]
  const [only] = result.content
  if (result.content.length !== 1 || only === undefined || only.type !== "text") return []
  const text: unknown = Reflect.get(only, "text")
  return typeof text === "string" ? [...Option.toArray(parsed(text)), text] : []
}

/**
 * Reads the value that a call gave. Fails with `ToolFailed` where the tool reports a failure, and with `OutputInvalid`
 * where its answer does not fit `success`; both carry the whole result.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decode = <P, S>(
  tool: McpTool<string, P, S>,
  result: ToolCall.CallToolResult
): Exit.Exit<S, McpError.ToolFailed | McpError.OutputInvalid> => {
  const { name } = tool
  if (result.isError === true) return Exit.fail(new McpError.ToolFailed({ name, result }))
  const decodeSuccess = Schema.decodeUnknownExit(tool.success)
  let issue = { path: "", problem: "is missing: the tool answered nothing that could be read as one value" }
  for (const reading of readings(result)) {
    const decoded = decodeSuccess(reading)
    if (Exit.isSuccess(decoded)) return Exit.succeed(decoded.value)
    const error = Exit.findErrorOption(decoded)
    if (Option.isSome(error)) issue = Decode.fromSchemaIssue(error.value.issue)
  }
  return Exit.fail(new McpError.OutputInvalid({ name, issues: [issue], result }))
}
