import { assert, describe } from "@effect/vitest"
import type { ClientOptions } from "@mcp-effect/client"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import { McpError } from "@mcp-effect/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as FaultProxy from "../src/http/FaultProxy.ts"
import * as RealServers from "../src/RealServers.ts"

const timeoutMillis = 120_000

/** `server-everything`, which stores its events, behind a proxy. */
const behindProxy = Effect.flatMap(RealServers.everythingHttp, ({ url }) => FaultProxy.make(url))

/** A call under way that has reported progress once, as it does every 0.3 seconds. */
const begun = Effect.fnUntraced(function*(
  proxy: FaultProxy.FaultProxy,
  steps: number,
  options: ClientOptions.ClientOptions = {}
) {
  const client = yield* Connect.connect(proxy.url, options)
  const heard = yield* Deferred.make<void>()
  const call = yield* Effect.forkScoped(
    client.callTool("trigger-long-running-operation", { duration: steps * 0.3, steps }, {
      onProgress: () => Effect.asVoid(Deferred.succeed(heard, undefined))
    })
  )
  yield* Deferred.await(heard)
  return call
})

describe("HTTP: server-everything behind a proxy", () => {
  for (const how of ["reset", "end"] as const) {
    verifiesLive(
      ["RES-01", "RES-03", "PAIN-11"],
      `answers a call although its connection breaks meanwhile (${how})`,
      Effect.fnUntraced(function*() {
        const proxy = yield* behindProxy
        // The server keeps what it says while nobody listens, for 0.7 of the 1 second that is waited.
        const call = yield* begun(proxy, 2)
        const before = proxy.connections()
        yield* proxy.cut(how)
        const { content } = yield* Fiber.join(call)
        assert.deepStrictEqual(content, [
          { type: "text", text: "Long running operation completed. Duration: 0.6 seconds, Steps: 2." }
        ])
        assert.isAbove(proxy.connections(), before)
      }),
      timeoutMillis
    )
  }

  verifiesLive(
    ["RES-05", "RES-11"],
    "that cannot be reached any more fails the call after two attempts",
    Effect.fnUntraced(function*() {
      const proxy = yield* behindProxy
      const call = yield* begun(proxy, 200)
      const before = proxy.connections()
      yield* proxy.refusing
      yield* proxy.cut()
      const error = yield* Effect.flip(Fiber.join(call))
      assert(error.reason._tag === "AmbiguousDelivery" && McpError.isMcpError(error.reason.cause))
      const { reason } = error.reason.cause
      assert(reason._tag === "StreamEnded")
      assert.isTrue(reason.resumable)
      assert.strictEqual(error.delivery, "unknown")
      assert.strictEqual(proxy.connections(), before + 2)
    }),
    timeoutMillis
  )

  verifiesLive(
    "PAIN-19",
    "whose connection is dead without a word fails the call when the idle timeout is over",
    Effect.fnUntraced(function*() {
      const proxy = yield* behindProxy
      const call = yield* begun(proxy, 200, { idleTimeout: "500 millis" })
      yield* proxy.stalled
      const error = yield* Effect.flip(Fiber.join(call))
      assert(error.reason._tag === "StreamIdle")
      assert.strictEqual(error.reason.millis, 500)
    }),
    timeoutMillis
  )

  verifiesLive(
    ["SDK-04", "SHT-25"],
    "is listened to again after the standby stream broke",
    Effect.fnUntraced(function*() {
      const proxy = yield* behindProxy
      yield* proxy.delay(5)
      const client = yield* Effect.provide(Connect.connect(proxy.url, { forwardLogs: false }), Logger.layer([]))
      const notifications = yield* client.subscribeNotifications
      yield* proxy.cut()
      // What requests share is broken, too, which the first of them finds out.
      yield* Effect.retry(client.listTools(), { times: 3 })
      yield* client.callTool("toggle-simulated-logging")
      const message = yield* Stream.runHead(
        Stream.filter(notifications, ({ method }) => method === "notifications/message")
      )
      assert.strictEqual(message._tag, "Some")
    }),
    timeoutMillis
  )
})
