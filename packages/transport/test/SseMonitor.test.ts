import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as SseMonitor from "../src/internal/SseMonitor.ts"

const refused = McpError.make(new McpError.HttpStatus({ status: 500 }), "unknown")

/** Watches a stream whose pings come to what `answer` says; `heard` is a sign of life. */
const watching = (answer: (count: number, heard: () => void) => Effect.Effect<McpError.McpError | undefined>) =>
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    const startedAt = now()
    const pings: Array<number> = []
    let heardAt = startedAt
    const heard = () => {
      heardAt = now()
    }
    const fiber = yield* Effect.forkChild(
      SseMonitor.watch({
        target: "http://127.0.0.1/sse",
        pingMillis: 10_000,
        now,
        heardAt: () => heardAt,
        ping: Effect.suspend(() => {
          pings.push(now() - startedAt)
          return answer(pings.length, heard)
        })
      }),
      { startImmediately: true }
    )
    return { fiber, heard, pings }
  })

const isOver = (fiber: Fiber.Fiber<unknown>): boolean => fiber.pollUnsafe() !== undefined

describe("SseMonitor", () => {
  verifies("SSE-08", "pings after ten seconds of silence, each time", () =>
    Effect.gen(function*() {
      const { fiber, pings } = yield* watching((_count, heard) =>
        Effect.sync(() => {
          heard()
          return undefined
        })
      )
      yield* TestClock.adjust("9999 millis")
      assert.deepStrictEqual(pings, [])
      yield* TestClock.adjust("40001 millis")
      assert.deepStrictEqual(pings, [10_000, 20_000, 30_000, 40_000, 50_000])
      assert.isFalse(isOver(fiber))
    }))

  verifies("SSE-08", "a sign of life puts the next ping off", () =>
    Effect.gen(function*() {
      const { heard, pings } = yield* watching(() => Effect.never)
      for (let index = 0; index < 5; index++) {
        yield* TestClock.adjust("8 seconds")
        heard()
      }
      assert.deepStrictEqual(pings, [])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(pings, [50_000])
    }))

  verifies("SSE-08", "ends after 25 seconds of silence, pings included", () =>
    Effect.gen(function*() {
      const { fiber, pings } = yield* watching(() => Effect.never)
      yield* TestClock.adjust("24999 millis")
      assert.isFalse(isOver(fiber))
      yield* TestClock.adjust("1 millis")
      const reason = yield* Fiber.join(fiber)
      assert.deepStrictEqual(pings, [10_000, 20_000])
      assert.strictEqual(reason._tag, "ConnectionFailed")
      assert.include(reason.message, "silent for 25000 ms")
    }))

  verifies("SSE-08", "ends after three pings in a row that could not be delivered", () =>
    Effect.gen(function*() {
      const { fiber, pings } = yield* watching(() => Effect.succeed(refused))
      yield* TestClock.adjust("11999 millis")
      assert.isFalse(isOver(fiber))
      yield* TestClock.adjust("1 millis")
      const reason = yield* Fiber.join(fiber)
      assert.deepStrictEqual(pings, [10_000, 11_000, 12_000])
      assert.deepInclude(reason, { _tag: "ConnectionFailed", cause: refused })
    }))

  verifies("SSE-08", "an answer in between starts the count of failures anew", () =>
    Effect.gen(function*() {
      const { fiber, pings } = yield* watching((count, heard) => {
        if (count % 3 === 0) heard()
        return Effect.succeed(count % 3 === 0 ? undefined : refused)
      })
      yield* TestClock.adjust("36 seconds")
      assert.deepStrictEqual(pings, [10_000, 11_000, 12_000, 22_000, 23_000, 24_000, 34_000, 35_000, 36_000])
      assert.isFalse(isOver(fiber))
    }))

  verifies(
    "SSE-08",
    "an answer that did not come over the stream does not show that the stream lives",
    () =>
      Effect.gen(function*() {
        const { fiber, pings } = yield* watching(() => Effect.succeed(undefined))
        yield* TestClock.adjust("12 seconds")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "ConnectionFailed")
        assert.deepStrictEqual(pings, [10_000, 11_000, 12_000])
      })
  )
})
