/**
 * Encodes requests, once each, by splicing: what is the same for every request of a session was serialized before.
 */
import { type Envelope, Json, Metadata } from "@mcp-effect/protocol"

// The protocol's own keys always win, in both eras; a host cannot set them (2026-07-28 basic/index, _meta).
const protocolKeys: ReadonlySet<string> = new Set(Metadata.protocolKeys)

/** The members of an object as JSON text without its braces. */
export const members = (object: Json.JsonObject): string => JSON.stringify(object).slice(1, -1)

/** The host's metadata of one request, later sources first in rank, without the keys that are the protocol's. */
export const mergeMetadata = (
  ...sources: ReadonlyArray<Json.JsonObject | undefined>
): Json.JsonObject | undefined => {
  const merged = new Map<string, unknown>()
  for (const source of sources) {
    if (source === undefined) continue
    for (const key of Object.keys(source)) {
      if (!protocolKeys.has(key)) merged.set(key, source[key])
    }
  }
  return merged.size === 0 ? undefined : Object.fromEntries(merged)
}

/** What the params of a request say, and their `_meta` apart. */
export const splitMetadata = (
  params: Json.JsonObject
): { readonly params: Json.JsonObject; readonly metadata: Json.JsonObject | undefined } => {
  if (!Object.hasOwn(params, "_meta")) return { params, metadata: undefined }
  const { _meta, ...rest } = params
  return { params: rest, metadata: Json.isJsonObject(_meta) ? _meta : undefined }
}

/**
 * One request as a line of JSON. `constant` holds the session's members of `_meta`; a progress token is always sent,
 * so that a server which reports progress keeps the request alive, whether or not anybody listens.
 *
 * Throws what `JSON.stringify` throws for params that are not JSON.
 */
export const encode = (
  id: Envelope.RequestId,
  method: string,
  constant: string,
  metadata: Json.JsonObject | undefined,
  params: Json.JsonObject | undefined
): string => {
  const idText = typeof id === "number" ? String(id) : JSON.stringify(id)
  let meta = constant
  if (metadata !== undefined) {
    const text = members(metadata)
    if (text !== "") meta = meta === "" ? text : `${meta},${text}`
  }
  if (metadata === undefined || !Object.hasOwn(metadata, "progressToken")) {
    meta = meta === "" ? `"progressToken":${idText}` : `${meta},"progressToken":${idText}`
  }
  const rest = params === undefined ? "}" : JSON.stringify(params).slice(1)
  return `{"jsonrpc":"2.0","id":${idText},"method":${JSON.stringify(method)},"params":{"_meta":{${meta}}`
    + (rest === "}" ? "}}" : `,${rest}}`)
}
