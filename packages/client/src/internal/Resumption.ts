/**
 * Goes on with a request whose server had asked for input (2026-07-28 basic/patterns/mrtr).
 */
import { Json, McpError, type Prompt, type Resource, type ToolCall } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type { RequestOptions } from "../ClientOptions.ts"
import type { Calls, Invocation } from "./Calls.ts"
import * as Read from "./Read.ts"
import type { Tools } from "./Tools.ts"

type Resumed = ToolCall.CallToolResult | Prompt.GetPromptResult | Resource.ReadResourceResult

interface Resumable {
  readonly decode: Invocation<Resumed>["decode"]
  /** The parameter that names what is asked for. */
  readonly names: "name" | "uri"
}

const resumable: ReadonlyMap<string, Resumable> = new Map<string, Resumable>([
  ["prompts/get", { decode: Read.getPromptResult, names: "name" }],
  ["resources/read", { decode: Read.readResourceResult, names: "uri" }]
])

export const resume = (
  calls: Calls,
  tools: Tools,
  server: string,
  required: McpError.InputRequired,
  options: RequestOptions | undefined
): Effect.Effect<Resumed, McpError.McpError> => {
  const { requestMethod: method, requestParams: params, requestState } = required
  if (requestState !== undefined && Json.isJsonObject(params)) {
    const { arguments: args, name } = params
    if (method === "tools/call" && typeof name === "string") {
      return tools.resume(name, Json.isJsonObject(args) ? args : {}, requestState, options)
    }
    const found = resumable.get(method)
    const named = found === undefined ? undefined : params[found.names]
    if (found !== undefined && typeof named === "string") {
      return calls.run({
        method,
        params,
        name: named,
        uri: found.names === "uri" ? named : undefined,
        requestState,
        decode: found.decode
      }, options)
    }
  }
  return Effect.fail(McpError.make(
    new McpError.InvalidRequest({ problem: "the request cannot be resumed: its server gave no state to go on from" }),
    "unsent",
    { server, method }
  ))
}
