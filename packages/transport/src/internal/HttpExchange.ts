/**
 * One request over HTTP: its POST, and the answer as JSON or as a stream of events.
 */
import { Activity, Envelope, McpError, PeerText } from "@mcp-effect/protocol"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Headers from "effect/http/Headers"
import type * as HttpClientError from "effect/http/HttpClientError"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { Cancel, Exchange, Outgoing } from "../Transport.ts"
import * as Body from "./Body.ts"
import type { Drained } from "./Draining.ts"
import { EventStream } from "./EventStream.ts"
import { Holds } from "./Holds.ts"
import * as HttpFailure from "./HttpFailure.ts"
import * as HttpPeer from "./HttpPeer.ts"
import * as Resumption from "./Resumption.ts"

type Failure = HttpFailure.Failure

/** What became of the answer that is being read. */
interface Answer {
  readonly response: HttpClientResponse
  readonly headers: Headers.Headers
  readonly authorization: string
}

const unknownDelivery = (reason: McpError.McpErrorReason): Failure => ({ reason, delivery: "unknown" })

/** The answer broke off, be it a stream or a body of a known length. */
const ended = (cause: unknown): Failure =>
  unknownDelivery(new McpError.StreamEnded({ resumable: false, ...(cause === undefined ? undefined : { cause }) }))

export class HttpExchange implements Drained {
  private state: "open" | "settled" | "cancelled" = "open"
  private fiber: Fiber.Fiber<void, Failure> | undefined
  private isBodyTaken = false
  // While a person is waited for, the silence is nobody's fault.
  private readonly holds = new Holds(() => this.active(Infinity), () => this.active(0))
  private sessionId: string | undefined
  /** Responses to other requests that came on this stream. */
  private readonly strays: Array<Envelope.Response> = []
  /** The first thing on this stream that is not a message. */
  private garbage: string | undefined
  private isDraining = false
  private drained = 0

  private readonly peer: HttpPeer.HttpPeer
  private readonly outgoing: Outgoing
  private readonly exchange: Exchange
  /** Tells the server that nobody waits any more, where the revision has a message for it. */
  private readonly onAbandoned: (outgoing: Outgoing, reason: string | undefined) => void

  constructor(
    peer: HttpPeer.HttpPeer,
    outgoing: Outgoing,
    exchange: Exchange,
    onAbandoned: (outgoing: Outgoing, reason: string | undefined) => void
  ) {
    this.peer = peer
    this.outgoing = outgoing
    this.exchange = exchange
    this.onAbandoned = onAbandoned
  }

  start(context: Context.Context<never>): Cancel {
    const { outgoing, peer } = this
    // A listen stream stays open; compressing it would only delay what it says.
    const prepared = HttpPeer.prepare(peer, outgoing, outgoing.text, outgoing.method !== "subscriptions/listen")
    if (Result.isFailure(prepared)) {
      this.fail(prepared.failure)
      return () => {}
    }
    this.sessionId = prepared.success.sessionId
    const services = Context.add(Context.merge(context, peer.overrides), Activity.Activity, this.holds)
    const fiber = Effect.runForkWith(services)(this.run(prepared.success))
    this.fiber = fiber
    Fiber.runIn(fiber, peer.scope)
    fiber.addObserver((exit) => this.onExit(exit))
    return (reason) => this.cancel(reason)
  }

  giveUp(): void {
    this.fiber?.interruptUnsafe()
  }

  private cancel(reason: string | undefined): void {
    const { fiber, outgoing } = this
    if (this.state !== "open" || fiber === undefined) return
    this.state = "cancelled"
    if (
      !this.isUnsent && outgoing.onAbandon === "cancel" && outgoing.revision.httpCancellation === "notification"
    ) {
      // The stream closes first: a server that sees both must not go on writing to it.
      fiber.addObserver(() => this.onAbandoned(outgoing, reason))
    }
    fiber.interruptUnsafe()
  }

  /** A person is waited for before the request goes out; after that, only a resumption may have to wait for one. */
  private get isUnsent(): boolean {
    return this.holds.isHeld && !this.isBodyTaken
  }

  // ------------------------------------------------------------------------------------------------------------------
  // To the session
  // ------------------------------------------------------------------------------------------------------------------

  /** A callback that throws is a fault of the application; the reader goes on. */
  private guard(callback: string, body: () => void): void {
    try {
      body()
    } catch {
      this.peer.inbound.onDiagnostic({ _tag: "CallbackFailed", callback, method: this.outgoing.method })
    }
  }

  private active(graceMillis: number): void {
    if (this.state === "open") this.guard("activity", () => this.exchange.onActivity(graceMillis))
  }

  private streaming(isOpen: boolean): void {
    if (this.state === "open") this.guard("stream", () => this.exchange.onStream?.(isOpen))
  }

  private settle(message: Envelope.Response, { authorization, response }: Answer): void {
    this.state = "settled"
    const configured = this.peer.endpoint.headers["authorization"]
    // Where the client's response does not keep the request that was sent, the digest is unknown.
    const isConfigured = authorization !== "unknown" && response.request.headers["authorization"] === configured
    this.guard(
      "response",
      () => this.exchange.onResponse(message, { authorization, isConfigured, httpStatus: response.status })
    )
  }

  private fail({ delivery, reason }: Failure): void {
    this.state = "settled"
    const error = McpError.make(reason, delivery, {
      server: this.peer.endpoint.target,
      method: this.outgoing.method
    })
    this.guard("failure", () => this.exchange.onFailure(error))
  }

  private onExit(exit: Exit.Exit<void, Failure>): void {
    this.peer.draining.delete(this)
    if (this.state !== "open") return
    if (exit._tag === "Success") return this.fail(this.unanswered("its answer ended without a response", undefined, ""))
    const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    if (failure !== undefined) return this.fail(failure)
    if (Cause.hasInterruptsOnly(exit.cause)) {
      return this.fail({
        reason: HttpPeer.closedReason(this.peer),
        delivery: this.isUnsent ? "unsent" : "unknown"
      })
    }
    this.fail(unknownDelivery(
      new McpError.ConnectionFailed({
        target: this.peer.endpoint.target,
        description: "the HTTP client failed unexpectedly",
        cause: Cause.squash(exit.cause)
      })
    ))
  }

  /** Takes one message of the answer. What follows the response belongs to no request any more. */
  private take(message: Envelope.Incoming, answer: Answer): void {
    const { inbound } = this.peer
    if (this.state === "cancelled") return
    if (message._tag !== "Response") {
      const receiver = this.state === "open" ? this.exchange : inbound
      return this.guard("message", () => receiver.onMessage(message))
    }
    // A server that could not read the id sends none; on a stream of its own the error can only be for this request.
    if (this.state === "open" && (message.id === undefined || message.id === this.outgoing.id)) {
      return this.settle(message, answer)
    }
    if (this.state === "open") this.strays.push(message)
    inbound.onDiagnostic({
      _tag: "UnexpectedMessage",
      description: "A response came on the stream of a request that it does not answer"
    })
  }

  /** Takes a JSON text: one message or, where the revision has batches, several. `false` if any part is neither. */
  private takeText(text: string, answer: Answer): boolean {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return false
    }
    const isBatch = Array.isArray(value) && this.outgoing.revision.batching
    let isWhole = true
    for (const one of isBatch ? value as ReadonlyArray<unknown> : [value]) {
      const message = Envelope.read(one)
      if (message === undefined) isWhole = false
      else this.take(message, answer)
    }
    return isWhole
  }

  // ------------------------------------------------------------------------------------------------------------------
  // The answer
  // ------------------------------------------------------------------------------------------------------------------

  private run({ request }: HttpPeer.Prepared): Effect.Effect<void, Failure> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(HttpPeer.execute(this.peer, request)), (response) =>
        Effect.ensuring(
          restore(this.receive(response)),
          Effect.suspend(() => this.isBodyTaken ? Effect.void : Body.discard(response))
        ))
    )
  }

  private receive(response: HttpClientResponse): Effect.Effect<void, Failure> {
    this.active(0)
    // Who is told may give the request up at once; the body is not begun then.
    if (this.state !== "open") return Effect.void
    const headers = response.headers
    const authorization = this.peer.digest.of(response)
    return typeof authorization === "string"
      ? this.read({ response, headers, authorization })
      : Effect.flatMap(authorization, (authorization) => this.read({ response, headers, authorization }))
  }

  private read(answer: Answer): Effect.Effect<void, Failure> {
    const { headers, response: { status } } = answer
    if (status < 200 || status > 299) return this.readRefusal(answer)
    const { method, revision } = this.outgoing
    if (method === "initialize" && revision.sessionIds) this.peer.session.adopt(headers["mcp-session-id"])
    switch (HttpFailure.mediaType(headers)) {
      case "application/json":
        return this.readJson(answer)
      case "text/event-stream":
        return this.readEvents(answer)
      default:
        return this.readOther(answer)
    }
  }

  private textOptions(): { readonly maxBytes: number; readonly onChunk: () => void } {
    this.isBodyTaken = true
    return { maxBytes: this.peer.maxMessageBytes, onChunk: () => this.active(0) }
  }

  private readJson(answer: Answer): Effect.Effect<void, Failure> {
    return Effect.matchEffect(Body.text(answer.response, answer.headers, this.textOptions()), {
      onFailure: (error) => Effect.fail(this.ofBody(error, answer)),
      onSuccess: (text) => {
        const isWhole = this.takeText(text, answer)
        if (this.state !== "open") return Effect.void
        const problem = text.trim() === ""
          ? "its body is empty"
          : !isWhole
          ? "its body is not a JSON-RPC message"
          : this.strays.length > 0
          ? "it answers another request: the id differs"
          : "its body holds no response"
        return Effect.fail(this.unanswered(problem, answer, text))
      }
    })
  }

  /** Neither JSON nor events. What came instead is shown as far as it comes at once. */
  private readOther(answer: Answer): Effect.Effect<void, Failure> {
    const { status } = answer.response
    const type = HttpFailure.shownMediaType(answer.headers)
    const problem = status === 202 || status === 204
      ? `it acknowledges the request (HTTP ${status}) instead of answering it`
      : type === undefined
      ? "it has no content type; it must be application/json or text/event-stream"
      : `its content type is ${type}; it must be application/json or text/event-stream. Is this the URL of an MCP server?`
    const hint = Body.hint(answer.response, answer.headers, this.textOptions())
    return Effect.flatMap(hint, (text) => Effect.fail(this.unanswered(problem, answer, text)))
  }

  private readRefusal(answer: Answer): Effect.Effect<void, Failure> {
    const { headers, response: { status } } = answer
    const inSession = this.sessionId !== undefined
    const hint = Body.hint(answer.response, headers, this.textOptions())
    return Effect.flatMap(Effect.zip(hint, Clock.currentTimeMillis), ([text, nowMillis]) => {
      if (this.sessionId !== undefined && status === 404) this.peer.session.expire(this.sessionId)
      if (!HttpFailure.isDecidedByStatus(status, inSession)) {
        const error = HttpFailure.errorResponse(text)
        if (error !== undefined) return Effect.sync(() => this.settle(error, answer))
      }
      return Effect.fail(
        HttpFailure.ofStatus({ status, headers, text, url: this.peer.endpoint.url, inSession, nowMillis })
      )
    })
  }

  private readEvents(answer: Answer): Effect.Effect<void, Failure> {
    this.streaming(true)
    if (this.state !== "open") return Effect.void
    this.isBodyTaken = true
    const events = new EventStream({
      maxEventBytes: this.peer.maxEventBytes,
      onData: (data) => {
        if (!this.takeText(data, answer)) this.onGarbage(data)
      },
      onEndpoint: () => {
        if (this.state !== "open") return
        // A server may take any GET for the beginning of HTTP+SSE; what is gone on with is no less accepted for that.
        this.fail(
          events.lastEventId === undefined ? HttpFailure.olderTransport(answer.response.status) : ended(undefined)
        )
      }
    })
    const body = Body.stream(answer.response, answer.headers)
    return this.readStream(body, answer, events, (cause) => this.onStreamEnd(answer, events, cause))
  }

  /** Reads a response stream to its end. */
  private readStream<A>(
    body: ReturnType<typeof Body.stream>,
    answer: Answer,
    events: EventStream,
    onEnd: (cause: unknown) => Effect.Effect<A, Failure>
  ): Effect.Effect<A, Failure> {
    return Effect.matchEffect(
      Stream.runForEachArray(body, (chunks) => this.onChunks(chunks, events)),
      {
        onSuccess: () => onEnd(undefined),
        onFailure: (error) => {
          if (this.state !== "open") return onEnd(undefined)
          const failure = this.ofBody(error, answer)
          return failure.reason._tag === "StreamEnded" ? onEnd(failure.reason.cause) : Effect.fail(failure)
        }
      }
    )
  }

  private onChunks(
    chunks: ReadonlyArray<Uint8Array>,
    events: EventStream
  ): Effect.Effect<void, Body.BodyTooLarge> {
    for (const chunk of chunks) {
      this.active(0)
      if (this.state !== "open") this.drained += chunk.byteLength
      if (!events.feed(chunk)) return Effect.fail(new Body.BodyTooLarge({ limit: this.peer.maxEventBytes }))
      if (this.drained > Body.drainBytes) return Effect.fail(new Body.BodyTooLarge({ limit: Body.drainBytes }))
    }
    // The response is handed over already; the end of the stream is close, or will not come.
    if (this.state === "settled" && !this.isDraining) {
      this.isDraining = true
      this.peer.draining.add(this)
    }
    return Effect.void
  }

  private onGarbage(data: string): void {
    if (this.garbage === undefined) this.garbage = data
    this.peer.inbound.onDiagnostic({
      _tag: "UnexpectedMessage",
      description: "An event of a response stream is not a JSON-RPC message and was skipped"
    })
  }

  /** The stream is over and the request is not answered, unless it is. */
  private onStreamEnd(answer: Answer, events: EventStream, cause: unknown): Effect.Effect<void, Failure> {
    this.acceptStray(answer, cause)
    if (this.state !== "open") return Effect.void
    events.end()
    if (this.peer.isStreamable && this.outgoing.revision.resumption && events.lastEventId !== undefined) {
      return this.resume(answer, events, cause)
    }
    if (this.garbage !== undefined && cause === undefined) {
      const problem = "its response stream ended without a response, and what it held is not a JSON-RPC message"
      return Effect.fail(this.unanswered(problem, answer, this.garbage))
    }
    return Effect.fail(ended(cause))
  }

  private resume(answer: Answer, events: EventStream, cause: unknown): Effect.Effect<void, Failure> {
    return Resumption.run(this.peer, {
      revision: this.outgoing.revision,
      events,
      isOpen: () => this.state === "open",
      onWait: (millis) => {
        this.streaming(false)
        this.active(millis)
      },
      onOpen: () => {
        this.active(0)
        this.streaming(true)
      },
      read: (response) =>
        this.readStream(Body.stream(response, response.headers), answer, events, (cause) => {
          events.end()
          return Effect.succeed(cause)
        })
    }, cause)
  }

  /**
   * Servers of the legacy era are known to change the id; with only one response it is clear what it answers. Not so on
   * a resumed stream: some servers replay there what belongs to other requests.
   */
  private acceptStray(answer: Answer, cause: unknown): void {
    if (this.state !== "open" || cause !== undefined || this.outgoing.revision.era !== "legacy") return
    const [stray, ...others] = this.strays
    if (stray !== undefined && others.length === 0) this.settle(stray, answer)
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Failures
  // ------------------------------------------------------------------------------------------------------------------

  private unanswered(problem: string, answer: Answer | undefined, text: string): Failure {
    return unknownDelivery(
      new McpError.MalformedMessage({
        problem,
        status: answer?.response.status,
        contentType: answer === undefined ? undefined : HttpFailure.shownMediaType(answer.headers),
        excerpt: text === "" ? undefined : PeerText.excerpt(text)
      })
    )
  }

  private ofBody(
    error: HttpClientError.HttpClientError | Body.BodyTooLarge | Body.BodyCorrupt,
    answer: Answer
  ): Failure {
    switch (error._tag) {
      case "HttpClientError":
        return this.ofBrokenBody(HttpFailure.causeOf(error), answer)
      case "BodyTooLarge":
        return unknownDelivery(
          new McpError.MessageTooLarge({ limit: error.limit, size: error.size, direction: "received" })
        )
      case "BodyCorrupt":
        return Body.isCutShort(error.cause) ? ended(error.cause) : this.unanswered(Body.corrupt, answer, "")
    }
  }

  /** A client that inflates by itself does not tell its own faults from those of the connection. */
  private ofBrokenBody(cause: unknown, answer: Answer): Failure {
    return Body.isCorrupt(cause) ? this.unanswered(Body.corrupt, answer, "") : ended(cause)
  }
}
