/**
 * Sends one request of an application, and what has to be sent in its place: `Recovery` says what that is. All of it
 * shares the caller's deadline, span and hook.
 */
import { type Envelope, ErrorReply, type Json, McpError, Metadata, type Progress } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as ClientOptions from "../ClientOptions.ts"
import * as Abort from "./Abort.ts"
import type { Invocation, RunOptions, Settings } from "./Calls.ts"
import * as CapabilityGate from "./CapabilityGate.ts"
import * as Negotiation from "./Negotiation.ts"
import type { Subscriber } from "./NotificationRouter.ts"
import type { Call } from "./Pending.ts"
import * as Recovery from "./Recovery.ts"
import * as RequestText from "./RequestText.ts"
import { type Bounds, defaultSchedule, Retries, run as repeat } from "./Retries.ts"
import * as RoundTrips from "./RoundTrips.ts"
import type { Session } from "./Session.ts"
import * as Telemetry from "./Telemetry.ts"

type Failed = Effect.Effect<never, McpError.McpError>

/** The time that is left for everything that is done for one caller. */
export interface Limits {
  readonly idleMillis: number
  readonly startedAt: number
  /** Monotonic milliseconds. */
  readonly deadlineAt: number
  /** What the deadline was asked to be, for its error. */
  readonly deadlineMillis: number
}

const noPages: ReadonlySet<string> = new Set()

/** Whether something failed since the call that it was done for has ended. */
const endsCall = ({ reason }: McpError.McpError): boolean =>
  reason._tag === "Cancelled" || (reason._tag === "RequestTimeout" && reason.kind === "deadline")

/** Modern servers say who they are in the `_meta` of results (2026-07-28 basic/index, Server info). */
const recordServerInfo = (session: Session, result: Json.JsonObject): void => {
  if (!session.revision.requestMetadata || result["_meta"] === undefined) return
  const info = Metadata.serverInfo(result)
  if (info !== undefined) session.serverInfo = info
}

/** Reads a result, and learns from it what every result says. */
export const read = <A>(
  invocation: Invocation<A>,
  session: Session,
  result: Json.JsonObject,
  evidence: Transport.Evidence
): Exit.Exit<A, McpError.McpErrorReason> => {
  session.evidence = evidence
  const decoded = invocation.decode(result, session, evidence)
  if (Exit.isSuccess(decoded)) recordServerInfo(session, result)
  return decoded
}

/** The host's `_meta` for one request. */
const metadataOf = (
  settings: Settings,
  fiber: Fiber.Fiber<unknown, unknown>,
  session: Session,
  host: Json.JsonObject | undefined,
  own: Json.JsonObject | undefined,
  options: RunOptions | undefined
): Json.JsonObject | undefined => {
  const level = session.revision.logLevel === "request" ? settings.logLevel() : undefined
  const trace = Telemetry.traceContext(fiber)
  const region = fiber.getRef(ClientOptions.RequestMetadata)
  const meta = options?.meta
  if (
    level === undefined && trace === undefined && host === undefined && region === undefined && own === undefined
    && meta === undefined
  ) return undefined
  const merged = RequestText.mergeMetadata(
    level === undefined ? undefined : { [Metadata.logLevelKey]: level },
    trace,
    host,
    region,
    own,
    meta
  )
  if (merged !== undefined && Object.hasOwn(merged, Metadata.logLevelKey)) settings.noticeLogging()
  return merged
}

/** What the caller, its region or the client says about retries; the default is for methods that only ask. */
const givenSchedule = (
  settings: Settings,
  fiber: Fiber.Fiber<unknown, unknown>,
  options: RunOptions | undefined
): ClientOptions.Retry | undefined => options?.retry ?? fiber.getRef(ClientOptions.RetrySchedule) ?? settings.retry

/**
 * Waits for a session no longer than the request may take, and no longer than its signal allows. Connecting has retries
 * of its own, so that only a schedule of the caller's repeats it.
 */
export const awaitSession = (
  settings: Settings,
  fiber: Fiber.Fiber<unknown, unknown>,
  method: string,
  { deadlineAt, deadlineMillis }: Pick<Limits, "deadlineAt" | "deadlineMillis">,
  options: RunOptions | undefined
): Effect.Effect<Session, McpError.McpError> => {
  const { link, now, server } = settings
  const signal = options?.signal
  const failure = (reason: McpError.McpErrorReason) => McpError.make(reason, "unsent", { server, method })
  const schedule = options?.retry ?? fiber.getRef(ClientOptions.RetrySchedule)
  let session = schedule === undefined ? link.current : repeat(link.current, schedule, { now, deadlineAt, signal })
  if (deadlineAt !== Infinity) {
    session = Effect.timeoutOrElse(session, {
      duration: Duration.millis(Math.max(0, deadlineAt - now())),
      orElse: () => Effect.fail(failure(new McpError.RequestTimeout({ kind: "deadline", millis: deadlineMillis })))
    })
  }
  return Abort.orElse(session, signal, (reason) => failure(new McpError.Cancelled({ reason })))
}

/** One request, and at once the call that is sent for it; nothing more is made while all goes well. */
export class Attempts<A> implements Call<A>, Bounds {
  method: string
  params: Json.JsonObject
  metadata: Json.JsonObject | undefined = undefined
  routing: Transport.Routing | undefined = undefined
  id: Envelope.RequestId | undefined
  readonly idleMillis: number
  readonly deadlineAt: number
  readonly deadlineMillis: number
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: Progress.ProgressNotificationParams) => Effect.Effect<void>) | undefined
  readonly onNotification: ((notification: Envelope.Notification) => void) | undefined
  readonly tasks: boolean | undefined
  readonly uri: string | undefined
  readonly subscriber: Subscriber | undefined

  private readonly settings: Settings
  private readonly invocation: Invocation<A>
  private readonly options: RunOptions | undefined
  private readonly limits: Limits
  private readonly host: Json.JsonObject | undefined
  private session: Session
  /** The parameters that the caller gave, without their `_meta`. */
  private readonly own: Json.JsonObject
  private readonly ownMetadata: Json.JsonObject | undefined
  /** What is sent now, as far as it is the same in every revision. */
  private content: Json.JsonObject
  private done = Recovery.nothing
  /** How many times the server has asked, and how many of these asked for nothing but time. */
  private rounds = 0
  private waits = 0
  /** The pages that the user has agreed to visit. */
  private agreed = noPages
  private retries: Retries | undefined = undefined

  constructor(
    settings: Settings,
    invocation: Invocation<A>,
    options: RunOptions | undefined,
    limits: Limits,
    session: Session,
    params: Json.JsonObject,
    host: Json.JsonObject | undefined
  ) {
    const split = RequestText.splitMetadata(params)
    this.settings = settings
    this.invocation = invocation
    this.options = options
    this.limits = limits
    this.session = session
    this.host = host
    this.own = split.params
    this.ownMetadata = split.metadata
    this.content = invocation.requestState === undefined
      ? split.params
      : { ...split.params, requestState: invocation.requestState }
    this.params = this.content
    this.method = invocation.method
    this.id = options?.requestId
    this.idleMillis = limits.idleMillis
    this.deadlineAt = limits.deadlineAt
    this.deadlineMillis = limits.deadlineMillis
    this.signal = options?.signal
    this.onProgress = options?.onProgress
    this.onNotification = invocation.onNotification
    this.tasks = invocation.tasks
    this.uri = invocation.uri
    this.subscriber = invocation.subscriber
  }

  /** Sends the request in its session. `sender` is what its metadata is read from. */
  start(sender: Fiber.Fiber<unknown, unknown>): Effect.Effect<A, McpError.McpError> {
    const { invocation, session } = this
    this.method = invocation.methodFor?.(session.revision) ?? invocation.method
    const missing = CapabilityGate.missing(session, this.method)
    if (missing !== undefined) {
      return session.agreement.freshUntil > this.now() ? this.fail(missing, "unsent") : this.rediscover(missing, sender)
    }
    this.metadata = metadataOf(this.settings, sender, session, this.host, this.ownMetadata, this.options)
    return this.send()
  }

  /** The server may have learned since it was asked what it can do. */
  private rediscover(
    missing: McpError.McpErrorReason,
    sender: Fiber.Fiber<unknown, unknown>
  ): Effect.Effect<A, McpError.McpError> {
    const { deadlineAt, deadlineMillis, idleMillis, session, signal } = this
    const limits = { idleMillis, deadlineAt, deadlineMillis, signal }
    return Effect.matchEffect(Negotiation.rediscover(session.requests, session.agreement, limits), {
      onFailure: (error) => endsCall(error) ? this.fail(error.reason, "unsent") : this.fail(missing, "unsent"),
      onSuccess: (agreement) => {
        session.agreement = agreement
        return CapabilityGate.missing(session, this.method) === undefined
          ? this.start(sender)
          : this.fail(missing, "unsent")
      }
    })
  }

  decode(result: Json.JsonObject, evidence: Transport.Evidence): Exit.Exit<A, McpError.McpErrorReason> {
    return read(this.invocation, this.session, result, evidence)
  }

  now(): number {
    return this.settings.now()
  }

  private send(): Effect.Effect<A, McpError.McpError> {
    const { content, invocation, session } = this
    const { name } = invocation
    if (invocation.routingParams === undefined) {
      this.routing = name === undefined ? undefined : { name }
    } else {
      const params = invocation.routingParams(session)
      if (Result.isFailure(params)) return this.fail(params.failure, "unsent")
      this.routing = { name, params: params.success }
    }
    this.params = invocation.paramsFor === undefined ? content : invocation.paramsFor(content, session.revision)
    return Effect.catch(
      session.requests.request(this, session.agreement.terms),
      (error) => this.recover(error)
    )
  }

  // ------------------------------------------------------------------------------------------------------------------
  // After a failure
  // ------------------------------------------------------------------------------------------------------------------

  private fail(reason: McpError.McpErrorReason, delivery: McpError.Delivery): Failed {
    return Effect.fail(McpError.make(reason, delivery, { server: this.settings.server, method: this.method }))
  }

  private get isRepeatable(): boolean {
    return McpError.isSafeMethod(this.method) || this.invocation.isRepeatable?.() === true
  }

  /** What the server has been told about it is lost with its session. */
  private get isPinned(): boolean {
    return this.rounds > 0 || this.invocation.generation !== undefined
  }

  private recover(error: McpError.McpError): Effect.Effect<A, McpError.McpError> {
    // A caller's id names one request only.
    this.id = undefined
    return Effect.withFiber((fiber) => {
      const { invocation, session, settings } = this
      const { reason } = error
      // Answers under the authorization that was refused are nobody's any more.
      if (reason._tag === "Unauthorized" || reason._tag === "AuthorizationFailed" || reason._tag === "InvalidGrant") {
        session.evidence = undefined
      }
      const action = Recovery.decide(error, {
        revision: session.revision,
        isRepeatable: this.isRepeatable,
        isPinned: this.isPinned,
        reissue: this.options?.reissue ?? fiber.getRef(ClientOptions.ReissuePolicy) ?? settings.reissue,
        done: this.done
      })
      if (reason._tag === "SessionExpired") settings.link.retire(session, error, action !== "fail")
      switch (action) {
        case "resend":
          return this.again({ resent: true })
        case "reissue":
          return this.again({ reissued: true })
        case "refresh-headers":
          return this.refreshHeaders(error)
        case "answer":
          return this.answer(reason as McpError.InputRequired)
        case "visit":
          return this.visit(error)
        case "renew":
          this.done = { ...this.done, renewed: true }
          return this.elsewhere(error, fiber)
        case "retry":
          return this.retry(error, fiber)
        case "ambiguous":
          return this.fail(new McpError.AmbiguousDelivery({ name: invocation.name, cause: error }), "unknown")
        case "fail":
          return Effect.fail(error)
      }
    })
  }

  private again(done: Partial<Recovery.Done>): Effect.Effect<A, McpError.McpError> {
    this.done = { ...this.done, ...done }
    return this.send()
  }

  /** Sends it in the session that is in use by now. */
  private elsewhere(
    error: McpError.McpError,
    fiber: Fiber.Fiber<unknown, unknown>
  ): Effect.Effect<A, McpError.McpError> {
    const { settings } = this
    const inSession = (session: Session): Effect.Effect<A, McpError.McpError> => {
      if (session === this.session) return this.send()
      if (this.isPinned) return Effect.fail(error)
      this.session = session
      return this.start(fiber)
    }
    const ready = settings.link.ready()
    if (ready !== this.session && this.isPinned) return Effect.fail(error)
    return ready === undefined
      ? Effect.flatMap(awaitSession(settings, fiber, this.method, this.limits, this.options), inSession)
      : inSession(ready)
  }

  private retry(error: McpError.McpError, fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<A, McpError.McpError> {
    if (this.retries === undefined) {
      const schedule = givenSchedule(this.settings, fiber, this.options)
        ?? (this.isRepeatable ? defaultSchedule : undefined)
      if (schedule === undefined) return Effect.fail(error)
      this.retries = new Retries(schedule, this)
    }
    return Effect.flatMap(this.retries.after(error), () => this.elsewhere(error, fiber))
  }

  private refreshHeaders(error: McpError.McpError): Effect.Effect<A, McpError.McpError> {
    const { onHeaderMismatch } = this.invocation
    if (onHeaderMismatch === undefined) return Effect.fail(error)
    return Effect.matchEffect(onHeaderMismatch, {
      onFailure: (refresh) => endsCall(refresh) ? this.fail(refresh.reason, "refused") : Effect.fail(error),
      onSuccess: () => this.again({ refreshed: true })
    })
  }

  private trip(): RoundTrips.Trip {
    const { interaction, now, onInputRequiredWait, server } = this.settings
    return {
      method: this.method,
      params: this.own,
      revision: this.session.revision,
      server,
      interaction,
      now,
      startedAt: this.limits.startedAt,
      deadlineAt: this.deadlineAt,
      signal: this.signal,
      onWait: onInputRequiredWait
    }
  }

  /** What comes next is another request of the same call: whatever can be done about one may be done about it. */
  private nextRound(): Effect.Effect<A, McpError.McpError> {
    this.rounds++
    this.done = Recovery.nothing
    this.retries = undefined
    return this.send()
  }

  private answer(reason: McpError.InputRequired): Effect.Effect<A, McpError.McpError> {
    this.invocation.onInputRequired?.()
    const isPause = RoundTrips.isPause(reason)
    return Effect.flatMap(RoundTrips.next(this.trip(), reason, this.rounds, this.waits), (params) => {
      this.content = params
      this.waits = isPause ? this.waits + 1 : 0
      return this.nextRound()
    })
  }

  private visit(error: McpError.McpError): Effect.Effect<A, McpError.McpError> {
    const elicitations = ErrorReply.requiredElicitations(error.reason as McpError.ServerError)
    if (elicitations === undefined || this.rounds >= RoundTrips.maxRounds) return Effect.fail(error)
    return Effect.flatMap(
      RoundTrips.visitAll(this.trip(), elicitations, this.agreed, this.waits, this.rounds),
      (agreed) => {
        if (agreed === undefined) return Effect.fail(error)
        this.agreed = agreed
        this.waits++
        return this.nextRound()
      }
    )
  }
}

/** Why a request that makes sense in one generation only is not sent in this session, if it is not. */
export const otherGeneration = (
  { generation, onOtherGeneration }: Invocation<unknown>,
  session: Session | undefined
): McpError.McpErrorReason | undefined =>
  generation === undefined || generation === session?.generation
    ? undefined
    : onOtherGeneration?.() ?? new McpError.SessionExpired({ status: 0 })
