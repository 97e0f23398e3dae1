/**
 * What is left in memory of connections that are closed.
 */
import { assert, describe } from "@effect/vitest"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { NodeHttp } from "@mcp-effect/node"
import { Effect, Schedule } from "effect"
import { HttpClient } from "effect/http"
import { Socket } from "node:net"
import { queryObjects } from "node:v8"
import * as Servers from "./http/Servers.ts"

const requests = 40
/** Those that are still being closed, on either side. */
const maxLeft = 8

/** How many sockets anything in this process can still reach. */
const sockets = Effect.sync(() => queryObjects(Socket, { format: "count" }))

/** Makes requests, each over a connection of its own, and sees that none of the connections stays. */
const leavesNothing = (url: string, options: NodeHttp.Options) =>
  Effect.gen(function*() {
    const request = Effect.flatMap(HttpClient.get(url), ({ text }) => text)
    yield* request
    const before = yield* sockets
    yield* Effect.repeat(request, { times: requests })
    yield* Effect.retry(
      Effect.flatMap(sockets, (after) => after - before <= maxLeft ? Effect.void : Effect.fail(after - before)),
      Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: "5 seconds" }))
    )
  }).pipe(Effect.provide(NodeHttp.layer(options)))

describe("Connections that are closed", () => {
  verifiesLive("PAIN-16", "are not held on to", () =>
    Effect.gen(function*() {
      yield* leavesNothing((yield* Servers.serveClosing()).url, { proxy: "none" })
    }))

  verifiesLive(
    ["PAIN-16", "PAIN-26"],
    "are not held on to behind a proxy that passes requests on",
    () =>
      Effect.gen(function*() {
        const proxy = yield* Servers.serveProxy()
        yield* leavesNothing((yield* Servers.serveClosing()).url, { proxy: { http: proxy.url } })
        assert.strictEqual(proxy.hits.length, requests + 2)
      })
  )

  verifiesLive(
    ["PAIN-16", "PAIN-26"],
    "are not held on to behind a proxy that opens tunnels",
    () =>
      Effect.gen(function*() {
        const proxy = yield* Servers.serveProxy()
        const { url } = yield* Servers.serveTls({ clientCertificate: false, closes: true })
        yield* leavesNothing(url, { proxy: { https: proxy.url }, tls: { ca: Servers.pem("authority") } })
        assert.strictEqual(proxy.hits.length, requests + 2)
      })
  )
})
