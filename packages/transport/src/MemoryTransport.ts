/**
 * A server in memory: a peer that a test holds in its hand, or a function that answers requests.
 *
 * @since 0.1.0
 */
import { Envelope, ErrorCode, type Json, McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Duplex from "./Duplex.ts"
import { type Connection, type Inbound, Transport } from "./Transport.ts"

// In UTF-16 units. A peer in memory reads at once, so that this only bounds what is sent in one turn.
const outboxLimit = 64 * 1024 * 1024

/**
 * The other end of a connection: what the server sees and does. It stands for the server of the newest connection.
 *
 * @category models
 * @since 0.1.0
 */
export interface Peer {
  /** Waits for the next message of the client that no `Answer` took. */
  readonly take: Effect.Effect<Envelope.Incoming>
  /** The messages of the client that no `Answer` took; a message goes to one reader only. */
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
 * from the peer. A cancelled request interrupts the effect.
 *
 * @category models
 * @since 0.1.0
 */
export type Answer = (
  request: Envelope.Request,
  peer: Peer
) => Effect.Effect<Json.JsonObject, Envelope.ErrorObject> | undefined

interface Live {
  readonly deliver: (text: string) => void
  readonly end: () => void
}

const encode = (message: unknown): string => typeof message === "string" ? message : JSON.stringify(message)

const gone = (local: boolean): McpError.McpError =>
  McpError.make(new McpError.ConnectionClosed({ target: "memory", local }), "unknown", { server: "memory" })

/**
 * Creates a transport and the peer at its other end.
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
export const make = (
  answer?: Answer
): Effect.Effect<{ readonly transport: Transport["Service"]; readonly peer: Peer }> =>
  Effect.gen(function*() {
    const context = yield* Effect.context<never>()
    const fork = Effect.runForkWith(context)
    const messages = yield* Queue.unbounded<Envelope.Incoming>()
    let live: Live | undefined

    const send = (message: unknown): Effect.Effect<void> => Effect.sync(() => live?.deliver(encode(message)))
    const peer: Peer = {
      take: Queue.take(messages),
      messages: Stream.fromQueue(messages),
      send,
      reply: (id, result) => send({ jsonrpc: "2.0", id, result }),
      fail: (id, error) => send({ jsonrpc: "2.0", id, error }),
      notify: (method, params) => send({ jsonrpc: "2.0", method, ...(params === undefined ? undefined : { params }) }),
      close: Effect.sync(() => live?.end())
    }

    const connect = (inbound: Inbound): Effect.Effect<Connection, never, Scope.Scope> =>
      Effect.gen(function*() {
        const scope = yield* Effect.scope
        const answering = new Map<Envelope.RequestId, Fiber.Fiber<void>>()

        const receive = (text: string): void => {
          const message = Envelope.read(JSON.parse(text))
          if (message === undefined) return
          if (message._tag === "Notification" && message.method === "notifications/cancelled") {
            const id = message.params?.["requestId"]
            if (Envelope.isRequestId(id)) answering.get(id)?.interruptUnsafe()
          }
          const answered = message._tag === "Request" ? answer?.(message, peer) : undefined
          if (message._tag !== "Request" || answered === undefined) {
            Queue.offerUnsafe(messages, message)
            return
          }
          const { id } = message
          const fiber = fork(
            Effect.matchCauseEffect(answered, {
              onSuccess: (result) => peer.reply(id, result),
              onFailure: (cause) => {
                const exit = Exit.failCause(cause)
                if (Exit.hasInterrupts(exit)) return Effect.void
                const error = Exit.findErrorOption(exit)
                return peer.fail(
                  id,
                  error._tag === "Some" ? error.value : { code: ErrorCode.InternalError, message: "Internal error" }
                )
              }
            }).pipe(Effect.ensuring(Effect.sync(() => answering.delete(id))))
          )
          if (fiber.pollUnsafe() === undefined) answering.set(id, fiber)
        }

        const duplex = Duplex.make({
          target: "memory",
          inbound,
          outboxLimit,
          messageLimit: outboxLimit,
          write: (frames, ready) => {
            for (const { text } of frames) receive(text)
            ready()
          }
        })
        // A microtask apart, so that neither side runs on the other's stack.
        const own: Live = {
          deliver: (text) => queueMicrotask(() => duplex.onText(text)),
          end: () => queueMicrotask(() => duplex.close(gone(false)))
        }
        live = own
        yield* Scope.addFinalizer(
          scope,
          Effect.suspend(() => {
            if (live === own) live = undefined
            duplex.close(gone(true))
            return Effect.forEach(answering.values(), Fiber.interrupt, { discard: true })
          })
        )
        return duplex.connection
      })

    return { transport: { kind: "memory", target: "memory", fingerprint: "memory", connect }, peer }
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
export const layer = (answer: Answer): Layer.Layer<Transport> =>
  Layer.effect(Transport, Effect.map(make(answer), ({ transport }) => transport))
