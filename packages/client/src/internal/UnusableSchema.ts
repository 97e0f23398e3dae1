/**
 * Why a schema cannot be used for checking. Thrown while it is read, and caught by `SchemaValidator`.
 */

/** What kind of fault it is. */
export type Fault = "dialect" | "limit" | "malformed" | "pattern" | "reference" | "ambiguous"

export class UnusableSchema extends Error {
  override readonly name = "UnusableSchema"
  readonly fault: Fault
  /** Where in the schema, as a JSON pointer. */
  readonly path: string
  /** In our words. */
  readonly problem: string

  constructor(fault: Fault, path: string, problem: string) {
    super(problem)
    this.fault = fault
    this.path = path
    this.problem = problem
  }
}
