/** Notifications into a subscription whose reader does not come back: what waits for it, and what that weighs. */
import { McpClient } from "@mcp-effect/client"
import { MemoryTransport, Transport } from "@mcp-effect/transport"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

export interface SlowListenerInput {
  readonly notifications: number
  /** The size of each, of which all are about different resources. */
  readonly bytes: number
}

export interface SlowListener {
  /** Growth of the heap, after a collection. */
  readonly heapMegabytes: number
  readonly pending: number
  readonly pendingMegabytes: number
  readonly dropped: number
  readonly microsEach: number
}

const discovery = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: {} }

const meta = (id: unknown) => ({ "io.modelcontextprotocol/subscriptionId": id })

const megabytes = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1_048_576
}

export const slowListener = (input: SlowListenerInput): Promise<SlowListener> =>
  Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    let subscriptionId: unknown
    const { peer, transport } = yield* MemoryTransport.make(({ id, method }, peer) => {
      if (method === "server/discover") return Effect.succeed(discovery)
      subscriptionId = id
      const params = { _meta: meta(id), notifications: { resourceSubscriptions: ["bench:all"] } }
      return Effect.andThen(peer.notify("notifications/subscriptions/acknowledged", params), Effect.never)
    })
    const client = yield* Effect.provideService(
      McpClient.make({ clientInfo: { name: "bench", version: "1.0.0" }, protocol: "modern" }),
      Transport.Transport,
      transport
    )
    const subscription = yield* client.listen({ resourceSubscriptions: ["bench:all"] })
    yield* Effect.forkScoped(Stream.runForEach(subscription.notifications, () => Effect.never), {
      startImmediately: true
    })
    const frame = (index: number, padding: string): string =>
      JSON.stringify({
        jsonrpc: "2.0",
        method: "notifications/resources/updated",
        params: { _meta: meta(subscriptionId), uri: `bench:all/${index}`, padding }
      })
    const padding = "x".repeat(input.bytes)
    const tell = Effect.fnUntraced(function*(from: number, to: number) {
      for (let index = from; index < to; index++) {
        yield* peer.send(frame(index, padding))
        if (index % 100 === 0) yield* Effect.yieldNow
      }
    })
    // What is loaded and compiled once is not counted, nor is the one that the reader is stuck with.
    yield* tell(0, 10)
    const before = megabytes()
    const startedAt = performance.now()
    yield* tell(10, input.notifications)
    const micros = (performance.now() - startedAt) * 1_000
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    const heapMegabytes = megabytes() - before
    return {
      heapMegabytes,
      pending: yield* subscription.pending,
      pendingMegabytes: (yield* subscription.pendingBytes) / 1_048_576,
      dropped: yield* subscription.dropped,
      microsEach: micros / input.notifications
    }
  })))
