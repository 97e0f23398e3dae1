/**
 * The definition of a tool (2026-07-28 server/tools).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Icon } from "./Icon.ts"
import * as Wire from "./internal/Wire.ts"
import type { JsonObject } from "./Json.ts"

const flag = Schema.optional(Schema.Boolean)

/**
 * Schema of `ToolAnnotations`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolAnnotations = Schema.Struct({
  title: Schema.optional(Schema.String),
  /** The tool changes nothing. @default false */
  readOnlyHint: flag,
  /** Where the tool changes something, it may destroy. @default true */
  destructiveHint: flag,
  /** Where the tool changes something, calling it again with the same arguments changes nothing more. @default false */
  idempotentHint: flag,
  /** The tool deals with an open world, such as the web. @default true */
  openWorldHint: flag
})

/**
 * What a server says of how a tool behaves. Since 2025-03-26. Untrusted, unless the server is trusted.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolAnnotations = typeof ToolAnnotations.Type

/**
 * Schema of `ToolExecution`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolExecution = Schema.Struct({
  taskSupport: Schema.optional(Wire.openString<TaskSupport>())
})

/**
 * Whether a tool can be called as a task.
 *
 * @category models
 * @since 0.1.0
 */
export type TaskSupport = "forbidden" | "optional" | "required"

/**
 * How a tool is executed. 2025-11-25 only.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolExecution = typeof ToolExecution.Type

/**
 * Schema of `Tool`. The two JSON Schemas of a tool are kept as they came.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Tool = Schema.Struct({
  name: Schema.String,
  /** For people. Since 2025-06-18. */
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  /** The JSON Schema of the arguments. */
  inputSchema: Wire.object,
  /** The JSON Schema of `structuredContent`. Since 2025-06-18. */
  outputSchema: Schema.optional(Wire.object),
  annotations: Schema.optional(ToolAnnotations),
  execution: Schema.optional(ToolExecution),
  /** Since 2025-11-25. */
  icons: Schema.optional(Schema.Array(Icon)),
  /** Since 2025-06-18. */
  _meta: Wire.meta
})

/**
 * A tool as its server describes it.
 *
 * @category models
 * @since 0.1.0
 */
export type Tool = typeof Tool.Type

/**
 * The name to show to people: the tool's `title`, else that of its annotations, else its `name`.
 *
 * @category accessors
 * @since 0.1.0
 */
export const displayName = (tool: Tool): string => tool.title ?? tool.annotations?.title ?? tool.name

/**
 * What to expect of a tool.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolHints {
  readonly readOnly: boolean
  readonly destructive: boolean
  readonly idempotent: boolean
  readonly openWorld: boolean
}

/**
 * What to expect of a tool. A hint that its annotations leave out has the less safe value, so that a tool without
 * annotations may change and destroy things, repeatedly, anywhere (2026-07-28 schema, ToolAnnotations).
 *
 * `destructive` and `idempotent` mean something only where `readOnly` is `false`.
 *
 * @category accessors
 * @since 0.1.0
 */
export const hints = (tool: Tool): ToolHints => ({
  readOnly: tool.annotations?.readOnlyHint ?? false,
  destructive: tool.annotations?.destructiveHint ?? true,
  idempotent: tool.annotations?.idempotentHint ?? false,
  openWorld: tool.annotations?.openWorldHint ?? true
})

/**
 * The annotations `readOnly`, `destructive` and `requiresConfirmation`, which no revision defines and some servers write.
 * One that is not `true` counts as `false`.
 *
 * @category accessors
 * @since 0.1.0
 */
export const legacyHints = (tool: Tool): {
  readonly readOnly: boolean
  readonly destructive: boolean
  readonly requiresConfirmation: boolean
} => {
  const annotations: JsonObject = tool.annotations ?? {}
  return {
    readOnly: annotations["readOnly"] === true,
    destructive: annotations["destructive"] === true,
    requiresConfirmation: annotations["requiresConfirmation"] === true
  }
}

/**
 * Whether the tool can be called as a task (2025-11-25). Without a word of it, or with an unknown one, it cannot.
 *
 * @category accessors
 * @since 0.1.0
 */
export const taskSupport = (tool: Tool): TaskSupport => {
  const support = tool.execution?.taskSupport
  return support === "required" ? "required" : support === "optional" ? "optional" : "forbidden"
}

/**
 * Tells whether the tool may or has to be called as a task.
 *
 * @category accessors
 * @since 0.1.0
 */
export const supportsTask = (tool: Tool): boolean => taskSupport(tool) !== "forbidden"

/**
 * Tells whether the tool promises `structuredContent` of a certain shape.
 *
 * @category accessors
 * @since 0.1.0
 */
export const hasStructuredOutput = (tool: Tool): boolean => tool.outputSchema !== undefined
