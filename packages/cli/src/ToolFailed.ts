/**
 * The tool ran and told of its failure. Its result is written by then; this is for the exit code.
 */
import * as Data from "effect/Data"

export class ToolFailed extends Data.TaggedError("ToolFailed")<{
  /** What failed, as in `The tool echo`. */
  readonly subject: string
}> {}
