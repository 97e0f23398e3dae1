/**
 * A server in memory: a peer that a test holds in its hand, or a function that answers requests.
 *
 * @since 0.1.0
 */
import { Envelope, ErrorCode, type Json, McpError } from "@mcp-effect/protocol"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as Duplex from "./Duplex.ts"
import { type Connection, type Inbound, Transport } from "./Transport.ts"

// In UTF-16 units. A peer in memory reads at once, so that this only bounds what is sent in one turn.
const outboxLimit = 64 * 1024 * 1024

/**
 * The other end of a connection: what the server sees and does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Peer {
  /** Waits for the next message of the client that no `Answer` took. */
  readonly take: Effect.Effect<Envelope.Incoming>
  /**
   * The messages of the client that no `Answer` took; a message goes to one reader only. The newest 4,096 are kept.
   */
  readonly messages: Stream.Stream<Envelope.Incoming>
  /** Sends a message as it stands, well formed or not. A string goes out as it is, anything else as JSON. */
  readonly send: (message: unknown) => Effect.Effect<void>
  /** Answers a request with a result. */
  readonly reply: (id: Envelope.RequestId, result: Json.JsonObject) => Effect.Effect<void>
  /** Answers a request with an error. */
  readonly fail: (id: Envelope.RequestId, error: Envelope.ErrorObject) => Effect.Effect<void>
  /** Sends a notification. */
  readonly notify: (method: string, params?: Json.JsonObject) => Effect.Effect<void>
  /** Breaks the connection off, as a server that ends. */
  readonly close: Effect.Effect<void>
}

/**
 * Answers a request of the client: with a result, or with an error. `undefined` leaves it to whoever takes messages
 * from the peer. A request that is cancelled, or whose connection ends, interrupts the effect; one that interrupts
 * itself is not answered. `peer` writes to the connection that the request came over.
 *
 * @category models
 * @since 0.1.0
 */
export type Answer<R = never> = (
  request: Envelope.Request,
  peer: Peer
) => Effect.Effect<Json.JsonObject, Envelope.ErrorObject, R> | undefined

// Nobody takes messages from a server that is a function; the oldest are dropped then.
const keptMessages = 4096

const target = "memory"

// Two servers in memory have nothing in common, so that what is remembered of one must not be held of another.
let servers = 0

const gone = (local: boolean): McpError.McpError =>
  McpError.make(new McpError.ConnectionClosed({ target, local }), "unknown", { server: target })

const makePeer = (
  messages: Queue.Dequeue<Envelope.Incoming>,
  write: (text: string) => void,
  close: () => void
): Peer => {
  const send: Peer["send"] = (message) =>
    Effect.sync(() => write(typeof message === "string" ? message : JSON.stringify(message)))
  return {
    take: Queue.take(messages),
    messages: Stream.fromQueue(messages),
    send,
    reply: (id, result) => send({ jsonrpc: "2.0", id, result }),
    fail: (id, error) => send({ jsonrpc: "2.0", id, error }),
    notify: (method, params) => send({ jsonrpc: "2.0", method, ...(params === undefined ? undefined : { params }) }),
    close: Effect.sync(close)
  }
}

interface Line {
  readonly connection: Connection
  readonly write: (text: string) => void
  readonly breakOff: () => void
  readonly release: Effect.Effect<void>
}

const open = <R>(
  inbound: Inbound,
  messages: Queue.Queue<Envelope.Incoming>,
  answer: Answer<R> | undefined,
  context: Context.Context<R>
): Line => {
  const fork = Effect.runForkWith(context)
  const answering = new Map<Envelope.RequestId, Fiber.Fiber<void>>()

  const answerTo = (request: Envelope.Request): ReturnType<Answer<R>> => {
    try {
      return answer?.(request, peer)
    } catch (defect) {
      return Effect.die(defect)
    }
  }

  const settle = (id: Envelope.RequestId, exit: Exit.Exit<Json.JsonObject, Envelope.ErrorObject>) =>
    Exit.isSuccess(exit)
      ? peer.reply(id, exit.value)
      : Exit.hasInterrupts(exit)
      ? Effect.void
      : peer.fail(
        id,
        Option.getOrElse(
          Exit.findErrorOption(exit),
          () => ({ code: ErrorCode.InternalError, message: "Internal error" })
        )
      )

  const receive = (text: string): void => {
    const message = Envelope.read(JSON.parse(text))
    if (message === undefined) return
    if (message._tag === "Notification" && message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"]
      if (Envelope.isRequestId(id)) answering.get(id)?.interruptUnsafe()
    }
    const answered = message._tag === "Request" ? answerTo(message) : undefined
    if (message._tag !== "Request" || answered === undefined) {
      Queue.offerUnsafe(messages, message)
      return
    }
    const { id } = message
    const fiber = fork(
      Effect.exit(answered).pipe(
        Effect.flatMap((exit) => settle(id, exit)),
        Effect.ensuring(Effect.sync(() => answering.delete(id)))
      )
    )
    if (fiber.pollUnsafe() === undefined) answering.set(id, fiber)
  }

  const duplex = Duplex.make({
    target,
    inbound,
    outboxLimit,
    messageLimit: outboxLimit,
    write: (frames, ready) => {
      for (const { text } of frames) receive(text)
      ready()
    }
  })

  // A microtask apart, so that neither side runs on the other's stack.
  const write = (text: string): void => queueMicrotask(() => duplex.onText(text))
  const breakOff = (): void => queueMicrotask(() => duplex.close(gone(false)))
  const peer = makePeer(messages, write, breakOff)

  const release = Effect.suspend(() => {
    duplex.close(gone(true))
    return Fiber.interruptAll(answering.values())
  })
  return { connection: duplex.connection, write, breakOff, release }
}

/**
 * Creates a transport and the peer at its other end. `peer` takes the messages of every connection, and writes to the
 * newest one.
 *
 * **Example** (Playing the server)
 *
 * ```ts
 * import { MemoryTransport } from "@mcp-effect/transport"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const { peer, transport } = yield* MemoryTransport.make()
 *   // … connect a client through `transport` in another fiber
 *   const request = yield* peer.take
 *   if (request._tag === "Request") yield* peer.reply(request.id, { content: [] })
 *   return transport
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <R = never>(
  answer?: Answer<R>
): Effect.Effect<{ readonly transport: Transport["Service"]; readonly peer: Peer }, never, R> =>
  Effect.gen(function*() {
    const context = yield* Effect.context<R>()
    const messages = yield* Queue.sliding<Envelope.Incoming>(keptMessages)
    let newest: Line | undefined

    const connect: Transport["Service"]["connect"] = (inbound) =>
      Effect.acquireRelease(
        Effect.sync(() => (newest = open(inbound, messages, answer, context))),
        ({ release }) => release
      ).pipe(Effect.map(({ connection }) => connection))

    return {
      transport: { kind: "memory", target, fingerprint: `memory:${++servers}`, connect },
      peer: makePeer(messages, (text) => newest?.write(text), () => newest?.breakOff())
    }
  })

/**
 * Provides a transport to a server that is a function.
 *
 * **Example** (A server with one tool)
 *
 * ```ts
 * import { MemoryTransport } from "@mcp-effect/transport"
 * import { Effect } from "effect"
 *
 * const Server = MemoryTransport.layer(({ method }) => {
 *   switch (method) {
 *     case "server/discover":
 *       return Effect.succeed({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } })
 *     case "tools/call":
 *       return Effect.succeed({ content: [{ type: "text", text: "hi" }] })
 *     default:
 *       return Effect.fail({ code: -32601, message: "Method not found" })
 *   }
 * })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <R = never>(answer: Answer<R>): Layer.Layer<Transport, never, R> =>
  Layer.effect(Transport, Effect.map(make(answer), ({ transport }) => transport))
