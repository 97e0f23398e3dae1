/**
 * Puts a client together: the link to its server, and the features on top of it.
 */
import {
  Diagnostic,
  type Envelope,
  type Implementation,
  type Json,
  type Logging,
  McpError,
  PeerText,
  Revision
} from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ClientOptions from "../ClientOptions.ts"
import * as Deprecations from "../Deprecations.ts"
import type { McpClient } from "../McpClient.ts"
import * as McpTask from "../McpTask.ts"
import * as ResultCache from "../ResultCache.ts"
import type { Filter } from "../Subscription.ts"
import { Calls, type Settings } from "./Calls.ts"
import * as Completions from "./Completions.ts"
import { Hot } from "./Hot.ts"
import * as Interaction from "./Interaction.ts"
import * as InvalidOptions from "./InvalidOptions.ts"
import * as Link from "./Link.ts"
import * as ListChanges from "./ListChanges.ts"
import type { Listing } from "./Lists.ts"
import * as Members from "./Members.ts"
import { NotificationRouter } from "./NotificationRouter.ts"
import type { InFlight } from "./Pending.ts"
import * as Prompts from "./Prompts.ts"
import * as Read from "./Read.ts"
import type { Requests } from "./Requests.ts"
import * as Resources from "./Resources.ts"
import * as ResourceWatch from "./ResourceWatch.ts"
import { ResultCaching } from "./ResultCaching.ts"
import type { Trip } from "./RoundTrips.ts"
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

const toMillis = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

/** All options but the handlers, which `Interaction` has. */
type Options = Omit<ClientOptions.ClientOptions, "handlers">

/**
 * The parts of a client. Those that only some applications use are made when they are first used: most clients use few
 * of them, and each weighs something.
 */
export class Client implements Settings {
  readonly server: string
  readonly now: () => number
  readonly calls: Calls
  readonly caching: ResultCaching
  readonly standby: Standby
  readonly interaction: Interaction.Interaction
  readonly router: NotificationRouter
  readonly notifications: Hot<Envelope.Notification>
  readonly logs: Hot<Logging.LoggingMessageNotificationParams>
  readonly diagnostics: Hot<Diagnostic.Diagnostic>
  /** Set before the client is given to anybody; the link needs the client first. */
  declare link: Link.Link
  readonly idleMillis: number
  readonly deadlineMillis: number
  private readonly transport: Transport.Transport["Service"]
  private readonly options: Options
  private readonly fork: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
  readonly scope: Scope.Closeable
  private readonly serverRequests: ServerRequests
  private readonly taskProgress = new TaskProgress()
  private level: Logging.LoggingLevel | undefined
  private isLoggingNoticed = false
  /** What the server should still hear when the client closes; each bounds itself, and the link outlives them. */
  private parting: Set<Fiber.Fiber<void>> | undefined = undefined
  private openTools: Tools.Tools | undefined = undefined
  private openTasks: Tasks.Tasks | undefined = undefined
  private openPrompts: Prompts.Prompts | undefined = undefined
  private openResources: Resources.Resources | undefined = undefined
  private openSubscriptions: Subscriptions.Subscriptions | undefined = undefined

  constructor(
    transport: Transport.Transport["Service"],
    options: Options,
    interaction: Interaction.Interaction,
    cache: ResultCache.ResultCache | undefined,
    clock: Clock.Clock,
    context: Context.Context<never>,
    scope: Scope.Closeable
  ) {
    this.server = transport.target
    this.transport = transport
    this.options = options
    this.interaction = interaction
    this.scope = scope
    this.level = options.logLevel
    this.idleMillis = toMillis(options.idleTimeout ?? ClientOptions.defaultIdleTimeout)
    this.deadlineMillis = toMillis(options.deadline ?? ClientOptions.defaultDeadline)
    this.fork = Effect.runForkWith(context)
    this.now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    this.caching = new ResultCaching(cache, transport.fingerprint, clock)
    this.calls = new Calls(this)
    this.diagnostics = new Hot(() => {})
    this.notifications = new Hot((dropped) => this.onDrop("notifications", dropped))
    this.logs = new Hot((dropped) => this.onDrop("logs", dropped))
    this.serverRequests = new ServerRequests(clock, this.fork, interaction, () => this.serves)
    this.router = new NotificationRouter(this)
    this.router.onInvalidate((notification) => this.caching.onNotification(notification))
    this.standby = new Standby({
      mode: options.standbyStream ?? "auto",
      // A server that may ask or say something needs a way to do so.
      isNeeded: (session) =>
        this.level !== undefined || Object.keys(interaction.capabilities(session.revision)).length > 0,
      current: () => this.link.ready(),
      onSessionLost: (session, isListening) => Effect.sync(() => this.link.retire(session, undefined, isListening)),
      onGap: () => this.caching.onGap(),
      fork: this.fork
    })
  }

  // ------------------------------------------------------------------------------------------------------------------
  // What requests are made with
  // ------------------------------------------------------------------------------------------------------------------

  get requestMetadata(): Settings["requestMetadata"] {
    return this.options.requestMetadata
  }

  get around(): ClientOptions.Around | undefined {
    return this.options.around
  }

  get onInputRequiredWait(): Trip["onWait"] {
    return this.options.onInputRequiredWait
  }

  get retry(): ClientOptions.Retry | undefined {
    return this.options.retry
  }

  get reissue(): ClientOptions.Reissue {
    return this.options.reissue ?? "always"
  }

  logLevel(): Logging.LoggingLevel | undefined {
    return this.level
  }

  noticeLogging(): void {
    if (this.isLoggingNoticed) return
    this.isLoggingNoticed = true
    this.fork(Deprecations.notice("logging"))
  }

  // ------------------------------------------------------------------------------------------------------------------
  // What the server says
  // ------------------------------------------------------------------------------------------------------------------

  readonly onDiagnostic = (diagnostic: Diagnostic.Diagnostic): void => {
    this.diagnostics.publish(diagnostic)
    this.fork(
      Effect.annotateLogs(Effect.logWarning(Diagnostic.describe(diagnostic)), { "mcp.server": this.server })
    )
  }

  publish(notification: Envelope.Notification): void {
    this.notifications.publish(notification)
    const message = Read.logMessage(notification)
    if (message === undefined) return
    this.noticeLogging()
    this.logs.publish(message)
    if (this.options.forwardLogs !== false) this.fork(ServerLogs.forward(this.server, message))
  }

  onUnowned({ method }: Envelope.Notification): void {
    this.fork(Effect.logDebug(`${this.server} sent ${PeerText.excerpt(method)} for a subscription that is not open`))
  }

  private onDrop(stream: "notifications" | "logs", dropped: number): void {
    // The first loss is told at once, later ones at each power of ten.
    if (Number.isInteger(Math.log10(dropped))) this.onDiagnostic({ _tag: "MessagesDropped", stream, dropped })
  }

  private onServerRequest(
    request: Envelope.Request,
    requests: Requests,
    revision: Revision.Facts | undefined,
    origin: InFlight | undefined
  ): void {
    // Before the era is known only a legacy server asks anything; a modern one may not ask at all.
    const answers = revision === undefined ? this.options.protocol !== "modern" : revision.serverRequests
    if (answers) this.serverRequests.answer(request, requests, revision ?? Revision.latestLegacy, origin)
    else {
      this.onDiagnostic({
        _tag: "UnexpectedMessage",
        description: "The server sent a request, which its revision does not allow; it was not answered"
      })
    }
  }

  private onNotification(notification: Envelope.Notification, origin: InFlight | undefined): void {
    this.serverRequests.onNotification(notification)
    // It belongs to a request, and none that is open waits for it; a task may have come of it.
    if (notification.method === "notifications/progress") this.taskProgress.onNotification(notification)
    else this.router.route(notification, origin)
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Connecting
  // ------------------------------------------------------------------------------------------------------------------

  /** Over plain HTTP a server cannot ask anything but with an answer of the modern era. */
  private get serves(): boolean {
    return this.transport.kind !== "http"
  }

  linkOptions(): Link.Options {
    const { options } = this
    return {
      protocol: options.protocol ?? "auto",
      probeTimeout: options.probeTimeout === undefined ? undefined : Duration.fromInputUnsafe(options.probeTimeout),
      connectTimeout: Duration.fromInputUnsafe(options.connectTimeout ?? ClientOptions.defaultConnectTimeout),
      retry: options.retry,
      keepAlive: options.keepAlive === undefined ? undefined : Duration.fromInputUnsafe(options.keepAlive),
      clientInfo: options.clientInfo ?? defaultClientInfo,
      sendClientInfo: options.sendClientInfo ?? true,
      capabilities: (revision) => this.capabilities(revision),
      onServerRequest: (request, requests, revision, origin) =>
        this.onServerRequest(request, requests, revision, origin),
      onNotification: (notification, origin) => this.onNotification(notification, origin),
      onDiagnostic: this.onDiagnostic,
      prepare: (session) => this.prepare(session)
    }
  }

  private capabilities(revision: Revision.Facts): Json.JsonObject {
    const extensions = this.options.extensions ?? {}
    return {
      ...(revision.serverRequests && !this.serves ? undefined : this.interaction.capabilities(revision)),
      ...(Object.keys(extensions).length === 0 ? undefined : { extensions })
    }
  }

  private prepare(session: Session): Effect.Effect<unknown, McpError.McpError> {
    this.caching.onSession(session)
    return Effect.andThen(
      Effect.andThen(
        this.transport.kind === "sse" ? Deprecations.notice("http-sse") : Effect.void,
        Effect.andThen(this.announceRoots(session), this.standby.prepare(session))
      ),
      // A level asked for outlives the connection it was asked on.
      this.level !== undefined && session.revision.logLevel === "set-level" && session.declares(["logging"]) === true
        ? this.requestLogLevel(session, this.level)
        : Effect.void
    )
  }

  /** Tells the server of changes of the roots, for as long as the session lives. */
  private announceRoots(session: Session): Effect.Effect<unknown> {
    const { rootsChanges } = this.interaction
    return rootsChanges === undefined || !session.revision.rootsListChanged || !this.serves
      ? Effect.void
      : Effect.forkIn(
        Stream.runForEach(rootsChanges, () =>
          Effect.catch(
            session.requests.notify("notifications/roots/list_changed", undefined, session.revision),
            (error) => Effect.logWarning(`${this.server} was not told of new roots: ${error.reason._tag}`)
          )),
        session.scope,
        { startImmediately: true }
      )
  }

  private requestLogLevel(session: Session, level: Logging.LoggingLevel): Effect.Effect<void> {
    return session.requests.request({
      method: "logging/setLevel",
      params: { level },
      decode: () => Exit.void,
      idleMillis: toMillis(ClientOptions.defaultIdleTimeout),
      deadlineAt: Infinity,
      deadlineMillis: Infinity
    }, session.agreement.terms).pipe(
      Effect.catch((error) => Effect.logWarning(`${this.server} did not take the log level: ${error.reason._tag}`))
    )
  }

  /** Has servers log from this level on. */
  setLogLevel(
    level: Logging.LoggingLevel,
    request: ClientOptions.RequestOptions | undefined
  ): Effect.Effect<void, McpError.McpError> {
    this.noticeLogging()
    return Effect.flatMap(this.link.current, (session) => {
      if (session.revision.logLevel === "request") {
        this.level = level
        return Effect.void
      }
      return Effect.andThen(
        this.calls.run({ method: "logging/setLevel", params: { level }, decode: () => Exit.void }, request),
        Effect.suspend(() => {
          this.level = level
          return this.standby.need(session)
        })
      )
    })
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Features
  // ------------------------------------------------------------------------------------------------------------------

  private get declaresTasks(): boolean {
    return Object.hasOwn(this.options.extensions ?? {}, McpTask.extension)
  }

  get tasks(): Tasks.Tasks {
    return this.openTasks ??= Tasks.make({
      calls: this.calls,
      server: this.server,
      now: this.now,
      interaction: this.interaction,
      part: this.part,
      subscribeNotifications: this.notifications.subscribe,
      session: this.link.current,
      onDiagnostic: this.onDiagnostic,
      declared: this.declaresTasks,
      progress: this.taskProgress
    })
  }

  get tools(): Tools.Tools {
    return this.openTools ??= Tools.make(
      this.calls,
      this.caching,
      this.server,
      this.onDiagnostic,
      (readAnew) =>
        Effect.suspend(() => {
          const changed: Envelope.Notification = {
            _tag: "Notification",
            method: "notifications/tools/list_changed",
            params: undefined
          }
          this.router.invalidate(changed)
          return Effect.ensuring(readAnew, Effect.sync(() => this.notifications.publish(changed)))
        }),
      this.tasks,
      this.declaresTasks,
      this.options.outputValidation === "strict",
      this.options.trustAnnotations === true
    )
  }

  get prompts(): Prompts.Prompts {
    return this.openPrompts ??= Prompts.make(this.calls, this.caching, this.onDiagnostic)
  }

  get resources(): Resources.Resources {
    return this.openResources ??= Resources.make(this.calls, this.caching, this.onDiagnostic)
  }

  get completions(): Pick<McpClient, "complete"> {
    return Completions.make(this.calls)
  }

  get subscriptions(): Subscriptions.Subscriptions {
    return this.openSubscriptions ??= Subscriptions.make({
      server: this.server,
      calls: this.calls,
      link: this.link,
      router: this.router,
      now: this.now,
      fork: this.fork,
      onDiagnostic: this.onDiagnostic,
      declaresTasks: this.declaresTasks
    })
  }

  /** What a hot source gives from now on. The standby stream comes second: what it brings finds its listener. */
  listening<A>(hot: Hot<A>): Effect.Effect<Stream.Stream<A>, never, Scope.Scope> {
    return Effect.tap(hot.subscribe, () => this.standby.listening)
  }

  /** A list under watch. All who run this one stream share what is done for it. */
  watch<A>(method: string, list: Listing<A>, filter: Filter): Stream.Stream<ReadonlyArray<A>, McpError.McpError> {
    return Watch.make({
      method,
      list: list.anew,
      caching: this.caching,
      link: this.link,
      listen: (onGap) =>
        Effect.flatMap(
          this.link.current,
          ({ revision }) =>
            revision.subscriptions === "listen"
              ? ListChanges.listen(this.subscriptions.listen(filter), onGap)
              : this.standby.listening
        ),
      fork: this.fork,
      scope: this.scope
    })
  }

  /** Gives resources under watch. All who run streams of it share what is done for a resource. */
  watchResources(): McpClient["watchResource"] {
    return ResourceWatch.make({
      server: this.server,
      calls: this.calls,
      link: this.link,
      router: this.router,
      caching: this.caching,
      subscriptions: this.subscriptions,
      read: this.resources.readAnew,
      standby: this.standby.listening,
      fork: this.fork,
      part: this.part,
      scope: this.scope
    })
  }

  cacheInfo(kind: ResultCache.ListKind): Effect.Effect<ResultCache.CacheInfo | undefined> {
    switch (kind) {
      case "tools":
        return this.tools.list.info
      case "prompts":
        return this.prompts.list.info
      case "resources":
        return this.resources.resources.info
      case "resourceTemplates":
        return this.resources.templates.info
    }
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Closing
  // ------------------------------------------------------------------------------------------------------------------

  /** Runs something that nobody waits for, and that the server should still hear when the client closes. */
  private readonly part = (effect: Effect.Effect<void>): void => {
    const parting = this.parting ??= new Set()
    const fiber = this.fork(effect)
    parting.add(fiber)
    fiber.addObserver(() => parting.delete(fiber))
  }

  close(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    return (this.openSubscriptions?.closeAll ?? Effect.void).pipe(
      Effect.ensuring(Effect.suspend(() => Fiber.awaitAll(this.parting ?? []))),
      Effect.ensuring(Scope.close(this.scope, exit)),
      // Whoever listens may live longer than the client, and hears of its end too.
      Effect.ensuring(Effect.sync(() => {
        for (const hot of [this.notifications, this.logs, this.diagnostics]) hot.end()
      }))
    )
  }
}

export const make = Effect.fnUntraced(function*<R>(
  transport: Transport.Transport["Service"],
  options: ClientOptions.ClientOptions<R>
): Effect.fn.Return<McpClient, McpError.McpError, Scope.Scope | R> {
  const server = transport.target
  const problem = InvalidOptions.problemWith(transport.kind, options)
  if (problem !== undefined) {
    return yield* McpError.make(new McpError.InvalidRequest({ problem }), "unsent", { server })
  }
  const context = yield* Effect.context<R>()
  const client = new Client(
    transport,
    options,
    yield* Interaction.make(options.handlers ?? {}, server, context),
    yield* ResultCache.ResultCache,
    yield* Clock.Clock,
    context,
    Scope.makeUnsafe()
  )
  yield* Effect.addFinalizer((exit) => client.close(exit))
  client.link = yield* Scope.provide(Link.make(transport, client.linkOptions()), client.scope)
  if (options.logLevel !== undefined) client.noticeLogging()
  if (options.lazy !== true) yield* client.link.current
  return Members.of(client)
})
