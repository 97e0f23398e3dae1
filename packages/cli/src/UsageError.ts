/**
 * What was typed cannot be carried out as it stands.
 */
import * as Data from "effect/Data"

export class UsageError extends Data.TaggedError("UsageError")<{
  /** What is wrong. */
  readonly message: string
  /** What to type instead. */
  readonly hint?: string | undefined
}> {}
