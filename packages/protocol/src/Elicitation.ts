/**
 * A server asks the user: for data by a form, or to visit a URL (2026-07-28 client/elicitation; since 2025-06-18).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Wire from "./internal/Wire.ts"
import { isJsonObject } from "./Json.ts"

// ====================================================================================================================
// Fields of a form
// ====================================================================================================================

const optionalString = Schema.optional(Schema.String)
const optionalNumber = Schema.optional(Schema.Finite)
const strings = Schema.Array(Schema.String)
const fieldFields = { title: optionalString, description: optionalString }

/**
 * Schema of `StringSchema`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const StringSchema = Schema.Struct({
  type: Schema.Literal("string"),
  ...fieldFields,
  minLength: optionalNumber,
  maxLength: optionalNumber,
  /** A regular expression. Named in the prose of 2025-11-25 alone. */
  pattern: optionalString,
  format: Schema.optional(Wire.openString<"email" | "uri" | "date" | "date-time">()),
  default: optionalString
})

/**
 * A field for text.
 *
 * @category models
 * @since 0.1.0
 */
export type StringSchema = typeof StringSchema.Type

/**
 * Schema of `NumberSchema`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const NumberSchema = Schema.Struct({
  type: Schema.Literals(["number", "integer"]),
  ...fieldFields,
  minimum: optionalNumber,
  maximum: optionalNumber,
  default: optionalNumber
})

/**
 * A field for a number.
 *
 * @category models
 * @since 0.1.0
 */
export type NumberSchema = typeof NumberSchema.Type

/**
 * Schema of `BooleanSchema`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const BooleanSchema = Schema.Struct({
  type: Schema.Literal("boolean"),
  ...fieldFields,
  default: Schema.optional(Schema.Boolean)
})

/**
 * A field for yes or no.
 *
 * @category models
 * @since 0.1.0
 */
export type BooleanSchema = typeof BooleanSchema.Type

/**
 * Schema of `UntitledSingleSelectEnumSchema`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UntitledSingleSelectEnumSchema = Schema.Struct({
  type: Schema.Literal("string"),
  ...fieldFields,
  enum: strings,
  default: optionalString
})

/**
 * A choice of one value.
 *
 * @category models
 * @since 0.1.0
 */
export type UntitledSingleSelectEnumSchema = typeof UntitledSingleSelectEnumSchema.Type

/**
 * Schema of `LegacyTitledEnumSchema`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LegacyTitledEnumSchema = Schema.Struct({
  ...UntitledSingleSelectEnumSchema.fields,
  /** What to show for each value, in the same order. */
  enumNames: Schema.optional(strings)
})

/**
 * A choice of one value, with what to show for each beside it. The only choice of 2025-06-18.
 *
 * @category models
 * @since 0.1.0
 */
export type LegacyTitledEnumSchema = typeof LegacyTitledEnumSchema.Type

const titledValues = Schema.Array(Schema.Struct({ const: Schema.String, title: Schema.String }))

/**
 * Schema of `TitledSingleSelectEnumSchema`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TitledSingleSelectEnumSchema = Schema.Struct({
  type: Schema.Literal("string"),
  ...fieldFields,
  oneOf: titledValues,
  default: optionalString
})

/**
 * A choice of one value, each with what to show for it. Since 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export type TitledSingleSelectEnumSchema = typeof TitledSingleSelectEnumSchema.Type

const multiSelectFields = {
  type: Schema.Literal("array"),
  ...fieldFields,
  minItems: optionalNumber,
  maxItems: optionalNumber,
  default: Schema.optional(strings)
}

/**
 * Schema of `UntitledMultiSelectEnumSchema`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UntitledMultiSelectEnumSchema = Schema.Struct({
  ...multiSelectFields,
  items: Schema.Struct({ type: Schema.Literal("string"), enum: strings })
})

/**
 * A choice of several values. Since 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export type UntitledMultiSelectEnumSchema = typeof UntitledMultiSelectEnumSchema.Type

/**
 * Schema of `TitledMultiSelectEnumSchema`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TitledMultiSelectEnumSchema = Schema.Struct({
  ...multiSelectFields,
  items: Schema.Struct({ anyOf: titledValues })
})

/**
 * A choice of several values, each with what to show for it. Since 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export type TitledMultiSelectEnumSchema = typeof TitledMultiSelectEnumSchema.Type

/**
 * One field of a form.
 *
 * @category models
 * @since 0.1.0
 */
export type PrimitiveSchemaDefinition =
  | StringSchema
  | NumberSchema
  | BooleanSchema
  | LegacyTitledEnumSchema
  | TitledSingleSelectEnumSchema
  | UntitledMultiSelectEnumSchema
  | TitledMultiSelectEnumSchema

const fieldOfString = Wire.select<PrimitiveSchemaDefinition>(["oneOf", "enum"], (field) =>
  Object.hasOwn(field, "oneOf")
    ? TitledSingleSelectEnumSchema
    : Object.hasOwn(field, "enum")
    ? LegacyTitledEnumSchema
    : StringSchema)

const fieldOfArray = Wire.select<PrimitiveSchemaDefinition>(["items"], (field) => {
  const items = field["items"]
  return isJsonObject(items) && Object.hasOwn(items, "anyOf")
    ? TitledMultiSelectEnumSchema
    : UntitledMultiSelectEnumSchema
})

/**
 * Schema of `PrimitiveSchemaDefinition`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PrimitiveSchemaDefinition: Schema.Codec<PrimitiveSchemaDefinition> = Wire.byMember<
  PrimitiveSchemaDefinition
>(
  "type",
  {
    string: fieldOfString,
    number: NumberSchema,
    integer: NumberSchema,
    boolean: BooleanSchema,
    array: fieldOfArray
  },
  "refuse"
)

// ====================================================================================================================
// Requests
// ====================================================================================================================

/**
 * Schema of `ElicitRequestFormParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ElicitRequestFormParams = Schema.Struct({
  _meta: Wire.meta,
  /** Absent means form. */
  mode: Schema.optional(Schema.Literal("form")),
  /** What to show to the user. */
  message: Schema.String,
  requestedSchema: Wire.open(
    Schema.Struct({
      type: Schema.Literal("object"),
      properties: Wire.dictionary(PrimitiveSchemaDefinition),
      required: Schema.optional(strings)
    })
  )
})

/**
 * Asks the user for data.
 *
 * @category models
 * @since 0.1.0
 */
export type ElicitRequestFormParams = typeof ElicitRequestFormParams.Type

/**
 * Schema of `ElicitRequestURLParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ElicitRequestURLParams = Schema.Struct({
  _meta: Wire.meta,
  mode: Schema.Literal("url"),
  /** What to show to the user. */
  message: Schema.String,
  url: Schema.String,
  /** 2025-11-25 only, where it names this elicitation to `notifications/elicitation/complete`. */
  elicitationId: optionalString
})

/**
 * Asks the user to visit a URL. Since 2025-11-25.
 *
 * @category models
 * @since 0.1.0
 */
export type ElicitRequestURLParams = typeof ElicitRequestURLParams.Type

/**
 * Params of `elicitation/create`: `mode === "url"` tells which.
 *
 * @category models
 * @since 0.1.0
 */
export type ElicitRequestParams = ElicitRequestFormParams | ElicitRequestURLParams

const withMode = Wire.byMember<ElicitRequestParams>(
  "mode",
  { form: ElicitRequestFormParams, url: ElicitRequestURLParams },
  "refuse"
)

/**
 * Schema of `ElicitRequestParams`. "Clients MUST treat requests without a mode as form" (client/elicitation).
 *
 * @category schemas
 * @since 0.1.0
 */
export const ElicitRequestParams: Schema.Codec<ElicitRequestParams> = Wire.select<ElicitRequestParams>(
  ["mode"],
  (params) => Object.hasOwn(params, "mode") ? withMode : ElicitRequestFormParams
)

// ====================================================================================================================
// Answers
// ====================================================================================================================

/**
 * A value of a form.
 *
 * @category models
 * @since 0.1.0
 */
export type ElicitValue = string | number | boolean | ReadonlyArray<string>

/**
 * Schema of `ElicitResult`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ElicitResult = Schema.Struct({
  _meta: Wire.meta,
  action: Schema.Literals(["accept", "decline", "cancel"]),
  /** The values of an accepted form. */
  content: Schema.optional(
    Wire.dictionary<ElicitValue>(Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, strings]))
  )
})

/**
 * What the user did. Accepting a URL means that it may be opened, not that the visit is over.
 *
 * @category models
 * @since 0.1.0
 */
export type ElicitResult = typeof ElicitResult.Type

/**
 * Schema of `ElicitationCompleteNotificationParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ElicitationCompleteNotificationParams = Schema.Struct({ _meta: Wire.meta, elicitationId: Schema.String })

/**
 * Params of `notifications/elicitation/complete`: the visit to a URL is over. 2025-11-25 only.
 *
 * @category models
 * @since 0.1.0
 */
export type ElicitationCompleteNotificationParams = typeof ElicitationCompleteNotificationParams.Type
