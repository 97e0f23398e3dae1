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

export class Flights<R> {
  private readonly flights = new Map<string, Flight>()
  private readonly scope: Scope.Scope
  private readonly context: Context.Context<R>

  /** `context` is what the work runs with, whoever asks for it first. */
  constructor(scope: Scope.Scope, context: Context.Context<R>) {
    this.scope = scope
    this.context = context
  }

  /** Waits for the work under way for this key, or begins it. The same key must stand for the same type. */
  run<A>(key: string, work: Effect.Effect<A, McpError.McpError, R>): Effect.Effect<A, McpError.McpError> {
    return Effect.suspend(() => {
      const flight = this.flights.get(key) ?? this.begin(key, work)
      return Deferred.await(flight.landed) as Effect.Effect<A, McpError.McpError>
    })
  }

  /** Ends the work under way for a key; those who wait for it fail with the error. */
  end(key: string, error: McpError.McpError): void {
    const flight = this.flights.get(key)
    if (flight === undefined) return
    this.flights.delete(key)
    Deferred.doneUnsafe(flight.landed, Exit.fail(error))
    flight.fiber?.interruptUnsafe()
  }

  private begin<A>(key: string, work: Effect.Effect<A, McpError.McpError, R>): Flight {
    const flight: Flight = { landed: Deferred.makeUnsafe(), fiber: undefined }
    this.flights.set(key, flight)
    const fiber = Effect.runForkWith(this.context)(work)
    flight.fiber = fiber
    fiber.addObserver((exit) => {
      if (this.flights.get(key) === flight) this.flights.delete(key)
      // Whoever waits was not interrupted: the layer was.
      const isEnded = Exit.isFailure(exit) && Exit.hasInterrupts(exit)
      Deferred.doneUnsafe(
        flight.landed,
        isEnded ? Exit.fail(Failure.failed("sign-in", "the authorization layer was closed")) : exit
      )
    })
    Fiber.runIn(fiber, this.scope)
    return flight
  }
}
