/**
 * Owns the way to one server: connects, negotiates, and connects anew when the connection is gone. One attempt at a
 * time, in its own scope, never in a caller's fiber: a caller that gives up takes nobody along.
 */
import { type Diagnostic, type Envelope, McpError, type Revision } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { EraCache } from "./EraCache.ts"
import * as Negotiation from "./Negotiation.ts"
import type { InFlight } from "./Pending.ts"
import * as Requests from "./Requests.ts"
import * as Session from "./Session.ts"

/** What a client is doing, with the number of the connection it concerns. */
export type ConnectionState =
  | { readonly _tag: "Idle"; readonly generation: number }
  | { readonly _tag: "Connecting"; readonly generation: number }
  | { readonly _tag: "Ready"; readonly generation: number }
  | { readonly _tag: "Renewing"; readonly generation: number }
  | { readonly _tag: "Failed"; readonly generation: number; readonly error: McpError.McpError }

export interface Options extends Omit<Negotiation.Options, "http" | "probeTimeout" | "onRefused" | "onRevision"> {
  readonly probeTimeout: Duration.Duration | undefined
  readonly connectTimeout: Duration.Duration
  /** Takes requests of the server, with the revision they are to be answered under. */
  readonly onServerRequest: (
    request: Envelope.Request,
    requests: Requests.Requests,
    revision: Revision.Facts | undefined,
    origin: InFlight | undefined
  ) => void
  readonly onNotification: (notification: Envelope.Notification) => void
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
  /** Runs on each session before anybody else uses it. */
  readonly prepare: (session: Session.Session) => Effect.Effect<unknown>
}

export interface Link {
  /** The session in use, when there is one that lives. */
  readonly ready: () => Session.Session | undefined
  /** The session in use, or the one that the attempt under way brings. */
  readonly current: Effect.Effect<Session.Session, McpError.McpError>
  /** Gives up a session that its server has forgotten, so that the next request opens another. */
  readonly retire: (session: Session.Session) => Effect.Effect<void>
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
  const state = yield* SubscriptionRef.make<ConnectionState>({ _tag: "Idle", generation: 0 })
  const http = httpKinds.has(transport.kind)
  let session: Session.Session | undefined
  let attempt: Deferred.Deferred<Session.Session, McpError.McpError> | undefined
  let generation = 0
  let closed = false
  // An HTTP server that shook hands once need not be probed when it has lost the session; a process always is.
  let knownLegacy = false

  const open = Effect.fnUntraced(function*(
    protocol: Negotiation.Options["protocol"],
    onRefused: Negotiation.Options["onRefused"],
    scope: Scope.Closeable
  ): Effect.fn.Return<Session.Session, McpError.McpError> {
    let revision: Revision.Facts | undefined
    const requests = yield* Scope.provide(
      Requests.connect(transport, {
        onMessage: (message, requests, origin) =>
          message._tag === "Request"
            ? options.onServerRequest(message, requests, revision, origin)
            : options.onNotification(message),
        onDiagnostic: options.onDiagnostic
      }),
      scope
    )
    const agreement = yield* Effect.scoped(Negotiation.negotiate(requests, {
      ...options,
      protocol,
      http,
      probeTimeout: options.probeTimeout ?? (http ? httpProbeTimeout : sharedProbeTimeout),
      onRefused,
      onRevision: (agreed) => {
        revision = agreed
      }
    }))
    const opened: Session.Session = {
      generation,
      revision: agreement.terms.revision,
      http,
      agreement,
      requests,
      scope,
      declares: (path) => Session.declares(agreement.capabilities, path),
      serverInfo: agreement.serverInfo
    }
    yield* options.prepare(opened)
    return opened
  })

  /** Opens in a scope of its own, which is closed before a failure is reported. */
  const openScoped = Effect.fnUntraced(function*(
    protocol: Negotiation.Options["protocol"],
    onRefused: Negotiation.Options["onRefused"]
  ) {
    const scope = yield* Scope.fork(linkScope)
    return yield* Effect.onExit(
      open(protocol, onRefused, scope),
      (exit) => Exit.isFailure(exit) ? Scope.close(scope, exit) : Effect.void
    )
  })

  const connect = Effect.fnUntraced(function*(
    onRefused: Negotiation.Options["onRefused"]
  ): Effect.fn.Return<Session.Session, McpError.McpError> {
    const shakesHands = transport.kind === "sse" || knownLegacy || eras.endsOnProbe(transport.fingerprint)
    const protocol = options.protocol === "auto" && shakesHands ? "legacy" : options.protocol
    return yield* Effect.catch(openScoped(protocol, onRefused), (error) => {
      if (protocol !== "auto" || http || !Negotiation.endsOnProbe(error)) return Effect.fail(error)
      // Some legacy servers exit on any request before initialize.
      return Effect.tap(openScoped("legacy", onRefused), () => Effect.sync(() => eras.remember(transport.fingerprint)))
    })
  })

  const connectInTime = Effect.suspend(() => {
    let refused: McpError.McpError | undefined
    const onRefused = (error: McpError.McpError): void => {
      refused = error
    }
    return Effect.timeoutOrElse(connect(onRefused), {
      duration: options.connectTimeout,
      orElse: () =>
        Effect.fail(
          refused ?? McpError.make(
            new McpError.RequestTimeout({ kind: "connect", millis: Duration.toMillis(options.connectTimeout) }),
            "unsent",
            { server: transport.target }
          )
        )
    })
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
      if (http && session.revision.era === "legacy") knownLegacy = true
      yield* SubscriptionRef.set(state, { _tag: "Ready", generation: session.generation })
      yield* Effect.forkIn(watch(session), session.scope, { startImmediately: true })
      yield* Deferred.succeed(deferred, session)
      return
    }
    // Without an error of its own the attempt was ended with the client, or by a defect, which stays one.
    const error = Option.getOrElse(Exit.findErrorOption(exit), closedHere)
    yield* SubscriptionRef.set(state, { _tag: "Failed", generation, error })
    yield* Cause.hasDies(exit.cause) ? Deferred.failCause(deferred, exit.cause) : Deferred.fail(deferred, error)
  })

  const run = Effect.fnUntraced(function*(deferred: Deferred.Deferred<Session.Session, McpError.McpError>) {
    const first = generation === 0
    generation++
    yield* SubscriptionRef.set(state, { _tag: first ? "Connecting" : "Renewing", generation })
    yield* Effect.ignore(Effect.onExit(connectInTime, (exit) => settle(deferred, exit)))
  })

  const lose = (lost: Session.Session) =>
    Effect.suspend(() => {
      if (session === lost) session = undefined
      return Effect.forkIn(Scope.close(lost.scope, Exit.void), linkScope)
    })

  const watch = (opened: Session.Session) =>
    Effect.flatMap(opened.requests.connection.closed, (error) =>
      Effect.andThen(
        lose(opened),
        SubscriptionRef.set(state, { _tag: "Failed", generation: opened.generation, error })
      ))

  const current = Effect.suspend(() => {
    if (session !== undefined) return Effect.succeed(session)
    if (closed) return Effect.fail(closedHere())
    if (attempt !== undefined) return Deferred.await(attempt)
    const deferred = Deferred.makeUnsafe<Session.Session, McpError.McpError>()
    attempt = deferred
    return Effect.andThen(
      Effect.forkIn(run(deferred), linkScope, { startImmediately: true }),
      Deferred.await(deferred)
    )
  })

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      session = undefined
    })
  )

  return {
    ready: () => session,
    current,
    retire: (lost) => Effect.asVoid(lose(lost)),
    state
  }
})
