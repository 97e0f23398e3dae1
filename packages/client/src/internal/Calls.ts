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
import * as Attempts from "./Attempts.ts"
import * as CapabilityGate from "./CapabilityGate.ts"
import type { Interaction } from "./Interaction.ts"
import type { Link } from "./Link.ts"
import { abortReason } from "./Pending.ts"
import * as RequestText from "./RequestText.ts"
import type * as RoundTrips from "./RoundTrips.ts"
import type { Session } from "./Session.ts"
import * as Telemetry from "./Telemetry.ts"

/** A request as a feature describes it. */
export interface Invocation<A> {
  readonly method: string
  readonly params: Json.JsonObject
  readonly decode: (result: Json.JsonObject, session: Session) => Exit.Exit<A, McpError.McpErrorReason>
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
  readonly around: ClientOptions.Around | undefined
  readonly interaction: Interaction
  readonly onInputRequiredWait: RoundTrips.Trip["onWait"]
}

/** What a feature that makes several requests for one caller adds to the caller's options. */
export interface RunOptions extends ClientOptions.RequestOptions {
  /** Monotonic milliseconds; takes the place of `deadline`. */
  readonly deadlineAt?: number | undefined
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
    if (signal !== undefined) {
      session = Effect.raceFirst(
        session,
        Effect.callback<never, McpError.McpError>((resume) => {
          const abort = () => resume(Effect.fail(failure(new McpError.Cancelled({ reason: abortReason(signal) }))))
          if (signal.aborted) return abort()
          signal.addEventListener("abort", abort, { once: true })
          return Effect.sync(() => signal.removeEventListener("abort", abort))
        })
      )
    }
    return session
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
    return RequestText.mergeMetadata(
      level === undefined ? undefined : { [Metadata.logLevelKey]: level },
      trace,
      host,
      region,
      own,
      meta
    )
  }

  const run: Run = <A>(invocation: Invocation<A>, options?: RunOptions) =>
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
        decode: (result: Json.JsonObject) => Exit.Exit<B, McpError.McpErrorReason>
      ): Effect.Effect<B, McpError.McpError> => {
        const method = invocation.methodFor?.(session.revision) ?? invocation.method
        if (invocation.generation !== undefined && invocation.generation !== session.generation) {
          const reason = invocation.onOtherGeneration?.() ?? new McpError.SessionExpired({ status: 0 })
          return Effect.fail(McpError.make(reason, "unsent", { server, method }))
        }
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
        const decode = (result: Json.JsonObject) => {
          const decoded = invocation.decode(result, session)
          if (Exit.isSuccess(decoded)) recordServerInfo(session, result)
          return decoded
        }
        const around = settings.around
        const run = (host: Json.JsonObject | undefined): Effect.Effect<A, McpError.McpError> =>
          Effect.withFiber((sender) =>
            around === undefined
              ? send(session, invocation.params, host, sender, decode)
              : Effect.flatMap(
                around(
                  { server, method: invocation.method, params: invocation.params },
                  (params) => send(session, params, host, sender, (result) => Exit.succeed(result))
                ),
                (result) => {
                  const decoded = decode(result)
                  return Exit.mapError(
                    decoded,
                    (reason) => McpError.make(reason, "unknown", { server, method: invocation.method })
                  )
                }
              )
          )
        const host = settings.requestMetadata
        return Effect.isEffect(host) ? Effect.flatMap(host, run) : run(host)
      }

      const ready = link.ready()
      const effect = ready !== undefined
        ? onSession(ready)
        : Effect.flatMap(
          awaitSession(invocation.method, deadlineAt, deadlineMillis, options?.signal),
          onSession
        )
      return Telemetry.withSpan(
        effect,
        fiber,
        // A URI does not belong into the name of a span: there are too many of them (OpenTelemetry conventions for MCP).
        invocation.name === undefined || invocation.uri !== undefined
          ? invocation.method
          : `${invocation.method} ${invocation.name}`,
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
