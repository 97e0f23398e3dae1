/**
 * Who a piece of content is meant for and how much it matters (2026-07-28 server/resources, Annotations).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"

/**
 * Schema of `Role`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Role = Schema.Literals(["user", "assistant"])

/**
 * The two sides of a conversation.
 *
 * @category models
 * @since 0.1.0
 */
export type Role = typeof Role.Type

/**
 * Schema of `Annotations`. They are hints, so their values are not judged: a role or a priority out of range does not
 * spoil the content it stands on.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Annotations = Schema.Struct({
  /** Whom it is for. */
  audience: Schema.optional(Schema.Array(Wire.openString<Role>())),
  /** From 0 (optional) to 1 (required). */
  priority: Schema.optional(Schema.Finite),
  /** When it was last modified, in ISO 8601. Since 2025-06-18. */
  lastModified: Schema.optional(Schema.String)
})

/**
 * Hints about a piece of content or a resource.
 *
 * @category models
 * @since 0.1.0
 */
export type Annotations = typeof Annotations.Type
