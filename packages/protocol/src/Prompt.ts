/**
 * Messages that a server has ready for a conversation (2026-07-28 server/prompts).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Role } from "./Annotations.ts"
import { ContentBlock } from "./Content.ts"
import { Icon } from "./Icon.ts"
import { inputResponseFields } from "./InputRequired.ts"
import * as Wire from "./internal/Wire.ts"

const optionalString = Schema.optional(Schema.String)

/**
 * Schema of `PromptArgument`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PromptArgument = Schema.Struct({
  name: Schema.String,
  /** For people. Since 2025-06-18. */
  title: optionalString,
  description: optionalString,
  /** @default false */
  required: Schema.optional(Schema.Boolean)
})

/**
 * An argument of a prompt: always a string.
 *
 * @category models
 * @since 0.1.0
 */
export type PromptArgument = typeof PromptArgument.Type

/**
 * Schema of `Prompt`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Prompt = Schema.Struct({
  name: Schema.String,
  /** For people. Since 2025-06-18. */
  title: optionalString,
  description: optionalString,
  arguments: Schema.optional(Schema.Array(PromptArgument)),
  /** Since 2025-11-25. */
  icons: Schema.optional(Schema.Array(Icon)),
  /** Since 2025-06-18. */
  _meta: Wire.meta
})

/**
 * A prompt as its server describes it.
 *
 * @category models
 * @since 0.1.0
 */
export type Prompt = typeof Prompt.Type

/**
 * Schema of `PromptMessage`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PromptMessage = Schema.Struct({ role: Role, content: ContentBlock })

/**
 * One message of a prompt.
 *
 * @category models
 * @since 0.1.0
 */
export type PromptMessage = typeof PromptMessage.Type

/**
 * Schema of `GetPromptRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GetPromptRequestParams = Schema.Struct({
  _meta: Wire.meta,
  name: Schema.String,
  arguments: Schema.optional(Wire.dictionary(Schema.String)),
  ...inputResponseFields
})

/**
 * Params of `prompts/get`.
 *
 * @category models
 * @since 0.1.0
 */
export type GetPromptRequestParams = typeof GetPromptRequestParams.Type

/**
 * Schema of `GetPromptResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GetPromptResult = Schema.Struct({
  ...Wire.resultFields,
  description: optionalString,
  messages: Schema.Array(PromptMessage)
})

/**
 * A prompt, filled in.
 *
 * @category models
 * @since 0.1.0
 */
export type GetPromptResult = typeof GetPromptResult.Type
