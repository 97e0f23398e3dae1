/**
 * A server asks the client's model (2026-07-28 client/sampling; deprecated there).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Role } from "./Annotations.ts"
import { SamplingMessageContentBlock } from "./Content.ts"
import * as Wire from "./internal/Wire.ts"
import { Tool } from "./Tool.ts"

const priority = Schema.optional(Schema.Finite)

// One block up to 2025-06-18; one block or several since.
const content = Wire.oneOrMany(SamplingMessageContentBlock)

/**
 * Schema of `SamplingMessage`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SamplingMessage = Schema.Struct({ _meta: Wire.meta, role: Role, content })

/**
 * One message of the conversation with the model.
 *
 * @category models
 * @since 0.1.0
 */
export type SamplingMessage = typeof SamplingMessage.Type

/**
 * Schema of `ModelHint`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModelHint = Schema.Struct({
  /** Part of the name of a model. */
  name: Schema.optional(Schema.String)
})

/**
 * A model that would do.
 *
 * @category models
 * @since 0.1.0
 */
export type ModelHint = typeof ModelHint.Type

/**
 * Schema of `ModelPreferences`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModelPreferences = Schema.Struct({
  /** The most wanted first. */
  hints: Schema.optional(Schema.Array(ModelHint)),
  /** From 0 to 1, as are the next two. */
  costPriority: priority,
  speedPriority: priority,
  intelligencePriority: priority
})

/**
 * Which model the server would like.
 *
 * @category models
 * @since 0.1.0
 */
export type ModelPreferences = typeof ModelPreferences.Type

/**
 * Schema of `ToolChoice`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolChoice = Schema.Struct({
  /** @default "auto" */
  mode: Schema.optional(Schema.Literals(["auto", "required", "none"]))
})

/**
 * Whether the model may or has to use tools. Since 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolChoice = typeof ToolChoice.Type

/**
 * Schema of `CreateMessageRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateMessageRequestParams = Schema.Struct({
  _meta: Wire.meta,
  messages: Schema.Array(SamplingMessage),
  maxTokens: Schema.Finite,
  modelPreferences: Schema.optional(ModelPreferences),
  systemPrompt: Schema.optional(Schema.String),
  /** Values other than `none` are deprecated. */
  includeContext: Schema.optional(Schema.Literals(["none", "thisServer", "allServers"])),
  temperature: Schema.optional(Schema.Finite),
  stopSequences: Schema.optional(Schema.Array(Schema.String)),
  metadata: Schema.optional(Wire.object),
  /** Since 2025-11-25; only for clients that declare `sampling.tools`. */
  tools: Schema.optional(Schema.Array(Tool)),
  /** Since 2025-11-25; only for clients that declare `sampling.tools`. */
  toolChoice: Schema.optional(ToolChoice)
})

/**
 * Params of `sampling/createMessage`.
 *
 * @category models
 * @since 0.1.0
 */
export type CreateMessageRequestParams = typeof CreateMessageRequestParams.Type

/**
 * Schema of `CreateMessageResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateMessageResult = Schema.Struct({
  _meta: Wire.meta,
  role: Role,
  content,
  /** The model that answered. */
  model: Schema.String,
  /** Why it stopped. */
  stopReason: Schema.optional(Wire.openString<"endTurn" | "stopSequence" | "maxTokens" | "toolUse">())
})

/**
 * What the model answered.
 *
 * @category models
 * @since 0.1.0
 */
export type CreateMessageResult = typeof CreateMessageResult.Type
