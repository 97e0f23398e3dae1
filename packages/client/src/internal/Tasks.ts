/**
 * Handles of tasks, and how they are driven to their end (2025-11-25 basic/utilities/tasks; the tasks extension).
 */
import {
  type Diagnostic,
  type Envelope,
  type InputRequired,
  type Json,
  McpError,
  Task,
  type ToolCall
} from "@mcp-effect/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RequestOptions } from "../ClientOptions.ts"
import type { CheckedResult } from "../McpClient.ts"
import type { McpTask, SerializedTask, TaskState } from "../McpTask.ts"
import * as Abort from "./Abort.ts"
import type { Calls, RunOptions } from "./Calls.ts"
import type { Interaction } from "./Interaction.ts"
import * as Lists from "./Lists.ts"
import type { Session } from "./Session.ts"
import { capacity, keyOf, TaskInputs } from "./TaskInputs.ts"
import type { Follower, TaskProgress } from "./TaskProgress.ts"
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
  /** Runs something that nobody waits for, and that the server should still hear when the client closes. */
  readonly part: (effect: Effect.Effect<void>) => void
  readonly subscribeNotifications: Effect.Effect<Stream.Stream<Envelope.Notification>, never, Scope.Scope>
  readonly session: Effect.Effect<Session, McpError.McpError>
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
  /** Whether the client declares the extension. */
  readonly declared: boolean
  readonly progress: TaskProgress
}

/** Holds a result against what was promised of it. */
type Check = (result: ToolCall.CallToolResult) => Effect.Effect<CheckedResult, McpError.McpError>

/** What the client knows of a task that it has started itself. */
export interface Origin {
  readonly tool: string | undefined
  readonly check: Check
  /** Hears of the progress of a core task, where somebody wants to. */
  readonly follower: Follower | undefined
}

const elsewhere = (tool: string | undefined): Origin => ({ tool, check: Effect.succeed, follower: undefined })

const serializedTask = Schema.decodeUnknownExit(Schema.Struct({
  taskId: Schema.String,
  createdAt: Schema.optional(Schema.String),
  tool: Schema.optional(Schema.String)
}))

const isAbout = (notification: Envelope.Notification, taskId: string): boolean =>
  (notification.method === "notifications/tasks" || notification.method === "notifications/tasks/status")
  && notification.params?.["taskId"] === taskId

/** Where a task lives: with its session, unless requests stand on their own. */
const pinOf = (session: Session): number | undefined =>
  session.http && session.revision.era === "modern" ? undefined : session.generation

/** A task as a handle knows it, and when that became known, in monotonic milliseconds. */
interface Observed {
  readonly initial: TaskState
  readonly session: Session
  readonly since: number
}

const isSameState = (left: TaskState, right: TaskState): boolean =>
  left.status === right.status && left.lastUpdatedAt === right.lastUpdatedAt
  && left.statusMessage === right.statusMessage

/** Whether a task that failed to come to a result goes on at the server, and nobody can take it up. */
const isGivenUp = ({ reason }: McpError.McpError, owned: boolean): boolean => {
  switch (reason._tag) {
    case "RequestTimeout":
    case "StreamIdle":
    case "Cancelled":
      return true
    // It has ended, or went with its session.
    case "TaskFailed":
    case "TaskReplaced":
    case "SessionExpired":
    case "ConnectionClosed":
      return false
    default:
      return owned
  }
}

export const make = (options: Options) => {
  const { calls, now, server } = options
  const inputs = new TaskInputs(options.interaction, server)
  const origins = new Map<string, Origin>()

  const fail = (
    reason: McpError.McpErrorReason,
    delivery: McpError.Delivery = "unknown",
    method = "tasks/get"
  ): Effect.Effect<never, McpError.McpError> => Effect.fail(McpError.make(reason, delivery, { server, method }))

  /** The session, if its server has tasks. */
  const supporting = (method: string): Effect.Effect<Session, McpError.McpError> =>
    Effect.flatMap(options.session, (session) =>
      hasTasks(session, options.declared)
        ? Effect.succeed(session)
        : fail(new McpError.CapabilityMissing({ capability: "tasks" }), "unsent", method))

  /** Polls a task. Each state is one look; `pause` waits until the next is due, or the server announces a change. */
  const observe = (
    requests: TaskRequests.TaskRequests,
    observed: Observed
  ): Effect.Effect<
    {
      readonly look: (options?: RunOptions) => Effect.Effect<TaskState, McpError.McpError>
      readonly pause: (state: TaskState) => Effect.Effect<void, McpError.McpError>
    },
    never,
    Scope.Scope
  > =>
    Effect.gen(function*() {
      const { createdAt, taskId } = observed.initial
      const changes = yield* options.subscribeNotifications
      const wake = yield* Queue.sliding<void>(1)
      yield* Effect.forkScoped(Stream.runForEach(changes, (notification) =>
        isAbout(notification, taskId) ? Queue.offer(wake, undefined) : Effect.void))

      const look = (request?: RunOptions): Effect.Effect<TaskState, McpError.McpError> =>
        Effect.suspend(() => {
          const deadlineAt = request?.deadlineAt ?? Infinity
          const pollEndsAt = Math.min(deadlineAt, now() + TaskRequests.requestMillis)
          return requests.get({ ...request, onProgress: undefined, idleTimeout: Infinity, deadlineAt: pollEndsAt })
            .pipe(
              // A poll that was not answered in time is no verdict on the task.
              Effect.catch((error) =>
                error.reason._tag === "RequestTimeout" && now() < deadlineAt ? look(request) : Effect.fail(error)
              ),
              Effect.flatMap((state) =>
                state.createdAt === createdAt ? Effect.succeed(state) : fail(new McpError.TaskReplaced({ taskId }))
              )
            )
        })

      const pause = (state: TaskState): Effect.Effect<void, McpError.McpError> =>
        Effect.suspend(() => {
          const left = state.ttlMillis === null ? Infinity : observed.since + state.ttlMillis - now()
          if (left <= 0) {
            return fail(new McpError.TaskFailed({ taskId, problem: "expired" }))
          }
          const delay = Math.min(Math.max(state.pollIntervalMillis, shortestPollMillis), left)
          return Effect.raceFirst(Effect.sleep(Duration.millis(delay)), Queue.take(wake))
        })

      return { look, pause }
    })

  const drive = (
    requests: TaskRequests.TaskRequests,
    observed: Observed,
    request: RunOptions
  ): Effect.Effect<ToolCall.CallToolResult, McpError.McpError> =>
    Effect.scoped(Effect.gen(function*() {
      const { session } = observed
      const core = session.revision.tasks === "core"
      const { look, pause } = yield* observe(requests, observed)
      while (true) {
        const state = yield* look(request)
        const isOver = Task.isTerminal(state.status)
        if (isOver) inputs.forget(state)
        // A core task tells its result, and asks what it has to ask, on the stream of this request.
        if (core && state.status !== "cancelled" && (isOver || state.status === "input_required")) {
          return yield* requests.result(state.status, { ...request, idleTimeout: Infinity })
        }
        if (state.result !== undefined) return state.result
        if (isOver) return yield* TaskRequests.failure(server, state)
        if (state.status === "input_required") {
          yield* inputs.answer(state, requests, session, {
            ...request,
            onProgress: undefined,
            idleTimeout: Duration.millis(TaskRequests.requestMillis)
          })
        }
        yield* pause(state)
      }
    }))

  /** Drives a task within the caller's time; a task that nobody waits for any more is cancelled on the server. */
  const finish = (
    requests: TaskRequests.TaskRequests,
    observed: Observed,
    { check, follower }: Origin,
    request: RunOptions | undefined,
    owned: boolean
  ): Effect.Effect<CheckedResult, McpError.McpError> =>
    calls.cancellable("tasks/get", request, (cancellable) =>
      Effect.withFiber((fiber) => {
        const deadlineAt = cancellable?.deadlineAt ?? calls.deadlineAt(fiber, cancellable)
        const cancel = Effect.sync(() => {
          options.part(Effect.ignore(requests.cancel({ deadline: Duration.millis(cancelMillis) })))
        })
        const result = drive(requests, observed, { ...cancellable, deadlineAt })
        const driven = Abort.orElse(
          follower === undefined ? result : Effect.tap(result, () => follower.settled),
          cancellable?.signal,
          (reason) => McpError.make(new McpError.Cancelled({ reason }), "unknown", { server, method: "tasks/get" })
        )
        const timed = deadlineAt === Infinity ? driven : Effect.timeoutOrElse(driven, {
          duration: Duration.millis(Math.max(0, deadlineAt - now())),
          orElse: () =>
            fail(new McpError.RequestTimeout({ kind: "deadline", millis: calls.deadlineMillis(fiber, cancellable) }))
        })
        return timed.pipe(
          Effect.tapError((error) => isGivenUp(error, owned) ? cancel : Effect.void),
          Effect.onInterrupt(() => cancel),
          Effect.ensuring(Effect.sync(() => follower === undefined ? undefined : options.progress.end(follower))),
          Effect.flatMap(check)
        )
      }))

  const handle = (
    initial: TaskState,
    session: Session,
    origin: Origin
  ): McpTask => {
    const { tool } = origin
    const requests = TaskRequests.make(calls, server, initial.taskId, pinOf(session))
    const observed = { initial, session, since: now() }
    return {
      id: initial.taskId,
      tool,
      initial,
      get: requests.get(),
      updates: Stream.unwrap(
        Effect.map(
          observe(requests, observed),
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
      await: (request) => finish(requests, observed, origin, request, false),
      answer: (responses: InputRequired.InputResponses) =>
        session.revision.tasks === "core"
          ? fail(
            new McpError.InvalidRequest({
              problem:
                "a task of this revision asks on the stream of its result; give the client handlers, and await it"
            }),
            "unsent",
            "tasks/update"
          )
          : inputs.give(initial, { ...responses }, requests),
      cancel: requests.cancel(),
      serialized: { taskId: initial.taskId, createdAt: initial.createdAt, tool }
    }
  }

  /** A call that was answered at once is a task that is done; the server knows nothing of it. */
  const finished = (result: ToolCall.CallToolResult, tool: string, check: Check): McpTask => {
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
      await: () => check(result),
      answer: () => Effect.void,
      cancel: Effect.void,
      serialized: { taskId: "", createdAt: "", tool }
    }
  }

  const list = Lists.make({
    method: "tasks/list",
    read: TaskRequests.readList,
    calls,
    onDiagnostic: options.onDiagnostic
  })

  return {
    /** Waits for the result of a call that became a task. */
    finish: (initial: TaskState, session: Session, origin: Origin, request: RunOptions | undefined) =>
      finish(
        TaskRequests.make(calls, server, initial.taskId, pinOf(session)),
        { initial, session, since: now() },
        origin,
        request,
        true
      ),
    finished,
    /** The handle of a task that a call has started. Later handles of it in this client know its origin too. */
    started: (initial: TaskState, session: Session, origin: Origin): McpTask => {
      origins.set(keyOf(initial), origin)
      const [oldest] = origins.keys()
      if (origins.size > capacity && oldest !== undefined) origins.delete(oldest)
      return handle(initial, session, origin)
    },
    progress: options.progress,
    restore: (serialized: SerializedTask | Json.JsonObject): Effect.Effect<McpTask, McpError.McpError> => {
      const read = serializedTask(serialized)
      if (!Exit.isSuccess(read) || read.value.taskId === "") {
        return fail(
          new McpError.InvalidRequest({ problem: "this does not name a task; give what `serialized` of a task gave" }),
          "unsent"
        )
      }
      const { createdAt, taskId, tool } = read.value
      return Effect.flatMap(supporting("tasks/get"), (session) =>
        Effect.flatMap(
          TaskRequests.make(calls, server, taskId, pinOf(session)).get(),
          (state) =>
            createdAt === undefined || state.createdAt === createdAt
              // An id alone may be that of any task.
              ? Effect.succeed(handle(
                state,
                session,
                (createdAt === undefined ? undefined : origins.get(keyOf(state))) ?? elsewhere(tool)
              ))
              : fail(new McpError.TaskReplaced({ taskId }))
        ))
    },
    list: (request?: RequestOptions): Effect.Effect<ReadonlyArray<TaskState>, McpError.McpError> =>
      Effect.flatMap(supporting("tasks/list"), (session) =>
        session.revision.tasks === "core"
          ? list.all(request)
          : fail(new McpError.CapabilityMissing({ capability: "tasks.list" }), "unsent", "tasks/list"))
  }
}

export type Tasks = ReturnType<typeof make>

const declaresExtension = (session: Session): boolean => session.declares(["extensions", Task.extensionId]) !== false

/** Whether a server has tasks at all. `declared` is whether this client declares the extension. */
const hasTasks = (session: Session, declared: boolean): boolean =>
  session.revision.tasks === "core"
    ? session.declares(["tasks"]) === true
    : session.revision.tasks === "extension" && declared && declaresExtension(session)

/** Whether calls on a session may be answered with tasks. `declared` is whether this client declares the extension. */
export const areSupported = (session: Session, declared: boolean): boolean =>
  session.revision.tasks === "core"
    ? session.declares(["tasks", "requests", "tools", "call"]) === true
    : hasTasks(session, declared)
