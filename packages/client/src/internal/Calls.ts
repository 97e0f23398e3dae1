/**
 * Runs the requests that an application makes: on the current session, under one deadline, in one span, through the
 * client's `around` hook.
 */
import { type Envelope, type Json, McpError, type Revision } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Result from "effect/Result"
import * as ClientOptions from "../ClientOptions.ts"
import * as Attempts from "./Attempts.ts"
import type { Interaction } from "./Interaction.ts"
import type { Link } from "./Link.ts"
import type { Subscriber } from "./NotificationRouter.ts"
import * as RequestText from "./RequestText.ts"
import type * as RoundTrips from "./RoundTrips.ts"
import type { Session } from "./Session.ts"
import * as Telemetry from "./Telemetry.ts"

/** A request as a feature describes it. */
export interface Invocation<A> {
  readonly method: string
  readonly params: Json.JsonObject
  readonly decode: (
    result: Json.JsonObject,
    session: Session,
    evidence: Transport.Evidence
  ) => Exit.Exit<A, McpError.McpErrorReason>
  /** What the request names, for its span and its headers. */
  readonly name?: string | undefined
  readonly uri?: string | undefined
  /** The arguments that go into headers, where the session has them there. */
  readonly routingParams?:
    | ((session: Session) => Result.Result<Transport.Routing["params"], McpError.McpErrorReason>)
    | undefined
  /** Learns what the headers should have been, after the server found that they do not match. */
  readonly onHeaderMismatch?: Effect.Effect<unknown, McpError.McpError> | undefined
  /** The method in the session's revision, where revisions differ in it. */
  readonly methodFor?: ((revision: Revision.Facts) => string) | undefined
  readonly onNotification?: ((notification: Envelope.Notification) => void) | undefined
  /** Takes what comes with this request, where it is a subscription. */
  readonly subscriber?: Subscriber | undefined
  /** Whether the request may be answered with a task, which `decode` then reads. */
  readonly tasks?: boolean | undefined
  /** Where the request stood that is resumed. */
  readonly requestState?: string | undefined
  /** Hears that the server asks something before it answers. */
  readonly onInputRequired?: (() => void) | undefined
  /** The only generation that the request makes sense in, and what it fails with in another. */
  readonly generation?: number | undefined
  readonly onOtherGeneration?: (() => McpError.McpErrorReason) | undefined
  /** What the parameters are in the session's revision, where revisions differ in them. */
  readonly paramsFor?: ((params: Json.JsonObject, revision: Revision.Facts) => Json.JsonObject) | undefined
  /** Whether what the request does may be done twice, though its method does more than ask. */
  readonly isRepeatable?: (() => boolean) | undefined
}

/** What all requests of one client share. */
export interface Settings {
  readonly server: string
  readonly link: Link
  readonly now: () => number
  readonly idleMillis: number
  readonly deadlineMillis: number
  readonly requestMetadata: Json.JsonObject | Effect.Effect<Json.JsonObject> | undefined
  /** The level that modern servers are asked to log at, on each request. */
  readonly logLevel: () => string | undefined
  /** Hears of each request that asks for log messages. */
  readonly noticeLogging: () => void
  readonly around: ClientOptions.Around | undefined
  readonly interaction: Interaction
  readonly onInputRequiredWait: RoundTrips.Trip["onWait"]
  /** What the client was given for all its requests. */
  readonly retry: ClientOptions.Retry | undefined
  readonly reissue: ClientOptions.Reissue
}

/** What a feature that makes several requests for one caller adds to the caller's options. */
export interface RunOptions extends ClientOptions.RequestOptions {
  /** Monotonic milliseconds; takes the place of `deadline`. */
  readonly deadlineAt?: number | undefined
  /** Whether `signal` follows `cancel` already. */
  readonly isCancellable?: boolean | undefined
}

const millis = (...choices: ReadonlyArray<Duration.Input | undefined>): number | undefined => {
  for (const choice of choices) {
    if (choice !== undefined) return Duration.toMillis(Duration.fromInputUnsafe(choice))
  }
  return undefined
}

export class Calls {
  private readonly settings: Settings
  /** By the ids that callers gave. */
  private cancellers: Map<Envelope.RequestId, AbortController> | undefined = undefined

  constructor(settings: Settings) {
    this.settings = settings
  }

  /** Runs an invocation. */
  run<A>(invocation: Invocation<A>, given?: RunOptions): Effect.Effect<A, McpError.McpError> {
    return given?.requestId === undefined
      ? this.runCancellable(invocation, given)
      : this.cancellable(invocation.method, given, (options) => this.runCancellable(invocation, options))
  }

  /**
   * Makes everything that is done for one caller end with `cancel` of the id that it gave: the first request goes out
   * under that id, but rounds and polls after it have ids of their own.
   */
  cancellable<A>(
    method: string,
    options: RunOptions | undefined,
    use: (options: RunOptions | undefined) => Effect.Effect<A, McpError.McpError>
  ): Effect.Effect<A, McpError.McpError> {
    const id = options?.requestId
    if (id === undefined || options?.isCancellable === true) return use(options)
    return Effect.suspend(() => {
      const cancellers = this.cancellers ??= new Map()
      if (cancellers.has(id)) {
        return Effect.fail(McpError.make(
          new McpError.InvalidRequest({ problem: `the request id ${JSON.stringify(id)} is in use; choose another` }),
          "unsent",
          { server: this.settings.server, method }
        ))
      }
      const canceller = new AbortController()
      cancellers.set(id, canceller)
      const signal = options?.signal === undefined
        ? canceller.signal
        : AbortSignal.any([options.signal, canceller.signal])
      return Effect.ensuring(
        use({ ...options, signal, isCancellable: true }),
        Effect.sync(() => cancellers.delete(id))
      )
    })
  }

  cancel(id: Envelope.RequestId, reason: string | undefined): void {
    const canceller = this.cancellers?.get(id)
    if (canceller === undefined) this.ready()?.requests.cancel(id, reason)
    else canceller.abort(reason)
  }

  /** The session in use, when there is one that lives. */
  ready(): Session | undefined {
    return this.settings.link.ready()
  }

  /** The session in use; waits for one no longer than a request with these options may take. */
  session(
    method: string,
    fiber: Fiber.Fiber<unknown, unknown>,
    options: RunOptions
  ): Effect.Effect<Session, McpError.McpError> {
    const ready = this.ready()
    if (ready !== undefined) return Effect.succeed(ready)
    const deadlineMillis = this.deadlineMillis(fiber, options)
    const deadlineAt = options.deadlineAt ?? this.settings.now() + deadlineMillis
    return Attempts.awaitSession(this.settings, fiber, method, { deadlineAt, deadlineMillis }, options)
  }

  /** How long a request with these options may take in all. */
  deadlineMillis(fiber: Fiber.Fiber<unknown, unknown>, options: ClientOptions.RequestOptions | undefined): number {
    return millis(options?.deadline, fiber.getRef(ClientOptions.Deadline)) ?? this.settings.deadlineMillis
  }

  /** When a request with these options has to be done, in monotonic milliseconds. */
  deadlineAt(fiber: Fiber.Fiber<unknown, unknown>, options: ClientOptions.RequestOptions | undefined): number {
    const deadlineMillis = this.deadlineMillis(fiber, options)
    return deadlineMillis === Infinity ? Infinity : this.settings.now() + deadlineMillis
  }

  /**
   * The host's `_meta` of a request with these options as text, by which one answer is told from another; `undefined`
   * where that is not known before the request is made.
   */
  parameters(
    fiber: Fiber.Fiber<unknown, unknown>,
    options: ClientOptions.RequestOptions | undefined
  ): string | undefined {
    const host = this.settings.requestMetadata
    if (this.settings.around !== undefined || Effect.isEffect(host)) return undefined
    const region = fiber.getRef(ClientOptions.RequestMetadata)
    const meta = options?.meta
    if (host === undefined && region === undefined && meta === undefined) return ""
    try {
      return JSON.stringify(RequestText.mergeMetadata(host, region, meta) ?? {})
    } catch {
      // The request will be refused for it.
      return undefined
    }
  }

  private runCancellable<A>(
    invocation: Invocation<A>,
    options: RunOptions | undefined
  ): Effect.Effect<A, McpError.McpError> {
    return Effect.withFiber((fiber) => {
      const { link, now, server } = this.settings
      const startedAt = now()
      const deadlineMillis = this.deadlineMillis(fiber, options)
      const limits: Attempts.Limits = {
        idleMillis: millis(options?.idleTimeout, fiber.getRef(ClientOptions.IdleTimeout)) ?? this.settings.idleMillis,
        startedAt,
        deadlineAt: options?.deadlineAt ?? (deadlineMillis === Infinity ? Infinity : startedAt + deadlineMillis),
        deadlineMillis
      }
      const ready = link.ready()
      const refused = Attempts.otherGeneration(invocation, ready)
      if (refused !== undefined) {
        return Effect.fail(McpError.make(refused, "unsent", { server, method: invocation.method }))
      }

      const effect = ready !== undefined
        ? this.inSession(invocation, options, limits, ready)
        : Effect.flatMap(
          Attempts.awaitSession(this.settings, fiber, invocation.method, limits, options),
          (session) => this.inSession(invocation, options, limits, session)
        )
      return Telemetry.withSpan(
        effect,
        fiber,
        // Only names that are few belong into the name of a span (OpenTelemetry conventions for MCP).
        invocation.method === "tools/call" || invocation.method === "prompts/get"
          ? `${invocation.method} ${invocation.name}`
          : invocation.method,
        () => ({
          "mcp.method.name": invocation.method,
          "server.address": server,
          ...(ready === undefined ? undefined : { "mcp.protocol.version": ready.revision.version }),
          ...(invocation.method === "tools/call" ? { "gen_ai.tool.name": invocation.name } : undefined),
          ...(invocation.method === "prompts/get" ? { "gen_ai.prompt.name": invocation.name } : undefined),
          ...(invocation.uri === undefined ? undefined : { "mcp.resource.uri": invocation.uri })
        })
      )
    })
  }

  private inSession<A>(
    invocation: Invocation<A>,
    options: RunOptions | undefined,
    limits: Attempts.Limits,
    session: Session
  ): Effect.Effect<A, McpError.McpError> {
    const { settings } = this
    const host = settings.requestMetadata
    const { around } = settings
    const send = (host: Json.JsonObject | undefined): Effect.Effect<A, McpError.McpError> =>
      around === undefined
        ? Effect.withFiber((sender) =>
          new Attempts.Attempts(settings, invocation, options, limits, session, invocation.params, host).start(sender)
        )
        : this.throughAround(around, invocation, options, limits, session, host)
    return Effect.isEffect(host) ? Effect.flatMap(host, send) : send(host)
  }

  private throughAround<A>(
    around: ClientOptions.Around,
    invocation: Invocation<A>,
    options: RunOptions | undefined,
    limits: Attempts.Limits,
    session: Session,
    host: Json.JsonObject | undefined
  ): Effect.Effect<A, McpError.McpError> {
    const { settings } = this
    const { server } = settings
    return Effect.withFiber((sender) => {
      // A result that the hook made up was sent under no authorization that is known.
      let sentUnder: Transport.Evidence = { authorization: "unknown" }
      let sentIn = session
      const raw: Invocation<Json.JsonObject> = {
        ...invocation,
        decode: (result, session, evidence) => {
          sentUnder = evidence
          sentIn = session
          return Exit.succeed(result)
        }
      }
      const proceed = (params: Json.JsonObject): Effect.Effect<Json.JsonObject, McpError.McpError> =>
        Effect.suspend(() => new Attempts.Attempts(settings, raw, options, limits, session, params, host).start(sender))
      return Effect.flatMap(
        around({ server, method: invocation.method, params: invocation.params }, proceed),
        (result) =>
          Exit.mapError(
            Attempts.read(invocation, sentIn, result, sentUnder),
            (reason) => McpError.make(reason, "unknown", { server, method: invocation.method })
          )
      )
    })
  }
}
