import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import type { McpError } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { getEventListeners } from "node:events"
import type { RequestOptions } from "../src/ClientOptions.ts"
import * as McpClient from "../src/McpClient.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, never } = Scripted
const done = { content: [] }
const anything = Schema.Record(Schema.String, Schema.Unknown)

const silent: Scripted.Handlers = Object.fromEntries(
  [
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tools/call",
    "prompts/get",
    "resources/read",
    "completion/complete",
    "logging/setLevel",
    "ping",
    "vendor/raw"
  ].map((method) => [method, never])
)

type Request = (client: McpClient.McpClient, options: RequestOptions) => Effect.Effect<unknown, McpError.McpError>

/** Every way to make a request, with the method that a legacy server sees. */
const requests: ReadonlyArray<readonly [method: string, request: Request]> = [
  ["tools/list", (client, options) => client.listTools(options)],
  ["prompts/list", (client, options) => client.listPrompts(options)],
  ["resources/list", (client, options) => client.listResources(options)],
  ["resources/templates/list", (client, options) => client.listResourceTemplates(options)],
  ["tools/list", (client, options) => Stream.runDrain(client.toolPages(options))],
  ["tools/call", (client, options) => client.callTool("work", {}, options)],
  ["tools/call", (client, options) => Stream.runDrain(client.callToolStream("work", {}, options))],
  ["prompts/get", (client, options) => client.getPrompt("p", {}, options)],
  ["resources/read", (client, options) => client.readResource("a:b", options)],
  [
    "completion/complete",
    (client, options) =>
      client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }, options)
  ],
  ["logging/setLevel", (client, options) => client.setLogLevel("info", options)],
  ["ping", (client, options) => client.ping(options)],
  ["vendor/raw", (client, options) => client.request("vendor/raw", {}, anything, options)]
]

const cancelledReason = (error: McpError.McpError): string | undefined | false =>
  error.reason._tag === "Cancelled" ? error.reason.reason : false

/** What was said of cancelled requests: their ids and the reasons. */
const cancellations = (server: Scripted.Server) =>
  server.sentOf("notifications/cancelled").map(({ content }) => content)

describe("Cancelling by signal", () => {
  verifies(
    ["TMO-06", "TMO-10", "TMO-16", "TMO-19"],
    "works for every request; the reason goes to both sides",
    () =>
      Effect.gen(function*() {
        for (const [method, request] of requests) {
          const server = yield* Scripted.legacy(silent)
          const client = yield* connect(server)
          const controller = new AbortController()
          const running = yield* Effect.forkScoped(request(client, { signal: controller.signal }))
          const { id } = yield* server.take(method)
          controller.abort("enough")
          const error = yield* Effect.flip(Fiber.join(running))
          assert.strictEqual(cancelledReason(error), "enough", method)
          assert.strictEqual(error.method, method)
          assert.strictEqual(error.delivery, "unknown")
          assert.isFalse(error.isRetryable)
          yield* server.until(() => cancellations(server).length === 1)
          assert.deepStrictEqual(cancellations(server), [{ requestId: id, reason: "enough" }])
        }
      })
  )

  verifies("TMO-06", "ends a modern request over HTTP by closing its stream", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "prompts/get": never }, { kind: "streamable-http" })
      const client = yield* connect(server)
      const controller = new AbortController()
      const running = yield* Effect.forkScoped(client.getPrompt("p", {}, { signal: controller.signal }))
      const { id } = yield* server.take("prompts/get")
      controller.abort("enough")
      assert.strictEqual(cancelledReason(yield* Effect.flip(Fiber.join(running))), "enough")
      assert.deepStrictEqual(server.streamsClosed, [id])
      assert.deepStrictEqual(cancellations(server), [])
    }))

  verifies("TMO-07", "that was aborted before fails at once, and nothing is sent", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy(silent)
      const client = yield* connect(server)
      const before = server.sent.length
      for (const [method, request] of requests) {
        const error = yield* Effect.flip(request(client, { signal: AbortSignal.abort("too late") }))
        assert.strictEqual(cancelledReason(error), "too late", method)
        assert.strictEqual(error.delivery, "unsent")
      }
      yield* Scripted.settled
      assert.strictEqual(server.sent.length, before)
    }))

  verifies(["TMO-11", "TMO-16"], "gives a reason only where there is one", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy(silent)
      const client = yield* connect(server)
      const reasons: ReadonlyArray<readonly [given: unknown, expected: string | undefined]> = [
        [undefined, undefined],
        ["words", "words"],
        [new Error("why"), "why"],
        [new DOMException("The operation timed out", "TimeoutError"), "The operation timed out"],
        [{ an: "object" }, undefined],
        [7, undefined]
      ]
      for (const [given, expected] of reasons) {
        const controller = new AbortController()
        const running = yield* Effect.forkScoped(client.ping({ signal: controller.signal }))
        const { id } = yield* server.take("ping")
        controller.abort(given)
        assert.strictEqual(cancelledReason(yield* Effect.flip(Fiber.join(running))), expected)
        yield* server.until(() => cancellations(server).some(({ requestId }) => requestId === id))
        assert.deepStrictEqual(
          cancellations(server).at(-1),
          expected === undefined ? { requestId: id } : { requestId: id, reason: expected }
        )
      }
    }))

  verifies(
    ["TMO-08", "TMO-14"],
    "after the answer does nothing, and a finished request leaves no listener behind",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ ...silent, ping: answer({}) })
        const client = yield* connect(server)
        const controller = new AbortController()
        const { signal } = controller
        for (let call = 0; call < 20; call++) yield* client.ping({ signal })
        const interrupted = yield* Effect.forkScoped(client.listTools({ signal }))
        yield* server.take("tools/list")
        assert.strictEqual(getEventListeners(signal, "abort").length, 1)
        yield* Fiber.interrupt(interrupted)
        const late = yield* Effect.forkScoped(client.listPrompts({ signal, idleTimeout: "1 second" }))
        yield* server.take("prompts/list")
        yield* TestClock.adjust("1 second")
        yield* Effect.flip(Fiber.join(late))
        assert.strictEqual(getEventListeners(signal, "abort").length, 0)
        yield* Scripted.settled
        const before = server.sent.length
        controller.abort("late")
        yield* Scripted.settled
        assert.strictEqual(server.sent.length, before)
      })
  )

  verifies("TMO-14", "and the answer race, and the first one counts", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy(silent)
      const client = yield* connect(server)
      for (const answerFirst of [true, false]) {
        const controller = new AbortController()
        const running = yield* Effect.forkScoped(client.callTool("work", {}, { signal: controller.signal }))
        const request = yield* server.take("tools/call")
        if (answerFirst) request.result(done)
        controller.abort("now")
        if (!answerFirst) request.result(done)
        const exit = yield* Fiber.await(running)
        assert.strictEqual(Exit.isSuccess(exit), answerFirst)
        yield* Scripted.settled
        assert.strictEqual(cancellations(server).length, answerFirst ? 0 : 1)
      }
    }))
})

describe("Cancelling by id", () => {
  verifies(
    ["TMO-09", "TMO-16"],
    "fails the caller and tells the server; the id may have been chosen beforehand",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy(silent)
        const client = yield* connect(server)
        const requestId = yield* McpClient.makeRequestId
        const chosen = yield* Effect.forkScoped(client.callTool("work", {}, { requestId }))
        const counted = yield* Effect.forkScoped(client.callTool("work"))
        assert.strictEqual((yield* server.take("tools/call")).id, requestId)
        const { id } = yield* server.take("tools/call")
        yield* client.cancel(requestId, "not needed")
        yield* client.cancel(id)
        assert.strictEqual(cancelledReason(yield* Effect.flip(Fiber.join(chosen))), "not needed")
        assert.strictEqual(cancelledReason(yield* Effect.flip(Fiber.join(counted))), undefined)
        yield* server.until(() => cancellations(server).length === 2)
        assert.deepStrictEqual(cancellations(server), [{ requestId, reason: "not needed" }, { requestId: id }])
      })
  )

  verifies(
    ["TMO-08", "TMO-09"],
    "what is not under way is left alone, and 1 is not \"1\"",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ ...silent, ping: answer({}) })
        const client = yield* connect(server)
        yield* client.ping({ requestId: "done" })
        const running = yield* Effect.forkScoped(client.callTool("work", {}, { requestId: "100" }))
        const request = yield* server.take("tools/call")
        const before = server.sent.length
        for (const id of ["done", "unknown", 100, -1]) yield* client.cancel(id, "x")
        yield* Scripted.settled
        assert.strictEqual(server.sent.length, before)
        request.result(done)
        yield* Fiber.join(running)
      })
  )

  verifies("TMO-18", "ids are distinct UUIDs, and one that is in use is refused", () =>
    Effect.gen(function*() {
      const ids = yield* Effect.all(Array.from({ length: 100 }, () => McpClient.makeRequestId))
      assert.strictEqual(new Set(ids).size, 100)
      for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)

      const server = yield* Scripted.legacy(silent)
      const client = yield* connect(server)
      const running = yield* Effect.forkScoped(client.callTool("work", {}, { requestId: "mine" }))
      const request = yield* server.take("tools/call")
      const error = yield* Effect.flip(client.ping({ requestId: "mine" }))
      assert.strictEqual(error.reason._tag, "InvalidRequest")
      assert.strictEqual(error.delivery, "unsent")
      assert.strictEqual(server.sentOf("ping").length, 0)
      request.result(done)
      yield* Fiber.join(running)
    }))

  verifies(
    "TMO-18",
    "numbers that the caller chose do not collide with those of the counter",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy(silent)
        const client = yield* connect(server)
        yield* Effect.forkScoped(client.ping())
        const { id } = yield* server.take("ping")
        if (typeof id !== "number") return assert.fail("The counter gives numbers")
        for (const requestId of [id + 1, id + 2]) yield* Effect.forkScoped(client.ping({ requestId }))
        yield* server.until(() => server.sentOf("ping").length === 3)
        yield* Effect.forkScoped(client.ping())
        yield* server.until(() => server.sentOf("ping").length === 4)
        assert.strictEqual(new Set(server.sentOf("ping").map(({ id }) => id)).size, 4)
      })
  )

  verifies("TMO-12", "a notification that can no longer be sent fails clearly", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy(silent)
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(connect(server), scope)
      yield* Scope.close(scope, Exit.void)
      const error = yield* Effect.flip(client.notify("notifications/cancelled", { requestId: 1 }))
      assert.strictEqual(error.reason._tag, "ConnectionClosed")
      assert.strictEqual(error.delivery, "unsent")
    }))
})

describe("Interrupting a call", () => {
  verifies(
    ["TMO-17", "PAIN-6", "TMO-11", "TMO-15"],
    "ends at once, and tells the server once, without a reason",
    () =>
      Effect.gen(function*() {
        for (const make of [Scripted.modern, Scripted.legacy]) {
          const server = yield* make({ ...silent, "tools/call": never })
          const client = yield* connect(server)
          const running = yield* Effect.forkScoped(client.callTool("work"))
          const request = yield* server.take("tools/call")
          yield* Fiber.interrupt(running)
          yield* server.until(() => cancellations(server).length === 1)
          request.result(done)
          yield* Scripted.settled
          assert.deepStrictEqual(cancellations(server), [{ requestId: request.id }])
          assert.strictEqual(server.sentOf("tools/call").length, 1)
        }
      })
  )

  verifies(
    ["TMO-17", "TMO-04", "PAIN-6"],
    "closes the stream of a modern request over HTTP",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(silent, { kind: "streamable-http" })
        const client = yield* connect(server)
        const running = yield* Effect.forkScoped(client.getPrompt("p"))
        const { id } = yield* server.take("prompts/get")
        yield* Fiber.interrupt(running)
        assert.deepStrictEqual(server.streamsClosed, [id])
        yield* Scripted.settled
        assert.deepStrictEqual(cancellations(server), [])
      })
  )

  verifies(["TMO-17", "PAIN-6"], "of a legacy server over HTTP sends the notification", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy(silent, { kind: "streamable-http" })
      const client = yield* connect(server)
      const running = yield* Effect.forkScoped(client.getPrompt("p"))
      const { id } = yield* server.take("prompts/get")
      yield* Fiber.interrupt(running)
      assert.deepStrictEqual(cancellations(server), [{ requestId: id }])
      assert.deepStrictEqual(server.streamsClosed, [])
    }))

  verifies(
    "TMO-13",
    "before the request has left takes it back; the cancel never comes before it",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy(silent)
        const client = yield* connect(server)
        const before = server.sent.length
        const early = yield* Effect.forkScoped(client.callTool("work"), { startImmediately: true })
        early.interruptUnsafe()
        yield* Fiber.await(early)
        yield* Scripted.settled
        assert.strictEqual(server.sent.length, before)

        const late = yield* Effect.forkScoped(client.callTool("work"), { startImmediately: true })
        yield* Effect.promise(async () => {})
        late.interruptUnsafe()
        yield* server.until(() => cancellations(server).length === 1)
        assert.deepStrictEqual(server.methods().slice(before), ["tools/call", "notifications/cancelled"])
      })
  )

  verifies("TMO-17", "by a timeout or a race of the caller is the same", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy(silent)
      const client = yield* connect(server)
      const timed = yield* Effect.forkScoped(Effect.timeoutOption(client.callTool("work"), "3 seconds"))
      const { id } = yield* server.take("tools/call")
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(timed))._tag, "None")
      yield* server.until(() => cancellations(server).length === 1)
      assert.deepStrictEqual(cancellations(server), [{ requestId: id }])
    }))

  verifies("TMO-15", "does not wait for a callback that is blocked", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({ "tools/call": ({ progress }) => progress(1) })
      const client = yield* connect(server)
      const running = yield* Effect.forkScoped(
        client.callTool("work", {}, { requestId: "blocked", onProgress: () => Effect.never })
      )
      yield* server.take("tools/call")
      yield* client.cancel("blocked", "enough")
      assert.strictEqual(cancelledReason(yield* Effect.flip(Fiber.join(running))), "enough")
    }))

  verifies(
    ["PAIN-6", "TMO-10", "TMO-03"],
    "while the handshake is under way sends nothing: initialize is never cancelled",
    () =>
      Effect.gen(function*() {
        for (const handlers of [{ initialize: never }, { "server/discover": never }]) {
          const server = yield* Scripted.make(handlers)
          const running = yield* Effect.forkScoped(Effect.scoped(connect(server)))
          yield* server.take(Object.keys(handlers)[0] ?? "")
          yield* Fiber.interrupt(running)
          yield* Scripted.settled
          assert.notInclude(server.methods(), "notifications/cancelled")
          assert.isTrue(server.links[0]?.closed)
        }
      })
  )
})
