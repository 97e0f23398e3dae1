/**
 * Standard input, read to its end.
 */
import * as Effect from "effect/Effect"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import { UsageError } from "./UsageError.ts"

export const read: Effect.Effect<string, UsageError, Stdio.Stdio> = Effect.gen(function*() {
  const stdio = yield* Stdio.Stdio
  return yield* Stream.mkString(Stream.decodeText(stdio.stdin))
}).pipe(
  Effect.mapError((error) => new UsageError({ message: `Standard input cannot be read: ${error.message}` }))
)
