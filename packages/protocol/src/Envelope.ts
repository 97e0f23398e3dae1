/**
 * JSON-RPC 2.0 messages as MCP uses them (2026-07-28 basic/index, Messages).
 *
 * Messages are told apart by hand, before any schema: a malformed response still has to fail the request it answers.
 *
 * @since 0.1.0
 */
import { isJsonObject, type JsonObject } from "./Json.ts"

/**
 * The id of a request: a string or an integer. `1` and `"1"` are different ids.
 *
 * @category models
 * @since 0.1.0
 */
export type RequestId = string | number

/**
 * A request from the peer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly _tag: "Request"
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject | undefined
}

/**
 * A notification, in either direction.
 *
 * @category models
 * @since 0.1.0
 */
export interface Notification {
  readonly _tag: "Notification"
  readonly method: string
  readonly params: JsonObject | undefined
}

/**
 * The error object of a response. A message that is absent or mistyped reads as an empty one.
 *
 * @category models
 * @since 0.1.0
 */
export interface ErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
  /** Present where a peer sent no message, or one that is not a string; never sent. */
  readonly malformed?: true
}

/**
 * What came in answer to a request: a result, an error, or something that is neither, with the reason why.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome =
  | { readonly _tag: "Result"; readonly result: JsonObject }
  | { readonly _tag: "Error"; readonly error: ErrorObject }
  | { readonly _tag: "Malformed"; readonly problem: string }

/**
 * A response from the peer. `id` is absent where the peer could not read the id of what it answers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Response {
  readonly _tag: "Response"
  readonly id: RequestId | undefined
  readonly outcome: Outcome
}

/**
 * Our answer to a request of the peer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reply {
  readonly _tag: "Reply"
  readonly id: RequestId
  readonly outcome:
    | { readonly _tag: "Result"; readonly result: JsonObject }
    | { readonly _tag: "Error"; readonly error: ErrorObject }
}

/**
 * Any message a client can receive.
 *
 * @category models
 * @since 0.1.0
 */
export type Incoming = Request | Notification | Response

/**
 * Tells whether a value may be the id of a request. Fractions are not legal ids.
 *
 * @category guards
 * @since 0.1.0
 */
export const isRequestId = (value: unknown): value is RequestId => typeof value === "string" || Number.isInteger(value)

// Some serializers write the member that a message does not have as `null`.
const has = (message: JsonObject, key: "method" | "result" | "error"): boolean =>
  message[key] !== undefined && message[key] !== null

const readOutcome = (message: JsonObject): Outcome => {
  if (has(message, "error")) {
    const error = message["error"]
    if (!isJsonObject(error)) return { _tag: "Malformed", problem: "its error is not an object" }
    const code = error["code"]
    if (!Number.isInteger(code)) return { _tag: "Malformed", problem: "its error has no integer code" }
    const text = error["message"]
    return {
      _tag: "Error",
      error: {
        code: code as number,
        ...(typeof text === "string" ? { message: text } : { message: "", malformed: true as const }),
        ...(Object.hasOwn(error, "data") ? { data: error["data"] } : undefined)
      }
    }
  }
  if (!Object.hasOwn(message, "result")) return { _tag: "Malformed", problem: "it has neither result nor error" }
  const result = message["result"]
  return isJsonObject(result)
    ? { _tag: "Result", result }
    : { _tag: "Malformed", problem: "its result is not an object" }
}

/**
 * Reads one parsed JSON value as a message. `undefined` means that the value is no JSON-RPC message at all: noise.
 *
 * A value with an id and without a method is a response, however malformed, so that the request it answers can fail at
 * once instead of waiting for its timeout. One that only an `error` marks as a response (servers that could not read an
 * id send no id, or `null`) is a response without an id. A result without an id belongs to nobody.
 *
 * What does not name itself JSON-RPC 2.0 is a line of a log or the error of a gateway. Only a result or an error under
 * an id is taken as a response all the same.
 *
 * @category decoding
 * @since 0.1.0
 */
export const read = (value: unknown): Incoming | undefined => {
  if (!isJsonObject(value)) return undefined
  const isNamed = value["jsonrpc"] === "2.0"
  const id = value["id"]
  if (has(value, "method")) {
    const method = value["method"]
    if (!isNamed || typeof method !== "string") return undefined
    const params = value["params"]
    const object = isJsonObject(params) ? params : undefined
    if (!Object.hasOwn(value, "id")) return { _tag: "Notification", method, params: object }
    return isRequestId(id) ? { _tag: "Request", id, method, params: object } : undefined
  }
  if (isRequestId(id)) {
    return isNamed || has(value, "result") || has(value, "error")
      ? { _tag: "Response", id, outcome: readOutcome(value) }
      : undefined
  }
  return isNamed && has(value, "error") ? { _tag: "Response", id: undefined, outcome: readOutcome(value) } : undefined
}

/**
 * Encodes a notification or a reply as one line of JSON without line breaks.
 *
 * @category encoding
 * @since 0.1.0
 */
export const encode = (message: Notification | Reply): string => {
  if (message._tag === "Notification") {
    return JSON.stringify({
      jsonrpc: "2.0",
      method: message.method,
      ...(message.params === undefined ? undefined : { params: message.params })
    })
  }
  return JSON.stringify(
    message.outcome._tag === "Result"
      ? { jsonrpc: "2.0", id: message.id, result: message.outcome.result }
      : { jsonrpc: "2.0", id: message.id, error: message.outcome.error }
  )
}
