/**
 * Requests and everything else on one shared channel of messages: stdio, a pair in memory, a WebSocket, HTTP+SSE.
 *
 * Whoever has such a channel gives a way to write and feeds what comes in; routing, the outbox and cancellation are
 * here.
 *
 * @since 0.1.0
 */
import { Envelope, Json, McpError, type Revision } from "@mcp-effect/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Noise from "./internal/Noise.ts"
import * as SkippedResponse from "./internal/SkippedResponse.ts"
import type { SkippedLine } from "./Lines.ts"
import type { Connection, Evidence, Exchange, Inbound, Outgoing } from "./Transport.ts"

/**
 * One message on its way out, and the request that it is, if it is one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Frame {
  readonly text: string
  readonly request: Outgoing | undefined
}

/**
 * The channel.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Names the server in errors. */
  readonly target: string
  /** Takes what belongs to no request. */
  readonly inbound: Inbound
  /**
   * Writes messages, in this order. It is not called again before `ready` was, which may be during the call; until
   * then what is sent waits in the outbox. It must not throw.
   */
  readonly write: (frames: ReadonlyArray<Frame>, ready: () => void) => void
  /** How much may wait in the outbox, in UTF-16 units: bytes, as far as it is ASCII. A request beyond it fails. */
  readonly outboxLimit: number
  /** The limit that a skipped line went over, in bytes, for the error that says so. */
  readonly messageLimit: number
  /**
   * What comes with each response.
   *
   * @default { authorization: "none" }
   */
  readonly evidence?: Evidence | undefined
}

/**
 * The connection, and how its channel feeds it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Duplex {
  readonly connection: Connection
  /** Takes one message of the peer. What is not a message is reported as noise. */
  readonly onText: (text: string) => void
  /** Takes a message that could not be read whole, and fails the request that it answers, if that can be told. */
  readonly onSkipped: (line: SkippedLine) => void
  /** Fails one request, if it is still open. */
  readonly fail: (id: Envelope.RequestId, error: McpError.McpError) => void
  /**
   * Ends the connection: every open request fails with the reason of `error`, those that were not written as `unsent`.
   * What comes in afterwards is dropped. Idempotent.
   */
  readonly close: (error: McpError.McpError) => void
}

// 2026-07-28 basic/patterns/subscriptions: on a shared channel, messages of a subscription name its request here.
const subscriptionIdKey = "io.modelcontextprotocol/subscriptionId"

class Entry implements Frame {
  readonly text: string
  readonly request: Outgoing | undefined
  isWritten = false

  constructor(text: string, request?: Outgoing) {
    this.text = text
    this.request = request
  }
}

class OpenRequest extends Entry {
  declare readonly request: Outgoing
  readonly exchange: Exchange

  constructor(request: Outgoing, exchange: Exchange) {
    super(request.text, request)
    this.exchange = exchange
  }
}

/**
 * Creates a connection over a channel.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Duplex => {
  const { inbound, messageLimit, outboxLimit, target } = options
  const evidence: Evidence = options.evidence ?? { authorization: "none" }
  const exchanges = new Map<Envelope.RequestId, OpenRequest>()
  const noise = Noise.make((diagnostic) => inbound.onDiagnostic(diagnostic))
  const ended = Deferred.makeUnsafe<McpError.McpError>()
  let closedBy: McpError.McpError | undefined
  let established: Revision.Facts | undefined

  const errorOf = (reason: McpError.McpErrorReason, delivery: McpError.Delivery, method: string | undefined) =>
    McpError.make(reason, delivery, { server: target, method })

  // ------------------------------------------------------------------------------------------------------------------
  // Out
  // ------------------------------------------------------------------------------------------------------------------

  // A set keeps the order and lets a request be taken back at once, however many wait.
  const outbox = new Set<Entry>()
  let waiting = 0
  let isReady = true
  let isScheduled = false
  let isFlushing = false

  const ready = (): void => {
    isReady = true
    if (!isFlushing) flush()
  }

  const flush = (): void => {
    isScheduled = false
    isFlushing = true
    while (isReady && outbox.size > 0) {
      const entries = Array.from(outbox)
      outbox.clear()
      waiting = 0
      for (const entry of entries) entry.isWritten = true
      isReady = false
      options.write(entries, ready)
    }
    isFlushing = false
  }

  const enqueue = (entry: Entry): void => {
    if (closedBy !== undefined) return
    outbox.add(entry)
    waiting += entry.text.length
    if (isScheduled || !isReady) return
    // Everything that is sent in one turn leaves in one write.
    isScheduled = true
    queueMicrotask(flush)
  }

  /** Takes an entry out of the outbox; `false` when it has left. */
  const takeBack = (entry: Entry): boolean => {
    const isWaiting = outbox.delete(entry)
    if (isWaiting) waiting -= entry.text.length
    return isWaiting
  }

  /** Why a message of that size cannot be sent now. A message larger than the outbox may pass alone. */
  const refusal = (size: number): McpError.McpErrorReason | undefined => {
    if (closedBy !== undefined) return closedBy.reason
    return waiting > 0 && waiting + size > outboxLimit
      ? new McpError.MessageTooLarge({ limit: outboxLimit, size, direction: "sent" })
      : undefined
  }

  const open: Connection["open"] = (outgoing, exchange) => {
    const { id, method, text } = outgoing
    const reason = refusal(text.length) ?? (exchanges.has(id)
      ? new McpError.InvalidRequest({ problem: "A request with the same id is still open" })
      : undefined)
    if (reason !== undefined) {
      exchange.onFailure(errorOf(reason, "unsent", method))
      return () => {}
    }
    const entry = new OpenRequest(outgoing, exchange)
    exchanges.set(id, entry)
    enqueue(entry)
    return (reason) => {
      if (exchanges.get(id) !== entry) return
      exchanges.delete(id)
      if (takeBack(entry) || outgoing.onAbandon === "silent") return
      const params = reason === undefined ? { requestId: id } : { requestId: id, reason }
      enqueue(new Entry(Envelope.encode({ _tag: "Notification", method: "notifications/cancelled", params })))
    }
  }

  const send: Connection["send"] = (message) =>
    Effect.suspend(() => {
      const text = Envelope.encode(message)
      const reason = refusal(text.length)
      if (reason !== undefined) {
        return Effect.fail(errorOf(reason, "unsent", message._tag === "Notification" ? message.method : undefined))
      }
      enqueue(new Entry(text))
      return Effect.void
    })

  // ------------------------------------------------------------------------------------------------------------------
  // In
  // ------------------------------------------------------------------------------------------------------------------

  /** The request of that id, once it has left: nobody can answer one that has not. */
  const find = (id: unknown): OpenRequest | undefined => {
    const entry = Envelope.isRequestId(id) ? exchanges.get(id) : undefined
    return entry?.isWritten === true ? entry : undefined
  }

  /** An error without an id can only be meant for the one request that is open. */
  const onlyOne = (): OpenRequest | undefined => {
    const [entry] = exchanges.size === 1 ? exchanges.values() : []
    return find(entry?.request.id)
  }

  // A callback that throws is a fault of the application; the reader goes on.
  const settle = (entry: OpenRequest, tell: (exchange: Exchange) => void): void => {
    exchanges.delete(entry.request.id)
    try {
      tell(entry.exchange)
    } catch {
      inbound.onDiagnostic({ _tag: "CallbackFailed", callback: "settling", method: entry.request.method })
    }
  }

  const onResponse = (response: Envelope.Response): void => {
    const entry = response.id === undefined ? onlyOne() : find(response.id)
    if (entry !== undefined) return settle(entry, (exchange) => exchange.onResponse(response, evidence))
    const description = response.id === undefined
      ? "An error came that names no request, and it cannot be told which one it answers; it was dropped"
      : "A response came for a request that is not open (answered, cancelled or never sent); it was dropped"
    inbound.onDiagnostic({ _tag: "UnexpectedMessage", description })
  }

  /** The request that a notification belongs to. */
  const subjectOf = ({ method, params }: Envelope.Notification): OpenRequest | undefined =>
    find(
      method === "notifications/cancelled"
        ? params?.["requestId"]
        : method === "notifications/progress"
        ? params?.["progressToken"]
        : Json.objectMember(params, "_meta")?.[subscriptionIdKey]
    )

  const onNotification = (notification: Envelope.Notification): void => {
    const entry = subjectOf(notification)
    if (notification.method === "notifications/cancelled") {
      // 2026-07-28 basic/patterns/cancellation: a server ends a subscription with it, and nothing else.
      if (entry?.request.method !== "subscriptions/listen") return inbound.onMessage(notification)
      const error = errorOf(new McpError.StreamEnded({ resumable: false }), "unknown", entry.request.method)
      return settle(entry, (exchange) => exchange.onFailure(error))
    }
    if (entry === undefined) return inbound.onMessage(notification)
    entry.exchange.onActivity(0)
    entry.exchange.onMessage(notification)
  }

  const onMessage = (message: Envelope.Request | Envelope.Notification): void => {
    try {
      if (message._tag === "Notification") onNotification(message)
      else inbound.onMessage(message)
    } catch {
      inbound.onDiagnostic({ _tag: "CallbackFailed", callback: "message", method: message.method })
    }
  }

  const dispatch = (message: Envelope.Incoming): void => {
    // A callback may have ended the connection; what is left of a batch belongs to nobody then.
    if (closedBy !== undefined) return
    if (message._tag === "Response") onResponse(message)
    else onMessage(message)
  }

  const onBatch = (text: string, batch: ReadonlyArray<unknown>): void => {
    // 2025-03-26 basic/index, Batching: the only revision that has it, and which one is spoken may not be known yet.
    const messages = established === undefined || established.batching ? batch.map(Envelope.read) : [undefined]
    if (messages.length === 0 || messages.includes(undefined)) noise.add(text)
    for (const message of messages) {
      if (message !== undefined) dispatch(message)
    }
  }

  const onText: Duplex["onText"] = (text) => {
    if (closedBy !== undefined) return
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      if (text.trim() !== "") noise.add(text)
      return
    }
    if (Array.isArray(value)) return onBatch(text, value)
    const message = Envelope.read(value)
    if (message === undefined) noise.add(text)
    else dispatch(message)
  }

  const fail: Duplex["fail"] = (id, error) => {
    const entry = exchanges.get(id)
    if (entry === undefined) return
    takeBack(entry)
    settle(entry, (exchange) => exchange.onFailure(error))
  }

  const onSkipped: Duplex["onSkipped"] = (line) => {
    if (closedBy !== undefined) return
    const entry = find(SkippedResponse.idOf(line))
    if (line.cause === "encoding") {
      if (entry === undefined) return noise.add(line.head)
      return onResponse({
        _tag: "Response",
        id: entry.request.id,
        outcome: { _tag: "Malformed", problem: "it is not encoded in UTF-8" }
      })
    }
    if (entry === undefined) {
      return inbound.onDiagnostic({ _tag: "MessageTooLarge", limit: messageLimit, size: line.size })
    }
    const reason = new McpError.MessageTooLarge({ limit: messageLimit, size: line.size, direction: "received" })
    fail(entry.request.id, errorOf(reason, "unknown", entry.request.method))
  }

  const close: Duplex["close"] = (error) => {
    if (closedBy !== undefined) return
    closedBy = error
    if (error.reason._tag === "ConnectionClosed" && error.reason.local && !isFlushing) {
      // What was said before this side closed still leaves, such as the cancellation of a call that ends with its
      // client. A request does not: nobody would take its answer.
      for (const entry of outbox) {
        if (entry.request !== undefined) takeBack(entry)
      }
      flush()
    }
    noise.flush()
    outbox.clear()
    waiting = 0
    // First of all, so that whoever fails now and tries again finds that the connection is gone.
    Deferred.doneUnsafe(ended, Effect.succeed(error))
    for (const entry of exchanges.values()) {
      const failure = errorOf(error.reason, entry.isWritten ? "unknown" : "unsent", entry.request.method)
      settle(entry, (exchange) => exchange.onFailure(failure))
    }
  }

  const connection: Connection = {
    open,
    send,
    established: (revision) =>
      Effect.sync(() => {
        established = revision
      }),
    closed: Deferred.await(ended)
  }

  return { connection, onText, onSkipped, fail, close }
}
