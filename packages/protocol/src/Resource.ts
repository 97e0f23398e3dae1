/**
 * Data that a server offers by URI (2026-07-28 server/resources).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ResourceContents } from "./Content.ts"
import { inputResponseFields } from "./InputRequired.ts"
import { describedFields, resourceFields } from "./internal/resourceFields.ts"
import * as Wire from "./internal/Wire.ts"

/**
 * Schema of `Resource`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Resource = Schema.Struct(resourceFields)

/**
 * A resource as its server describes it.
 *
 * @category models
 * @since 0.1.0
 */
export type Resource = typeof Resource.Type

/**
 * Schema of `ResourceTemplate`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceTemplate = Schema.Struct({
  ...describedFields,
  /** A URI template (RFC 6570). */
  uriTemplate: Schema.String
})

/**
 * Resources that have a URI of one pattern.
 *
 * @category models
 * @since 0.1.0
 */
export type ResourceTemplate = typeof ResourceTemplate.Type

/**
 * Schema of `ReadResourceRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReadResourceRequestParams = Schema.Struct({ _meta: Wire.meta, uri: Schema.String, ...inputResponseFields })

/**
 * Params of `resources/read`.
 *
 * @category models
 * @since 0.1.0
 */
export type ReadResourceRequestParams = typeof ReadResourceRequestParams.Type

/**
 * Schema of `ReadResourceResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReadResourceResult = Schema.Struct({
  ...Wire.resultFields,
  /** One URI can stand for several contents, such as the files of a directory. */
  contents: Schema.Array(ResourceContents)
})

/**
 * What a resource holds. How long it stays fresh is told by `Caching.read`.
 *
 * @category models
 * @since 0.1.0
 */
export type ReadResourceResult = typeof ReadResourceResult.Type

/**
 * Schema of `SubscribeRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SubscribeRequestParams = Schema.Struct({ _meta: Wire.meta, uri: Schema.String })

/**
 * Params of `resources/subscribe` and `resources/unsubscribe`, which exist up to 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export type SubscribeRequestParams = typeof SubscribeRequestParams.Type

/**
 * Schema of `ResourceUpdatedNotificationParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceUpdatedNotificationParams = Schema.Struct({
  _meta: Wire.meta,
  /** It may lie below the URI that was subscribed to. */
  uri: Schema.String
})

/**
 * Params of `notifications/resources/updated`.
 *
 * @category models
 * @since 0.1.0
 */
export type ResourceUpdatedNotificationParams = typeof ResourceUpdatedNotificationParams.Type
