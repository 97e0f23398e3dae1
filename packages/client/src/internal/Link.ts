/**
 * Owns the way to one server: connects, negotiates, and connects anew when the connection is gone. One attempt at a
 * time, in its own scope, never in a caller's fiber: a caller that gives up takes nobody along.
 *
 * A server that is gone is connected to again when somebody needs it, never by itself; how soon, `Restarts` says.
 */
import { Activity, type Diagnostic, type Envelope, McpError, type Revision } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Scope from "effect/Scope"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { Retry } from "../ClientOptions.ts"
import { EraCache } from "./EraCache.ts"
import * as KeepAlive from "./KeepAlive.ts"
import * as Negotiation from "./Negotiation.ts"
import { Patience } from "./Patience.ts"
import type { InFlight } from "./Pending.ts"
import * as Recovery from "./Recovery.ts"
import * as Requests from "./Requests.ts"
import { Restarts } from "./Restarts.ts"
import * as Retries from "./Retries.ts"
import * as Session from "./Session.ts"

/**
 * What a client is doing, with the number of the connection it concerns.
 *
 * - `Idle`: nobody has needed the server yet (`lazy`).
 * - `Connecting`, and `Renewing` for every connection after the first: `delayMillis` pass before the attempt, which grow
 *   with the failures in a row.
 * - `Ready`, and `Degraded` while the server does not answer `keepAlive`.
 * - `Failed`: the connection or session is gone, or could not be had. The next request connects again, after
 *   `retryAfterMillis` at the soonest. With an open `circuit`, requests fail at once with `ServerUnavailable` until then.
 *   `failures` counts how many times in a row it could not be had, or was gone again within 30 seconds.
 */
export type ConnectionState =
  | { readonly _tag: "Idle"; readonly generation: number }
  | { readonly _tag: "Connecting"; readonly generation: number }
  | { readonly _tag: "Ready"; readonly generation: number }
  | { readonly _tag: "Degraded"; readonly generation: number; readonly error: McpError.McpError }
  | { readonly _tag: "Renewing"; readonly generation: number; readonly delayMillis: number }
  | {
    readonly _tag: "Failed"
    readonly generation: number
    readonly error: McpError.McpError
    readonly failures: number
    readonly circuit: "closed" | "open"
    readonly retryAfterMillis: number
  }

export interface Options
  extends Omit<Negotiation.Options, "http" | "probeTimeout" | "onRefused" | "onRevision" | "repeated" | "onHold">
{
  readonly probeTimeout: Duration.Duration | undefined
  readonly connectTimeout: Duration.Duration
  /** For the requests of connecting, where the connection outlives their failure. */
  readonly retry: Retry | undefined
  readonly keepAlive: Duration.Duration | undefined
  /** Takes requests of the server, with the revision they are to be answered under. */
  readonly onServerRequest: (
    request: Envelope.Request,
    requests: Requests.Requests,
    revision: Revision.Facts | undefined,
    origin: InFlight | undefined
  ) => void
  /** `origin` is the request that it came with, where that is known. */
  readonly onNotification: (notification: Envelope.Notification, origin: InFlight | undefined) => void
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
  /** Runs on each session before anybody else uses it. */
  readonly prepare: (session: Session.Session) => Effect.Effect<unknown, McpError.McpError>
}

export interface Link {
  /** The session in use, when there is one that lives. */
  readonly ready: () => Session.Session | undefined
  /** The session in use, or the one that the attempt under way brings. */
  readonly current: Effect.Effect<Session.Session, McpError.McpError>
  /**
   * Gives up a session that its server has forgotten, unless another has taken its place, so that the next request opens
   * another, or at once with `replace`. What is under way in it is still waited for.
   */
  readonly retire: (session: Session.Session, cause?: McpError.McpError, replace?: boolean) => void
  readonly state: SubscriptionRef.SubscriptionRef<ConnectionState>
}

// Over HTTP each request is an exchange of its own, whose status tells what silence on a shared channel does not.
const httpKinds: ReadonlySet<string> = new Set(["streamable-http", "http"])
const httpProbeTimeout = Duration.seconds(10)
const sharedProbeTimeout = Duration.seconds(2)

export const make = Effect.fnUntraced(function*(
  transport: Transport.Transport["Service"],
  options: Options
): Effect.fn.Return<Link, never, Scope.Scope> {
  const linkScope = yield* Effect.scope
  const eras = yield* EraCache
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const now = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const restarts = new Restarts(now)
  const state = yield* SubscriptionRef.make<ConnectionState>({ _tag: "Idle", generation: 0 })
  const http = httpKinds.has(transport.kind)
  let session: Session.Session | undefined
  let readyAt = 0
  let attempt: Deferred.Deferred<Session.Session, McpError.McpError> | undefined
  let generation = 0
  let closed = false
  // An HTTP server that shook hands once need not be probed when it has lost the session; a process always is.
  let knownLegacy = false

  const open = Effect.fnUntraced(function*(
    protocol: Negotiation.Options["protocol"],
    onRefused: Negotiation.Options["onRefused"],
    patience: Patience,
    scope: Scope.Closeable
  ): Effect.fn.Return<Session.Session, McpError.McpError> {
    let revision: Revision.Facts | undefined
    const repeated = <A, R>(effect: Effect.Effect<A, McpError.McpError, R>) =>
      Retries.run(
        effect,
        options.retry ?? Retries.defaultSchedule,
        { now, deadlineAt: Infinity, signal: undefined },
        // A connection that is gone takes the attempt with it.
        (reason) => reason._tag !== "ConnectionClosed" && Recovery.mayPass(reason)
      )
    const requests = yield* Scope.provide(
      repeated(Requests.connect(transport, {
        onMessage: (message, requests, origin) =>
          message._tag === "Request"
            ? options.onServerRequest(message, requests, revision, origin)
            : options.onNotification(message, origin),
        onDiagnostic: options.onDiagnostic
      })),
      scope
    )
    const agreement = yield* Effect.scoped(Negotiation.negotiate(requests, {
      ...options,
      protocol,
      http,
      probeTimeout: options.probeTimeout ?? (http ? httpProbeTimeout : sharedProbeTimeout),
      onRefused,
      repeated,
      onHold: () => patience.holder(),
      onRevision: (agreed) => {
        revision = agreed
      }
    }))
    const opened: Session.Session = {
      generation,
      revision: agreement.terms.revision,
      // Some transports find out in the course of the handshake what they are.
      http: httpKinds.has(transport.kind),
      agreement,
      requests,
      scope,
      declares: (path) => Session.declares(opened.agreement.capabilities, path),
      serverInfo: agreement.serverInfo,
      evidence: undefined
    }
    yield* options.prepare(opened)
    return opened
  })

  /** Opens in a scope of its own, which is closed before a failure is reported. */
  const openScoped = Effect.fnUntraced(function*(
    protocol: Negotiation.Options["protocol"],
    onRefused: Negotiation.Options["onRefused"],
    patience: Patience
  ) {
    const scope = yield* Scope.fork(linkScope)
    return yield* Effect.onExit(
      Effect.provideService(open(protocol, onRefused, patience, scope), Activity.Activity, patience),
      (exit) => Exit.isFailure(exit) ? Scope.close(scope, exit) : Effect.void
    )
  })

  const connect = Effect.fnUntraced(function*(
    onRefused: Negotiation.Options["onRefused"],
    patience: Patience
  ): Effect.fn.Return<Session.Session, McpError.McpError> {
    const shakesHands = transport.kind === "sse" || knownLegacy || eras.endsOnProbe(transport.fingerprint)
    const protocol = options.protocol === "auto" && shakesHands ? "legacy" : options.protocol
    return yield* Effect.catch(openScoped(protocol, onRefused, patience), (error) => {
      if (protocol !== "auto" || http || !Negotiation.endsOnProbe(error)) return Effect.fail(error)
      // Some legacy servers exit on any request before initialize.
      return Effect.tap(
        openScoped("legacy", onRefused, patience),
        () => Effect.sync(() => eras.remember(transport.fingerprint))
      )
    })
  })

  const connectInTime = Effect.suspend(() => {
    let refused: McpError.McpError | undefined
    const onRefused = (error: McpError.McpError): void => {
      refused = error
    }
    const patience = new Patience(now)
    const millis = Duration.toMillis(options.connectTimeout)
    return patience.limit(connect(onRefused, patience), millis, () =>
      Effect.fail(
        refused ?? McpError.make(
          new McpError.RequestTimeout({ kind: "connect", millis }),
          "unsent",
          { server: transport.target }
        )
      ))
  })

  const closedHere = (): McpError.McpError =>
    McpError.make(
      new McpError.ConnectionClosed({ target: transport.target, local: true }),
      "unsent",
      { server: transport.target }
    )

  const settle = Effect.fnUntraced(function*(
    deferred: Deferred.Deferred<Session.Session, McpError.McpError>,
    exit: Exit.Exit<Session.Session, McpError.McpError>
  ) {
    attempt = undefined
    if (Exit.isSuccess(exit)) {
      session = exit.value
      readyAt = now()
      if (http && session.revision.era === "legacy") knownLegacy = true
      yield* SubscriptionRef.set(state, { _tag: "Ready", generation: session.generation })
      yield* Effect.forkIn(watch(session), session.scope, { startImmediately: true })
      if (options.keepAlive !== undefined) yield* Effect.forkIn(keepAlive(session, options.keepAlive), session.scope)
      yield* Deferred.succeed(deferred, session)
      return
    }
    // Without an error of its own the attempt was ended with the client, or by a defect, which stays one.
    const error = Option.getOrElse(Exit.findErrorOption(exit), closedHere)
    if (error.reason.isTransient) restarts.failed(error)
    yield* SubscriptionRef.set(state, failed(generation, error))
    yield* Cause.hasDies(exit.cause) ? Deferred.failCause(deferred, exit.cause) : Deferred.fail(deferred, error)
  })

  const failed = (generation: number, error: McpError.McpError): ConnectionState => ({
    _tag: "Failed",
    generation,
    error,
    failures: restarts.failures,
    circuit: restarts.isOpen ? "open" : "closed",
    retryAfterMillis: restarts.waitMillis
  })

  const run = Effect.fnUntraced(function*(
    deferred: Deferred.Deferred<Session.Session, McpError.McpError>,
    delayMillis: number
  ) {
    const first = generation === 0
    generation++
    yield* SubscriptionRef.set(
      state,
      first ? { _tag: "Connecting", generation } : { _tag: "Renewing", generation, delayMillis }
    )
    const delayed = delayMillis === 0 ? connectInTime : Effect.andThen(Effect.sleep(delayMillis), connectInTime)
    yield* Effect.ignore(Effect.onExit(delayed, (exit) => settle(deferred, exit)))
  })

  /** Begins an attempt, unless one is under way. */
  const begin = (): Deferred.Deferred<Session.Session, McpError.McpError> => {
    if (attempt !== undefined) return attempt
    const deferred = Deferred.makeUnsafe<Session.Session, McpError.McpError>()
    attempt = deferred
    Fiber.runIn(fork(run(deferred, restarts.waitMillis)), linkScope)
    return deferred
  }

  /** Takes a session out of use, unless another has taken its place, and gives what is to be told of it. */
  const lose = (lost: Session.Session, error: McpError.McpError): Effect.Effect<void> => {
    if (session !== lost) return Effect.void
    session = undefined
    restarts.ended(now() - readyAt, error)
    return SubscriptionRef.set(state, failed(lost.generation, error))
  }

  const close = (lost: Session.Session) => Effect.forkIn(Scope.close(lost.scope, Exit.void), linkScope)

  const watch = (opened: Session.Session) =>
    Effect.flatMap(
      opened.requests.connection.closed,
      (error) => Effect.andThen(Effect.suspend(() => lose(opened, error)), close(opened))
    )

  const setState = (of: Session.Session, next: ConnectionState): Effect.Effect<void> =>
    Effect.suspend(() => session === of ? SubscriptionRef.set(state, next) : Effect.void)

  const keepAlive = (of: Session.Session, interval: Duration.Duration): Effect.Effect<never> =>
    KeepAlive.run(of, {
      intervalMillis: Duration.toMillis(interval),
      clock,
      onSilence: (error) => setState(of, { _tag: "Degraded", generation: of.generation, error }),
      onLife: setState(of, { _tag: "Ready", generation: of.generation }),
      onSessionLost: (error) => Effect.sync(() => retire(of, error, true))
    })

  const retire: Link["retire"] = (lost, cause, replace) => {
    if (session !== lost || closed) return
    const error = cause ?? McpError.make(new McpError.SessionExpired({ status: 404 }), "refused", {
      server: transport.target
    })
    fork(lose(lost, error))
    lost.requests.whenDrained(() => void fork(close(lost)))
    if (replace === true && !restarts.isOpen) begin()
  }

  const current = Effect.suspend(() => {
    if (session !== undefined) return Effect.succeed(session)
    if (closed) return Effect.fail(closedHere())
    const unavailable = attempt === undefined ? restarts.unavailable(transport.target) : undefined
    return unavailable === undefined ? Deferred.await(begin()) : Effect.fail(unavailable)
  })

  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      closed = true
      session = undefined
      // Whoever follows the state may live longer than the client.
      return PubSub.shutdown(state.pubsub)
    })
  )

  return {
    ready: () => session,
    current,
    retire,
    state
  }
})
