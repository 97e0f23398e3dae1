/**
 * What the two sides can do. Both sets are open: members that are not named here are kept.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"
import { type JsonObject, objectMember } from "./Json.ts"

const flag = Schema.optional(Schema.Boolean)
const presence = Schema.optional(Wire.object)

/**
 * Schema of `ClientCapabilities`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ClientCapabilities = Schema.Struct({
  /** `listChanged` exists up to 2025-11-25. */
  roots: Schema.optional(Schema.Struct({ listChanged: flag })),
  /** `context` and `tools` exist since 2025-11-25. */
  sampling: Schema.optional(Schema.Struct({ context: presence, tools: presence })),
  /** Since 2025-06-18. `form` and `url` exist since 2025-11-25; an empty object means `form`. */
  elicitation: Schema.optional(Schema.Struct({ form: presence, url: presence })),
  /** 2025-11-25 only. */
  tasks: Schema.optional(Schema.Struct({ list: presence, cancel: presence, requests: presence })),
  /** By extension id: its settings, `{}` for none. Since 2026-07-28. */
  extensions: presence,
  experimental: presence
})

/**
 * What a client can do.
 *
 * @category models
 * @since 0.1.0
 */
export type ClientCapabilities = typeof ClientCapabilities.Type

/**
 * Schema of `ServerCapabilities`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ServerCapabilities = Schema.Struct({
  tools: Schema.optional(Schema.Struct({ listChanged: flag })),
  prompts: Schema.optional(Schema.Struct({ listChanged: flag })),
  resources: Schema.optional(Schema.Struct({ subscribe: flag, listChanged: flag })),
  logging: presence,
  /** Declared since 2025-03-26. */
  completions: presence,
  /** 2025-11-25 only. */
  tasks: Schema.optional(
    Schema.Struct({
      list: presence,
      cancel: presence,
      requests: Schema.optional(Schema.Struct({ tools: Schema.optional(Schema.Struct({ call: presence })) }))
    })
  ),
  /** By extension id: its settings, `{}` for none. Since 2026-07-28. */
  extensions: presence,
  experimental: presence
})

/**
 * What a server can do.
 *
 * @category models
 * @since 0.1.0
 */
export type ServerCapabilities = typeof ServerCapabilities.Type

/**
 * The settings of an extension that the peer declares; `undefined` when it does not declare it as it should.
 *
 * @category accessors
 * @since 0.1.0
 */
export const extension = (
  capabilities: ClientCapabilities | ServerCapabilities,
  extensionId: string
): JsonObject | undefined => objectMember(capabilities.extensions, extensionId)
