/**
 * Hot streams: what is published reaches whoever listens at that moment, each through a bounded queue of its own, so
 * that a slow listener hurts only itself.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** How many values wait for one listener before the oldest is dropped. */
const capacity = 1_024

/** A hot source of values. */
export class Hot<in out A> {
  private readonly onDrop: (dropped: number) => void
  private listeners: Set<Listener<A>> | undefined = undefined
  private isEnded = false

  /** `onDrop` hears of each value that a slow listener lost, with how many that listener lost so far. */
  constructor(onDrop: (dropped: number) => void) {
    this.onDrop = onDrop
  }

  /** Synchronous; never blocks. */
  publish(value: A): void {
    if (this.listeners === undefined) return
    for (const listener of this.listeners) listener.offer(value)
  }

  /** Nothing more is published: each listener's stream ends after what waits in its queue. */
  end(): void {
    this.isEnded = true
    for (const listener of this.listeners ?? []) listener.end()
  }

  /** Listens from now on, until the scope closes. */
  get subscribe(): Effect.Effect<Stream.Stream<A>, never, Scope.Scope> {
    return Effect.suspend(() =>
      this.isEnded ? Effect.succeed(Stream.empty) : listen(this.listeners ??= new Set(), this.onDrop)
    )
  }

  /** Listens from the moment the stream is run. */
  get stream(): Stream.Stream<A> {
    return Stream.unwrap(this.subscribe)
  }
}

interface Listener<in A> {
  readonly offer: (value: A) => void
  readonly end: () => void
}

const listen = Effect.fnUntraced(function*<A>(
  listeners: Set<Listener<A>>,
  onDrop: (dropped: number) => void
): Effect.fn.Return<Stream.Stream<A>, never, Scope.Scope> {
  const queue = yield* Effect.acquireRelease(Queue.dropping<A, Cause.Done>(capacity), Queue.shutdown)
  let dropped = 0
  const listener: Listener<A> = {
    offer: (value) => {
      if (Queue.offerUnsafe(queue, value)) return
      Queue.takeUnsafe(queue)
      Queue.offerUnsafe(queue, value)
      dropped++
      onDrop(dropped)
    },
    end: () => Queue.endUnsafe(queue)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => listeners.add(listener)),
    () => Effect.sync(() => listeners.delete(listener))
  )
  return Stream.fromQueue(queue)
})
