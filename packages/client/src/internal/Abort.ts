/**
 * What a caller's `AbortSignal` means for what is done on its behalf.
 */
import * as Effect from "effect/Effect"

/** The reason of an abort as text: an `Error` gives its message, the default `AbortError` none. */
export const reasonOf = (signal: AbortSignal): string | undefined => {
  const reason: unknown = signal.reason
  if (typeof reason === "string") return reason
  return reason instanceof Error && reason.name !== "AbortError" ? reason.message : undefined
}

/** Runs an effect until the signal aborts, which interrupts it and fails with `error`. */
export const orElse = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  signal: AbortSignal | undefined,
  error: (reason: string | undefined) => E
): Effect.Effect<A, E, R> =>
  signal === undefined ? effect : Effect.raceFirst(
    Effect.callback<never, E>((resume) => {
      const abort = (): void => resume(Effect.fail(error(reasonOf(signal))))
      if (signal.aborted) return abort()
      signal.addEventListener("abort", abort, { once: true })
      return Effect.sync(() => signal.removeEventListener("abort", abort))
    }),
    effect
  )
