/**
 * What json-schema-library's keywords find, in our words: its own repeat the value.
 */
import { Json } from "@mcp-effect/protocol"
import type { JsonError } from "json-schema-library"
import * as JsonPointer from "./JsonPointer.ts"

/** What is wrong, and where in the value, as a JSON pointer. */
export interface Problem {
  readonly pointer: string
  readonly problem: string
}

const words: Readonly<Record<string, (data: JsonError["data"]) => Problem>> = {
  "type-error": ({ expected, pointer, received }) => ({
    pointer,
    problem: `must be of type ${[expected].flat().join(" or ")}, not ${String(received)}`
  }),
  "required-property-error": ({ key, pointer }) => ({
    pointer: JsonPointer.child(pointer, String(key)),
    problem: "is required, but missing"
  }),
  "invalid-property-name-error": ({ pointer, property }) =>
    typeof property === "string"
      ? { pointer: JsonPointer.child(pointer, property), problem: "has a name that is not allowed" }
      : { pointer, problem: "must have no members" },
  "invalid-data-error": ({ pointer, schema }) => ({
    pointer,
    problem: Json.isJsonObject(schema) ? "has more items than are allowed" : "is not allowed"
  }),
  "minimum-error": ({ minimum, pointer }) => ({ pointer, problem: `must be at least ${String(minimum)}` }),
  "exclusive-minimum-error": ({ minimum, pointer }) => ({ pointer, problem: `must be more than ${String(minimum)}` }),
  "exclusive-maximum-error": ({ maximum, pointer }) => ({ pointer, problem: `must be less than ${String(maximum)}` }),
  "min-items-error": ({ minItems, pointer }) => ({ pointer, problem: `must have at least ${String(minItems)} items` }),
  "max-items-error": ({ maximum, pointer }) => ({ pointer, problem: `must have at most ${String(maximum)} items` }),
  "min-properties-error": ({ minProperties, pointer }) => ({
    pointer,
    problem: `must have at least ${String(minProperties)} members`
  }),
  "max-properties-error": ({ maxProperties, pointer }) => ({
    pointer,
    problem: `must have at most ${String(maxProperties)} members`
  })
}

/** Describes a problem by the library's code for it. */
export const of = (code: string, data: JsonError["data"]): Problem =>
  words[code]?.(data) ?? { pointer: data.pointer, problem: "does not fit its schema" }
