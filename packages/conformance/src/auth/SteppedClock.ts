/**
 * The clock of this machine, which a test sets forward: a token that lives less long than a step has run out after it.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface SteppedClock {
  readonly clock: Clock.Clock
  readonly step: () => void
}

export const make = (clock: Clock.Clock, stepMillis: number): SteppedClock => {
  let ahead = 0
  const currentTimeMillisUnsafe = () => clock.currentTimeMillisUnsafe() + ahead
  return {
    clock: Object.assign(Object.create(clock), {
      currentTimeMillisUnsafe,
      currentTimeMillis: Effect.sync(currentTimeMillisUnsafe)
    }),
    step: () => {
      ahead += stepMillis
    }
  }
}
