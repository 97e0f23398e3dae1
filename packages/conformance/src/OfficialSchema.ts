/**
 * The official JSON Schemas and examples of the protocol as an oracle for tests. They lie beside the repository and are
 * not part of it; where they are absent, `available` is `false` and nothing else may be called.
 */
import { Json, type Revision } from "@mcp-effect/protocol"
import type { AnySchemaObject, ErrorObject, ValidateFunction } from "ajv"
import { Ajv } from "ajv"
import addFormats from "ajv-formats"
import { Ajv2020 } from "ajv/dist/2020.js"
import { existsSync, readdirSync, readFileSync } from "node:fs"

const root = new URL("../../../../shared/spec/", import.meta.url)

/** Whether the official data is there. */
export const available: boolean = existsSync(new URL("schema/2026-07-28.json", root))

const extension = "ext-tasks"

/** What a schema file is named after: a revision, or the tasks extension. */
export type Source = Revision.Version | typeof extension

const readJson = (path: string): unknown => JSON.parse(readFileSync(new URL(path, root), "utf8"))

// ====================================================================================================================
// Schemas
// ====================================================================================================================

interface Loaded {
  readonly definitions: Json.JsonObject
  readonly compile: (name: string) => ValidateFunction
}

const isDraft07 = (source: Source): boolean =>
  source === "2024-11-05" || source === "2025-03-26" || source === "2025-06-18"

const object = (value: unknown): Json.JsonObject => {
  if (!Json.isJsonObject(value)) throw new TypeError("The official schema is not built as expected")
  return value
}

/**
 * The generator of the official schemas wrote `integer` for `number` in the values of forms, and left `null` and
 * fractions out of `JSONValue`; `schema.ts`, which is the source of truth, has them.
 */
const repaired = (definitions: Json.JsonObject): Json.JsonObject => {
  const asNumber = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value).replaceAll("\"integer\"", "\"number\""))
  const copy: Record<string, unknown> = { ...definitions }
  if (Object.hasOwn(copy, "ElicitResult")) copy["ElicitResult"] = asNumber(copy["ElicitResult"])
  if (Object.hasOwn(copy, "JSONValue")) copy["JSONValue"] = {}
  return copy
}

const load = (source: Source): Loaded => {
  const key = isDraft07(source) ? "definitions" : "$defs"
  const file = object(readJson(`schema/${source}.json`))
  const definitions = repaired(object(file[key]))
  const options = { strict: false, allErrors: true }
  const ajv = isDraft07(source) ? new Ajv(options) : new Ajv2020(options)
  addFormats.default(ajv)
  const { $id: _, ...rest } = file
  ajv.addSchema({ ...rest, [key]: definitions } satisfies AnySchemaObject, source)
  return {
    definitions,
    compile: (name) => {
      const validate = ajv.getSchema(`${source}#/${key}/${name}`)
      if (validate === undefined) throw new TypeError(`The schema of ${source} has no type ${name}`)
      return validate
    }
  }
}

const loaded = new Map<Source, Loaded>()

const schemaOf = (source: Source): Loaded => {
  const known = loaded.get(source) ?? load(source)
  loaded.set(source, known)
  return known
}

/** The type definitions of a revision, by name, without the faults of their generator. */
export const definitions = (source: Source): Json.JsonObject => schemaOf(source).definitions

const describe = ({ instancePath, message, params }: ErrorObject): string =>
  `${instancePath === "" ? "the value" : instancePath} ${message ?? ""} ${JSON.stringify(params)}`

/** What is wrong with a value of a type; nothing, if it is empty. */
export const validate = (source: Source, name: string, value: unknown): ReadonlyArray<string> => {
  const check = schemaOf(source).compile(name)
  return check(value) === true ? [] : (check.errors ?? []).map(describe)
}

// ====================================================================================================================
// Examples
// ====================================================================================================================

/** An official example of 2026-07-28. */
export interface Example {
  /** The name of its type. */
  readonly type: string
  readonly file: string
  readonly value: unknown
}

/** Every official example, by the folders it stands in. */
export const examples = (): ReadonlyArray<Example> =>
  readdirSync(new URL("examples/", root)).sort().flatMap((type) =>
    readdirSync(new URL(`examples/${type}/`, root)).sort().map((file) => ({
      type,
      file,
      value: readJson(`examples/${type}/${file}`)
    }))
  )

// ====================================================================================================================
// Outgoing messages
// ====================================================================================================================

const versions: ReadonlyArray<Revision.Version> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

/** The types of a union by the method that each names. */
const byMethod = (source: Source, names: ReadonlyArray<string>): ReadonlyMap<string, string> =>
  new Map(names.flatMap((name) => {
    const definition = object(definitions(source)[name])
    const branches = Array.isArray(definition["allOf"]) ? definition["allOf"].map(object) : [definition]
    return branches.flatMap((branch) => {
      const method = Json.objectMember(Json.objectMember(branch, "properties"), "method")?.["const"]
      return typeof method === "string" ? [[method, name] as const] : []
    })
  }))

/** The types of a union. One of a single type is written as that type itself. */
const members = (source: Source, union: string): ReadonlyArray<string> => {
  const references = object(definitions(source)[union])["anyOf"]
  return Array.isArray(references)
    ? references.map(object).flatMap(({ $ref }) =>
      typeof $ref === "string" ? [$ref.slice($ref.lastIndexOf("/") + 1)] : []
    )
    : [union]
}

const requestTypes = (version: Revision.Version) => byMethod(version, members(version, "ClientRequest"))
const notificationTypes = (version: Revision.Version) => byMethod(version, members(version, "ClientNotification"))
const extensionTypes = () => byMethod(extension, ["GetTaskRequest", "UpdateTaskRequest", "CancelTaskRequest"])

const validateRequest = (
  version: Revision.Version,
  method: string,
  message: Json.JsonObject
): ReadonlyArray<string> => {
  const problems = [...validate(version, "JSONRPCRequest", message)]
  const type = requestTypes(version).get(method)
  const modern = version === "2026-07-28"
  if (type !== undefined) problems.push(...validate(version, type, message))
  else if (modern && extensionTypes().has(method)) {
    problems.push(...validate(extension, extensionTypes().get(method) ?? "", message))
  } else if (versions.some((other) => requestTypes(other).has(method) || notificationTypes(other).has(method))) {
    problems.push(`${method} is no request of ${version}`)
  }
  // "A client MUST include … in every request" (basic/index), extensions not excepted.
  if (modern && type === undefined) problems.push(...validate(version, "RequestParams", message["params"]))
  return problems
}

const validateNotification = (version: Revision.Version, method: string, message: Json.JsonObject) => {
  const problems = [...validate(version, "JSONRPCNotification", message)]
  const type = notificationTypes(version).get(method)
  if (type !== undefined) problems.push(...validate(version, type, message))
  else if (versions.some((other) => requestTypes(other).has(method) || notificationTypes(other).has(method))) {
    problems.push(`${method} is no notification of ${version}`)
  }
  return problems
}

const answers: ReadonlyMap<string, string> = new Map([
  ["ping", "EmptyResult"],
  ["roots/list", "ListRootsResult"],
  ["sampling/createMessage", "CreateMessageResult"],
  ["elicitation/create", "ElicitResult"]
])

const validateReply = (version: Revision.Version, message: Json.JsonObject, answered: string | undefined) => {
  if (version === "2026-07-28") return ["A client of 2026-07-28 sends no responses"]
  const envelope = version === "2025-11-25"
    ? { result: "JSONRPCResultResponse", error: "JSONRPCErrorResponse" }
    : { result: "JSONRPCResponse", error: "JSONRPCError" }
  if (Object.hasOwn(message, "error")) {
    const code = Json.objectMember(message, "error")?.["code"]
    return [
      ...validate(version, envelope.error, message),
      ...(typeof code === "number" && code <= -32020 && code >= -32099 ? [`${code} is not for clients to send`] : [])
    ]
  }
  const type = answered === undefined ? "ClientResult" : answers.get(answered)
  return [
    ...validate(version, envelope.result, message),
    ...(type === undefined ? [] : validate(version, type, message["result"]))
  ]
}

/**
 * What is wrong with a message that a client sends under a revision; nothing, if it is empty. `answered` is the method
 * that a reply answers, which the reply itself does not tell.
 */
export const validateOutgoing = (
  version: Revision.Version,
  message: unknown,
  answered?: string
): ReadonlyArray<string> => {
  if (Array.isArray(message)) {
    return version === "2025-03-26" && message.length > 0
      ? message.flatMap((item) => validateOutgoing(version, item, answered))
      : [`${version} has no batches`]
  }
  if (!Json.isJsonObject(message)) return ["It is not an object"]
  const { method } = message
  if (method === undefined) return validateReply(version, message, answered)
  if (typeof method !== "string") return ["/method is not a string"]
  return Object.hasOwn(message, "id")
    ? validateRequest(version, method, message)
    : validateNotification(version, method, message)
}
