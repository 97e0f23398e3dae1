import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ConnectionState } from "../src/McpClient.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, discovery, inTurn, never } = Scripted
const keepAlive = { keepAlive: "10 seconds" } as const

const pass = (seconds: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (let passed = 0; passed < seconds; passed++) {
      yield* Scripted.settled
      yield* TestClock.adjust("1 second")
    }
    yield* Scripted.settled
  })

const statesOf = Effect.fnUntraced(function*(states: Stream.Stream<ConnectionState>) {
  const seen: Array<ConnectionState["_tag"]> = []
  yield* Effect.forkScoped(
    Stream.runForEach(states, ({ _tag }) => Effect.sync(() => seen.push(_tag))),
    { startImmediately: true }
  )
  yield* Scripted.settled
  return seen
})

describe("keepAlive", () => {
  verifies(
    "PAIN-28",
    "shows a server that does not answer within two intervals, and when it does again",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          const legacy = yield* Scripted.legacy({ ping: inTurn(never, never, answer({})) }, { kind })
          const modern = yield* Scripted.modern({
            "server/discover": inTurn(answer(discovery()), never, never, answer(discovery()))
          }, { kind })
          for (const [server, method] of [[legacy, "ping"], [modern, "server/discover"]] as const) {
            const client = yield* connect(server, keepAlive)
            const asked = server.sentOf(method).length
            const states = yield* statesOf(client.state)
            yield* pass(9)
            assert.strictEqual(server.sentOf(method).length, asked)
            yield* pass(11)
            assert.deepStrictEqual(states, ["Ready", "Degraded"])
            assert.strictEqual(server.sentOf(method).length, asked + 1)
            yield* pass(20)
            assert.strictEqual(states.at(-1), "Degraded")
            yield* pass(20)
            assert.strictEqual(states.at(-1), "Ready")
            // Nothing is ended for it.
            assert.strictEqual(server.links.length, 1)
          }
        }
      })
  )

  verifies(
    "PAIN-28",
    "is off by default, and asks nothing of a server that answers others",
    () =>
      Effect.gen(function*() {
        const handlers = { ping: answer({}), "tools/list": answer({ tools: [] }) }
        const off = yield* Scripted.legacy(handlers, { kind: "stdio" })
        yield* connect(off)
        const busy = yield* Scripted.legacy(handlers, { kind: "stdio" })
        const client = yield* connect(busy, keepAlive)
        for (let round = 0; round < 5; round++) {
          yield* client.listTools()
          yield* pass(9)
        }
        assert.isEmpty(off.sentOf("ping"))
        assert.isEmpty(busy.sentOf("ping"))
        yield* pass(20)
        assert.isNotEmpty(busy.sentOf("ping"))
      })
  )

  verifies(
    "PAIN-28",
    "asks by another request from the first -32601 on, which is an answer as well",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ "tools/list": answer({ tools: [] }) }, { kind: "stdio" })
        const client = yield* connect(server, keepAlive)
        const states = yield* statesOf(client.state)
        yield* pass(45)
        assert.strictEqual(server.sentOf("ping").length, 1)
        assert.isAtLeast(server.sentOf("tools/list").length, 2)
        assert.deepStrictEqual(states, ["Ready"])
      })
  )

  verifies(
    ["PAIN-28", "PAIN-12"],
    "begins another session where the server has forgotten this one",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          ping: inTurn(
            (request) => request.fail(new McpError.SessionExpired({ status: 404 }), "refused"),
            answer({})
          )
        }, { kind: "streamable-http" })
        const client = yield* connect(server, keepAlive)
        yield* pass(11)
        assert.strictEqual((yield* client.server).generation, 2)
        assert.strictEqual(server.sentOf("initialize").length, 2)
        yield* pass(40)
        assert.strictEqual(server.links.length, 2)
      })
  )

  verifies("PAIN-28", "has to be an interval that ends", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy()
      for (const keepAlive of [0, Infinity]) {
        assert.strictEqual((yield* Effect.flip(connect(server, { keepAlive }))).reason._tag, "InvalidRequest")
      }
    }))
})
