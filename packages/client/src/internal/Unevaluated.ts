/**
 * Which members and items of a value a schema has evaluated, itself and through the schemas it applies to the same
 * value: what `unevaluatedProperties` and `unevaluatedItems` leave alone (2020-12 core 11). A schema that the value does
 * not fit has evaluated nothing, nor has one beside it any say ("cousins").
 */
import { Json } from "@mcp-effect/protocol"
import type { SchemaNode } from "json-schema-library"
import type { Budget } from "./Budget.ts"
import type { NormalSchema } from "./NormalSchema.ts"

/** What it takes of the check in progress. */
export interface Check {
  readonly budget: () => Budget
  /** Whether a schema fits a value, as far as it can be told. */
  readonly mayFit: (node: SchemaNode, value: unknown, pointer: string) => boolean
  /**
   * Visits the schemas that a schema applies to the same value and that fit it, until a visit returns true; returns
   * whether one did.
   */
  readonly inPlace: (
    node: SchemaNode,
    value: unknown,
    pointer: string,
    visit: (node: SchemaNode) => boolean
  ) => boolean
}

/** All members or items, or these. */
type Evaluated<A> = "all" | ReadonlySet<A>

// A boolean schema evaluates nothing.
const schemaOf = (node: SchemaNode): NormalSchema => Json.isJsonObject(node.schema) ? node.schema : {}

export const evaluatedMembers = (
  check: Check,
  root: SchemaNode,
  value: Json.JsonObject,
  pointer: string
): Evaluated<string> => {
  const found = new Set<string>()
  const names = Object.keys(value)
  const visit = (node: SchemaNode): boolean => {
    check.budget().visit()
    const { members, unevaluatedProperties } = schemaOf(node)
    if (members?.others !== undefined || (node !== root && unevaluatedProperties !== undefined)) return true
    if (members !== undefined) {
      for (const name of names) {
        if (members.named.has(name) || members.matching.some(([pattern]) => pattern.test(name, check.budget()))) {
          found.add(name)
        }
      }
    }
    return check.inPlace(node, value, pointer, visit)
  }
  return visit(root) ? "all" : found
}

export const evaluatedItems = (
  check: Check,
  root: SchemaNode,
  value: ReadonlyArray<unknown>,
  pointer: string
): Evaluated<number> => {
  const found = new Set<number>()
  const visit = (node: SchemaNode): boolean => {
    check.budget().visit()
    const { contains, items, prefixItems, unevaluatedItems } = schemaOf(node)
    if (items !== undefined || (node !== root && unevaluatedItems !== undefined)) return true
    for (let i = 0; i < Math.min(prefixItems?.length ?? 0, value.length); i++) found.add(i)
    const { contains: itemNode } = node
    if (contains?.evaluates === true && itemNode !== undefined) {
      for (const [index, item] of value.entries()) {
        if (check.mayFit(itemNode, item, `${pointer}/${index}`)) found.add(index)
      }
    }
    return check.inPlace(node, value, pointer, visit)
  }
  return visit(root) ? "all" : found
}
