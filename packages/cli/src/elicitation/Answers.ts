/**
 * The answers that the command line gives to forms: `--answer key=value`.
 */
import { Form } from "@mcp-effect/client"
import { PeerText } from "@mcp-effect/protocol"
import * as Result from "effect/Result"
import * as CallArguments from "../CallArguments.ts"
import * as InputSchema from "../InputSchema.ts"
import type { UsageError } from "../UsageError.ts"
import * as Field from "./Field.ts"

/** Answers by the name of their field, which have no type before a form asks for them. */
export type Answers = ReadonlyMap<string, CallArguments.Pair>

export const parse = (words: ReadonlyArray<string>): Result.Result<Answers, UsageError> =>
  CallArguments.pairs(words, "answer")

const isValue = (value: unknown): value is Field.Value =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"
  || (Array.isArray(value) && value.every((item) => typeof item === "string"))

/** The answers that a form asks for, by its types, and what is wrong with the others. */
export const forForm = (
  answers: Answers,
  schema: Form.Schema
): { readonly values: ReadonlyMap<string, Field.Value>; readonly problems: ReadonlyArray<string> } => {
  const types = new Map(InputSchema.parameters(schema).map((parameter) => [parameter.name, parameter.types]))
  const values = new Map<string, Field.Value>()
  const problems: Array<string> = []
  for (const field of Field.fields(schema)) {
    const pair = answers.get(field.name)
    if (pair === undefined) continue
    const converted = CallArguments.convert(pair, types.get(field.name), "answer")
    if (Result.isFailure(converted)) {
      problems.push(converted.failure.message)
      continue
    }
    const value = converted.success
    const problem = isValue(value)
      ? Form.fieldProblem(field.definition, value)
      : "must be a text, a number, true, false or a list of texts"
    if (problem === undefined && isValue(value)) values.set(field.name, value)
    else problems.push(`The answer ${PeerText.excerpt(field.name, 60)} ${problem}${offered(field)}`)
  }
  return { values, problems }
}

const offered = (field: Field.Field): string => {
  const choices = Field.choices(field)
  return choices === undefined || choices.length === 0
    ? ""
    : `: ${PeerText.excerpt(choices.map(({ value }) => value).join(", "))}`
}
