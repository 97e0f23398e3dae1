/**
 * One field of a form: how it is shown, and how what was typed is read.
 */
import { Form } from "@mcp-effect/client"
import { type Elicitation, PeerText } from "@mcp-effect/protocol"
import * as Result from "effect/Result"
import * as TerminalText from "../TerminalText.ts"

export type Value = Elicitation.ElicitValue

export interface Field {
  readonly name: string
  readonly definition: Elicitation.PrimitiveSchemaDefinition
  readonly required: boolean
}

export interface Choice {
  readonly value: string
  readonly title: string
}

/** The fields of a form, in its order. */
export const fields = (schema: Form.Schema): ReadonlyArray<Field> =>
  Object.entries(schema.properties).map(([name, definition]) => ({
    name,
    definition,
    required: schema.required?.includes(name) === true
  }))

/** The values that a field offers; `undefined` where anything may be written. */
export const choices = ({ definition }: Field): ReadonlyArray<Choice> | undefined => {
  const titled = ({ const: value, title }: { readonly const: string; readonly title: string }) => ({ value, title })
  const plain = (value: string) => ({ value, title: value })
  if ("oneOf" in definition) return definition.oneOf.map(titled)
  if ("enum" in definition) {
    return definition.enum.map((value, index) => ({ value, title: definition.enumNames?.[index] ?? value }))
  }
  if (definition.type !== "array") return undefined
  return "anyOf" in definition.items ? definition.items.anyOf.map(titled) : definition.items.enum.map(plain)
}

const maxTitle = 100

/** What a field is called. */
export const title = ({ definition, name }: Field): string =>
  PeerText.excerpt((definition.title ?? name).trim().replace(/\s+/g, " "), maxTitle)

const examples: ReadonlyMap<string, string> = new Map([
  ["email", "an e-mail address"],
  ["uri", "a URL with its scheme"],
  ["date", "a date such as 2024-12-31"],
  ["date-time", "a date and time such as 2024-12-31T23:59:59Z"]
])

const range = (from: number | undefined, to: number | undefined, unit = ""): string | undefined => {
  if (from === undefined && to === undefined) return undefined
  if (to === undefined) return `at least ${from}${unit}`
  return from === undefined ? `at most ${to}${unit}` : `${from} to ${to}${unit}`
}

const expected = ({ definition }: Field): ReadonlyArray<string | undefined> => {
  switch (definition.type) {
    case "boolean":
      return []
    case "number":
      return ["a number", range(definition.minimum, definition.maximum)]
    case "integer":
      return ["a whole number", range(definition.minimum, definition.maximum)]
    case "array":
      return [range(definition.minItems, definition.maxItems, " of them")]
    case "string":
      return "enum" in definition || "oneOf" in definition ? [] : [
        examples.get(definition.format ?? ""),
        range(definition.minLength, definition.maxLength, " characters")
      ]
  }
}

/** What stands before the answer: the title, and what is expected. */
export const label = (field: Field): string => {
  const notes = [...expected(field), field.required ? undefined : "optional"].filter((note) => note !== undefined)
  return notes.length === 0 ? title(field) : `${title(field)} (${notes.join(", ")})`
}

/** A value as people read it. */
export const show = (field: Field, value: Value): string => {
  if (typeof value === "boolean") return value ? "yes" : "no"
  const offered = new Map(choices(field)?.map((choice) => [choice.value, choice.title]))
  const words = Array.isArray(value) ? value : [value]
  return words.length === 0 ? "none" : words.map((word) => TerminalText.oneLine(offered.get(word) ?? String(word)))
    .join(", ")
}

/** Whether a text can be put on one line and edited there. */
export const isEditable = (text: string): boolean => PeerText.escape(text) === text

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/**
 * Reads what was typed into a field for text or a number; `undefined` leaves the field out, or to its default. `initial`
 * is what the field held before.
 */
export const read = (
  field: Field,
  text: string,
  initial: Value | undefined
): Result.Result<Value | undefined, string> => {
  const { definition, required } = field
  const isText = definition.type === "string"
  if (isText ? text === "" : text.trim() === "") {
    // It was not on the line, so nobody has erased it.
    if (typeof initial === "string" && !isEditable(initial)) return Result.succeed(initial)
    if (!isText && definition.default !== undefined) return Result.succeed(undefined)
    if (required) return Result.fail("is required")
    if (definition.default === undefined) return Result.succeed(undefined)
  }
  const value = isText ? text : decimal.test(text.trim()) ? Number(text) : text
  const problem = Form.fieldProblem(definition, value)
  return problem === undefined ? Result.succeed(value) : Result.fail(problem)
}
