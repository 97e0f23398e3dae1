import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Json, Metadata, type Roots } from "@mcp-effect/protocol"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { ClientOptions } from "../src/ClientOptions.ts"
import * as Deprecations from "../src/Deprecations.ts"
import * as CapturedLogs from "./CapturedLogs.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, discovery, initialization, never } = Scripted
const result = (id: unknown, result: Record<string, unknown> = {}) => ({ jsonrpc: "2.0", id, result })
const error = (id: unknown, code: number, message: string) => ({ jsonrpc: "2.0", id, error: { code, message } })

const connectQuietly = (server: Scripted.Server, options?: ClientOptions) =>
  Effect.provideService(connect(server, options), Deprecations.Enabled, false)

describe("Requests of a legacy server", () => {
  verifies(
    ["STD-18", "SDK-02"],
    "ping is answered with an empty result, what has no handler with -32601",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          const server = yield* Scripted.legacy({}, { kind })
          yield* connect(server)
          const link = server.links[0]
          link?.ask(1, "ping")
          link?.ask("two", "ping")
          link?.ask(3, "roots/list")
          link?.ask(4, "vendor/unknown")
          yield* server.until(() => server.replies().length === 4)
          assert.deepStrictEqual(server.replies(), [
            result(1),
            result("two"),
            error(3, -32601, "Method not found: roots/list"),
            error(4, -32601, "Method not found: vendor/unknown")
          ])
        }
      })
  )

  verifies(
    ["SDK-02", "STD-18"],
    "are answered on the stream of a request as well, under the revision of the session",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ "tools/call": never }, {
          kind: "streamable-http",
          version: "2025-06-18"
        })
        const client = yield* connect(server)
        const call = yield* Effect.forkScoped(client.callTool("work"))
        const request = yield* server.take("tools/call")
        request.ask("a", "ping")
        request.ask("b", "vendor/unknown")
        yield* server.until(() => server.replies().length === 2)
        assert.deepStrictEqual(server.replies(), [result("a"), error("b", -32601, "Method not found: vendor/unknown")])
        assert.deepStrictEqual(server.sent.slice(-2).map(({ revision }) => revision), ["2025-06-18", "2025-06-18"])
        request.result({ content: [] })
        yield* Fiber.join(call)
      })
  )

  verifies("STD-18", "a handler that fails or dies is -32603 with a constant message", () =>
    Effect.gen(function*() {
      for (const roots of [Effect.die(new Error("secret")), Effect.fail("secret")]) {
        const server = yield* Scripted.legacy()
        yield* connectQuietly(server, { handlers: { roots } })
        server.links[0]?.ask(1, "roots/list")
        yield* server.until(() => server.replies().length === 1)
        const [reply] = server.replies()
        assert.strictEqual(Json.objectMember(reply, "error")?.["code"], -32603)
        assert.notInclude(JSON.stringify(reply), "secret")
      }
    }))

  verifies("SEC-11", "a method's name is escaped and cut before it goes back", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy()
      yield* connect(server)
      server.links[0]?.ask(1, `evil\n${"x".repeat(10_000)}`)
      yield* server.until(() => server.replies().length === 1)
      const message = String(Json.objectMember(server.replies()[0], "error")?.["message"])
      assert.isAtMost(message.length, 250)
      assert.isTrue(message.startsWith("Method not found: evil\\nxxx"))
    }))

  verifies("MET-11", "the task that one belongs to is named again in its answer", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy()
      yield* connectQuietly(server, { handlers: { roots: [{ uri: "file:///home" }] } })
      const task = { taskId: "task-1" }
      server.links[0]?.ask(1, "ping", { _meta: { [Metadata.relatedTaskKey]: task, other: 1 } })
      server.links[0]?.ask(2, "roots/list", { _meta: { [Metadata.relatedTaskKey]: task } })
      server.links[0]?.ask(3, "ping", { _meta: { other: 1 } })
      yield* server.until(() => server.replies().length === 3)
      assert.deepStrictEqual(server.replies(), [
        result(1, { _meta: { [Metadata.relatedTaskKey]: task } }),
        result(2, { roots: [{ uri: "file:///home" }], _meta: { [Metadata.relatedTaskKey]: task } }),
        result(3)
      ])
    }))

  verifies(
    "SEC-09",
    "eight are answered at once; more are dropped, which is logged every five seconds",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          const gate = yield* Deferred.make<ReadonlyArray<Roots.Root>>()
          let running = 0
          const roots = Effect.suspend(() => {
            running++
            return Deferred.await(gate)
          })
          const server = yield* Scripted.legacy()
          yield* connectQuietly(server, { handlers: { roots } })
          for (let id = 1; id <= 50; id++) server.links[0]?.ask(id, "roots/list")
          yield* Scripted.settled
          assert.strictEqual(running, 8)
          const warnings = () => lines.filter(({ level }) => level === "Warn").length
          assert.strictEqual(warnings(), 1)
          yield* TestClock.adjust("5 seconds")
          for (let id = 51; id <= 60; id++) server.links[0]?.ask(id, "roots/list")
          yield* Scripted.settled
          assert.strictEqual(warnings(), 2)
          // "The receiver MUST respond promptly" to a ping, whoever else waits.
          server.links[0]?.ask(61, "ping")
          yield* server.until(() => server.replies().length === 1)
          yield* Deferred.succeed(gate, [])
          yield* server.until(() => server.replies().length === 9)
          assert.deepStrictEqual(server.replies().map(({ id }) => id), [61, 1, 2, 3, 4, 5, 6, 7, 8])
        })
      )
  )
})

describe("Requests of a modern server", () => {
  verifies(["SHT-16", "STD-11"], "are dropped with a diagnostic and not answered", () =>
    Effect.gen(function*() {
      for (const kind of ["stdio", "streamable-http"]) {
        const server = yield* Scripted.modern({ "prompts/get": never }, { kind })
        const client = yield* connect(server)
        const diagnostics = yield* collect(client.diagnostics)
        const call = yield* Effect.forkScoped(client.getPrompt("p"))
        const request = yield* server.take("prompts/get")
        request.ask(1, "ping")
        server.links[0]?.ask(2, "sampling/createMessage")
        yield* Scripted.settled
        assert.deepStrictEqual(diagnostics.map(({ _tag }) => _tag), ["UnexpectedMessage", "UnexpectedMessage"])
        assert.deepStrictEqual(server.replies(), [])
        request.result({ messages: [] })
        yield* Fiber.join(call)
      }
    }))
})

describe("Requests before the era is known", () => {
  verifies("STD-12", "a ping is answered", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.make({ "server/discover": never, initialize: never })
      const connecting = yield* Effect.forkScoped(connect(server))
      const probe = yield* server.take("server/discover")
      server.links[0]?.ask(1, "ping")
      yield* server.until(() => server.replies().length === 1)
      probe.error(-32601)
      const initialize = yield* server.take("initialize")
      server.links[0]?.ask(2, "ping")
      yield* server.until(() => server.replies().length === 2)
      assert.deepStrictEqual(server.replies(), [result(1), result(2)])
      initialize.result(initialization("2025-11-25"))
      yield* Fiber.join(connecting)
    }))

  verifies("STD-12", "nothing is answered in mode modern", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.make({ "server/discover": never })
      const connecting = yield* Effect.forkScoped(connect(server, { protocol: "modern" }))
      const probe = yield* server.take("server/discover")
      server.links[0]?.ask(1, "ping")
      yield* Scripted.settled
      probe.result(discovery())
      yield* Fiber.join(connecting)
      assert.deepStrictEqual(server.replies(), [])
    }))

  verifies("STD-12", "nothing is answered once the server has shown that it is modern", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.make({ "server/discover": never })
      const connecting = yield* Effect.forkScoped(connect(server))
      const probe = yield* server.take("server/discover")
      probe.error(-32022, "no", { supported: ["2026-07-28"], requested: "2026-07-28" })
      const second = yield* server.take("server/discover")
      server.links[0]?.ask(1, "ping")
      yield* Scripted.settled
      second.result(discovery())
      yield* Fiber.join(connecting)
      assert.deepStrictEqual(server.replies(), [])
    }))
})

describe("A connection that ends", () => {
  verifies(
    ["STD-18", "CON-23"],
    "interrupts what is asked of the application, as closing the client does",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          for (const end of ["exit", "close"]) {
            const interrupted = yield* Deferred.make<void>()
            const roots = Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
            const server = yield* Scripted.legacy({}, { kind })
            const scope = yield* Scope.make()
            yield* Scope.provide(connectQuietly(server, { handlers: { roots } }), scope)
            server.links[0]?.ask(1, "roots/list")
            yield* Scripted.settled
            if (end === "exit") server.links[0]?.exit(1)
            else yield* Scope.close(scope, Exit.void)
            yield* Deferred.await(interrupted)
            yield* Scope.close(scope, Exit.void)
            assert.deepStrictEqual(server.replies(), [])
          }
        }
      })
  )

  verifies("STD-18", "makes room for the requests of the next one", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({ "tools/list": answer({ tools: [] }) }, { kind: "stdio" })
      const client = yield* connectQuietly(server, { handlers: { roots: Effect.never } })
      for (let id = 1; id <= 8; id++) server.links[0]?.ask(id, "roots/list")
      yield* Scripted.settled
      server.links[0]?.exit(1)
      yield* client.listTools()
      server.links[1]?.ask(1, "ping")
      yield* server.until(() => server.replies().length === 1)
      assert.deepStrictEqual(server.replies(), [result(1)])
    }))
})
