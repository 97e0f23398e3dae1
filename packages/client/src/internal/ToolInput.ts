/**
 * What can be said about a tool's arguments before they are sent, from its `inputSchema` alone.
 */
import { Json, McpError } from "@mcp-effect/protocol"
import * as Dialect from "./Dialect.ts"

// Longer chains and deeper nesting than these come from broken or hostile schemas.
const maxSubschemas = 100

const unescapePointer = (token: string): string | undefined => {
  try {
    return decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~")
  } catch {
    return undefined
  }
}

const resolve = (root: Json.JsonObject, reference: unknown): Json.JsonObject | undefined => {
  if (reference === "#") return root
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined
  let value: unknown = root
  for (const token of reference.slice(2).split("/")) {
    const key = unescapePointer(token)
    if (key === undefined || typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Json.JsonObject)[key]
  }
  return Json.isJsonObject(value) ? value : undefined
}

/** The schemas that every argument object must satisfy: the root, its chain of local `$ref`s, and `allOf` of these. */
const conjuncts = (root: Json.JsonObject): ReadonlyArray<Json.JsonObject> => {
  const found = new Set<Json.JsonObject>()
  const queue: Array<Json.JsonObject> = [root]
  for (let schema = queue.pop(); schema !== undefined && found.size < maxSubschemas; schema = queue.pop()) {
    if (found.has(schema)) continue
    found.add(schema)
    const target = resolve(root, schema["$ref"])
    if (target !== undefined) queue.push(target)
    const allOf = schema["allOf"]
    if (Array.isArray(allOf)) queue.push(...allOf.filter(Json.isJsonObject))
  }
  return [...found]
}

/** The required arguments that are not given, save those whose property declares a default, which the server fills in. */
export const missingArguments = (inputSchema: Json.JsonObject, args: Json.JsonObject): ReadonlyArray<string> => {
  const required = new Set<string>()
  const defaulted = new Set<string>()
  for (const schema of conjuncts(inputSchema)) {
    const names = schema["required"]
    if (Array.isArray(names)) { for (const name of names) if (typeof name === "string") required.add(name) }
    const properties = Json.objectMember(schema, "properties")
    if (properties === undefined) continue
    for (const name of Object.keys(properties)) {
      const property = properties[name]
      if (Json.isJsonObject(property) && Object.hasOwn(property, "default")) defaulted.add(name)
    }
  }
  return [...required].filter((name) =>
    !defaulted.has(name) && (!Object.hasOwn(args, name) || args[name] === undefined)
  )
}

/** Whether the arguments of a tool may have a member of this name. */
export const declaresProperty = (inputSchema: Json.JsonObject, name: string): boolean =>
  conjuncts(inputSchema).some((schema) => {
    const properties = Json.objectMember(schema, "properties")
    return properties !== undefined && Object.hasOwn(properties, name)
  })

/** Why arguments cannot be checked by a schema, if they cannot; the server decides about them then. */
export const unusable = (inputSchema: Json.JsonObject): string | undefined => {
  if (Object.hasOwn(inputSchema, "$schema") && !Dialect.isUri(inputSchema["$schema"])) {
    return "its $schema is not the URI of a dialect"
  }
  const dangling = conjuncts(inputSchema).some((schema) =>
    Object.hasOwn(schema, "$ref") && resolve(inputSchema, schema["$ref"]) === undefined
  )
  return dangling ? "a $ref leads nowhere within the schema, and none is followed out of it" : undefined
}

/** Why a call must not be sent, if it must not. */
export const problem = (
  tool: { readonly name: string; readonly inputSchema: Json.JsonObject },
  args: Json.JsonObject
): McpError.McpErrorReason | undefined => {
  const dialect = Dialect.unsupported(tool.inputSchema)
  if (dialect !== undefined) {
    return new McpError.SchemaUnsupported({
      tool: tool.name,
      which: "inputSchema",
      dialect,
      supported: Dialect.supported
    })
  }
  const missing = missingArguments(tool.inputSchema, args)
  return missing.length === 0 ? undefined : new McpError.InvalidRequest({
    path: `/${missing[0]}`,
    problem: `tool ${JSON.stringify(tool.name)} requires ${missing.map((name) => JSON.stringify(name)).join(", ")}`
  })
}
