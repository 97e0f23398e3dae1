/**
 * A real server of HTTP+SSE on loopback that a test scripts (2024-11-05 basic/transports, HTTP with SSE).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as TestServer from "./TestServer.ts"

/** A stream that a client has opened. */
export interface Stream {
  readonly session: string
  readonly write: (text: string) => void
  readonly message: (value: unknown) => void
  /** Answers a request. */
  readonly result: (request: { readonly id?: unknown }, result: unknown) => void
  readonly end: () => void
  readonly reset: () => void
}

export interface Handlers {
  /** Takes a GET. By default it begins a stream and says where messages go to. */
  readonly onGet?: (open: () => Stream, request: TestServer.Received, response: TestServer.Response) => void
  /** Takes a POST. By default it is accepted, and goes to `onMessage`. */
  readonly onPost?: (accept: () => void, request: TestServer.Received, response: TestServer.Response) => void
  readonly onMessage: (message: any, stream: Stream, request: TestServer.Received) => void
  /** Hears of a stream that the client has closed. */
  readonly onClose?: (stream: Stream) => void
}

export interface SseServer extends TestServer.TestServer {
  readonly streams: ReadonlyArray<Stream>
  /** The messages that came, in order. */
  readonly messages: () => ReadonlyArray<any>
}

/** What a stream begins with. */
export const endpointEvent = (place: string): string => `event: endpoint\ndata: ${place}\n\n`

/** Starts a server that ends with the scope. Its stream is at `/sse`. */
export const serve = (handlers: Handlers): Effect.Effect<SseServer, never, Scope.Scope> =>
  Effect.suspend(() => {
    const streams: Array<Stream> = []

    const open = (response: TestServer.Response): Stream => {
      const stream: Stream = {
        session: String(streams.length + 1),
        write: (text) => {
          response.raw.write(text)
        },
        message: response.event,
        result: ({ id }, result) => response.event({ jsonrpc: "2.0", id, result }),
        end: response.end,
        reset: response.reset
      }
      streams.push(stream)
      response.stream()
      stream.write(endpointEvent(`/messages?session=${stream.session}`))
      response.raw.on("close", () => {
        if (!response.raw.writableFinished) handlers.onClose?.(stream)
      })
      return stream
    }

    const accept = (request: TestServer.Received, response: TestServer.Response): void => {
      const session = new URL(request.url, "http://localhost").searchParams.get("session")
      const stream = streams.find((one) => one.session === session)
      if (stream === undefined) return response.send(404, { "content-type": "text/plain" }, "Session not found")
      response.send(202, { "content-type": "text/plain" }, "Accepted")
      handlers.onMessage(request.message, stream, request)
    }

    return Effect.map(
      TestServer.serve((request, response) => {
        if (request.httpMethod === "GET") {
          if (handlers.onGet === undefined) open(response)
          else handlers.onGet(() => open(response), request, response)
        } else if (handlers.onPost === undefined) accept(request, response)
        else handlers.onPost(() => accept(request, response), request, response)
      }),
      (server) => ({
        ...server,
        url: `http://127.0.0.1:${server.port}/sse`,
        streams,
        messages: () => server.received.filter(({ httpMethod }) => httpMethod === "POST").map(({ message }) => message)
      })
    )
  })
