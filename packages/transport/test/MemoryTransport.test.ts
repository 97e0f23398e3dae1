import { assert, describe, it } from "@effect/vitest"
import { type Envelope, type Json, type McpError, Revision } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as MemoryTransport from "../src/MemoryTransport.ts"
import { Transport } from "../src/Transport.ts"

const connect = (transport: Transport["Service"]) =>
  Effect.map(transport.connect({ onMessage: () => {}, onDiagnostic: () => {} }), (connection) => {
    const open = (id: Envelope.RequestId, method: string, params: Json.JsonObject = {}) => {
      const settled = Deferred.makeUnsafe<Envelope.Outcome, McpError.McpError>()
      const cancel = connection.open(
        {
          id,
          method,
          text: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
          revision: Revision.latestLegacy,
          routing: undefined,
          onAbandon: "cancel"
        },
        {
          onMessage: () => {},
          onActivity: () => {},
          onResponse: ({ outcome }) => Deferred.doneUnsafe(settled, Effect.succeed(outcome)),
          onFailure: (error) => Deferred.doneUnsafe(settled, Effect.fail(error))
        },
        Context.empty()
      )
      return { cancel, outcome: Deferred.await(settled) }
    }
    return { connection, open, ask: (method: string) => open(method, method).outcome }
  })

const result = (result: Json.JsonObject): Envelope.Outcome => ({ _tag: "Result", result })

class Greeting extends Context.Service<Greeting, { readonly text: string }>()("test/Greeting") {}

describe("MemoryTransport.make", () => {
  it.effect("the peer sees what the client sends and answers it", () =>
    Effect.gen(function*() {
      const { peer, transport } = yield* MemoryTransport.make()
      const { connection, open } = yield* connect(transport)
      const call = open(1, "tools/list", { cursor: "x" })
      assert.deepStrictEqual(yield* peer.take, {
        _tag: "Request",
        id: 1,
        method: "tools/list",
        params: { cursor: "x" }
      })
      yield* peer.reply(1, { tools: [] })
      assert.deepStrictEqual(yield* call.outcome, result({ tools: [] }))
      const failing = open("2", "tools/call")
      yield* peer.fail("2", { code: -32602, message: "Bad" })
      assert.deepStrictEqual(yield* failing.outcome, { _tag: "Error", error: { code: -32602, message: "Bad" } })
      failing.cancel("too late")
      const abandoned = open(3, "tools/call")
      yield* Stream.runDrain(Stream.take(peer.messages, 2))
      abandoned.cancel("enough")
      assert.deepStrictEqual(yield* peer.take, {
        _tag: "Notification",
        method: "notifications/cancelled",
        params: { requestId: 3, reason: "enough" }
      })
      yield* connection.send({ _tag: "Notification", method: "n", params: undefined }, Revision.latestLegacy)
      assert.deepStrictEqual(yield* peer.take, { _tag: "Notification", method: "n", params: undefined })
    }))

  it.effect("neither side runs on the other's stack: a peer that answers in a loop does not grow it", () =>
    Effect.gen(function*() {
      const { transport } = yield* MemoryTransport.make(() => Effect.succeed({}))
      const { open } = yield* connect(transport)
      let answered = 0
      for (let index = 0; index < 20_000; index++) {
        yield* open(index, "ping").outcome
        answered++
      }
      assert.strictEqual(answered, 20_000)
    }))

  it.effect("a peer that closes fails what is pending", () =>
    Effect.gen(function*() {
      const { peer, transport } = yield* MemoryTransport.make()
      const { ask, connection } = yield* connect(transport)
      const call = yield* Effect.forkChild(Effect.flip(ask("tools/list")), { startImmediately: true })
      yield* peer.take
      yield* peer.close
      const reason = (yield* connection.closed).reason
      assert.deepInclude(reason, { _tag: "ConnectionClosed", local: false, target: "memory" })
      assert.strictEqual((yield* Effect.flip(ask("ping"))).delivery, "unsent")
      call.interruptUnsafe()
    }))

  it.effect("two servers are told apart", () =>
    Effect.gen(function*() {
      const first = yield* MemoryTransport.make()
      const second = yield* MemoryTransport.make()
      assert.notStrictEqual(first.transport.fingerprint, second.transport.fingerprint)
    }))
})

describe("MemoryTransport.layer", () => {
  const answered = (answer: MemoryTransport.Answer<Greeting>, ...methods: ReadonlyArray<string>) =>
    Effect.gen(function*() {
      const { ask } = yield* connect(yield* Transport)
      return yield* Effect.forEach(methods, ask)
    }).pipe(
      Effect.provide(MemoryTransport.layer(answer)),
      Effect.provideService(Greeting, { text: "hello" })
    )

  it.effect("a function answers, with what it needs of the context", () =>
    Effect.gen(function*() {
      const outcomes = yield* answered(
        ({ method }) => {
          switch (method) {
            case "greet":
              return Effect.map(Greeting, ({ text }) => ({ text }))
            case "throw":
              throw new Error("private detail")
            case "die":
              return Effect.die("private detail")
            default:
              return Effect.fail({ code: -32601, message: "Method not found" })
          }
        },
        "greet",
        "throw",
        "die",
        "other"
      )
      const internal = { _tag: "Error", error: { code: -32603, message: "Internal error" } } as const
      assert.deepStrictEqual(outcomes, [
        result({ text: "hello" }),
        internal,
        internal,
        { _tag: "Error", error: { code: -32601, message: "Method not found" } }
      ])
    }))

  it.effect("a cancelled request interrupts its answer, as does the end of the connection", () =>
    Effect.gen(function*() {
      const interrupted: Array<string> = []
      const started = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const { transport } = yield* MemoryTransport.make(({ method }) =>
        Deferred.succeed(started, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() =>
            Effect.andThen(Effect.sync(() => interrupted.push(method)), Deferred.succeed(ended, undefined))
          )
        )
      )
      const scope = yield* Scope.make()
      const { open } = yield* Scope.provide(connect(transport), scope)
      const { cancel } = open(1, "first")
      open(2, "second")
      yield* Deferred.await(started)
      cancel(undefined)
      yield* Deferred.await(ended)
      assert.deepStrictEqual(interrupted, ["first"])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(interrupted, ["first", "second"])
    }))

  it.effect("an answer goes to the connection that asked, and each connect opens one", () =>
    Effect.gen(function*() {
      const { transport } = yield* MemoryTransport.make(({ method }, peer) =>
        Effect.as(peer.notify("notifications/message", {}), { method })
      )
      const first = yield* connect(transport)
      const second = yield* connect(transport)
      assert.deepStrictEqual(yield* first.ask("first"), result({ method: "first" }))
      assert.deepStrictEqual(yield* second.ask("second"), result({ method: "second" }))
    }))
})
