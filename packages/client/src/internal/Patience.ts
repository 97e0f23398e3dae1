/**
 * A limit in time that stands still while a person acts.
 */
import type { Activity } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

export class Patience implements Activity.Activity {
  private readonly now: () => number
  private holds = 0
  private heldAt = 0
  private heldMillis = 0
  private readonly released = Latch.makeUnsafe(true)

  /** `now` gives monotonic milliseconds. */
  constructor(now: () => number) {
    this.now = now
  }

  readonly hold = (): () => void => {
    if (this.holds++ === 0) {
      this.heldAt = this.now()
      this.released.closeUnsafe()
    }
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      if (--this.holds > 0) return
      this.heldMillis += this.now() - this.heldAt
      this.released.openUnsafe()
    }
  }

  /** A switch for one holder. */
  holder(): (isHeld: boolean) => void {
    let release: (() => void) | undefined
    return (isHeld) => {
      if (isHeld) release ??= this.hold()
      else {
        release?.()
        release = undefined
      }
    }
  }

  /** Runs an effect for so many milliseconds, those apart in which somebody was waited for. */
  limit<A, E, R, E2>(
    effect: Effect.Effect<A, E, R>,
    millis: number,
    orElse: () => Effect.Effect<never, E2>
  ): Effect.Effect<A, E | E2, R> {
    if (millis === Infinity) return effect
    return Effect.suspend(() => {
      const startedAt = this.now()
      const watch: Effect.Effect<never, E2> = Effect.suspend(() => {
        if (this.holds > 0) return Effect.andThen(this.released.await, watch)
        const left = startedAt + this.heldMillis + millis - this.now()
        return left <= 0 ? orElse() : Effect.andThen(Effect.sleep(left), watch)
      })
      return Effect.raceFirst(effect, watch)
    })
  }
}
