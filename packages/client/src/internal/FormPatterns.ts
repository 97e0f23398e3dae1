/**
 * The patterns that fields of a form may have (2025-11-25 client/elicitation, Requested Schema).
 */
import { Budget, Exhausted } from "./Budget.ts"
import * as Pattern from "./Pattern.ts"
import { Allowance } from "./PatternAutomaton.ts"
import * as SchemaLimits from "./SchemaLimits.ts"

/** The patterns of one form, which share what they may cost. */
export class FormPatterns {
  private readonly allowance = new Allowance(SchemaLimits.patternInstructions, SchemaLimits.patternCharacters)
  // A clock that cannot be set, since a test's clock would stand still meanwhile.
  private readonly budget = new Budget({
    visits: SchemaLimits.visits,
    millis: SchemaLimits.millis,
    now: () => performance.now()
  })

  private readonly known = new Map<string, Pattern.Pattern | string>()

  /**
   * An expression that is none, or too long, is not checked, like a format that is not known; one that takes too long
   * does not fit.
   */
  problem(source: string, text: string): string | undefined {
    const pattern = this.known.get(source) ?? Pattern.make(source, this.allowance)
    this.known.set(source, pattern)
    if (typeof pattern === "string") return undefined
    try {
      return pattern.test(text, this.budget) ? undefined : "does not match the pattern asked for"
    } catch (error) {
      if (error instanceof Exhausted) return "takes too long to hold against the pattern asked for"
      throw error
    }
  }
}
