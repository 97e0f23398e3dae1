import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { type Json, McpError, Metadata } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type * as McpClient from "../src/McpClient.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, inTurn } = Scripted

const uri = "file:///a"
const listen = "subscriptions/listen"
const updated = "notifications/resources/updated"
const acknowledged = "notifications/subscriptions/acknowledged"

const about = (id: unknown, params?: Json.JsonObject): Json.JsonObject => ({
  _meta: { [Metadata.subscriptionIdKey]: id },
  ...params
})

/** Acknowledges what is asked for, or what is given. */
const acknowledge = (request: Scripted.Received, uris?: ReadonlyArray<string>): void =>
  request.notify(
    acknowledged,
    about(request.id, {
      notifications: uris === undefined ? request.params["notifications"] : { resourceSubscriptions: uris }
    })
  )

/** Answers each read with one more. */
const counting = (): Scripted.Handler => {
  let version = 0
  return ({ params, result }) =>
    result({
      resultType: "complete",
      contents: [{ uri: params["uri"], text: String(++version) }],
      ttlMs: 1_000_000,
      cacheScope: "public"
    })
}

const watching = (client: McpClient.McpClient, watched: string = uri) =>
  collect(
    Stream.map(client.watchResource(watched), ({ contents: [first] }) =>
      first !== undefined && "text" in first ? first.text : undefined)
  )

const gathered = Effect.andThen(TestClock.adjust("50 millis"), Scripted.settled)
const advance = (millis: number) => Effect.andThen(TestClock.adjust(millis), Scripted.settled)

const http = { kind: "streamable-http" }
const stdio = { kind: "stdio" }
const dropped = new McpError.StreamEnded({ resumable: false })

const failureOf = (client: McpClient.McpClient) =>
  Effect.forkScoped(Effect.flip(Stream.runDrain(client.watchResource(uri))))

describe("A resource under watch of a modern server", () => {
  const serving = (handler: Scripted.Handler = (request) => acknowledge(request), options: Scripted.Options = http) =>
    Scripted.modern({ [listen]: handler, "resources/read": counting() }, options)

  verifies(
    ["SUB-28", "RSC-04", "RSC-06"],
    "is listened to by a request of its own, read once that is acknowledged, and again after each update",
    Effect.fnUntraced(function*() {
      for (const options of [http, stdio]) {
        const server = yield* serving(() => {}, options)
        const client = yield* connect(server)
        // What is kept may be older than the subscription.
        yield* client.readResource(uri)
        const heard = yield* watching(client)
        const request = yield* server.take(listen)
        yield* Scripted.settled
        assert.deepStrictEqual(request.params["notifications"], { resourceSubscriptions: [uri] })
        assert.deepStrictEqual(heard, [])
        acknowledge(request)
        yield* Scripted.settled
        assert.deepStrictEqual(heard, ["2"])
        request.notify(updated, about(request.id, { uri }))
        yield* gathered
        assert.deepStrictEqual(heard, ["2", "3"])
        // Of a part of it, and of another.
        request.notify(updated, about(request.id, { uri: `${uri}/part` }))
        yield* gathered
        request.notify(updated, about(request.id, { uri: "file:///ab" }))
        yield* gathered
        assert.deepStrictEqual(heard, ["2", "3", "4"])
        // Many at once are one.
        for (let count = 0; count < 50; count++) request.notify(updated, about(request.id, { uri }))
        yield* gathered
        assert.deepStrictEqual(heard, ["2", "3", "4", "5"])
      }
    })
  )

  verifies(
    ["SUB-28", "SUB-33"],
    "has one stream for all who watch it, which ends with the last of them",
    Effect.fnUntraced(function*() {
      const server = yield* serving()
      const client = yield* connect(server)
      const scope = yield* Scope.make()
      const all = yield* Scope.provide(
        Effect.all(Array.from({ length: 5 }, () => watching(client)), { concurrency: "unbounded" }),
        scope
      )
      yield* Scripted.settled
      for (const heard of all) assert.deepStrictEqual(heard, ["1"])
      // One more is given what was read last.
      assert.deepStrictEqual(yield* watching(client), ["1"])
      yield* watching(client, "file:///b")
      yield* Scripted.settled
      assert.deepStrictEqual(
        server.sentOf(listen).map(({ content }) => content["notifications"]),
        [{ resourceSubscriptions: [uri] }, { resourceSubscriptions: ["file:///b"] }]
      )
      yield* Scope.close(scope, Exit.void)
      yield* Scripted.settled
      assert.deepStrictEqual(server.streamsClosed, [])
    })
  )

  verifies(
    "SUB-28",
    "is not listened to any more once nobody watches it, and anew when somebody does",
    Effect.fnUntraced(function*() {
      const server = yield* serving()
      const client = yield* connect(server)
      for (let round = 0; round < 3; round++) {
        const heard = yield* Effect.scoped(Effect.tap(watching(client), () => Scripted.settled))
        yield* Scripted.settled
        assert.deepStrictEqual(heard, [String(round + 1)])
        assert.strictEqual(server.streamsClosed.length, round + 1)
      }
      assert.strictEqual(new Set(server.streamsClosed).size, 3)
    })
  )

  verifies(
    ["PAIN-29", "SUB-29", "SUB-42"],
    "is read once more after its stream was down, and who joins meanwhile waits for that",
    Effect.fnUntraced(function*() {
      for (const options of [http, stdio]) {
        const server = yield* serving(undefined, options)
        const client = yield* connect(server)
        const heard = yield* watching(client)
        yield* advance(10_000)
        const request = yield* server.take(listen)
        let version = 1
        for (let round = 0; round < 3; round++) {
          assert.deepStrictEqual(heard.at(-1), String(version))
          const current = round === 0 ? request : yield* server.take(listen)
          if (options === http) {
            current.fail(dropped)
            yield* Scripted.settled
            const joined = yield* watching(client)
            yield* advance(999)
            assert.deepStrictEqual([heard.at(-1), joined], [String(version), []])
            yield* advance(1)
            yield* gathered
            assert.deepStrictEqual(joined, [String(++version)])
          } else {
            server.links[round]?.exit(1)
            yield* Scripted.settled
            yield* gathered
            version++
            yield* advance(60_000)
          }
          assert.strictEqual(heard.at(-1), String(version))
        }
        assert.strictEqual(heard.length, 4)
      }
    })
  )

  verifies(
    ["SUB-30", "SUB-31"],
    "that a later acknowledgment does not name is not watched any more",
    Effect.fnUntraced(function*() {
      let count = 0
      const server = yield* serving((request) => acknowledge(request, count++ === 0 ? [uri] : ["file:///other"]))
      const client = yield* connect(server)
      const failed = yield* failureOf(client)
      const request = yield* server.take(listen)
      yield* Scripted.settled
      request.fail(dropped)
      yield* advance(1_000)
      yield* gathered
      assert.deepInclude((yield* Fiber.join(failed)).reason, { _tag: "CapabilityMissing" })
      assert.strictEqual(server.streamsClosed.length, 1)
      yield* advance(60_000)
      assert.strictEqual(server.sentOf(listen).length, 2)
    })
  )

  verifies(
    ["SUB-30", "SUB-31", "RSC-06"],
    "fails where the server does not honour it, refuses it or does not answer, and leaves nothing open",
    Effect.fnUntraced(function*() {
      const cases: ReadonlyArray<readonly [Scripted.Handler, string]> = [
        [(request) => acknowledge(request, []), "CapabilityMissing"],
        [(request) => request.result({ resultType: "complete", ...about(request.id) }), "CapabilityMissing"],
        [(request) => request.error(-32602, "no such resource"), "ServerError"],
        [() => {}, "RequestTimeout"]
      ]
      for (const [handler, tag] of cases) {
        const server = yield* serving(handler)
        const client = yield* connect(server)
        const failed = yield* failureOf(client)
        yield* server.until(() => server.sentOf(listen).length === 1)
        yield* advance(30_000)
        assert.strictEqual((yield* Fiber.join(failed)).reason._tag, tag)
        assert.deepStrictEqual(server.sentOf("resources/read"), [])
        yield* advance(60_000)
        assert.strictEqual(server.sentOf(listen).length, 1)
        // Whoever tries again has another go.
        yield* Effect.forkScoped(Effect.ignore(Stream.runDrain(client.watchResource(uri))))
        yield* Scripted.settled
        assert.strictEqual(server.sentOf(listen).length, 2)
      }
    })
  )

  verifies(
    "SUB-31",
    "is listened to anew when its stream has come to an end, or its replacement is not acknowledged in time",
    Effect.fnUntraced(function*() {
      let isSilent = false
      const server = yield* serving((request) => isSilent ? undefined : acknowledge(request))
      const client = yield* connect(server)
      const heard = yield* watching(client)
      const first = yield* server.take(listen)
      yield* Scripted.settled
      first.result({ resultType: "complete", ...about(first.id) })
      yield* advance(1_000)
      yield* gathered
      assert.deepStrictEqual(heard, ["1", "2"])
      const second = yield* server.take(listen)
      isSilent = true
      second.fail(dropped)
      yield* advance(31_000)
      const third = yield* server.take(listen)
      assert.include(server.streamsClosed, third.id)
      isSilent = false
      yield* advance(30_000)
      yield* gathered
      assert.strictEqual(heard.length, 3)
    })
  )
})

describe("A resource under watch of a legacy server", () => {
  const serving = (handlers: Scripted.Handlers = {}, options: Scripted.Options = stdio) =>
    Scripted.legacy({
      "resources/subscribe": answer({}),
      "resources/unsubscribe": answer({}),
      "resources/read": counting(),
      ...handlers
    }, options)

  verifies(
    ["RSC-04", "RSC-06"],
    "is subscribed to before it is read, read again after each update, and unsubscribed from by the last",
    Effect.fnUntraced(function*() {
      const server = yield* serving({ "resources/subscribe": () => {} })
      const client = yield* connect(server)
      const scope = yield* Scope.make()
      const heard = yield* Scope.provide(watching(client), scope)
      const other = yield* Scope.provide(watching(client), scope)
      const request = yield* server.take("resources/subscribe")
      assert.deepStrictEqual(request.params["uri"], uri)
      yield* Scripted.settled
      assert.deepStrictEqual([heard, server.sentOf("resources/read")], [[], []])
      request.result({})
      yield* Scripted.settled
      server.links[0]?.notify(updated, { uri })
      yield* gathered
      assert.deepStrictEqual([heard, other], [["1", "2"], ["1", "2"]])
      assert.strictEqual(server.sentOf("resources/subscribe").length, 1)
      assert.strictEqual(server.sentOf("resources/unsubscribe").length, 0)
      yield* Scope.close(scope, Exit.void)
      yield* Scripted.settled
      assert.deepStrictEqual(server.sentOf("resources/unsubscribe").map(({ content }) => content), [{ uri }])
      server.links[0]?.notify(updated, { uri })
      yield* gathered
      assert.strictEqual(server.sentOf("resources/read").length, 2)
    })
  )

  verifies(
    "SUB-33",
    "is not subscribed to again before the server has heard that it was given up",
    Effect.fnUntraced(function*() {
      const server = yield* serving({ "resources/unsubscribe": inTurn(() => {}, answer({})) })
      const client = yield* connect(server)
      yield* Effect.scoped(Effect.andThen(watching(client), Scripted.settled))
      const leaving = yield* server.take("resources/unsubscribe")
      const heard = yield* watching(client)
      yield* Scripted.settled
      assert.strictEqual(server.sentOf("resources/subscribe").length, 1)
      leaving.result({})
      yield* Scripted.settled
      assert.strictEqual(server.sentOf("resources/subscribe").length, 2)
      assert.deepStrictEqual(heard, ["2"])
    })
  )

  verifies(
    "RSC-04",
    "is subscribed to again on each new connection, and read once more",
    Effect.fnUntraced(function*() {
      const server = yield* serving()
      const client = yield* connect(server)
      const heard = yield* watching(client)
      yield* advance(60_000)
      server.links[0]?.exit(1)
      yield* gathered
      yield* gathered
      const subscribes = server.sentOf("resources/subscribe")
      assert.deepStrictEqual(subscribes.map(({ connection, content }) => [connection, content]), [
        [0, { uri }],
        [1, { uri }]
      ])
      assert.deepStrictEqual(heard, ["1", "2"])
      server.links[1]?.notify(updated, { uri })
      yield* gathered
      assert.deepStrictEqual(heard, ["1", "2", "3"])
    })
  )

  verifies(
    "RSC-06",
    "fails where the server does not declare or refuses it",
    Effect.fnUntraced(function*() {
      const undeclared = yield* serving({
        initialize: answer(Scripted.initialization("2025-11-25", { capabilities: { resources: {} } }))
      })
      const first = yield* Effect.flip(Stream.runDrain((yield* connect(undeclared)).watchResource(uri)))
      assert.deepInclude(first.reason, { _tag: "CapabilityMissing", capability: "resources.subscribe" })
      const refusing = yield* serving({ "resources/subscribe": (request) => request.error(-32002, "not found") })
      const second = yield* Effect.flip(Stream.runDrain((yield* connect(refusing)).watchResource(uri)))
      assert.deepInclude(second.reason, { _tag: "ServerError", code: -32002 })
      assert.deepStrictEqual(refusing.sentOf("resources/read"), [])
    })
  )
})
