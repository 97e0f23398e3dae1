import { describe, it } from "@effect/vitest"
import { httpClients } from "@mcp-effect/conformance/http/TestClient"
import { Revision } from "@mcp-effect/protocol"
import { HttpTransport, TransportContract } from "@mcp-effect/transport"
import { Effect } from "effect"
import * as HttpPeers from "./HttpPeers.ts"

for (const [name, client] of httpClients) {
  for (const revision of [Revision.latestModern, Revision.latestLegacy]) {
    const cases = TransportContract.cases({
      revision,
      sharedChannel: false,
      limitsMessages: true,
      make: (script, { maxMessageBytes }) =>
        Effect.flatMap(
          HttpPeers.serveStreams(script),
          ({ url }) =>
            HttpPeers.over(client, HttpTransport.make({ url, maxMessageBytes, maxEventBytes: maxMessageBytes }))
        )
    })
    describe(`plain HTTP over ${name}, ${revision.version}`, () => {
      for (const { run, title } of cases) it.live(title, () => run)
    })
  }
}
