/**
 * What servers ask while a task runs, and what was answered: each key once, whoever waits for the task and however
 * often (tasks extension, Input required).
 */
import { type Json, McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { TaskState } from "../McpTask.ts"
import type { RunOptions } from "./Calls.ts"
import type { Interaction } from "./Interaction.ts"
import { maxRounds } from "./RoundTrips.ts"
import type { Session } from "./Session.ts"
import type { TaskRequests } from "./TaskRequests.ts"

/** How many tasks something is remembered of; the oldest go first. */
export const capacity = 4_096

class Answers {
  /** What a key was answered with and the server may not have yet; `undefined` once it has it. */
  readonly given = new Map<string, Json.JsonObject | undefined>()
  /** One asks the user at a time. */
  readonly turn = Semaphore.makeUnsafe(1)
  rounds = 0

  isDelivered(key: string): boolean {
    return this.given.has(key) && this.given.get(key) === undefined
  }
}

/** Names a task and not a later one with the same id. */
type Named = Pick<TaskState, "taskId" | "createdAt">

export const keyOf = ({ createdAt, taskId }: Named): string => JSON.stringify([taskId, createdAt])

/** The server cannot be told to have got an answer, nor not to have. */
const isAmbiguous = ({ delivery, reason }: McpError.McpError): boolean =>
  delivery === "unknown" && reason._tag !== "ServerError" && reason._tag !== "Cancelled"

export class TaskInputs {
  private readonly interaction: Interaction
  private readonly server: string
  private readonly tasks = new Map<string, Answers>()

  constructor(interaction: Interaction, server: string) {
    this.interaction = interaction
    this.server = server
  }

  /**
   * Has everything answered that a task asks and that was not answered yet. What was answered reaches the server even
   * where a later handler fails, and an answer whose delivery is uncertain goes along with the next.
   */
  answer(
    state: TaskState,
    requests: TaskRequests,
    session: Session,
    options: RunOptions
  ): Effect.Effect<void, McpError.McpError> {
    const answers = this.of(state)
    const { interaction } = this
    const fail = (problem: McpError.InputRequired["problem"]): McpError.McpError => this.failure(state, problem)
    return answers.turn.withPermit(Effect.gen(function*() {
      const asked = Object.entries(state.inputRequests ?? {})
      let refused: McpError.McpError | undefined
      if (asked.some(([key]) => !answers.given.has(key)) && answers.rounds++ >= maxRounds) {
        return yield* fail("too-many-rounds")
      }
      for (const [key, { method, params }] of asked) {
        if (answers.given.has(key)) continue
        const response = yield* Effect.result(interaction.answer(method, params, session.revision))
        if (response._tag === "Failure") {
          refused = fail(response.failure.kind)
          break
        }
        answers.given.set(key, response.success)
      }
      // Only what is asked now may be sent.
      yield* Effect.catchIf(
        deliver(answers, asked.map(([key]) => key), requests, options),
        isAmbiguous,
        () => Effect.void
      )
      if (refused !== undefined) return yield* refused
    }))
  }

  /** Sends answers of the application, but those that the server has. */
  give(
    task: Named,
    responses: Json.JsonObject,
    requests: TaskRequests
  ): Effect.Effect<void, McpError.McpError> {
    const answers = this.of(task)
    return answers.turn.withPermit(Effect.suspend(() => {
      const keys = Object.keys(responses)
      for (const key of keys) {
        if (!answers.isDelivered(key)) answers.given.set(key, Object(responses[key]))
      }
      return deliver(answers, keys, requests, {})
    }))
  }

  /** Nothing more is asked. */
  forget(task: Named): void {
    this.tasks.delete(keyOf(task))
  }

  private of(task: Named): Answers {
    const key = keyOf(task)
    const known = this.tasks.get(key)
    if (known !== undefined) return known
    const answers = new Answers()
    this.tasks.set(key, answers)
    const [oldest] = this.tasks.keys()
    if (this.tasks.size > capacity && oldest !== undefined) this.tasks.delete(oldest)
    return answers
  }

  private failure({ inputRequests, taskId }: TaskState, problem: McpError.InputRequired["problem"]): McpError.McpError {
    const method = "tasks/get"
    return McpError.make(
      new McpError.InputRequired({ problem, requestMethod: method, requestParams: { taskId }, inputRequests }),
      "unknown",
      { server: this.server, method }
    )
  }
}

const deliver = (
  answers: Answers,
  keys: ReadonlyArray<string>,
  requests: TaskRequests,
  options: RunOptions
): Effect.Effect<void, McpError.McpError> => {
  const owed = keys.flatMap((key) => {
    const response = answers.given.get(key)
    return response === undefined ? [] : [[key, response] as const]
  })
  if (owed.length === 0) return Effect.void
  return requests.update(Object.fromEntries(owed), options).pipe(
    Effect.tap(() =>
      Effect.sync(() => {
        for (const [key] of owed) answers.given.set(key, undefined)
      })
    ),
    Effect.tapError((error) =>
      Effect.sync(() => {
        // The server has refused them, so they may be asked for again.
        if (error.delivery !== "unsent" && !isAmbiguous(error)) { for (const [key] of owed) answers.given.delete(key) }
      })
    )
  )
}
