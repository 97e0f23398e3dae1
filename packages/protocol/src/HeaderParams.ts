/**
 * Arguments of a tool that travel in headers as well (2026-07-28 streamable-http, Custom Headers from Tool Parameters):
 * which ones a tool's `inputSchema` asks for by `x-mcp-header`, whether it asks rightly, and what the headers hold.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as HeaderValue from "./HeaderValue.ts"
import { isJsonObject, type JsonObject } from "./Json.ts"
import * as PeerText from "./PeerText.ts"

/**
 * What the name of each such header begins with.
 *
 * @category models
 * @since 0.1.0
 */
export const headerPrefix = "Mcp-Param-"

/**
 * A valid annotation: the argument at `path` goes into the header `Mcp-Param-{name}`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Annotation {
  readonly name: string
  /** Names of properties, from the arguments inwards. */
  readonly path: ReadonlyArray<string>
  readonly type: "string" | "integer" | "boolean"
}

/**
 * What is wrong, in our words, and where: a JSON pointer into the schema or into the arguments, escaped and at most 200
 * characters.
 *
 * @category models
 * @since 0.1.0
 */
export interface Problem {
  readonly path: string
  readonly problem: string
}

const keyword = "x-mcp-header"

// 1*tchar (RFC 9110 section 5.6.2).
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

// Keywords of the dialects in use whose value is a schema, or an array of schemas, or, in the second set, an object
// whose members are. Whatever stands under another keyword (`default`, `enum`, ...) is data and annotates nothing.
const schemaKeywords: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "prefixItems",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties"
])
const schemaMapKeywords: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties"
])

// Bounds on what a server's schema can make us build: a path costs its depth, and the first problems tell enough.
const maximumDepth = 64
const maximumProblems = 20

interface Position {
  readonly schema: JsonObject
  readonly parent: Position | undefined
  /** From the parent to here, as keys. */
  readonly steps: ReadonlyArray<string>
  /** How many `properties` lie between the root and here; `undefined` where the way leads through anything else. */
  readonly depth: number | undefined
}

const pushChildren = (parent: Position, positions: Array<Position>): void => {
  for (const key of Object.keys(parent.schema)) {
    const value = parent.schema[key]
    if (schemaMapKeywords.has(key)) {
      if (!isJsonObject(value)) continue
      const depth = key === "properties" && parent.depth !== undefined ? parent.depth + 1 : undefined
      for (const name of Object.keys(value)) {
        const schema = value[name]
        if (isJsonObject(schema)) positions.push({ schema, parent, steps: [key, name], depth })
      }
    } else if (schemaKeywords.has(key)) {
      if (isJsonObject(value)) positions.push({ schema: value, parent, steps: [key], depth: undefined })
      if (!Array.isArray(value)) continue
      value.forEach((schema: unknown, index) => {
        if (isJsonObject(schema)) positions.push({ schema, parent, steps: [key, String(index)], depth: undefined })
      })
    }
  }
}

const stepsTo = (position: Position): ReadonlyArray<string> => {
  const reversed: Array<ReadonlyArray<string>> = []
  for (let at: Position | undefined = position; at !== undefined; at = at.parent) reversed.push(at.steps)
  return reversed.reverse().flat()
}

// RFC 6901.
const pointer = (keys: ReadonlyArray<string>): string =>
  PeerText.excerpt(keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""))

const typeOf = (schema: JsonObject): Annotation["type"] | undefined => {
  const type = schema["type"]
  // The specification is silent on lists of types. `null` beside the type only says that the header may be absent.
  const types: ReadonlyArray<unknown> = Array.isArray(type) ? type.filter((member) => member !== "null") : [type]
  const [only] = types
  return types.length === 1 && (only === "string" || only === "integer" || only === "boolean") ? only : undefined
}

const readAnnotation = (position: Position, taken: Set<string>): Annotation | string => {
  if (position.depth === undefined || position.depth === 0) {
    return `${keyword} may stand only on a property that is reached from the root through "properties" alone`
  }
  if (position.depth > maximumDepth) return `${keyword} stands more than ${maximumDepth} levels deep`
  const name = position.schema[keyword]
  if (typeof name !== "string" || !token.test(name)) {
    return `${keyword} must be the rest of a header name: letters, digits and !#$%&'*+-.^_\`|~, at least one`
  }
  const type = typeOf(position.schema)
  if (type === undefined) return `${keyword} may stand only on a property of type string, integer or boolean`
  const folded = name.toLowerCase()
  if (taken.has(folded)) return `${keyword} names the same header as another property; case makes no difference`
  taken.add(folded)
  // Every other step is `properties` itself.
  return { name, type, path: stepsTo(position).filter((_, index) => index % 2 === 1) }
}

const read = (inputSchema: unknown): {
  readonly annotations: ReadonlyArray<Annotation>
  readonly problems: ReadonlyArray<Problem>
} => {
  const annotations: Array<Annotation> = []
  const problems: Array<Problem> = []
  const taken = new Set<string>()
  const positions: Array<Position> = isJsonObject(inputSchema)
    ? [{ schema: inputSchema, parent: undefined, steps: [], depth: 0 }]
    : []
  for (const position of positions) {
    if (Object.hasOwn(position.schema, keyword)) {
      const annotation = readAnnotation(position, taken)
      if (typeof annotation !== "string") annotations.push(annotation)
      else if (problems.push({ path: pointer(stepsTo(position)), problem: annotation }) === maximumProblems) break
    }
    pushChildren(position, positions)
  }
  return { annotations, problems }
}

/**
 * Checks every `x-mcp-header` of a tool's `inputSchema`. A client on HTTP leaves out a tool with a problem; other
 * transports may ignore the annotations (2026-07-28 server/tools, x-mcp-header).
 *
 * An annotation must be a token of RFC 9110, unlike any other of the schema without regard to case, and stand on a
 * property of type string, integer or boolean (`null` may be added) that is reached from the root through `properties`
 * alone, at most 64 levels deep. At most the first 20 problems are told.
 *
 * @category validation
 * @since 0.1.0
 */
export const validateSchema = (inputSchema: unknown): ReadonlyArray<Problem> => read(inputSchema).problems

/**
 * The annotations of a tool's `inputSchema`; none when `validateSchema` has a problem with it.
 *
 * @category accessors
 * @since 0.1.0
 */
export const annotations = (inputSchema: unknown): ReadonlyArray<Annotation> => {
  const found = read(inputSchema)
  return found.problems.length === 0 ? found.annotations : []
}

const valueAt = (args: JsonObject | undefined, path: ReadonlyArray<string>): unknown => {
  let value: unknown = args
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

/**
 * Picks the annotated values out of the arguments of a call, by the rest of their headers' names. An argument that is
 * absent or `null` gives none.
 *
 * Fails on a value that no header can hold: one that is no string, integer or boolean, an integer beyond ±(2^53 − 1),
 * a string with a lone surrogate. Sent without it, the call would be refused.
 *
 * @category encoding
 * @since 0.1.0
 */
export const valuesFor = (
  annotations: ReadonlyArray<Annotation>,
  args: JsonObject | undefined
): Result.Result<ReadonlyArray<readonly [name: string, value: string | number | boolean]>, Problem> => {
  const values: Array<readonly [string, string | number | boolean]> = []
  for (const { name, path } of annotations) {
    const value = valueAt(args, path)
    if (value === undefined || value === null) continue
    const fail = (problem: string) => Result.fail({ path: pointer(path), problem })
    if (typeof value === "string") {
      if (/\p{Surrogate}/u.test(value)) return fail("a string that goes into a header must not hold a lone surrogate")
    } else if (typeof value === "number") {
      if (!Number.isSafeInteger(value)) {
        return fail("a number that goes into a header must be an integer within ±9007199254740991")
      }
    } else if (typeof value !== "boolean") {
      return fail("an argument that goes into a header must be a string, an integer or a boolean")
    }
    values.push([name, value])
  }
  return Result.succeed(values)
}

/**
 * Encodes one value as the value of a header: a string as `HeaderValue.encode` does, an integer in decimal digits, a
 * boolean as `true` or `false`.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encodeValue = (value: string | number | boolean): string => HeaderValue.encode(String(value))

/**
 * The `Mcp-Param-*` headers of a call, names and values, from the tool's `inputSchema` and the arguments. Fails with
 * the first problem that `validateSchema` or `valuesFor` finds.
 *
 * @category encoding
 * @since 0.1.0
 */
export const headersFor = (
  inputSchema: unknown,
  args: JsonObject | undefined
): Result.Result<ReadonlyArray<readonly [name: string, value: string]>, Problem> => {
  const { annotations, problems } = read(inputSchema)
  const [problem] = problems
  if (problem !== undefined) return Result.fail(problem)
  return Result.map(
    valuesFor(annotations, args),
    (values) => values.map(([name, value]) => [`${headerPrefix}${name}`, encodeValue(value)] as const)
  )
}
