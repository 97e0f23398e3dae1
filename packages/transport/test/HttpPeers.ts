/**
 * Scripted peers behind real HTTP servers, and transports to them.
 */
import * as SseServer from "@mcp-effect/conformance/http/SseServer"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { PeerScript, type Transport } from "@mcp-effect/transport"
import { Context, Effect, Layer, type Scope } from "effect"
import { HttpClient } from "effect/http"

interface Listening {
  readonly url: string
}

/** A peer that answers every request with a stream of events of its own. */
export const serveStreams = (
  script: PeerScript.Script,
  isRefused: (request: TestServer.Received) => boolean = () => false
): Effect.Effect<Listening, never, Scope.Scope> =>
  Effect.suspend(() => {
    const streams = new Map<unknown, TestServer.Response>()
    const peer = PeerScript.run(script, {
      write: (text, about) => streams.get(about)?.event(text),
      end: (about) => streams.get(about)?.end(),
      disconnect: (about) => streams.get(about)?.reset()
    })
    return TestServer.serve((request, response) => {
      if (isRefused(request)) return response.send(405, {})
      const id = request.message?.id
      if (id === undefined) {
        response.send(202, {})
      } else {
        streams.set(id, response)
        response.stream()
        response.raw.on("close", () => {
          if (!response.raw.writableFinished) peer.abandon(id)
        })
      }
      if (request.text !== "") peer.receive(request.text)
    })
  })

/** A peer for each stream of HTTP+SSE. */
export const serveSse = (script: PeerScript.Script): Effect.Effect<Listening, never, Scope.Scope> =>
  Effect.suspend(() => {
    const peers = new Map<string, PeerScript.Peer>()
    const peerOf = (stream: SseServer.Stream): PeerScript.Peer => {
      const known = peers.get(stream.session)
      if (known !== undefined) return known
      const peer = PeerScript.run(script, {
        write: stream.message,
        end: () => {},
        // What was written before it still arrives.
        disconnect: stream.end
      })
      peers.set(stream.session, peer)
      return peer
    }
    return SseServer.serve({
      onPost: (accept, request, response) => request.url === "/sse" ? response.send(405, {}) : accept(),
      onMessage: (_message, stream, { text }) => peerOf(stream).receive(text)
    })
  })

/** Makes a transport over an HTTP client that lives as long as the scope. */
export const over = (
  client: Layer.Layer<HttpClient.HttpClient, unknown>,
  make: Effect.Effect<Transport.Transport["Service"], never, HttpClient.HttpClient>
): Effect.Effect<Transport.Transport["Service"], unknown, Scope.Scope> =>
  Effect.flatMap(
    Layer.build(client),
    (context) => Effect.provideService(make, HttpClient.HttpClient, Context.get(context, HttpClient.HttpClient))
  )
