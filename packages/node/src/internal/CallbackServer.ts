/**
 * The server on loopback that the browser is sent back to after a sign-in (RFC 8252 section 7.3).
 */
import type { Authorize } from "@mcp-effect/auth"
import { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import * as CallbackPage from "./CallbackPage.ts"

export interface Options {
  /** `0` takes a free one. */
  readonly port: number
  /** Begins with a slash. */
  readonly path: string
}

export interface CallbackServer {
  readonly redirectUri: string
  /** Waits for a callback that the request accepts; others are turned away with a page that says so. */
  readonly next: (request: Request) => Effect.Effect<URLSearchParams>
}

type Request = Pick<Authorize.Request, "accepts" | "verdictOf">

interface Waiter {
  readonly request: Request
  readonly onAnswer: (parameters: URLSearchParams) => void
}

const pageOf = (verdict: ReturnType<Request["verdictOf"]>, parameters: URLSearchParams): string => {
  switch (verdict) {
    case "code":
      return CallbackPage.received
    case "refused":
      return CallbackPage.refused(parameters)
    case "invalid":
      return CallbackPage.invalid
  }
}

// Only this machine reaches it, whatever its interfaces are.
const host = "127.0.0.1"
const maxHeaders = 100
const requestMillis = 10_000

const failure = (problem: string, cause: unknown): McpError.McpError =>
  McpError.make(new McpError.AuthorizationFailed({ stage: "sign-in", problem, cause }), "unsent")

const listen = ({ port }: Options): Effect.Effect<Server, McpError.McpError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Server, McpError.McpError>((resume) => {
      const server = createServer({ requestTimeout: requestMillis, headersTimeout: requestMillis })
      server.maxHeadersCount = maxHeaders
      server.once("error", (error: NodeJS.ErrnoException) =>
        resume(Effect.fail(
          error.code === "EADDRINUSE"
            ? failure(`port ${port}, where the browser is to come back to, is in use; free it or choose another`, error)
            : failure(`no server for the way back from the browser could be opened on port ${port}`, error)
        )))
      server.listen(port, host, () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

const answer = (response: ServerResponse, status: number, html: string): void => {
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    // The URL of the page holds the code.
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    Connection: "close"
  })
  response.end(html)
}

/** Opens the server; it closes with the scope. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<CallbackServer, McpError.McpError, Scope.Scope> {
  const server = yield* listen(options)
  const { port } = server.address() as AddressInfo
  const origin = `http://${host}:${port}`
  // A page of another site that lets its name resolve to this machine still names itself in `Host`.
  const hosts = new Set([`${host}:${port}`, `localhost:${port}`])
  const waiting = new Set<Waiter>()

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    request.resume()
    const target = request.url ?? ""
    const url = target.startsWith("/") && URL.canParse(origin + target) ? new URL(origin + target) : undefined
    if (!hosts.has(request.headers.host ?? "") || url?.pathname !== options.path) {
      return answer(response, 404, CallbackPage.notFound)
    }
    if (request.method !== "GET") return answer(response, 405, CallbackPage.notFound)
    const parameters = url.searchParams
    for (const waiter of waiting) {
      if (!waiter.request.accepts(parameters)) continue
      waiting.delete(waiter)
      // The page is shown first: whoever waits may close the server.
      response.once("close", () => waiter.onAnswer(parameters))
      const verdict = waiter.request.verdictOf(parameters)
      return answer(response, verdict === "code" ? 200 : 400, pageOf(verdict, parameters))
    }
    answer(response, 400, CallbackPage.unexpected)
  })

  return {
    redirectUri: origin + options.path,
    next: (request) =>
      Effect.callback<URLSearchParams>((resume) => {
        const waiter: Waiter = { request, onAnswer: (parameters) => resume(Effect.succeed(parameters)) }
        waiting.add(waiter)
        return Effect.sync(() => waiting.delete(waiter))
      })
  }
})
