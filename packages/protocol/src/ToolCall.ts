/**
 * A tool at work: its call and its result (2026-07-28 server/tools, Calling Tools).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ContentBlock } from "./Content.ts"
import { TaskMetadata } from "./CoreTask.ts"
import { inputResponseFields } from "./InputRequired.ts"
import * as Wire from "./internal/Wire.ts"

/**
 * Schema of `CallToolRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CallToolRequestParams = Schema.Struct({
  _meta: Wire.meta,
  name: Schema.String,
  arguments: Schema.optional(Wire.object),
  ...inputResponseFields,
  /** Asks for a task. 2025-11-25 only. */
  task: Schema.optional(TaskMetadata)
})

/**
 * Params of `tools/call`.
 *
 * @category models
 * @since 0.1.0
 */
export type CallToolRequestParams = typeof CallToolRequestParams.Type

/**
 * Schema of `CallToolResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CallToolResult = Schema.Struct({
  ...Wire.resultFields,
  content: Schema.Array(ContentBlock),
  /** What the tool gives to programs: an object since 2025-06-18, any JSON value since 2026-07-28. */
  structuredContent: Schema.optional(Schema.Unknown),
  /** The tool failed, and `content` says why. @default false */
  isError: Schema.optional(Schema.Boolean)
})

/**
 * What a tool gave.
 *
 * @category models
 * @since 0.1.0
 */
export type CallToolResult = typeof CallToolResult.Type
