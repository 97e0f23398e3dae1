/**
 * Multi round-trip requests (2026-07-28 basic/patterns/mrtr): a server answers that it needs something first, and the
 * request is sent again with it.
 */
import { type Elicitation, type InputRequired, Json, McpError, type Revision } from "@mcp-effect/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { InputRequiredWait } from "../ClientOptions.ts"
import * as Abort from "./Abort.ts"
import type { Interaction, Refusal } from "./Interaction.ts"

/** How many times a server may ask during one request. */
export const maxRounds = 10

// The protocol sets no pace for a server that only wants to be asked again later.
const firstWaitMillis = 500
const longestWaitMillis = 5_000

// A person may take minutes about a page, and not every server tells of its end.
const longestVisitMillis = 60_000

/** What all rounds of one request share. */
export interface Trip {
  readonly method: string
  /** The caller's own parameters. */
  readonly params: Json.JsonObject
  readonly revision: Revision.Facts
  readonly server: string
  readonly interaction: Interaction
  readonly now: () => number
  readonly startedAt: number
  /** Monotonic milliseconds. */
  readonly deadlineAt: number
  readonly signal: AbortSignal | undefined
  readonly onWait: ((wait: InputRequiredWait) => Effect.Effect<"wait" | "retry" | "cancel">) | undefined
}

type Problem = McpError.InputRequired["problem"]

/** A caller who makes a round by hand gives its answers and state, which belong to that round alone. */
const ownParams = ({ params }: Trip): Json.JsonObject => {
  if (!Object.hasOwn(params, "inputResponses") && !Object.hasOwn(params, "requestState")) return params
  const { inputResponses: _, requestState: __, ...own } = params
  return own
}

const fail = (trip: Trip, asked: McpError.InputRequired, problem: Problem): Effect.Effect<never, McpError.McpError> =>
  Effect.fail(McpError.make(
    new McpError.InputRequired({
      problem,
      requestMethod: trip.method,
      requestParams: ownParams(trip),
      inputRequests: asked.inputRequests,
      requestState: asked.requestState,
      result: asked.result
    }),
    "refused",
    { server: trip.server, method: trip.method }
  ))

/** Runs an effect for as long as the request may still take, and its signal allows. */
const inTime = <A>(
  trip: Trip,
  asked: McpError.InputRequired,
  effect: Effect.Effect<A, McpError.McpError>
): Effect.Effect<A, McpError.McpError> => {
  const cancellable = Abort.orElse(
    effect,
    trip.signal,
    (reason) =>
      McpError.make(new McpError.Cancelled({ reason }), "refused", { server: trip.server, method: trip.method })
  )
  return trip.deadlineAt === Infinity ? cancellable : Effect.timeoutOrElse(cancellable, {
    duration: Duration.millis(Math.max(0, trip.deadlineAt - trip.now())),
    orElse: () => fail(trip, asked, "deadline")
  })
}

/** Whether a server asks for nothing but to be asked again later. */
export const isPause = ({ inputRequests }: McpError.InputRequired): boolean =>
  !Json.isJsonObject(inputRequests) || Object.keys(inputRequests).length === 0

/** Answers one by one, since most of them need the same person. */
const answerAll = (
  trip: Trip,
  asked: McpError.InputRequired,
  requests: InputRequired.InputRequests
): Effect.Effect<Json.JsonObject, McpError.McpError> =>
  Effect.map(
    Effect.forEach(Object.entries(requests), ([key, request]) =>
      Effect.mapBoth(trip.interaction.answer(request.method, request.params, trip.revision), {
        onSuccess: (response) =>
          [key, response] as const,
        onFailure: (refusal: Refusal) => refusal
      }).pipe(
        Effect.catch((refusal: Refusal) => fail(trip, asked, refusal.kind))
      )),
    (responses) =>
      Object.fromEntries(responses)
  )

/** Lets `delay` milliseconds pass by `sleep`, unless the host decides otherwise. */
const paced = (
  trip: Trip,
  asked: McpError.InputRequired,
  round: number,
  delay: number,
  sleep: Effect.Effect<void, McpError.McpError>
): Effect.Effect<void, McpError.McpError> => {
  if (trip.onWait === undefined) return sleep
  return Effect.flatMap(
    trip.onWait({
      method: trip.method,
      round,
      delayMillis: delay,
      elapsedMillis: trip.now() - trip.startedAt,
      requestState: asked.requestState,
      result: Json.isJsonObject(asked.result) ? asked.result : {}
    }),
    (decision) => {
      if (decision === "cancel") return fail(trip, asked, "stopped")
      if (decision !== "retry") return sleep
      return trip.now() > trip.deadlineAt ? fail(trip, asked, "deadline") : Effect.void
    }
  )
}

/** Waits until a server that only wants to be asked again may be asked. */
const pause = (
  trip: Trip,
  asked: McpError.InputRequired,
  wait: number,
  round: number
): Effect.Effect<void, McpError.McpError> => {
  const delay = Math.min(firstWaitMillis * 2 ** wait, longestWaitMillis)
  const sleep = Effect.suspend(() =>
    trip.now() + delay > trip.deadlineAt ? fail(trip, asked, "deadline") : Effect.sleep(delay)
  )
  return paced(trip, asked, round, delay, sleep)
}

/**
 * Decides how to go on after a server has asked: gives the parameters of the request to send next. `round` counts what
 * was asked before, `waits` the pauses among it.
 */
export const next = (
  trip: Trip,
  asked: McpError.InputRequired,
  round: number,
  waits: number
): Effect.Effect<Json.JsonObject, McpError.McpError> => {
  if (asked.problem !== "unanswered") return fail(trip, asked, asked.problem)
  if (round >= maxRounds) return fail(trip, asked, "too-many-rounds")
  const state = asked.requestState === undefined ? undefined : { requestState: asked.requestState }
  // Both members belong to this request alone and stand beside its own parameters; without a state none is sent.
  return inTime(
    trip,
    asked,
    isPause(asked)
      ? Effect.as(pause(trip, asked, waits, round), { ...ownParams(trip), ...state })
      : Effect.map(
        answerAll(trip, asked, asked.inputRequests as InputRequired.InputRequests),
        (inputResponses) => ({ ...ownParams(trip), inputResponses, ...state })
      )
  )
}

/**
 * Asks the user to visit pages, one by one, and gives them time for it: until the server tells that all of them are
 * done, which it need not (2025-11-25 client/elicitation), or for a while that grows with each of these waits. Gives the
 * ids of the pages that were agreed to so far, or `undefined` where one was not.
 */
export const visitAll = (
  trip: Trip,
  elicitations: ReadonlyArray<Elicitation.ElicitRequestURLParams>,
  agreed: ReadonlySet<string>,
  wait: number,
  round: number
): Effect.Effect<ReadonlySet<string> | undefined, McpError.McpError> => {
  const { interaction, method, params, revision } = trip
  const asked = new McpError.InputRequired({ problem: "unanswered", requestMethod: method, requestParams: params })
  const ids = elicitations.flatMap(({ elicitationId }) => elicitationId === undefined ? [] : [elicitationId])
  // A page that was agreed to is not done yet, when the server names it once more.
  const isNew = ({ elicitationId }: Elicitation.ElicitRequestURLParams): boolean =>
    elicitationId === undefined || !agreed.has(elicitationId)
  const agreement = Effect.forEach(elicitations.filter(isNew), (elicitation) =>
    Effect.filterOrFail(
      interaction.answer("elicitation/create", { ...elicitation }, revision),
      (answer) => answer["action"] === "accept"
    ))
  const delay = Math.min(firstWaitMillis * 2 ** wait, longestVisitMillis)
  return inTime(
    trip,
    asked,
    interaction.visits.follow(ids, (over) =>
      Effect.matchEffect(agreement, {
        onFailure: () => Effect.succeed(undefined),
        onSuccess: () =>
          Effect.as(
            Effect.raceFirst(over, paced(trip, asked, round, delay, Effect.sleep(delay))),
            new Set([...agreed, ...ids])
          )
      }))
  )
}
