/**
 * What the messages of one connection to an HTTP server have in common, and the sending of one of them.
 */
import { McpError } from "@mcp-effect/protocol"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import type * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Inbound } from "../Transport.ts"
import type { AuthorizationDigest } from "./AuthorizationDigest.ts"
import type { Draining } from "./Draining.ts"
import type { HttpEndpoint } from "./HttpEndpoint.ts"
import * as HttpFailure from "./HttpFailure.ts"
import type { HttpHeaders, Message } from "./HttpHeaders.ts"
import type { HttpSession } from "./HttpSession.ts"

export interface HttpPeer {
  readonly client: HttpClient.HttpClient
  readonly endpoint: HttpEndpoint
  readonly headers: HttpHeaders
  readonly session: HttpSession
  readonly inbound: Inbound
  /** Otherwise it is plain HTTP, which compresses nothing and neither listens nor resumes. */
  readonly isStreamable: boolean
  /** In bytes. */
  readonly maxMessageBytes: number
  /** In bytes. */
  readonly maxEventBytes: number
  readonly digest: AuthorizationDigest
  readonly draining: Draining
  /** The connection's: what is under way ends with it. */
  readonly scope: Scope.Scope
  /** What every request runs with, whatever its caller says. */
  readonly overrides: Context.Context<never>
  /** What runs on behalf of the connection, with the overrides. */
  readonly context: Context.Context<never>
}

/** A message ready to go, and the session it belongs to. */
export interface Prepared {
  readonly request: HttpClientRequest.HttpClientRequest
  readonly sessionId: string | undefined
}

const unsent = (reason: McpError.McpErrorReason): Result.Result<never, HttpFailure.Failure> =>
  Result.fail({ reason, delivery: "unsent" })

export const closedReason = (peer: HttpPeer): McpError.ConnectionClosed =>
  new McpError.ConnectionClosed({ target: peer.endpoint.target, local: true })

/** Builds the POST of a message, unless it cannot or must not be sent. */
export const prepare = (
  peer: HttpPeer,
  message: Message,
  text: string,
  compression: boolean
): Result.Result<Prepared, HttpFailure.Failure> => {
  if (peer.scope.state._tag === "Closed") return unsent(closedReason(peer))
  if (peer.session.isOverFor(message.method)) return unsent(new McpError.SessionExpired({ status: 404 }))
  const sessionId = peer.session.idFor(message.method, message.revision)
  const headers = peer.headers.forPost(message, { sessionId, compression: compression && peer.isStreamable })
  if (Result.isFailure(headers)) return unsent(headers.failure)
  const body = HttpBody.text(text, "application/json")
  const request = HttpClientRequest.makeWith(
    "POST",
    peer.endpoint.url,
    UrlParams.empty,
    Option.none(),
    headers.success,
    body
  )
  return Result.succeed({ request, sessionId })
}

/** Sends a request and waits for the head of its response, whatever its status. */
export const execute = (
  peer: HttpPeer,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<HttpClientResponse, HttpFailure.Failure> =>
  Effect.catch(
    peer.client.execute(request),
    (error: HttpClientError.HttpClientError): Effect.Effect<HttpClientResponse, HttpFailure.Failure> =>
      // A client that only lets success pass has the response in its error.
      error.reason._tag === "StatusCodeError"
        ? Effect.succeed(error.reason.response)
        : Effect.fail(HttpFailure.ofClient(error, peer.endpoint.target))
  )
