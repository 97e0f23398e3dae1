/**
 * Forms: their defaults, and whether an answer fits them (2026-07-28 client/elicitation, Requested schema).
 */
import type { Elicitation, Json } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type * as FormPatterns from "./FormPatterns.ts"

type RequestedSchema = Elicitation.ElicitRequestFormParams["requestedSchema"]
type Content = { readonly [field: string]: Elicitation.ElicitValue }

const fields = (schema: RequestedSchema): ReadonlyArray<readonly [string, Elicitation.PrimitiveSchemaDefinition]> =>
  Object.entries(schema.properties)

/** The defaults that a form names. */
export const defaults = (schema: RequestedSchema): Content =>
  Object.fromEntries(
    fields(schema).flatMap(([name, field]) => field.default === undefined ? [] : [[name, field.default]])
  )

/** Whether a form has fields that hold several values. */
export const hasMultiSelect = (schema: RequestedSchema): boolean =>
  fields(schema).some(([, field]) => field.type === "array")

/** An answer with the defaults where it says nothing. */
export const withDefaults = (schema: RequestedSchema, content: Json.JsonObject): Json.JsonObject =>
  Object.fromEntries([
    ...Object.entries(defaults(schema)),
    ...Object.entries(content).filter(([, value]) => value !== undefined)
  ])

const formats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["email", (text) => /^[^\s@]+@[^\s@]+$/.test(text)],
  // RFC 3986: neither spaces nor letters beyond ASCII. What a browser would make of them is not what was written.
  ["uri", (text) => /^[A-Za-z][A-Za-z0-9+.-]*:[!-~]*$/.test(text) && URL.canParse(text)],
  ["date", (text) => isDate(text)],
  ["date-time", (text) => isDateTime(text)]
])

const isDate = (text: string): boolean => {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (match === null) return false
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
  const date = new Date(Date.UTC(year, month - 1, day))
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

// RFC 3339 section 5.6.
const isDateTime = (text: string): boolean => {
  const match = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-](\d{2}):(\d{2}))$/.exec(text)
  if (match === null || !isDate(match[1] ?? "")) return false
  const [hour, minute, second, offsetHour, offsetMinute] = match.slice(2).map((part) => Number(part ?? 0))
  return (hour ?? 0) < 24 && (minute ?? 0) < 60 && (second ?? 0) <= 60 && (offsetHour ?? 0) < 24
    && (offsetMinute ?? 0) < 60
}

// JSON Schema counts characters, not UTF-16 units.
const characters = (text: string): number => {
  let count = 0
  for (const _ of text) count += 1
  return count
}

const choices = (field: Elicitation.PrimitiveSchemaDefinition): ReadonlyArray<string> | undefined => {
  if ("oneOf" in field) return field.oneOf.map((choice) => choice.const)
  if ("enum" in field) return field.enum
  if (field.type !== "array") return undefined
  return "anyOf" in field.items ? field.items.anyOf.map((choice) => choice.const) : field.items.enum
}

// What holds texts against patterns is large and seldom needed.
let patternEngine: typeof FormPatterns | undefined

/** Has the patterns of a form checked from now on, if it has any. */
export const prepare = (schema: RequestedSchema): Effect.Effect<void> =>
  patternEngine !== undefined || !fields(schema).some(([, field]) => "pattern" in field)
    ? Effect.void
    : Effect.map(Effect.promise(() => import("./FormPatterns.ts")), (loaded) => {
      patternEngine = loaded
    })

const newPatterns = (): FormPatterns.FormPatterns | undefined =>
  patternEngine === undefined ? undefined : new patternEngine.FormPatterns()

/** What is wrong with the value of one field, if something is. */
export const fieldProblem = (
  field: Elicitation.PrimitiveSchemaDefinition,
  value: unknown
): string | undefined => fieldProblemWithin(field, value, newPatterns)

const fieldProblemWithin = (
  field: Elicitation.PrimitiveSchemaDefinition,
  value: unknown,
  patterns: () => FormPatterns.FormPatterns | undefined
): string | undefined => {
  const allowed = choices(field)
  switch (field.type) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false"
    case "number":
    case "integer": {
      if (typeof value !== "number" || !Number.isFinite(value)) return "must be a number"
      if (field.type === "integer" && !Number.isInteger(value)) return "must be a whole number"
      if (field.minimum !== undefined && value < field.minimum) return `must be at least ${field.minimum}`
      return field.maximum !== undefined && value > field.maximum ? `must be at most ${field.maximum}` : undefined
    }
    case "array": {
      if (!Array.isArray(value)) return "must be a list"
      if (field.minItems !== undefined && value.length < field.minItems) return `needs at least ${field.minItems} items`
      if (field.maxItems !== undefined && value.length > field.maxItems) return `takes at most ${field.maxItems} items`
      return value.every((item) => allowed?.includes(item)) ? undefined : "holds a value that is not offered"
    }
    case "string": {
      if (typeof value !== "string") return "must be a text"
      if (allowed !== undefined) return allowed.includes(value) ? undefined : "is not one of the values offered"
      const { format, maxLength, minLength, pattern } = field as Elicitation.StringSchema
      if (minLength !== undefined && characters(value) < minLength) return `needs at least ${minLength} characters`
      if (maxLength !== undefined && characters(value) > maxLength) return `takes at most ${maxLength} characters`
      const conforms = format === undefined ? undefined : formats.get(format)
      if (conforms !== undefined && !conforms(value)) return `is not a valid ${format}`
      return pattern === undefined ? undefined : patterns()?.problem(pattern, value)
    }
  }
}

/** What is wrong with an answer, as the name of a field and why, if something is. `multiSelect` allows lists. */
export const problem = (
  schema: RequestedSchema,
  content: Json.JsonObject,
  multiSelect = true
): { readonly field: string; readonly problem: string } | undefined => {
  for (const field of schema.required ?? []) {
    if (!Object.hasOwn(content, field)) return { field, problem: "is required" }
  }
  // Values that no field asks for are fine, as long as they are values of a form.
  for (const [field, value] of Object.entries(content)) {
    if (!multiSelect && Array.isArray(value)) return { field, problem: "must not be a list in this revision" }
  }
  let patterns: FormPatterns.FormPatterns | undefined
  const shared = (): FormPatterns.FormPatterns | undefined => patterns ??= newPatterns()
  for (const [name, field] of fields(schema)) {
    const value = Object.hasOwn(content, name) ? content[name] : undefined
    if (value === undefined) continue
    const found = fieldProblemWithin(field, value, shared)
    if (found !== undefined) return { field: name, problem: found }
  }
  return undefined
}
