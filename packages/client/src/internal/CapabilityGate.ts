/**
 * Which methods may only be sent to a server that declares a capability (2025-11-25 basic/lifecycle, Operation).
 */
import { McpError } from "@mcp-effect/protocol"
import type { Session } from "./Session.ts"

const required: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["logging/setLevel", ["logging"]],
  ["resources/subscribe", ["resources", "subscribe"]],
  ["resources/unsubscribe", ["resources", "subscribe"]],
  ["completion/complete", ["completions"]]
])

const requiredOfCoreTasks: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["tasks/list", ["tasks", "list"]],
  ["tasks/cancel", ["tasks", "cancel"]]
])

/** Why a method must not be sent, if it must not. Where nothing is known of a server's capabilities, it decides. */
export const missing = (session: Session, method: string): McpError.McpErrorReason | undefined => {
  // 2024-11-05 has completion without a capability for it.
  if (method === "completion/complete" && !session.revision.completionsCapability) return undefined
  const path = required.get(method)
    ?? (session.revision.tasks === "core" ? requiredOfCoreTasks.get(method) : undefined)
  return path === undefined || session.declares(path) !== false
    ? undefined
    : new McpError.CapabilityMissing({ capability: path.join(".") })
}
