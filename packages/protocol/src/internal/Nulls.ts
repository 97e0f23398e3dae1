/**
 * Takes out of a value the optional members that are `null`: servers in languages without `undefined` write them so.
 *
 * Only members that the schema knows, and that may not be `null`, are taken out. The value itself is left as it is: what
 * changes is copied.
 */
import type * as SchemaAST from "effect/SchemaAST"
import { isJsonObject, type JsonObject } from "../Json.ts"
import * as Guard from "./Guard.ts"

export type Strip = (value: unknown) => unknown

export const annotation = "~@mcp-effect/protocol/Nulls"

export const keep: Strip = (value) => value

/** Changes members; one that becomes `undefined` is taken out. Without a change it is the very object. */
export const mapMembers = (object: JsonObject, change: (member: unknown, key: string) => unknown): JsonObject => {
  const before = Object.entries(object)
  const after = before.map(([key, member]) => [key, change(member, key)] as const)
  return after.every(([, member], index) => member === before[index]?.[1])
    ? object
    : Object.fromEntries(after.filter(([, member]) => member !== undefined))
}

const mapItems = (array: ReadonlyArray<unknown>, change: Strip): ReadonlyArray<unknown> => {
  const changed = array.map(change)
  return changed.every((item, index) => item === array[index]) ? array : changed
}

/** Compiles what a schema takes out. */
export const compile = (ast: SchemaAST.AST): Strip => {
  switch (ast._tag) {
    case "Declaration": {
      const strip = ast.annotations?.[annotation]
      return typeof strip === "function" ? (value) => strip(value) : keep
    }
    case "Union": {
      const members = ast.types.map(compile)
      return (value) => members.reduce((value, strip) => strip(value), value)
    }
    case "Arrays": {
      const [item] = ast.rest
      if (item === undefined) return keep
      const strip = compile(item)
      return (value) => Array.isArray(value) ? mapItems(value, strip) : value
    }
    case "Objects": {
      const members = new Map(ast.propertySignatures.map(({ name, type }) => [
        name,
        {
          isStray: type.context?.isOptional === true && !Guard.compile(type)(null),
          strip: compile(type)
        }
      ]))
      return (value) =>
        isJsonObject(value)
          ? mapMembers(value, (member, key) => {
            const known = members.get(key)
            if (known === undefined) return member
            return member === null && known.isStray ? undefined : known.strip(member)
          })
          : value
    }
    default:
      return keep
  }
}
