import { describe, it } from "@effect/vitest"
import { httpClients } from "@mcp-effect/conformance/http/TestClient"
import { Revision } from "@mcp-effect/protocol"
import { SseTransport, TransportContract } from "@mcp-effect/transport"
import { Effect } from "effect"
import * as HttpPeers from "./HttpPeers.ts"

for (const [name, client] of httpClients) {
  const cases = TransportContract.cases({
    revision: Revision.latestLegacy,
    sharedChannel: true,
    limitsMessages: true,
    make: (script, { maxMessageBytes }) =>
      Effect.flatMap(
        HttpPeers.serveSse(script),
        ({ url }) => HttpPeers.over(client, SseTransport.make({ url, maxEventBytes: maxMessageBytes }))
      )
  })
  describe(`HTTP+SSE over ${name}`, () => {
    for (const { run, title } of cases) it.live(title, () => run)
  })
}
