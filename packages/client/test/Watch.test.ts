import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { type Json, McpError, Metadata } from "@mcp-effect/protocol"
import { Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type * as McpClient from "../src/McpClient.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, inTurn, never } = Scripted

const changed = "notifications/tools/list_changed"
const listOf = (...names: ReadonlyArray<unknown>): Json.JsonObject => ({
  tools: names.map((name) => ({ name: String(name), inputSchema: { type: "object" } }))
})

/** The names of the lists that come, from now on. */
const watching = (client: McpClient.McpClient) =>
  collect(Stream.map(client.watchTools, (tools) => tools.map(({ name }) => name).join()))

/** Lets what is under way come to rest, over the time that changes are gathered. */
const gathered = Effect.andThen(TestClock.adjust("50 millis"), Scripted.settled)

const fetches = (server: Scripted.Server): number => server.sentOf("tools/list").length

describe("A list under watch", () => {
  verifies("PAIN-62", "is given at once, and again when it changes, declared or not", () =>
    Effect.gen(function*() {
      const kinds = [
        ["tools/list", changed, "tools", (client: McpClient.McpClient) => client.watchTools],
        ["prompts/list", "notifications/prompts/list_changed", "prompts", (client) => client.watchPrompts],
        ["resources/list", "notifications/resources/list_changed", "resources", (client) => client.watchResources]
      ] as ReadonlyArray<
        readonly [string, string, string, (client: McpClient.McpClient) => Stream.Stream<unknown, unknown>]
      >
      for (const [method, notification, key, watch] of kinds) {
        for (const capabilities of [{}, { [key]: { listChanged: true } }]) {
          let version = 0
          const server = yield* Scripted.legacy({
            initialize: answer(Scripted.initialization("2025-11-25", { capabilities })),
            [method]: (request) => request.result({ [key]: [{ name: String(++version), uri: "a:b", inputSchema: {} }] })
          })
          const client = yield* connect(server)
          const lists = yield* collect(watch(client))
          yield* Scripted.settled
          assert.strictEqual(lists.length, 1)
          server.links[0]?.notify("notifications/other/list_changed")
          yield* gathered
          assert.strictEqual(lists.length, 1)
          server.links[0]?.notify(notification)
          yield* gathered
          assert.strictEqual(lists.length, 2)
          assert.include(JSON.stringify(lists[1]), "\"2\"")
        }
      }
    }))

  verifies(
    "PAIN-62",
    "that is announced 50 times within 10 ms is fetched three times at most, and ends as it is at last",
    () =>
      Effect.gen(function*() {
        let version = 0
        const server = yield* Scripted.legacy({ "tools/list": (request) => request.result(listOf(version)) })
        const client = yield* connect(server)
        const lists = yield* watching(client)
        yield* Scripted.settled
        for (let index = 0; index < 50; index++) {
          version++
          server.links[0]?.notify(changed)
          yield* TestClock.adjust("200 micros")
        }
        yield* gathered
        yield* gathered
        assert.strictEqual(lists.at(-1), "50")
        assert.isAtMost(fetches(server), 3)
      })
  )

  verifies(
    "PAIN-62",
    "is fetched again after a change during the fetch, whose result is not told",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ "tools/list": inTurn(answer(listOf("first")), never) })
        const client = yield* connect(server)
        const lists = yield* watching(client)
        yield* Scripted.settled
        server.links[0]?.notify(changed)
        yield* gathered
        const outdated = yield* server.take("tools/list").pipe(Effect.andThen(server.take("tools/list")))
        // One at a time: what comes meanwhile waits.
        server.links[0]?.notify(changed)
        server.links[0]?.notify(changed)
        yield* gathered
        assert.strictEqual(fetches(server), 2)
        outdated.result(listOf("outdated"))
        yield* gathered
        const last = yield* server.take("tools/list")
        last.result(listOf("last"))
        yield* gathered
        yield* gathered
        assert.deepStrictEqual(lists, ["first", "last"])
        assert.strictEqual(fetches(server), 3)
      })
  )

  verifies(
    "PAIN-62",
    "is told now and then even if its server never stops announcing changes",
    () =>
      Effect.gen(function*() {
        let version = 0
        const server = yield* Scripted.legacy({
          "tools/list": (request) => {
            request.notify(changed)
            request.result(listOf(++version))
          }
        })
        const client = yield* connect(server)
        const lists = yield* watching(client)
        for (let round = 0; round < 9; round++) yield* gathered
        assert.deepStrictEqual(lists, ["4", "8"])
        // Nothing is known to be current.
        const late = yield* watching(client)
        yield* Scripted.settled
        assert.deepStrictEqual(late, [])
      })
  )

  verifies(
    "PAIN-62",
    "is fetched once for all who watch it, and not at all once nobody does",
    () =>
      Effect.gen(function*() {
        let version = 0
        const server = yield* Scripted.legacy({ "tools/list": (request) => request.result(listOf(++version)) })
        const client = yield* connect(server)
        const scope = yield* Scope.make()
        const all = yield* Scope.provide(Effect.all(Array.from({ length: 10 }, () => watching(client))), scope)
        yield* Scripted.settled
        assert.strictEqual(fetches(server), 1)
        server.links[0]?.notify(changed)
        yield* gathered
        for (const lists of all) assert.deepStrictEqual(lists, ["1", "2"])
        // One who comes later is given what is known.
        const late = yield* Scope.provide(watching(client), scope)
        yield* Scripted.settled
        assert.deepStrictEqual(late, ["2"])
        assert.strictEqual(fetches(server), 2)
        yield* Scope.close(scope, Exit.void)
        server.links[0]?.notify(changed)
        yield* gathered
        assert.strictEqual(fetches(server), 2)
        const again = yield* watching(client)
        yield* Scripted.settled
        assert.deepStrictEqual(again, ["3"])
      })
  )

  verifies(
    "PAIN-62",
    "is given to one who comes after a change only as it is fetched then",
    () =>
      Effect.gen(function*() {
        let version = 0
        const server = yield* Scripted.legacy({ "tools/list": (request) => request.result(listOf(++version)) })
        const client = yield* connect(server)
        yield* watching(client)
        yield* Scripted.settled
        server.links[0]?.notify(changed)
        const late = yield* watching(client)
        yield* gathered
        assert.deepStrictEqual(late, ["2"])
      })
  )

  verifies("PAIN-62", "is given to a slow reader as it is at last", () =>
    Effect.gen(function*() {
      let version = 0
      const server = yield* Scripted.legacy({ "tools/list": (request) => request.result(listOf(++version)) })
      const client = yield* connect(server)
      const gate = yield* Deferred.make<void>()
      const lists = yield* collect(
        Stream.mapEffect(client.watchTools, (tools) => Effect.as(Deferred.await(gate), tools[0]?.name))
      )
      yield* Scripted.settled
      for (let change = 0; change < 5; change++) {
        server.links[0]?.notify(changed)
        yield* gathered
      }
      yield* Deferred.succeed(gate, undefined)
      yield* Scripted.settled
      assert.strictEqual(lists[0], "1")
      assert.strictEqual(lists.at(-1), "6")
      assert.isAtMost(lists.length, 3)
    }))

  verifies(
    "PAIN-62",
    "is fetched once more after the connection was lost, which that brings back",
    () =>
      Effect.gen(function*() {
        for (const make of [Scripted.legacy, Scripted.modern]) {
          let version = 0
          const server = yield* make({ "tools/list": (request) => request.result(listOf(++version)) })
          const client = yield* connect(server)
          const lists = yield* watching(client)
          yield* Scripted.settled
          server.links[0]?.exit(1)
          yield* Scripted.settled
          yield* TestClock.adjust("1 minute")
          yield* Scripted.settled
          assert.strictEqual(server.links.length, 2)
          assert.deepStrictEqual(lists, ["1", "2"])
          assert.strictEqual(fetches(server), 2)
        }
      })
  )

  verifies(
    "PAIN-62",
    "fails where the first list cannot be had, or a later one for good, and waits out what passes",
    () =>
      Effect.gen(function*() {
        const passing = new McpError.HttpStatus({ status: 503 })
        const lasting = new McpError.HttpStatus({ status: 403 })
        for (const reason of [passing, lasting]) {
          const first = yield* Scripted.legacy({ "tools/list": (request) => request.fail(reason) })
          const refused = yield* connect(first, Scripted.once)
          const error = yield* Effect.forkScoped(Effect.flip(Stream.runDrain(refused.watchTools)))
          yield* TestClock.adjust("20 seconds")
          assert.strictEqual((yield* Fiber.join(error)).reason._tag, "HttpStatus")
          yield* Scripted.settled
          // Nobody goes on trying.
          const sent = fetches(first)
          yield* TestClock.adjust("10 minutes")
          yield* Scripted.settled
          assert.strictEqual(fetches(first), sent)
        }
        const server = yield* Scripted.legacy({
          "tools/list": inTurn(
            answer(listOf("1")),
            ...Array.from({ length: 12 }, () => (request: Scripted.Received) => request.fail(passing)),
            answer(listOf("2")),
            (request) => request.fail(lasting)
          )
        })
        const client = yield* connect(server, Scripted.once)
        const lists: Array<string> = []
        const watched = yield* Effect.forkScoped(
          Effect.flip(
            Stream.runForEach(client.watchTools, (tools) => Effect.sync(() => lists.push(String(tools[0]?.name))))
          ),
          { startImmediately: true }
        )
        yield* Scripted.settled
        server.links[0]?.notify(changed)
        for (let round = 0; round < 30; round++) {
          yield* TestClock.adjust("10 seconds")
          yield* Scripted.settled
        }
        assert.deepStrictEqual(lists, ["1", "2"])
        server.links[0]?.notify(changed)
        yield* gathered
        assert.strictEqual((yield* Fiber.join(watched)).reason._tag, "HttpStatus")
        // Whoever watches again begins anew.
        assert.strictEqual((yield* Effect.flip(Stream.runDrain(client.watchTools))).reason._tag, "HttpStatus")
      })
  )

  verifies("PAIN-62", "ends with its client", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({ "tools/list": answer(listOf("1")) })
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(connect(server), scope)
      const watched = yield* Effect.forkScoped(Stream.runCollect(client.watchTools), { startImmediately: true })
      yield* Scripted.settled
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(watched)).length, 1)
    }))
})

/** Acknowledges a subscription with what it asks for, or with another filter. */
const acknowledge = (request: Scripted.Received, notifications: unknown = request.params["notifications"]): void =>
  request.notify("notifications/subscriptions/acknowledged", {
    _meta: { [Metadata.subscriptionIdKey]: request.id },
    notifications
  })

const announce = (request: Scripted.Received): void =>
  request.notify(changed, { _meta: { [Metadata.subscriptionIdKey]: request.id } })

describe("A list of a modern server", () => {
  verifies(
    "PAIN-62",
    "is listened to before it is fetched, and no longer than somebody watches it",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          let version = 0
          const server = yield* Scripted.modern({
            "subscriptions/listen": never,
            "tools/list": (request) => request.result(listOf(++version))
          }, { kind })
          const client = yield* connect(server)
          const scope = yield* Scope.make()
          const lists = yield* Scope.provide(watching(client), scope)
          const listening = yield* server.take("subscriptions/listen")
          yield* Scripted.settled
          assert.deepStrictEqual(listening.params["notifications"], { toolsListChanged: true })
          assert.strictEqual(fetches(server), 0)
          acknowledge(listening)
          yield* Scripted.settled
          assert.deepStrictEqual(lists, ["1"])
          announce(listening)
          announce(listening)
          yield* gathered
          assert.deepStrictEqual(lists, ["1", "2"])
          yield* TestClock.adjust("4 minutes")
          yield* Scripted.settled
          assert.strictEqual(fetches(server), 2)
          yield* Scope.close(scope, Exit.void)
          yield* Scripted.settled
          if (kind === "stdio") {
            assert.deepInclude(server.sentOf("notifications/cancelled")[0]?.params, { requestId: listening.id })
          } else assert.deepStrictEqual(server.streamsClosed, [listening.id])
        }
      })
  )

  verifies(
    "PAIN-62",
    "is given all the same where its server refuses, does not acknowledge, or honours nothing",
    () =>
      Effect.gen(function*() {
        const servers: ReadonlyArray<Scripted.Handler> = [
          (request) => request.error(-32601, "no"),
          never,
          (request) => acknowledge(request, {})
        ]
        for (const listen of servers) {
          const server = yield* Scripted.modern({
            "subscriptions/listen": listen,
            "tools/list": answer(listOf("a"))
          }, { kind: "streamable-http" })
          const client = yield* connect(server)
          const lists = yield* watching(client)
          yield* Scripted.settled
          yield* TestClock.adjust("5 seconds")
          yield* Scripted.settled
          assert.deepStrictEqual(lists, ["a"])
        }
      })
  )

  verifies(
    "PAIN-62",
    "is fetched once more after listening was broken off, and once the acknowledgment comes late",
    () =>
      Effect.gen(function*() {
        let version = 0
        const server = yield* Scripted.modern({
          "subscriptions/listen": never,
          "tools/list": (request) => request.result(listOf(++version))
        }, { kind: "streamable-http" })
        const client = yield* connect(server)
        const lists = yield* watching(client)
        const first = yield* server.take("subscriptions/listen")
        yield* TestClock.adjust("5 seconds")
        yield* Scripted.settled
        assert.deepStrictEqual(lists, ["1"])
        acknowledge(first)
        yield* gathered
        assert.deepStrictEqual(lists, ["1", "2"])
        first.fail(new McpError.StreamEnded({ resumable: false }))
        yield* TestClock.adjust("1 second")
        const second = yield* server.take("subscriptions/listen")
        yield* gathered
        assert.deepStrictEqual(lists, ["1", "2"])
        acknowledge(second)
        yield* gathered
        assert.deepStrictEqual(lists, ["1", "2", "3"])
        // A server that has nothing more to tell is asked again, less and less often.
        second.result({})
        yield* TestClock.adjust("1 second")
        const third = yield* server.take("subscriptions/listen")
        acknowledge(third)
        yield* gathered
        assert.deepStrictEqual(lists, ["1", "2", "3", "4"])
        third.result({})
        yield* TestClock.adjust("1 second")
        yield* Scripted.settled
        assert.strictEqual(server.sentOf("subscriptions/listen").length, 3)
        yield* TestClock.adjust("1 second")
        acknowledge(yield* server.take("subscriptions/listen"))
        yield* gathered
        assert.deepStrictEqual(lists, ["1", "2", "3", "4", "5"])
      })
  )
})
