/**
 * Nobody is signed in where somebody should be.
 */
import * as Data from "effect/Data"

export class NotSignedIn extends Data.TaggedError("NotSignedIn")<{
  /** What is missing. */
  readonly message: string
}> {}
