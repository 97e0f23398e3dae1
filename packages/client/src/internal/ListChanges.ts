/**
 * Has a modern server announce changes of a list for as long as somebody watches it. What it announces goes the way of
 * every notification.
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Subscription } from "../Subscription.ts"
import * as Backoff from "./Backoff.ts"

/** How long the first list waits for the acknowledgment, so that no change is missed between the two. */
const acknowledgmentMillis = 5_000

/**
 * Listens until the scope closes. A subscription that its server ends is asked for again; `onGap` hears of each that came
 * later than the list. A server that refuses is left alone: its list is given as it is.
 */
export const listen = (
  subscribe: Effect.Effect<Subscription, McpError.McpError, Scope.Scope>,
  onGap: () => void
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function*() {
    const ready = yield* Deferred.make<void>()
    let isAwaited = true
    const open = Effect.scoped(Effect.flatMap(subscribe, ({ notifications }) => {
      if (isAwaited) Deferred.doneUnsafe(ready, Effect.void)
      else onGap()
      // The cache has heard of them already; left alone, they would pile up.
      return Stream.runDrain(notifications)
    }))
    const keepOpen = (failures: number): Effect.Effect<void> =>
      Effect.flatMap(Effect.timed(Effect.result(open)), ([lasted, ended]) => {
        if (Result.isFailure(ended) && !ended.failure.reason.isTransient) {
          Deferred.doneUnsafe(ready, Effect.void)
          return Effect.logDebug(`Changes of a list are not announced: ${ended.failure.reason._tag}`)
        }
        const isProductive = Duration.toMillis(lasted) >= Backoff.longestDelayMillis
        const delay = Backoff.delayMillis(isProductive ? 0 : failures)
        return Effect.andThen(Effect.sleep(delay), keepOpen(isProductive ? 0 : failures + 1))
      })
    yield* Effect.forkScoped(keepOpen(0), { startImmediately: true })
    yield* Effect.timeoutOption(Deferred.await(ready), acknowledgmentMillis)
    isAwaited = false
  })
