/**
 * Streams whose answer has been handed over: each may end by itself within a moment, so that its connection can be used
 * again, and is given up otherwise, since servers may never end it.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

export interface Drained {
  readonly giveUp: () => void
}

// A stream is given up after one to two of these. One sweep serves all: a timer for each would cost more than reading.
const sweepMillis = 250

export class Draining {
  private young = new Set<Drained>()
  private old = new Set<Drained>()
  private isSweeping = false
  private readonly fork: (effect: Effect.Effect<void>) => void

  constructor(fork: (effect: Effect.Effect<void>) => void) {
    this.fork = fork
  }

  add(drained: Drained): void {
    this.young.add(drained)
    if (this.isSweeping) return
    this.isSweeping = true
    this.fork(this.sweep)
  }

  /** Lets a fiber end by itself, which it may have done already. */
  addFiber(fiber: Fiber.Fiber<unknown, unknown>): void {
    if (fiber.pollUnsafe() !== undefined) return
    const drained = { giveUp: () => fiber.interruptUnsafe() }
    this.add(drained)
    fiber.addObserver(() => this.delete(drained))
  }

  delete(drained: Drained): void {
    if (!this.young.delete(drained)) this.old.delete(drained)
  }

  private readonly sweep: Effect.Effect<void> = Effect.flatMap(Effect.sleep(sweepMillis), () => {
    for (const drained of this.old) drained.giveUp()
    this.old = this.young
    this.young = new Set()
    if (this.old.size > 0) return this.sweep
    this.isSweeping = false
    return Effect.void
  })
}
