/**
 * What tools, prompts and resources give, and what models are asked: text, images, audio, resources and links to them.
 *
 * Content is told apart by its `type`. A type that this library does not know is kept as `UnknownContent`; one that it
 * knows has to be right.
 *
 * **Example** (Reading content)
 *
 * ```ts
 * import type { Content } from "@mcp-effect/protocol"
 *
 * const describe = (block: Content.ContentBlock): string => {
 *   switch (block.type) {
 *     case "text":
 *       return block.text
 *     case "resource_link":
 *       return `${block.name} at ${block.uri}`
 *     default:
 *       return `[${block.type}]`
 *   }
 * }
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Annotations } from "./Annotations.ts"
import { resourceFields } from "./internal/resourceFields.ts"
import * as Wire from "./internal/Wire.ts"
import type { JsonObject } from "./Json.ts"

// ====================================================================================================================
// Contents of resources
// ====================================================================================================================

const contentsFields = {
  uri: Schema.String,
  mimeType: Schema.optional(Schema.String),
  _meta: Wire.meta
}

/**
 * Schema of `TextResourceContents`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TextResourceContents = Schema.Struct({ ...contentsFields, text: Schema.String })

/**
 * What a resource of text holds.
 *
 * @category models
 * @since 0.1.0
 */
export type TextResourceContents = typeof TextResourceContents.Type

/**
 * Schema of `BlobResourceContents`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const BlobResourceContents = Schema.Struct({
  ...contentsFields,
  /** In base64. */
  blob: Schema.String
})

/**
 * What a binary resource holds.
 *
 * @category models
 * @since 0.1.0
 */
export type BlobResourceContents = typeof BlobResourceContents.Type

/**
 * What a resource holds: `"text" in contents` tells which.
 *
 * @category models
 * @since 0.1.0
 */
export type ResourceContents = TextResourceContents | BlobResourceContents

/**
 * Schema of `ResourceContents`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceContents: Schema.Codec<ResourceContents> = Wire.select<ResourceContents>(
  ["text", "blob"],
  (contents) =>
    Object.hasOwn(contents, "text")
      ? TextResourceContents
      : Object.hasOwn(contents, "blob")
      ? BlobResourceContents
      : { expected: "an object with text or blob" }
)

// ====================================================================================================================
// Blocks
// ====================================================================================================================

const blockFields = { annotations: Schema.optional(Annotations), _meta: Wire.meta }

/**
 * Schema of `TextContent`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TextContent = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, ...blockFields })

/**
 * Text.
 *
 * @category models
 * @since 0.1.0
 */
export type TextContent = typeof TextContent.Type

const mediaFields = {
  /** In base64. */
  data: Schema.String,
  mimeType: Schema.String,
  ...blockFields
}

/**
 * Schema of `ImageContent`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ImageContent = Schema.Struct({ type: Schema.Literal("image"), ...mediaFields })

/**
 * An image.
 *
 * @category models
 * @since 0.1.0
 */
export type ImageContent = typeof ImageContent.Type

/**
 * Schema of `AudioContent`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AudioContent = Schema.Struct({ type: Schema.Literal("audio"), ...mediaFields })

/**
 * Sound. Since 2025-03-26.
 *
 * @category models
 * @since 0.1.0
 */
export type AudioContent = typeof AudioContent.Type

/**
 * Schema of `ResourceLink`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceLink = Schema.Struct({ type: Schema.Literal("resource_link"), ...resourceFields })

/**
 * A resource that can be read, which need not be in the server's list. Since 2025-06-18.
 *
 * @category models
 * @since 0.1.0
 */
export type ResourceLink = typeof ResourceLink.Type

/**
 * Schema of `EmbeddedResource`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EmbeddedResource = Schema.Struct({
  type: Schema.Literal("resource"),
  resource: ResourceContents,
  ...blockFields
})

/**
 * A resource and what it holds.
 *
 * @category models
 * @since 0.1.0
 */
export type EmbeddedResource = typeof EmbeddedResource.Type

/**
 * A `type` that this library does not know. At run time it is any string; that it is written as a literal is what lets
 * `content.type === "text"` tell the known types apart.
 *
 * @category models
 * @since 0.1.0
 */
export type UnknownType = "unknown" & { readonly "~@mcp-effect/protocol/UnknownType": true }

/**
 * Content of a type that this library does not know, as it came.
 *
 * @category models
 * @since 0.1.0
 */
export interface UnknownContent extends JsonObject {
  readonly type: UnknownType
}

/**
 * What tools and prompts give.
 *
 * @category models
 * @since 0.1.0
 */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | UnknownContent

/**
 * Schema of `ContentBlock`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ContentBlock: Schema.Codec<ContentBlock> = Wire.byMember<ContentBlock>(
  "type",
  {
    text: TextContent,
    image: ImageContent,
    audio: AudioContent,
    resource_link: ResourceLink,
    resource: EmbeddedResource
  },
  "keep"
)

// ====================================================================================================================
// Blocks of sampling
// ====================================================================================================================

/**
 * Schema of `ToolUseContent`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolUseContent = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: Wire.object,
  _meta: Wire.meta
})

/**
 * A model wants a tool to be called. Since 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolUseContent = typeof ToolUseContent.Type

/**
 * Schema of `ToolResultContent`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolResultContent = Schema.Struct({
  type: Schema.Literal("tool_result"),
  /** The `id` of the tool use it answers. */
  toolUseId: Schema.String,
  content: Schema.Array(ContentBlock),
  structuredContent: Schema.optional(Schema.Unknown),
  isError: Schema.optional(Schema.Boolean),
  _meta: Wire.meta
})

/**
 * What a tool gave that a model wanted to be called. Since 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolResultContent = typeof ToolResultContent.Type

/**
 * What models are asked and what they answer.
 *
 * @category models
 * @since 0.1.0
 */
export type SamplingMessageContentBlock =
  | TextContent
  | ImageContent
  | AudioContent
  | ToolUseContent
  | ToolResultContent
  | UnknownContent

/**
 * Schema of `SamplingMessageContentBlock`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SamplingMessageContentBlock: Schema.Codec<SamplingMessageContentBlock> = Wire.byMember<
  SamplingMessageContentBlock
>(
  "type",
  {
    text: TextContent,
    image: ImageContent,
    audio: AudioContent,
    tool_use: ToolUseContent,
    tool_result: ToolResultContent
  },
  "keep"
)
