/**
 * The rules of a sampling history (2026-07-28 client/sampling, Messages).
 */
import type { Sampling } from "@mcp-effect/protocol"

type Block = { readonly type: string }

const blocks = (message: Sampling.SamplingMessage): ReadonlyArray<Block> =>
  Array.isArray(message.content) ? message.content : [message.content as Block]

const ids = (found: ReadonlyArray<Block>, key: "id" | "toolUseId"): ReadonlyArray<string> =>
  found.flatMap((block) => {
    const id: unknown = Reflect.get(block, key)
    return typeof id === "string" ? [id] : []
  })

/** Whether each use has one result, in whatever order. */
const answers = (uses: ReadonlyArray<string>, results: ReadonlyArray<string>): boolean =>
  uses.length === results.length && new Set(results).size === results.length && results.every((id) => uses.includes(id))

/** What is wrong with a history, if something is. */
export const problem = (messages: ReadonlyArray<Sampling.SamplingMessage>): string | undefined => {
  let pending: ReadonlyArray<string> = []
  for (const message of messages) {
    const content = blocks(message)
    const uses = content.filter(({ type }) => type === "tool_use")
    const results = content.filter(({ type }) => type === "tool_result")
    if (message.role === "assistant") {
      if (results.length > 0) return "an assistant message must not hold tool results"
      if (pending.length > 0) return "tool uses must be answered by the next user message"
      pending = ids(uses, "id")
      if (pending.length !== uses.length || new Set(pending).size !== pending.length) {
        return "tool uses must have distinct ids"
      }
      continue
    }
    if (uses.length > 0) return "a user message must not hold tool uses"
    if (results.length > 0 && results.length !== content.length) {
      return "a user message with tool results must hold nothing else"
    }
    if (!answers(pending, ids(results, "toolUseId"))) return "tool results must answer the tool uses before them"
    pending = []
  }
  return pending.length === 0 ? undefined : "a history must not end with unanswered tool uses"
}
