/**
 * Finds the request that a skipped line answers, from the ends of the line that were kept.
 */
import { Envelope } from "@mcp-effect/protocol"
import type { SkippedLine } from "../Lines.ts"

const token = /\s*("(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+)/y

// The id as the last member of the message, but for `jsonrpc`. Inside a string the quotes would be escaped.
const idAtEnd = /,\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Members of the message itself that stand whole in `head`; the text of a value that is an object is its bracket. */
const membersOf = (head: string): ReadonlyMap<unknown, string> => {
  const members = new Map<unknown, string>()
  let depth = 0
  let key: string | undefined
  let pending: readonly [key: unknown, value: string] | undefined
  let before = ""
  token.lastIndex = 0
  for (let match = token.exec(head); match !== null; match = token.exec(head)) {
    const [, text = ""] = match
    // A value counts once something follows it: the last one may be cut.
    if (pending !== undefined) members.set(...pending)
    pending = undefined
    if (depth === 1 && (before === "{" || before === ",")) key = text
    if (depth === 1 && before === ":" && key !== undefined) pending = [parse(key), text]
    if (text === "{" || text === "[") depth++
    if (text === "}" || text === "]") depth--
    // A batch: its messages are not told apart.
    if (before === "" && text !== "{") break
    before = text
  }
  return members
}

/** The id of the request that the line answers; `undefined` when that cannot be told or it is no response. */
export const idOf = ({ head, tail }: SkippedLine): Envelope.RequestId | undefined => {
  const members = membersOf(head)
  if (members.has("method") || members.has("params")) return undefined
  const id = parse(members.get("id") ?? idAtEnd.exec(tail)?.[1] ?? "")
  return Envelope.isRequestId(id) ? id : undefined
}
