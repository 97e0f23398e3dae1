/**
 * Runs the requests that an application makes: on the current session, under one deadline, in one span, through the
 * client's `around` hook.
 */
import { type Envelope, type Json, McpError, Metadata, type Revision } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as ClientOptions from "../ClientOptions.ts"
import * as Abort from "./Abort.ts"
import * as Attempts from "./Attempts.ts"
import * as CapabilityGate from "./CapabilityGate.ts"
import type { Interaction } from "./Interaction.ts"
import type { Link } from "./Link.ts"
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
  /** Whether the request may be answered with a task, which `decode` then reads. */
  readonly tasks?: boolean | undefined
  /** Where the request stood that is resumed. */
  readonly requestState?: string | undefined
  /** The only generation that the request makes sense in, and what it fails with in another. */
  readonly generation?: number | undefined
  readonly onOtherGeneration?: (() => McpError.McpErrorReason) | undefined
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
}

/** What a feature that makes several requests for one caller adds to the caller's options. */
export interface RunOptions extends ClientOptions.RequestOptions {
  /** Monotonic milliseconds; takes the place of `deadline`. */
  readonly deadlineAt?: number | undefined
  /** Whether `signal` follows `cancel` already. */
  readonly isCancellable?: boolean | undefined
}

/** Runs an invocation. */
export type Run = <A>(
  invocation: Invocation<A>,
  options?: RunOptions
) => Effect.Effect<A, McpError.McpError>

const millis = (...choices: ReadonlyArray<Duration.Input | undefined>): number | undefined => {
  for (const choice of choices) {
    if (choice !== undefined) return Duration.toMillis(Duration.fromInputUnsafe(choice))
  }
  return undefined
}

/** Modern servers say who they are in the `_meta` of results (2026-07-28 basic/index, Server info). */
const recordServerInfo = (session: Session, result: Json.JsonObject): void => {
  if (!session.revision.requestMetadata || result["_meta"] === undefined) return
  const info = Metadata.serverInfo(result)
  if (info !== undefined) session.serverInfo = info
}

export interface Calls {
  readonly run: Run
  /**
   * Makes everything that is done for one caller end with `cancel` of the id that it gave: the first request goes out
   * under that id, but rounds and polls after it have ids of their own.
   */
  readonly cancellable: <A>(
    method: string,
    options: RunOptions | undefined,
    use: (options: RunOptions | undefined) => Effect.Effect<A, McpError.McpError>
  ) => Effect.Effect<A, McpError.McpError>
  readonly cancel: (id: Envelope.RequestId, reason: string | undefined) => void
  /** The session in use, when there is one that lives. */
  readonly ready: () => Session | undefined
  /** The session in use; waits for one no longer than a request with these options may take. */
  readonly session: (
    method: string,
    fiber: Fiber.Fiber<unknown, unknown>,
    options: RunOptions
  ) => Effect.Effect<Session, McpError.McpError>
  /** How long a request with these options may take in all. */
  readonly deadlineMillis: (
    fiber: Fiber.Fiber<unknown, unknown>,
    options: ClientOptions.RequestOptions | undefined
  ) => number
  /** When a request with these options has to be done, in monotonic milliseconds. */
  readonly deadlineAt: (
    fiber: Fiber.Fiber<unknown, unknown>,
    options: ClientOptions.RequestOptions | undefined
  ) => number
}

export const make = (settings: Settings): Calls => {
  const { link, server } = settings

  const deadlineMillisOf = (
    fiber: Fiber.Fiber<unknown, unknown>,
    options: ClientOptions.RequestOptions | undefined
  ): number => millis(options?.deadline, fiber.getRef(ClientOptions.Deadline)) ?? settings.deadlineMillis

  /** Waits for a session no longer than the request may take, and no longer than its signal allows. */
  const awaitSession = (
    method: string,
    deadlineAt: number,
    deadlineMillis: number,
    signal: AbortSignal | undefined
  ): Effect.Effect<Session, McpError.McpError> => {
    const failure = (reason: McpError.McpErrorReason) => McpError.make(reason, "unsent", { server, method })
    let session = link.current
    if (deadlineAt !== Infinity) {
      session = Effect.timeoutOrElse(session, {
        duration: Duration.millis(Math.max(0, deadlineAt - settings.now())),
        orElse: () => Effect.fail(failure(new McpError.RequestTimeout({ kind: "deadline", millis: deadlineMillis })))
      })
    }
    return Abort.orElse(session, signal, (reason) => failure(new McpError.Cancelled({ reason })))
  }

  const cancellers = new Map<Envelope.RequestId, AbortController>()

  const cancellable: Calls["cancellable"] = (method, options, use) => {
    const id = options?.requestId
    if (id === undefined || options?.isCancellable === true) return use(options)
    return Effect.suspend(() => {
      if (cancellers.has(id)) {
        return Effect.fail(McpError.make(
          new McpError.InvalidRequest({ problem: `the request id ${JSON.stringify(id)} is in use; choose another` }),
          "unsent",
          { server, method }
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

  const metadata = (
    fiber: Fiber.Fiber<unknown, unknown>,
    session: Session,
    host: Json.JsonObject | undefined,
    own: Json.JsonObject | undefined,
    options: ClientOptions.RequestOptions | undefined
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

  const run: Run = (invocation, given) =>
    cancellable(invocation.method, given, (options) => runCancellable(invocation, options))

  const runCancellable: Run = <A>(invocation: Invocation<A>, options?: RunOptions) =>
    Effect.withFiber((fiber) => {
      const idleMillis = millis(options?.idleTimeout, fiber.getRef(ClientOptions.IdleTimeout)) ?? settings.idleMillis
      const startedAt = settings.now()
      const deadlineMillis = deadlineMillisOf(fiber, options)
      const deadlineAt = options?.deadlineAt
        ?? (deadlineMillis === Infinity ? Infinity : startedAt + deadlineMillis)

      const send = <B>(
        session: Session,
        params: Json.JsonObject,
        host: Json.JsonObject | undefined,
        sender: Fiber.Fiber<unknown, unknown>,
        decode: (result: Json.JsonObject, evidence: Transport.Evidence) => Exit.Exit<B, McpError.McpErrorReason>
      ): Effect.Effect<B, McpError.McpError> => {
        const method = invocation.methodFor?.(session.revision) ?? invocation.method
        const missing = CapabilityGate.missing(session, method)
        if (missing !== undefined) return Effect.fail(McpError.make(missing, "unsent", { server, method }))
        const split = RequestText.splitMetadata(params)
        const { name, routingParams } = invocation
        const named = Result.succeed(name === undefined ? undefined : { name })
        return Attempts.run({
          session,
          server,
          call: {
            method,
            params: split.params,
            metadata: metadata(sender, session, host, split.metadata, options),
            decode,
            idleMillis,
            deadlineAt,
            deadlineMillis,
            id: options?.requestId,
            signal: options?.signal,
            onProgress: options?.onProgress,
            onNotification: invocation.onNotification,
            tasks: invocation.tasks,
            uri: invocation.uri
          },
          routing: routingParams === undefined
            ? () => named
            : () => Result.map(routingParams(session), (params) => ({ name, params })),
          onHeaderMismatch: invocation.onHeaderMismatch,
          onSessionExpired: link.retire(session),
          requestState: invocation.requestState,
          trip: {
            interaction: settings.interaction,
            now: settings.now,
            startedAt,
            onWait: settings.onInputRequiredWait
          }
        })
      }

      const onSession = (session: Session): Effect.Effect<A, McpError.McpError> => {
        const decode = (result: Json.JsonObject, evidence: Transport.Evidence) => {
          const decoded = invocation.decode(result, session, evidence)
          if (Exit.isSuccess(decoded)) recordServerInfo(session, result)
          return decoded
        }
        const around = settings.around
        const throughAround = (
          around: ClientOptions.Around,
          host: Json.JsonObject | undefined,
          sender: Fiber.Fiber<unknown, unknown>
        ): Effect.Effect<A, McpError.McpError> => {
          // A result that the hook made up was sent under no authorization that is known.
          let evidence: Transport.Evidence = { authorization: "unknown" }
          return Effect.flatMap(
            around(
              { server, method: invocation.method, params: invocation.params },
              (params) =>
                send(session, params, host, sender, (result, sent) => {
                  evidence = sent
                  return Exit.succeed(result)
                })
            ),
            (result) =>
              Exit.mapError(
                decode(result, evidence),
                (reason) => McpError.make(reason, "unknown", { server, method: invocation.method })
              )
          )
        }
        const run = (host: Json.JsonObject | undefined): Effect.Effect<A, McpError.McpError> =>
          Effect.withFiber((sender) =>
            around === undefined
              ? send(session, invocation.params, host, sender, decode)
              : throughAround(around, host, sender)
          )
        const host = settings.requestMetadata
        return Effect.isEffect(host) ? Effect.flatMap(host, run) : run(host)
      }

      const ready = link.ready()
      if (invocation.generation !== undefined && invocation.generation !== ready?.generation) {
        const reason = invocation.onOtherGeneration?.() ?? new McpError.SessionExpired({ status: 0 })
        return Effect.fail(McpError.make(reason, "unsent", { server, method: invocation.method }))
      }
      const effect = ready !== undefined
        ? onSession(ready)
        : Effect.flatMap(
          awaitSession(invocation.method, deadlineAt, deadlineMillis, options?.signal),
          onSession
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

  return {
    run,
    cancellable,
    cancel: (id, reason) => {
      const canceller = cancellers.get(id)
      if (canceller === undefined) link.ready()?.requests.cancel(id, reason)
      else canceller.abort(reason)
    },
    ready: link.ready,
    session: (method, fiber, options) => {
      const ready = link.ready()
      if (ready !== undefined) return Effect.succeed(ready)
      const deadlineMillis = deadlineMillisOf(fiber, options)
      return awaitSession(method, options.deadlineAt ?? settings.now() + deadlineMillis, deadlineMillis, options.signal)
    },
    deadlineMillis: deadlineMillisOf,
    deadlineAt: (fiber, options) => {
      const deadlineMillis = deadlineMillisOf(fiber, options)
      return deadlineMillis === Infinity ? Infinity : settings.now() + deadlineMillis
    }
  }
}
