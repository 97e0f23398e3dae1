/**
 * What needs a person: to open a URL, sign in there, and bring back what the authorization server answers.
 *
 * @since 0.1.0
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Failure from "./internal/Failure.ts"

/**
 * One request for authorization.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  /** Where to send the person. It was checked: `https:`, or `http:` on this machine. Never open it through a shell. */
  readonly url: URL
  /** Where the answer will come. */
  readonly redirectUri: string
  /** The MCP server that wants it. */
  readonly server: URL
  /** The authorization server. */
  readonly issuer: string
  /**
   * Whether the parameters of a callback answer this request. One that does not is turned away, and the right one is
   * waited for: it may come from a tab that was left open.
   */
  readonly accepts: (parameters: URLSearchParams) => boolean
  /**
   * What a callback that is accepted comes to, for the page that the person sees: a `code`; `refused` by the authorization
   * server, whose words may then be shown; or `invalid`, such as one that another authorization server sent (RFC 9207).
   */
  readonly verdictOf: (parameters: URLSearchParams) => "code" | "refused" | "invalid"
}

/**
 * What is ready to receive one answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Receiver {
  /** On this machine, `https:`, or of a scheme private to the application. */
  readonly redirectUri: string
  /** Sends the person to the URL and gives the URL that the browser was sent back to, or its query. */
  readonly authorize: (request: Request) => Effect.Effect<URL | URLSearchParams, McpError.McpError>
}

/**
 * Service for what needs a person. `receiver` makes ready to receive an answer, such as by a server on a free port; what
 * it holds is given back with the scope. `undefined` when there is nobody to ask: requests then fail as the server
 * answered them.
 *
 * @category services
 * @since 0.1.0
 */
export class Authorize extends Context.Service<Authorize, {
  readonly receiver: Effect.Effect<Receiver | undefined, McpError.McpError, Scope.Scope>
}>()("@mcp-effect/auth/Authorize") {}

/**
 * Layer of two values: the redirect URI, and how a person is sent to a URL and the answer is brought back.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (receiver: Receiver): Layer.Layer<Authorize> =>
  Layer.succeed(Authorize, { receiver: Effect.succeed(receiver) })

/**
 * Layer for programs without a person. Tokens in the store are used and refreshed; a server that wants a new sign-in is
 * reported as `Unauthorized`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNone: Layer.Layer<Authorize> = Layer.succeed(Authorize, { receiver: Effect.succeed(undefined) })

/**
 * Layer for authorization servers that consent without a person, as those in tests do: the URL is requested, and the
 * redirect that answers it is the callback. The redirect URI itself is never contacted.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerUnattended = (options?: {
  /** @default "http://127.0.0.1/callback" */
  readonly redirectUri?: string | undefined
}): Layer.Layer<Authorize, never, HttpClient.HttpClient> =>
  Layer.effect(
    Authorize,
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const authorize = (request: Request): Effect.Effect<URL, McpError.McpError> =>
        client.get(request.url).pipe(
          Effect.mapError(() =>
            Failure.failed("sign-in", "the authorization endpoint cannot be reached", { issuer: request.issuer })
          ),
          Effect.flatMap((response) => {
            const location = response.headers["location"]
            return Effect.andThen(
              Effect.ignore(Effect.scoped(Stream.toPull(response.stream))),
              location !== undefined && URL.canParse(location, request.url)
                ? Effect.succeed(new URL(location, request.url))
                : Effect.fail(
                  Failure.failed("sign-in", "the authorization endpoint wants a person", {
                    issuer: request.issuer,
                    status: response.status
                  })
                )
            )
          }),
          Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
          Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
        )
      return {
        receiver: Effect.succeed({ redirectUri: options?.redirectUri ?? "http://127.0.0.1/callback", authorize })
      }
    })
  )
