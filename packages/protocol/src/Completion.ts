/**
 * Values that a server proposes for an argument (2026-07-28 server/utilities/completion).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"

/**
 * Schema of `PromptReference`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PromptReference = Schema.Struct({
  type: Schema.Literal("ref/prompt"),
  name: Schema.String,
  /** Since 2025-06-18. */
  title: Schema.optional(Schema.String)
})

/**
 * Names the prompt that the argument belongs to.
 *
 * @category models
 * @since 0.1.0
 */
export type PromptReference = typeof PromptReference.Type

/**
 * Schema of `ResourceTemplateReference`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceTemplateReference = Schema.Struct({ type: Schema.Literal("ref/resource"), uri: Schema.String })

/**
 * Names the resource or template that the argument belongs to. Up to 2025-03-26 it was called `ResourceReference`.
 *
 * @category models
 * @since 0.1.0
 */
export type ResourceTemplateReference = typeof ResourceTemplateReference.Type

/**
 * Schema of `CompleteRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompleteRequestParams = Schema.Struct({
  _meta: Wire.meta,
  ref: Wire.byMember<PromptReference | ResourceTemplateReference>(
    "type",
    { "ref/prompt": PromptReference, "ref/resource": ResourceTemplateReference },
    "refuse"
  ),
  /** The argument and what of its value is there already. */
  argument: Schema.Struct({ name: Schema.String, value: Schema.String }),
  /** Arguments that have their values. Since 2025-06-18. */
  context: Schema.optional(Schema.Struct({ arguments: Schema.optional(Wire.dictionary(Schema.String)) }))
})

/**
 * Params of `completion/complete`.
 *
 * @category models
 * @since 0.1.0
 */
export type CompleteRequestParams = typeof CompleteRequestParams.Type

/**
 * Schema of `CompleteResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CompleteResult = Schema.Struct({
  ...Wire.resultFields,
  completion: Schema.Struct({
    /** At most 100, the best first. */
    values: Schema.Array(Schema.String),
    /** How many there are in all. */
    total: Schema.optional(Schema.Finite),
    hasMore: Schema.optional(Schema.Boolean)
  })
})

/**
 * The values that a server proposes.
 *
 * @category models
 * @since 0.1.0
 */
export type CompleteResult = typeof CompleteResult.Type
