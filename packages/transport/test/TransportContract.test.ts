import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Revision } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import { fileURLToPath } from "node:url"
import * as MemoryTransport from "../src/MemoryTransport.ts"
import * as PeerScript from "../src/PeerScript.ts"
import * as StdioTransport from "../src/StdioTransport.ts"
import type { Exchange, Transport } from "../src/Transport.ts"
import * as TransportContract from "../src/TransportContract.ts"

const scriptedPeer = fileURLToPath(new URL("fixtures/peer.mjs", import.meta.url))

const stdio: TransportContract.Harness = {
  revision: Revision.latestModern,
  sharedChannel: true,
  limitsMessages: true,
  make: (script, { maxMessageBytes }) =>
    StdioTransport.make({
      command: process.execPath,
      args: [scriptedPeer, JSON.stringify(script)],
      maxMessageBytes
    }).pipe(Effect.provide(NodeServices.layer))
}

/** A transport in memory, each connection of which has a scripted peer. */
const scriptedInMemory = (script: PeerScript.Script): Transport["Service"] => ({
  kind: "memory",
  target: "memory",
  fingerprint: "memory",
  connect: (inbound) =>
    Effect.gen(function*() {
      const { peer, transport } = yield* MemoryTransport.make()
      const connection = yield* transport.connect(inbound)
      const scripted = PeerScript.run(script, {
        write: (text) => Effect.runSync(peer.send(text)),
        end: () => {},
        disconnect: () => Effect.runSync(peer.close)
      })
      yield* Effect.forkScoped(
        Effect.forever(Effect.map(peer.take, (message) => scripted.receive(JSON.stringify(message))))
      )
      return connection
    })
})

const memory: TransportContract.Harness = {
  revision: Revision.latestLegacy,
  sharedChannel: true,
  limitsMessages: false,
  make: (script) => Effect.sync(() => scriptedInMemory(script))
}

describe("stdio", () => {
  for (const { run, title } of TransportContract.cases(stdio)) it.live(title, () => run)
})

describe("memory", () => {
  for (const { run, title } of TransportContract.cases(memory)) it.live(title, () => run)
})

/** The transport in memory with a fault put in. */
const withFault = (fault: (exchange: Exchange) => Exchange): TransportContract.Harness => ({
  ...memory,
  make: (script) =>
    Effect.sync(() => {
      const transport = scriptedInMemory(script)
      return {
        ...transport,
        connect: (inbound) =>
          Effect.map(transport.connect(inbound), (connection) => ({
            ...connection,
            open: (outgoing, exchange, context) => connection.open(outgoing, fault(exchange), context)
          }))
      }
    })
})

const faults: Record<string, (exchange: Exchange) => Exchange> = {
  "settles twice": (exchange) => ({
    ...exchange,
    onResponse: (response, evidence) => {
      exchange.onResponse(response, evidence)
      exchange.onResponse(response, evidence)
    }
  }),
  "loses messages": (exchange) => ({ ...exchange, onMessage: () => {} }),
  "fails with the wrong delivery": (exchange) => ({
    ...exchange,
    onFailure: (error) => exchange.onFailure(Object.assign(Object.create(error), { delivery: "refused" }))
  }),
  "swallows malformed answers": (exchange) => ({
    ...exchange,
    onResponse: (response, evidence) =>
      exchange.onResponse(
        response.outcome._tag === "Malformed"
          ? { ...response, outcome: { _tag: "Result", result: {} } }
          : response,
        evidence
      )
  })
}

describe("TransportContract", () => {
  for (const [title, fault] of Object.entries(faults)) {
    it.live(`finds a transport that ${title}`, () =>
      Effect.gen(function*() {
        const exits = yield* Effect.forEach(
          TransportContract.cases(withFault(fault)),
          ({ run }) => Effect.exit(Effect.timeout(run, "5 seconds")),
          { concurrency: "unbounded" }
        )
        assert.isTrue(exits.some((exit) => exit._tag === "Failure"))
      }))
  }
})
