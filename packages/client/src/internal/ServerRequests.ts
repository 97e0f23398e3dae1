/**
 * Requests that a legacy server sends to the client, and the client's answers.
 */
import { type Envelope, ErrorCode, Json, type McpError, Metadata, PeerText, type Revision } from "@mcp-effect/protocol"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { type Interaction, unhandled } from "./Interaction.ts"
import type { InFlight } from "./Pending.ts"
import type { Requests } from "./Requests.ts"

/** How many answers may be under way at once, and as many to pings; a server cannot make the client work without bound (SEC). */
const maxConcurrentReplies = 8

const saturationLogMillis = 5_000

// "A handler's failure reaches the server as a constant message": its text may hold what the server must not see.
const internalError: Envelope.ErrorObject = { code: ErrorCode.InternalError, message: "Internal error" }

const givenUp: Envelope.ErrorObject = { code: ErrorCode.InternalError, message: "Cancelled" }

const ping: Effect.Effect<Json.JsonObject> = Effect.succeed({})

/** What a message that belongs to a task says it belongs to is said again in its answer (2025-11-25 tasks). */
const relatedTo = (request: Envelope.Request, result: Json.JsonObject): Json.JsonObject => {
  const task = Json.objectMember(Json.objectMember(request.params, "_meta"), Metadata.relatedTaskKey)
  if (task === undefined) return result
  return { ...result, _meta: { ...Json.objectMember(result, "_meta"), [Metadata.relatedTaskKey]: task } }
}

export class ServerRequests {
  private loggedAt = -Infinity
  private readonly clock: Clock.Clock
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private readonly interaction: Interaction
  /** Whether the server has a way to ask for more than a ping. */
  private readonly serves: () => boolean
  private readonly active = new Map<Envelope.RequestId, Fiber.Fiber<void> | undefined>()
  private pings = 0

  constructor(
    clock: Clock.Clock,
    fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>,
    interaction: Interaction,
    serves: () => boolean
  ) {
    this.clock = clock
    this.fork = fork
    this.interaction = interaction
    this.serves = serves
  }

  /**
   * Answers a request. `origin` is the call on whose stream it came; its idle timeout, or that of every call where it
   * cannot be told, is paused meanwhile.
   */
  answer(
    request: Envelope.Request,
    requests: Requests,
    revision: Revision.Facts,
    origin: InFlight | undefined
  ): void {
    const isPing = request.method === "ping"
    // A ping is answered promptly, however many questions wait for a person.
    const atOnce = isPing ? this.pings : this.active.size - this.pings
    if (atOnce >= maxConcurrentReplies || this.active.has(request.id)) {
      this.logSaturation(requests.server)
      return
    }
    const release = isPing ? () => {} : origin === undefined ? requests.holdAll() : origin.hold()
    const answer = isPing
      ? ping
      : this.serves()
      ? this.interaction.answer(request.method, request.params, revision)
      : Effect.fail(unhandled(request.method))
    const outcome = answer.pipe(
      Effect.match({
        onSuccess: (result): Envelope.Reply["outcome"] => ({ _tag: "Result", result: relatedTo(request, result) }),
        onFailure: ({ code, message }): Envelope.Reply["outcome"] => ({
          _tag: "Error",
          error: { code, message: PeerText.excerpt(message) }
        })
      }),
      Effect.catchDefect((defect) =>
        Effect.as(
          Effect.logError(`The handler of ${PeerText.excerpt(request.method)} failed`, defect),
          { _tag: "Error", error: internalError } as const
        )
      )
    )
    this.active.set(request.id, undefined)
    if (isPing) this.pings++
    const done = (): void => {
      this.active.delete(request.id)
      if (isPing) this.pings--
      release()
    }
    const fiber = this.fork(
      outcome.pipe(
        Effect.flatMap((outcome) => requests.connection.send({ _tag: "Reply", id: request.id, outcome }, revision)),
        Effect.catch((error: McpError.McpError) =>
          Effect.logDebug(`The answer to a request of ${requests.server} could not be sent: ${error.reason._tag}`)
        ),
        // Nobody waits for the answer once the connection is gone.
        Effect.raceFirst(requests.connection.closed),
        Effect.asVoid,
        Effect.ensuring(Effect.sync(done))
      )
    )
    if (!this.active.has(request.id)) return
    this.active.set(request.id, fiber)
    // The call that something was asked for is over, and so is whatever the user was asked.
    if (origin !== undefined) origin.onSettled(() => fiber.interruptUnsafe())
    else if (!isPing) requests.onAllGivenUp(() => this.giveUp(request, requests, revision, fiber))
  }

  /** A server may take back what it asks (2025-11-25 basic/utilities/cancellation), or tell that it is done. */
  onNotification(notification: Envelope.Notification): void {
    this.interaction.visits.onNotification(notification)
    if (notification.method !== "notifications/cancelled") return
    const id = notification.params?.["requestId"]
    if (typeof id === "string" || typeof id === "number") this.active.get(id)?.interruptUnsafe()
  }

  /**
   * Every call that a request can have been made for was given up. It cannot be told that it was made for one of them,
   * so it is answered all the same.
   */
  private giveUp(
    request: Envelope.Request,
    requests: Requests,
    revision: Revision.Facts,
    fiber: Fiber.Fiber<void>
  ): void {
    if (this.active.get(request.id) !== fiber) return
    fiber.interruptUnsafe()
    const outcome: Envelope.Reply["outcome"] = { _tag: "Error", error: givenUp }
    this.fork(Effect.ignore(requests.connection.send({ _tag: "Reply", id: request.id, outcome }, revision)))
  }

  private logSaturation(server: string): void {
    const now = Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
    if (now - this.loggedAt < saturationLogMillis) return
    this.loggedAt = now
    this.fork(Effect.logWarning(
      `${server} sends requests faster than they can be answered; more than ${maxConcurrentReplies} at once are dropped`
    ))
  }
}
