/**
 * Images that stand for a thing in a user interface (2026-07-28 basic/index, Icons; since 2025-11-25).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"

/**
 * Schema of `Icon`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Icon = Schema.Struct({
  /** Where the image is. Not to be trusted: fetch only `https:` and `data:`, without credentials. */
  src: Schema.String,
  mimeType: Schema.optional(Schema.String),
  /** Sizes it is good for, such as `48x48` or `any`. */
  sizes: Schema.optional(Schema.Array(Schema.String)),
  /** The background it is drawn for. */
  theme: Schema.optional(Wire.openString<"light" | "dark">())
})

/**
 * One image, of one or several sizes.
 *
 * @category models
 * @since 0.1.0
 */
export type Icon = typeof Icon.Type
