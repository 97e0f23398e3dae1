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
  PeerText,
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
import * as ResultCache from "../ResultCache.ts"
import type { Filter } from "../Subscription.ts"
import * as Calls from "./Calls.ts"
import * as Completions from "./Completions.ts"
import { Hot } from "./Hot.ts"
import * as Interaction from "./Interaction.ts"
import * as Link from "./Link.ts"
import * as ListChanges from "./ListChanges.ts"
import type { Listing } from "./Lists.ts"
import { NotificationRouter } from "./NotificationRouter.ts"
import * as Prompts from "./Prompts.ts"
import * as Read from "./Read.ts"
import * as RequestText from "./RequestText.ts"
import * as Resources from "./Resources.ts"
import * as ResourceWatch from "./ResourceWatch.ts"
import { ResultCaching } from "./ResultCaching.ts"
import * as Resumption from "./Resumption.ts"
import * as ServerLogs from "./ServerLogs.ts"
import { ServerRequests } from "./ServerRequests.ts"
import type { Session } from "./Session.ts"
import { Standby } from "./Standby.ts"
import * as Subscriptions from "./Subscriptions.ts"
import { TaskProgress } from "./TaskProgress.ts"
import * as Tasks from "./Tasks.ts"
import * as Tools from "./Tools.ts"
import * as Watch from "./Watch.ts"

const defaultClientInfo: Implementation.Implementation = { name: "mcp-effect", version: "0.1.0" }

const isNonEmptyString = (value: unknown): boolean => typeof value === "string" && value !== ""

/** Notifications that servers of later revisions are not sent, by whichever application still does. */
const isRemoved = (method: string, revision: Revision.Facts): boolean =>
  (method === "notifications/initialized" && !revision.handshake)
  || (method === "notifications/roots/list_changed" && !revision.rootsListChanged)

/** Makes a feature when it is first used: most clients use few of them, and each weighs something. */
const lazily = <A>(make: () => A): () => A => {
  let made: A | undefined
  return () => made ??= make()
}

const toMillis = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

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
  const standby: string | undefined = options.standbyStream
  if (standby !== undefined && standby !== "auto" && standby !== "off" && standby !== "required") {
    return "standbyStream must be \"auto\", \"off\" or \"required\""
  }
  const reissue: string | undefined = options.reissue
  if (reissue !== undefined && reissue !== "always" && reissue !== "safe" && reissue !== "never") {
    return "reissue must be \"always\", \"safe\" or \"never\""
  }
  if (options.keepAlive !== undefined && !(toMillis(options.keepAlive) > 0 && toMillis(options.keepAlive) < Infinity)) {
    return "keepAlive must be longer than nothing, and end"
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

export const make = Effect.fnUntraced(function*<R>(
  transport: Transport.Transport["Service"],
  options: ClientOptions.ClientOptions<R>
): Effect.fn.Return<McpClient, McpError.McpError, Scope.Scope | R> {
  const server = transport.target
  const problem = transport.kind === "sse" && options.protocol === "modern"
    ? "HTTP+SSE has no modern revision; leave protocol out, or use another transport"
    : problemWith(options)
  if (problem !== undefined) {
    return yield* McpError.make(new McpError.InvalidRequest({ problem }), "unsent", { server })
  }
  const clock = yield* Clock.Clock
  const caching = new ResultCaching(yield* ResultCache.ResultCache, transport.fingerprint, clock)
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
  // The first to be added runs last: whoever listens may live longer than the client, and hears of its end too.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const hot of [notifications, logs, diagnostics]) hot.end()
    })
  )
  let isLoggingNoticed = false
  const noticeLogging = (): void => {
    if (isLoggingNoticed) return
    isLoggingNoticed = true
    fork(Deprecations.notice("logging"))
  }
  if (logLevel !== undefined) noticeLogging()
  // Over plain HTTP a server cannot ask anything but with an answer of the modern era.
  const serves = (): boolean => transport.kind !== "http"
  const serverRequests = new ServerRequests(clock, fork, interaction, serves)
  const taskProgress = new TaskProgress()

  const router = new NotificationRouter({
    publish: (notification) => {
      notifications.publish(notification)
      const message = Read.logMessage(notification)
      if (message === undefined) return
      noticeLogging()
      logs.publish(message)
      if (options.forwardLogs !== false) fork(ServerLogs.forward(server, message))
    },
    onUnowned: ({ method }) =>
      fork(Effect.logDebug(`${server} sent ${PeerText.excerpt(method)} for a subscription that is not open`))
  })
  router.onInvalidate((notification) => caching.onNotification(notification))

  const linkScope = yield* Scope.fork(yield* Effect.scope)
  // What the server should still hear when the client closes; each bounds itself, and the link outlives them.
  const parting = new Set<Fiber.Fiber<void>>()
  yield* Effect.addFinalizer(() => Effect.suspend(() => Fiber.awaitAll(parting)))
  const part = (effect: Effect.Effect<void>): void => {
    const fiber = fork(effect)
    parting.add(fiber)
    fiber.addObserver(() => parting.delete(fiber))
  }

  const standby = new Standby({
    mode: options.standbyStream ?? "auto",
    // A server that may ask or say something needs a way to do so.
    isNeeded: (session) => logLevel !== undefined || Object.keys(interaction.capabilities(session.revision)).length > 0,
    current: () => link.ready(),
    onSessionLost: (session, isListening) => Effect.sync(() => link.retire(session, undefined, isListening)),
    onGap: () => caching.onGap(),
    fork
  })

  const link: Link.Link = yield* Scope.provide(
    Link.make(transport, {
      protocol: options.protocol ?? "auto",
      probeTimeout: options.probeTimeout === undefined ? undefined : Duration.fromInputUnsafe(options.probeTimeout),
      connectTimeout: Duration.fromInputUnsafe(options.connectTimeout ?? ClientOptions.defaultConnectTimeout),
      retry: options.retry,
      keepAlive: options.keepAlive === undefined ? undefined : Duration.fromInputUnsafe(options.keepAlive),
      clientInfo: options.clientInfo ?? defaultClientInfo,
      sendClientInfo: options.sendClientInfo ?? true,
      capabilities: (revision) => {
        const extensions = options.extensions ?? {}
        return {
          ...(revision.serverRequests && !serves() ? undefined : interaction.capabilities(revision)),
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
      onNotification: (notification, origin) => {
        serverRequests.onNotification(notification)
        // It belongs to a request, and none that is open waits for it; a task may have come of it.
        if (notification.method === "notifications/progress") return taskProgress.onNotification(notification)
        router.route(notification, origin)
      },
      onDiagnostic,
      // A level asked for outlives the connection it was asked on.
      prepare: (session) => {
        caching.onSession(session)
        return Effect.andThen(
          Effect.andThen(
            transport.kind === "sse" ? Deprecations.notice("http-sse") : Effect.void,
            Effect.andThen(announceRoots(session), standby.prepare(session))
          ),
          logLevel !== undefined && session.revision.logLevel === "set-level" && session.declares(["logging"]) === true
            ? requestLogLevel(session, logLevel)
            : Effect.void
        )
      }
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
    onInputRequiredWait: options.onInputRequiredWait,
    retry: options.retry,
    reissue: options.reissue ?? "always"
  })
  const run = calls.run

  /** Tells the server of changes of the roots, for as long as the session lives. */
  const announceRoots = (session: Session): Effect.Effect<unknown> =>
    interaction.rootsChanges === undefined || !session.revision.rootsListChanged || !serves()
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
  const tasks = lazily(() =>
    Tasks.make({
      calls,
      server,
      now,
      interaction,
      part,
      subscribeNotifications: notifications.subscribe,
      session: link.current,
      onDiagnostic,
      declared: declaresTasks,
      progress: taskProgress
    })
  )

  if (options.lazy !== true) yield* link.current

  const tools = lazily(() =>
    Tools.make(
      calls,
      caching,
      server,
      onDiagnostic,
      (readAnew) =>
        Effect.suspend(() => {
          const changed: Envelope.Notification = {
            _tag: "Notification",
            method: "notifications/tools/list_changed",
            params: undefined
          }
          router.invalidate(changed)
          return Effect.ensuring(readAnew, Effect.sync(() => notifications.publish(changed)))
        }),
      tasks(),
      declaresTasks,
      options.outputValidation === "strict",
      options.trustAnnotations === true
    )
  )
  let opened: Subscriptions.Subscriptions | undefined
  const subscriptions = (): Subscriptions.Subscriptions =>
    opened ??= Subscriptions.make({ server, calls, link, router, now, fork, onDiagnostic, declaresTasks })
  yield* Effect.addFinalizer(() => opened?.closeAll ?? Effect.void)
  // The stream comes second: what it brings finds its listener.
  const listening = <A>(hot: Hot<A>) => Effect.tap(hot.subscribe, () => standby.listening)
  const prompts = lazily(() => Prompts.make(calls, caching, onDiagnostic))
  const resources = lazily(() => Resources.make(calls, caching, onDiagnostic))
  const completions = lazily(() => Completions.make(calls))

  const watch = <A>(method: string, list: Listing<A>, filter: Filter) =>
    Watch.make({
      method,
      list: list.anew,
      caching,
      link,
      listen: (onGap) =>
        Effect.flatMap(
          link.current,
          ({ revision }) =>
            revision.subscriptions === "listen"
              ? ListChanges.listen(subscriptions().listen(filter), onGap)
              : standby.listening
        ),
      fork,
      scope: linkScope
    })
  const watchedTools = lazily(() => watch("tools/list", tools().list, { toolsListChanged: true }))
  const watchedPrompts = lazily(() => watch("prompts/list", prompts().list, { promptsListChanged: true }))
  const watchedResources = lazily(() => watch("resources/list", resources().resources, { resourcesListChanged: true }))

  const watchResource = lazily(() =>
    ResourceWatch.make({
      server,
      calls,
      link,
      router,
      caching,
      subscriptions: subscriptions(),
      read: resources().readAnew,
      standby: standby.listening,
      fork,
      part,
      scope: linkScope
    })
  )

  const infoOf = (kind: ResultCache.ListKind): Effect.Effect<ResultCache.CacheInfo | undefined> => {
    switch (kind) {
      case "tools":
        return tools().list.info
      case "prompts":
        return prompts().list.info
      case "resources":
        return resources().resources.info
      case "resourceTemplates":
        return resources().templates.info
    }
  }

  // Written out, since an object that is put together from others by spreading takes several times the memory; what is
  // no function is made when it is asked for.
  return {
    listTools: (request) => tools().listTools(request),
    toolPages: (request) => tools().toolPages(request),
    callTool: (name, args, request) => tools().callTool(name, args, request),
    call: (tool, args, request) => tools().call(tool, args, request),
    callToolStream: (name, args, request) => tools().callToolStream(name, args, request),
    callTools: (batch, request) => tools().callTools(batch, request),
    startTool: (name, args, request) => tools().startTool(name, args, request),
    task: (serialized) => tasks().restore(serialized),
    listTasks: (request) => tasks().list(request),
    listPrompts: (request) => prompts().listPrompts(request),
    promptPages: (request) => prompts().promptPages(request),
    getPrompt: (name, args, request) => prompts().getPrompt(name, args, request),
    listResources: (request) => resources().listResources(request),
    resourcePages: (request) => resources().resourcePages(request),
    listResourceTemplates: (request) => resources().listResourceTemplates(request),
    resourceTemplatePages: (request) => resources().resourceTemplatePages(request),
    readResource: (uri, request) => resources().readResource(uri, request),
    complete: (params, request) => completions().complete(params, request),
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
        return Effect.andThen(
          run({ method: "logging/setLevel", params: { level }, decode: () => Exit.void }, request),
          Effect.suspend(() => {
            logLevel = level
            return standby.need(session)
          })
        )
      })
    },
    resume: (required, request) => Resumption.resume(calls, tools(), server, required, request),
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
        if (isRemoved(method, terms.revision)) {
          return Effect.logDebug(`${method} was not sent: revision ${terms.revision.version} does not have it`)
        }
        const split = RequestText.splitMetadata(params ?? {})
        const meta = { ...RequestText.mergeMetadata(split.metadata), ...terms.metadata }
        return requests.notify(
          method,
          Object.keys(meta).length === 0 ? params : { ...split.params, _meta: meta },
          terms.revision
        )
      }),
    cancel: (requestId, reason) => Effect.sync(() => calls.cancel(requestId, reason)),
    listen: (filter, request) => subscriptions().listen(filter, request),
    get watchTools() {
      return watchedTools()
    },
    get watchPrompts() {
      return watchedPrompts()
    },
    get watchResources() {
      return watchedResources()
    },
    watchResource: (uri) => watchResource()(uri),
    cacheInfo: (kept) => typeof kept === "string" ? infoOf(kept) : resources().readInfo(kept.uri),
    get clearCache() {
      return Effect.sync(() => caching.clear())
    },
    get server() {
      return Effect.map(link.current, negotiated)
    },
    get state() {
      return SubscriptionRef.changes(link.state)
    },
    get notifications() {
      return Stream.unwrap(listening(notifications))
    },
    get subscribeNotifications() {
      return listening(notifications)
    },
    get logs() {
      return Stream.unwrap(listening(logs))
    },
    get diagnostics() {
      return diagnostics.stream
    }
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
