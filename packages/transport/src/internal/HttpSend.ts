/**
 * What is sent over HTTP without an answer: notifications, replies to requests of the server, the end of a session.
 */
import { Activity, Envelope, McpError, type Revision } from "@mcp-effect/protocol"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { Outgoing } from "../Transport.ts"
import * as Body from "./Body.ts"
import { Holds } from "./Holds.ts"
import * as HttpFailure from "./HttpFailure.ts"
import * as HttpPeer from "./HttpPeer.ts"

// How long a server may take to accept a message that it does not answer.
const acceptMillis = 60_000

// A courtesy to the server is not waited for any longer.
const courtesyMillis = 1_000

const fork = (peer: HttpPeer.HttpPeer, effect: Effect.Effect<void>): Fiber.Fiber<void> =>
  Fiber.runIn(Effect.runForkWith(peer.context)(effect), peer.scope)

/** Reads on for a moment beside what goes on, so that the connection can be used again. */
export const drain = (peer: HttpPeer.HttpPeer, response: HttpClientResponse): void => {
  peer.draining.addFiber(fork(peer, Body.drain(response)))
}

const refusal = (
  peer: HttpPeer.HttpPeer,
  response: HttpClientResponse,
  inSession: boolean
): Effect.Effect<never, HttpFailure.Failure> => {
  const { headers, status } = response
  const hint = Body.hint(response, headers)
  return Effect.flatMap(
    Effect.zip(hint, Clock.currentTimeMillis),
    ([text, nowMillis]) =>
      Effect.fail(HttpFailure.ofStatus({ status, headers, text, url: peer.endpoint.url, inSession, nowMillis }))
  )
}

const post = (
  peer: HttpPeer.HttpPeer,
  message: Envelope.Notification | Envelope.Reply,
  revision: Revision.Facts
): Effect.Effect<void, HttpFailure.Failure> =>
  Effect.suspend((): Effect.Effect<void, HttpFailure.Failure> => {
    const method = message._tag === "Notification" ? message.method : undefined
    if (message._tag === "Reply" && !revision.serverRequests) {
      // 2026-07-28 streamable-http, Sending Messages: the body must not be a response.
      const problem = `Revision ${revision.version} has no answers to requests of the server`
      return Effect.fail({ reason: new McpError.InvalidRequest({ problem }), delivery: "unsent" })
    }
    const prepared = HttpPeer.prepare(peer, { method, revision }, Envelope.encode(message), false)
    if (Result.isFailure(prepared)) return Effect.fail(prepared.failure)
    const { request, sessionId } = prepared.success
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(HttpPeer.execute(peer, request)), (response) => {
        if (response.status < 200 || response.status > 299) {
          // What is not known to the server any more may be the request instead.
          const isLost = response.status === 404 && method !== "notifications/cancelled"
          if (sessionId !== undefined && isLost) peer.session.expire(sessionId)
          return restore(refusal(peer, response, sessionId !== undefined))
        }
        // Any success will do: servers answer 200 and 204 too, some with a body.
        drain(peer, response)
        return Effect.void
      })
    )
  })

/** Nobody else watches over these messages. The time that a person takes does not count. */
const inTime = (effect: Effect.Effect<void, HttpFailure.Failure>): Effect.Effect<void, HttpFailure.Failure> =>
  Effect.suspend(() => {
    let wasHeld = false
    const holds = new Holds(() => {
      wasHeld = true
    }, () => {})
    const watch: Effect.Effect<never, HttpFailure.Failure> = Effect.flatMap(Effect.sleep(acceptMillis), () => {
      if (wasHeld) {
        wasHeld = holds.isHeld
        return watch
      }
      const reason = new McpError.RequestTimeout({ kind: "idle", millis: acceptMillis })
      return Effect.fail<HttpFailure.Failure>({ reason, delivery: "unknown" })
    })
    return Effect.raceFirst(Effect.provideService(effect, Activity.Activity, holds), watch)
  })

/** Ends with the connection, too. */
const within = (
  peer: HttpPeer.HttpPeer,
  effect: Effect.Effect<void, HttpFailure.Failure>
): Effect.Effect<void, HttpFailure.Failure> =>
  Effect.suspend(() => {
    const reason = HttpPeer.closedReason(peer)
    if (peer.scope.state._tag === "Closed") return Effect.fail({ reason, delivery: "unsent" })
    return Effect.flatMap(Effect.forkIn(effect, peer.scope, { startImmediately: true }), (fiber) =>
      Fiber.await(fiber).pipe(
        Effect.onInterrupt(() =>
          Fiber.interrupt(fiber)
        ),
        Effect.flatMap((exit): Effect.Effect<void, HttpFailure.Failure> =>
          exit._tag === "Failure" && Cause.hasInterruptsOnly(exit.cause)
            ? Effect.fail({ reason, delivery: "unknown" })
            : exit
        )
      ))
  })

/** Sends a message and waits until the server has accepted it. */
export const send = (
  peer: HttpPeer.HttpPeer,
  message: Envelope.Notification | Envelope.Reply,
  revision: Revision.Facts
): Effect.Effect<void, McpError.McpError> =>
  within(peer, inTime(post(peer, message, revision))).pipe(
    Effect.mapError(({ delivery, reason }) =>
      McpError.make(reason, delivery, {
        server: peer.endpoint.target,
        method: message._tag === "Notification" ? message.method : undefined
      })
    ),
    Effect.updateContext((context: Context.Context<never>) => Context.merge(context, peer.overrides))
  )

/**
 * Tells the server that nobody waits for a request any more, once `after` is done. Whether that works changes nothing
 * here.
 */
export const cancelled = (
  peer: HttpPeer.HttpPeer,
  outgoing: Outgoing,
  reason: string | undefined,
  after: Effect.Effect<unknown> = Effect.void
): void => {
  const params = reason === undefined ? { requestId: outgoing.id } : { requestId: outgoing.id, reason }
  fork(
    peer,
    Effect.andThen(
      after,
      Effect.timeout(
        post(peer, { _tag: "Notification", method: "notifications/cancelled", params }, outgoing.revision),
        courtesyMillis
      )
    ).pipe(
      Effect.catch(() => Effect.logDebug(`${peer.endpoint.target} could not be told that a request is cancelled`))
    )
  )
}

/** Ends the session of the server, if there is one. Servers may refuse that. */
export const endSession = (peer: HttpPeer.HttpPeer): Effect.Effect<void> =>
  Effect.suspend(() => {
    const sessionId = peer.session.take()
    if (sessionId === undefined) return Effect.void
    const request = HttpClientRequest.makeWith(
      "DELETE",
      peer.endpoint.url,
      UrlParams.empty,
      Option.none(),
      peer.headers.forDelete(sessionId, peer.session.revision),
      HttpBody.empty
    )
    return Effect.flatMap(HttpPeer.execute(peer, request), Body.drain).pipe(
      Effect.timeout(courtesyMillis),
      Effect.interruptible,
      Effect.catch(() => Effect.logDebug(`${peer.endpoint.target} could not be told that the session ends`)),
      Effect.updateContext((context: Context.Context<never>) => Context.merge(context, peer.overrides))
    )
  })
