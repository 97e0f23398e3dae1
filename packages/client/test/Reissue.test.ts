import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Effect } from "effect"
import * as ClientOptions from "../src/ClientOptions.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, inTurn } = Scripted
const http = { kind: "streamable-http" }
const broken: Scripted.Handler = (request) => request.fail(new McpError.StreamEnded({ resumable: false }))
const mismatch: Scripted.Handler = (request) => request.error(-32020, "no")
const done = { content: [{ type: "text" as const, text: "done" }] }
const annotated = (annotations?: object) => ({
  tools: [{
    name: "work",
    inputSchema: { type: "object" },
    ...(annotations === undefined ? undefined : { annotations })
  }]
})

const sendsOf = (server: Scripted.Server) => server.sentOf("tools/call")

describe("A response stream of a modern server that breaks", () => {
  verifies(
    ["RTY-07", "RTY-14"],
    "has its call issued anew once, as a new request with a new id",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": answer(annotated()),
          "tools/call": inTurn(broken, answer(done))
        }, http)
        const client = yield* connect(server)
        assert.deepStrictEqual((yield* client.callTool("work", { a: 1 }, { requestId: "mine" })).content, done.content)
        const sends = sendsOf(server)
        assert.deepStrictEqual(sends.map(({ content }) => content), [
          { name: "work", arguments: { a: 1 } },
          { name: "work", arguments: { a: 1 } }
        ])
        assert.strictEqual(sends[0]?.id, "mine")
        assert.notStrictEqual(sends[1]?.id, "mine")
      })
  )

  verifies(
    ["RTY-07", "RTY-12", "ERR-06"],
    "a second time fails, and says that the tool may have run",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": inTurn(answer(annotated()), broken),
          "tools/call": broken
        }, http)
        const client = yield* connect(server)
        const error = yield* Effect.flip(client.callTool("work"))
        assert.strictEqual(error.reason._tag, "AmbiguousDelivery")
        assert.strictEqual(error.delivery, "unknown")
        assert.isFalse(error.isRetryable)
        assert.include(error.message, "may have run")
        const { cause } = error.reason
        assert.strictEqual(McpError.isMcpError(cause) ? cause.reason._tag : undefined, "StreamEnded")
        assert.strictEqual(sendsOf(server).length, 2)
        assert.strictEqual((yield* Effect.flip(client.listTools())).reason._tag, "StreamEnded")
        assert.strictEqual(server.sentOf("tools/list").length, 3)
      })
  )

  verifies(
    ["RTY-14", "PAIN-13"],
    "leaves a call alone where the setting says so, for client, region or call",
    () =>
      Effect.gen(function*() {
        for (const reissue of ["safe", "never"] as const) {
          const server = yield* Scripted.modern({
            "tools/list": answer(annotated()),
            "tools/call": broken,
            "resources/read": inTurn(broken, answer({ contents: [] }))
          }, http)
          const strict = yield* connect(server, { reissue })
          const lax = yield* connect(server)
          const region = Effect.provideService(ClientOptions.ReissuePolicy, reissue)
          for (
            const call of [strict.callTool("work"), region(lax.callTool("work")), lax.callTool("work", {}, { reissue })]
          ) {
            const before = sendsOf(server).length
            assert.strictEqual((yield* Effect.flip(call)).reason._tag, "AmbiguousDelivery")
            assert.strictEqual(sendsOf(server).length - before, 1)
          }
          const read = strict.readResource("a:b")
          if (reissue === "safe") assert.deepStrictEqual((yield* read).contents, [])
          else assert.strictEqual((yield* Effect.flip(read)).reason._tag, "StreamEnded")
        }
        const invalid = yield* Effect.flip(connect(yield* Scripted.modern(), { reissue: "twice" as never }))
        assert.strictEqual(invalid.reason._tag, "InvalidRequest")
      })
  )

  verifies(
    "RTY-13",
    "in the legacy era is no cancellation, so that no call is sent again",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          "tools/call": broken,
          "tools/list": inTurn(broken, answer({ tools: [] }))
        }, http)
        const client = yield* connect(server)
        assert.strictEqual((yield* Effect.flip(client.callTool("work"))).reason._tag, "AmbiguousDelivery")
        assert.strictEqual(sendsOf(server).length, 1)
        assert.deepStrictEqual(yield* client.listTools(), [])
      })
  )

  verifies(
    "HDR-19",
    "and headers that do not match compose in either order: three sends at most, within one deadline",
    () =>
      Effect.gen(function*() {
        for (const failures of [[mismatch, broken], [broken, mismatch]]) {
          const server = yield* Scripted.modern({
            "tools/list": answer(annotated()),
            "tools/call": inTurn(...failures, answer(done))
          }, http)
          const client = yield* connect(server)
          yield* client.callTool("work")
          assert.strictEqual(sendsOf(server).length, 3)
          assert.strictEqual(new Set(sendsOf(server).map(({ id }) => id)).size, 3)
        }
        for (const failures of [[mismatch, broken, mismatch], [broken, mismatch, broken]]) {
          const server = yield* Scripted.modern({
            "tools/list": answer(annotated()),
            "tools/call": inTurn(...failures, answer(done))
          }, http)
          yield* Effect.flip((yield* connect(server)).callTool("work"))
          assert.strictEqual(sendsOf(server).length, 3)
        }
      })
  )
})

describe("Annotations", () => {
  verifies("PAIN-13", "make a call repeatable only where they are trusted", () =>
    Effect.gen(function*() {
      const cases = [
        [{ idempotentHint: true }, true],
        [{ readOnlyHint: true }, true],
        [{ idempotentHint: false, readOnlyHint: false }, false],
        [undefined, false]
      ] as const
      for (const [annotations, isRepeatable] of cases) {
        for (const trustAnnotations of [undefined, false, true]) {
          const server = yield* Scripted.modern({
            "tools/list": answer(annotated(annotations)),
            "tools/call": inTurn(broken, answer(done))
          }, http)
          const client = yield* connect(server, { trustAnnotations, reissue: "safe" })
          yield* client.listTools()
          const outcome = yield* Effect.result(client.callTool("work"))
          const repeats = isRepeatable && trustAnnotations === true
          assert.strictEqual(outcome._tag, repeats ? "Success" : "Failure")
          assert.strictEqual(sendsOf(server).length, repeats ? 2 : 1)
        }
      }
    }))
})
