/**
 * The requests that wait for authorization: while a person acts, none of them counts as silent.
 */
import type { Activity } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"

interface Hold {
  readonly activity: Activity.Activity
  release: (() => void) | undefined
}

export class Waiting {
  private readonly holds = new Set<Hold>()
  private acting = 0

  /** Counts a request among those that wait as long as the effect runs. */
  during<A, E, R>(activity: Activity.Activity, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const entry: Hold = { activity, release: this.acting > 0 ? activity.hold() : undefined }
        this.holds.add(entry)
        return entry
      }),
      () => effect,
      (entry) =>
        Effect.sync(() => {
          this.holds.delete(entry)
          entry.release?.()
        })
    )
  }

  /** Marks the time in which a person acts. */
  person<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        if (this.acting++ === 0) { for (const entry of this.holds) entry.release = entry.activity.hold() }
      }),
      () => effect,
      () =>
        Effect.sync(() => {
          if (--this.acting > 0) return
          for (const entry of this.holds) {
            entry.release?.()
            entry.release = undefined
          }
        })
    )
  }
}
