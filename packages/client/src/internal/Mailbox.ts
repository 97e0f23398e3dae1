/**
 * Hot streams: what is published reaches whoever listens at that moment, each through a bounded queue of its own, so
 * that a slow listener hurts only itself.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** How many values wait for one listener before the oldest is dropped. */
export const capacity = 1024

/** A hot source of values; `publish` is synchronous and never blocks. */
export interface Hot<A> {
  readonly publish: (value: A) => void
  /** Listens from now on, until the scope closes. */
  readonly subscribe: Effect.Effect<Stream.Stream<A>, never, Scope.Scope>
  /** Listens from the moment the stream is run. */
  readonly stream: Stream.Stream<A>
}

/** `onDrop` hears of each value that a slow listener lost, with how many that listener lost so far. */
export const make = <A>(onDrop: (dropped: number) => void): Hot<A> => {
  const listeners = new Set<(value: A) => void>()
  const subscribe = Effect.gen(function*() {
    const queue = yield* Effect.acquireRelease(Queue.dropping<A>(capacity), Queue.shutdown)
    let dropped = 0
    const offer = (value: A): void => {
      if (Queue.offerUnsafe(queue, value)) return
      Queue.takeUnsafe(queue)
      Queue.offerUnsafe(queue, value)
      dropped++
      onDrop(dropped)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => listeners.add(offer)),
      () => Effect.sync(() => listeners.delete(offer))
    )
    return Stream.fromQueue(queue)
  })
  return {
    publish: (value) => {
      for (const listener of listeners) listener(value)
    },
    subscribe,
    stream: Stream.unwrap(subscribe)
  }
}
