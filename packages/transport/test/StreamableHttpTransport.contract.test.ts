import { describe, it } from "@effect/vitest"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { NodeHttp } from "@mcp-effect/node"
import { Revision } from "@mcp-effect/protocol"
import { PeerScript, StreamableHttpTransport, TransportContract } from "@mcp-effect/transport"
import { Context, Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"

/** A scripted peer that answers every request with a stream of events. */
const servePeer = (script: PeerScript.Script) =>
  Effect.suspend(() => {
    const streams = new Map<unknown, TestServer.Response>()
    const peer = PeerScript.run(script, {
      write: (text, about) => streams.get(about)?.event(text),
      end: (about) => streams.get(about)?.end(),
      disconnect: (about) => streams.get(about)?.reset()
    })
    return TestServer.serve((request, response) => {
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

const harness = (
  revision: Revision.Facts,
  client: Layer.Layer<HttpClient.HttpClient, unknown>
): TransportContract.Harness => ({
  revision,
  sharedChannel: false,
  limitsMessages: true,
  make: (script, { maxMessageBytes }) =>
    Effect.gen(function*() {
      const server = yield* servePeer(script)
      const context = yield* Layer.build(client)
      return yield* StreamableHttpTransport.make({ url: server.url, maxMessageBytes, maxEventBytes: maxMessageBytes })
        .pipe(
          Effect.provideService(HttpClient.HttpClient, Context.get(context, HttpClient.HttpClient))
        )
    })
})

for (
  const [name, client] of [["dispatch", NodeHttp.layer({ proxy: "none" })], ["fetch", FetchHttpClient.layer]] as const
) {
  for (const revision of [Revision.latestModern, Revision.latestLegacy]) {
    describe(`Streamable HTTP over ${name}, ${revision.version}`, () => {
      for (const { run, title } of TransportContract.cases(harness(revision, client))) it.live(title, () => run)
    })
  }
}
