/**
 * The stream for messages that belong to no request: a GET that a server of the legacy era may answer with events
 * (2025-11-25 basic/transports, Listening for Messages from the Server).
 *
 * It is opened once, and goes on where the one before it ended, as far as the server named its events. When it is
 * opened, and whether again, is for whoever opens it.
 */
import { Envelope, McpError } from "@mcp-effect/protocol"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Cancel, Exchange } from "../Transport.ts"
import * as Body from "./Body.ts"
import * as EventRequest from "./EventRequest.ts"
import { EventStream } from "./EventStream.ts"
import * as HttpFailure from "./HttpFailure.ts"
import * as HttpPeer from "./HttpPeer.ts"
import * as Resumption from "./Resumption.ts"

/** Takes one event. What is not a request or a notification has no place on this stream. */
const take = (peer: HttpPeer.HttpPeer, exchange: Exchange, data: string): void => {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    value = undefined
  }
  const isBatch = Array.isArray(value) && peer.session.revision?.batching === true
  for (const one of isBatch ? value as ReadonlyArray<unknown> : [value]) {
    const message = Envelope.read(one)
    if (message !== undefined && message._tag !== "Response") exchange.onMessage(message)
    else {
      peer.inbound.onDiagnostic({
        _tag: "UnexpectedMessage",
        description: "An event of the standby stream is neither a request nor a notification and was skipped"
      })
    }
  }
}

const read = (
  peer: HttpPeer.HttpPeer,
  exchange: Exchange,
  response: HttpClientResponse
): Effect.Effect<never, HttpFailure.Failure> => {
  const events = new EventStream({
    maxEventBytes: peer.maxEventBytes,
    onData: (data) => take(peer, exchange, data)
  })
  const keepPlace = (): void => {
    if (events.lastEventId !== undefined) peer.session.standbyEventId = events.lastEventId
  }
  const ended = (cause: unknown): Effect.Effect<never, HttpFailure.Failure> => {
    events.end()
    keepPlace()
    return Effect.fail({
      reason: new McpError.StreamEnded({
        resumable: peer.session.standbyEventId !== undefined,
        retryAfterMillis: Resumption.announcedWait(events),
        ...(cause === undefined ? undefined : { cause })
      }),
      delivery: "unknown"
    })
  }
  return Effect.matchEffect(
    Stream.runForEachArray(Body.stream(response, response.headers), (chunks) => {
      exchange.onActivity(0)
      for (const chunk of chunks) {
        if (!events.feed(chunk)) return Effect.fail(new Body.BodyTooLarge({ limit: peer.maxEventBytes }))
      }
      keepPlace()
      return Effect.void
    }),
    {
      onSuccess: () => ended(undefined),
      onFailure: (error) => {
        // The error of the client holds the request with its credentials.
        if (error._tag === "HttpClientError") return ended(HttpFailure.causeOf(error))
        if (error._tag === "BodyCorrupt") return ended(error)
        // What follows the event cannot be had without it.
        peer.session.standbyEventId = undefined
        return Effect.fail({
          reason: new McpError.MessageTooLarge({ limit: error.limit, direction: "received" }),
          delivery: "unknown"
        })
      }
    }
  )
}

/** A server that does not know the event any more may refuse to go on from it. */
const isRefusalOfEvent = (reason: McpError.McpErrorReason): boolean =>
  reason._tag === "HttpStatus" && !reason.isTransient && reason.status !== 405 && reason.status !== 409

const listen = (peer: HttpPeer.HttpPeer, exchange: Exchange): Effect.Effect<never, HttpFailure.Failure> =>
  Effect.suspend(() => {
    const { revision, standbyEventId } = peer.session
    const asked = EventRequest.run(peer, revision, standbyEventId, (response) => read(peer, exchange, response), () => {
      exchange.onActivity(0)
      exchange.onStream?.(true)
    })
    if (standbyEventId === undefined) return asked
    return Effect.mapError(asked, (failure) => {
      if (!isRefusalOfEvent(failure.reason)) return failure
      // The next stream begins anew.
      peer.session.standbyEventId = undefined
      return {
        reason: new McpError.StreamEnded({ resumable: false, cause: failure.reason }),
        delivery: failure.delivery
      }
    })
  })

/** Opens the stream. It ends with `onFailure`, since nothing answers it. */
export const open = (
  peer: HttpPeer.HttpPeer,
  exchange: Exchange,
  context: Context.Context<never>
): Cancel => {
  let isCancelled = false
  const fiber = Effect.runForkWith(Context.merge(context, peer.overrides))(listen(peer, exchange))
  Fiber.runIn(fiber, peer.scope)
  fiber.addObserver((exit) => {
    if (isCancelled || exit._tag === "Success") return
    const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
      ?? { reason: HttpPeer.closedReason(peer), delivery: "unknown" as const }
    exchange.onFailure(McpError.make(failure.reason, failure.delivery, { server: peer.endpoint.target }))
  })
  return () => {
    isCancelled = true
    fiber.interruptUnsafe()
  }
}
