/**
 * Tools: lists and calls (2026-07-28 server/tools).
 */
import type { Diagnostic, Envelope, Revision, ToolCall } from "@mcp-effect/protocol"
import { Json, McpError, PeerText, Tool } from "@mcp-effect/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { RequestOptions } from "../ClientOptions.ts"
import type { CheckedResult, McpClient, ToolEvent } from "../McpClient.ts"
import type { McpTask, TaskOptions, TaskState } from "../McpTask.ts"
import * as McpTool from "../McpTool.ts"
import type { Calls, RunOptions } from "./Calls.ts"
import * as Lists from "./Lists.ts"
import { dialectProblem, OutputValidation } from "./OutputValidation.ts"
import * as Read from "./Read.ts"
import type { ResultCaching } from "./ResultCaching.ts"
import type { Session } from "./Session.ts"
import type { Follower } from "./TaskProgress.ts"
import * as TaskRequests from "./TaskRequests.ts"
import * as Tasks from "./Tasks.ts"
import { mirrorsArguments, readPage, ToolDefinitions } from "./ToolDefinitions.ts"
import * as ToolInput from "./ToolInput.ts"

/** How many calls of a batch run at once by default. */
const batchConcurrency = 8

// Events of one call that may wait for its reader; the oldest go first, and the result is never among them.
const eventCapacity = 1_024

/** The task that a call was answered with. */
class Created {
  readonly state: TaskState
  readonly session: Session
  readonly follower: Follower | undefined

  constructor(state: TaskState, session: Session, follower: Follower | undefined) {
    this.state = state
    this.session = session
    this.follower = follower
  }
}

/** What only some calls come with. */
interface More {
  readonly onNotification?: ((notification: Envelope.Notification) => void) | undefined
  /** Asks a server of 2025-11-25 for a task; modern servers answer with one as they please. */
  readonly task?: { readonly ttl?: number | undefined } | undefined
  /** Hears of the progress of that task. */
  readonly follower?: Follower | undefined
  /** Where the call stood that is resumed. */
  readonly requestState?: string | undefined
  /** Learns what the call went out under. */
  readonly sent?: Sent | undefined
}

/** What the newest send of a call went out under. */
interface Sent {
  tool: Tool.Tool | undefined
  revision: Revision.Facts | undefined
}

export interface Tools extends
  Pick<
    McpClient,
    "listTools" | "toolPages" | "callTool" | "call" | "startTool" | "callToolStream" | "callTools"
  >
{
  readonly list: Lists.Listing<Tool.Tool>
  /** Goes on with a call from the state that its server gave. */
  readonly resume: (
    name: string,
    args: Json.JsonObject,
    requestState: string,
    options: RequestOptions | undefined
  ) => Effect.Effect<ToolCall.CallToolResult, McpError.McpError>
}

export const make = (
  calls: Calls,
  caching: ResultCaching,
  server: string,
  onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void,
  /** Reads the list anew as if the server had said that it has changed. */
  onListChanged: <A, E>(readAnew: Effect.Effect<A, E>) => Effect.Effect<A, E>,
  tasks: Tasks.Tasks,
  /** Whether the extension is declared, so that modern servers may answer with tasks. */
  tasksDeclared: boolean,
  /** Whether output that does not fit its schema fails the call. */
  strictOutput: boolean,
  /** Whether what a server says about its tools decides if a call is repeated. */
  trustAnnotations: boolean
): Tools => {
  const definitions = new ToolDefinitions()
  const list = Lists.make({
    method: "tools/list",
    read: readPage,
    calls,
    caching,
    onDiagnostic,
    onPage: (page) => definitions.learn(page),
    onAll: (pages) => definitions.replace(pages)
  })
  caching.onChange((method) => {
    if (method === "tools/list") definitions.forget()
  })

  const unsent = (reason: McpError.McpErrorReason): Effect.Effect<never, McpError.McpError> =>
    Effect.fail(McpError.make(reason, "unsent", { server, method: "tools/call" }))

  const outputs = new OutputValidation(onDiagnostic)
  const examined = new WeakSet<Tool.Tool>()

  /** Tells once of a definition whose schema checks nothing. */
  const examine = (tool: Tool.Tool): void => {
    if (examined.has(tool)) return
    examined.add(tool)
    const problem = ToolInput.unusable(tool.inputSchema)
    if (problem !== undefined) onDiagnostic({ _tag: "SchemaUnusable", tool: PeerText.excerpt(tool.name), problem })
  }

  const isRepeatable = (tool: Tool.Tool | undefined): boolean =>
    tool?.annotations?.readOnlyHint === true || tool?.annotations?.idempotentHint === true

  /** What a list that is read on behalf of a call is given: the time that the call has. */
  const onBehalf = ({ deadlineAt, idleTimeout, signal }: RunOptions): RunOptions => ({
    deadlineAt,
    idleTimeout,
    signal
  })

  const send = (
    name: string,
    args: Json.JsonObject,
    options: RunOptions,
    more: More
  ): Effect.Effect<ToolCall.CallToolResult | Created, McpError.McpError> => {
    // Applications put a model's arguments through as they are, `_meta` included; it is metadata, not an argument,
    // unless the tool declares an argument of that name.
    const known = definitions.get(name)
    const lifted = Object.hasOwn(args, "_meta")
      && (known === undefined || !ToolInput.declaresProperty(known.inputSchema, "_meta"))
    const { _meta, ...rest } = args
    const given = lifted ? rest : args
    const { task } = more
    return calls.run({
      method: "tools/call",
      name,
      params: {
        name,
        arguments: given,
        ...(lifted ? { _meta } : undefined),
        ...(task === undefined ? undefined : { task })
      },
      tasks: tasksDeclared,
      routingParams: (session) => {
        const tool = definitions.get(name)
        if (tool === undefined) return Result.succeed(undefined)
        examine(tool)
        const problem = ToolInput.problem(tool, given) ?? dialectProblem(tool)
        if (problem !== undefined) return Result.fail(problem)
        if (more.sent !== undefined) {
          more.sent.tool = tool
          more.sent.revision = session.revision
        }
        return mirrorsArguments(session) ? definitions.mirrored(tool, given) : Result.succeed(undefined)
      },
      onHeaderMismatch: Effect.suspend(() => onListChanged(list.anew(onBehalf(options)))),
      isRepeatable: trustAnnotations ? () => isRepeatable(definitions.get(name)) : undefined,
      decode: (result, session): Exit.Exit<ToolCall.CallToolResult | Created, McpError.McpErrorReason> =>
        result["resultType"] === "task" || (task !== undefined && Json.isJsonObject(result["task"]))
          ? Exit.map(TaskRequests.readCreated(result, session), (state) => new Created(state, session, more.follower))
          : Read.callToolResult(result),
      onNotification: more.onNotification,
      requestState: more.requestState
    }, options)
  }

  /** Makes sure that what is known of a tool suffices for calling it. */
  const whenKnown = <A>(
    name: string,
    options: RunOptions,
    fiber: Fiber.Fiber<unknown, unknown>,
    call: Effect.Effect<A, McpError.McpError>
  ): Effect.Effect<A, McpError.McpError> => {
    if (definitions.lacks(name)) {
      // The list may have changed since it was read; where it cannot be had, the server decides.
      return Effect.matchEffect(list.anew(onBehalf(options)), {
        onFailure: () => call,
        onSuccess: () => definitions.lacks(name) ? unsent(new McpError.UnknownTool({ name })) : call
      })
    }
    if (!definitions.isUnknown(name)) return call
    return Effect.flatMap(calls.session("tools/call", fiber, options), (session) => {
      // Its definition says which arguments go into headers, and whether a server of 2025-11-25 runs it as a task only;
      // without a list the call goes out without them.
      const isNeeded = mirrorsArguments(session)
        || (session.revision.tasks === "core" && Tasks.areSupported(session, tasksDeclared))
      return isNeeded ? Effect.andThen(Effect.ignore(list.all(onBehalf(options))), call) : call
    })
  }

  /** Asks a server of 2025-11-25 for a task, whose progress goes on after the answer. */
  const sendAsTask = (
    name: string,
    args: Json.JsonObject,
    options: RunOptions,
    more: More,
    fiber: Fiber.Fiber<unknown, unknown>
  ): Effect.Effect<ToolCall.CallToolResult | Created, McpError.McpError> => {
    const { meta, onProgress } = options
    if (more.task === undefined || onProgress === undefined) return send(name, args, options, more)
    return Effect.suspend(() => {
      const own = meta?.["progressToken"] ?? Json.objectMember(args, "_meta")?.["progressToken"]
      const follower = tasks.progress.follow(own, onProgress, fiber.context)
      const tracked = { ...options, meta: { ...meta, progressToken: follower.token } }
      return Effect.onExit(send(name, args, tracked, { ...more, follower }), (exit) =>
        Effect.sync(() => {
          if (!Exit.isSuccess(exit) || !(exit.value instanceof Created)) tasks.progress.end(follower)
        }))
    })
  }

  /** A server of 2025-11-25 has to be asked for a task, where the tool runs as one only. */
  const sendAsRequired = (
    name: string,
    args: Json.JsonObject,
    options: RunOptions,
    more: More,
    fiber: Fiber.Fiber<unknown, unknown>
  ): Effect.Effect<ToolCall.CallToolResult | Created, McpError.McpError> => {
    const tool = definitions.get(name)
    if (tool === undefined || Tool.taskSupport(tool) !== "required") return send(name, args, options, more)
    return Effect.flatMap(calls.session("tools/call", fiber, options), (session) =>
      sendAsTask(name, args, options, {
        ...more,
        task: session.revision.tasks === "core" && Tasks.areSupported(session, tasksDeclared) ? {} : undefined
      }, fiber))
  }

  /** Holds a result against the definition that its request went out under, never one that came since. */
  const keepPromise = (
    { revision, tool }: Sent,
    result: ToolCall.CallToolResult
  ): Effect.Effect<CheckedResult, McpError.McpError> => {
    if (tool?.outputSchema === undefined) return Effect.succeed(result)
    const { name } = tool
    return Effect.flatMap(outputs.check(tool, result, revision), (issues) => {
      if (issues.length === 0) return Effect.succeed(result)
      if (strictOutput) {
        return Effect.fail(McpError.make(new McpError.OutputInvalid({ name, issues, result }), "unknown", {
          server,
          method: "tools/call"
        }))
      }
      return Effect.as(
        Effect.logWarning(`The output of a tool of ${server} does not fit its schema; see outputIssues of its result`),
        { ...result, outputIssues: issues }
      )
    })
  }

  const callTool = (
    name: string,
    args: Json.JsonObject,
    given: RequestOptions | undefined,
    more: More = {}
  ): Effect.Effect<CheckedResult, McpError.McpError> =>
    calls.cancellable("tools/call", given, (cancellable) =>
      Effect.withFiber((fiber) => {
        const options: RunOptions = { ...cancellable, deadlineAt: calls.deadlineAt(fiber, cancellable) }
        const sent: Sent = { tool: undefined, revision: undefined }
        const call = Effect.suspend(() => sendAsRequired(name, args, options, { ...more, sent }, fiber))
        return Effect.flatMap(
          whenKnown(name, options, fiber, call),
          (answer) =>
            answer instanceof Created
              ? tasks.finish(answer.state, answer.session, {
                tool: name,
                check: (result) => keepPromise(sent, result),
                follower: answer.follower
              }, options)
              : keepPromise(sent, answer)
        )
      }))

  const startTool = (
    name: string,
    args: Json.JsonObject,
    given: TaskOptions | undefined
  ): Effect.Effect<McpTask, McpError.McpError> =>
    Effect.withFiber((fiber) => {
      const options: RunOptions = { ...given, deadlineAt: calls.deadlineAt(fiber, given) }
      return Effect.flatMap(calls.session("tools/call", fiber, options), (session) => {
        if (!Tasks.areSupported(session, tasksDeclared)) {
          return unsent(new McpError.CapabilityMissing({ capability: "tasks" }))
        }
        const ttl = given?.ttl === undefined ? undefined : Duration.toMillis(Duration.fromInputUnsafe(given.ttl))
        // The extension leaves the lifetime of a task to its server.
        const task = session.revision.tasks === "core"
          ? (ttl === undefined || !Number.isFinite(ttl) ? {} : { ttl: Math.round(ttl) })
          : undefined
        const sent: Sent = { tool: undefined, revision: undefined }
        const call = Effect.suspend(() => {
          const tool = definitions.get(name)
          return task !== undefined && tool !== undefined && !Tool.supportsTask(tool)
            ? unsent(new McpError.InvalidRequest({ problem: "the tool does not run as a task; call it" }))
            : sendAsTask(name, args, options, { task, sent }, fiber)
        })
        const check = (result: ToolCall.CallToolResult) => keepPromise(sent, result)
        return Effect.map(whenKnown(name, options, fiber, call), (answer) =>
          answer instanceof Created
            ? tasks.started(answer.state, answer.session, { tool: name, check, follower: answer.follower })
            : tasks.finished(answer, name, check))
      })
    })

  return {
    list,
    listTools: list.all,
    toolPages: list.pages,
    callTool: (name, args, options) => callTool(name, args ?? {}, options),
    call: (tool, args, options) => {
      const fail = (delivery: McpError.Delivery) => (reason: McpError.McpErrorReason) =>
        McpError.make(reason, delivery, { server, method: "tools/call" })
      return Effect.flatMap(
        Exit.mapError(McpTool.encode(tool, args), fail("unsent")),
        (encoded) =>
          Effect.flatMap(
            callTool(tool.name, encoded, options),
            (result) => Exit.mapError(McpTool.decode(tool, result), fail("unknown"))
          )
      )
    },
    startTool: (name, args, options) => startTool(name, args ?? {}, options),
    resume: (name, args, requestState, options) => callTool(name, args, options, { requestState }),
    callToolStream: (name, args, options) =>
      Stream.callback<ToolEvent, McpError.McpError>((queue) =>
        callTool(name, args ?? {}, {
          ...options,
          onProgress: (progress) =>
            Effect.andThen(
              Effect.sync(() => Queue.offerUnsafe(queue, { _tag: "Progress", progress })),
              options?.onProgress?.(progress) ?? Effect.void
            )
        }, {
          onNotification: (notification) => {
            const message = Read.logMessage(notification)
            Queue.offerUnsafe(
              queue,
              message === undefined ? { _tag: "Partial", notification } : { _tag: "Log", message }
            )
          }
        }).pipe(
          Effect.matchEffect({
            onSuccess: (result) =>
              Effect.sync(() => {
                Queue.offerUnsafe(queue, { _tag: "Final", result })
                Queue.endUnsafe(queue)
              }),
            onFailure: (error) => Queue.fail(queue, error)
          })
        ), { bufferSize: eventCapacity, strategy: "sliding" }),
    callTools: (batch, { concurrency = batchConcurrency } = {}) =>
      Effect.forEach(
        batch,
        (call) => Effect.result(callTool(call.name, call.arguments ?? {}, call.options)),
        // With what is no number, as from a variable that is not set, no call would begin, and none would end.
        { concurrency: concurrency >= 1 ? concurrency : 1 }
      )
  }
}
