/**
 * The places that a client lets a server work in (2026-07-28 client/roots; deprecated there).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"

/**
 * Schema of `Root`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Root = Schema.Struct({
  /** A `file://` URI. */
  uri: Schema.String,
  /** For people. */
  name: Schema.optional(Schema.String),
  /** Since 2025-06-18. */
  _meta: Wire.meta
})

/**
 * A directory or file that a server may work in.
 *
 * @category models
 * @since 0.1.0
 */
export type Root = typeof Root.Type

/**
 * Schema of `ListRootsResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListRootsResult = Schema.Struct({ _meta: Wire.meta, roots: Schema.Array(Root) })

/**
 * The answer to `roots/list`.
 *
 * @category models
 * @since 0.1.0
 */
export type ListRootsResult = typeof ListRootsResult.Type
