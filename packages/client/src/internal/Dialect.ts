/**
 * The dialects of JSON Schema that this library reads (2026-07-28 basic/index, JSON Schema usage).
 */
import { type Json, PeerText } from "@mcp-effect/protocol"

export type Dialect = "2020-12" | "2019-09" | "draft-07"

const uris: ReadonlyArray<readonly [uri: string, dialect: Dialect]> = [
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2019-09/schema", "2019-09"],
  ["http://json-schema.org/draft-07/schema#", "draft-07"]
]

/** Their URIs, as `$schema` has them. */
export const supported: ReadonlyArray<string> = uris.map(([uri]) => uri)

// http or https, with or without an empty fragment, name the same dialect.
const canonical = (uri: string): string => uri.replace(/^https?:\/\//, "").replace(/#$/, "")

const byUri: ReadonlyMap<string, Dialect> = new Map(uris.map(([uri, dialect]) => [canonical(uri), dialect]))

/** The dialect of this URI, in any spelling of it. */
export const ofUri = (uri: string): Dialect | undefined => byUri.get(canonical(uri))

/** Whether a `$schema` names a dialect at all; what does not is a fault of the schema, not the default dialect. */
export const isUri = (value: unknown): value is string => typeof value === "string" && value !== ""

/** The dialect a schema declares, when it is one that this library does not read. None declared means 2020-12. */
export const unsupported = (schema: Json.JsonObject): string | undefined => {
  if (!Object.hasOwn(schema, "$schema")) return undefined
  const dialect = schema["$schema"]
  return isUri(dialect) && ofUri(dialect) === undefined ? PeerText.excerpt(dialect) : undefined
}
