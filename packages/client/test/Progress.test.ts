import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import type { Progress } from "@mcp-effect/protocol"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, never } = Scripted
const done = { content: [] }

/** Keeps the progress it hears of. */
const listen = () => {
  const heard: Array<Progress.ProgressNotificationParams> = []
  return {
    heard,
    onProgress: (progress: Progress.ProgressNotificationParams) => Effect.sync(() => void heard.push(progress))
  }
}

const kinds = ["memory", "stdio", "streamable-http"]

describe("Progress", () => {
  verifies(
    "PRG-01",
    "reaches the callback of its call, with total and message, while the call is active",
    () =>
      Effect.gen(function*() {
        for (const kind of kinds) {
          const server = yield* Scripted.modern({ "tools/call": never }, { kind })
          const client = yield* connect(server)
          const first = listen()
          const second = listen()
          const one = yield* Effect.forkScoped(client.callTool("a", {}, first))
          const two = yield* Effect.forkScoped(client.callTool("b", {}, second))
          const a = yield* server.take("tools/call")
          const b = yield* server.take("tools/call")
          assert.notStrictEqual(a.meta["progressToken"], b.meta["progressToken"])
          a.progress(1, { total: 4, message: "one" })
          b.progress(0.5)
          a.progress(2, { total: 4 })
          yield* Scripted.settled
          assert.deepStrictEqual(first.heard, [
            { progressToken: a.id, progress: 1, total: 4, message: "one" },
            { progressToken: a.id, progress: 2, total: 4 }
          ])
          assert.deepStrictEqual(second.heard.map(({ progress }) => progress), [0.5])
          a.result(done)
          b.result(done)
          yield* Fiber.join(one)
          yield* Fiber.join(two)
        }
      })
  )

  verifies(
    ["PRG-01", "PAIN-1"],
    "a token always goes out, also where nobody listens, and on every kind of request",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          ping: answer({}),
          "tools/list": answer({ tools: [] }),
          "tools/call": answer(done),
          "prompts/get": answer({ messages: [] })
        })
        const client = yield* connect(server)
        yield* client.ping()
        yield* client.getPrompt("p")
        yield* client.callTool("work")
        yield* client.listTools()
        const tokens = server.sent.filter(({ id }) => id !== undefined).map(({ meta }) => meta["progressToken"])
        assert.strictEqual(tokens.length, 6)
        assert.strictEqual(new Set(tokens).size, 6)
        assert.notInclude(tokens, undefined)
      })
  )

  verifies(
    "PAIN-2",
    "that arrives together with the response is delivered, in order, before the call returns",
    () =>
      Effect.gen(function*() {
        for (const kind of kinds) {
          const server = yield* Scripted.modern({
            "tools/call": (request) => {
              for (const progress of [1, 2, 3]) request.progress(progress)
              request.result(done)
            }
          }, { kind })
          const client = yield* connect(server)
          const { heard, onProgress } = listen()
          yield* client.callTool("work", {}, { onProgress })
          assert.deepStrictEqual(heard.map(({ progress }) => progress), [1, 2, 3])
        }
      })
  )

  verifies(
    "PAIN-2",
    "that is slow to be taken in is delivered one by one, and the call waits for it",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/call": (request) => {
            for (const progress of [1, 2, 3]) request.progress(progress)
            request.result(done)
          }
        })
        const client = yield* connect(server)
        const steps: Array<string> = []
        const call = yield* Effect.forkScoped(
          client.callTool("work", {}, {
            onProgress: ({ progress }) =>
              Effect.sync(() => steps.push(`begin ${progress}`)).pipe(
                Effect.andThen(Effect.sleep(`${4 - progress} seconds`)),
                Effect.andThen(Effect.sync(() => void steps.push(`end ${progress}`)))
              )
          }).pipe(Effect.tap(() => Effect.sync(() => steps.push("returned"))))
        )
        yield* TestClock.adjust("5 seconds")
        assert.isUndefined(call.pollUnsafe())
        yield* TestClock.adjust("1 seconds")
        yield* Fiber.join(call)
        assert.deepStrictEqual(steps, ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3", "returned"])
      })
  )

  verifies("PAIN-2", "is delivered before the call returns in a batch of 2025-03-26 too", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({ "tools/call": never }, { version: "2025-03-26" })
      const client = yield* connect(server)
      const { heard, onProgress } = listen()
      const call = yield* Effect.forkScoped(client.callTool("work", {}, { onProgress }))
      const { connection, id } = yield* server.take("tools/call")
      const progress = (progress: number) => ({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: id, progress }
      })
      connection.text(JSON.stringify([progress(1), progress(2), { jsonrpc: "2.0", id, result: done }]))
      yield* Fiber.join(call)
      assert.deepStrictEqual(heard.map(({ progress }) => progress), [1, 2])
    }))

  verifies("PRG-02", "for a call that is over is dropped, however it ended", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/call": never })
      const client = yield* connect(server)
      const notifications = yield* collect(client.notifications)
      const { heard, onProgress } = listen()
      const call = yield* Effect.forkScoped(client.callTool("work", {}, { onProgress }))
      const answered = yield* server.take("tools/call")
      answered.result(done)
      answered.progress(1)
      yield* Fiber.join(call)
      answered.progress(2)
      const cancelled = yield* Effect.forkScoped(client.callTool("work", {}, { onProgress }))
      const request = yield* server.take("tools/call")
      yield* Fiber.interrupt(cancelled)
      request.progress(3)
      yield* Scripted.settled
      assert.deepStrictEqual(heard, [])
      assert.deepStrictEqual(notifications, [])
    }))

  verifies(
    ["PRG-02", "TMO-15"],
    "that still waits for its callback is dropped when the call ends without an answer",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/call": (request) => {
            for (const progress of [1, 2, 3]) request.progress(progress)
          }
        })
        const client = yield* connect(server)
        const gate = yield* Deferred.make<void>()
        const heard: Array<number> = []
        const call = yield* Effect.forkScoped(client.callTool("work", {}, {
          idleTimeout: "5 seconds",
          onProgress: ({ progress }) => Effect.andThen(Effect.sync(() => heard.push(progress)), Deferred.await(gate))
        }))
        yield* server.take("tools/call")
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual((yield* Effect.flip(Fiber.join(call))).reason._tag, "RequestTimeout")
        yield* Deferred.succeed(gate, undefined)
        yield* Scripted.settled
        assert.deepStrictEqual(heard, [1])
      })
  )

  verifies(
    ["PAIN-2", "TMO-05"],
    "whose callback never ends holds the result back no longer than the deadline",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/call": (request) => {
            request.progress(1)
            request.result(done)
          }
        })
        const client = yield* connect(server)
        const call = yield* Effect.forkScoped(
          client.callTool("work", {}, { deadline: "20 seconds", onProgress: () => Effect.never })
        )
        yield* server.take("tools/call")
        yield* TestClock.adjust("19 seconds")
        assert.isUndefined(call.pollUnsafe())
        yield* TestClock.adjust("1 seconds")
        assert.deepStrictEqual((yield* Fiber.join(call)) as unknown, done)
      })
  )

  verifies(
    "PRG-03",
    "a token that the host chose replaces ours, and its progress reaches the callback",
    () =>
      Effect.gen(function*() {
        for (const kind of kinds) {
          for (const token of ["mine", 4711]) {
            const server = yield* Scripted.modern({ "tools/call": never }, { kind })
            const client = yield* connect(server)
            const { heard, onProgress } = listen()
            const call = yield* Effect.forkScoped(
              client.callTool("work", {}, { meta: { progressToken: token }, onProgress, idleTimeout: "10 seconds" })
            )
            const request = yield* server.take("tools/call")
            assert.strictEqual(request.meta["progressToken"], token)
            assert.notStrictEqual(request.id, token)
            for (let second = 0; second < 4; second++) {
              yield* TestClock.adjust("8 seconds")
              request.progress(second)
            }
            request.result(done)
            yield* Fiber.join(call)
            assert.deepStrictEqual(heard.map(({ progress }) => progress), [0, 1, 2, 3])
          }
        }
      })
  )

  verifies(
    "PRG-04",
    "a callback that fails leaves the call alone and is told as a diagnostic",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/call": (request) => {
            for (const progress of [1, 2, 3]) request.progress(progress)
            request.result(done)
          }
        })
        const client = yield* connect(server)
        const diagnostics = yield* collect(client.diagnostics)
        const heard: Array<number> = []
        const result = yield* client.callTool("work", {}, {
          meta: { own: true },
          onProgress: ({ progress }) => {
            heard.push(progress)
            if (progress === 1) throw new Error("thrown")
            return progress === 2 ? Effect.die(new Error("died")) : Effect.void
          }
        })
        assert.deepStrictEqual(result as unknown, done)
        assert.deepStrictEqual(heard, [1, 2, 3])
        yield* Scripted.settled
        assert.deepStrictEqual(diagnostics, [
          { _tag: "CallbackFailed", callback: "onProgress", method: "tools/call" },
          { _tag: "CallbackFailed", callback: "onProgress", method: "tools/call" }
        ])
        assert.strictEqual(server.sentOf("tools/call")[0]?.meta["own"], true)
      })
  )

  verifies("PRG-01", "that is malformed, or under another token, reaches nobody", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/call": never })
      const client = yield* connect(server)
      const { heard, onProgress } = listen()
      const call = yield* Effect.forkScoped(client.callTool("work", {}, { onProgress, requestId: 7 }))
      const request = yield* server.take("tools/call")
      const tell = (params: Record<string, unknown>) => request.notify("notifications/progress", params)
      tell({ progressToken: 7, progress: "half" })
      tell({ progressToken: "7", progress: 1 })
      tell({ progressToken: 8, progress: 1 })
      tell({ progress: 1 })
      request.result(done)
      yield* Fiber.join(call)
      assert.deepStrictEqual(heard, [])
    }))

  verifies("PRG-01", "a callback runs with the services of who makes the call", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/call": (request) => {
          request.progress(1)
          request.result(done)
        }
      })
      const client = yield* connect(server)
      let seen: number | undefined
      const call = client.callTool("work", {}, {
        onProgress: () => Effect.map(Effect.clockWith((clock) => clock.currentTimeMillis), (now) => void (seen = now))
      })
      yield* TestClock.adjust("42 seconds")
      yield* call
      assert.strictEqual(seen, 42_000)
    }))
})
