/**
 * As much of a tool's `inputSchema` as it takes to read arguments from a command line.
 */
import { Json } from "@mcp-effect/protocol"

export type JsonType = "string" | "number" | "integer" | "boolean" | "null" | "object" | "array"

/** One argument that a tool declares. */
export interface Parameter {
  readonly name: string
  readonly required: boolean
  /** The types its value may have; `undefined` where the schema does not say. */
  readonly types: ReadonlySet<JsonType> | undefined
}

/** The type of a JSON value. */
export const typeOf = (value: unknown): JsonType => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  switch (typeof value) {
    case "string":
      return "string"
    case "boolean":
      return "boolean"
    case "number":
      return Number.isInteger(value) ? "integer" : "number"
    default:
      return "object"
  }
}

const isType = (value: unknown): value is JsonType =>
  value === "string" || value === "number" || value === "integer" || value === "boolean" || value === "null"
  || value === "object" || value === "array"

// Longer chains of references and deeper nesting come from broken or hostile schemas.
const maxDepth = 16

const resolve = (root: Json.JsonObject, reference: string): unknown => {
  if (!reference.startsWith("#/")) return reference === "#" ? root : undefined
  let value: unknown = root
  for (const token of reference.slice(2).split("/")) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~")
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined
    value = Reflect.get(value, key)
  }
  return value
}

const union = (
  schemas: ReadonlyArray<unknown>,
  root: Json.JsonObject,
  depth: number
): ReadonlySet<JsonType> | undefined => {
  const types = new Set<JsonType>()
  for (const schema of schemas) {
    const alternatives = typesOf(schema, root, depth)
    if (alternatives === undefined) return undefined
    for (const type of alternatives) types.add(type)
  }
  return types
}

/** The types that a schema allows; `undefined` where it allows any, or where that cannot be told. */
const typesOf = (schema: unknown, root: Json.JsonObject, depth: number): ReadonlySet<JsonType> | undefined => {
  if (!Json.isJsonObject(schema) || depth > maxDepth) return undefined
  const { allOf, anyOf, oneOf, type } = schema
  if (isType(type)) return new Set([type])
  if (Array.isArray(type)) return new Set(type.filter(isType))
  if (Object.hasOwn(schema, "const")) return new Set([typeOf(schema["const"])])
  if (Array.isArray(schema["enum"])) return new Set(schema["enum"].map(typeOf))
  if (typeof schema["$ref"] === "string") return typesOf(resolve(root, schema["$ref"]), root, depth + 1)
  const alternatives = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined
  if (alternatives !== undefined) return union(alternatives, root, depth + 1)
  if (!Array.isArray(allOf)) return undefined
  for (const part of allOf) {
    const types = typesOf(part, root, depth + 1)
    if (types !== undefined) return types
  }
  return undefined
}

// What has a default may be left out: the server fills it in.
const hasDefault = (schema: unknown): boolean => Json.isJsonObject(schema) && Object.hasOwn(schema, "default")

/** The arguments that a schema declares, in its order. */
export const parameters = (inputSchema: Json.JsonObject): ReadonlyArray<Parameter> => {
  const properties = Json.objectMember(inputSchema, "properties") ?? {}
  const required = inputSchema["required"]
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name)
  return Object.keys(properties).map((name) => ({
    name,
    required: isRequired(name) && !hasDefault(properties[name]),
    types: typesOf(properties[name], inputSchema, 0)
  }))
}

/**
 * The types of an argument that the schema does not declare: what `additionalProperties` says, or `"forbidden"`.
 */
export const additional = (inputSchema: Json.JsonObject): ReadonlySet<JsonType> | "forbidden" | undefined =>
  inputSchema["additionalProperties"] === false
    ? "forbidden"
    : typesOf(inputSchema["additionalProperties"], inputSchema, 0)

/** A type or several, in words: `a number`, `a string or null`. */
export const describeTypes = (types: ReadonlySet<JsonType>): string => {
  const words = Array.from(types, (type) => {
    if (type === "null") return "null"
    return type === "integer" || type === "object" || type === "array" ? `an ${type}` : `a ${type}`
  })
  const last = words.pop() ?? "nothing"
  return words.length === 0 ? last : `${words.join(", ")} or ${last}`
}

/** How arguments are written on a command line: `message=<string>`, optional ones in brackets. */
export const synopsis = (inputSchema: Json.JsonObject): string =>
  parameters(inputSchema).map(({ name, required, types }) => {
    const shown = `${name}=<${types === undefined || types.size === 0 ? "any" : Array.from(types).join("|")}>`
    return required ? shown : `[${shown}]`
  }).join(" ")
