/**
 * `_meta`: its reserved keys, the grammar of its keys, and what the two sides say in it (2026-07-28 basic/index, `_meta`).
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { ClientCapabilities } from "./Capabilities.ts"
import * as Decode from "./Decode.ts"
import { isRequestId, type RequestId } from "./Envelope.ts"
import { Implementation } from "./Implementation.ts"
import * as Wire from "./internal/Wire.ts"
import { isJsonObject, type JsonObject, objectMember } from "./Json.ts"
import { LoggingLevel } from "./Logging.ts"

/**
 * On every modern request: the revision it is written in.
 *
 * @category models
 * @since 0.1.0
 */
export const protocolVersionKey = "io.modelcontextprotocol/protocolVersion"
/**
 * On every modern request: what the client can do.
 *
 * @category models
 * @since 0.1.0
 */
export const clientCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities"
/**
 * On every modern request, unless configured otherwise: who the client is.
 *
 * @category models
 * @since 0.1.0
 */
export const clientInfoKey = "io.modelcontextprotocol/clientInfo"
/**
 * On a modern request: asks for log messages about it, from this level on.
 *
 * @category models
 * @since 0.1.0
 */
export const logLevelKey = "io.modelcontextprotocol/logLevel"
/**
 * On modern results: who the server is.
 *
 * @category models
 * @since 0.1.0
 */
export const serverInfoKey = "io.modelcontextprotocol/serverInfo"
/**
 * On the messages of a subscription: the id of the `subscriptions/listen` request.
 *
 * @category models
 * @since 0.1.0
 */
export const subscriptionIdKey = "io.modelcontextprotocol/subscriptionId"
/**
 * On messages that belong to a task (2025-11-25).
 *
 * @category models
 * @since 0.1.0
 */
export const relatedTaskKey = "io.modelcontextprotocol/related-task"
/**
 * On the result of a task-augmented request: what the model may be told until the task is done (2025-11-25).
 *
 * @category models
 * @since 0.1.0
 */
export const modelImmediateResponseKey = "io.modelcontextprotocol/model-immediate-response"
/**
 * On a request: the token under which progress is reported.
 *
 * @category models
 * @since 0.1.0
 */
export const progressTokenKey = "progressToken"
/**
 * The keys of trace context (W3C Trace Context and Baggage), which have no prefix.
 *
 * @category models
 * @since 0.1.0
 */
export const traceKeys = ["traceparent", "tracestate", "baggage"] as const

/**
 * The keys that the protocol fills in by itself on a request. A host's own metadata never replaces them.
 *
 * @category models
 * @since 0.1.0
 */
export const protocolKeys: ReadonlyArray<string> = [protocolVersionKey, clientCapabilitiesKey, clientInfoKey]

// A label starts with a letter and ends with a letter or digit; a name does both with letters or digits, or is empty.
const label = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
const name = "(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
const prefixed = new RegExp(`^${label}(?:\\.${label})*/${name}$`)
const plain = new RegExp(`^${name}$`)

/**
 * Tells whether a string may be a key of `_meta`: an optional prefix of dot-separated labels and a slash, and a name.
 *
 * @category guards
 * @since 0.1.0
 */
export const isKey = (key: string): boolean => plain.test(key) || prefixed.test(key)

/**
 * Tells whether a key belongs to the protocol: one without a prefix that it names, or one whose prefix has
 * `modelcontextprotocol` or `mcp` as its second label.
 *
 * @category guards
 * @since 0.1.0
 */
export const isReservedKey = (key: string): boolean => {
  const slash = key.indexOf("/")
  if (slash < 0) return key === progressTokenKey || traceKeys.some((traceKey) => traceKey === key)
  const second = key.slice(0, slash).split(".")[1]
  return second === "modelcontextprotocol" || second === "mcp"
}

/**
 * Tells whether a string may name an extension: a key of `_meta` that has a prefix (2026-07-28 basic/versioning,
 * Extensions).
 *
 * @category guards
 * @since 0.1.0
 */
export const isExtensionId = (id: string): boolean => prefixed.test(id)

/**
 * What is wrong with the declaration of an extension; `undefined` when nothing is.
 *
 * @category guards
 * @since 0.1.0
 */
export const extensionProblem = (id: string, settings: unknown): string | undefined =>
  !isExtensionId(id)
    ? `${JSON.stringify(id)} cannot name an extension; write it as prefix/name, such as com.example/search`
    : !isJsonObject(settings)
    ? `the settings of the extension ${id} are not an object; write {} for none`
    : undefined

/**
 * Schema of `RequestMetaObject`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RequestMetaObject = Wire.open(
  Schema.Struct({
    [protocolVersionKey]: Schema.String,
    [clientCapabilitiesKey]: ClientCapabilities,
    [clientInfoKey]: Schema.optional(Implementation),
    [logLevelKey]: Schema.optional(LoggingLevel),
    [progressTokenKey]: Schema.optional(Wire.requestId)
  })
)

/**
 * `_meta` of a modern request.
 *
 * @category models
 * @since 0.1.0
 */
export type RequestMetaObject = typeof RequestMetaObject.Type

const validateImplementation = Decode.validator(Implementation)

/**
 * Who the server is, as the `_meta` of a result says; `undefined` when it does not say so properly, which it need not.
 *
 * @category accessors
 * @since 0.1.0
 */
export const serverInfo = (result: JsonObject): Implementation | undefined => {
  const exit = validateImplementation(objectMember(result, "_meta")?.[serverInfoKey])
  return Exit.isSuccess(exit) ? exit.value : undefined
}

/**
 * The subscription a message belongs to, as the `_meta` of its params or result says. It has the JSON type of the
 * request's id: `1` is not `"1"`.
 *
 * @category accessors
 * @since 0.1.0
 */
export const subscriptionId = (paramsOrResult: JsonObject | undefined): RequestId | undefined => {
  const id = objectMember(paramsOrResult, "_meta")?.[subscriptionIdKey]
  return isRequestId(id) ? id : undefined
}
