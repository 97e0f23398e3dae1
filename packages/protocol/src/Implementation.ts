/**
 * Who is talking: the identity of a client or of a server.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Icon } from "./Icon.ts"

/**
 * Schema of `Implementation`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Implementation = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  /** The name for people. Since 2025-06-18. */
  title: Schema.optional(Schema.String),
  /** Since 2025-11-25, as are the next two. */
  description: Schema.optional(Schema.String),
  websiteUrl: Schema.optional(Schema.String),
  icons: Schema.optional(Schema.Array(Icon))
})

/**
 * The identity of a client or of a server. It is what its owner says of itself: show it, but decide nothing by it
 * (2026-07-28 basic/index, `_meta`).
 *
 * @category models
 * @since 0.1.0
 */
export type Implementation = typeof Implementation.Type
