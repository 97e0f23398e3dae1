/**
 * Work that several requests wait for and that is done once. It runs in the scope of the layer: a request that gives up
 * leaves it running for the others.
 */
import type { McpError } from "@mcp-effect/protocol"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Failure from "./Failure.ts"

interface Flight {
  readonly landed: Deferred.Deferred<unknown, McpError.McpError>
  fiber: Fiber.Fiber<unknown, McpError.McpError> | undefined
}

// Longer than this no layer waits for an authorization server when it closes.
const closingMillis = 5_000

/** `context` is what the work runs with, whoever asks for it first. It ends with the scope. */
export const make = <R>(context: Context.Context<R>): Effect.Effect<Flights<R>, never, Scope.Scope> =>
  Effect.acquireRelease(Effect.sync(() => new Flights(context)), (flights) => flights.close)

export class Flights<R> {
  private readonly flights = new Map<string, Flight>()
  private readonly fibers = new Set<Fiber.Fiber<unknown, McpError.McpError>>()
  private isClosed = false
  private readonly context: Context.Context<R>

  constructor(context: Context.Context<R>) {
    this.context = context
  }

  /** Ends all work, and waits for what must not be left half done: a token that was issued is kept. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.isClosed = true
    const fibers = [...this.fibers]
    for (const fiber of fibers) fiber.interruptUnsafe()
    return Effect.asVoid(Effect.timeoutOption(Fiber.awaitAll(fibers), closingMillis))
  })

  /** Waits for the work under way for this key, or begins it. The same key must stand for the same type. */
  run<A>(key: string, work: Effect.Effect<A, McpError.McpError, R>): Effect.Effect<A, McpError.McpError> {
    return Effect.suspend(() => {
      const flight = this.flights.get(key) ?? this.begin(key, work)
      return Deferred.await(flight.landed) as Effect.Effect<A, McpError.McpError>
    })
  }

  /** Ends the work under way for the keys that begin like that; those who wait for it fail with the error. */
  end(prefix: string, error: McpError.McpError): void {
    for (const [key, flight] of this.flights) {
      if (!key.startsWith(prefix)) continue
      this.flights.delete(key)
      Deferred.doneUnsafe(flight.landed, Exit.fail(error))
      flight.fiber?.interruptUnsafe()
    }
  }

  private begin<A>(key: string, work: Effect.Effect<A, McpError.McpError, R>): Flight {
    const flight: Flight = { landed: Deferred.makeUnsafe(), fiber: undefined }
    if (this.isClosed) {
      Deferred.doneUnsafe(flight.landed, Exit.fail(closed()))
      return flight
    }
    this.flights.set(key, flight)
    const fiber = Effect.runForkWith(this.context)(work)
    flight.fiber = fiber
    this.fibers.add(fiber)
    fiber.addObserver((exit) => {
      this.fibers.delete(fiber)
      if (this.flights.get(key) === flight) this.flights.delete(key)
      // Whoever waits was not interrupted: the layer was.
      const isEnded = Exit.isFailure(exit) && Exit.hasInterrupts(exit)
      Deferred.doneUnsafe(flight.landed, isEnded ? Exit.fail(closed()) : exit)
    })
    return flight
  }
}

const closed = (): McpError.McpError => Failure.failed("sign-in", "the authorization layer was closed")
