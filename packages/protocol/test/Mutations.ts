/**
 * Ways to spoil a valid value: every member that its official schema requires, at any depth, removed or of another type.
 */
import * as OfficialSchema from "@mcp-effect/conformance/OfficialSchema"
import { Json } from "@mcp-effect/protocol"

export interface Mutation {
  /** Where the member stands, as a JSON pointer with `*` for keys that are not the protocol's. */
  readonly path: string
  /** A member that is `null` counts as removed. */
  readonly kind: "removed" | "mistyped"
  readonly value: unknown
  /** What stands there instead. */
  readonly by: unknown
}

export type Keys = ReadonlyArray<string | number>

const members = (node: Json.JsonObject, key: string): Json.JsonObject => Json.objectMember(node, key) ?? {}

const list = (value: unknown): ReadonlyArray<Json.JsonObject> =>
  Array.isArray(value) ? value.filter(Json.isJsonObject) : []

const refName = (node: Json.JsonObject): string | undefined => {
  const ref = node["$ref"]
  return typeof ref === "string" ? ref.slice(ref.lastIndexOf("/") + 1) : undefined
}

export const jsonType = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value

/** The part of a union that a value belongs to. */
const branchOf = (
  source: OfficialSchema.Source,
  node: Json.JsonObject,
  value: unknown
): Json.JsonObject | undefined => {
  const name = refName(node)
  if (name !== undefined) {
    return OfficialSchema.validate(source, name, value).length === 0 ? node : undefined
  }
  const properties = members(node, "properties")
  const fits = Object.entries(properties).every(([key, property]) => {
    const constant = Json.isJsonObject(property) ? property["const"] : undefined
    return constant === undefined || !Json.isJsonObject(value) || value[key] === undefined || value[key] === constant
  })
  return node["type"] === jsonType(value) && fits ? node : undefined
}

/** All plain parts of a schema that apply to a value: references followed, unions decided. */
const partsOf = (
  source: OfficialSchema.Source,
  node: Json.JsonObject,
  value: unknown
): ReadonlyArray<Json.JsonObject> => {
  const name = refName(node)
  if (name !== undefined) return partsOf(source, members(OfficialSchema.definitions(source), name), value)
  const union = [...list(node["anyOf"]), ...list(node["oneOf"])]
  const chosen = union.map((branch) => branchOf(source, branch, value)).find((branch) => branch !== undefined)
  return [
    node,
    ...(chosen === undefined ? [] : partsOf(source, chosen, value)),
    ...list(node["allOf"]).flatMap((part) => partsOf(source, part, value))
  ]
}

interface Place {
  readonly keys: Keys
  readonly path: string
}

const requiredIn = (
  source: OfficialSchema.Source,
  node: Json.JsonObject,
  value: unknown,
  at: Place
): ReadonlyArray<Place> =>
  partsOf(source, node, value).flatMap((part) => {
    if (Array.isArray(value)) {
      const items = part["items"]
      return Json.isJsonObject(items)
        ? value.flatMap((item: unknown, index) =>
          requiredIn(source, items, item, { keys: [...at.keys, index], path: `${at.path}/${index}` })
        )
        : []
    }
    if (!Json.isJsonObject(value)) return []
    const properties = members(part, "properties")
    const additional = part["additionalProperties"]
    const required = Array.isArray(part["required"]) ? part["required"].filter((key) => typeof key === "string") : []
    const step = (key: string, shown: string): Place => ({ keys: [...at.keys, key], path: `${at.path}/${shown}` })
    const escaped = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1")
    return [
      ...required.filter((key) => Object.hasOwn(value, key)).map((key) => step(key, escaped(key))),
      ...Object.entries(value).flatMap(([key, member]) => {
        const property = properties[key]
        if (Json.isJsonObject(property)) return requiredIn(source, property, member, step(key, escaped(key)))
        return Json.isJsonObject(additional) ? requiredIn(source, additional, member, step(key, "*")) : []
      })
    ]
  })

const at = (value: unknown, keys: Keys): unknown =>
  keys.reduce<unknown>(
    (value, key) => typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined,
    value
  )

/** A copy with what stands at `keys` replaced, or removed where `replacement` is absent. */
export const edit = (value: unknown, keys: Keys, replacement?: { readonly by: unknown }): unknown => {
  const copy: unknown = structuredClone(value)
  const parent = at(copy, keys.slice(0, -1))
  const last = keys.at(-1)
  if (typeof parent !== "object" || parent === null || last === undefined) throw new TypeError("no such member")
  if (replacement === undefined && Array.isArray(parent)) parent.splice(Number(last), 1)
  else if (replacement === undefined) Reflect.deleteProperty(parent, last)
  else Reflect.set(parent, last, replacement.by)
  return copy
}

export const otherValues: ReadonlyArray<unknown> = ["text", 42, true, null, [], {}]

export const mutations = (source: OfficialSchema.Source, type: string, value: unknown): ReadonlyArray<Mutation> => {
  const places = requiredIn(source, members(OfficialSchema.definitions(source), type), value, { keys: [], path: "" })
  // Several parts of a schema may require the same member.
  const unique = new Map(places.map((place) => [JSON.stringify(place.keys), place]))
  return Array.from(unique.values()).flatMap(({ keys, path }) => [
    { path, kind: "removed" as const, value: edit(value, keys), by: undefined },
    ...otherValues
      .filter((other) => jsonType(other) !== jsonType(at(value, keys)))
      .map((by) => ({
        path,
        kind: by === null ? "removed" as const : "mistyped" as const,
        value: edit(value, keys, { by }),
        by
      }))
  ])
}

// ====================================================================================================================
// Values made of a schema
// ====================================================================================================================

// What the schemas leave to the prose, or to the schema of another revision.
const supplements: { readonly [name: string]: Json.JsonObject } = {
  InputRequiredResult: { resultType: "input_required", requestState: "text" },
  CancelledNotificationParams: { requestId: 1 }
}

const isoTime = "2025-11-25T10:30:00Z"

const sampleString = (format: unknown): string =>
  format === "uri" ? "https://example.com/" : format === "byte" ? "YQ==" : "text"

/** A value that a schema allows: with what it requires alone, or with everything. */
export const sample = (
  source: OfficialSchema.Source,
  node: Json.JsonObject,
  extent: "required" | "everything"
): unknown => {
  const name = refName(node)
  if (name !== undefined) {
    const value = sample(source, members(OfficialSchema.definitions(source), name), extent)
    const supplement = supplements[name]
    return Json.isJsonObject(value) && supplement !== undefined ? { ...value, ...supplement } : value
  }
  if (Object.hasOwn(node, "const")) return node["const"]
  if (Array.isArray(node["enum"])) return node["enum"][0]
  const branch = [...list(node["anyOf"]), ...list(node["oneOf"])].at(-1)
  const parts = list(node["allOf"])
  if (branch !== undefined) return sample(source, branch, extent)
  if (parts.length > 0) return Object.assign({}, ...parts.map((part) => sample(source, part, extent)))
  const type = Array.isArray(node["type"]) ? node["type"][0] : node["type"]
  switch (type) {
    case "string":
      return sampleString(node["format"])
    case "integer":
    case "number":
      return 1
    case "boolean":
      return true
    case "null":
      return null
    case "array": {
      const items = node["items"]
      return extent === "everything" && Json.isJsonObject(items) ? [sample(source, items, extent)] : []
    }
    case "object": {
      const required = Array.isArray(node["required"]) ? node["required"] : []
      return Object.fromEntries(
        Object.entries(members(node, "properties"))
          .filter(([key]) => extent === "everything" || required.includes(key))
          .flatMap(([key, property]) =>
            Json.isJsonObject(property)
              ? [[key, /(createdAt|lastUpdatedAt)/.test(key) ? isoTime : sample(source, property, extent)]]
              : []
          )
      )
    }
    default:
      return "anything"
  }
}
