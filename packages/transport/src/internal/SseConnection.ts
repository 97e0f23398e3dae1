/**
 * A connection over HTTP+SSE: one stream for everything the server says, and a POST for each message to it
 * (2024-11-05 basic/transports, HTTP with SSE).
 */
import { type Envelope, McpError, PeerText, type Revision } from "@mcp-effect/protocol"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Duplex from "../Duplex.ts"
import type { Connection } from "../Transport.ts"
import * as Body from "./Body.ts"
import * as EventRequest from "./EventRequest.ts"
import * as HttpFailure from "./HttpFailure.ts"
import type * as HttpPeer from "./HttpPeer.ts"
import * as HttpSend from "./HttpSend.ts"
import { SharedEvents } from "./SharedEvents.ts"
import * as SseMonitor from "./SseMonitor.ts"
import { type Receiver, SsePost } from "./SsePost.ts"

export interface Options {
  /** Where the stream is; its scope ends everything here. */
  readonly peer: HttpPeer.HttpPeer
  readonly pingMillis: number
}

export interface SseConnection {
  readonly connection: Connection
  /** Ends the connection from this side. What is under way ends with the scope of the peer. */
  readonly close: Effect.Effect<void>
}

const refused = (reason: McpError.McpErrorReason): HttpFailure.Failure => ({ reason, delivery: "refused" })

const malformed = (problem: string, data?: string): HttpFailure.Failure =>
  refused(
    new McpError.MalformedMessage({
      problem,
      ...(data === undefined ? undefined : { excerpt: PeerText.excerpt(data) })
    })
  )

/** Where messages go to. An endpoint on another origin could be after the credentials that go with each of them. */
const resolve = (data: string, url: string): string | HttpFailure.Failure => {
  const place = URL.parse(data.trim(), url)
  if (place === null) return malformed("its endpoint event holds no URL", data)
  if (place.origin !== new URL(url).origin) {
    return malformed("its endpoint event names another origin, where nothing is sent to", data)
  }
  place.username = ""
  place.password = ""
  place.hash = ""
  return place.href
}

// Gateways refuse credentials on the stream, where no status can say so.
const authorizationCodes: ReadonlySet<number> = new Set([401, 403])
const maxRefusalLength = 4096

const isAboutAuthorization = ({ code, message }: Envelope.ErrorObject): boolean =>
  authorizationCodes.has(code) || /\b(?:unauthori[sz]ed|authori[sz]ation|authentication)\b/i.test(message)

/** An error that names no request, and is about the credentials of all of them. */
const refusesAll = (data: string): boolean => {
  if (data.length > maxRefusalLength || !data.includes("\"error\"")) return false
  const response = HttpFailure.errorResponse(data)
  return response?.outcome._tag === "Error" && response.id === undefined && isAboutAuthorization(response.outcome.error)
}

/** Opens the stream and waits for the URL to send to; nothing is sent before it is known. */
export const open = Effect.fnUntraced(function*(
  { peer, pingMillis }: Options
): Effect.fn.Return<SseConnection, HttpFailure.Failure> {
  const { inbound, scope } = peer
  const { target } = peer.endpoint
  const clock = yield* Clock.Clock
  const now = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const startedAt = now()
  let heardAt = startedAt
  const opened = yield* Deferred.make<void, HttpFailure.Failure>()
  let isOpen = false
  let sender = peer

  const duplex: Duplex.Duplex = Duplex.make({
    target,
    inbound: {
      onMessage: inbound.onMessage,
      onDiagnostic: (diagnostic) =>
        inbound.onDiagnostic(
          diagnostic._tag === "StdoutNoise"
            ? {
              _tag: "UnexpectedMessage",
              description: `${diagnostic.lines} event(s) of the stream are not MCP messages and were skipped`
            }
            : diagnostic
        )
    },
    // Nothing tells which credentials an answer was given for.
    evidence: { authorization: "unknown" },
    // Every message has a POST of its own and leaves at once.
    outboxLimit: Infinity,
    messageLimit: peer.maxEventBytes,
    write: (frames, ready) => {
      for (const { request } of frames) {
        if (request instanceof SsePost) request.start(sender, receiver)
      }
      ready()
    }
  })
  const receiver: Receiver = { onFailure: duplex.fail, onRefusal: duplex.onText }

  let closedBy: McpError.McpErrorReason | undefined
  const end = (reason: McpError.McpErrorReason): void => {
    closedBy ??= reason
    duplex.close(McpError.make(reason, "unknown", { server: target }))
  }

  const fail = (failure: HttpFailure.Failure): void => void Deferred.doneUnsafe(opened, Effect.fail(failure))

  const onEndpoint = (data: string): void => {
    // Only the first one counts: where credentials go does not change under way.
    if (isOpen) return
    const place = resolve(data, peer.endpoint.url)
    if (typeof place !== "string") return fail(place)
    isOpen = true
    sender = { ...peer, endpoint: { ...peer.endpoint, url: place } }
    Deferred.doneUnsafe(opened, Effect.void)
  }

  const onMessage = (data: string): void => {
    if (!isOpen) return fail(malformed("its stream does not begin with an endpoint event"))
    if (refusesAll(data)) end(new McpError.Unauthorized({ challenges: [] }))
    else duplex.onText(data)
  }

  /** Reads to the end; gives what broke the stream off, if anything did. */
  const read = (response: HttpClientResponse): Effect.Effect<unknown> => {
    const events = new SharedEvents({
      maxEventBytes: peer.maxEventBytes,
      onEvent: (name, data) => {
        if (name === "endpoint") onEndpoint(data)
        else if (name === "message") onMessage(data)
      },
      onSkipped: duplex.onSkipped
    })
    const reading = Stream.runForEachArray(Body.stream(response, response.headers), (chunks) => {
      heardAt = now()
      for (const chunk of chunks) events.feed(chunk)
      return Effect.void
    })
    return Effect.match(reading, {
      onSuccess: () => undefined,
      // The error of the client holds the request with its credentials.
      onFailure: (error) => error._tag === "HttpClientError" ? HttpFailure.causeOf(error) : error
    })
  }

  const reader = yield* Effect.forkIn(EventRequest.run(peer, undefined, undefined, read), scope, {
    startImmediately: true
  })
  reader.addObserver((exit) => {
    const failure = exit._tag === "Failure" ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
    const cause = exit._tag === "Success" ? exit.value : undefined
    fail(
      failure
        ?? refused(new McpError.StreamEnded({ resumable: false, ...(cause === undefined ? undefined : { cause }) }))
    )
    end(new McpError.ConnectionClosed({ target, local: false, uptimeMillis: now() - startedAt }))
  })

  yield* Effect.onError(Deferred.await(opened), () => Fiber.interrupt(reader))

  const watch = (revision: Revision.Facts): Effect.Effect<void> => {
    const ping = SseMonitor.ping(connection, revision, peer.context)
    return Effect.flatMap(SseMonitor.watch({ target, pingMillis, now, heardAt: () => heardAt, ping }), (reason) => {
      end(reason)
      return Fiber.interrupt(reader)
    })
  }

  const connection: Connection = {
    open: (outgoing, exchange, context) => {
      const post = new SsePost(outgoing, exchange, context)
      const forget = duplex.connection.open(post, post, context)
      return (reason) => post.cancel(sender, forget, reason)
    },
    send: (message, revision) =>
      Effect.suspend(() => {
        if (closedBy === undefined) return HttpSend.send(sender, message, revision)
        const method = message._tag === "Notification" ? message.method : undefined
        return Effect.fail(McpError.make(closedBy, "unsent", { server: target, method }))
      }),
    established: (revision) =>
      Effect.andThen(
        duplex.connection.established(revision),
        // Until then the whole handshake has a deadline.
        Number.isFinite(pingMillis) ? Effect.forkIn(watch(revision), scope) : Effect.void
      ),
    closed: duplex.connection.closed
  }

  return {
    connection,
    close: Effect.sync(() => end(new McpError.ConnectionClosed({ target, local: true })))
  }
})
