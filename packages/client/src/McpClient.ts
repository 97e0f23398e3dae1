/**
 * The client of one MCP server: what an application sees.
 *
 * **Example** (Calling a tool)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { NodeServices } from "@effect/platform-node"
 * import { McpClient } from "@mcp-effect/client"
 * import { StdioTransport } from "@mcp-effect/transport"
 *
 * const Files = McpClient.layer({ clientInfo: { name: "my-ide", version: "2.0.0" } }).pipe(
 *   Layer.provide(StdioTransport.layer({
 *     command: "npx",
 *     args: ["-y", "@modelcontextprotocol/server-filesystem", "."]
 *   })),
 *   Layer.provide(NodeServices.layer)
 * )
 *
 * const program = Effect.gen(function*() {
 *   const client = yield* McpClient.McpClient
 *   const page = yield* client.callTool("read_text_file", { path: "README.md" }, { deadline: "10 seconds" })
 *   return page.content
 * }).pipe(Effect.provide(Files))
 * ```
 *
 * @since 0.1.0
 */
import type {
  Capabilities,
  Completion,
  Diagnostic,
  Envelope,
  Implementation,
  Json,
  Logging,
  Progress,
  Prompt,
  Resource,
  Revision,
  Tool,
  ToolCall
} from "@mcp-effect/protocol"
import { McpError } from "@mcp-effect/protocol"
import * as Transport from "@mcp-effect/transport/Transport"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { ClientOptions, RequestOptions } from "./ClientOptions.ts"
import * as Client from "./internal/Client.ts"
import type { ConnectionState } from "./internal/Link.ts"
import * as Session from "./internal/Session.ts"
import type * as McpTask from "./McpTask.ts"
import type * as McpTool from "./McpTool.ts"
import type { Page, PageOptions } from "./Pages.ts"
import type * as ResultCache from "./ResultCache.ts"
import type * as SchemaValidator from "./SchemaValidator.ts"
import type * as Subscription from "./Subscription.ts"

export type { ConnectionState }

/**
 * What client and server agreed on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Negotiated {
  readonly revision: Revision.Facts
  readonly era: Revision.Era
  /** Counts the connections of this client; a restarted server is another generation. */
  readonly generation: number
  /** What the server declares; `undefined` where a modern server does not tell (no `server/discover`). */
  readonly capabilities: Capabilities.ServerCapabilities | undefined
  /** Who the server says it is. Never decide anything by it (2026-07-28 basic/index). */
  readonly serverInfo: Implementation.Implementation | undefined
  /** What the server wants a model to know about it. */
  readonly instructions: string | undefined
  /** The revisions the server lists. */
  readonly supportedVersions: ReadonlyArray<string>
}

/**
 * What a tool answered, and what is wrong with its structured content by the output schema of the definition that the
 * call went out under. `outputIssues` is absent where nothing is wrong, or nothing could be checked.
 *
 * @category models
 * @since 0.1.0
 */
export interface CheckedResult extends ToolCall.CallToolResult {
  readonly outputIssues?: ReadonlyArray<SchemaValidator.Issue> | undefined
}

/**
 * What comes of a call while it runs, and at its end. `Partial` is whatever else the server sends along with the answer,
 * such as the parts of a result by an extension; on a channel that all requests share it cannot be told apart.
 *
 * @category models
 * @since 0.1.0
 */
export type ToolEvent =
  | { readonly _tag: "Progress"; readonly progress: Progress.ProgressNotificationParams }
  | { readonly _tag: "Log"; readonly message: Logging.LoggingMessageNotificationParams }
  | { readonly _tag: "Partial"; readonly notification: Envelope.Notification }
  | { readonly _tag: "Final"; readonly result: CheckedResult }

/**
 * One call of a batch.
 *
 * @category models
 * @since 0.1.0
 */
export interface BatchedCall {
  readonly name: string
  readonly arguments?: Json.JsonObject | undefined
  readonly options?: RequestOptions | undefined
}

/**
 * The client of one MCP server. A flat record of functions, Effects and Streams, so that a test replaces what it needs
 * with `Layer.mock(McpClient)({ ... })`.
 *
 * Every request may be given {@link RequestOptions}, is cancelled on the wire when it is interrupted, and fails with
 * an `McpError`.
 *
 * @category models
 * @since 0.1.0
 */
export interface McpClient {
  /**
   * All tools, over all pages. Malformed ones are set aside, each with a diagnostic (server/tools). What is kept and still
   * fresh is given without a request, of this as of the other lists; see `ResultCache`.
   */
  readonly listTools: (options?: RequestOptions) => Effect.Effect<ReadonlyArray<Tool.Tool>, McpError.McpError>
  /** All prompts, over all pages (server/prompts). */
  readonly listPrompts: (options?: RequestOptions) => Effect.Effect<ReadonlyArray<Prompt.Prompt>, McpError.McpError>
  /** All resources, over all pages (server/resources). */
  readonly listResources: (
    options?: RequestOptions
  ) => Effect.Effect<ReadonlyArray<Resource.Resource>, McpError.McpError>
  /** All resource templates, over all pages (server/resources). */
  readonly listResourceTemplates: (
    options?: RequestOptions
  ) => Effect.Effect<ReadonlyArray<Resource.ResourceTemplate>, McpError.McpError>
  /** Tools page by page, each requested when it is pulled (server/utilities/pagination). */
  readonly toolPages: (options?: PageOptions) => Stream.Stream<Page<Tool.Tool>, McpError.McpError>
  readonly promptPages: (options?: PageOptions) => Stream.Stream<Page<Prompt.Prompt>, McpError.McpError>
  readonly resourcePages: (options?: PageOptions) => Stream.Stream<Page<Resource.Resource>, McpError.McpError>
  readonly resourceTemplatePages: (
    options?: PageOptions
  ) => Stream.Stream<Page<Resource.ResourceTemplate>, McpError.McpError>
  /**
   * The current list, and the whole list again at each change: as the server announces it, and after whatever may have
   * kept its word from being heard. Changes that follow one another quickly are one, and a slow reader is given the
   * newest list alone. Fails where the first list cannot be had, or a later one for good; failures that pass are waited
   * out.
   */
  readonly watchTools: Stream.Stream<ReadonlyArray<Tool.Tool>, McpError.McpError>
  readonly watchPrompts: Stream.Stream<ReadonlyArray<Prompt.Prompt>, McpError.McpError>
  readonly watchResources: Stream.Stream<ReadonlyArray<Resource.Resource>, McpError.McpError>
  /**
   * Has a modern server tell of changes, until the scope closes (2026-07-28 basic/patterns/subscriptions). Gives the
   * subscription once the server has acknowledged it, or ended it in good order. Fails with `CapabilityMissing` in a legacy revision, with
   * `InvalidRequest` where the filter is none, and with `RequestTimeout` where nothing is acknowledged in time.
   */
  readonly listen: (
    filter: Subscription.Filter,
    options?: Subscription.ListenOptions
  ) => Effect.Effect<Subscription.Subscription, McpError.McpError, Scope.Scope>
  /**
   * Calls a tool by name (server/tools). A result with `isError` is a result: the tool ran and tells of its failure.
   *
   * Where the tool's definition is known from a list, arguments it requires are checked before anything is sent.
   */
  readonly callTool: (
    name: string,
    args?: Json.JsonObject,
    options?: RequestOptions
  ) => Effect.Effect<CheckedResult, McpError.McpError>
  /**
   * Calls a typed tool: its arguments are checked before they are sent, and its answer is decoded. Fails with
   * `ToolFailed` where the tool reports a failure, and with `OutputInvalid` where its answer does not fit.
   */
  readonly call: <P, S>(
    tool: McpTool.McpTool<string, P, S>,
    args: P,
    options?: RequestOptions
  ) => Effect.Effect<S, McpError.McpError>
  /**
   * Calls a tool as a task and gives its handle at once (2025-11-25 basic/utilities/tasks; the tasks extension). Fails
   * with `CapabilityMissing` where the server has no tasks, or the extension was not declared. `callTool` drives a
   * task by itself where the server answers with one.
   */
  readonly startTool: (
    name: string,
    args?: Json.JsonObject,
    options?: McpTask.TaskOptions
  ) => Effect.Effect<McpTask.McpTask, McpError.McpError>
  /** Takes up a task that another client, perhaps of another process, has started. */
  readonly task: (serialized: McpTask.SerializedTask) => Effect.Effect<McpTask.McpTask, McpError.McpError>
  /** All tasks that a server of 2025-11-25 tells of; later servers have no such list. */
  readonly listTasks: (
    options?: RequestOptions
  ) => Effect.Effect<ReadonlyArray<McpTask.TaskState>, McpError.McpError>
  /** Calls a tool and gives its progress, its log messages and its result as they come; the result is the last event. */
  readonly callToolStream: (
    name: string,
    args?: Json.JsonObject,
    options?: RequestOptions
  ) => Stream.Stream<ToolEvent, McpError.McpError>
  /**
   * Makes several calls, at most `concurrency` at a time (default 8), and keeps every outcome in the order of the
   * calls.
   */
  readonly callTools: (
    calls: ReadonlyArray<BatchedCall>,
    options?: { readonly concurrency?: number | undefined }
  ) => Effect.Effect<ReadonlyArray<Result.Result<CheckedResult, McpError.McpError>>>
  /** Gets a prompt, filled in with arguments (server/prompts). */
  readonly getPrompt: (
    name: string,
    args?: { readonly [name: string]: string },
    options?: RequestOptions
  ) => Effect.Effect<Prompt.GetPromptResult, McpError.McpError>
  /**
   * Reads a resource (server/resources), unless it is kept and still fresh. Fails with `ResourceNotFound` where the
   * server has none.
   */
  readonly readResource: (
    uri: string,
    options?: RequestOptions
  ) => Effect.Effect<Resource.ReadResourceResult, McpError.McpError>
  /**
   * What a resource holds, and again after each update: as the server tells of it, and after whatever may have kept its
   * word from being heard. Updates that follow one another quickly are one, and a slow reader is given the newest contents
   * alone. All who watch one resource share a subscription. Fails where the resource cannot be read, and with
   * `CapabilityMissing` where the server does not tell of its updates.
   */
  readonly watchResource: (uri: string) => Stream.Stream<Resource.ReadResourceResult, McpError.McpError>
  /** Completes an argument of a prompt or of a resource template (server/utilities/completion). */
  readonly complete: (
    params: Completion.CompleteRequestParams,
    options?: RequestOptions
  ) => Effect.Effect<Completion.CompleteResult["completion"], McpError.McpError>
  /** Asks whether the server answers: `ping`, or `server/discover` in the modern era, which has no ping. */
  readonly ping: (options?: RequestOptions) => Effect.Effect<void, McpError.McpError>
  /**
   * Asks for log messages of this level and above: `logging/setLevel`, or in the modern era a member of each later
   * request.
   *
   * @deprecated the protocol deprecates logging in 2026-07-28
   */
  readonly setLogLevel: (
    level: Logging.LoggingLevel,
    options?: RequestOptions
  ) => Effect.Effect<void, McpError.McpError>
  /**
   * Goes on with a request that stopped at an `InputRequired` with a `requestState`; the server takes it up from there
   * (2026-07-28 basic/patterns/mrtr). Fails with `InvalidRequest` where there is nothing to resume.
   */
  readonly resume: (
    required: McpError.InputRequired,
    options?: RequestOptions
  ) => Effect.Effect<
    ToolCall.CallToolResult | Prompt.GetPromptResult | Resource.ReadResourceResult,
    McpError.McpError
  >
  /** Sends any request, for extensions and what is to come. Its result is decoded with the schema. */
  readonly request: <A, I>(
    method: string,
    params: Json.JsonObject | undefined,
    schema: Schema.Codec<A, I>,
    options?: RequestOptions
  ) => Effect.Effect<A, McpError.McpError>
  /**
   * Sends any notification; it is not answered. `notifications/initialized` and `notifications/roots/list_changed` are not
   * sent in a revision that does not have them.
   */
  readonly notify: (method: string, params?: Json.JsonObject) => Effect.Effect<void, McpError.McpError>
  /**
   * Cancels a request that is in flight by its id: its caller fails with `Cancelled`, the server is told. One that is
   * not in flight is left alone (basic/patterns/cancellation).
   */
  readonly cancel: (requestId: Envelope.RequestId, reason?: string) => Effect.Effect<void>
  /**
   * What is known of the freshness of a list, or of a resource by its URI, as a request without options would be given it
   * from what is kept; `undefined` where nothing is (server/utilities/caching). See `ResultCache`.
   */
  readonly cacheInfo: (
    kept: ResultCache.ListKind | { readonly uri: string }
  ) => Effect.Effect<ResultCache.CacheInfo | undefined>
  /** Drops everything that is kept of the server. */
  readonly clearCache: Effect.Effect<void>
  /** What was agreed on with the server; connects first where needed. */
  readonly server: Effect.Effect<Negotiated, McpError.McpError>
  /** What the client is doing, now and at each change; it ends with the client. */
  readonly state: Stream.Stream<ConnectionState>
  /**
   * Notifications of the server from the moment the stream is run, without progress, which goes to its request. At
   * most 1,024 wait for a slow reader; then the oldest are dropped, and a diagnostic counts them. While somebody listens,
   * a legacy HTTP server has a standby stream to speak on, unless that is off. The stream ends with the client.
   */
  readonly notifications: Stream.Stream<Envelope.Notification>
  /** The same from the moment this is run, so that nothing is missed before the stream runs. */
  readonly subscribeNotifications: Effect.Effect<Stream.Stream<Envelope.Notification>, never, Scope.Scope>
  /** Log messages of the server from the moment the stream is run (server/utilities/logging); ends with the client. */
  readonly logs: Stream.Stream<Logging.LoggingMessageNotificationParams>
  /** What was tolerated, from the moment the stream is run; each is also a warning in the log. Ends with the client. */
  readonly diagnostics: Stream.Stream<Diagnostic.Diagnostic>
}

/**
 * The service that most applications use: the client of the one server that a layer connects to. Several servers take
 * several tags: see {@link Service}.
 *
 * @category services
 * @since 0.1.0
 */
export const McpClient: Context.Service<McpClient, McpClient> = Context.Service<McpClient>(
  "@mcp-effect/client/McpClient"
)

/**
 * Connects through the transport, agrees on a revision and gives the client, which closes with the scope. Connecting
 * takes at most `connectTimeout`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <R = never>(
  options?: ClientOptions<R>
): Effect.Effect<McpClient, McpError.McpError, Transport.Transport | Scope.Scope | R> =>
  Effect.flatMap(Transport.Transport, (transport) => Client.make<R>(transport, options ?? {}))

/**
 * Provides {@link McpClient} over the transport.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <R = never>(
  options?: ClientOptions<R>
): Layer.Layer<McpClient, McpError.McpError, Transport.Transport | Exclude<R, Scope.Scope>> =>
  Layer.effect(McpClient, make(options))

/**
 * Provides {@link McpClient} over the transport, with options read from the configuration.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = <R = never>(
  options: Config.Wrap<ClientOptions<R>>
): Layer.Layer<McpClient, McpError.McpError | Config.ConfigError, Transport.Transport | Exclude<R, Scope.Scope>> =>
  Layer.effect(McpClient, Effect.flatMap(Config.unwrap(options), make))

/**
 * Gives the tool of that name from the server's list; fails with `UnknownTool` where it offers none.
 *
 * @category accessors
 * @since 0.1.0
 */
export const findTool = (
  client: McpClient,
  name: string,
  options?: RequestOptions
): Effect.Effect<Tool.Tool, McpError.McpError> =>
  Effect.flatMap(client.listTools(options), (tools) => {
    const tool = tools.find((tool) => tool.name === name)
    return tool === undefined
      ? Effect.fail(McpError.make(new McpError.UnknownTool({ name }), "unsent", { method: "tools/list" }))
      : Effect.succeed(tool)
  })

/**
 * Gives the tools whose name contains a text or matches a pattern.
 *
 * @category accessors
 * @since 0.1.0
 */
export const findTools = (
  client: McpClient,
  pattern: string | RegExp,
  options?: RequestOptions
): Effect.Effect<ReadonlyArray<Tool.Tool>, McpError.McpError> =>
  Effect.map(
    client.listTools(options),
    (tools) =>
      tools.filter(({ name }) => typeof pattern === "string" ? name.includes(pattern) : name.search(pattern) !== -1)
  )

/**
 * Tells whether a server declares a capability, by its path such as `"resources.subscribe"`; `undefined` where the
 * server does not tell what it can do.
 *
 * @category accessors
 * @since 0.1.0
 */
export const hasCapability = (server: Negotiated, path: string): boolean | undefined =>
  Session.declares(server.capabilities, path.split("."))

/**
 * Creates an id for a request that may have to be cancelled by it later, unlike any other.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeRequestId: Effect.Effect<string> = Effect.sync(() => SecureRandom.uuidV4Unsafe())

/**
 * A class that names the client of one server.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServiceClass<Self, Identifier extends string>
  extends Context.ServiceClass<Self, Identifier, McpClient>
{
  readonly layer: <R = never>(
    options?: ClientOptions<R>
  ) => Layer.Layer<Self, McpError.McpError, Transport.Transport | Exclude<R, Scope.Scope>>
  readonly layerConfig: <R = never>(
    options: Config.Wrap<ClientOptions<R>>
  ) => Layer.Layer<Self, McpError.McpError | Config.ConfigError, Transport.Transport | Exclude<R, Scope.Scope>>
}

/**
 * Creates a tag of its own for the client of one server, for applications with several. Each is given its transport
 * with `Layer.provide`.
 *
 * **Example** (Two servers)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { NodeServices } from "@effect/platform-node"
 * import { McpClient } from "@mcp-effect/client"
 * import { StdioTransport } from "@mcp-effect/transport"
 *
 * class Files extends McpClient.Service<Files>()("app/Files") {}
 * class Memory extends McpClient.Service<Memory>()("app/Memory") {}
 *
 * const Servers = Layer.mergeAll(
 *   Files.layer().pipe(Layer.provide(StdioTransport.layer({ command: "mcp-server-filesystem", args: ["."] }))),
 *   Memory.layer().pipe(Layer.provide(StdioTransport.layer({ command: "mcp-server-memory" })))
 * ).pipe(Layer.provide(NodeServices.layer))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const Service =
  <Self>() => <const Identifier extends string>(identifier: Identifier): ServiceClass<Self, Identifier> => {
    const tag = Context.Service<Self, McpClient>()(identifier)
    return Object.assign(tag, {
      layer: <R = never>(options?: ClientOptions<R>) => Layer.effect(tag, make(options)),
      layerConfig: <R = never>(options: Config.Wrap<ClientOptions<R>>) =>
        Layer.effect(tag, Effect.flatMap(Config.unwrap(options), make))
    }) as ServiceClass<Self, Identifier>
  }
