/**
 * Servers on loopback that end with the scope: TLS, and a proxy that counts what passes through it.
 */
import { Counter } from "@mcp-effect/conformance/http/TestServer"
import { Effect, type Scope } from "effect"
import * as Fs from "node:fs"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import type * as Tls from "node:tls"

/** The certificates were made for these tests: an authority, and a server and a client that it vouches for. */
export const pem = (name: string): string =>
  Fs.readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), "utf8")

const listening = <S extends Http.Server>(make: () => S): Effect.Effect<S, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<S>((resume) => {
      const server = make()
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

const portOf = (server: Net.Server): number => (server.address() as Net.AddressInfo).port

/** Answers MCP requests over TLS with the name of the client's certificate, `none` without one. */
export const serveTls = (options: { readonly clientCertificate: boolean; readonly closes?: boolean }) =>
  Effect.map(
    listening(() =>
      Https.createServer(
        {
          key: pem("server.key"),
          cert: pem("server"),
          ...(options.clientCertificate ? { ca: pem("authority"), requestCert: true } : undefined)
        },
        (request, response) => {
          const subject = (request.socket as Tls.TLSSocket).getPeerCertificate().subject
          const client = (subject as Tls.Certificate | undefined)?.CN ?? "none"
          response.writeHead(200, {
            "content-type": "application/json",
            connection: options.closes === true ? "close" : "keep-alive"
          })
          response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { client } }))
        }
      )
    ),
    (server) => ({ url: `https://127.0.0.1:${portOf(server)}/mcp` })
  )

/** Answers each request over a connection of its own, and remembers none. */
export const serveClosing = () =>
  Effect.map(
    listening(() =>
      Http.createServer((_request, response) => {
        response.writeHead(200, { connection: "close" })
        response.end("hello")
      })
    ),
    (server) => ({ url: `http://127.0.0.1:${portOf(server)}/` })
  )

export interface Proxy {
  readonly url: string
  /** What it was asked for: `GET http://host/` for a request to pass on, `CONNECT host:443` for a tunnel. */
  readonly hits: ReadonlyArray<string>
  readonly authorizations: ReadonlyArray<string | undefined>
}

/** A proxy that passes requests on and opens tunnels, or refuses tunnels with a status. */
export const serveProxy = (options: { readonly refuse?: number } = {}): Effect.Effect<Proxy, never, Scope.Scope> =>
  Effect.suspend(() => {
    const hits: Array<string> = []
    const authorizations: Array<string | undefined> = []
    const note = (request: Http.IncomingMessage): void => {
      hits.push(`${request.method} ${request.url}`)
      authorizations.push(request.headers["proxy-authorization"])
    }
    return Effect.map(
      listening(() => {
        const tunnels = new Set<Net.Socket>()
        const server = Http.createServer((request, response) => {
          note(request)
          const onward = Http.request(
            request.url ?? "",
            { method: request.method, headers: request.headers, agent: false },
            (answer) => {
              response.writeHead(answer.statusCode ?? 502, answer.headers)
              answer.pipe(response)
            }
          )
          onward.on("error", () => response.destroy())
          request.pipe(onward)
        })
        server.on("connect", (request: Http.IncomingMessage, socket: Net.Socket) => {
          note(request)
          if (options.refuse !== undefined) return void socket.end(`HTTP/1.1 ${options.refuse} Refused\r\n\r\n`)
          const [host = "", port = ""] = (request.url ?? "").split(":")
          const onward = Net.connect(Number(port), host, () => {
            socket.write("HTTP/1.1 200 Connected\r\n\r\n")
            socket.pipe(onward).pipe(socket)
          })
          for (const one of [socket, onward]) {
            tunnels.add(one)
            one.on("error", () => {})
            one.on("close", () => {
              tunnels.delete(one)
              socket.destroy()
              onward.destroy()
            })
          }
        })
        server.on("close", () => {
          for (const tunnel of tunnels) tunnel.destroy()
        })
        return server
      }),
      (server) => ({ url: `http://127.0.0.1:${portOf(server)}`, hits, authorizations })
    )
  })

/** Accepts connections and never says a word. */
export const serveSilently = () =>
  Effect.suspend(() => {
    const connections = new Counter()
    const ends = new Counter()
    return Effect.map(
      Effect.acquireRelease(
        Effect.callback<Net.Server>((resume) => {
          const server = Net.createServer((socket) => {
            socket.resume()
            socket.on("error", () => {})
            socket.on("close", () => ends.add())
            connections.add()
          })
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
      ),
      (server) => ({
        url: `https://127.0.0.1:${portOf(server)}`,
        connections: () => connections.value,
        connected: connections.reaches,
        disconnected: ends.reaches
      })
    )
  })
