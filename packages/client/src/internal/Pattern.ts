/**
 * The regular expressions of JSON Schema, matched in bounded time on every runtime: neither the runtime's own engine,
 * which can neither be trusted with `^(a+)+$` nor be interrupted, nor a worker is needed.
 */
import type { Budget } from "./Budget.ts"
import * as PatternAutomaton from "./PatternAutomaton.ts"
import * as PatternBacktracker from "./PatternBacktracker.ts"
import * as PatternSyntax from "./PatternSyntax.ts"

/** How long an expression may be, in UTF-16 units. */
const maxLength = 10_000

export interface Pattern {
  /** Whether the expression matches somewhere in the text. Throws `Exhausted` at the end of the budget. */
  readonly test: (text: string, budget: Budget) => boolean
}

/** The pattern, or what is wrong with it, to be read after "the pattern". */
export const make = (source: string, allowance: PatternAutomaton.Allowance): Pattern | string => {
  if (source.length > maxLength) return `is longer than ${maxLength} characters`
  if (!allowance.admits(source.length)) return `is beyond the ${allowance.characters} characters of all patterns`
  try {
    const expression = PatternSyntax.parse(source)
    const automaton = expression.hasBackReference ? undefined : PatternAutomaton.make(expression, allowance)
    return { test: automaton ?? PatternBacktracker.make(expression) }
  } catch (error) {
    if (error instanceof PatternSyntax.Unreadable) return error.message
    throw error
  }
}
