import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError, Metadata } from "@mcp-effect/protocol"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, discovery, initialization, never } = Scripted
const http = { kind: "streamable-http" }
const handshake = ["server/discover", "initialize", "notifications/initialized"]

const refusal = (code: number, status: number, data?: unknown): Scripted.Handler => (request) =>
  request.error(code, "no", data, status)
const status = (status: number): Scripted.Handler => (request) =>
  request.fail(new McpError.HttpStatus({ status }), "refused")

describe("Negotiation over HTTP", () => {
  verifies(["ERA-02", "CON-16"], "a server that answers the probe is modern", () =>
    Effect.gen(function*() {
      for (const kind of ["streamable-http", "http"]) {
        const server = yield* Scripted.modern({}, { kind })
        const client = yield* connect(server)
        assert.strictEqual((yield* client.server).era, "modern")
        assert.deepStrictEqual(server.methods(), ["server/discover"])
      }
    }))

  verifies(
    ["ERA-12", "ERA-09"],
    "400 with -32022 is probed once more, and no handshake follows",
    () =>
      Effect.gen(function*() {
        const unsupported = refusal(-32022, 400, { supported: ["2026-07-28"], requested: "2026-07-28" })
        const server = yield* Scripted.legacy({
          "server/discover": Scripted.inTurn(unsupported, answer(discovery()))
        }, http)
        const client = yield* connect(server)
        assert.strictEqual((yield* client.server).era, "modern")
        assert.deepStrictEqual(server.methods(), ["server/discover", "server/discover"])
      })
  )

  verifies("ERA-12", "400 with -32020 or -32021 is final", () =>
    Effect.gen(function*() {
      for (const probe of [refusal(-32020, 400), refusal(-32021, 400, { requiredCapabilities: {} })]) {
        const server = yield* Scripted.legacy({ "server/discover": probe }, http)
        yield* Effect.flip(connect(server))
        assert.deepStrictEqual(server.methods(), ["server/discover"])
      }
    }))

  verifies(["ERA-12", "ERA-03"], "any other refusal leads to initialize", () =>
    Effect.gen(function*() {
      const probes = [
        status(400),
        status(404),
        status(405),
        status(406),
        status(415),
        refusal(-32000, 400),
        refusal(-32600, 400),
        refusal(-32602, 400),
        refusal(-32022, 400, { supported: "2026-07-28" }),
        refusal(-32601, 200),
        refusal(-32601, 404),
        answer({ tools: [] })
      ]
      for (const probe of probes) {
        const server = yield* Scripted.legacy({ "server/discover": probe }, http)
        const client = yield* connect(server)
        assert.strictEqual((yield* client.server).era, "legacy")
        assert.deepStrictEqual(server.methods(), handshake)
        // "No 2026 _meta keys": a legacy server must not see the modern revision.
        assert.isFalse(Object.hasOwn(server.sentOf("initialize")[0]?.meta ?? {}, Metadata.protocolVersionKey))
      }
    }))

  verifies(
    "ERA-12",
    "after 404 with -32601 a server that refuses initialize too is modern, without discovery",
    () =>
      Effect.gen(function*() {
        const refusals = [
          refusal(-32601, 404),
          refusal(-32601, 400),
          refusal(-32022, 400, { supported: ["2026-07-28"], requested: "2025-11-25" }),
          status(404)
        ]
        for (const initialize of refusals) {
          const server = yield* Scripted.make({
            "server/discover": refusal(-32601, 404),
            initialize,
            "tools/list": answer({ tools: [], resultType: "complete" })
          }, http)
          const client = yield* connect(server)
          const negotiated = yield* client.server
          assert.strictEqual(negotiated.revision.version, "2026-07-28")
          assert.isUndefined(negotiated.capabilities)
          assert.deepStrictEqual(negotiated.supportedVersions, ["2026-07-28"])
          yield* client.listTools()
          assert.strictEqual(server.sentOf("tools/list")[0]?.meta[Metadata.protocolVersionKey], "2026-07-28")
        }
      })
  )

  verifies(
    "ERA-12",
    "after 404 with -32601 any other failure of initialize is the answer",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.make({ "server/discover": refusal(-32601, 404), initialize: status(503) }, http)
        const error = yield* Effect.flip(connect(server, Scripted.once))
        assert.isTrue(error.reason._tag === "HttpStatus" && error.reason.status === 503)
      })
  )

  verifies(
    ["ERA-12", "ERA-15"],
    "in mode modern 404 with -32601 is enough, and other refusals fail",
    () =>
      Effect.gen(function*() {
        const undiscovered = yield* Scripted.make({ "server/discover": refusal(-32601, 404) }, http)
        const client = yield* connect(undiscovered, { protocol: "modern" })
        assert.isUndefined((yield* client.server).capabilities)
        const legacy = yield* Scripted.legacy({ "server/discover": refusal(-32000, 400) }, http)
        const error = yield* Effect.flip(connect(legacy, { protocol: "modern" }))
        assert.strictEqual(error.reason._tag, "NegotiationFailed")
        assert.deepStrictEqual([...undiscovered.methods(), ...legacy.methods()], ["server/discover", "server/discover"])
      })
  )

  verifies(
    "ERA-13",
    "what says nothing of the era fails with its own reason, and no handshake follows",
    () =>
      Effect.gen(function*() {
        const reasons: ReadonlyArray<McpError.McpErrorReason> = [
          new McpError.Unauthorized({ challenges: [] }),
          new McpError.InsufficientScope({ challenges: [] }),
          new McpError.HttpStatus({ status: 429 }),
          new McpError.HttpStatus({ status: 500 }),
          new McpError.HttpStatus({ status: 503 }),
          new McpError.StreamEnded({ resumable: false }),
          new McpError.MessageTooLarge({ limit: 1, direction: "received" }),
          new McpError.ConnectionFailed({ target: "x", description: "refused" }),
          new McpError.RedirectRefused({ status: 307 })
        ]
        for (const reason of reasons) {
          const server = yield* Scripted.legacy({ "server/discover": (request) => request.fail(reason) }, http)
          const error = yield* Effect.flip(connect(server, Scripted.once))
          assert.strictEqual(error.reason, reason)
          assert.deepStrictEqual(server.methods(), ["server/discover"])
          assert.isTrue(server.links[0]?.closed)
        }
      })
  )

  verifies(
    "ERA-13",
    "a JSON-RPC error under 401, 429 or 5xx says nothing of the era either",
    () =>
      Effect.gen(function*() {
        for (const httpStatus of [401, 403, 429, 500, 503]) {
          const server = yield* Scripted.legacy({ "server/discover": refusal(-32001, httpStatus) }, http)
          const error = yield* Effect.flip(connect(server, Scripted.once))
          assert.isTrue(error.reason._tag === "ServerError" && error.reason.httpStatus === httpStatus)
          assert.deepStrictEqual(server.methods(), ["server/discover"])
        }
      })
  )

  verifies(
    ["ERA-13", "CON-14", "STD-10"],
    "a probe that is not answered in 10 seconds fails without a handshake",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ "server/discover": never }, http)
        const connecting = yield* Effect.forkScoped(connect(server))
        yield* server.take("server/discover")
        yield* TestClock.adjust("9999 millis")
        assert.isUndefined(connecting.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const error = yield* Effect.flip(Fiber.join(connecting))
        assert.strictEqual(error.reason._tag, "RequestTimeout")
        assert.strictEqual(error.method, "server/discover")
        assert.deepStrictEqual(server.methods(), ["server/discover"])
        assert.isTrue(server.links[0]?.closed)
      })
  )

  verifies(["CON-14", "CON-16"], "probeTimeout bounds the probe over HTTP too", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({ "server/discover": never }, http)
      const connecting = yield* Effect.forkScoped(connect(server, { probeTimeout: "1 second" }))
      yield* server.take("server/discover")
      yield* TestClock.adjust("1 second")
      const error = yield* Effect.flip(Fiber.join(connecting))
      assert.isTrue(error.reason._tag === "RequestTimeout" && error.reason.millis === 1_000)
    }))

  verifies(
    "CON-14",
    "the time a person takes to sign in is no silence of the probe",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "server/discover": never }, http)
        const connecting = yield* Effect.forkScoped(connect(server, { connectTimeout: "1 hour" }))
        const probe = yield* server.take("server/discover")
        // What a transport tells while a person acts, and afterwards.
        probe.alive(Infinity)
        yield* TestClock.adjust("5 minutes")
        probe.alive(0)
        yield* TestClock.adjust("9999 millis")
        assert.isUndefined(connecting.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const { reason } = yield* Effect.flip(Fiber.join(connecting))
        assert.isTrue(reason._tag === "RequestTimeout" && reason.kind === "connect" && reason.millis === 10_000)
      })
  )

  verifies(
    ["ERA-04", "ERA-05", "STD-10"],
    "an answer to initialize with a wrong revision closes the connection",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ initialize: answer(initialization("2026-07-28")) }, http)
        const error = yield* Effect.flip(connect(server))
        assert.strictEqual(error.reason._tag, "NegotiationFailed")
        assert.isTrue(server.links[0]?.closed)
      })
  )

  verifies(
    "SDK-03",
    "the deprecated HTTP+SSE transport has no modern era: it is never probed",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({}, { kind: "sse" })
        yield* connect(server)
        assert.deepStrictEqual(server.methods(), ["initialize", "notifications/initialized"])
      })
  )
})
