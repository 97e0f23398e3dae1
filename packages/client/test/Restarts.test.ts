import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Activity, McpError } from "@mcp-effect/protocol"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type * as McpClient from "../src/McpClient.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, discovery, inTurn, never } = Scripted
const stdio = { kind: "stdio" }
const http = { kind: "streamable-http" }
const lists: Scripted.Handlers = { "tools/list": answer({ tools: [] }) }

const exited = McpError.make(new McpError.ConnectionClosed({ target: "srv", local: false, exitCode: 1 }), "unsent")
const expired: Scripted.Handler = (request) => request.fail(new McpError.SessionExpired({ status: 404 }), "refused")

const stateOf = (client: McpClient.McpClient) =>
  Effect.flatMap(
    Stream.runCollect(Stream.take(client.state, 1)),
    ([state]) => state === undefined ? Effect.die("no state") : Effect.succeed(state)
  )

const failedState = (client: McpClient.McpClient) =>
  Effect.flatMap(stateOf(client), (state) => state._tag === "Failed" ? Effect.succeed(state) : Effect.die(state._tag))

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tap(Effect.forkScoped(effect, { startImmediately: true }), () => Scripted.settled)

const adjust = (duration: number | string) =>
  Effect.andThen(
    Effect.andThen(Scripted.settled, TestClock.adjust(duration as number)),
    Scripted.settled
  )

describe("A process that ends", () => {
  verifies(
    ["STD-13", "STD-15"],
    "is replaced at the next request, and the new one is asked for its era",
    () =>
      Effect.gen(function*() {
        let era = 0
        const server = yield* Scripted.make({
          ...lists,
          "server/discover": (request) => era === 0 ? request.result(discovery()) : request.error(-32601, "unknown"),
          initialize: answer(Scripted.initialization("2025-11-25"))
        }, stdio)
        const client = yield* connect(server)
        assert.strictEqual((yield* client.server).era, "modern")
        era = 1
        server.links[0]?.exit(137)
        yield* Scripted.settled
        assert.strictEqual(server.links.length, 1)
        yield* client.listTools()
        const renewed = yield* client.server
        assert.strictEqual(renewed.era, "legacy")
        assert.strictEqual(renewed.generation, 2)
        assert.deepStrictEqual(
          server.sent.filter(({ connection }) => connection === 1).map(({ method }) => method),
          ["server/discover", "initialize", "notifications/initialized", "tools/list"]
        )
      })
  )

  verifies(
    ["STD-14", "RTY-06", "PAIN-13"],
    "fails the call in flight at once, as one that may have run, and a request that asks goes to the next process",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/call": never,
          "tools/list": inTurn(never, answer({ tools: [] }))
        }, stdio)
        const client = yield* connect(server)
        const call = yield* start(client.callTool("work"))
        const list = yield* start(client.listTools())
        server.links[0]?.exit(137)
        const error = yield* Effect.flip(Fiber.join(call))
        assert.strictEqual(error.reason._tag, "AmbiguousDelivery")
        assert.strictEqual(error.delivery, "unknown")
        yield* adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(list), [])
        assert.strictEqual(server.sentOf("tools/call").length, 1)
        assert.strictEqual(server.links.length, 2)
      })
  )

  verifies(
    "STD-14",
    "before a call has left has it sent to the next one: for the first time",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "tools/call": answer({ content: [] }) }, stdio)
        const client = yield* connect(server)
        // What is sent leaves at the end of the turn, which this one does not see.
        const call = yield* Effect.forkScoped(client.callTool("work"), { startImmediately: true })
        server.links[0]?.exit(1)
        assert.deepStrictEqual((yield* Fiber.join(call)).content, [])
        assert.deepStrictEqual(server.sentOf("tools/call").map(({ connection }) => connection), [1])
      })
  )
})

describe("A server that ends again and again", () => {
  verifies(
    "PAIN-48",
    "is started anew at once, then after half a second, doubling to 30 seconds; after ten times it is left alone",
    () =>
      Effect.gen(function*() {
        let isBroken = true
        const server = yield* Scripted.modern(lists, {
          ...stdio,
          connect: () => isBroken ? Effect.fail(exited) : Effect.void
        })
        const client = yield* connect(server, { lazy: true })
        const delays = [0, 0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
        for (const [index, delay] of delays.entries()) {
          const list = yield* start(Effect.flip(client.listTools()))
          if (delay > 0) {
            yield* adjust(delay - 1)
            assert.strictEqual(server.links.length, index, `too early after ${index} failures`)
            assert.deepInclude(yield* stateOf(client), { _tag: "Renewing", delayMillis: delay })
            yield* adjust(1)
          }
          assert.strictEqual((yield* Fiber.join(list)).reason._tag, "ConnectionClosed")
          assert.strictEqual(server.links.length, index + 1)
          const state = yield* failedState(client)
          assert.strictEqual(state.failures, index + 1)
          assert.strictEqual(state.circuit, index === 9 ? "open" : "closed")
        }
        assert.strictEqual((yield* failedState(client)).retryAfterMillis, 60_000)
        yield* adjust("20 seconds")
        // Nobody waits, and nothing is started.
        const refused = yield* Effect.flip(client.callTool("work"))
        assert.deepInclude(refused.reason, { _tag: "ServerUnavailable", failures: 10, retryAfterMillis: 40_000 })
        assert.strictEqual(refused.delivery, "unsent")
        assert.isTrue(refused.isRetryable)
        const { cause } = refused.reason
        assert.isTrue(McpError.isMcpError(cause) && cause.reason._tag === "ConnectionClosed")
        assert.strictEqual(server.links.length, 10)
        yield* adjust("40 seconds")
        // Half open: one attempt is made, and as it fails, the rest is twice as long.
        assert.strictEqual((yield* Effect.flip(client.listTools())).reason._tag, "ConnectionClosed")
        assert.strictEqual((yield* failedState(client)).retryAfterMillis, 120_000)
        isBroken = false
        assert.strictEqual((yield* Effect.flip(client.listTools())).reason._tag, "ServerUnavailable")
        yield* adjust("2 minutes")
        assert.deepStrictEqual(yield* client.listTools(), [])
        assert.strictEqual((yield* stateOf(client))._tag, "Ready")
        assert.strictEqual(server.links.length, 12)
      })
  )

  verifies("PAIN-48", "is forgiven once a connection has stood for 30 seconds", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(lists, stdio)
      const client = yield* connect(server)
      const lose = (index: number) => Effect.andThen(Effect.sync(() => server.links[index]?.exit(1)), Scripted.settled)
      yield* lose(0)
      yield* client.listTools()
      yield* lose(1)
      assert.deepInclude(yield* failedState(client), { failures: 2, retryAfterMillis: 500 })
      const list = yield* start(client.listTools())
      yield* adjust(500)
      yield* Fiber.join(list)
      yield* adjust("30 seconds")
      yield* lose(2)
      assert.deepInclude(yield* failedState(client), { failures: 0, retryAfterMillis: 0 })
      assert.deepStrictEqual(yield* client.listTools(), [])
    }))

  verifies(
    "STD-21",
    "does not count where waiting mends nothing: that error is told each time, at once",
    () =>
      Effect.gen(function*() {
        const missing = new McpError.SpawnFailed({ command: "srv", searched: [], problem: "not-found" })
        const server = yield* Scripted.modern(lists, {
          ...stdio,
          connect: () => Effect.fail(McpError.make(missing, "unsent"))
        })
        const client = yield* connect(server, { lazy: true })
        for (let time = 0; time < 12; time++) {
          assert.strictEqual((yield* Effect.flip(client.listTools())).reason._tag, "SpawnFailed")
        }
        assert.deepInclude(yield* failedState(client), { failures: 0, circuit: "closed" })
      })
  )
})

describe("A session that an HTTP server has forgotten", () => {
  verifies(
    ["PAIN-12", "SHT-22", "SHT-30", "RTY-06"],
    "is begun anew once for all who notice, and what only asks is sent again",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          "tools/list": (request) => request.connection.index === 0 ? expired(request) : request.result({ tools: [] })
        }, http)
        const client = yield* connect(server)
        const results = yield* Effect.all(Array.from({ length: 10 }, () => client.listTools()), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(results, Array.from({ length: 10 }, () => []))
        assert.strictEqual(server.sentOf("initialize").length, 2)
        assert.strictEqual(server.links.length, 2)
        yield* server.until(() => server.links[0]?.closed === true)
      })
  )

  verifies(["PAIN-12", "SHT-33"], "and forgets again, fails with a typed error", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({ "tools/list": expired }, http)
      const client = yield* connect(server)
      const error = yield* Effect.flip(client.listTools())
      assert.strictEqual(error.reason._tag, "SessionExpired")
      assert.strictEqual(error.delivery, "refused")
      assert.strictEqual(server.sentOf("tools/list").length, 2)
      assert.strictEqual(server.sentOf("initialize").length, 2)
    }))

  verifies(
    ["RTY-06", "SHT-22"],
    "is begun anew for a call, which is not sent again by itself",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ "tools/call": inTurn(expired, answer({ content: [] })) }, http)
        const client = yield* connect(server)
        const error = yield* Effect.flip(client.callTool("work"))
        assert.strictEqual(error.reason._tag, "SessionExpired")
        assert.strictEqual(error.delivery, "refused")
        assert.strictEqual(server.sentOf("tools/call").length, 1)
        yield* Scripted.settled
        assert.strictEqual(server.sentOf("initialize").length, 2)
        assert.strictEqual((yield* stateOf(client))._tag, "Ready")
        yield* client.callTool("work")
        assert.deepStrictEqual(server.sentOf("tools/call").map(({ connection }) => connection), [0, 1])
      })
  )

  verifies("SHT-30", "ends only once what it was accepted for is answered", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({
        "tools/call": never,
        "tools/list": inTurn(expired, answer({ tools: [] }))
      }, http)
      const client = yield* connect(server)
      const call = yield* start(client.callTool("work"))
      const accepted = yield* server.take("tools/call")
      yield* client.listTools()
      yield* Scripted.settled
      assert.isFalse(server.links[0]?.closed)
      accepted.result({ content: [{ type: "text", text: "late" }] })
      assert.strictEqual((yield* Fiber.join(call)).content.length, 1)
      yield* server.until(() => server.links[0]?.closed === true)
    }))

  verifies("RTY-06", "while a call was at work fails it as one that may have run", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({
        "tools/call": (request) => request.fail(new McpError.SessionExpired({ status: 404 }), "unknown")
      }, http)
      const error = yield* Effect.flip((yield* connect(server)).callTool("work"))
      assert.strictEqual(error.reason._tag, "AmbiguousDelivery")
      assert.strictEqual(server.sentOf("tools/call").length, 1)
    }))
})

describe("The time that connecting may take", () => {
  verifies("PAIN-8", "stands still while a person acts, on a request and beside one", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "server/discover": never }, http)
      const connecting = yield* start(
        Effect.flip(connect(server, { connectTimeout: "5 seconds", probeTimeout: "1 hour" }))
      )
      const probe = yield* server.take("server/discover")
      yield* adjust("4 seconds")
      probe.alive(Infinity)
      yield* adjust("1 hour")
      assert.isUndefined(connecting.pollUnsafe())
      probe.alive(0)
      yield* adjust("900 millis")
      assert.isUndefined(connecting.pollUnsafe())
      yield* adjust("200 millis")
      assert.deepInclude((yield* Fiber.join(connecting)).reason, { _tag: "RequestTimeout", kind: "connect" })

      let release: () => void = () => {}
      const opening = yield* Scripted.modern({}, {
        connect: () =>
          Effect.flatMap(Activity.Activity, (activity) =>
            Effect.suspend(() => {
              release = activity.hold()
              return Effect.never
            }))
      })
      const waiting = yield* start(Effect.flip(connect(opening, { connectTimeout: "5 seconds" })))
      yield* adjust("1 hour")
      assert.isUndefined(waiting.pollUnsafe())
      release()
      yield* adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(waiting)).reason._tag, "RequestTimeout")
    }))
})
