/**
 * Keeps `subscriptions/listen` requests open (2026-07-28 basic/patterns/subscriptions). How a subscription gets from one
 * state to the next is written down in `Subscription`.
 */
import { type Diagnostic, type Envelope, Json, McpError } from "@mcp-effect/protocol"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as PubSub from "effect/PubSub"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as McpTask from "../McpTask.ts"
import { defaultAckTimeout, type Filter, type ListenOptions, type State, type Subscription } from "../Subscription.ts"
import * as Backoff from "./Backoff.ts"
import type { Calls } from "./Calls.ts"
import type { Link } from "./Link.ts"
import type { NotificationRouter, Subscriber } from "./NotificationRouter.ts"
import { Readers } from "./Readers.ts"
import type { Session } from "./Session.ts"

const method = "subscriptions/listen"

/** Longer than this no server is left alone, whatever it asks for. */
const longestAnnouncedMillis = 60_000

/** A stream over HTTP on which not even a comment comes may be dead. */
const idleTimeout: Duration.Input = "5 minutes"

/** A process that ends sooner after it was first given a subscription would end again and again. */
const crashMillis = 5_000

export interface Options {
  readonly server: string
  readonly calls: Calls
  readonly link: Link
  readonly router: NotificationRouter
  readonly now: () => number
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
  /** Whether the client declares the tasks extension. */
  readonly declaresTasks: boolean
}

// ====================================================================================================================
// Filters
// ====================================================================================================================

const flags = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] as const
const lists = ["resourceSubscriptions", "taskIds"] as const

const isStrings = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((element) => typeof element === "string")

/** Reads the fields that are what they should be, into a copy that nobody can change. */
const copyOf = (filter: Json.JsonObject): Filter => {
  const copy: { -readonly [Field in keyof Filter]: Filter[Field] } = {}
  for (const field of flags) {
    const value = filter[field]
    if (typeof value === "boolean") copy[field] = value
  }
  for (const field of lists) {
    const value = filter[field]
    if (isStrings(value)) copy[field] = Object.freeze([...value])
  }
  return Object.freeze(copy)
}

const isFlag = (field: string): boolean => (flags as ReadonlyArray<string>).includes(field)
const isList = (field: string): boolean => (lists as ReadonlyArray<string>).includes(field)

const problemWith = (filter: unknown, declaresTasks: boolean): string | undefined => {
  if (!Json.isJsonObject(filter)) return "the filter of a subscription is an object"
  for (const [field, value] of Object.entries(filter)) {
    if (value === undefined) continue
    if (isFlag(field) ? typeof value !== "boolean" : isList(field) ? !isStrings(value) : true) {
      return isFlag(field)
        ? `${field} must be true or false`
        : isList(field)
        ? `${field} must be an array of strings`
        : `a subscription can be about ${[...flags, ...lists].join(", ")}; ${JSON.stringify(field)} is none of them`
    }
    if (field === "taskIds" && !declaresTasks) {
      return `taskIds needs the tasks extension; declare it with extensions: { "${McpTask.extension}": {} }`
    }
  }
  return undefined
}

/** What was asked for and is not granted, by the values of the acknowledgment: a field may be there and grant nothing. */
const unsupportedOf = (requested: Filter, acknowledged: Filter): ReadonlyArray<keyof Filter> => [
  ...flags.filter((field) => requested[field] === true && acknowledged[field] !== true),
  ...lists.filter((field) => {
    const wanted = requested[field] ?? []
    return wanted.length > 0 && !wanted.some((each) => acknowledged[field]?.includes(each))
  })
]

/** What would have been told of what is acknowledged, had it changed. */
const changesOf = (acknowledged: Filter): ReadonlyArray<Envelope.Notification> => {
  const changed = (method: string, params?: Json.JsonObject) => ({ _tag: "Notification" as const, method, params })
  return [
    ...(acknowledged.toolsListChanged === true ? [changed("notifications/tools/list_changed")] : []),
    ...(acknowledged.promptsListChanged === true ? [changed("notifications/prompts/list_changed")] : []),
    ...(acknowledged.resourcesListChanged === true ? [changed("notifications/resources/list_changed")] : []),
    ...(acknowledged.resourceSubscriptions ?? []).map((uri) => changed("notifications/resources/updated", { uri }))
  ]
}

// ====================================================================================================================
// Failures
// ====================================================================================================================

/** The server has failed, or the way to it: the same may be had again. */
const isServerFailure = ({ reason }: McpError.McpError): boolean =>
  (reason._tag === "HttpStatus" && reason.status >= 500)
  || (reason._tag === "ServerError" && reason.httpStatus !== undefined && reason.httpStatus >= 500)

const isDroppedStream = (error: McpError.McpError): boolean => {
  switch (error.reason._tag) {
    case "StreamEnded":
    case "StreamIdle":
    case "ConnectionFailed":
    case "ConnectionClosed":
    case "SessionExpired":
      return true
    case "RequestTimeout":
      return error.reason.kind === "idle"
    default:
      return isServerFailure(error)
  }
}

/** This side has closed the connection, perhaps with the client. */
const isClosedHere = ({ reason }: McpError.McpError): boolean => reason._tag === "ConnectionClosed" && reason.local

const announcedMillis = ({ reason }: McpError.McpError): number =>
  reason._tag === "HttpStatus" || reason._tag === "StreamEnded"
    ? Math.min(reason.retryAfterMillis ?? 0, longestAnnouncedMillis)
    : 0

// ====================================================================================================================
// One subscription
// ====================================================================================================================

/** One request of a subscription. */
interface Attempt {
  readonly abort: AbortController
  isAcknowledged: boolean
  /** Why it was aborted. */
  error: McpError.McpError | undefined
  /** Waits for the acknowledgment. */
  timer: Fiber.Fiber<void> | undefined
}

class Listening implements Subscriber {
  readonly requested: Filter
  readonly readers: Readers
  /** Completes with the first acknowledgment, or with the end. */
  readonly opened = Deferred.makeUnsafe<void, McpError.McpError>()
  acknowledged: Filter | undefined = undefined
  unsupported: ReadonlyArray<keyof Filter> = []
  private state: State = { _tag: "Opening" }
  private attempt: Attempt | undefined = undefined
  /** When the first request was made. */
  private firstAt: number | undefined = undefined
  /** Requests that have ended since one was acknowledged. */
  private failures = 0
  private readonly states: PubSub.PubSub<State>
  private readonly options: Options
  private readonly ackMillis: number
  private readonly meta: Json.JsonObject | undefined
  private readonly receipts: WeakMap<Session, number>

  constructor(
    options: Options,
    requested: Filter,
    ackMillis: number,
    meta: Json.JsonObject | undefined,
    states: PubSub.PubSub<State>,
    receipts: WeakMap<Session, number>
  ) {
    this.options = options
    this.requested = requested
    this.ackMillis = ackMillis
    this.meta = meta
    this.states = states
    this.receipts = receipts
    this.readers = new Readers(() =>
      options.onDiagnostic({ _tag: "MessagesDropped", stream: "subscription", dropped: 1 })
    )
    this.become(this.state)
  }

  // ------------------------------------------------------------------------------------------------------------------
  // What the server says
  // ------------------------------------------------------------------------------------------------------------------

  accept(notification: Envelope.Notification, id: Envelope.RequestId): boolean {
    switch (notification.method) {
      case "notifications/subscriptions/acknowledged":
        this.onAcknowledged(Json.objectMember(notification.params, "notifications") ?? {}, id)
        return false
      case "notifications/cancelled":
        // On a shared channel the connection takes it for the end of the request; a stream of its own only brings it.
        if (notification.params?.["requestId"] === id) this.abort(new McpError.StreamEnded({ resumable: false }))
        return false
      default:
        return true
    }
  }

  deliver(notification: Envelope.Notification): void {
    this.readers.offer(notification)
  }

  private onAcknowledged(filter: Json.JsonObject, id: Envelope.RequestId): void {
    const { attempt, options } = this
    if (attempt === undefined || attempt.error !== undefined) return
    attempt.isAcknowledged = true
    attempt.timer?.interruptUnsafe()
    const wasAcknowledged = this.acknowledged !== undefined
    const before = this.unsupported
    const acknowledged = copyOf(filter)
    this.acknowledged = acknowledged
    this.unsupported = Object.freeze(unsupportedOf(this.requested, acknowledged))
    this.become({ _tag: "Active", id })
    if (this.unsupported.some((field) => !before.includes(field))) {
      options.fork(Effect.logWarning(`${options.server} does not tell of ${this.unsupported.join(", ")}`))
    }
    if (wasAcknowledged) { for (const change of changesOf(acknowledged)) options.router.invalidate(change) }
    Deferred.doneUnsafe(this.opened, Effect.void)
  }

  // ------------------------------------------------------------------------------------------------------------------
  // States
  // ------------------------------------------------------------------------------------------------------------------

  private become(state: State): void {
    this.state = state
    PubSub.publishUnsafe(this.states, state)
  }

  get changes(): Stream.Stream<State> {
    return Stream.takeUntil(Stream.fromPubSub(this.states), ({ _tag }) => _tag === "Closed")
  }

  /** `why` is what fails whoever waits for the acknowledgment, and those who read where the subscription has failed. */
  private settle(cause: "graceful" | "byClient" | "failed", why?: McpError.McpError): void {
    if (this.state._tag === "Closed") return
    const error = cause === "failed" ? why : undefined
    this.become({ _tag: "Closed", cause, error })
    this.readers.close(error)
    Deferred.doneUnsafe(this.opened, why === undefined ? Effect.void : Effect.fail(why))
  }

  /** Keeps the request open until the subscription is closed. An interruption closes it. */
  readonly run: Effect.Effect<void> = Effect.suspend(() =>
    Effect.onExit(this.keep, (exit) => {
      if (Exit.isSuccess(exit)) return Effect.void
      if (Exit.hasInterrupts(exit)) {
        const closed = new McpError.ConnectionClosed({ target: this.options.server, local: true })
        return Effect.sync(() => this.settle("byClient", this.errorOf(closed)))
      }
      // A hook of the application has failed.
      Deferred.doneUnsafe(this.opened, Effect.failCause(exit.cause))
      this.settle("failed")
      return Effect.logError(`A subscription to ${this.options.server} has failed`, exit.cause)
    })
  )

  private get keep(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      const { link, now } = this.options
      while (true) {
        const connected = yield* Effect.result(link.current)
        if (Result.isFailure(connected)) {
          const error = connected.failure
          return this.settle(isClosedHere(error) ? "byClient" : "failed", error)
        }
        const session = connected.success
        if (session.revision.subscriptions !== "listen") {
          return this.settle("failed", this.errorOf(new McpError.CapabilityMissing({ capability: method })))
        }
        // Connecting has a time of its own.
        this.firstAt ??= now()
        const ended = yield* Effect.result(this.listen(session))
        if (Result.isSuccess(ended)) return this.settle("graceful")
        const error = ended.failure
        if (error.reason._tag === "Cancelled") return this.settle("byClient", error)
        if (!this.mayGoOn(session, error)) return this.settle("failed", error)
        const delay = this.delayAfter(session, error)
        // Nobody has a use for a subscription that cannot be opened in time.
        if (this.acknowledged === undefined && delay >= this.ackMillisLeft) return this.settle("failed", error)
        this.become({ _tag: "Reconnecting", error })
        if (delay > 0) yield* Effect.sleep(delay)
      }
    })
  }

  private mayGoOn(session: Session, error: McpError.McpError): boolean {
    if (this.attempt?.error !== undefined) return false
    if (session.http) return isDroppedStream(error)
    switch (error.reason._tag) {
      case "SessionExpired":
        return true
      case "ConnectionClosed": {
        // What never reached the process was not its undoing, nor was what this side has ended.
        if (error.reason.local || error.delivery === "unsent") return true
        const receivedAt = this.receipts.get(session)
        return receivedAt === undefined || this.options.now() - receivedAt >= crashMillis
      }
      default:
        return false
    }
  }

  private delayAfter(session: Session, error: McpError.McpError): number {
    const failures = this.attempt?.isAcknowledged === true ? 0 : this.failures
    this.failures = failures + 1
    if (session.http) return Math.max(Backoff.delayMillis(failures), announcedMillis(error))
    // A process that ended is started again at once, and one that ends over and over before it can answer is not.
    return failures === 0 && this.options.link.ready() !== session ? 0 : Backoff.delayMillis(Math.max(failures - 1, 0))
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Requests
  // ------------------------------------------------------------------------------------------------------------------

  /** Makes one request, which ends with the server's last word or with a failure. */
  private listen(session: Session): Effect.Effect<unknown, McpError.McpError> {
    return Effect.suspend(() => {
      const { calls, fork, now } = this.options
      const attempt: Attempt = {
        abort: new AbortController(),
        isAcknowledged: false,
        error: undefined,
        timer: undefined
      }
      this.attempt = attempt
      const left = this.ackMillisLeft
      if (left !== Infinity) {
        const timeout = new McpError.RequestTimeout({ kind: "acknowledgment", millis: this.ackMillis })
        attempt.timer = fork(Effect.andThen(Effect.sleep(left), Effect.sync(() => this.abort(timeout))))
      }
      if (!session.http && !this.receipts.has(session)) this.receipts.set(session, now())
      const request = calls.run({
        method,
        params: { notifications: this.requested },
        decode: (result) => Exit.succeed(result),
        subscriber: this,
        generation: session.generation
      }, {
        meta: this.meta,
        idleTimeout: session.http ? idleTimeout : Infinity,
        deadline: Infinity,
        // What becomes of a request that has ended is decided here.
        reissue: "never",
        retry: Schedule.recurs(0),
        signal: attempt.abort.signal
      })
      return Effect.ensuring(
        Effect.mapError(request, (error) => attempt.error ?? error),
        Effect.sync(() => attempt.timer?.interruptUnsafe())
      )
    })
  }

  /** How long the next request may take to be acknowledged: all that are made before any was share one such time. */
  private get ackMillisLeft(): number {
    const { acknowledged, ackMillis, firstAt, options } = this
    return acknowledged === undefined && firstAt !== undefined ? ackMillis - (options.now() - firstAt) : ackMillis
  }

  private abort(reason: McpError.McpErrorReason): void {
    const { attempt } = this
    if (attempt === undefined || attempt.error !== undefined) return
    attempt.error = this.errorOf(reason)
    attempt.abort.abort()
  }

  private errorOf(reason: McpError.McpErrorReason): McpError.McpError {
    const delivery = reason._tag === "CapabilityMissing" ? "unsent" : "unknown"
    return McpError.make(reason, delivery, { server: this.options.server, method })
  }
}

export interface Subscriptions {
  readonly listen: (
    filter: Filter,
    options?: ListenOptions
  ) => Effect.Effect<Subscription, McpError.McpError, Scope.Scope>
  /** Closes all subscriptions, while there is a connection to say so on. */
  readonly closeAll: Effect.Effect<void>
}

export const make = (options: Options): Subscriptions => {
  /** When a process was first given a subscription. */
  let receipts: WeakMap<Session, number> | undefined
  let open: Set<Fiber.Fiber<void>> | undefined

  return {
    closeAll: Effect.suspend(() => open === undefined ? Effect.void : Fiber.interruptAll(open)),
    listen: Effect.fnUntraced(function*(filter, { ackTimeout, meta } = {}) {
      const problem = problemWith(filter, options.declaresTasks)
      if (problem !== undefined) {
        return yield* McpError.make(new McpError.InvalidRequest({ problem }), "unsent", {
          server: options.server,
          method
        })
      }
      const ackMillis = Duration.toMillis(Duration.fromInputUnsafe(ackTimeout ?? defaultAckTimeout))
      const states = yield* PubSub.unbounded<State>({ replay: 1 })
      receipts ??= new WeakMap()
      const listening = new Listening(options, copyOf(filter), ackMillis, meta, states, receipts)
      const fiber = yield* Effect.forkScoped(listening.run, { startImmediately: true })
      const fibers = open ??= new Set()
      fibers.add(fiber)
      fiber.addObserver(() => fibers.delete(fiber))
      const close = Effect.asVoid(Fiber.interrupt(fiber))
      yield* Effect.onInterrupt(Deferred.await(listening.opened), () => close)
      return {
        requested: listening.requested,
        acknowledged: Effect.sync(() => listening.acknowledged),
        unsupported: Effect.sync(() => listening.unsupported),
        state: Stream.suspend(() => listening.changes),
        notifications: listening.readers.stream,
        pending: Effect.sync(() => listening.readers.pending),
        pendingBytes: Effect.sync(() => listening.readers.pendingBytes),
        dropped: Effect.sync(() => listening.readers.dropped),
        close
      }
    })
  }
}
