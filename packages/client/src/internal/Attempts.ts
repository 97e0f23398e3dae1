/**
 * Sends one request of an application, and what has to be sent in its place. Nothing is sent again that may have been
 * executed: what was refused, and what the server asked to have again, was not.
 */
import { ErrorReply, type Json, McpError } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Call } from "./Pending.ts"
import * as RoundTrips from "./RoundTrips.ts"
import type { Session } from "./Session.ts"

export interface Attempt<A> {
  readonly session: Session
  readonly server: string
  readonly call: Call<A>
  /** What the request names, and the arguments that go into headers; read anew for each send. */
  readonly routing: (() => Result.Result<Transport.Routing | undefined, McpError.McpErrorReason>) | undefined
  /** Learns what the server's headers should have been. */
  readonly onHeaderMismatch: Effect.Effect<unknown, McpError.McpError> | undefined
  readonly onSessionExpired: Effect.Effect<void>
  /** Where a request stood that is resumed. */
  readonly requestState: string | undefined
  readonly trip: Omit<RoundTrips.Trip, "method" | "params" | "revision" | "server" | "deadlineAt" | "signal">
}

/** What was done about one set of parameters; each is done once. */
interface Recovered {
  readonly version: boolean
  readonly headers: boolean
}

/** Where a request stands that its server answers with questions. */
interface Round {
  readonly params: Json.JsonObject
  readonly count: number
  readonly waits: number
}

const nothing: Recovered = { version: false, headers: false }

export const run = <A>(attempt: Attempt<A>): Effect.Effect<A, McpError.McpError> => {
  const { call, server, session } = attempt
  const terms = session.agreement.terms
  const ownParams = call.params ?? {}
  const trip: RoundTrips.Trip = {
    ...attempt.trip,
    method: call.method,
    params: ownParams,
    revision: terms.revision,
    server,
    deadlineAt: call.deadlineAt,
    signal: call.signal
  }

  const send = (round: Round, recovered: Recovered, first: boolean): Effect.Effect<A, McpError.McpError> => {
    const routing = attempt.routing?.()
    if (routing !== undefined && Result.isFailure(routing)) {
      return Effect.fail(McpError.make(routing.failure, "unsent", { server, method: call.method }))
    }
    return Effect.catch(
      session.requests.request({
        ...call,
        params: round.params,
        // A caller's id names one request only.
        id: first ? call.id : undefined,
        routing: routing?.success
      }, terms),
      (error) => recover(error, round, recovered)
    )
  }

  const recover = (
    error: McpError.McpError,
    round: Round,
    recovered: Recovered
  ): Effect.Effect<A, McpError.McpError> => {
    const reason = error.reason
    switch (reason._tag) {
      // Servers exist that refuse the very revision they list, once.
      case "UnsupportedProtocolVersion":
        return !recovered.version && reason.supported.includes(terms.revision.version)
          ? send(round, { ...recovered, version: true }, false)
          : Effect.fail(error)
      // "Clients SHOULD call tools/list to refresh the schema and retry" (2026-07-28 streamable-http, Headers).
      case "HeaderMismatch":
        return recovered.headers || attempt.onHeaderMismatch === undefined
          ? Effect.fail(error)
          : Effect.matchEffect(attempt.onHeaderMismatch, {
            onFailure: () => Effect.fail(error),
            onSuccess: () => send(round, { ...recovered, headers: true }, false)
          })
      // The user has to visit pages first; then the request is made again (2025-11-25 client/elicitation).
      case "ServerError": {
        const elicitations = terms.revision.resultType ? undefined : ErrorReply.requiredElicitations(reason)
        if (elicitations === undefined || round.count >= RoundTrips.maxRounds) return Effect.fail(error)
        return Effect.flatMap(
          RoundTrips.visitAll(trip, elicitations),
          (visited) => visited ? send({ ...round, count: round.count + 1 }, nothing, false) : Effect.fail(error)
        )
      }
      case "SessionExpired":
        return Effect.andThen(attempt.onSessionExpired, Effect.fail(error))
      case "InputRequired": {
        const waits = RoundTrips.isPause(reason)
        return Effect.flatMap(
          RoundTrips.next(trip, reason, round.count, round.waits),
          (params) => send({ params, count: round.count + 1, waits: waits ? round.waits + 1 : 0 }, nothing, false)
        )
      }
      default:
        return Effect.fail(error)
    }
  }

  const params = attempt.requestState === undefined ? ownParams : { ...ownParams, requestState: attempt.requestState }
  return send({ params, count: 0, waits: 0 }, nothing, true)
}
