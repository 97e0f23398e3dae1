/**
 * Goes on with a response stream that ended before the response (2025-11-25 basic/transports, Resumability and
 * Redelivery): waits as long as the server asks, then asks by GET for what followed the last event. It runs in the fiber
 * of the exchange that the stream belongs to, and ends with it: nothing goes on once nobody waits.
 */
import { McpError, type Revision } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Result from "effect/Result"
import * as EventRequest from "./EventRequest.ts"
import type { EventStream } from "./EventStream.ts"
import type { Failure } from "./HttpFailure.ts"
import type { HttpPeer } from "./HttpPeer.ts"

const defaultWaitMillis = 1_000
// `retry: 0` must not make a loop, and no server can put a client to sleep.
const shortestWaitMillis = 100
const longestWaitMillis = 60_000

/** Attempts in a row that bring no new event. */
const maxUnproductive = 2

const clamp = (millis: number): number => Math.min(Math.max(millis, shortestWaitMillis), longestWaitMillis)

/** How long to wait before a stream is opened again, `undefined` where the server does not say. */
export const announcedWait = ({ retryMillis }: EventStream): number | undefined =>
  retryMillis === undefined ? undefined : clamp(retryMillis)

/** What has to be known of a stream to go on with it. */
export interface Interrupted {
  readonly revision: Revision.Facts
  readonly events: EventStream
  readonly isOpen: () => boolean
  readonly onWait: (millis: number) => void
  readonly onOpen: () => void
  /** Reads on, to the end; gives what broke it off, if anything did. */
  readonly read: (response: HttpClientResponse) => Effect.Effect<unknown, Failure>
}

/** What may be different the next time. A server that has not noticed yet that the stream broke says 409. */
const mayComeBack = (reason: McpError.McpErrorReason): boolean =>
  reason._tag !== "SessionExpired" && (reason.isTransient || (reason._tag === "HttpStatus" && reason.status === 409))

/** A server that has no such stream cannot resume it; anything else that is in the way is told as it is. */
const ending = (reason: McpError.McpErrorReason): McpError.McpErrorReason =>
  reason._tag === "HttpStatus" || reason._tag === "MalformedMessage"
    ? new McpError.StreamEnded({ resumable: false, cause: reason })
    : reason

/** The request was accepted, so that it may have been executed, however the stream goes on. */
const failed = (reason: McpError.McpErrorReason): Effect.Effect<never, Failure> =>
  Effect.fail({ reason, delivery: "unknown" })

/** Reads on until the stream is not open any more. `cause` is what broke it off, if anything did. */
export const run = (peer: HttpPeer, stream: Interrupted, cause: unknown): Effect.Effect<void, Failure> => {
  const { events } = stream
  // It has begun one that it named the events of.
  peer.session.hasStreams = true

  const attempt = (unproductive: number, cause: unknown, refusedFor: number): Effect.Effect<void, Failure> => {
    if (unproductive === maxUnproductive) {
      return failed(new McpError.StreamEnded({ resumable: true, ...(cause === undefined ? undefined : { cause }) }))
    }
    const from = events.lastEventId
    const wait = Math.max(announcedWait(events) ?? defaultWaitMillis, refusedFor)
    stream.onWait(wait)
    // What is wrong with the stream itself is no failure to open it.
    const read = (response: HttpClientResponse) => Effect.result(stream.read(response))
    return Effect.sleep(wait).pipe(
      Effect.andThen(EventRequest.run(peer, stream.revision, from, read, stream.onOpen)),
      Effect.matchEffect({
        onSuccess: (outcome) =>
          Result.isFailure(outcome)
            ? Effect.fail(outcome.failure)
            : stream.isOpen()
            ? attempt(events.lastEventId === from ? unproductive + 1 : 0, outcome.success, 0)
            : Effect.void,
        onFailure: ({ reason }) =>
          mayComeBack(reason)
            ? attempt(unproductive + 1, reason, reason._tag === "HttpStatus" ? clamp(reason.retryAfterMillis ?? 0) : 0)
            : failed(ending(reason))
      })
    )
  }

  return attempt(0, cause, 0)
}
