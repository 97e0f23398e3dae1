/**
 * One negotiated generation of a client: it dies with its connection and is never revived.
 */
import type { Implementation, Json, Revision } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import type * as Scope from "effect/Scope"
import type { Agreement } from "./Negotiation.ts"
import type { Requests } from "./Requests.ts"

export interface Session {
  readonly generation: number
  readonly revision: Revision.Facts
  /** Each request travels as an HTTP exchange of its own. */
  readonly http: boolean
  /** What was agreed on; what a modern server declares may change. */
  agreement: Agreement
  readonly requests: Requests
  readonly scope: Scope.Closeable
  /** Whether the server declares a capability, by its path; `undefined` where nothing is known about it. */
  readonly declares: (path: ReadonlyArray<string>) => boolean | undefined
  /** What the server last said about itself; modern servers say it with every result. */
  serverInfo: Implementation.Implementation | undefined
  /** What the newest answer was sent under; nothing after a refusal for lack of authorization. */
  evidence: Transport.Evidence | undefined
}

/** Looks up a capability by its path in what a server declared. */
export const declares = (
  capabilities: Json.JsonObject | undefined,
  path: ReadonlyArray<string>
): boolean | undefined => {
  if (capabilities === undefined) return undefined
  let value: unknown = capabilities
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false
    value = (value as Json.JsonObject)[key]
  }
  return value !== undefined && value !== null && value !== false
}
