/**
 * Asks a server that says nothing whether it is still there.
 *
 * Any answer to any request proves it, so that a server that is in use is not asked. One that does not know the request
 * it is asked by answers all the same, and is asked by another from then on.
 */
import type { Json, McpError } from "@mcp-effect/protocol"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Session } from "./Session.ts"

export interface Options {
  readonly intervalMillis: number
  readonly clock: Clock.Clock
  /** Hears of each question that was not answered, and of the first answer after that. */
  readonly onSilence: (error: McpError.McpError) => Effect.Effect<void>
  readonly onLife: Effect.Effect<void>
  /** The server has forgotten the session. */
  readonly onSessionLost: (error: McpError.McpError) => Effect.Effect<void>
}

/** Lets time pass without keeping the process alive: a clock's own timer would. */
const sleep = (clock: Clock.Clock, millis: number): Effect.Effect<void> =>
  clock === Context.get(Context.empty(), Clock.Clock)
    ? Effect.callback((resume) => {
      const timer: unknown = setTimeout(() => resume(Effect.void), millis)
      if (hasUnref(timer)) timer.unref()
      return Effect.sync(() => clearTimeout(timer as ReturnType<typeof setTimeout>))
    })
    : Effect.sleep(millis)

// Browsers number their timers, and have no process to keep alive.
const hasUnref = (timer: unknown): timer is { readonly unref: () => void } =>
  typeof timer === "object" && timer !== null && "unref" in timer

const questionsFor = ({ declares, revision }: Session): ReadonlyArray<string> => {
  const first = revision.ping ? "ping" : "server/discover"
  return declares(["tools"]) === false ? [first] : [first, "tools/list"]
}

/** An answer, if only an error, comes from somebody. */
const isAnswer = ({ reason }: McpError.McpError): boolean => {
  switch (reason._tag) {
    case "ConnectionFailed":
    case "ConnectionClosed":
    case "RequestTimeout":
    case "StreamIdle":
    case "StreamEnded":
      return false
    case "HttpStatus":
      return reason.status < 500
    default:
      return true
  }
}

/** Runs for as long as the session is in use. */
export const run = (session: Session, options: Options): Effect.Effect<never> => {
  const { agreement, requests } = session
  const questions = questionsFor(session)
  const millis = options.intervalMillis
  let question = 0
  let isSilent = false

  const ask = (method: string): Effect.Effect<Json.JsonObject, McpError.McpError> =>
    Effect.suspend(() =>
      requests.request({
        method,
        params: undefined,
        decode: Exit.succeed,
        idleMillis: Infinity,
        deadlineAt: requests.now() + millis,
        deadlineMillis: millis
      }, agreement.terms)
    )

  const lives = Effect.suspend(() => {
    if (!isSilent) return Effect.void
    isSilent = false
    return options.onLife
  })

  const onError = (error: McpError.McpError): Effect.Effect<void> => {
    if (error.reason._tag === "SessionExpired") return options.onSessionLost(error)
    if (error.reason._tag === "ServerError" && error.reason.isMethodNotFound) {
      question = Math.min(question + 1, questions.length - 1)
    }
    if (isAnswer(error)) return lives
    isSilent = true
    return options.onSilence(error)
  }

  const look = (answers: number): Effect.Effect<void> =>
    Effect.suspend(() =>
      requests.answers === answers
        ? Effect.matchEffect(ask(questions[question] ?? "ping"), { onFailure: onError, onSuccess: () => lives })
        : lives
    )

  return Effect.forever(
    Effect.suspend(() => {
      const { answers } = requests
      return Effect.andThen(sleep(options.clock, millis), look(answers))
    })
  )
}
