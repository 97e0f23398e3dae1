/**
 * Goes on with a request whose server had asked for input (2026-07-28 basic/patterns/mrtr).
 */
import { Json, McpError, type Prompt, type Resource, type ToolCall } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type { RequestOptions } from "../ClientOptions.ts"
import type { Calls, Invocation } from "./Calls.ts"
import * as Read from "./Read.ts"

type Resumed = ToolCall.CallToolResult | Prompt.GetPromptResult | Resource.ReadResourceResult

interface Resumable {
  readonly decode: Invocation<Resumed>["decode"]
  /** The parameter that names what is asked for. */
  readonly names: string
}

const resumable: ReadonlyMap<string, Resumable> = new Map<string, Resumable>([
  ["tools/call", { decode: Read.callToolResult, names: "name" }],
  ["prompts/get", { decode: Read.getPromptResult, names: "name" }],
  ["resources/read", { decode: Read.readResourceResult, names: "uri" }]
])

export const resume = (
  calls: Calls,
  server: string,
  required: McpError.InputRequired,
  options: RequestOptions | undefined
): Effect.Effect<Resumed, McpError.McpError> => {
  const method = required.requestMethod
  const found = resumable.get(method)
  const params = required.requestParams
  if (found === undefined || required.requestState === undefined || !Json.isJsonObject(params)) {
    return Effect.fail(McpError.make(
      new McpError.InvalidRequest({ problem: "the request cannot be resumed: its server gave no state to go on from" }),
      "unsent",
      { server, method }
    ))
  }
  const name = params[found.names]
  return calls.run({
    method,
    params,
    name: typeof name === "string" ? name : undefined,
    requestState: required.requestState,
    decode: found.decode
  }, options)
}
