import * as Schema from "effect/Schema"
import { Annotations } from "../Annotations.ts"
import { Icon } from "../Icon.ts"
import * as Wire from "./Wire.ts"

/** What a resource, a link to one and a template of some have in common. */
export const describedFields = {
  /** For programs; for people where there is no `title`. */
  name: Schema.String,
  /** Since 2025-06-18. */
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  mimeType: Schema.optional(Schema.String),
  annotations: Schema.optional(Annotations),
  /** Since 2025-11-25. */
  icons: Schema.optional(Schema.Array(Icon)),
  /** Since 2025-06-18. */
  _meta: Wire.meta
}

/** What a resource and a link to one have in common. */
export const resourceFields = {
  ...describedFields,
  uri: Schema.String,
  /** In bytes, before any encoding. */
  size: Schema.optional(Schema.Finite)
}
