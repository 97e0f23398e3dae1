/**
 * The members of a JSON document of a peer, by name and with their type checked.
 */
import { Json } from "@mcp-effect/protocol"
import * as Result from "effect/Result"

type Checked<A> = Result.Result<A | undefined, string>

const member = (document: Json.JsonObject, name: string): unknown =>
  Object.hasOwn(document, name) ? document[name] : undefined

const typed =
  <A>(name: string, kind: string, is: (value: unknown) => value is A) => (document: Json.JsonObject): Checked<A> => {
    const value = member(document, name)
    return value === undefined || value === null
      ? Result.succeed(undefined)
      : is(value)
      ? Result.succeed(value)
      : Result.fail(`${name} is not ${kind}`)
  }

const isString = (value: unknown): value is string => typeof value === "string"

/** A member that is a string where it is present. */
export const string = (name: string) => typed(name, "a string", isString)

/** A member that is a finite number where it is present. */
export const number = (name: string) =>
  typed(name, "a number", (value): value is number => typeof value === "number" && Number.isFinite(value))

/** A member that is a boolean where it is present. */
export const boolean = (name: string) =>
  typed(name, "a boolean", (value): value is boolean => typeof value === "boolean")

/** A member that is an array of strings where it is present. */
export const strings = (name: string) =>
  typed(
    name,
    "an array of strings",
    (value): value is ReadonlyArray<string> => Array.isArray(value) && value.every(isString)
  )

/** Reads a JSON object, or says in our own words why the text is none. */
export const parse = (text: string): Result.Result<Json.JsonObject, string> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return Result.fail(`it is not JSON (${text.length} characters)`)
  }
  return Json.isJsonObject(value) ? Result.succeed(value) : Result.fail("it is not a JSON object")
}
