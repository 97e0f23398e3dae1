/**
 * One request in flight: at once what the connection calls, what the timer looks at and what resumes the caller.
 *
 * `resume` runs the caller synchronously inside the reader, so that the follow-up requests of all replies in one chunk
 * leave in one write.
 */
import {
  Decode,
  type Diagnostic,
  type Envelope,
  ErrorCode,
  ErrorReply,
  InputRequired,
  type Json,
  McpError,
  type Progress,
  ResultType,
  type Revision
} from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Abort from "./Abort.ts"
import type { Expiring } from "./Deadlines.ts"
import type { Subscriber } from "./NotificationRouter.ts"
import * as Read from "./Read.ts"

// Errors that a server answers with before it executes anything.
const refusals: ReadonlySet<number> = new Set([
  ErrorCode.ParseError,
  ErrorCode.InvalidRequest,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
  ErrorCode.HeaderMismatch,
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion
])

/** A request as a feature asks for it. */
export interface Call<A> {
  readonly method: string
  readonly params: Json.JsonObject | undefined
  /** The host's `_meta` for this request. */
  readonly metadata?: Json.JsonObject | undefined
  readonly decode: (result: Json.JsonObject, evidence: Transport.Evidence) => Exit.Exit<A, McpError.McpErrorReason>
  readonly idleMillis: number
  /** Monotonic milliseconds; one deadline covers everything that is done for a caller. */
  readonly deadlineAt: number
  /** What the deadline was asked to be, for its error. */
  readonly deadlineMillis: number
  readonly id?: Envelope.RequestId | undefined
  readonly signal?: AbortSignal | undefined
  readonly routing?: Transport.Routing | undefined
  readonly onProgress?: ((progress: Progress.ProgressNotificationParams) => Effect.Effect<void>) | undefined
  /** Hears of the other notifications that come with this request. */
  readonly onNotification?: ((notification: Envelope.Notification) => void) | undefined
  readonly onAbandon?: "cancel" | "silent" | undefined
  /** Whether the request may be answered with a task, which `decode` then reads. */
  readonly tasks?: boolean | undefined
  /** What the resource is, where the method names one. */
  readonly uri?: string | undefined
  /** Takes what comes with this request, where it is a subscription. */
  readonly subscriber?: Subscriber | undefined
  /** Hears whether a person is waited for on behalf of this request. */
  readonly onHold?: ((isHeld: boolean) => void) | undefined
}

/** A request in flight, whatever it is going to give. */
export interface InFlight extends Expiring {
  readonly id: Envelope.RequestId
  readonly progressToken: unknown
  readonly subscriber: Subscriber | undefined
  readonly cancel: (reason: string | undefined) => void
  readonly hold: () => () => void
  /** Runs when nobody waits for the answer any more, with whether it came. */
  readonly onSettled: (finalizer: (answered: boolean) => void) => void
  readonly onMessage: (message: Envelope.Request | Envelope.Notification) => void
}

/** What a pending request needs of the connection it runs on. */
export interface Owner {
  readonly server: string
  readonly now: () => number
  /** Makes sure that the timer looks at `time`. */
  readonly watch: (time: number) => void
  readonly forget: (request: InFlight, answered: boolean) => void
  readonly onMessage: (message: Envelope.Request | Envelope.Notification, origin: InFlight) => void
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
}

export class Pending<A> implements Transport.Exchange, InFlight {
  readonly id: Envelope.RequestId
  readonly call: Call<A>
  readonly progressToken: unknown
  private readonly owner: Owner
  private readonly revision: Revision.Facts
  private readonly context: Context.Context<never>
  private readonly resume: (effect: Effect.Effect<A, McpError.McpError>) => void
  private cancelTransport: Transport.Cancel | undefined = undefined
  private onAbort: (() => void) | undefined = undefined
  private settled = false
  /** Nobody waits for what is still to be told. */
  private isOver = false
  private idleAt: number
  private holds = 0
  /** Its answer comes as a stream, which is open. */
  private streaming = false
  private finalizers: Array<(answered: boolean) => void> | undefined = undefined
  private progress: Fiber.Fiber<void> | undefined = undefined

  constructor(
    owner: Owner,
    id: Envelope.RequestId,
    call: Call<A>,
    revision: Revision.Facts,
    context: Context.Context<never>,
    resume: (effect: Effect.Effect<A, McpError.McpError>) => void
  ) {
    this.owner = owner
    this.id = id
    this.call = call
    this.revision = revision
    this.context = context
    this.resume = resume
    this.progressToken = call.metadata !== undefined && Object.hasOwn(call.metadata, "progressToken")
      ? call.metadata["progressToken"]
      : id
    this.idleAt = call.idleMillis === Infinity ? Infinity : owner.now() + call.idleMillis
  }

  /** Sends the request. The connection may answer before it returns. */
  start(connection: Transport.Connection, outgoing: Transport.Outgoing): void {
    const signal = this.call.signal
    if (signal !== undefined) {
      this.onAbort = () => this.cancel(Abort.reasonOf(signal))
      signal.addEventListener("abort", this.onAbort, { once: true })
    }
    const cancel = connection.open(outgoing, this, this.context)
    if (this.settled) return
    this.cancelTransport = cancel
    this.owner.watch(this.expiresAt())
  }

  get subscriber(): Subscriber | undefined {
    return this.call.subscriber
  }

  expiresAt(): number {
    return this.holds > 0 || this.idleAt > this.call.deadlineAt ? this.call.deadlineAt : this.idleAt
  }

  expire(): void {
    const idle = this.holds === 0 && this.idleAt < this.call.deadlineAt
    const { deadlineMillis, idleMillis } = this.call
    const reason = !idle
      ? new McpError.RequestTimeout({ kind: "deadline", millis: deadlineMillis })
      : this.streaming
      ? new McpError.StreamIdle({ millis: idleMillis })
      : new McpError.RequestTimeout({ kind: "idle", millis: idleMillis })
    const cancel = this.fail(this.error(reason, "unknown"))
    cancel?.("Request timed out")
  }

  /** Fails the caller and tells the peer. Nothing happens once the request is settled. */
  cancel(reason: string | undefined): void {
    const cancel = this.fail(this.error(new McpError.Cancelled({ reason }), "unknown"))
    cancel?.(reason)
  }

  /** The caller was interrupted: nobody waits any more. */
  abandon(): void {
    this.isOver = true
    if (this.settled) return
    const cancel = this.release(false)
    cancel?.(undefined)
  }

  /** Pauses the idle timeout until the function that it returns is called: somebody acts on behalf of this request. */
  hold(): () => void {
    this.holds++
    let held = true
    return () => {
      if (!held) return
      held = false
      this.holds--
      this.onActivity(0)
    }
  }

  onSettled(finalizer: (answered: boolean) => void): void {
    if (this.settled) finalizer(true)
    else if (this.finalizers === undefined) this.finalizers = [finalizer]
    else this.finalizers.push(finalizer)
  }

  onActivity(graceMillis: number): void {
    this.call.onHold?.(graceMillis === Infinity)
    if (this.call.idleMillis === Infinity) return
    this.idleAt = this.owner.now() + this.call.idleMillis + graceMillis
    // A wait that was announced and then taken back runs out earlier than the timer looks.
    if (!this.settled) this.owner.watch(this.expiresAt())
  }

  onStream(isOpen: boolean): void {
    this.streaming = isOpen
  }

  onMessage(message: Envelope.Request | Envelope.Notification): void {
    this.onActivity(0)
    if (
      message._tag === "Notification" && message.method === "notifications/progress"
      && message.params !== undefined && message.params["progressToken"] === this.progressToken
    ) {
      this.onProgress(message.params)
      return
    }
    if (message._tag === "Notification") this.call.onNotification?.(message)
    this.owner.onMessage(message, this)
  }

  onResponse(message: Envelope.Response, evidence: Transport.Evidence): void {
    if (this.settled) return
    const outcome = message.outcome
    switch (outcome._tag) {
      case "Result":
        this.answer(this.read(outcome.result, evidence))
        return
      case "Error": {
        const reason = ErrorReply.reason(outcome.error, {
          revision: this.revision,
          method: this.call.method,
          uri: this.call.uri,
          httpStatus: evidence.httpStatus
        })
        this.answer(Exit.fail(this.error(reason, refusals.has(outcome.error.code) ? "refused" : "unknown")))
        return
      }
      case "Malformed":
        this.answer(Exit.fail(this.error(new McpError.MalformedMessage({ problem: outcome.problem }), "unknown")))
    }
  }

  onFailure(error: McpError.McpError): void {
    this.fail(McpError.withContext(error, { server: this.owner.server, method: this.call.method }))
  }

  private read(result: Json.JsonObject, evidence: Transport.Evidence): Exit.Exit<A, McpError.McpError> {
    const kind = ResultType.read(result, {
      revision: this.revision,
      method: this.call.method,
      tasks: this.call.tasks === true
    })
    const issue = Exit.isFailure(kind)
      ? Option.getOrUndefined(Exit.findErrorOption(kind))
      : undefined
    if (issue !== undefined) return Exit.fail(this.error(Decode.malformed(issue), "unknown"))
    if (Exit.isSuccess(kind) && kind.value === "input_required") {
      // Nothing was executed yet: the server waits for what it asks.
      return Exit.fail(this.error(this.inputRequired(result), "refused"))
    }
    const decoded = this.call.decode(result, evidence)
    return Exit.isSuccess(decoded)
      ? Exit.succeed(decoded.value)
      : Exit.mapError(decoded, (reason) => this.error(reason, "unknown"))
  }

  private inputRequired(result: Json.JsonObject): McpError.McpErrorReason {
    const checked = InputRequired.validate(result)
    const state = result["requestState"]
    return new McpError.InputRequired({
      problem: Exit.isSuccess(checked) ? "unanswered" : "malformed",
      requestMethod: this.call.method,
      requestParams: this.call.params,
      inputRequests: result["inputRequests"],
      requestState: typeof state === "string" ? state : undefined,
      result
    })
  }

  private error(reason: McpError.McpErrorReason, delivery: McpError.Delivery): McpError.McpError {
    return McpError.make(reason, delivery, { server: this.owner.server, method: this.call.method })
  }

  private onProgress(params: Json.JsonObject): void {
    const callback = this.call.onProgress
    if (callback === undefined || this.settled) return
    const progress = Read.progress(params)
    if (progress === undefined) return
    const run = Effect.catchCause(
      Effect.suspend(() => this.isOver ? Effect.void : callback(progress)),
      (cause) => {
        this.owner.onDiagnostic({ _tag: "CallbackFailed", callback: "onProgress", method: this.call.method })
        return Effect.logWarning("An onProgress callback failed; the call goes on without it", cause)
      }
    )
    const previous = this.progress
    const running = previous !== undefined && previous.pollUnsafe() === undefined
    this.progress = Effect.runForkWith(this.context)(running ? Effect.andThen(Fiber.await(previous), run) : run)
  }

  /**
   * Ends the request with its answer. Progress that came before it is delivered before the call returns, as far as the
   * deadline allows.
   */
  private answer(exit: Exit.Exit<A, McpError.McpError>): void {
    const progress = this.progress
    this.release(true)
    if (progress === undefined || progress.pollUnsafe() !== undefined) {
      this.resume(exit)
      return
    }
    const left = this.call.deadlineAt - this.owner.now()
    const delivered: Effect.Effect<unknown> = left === Infinity
      ? Fiber.await(progress)
      : Effect.timeoutOption(Fiber.await(progress), Duration.millis(Math.max(left, 0)))
    this.resume(Effect.andThen(delivered, exit))
  }

  /** Ends the request without an answer, once; gives the transport's cancel to whoever ended it without the transport. */
  private fail(error: McpError.McpError): Transport.Cancel | undefined {
    if (this.settled) return undefined
    const cancel = this.release(false)
    this.isOver = true
    this.resume(Exit.fail(error))
    return cancel
  }

  private release(answered: boolean): Transport.Cancel | undefined {
    this.settled = true
    this.call.onHold?.(false)
    if (this.onAbort !== undefined) this.call.signal?.removeEventListener("abort", this.onAbort)
    this.owner.forget(this, answered)
    if (this.finalizers !== undefined) { for (const finalizer of this.finalizers) finalizer(answered) }
    return this.cancelTransport
  }
}
