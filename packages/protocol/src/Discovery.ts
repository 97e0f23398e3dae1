/**
 * What client and server learn of one another first: `server/discover` (2026-07-28 server/discover), and `initialize` of
 * the revisions before it (2025-11-25 basic/lifecycle).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ClientCapabilities, ServerCapabilities } from "./Capabilities.ts"
import { Implementation } from "./Implementation.ts"
import * as Wire from "./internal/Wire.ts"

/**
 * Schema of `DiscoverResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DiscoverResult = Schema.Struct({
  ...Wire.resultFields,
  /** The modern revisions that the server speaks. */
  supportedVersions: Schema.Array(Schema.String),
  capabilities: ServerCapabilities,
  /** How to use the server, for models and people. */
  instructions: Schema.optional(Schema.String)
})

/**
 * The answer to `server/discover`. Who the server is is told by `Metadata.serverInfo`, how long the answer stays fresh
 * by `Caching.read`.
 *
 * @category models
 * @since 0.1.0
 */
export type DiscoverResult = typeof DiscoverResult.Type

/**
 * Schema of `InitializeRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InitializeRequestParams = Schema.Struct({
  _meta: Wire.meta,
  protocolVersion: Schema.String,
  capabilities: ClientCapabilities,
  clientInfo: Implementation
})

/**
 * Params of `initialize`.
 *
 * @category models
 * @since 0.1.0
 */
export type InitializeRequestParams = typeof InitializeRequestParams.Type

/**
 * Schema of `InitializeResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InitializeResult = Schema.Struct({
  ...Wire.resultFields,
  /** The revision that the server wants to speak. */
  protocolVersion: Schema.String,
  capabilities: ServerCapabilities,
  serverInfo: Implementation,
  /** How to use the server, for models and people. */
  instructions: Schema.optional(Schema.String)
})

/**
 * The answer to `initialize`.
 *
 * @category models
 * @since 0.1.0
 */
export type InitializeResult = typeof InitializeResult.Type
