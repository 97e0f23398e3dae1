import { assert, describe, it } from "@effect/vitest"
import { httpClients } from "@mcp-effect/conformance/http/TestClient"
import { Revision } from "@mcp-effect/protocol"
import { DetectHttpTransport, type PeerScript, type Transport, TransportContract } from "@mcp-effect/transport"
import { Deferred, Effect, type Scope } from "effect"
import * as HttpPeers from "./HttpPeers.ts"

type Transport = Transport.Transport["Service"]

/** Shakes hands once, after which the transport knows which one it is. */
const shakeHands = (transport: Transport) =>
  Effect.scoped(Effect.gen(function*() {
    const connection = yield* transport.connect({ onMessage: () => {}, onDiagnostic: () => {} })
    const settled = yield* Deferred.make<void>()
    const settle = () => void Deferred.doneUnsafe(settled, Effect.void)
    connection.open(
      {
        id: "handshake",
        method: "initialize",
        text: JSON.stringify({ jsonrpc: "2.0", id: "handshake", method: "initialize", params: {} }),
        revision: Revision.latestLegacy,
        routing: undefined,
        onAbandon: "silent"
      },
      { onMessage: () => {}, onActivity: () => {}, onResponse: settle, onFailure: settle },
      yield* Effect.context<never>()
    )
    yield* Deferred.await(settled)
  }))

interface Kind {
  readonly kind: Transport["kind"]
  readonly revision: Revision.Facts
  readonly sharedChannel: boolean
  readonly serve: (script: PeerScript.Script) => Effect.Effect<{ readonly url: string }, never, Scope.Scope>
}

const kinds: ReadonlyArray<Kind> = [
  {
    kind: "streamable-http",
    revision: Revision.latestModern,
    sharedChannel: false,
    serve: (script) => HttpPeers.serveStreams(script)
  },
  { kind: "sse", revision: Revision.latestLegacy, sharedChannel: true, serve: HttpPeers.serveSse },
  {
    kind: "http",
    revision: Revision.latestLegacy,
    sharedChannel: false,
    serve: (script) =>
      HttpPeers.serveStreams(
        script,
        ({ headers, httpMethod }) => httpMethod === "GET" || headers["accept-encoding"] === "gzip"
      )
  }
]

for (const [name, client] of httpClients) {
  for (const { kind, revision, serve, sharedChannel } of kinds) {
    // `fetch` always asks for compression, so the two are the same over it.
    if (name === "fetch" && kind === "http") continue
    const cases = TransportContract.cases({
      revision,
      sharedChannel,
      limitsMessages: true,
      make: (script, { maxMessageBytes }) =>
        Effect.gen(function*() {
          const { url } = yield* serve({ initialize: [{ do: "result", result: {} }], ...script })
          const options = { url, maxMessageBytes, maxEventBytes: maxMessageBytes }
          const transport = yield* HttpPeers.over(client, DetectHttpTransport.make(options))
          yield* shakeHands(transport)
          assert.strictEqual(transport.kind, kind)
          return transport
        })
    })
    describe(`detected: ${kind} over ${name}`, () => {
      for (const { run, title } of cases) it.live(title, () => run)
    })
  }
}
