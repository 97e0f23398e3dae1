/**
 * One request over HTTP+SSE: its POST. The answer comes over the stream that all requests share.
 */
import { Activity, Envelope, McpError } from "@mcp-effect/protocol"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { Cancel, Evidence, Exchange, Outgoing } from "../Transport.ts"
import * as Body from "./Body.ts"
import type { Draining } from "./Draining.ts"
import { Holds } from "./Holds.ts"
import * as HttpFailure from "./HttpFailure.ts"
import * as HttpPeer from "./HttpPeer.ts"
import * as HttpSend from "./HttpSend.ts"

/** How the POST of a request came out, as far as that settles the request. */
export interface Receiver {
  readonly onFailure: (id: Envelope.RequestId, error: McpError.McpError) => void
  readonly onRefusal: (answer: string) => void
}

/** How long a cancel waits for its request to be accepted. */
const acceptMillis = 1_000

export class SsePost implements Outgoing, Exchange {
  readonly id: Envelope.RequestId
  readonly method: string
  readonly text: string
  readonly revision: Outgoing["revision"]
  readonly routing: Outgoing["routing"]
  /** The server is told here, after the POST of the request. */
  readonly onAbandon = "silent"

  private isOver = false
  private fiber: Fiber.Fiber<void, HttpFailure.Failure> | undefined
  private draining: Draining | undefined
  // While a person is waited for, the silence is nobody's fault, and the server does not have the request.
  private readonly holds = new Holds(() => this.exchange.onActivity(Infinity), () => this.exchange.onActivity(0))
  private readonly exchange: Exchange
  private readonly context: Context.Context<never>
  private readonly tellsOfCancel: boolean

  constructor(outgoing: Outgoing, exchange: Exchange, context: Context.Context<never>) {
    this.id = outgoing.id
    this.method = outgoing.method
    this.text = outgoing.text
    this.revision = outgoing.revision
    this.routing = outgoing.routing
    this.tellsOfCancel = outgoing.onAbandon === "cancel"
    this.exchange = exchange
    this.context = context
  }

  onMessage(message: Envelope.Request | Envelope.Notification): void {
    this.exchange.onMessage(message)
  }

  onActivity(graceMillis: number): void {
    this.exchange.onActivity(graceMillis)
  }

  onResponse(message: Envelope.Response, evidence: Evidence): void {
    this.leave()
    this.exchange.onResponse(message, evidence)
  }

  onFailure(error: McpError.McpError): void {
    this.leave()
    this.exchange.onFailure(error)
  }

  /** Sends the request. A refused or failed POST settles it; an accepted one leaves it to the stream. */
  start(peer: HttpPeer.HttpPeer, receiver: Receiver): void {
    const services = Context.add(Context.merge(this.context, peer.overrides), Activity.Activity, this.holds)
    const fiber = Effect.runForkWith(services)(this.run(peer, receiver))
    this.fiber = fiber
    this.draining = peer.draining
    Fiber.runIn(fiber, peer.scope)
    fiber.addObserver((exit) => this.onExit(exit, peer, receiver))
  }

  /** Tells the server that nobody waits any more, unless it does not have the request. */
  cancel(peer: HttpPeer.HttpPeer, forget: Cancel, reason: string | undefined): void {
    if (this.isOver) return
    this.isOver = true
    forget(reason)
    const { fiber } = this
    if (fiber === undefined) return
    if (this.holds.isHeld) return fiber.interruptUnsafe()
    if (!this.tellsOfCancel) return this.leave()
    // It must not overtake the request; but some servers accept that only when they are done with it.
    const accepted = Effect.timeoutOption(Fiber.await(fiber), acceptMillis)
    HttpSend.cancelled(peer, this, reason, Effect.andThen(accepted, Fiber.interrupt(fiber)))
  }

  /** The request is over; whoever answers it over the stream may never answer its POST. */
  private leave(): void {
    this.isOver = true
    if (this.fiber !== undefined) this.draining?.addFiber(this.fiber)
  }

  private run(peer: HttpPeer.HttpPeer, receiver: Receiver): Effect.Effect<void, HttpFailure.Failure> {
    const prepared = HttpPeer.prepare(peer, this, this.text, false)
    if (Result.isFailure(prepared)) return Effect.fail(prepared.failure)
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(HttpPeer.execute(peer, prepared.success.request)), (response) => {
        const { headers, status } = response
        if (status >= 200 && status <= 299) {
          if (!this.isOver) this.exchange.onActivity(0)
          HttpSend.drain(peer, response)
          return Effect.void
        }
        const hint = Body.hint(response, headers)
        return restore(Effect.flatMap(Effect.zip(hint, Clock.currentTimeMillis), ([text, nowMillis]) => {
          // The URL to post to stands for one session.
          const inSession = true
          const answer = HttpFailure.isDecidedByStatus(status, inSession) ? undefined : HttpFailure.errorResponse(text)
          if (answer?.outcome._tag !== "Error") {
            return Effect.fail(
              HttpFailure.ofStatus({ status, headers, text, url: peer.endpoint.url, inSession, nowMillis })
            )
          }
          const { outcome } = answer
          return Effect.sync(() => {
            if (!this.isOver) receiver.onRefusal(Envelope.encode({ _tag: "Reply", id: this.id, outcome }))
          })
        }))
      })
    )
  }

  private onExit(
    exit: Exit.Exit<void, HttpFailure.Failure>,
    peer: HttpPeer.HttpPeer,
    receiver: Receiver
  ): void {
    if (this.isOver || exit._tag === "Success") return
    const failure: HttpFailure.Failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause)) ?? {
      reason: Cause.hasInterruptsOnly(exit.cause)
        ? HttpPeer.closedReason(peer)
        : new McpError.ConnectionFailed({
          target: peer.endpoint.target,
          description: "the HTTP client failed unexpectedly",
          cause: Cause.squash(exit.cause)
        }),
      delivery: this.holds.isHeld ? "unsent" : "unknown"
    }
    receiver.onFailure(
      this.id,
      McpError.make(failure.reason, failure.delivery, { server: peer.endpoint.target, method: this.method })
    )
  }
}
