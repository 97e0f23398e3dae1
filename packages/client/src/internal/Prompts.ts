/**
 * Prompts: lists and retrieval (2026-07-28 server/prompts).
 */
import type { Diagnostic } from "@mcp-effect/protocol"
import type { McpClient } from "../McpClient.ts"
import type { Calls } from "./Calls.ts"
import * as Lists from "./Lists.ts"
import * as Read from "./Read.ts"

export const make = (
  calls: Calls,
  onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
): Pick<McpClient, "listPrompts" | "promptPages" | "getPrompt"> => {
  const list = Lists.make({ method: "prompts/list", read: Read.prompts, calls, onDiagnostic })
  return {
    listPrompts: list.all,
    promptPages: list.pages,
    getPrompt: (name, args, options) =>
      calls.run({
        method: "prompts/get",
        name,
        params: args === undefined ? { name } : { name, arguments: args },
        decode: Read.getPromptResult
      }, options)
  }
}
