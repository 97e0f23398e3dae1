/**
 * Prompts: lists and retrieval (2026-07-28 server/prompts).
 */
import { type Diagnostic, Json, type Prompt } from "@mcp-effect/protocol"
import type { McpClient } from "../McpClient.ts"
import type { Calls } from "./Calls.ts"
import * as Lists from "./Lists.ts"
import * as Read from "./Read.ts"
import type { ResultCaching } from "./ResultCaching.ts"

export interface Prompts extends Pick<McpClient, "listPrompts" | "promptPages" | "getPrompt"> {
  readonly list: Lists.Listing<Prompt.Prompt>
}

export const make = (
  calls: Calls,
  caching: ResultCaching,
  onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
): Prompts => {
  const list = Lists.make({ method: "prompts/list", read: Read.prompts, calls, caching, onDiagnostic })
  return {
    list,
    listPrompts: list.all,
    promptPages: list.pages,
    getPrompt: (name, args, options) => {
      // Applications put a model's arguments through as they are. Arguments of a prompt are strings, so that an object
      // under this name is metadata.
      const lifts = Json.objectMember(args, "_meta") !== undefined
      const { _meta, ...rest } = args ?? {}
      return calls.run({
        method: "prompts/get",
        name,
        params: args === undefined ? { name } : lifts ? { name, arguments: rest, _meta } : { name, arguments: args },
        decode: Read.getPromptResult
      }, options)
    }
  }
}
