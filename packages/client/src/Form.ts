/**
 * Forms that servers want filled in: what they begin with, and whether an answer fits (2026-07-28 client/elicitation,
 * Requested schema). The client checks what a handler answers; this is for handlers that tell the user before.
 *
 * @since 0.1.0
 */
import type { Elicitation } from "@mcp-effect/protocol"
import * as FormContent from "./internal/FormContent.ts"

/**
 * The fields of a form.
 *
 * @category models
 * @since 0.1.0
 */
export type Schema = Elicitation.ElicitRequestFormParams["requestedSchema"]

/**
 * What is filled in.
 *
 * @category models
 * @since 0.1.0
 */
export interface Content {
  readonly [field: string]: Elicitation.ElicitValue
}

/**
 * The defaults that a form names.
 *
 * @category accessors
 * @since 0.1.0
 */
export const defaults: (schema: Schema) => Content = FormContent.defaults

/**
 * What is wrong with the value of one field, as a phrase such as `must be at least 1`; `undefined` where it fits. A
 * `pattern` is held against once a client has asked its handler for a form that has one.
 *
 * @category guards
 * @since 0.1.0
 */
export const fieldProblem: (
  field: Elicitation.PrimitiveSchemaDefinition,
  value: Elicitation.ElicitValue
) => string | undefined = FormContent.fieldProblem

/**
 * What is wrong with an answer first, as the name of a field and why; `undefined` where it fits.
 *
 * @category guards
 * @since 0.1.0
 */
export const problem: (
  schema: Schema,
  content: Content
) => { readonly field: string; readonly problem: string } | undefined = FormContent.problem
