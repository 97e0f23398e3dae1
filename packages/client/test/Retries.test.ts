import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber, Schedule, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as ClientOptions from "../src/ClientOptions.ts"
import type * as McpClient from "../src/McpClient.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, inTurn } = Scripted
const http = { kind: "streamable-http" }

const failing = (reason: McpError.McpErrorReason, delivery?: McpError.Delivery): Scripted.Handler => (request) =>
  request.fail(reason, delivery)

const busy = (retryAfterMillis?: number) => new McpError.HttpStatus({ status: 503, retryAfterMillis })
const unavailable = failing(busy(), "refused")
const reset = failing(new McpError.ConnectionFailed({ target: "scripted", code: "ECONNRESET", description: "reset" }))

/** Lets time pass in steps, so that what wakes can go on within it. */
const pass = (millis: number, step = 50): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (let passed = 0; passed < millis; passed += step) {
      yield* Scripted.settled
      yield* TestClock.adjust(step)
    }
    yield* Scripted.settled
  })

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tap(Effect.forkScoped(effect, { startImmediately: true }), () => Scripted.settled)

/** The times at which a method was sent, in steps of 50 ms, while a request runs to its end. */
const timesOf = <A>(
  server: Scripted.Server,
  method: string,
  request: Effect.Effect<A, McpError.McpError>
): Effect.Effect<
  { readonly times: ReadonlyArray<number>; readonly exit: Exit.Exit<A, McpError.McpError> },
  never,
  Scope.Scope
> =>
  Effect.gen(function*() {
    const times: Array<number> = []
    const before = server.sentOf(method).length
    const fiber = yield* start(request)
    for (let time = 0; time < 120_000; time += 50) {
      while (before + times.length < server.sentOf(method).length) times.push(time)
      if (fiber.pollUnsafe() !== undefined) break
      yield* pass(50)
    }
    return { times, exit: yield* Fiber.await(fiber) }
  })

describe("A request that only asks", () => {
  verifies(
    ["RTY-01", "RTY-02", "RTY-03"],
    "is sent again three times, after 200 ms, 400 ms and 800 ms with jitter, and then fails with the last failure",
    () =>
      Effect.gen(function*() {
        const requests: ReadonlyArray<
          readonly [string, (client: McpClient.McpClient) => Effect.Effect<unknown, McpError.McpError>]
        > = [
          ["tools/list", (client) => client.listTools()],
          ["prompts/list", (client) => client.listPrompts()],
          ["resources/read", (client) => client.readResource("a:b")],
          ["prompts/get", (client) => client.getPrompt("p")],
          ["completion/complete", (client) =>
            client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "b" } })],
          ["ping", (client) =>
            client.ping()]
        ]
        for (const [method, request] of requests) {
          for (const fail of [unavailable, reset]) {
            const server = yield* Scripted.legacy({ [method]: fail }, http)
            const client = yield* connect(server)
            const { exit, times } = yield* timesOf(server, method, request(client))
            assert.isTrue(Exit.isFailure(exit))
            assert.strictEqual(times.length, 4, method)
            for (const [index, delay] of [200, 400, 800].entries()) {
              const waited = (times[index + 1] ?? 0) - (times[index] ?? 0)
              assert.isAtLeast(waited, delay * 0.8 - 50)
              assert.isAtMost(waited, delay * 1.2 + 50)
            }
            assert.strictEqual(new Set(server.sentOf(method).map(({ id }) => id)).size, 4)
          }
        }
      })
  )

  verifies(["RTY-02", "RTY-05"], "is sent once where the failure does not pass", () =>
    Effect.gen(function*() {
      const failures: ReadonlyArray<Scripted.Handler> = [
        (request) => request.error(-32603, "broken"),
        failing(new McpError.HttpStatus({ status: 400 }), "refused"),
        failing(new McpError.HttpStatus({ status: 408 }), "refused"),
        failing(new McpError.MessageTooLarge({ limit: 1, direction: "received" })),
        failing(new McpError.RequestTimeout({ kind: "idle", millis: 1 })),
        failing(new McpError.StreamIdle({ millis: 1 }))
      ]
      for (const fail of failures) {
        const server = yield* Scripted.modern({ "tools/list": fail }, http)
        const client = yield* connect(server)
        yield* Effect.flip(client.listTools())
        assert.strictEqual(server.sentOf("tools/list").length, 1)
      }
    }))

  verifies(
    ["RTY-01", "RTY-02"],
    "ends with the first success, whatever body HTTP 503 came with",
    () =>
      Effect.gen(function*() {
        const withError: Scripted.Handler = (request) => request.error(-32603, "busy", undefined, 503)
        for (const fail of [unavailable, withError]) {
          const server = yield* Scripted.modern({ "tools/list": inTurn(fail, answer({ tools: [] })) }, http)
          const client = yield* connect(server)
          const { exit, times } = yield* timesOf(server, "tools/list", client.listTools())
          assert.deepStrictEqual(exit, Exit.succeed([]))
          assert.strictEqual(times.length, 2)
        }
      })
  )

  verifies(
    ["RTY-11", "TMO-05"],
    "is not waited for beyond its deadline: the failure is told at once",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "tools/list": unavailable }, http)
        const client = yield* connect(server)
        const { exit, times } = yield* timesOf(server, "tools/list", client.listTools({ deadline: "500 millis" }))
        assert.strictEqual(times.length, 2)
        const error = yield* Effect.flip(exit)
        assert.strictEqual(error.reason._tag, "HttpStatus")
        // One deadline covers what is sent in its place, too.
        const silent = yield* Scripted.modern({ "tools/list": inTurn(unavailable, Scripted.never) }, http)
        const patient = yield* connect(silent)
        const list = yield* start(patient.listTools({ deadline: "2 seconds" }))
        yield* pass(1_950)
        assert.isUndefined(list.pollUnsafe())
        yield* pass(100)
        assert.deepInclude((yield* Effect.flip(Fiber.join(list))).reason, { _tag: "RequestTimeout", kind: "deadline" })
      })
  )

  verifies("PAIN-30", "waits as long as `Retry-After` asks, up to a minute", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/list": inTurn(failing(busy(3_000), "refused"), answer({ tools: [] }))
      }, http)
      const client = yield* connect(server)
      const { times } = yield* timesOf(server, "tools/list", client.listTools())
      assert.strictEqual(times.length, 2)
      assert.isAtLeast(times[1] ?? 0, 2_950)
      assert.isAtMost(times[1] ?? 0, 3_100)
      const closed = yield* Scripted.modern({ "tools/list": failing(busy(61_000), "refused") }, http)
      const error = yield* Effect.flip((yield* connect(closed)).listTools())
      assert.isTrue(error.reason._tag === "HttpStatus" && error.reason.retryAfterMillis === 61_000)
    }))

  verifies(["RTY-11", "TMO-10"], "can be interrupted and cancelled while it waits", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": failing(busy(30_000), "refused") }, http)
      const client = yield* connect(server)
      const interrupted = yield* start(client.listTools())
      yield* Fiber.interrupt(interrupted)
      const controller = new AbortController()
      const aborted = yield* start(client.listTools({ signal: controller.signal }))
      controller.abort("enough")
      const error = yield* Effect.flip(Fiber.join(aborted))
      assert.deepInclude(error.reason, { _tag: "Cancelled", reason: "enough" })
      assert.strictEqual(error.delivery, "refused")
      const cancelled = yield* start(client.listTools({ requestId: "mine" }))
      yield* client.cancel("mine", "no more")
      assert.deepInclude((yield* Effect.flip(Fiber.join(cancelled))).reason, { _tag: "Cancelled", reason: "no more" })
      yield* pass(60_000, 1_000)
      assert.strictEqual(server.sentOf("tools/list").length, 3)
    }))

  verifies("RTY-11", "is one request to `around`, which may repeat it as well", () =>
    Effect.gen(function*() {
      let seen = 0
      const server = yield* Scripted.modern({ "tools/list": inTurn(unavailable, answer({ tools: [] })) }, http)
      const client = yield* connect(server, {
        around: (request, proceed) => {
          seen++
          return proceed(request.params)
        }
      })
      yield* timesOf(server, "tools/list", client.listTools())
      assert.strictEqual(seen, 1)
      assert.strictEqual(server.sentOf("tools/list").length, 2)
      const refusing = yield* Scripted.modern({
        "tools/call": inTurn(unavailable, answer({ content: [] })),
        "tools/list": answer({ tools: [] })
      }, http)
      const repeating = yield* connect(refusing, {
        around: (request, proceed) => Effect.retry(proceed(request.params), { times: 1 })
      })
      yield* repeating.callTool("work")
      assert.strictEqual(refusing.sentOf("tools/call").length, 2)
    }))
})

describe("A schedule", () => {
  const once = Schedule.recurs(1)

  verifies(
    "RTY-01",
    "is given for a client, a region or a request, the nearest first, and zero turns retries off",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "tools/list": unavailable }, http)
        const client = yield* connect(server, { retry: Schedule.recurs(4) })
        const count = Effect.fnUntraced(function*(request: Effect.Effect<unknown, McpError.McpError>) {
          const before = server.sentOf("tools/list").length
          yield* Effect.flip(request)
          return server.sentOf("tools/list").length - before
        })
        assert.strictEqual(yield* count(client.listTools()), 5)
        const region = Effect.provideService(ClientOptions.RetrySchedule, Schedule.recurs(2))
        assert.strictEqual(yield* count(region(client.listTools())), 3)
        assert.strictEqual(yield* count(region(client.listTools({ retry: once }))), 2)
        assert.strictEqual(yield* count(client.listTools({ retry: Schedule.recurs(0) })), 1)
      })
  )

  verifies(
    ["RTY-04", "RTY-08"],
    "repeats a call that the server refused, and none that may have run",
    () =>
      Effect.gen(function*() {
        const cases: ReadonlyArray<readonly [Scripted.Handler, string, sends: number]> = [
          [unavailable, "HttpStatus", 3],
          [failing(new McpError.HttpStatus({ status: 500 })), "HttpStatus", 1],
          [reset, "AmbiguousDelivery", 1],
          [(request) => request.error(-32603, "broken"), "ServerError", 1]
        ]
        for (const [fail, tag, sends] of cases) {
          for (const retry of [undefined, Schedule.recurs(2)]) {
            const server = yield* Scripted.legacy({ "tools/call": fail }, http)
            const client = yield* connect(server)
            const error = yield* Effect.flip(client.callTool("work", {}, { retry }))
            assert.strictEqual(error.reason._tag, tag)
            assert.strictEqual(server.sentOf("tools/call").length, retry === undefined ? 1 : sends)
          }
        }
      })
  )

  verifies("RTY-04", "of the caller's repeats a connection that could not be had", () =>
    Effect.gen(function*() {
      let refusals = 3
      const server = yield* Scripted.legacy({ "tools/call": answer({ content: [] }) }, {
        connect: () =>
          refusals-- > 0
            ? Effect.fail(McpError.make(new McpError.ConnectionClosed({ target: "srv", local: false }), "unsent"))
            : Effect.void
      })
      const client = yield* connect(server, { lazy: true })
      assert.strictEqual((yield* Effect.flip(client.callTool("work"))).reason._tag, "ConnectionClosed")
      const call = yield* start(client.callTool("work", {}, { retry: Schedule.recurs(5) }))
      yield* pass(3_000)
      assert.deepStrictEqual((yield* Fiber.join(call)).content, [])
      assert.strictEqual(server.links.length, 4)
    }))
})

describe("Connecting over HTTP", () => {
  verifies(
    "PAIN-30",
    "outlives one 503 or reset of the probe, the handshake and what follows it",
    () =>
      Effect.gen(function*() {
        const discovered = answer(Scripted.discovery())
        const shaken = answer(Scripted.initialization("2025-11-25"))
        for (const fail of [unavailable, reset, failing(busy(1_000), "refused")]) {
          for (
            const handlers of [
              { "server/discover": inTurn(fail, discovered) },
              { initialize: inTurn(fail, shaken) }
            ] as ReadonlyArray<Scripted.Handlers>
          ) {
            const server = yield* Scripted.make(handlers, http)
            const connecting = yield* start(connect(server))
            yield* pass(1_500)
            assert.strictEqual(server.links.length, 1)
            assert.strictEqual((yield* (yield* Fiber.join(connecting)).server).generation, 1)
          }
        }
      })
  )

  verifies(
    "PAIN-30",
    "fails with what the server says for good, and with what does not pass at once",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "server/discover": unavailable }, http)
        const connecting = yield* start(Effect.flip(connect(server)))
        yield* pass(2_000)
        assert.deepInclude((yield* Fiber.join(connecting)).reason, { _tag: "HttpStatus", status: 503 })
        assert.strictEqual(server.sentOf("server/discover").length, 4)
        const forbidden = yield* Scripted.modern({
          "server/discover": failing(new McpError.Unauthorized({ challenges: [] }), "refused")
        }, http)
        assert.strictEqual((yield* Effect.flip(connect(forbidden))).reason._tag, "Unauthorized")
        assert.strictEqual(forbidden.sentOf("server/discover").length, 1)
      })
  )
})
