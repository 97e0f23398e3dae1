/**
 * Equality of JSON values: numbers by value, arrays by order, objects by their members in any order.
 */
import type { Budget } from "./Budget.ts"

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null

const equals = (a: unknown, b: unknown, budget: Budget): boolean => {
  if (!isContainer(a) || !isContainer(b) || Array.isArray(a) !== Array.isArray(b)) return a === b
  const names = Object.keys(a)
  budget.spend(1 + names.length)
  return names.length === Object.keys(b).length
    && names.every((name) => Object.hasOwn(b, name) && equals(Reflect.get(a, name), Reflect.get(b, name), budget))
}

/** Tells whether a value is among those given. */
export const among = (values: ReadonlyArray<unknown>): (value: unknown, budget: Budget) => boolean => {
  const scalars = new Set(values.filter((value) => !isContainer(value)))
  const containers = values.filter(isContainer)
  return (value, budget) =>
    isContainer(value) ? containers.some((container) => equals(container, value, budget)) : scalars.has(value)
}

// A text that two values have in common exactly when they are equal.
const key = (value: unknown): string => {
  if (!isContainer(value)) return typeof value === "string" ? JSON.stringify(value) : String(value)
  if (Array.isArray(value)) return `[${value.map(key).join()}]`
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${key(member)}`)
  return `{${members.sort().join()}}`
}

/** The index of the first item that equals one before it. */
export const firstRepeated = (items: ReadonlyArray<unknown>, budget: Budget): number | undefined => {
  const seen = new Set<string>()
  for (const [index, item] of items.entries()) {
    const text = key(item)
    budget.spend(1 + text.length)
    if (seen.has(text)) return index
    seen.add(text)
  }
  return undefined
}
