/**
 * The GET that a server of the legacy era may answer with a stream of events (2025-11-25 basic/transports, Listening for
 * Messages from the Server).
 */
import { McpError, PeerText, type Revision } from "@mcp-effect/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"
import * as Body from "./Body.ts"
import * as HttpFailure from "./HttpFailure.ts"
import * as HttpPeer from "./HttpPeer.ts"

const refuse = (
  peer: HttpPeer.HttpPeer,
  response: HttpClientResponse,
  sessionId: string | undefined
): Effect.Effect<never, HttpFailure.Failure> => {
  const { headers, status } = response
  return Effect.flatMap(
    Effect.zip(Body.hint(response, headers), Clock.currentTimeMillis),
    ([text, nowMillis]) => {
      if (status < 200 || status > 299) {
        const inSession = sessionId !== undefined && peer.session.hasStreams
        if (inSession && status === 404) peer.session.expire(sessionId)
        return Effect.fail(
          HttpFailure.ofStatus({ status, headers, text, url: peer.endpoint.url, inSession, nowMillis })
        )
      }
      return Effect.fail({
        reason: new McpError.MalformedMessage({
          problem: "the answer to a GET is not text/event-stream",
          status,
          contentType: HttpFailure.shownMediaType(headers),
          excerpt: text === "" ? undefined : PeerText.excerpt(text)
        }),
        delivery: "refused" as const
      })
    }
  )
}

const isEvents = ({ headers, status }: HttpClientResponse): boolean =>
  status >= 200 && status <= 299 && HttpFailure.mediaType(headers) === "text/event-stream"

/** Asks for what followed an event, or for what comes from now on. Nothing but a stream is opened and read. */
export const run = <A>(
  peer: HttpPeer.HttpPeer,
  revision: Revision.Facts | undefined,
  lastEventId: string | undefined,
  read: (response: HttpClientResponse) => Effect.Effect<A, HttpFailure.Failure>,
  /** Hears that the stream is open, before anything is read. */
  onOpen?: () => void
): Effect.Effect<A, HttpFailure.Failure> =>
  Effect.suspend((): Effect.Effect<A, HttpFailure.Failure> => {
    const { session } = peer
    if (session.isOverFor(undefined)) {
      return Effect.fail({ reason: new McpError.SessionExpired({ status: 404 }), delivery: "unsent" })
    }
    const sessionId = revision === undefined ? undefined : session.idFor(undefined, revision)
    const request = HttpClientRequest.makeWith(
      "GET",
      peer.endpoint.url,
      UrlParams.empty,
      Option.none(),
      peer.headers.forGet(sessionId, session.revision, lastEventId),
      HttpBody.empty
    )
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(HttpPeer.execute(peer, request)), (response) => {
        // A body that nobody began to read would keep its connection open.
        let isTaken = false
        const take = <B>(body: () => Effect.Effect<B, HttpFailure.Failure>): Effect.Effect<B, HttpFailure.Failure> =>
          Effect.suspend(() => {
            isTaken = true
            return body()
          })
        return Effect.ensuring(
          restore(Effect.suspend(() => {
            if (!isEvents(response)) return take(() => refuse(peer, response, sessionId))
            session.hasStreams = true
            onOpen?.()
            return take(() => read(response))
          })),
          Effect.suspend(() => isTaken ? Effect.void : Body.discard(response))
        )
      })
    )
  })
