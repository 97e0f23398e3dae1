/**
 * Handles of tasks, and how they are driven to their end (2025-11-25 basic/utilities/tasks; the tasks extension).
 */
import { type Envelope, type InputRequired, type Json, McpError, Task, type ToolCall } from "@mcp-effect/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RequestOptions } from "../ClientOptions.ts"
import type { McpTask, SerializedTask, TaskState } from "../McpTask.ts"
import type { Calls, RunOptions } from "./Calls.ts"
import type { Interaction } from "./Interaction.ts"
import { maxRounds } from "./RoundTrips.ts"
import type { Session } from "./Session.ts"
import * as TaskRequests from "./TaskRequests.ts"

// A server that asks to be polled all the time is not.
const shortestPollMillis = 50

// How long telling a server that its task is not wanted any more may take.
const cancelMillis = 1_000

export interface Options {
  readonly calls: Calls
  readonly server: string
  readonly now: () => number
  readonly interaction: Interaction
  /** Runs something that nobody waits for, as long as the client lives. */
  readonly fork: (effect: Effect.Effect<void>) => unknown
  readonly subscribeNotifications: Effect.Effect<Stream.Stream<Envelope.Notification>, never, Scope.Scope>
  readonly session: Effect.Effect<Session, McpError.McpError>
}

const serializedTask = Schema.decodeUnknownExit(Schema.Struct({
  taskId: Schema.String,
  createdAt: Schema.String,
  tool: Schema.optional(Schema.String)
}))

const isAbout = (notification: Envelope.Notification, taskId: string): boolean =>
  (notification.method === "notifications/tasks" || notification.method === "notifications/tasks/status")
  && notification.params?.["taskId"] === taskId

/** Where a task lives: with its session, unless requests stand on their own. */
const pinOf = (session: Session): number | undefined =>
  session.http && session.revision.era === "modern" ? undefined : session.generation

const isSameState = (left: TaskState, right: TaskState): boolean =>
  left.status === right.status && left.lastUpdatedAt === right.lastUpdatedAt
  && left.statusMessage === right.statusMessage

export const make = (options: Options) => {
  const { calls, interaction, now, server } = options

  const fail = (reason: McpError.McpErrorReason): Effect.Effect<never, McpError.McpError> =>
    Effect.fail(McpError.make(reason, "unknown", { server, method: "tasks/get" }))

  /** Polls a task. Each state is one look; `pause` waits until the next is due, or the server announces a change. */
  const observe = (
    requests: TaskRequests.TaskRequests,
    initial: TaskState
  ): Effect.Effect<
    {
      readonly look: (options?: RunOptions) => Effect.Effect<TaskState, McpError.McpError>
      readonly pause: (state: TaskState) => Effect.Effect<void, McpError.McpError>
    },
    never,
    Scope.Scope
  > =>
    Effect.gen(function*() {
      const { taskId } = initial
      const startedAt = now()
      const changes = yield* options.subscribeNotifications
      const wake = yield* Queue.sliding<void>(1)
      yield* Effect.forkScoped(Stream.runForEach(changes, (notification) =>
        isAbout(notification, taskId) ? Queue.offer(wake, undefined) : Effect.void))

      const look = (request?: RunOptions): Effect.Effect<TaskState, McpError.McpError> =>
        requests.get({
          ...request,
          requestId: undefined,
          onProgress: undefined,
          idleTimeout: Duration.millis(TaskRequests.requestMillis)
        }).pipe(
          Effect.catch((error) => {
            const deadlineAt = request?.deadlineAt ?? Infinity
            // A poll that was not answered in time is no verdict on the task.
            return error.reason._tag === "RequestTimeout" && now() < deadlineAt ? look(request) : Effect.fail(error)
          }),
          Effect.flatMap((state) =>
            state.createdAt === initial.createdAt ? Effect.succeed(state) : fail(new McpError.TaskReplaced({ taskId }))
          )
        )

      const pause = (state: TaskState): Effect.Effect<void, McpError.McpError> =>
        Effect.suspend(() => {
          const left = state.ttlMillis === null ? Infinity : startedAt + state.ttlMillis - now()
          if (left <= 0) {
            return fail(new McpError.TaskFailed({ taskId, problem: "expired" }))
          }
          const delay = Math.min(Math.max(state.pollIntervalMillis, shortestPollMillis), left)
          return Effect.raceFirst(Effect.sleep(Duration.millis(delay)), Queue.take(wake))
        })

      return { look, pause }
    })

  /** Answers what a task asks that was not answered yet; each key is answered once. */
  const answerNew = (
    requests: TaskRequests.TaskRequests,
    session: Session,
    state: TaskState,
    answered: Map<string, Json.JsonObject | undefined>,
    request: RunOptions
  ): Effect.Effect<void, McpError.McpError> =>
    Effect.gen(function*() {
      const asked = Object.entries(state.inputRequests ?? {})
      for (const [key, { method, params }] of asked) {
        if (answered.has(key)) continue
        const response = yield* Effect.mapError(
          interaction.answer(method, params, session.revision),
          ({ kind }) =>
            McpError.make(
              new McpError.InputRequired({
                problem: kind,
                requestMethod: "tasks/get",
                requestParams: { taskId: state.taskId },
                inputRequests: state.inputRequests
              }),
              "unknown",
              { server, method: "tasks/get" }
            )
        )
        answered.set(key, response)
      }
      // Only what is asked now may be sent; an answer whose update failed is still here and goes with the next one.
      const owed = asked.flatMap(([key]) => {
        const response = answered.get(key)
        return response === undefined ? [] : [[key, response] as const]
      })
      if (owed.length === 0) return
      const sent = yield* Effect.exit(requests.update(Object.fromEntries(owed), { ...request, requestId: undefined }))
      if (Exit.isSuccess(sent)) {
        for (const [key] of owed) answered.set(key, undefined)
        return
      }
      const error = Exit.findErrorOption(sent)
      const ambiguous = error._tag === "Some" && error.value.delivery === "unknown"
        && error.value.reason._tag !== "ServerError"
      if (!ambiguous) yield* sent
    })

  const drive = (
    requests: TaskRequests.TaskRequests,
    initial: TaskState,
    request: RunOptions
  ): Effect.Effect<ToolCall.CallToolResult, McpError.McpError> =>
    Effect.scoped(Effect.gen(function*() {
      const session = yield* options.session
      const core = session.revision.tasks === "core"
      const { look, pause } = yield* observe(requests, initial)
      const answered = new Map<string, Json.JsonObject | undefined>()
      let rounds = 0
      while (true) {
        const state = yield* look(request)
        // A core task tells its result, and asks what it has to ask, on the stream of this request.
        if (core && (Task.isTerminal(state.status) || state.status === "input_required")) {
          return yield* requests.result({ ...request, requestId: undefined, idleTimeout: Infinity })
        }
        if (state.result !== undefined) return state.result
        if (Task.isTerminal(state.status)) return yield* TaskRequests.failure(server, state)
        if (state.status === "input_required") {
          if (rounds++ >= maxRounds) {
            return yield* fail(
              new McpError.InputRequired({
                problem: "too-many-rounds",
                requestMethod: "tasks/get",
                requestParams: { taskId: state.taskId },
                inputRequests: state.inputRequests
              })
            )
          }
          yield* answerNew(requests, session, state, answered, request)
        }
        yield* pause(state)
      }
    }))

  /** Drives a task within the caller's time; a task that nobody waits for any more is cancelled on the server. */
  const finish = (
    requests: TaskRequests.TaskRequests,
    initial: TaskState,
    request: RequestOptions | undefined
  ): Effect.Effect<ToolCall.CallToolResult, McpError.McpError> =>
    Effect.withFiber((fiber) => {
      const deadlineAt = calls.deadlineAt(fiber, request)
      const cancel = Effect.sync(() => {
        options.fork(Effect.ignore(requests.cancel({ deadline: Duration.millis(cancelMillis) })))
      })
      const driven = drive(requests, initial, { ...request, deadlineAt })
      const timed = deadlineAt === Infinity ? driven : Effect.timeoutOrElse(driven, {
        duration: Duration.millis(Math.max(0, deadlineAt - now())),
        orElse: () =>
          Effect.andThen(
            cancel,
            fail(new McpError.RequestTimeout({ kind: "deadline", millis: calls.deadlineMillis(fiber, request) }))
          )
      })
      return Effect.onInterrupt(timed, () => cancel)
    })

  const handle = (
    initial: TaskState,
    tool: string | undefined,
    pinned: number | undefined
  ): McpTask => {
    const requests = TaskRequests.make(calls, server, initial.taskId, pinned)
    return {
      id: initial.taskId,
      tool,
      initial,
      get: requests.get(),
      updates: Stream.unwrap(
        Effect.map(
          observe(requests, initial),
          ({ look, pause }) =>
            Stream.paginate(undefined, (last: TaskState | undefined) =>
              Effect.map(
                Effect.andThen(last === undefined ? Effect.void : pause(last), look()),
                (state) => [
                  last !== undefined && isSameState(last, state) ? [] : [state],
                  Task.isTerminal(state.status) ? Option.none() : Option.some(state)
                ]
              ))
        )
      ),
      await: (request) => finish(requests, initial, request),
      answer: (responses: InputRequired.InputResponses) => requests.update({ ...responses }),
      cancel: requests.cancel(),
      serialized: { taskId: initial.taskId, createdAt: initial.createdAt, tool }
    }
  }

  /** A call that was answered at once is a task that is done; the server knows nothing of it. */
  const finished = (result: ToolCall.CallToolResult, tool: string): McpTask => {
    const state: TaskState = {
      taskId: "",
      status: "completed",
      statusMessage: undefined,
      createdAt: "",
      lastUpdatedAt: "",
      ttlMillis: null,
      pollIntervalMillis: 0,
      inputRequests: undefined,
      result,
      error: undefined
    }
    return {
      id: "",
      tool,
      initial: state,
      get: Effect.succeed(state),
      updates: Stream.succeed(state),
      await: () => Effect.succeed(result),
      answer: () => Effect.void,
      cancel: Effect.void,
      serialized: { taskId: "", createdAt: "", tool }
    }
  }

  return {
    finish: (initial: TaskState, session: Session, request: RequestOptions | undefined) =>
      finish(TaskRequests.make(calls, server, initial.taskId, pinOf(session)), initial, request),
    finished,
    handle: (initial: TaskState, tool: string, session: Session) => handle(initial, tool, pinOf(session)),
    restore: (serialized: SerializedTask | Json.JsonObject): Effect.Effect<McpTask, McpError.McpError> => {
      const read = serializedTask(serialized)
      if (!Exit.isSuccess(read)) {
        return Effect.fail(McpError.make(
          new McpError.InvalidRequest({ problem: "this does not name a task; give what `serialized` of a task gave" }),
          "unsent",
          { server, method: "tasks/get" }
        ))
      }
      const { createdAt, taskId, tool } = read.value
      return Effect.flatMap(
        TaskRequests.make(calls, server, taskId, undefined).get(),
        (state) =>
          state.createdAt === createdAt
            ? Effect.succeed(handle(state, tool, undefined))
            : fail(new McpError.TaskReplaced({ taskId }))
      )
    },
    list: (request?: RequestOptions): Effect.Effect<ReadonlyArray<TaskState>, McpError.McpError> => {
      const page = (cursor: string | undefined, seen: ReadonlySet<string>): Effect.Effect<
        ReadonlyArray<TaskState>,
        McpError.McpError
      > =>
        Effect.flatMap(
          calls.run({
            method: "tasks/list",
            params: cursor === undefined ? {} : { cursor },
            decode: TaskRequests.readList
          }, request),
          ({ nextCursor, tasks }) =>
            nextCursor === undefined || seen.has(nextCursor)
              ? Effect.succeed(tasks)
              : Effect.map(page(nextCursor, new Set([...seen, nextCursor])), (rest) => [...tasks, ...rest])
        )
      return page(undefined, new Set())
    }
  }
}

export type Tasks = ReturnType<typeof make>

/** Whether calls on a session may be answered with tasks. */
export const areSupported = (session: Session, declared: boolean): boolean =>
  session.revision.tasks === "core"
    ? session.declares(["tasks", "requests", "tools", "call"]) === true
    : session.revision.tasks === "extension" && declared
