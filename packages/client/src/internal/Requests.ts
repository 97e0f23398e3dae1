/**
 * The requests of one connection: ids, encoding, deadlines and routing. The revision is a parameter of each request,
 * since probe, handshake and conversation share a connection and differ in it.
 */
import { type Diagnostic, type Envelope, type Json, McpError, type Revision } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Abort from "./Abort.ts"
import { Deadlines } from "./Deadlines.ts"
import { type Call, type InFlight, type Owner, Pending } from "./Pending.ts"
import * as RequestText from "./RequestText.ts"

/** What a request travels under. */
export interface Terms {
  readonly revision: Revision.Facts
  /** Members of `_meta` that are the same for every message. */
  readonly metadata: Json.JsonObject | undefined
  /** The same as JSON text without braces, encoded once. */
  readonly constantMetadata: string
}

/** Takes what no request waits for. */
export interface Listener {
  /** `origin` is the request on whose stream the message came, where that is known. */
  readonly onMessage: (
    message: Envelope.Request | Envelope.Notification,
    requests: Requests,
    origin: InFlight | undefined
  ) => void
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
}

export class Requests implements Owner {
  readonly connection: Transport.Connection
  readonly server: string
  private readonly inFlight = new Map<Envelope.RequestId, InFlight>()
  private readonly deadlines: Deadlines
  private readonly listener: Listener
  private nextId = 0
  /** Counts answers, by which it is known that the server lives. */
  answers = 0
  private onDrained: (() => void) | undefined = undefined

  constructor(connection: Transport.Connection, server: string, listener: Listener, clock: Clock.Clock, fork: Fork) {
    this.connection = connection
    this.server = server
    this.listener = listener
    this.deadlines = new Deadlines(clock, { [Symbol.iterator]: () => this.inFlight.values() }, fork)
  }

  /** Sends one request and waits for its answer. Interruption is cancellation on the wire. */
  request<A>(call: Call<A>, terms: Terms): Effect.Effect<A, McpError.McpError> {
    return Effect.withFiber((fiber) => {
      const signal = call.signal
      if (signal !== undefined && signal.aborted) {
        return this.refuse(call, new McpError.Cancelled({ reason: Abort.reasonOf(signal) }))
      }
      if (call.deadlineAt <= this.now()) {
        return this.refuse(call, new McpError.RequestTimeout({ kind: "deadline", millis: call.deadlineMillis }))
      }
      const id = call.id ?? this.freshId()
      if (this.inFlight.has(id)) {
        return this.refuse(
          call,
          new McpError.InvalidRequest({ problem: `the request id ${JSON.stringify(id)} is in use; choose another` })
        )
      }
      let text: string
      try {
        text = RequestText.encode(id, call.method, terms.constantMetadata, call.metadata, call.params)
      } catch {
        return this.refuse(
          call,
          new McpError.InvalidRequest({
            problem: "its parameters are not JSON (a cycle, a BigInt or a failing toJSON)"
          })
        )
      }
      return Effect.callback<A, McpError.McpError>((resume) => {
        const pending = new Pending(this, id, call, terms.revision, fiber.context, resume)
        this.inFlight.set(id, pending)
        pending.start(this.connection, {
          id,
          method: call.method,
          text,
          revision: terms.revision,
          routing: call.routing,
          onAbandon: call.onAbandon ?? "cancel"
        })
        return Effect.sync(() => pending.abandon())
      })
    })
  }

  notify(
    method: string,
    params: Json.JsonObject | undefined,
    revision: Revision.Facts
  ): Effect.Effect<void, McpError.McpError> {
    return Effect.mapError(
      this.connection.send({ _tag: "Notification", method, params }, revision),
      (error) => McpError.withContext(error, { server: this.server, method })
    )
  }

  /** Cancels a request that is in flight; one that is not is left alone, so that no stray notification is sent. */
  cancel(id: Envelope.RequestId, reason: string | undefined): void {
    this.inFlight.get(id)?.cancel(reason)
  }

  /** Pauses the idle timeouts of every request in flight: a person acts, and it cannot be told for which of them. */
  holdAll(): () => void {
    const releases = Array.from(this.inFlight.values(), (request) => request.hold())
    return () => {
      for (const release of releases) release()
    }
  }

  /** Runs once all requests in flight were given up; never, if one of them is answered or there is none. */
  onAllGivenUp(run: () => void): void {
    let left = this.inFlight.size
    for (const request of this.inFlight.values()) {
      request.onSettled((answered) => {
        left = answered ? Infinity : left - 1
        if (left === 0) run()
      })
    }
  }

  now(): number {
    return this.deadlines.now()
  }

  watch(time: number): void {
    this.deadlines.watch(time)
  }

  forget(request: InFlight, answered: boolean): void {
    this.inFlight.delete(request.id)
    if (answered) this.answers++
    if (this.inFlight.size > 0) return
    this.deadlines.disarm()
    this.onDrained?.()
  }

  /** Runs once no request is in flight: no others are made here from now on. */
  whenDrained(run: () => void): void {
    if (this.inFlight.size === 0) run()
    else this.onDrained = run
  }

  onMessage(message: Envelope.Request | Envelope.Notification, origin: InFlight): void {
    this.listener.onMessage(message, this, origin)
  }

  /** Takes what the connection could not route; only the host's own progress tokens are left to find here. */
  onInbound(message: Envelope.Request | Envelope.Notification): void {
    if (message._tag === "Notification" && message.method === "notifications/progress") {
      const token = message.params?.["progressToken"]
      for (const request of this.inFlight.values()) {
        if (request.progressToken === token) return request.onMessage(message)
      }
    }
    this.listener.onMessage(message, this, undefined)
  }

  onDiagnostic(diagnostic: Diagnostic.Diagnostic): void {
    this.listener.onDiagnostic(diagnostic)
  }

  private freshId(): number {
    let id = ++this.nextId
    while (this.inFlight.has(id)) id = ++this.nextId
    return id
  }

  private refuse(call: Call<unknown>, reason: McpError.McpErrorReason): Exit.Exit<never, McpError.McpError> {
    return Exit.fail(McpError.make(reason, "unsent", { server: this.server, method: call.method }))
  }
}

type Fork = (effect: Effect.Effect<void>) => Fiber.Fiber<void>

/** Opens a connection whose messages go to `listener`. It closes with the scope. */
export const connect = Effect.fnUntraced(function*(
  transport: Transport.Transport["Service"],
  listener: Listener
): Effect.fn.Return<Requests, McpError.McpError, Scope.Scope> {
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  let requests: Requests | undefined
  // A server may write before the connection is handed over.
  const early: Array<Envelope.Request | Envelope.Notification> = []
  const connection = yield* transport.connect({
    onMessage: (message) => requests === undefined ? void early.push(message) : requests.onInbound(message),
    onDiagnostic: listener.onDiagnostic
  })
  requests = new Requests(connection, transport.target, listener, clock, Effect.runForkWith(context))
  for (const message of early) requests.onInbound(message)
  return requests
})
