/**
 * Puts a client together: the link to its server, and the features on top of it.
 */
import {
  Decode,
  Diagnostic,
  type Envelope,
  type Implementation,
  Logging,
  McpError,
  Metadata,
  Revision
} from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as ClientOptions from "../ClientOptions.ts"
import * as Deprecations from "../Deprecations.ts"
import type { McpClient, Negotiated } from "../McpClient.ts"
import * as McpTask from "../McpTask.ts"
import * as Calls from "./Calls.ts"
import * as Completions from "./Completions.ts"
import * as Interaction from "./Interaction.ts"
import * as Link from "./Link.ts"
import { Hot } from "./Mailbox.ts"
import * as Prompts from "./Prompts.ts"
import * as Read from "./Read.ts"
import * as RequestText from "./RequestText.ts"
import * as Resources from "./Resources.ts"
import * as Resumption from "./Resumption.ts"
import * as ServerLogs from "./ServerLogs.ts"
import { ServerRequests } from "./ServerRequests.ts"
import type { Session } from "./Session.ts"
import * as Standby from "./Standby.ts"
import * as Tasks from "./Tasks.ts"
import * as Tools from "./Tools.ts"

const defaultClientInfo: Implementation.Implementation = { name: "mcp-effect", version: "0.1.0" }

const isNonEmptyString = (value: unknown): boolean => typeof value === "string" && value !== ""

const problemWith = <R>(options: ClientOptions.ClientOptions<R>): string | undefined => {
  const info = options.clientInfo
  if (info !== undefined && !(isNonEmptyString(info.name) && isNonEmptyString(info.version))) {
    return "clientInfo needs a name and a version that are not empty"
  }
  const protocol: string | undefined = options.protocol
  if (protocol !== undefined && protocol !== "auto" && protocol !== "modern" && protocol !== "legacy") {
    return "protocol must be \"auto\", \"modern\" or \"legacy\""
  }
  const output: string | undefined = options.outputValidation
  if (output !== undefined && output !== "report" && output !== "strict") {
    return "outputValidation must be \"report\" or \"strict\""
  }
  if (options.logLevel !== undefined && !Logging.isLoggingLevel(options.logLevel)) {
    return `logLevel must be one of ${Logging.levels.join(", ")}`
  }
  for (const [id, settings] of Object.entries(options.extensions ?? {})) {
    const problem = Metadata.extensionProblem(id, settings)
    if (problem !== undefined) return problem
  }
  return undefined
}

const toMillis = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

export const make = Effect.fnUntraced(function*<R>(
  transport: Transport.Transport["Service"],
  options: ClientOptions.ClientOptions<R>
): Effect.fn.Return<McpClient, McpError.McpError, Scope.Scope | R> {
  const server = transport.target
  const problem = problemWith(options)
  if (problem !== undefined) {
    return yield* McpError.make(new McpError.InvalidRequest({ problem }), "unsent", { server })
  }
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<R>()
  const interaction = yield* Interaction.make(options.handlers ?? {}, server, context)
  const fork = Effect.runForkWith(context)
  const now = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  let logLevel = options.logLevel

  const diagnostics = new Hot<Diagnostic.Diagnostic>(() => {})
  const onDiagnostic = (diagnostic: Diagnostic.Diagnostic): void => {
    diagnostics.publish(diagnostic)
    fork(Effect.annotateLogs(Effect.logWarning(Diagnostic.describe(diagnostic)), { "mcp.server": server }))
  }
  const onDrop = (stream: "notifications" | "logs") => (dropped: number): void => {
    // The first loss is told at once, later ones at each power of ten.
    if (Number.isInteger(Math.log10(dropped))) onDiagnostic({ _tag: "MessagesDropped", stream, dropped })
  }
  const notifications = new Hot<Envelope.Notification>(onDrop("notifications"))
  const logs = new Hot<Logging.LoggingMessageNotificationParams>(onDrop("logs"))
  let isLoggingNoticed = false
  const noticeLogging = (): void => {
    if (isLoggingNoticed) return
    isLoggingNoticed = true
    fork(Deprecations.notice("logging"))
  }
  if (logLevel !== undefined) noticeLogging()
  const serverRequests = new ServerRequests(clock, fork, interaction)

  const linkScope = yield* Scope.fork(yield* Effect.scope)
  // What the server should still hear when the client closes; each bounds itself, and the link outlives them.
  const parting = new Set<Fiber.Fiber<void>>()
  yield* Effect.addFinalizer(() => Effect.suspend(() => Fiber.awaitAll(parting)))
  const part = (effect: Effect.Effect<void>): void => {
    const fiber = fork(effect)
    parting.add(fiber)
    fiber.addObserver(() => parting.delete(fiber))
  }

  const link: Link.Link = yield* Scope.provide(
    Link.make(transport, {
      protocol: options.protocol ?? "auto",
      probeTimeout: options.probeTimeout === undefined ? undefined : Duration.fromInputUnsafe(options.probeTimeout),
      connectTimeout: Duration.fromInputUnsafe(options.connectTimeout ?? ClientOptions.defaultConnectTimeout),
      clientInfo: options.clientInfo ?? defaultClientInfo,
      sendClientInfo: options.sendClientInfo ?? true,
      capabilities: (revision) => {
        const extensions = options.extensions ?? {}
        return {
          ...interaction.capabilities(revision),
          ...(Object.keys(extensions).length === 0 ? undefined : { extensions })
        }
      },
      onServerRequest: (request, requests, revision, origin) => {
        // Before the era is known only a legacy server asks anything; a modern one may not ask at all.
        const answers = revision === undefined ? options.protocol !== "modern" : revision.serverRequests
        if (answers) serverRequests.answer(request, requests, revision ?? Revision.latestLegacy, origin)
        else {
          onDiagnostic({
            _tag: "UnexpectedMessage",
            description: "The server sent a request, which its revision does not allow; it was not answered"
          })
        }
      },
      onNotification: (notification) => {
        serverRequests.onNotification(notification)
        // It belongs to a request, and none that is open waits for it.
        if (notification.method === "notifications/progress") return
        notifications.publish(notification)
        const message = Read.logMessage(notification)
        if (message === undefined) return
        noticeLogging()
        logs.publish(message)
        if (options.forwardLogs !== false) fork(ServerLogs.forward(server, message))
      },
      onDiagnostic,
      // A level asked for outlives the connection it was asked on.
      prepare: (session) =>
        Effect.andThen(
          Effect.andThen(
            transport.kind === "sse" ? Deprecations.notice("http-sse") : Effect.void,
            Effect.andThen(announceRoots(session), listenForRequests(session))
          ),
          logLevel !== undefined && session.revision.logLevel === "set-level" && session.declares(["logging"]) === true
            ? requestLogLevel(session, logLevel)
            : Effect.void
        )
    }),
    linkScope
  )

  const calls = Calls.make({
    server,
    link,
    now,
    idleMillis: toMillis(options.idleTimeout ?? ClientOptions.defaultIdleTimeout),
    deadlineMillis: toMillis(options.deadline ?? ClientOptions.defaultDeadline),
    requestMetadata: options.requestMetadata,
    logLevel: () => logLevel,
    noticeLogging,
    around: options.around,
    interaction,
    onInputRequiredWait: options.onInputRequiredWait
  })
  const run = calls.run

  /** A server that may ask something needs a way to ask it. */
  const listenForRequests = (session: Session): Effect.Effect<void> =>
    options.standbyStream === "off" || Object.keys(interaction.capabilities(session.revision)).length === 0
      ? Effect.void
      : Scope.provide(Standby.keep(session), session.scope)

  /** Tells the server of changes of the roots, for as long as the session lives. */
  const announceRoots = (session: Session): Effect.Effect<unknown> =>
    // Over plain HTTP a server cannot ask for them.
    interaction.rootsChanges === undefined || !session.revision.rootsListChanged || transport.kind === "http"
      ? Effect.void
      : Effect.forkIn(
        Stream.runForEach(interaction.rootsChanges, () =>
          Effect.catch(
            session.requests.notify("notifications/roots/list_changed", undefined, session.revision),
            (error) => Effect.logWarning(`${server} was not told of new roots: ${error.reason._tag}`)
          )),
        session.scope,
        { startImmediately: true }
      )

  const requestLogLevel = (session: Session, level: Logging.LoggingLevel): Effect.Effect<void> =>
    session.requests.request({
      method: "logging/setLevel",
      params: { level },
      decode: () => Exit.void,
      idleMillis: toMillis(ClientOptions.defaultIdleTimeout),
      deadlineAt: Infinity,
      deadlineMillis: Infinity
    }, session.agreement.terms).pipe(
      Effect.catch((error) => Effect.logWarning(`${server} did not take the log level: ${error.reason._tag}`))
    )

  const declaresTasks = Object.hasOwn(options.extensions ?? {}, McpTask.extension)
  const tasks = Tasks.make({
    calls,
    server,
    now,
    interaction,
    part,
    subscribeNotifications: notifications.subscribe,
    session: link.current,
    onDiagnostic,
    declared: declaresTasks
  })

  if (options.lazy !== true) yield* link.current

  const tools = Tools.make(
    calls,
    server,
    onDiagnostic,
    () =>
      notifications.publish({
        _tag: "Notification",
        method: "notifications/tools/list_changed",
        params: undefined
      }),
    tasks,
    declaresTasks,
    options.outputValidation === "strict"
  )
  const prompts = Prompts.make(calls, onDiagnostic)
  const resources = Resources.make(calls, onDiagnostic)

  // Written out, since an object that is put together from others by spreading takes several times the memory.
  return {
    listTools: tools.listTools,
    toolPages: tools.toolPages,
    callTool: tools.callTool,
    call: tools.call,
    callToolStream: tools.callToolStream,
    callTools: tools.callTools,
    startTool: tools.startTool,
    task: tasks.restore,
    listTasks: tasks.list,
    listPrompts: prompts.listPrompts,
    promptPages: prompts.promptPages,
    getPrompt: prompts.getPrompt,
    listResources: resources.listResources,
    resourcePages: resources.resourcePages,
    listResourceTemplates: resources.listResourceTemplates,
    resourceTemplatePages: resources.resourceTemplatePages,
    readResource: resources.readResource,
    complete: Completions.make(calls).complete,
    ping: (request) =>
      run({
        method: "ping",
        methodFor: (revision) => revision.ping ? "ping" : "server/discover",
        params: {},
        decode: () => Exit.void
      }, request),
    setLogLevel: (level, request) => {
      if (!Logging.isLoggingLevel(level)) {
        return Effect.fail(McpError.make(
          new McpError.InvalidRequest({ problem: `a log level is one of ${Logging.levels.join(", ")}` }),
          "unsent",
          { server, method: "logging/setLevel" }
        ))
      }
      noticeLogging()
      return Effect.flatMap(link.current, (session) => {
        if (session.revision.logLevel === "request") {
          logLevel = level
          return Effect.void
        }
        return Effect.tap(
          run({ method: "logging/setLevel", params: { level }, decode: () => Exit.void }, request),
          () =>
            Effect.sync(() => {
              logLevel = level
            })
        )
      })
    },
    resume: (required, request) => Resumption.resume(calls, tools, server, required, request),
    request: (method, params, schema, request) => {
      const decode = Schema.decodeUnknownExit(schema)
      return run({
        method,
        params: params ?? {},
        decode: (result) =>
          Exit.mapError(decode(result), (error) => Decode.malformed(Decode.fromSchemaIssue(error.issue)))
      }, request)
    },
    notify: (method, params) =>
      Effect.flatMap(link.current, ({ agreement: { terms }, requests }) => {
        const split = RequestText.splitMetadata(params ?? {})
        const meta = { ...RequestText.mergeMetadata(split.metadata), ...terms.metadata }
        return requests.notify(
          method,
          Object.keys(meta).length === 0 ? params : { ...split.params, _meta: meta },
          terms.revision
        )
      }),
    cancel: (requestId, reason) => Effect.sync(() => calls.cancel(requestId, reason)),
    server: Effect.map(link.current, negotiated),
    state: SubscriptionRef.changes(link.state),
    notifications: notifications.stream,
    subscribeNotifications: notifications.subscribe,
    logs: logs.stream,
    diagnostics: diagnostics.stream
  }
})

const negotiated = (session: Session): Negotiated => ({
  revision: session.revision,
  era: session.revision.era,
  generation: session.generation,
  capabilities: session.agreement.capabilities,
  serverInfo: session.serverInfo,
  instructions: session.agreement.instructions,
  supportedVersions: session.agreement.supportedVersions
})
