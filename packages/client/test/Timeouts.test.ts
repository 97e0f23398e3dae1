import { assert, describe } from "@effect/vitest"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import type { McpError } from "@mcp-effect/protocol"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Deadline, IdleTimeout, type RequestOptions } from "../src/ClientOptions.ts"
import { Deadlines } from "../src/internal/Deadlines.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, never } = Scripted
const silent: Scripted.Handlers = { "tools/call": never, "tools/list": never }
const done = { content: [] }
const http = { kind: "streamable-http" }
// A call over HTTP reads the list first.
const listed: Scripted.Handlers = {
  ...silent,
  "tools/list": answer({ tools: [{ name: "work", inputSchema: { type: "object" } }] })
}

const isTimeout = (error: McpError.McpError, kind: "idle" | "deadline", millis: number): boolean =>
  error.reason._tag === "RequestTimeout" && error.reason.kind === kind && error.reason.millis === millis

/** A call under way, and how it ends. */
const start = Effect.fnUntraced(function*(options?: RequestOptions, transport?: Scripted.Options) {
  const server = yield* Scripted.modern(transport?.kind === http.kind ? listed : silent, transport)
  const client = yield* connect(server)
  const call = yield* Effect.forkScoped(client.callTool("work", {}, options))
  const request = yield* server.take("tools/call")
  return { server, client, call, request, error: Effect.flip(Fiber.join(call)) }
})

describe("The idle timeout", () => {
  verifies(
    ["TMO-01", "STD-02", "PAIN-3"],
    "is 60 seconds, or what the client, the region or the call says",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(silent)
        const plain = yield* connect(server)
        const patient = yield* connect(server, { idleTimeout: "3 minutes" })
        const cases = [
          [plain.callTool("work"), 60_000],
          [patient.callTool("work"), 180_000],
          [Effect.provideService(patient.callTool("work"), IdleTimeout, "2 minutes"), 120_000],
          [
            Effect.provideService(patient.callTool("work", {}, { idleTimeout: "5 seconds" }), IdleTimeout, "2 minutes"),
            5_000
          ]
        ] as const
        for (const [call, millis] of cases) {
          const running = yield* Effect.forkScoped(call)
          yield* server.take("tools/call")
          yield* TestClock.adjust(millis - 1)
          assert.isUndefined(running.pollUnsafe())
          yield* TestClock.adjust(1)
          assert.isTrue(isTimeout(yield* Effect.flip(Fiber.join(running)), "idle", millis))
        }
      })
  )

  verifies(
    ["PAIN-1", "TMO-05"],
    "starts anew with each progress, whether anybody listens or not",
    () =>
      Effect.gen(function*() {
        for (const kind of ["memory", "streamable-http"]) {
          const { call, request } = yield* start({ idleTimeout: "1 second" }, { kind })
          for (let tick = 0; tick < 6; tick++) {
            yield* TestClock.adjust("900 millis")
            request.progress(tick)
          }
          assert.isUndefined(call.pollUnsafe())
          request.result(done)
          yield* Fiber.join(call)
        }
      })
  )

  verifies(
    "TMO-05",
    "starts anew with any sign of life of the request's stream, and runs out after the last",
    () =>
      Effect.gen(function*() {
        const { call, error, request } = yield* start({ idleTimeout: "1 second" }, http)
        for (
          const live of [
            () => request.alive(),
            () => request.notify("notifications/message", { level: "info", data: "x" }),
            () => request.notify("notifications/progress", { progressToken: "another", progress: 1 }),
            () => request.alive()
          ]
        ) {
          yield* TestClock.adjust("900 millis")
          live()
        }
        yield* TestClock.adjust("999 millis")
        assert.isUndefined(call.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.isTrue(isTimeout(yield* error, "idle", 1_000))
      })
  )

  verifies(
    "TMO-05",
    "gives the time that a transport announces, and takes it back when the wait is over sooner",
    () =>
      Effect.gen(function*() {
        const { call, error, request } = yield* start({ idleTimeout: "1 second" }, http)
        request.alive(30_000)
        yield* TestClock.adjust("30 seconds")
        assert.isUndefined(call.pollUnsafe())
        request.alive(30_000)
        request.alive()
        yield* TestClock.adjust("999 millis")
        assert.isUndefined(call.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.isTrue(isTimeout(yield* error, "idle", 1_000))
      })
  )

  verifies(
    "PAIN-3",
    "is paused without end while a person acts, and the deadline is not",
    () =>
      Effect.gen(function*() {
        const held = yield* start({ idleTimeout: "1 second" }, http)
        held.request.alive(Infinity)
        yield* TestClock.adjust("5 minutes")
        assert.isUndefined(held.call.pollUnsafe())
        held.request.alive()
        yield* TestClock.adjust("1 second")
        assert.isTrue(isTimeout(yield* held.error, "idle", 1_000))

        const late = yield* start({ idleTimeout: "1 second", deadline: "1 minute" }, http)
        late.request.alive(Infinity)
        yield* TestClock.adjust("1 minute")
        assert.isTrue(isTimeout(yield* late.error, "deadline", 60_000))
      })
  )

  verifies("TMO-05", "of one request does not start anew with what is heard of another", () =>
    Effect.gen(function*() {
      const { client, error, server } = yield* start({ idleTimeout: "1 second" })
      const other = yield* Effect.forkScoped(client.listTools())
      const list = yield* server.take("tools/list")
      yield* TestClock.adjust("900 millis")
      list.progress(1)
      yield* TestClock.adjust("100 millis")
      assert.isTrue(isTimeout(yield* error, "idle", 1_000))
      assert.isUndefined(other.pollUnsafe())
    }))
})

describe("The total deadline", () => {
  verifies(
    ["TMO-01", "STD-02", "PAIN-3"],
    "is 10 minutes, or what the client, the region or the call says",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(silent)
        const plain = yield* connect(server, { idleTimeout: "1 hour" })
        const quick = yield* connect(server, { deadline: "30 seconds" })
        const cases = [
          [plain.callTool("work"), 600_000],
          [quick.callTool("work"), 30_000],
          [Effect.provideService(quick.callTool("work"), Deadline, "20 seconds"), 20_000],
          [Effect.provideService(quick.callTool("work", {}, { deadline: "7 seconds" }), Deadline, "20 seconds"), 7_000]
        ] as const
        for (const [call, millis] of cases) {
          const running = yield* Effect.forkScoped(call)
          yield* server.take("tools/call")
          yield* TestClock.adjust(millis - 1)
          assert.isUndefined(running.pollUnsafe())
          yield* TestClock.adjust(1)
          assert.isTrue(isTimeout(yield* Effect.flip(Fiber.join(running)), "deadline", millis))
        }
      })
  )

  verifies("TMO-05", "holds whatever progress and signs of life come", () =>
    Effect.gen(function*() {
      const { call, error, request } = yield* start({ idleTimeout: "2 seconds", deadline: "10 seconds" }, http)
      for (let second = 1; second < 10; second++) {
        yield* TestClock.adjust("1 second")
        request.progress(second)
        request.alive(second * 1_000)
      }
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isTrue(isTimeout(yield* error, "deadline", 10_000))
    }))

  verifies("TMO-05", "covers the repeat of a request that the server wants once more", () =>
    Effect.gen(function*() {
      const { call, error, request, server } = yield* start({ deadline: "10 seconds" })
      yield* TestClock.adjust("8 seconds")
      request.error(-32022, "again", { supported: ["2026-07-28"], requested: "2026-07-28" })
      yield* server.until(() => server.sentOf("tools/call").length === 2)
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.isTrue(isTimeout(yield* error, "deadline", 10_000))
    }))

  verifies("TMO-05", "that is over already sends nothing", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(silent)
      const client = yield* connect(server)
      const error = yield* Effect.flip(client.callTool("work", {}, { deadline: 0 }))
      assert.isTrue(isTimeout(error, "deadline", 0))
      assert.strictEqual(error.delivery, "unsent")
      assert.strictEqual(server.sentOf("tools/call").length, 0)
    }))
})

describe("A timeout", () => {
  verifies(
    ["TMO-02", "STD-17", "ERR-06"],
    "fails the call, tells the server why, and sends nothing again",
    () =>
      Effect.gen(function*() {
        for (const make of [Scripted.modern, Scripted.legacy]) {
          const server = yield* make(silent)
          const client = yield* connect(server)
          const call = yield* Effect.forkScoped(client.callTool("work", {}, { idleTimeout: "5 seconds" }))
          const request = yield* server.take("tools/call")
          yield* TestClock.adjust("5 seconds")
          const error = yield* Effect.flip(Fiber.join(call))
          assert.strictEqual(error.delivery, "unknown")
          assert.isFalse(error.isRetryable)
          assert.strictEqual(error.method, "tools/call")
          yield* server.until(() => server.sentOf("notifications/cancelled").length === 1)
          const { params } = server.sentOf("notifications/cancelled")[0] ?? {}
          assert.strictEqual(params?.["requestId"], request.id)
          assert.strictEqual(params?.["reason"], "Request timed out")
          request.result(done)
          yield* TestClock.adjust("1 hour")
          assert.strictEqual(server.sentOf("tools/call").length, 1)
          assert.strictEqual(server.sentOf("notifications/cancelled").length, 1)
        }
      })
  )

  verifies(
    ["TMO-02", "TMO-04"],
    "closes the stream of a modern request over HTTP, and sends no notification",
    () =>
      Effect.gen(function*() {
        const { error, request, server } = yield* start({ idleTimeout: "5 seconds" }, http)
        yield* TestClock.adjust("5 seconds")
        yield* error
        assert.deepStrictEqual(server.streamsClosed, [request.id])
        assert.strictEqual(server.sentOf("notifications/cancelled").length, 0)
      })
  )

  verifies("TMO-02", "of a request that only asks may be repeated by who made it", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(silent)
      const client = yield* connect(server)
      const list = yield* Effect.forkScoped(client.listTools({ idleTimeout: "5 seconds" }))
      yield* server.take("tools/list")
      yield* TestClock.adjust("5 seconds")
      assert.isTrue((yield* Effect.flip(Fiber.join(list))).isRetryable)
    }))

  verifies("TMO-02", "hits each of many requests at its own time", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(silent)
      const client = yield* connect(server)
      const ended: Array<number> = []
      const seconds = [7, 3, 9, 1, 5, 3]
      yield* Effect.forEach(seconds, (second) =>
        Effect.forkScoped(
          Effect.andThen(
            Effect.flip(client.callTool("work", {}, { idleTimeout: second * 1_000 })),
            Effect.sync(() => ended.push(second))
          )
        ))
      yield* server.until(() => server.sentOf("tools/call").length === seconds.length)
      for (let second = 1; second <= 9; second++) {
        yield* TestClock.adjust("1 second")
        yield* Scripted.settled
        assert.deepStrictEqual(ended, seconds.filter((time) => time <= second).sort())
      }
    }))
})

describe("Very long and infinite times", () => {
  verifies("PAIN-3", "do not run out at once, and a long one runs out in its time", () =>
    Effect.gen(function*() {
      const endless = yield* start({ idleTimeout: Infinity, deadline: Infinity })
      const long = yield* start({ idleTimeout: 2 ** 40, deadline: 2 ** 32 })
      yield* TestClock.adjust(2 ** 31)
      yield* TestClock.adjust(2 ** 31 - 1)
      assert.isUndefined(long.call.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.isTrue(isTimeout(yield* long.error, "deadline", 2 ** 32))
      yield* TestClock.adjust(2 ** 41)
      assert.isUndefined(endless.call.pollUnsafe())
      endless.request.result(done)
      yield* Fiber.join(endless.call)
    }))

  verifiesLive("PAIN-3", "do not overflow a real timer", () =>
    Effect.gen(function*() {
      const times = [2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER, Infinity]
      for (const millis of times) {
        const { call, request } = yield* start({ idleTimeout: millis, deadline: millis })
        // An overflowing timer fires after one millisecond.
        yield* Effect.sleep("20 millis")
        assert.isUndefined(call.pollUnsafe())
        request.result(done)
        yield* Fiber.join(call)
      }
    }))
})

describe("The timer", () => {
  /** A clock that counts who sleeps. */
  const counting = (clock: Clock.Clock) => {
    const sleeping = { count: 0, armed: 0, longest: 0 }
    const counted: Clock.Clock = {
      ...clock,
      sleep: (duration) =>
        Effect.suspend(() => {
          sleeping.count++
          sleeping.armed++
          sleeping.longest = Math.max(sleeping.longest, Duration.toMillis(duration))
          return Effect.ensuring(clock.sleep(duration), Effect.sync(() => void sleeping.count--))
        })
    }
    return { sleeping, counted }
  }

  verifies(
    ["TMO-14", "PAIN-3"],
    "is one for all requests, does not move with progress, and stops when none is left",
    () =>
      Effect.gen(function*() {
        const { counted, sleeping } = counting(yield* Clock.Clock)
        const server = yield* Scripted.modern({ ...silent, "prompts/list": answer({ prompts: [] }) })
        const client = yield* Effect.provideService(connect(server), Clock.Clock, counted)
        yield* Scripted.settled
        const idle = sleeping.count
        const calls = yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => Effect.forkScoped(client.callTool("work"))
        )
        const requests = yield* Effect.forEach(calls, () => server.take("tools/call"))
        assert.strictEqual(sleeping.count, idle + 1)
        const armed = sleeping.armed
        for (const request of requests) for (let progress = 1; progress < 10; progress++) request.progress(progress)
        assert.strictEqual(sleeping.armed, armed)
        for (const request of requests) request.result(done)
        yield* Effect.forEach(calls, (call) => Fiber.join(call))
        yield* Scripted.settled
        assert.strictEqual(sleeping.count, 0)
        yield* client.listPrompts()
        yield* Scripted.settled
        assert.strictEqual(sleeping.count, 0)
      })
  )

  verifies(
    "PAIN-3",
    "sleeps in parts that fit into 31 bits, in which timers count milliseconds",
    () =>
      Effect.gen(function*() {
        const { counted, sleeping } = counting(yield* Clock.Clock)
        const server = yield* Scripted.modern(silent)
        const client = yield* Effect.provideService(connect(server), Clock.Clock, counted)
        yield* Effect.forkScoped(client.callTool("work", {}, { idleTimeout: 2 ** 40, deadline: 2 ** 40 }))
        yield* server.take("tools/call")
        assert.isAbove(sleeping.longest, 2 ** 30)
        assert.isBelow(sleeping.longest, 2 ** 31)
      })
  )

  verifies(
    "PAIN-3",
    "looks again when what it waited for has moved, and arms nothing for what never runs out",
    () =>
      Effect.gen(function*() {
        const { counted, sleeping } = counting(yield* Clock.Clock)
        const fork = Effect.runForkWith(yield* Effect.context<never>())
        const expired: Array<string> = []
        const entry = (name: string, time: number) => ({
          time,
          expiresAt() {
            return this.time
          },
          expire() {
            expired.push(name)
            entries.delete(this)
          }
        })
        const first = entry("first", 1_000)
        const second = entry("second", 5_000)
        const endless = entry("endless", Infinity)
        const entries = new Set([first, second, endless])
        const deadlines = new Deadlines(counted, entries, fork)
        deadlines.watch(Infinity)
        assert.strictEqual(sleeping.armed, 0)
        deadlines.watch(5_000)
        deadlines.watch(1_000)
        deadlines.watch(3_000)
        assert.strictEqual(sleeping.armed, 2)
        first.time = 4_000
        yield* TestClock.adjust("3999 millis")
        assert.deepStrictEqual(expired, [])
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(expired, ["first"])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(expired, ["first", "second"])
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(sleeping.count, 0)
        deadlines.watch(deadlines.now() + 1)
        deadlines.disarm()
        yield* Scripted.settled
        assert.strictEqual(sleeping.count, 0)
      })
  )
})
