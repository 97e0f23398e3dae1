/**
 * What the transports to a server at a URL are told, and what holds of every request that they make.
 */
import { McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type * as Redacted from "effect/Redacted"
import * as HttpEndpoint from "./HttpEndpoint.ts"

export interface Options {
  readonly url: string | URL
  readonly name?: string | undefined
  readonly headers?: Readonly<Record<string, string | Redacted.Redacted>> | undefined
  readonly maxMessageBytes?: number | undefined
  readonly maxEventBytes?: number | undefined
}

export const defaultMaxMessageBytes = 64 * 1024 * 1024
export const defaultMaxEventBytes = 32 * 1024 * 1024

/** What must hold of every request, whoever makes it. `context` may have more to say to `fetch`. */
export const overridesOf = (context: Context.Context<never>): Context.Context<never> =>
  // The call has a span of its own, and its trace context travels in the message.
  Context.make(HttpClient.TracerDisabledWhen, () => true).pipe(
    // A redirect could take credentials to another origin.
    Context.add(FetchHttpClient.RequestInit, {
      ...Context.getOrUndefined(context, FetchHttpClient.RequestInit),
      redirect: "manual"
    })
  )

/** Names the server in errors and logs. */
export const targetOf = ({ name, url }: Options): string => name ?? HttpEndpoint.targetOf(url)

const isLimit = (value: number): boolean => Number.isSafeInteger(value) && value > 0

/** Where the server is. Fails with `InvalidRequest` when the options are not usable; logs what the user should know. */
export const check = Effect.fnUntraced(function*(
  options: Options,
  server: string
): Effect.fn.Return<HttpEndpoint.HttpEndpoint, McpError.McpError> {
  for (const name of ["maxMessageBytes", "maxEventBytes"] as const) {
    const limit = options[name]
    if (limit !== undefined && !isLimit(limit)) {
      const reason = new McpError.InvalidRequest({ problem: "must be a positive number of bytes", path: name })
      return yield* McpError.make(reason, "unsent", { server })
    }
  }
  const endpoint = yield* Effect.mapError(
    Effect.fromResult(HttpEndpoint.make(options.url, options.headers ?? {})),
    (reason) => McpError.make(reason, "unsent", { server })
  )
  for (const warning of endpoint.warnings) yield* Effect.logWarning(`${server}: ${warning}`)
  return { ...endpoint, target: server }
})
