/**
 * A real HTTP server on loopback that a test scripts, and what it saw.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"

export interface Received {
  readonly httpMethod: string
  readonly url: string
  readonly headers: Http.IncomingHttpHeaders
  readonly text: string
  /** The message in the body, `undefined` without one. */
  readonly message: any
  /** The number of the connection it came over, from 1. */
  readonly connection: number
}

export interface Response {
  readonly raw: Http.ServerResponse
  readonly send: (status: number, headers: Http.OutgoingHttpHeaders, body?: string | Uint8Array) => void
  /** Answers with JSON. */
  readonly json: (value: unknown, status?: number) => void
  /** Answers the request with a result. */
  readonly result: (result: unknown) => void
  /** Begins a response stream. */
  readonly stream: (headers?: Http.OutgoingHttpHeaders) => void
  readonly event: (value: unknown) => void
  readonly end: () => void
  readonly reset: () => void
}

export interface TestServer {
  readonly url: string
  readonly port: number
  readonly received: ReadonlyArray<Received>
  /** Connections that were made so far. */
  readonly connections: () => number
  /** Waits until that many requests have arrived. */
  readonly arrived: (count: number) => Effect.Effect<void>
  /** Waits until that many responses were broken off by the client. */
  readonly abandoned: (count: number) => Effect.Effect<void>
}

export type Handler = (request: Received, response: Response) => void

/** Tells those who wait when a count reaches what they wait for. */
export class Counter {
  value = 0
  private readonly waiting: Array<{ readonly count: number; readonly resume: () => void }> = []

  add(): void {
    this.value++
    for (const { count, resume } of this.waiting) if (count <= this.value) resume()
  }

  readonly reaches = (count: number): Effect.Effect<void> =>
    Effect.callback((resume) => {
      if (this.value >= count) resume(Effect.void)
      else this.waiting.push({ count, resume: () => resume(Effect.void) })
    })
}

// What is not JSON is no message.
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const responder = (raw: Http.ServerResponse, message: any): Response => {
  const send: Response["send"] = (status, headers, body = "") => {
    raw.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) })
    raw.end(body)
  }
  const json: Response["json"] = (value, status = 200) =>
    send(status, { "content-type": "application/json" }, JSON.stringify(value))
  return {
    raw,
    send,
    json,
    result: (result) => json({ jsonrpc: "2.0", id: message?.id, result }),
    stream: (headers) => {
      raw.writeHead(200, { "content-type": "text/event-stream", ...headers })
      raw.flushHeaders()
    },
    event: (value) => {
      raw.write(`event: message\ndata: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`)
    },
    end: () => {
      raw.end()
    },
    reset: () => {
      raw.socket?.resetAndDestroy()
    }
  }
}

/** Starts a server that ends with the scope. */
export const serve = (handler: Handler): Effect.Effect<TestServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<TestServer & { readonly http: Http.Server }>((resume) => {
      const received: Array<Received> = []
      const connections = new Map<unknown, number>()
      const arrivals = new Counter()
      const abandonments = new Counter()
      const http = Http.createServer((request, raw) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const text = Buffer.concat(chunks).toString()
          const one: Received = {
            httpMethod: request.method ?? "",
            url: request.url ?? "",
            headers: request.headers,
            text,
            message: parse(text),
            connection: connections.get(request.socket) ?? 0
          }
          received.push(one)
          raw.on("close", () => {
            if (!raw.writableFinished) abandonments.add()
          })
          handler(one, responder(raw, one.message))
          arrivals.add()
        })
      })
      http.on("connection", (socket) => connections.set(socket, connections.size + 1))
      http.listen(0, "127.0.0.1", () => {
        const { port } = http.address() as AddressInfo
        resume(Effect.succeed({
          http,
          url: `http://127.0.0.1:${port}/mcp`,
          port,
          received,
          connections: () => connections.size,
          arrived: arrivals.reaches,
          abandoned: abandonments.reaches
        }))
      })
    }),
    ({ http }) =>
      Effect.callback<void>((resume) => {
        http.close(() => resume(Effect.void))
        http.closeAllConnections()
      })
  )
