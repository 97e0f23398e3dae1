/**
 * Lists under watch: the current list, and again at each change.
 *
 * All who watch one list share one loop, which lasts as long as one of them does. Words of change that come together are
 * answered with one fetch, one fetch runs at a time, and a word that comes during a fetch is followed by another: what was
 * fetched meanwhile may be older than the change and is not told. A gap in what could be heard, such as a new connection,
 * counts as a word of change. So does the loss of a connection, which the fetch brings back.
 */
import type { McpError } from "@mcp-effect/protocol"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Backoff from "./Backoff.ts"
import type { Link } from "./Link.ts"
import type { Listing } from "./Lists.ts"
import type { ResultCaching } from "./ResultCaching.ts"

/** How long words of change are gathered before the list is fetched. */
const gatheringMillis = 50

/** How many lists in a row may be held back: the list of a server that never stops announcing is told, too. */
const maxHeldBack = 3

/** Whether a list that could not be had may be had later. A server that is left alone is given up, too. */
const mayPass = ({ isRetryable, reason }: McpError.McpError): boolean =>
  isRetryable && reason._tag !== "ServerUnavailable"

export interface Options<A> {
  readonly method: string
  readonly list: Listing<A>["anew"]
  readonly caching: ResultCaching
  readonly link: Link
  /** Has the server tell of changes until the scope closes. `onGap` hears where some may have been missed. */
  readonly listen: (onGap: () => void) => Effect.Effect<void, McpError.McpError, Scope.Scope>
  /** Whether what was fetched last may be given to one who joins; it may, if this is absent. */
  readonly isLive?: (() => boolean) | undefined
  /** Forks what runs on behalf of the client. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** The client's: watching ends with it. */
  readonly scope: Scope.Scope
}

/** Holds the newest list only, for a reader that is slower than the changes. */
type Reader<A> = Queue.Queue<ReadonlyArray<A>, McpError.McpError | Cause.Done>

/** The loop that those who watch share. */
class Loop<A> {
  readonly readers = new Set<Reader<A>>()
  private fiber: Fiber.Fiber<void> | undefined = undefined
  private readonly options: Options<A>
  private readonly changed = Latch.makeUnsafe(true)
  /** Counts words of change. */
  private changes = 0
  /** The list, unless it may have changed since. */
  private current: ReadonlyArray<A> | undefined = undefined

  constructor(options: Options<A>) {
    this.options = options
  }

  /** `onEnd` runs before those who watch hear of the end. */
  start(onEnd: () => void): void {
    const run = Effect.onExit(Effect.scoped(this.run), (exit) =>
      Effect.sync(() => {
        onEnd()
        for (const reader of this.readers) {
          if (Exit.isFailure(exit) && !Exit.hasInterrupts(exit)) Queue.failCauseUnsafe(reader, exit.cause)
          else Queue.endUnsafe(reader)
        }
      }))
    this.fiber = Fiber.runIn(this.options.fork(Effect.ignoreCause(run)), this.options.scope)
  }

  get stop(): Effect.Effect<void> {
    return this.fiber === undefined ? Effect.void : Fiber.interrupt(this.fiber)
  }

  join(reader: Reader<A>): void {
    this.readers.add(reader)
    if (this.current !== undefined && this.options.isLive?.() !== false) Queue.offerUnsafe(reader, this.current)
  }

  private onChange(): void {
    this.changes++
    this.current = undefined
    this.changed.openUnsafe()
  }

  private get run(): Effect.Effect<never, McpError.McpError, Scope.Scope> {
    const { caching, link, list, listen, method } = this.options
    return Effect.gen({ self: this }, function*() {
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          caching.onChange((changed) => {
            if (changed === method) this.onChange()
          })
        ),
        (stop) => Effect.sync(stop)
      )
      yield* listen(() => this.onChange())
      yield* Effect.forkScoped(
        Stream.runForEach(SubscriptionRef.changes(link.state), (state) =>
          Effect.sync(() => {
            if (state._tag === "Failed") this.onChange()
          })),
        { startImmediately: true }
      )
      let isFirst = true
      let heldBack = 0
      let failures = 0
      while (true) {
        yield* this.changed.await
        if (!isFirst) yield* Effect.sleep(gatheringMillis)
        let before = 0
        const fetched = yield* Effect.result(Effect.andThen(
          // A new connection is a word of change, too: it comes before the fetch that it is followed by.
          link.current,
          Effect.suspend(() => {
            this.changed.closeUnsafe()
            before = this.changes
            return list()
          })
        ))
        if (Result.isFailure(fetched)) {
          if (isFirst || !mayPass(fetched.failure)) return yield* fetched.failure
          yield* Effect.sleep(Backoff.delayMillis(failures++))
          this.changed.openUnsafe()
          continue
        }
        failures = 0
        isFirst = false
        const isCurrent = this.changes === before
        if (!isCurrent && ++heldBack <= maxHeldBack) continue
        heldBack = 0
        if (isCurrent) this.current = fetched.success
        for (const reader of this.readers) Queue.offerUnsafe(reader, fetched.success)
      }
    })
  }
}

export const make = <A>(options: Options<A>): Stream.Stream<ReadonlyArray<A>, McpError.McpError> => {
  let loop: Loop<A> | undefined

  const join = (reader: Reader<A>): Loop<A> => {
    const joined = loop ?? new Loop(options)
    joined.join(reader)
    if (loop === undefined) {
      loop = joined
      joined.start(() => end(joined))
    }
    return joined
  }

  const end = (ended: Loop<A>): void => {
    if (loop === ended) loop = undefined
  }

  const leave = (joined: Loop<A>, reader: Reader<A>): Effect.Effect<void> =>
    Effect.suspend(() => {
      joined.readers.delete(reader)
      if (joined.readers.size > 0) return Effect.void
      end(joined)
      return joined.stop
    })

  return Stream.unwrap(Effect.gen(function*() {
    const reader = yield* Queue.sliding<ReadonlyArray<A>, McpError.McpError | Cause.Done>(1)
    yield* Effect.acquireRelease(Effect.sync(() => join(reader)), (joined) => leave(joined, reader))
    return Stream.fromQueue(reader)
  }))
}
