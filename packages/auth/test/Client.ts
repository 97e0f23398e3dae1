/**
 * A protected server called through the client under test.
 */
import { Authorize, OAuth, TokenStore } from "@mcp-effect/auth"
import { McpError } from "@mcp-effect/protocol"
import { Context, Effect, Layer, Logger } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import type { TestAuthority } from "./TestAuthority.ts"

/** What came of a request: its status, or the reason it failed for. */
export type Outcome = number | McpError.McpErrorReason["_tag"]

/** The error of the library inside the error of an HTTP client; any other is a defect. */
const errorOf = (error: unknown): Effect.Effect<McpError.McpError> => {
  const reason = (error as { readonly reason?: { readonly cause?: unknown } }).reason
  return McpError.isMcpError(reason?.cause) ? Effect.succeed(reason.cause) : Effect.die(error)
}

export interface TestClient {
  /** One POST to the MCP server. */
  readonly call: Effect.Effect<Outcome>
  /** The error of one POST; an answer is a defect. */
  readonly failure: Effect.Effect<McpError.McpError>
  readonly http: HttpClient.HttpClient
}

export interface Options extends OAuth.Options {
  /** @default signs in without a person */
  readonly authorize?: Layer.Layer<Authorize.Authorize> | undefined
  /** @default memory */
  readonly store?: TokenStore.TokenStore["Service"] | undefined
  /** The path of the URL that is called. @default "/mcp" */
  readonly path?: string | undefined
  readonly logs?: Array<string> | undefined
}

const unattended = Authorize.layerUnattended().pipe(Layer.provide(FetchHttpClient.layer))

export const clientOf = (http: HttpClient.HttpClient, url: string): TestClient => {
  const execute = Effect.flatMap(
    http.execute(HttpClientRequest.post(url).pipe(HttpClientRequest.bodyText("{}", "application/json"))),
    (response) => Effect.as(Effect.orDie(response.text), response.status)
  )
  return {
    http,
    call: Effect.catch(execute, (error) => Effect.map(errorOf(error), ({ reason }): Outcome => reason._tag)),
    failure: Effect.matchEffect(execute, {
      onFailure: errorOf,
      onSuccess: (status) => Effect.die(`HTTP ${status}`)
    })
  }
}

const keep = (lines: Array<string> | undefined) =>
  Logger.layer([Logger.make(({ cause, message }) => lines?.push(`${JSON.stringify(message)} ${String(cause)}`))])

/** A client whose layer closes with the scope. Its logs go where the options say, or nowhere. */
export const make = Effect.fnUntraced(function*(authority: TestAuthority, options: Options = {}) {
  const { authorize = unattended, logs, path = "/mcp", store, ...rest } = options
  const layer = OAuth.layer(rest).pipe(
    Layer.provide(authorize),
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(store === undefined ? TokenStore.layerMemory : Layer.succeed(TokenStore.TokenStore, store)),
    Layer.provide(keep(logs))
  )
  const context = yield* Layer.build(Layer.fresh(layer))
  return clientOf(Context.get(context, HttpClient.HttpClient), `${authority.origin}${path}`)
})

/** Follows the URL of a request for authorization as a browser would, and gives where it ends. */
export const visit = (url: URL): Effect.Effect<URL> =>
  Effect.promise(async () => {
    const response = await fetch(url, { redirect: "manual" })
    return new URL(response.headers.get("location") ?? "about:blank", url)
  })
