import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope, Stream } from "effect"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, discovery } = Scripted

const publish = (server: Scripted.Server, from: number, to: number) => {
  for (let count = from; count <= to; count++) server.links[0]?.notify("notifications/vendor", { count })
}
const counts = (notifications: Iterable<{ readonly params: Record<string, unknown> | undefined }>) =>
  Array.from(notifications, ({ params }) => params?.["count"])

describe("notifications", () => {
  // What users of other clients suffer: a second listener silently replaces the first.
  it.effect("reach everybody who listens, from the moment they listen", () =>
    Effect.gen(function*() {
      for (const make of [Scripted.modern, Scripted.legacy]) {
        const server = yield* make()
        const client = yield* connect(server)
        const first = yield* collect(client.notifications)
        publish(server, 1, 1)
        const second = yield* collect(client.notifications)
        publish(server, 2, 3)
        server.links[0]?.notify("notifications/tools/list_changed")
        yield* Scripted.settled
        assert.deepStrictEqual(counts(first), [1, 2, 3, undefined])
        assert.deepStrictEqual(counts(second), [2, 3, undefined])
        assert.deepStrictEqual(second.at(-1), {
          _tag: "Notification",
          method: "notifications/tools/list_changed",
          params: undefined
        })
      }
    }))

  it.effect("that come between subscribing and running the stream are not missed", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern()
      const client = yield* connect(server)
      const stream = yield* client.subscribeNotifications
      publish(server, 1, 3)
      assert.deepStrictEqual(counts(yield* Stream.runCollect(Stream.take(stream, 3))), [1, 2, 3])
    }))

  it.effect("end with the scope of who subscribed", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern()
      const client = yield* connect(server)
      const scope = yield* Scope.make()
      const stream = yield* Scope.provide(client.subscribeNotifications, scope)
      publish(server, 1, 1)
      yield* Scope.close(scope, Exit.void)
      publish(server, 2, 2)
      const collected = yield* Effect.exit(Stream.runCollect(stream))
      assert.isFalse(Exit.isSuccess(collected) && counts(collected.value).includes(2))
    }))

  it.effect(
    "beyond 1,024 push out the oldest for a slow reader alone, and a diagnostic counts them",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern()
        const client = yield* connect(server)
        const diagnostics = yield* collect(client.diagnostics)
        const fast = yield* collect(client.notifications)
        const slow = yield* client.subscribeNotifications
        publish(server, 1, 500)
        yield* Scripted.settled
        publish(server, 501, 1_024)
        yield* Scripted.settled
        assert.deepStrictEqual(diagnostics, [])
        publish(server, 1_025, 1_524)
        yield* Scripted.settled
        assert.deepStrictEqual(counts(fast), Array.from({ length: 1_524 }, (_, index) => index + 1))
        assert.deepStrictEqual(
          counts(yield* Stream.runCollect(Stream.take(slow, 1_024))),
          Array.from({ length: 1_024 }, (_, index) => index + 501)
        )
        assert.isNotEmpty(diagnostics)
        assert.deepStrictEqual(diagnostics[0], { _tag: "MessagesDropped", stream: "notifications", dropped: 1 })
        const dropped = diagnostics.map((diagnostic) => diagnostic._tag === "MessagesDropped" ? diagnostic.dropped : 0)
        assert.deepStrictEqual(dropped, dropped.toSorted((a, b) => a - b))
      })
  )

  it.effect("go on over the end of a connection", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": answer({ tools: [] }) }, { kind: "stdio" })
      const client = yield* connect(server)
      const heard = yield* collect(client.notifications)
      publish(server, 1, 1)
      server.links[0]?.exit(1)
      yield* client.listTools()
      server.links[1]?.notify("notifications/vendor", { count: 2 })
      yield* Scripted.settled
      assert.deepStrictEqual(counts(heard), [1, 2])
    }))
})

describe("logs", () => {
  it.effect("are bounded like notifications", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy()
      const client = yield* connect(server, { forwardLogs: false })
      const diagnostics = yield* collect(client.diagnostics)
      const taken: Array<unknown> = []
      // A reader that never comes back from the first message.
      yield* Effect.forkScoped(
        Stream.runForEach(client.logs, ({ data }) => Effect.andThen(Effect.sync(() => taken.push(data)), Effect.never)),
        { startImmediately: true }
      )
      const log = (data: number) => server.links[0]?.notify("notifications/message", { level: "info", data })
      log(0)
      yield* Scripted.settled
      for (let data = 1; data <= 3_000; data++) log(data)
      yield* Scripted.settled
      assert.deepStrictEqual(taken, [0])
      assert.isTrue(diagnostics.some((each) => each._tag === "MessagesDropped" && each.stream === "logs"))
    }))
})

describe("diagnostics", () => {
  it.effect("reach everybody who listens", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern()
      const client = yield* connect(server)
      const first = yield* collect(client.diagnostics)
      const second = yield* collect(client.diagnostics)
      server.links[0]?.text("not a message")
      server.links[0]?.text("{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}")
      yield* Scripted.settled
      assert.isTrue(first.some(({ _tag }) => _tag === "UnexpectedMessage"))
      assert.deepStrictEqual(first, second)
    }))
})

describe("state", () => {
  it.effect("tells what the client does, with the number of the connection", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": answer({ tools: [] }) }, { kind: "stdio" })
      const client = yield* connect(server, { lazy: true })
      const states = yield* collect(client.state)
      yield* Scripted.settled
      yield* client.listTools()
      yield* Scripted.settled
      server.links[0]?.exit(1)
      yield* Scripted.settled
      yield* client.listTools()
      yield* Scripted.settled
      assert.deepStrictEqual(states.map(({ _tag, generation }) => [_tag, generation]), [
        ["Idle", 0],
        ["Connecting", 1],
        ["Ready", 1],
        ["Failed", 1],
        ["Renewing", 2],
        ["Ready", 2]
      ])
      const failed = states.find(({ _tag }) => _tag === "Failed")
      assert.isTrue(failed?._tag === "Failed" && failed.error.reason._tag === "ConnectionClosed")
    }))

  it.effect("tells why a connection could not be made", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.make({
        "server/discover": Scripted.inTurn((request) => request.error(-32020), answer(discovery()))
      })
      const client = yield* connect(server, { lazy: true })
      const states = yield* collect(client.state)
      yield* Scripted.settled
      yield* Effect.flip(client.server)
      yield* Scripted.settled
      yield* client.server
      yield* Scripted.settled
      assert.deepStrictEqual(states.map(({ _tag, generation }) => [_tag, generation]), [
        ["Idle", 0],
        ["Connecting", 1],
        ["Failed", 1],
        ["Renewing", 2],
        ["Ready", 2]
      ])
      assert.isTrue(states[2]?._tag === "Failed" && states[2].error.reason._tag === "HeaderMismatch")
    }))

  it.effect("begins with what holds when it is listened to", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern()
      const client = yield* connect(server)
      const [now] = yield* Stream.runCollect(Stream.take(client.state, 1))
      assert.deepStrictEqual(now, { _tag: "Ready", generation: 1 })
    }))
})
