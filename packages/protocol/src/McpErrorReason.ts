/**
 * Why an operation failed: one class per cause, each with the evidence a program or a person needs.
 *
 * Messages are ours alone. What a peer wrote stands escaped, at most 200 characters of it, in a field of the reason,
 * never in a message, a log or a span.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as PeerText from "./PeerText.ts"

const id = (name: string) => `@mcp-effect/protocol/McpError/${name}`
const optionalString = Schema.optional(Schema.String)
const optionalNumber = Schema.optional(Schema.Number)

// Names come from the caller, who often has them from the server.
const quote = (name: string): string => `"${PeerText.excerpt(name)}"`

// ====================================================================================================================
// Reaching the server
// ====================================================================================================================

/**
 * The command of a stdio server could not be started. `searched` is the `PATH` it was looked up in.
 *
 * @category reasons
 * @since 0.1.0
 */
export class SpawnFailed extends Schema.Error<SpawnFailed>(id("SpawnFailed"))({
  _tag: Schema.tag("SpawnFailed"),
  command: Schema.String,
  searched: Schema.Array(Schema.String),
  problem: Schema.Literals(["not-found", "permission-denied", "working-directory", "other"]),
  cause: Schema.optional(Schema.Defect())
}) {
  readonly isTransient = false
  override get message(): string {
    switch (this.problem) {
      case "not-found":
        return `The command ${quote(this.command)} was not found`
          + (this.searched.length === 0 ? "" : ` in ${this.searched.join(":")}`)
          + "; install it, or give its full path"
      case "permission-denied":
        return `The command ${quote(this.command)} may not be executed; check its permissions`
      case "working-directory":
        return `The working directory of the command ${quote(this.command)} does not exist`
      case "other":
        return `The command ${quote(this.command)} could not be started`
    }
  }
}

// Waiting mends none of these: certificates, a proxy that turns the client away, a client that is closed, what the
// system does not permit.
const isLastingCode = (code: string | undefined): boolean =>
  code !== undefined
  && /^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|UND_ERR_(?:INVALID_ARG|DESTROYED|CLOSED)|EACCES$)/
    .test(code)

/**
 * No connection to the server could be made, or it broke before an answer began.
 *
 * @category reasons
 * @since 0.1.0
 */
export class ConnectionFailed extends Schema.Error<ConnectionFailed>(id("ConnectionFailed"))({
  _tag: Schema.tag("ConnectionFailed"),
  target: Schema.String,
  /** The code of the operating system or of the HTTP client, such as `ECONNREFUSED`. */
  code: optionalString,
  description: Schema.String,
  /** With several ways tried, why each of them failed, and whether that may pass. */
  attempts: Schema.optional(
    Schema.Array(Schema.Struct({ transport: Schema.String, problem: Schema.String, isTransient: Schema.Boolean }))
  ),
  cause: Schema.optional(Schema.Defect())
}) {
  get isTransient(): boolean {
    return this.attempts?.some(({ isTransient }) => isTransient) ?? !isLastingCode(this.code)
  }
  override get message(): string {
    const attempts = this.attempts === undefined
      ? ""
      : `: ${this.attempts.map(({ problem, transport }) => `${transport}: ${problem}`).join("; ")}`
    const code = this.code === undefined ? "" : ` (${this.code})`
    return `Cannot reach ${this.target}${code}: ${this.description}${attempts}`
  }
}

/**
 * The connection is gone. For a process: how it ended, how long it ran and the last it wrote to stderr.
 *
 * @category reasons
 * @since 0.1.0
 */
export class ConnectionClosed extends Schema.Error<ConnectionClosed>(id("ConnectionClosed"))({
  _tag: Schema.tag("ConnectionClosed"),
  target: Schema.String,
  /** `true` when this side closed it. */
  local: Schema.Boolean,
  exitCode: optionalNumber,
  signal: optionalString,
  uptimeMillis: optionalNumber,
  /** At most the last 4 kB, control characters escaped. */
  stderr: optionalString
}) {
  get isTransient(): boolean {
    return !this.local
  }
  override get message(): string {
    if (this.local) return `The connection to ${this.target} was closed by this client`
    const uptime = this.uptimeMillis === undefined ? "" : ` after ${Math.round(this.uptimeMillis)} ms`
    if (this.signal !== undefined) return `${this.target} was ended by ${this.signal}${uptime}`
    if (this.exitCode !== undefined) {
      return `${this.target} exited with code ${this.exitCode}${uptime}`
        + (this.stderr === undefined || this.stderr === "" ? "" : "; see stderr of this reason for its last words")
    }
    return `${this.target} closed the connection${uptime}`
  }
}

/**
 * The server answered with an HTTP status that carries no JSON-RPC error.
 *
 * @category reasons
 * @since 0.1.0
 */
export class HttpStatus extends Schema.Error<HttpStatus>(id("HttpStatus"))({
  _tag: Schema.tag("HttpStatus"),
  status: Schema.Number,
  contentType: optionalString,
  /** What `Retry-After` asked for. */
  retryAfterMillis: optionalNumber,
  excerpt: optionalString
}) {
  get isTransient(): boolean {
    return this.status === 408 || this.status === 425 || this.status === 429 || this.status >= 500
  }
  override get message(): string {
    const kind = this.status === 400
      ? "bad request"
      : this.status === 404
      ? "not found; check the path of the URL"
      : this.status === 405
      ? "method not allowed; this URL may not be an MCP endpoint"
      : this.status === 413
      ? "the request is too large for it"
      : this.status === 422
      ? "unprocessable"
      : this.status === 429
      ? "too many requests"
      : this.status === 431
      ? "the request's headers are too large for it"
      : this.status >= 500
      ? "the server failed"
      : "the request was refused"
    return `The server answered HTTP ${this.status}: ${kind}`
  }
}

/**
 * The server redirected a request, which is never followed: credentials could leave its origin.
 *
 * @category reasons
 * @since 0.1.0
 */
export class RedirectRefused extends Schema.Error<RedirectRefused>(id("RedirectRefused"))({
  _tag: Schema.tag("RedirectRefused"),
  status: Schema.Number,
  /** The origin it pointed to, where it could be told. */
  location: optionalString
}) {
  readonly isTransient = false
  override get message(): string {
    return `The server redirected the request (HTTP ${this.status}), which is not followed; `
      + "if you trust it, use the URL it points to (location)"
  }
}

/**
 * The response stream ended or broke before the response.
 *
 * @category reasons
 * @since 0.1.0
 */
export class StreamEnded extends Schema.Error<StreamEnded>(id("StreamEnded"))({
  _tag: Schema.tag("StreamEnded"),
  /** The server named events, so that the stream can be resumed. */
  resumable: Schema.Boolean,
  /** How long the server asked to wait before the stream is opened again. */
  retryAfterMillis: optionalNumber,
  cause: Schema.optional(Schema.Defect())
}) {
  readonly isTransient = true
  override get message(): string {
    return "The server ended the response stream before it answered"
  }
}

/**
 * The response stream is open, but nothing came over it for too long.
 *
 * @category reasons
 * @since 0.1.0
 */
export class StreamIdle extends Schema.Error<StreamIdle>(id("StreamIdle"))({
  _tag: Schema.tag("StreamIdle"),
  millis: Schema.Number
}) {
  readonly isTransient = true
  override get message(): string {
    return `The response stream was silent for ${this.millis} ms; raise idleTimeout if the server works that long in silence`
  }
}

// ====================================================================================================================
// What it said
// ====================================================================================================================

/**
 * The answer to a request is not what the protocol says it is.
 *
 * @category reasons
 * @since 0.1.0
 */
export class MalformedMessage extends Schema.Error<MalformedMessage>(id("MalformedMessage"))({
  _tag: Schema.tag("MalformedMessage"),
  /** What is wrong with it, in our words. */
  problem: Schema.String,
  /** Where in the result, as a JSON pointer. */
  path: optionalString,
  status: optionalNumber,
  contentType: optionalString,
  excerpt: optionalString
}) {
  readonly isTransient = false
  override get message(): string {
    return "The server's answer is malformed: " + (this.path === undefined || this.path === "" ? "" : `${this.path}: `)
      + this.problem
  }
}

/**
 * A message is over the size limit. It was skipped without being kept; the connection stands.
 *
 * @category reasons
 * @since 0.1.0
 */
export class MessageTooLarge extends Schema.Error<MessageTooLarge>(id("MessageTooLarge"))({
  _tag: Schema.tag("MessageTooLarge"),
  /** In bytes. */
  limit: Schema.Number,
  /** In bytes, as far as it was seen. */
  size: optionalNumber,
  /** Which way it went. */
  direction: Schema.Literals(["received", "sent"])
}) {
  readonly isTransient = false
  override get message(): string {
    return this.direction === "received"
      ? `The server's answer is over the limit of ${this.limit} bytes; raise the limit if the server is trusted`
      : `The server does not read; ${this.limit} bytes wait for it already, and the request was not sent`
  }
}

/**
 * The server answered with a JSON-RPC error.
 *
 * @category reasons
 * @since 0.1.0
 */
export class ServerError extends Schema.Error<ServerError>(id("ServerError"))({
  _tag: Schema.tag("ServerError"),
  code: Schema.Int,
  /** The server's own words, escaped, at most 200 characters. */
  excerpt: Schema.String,
  /** `error.data` as the server sent it. */
  data: Schema.optional(Schema.Unknown),
  httpStatus: optionalNumber
}) {
  get isTransient(): boolean {
    return this.httpStatus !== undefined && (this.httpStatus === 429 || this.httpStatus >= 500)
  }
  /** The server does not know the method. */
  get isMethodNotFound(): boolean {
    return this.code === -32601
  }
  override get message(): string {
    const kind = this.code === -32601
      ? " (method not found)"
      : this.code === -32602
      ? " (invalid parameters)"
      : this.code === -32603
      ? " (internal error)"
      : this.code === -32600
      ? " (invalid request)"
      : this.code === -32700
      ? " (parse error)"
      : ""
    return `The server answered with error ${this.code}${kind}; its words are in the excerpt of this reason`
  }
}

/**
 * -32020: headers and body of a request differ (2026-07-28 streamable-http, Headers).
 *
 * @category reasons
 * @since 0.1.0
 */
export class HeaderMismatch extends Schema.Error<HeaderMismatch>(id("HeaderMismatch"))({
  _tag: Schema.tag("HeaderMismatch"),
  code: Schema.Literal(-32020),
  excerpt: Schema.String,
  data: Schema.optional(Schema.Unknown),
  httpStatus: optionalNumber
}) {
  readonly isTransient = false
  override get message(): string {
    return "The server found that headers and body of the request differ; a proxy may have changed one of them, "
      + "or the tool's definition is out of date"
  }
}

/**
 * -32021: the request needs a capability that this client did not declare (2026-07-28 basic/index).
 *
 * @category reasons
 * @since 0.1.0
 */
export class MissingClientCapability extends Schema.Error<MissingClientCapability>(id("MissingClientCapability"))({
  _tag: Schema.tag("MissingClientCapability"),
  code: Schema.Literal(-32021),
  requiredCapabilities: Schema.Unknown,
  excerpt: Schema.String,
  data: Schema.optional(Schema.Unknown),
  httpStatus: optionalNumber
}) {
  readonly isTransient = false
  override get message(): string {
    return "The server requires a capability that this client does not declare (requiredCapabilities); "
      + "give the client the handler or extension it asks for"
  }
}

/**
 * -32022: the server does not speak the revision of the request (2026-07-28 basic/versioning).
 *
 * @category reasons
 * @since 0.1.0
 */
export class UnsupportedProtocolVersion
  extends Schema.Error<UnsupportedProtocolVersion>(id("UnsupportedProtocolVersion"))({
    _tag: Schema.tag("UnsupportedProtocolVersion"),
    code: Schema.Literal(-32022),
    supported: Schema.Array(Schema.String),
    requested: Schema.String,
    excerpt: Schema.String,
    data: Schema.optional(Schema.Unknown),
    httpStatus: optionalNumber
  })
{
  readonly isTransient = false
  override get message(): string {
    return "The server does not speak the revision of the request (requested); "
      + `it lists ${this.supported.length} others (supported)`
  }
}

/**
 * The resource does not exist.
 *
 * @category reasons
 * @since 0.1.0
 */
export class ResourceNotFound extends Schema.Error<ResourceNotFound>(id("ResourceNotFound"))({
  _tag: Schema.tag("ResourceNotFound"),
  uri: Schema.String,
  code: Schema.Int,
  excerpt: Schema.String,
  data: Schema.optional(Schema.Unknown)
}) {
  readonly isTransient = false
  override get message(): string {
    return `The server has no resource ${quote(this.uri)}; list its resources to see what it has`
  }
}

// ====================================================================================================================
// The conversation
// ====================================================================================================================

/**
 * Client and server found no revision in common.
 *
 * @category reasons
 * @since 0.1.0
 */
export class NegotiationFailed extends Schema.Error<NegotiationFailed>(id("NegotiationFailed"))({
  _tag: Schema.tag("NegotiationFailed"),
  problem: Schema.String,
  /** Revisions the client offered. */
  offered: Schema.Array(Schema.String),
  /** Revisions the server named, escaped. */
  supported: Schema.Array(Schema.String),
  /** What the server said to it, escaped, at most 200 characters. */
  excerpt: optionalString,
  cause: Schema.optional(Schema.Defect())
}) {
  readonly isTransient = false
  override get message(): string {
    return `No revision of the protocol could be agreed on: ${this.problem}`
  }
}

/**
 * The server has forgotten the session. The next request opens a new one.
 *
 * @category reasons
 * @since 0.1.0
 */
export class SessionExpired extends Schema.Error<SessionExpired>(id("SessionExpired"))({
  _tag: Schema.tag("SessionExpired"),
  status: Schema.Number
}) {
  readonly isTransient = true
  override get message(): string {
    return "The server has ended the session; the next request begins another"
  }
}

/**
 * The server has failed so many times in a row that it is left alone for a while. `cause` is the `McpError` of the last
 * time.
 *
 * @category reasons
 * @since 0.1.0
 */
export class ServerUnavailable extends Schema.Error<ServerUnavailable>(id("ServerUnavailable"))({
  _tag: Schema.tag("ServerUnavailable"),
  /** How many times in a row it could not be connected to, or was gone again at once. */
  failures: Schema.Number,
  /** How long it is still left alone. */
  retryAfterMillis: Schema.Number,
  cause: Schema.optional(Schema.Defect())
}) {
  readonly isTransient = true
  override get message(): string {
    return `The server failed ${this.failures} times in a row and is left alone; `
      + `it is tried again in ${Math.ceil(this.retryAfterMillis / 1_000)} s at the earliest`
  }
}

/**
 * The server does not declare the capability that the request needs, so that it was not sent.
 *
 * @category reasons
 * @since 0.1.0
 */
export class CapabilityMissing extends Schema.Error<CapabilityMissing>(id("CapabilityMissing"))({
  _tag: Schema.tag("CapabilityMissing"),
  capability: Schema.String
}) {
  readonly isTransient = false
  override get message(): string {
    return `The server does not declare the capability ${this.capability}, and the request was not sent`
  }
}

/**
 * The time for a request is up: nothing was heard of it for the idle timeout, or its total deadline passed.
 *
 * @category reasons
 * @since 0.1.0
 */
export class RequestTimeout extends Schema.Error<RequestTimeout>(id("RequestTimeout"))({
  _tag: Schema.tag("RequestTimeout"),
  kind: Schema.Literals(["idle", "deadline", "connect", "acknowledgment"]),
  /** The time that was allowed. */
  millis: Schema.Number
}) {
  readonly isTransient = true
  override get message(): string {
    switch (this.kind) {
      case "idle":
        return `Nothing was heard of the request for ${this.millis} ms; raise idleTimeout if the server is slow`
      case "deadline":
        return `The request was not answered within its deadline of ${this.millis} ms; raise deadline if it may take longer`
      case "connect":
        return `The server was not ready within ${this.millis} ms; raise connectTimeout if it starts slowly`
      case "acknowledgment":
        return `The server did not acknowledge the subscription within ${this.millis} ms; raise ackTimeout if it is slow`
    }
  }
}

/**
 * The connection died after the call had been sent: the tool may have run. It was not sent again. `cause` is the
 * `McpError` that tells what became of the connection.
 *
 * @category reasons
 * @since 0.1.0
 */
export class AmbiguousDelivery extends Schema.Error<AmbiguousDelivery>(id("AmbiguousDelivery"))({
  _tag: Schema.tag("AmbiguousDelivery"),
  name: optionalString,
  cause: Schema.optional(Schema.Defect())
}) {
  readonly isTransient = false
  override get message(): string {
    return `The connection died before the answer came${this.name === undefined ? "" : ` of ${quote(this.name)}`}; `
      + "it may have run, so check its effect before you repeat it"
  }
}

/**
 * The server asked for input that it was not given (2026-07-28 basic/patterns/mrtr). With a `requestState` the request
 * can be resumed from there.
 *
 * @category reasons
 * @since 0.1.0
 */
export class InputRequired extends Schema.Error<InputRequired>(id("InputRequired"))({
  _tag: Schema.tag("InputRequired"),
  problem: Schema.Literals([
    "unanswered",
    "malformed",
    "unhandled",
    "handler-failed",
    "rejected",
    "too-many-rounds",
    "deadline",
    "stopped"
  ]),
  /** The request that was made, and its own parameters. */
  requestMethod: Schema.String,
  requestParams: Schema.Unknown,
  /** What the server asks, as it sent it. */
  inputRequests: Schema.optional(Schema.Unknown),
  /** What the server wants back, byte for byte. */
  requestState: optionalString,
  /** Everything that the server answered. */
  result: Schema.optional(Schema.Unknown)
}) {
  readonly isTransient = false
  /** Whether the request can go on from where it stopped. */
  get isResumable(): boolean {
    return this.requestState !== undefined
  }
  override get message(): string {
    switch (this.problem) {
      case "unanswered":
        return "The server asks for input"
      case "malformed":
        return "The server asks for input in a way that the protocol does not have"
      case "unhandled":
        return "The server asks for input that this client has no handler for; give it one"
      case "handler-failed":
        return "The server asks for input, and the handler for it failed; the log says why"
      case "rejected":
        return "The server asks for input, and the user refused"
      case "too-many-rounds":
        return "The server asked for input too many times"
      case "deadline":
        return "The server is not ready within the deadline of the request; resume it later, or raise deadline"
      case "stopped":
        return "Waiting for the server was stopped; the request can be resumed"
    }
  }
}

/**
 * The server does not offer the tool.
 *
 * @category reasons
 * @since 0.1.0
 */
export class UnknownTool extends Schema.Error<UnknownTool>(id("UnknownTool"))({
  _tag: Schema.tag("UnknownTool"),
  name: Schema.String
}) {
  readonly isTransient = false
  override get message(): string {
    return `The server offers no tool ${quote(this.name)}; list its tools to see what it offers`
  }
}

/**
 * The arguments or options of a call are not usable, and nothing was sent.
 *
 * @category reasons
 * @since 0.1.0
 */
export class InvalidRequest extends Schema.Error<InvalidRequest>(id("InvalidRequest"))({
  _tag: Schema.tag("InvalidRequest"),
  problem: Schema.String,
  path: optionalString
}) {
  readonly isTransient = false
  override get message(): string {
    return (this.path === undefined || this.path === "" ? "" : `${this.path}: `) + this.problem
  }
}

/**
 * A schema of the tool is in a dialect that this client does not check.
 *
 * @category reasons
 * @since 0.1.0
 */
export class SchemaUnsupported extends Schema.Error<SchemaUnsupported>(id("SchemaUnsupported"))({
  _tag: Schema.tag("SchemaUnsupported"),
  tool: Schema.String,
  which: Schema.Literals(["inputSchema", "outputSchema"]),
  /** As the server wrote it, escaped, at most 200 characters. */
  dialect: Schema.String,
  supported: Schema.Array(Schema.String)
}) {
  readonly isTransient = false
  override get message(): string {
    return `The ${this.which} of tool ${quote(this.tool)} declares a dialect of JSON Schema (${this.dialect}) `
      + `that is not supported (supported: ${this.supported.join(", ")})`
  }
}

/**
 * The tool ran and tells of its own failure (`isError`). `result` is all that it said.
 *
 * @category reasons
 * @since 0.1.0
 */
export class ToolFailed extends Schema.Error<ToolFailed>(id("ToolFailed"))({
  _tag: Schema.tag("ToolFailed"),
  name: Schema.String,
  result: Schema.Unknown
}) {
  readonly isTransient = false
  override get message(): string {
    return `Tool ${quote(this.name)} reported a failure; what it says is in the result of this reason`
  }
}

/**
 * What a tool answered does not fit what it was expected to answer. The tool has run; `result` is all that it said.
 *
 * @category reasons
 * @since 0.1.0
 */
export class OutputInvalid extends Schema.Error<OutputInvalid>(id("OutputInvalid"))({
  _tag: Schema.tag("OutputInvalid"),
  name: Schema.String,
  /** Where in the structured content, as JSON pointers, and what is wrong there. */
  issues: Schema.Array(Schema.Struct({ path: Schema.String, problem: Schema.String })),
  result: Schema.Unknown
}) {
  readonly isTransient = false
  override get message(): string {
    const [first] = this.issues
    return `Tool ${quote(this.name)} ran, but its output does not fit its schema`
      + (first === undefined ? "" : `: ${first.path === "" ? "the output" : first.path} ${first.problem}`)
  }
}

/**
 * A skill, or a file of it, is not what its entry says, and was not loaded (extension `io.modelcontextprotocol/skills`,
 * Integrity and Verification).
 *
 * @category reasons
 * @since 0.1.0
 */
export class SkillRejected extends Schema.Error<SkillRejected>(id("SkillRejected"))({
  _tag: Schema.tag("SkillRejected"),
  /** The file, or the `SKILL.md` of the skill. */
  uri: Schema.String,
  /** What the file failed: its size, its digest, its frontmatter, being listed at all, or the limits of a skill. */
  check: Schema.Literals(["size", "digest", "frontmatter", "unlisted", "limit"])
}) {
  readonly isTransient = false
  override get message(): string {
    const file = quote(this.uri)
    switch (this.check) {
      case "size":
      case "digest":
        return `${file} was not loaded: its ${this.check} is not the one its skill lists; get the skill anew if it changed`
      case "frontmatter":
        return `${file} was not loaded: its frontmatter is not the one its skill was listed with`
      case "unlisted":
        return `${file} was not loaded: its skill does not list it; get the skill anew if it changed`
      case "limit":
        return `${file} was not loaded: its skill has more files or more bytes than this client takes`
    }
  }
}

/**
 * A task did not come to a result: it failed, was cancelled, outlived its time or is not known.
 *
 * @category reasons
 * @since 0.1.0
 */
export class TaskFailed extends Schema.Error<TaskFailed>(id("TaskFailed"))({
  _tag: Schema.tag("TaskFailed"),
  taskId: Schema.String,
  problem: Schema.Literals(["failed", "cancelled", "expired", "not-found", "session-ended"]),
  /** The JSON-RPC error that a failed task ended with. */
  code: Schema.optional(Schema.Int),
  data: Schema.optional(Schema.Unknown),
  /** The server's own words, escaped, at most 200 characters. */
  excerpt: optionalString
}) {
  readonly isTransient = false
  override get message(): string {
    const task = `Task ${quote(this.taskId)}`
    switch (this.problem) {
      case "failed":
        return `${task} failed${this.code === undefined ? "" : ` with error ${this.code}`}`
      case "cancelled":
        return `${task} was cancelled`
      case "expired":
        return `${task} was not done within the time that its server keeps it`
      case "not-found":
        return `${task} is not known to the server; it may have expired`
      case "session-ended":
        return `${task} belongs to a session of the server that has ended`
    }
  }
}

/**
 * The server has given the id of a task to another one.
 *
 * @category reasons
 * @since 0.1.0
 */
export class TaskReplaced extends Schema.Error<TaskReplaced>(id("TaskReplaced"))({
  _tag: Schema.tag("TaskReplaced"),
  taskId: Schema.String
}) {
  readonly isTransient = false
  override get message(): string {
    return `Task ${quote(this.taskId)} is gone: the server uses its id for another task`
  }
}

/**
 * The call was ended by its `signal` or by `cancel`.
 *
 * @category reasons
 * @since 0.1.0
 */
export class Cancelled extends Schema.Error<Cancelled>(id("Cancelled"))({
  _tag: Schema.tag("Cancelled"),
  /** The reason that the canceller gave. */
  reason: optionalString
}) {
  readonly isTransient = false
  override get message(): string {
    return `The request was cancelled${this.reason === undefined ? "" : `: ${this.reason}`}`
  }
}

// ====================================================================================================================
// Permission
// ====================================================================================================================

/**
 * One challenge of a `WWW-Authenticate` header, its parameter names in lower case.
 *
 * @category models
 * @since 0.1.0
 */
export const Challenge = Schema.Struct({
  scheme: Schema.String,
  token68: Schema.optional(Schema.String),
  parameters: Schema.Record(Schema.String, Schema.String)
})

/**
 * HTTP 401: the server wants to know who is asking.
 *
 * @category reasons
 * @since 0.1.0
 */
export class Unauthorized extends Schema.Error<Unauthorized>(id("Unauthorized"))({
  _tag: Schema.tag("Unauthorized"),
  challenges: Schema.Array(Challenge)
}) {
  readonly isTransient = false
  override get message(): string {
    return "The server requires authorization (HTTP 401); give a token in its headers"
  }
}

/**
 * HTTP 403: what was granted does not suffice, or access is forbidden altogether.
 *
 * @category reasons
 * @since 0.1.0
 */
export class InsufficientScope extends Schema.Error<InsufficientScope>(id("InsufficientScope"))({
  _tag: Schema.tag("InsufficientScope"),
  challenges: Schema.Array(Challenge),
  /** The scopes the challenge names. */
  scope: optionalString,
  /** The server's own words, escaped, at most 200 characters. */
  excerpt: optionalString
}) {
  readonly isTransient = false
  override get message(): string {
    return "The server refused the request (HTTP 403): what was granted does not suffice"
      + (this.scope === undefined ? "" : " for the scopes it names (scope)")
  }
}

/**
 * Authorization could not be carried out: discovery, registration, sign-in, the token endpoint or the token store
 * failed.
 *
 * @category reasons
 * @since 0.1.0
 */
export class AuthorizationFailed extends Schema.Error<AuthorizationFailed>(id("AuthorizationFailed"))({
  _tag: Schema.tag("AuthorizationFailed"),
  stage: Schema.Literals(["discovery", "registration", "sign-in", "token", "storage"]),
  /** What went wrong and what to do, in our words. */
  problem: Schema.String,
  /** The authorization server, escaped. */
  issuer: optionalString,
  /** The HTTP status of what the authorization server answered. */
  status: optionalNumber,
  /** The error code of the authorization server (RFC 6749 section 5.2), escaped. */
  error: optionalString,
  /** The authorization server's own words, escaped, at most 200 characters. */
  excerpt: optionalString,
  cause: Schema.optional(Schema.Defect())
}) {
  get isTransient(): boolean {
    return this.status !== undefined && (this.status === 429 || this.status >= 500)
  }
  override get message(): string {
    return `Authorization failed (${this.stage}): ${this.problem}`
  }
}

/**
 * `invalid_grant`: the authorization server does not accept the code, the refresh token or the assertion (RFC 6749
 * section 5.2).
 *
 * @category reasons
 * @since 0.1.0
 */
export class InvalidGrant extends Schema.Error<InvalidGrant>(id("InvalidGrant"))({
  _tag: Schema.tag("InvalidGrant"),
  /** The authorization server, escaped. */
  issuer: optionalString,
  /** The authorization server's own words, escaped, at most 200 characters. */
  excerpt: optionalString
}) {
  readonly isTransient = false
  override get message(): string {
    return "The authorization server does not accept what was granted before (invalid_grant); sign in again"
  }
}
