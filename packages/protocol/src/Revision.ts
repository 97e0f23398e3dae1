/**
 * The five revisions of the Model Context Protocol, each as one record of plain facts.
 *
 * Code elsewhere asks the record (`revision.structuredContent === "object"`); nothing outside this package compares
 * version strings.
 *
 * @since 0.1.0
 */

/**
 * A published revision of the protocol, by the date that names it.
 *
 * @category models
 * @since 0.1.0
 */
export type Version = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28"

/**
 * The two families of revisions: `legacy` ones open a connection with `initialize`; `modern` ones carry everything on
 * each request (2026-07-28 basic/versioning).
 *
 * @category models
 * @since 0.1.0
 */
export type Era = "legacy" | "modern"

/**
 * What a client has to know about one revision.
 *
 * @category models
 * @since 0.1.0
 */
export interface Facts {
  readonly version: Version
  readonly era: Era
  /** A connection starts with `initialize` and `notifications/initialized`. */
  readonly handshake: boolean
  /** Every request carries version, capabilities and identity in `_meta` (2026-07-28 basic/index). */
  readonly requestMetadata: boolean
  /** The server may issue a session id over HTTP, which every later request carries. */
  readonly sessionIds: boolean
  /** A GET opens a stream for messages that belong to no request. */
  readonly standbyStream: boolean
  /** A broken response stream is resumed by GET with `Last-Event-ID`; otherwise the request is sent anew. */
  readonly resumption: boolean
  /** Arrays of messages may be received (2025-03-26 basic/index, Batching). */
  readonly batching: boolean
  /** When `MCP-Protocol-Version` is sent over HTTP. */
  readonly protocolVersionHeader: "never" | "after-handshake" | "always"
  /** `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` accompany each POST (2026-07-28 streamable-http, Headers). */
  readonly requestHeaders: boolean
  /** The server may send requests of its own, which the client answers. */
  readonly serverRequests: boolean
  /** How a request is cancelled over HTTP; on a shared channel it is `notifications/cancelled` in every revision. */
  readonly httpCancellation: "notification" | "close-stream"
  /** What counts as `structuredContent`: nothing, objects, or any JSON value. */
  readonly structuredContent: "none" | "object" | "any"
  /** Results name their kind in `resultType`; an absent one means complete. */
  readonly resultType: boolean
  /** List and read results say how long they stay fresh. */
  readonly cacheHints: boolean
  /** The `ping` request exists in both directions. */
  readonly ping: boolean
  /** How log messages are asked for: `logging/setLevel`, or `_meta` of each request. */
  readonly logLevel: "set-level" | "request"
  /** How updates are subscribed to: `resources/subscribe`, or `subscriptions/listen`. */
  readonly subscriptions: "subscribe" | "listen"
  /** The `completions` capability is declared; before it, the method may exist undeclared. */
  readonly completionsCapability: boolean
  /** `completion/complete` takes `context.arguments`. */
  readonly completionContext: boolean
  /** Forms of elicitation that a client may declare, and whether a form may have fields that hold several values. */
  readonly elicitation: { readonly form: boolean; readonly url: boolean; readonly multiSelect: boolean }
  /** The client may declare `roots.listChanged` and announce changes. */
  readonly rootsListChanged: boolean
  /** Sampling requests may carry tools. */
  readonly samplingTools: boolean
  /** Long-running work: not at all, core `tasks/*`, or the `io.modelcontextprotocol/tasks` extension. */
  readonly tasks: "none" | "core" | "extension"
  /** JSON-RPC error codes that mean a resource does not exist. */
  readonly resourceNotFoundCodes: ReadonlyArray<number>
  /** `Implementation` has `title`; and, later, `description`, `websiteUrl` and `icons`. */
  readonly implementation: "name" | "title" | "full"
}

const v2024_11_05: Facts = {
  version: "2024-11-05",
  era: "legacy",
  handshake: true,
  requestMetadata: false,
  sessionIds: false,
  standbyStream: false,
  resumption: false,
  batching: false,
  protocolVersionHeader: "never",
  requestHeaders: false,
  serverRequests: true,
  httpCancellation: "notification",
  structuredContent: "none",
  resultType: false,
  cacheHints: false,
  ping: true,
  logLevel: "set-level",
  subscriptions: "subscribe",
  completionsCapability: false,
  completionContext: false,
  elicitation: { form: false, url: false, multiSelect: false },
  rootsListChanged: true,
  samplingTools: false,
  tasks: "none",
  resourceNotFoundCodes: [-32002],
  implementation: "name"
}

const v2025_03_26: Facts = {
  ...v2024_11_05,
  version: "2025-03-26",
  sessionIds: true,
  standbyStream: true,
  resumption: true,
  batching: true,
  completionsCapability: true
}

const v2025_06_18: Facts = {
  ...v2025_03_26,
  version: "2025-06-18",
  batching: false,
  protocolVersionHeader: "after-handshake",
  structuredContent: "object",
  completionContext: true,
  elicitation: { form: true, url: false, multiSelect: false },
  implementation: "title"
}

const v2025_11_25: Facts = {
  ...v2025_06_18,
  version: "2025-11-25",
  elicitation: { form: true, url: true, multiSelect: true },
  samplingTools: true,
  tasks: "core",
  implementation: "full"
}

const v2026_07_28: Facts = {
  version: "2026-07-28",
  era: "modern",
  handshake: false,
  requestMetadata: true,
  sessionIds: false,
  standbyStream: false,
  resumption: false,
  batching: false,
  protocolVersionHeader: "always",
  requestHeaders: true,
  serverRequests: false,
  httpCancellation: "close-stream",
  structuredContent: "any",
  resultType: true,
  cacheHints: true,
  ping: false,
  logLevel: "request",
  subscriptions: "listen",
  completionsCapability: true,
  completionContext: true,
  elicitation: { form: true, url: true, multiSelect: true },
  rootsListChanged: false,
  samplingTools: true,
  tasks: "extension",
  resourceNotFoundCodes: [-32602, -32002],
  implementation: "full"
}

/**
 * Every revision this library speaks, newest first.
 *
 * @category models
 * @since 0.1.0
 */
export const all: ReadonlyArray<Facts> = [v2026_07_28, v2025_11_25, v2025_06_18, v2025_03_26, v2024_11_05]

/**
 * The revisions without a handshake, newest first.
 *
 * @category models
 * @since 0.1.0
 */
export const modern: ReadonlyArray<Facts> = all.filter((facts) => facts.era === "modern")

/**
 * The revisions that start with `initialize`, newest first.
 *
 * @category models
 * @since 0.1.0
 */
export const legacy: ReadonlyArray<Facts> = all.filter((facts) => facts.era === "legacy")

/**
 * The newest revision without a handshake: what a probe offers.
 *
 * @category models
 * @since 0.1.0
 */
export const latestModern: Facts = v2026_07_28

/**
 * The newest revision with a handshake: what `initialize` offers.
 *
 * @category models
 * @since 0.1.0
 */
export const latestLegacy: Facts = v2025_11_25

/**
 * Looks up the facts of a version string that a peer sent; `undefined` when this library does not speak it.
 *
 * @category accessors
 * @since 0.1.0
 */
export const fromVersion = (version: unknown): Facts | undefined => all.find((facts) => facts.version === version)
