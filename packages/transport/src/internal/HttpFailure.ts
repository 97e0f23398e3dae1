/**
 * What an HTTP client or an HTTP status says about a message, as a reason and as how far the message got.
 */
import { Envelope, McpError, PeerText, WwwAuthenticate } from "@mcp-effect/protocol"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"

export interface Failure {
  readonly reason: McpError.McpErrorReason
  readonly delivery: McpError.Delivery
}

// ====================================================================================================================
// The client
// ====================================================================================================================

// What these say happens before a byte of the request is written.
const beforeSending: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there; check host and port, and that the server runs",
  ENOTFOUND: "the host name is not known; check its spelling",
  EAI_AGAIN: "the host name could not be looked up; check the network",
  EHOSTUNREACH: "there is no route to the host",
  ENETUNREACH: "there is no route to the network of the host",
  ENETDOWN: "the network is down",
  EADDRNOTAVAIL: "the address cannot be reached from here",
  EACCES: "the connection is not permitted",
  UND_ERR_CONNECT_TIMEOUT: "the host did not accept the connection in time",
  UND_ERR_INVALID_ARG: "the HTTP client does not accept the request, or its proxy asks for credentials",
  UND_ERR_DESTROYED: "the HTTP client is closed",
  UND_ERR_CLOSED: "the HTTP client is closed",
  UND_ERR_PRX_TLS: "the certificate of the proxy was not accepted",
  UND_ERR_PRX_CONNECT: "the proxy broke the connection off",
  // undici's word for a proxy that will not tunnel; it does not abort requests otherwise.
  UND_ERR_ABORTED: "the proxy refused the connection to it",
  CERT_HAS_EXPIRED: "the certificate of the server has expired",
  CERT_NOT_YET_VALID: "the certificate of the server is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate of the server is self-signed; trust it by the tls option (ca)",
  SELF_SIGNED_CERT_IN_CHAIN: "the authority of the server's certificate is not trusted; name it in the tls option (ca)",
  UNABLE_TO_GET_ISSUER_CERT: "the authority of the server's certificate is not known; name it in the tls option (ca)",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the authority of the server's certificate is not known; name it in the tls option (ca)",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the authority of the server's certificate is not known; name it in the tls option (ca)",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate of the server is for another host",
  ERR_SSL_WRONG_VERSION_NUMBER: "the server does not speak TLS there; try http: instead of https:"
}

const afterwards: Readonly<Record<string, string>> = {
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while the request was sent",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_SOCKET: "the connection broke",
  UND_ERR_INFO: "the connection was closed"
}

interface Fault {
  readonly error: unknown
  readonly code: string | undefined
  readonly syscall: string | undefined
}

// Clients wrap the error of the operating system in one or more of their own; several addresses make several errors.
const innermost = (error: unknown, depth = 0): Fault => {
  const code = Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : undefined
  if (code !== undefined || depth > 8) {
    const syscall = Predicate.hasProperty(error, "syscall") && typeof error.syscall === "string"
      ? error.syscall
      : undefined
    return { error, code, syscall }
  }
  if (Predicate.hasProperty(error, "cause") && error.cause !== undefined) return innermost(error.cause, depth + 1)
  if (Predicate.hasProperty(error, "errors") && Array.isArray(error.errors) && error.errors.length > 0) {
    return innermost(error.errors[0], depth + 1)
  }
  return { error, code: undefined, syscall: undefined }
}

/** The error below those of the HTTP client, which hold the request with its headers. */
export const causeOf = (error: HttpClientError.HttpClientError): unknown =>
  "cause" in error.reason ? innermost(error.reason.cause).error : undefined

/** `NodeHttp` tells when the connection broke before anything was written. */
const isUnsent = (error: unknown): error is { readonly cause: unknown } =>
  Predicate.hasProperty(error, "delivery") && error.delivery === "unsent" && Predicate.hasProperty(error, "cause")

/** Reads why a request got no response. An authorization layer may have put an `McpError` into the client's error. */
export const ofClient = (error: HttpClientError.HttpClientError, target: string): Failure => {
  const { reason } = error
  const inner = "cause" in reason ? reason.cause : undefined
  if (McpError.isMcpError(inner)) return { reason: inner.reason, delivery: inner.delivery }
  if (reason._tag === "EncodeError" || reason._tag === "InvalidUrlError") {
    return {
      reason: new McpError.InvalidRequest({ problem: "The HTTP client could not encode the request" }),
      delivery: "unsent"
    }
  }
  const { code, error: cause, syscall } = innermost(isUnsent(inner) ? inner.cause : inner)
  const early = code !== undefined && Object.hasOwn(beforeSending, code) ? beforeSending[code] : undefined
  const late = code !== undefined && Object.hasOwn(afterwards, code) ? afterwards[code] : undefined
  return {
    reason: new McpError.ConnectionFailed({
      target,
      code: code === undefined ? undefined : PeerText.excerpt(code, 64),
      description: early ?? late ?? "the HTTP client could not send the request",
      ...(cause === undefined ? undefined : { cause })
    }),
    delivery: early !== undefined || syscall === "connect" || syscall === "getaddrinfo" || isUnsent(inner)
      ? "unsent"
      : "unknown"
  }
}

// ====================================================================================================================
// The status
// ====================================================================================================================

/** The media type of a response, in lower case and without parameters. */
export const mediaType = (headers: Headers.Headers): string | undefined =>
  headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase()

/** The media type as it may stand in an error. */
export const shownMediaType = (headers: Headers.Headers): string | undefined => {
  const type = mediaType(headers)
  return type === undefined || type === "" ? undefined : PeerText.excerpt(type, 100)
}

const retryAfterMillis = (headers: Headers.Headers, nowMillis: number): number | undefined => {
  const value = headers["retry-after"]
  const parsed = value === undefined ? undefined : Result.getOrUndefined(Headers.parseRetryAfter(value))
  if (parsed === undefined) return undefined
  return parsed._tag === "Duration"
    ? Duration.toMillis(parsed.duration)
    : Math.max(0, DateTime.toEpochMillis(parsed.dateTime) - nowMillis)
}

// Where it points to may carry secrets; the origin tells enough.
const originOf = (location: string | undefined, url: string): string | undefined => {
  if (location === undefined) return undefined
  try {
    return PeerText.excerpt(new URL(location, url).origin)
  } catch {
    return undefined
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers.Headers
  /** What could be read of the body. */
  readonly text: string
  readonly url: string
  /** The message carried the id of a session. */
  readonly inSession: boolean
  readonly nowMillis: number
}

/** Whether the status alone says what happened, so that a JSON-RPC error in the body adds nothing. */
export const isDecidedByStatus = (status: number, inSession: boolean): boolean =>
  // A browser shows a redirect that it does not follow as status 0.
  status === 0 || (status >= 300 && status < 400) || status === 401 || status === 403 || (status === 404 && inSession)

/** The JSON-RPC error in the body of a refusal. Its id may be missing: the server may not have read it. */
export const errorResponse = (text: string): Envelope.Response | undefined => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const message = Envelope.read(value)
  return message?._tag === "Response" && message.outcome._tag === "Error" ? message : undefined
}

const olderTransportProblem = "it answers a POST with the stream of HTTP+SSE, which is another transport"

/** What is answered is the stream of a server of HTTP+SSE, which looks at no method: it will never answer. */
export const olderTransport = (status: number): Failure => ({
  reason: new McpError.MalformedMessage({ problem: olderTransportProblem, status }),
  delivery: "refused"
})

/** Whether the server speaks HTTP+SSE. */
export const isOlderTransport = (reason: McpError.McpErrorReason): boolean =>
  reason._tag === "MalformedMessage" && reason.problem === olderTransportProblem

/** Reads a status outside 200 to 299. */
export const ofStatus = ({ headers, inSession, nowMillis, status, text, url }: Answer): Failure => {
  const excerpt = text === "" ? undefined : PeerText.excerpt(text)
  if (status === 0 || (status >= 300 && status < 400 && status !== 304)) {
    return {
      reason: new McpError.RedirectRefused({ status, location: originOf(headers["location"], url) }),
      delivery: "refused"
    }
  }
  if (status === 401) {
    const challenges = WwwAuthenticate.parse(headers["www-authenticate"] ?? "")
    return { reason: new McpError.Unauthorized({ challenges }), delivery: "refused" }
  }
  if (status === 403) {
    const challenges = WwwAuthenticate.parse(headers["www-authenticate"] ?? "")
    const parameter = (name: string): string | undefined => {
      const challenge = challenges.find(({ parameters }) => Object.hasOwn(parameters, name))
      return challenge?.parameters[name]
    }
    const description = parameter("error_description")
    return {
      reason: new McpError.InsufficientScope({
        challenges,
        scope: parameter("scope"),
        excerpt: description === undefined ? excerpt : PeerText.excerpt(description)
      }),
      delivery: "refused"
    }
  }
  // 2025-11-25 basic/transports, Session Management: a new session has to begin.
  if (status === 404 && inSession) {
    return { reason: new McpError.SessionExpired({ status }), delivery: "refused" }
  }
  return {
    reason: new McpError.HttpStatus({
      status,
      contentType: shownMediaType(headers),
      retryAfterMillis: retryAfterMillis(headers, nowMillis),
      excerpt
    }),
    // 429 and 503 ask to come again; any other failure of the server may have followed the execution.
    delivery: status < 500 || status === 503 ? "refused" : "unknown"
  }
}
