/**
 * Message schemas as plain predicates: some ten times faster than decoding, which then only has to explain a refusal.
 *
 * A guard may say no to what its schema accepts (the schema has the last word), but never yes to what it refuses.
 */
import type * as SchemaAST from "effect/SchemaAST"
import { isJsonObject } from "../Json.ts"

export type Guard = (value: unknown) => boolean

export const annotation = "~@mcp-effect/protocol/Guard"

const never: Guard = () => false

const all = (ast: SchemaAST.AST, guard: Guard): Guard => {
  const checks = ast.checks
  if (checks === undefined) return guard
  const filters = checks.filter((check) => check._tag === "Filter")
  // A group of checks is left to the schema.
  if (filters.length !== checks.length) return never
  return (value) => guard(value) && filters.every((filter) => filter.run(value, ast, {}) === undefined)
}

const compileType = (ast: SchemaAST.AST): Guard => {
  switch (ast._tag) {
    case "Unknown":
      return () => true
    case "Null":
      return (value) => value === null
    case "Undefined":
      return (value) => value === undefined
    case "String":
      return (value) => typeof value === "string"
    case "Number":
      return (value) => typeof value === "number"
    case "Boolean":
      return (value) => typeof value === "boolean"
    case "Literal":
      return (value) => value === ast.literal
    case "Declaration": {
      const guard = ast.annotations?.[annotation]
      return typeof guard === "function" ? (value) => guard(value) === true : never
    }
    case "Union": {
      const members = ast.types.map(compile)
      return (value) => members.some((member) => member(value))
    }
    case "Arrays": {
      const [item] = ast.rest
      if (item === undefined || ast.rest.length !== 1 || ast.elements.length !== 0) return never
      const isItem = compile(item)
      return (value) => Array.isArray(value) && value.every(isItem)
    }
    case "Objects": {
      if (ast.indexSignatures.length !== 0) return never
      const members = ast.propertySignatures.map((property) => ({
        name: property.name,
        optional: property.type.context?.isOptional === true,
        guard: compile(property.type)
      }))
      return (value) => {
        if (!isJsonObject(value)) return false
        for (const { guard, name, optional } of members) {
          const member = value[name as string]
          // A required member of any type has to be there all the same.
          if (member === undefined && !optional) return false
          if (!guard(member)) return false
        }
        return true
      }
    }
    default:
      return never
  }
}

/** Compiles what a schema checks; a schema that transforms has no guard. */
export const compile = (ast: SchemaAST.AST): Guard => ast.encoding === undefined ? all(ast, compileType(ast)) : never
