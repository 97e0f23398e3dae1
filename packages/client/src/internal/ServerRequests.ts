/**
 * Requests that a legacy server sends to the client, and the client's answers.
 */
import { type Envelope, ErrorCode, Json, type McpError, Metadata, PeerText, type Revision } from "@mcp-effect/protocol"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Requests } from "./Requests.ts"

/** How many answers may be under way at once; a server cannot make the client work without bound (SEC). */
export const maxConcurrentReplies = 8

const saturationLogMillis = 5_000

/** Answers one kind of request: with a result, or with an error that the server may see. */
export type Handler = (
  request: Envelope.Request
) => Effect.Effect<Json.JsonObject, Envelope.ErrorObject>

const methodNotFound = (method: string): Envelope.ErrorObject => ({
  code: ErrorCode.MethodNotFound,
  message: `Method not found: ${PeerText.excerpt(method)}`
})

// "A handler's failure reaches the server as a constant message": its text may hold what the server must not see.
const internalError: Envelope.ErrorObject = { code: ErrorCode.InternalError, message: "Internal error" }

const ping: Handler = () => Effect.succeed({})

/** What a message that belongs to a task says it belongs to is said again in its answer (2025-11-25 tasks). */
const relatedTo = (request: Envelope.Request, result: Json.JsonObject): Json.JsonObject => {
  const task = Json.objectMember(Json.objectMember(request.params, "_meta"), Metadata.relatedTaskKey)
  if (task === undefined) return result
  return { ...result, _meta: { ...Json.objectMember(result, "_meta"), [Metadata.relatedTaskKey]: task } }
}

export class ServerRequests {
  private active = 0
  private loggedAt = -Infinity
  private readonly clock: Clock.Clock
  private readonly fork: (effect: Effect.Effect<void>) => void
  private readonly handlers: ReadonlyMap<string, Handler>

  constructor(
    clock: Clock.Clock,
    fork: (effect: Effect.Effect<void>) => void,
    handlers: ReadonlyMap<string, Handler>
  ) {
    this.clock = clock
    this.fork = fork
    this.handlers = handlers
  }

  answer(request: Envelope.Request, requests: Requests, revision: Revision.Facts): void {
    if (this.active >= maxConcurrentReplies) {
      this.logSaturation(requests.server)
      return
    }
    this.active++
    const handler = request.method === "ping" ? ping : this.handlers.get(request.method)
    const outcome: Effect.Effect<Envelope.Reply["outcome"]> = handler === undefined
      ? Effect.succeed({ _tag: "Error", error: methodNotFound(request.method) })
      : Effect.suspend(() => handler(request)).pipe(
        Effect.match({
          onSuccess: (result): Envelope.Reply["outcome"] => ({ _tag: "Result", result: relatedTo(request, result) }),
          onFailure: (error): Envelope.Reply["outcome"] => ({ _tag: "Error", error })
        }),
        Effect.catchDefect((defect) =>
          Effect.as(
            Effect.logError(`The handler of ${PeerText.excerpt(request.method)} failed`, defect),
            { _tag: "Error", error: internalError } as const
          )
        )
      )
    this.fork(
      outcome.pipe(
        Effect.flatMap((outcome) => requests.connection.send({ _tag: "Reply", id: request.id, outcome }, revision)),
        Effect.catch((error: McpError.McpError) =>
          Effect.logDebug(`The answer to a request of ${requests.server} could not be sent: ${error.reason._tag}`)
        ),
        Effect.ensuring(Effect.sync(() => {
          this.active--
        }))
      )
    )
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
