/**
 * A modern server over HTTP in the process of the test, which sees what it was sent and when a request is given up.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { text } from "node:stream/consumers"

export interface Received {
  readonly id?: number
  readonly method: string
  readonly params?: any
  readonly headers: IncomingHttpHeaders
}

export type Answer =
  | { readonly kind: "result"; readonly result: object }
  | {
    readonly kind: "json"
    readonly status: number
    readonly body: string
    readonly headers: Readonly<Record<string, string>>
  }
  | { readonly kind: "hang" }

export interface HttpServer {
  readonly url: string
  readonly received: ReadonlyArray<Received>
  /** Succeeds when a request is left without an answer. */
  readonly hanging: Effect.Effect<void>
  /** Succeeds when the client has given such a request up. */
  readonly abandoned: Effect.Effect<void>
}

/** A result as the modern era wants it. */
export const reply = (result: object): Answer => ({ kind: "result", result: { resultType: "complete", ...result } })

const fresh = { ttlMs: 0, cacheScope: "private" }

export const discovered: Answer = reply({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, ...fresh })

export const tools: Answer = reply({ tools: [{ name: "wait", inputSchema: { type: "object" } }], ...fresh })

export const start = (
  answer: (message: Received) => Answer
): Effect.Effect<HttpServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const received: Array<Received> = []
      const hanging = Deferred.makeUnsafe<void>()
      const abandoned = Deferred.makeUnsafe<void>()
      const server = createServer(async (request, response) => {
        if (request.method !== "POST") return response.writeHead(405).end()
        const message: Received = { ...JSON.parse(await text(request)), headers: request.headers }
        received.push(message)
        const given = answer(message)
        switch (given.kind) {
          case "hang":
            response.once("close", () => Deferred.doneUnsafe(abandoned, Effect.void))
            return Deferred.doneUnsafe(hanging, Effect.void)
          case "json":
            return response.writeHead(given.status, given.headers).end(given.body)
          case "result":
            return response.writeHead(200, { "content-type": "application/json" })
              .end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: given.result }))
        }
      }).listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      return {
        server,
        url: `http://127.0.0.1:${port}/mcp`,
        received,
        hanging: Deferred.await(hanging),
        abandoned: Deferred.await(abandoned)
      }
    }),
    ({ server }) =>
      Effect.promise(async () => {
        server.close()
        server.closeAllConnections()
        await once(server, "close")
      })
  )
