/**
 * A server in this process, on a port of loopback of its own.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** Listens until the scope ends. The handler is made when the origin is known. */
export const listen = <A>(
  make: (origin: string) => { readonly handler: Handler; readonly value: A }
): Effect.Effect<A, never, Scope.Scope> =>
  Effect.gen(function*() {
    let handler: Handler = (_, response) => void response.writeHead(503).end()
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => createServer((request, response) => handler(request, response))),
      (server) =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
    const made = make(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    handler = made.handler
    return made.value
  })
