/**
 * The stream for messages that belong to no request: a GET that a server of the legacy era may answer with events
 * (2025-11-25 basic/transports, Listening for Messages from the Server).
 *
 * It is opened once; when it is opened, and whether again, is for whoever opens it.
 */
import { Envelope, McpError, PeerText } from "@mcp-effect/protocol"
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
import * as Stream from "effect/Stream"
import type { Cancel, Exchange } from "../Transport.ts"
import * as Body from "./Body.ts"
import { EventStream } from "./EventStream.ts"
import * as HttpFailure from "./HttpFailure.ts"
import * as HttpPeer from "./HttpPeer.ts"

const refused = (reason: McpError.McpErrorReason): HttpFailure.Failure => ({ reason, delivery: "refused" })

const ended = (cause: unknown): HttpFailure.Failure => ({
  reason: new McpError.StreamEnded({ resumable: false, ...(cause === undefined ? undefined : { cause }) }),
  delivery: "unknown"
})

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
  response: HttpClientResponse,
  sessionId: string | undefined,
  /** Marks that what it is given reads the body. */
  taking: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
): Effect.Effect<never, HttpFailure.Failure> => {
  const { headers, status } = response
  const textOptions = { maxBytes: peer.maxMessageBytes, onChunk: () => {} }
  if (status < 200 || status > 299) {
    return Effect.flatMap(
      Effect.zip(taking(Body.hint(response, headers, textOptions)), Clock.currentTimeMillis),
      ([text, nowMillis]) => {
        const inSession = sessionId !== undefined
        if (sessionId !== undefined && status === 404) peer.session.expire(sessionId)
        return Effect.fail(
          HttpFailure.ofStatus({ status, headers, text, url: peer.endpoint.url, inSession, nowMillis })
        )
      }
    )
  }
  if (HttpFailure.mediaType(headers) !== "text/event-stream") {
    return Effect.flatMap(taking(Body.hint(response, headers, textOptions)), (text) =>
      Effect.fail(refused(
        new McpError.MalformedMessage({
          problem: "the standby stream is not text/event-stream",
          status,
          contentType: HttpFailure.shownMediaType(headers),
          excerpt: text === "" ? undefined : PeerText.excerpt(text)
        })
      )))
  }
  exchange.onActivity(0)
  const events = new EventStream({
    maxEventBytes: peer.maxEventBytes,
    onData: (data) => take(peer, exchange, data)
  })
  return taking(Stream.runForEachArray(Body.stream(response, headers), (chunks) => {
    exchange.onActivity(0)
    for (const chunk of chunks) {
      if (!events.feed(chunk)) return Effect.fail(new Body.BodyTooLarge({ limit: peer.maxEventBytes }))
    }
    return Effect.void
  })).pipe(
    Effect.matchEffect({
      onSuccess: () => Effect.fail(ended(undefined)),
      onFailure: (error) => Effect.fail(ended(error))
    })
  )
}

/** Opens the stream. It ends with `onFailure`, since nothing answers it. */
export const open = (
  peer: HttpPeer.HttpPeer,
  exchange: Exchange,
  context: Context.Context<never>
): Cancel => {
  const { revision } = peer.session
  const sessionId = revision === undefined ? undefined : peer.session.idFor(undefined, revision)
  const request = HttpClientRequest.makeWith(
    "GET",
    peer.endpoint.url,
    UrlParams.empty,
    Option.none(),
    peer.headers.forGet(sessionId, revision),
    HttpBody.empty
  )
  let isCancelled = false
  const fiber = Effect.runForkWith(Context.merge(context, peer.overrides))(
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(HttpPeer.execute(peer, request)), (response) => {
        // A body that nobody began to read would keep its connection open.
        let isTaken = false
        const taking = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
          Effect.suspend(() => {
            isTaken = true
            return effect
          })
        return Effect.ensuring(
          restore(Effect.suspend(() => read(peer, exchange, response, sessionId, taking))),
          Effect.suspend(() => isTaken ? Effect.void : Body.discard(response))
        )
      })
    )
  )
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
