/**
 * Finds out which of the transports over HTTP a server speaks, in the course of the handshake
 * (2026-07-28 streamable-http, Backwards Compatibility).
 *
 * Everything goes out over Streamable HTTP until `initialize` is refused in a way that leaves the question open. Then
 * the others are tried, and the first that works carries `initialize` and all that follows.
 */
import { type Envelope, ErrorCode, ErrorReply, Json, McpError } from "@mcp-effect/protocol"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { Cancel, Connection, Evidence, Exchange, Inbound, Outgoing, Transport } from "../Transport.ts"
import * as HttpFailure from "./HttpFailure.ts"

type HttpTransport = Transport["Service"]

export interface Options {
  readonly streamable: HttpTransport
  readonly sse: HttpTransport
  readonly plain: HttpTransport
  /** Learns which one it is, once that is known. */
  readonly onChosen: (transport: HttpTransport) => void
}

/** How long a stream may be open without the event that only HTTP+SSE begins with. */
const endpointMillis = 10_000

// "If it fails with an HTTP 400, 404 or 405": any other status says something about the request, not the transport.
const openStatuses: ReadonlySet<number> = new Set([400, 404, 405])

const modernCodes: ReadonlySet<number> = new Set([
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion
])

interface Attempt {
  readonly transport: HttpTransport
  readonly error: McpError.McpError
}

const isNamed = (error: Envelope.ErrorObject, httpStatus: number | undefined): boolean =>
  httpStatus === 404 && error.code === ErrorCode.MethodNotFound

/** Whether only a server that speaks Streamable HTTP answers `initialize` like this. */
const isRecognized = (error: Envelope.ErrorObject, httpStatus: number): boolean =>
  modernCodes.has(error.code) || isNamed(error, httpStatus)
  // 2025-11-25 basic/lifecycle, Error Handling: it names the revisions that it speaks instead.
  || (error.code === ErrorCode.InvalidParams && Array.isArray(Json.isJsonObject(error.data) && error.data["supported"]))

const errorOf = (target: string, outgoing: Outgoing, reason: McpError.McpErrorReason): McpError.McpError =>
  McpError.make(reason, "refused", { server: target, method: outgoing.method })

const noneOf = (target: string, outgoing: Outgoing, attempts: ReadonlyArray<Attempt>): McpError.McpError =>
  McpError.make(
    new McpError.ConnectionFailed({
      target,
      description: "it speaks none of the transports over HTTP",
      attempts: attempts.map(({ error: { reason }, transport }) => ({
        transport: transport.kind,
        problem: reason.message,
        isTransient: reason.isTransient
      })),
      cause: attempts[0]?.error
    }),
    attempts.some(({ error }) => error.delivery === "unknown") ? "unknown" : "refused",
    { server: target, method: outgoing.method }
  )

/** Passes on everything but the end. */
const relay = (exchange: Exchange, end: Pick<Exchange, "onResponse" | "onFailure">): Exchange => ({
  onMessage: (message) => exchange.onMessage(message),
  onActivity: (graceMillis) => exchange.onActivity(graceMillis),
  onStream: (isOpen) => exchange.onStream?.(isOpen),
  ...end
})

/** The `initialize` request under way, over one transport after the other. */
class Handshake {
  private isCancelled = false
  private fiber: Fiber.Fiber<void> | undefined
  private cancelAttempt: Cancel = () => {}
  private readonly attempts: Array<Attempt> = []
  private readonly target: string
  private readonly outgoing: Outgoing
  private readonly exchange: Exchange
  private readonly context: Context.Context<never>
  /** A server that answered the probe as a modern one does, which it may be without discovery. */
  private readonly isUndiscovered: boolean

  constructor(
    target: string,
    outgoing: Outgoing,
    exchange: Exchange,
    context: Context.Context<never>,
    isUndiscovered: boolean
  ) {
    this.target = target
    this.outgoing = outgoing
    this.exchange = exchange
    this.context = context
    this.isUndiscovered = isUndiscovered
  }

  /**
   * Sends over a connection. `onRefused` takes over when what it comes to leaves open which transport it is, or is any
   * failure of the last one that there is.
   */
  send(
    transport: HttpTransport,
    connection: Connection,
    { isLast = false, onAnswered, onRefused }: {
      readonly onRefused: () => void
      readonly onAnswered?: () => void
      readonly isLast?: boolean
    }
  ): void {
    const { exchange } = this
    const refuse = (error: McpError.McpError): void => {
      this.add(transport, error)
      onRefused()
    }
    const attempt = relay(exchange, {
      onResponse: (message, evidence) => {
        const error = this.refusalOf(message, evidence)
        if (error !== undefined) return refuse(error)
        onAnswered?.()
        exchange.onResponse(message, evidence)
      },
      onFailure: (error) => {
        if (isLast || this.leavesOpen(error.reason)) return refuse(error)
        exchange.onFailure(error)
      }
    })
    this.cancelAttempt = connection.open(this.outgoing, attempt, this.context)
  }

  /** Goes on with the others, for as long as the connection lives. */
  run(effect: Effect.Effect<void>, scope: Scope.Scope): void {
    if (this.isCancelled) return
    const fiber = Effect.runForkWith(this.context)(effect)
    this.fiber = Fiber.runIn(fiber, scope)
    fiber.addObserver((exit) => {
      if (this.isCancelled || exit._tag === "Success") return
      const reason = new McpError.ConnectionClosed({ target: this.target, local: true })
      this.exchange.onFailure(errorOf(this.target, this.outgoing, reason))
    })
  }

  add(transport: HttpTransport, error: McpError.McpError): void {
    this.attempts.push({ transport, error })
  }

  fail(): void {
    if (!this.isCancelled) this.exchange.onFailure(noneOf(this.target, this.outgoing, this.attempts))
  }

  readonly cancel: Cancel = (reason) => {
    this.isCancelled = true
    this.fiber?.interruptUnsafe()
    this.cancelAttempt(reason)
  }

  private leavesOpen(reason: McpError.McpErrorReason): boolean {
    if (HttpFailure.isOlderTransport(reason)) return true
    return reason._tag === "HttpStatus" && openStatuses.has(reason.status)
      && !(this.isUndiscovered && reason.status === 404)
  }

  private refusalOf({ outcome }: Envelope.Response, { httpStatus }: Evidence): McpError.McpError | undefined {
    if (outcome._tag !== "Error" || httpStatus === undefined || !openStatuses.has(httpStatus)) return undefined
    const { error } = outcome
    const isModern = this.isUndiscovered && (httpStatus === 404 || error.code === ErrorCode.MethodNotFound)
    if (isModern || isRecognized(error, httpStatus)) return undefined
    const { method, revision } = this.outgoing
    return errorOf(this.target, this.outgoing, ErrorReply.reason(error, { method, revision, httpStatus }))
  }
}

/** Opens a connection whose transport is found out by the handshake. */
export const connect = Effect.fnUntraced(function*(
  { onChosen, plain, sse, streamable }: Options,
  inbound: Inbound
): Effect.fn.Return<Connection, McpError.McpError, Scope.Scope> {
  const scope = yield* Effect.scope
  const { target } = streamable
  const first = yield* streamable.connect(inbound)
  const chosen = Deferred.makeUnsafe<Connection>()
  let current = first
  let isChosen = false
  let isUndiscovered = false

  const choose = (transport: HttpTransport, connection: Connection): void => {
    if (isChosen) return
    isChosen = true
    current = connection
    onChosen(transport)
    Deferred.doneUnsafe(chosen, Effect.succeed(connection))
  }

  /** Connects in a scope that is closed again if that fails. */
  const open = (transport: HttpTransport): Effect.Effect<Connection, McpError.McpError> =>
    Effect.flatMap(Scope.fork(scope), (own) =>
      Effect.onExit(
        Scope.provide(transport.connect(inbound), own),
        (exit) => Exit.isFailure(exit) ? Scope.close(own, exit) : Effect.void
      ))

  const openSse: Effect.Effect<Connection, McpError.McpError> = Effect.timeoutOrElse(open(sse), {
    duration: endpointMillis,
    orElse: () => {
      const problem = `no endpoint event came within ${endpointMillis} ms, so it does not speak HTTP+SSE`
      return Effect.fail(McpError.make(new McpError.MalformedMessage({ problem }), "refused", { server: target }))
    }
  })

  const tryOthers = (handshake: Handshake): Effect.Effect<void> =>
    Effect.gen(function*() {
      const older = yield* Effect.result(openSse)
      if (older._tag === "Success") {
        // Nothing else begins with that event: whatever the server says now is its answer.
        choose(sse, older.success)
        return handshake.send(sse, older.success, { onRefused: () => handshake.fail() })
      }
      handshake.add(sse, older.failure)
      const simple = yield* Effect.result(open(plain))
      if (simple._tag === "Success") {
        return handshake.send(plain, simple.success, {
          onRefused: () => handshake.fail(),
          onAnswered: () => choose(plain, simple.success),
          isLast: true
        })
      }
      handshake.add(plain, simple.failure)
      handshake.fail()
    })

  const probe = (exchange: Exchange): Exchange =>
    relay(exchange, {
      onResponse: (message, evidence) => {
        if (message.outcome._tag === "Error") isUndiscovered = isNamed(message.outcome.error, evidence.httpStatus)
        exchange.onResponse(message, evidence)
      },
      onFailure: (error) => exchange.onFailure(error)
    })

  return {
    open: (outgoing, exchange, context) => {
      if (isChosen) return current.open(outgoing, exchange, context)
      if (outgoing.method === "server/discover") return first.open(outgoing, probe(exchange), context)
      if (outgoing.method !== "initialize") return first.open(outgoing, exchange, context)
      const handshake = new Handshake(target, outgoing, exchange, context, isUndiscovered)
      handshake.send(streamable, first, { onRefused: () => handshake.run(tryOthers(handshake), scope) })
      return handshake.cancel
    },
    send: (message, revision) => current.send(message, revision),
    established: (revision) =>
      Effect.suspend(() => {
        choose(streamable, first)
        return current.established(revision)
      }),
    get standby() {
      return current.standby
    },
    closed: Effect.raceFirst(first.closed, Effect.flatMap(Deferred.await(chosen), ({ closed }) => closed))
  }
})
