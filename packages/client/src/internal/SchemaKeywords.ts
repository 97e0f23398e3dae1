/**
 * The keywords that each dialect of JSON Schema defines, and what their values must be, as its meta-schema has it. What
 * is not here is no keyword of the dialect, and nothing is made of it.
 */
import { Json } from "@mcp-effect/protocol"
import type { Dialect } from "./Dialect.ts"

/** Where the value of a keyword holds schemas. */
export type Place = "nowhere" | "schema" | "list" | "dictionary" | "schema or list" | "dependencies"

export interface Keyword {
  readonly place: Place
  /** What is wrong with the keyword's value, schemas within it not looked into. */
  readonly check: (value: unknown) => string | undefined
}

const must = (what: string, is: (value: unknown) => boolean) => (value: unknown): string | undefined =>
  is(value) ? undefined : `must be ${what}`

const isString = (value: unknown): value is string => typeof value === "string"
const isNumber = (value: unknown): value is number => typeof value === "number"
const isSchema = (value: unknown): boolean => typeof value === "boolean" || Json.isJsonObject(value)
const isSchemaList = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isSchema)
const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isString) && new Set(value).size === value.length

const isDictionaryOf = (is: (value: unknown) => boolean) => (value: unknown): boolean =>
  Json.isJsonObject(value) && Object.values(value).every(is)

const types: ReadonlySet<unknown> = new Set(["null", "boolean", "object", "array", "number", "integer", "string"])
const isTypes = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0 && value.every((type) => types.has(type)) && new Set(value).size === value.length
    : types.has(value)

const value = (check: Keyword["check"]): Keyword => ({ place: "nowhere", check })

const string = value(must("a string", isString))
const boolean = value(must("a boolean", (it) => typeof it === "boolean"))
const number = value(must("a number", isNumber))
const positive = value(must("a number greater than 0", (it) => isNumber(it) && it > 0))
const count = value(must("a whole number of at least 0", (it) => isNumber(it) && Number.isInteger(it) && it >= 0))
const array = value(must("an array", Array.isArray))
const anything = value(() => undefined)
const names = value(must("an array of different names", isNames))
const namesByName = value(must("an object of arrays of different names", isDictionaryOf(isNames)))
const anchor = (syntax: RegExp): Keyword =>
  value(must("a plain name: a letter, then letters, digits, '-', '_' and '.'", (it) => isString(it) && syntax.test(it)))

const schema: Keyword = { place: "schema", check: must("a schema: an object or a boolean", isSchema) }
const list: Keyword = { place: "list", check: must("an array of schemas with at least one", isSchemaList) }
const dictionary: Keyword = { place: "dictionary", check: must("an object of schemas", isDictionaryOf(isSchema)) }
const schemaOrList: Keyword = {
  place: "schema or list",
  check: must("a schema, or an array of schemas with at least one", (it) => isSchema(it) || isSchemaList(it))
}
const dependencies: Keyword = {
  place: "dependencies",
  check: must("an object of schemas and arrays of different names", isDictionaryOf((it) => isSchema(it) || isNames(it)))
}
// "MUST NOT contain a non-empty fragment" (2020-12 core 8.2.1).
const identifier = value(must("a URI without a fragment", (it) => isString(it) && /^[^#]*#?$/.test(it)))

const common: ReadonlyArray<readonly [string, Keyword]> = [
  ["$schema", string],
  ["$ref", string],
  ["$comment", string],
  ["definitions", dictionary],
  ["type", value(must("a type, or an array of different types", isTypes))],
  ["enum", array],
  ["const", anything],
  ["multipleOf", positive],
  ["maximum", number],
  ["exclusiveMaximum", number],
  ["minimum", number],
  ["exclusiveMinimum", number],
  ["maxLength", count],
  ["minLength", count],
  ["pattern", string],
  ["maxItems", count],
  ["minItems", count],
  ["uniqueItems", boolean],
  ["contains", schema],
  ["maxProperties", count],
  ["minProperties", count],
  ["required", names],
  ["properties", dictionary],
  ["patternProperties", dictionary],
  ["additionalProperties", schema],
  ["propertyNames", schema],
  ["if", schema],
  ["then", schema],
  ["else", schema],
  ["allOf", list],
  ["anyOf", list],
  ["oneOf", list],
  ["not", schema],
  ["format", string],
  ["contentEncoding", string],
  ["contentMediaType", string],
  ["title", string],
  ["description", string],
  ["default", anything],
  ["readOnly", boolean],
  ["writeOnly", boolean],
  ["examples", array]
]

const since2019: ReadonlyArray<readonly [string, Keyword]> = [
  ...common,
  ["$id", identifier],
  ["$vocabulary", value(must("an object of booleans", isDictionaryOf((it) => typeof it === "boolean")))],
  ["$defs", dictionary],
  ["maxContains", count],
  ["minContains", count],
  ["dependentRequired", namesByName],
  ["dependentSchemas", dictionary],
  ["unevaluatedItems", schema],
  ["unevaluatedProperties", schema],
  ["contentSchema", schema],
  ["deprecated", boolean]
]

const keywords: Record<Dialect, ReadonlyMap<string, Keyword>> = {
  "draft-07": new Map([
    ...common,
    ["$id", string],
    ["items", schemaOrList],
    ["additionalItems", schema],
    ["dependencies", dependencies]
  ]),
  "2019-09": new Map([
    ...since2019,
    ["$anchor", anchor(/^[A-Za-z][-A-Za-z0-9.:_]*$/)],
    ["$recursiveRef", string],
    ["$recursiveAnchor", boolean],
    ["items", schemaOrList],
    ["additionalItems", schema]
  ]),
  "2020-12": new Map([
    ...since2019,
    ["$anchor", anchor(/^[A-Za-z_][-A-Za-z0-9._]*$/)],
    ["$dynamicAnchor", anchor(/^[A-Za-z_][-A-Za-z0-9._]*$/)],
    ["$dynamicRef", string],
    ["prefixItems", list],
    ["items", schema]
  ])
}

/** The keywords of a dialect, by name. */
export const of = (dialect: Dialect): ReadonlyMap<string, Keyword> => keywords[dialect]
