/**
 * The bounds of one validation, so that neither a schema nor a value can keep the process busy.
 */

/** Thrown through the validation when one of its bounds is hit; it then reports this one problem and never passes. */
export class Exhausted extends Error {
  override readonly name = "Exhausted"
}

// The clock is read once for so many steps of a pattern or visits of a node; either takes well under a millisecond.
const stepsPerReading = 4_096
const visitsPerReading = 64

export interface BudgetOptions {
  /** How often a node of the schema may be applied to a value, and how often that may be a problem. */
  readonly visits: number
  /** Milliseconds for all of it. */
  readonly millis: number
  /** Milliseconds of a clock that cannot be set. A test's clock would stand still while a pattern runs. */
  readonly now: () => number
}

export class Budget {
  private visits = 0
  private problems = 0
  private steps = 0
  private readonly endsAt: number
  private readonly options: BudgetOptions

  constructor(options: BudgetOptions) {
    this.options = options
    this.endsAt = options.now() + options.millis
  }

  /** A node of the schema is applied to a value. */
  visit(): void {
    this.visits += 1
    if (this.visits > this.options.visits) {
      throw new Exhausted(`the check needs more than ${this.options.visits} steps, and was stopped`)
    }
    if (this.visits % visitsPerReading === 0) this.checkTime()
  }

  /** A problem is found, be it in one of several schemas that the value need not fit. */
  problem(): void {
    this.problems += 1
    if (this.problems > this.options.visits) {
      throw new Exhausted(`the check meets more than ${this.options.visits} problems, and was stopped`)
    }
  }

  /** Work of a known size is done: states of a pattern advanced, items compared. */
  spend(steps: number): void {
    this.steps += steps
    if (this.steps < stepsPerReading) return
    this.steps = 0
    this.checkTime()
  }

  private checkTime(): void {
    if (this.options.now() > this.endsAt) {
      throw new Exhausted(`the check takes longer than ${this.options.millis} ms, and was stopped`)
    }
  }
}
