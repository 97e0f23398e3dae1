/**
 * The requests of authorization itself: each URL checked first, no redirect followed unchecked, bodies bounded, nothing
 * traced. Errors never hold the request, which may hold secrets.
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import type * as UrlPolicy from "../UrlPolicy.ts"
import * as Failure from "./Failure.ts"

/** An answer, read whole. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string | undefined>>
}

export interface AuthHttp {
  /** Gets a document of metadata, through at most three redirects, each of them checked. */
  readonly get: (
    url: URL,
    purpose: UrlPolicy.Purpose,
    headers?: Readonly<Record<string, string>>
  ) => Effect.Effect<Answer, McpError.McpError>
  /** Sends a request to an endpoint. A redirect is refused: it would carry secrets along. */
  readonly post: (
    url: URL,
    purpose: UrlPolicy.Purpose,
    request: HttpClientRequest.HttpClientRequest
  ) => Effect.Effect<Answer, McpError.McpError>
  /** The same on behalf of another server that the host configured. */
  readonly onBehalfOf: (server: URL) => AuthHttp
  /** Asks the policy about a URL that is only shown, not requested. */
  readonly check: (url: URL, purpose: UrlPolicy.Purpose) => Effect.Effect<void, McpError.McpError>
}

const maxBodyBytes = 4 * 1024 * 1024
const maxRedirects = 3

// The innermost code of the operating system or of the HTTP client.
const codeOf = (error: unknown, depth = 0): string | undefined => {
  if (Predicate.hasProperty(error, "code") && typeof error.code === "string") return error.code
  if (depth > 8 || !Predicate.hasProperty(error, "cause")) return undefined
  return codeOf(error.cause, depth + 1)
}

const isRedirect = (status: number): boolean => status === 0 || (status >= 300 && status < 400)

const stages = {
  "resource-metadata": "discovery",
  "authorization-server-metadata": "discovery",
  authorization: "sign-in",
  token: "token",
  registration: "registration",
  revocation: "token"
} as const

const readText = (
  response: HttpClientResponse,
  url: URL,
  purpose: UrlPolicy.Purpose
): Effect.Effect<string, McpError.McpError> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let text = ""
    let size = 0
    return response.stream.pipe(
      Stream.mapError((error: HttpClientError.HttpClientError) => Failure.unreachable(url, codeOf(error.reason))),
      Stream.runForEachArray((chunks) => {
        for (const chunk of chunks) {
          size += chunk.byteLength
          text += decoder.decode(chunk, { stream: true })
        }
        return size > maxBodyBytes
          ? Effect.fail(Failure.failed(stages[purpose], `the answer is over ${maxBodyBytes} bytes`, {
            status: response.status
          }))
          : Effect.void
      }),
      Effect.map(() => text + decoder.decode())
    )
  })

/** Makes the requests of one layer, on behalf of one MCP server. */
export const make = (options: {
  readonly client: HttpClient.HttpClient
  readonly policy: UrlPolicy.UrlPolicy
  readonly server: URL
  /** How long one request may take, with its answer. */
  readonly timeoutMillis: number
}): AuthHttp => {
  const { client, policy, server, timeoutMillis } = options
  const check: AuthHttp["check"] = (url, purpose) => policy.check(url, { purpose, server })

  const send = (
    url: URL,
    purpose: UrlPolicy.Purpose,
    request: HttpClientRequest.HttpClientRequest
  ): Effect.Effect<Answer, McpError.McpError> =>
    client.execute(request).pipe(
      Effect.catch((error) =>
        // A client that only lets success pass has the response in its error.
        error.reason._tag === "StatusCodeError"
          ? Effect.succeed(error.reason.response)
          : Effect.fail(Failure.unreachable(url, codeOf(error.reason)))
      ),
      Effect.flatMap((response) => {
        const { headers, status } = response
        return Effect.map(
          // The client never reads what a redirect says.
          isRedirect(status) ? Effect.as(Effect.ignore(Effect.scoped(Stream.toPull(response.stream))), "") : readText(
            response,
            url,
            purpose
          ),
          (text): Answer => ({ status, text, headers })
        )
      }),
      Effect.timeoutOrElse({
        duration: timeoutMillis,
        orElse: () =>
          Effect.fail(Failure.failed(stages[purpose], `no answer within ${timeoutMillis} ms`, { status: 504 }))
      }),
      Effect.updateContext((context: Context.Context<never>) =>
        context.pipe(
          Context.add(HttpClient.TracerDisabledWhen, () => true),
          Context.add(FetchHttpClient.RequestInit, {
            ...Context.getOrUndefined(context, FetchHttpClient.RequestInit),
            redirect: "manual",
            credentials: "omit"
          })
        )
      )
    )

  const get: AuthHttp["get"] = (url, purpose, headers = {}) => {
    const follow = (url: URL, left: number): Effect.Effect<Answer, McpError.McpError> =>
      Effect.gen(function*() {
        yield* check(url, purpose)
        const request = HttpClientRequest.get(url, { headers: { accept: "application/json", ...headers } })
        const answer = yield* send(url, purpose, request)
        if (!isRedirect(answer.status)) return answer
        const location = answer.headers["location"]
        if (location === undefined || left === 0 || !URL.canParse(location, url)) {
          return yield* Effect.fail(
            Failure.failed("discovery", "the metadata is behind a redirect that leads nowhere", {
              status: answer.status
            })
          )
        }
        return yield* follow(new URL(location, url), left - 1)
      })
    return follow(url, maxRedirects)
  }

  const post: AuthHttp["post"] = (url, purpose, request) =>
    Effect.gen(function*() {
      yield* check(url, purpose)
      const answer = yield* send(url, purpose, request)
      return isRedirect(answer.status)
        ? yield* Effect.fail(
          Failure.failed(stages[purpose], "the endpoint redirected the request, which is not followed", {
            status: answer.status
          })
        )
        : answer
    })

  return { get, post, check, onBehalfOf: (server) => make({ ...options, server }) }
}
