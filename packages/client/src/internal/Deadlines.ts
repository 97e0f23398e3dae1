/**
 * One timer for every deadline of a connection.
 *
 * A timer per request costs 3 to 16 µs, more than the rest of its bookkeeping. Here a request only writes when it
 * runs out; one fiber sleeps until the nearest of these times and looks again when it wakes. A time that moves later
 * touches no timer.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

/** What can run out. Times are monotonic milliseconds of the same clock. */
export interface Expiring {
  readonly expiresAt: () => number
  readonly expire: () => void
}

// Longer timers overflow a signed 32-bit integer in every runtime and fire at once.
const longestSleepMillis = 2 ** 31 - 1

export class Deadlines {
  private armedAt = Infinity
  private timer: Fiber.Fiber<void> | undefined = undefined
  private readonly clock: Clock.Clock
  private readonly entries: Iterable<Expiring>
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>

  /** `entries` is read whenever the timer fires; its owner adds to it and removes from it. */
  constructor(
    clock: Clock.Clock,
    entries: Iterable<Expiring>,
    fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  ) {
    this.clock = clock
    this.entries = entries
    this.fork = fork
  }

  /** Monotonic milliseconds. */
  now(): number {
    return Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  /** Makes sure that somebody looks at `time`. */
  watch(time: number): void {
    if (time < this.armedAt) this.arm(time)
  }

  /** Stops the timer; an armed one would keep an idle process alive. */
  disarm(): void {
    const timer = this.timer
    this.timer = undefined
    this.armedAt = Infinity
    timer?.interruptUnsafe()
  }

  private arm(time: number): void {
    this.timer?.interruptUnsafe()
    this.armedAt = time
    const millis = Math.min(Math.max(Math.ceil(time - this.now()), 0), longestSleepMillis)
    this.timer = this.fork(
      Effect.andThen(this.clock.sleep(Duration.millis(millis)), Effect.sync(() => this.fire()))
    )
  }

  private fire(): void {
    this.timer = undefined
    this.armedAt = Infinity
    const now = this.now()
    const expired: Array<Expiring> = []
    let nearest = Infinity
    for (const entry of this.entries) {
      const time = entry.expiresAt()
      if (time <= now) expired.push(entry)
      else if (time < nearest) nearest = time
    }
    this.watch(nearest)
    for (const entry of expired) entry.expire()
  }
}
