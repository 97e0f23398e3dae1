import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { ClientOptions } from "../src/ClientOptions.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, discovery, initialization, never } = Scripted

/** A server that leaves the probe open and gets `initialize` beside it after the probe timeout of 2 seconds. */
const sideBySide = Effect.fnUntraced(function*(options?: ClientOptions) {
  const server = yield* Scripted.make({ "server/discover": never, initialize: never }, { kind: "stdio" })
  const connecting = yield* Effect.forkScoped(connect(server, options))
  const probe = yield* server.take("server/discover")
  yield* TestClock.adjust("2 seconds")
  const initialize = yield* server.take("initialize")
  return { server, probe, initialize, connecting }
})

describe("A server that does not answer the probe", () => {
  verifies(
    ["ERA-11", "CON-14", "PAIN-49"],
    "gets initialize after 2 seconds, in the same connection, and the probe is not cancelled",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ "server/discover": never }, { kind: "stdio" })
        const connecting = yield* Effect.forkScoped(connect(server))
        yield* server.take("server/discover")
        yield* TestClock.adjust("1999 millis")
        assert.deepStrictEqual(server.methods(), ["server/discover"])
        yield* TestClock.adjust("1 millis")
        const client = yield* Fiber.join(connecting)
        assert.strictEqual((yield* client.server).era, "legacy")
        assert.deepStrictEqual(server.methods(), ["server/discover", "initialize", "notifications/initialized"])
        assert.strictEqual(server.links.length, 1)
        assert.notStrictEqual(server.sent[0]?.id, server.sent[1]?.id)
      })
  )

  verifies(
    ["CON-14", "CON-16"],
    "waits as long as probeTimeout says, and nothing else waits shorter for it",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ "server/discover": never, "tools/list": never })
        const connecting = yield* Effect.forkScoped(connect(server, { probeTimeout: "30 seconds" }))
        yield* server.take("server/discover")
        yield* TestClock.adjust("29 seconds")
        assert.deepStrictEqual(server.methods(), ["server/discover"])
        yield* TestClock.adjust("1 seconds")
        const client = yield* Fiber.join(connecting)
        const list = yield* Effect.forkScoped(client.listTools())
        yield* server.take("tools/list")
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(list.pollUnsafe())
      })
  )

  verifies(
    ["ERA-11", "ERA-02"],
    "a late result of the probe decides where initialize is not answered in the time that a probe has",
    () =>
      Effect.gen(function*() {
        const { connecting, initialize, probe, server } = yield* sideBySide()
        probe.result(discovery())
        yield* TestClock.adjust("1999 millis")
        assert.isUndefined(connecting.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const client = yield* Fiber.join(connecting)
        assert.strictEqual((yield* client.server).era, "modern")
        initialize.result(initialization("2025-11-25"))
        yield* Scripted.settled
        assert.strictEqual((yield* client.server).era, "modern")
        // Neither is initialize cancelled ("The initialize request MUST NOT be cancelled"), nor is its answer confirmed.
        assert.deepStrictEqual(server.methods(), ["server/discover", "initialize"])
      })
  )

  verifies(
    "ERA-11",
    "a late result of the probe decides at once where initialize is refused",
    () =>
      Effect.gen(function*() {
        const { connecting, initialize, probe } = yield* sideBySide()
        probe.result(discovery())
        initialize.error(-32601, "Method not found")
        const client = yield* Fiber.join(connecting)
        assert.strictEqual((yield* client.server).era, "modern")
      })
  )

  verifies(
    "ERA-11",
    "a server of both eras that takes probe and handshake is where the handshake has led it",
    () =>
      Effect.gen(function*() {
        const { connecting, initialize, probe, server } = yield* sideBySide()
        probe.result(discovery())
        initialize.result(initialization("2025-11-25"))
        const client = yield* Fiber.join(connecting)
        assert.strictEqual((yield* client.server).revision.version, "2025-11-25")
        assert.deepStrictEqual(server.methods(), ["server/discover", "initialize", "notifications/initialized"])
      })
  )

  verifies(
    "ERA-11",
    "a result of initialize decides while the probe is open, and a later one of the probe is ignored",
    () =>
      Effect.gen(function*() {
        const { connecting, initialize, probe, server } = yield* sideBySide()
        initialize.result(initialization("2025-06-18"))
        const client = yield* Fiber.join(connecting)
        probe.result(discovery())
        yield* Scripted.settled
        assert.strictEqual((yield* client.server).revision.version, "2025-06-18")
        assert.deepStrictEqual(server.methods(), ["server/discover", "initialize", "notifications/initialized"])
      })
  )

  verifies("ERA-11", "an error to initialize waits for the probe, whose result decides", () =>
    Effect.gen(function*() {
      const { connecting, initialize, probe } = yield* sideBySide()
      initialize.error(-32601, "Method not found")
      yield* Scripted.settled
      assert.isUndefined(connecting.pollUnsafe())
      yield* TestClock.adjust("50 seconds")
      probe.result(discovery())
      assert.strictEqual((yield* (yield* Fiber.join(connecting)).server).era, "modern")
    }))

  verifies(
    "ERA-11",
    "an error to initialize is the answer when the probe stays open until connectTimeout",
    () =>
      Effect.gen(function*() {
        const { connecting, initialize, server } = yield* sideBySide({ connectTimeout: "20 seconds" })
        initialize.error(-32603, "broken")
        yield* TestClock.adjust("17 seconds")
        assert.isUndefined(connecting.pollUnsafe())
        yield* TestClock.adjust("1 seconds")
        const error = yield* Effect.flip(Fiber.join(connecting))
        assert.strictEqual(error.reason._tag, "ServerError")
        assert.strictEqual(error.method, "initialize")
        assert.isTrue(server.links[0]?.closed)
      })
  )

  verifies("ERA-11", "an ordinary error to the probe waits for initialize", () =>
    Effect.gen(function*() {
      const { connecting, initialize, probe, server } = yield* sideBySide()
      probe.error(-32601, "Method not found")
      yield* Scripted.settled
      assert.isUndefined(connecting.pollUnsafe())
      initialize.result(initialization("2025-11-25"))
      assert.strictEqual((yield* (yield* Fiber.join(connecting)).server).era, "legacy")
      assert.strictEqual(server.sentOf("initialize").length, 1)
    }))

  verifies(
    "ERA-11",
    "when both are answered with errors, the one to initialize is the answer",
    () =>
      Effect.gen(function*() {
        const { connecting, initialize, probe } = yield* sideBySide()
        probe.error(-32601)
        initialize.error(-32603)
        const error = yield* Effect.flip(Fiber.join(connecting))
        assert.strictEqual(error.method, "initialize")
        assert.isTrue(error.reason._tag === "ServerError" && error.reason.code === -32603)
      })
  )

  verifies(
    ["ERA-11", "ERA-08", "ERA-17"],
    "an answer that only a modern server writes ends it at once",
    () =>
      Effect.gen(function*() {
        const answers: ReadonlyArray<readonly [(probe: Scripted.Received) => void, tag: string]> = [
          [(probe) => probe.error(-32020, "mismatch"), "HeaderMismatch"],
          [(probe) => probe.error(-32021, "no", { requiredCapabilities: {} }), "MissingClientCapability"],
          [
            (probe) => probe.error(-32022, "no", { supported: ["2099-01-01"], requested: "2026-07-28" }),
            "NegotiationFailed"
          ],
          [(probe) => probe.result(discovery({ supportedVersions: ["2099-01-01"] })), "NegotiationFailed"],
          [(probe) => probe.result({ resultType: "input_required", requestState: "s" }), "MalformedMessage"]
        ]
        for (const [answerProbe, tag] of answers) {
          const { connecting, probe, server } = yield* sideBySide()
          answerProbe(probe)
          const error = yield* Effect.flip(Fiber.join(connecting))
          assert.strictEqual(error.reason._tag, tag)
          assert.isTrue(server.links[0]?.closed)
          assert.strictEqual(server.sentOf("initialize").length, 1)
        }
      })
  )

  verifies(
    ["ERA-11", "ERA-09"],
    "-32022 with a revision of ours is probed once more beside initialize",
    () =>
      Effect.gen(function*() {
        const { connecting, initialize, probe, server } = yield* sideBySide()
        probe.error(-32022, "no", { supported: ["2026-07-28"], requested: "2026-07-28" })
        const second = yield* server.take("server/discover")
        // The server has shown that it is modern; what it says to initialize has no weight any more.
        initialize.error(-32602, "no", { supported: ["2024-11-05"], requested: "2025-11-25" })
        yield* Scripted.settled
        second.result(discovery())
        assert.strictEqual((yield* (yield* Fiber.join(connecting)).server).era, "modern")
        assert.strictEqual(server.sentOf("initialize").length, 1)
      })
  )

  verifies(
    ["STD-10", "STD-02"],
    "nothing answered at all fails after 60 seconds and closes the connection first",
    () =>
      Effect.gen(function*() {
        const { connecting, server } = yield* sideBySide()
        yield* TestClock.adjust("57999 millis")
        assert.isUndefined(connecting.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const error = yield* Effect.flip(Fiber.join(connecting))
        assert.isTrue(error.reason._tag === "RequestTimeout" && error.reason.kind === "connect")
        assert.isTrue(error.reason._tag === "RequestTimeout" && error.reason.millis === 60_000)
        assert.isTrue(server.links[0]?.closed)
        assert.deepStrictEqual(server.methods(), ["server/discover", "initialize"])
      })
  )

  verifies(
    ["ERA-07", "STD-09"],
    "nothing but probe and handshake is sent before the verdict",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.make(
          { "server/discover": never, initialize: never, "tools/list": answer({ tools: [] }) },
          { kind: "stdio" }
        )
        const client = yield* connect(server, { lazy: true })
        const list = yield* Effect.forkScoped(client.listTools())
        const notified = yield* Effect.forkScoped(client.notify("vendor/hello"))
        yield* server.take("server/discover")
        yield* TestClock.adjust("2 seconds")
        const initialize = yield* server.take("initialize")
        yield* Scripted.settled
        assert.deepStrictEqual(server.methods(), ["server/discover", "initialize"])
        assert.isUndefined(server.links[0]?.established)
        initialize.result(initialization("2025-11-25"))
        yield* Fiber.join(list)
        yield* Fiber.join(notified)
        yield* server.until(() => server.sent.length === 5)
        assert.strictEqual(server.methods()[2], "notifications/initialized")
      })
  )
})

describe("A process that exits on the probe", () => {
  const exit: Scripted.Handler = (request) => request.connection.exit(1)

  verifies(
    ["PAIN-49", "ERA-14"],
    "is replaced once, and the verdict is kept by the transport's fingerprint",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ "server/discover": exit }, { kind: "stdio" })
        const client = yield* connect(server)
        assert.strictEqual((yield* client.server).era, "legacy")
        assert.deepStrictEqual(
          server.sent.map(({ connection, method }) => [connection, method]),
          [[0, "server/discover"], [1, "initialize"], [1, "notifications/initialized"]]
        )
        assert.isTrue(server.links[0]?.closed)

        yield* connect(server)
        assert.deepStrictEqual(
          server.sent.slice(3).map(({ connection, method }) => [connection, method]),
          [[2, "initialize"], [2, "notifications/initialized"]]
        )
        const other = yield* Scripted.legacy({ "server/discover": exit }, { kind: "stdio" })
        yield* connect(other)
        assert.strictEqual(other.links.length, 2)
      })
  )

  verifies(
    ["PAIN-49", "STD-10"],
    "is replaced only once, and not remembered when the second one fails too",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.make({ "server/discover": exit, initialize: exit }, { kind: "stdio" })
        for (const attempts of [2, 4]) {
          const error = yield* Effect.flip(connect(server))
          assert.isTrue(error.reason._tag === "ConnectionClosed" && error.reason.exitCode === 1)
          assert.strictEqual(server.links.length, attempts)
          assert.isTrue(server.links.every(({ closed }) => closed))
        }
      })
  )

  verifies(
    "PAIN-49",
    "one that answered the probe and exits on initialize is not replaced",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.make({ initialize: exit }, { kind: "stdio" })
        const error = yield* Effect.flip(connect(server))
        assert.strictEqual(error.reason._tag, "ConnectionClosed")
        assert.strictEqual(server.links.length, 1)
      })
  )

  verifies(
    "PAIN-49",
    "one that exits while probe and initialize are both open is replaced",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.make({
          "server/discover": never,
          initialize: Scripted.inTurn(exit, answer(initialization("2025-11-25")))
        }, { kind: "stdio" })
        const connecting = yield* Effect.forkScoped(connect(server))
        yield* server.take("server/discover")
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(connecting)
        assert.strictEqual(server.links.length, 2)
      })
  )

  verifies("ERA-15", "is not replaced in mode modern", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({ "server/discover": exit }, { kind: "stdio" })
      const error = yield* Effect.flip(connect(server, { protocol: "modern" }))
      assert.strictEqual(error.reason._tag, "ConnectionClosed")
      assert.strictEqual(server.links.length, 1)
    }))

  verifies("STD-10", "one that cannot be started at all fails at once, with the reason", () =>
    Effect.gen(function*() {
      const failure = McpError.make(
        new McpError.SpawnFailed({ command: "nope", searched: [], problem: "not-found" }),
        "unsent"
      )
      const server = yield* Scripted.legacy({}, { kind: "stdio", connect: () => Effect.fail(failure) })
      const error = yield* Effect.flip(connect(server))
      assert.strictEqual(error.reason._tag, "SpawnFailed")
      assert.strictEqual(server.links.length, 1)
    }))

  verifies("STD-10", "a defect of a transport is not taken for an error of the server", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({}, { connect: () => Effect.die("a fault of ours") })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(connect(server))))
    }))

  verifies(["CON-14", "STD-10"], "connectTimeout covers the start of the process", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({}, { kind: "stdio", connect: () => Effect.never })
      const connecting = yield* Effect.forkScoped(connect(server, { connectTimeout: "5 seconds" }))
      yield* server.until(() => server.links.length === 1)
      yield* TestClock.adjust("5 seconds")
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.isTrue(error.reason._tag === "RequestTimeout" && error.reason.kind === "connect")
      assert.strictEqual(error.delivery, "unsent")
      assert.isTrue(server.links[0]?.closed)
    }))
})
