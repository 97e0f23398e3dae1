import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, discovery, never } = Scripted
const lists: Scripted.Handlers = { "tools/list": answer({ tools: [] }), "prompts/list": answer({ prompts: [] }) }

describe("Connecting", () => {
  verifies(
    ["STD-09", "PAIN-49"],
    "ten concurrent first requests open one connection and make one probe",
    () =>
      Effect.gen(function*() {
        for (const server of [yield* Scripted.modern(lists), yield* Scripted.legacy(lists)]) {
          const client = yield* connect(server, { lazy: true })
          assert.strictEqual(server.links.length, 0)
          yield* Effect.all(Array.from({ length: 10 }, () => client.listTools()), { concurrency: "unbounded" })
          assert.strictEqual(server.links.length, 1)
          assert.strictEqual(server.sentOf("server/discover").length, 1)
          assert.strictEqual(server.sentOf("tools/list").length, 10)
        }
      })
  )

  verifies(
    "STD-09",
    "all who wait for a failing connection get its error, and the next request tries again",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          ...lists,
          "server/discover": Scripted.inTurn((request) => request.error(-32020, "no"), answer(discovery()))
        })
        const client = yield* connect(server, { lazy: true })
        const errors = yield* Effect.all(Array.from({ length: 3 }, () => Effect.flip(client.listTools())), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(errors.map(({ reason }) => reason._tag), [
          "HeaderMismatch",
          "HeaderMismatch",
          "HeaderMismatch"
        ])
        assert.strictEqual(server.links.length, 1)
        assert.deepStrictEqual(yield* client.listTools(), [])
        assert.strictEqual(server.links.length, 2)
      })
  )

  verifies("STD-09", "a caller that gives up takes nobody along", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ ...lists, "server/discover": never })
      const client = yield* connect(server, { lazy: true })
      const first = yield* Effect.forkScoped(client.listTools())
      const probe = yield* server.take("server/discover")
      const second = yield* Effect.forkScoped(client.listTools())
      yield* Scripted.settled
      yield* Fiber.interrupt(first)
      probe.result(discovery())
      assert.deepStrictEqual(yield* Fiber.join(second), [])
      assert.strictEqual(server.links.length, 1)
    }))

  verifies(
    ["TMO-05", "TMO-01"],
    "waiting for the connection counts towards the deadline of a request",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ ...lists, "server/discover": never }, { kind: "stdio" })
        const client = yield* connect(server, { lazy: true, protocol: "modern" })
        const list = yield* Effect.forkScoped(client.listTools({ deadline: "3 seconds" }))
        const probe = yield* server.take("server/discover")
        yield* TestClock.adjust("3 seconds")
        const error = yield* Effect.flip(Fiber.join(list))
        assert.isTrue(error.reason._tag === "RequestTimeout" && error.reason.kind === "deadline")
        assert.strictEqual(error.delivery, "unsent")
        assert.strictEqual(error.method, "tools/list")
        probe.result(discovery())
        assert.deepStrictEqual(yield* client.listTools(), [])
      })
  )

  verifies(["TMO-06", "TMO-16"], "a signal ends the wait for the connection", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "server/discover": never })
      const client = yield* connect(server, { lazy: true })
      const controller = new AbortController()
      const list = yield* Effect.forkScoped(client.listTools({ signal: controller.signal }))
      yield* server.take("server/discover")
      yield* Scripted.settled
      controller.abort("changed my mind")
      const error = yield* Effect.flip(Fiber.join(list))
      assert.isTrue(error.reason._tag === "Cancelled" && error.reason.reason === "changed my mind")
      assert.strictEqual(error.delivery, "unsent")
    }))

  verifies(
    "ERA-07",
    "messages that come before the connection is handed over are not lost",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({}, { onOpen: (link) => link.ask(1, "ping") })
        yield* connect(server)
        assert.deepStrictEqual(server.replies(), [{ jsonrpc: "2.0", id: 1, result: {} }])
      })
  )
})

describe("A connection that ends", () => {
  verifies(
    ["CON-27", "ERA-14"],
    "the next request opens another one and negotiates anew",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(lists, { kind: "stdio" })
        const client = yield* connect(server)
        yield* client.listTools()
        server.links[0]?.exit(1)
        yield* client.listTools()
        assert.strictEqual((yield* client.server).generation, 2)
        assert.deepStrictEqual(server.sent.map(({ connection, method }) => [connection, method]), [
          [0, "server/discover"],
          [0, "tools/list"],
          [1, "server/discover"],
          [1, "tools/list"]
        ])
        yield* server.until(() => server.links[0]?.closed === true)
      })
  )

  verifies(
    ["TOO-17", "ERR-07"],
    "a call that was under way fails at once, names the server and the method",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "tools/call": never }, { kind: "stdio" })
        const client = yield* connect(server)
        const call = yield* Effect.forkScoped(client.callTool("work"))
        yield* server.take("tools/call")
        server.links[0]?.exit(3)
        const error = yield* Effect.flip(Fiber.join(call))
        const { cause } = error.reason
        assert.strictEqual(error.reason._tag, "AmbiguousDelivery")
        assert.isTrue(McpError.isMcpError(cause))
        assert.deepInclude(McpError.isMcpError(cause) ? cause.reason : {}, { _tag: "ConnectionClosed", exitCode: 3 })
        assert.strictEqual(error.server, Scripted.target)
        assert.strictEqual(error.method, "tools/call")
        assert.strictEqual(error.delivery, "unknown")
        assert.isFalse(error.isRetryable)
        assert.strictEqual(server.sentOf("tools/call").length, 1)
      })
  )

  verifies(
    "ERR-06",
    "who tries again at once, in the very turn in which the call failed, gets a new connection",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": Scripted.inTurn((request) => request.connection.exit(1), answer({ tools: [] }))
        }, { kind: "stdio" })
        const client = yield* connect(server, Scripted.once)
        assert.deepStrictEqual(yield* Effect.retry(client.listTools(), { times: 1 }), [])
        assert.strictEqual(server.links.length, 2)
      })
  )

  verifies("STD-09", "ten requests after the end open one connection", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(lists, { kind: "stdio" })
      const client = yield* connect(server)
      server.links[0]?.exit(0)
      yield* Scripted.settled
      yield* Effect.all(Array.from({ length: 10 }, () => client.listTools()), { concurrency: "unbounded" })
      assert.strictEqual(server.links.length, 2)
    }))

  verifies(
    "ERR-02",
    "a session that an HTTP server has lost fails as refused; the next request shakes hands again",
    () =>
      Effect.gen(function*() {
        const expired: Scripted.Handler = (request) =>
          request.fail(new McpError.SessionExpired({ status: 404 }), "refused")
        const server = yield* Scripted.legacy({
          "tools/call": Scripted.inTurn(expired, answer({ content: [] }))
        }, { kind: "streamable-http" })
        const client = yield* connect(server)
        const error = yield* Effect.flip(client.callTool("work"))
        assert.strictEqual(error.reason._tag, "SessionExpired")
        assert.strictEqual(error.delivery, "refused")
        assert.isTrue(error.isRetryable)
        assert.strictEqual(server.sentOf("tools/call").length, 1)
        yield* client.callTool("work")
        assert.deepStrictEqual(server.sent.filter(({ connection }) => connection === 1).map(({ method }) => method), [
          "initialize",
          "notifications/initialized",
          "tools/call"
        ])
        yield* server.until(() => server.links[0]?.closed === true)
      })
  )
})

describe("Closing a client", () => {
  verifies(
    "CON-23",
    "closing its scope closes the connection, and what is used later fails instead of hanging",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(lists)
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(connect(server), scope)
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(server.links[0]?.closed)
        const errors = [
          yield* Effect.flip(client.listTools()),
          yield* Effect.flip(client.callTool("work")),
          yield* Effect.flip(client.server),
          yield* Effect.flip(client.notify("vendor/hello")),
          yield* Effect.flip(client.ping())
        ]
        for (const error of errors) {
          assert.isTrue(error.reason._tag === "ConnectionClosed" && error.reason.local)
          assert.strictEqual(error.delivery, "unsent")
        }
        yield* client.cancel(1)
        assert.strictEqual(server.links.length, 1)
      })
  )

  verifies(
    "CON-23",
    "requests under way fail, and so does a connection that is being made",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "tools/list": never })
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(connect(server), scope)
        const list = yield* Effect.forkScoped(client.listTools())
        yield* server.take("tools/list")
        yield* Scope.close(scope, Exit.void)
        const error = yield* Effect.flip(Fiber.join(list))
        assert.isTrue(error.reason._tag === "ConnectionClosed" && error.reason.local)
        assert.strictEqual(error.delivery, "unknown")

        const slow = yield* Scripted.modern({ "server/discover": never })
        const slowScope = yield* Scope.make()
        const slowClient = yield* Scope.provide(connect(slow, { lazy: true }), slowScope)
        const waiting = yield* Effect.forkScoped(slowClient.listTools())
        yield* slow.take("server/discover")
        yield* Scope.close(slowScope, Exit.void)
        const waited = yield* Effect.flip(Fiber.join(waiting))
        assert.isTrue(waited.reason._tag === "ConnectionClosed" && waited.reason.local)
        assert.isTrue(slow.links[0]?.closed)
      })
  )

  verifies(
    "CON-23",
    "ends every stream of what happens, for those who listen and for those who come later",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ ...lists, "logging/setLevel": answer({}) })
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(connect(server), scope)
        const streams = (): ReadonlyArray<Stream.Stream<unknown>> => [
          client.notifications,
          client.logs,
          client.diagnostics,
          client.state
        ]
        const listening = yield* Effect.forkScoped(
          Effect.all(streams().map(Stream.runCollect), { concurrency: "unbounded" }),
          { startImmediately: true }
        )
        server.links[0]?.notify("notifications/message", { level: "info", data: "hello" })
        yield* Scope.close(scope, Exit.void)
        const heard = yield* Fiber.join(listening)
        assert.deepStrictEqual(heard.slice(0, 3).map(({ length }) => length), [1, 1, 0])

        for (const stream of streams()) yield* Stream.runDrain(stream)
      })
  )
})
