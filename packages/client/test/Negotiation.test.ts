import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { type McpError, Metadata, type Revision } from "@mcp-effect/protocol"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, discovery, initialization, never } = Scripted

const handshake = ["server/discover", "initialize", "notifications/initialized"]
const unsupported = (supported: ReadonlyArray<string>): Scripted.Handler => (request) =>
  request.error(-32022, "Unsupported protocol version", { supported, requested: "2026-07-28" })

describe("Negotiation of a modern server", () => {
  verifies(
    ["ERA-02", "ERA-01", "MET-01", "PAIN-49"],
    "a server that answers the probe never sees initialize",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "tools/list": answer({ tools: [] }) })
        const client = yield* connect(server, { clientInfo: { name: "tester", version: "1.2.3" } })
        yield* client.listTools()
        assert.deepStrictEqual(server.methods(), ["server/discover", "tools/list"])
        assert.strictEqual(server.links.length, 1)
        for (const { meta, revision } of server.sent) {
          assert.strictEqual(revision, "2026-07-28")
          assert.strictEqual(meta[Metadata.protocolVersionKey], "2026-07-28")
          assert.deepStrictEqual(meta[Metadata.clientInfoKey], { name: "tester", version: "1.2.3" })
          assert.deepStrictEqual(meta[Metadata.clientCapabilitiesKey], {})
        }
        assert.strictEqual(server.links[0]?.established, "2026-07-28")
      })
  )

  verifies(
    ["ERA-06", "ERA-23", "ERA-24"],
    "what was agreed on can be read: revision, era, capabilities, identity, instructions",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "server/discover": answer(discovery({
            supportedVersions: ["2099-01-01", "2026-07-28", "2025-11-25"],
            capabilities: { tools: { listChanged: true } },
            instructions: "Be kind"
          }))
        })
        const client = yield* connect(server)
        const negotiated = yield* client.server
        assert.strictEqual(negotiated.revision.version, "2026-07-28")
        assert.strictEqual(negotiated.era, "modern")
        assert.strictEqual(negotiated.generation, 1)
        assert.deepStrictEqual(negotiated.capabilities, { tools: { listChanged: true } })
        assert.deepStrictEqual(negotiated.serverInfo, { name: "modern-server", version: "2.0.0" })
        assert.strictEqual(negotiated.instructions, "Be kind")
        assert.deepStrictEqual(negotiated.supportedVersions, ["2099-01-01", "2026-07-28", "2025-11-25"])
      })
  )

  verifies(
    "ERA-24",
    "the identity is what the latest result says, and unknown where none says it",
    () =>
      Effect.gen(function*() {
        const renamed = { [Metadata.serverInfoKey]: { name: "renamed", version: "3" } }
        const server = yield* Scripted.modern({
          "server/discover": answer(discovery({ _meta: {} })),
          "tools/list": Scripted.inTurn(
            answer({ tools: [], _meta: renamed }),
            answer({ tools: [], _meta: { [Metadata.serverInfoKey]: { name: "no version" } } })
          )
        })
        const client = yield* connect(server)
        assert.isUndefined((yield* client.server).serverInfo)
        yield* client.listTools()
        assert.deepStrictEqual((yield* client.server).serverInfo, { name: "renamed", version: "3" })
        yield* client.listTools()
        assert.deepStrictEqual((yield* client.server).serverInfo, { name: "renamed", version: "3" })
      })
  )

  verifies(
    "ERA-24",
    "an identity beside the capabilities, where the handshake has it, is read too",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "server/discover": answer(discovery({ _meta: undefined, serverInfo: { name: "odd", version: "1" } }))
        })
        const client = yield* connect(server)
        assert.deepStrictEqual((yield* client.server).serverInfo, { name: "odd", version: "1" })
      })
  )

  verifies(
    "ERA-08",
    "modern revisions without a mutual one end in NegotiationFailed, without a handshake",
    () =>
      Effect.gen(function*() {
        for (
          const probe of [
            answer(discovery({ supportedVersions: ["2099-01-01", "2025-11-25"] })),
            unsupported(["2099-01-01"])
          ]
        ) {
          const server = yield* Scripted.legacy({ "server/discover": probe })
          const error = yield* Effect.flip(connect(server))
          assert.strictEqual(error.reason._tag, "NegotiationFailed")
          if (error.reason._tag === "NegotiationFailed") {
            assert.include(error.reason.supported, "2099-01-01")
            assert.deepStrictEqual(error.reason.offered, ["2026-07-28"])
          }
          assert.deepStrictEqual(server.methods(), ["server/discover"])
        }
      })
  )

  verifies("ERA-08", "a list of legacy revisions alone leads to the handshake", () =>
    Effect.gen(function*() {
      for (
        const probe of [
          answer(discovery({ supportedVersions: ["2025-11-25", "2025-06-18"] })),
          unsupported(["2025-11-25"])
        ]
      ) {
        const server = yield* Scripted.legacy({ "server/discover": probe })
        const client = yield* connect(server)
        assert.strictEqual((yield* client.server).era, "legacy")
        assert.deepStrictEqual(server.methods(), handshake)
      }
    }))

  verifies(
    "ERA-09",
    "-32022 is probed once more, under a new id, and then the server is modern",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          "server/discover": Scripted.inTurn(unsupported(["2026-07-28"]), answer(discovery()))
        })
        const client = yield* connect(server)
        assert.strictEqual((yield* client.server).era, "modern")
        assert.deepStrictEqual(server.methods(), ["server/discover", "server/discover"])
        assert.notStrictEqual(server.sent[0]?.id, server.sent[1]?.id)
      })
  )

  verifies(
    "ERA-09",
    "once -32022 proved a server modern no handshake follows, whatever the second probe says",
    () =>
      Effect.gen(function*() {
        for (
          const second of [
            unsupported(["2026-07-28"]),
            unsupported(["2025-11-25"]),
            (request: Scripted.Received) => request.error(-32601, "Method not found"),
            answer({ not: "a discovery" })
          ]
        ) {
          const server = yield* Scripted.legacy({
            "server/discover": Scripted.inTurn(unsupported(["2026-07-28"]), second)
          })
          yield* Effect.flip(connect(server))
          assert.deepStrictEqual(server.methods(), ["server/discover", "server/discover"])
        }
      })
  )

  verifies(
    ["ERA-11", "ERA-16"],
    "well-formed -32020 and -32021 are final: no handshake follows",
    () =>
      Effect.gen(function*() {
        const cases: ReadonlyArray<readonly [code: number, data: unknown, tag: string]> = [
          [-32020, undefined, "HeaderMismatch"],
          [-32021, { requiredCapabilities: { sampling: {} } }, "MissingClientCapability"]
        ]
        for (const [code, data, tag] of cases) {
          const server = yield* Scripted.legacy({ "server/discover": (request) => request.error(code, "no", data) })
          const error = yield* Effect.flip(connect(server))
          assert.strictEqual(error.reason._tag, tag)
          assert.deepStrictEqual(server.methods(), ["server/discover"])
        }
      })
  )

  verifies(
    "ERA-17",
    "input_required in answer to the probe is refused, and no handshake follows",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          "server/discover": answer({ resultType: "input_required", requestState: "s" })
        })
        const error = yield* Effect.flip(connect(server))
        assert.strictEqual(error.reason._tag, "MalformedMessage")
        assert.deepStrictEqual(server.methods(), ["server/discover"])
      })
  )

  verifies(
    "ERA-14",
    "a server found modern is not sent initialize later, whatever it answers",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "server/discover": Scripted.inTurn(answer(discovery()), (request) => request.error(-32601)),
          "tools/list": unsupported(["2025-11-25"]),
          "prompts/list": (request) => request.error(-32601)
        })
        const client = yield* connect(server)
        yield* Effect.flip(client.ping())
        yield* Effect.flip(client.listTools())
        yield* Effect.flip(client.listPrompts())
        assert.strictEqual((yield* client.server).era, "modern")
        assert.deepStrictEqual(server.methods(), ["server/discover", "server/discover", "tools/list", "prompts/list"])
      })
  )

  verifies(
    "ERA-21",
    "a later discovery whose result is refused changes nothing that is known",
    () =>
      Effect.gen(function*() {
        const usurper = { [Metadata.serverInfoKey]: { name: "usurper", version: "0" } }
        const server = yield* Scripted.modern({
          "server/discover": Scripted.inTurn(
            answer(discovery({ instructions: "first" })),
            answer({ resultType: "complete", instructions: "second", _meta: usurper })
          ),
          "tools/list": answer({ tools: "none", _meta: usurper })
        })
        const client = yield* connect(server)
        const before = yield* client.server
        yield* Effect.flip(client.listTools())
        yield* Effect.flip(
          client.request("server/discover", {}, Schema.Struct({ supportedVersions: Schema.Array(Schema.String) }))
        )
        assert.deepStrictEqual(yield* client.server, before)
      })
  )

  verifies(
    "ERA-10",
    "an ordinary request answered -32022 is sent once more under a new id",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": Scripted.inTurn(unsupported(["2026-07-28"]), answer({ tools: [] }))
        })
        const client = yield* connect(server)
        assert.deepStrictEqual(yield* client.listTools({ requestId: "mine" }), [])
        const [first, second] = server.sentOf("tools/list")
        assert.strictEqual(first?.id, "mine")
        assert.notStrictEqual(second?.id, "mine")
        assert.strictEqual(second?.meta[Metadata.protocolVersionKey], "2026-07-28")
      })
  )

  verifies(
    "ERA-10",
    "it is sent once more only, and not at all without a mutual revision",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": unsupported(["2026-07-28"]),
          "prompts/list": unsupported(["2099-01-01"])
        })
        const client = yield* connect(server)
        const lists: ReadonlyArray<readonly [Effect.Effect<unknown, McpError.McpError>, number]> = [
          [client.listTools(), 2],
          [client.listPrompts(), 1]
        ]
        for (const [list, sent] of lists) {
          const error = yield* Effect.flip(list)
          assert.strictEqual(error.reason._tag, "UnsupportedProtocolVersion")
          assert.strictEqual(error.delivery, "refused")
          assert.strictEqual(server.sentOf(error.method ?? "").length, sent)
        }
      })
  )
})

describe("Negotiation of a legacy server", () => {
  verifies(
    ["ERA-03", "ERA-11", "PAIN-49"],
    "any other error leads to the handshake in the same connection",
    () =>
      Effect.gen(function*() {
        for (const code of [-32601, -32602, -32600, -32000, 0]) {
          const server = yield* Scripted.legacy({ "server/discover": (request) => request.error(code) })
          yield* connect(server, { clientInfo: { name: "tester", version: "1.2.3" } })
          assert.deepStrictEqual(server.methods(), handshake)
          assert.strictEqual(server.links.length, 1)
          const initialize = server.sentOf("initialize")[0]
          assert.strictEqual(initialize?.params["protocolVersion"], "2025-11-25")
          assert.deepStrictEqual(initialize?.params["capabilities"], {})
          assert.deepStrictEqual(initialize?.params["clientInfo"], { name: "tester", version: "1.2.3" })
          assert.deepStrictEqual(Object.keys(initialize?.meta ?? {}), ["progressToken"])
        }
      })
  )

  verifies(
    "ERA-16",
    "a modern code without the data that its schema demands is an error like any other",
    () =>
      Effect.gen(function*() {
        const cases: ReadonlyArray<readonly [code: number, data: unknown]> = [
          [-32022, undefined],
          [-32022, { supported: ["2026-07-28"] }],
          [-32022, { supported: [1], requested: "2026-07-28" }],
          [-32021, {}],
          [-32021, { requiredCapabilities: "sampling" }]
        ]
        for (const [code, data] of cases) {
          const server = yield* Scripted.legacy({ "server/discover": (request) => request.error(code, "no", data) })
          yield* connect(server)
          assert.deepStrictEqual(server.methods(), handshake)
        }
      })
  )

  verifies("ERA-01", "each of the four revisions with a handshake is spoken", () =>
    Effect.gen(function*() {
      const versions: ReadonlyArray<Revision.Version> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
      for (const version of versions) {
        const server = yield* Scripted.legacy({ "tools/list": answer({ tools: [] }) }, { version })
        const client = yield* connect(server)
        yield* client.listTools()
        const negotiated = yield* client.server
        assert.strictEqual(negotiated.revision.version, version)
        assert.strictEqual(negotiated.era, "legacy")
        assert.strictEqual(server.links[0]?.established, version)
        assert.strictEqual(server.sentOf("tools/list")[0]?.revision, version)
        assert.deepStrictEqual(Object.keys(server.sentOf("tools/list")[0]?.meta ?? {}), ["progressToken"])
      }
    }))

  verifies(
    ["ERA-23", "ERA-24", "ERA-06"],
    "instructions, identity and capabilities come from the handshake",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          initialize: answer(initialization("2025-06-18", {
            instructions: "Read first",
            capabilities: { resources: { subscribe: true } }
          }))
        })
        const client = yield* connect(server)
        const negotiated = yield* client.server
        assert.strictEqual(negotiated.instructions, "Read first")
        assert.deepStrictEqual(negotiated.serverInfo, { name: "legacy-server", version: "1.0.0" })
        assert.deepStrictEqual(negotiated.capabilities, { resources: { subscribe: true } })
        assert.deepStrictEqual(negotiated.supportedVersions, ["2025-06-18"])
      })
  )

  verifies(
    ["ERA-04", "ERA-05", "STD-10"],
    "an answer with an unknown revision, a modern one or none fails and closes the connection first",
    () =>
      Effect.gen(function*() {
        for (const protocolVersion of ["2099-01-01", "2026-07-28", undefined, 7]) {
          const server = yield* Scripted.legacy({
            initialize: answer({ ...initialization("2025-11-25"), protocolVersion })
          })
          const closed = yield* connect(server).pipe(
            Effect.flip,
            Effect.map((error) => {
              assert.strictEqual(error.reason._tag, "NegotiationFailed")
              return server.links[0]?.closed
            })
          )
          assert.isTrue(closed)
          assert.notInclude(server.methods(), "notifications/initialized")
        }
      })
  )

  verifies(
    "ERA-03",
    "an error to initialize that lists revisions of ours is answered with the newest of them",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          initialize: Scripted.inTurn(
            (request) =>
              request.error(-32602, "Unsupported protocol version", {
                supported: ["2024-11-05", "2025-03-26"],
                requested: "2025-11-25"
              }),
            answer(initialization("2025-03-26"))
          )
        })
        const client = yield* connect(server)
        assert.strictEqual((yield* client.server).revision.version, "2025-03-26")
        assert.deepStrictEqual(
          server.sentOf("initialize").map(({ params }) => params["protocolVersion"]),
          ["2025-11-25", "2025-03-26"]
        )
      })
  )

  verifies(
    ["ERA-03", "STD-10"],
    "an error to initialize fails and closes the connection first",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.make({ initialize: (request) => request.error(-32603, "broken") })
        const error = yield* Effect.flip(connect(server))
        assert.isTrue(server.links[0]?.closed)
        assert.strictEqual(error.reason._tag, "ServerError")
        assert.strictEqual(error.method, "initialize")
        assert.strictEqual(server.links.length, 1)
      })
  )
})

describe("protocol", () => {
  verifies(["ERA-15", "SDK-03"], "legacy never probes", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy()
      const client = yield* connect(server, { protocol: "legacy" })
      assert.deepStrictEqual(server.methods(), ["initialize", "notifications/initialized"])
      assert.strictEqual((yield* client.server).era, "legacy")
      assert.strictEqual(server.sentOf("initialize")[0]?.params["protocolVersion"], "2025-11-25")
    }))

  verifies(
    ["ERA-15", "SDK-03"],
    "modern fails on a legacy server and never shakes hands",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy()
        const error = yield* Effect.flip(connect(server, { protocol: "modern" }))
        assert.strictEqual(error.reason._tag, "NegotiationFailed")
        assert.deepStrictEqual(server.methods(), ["server/discover"])
        assert.isTrue(server.links[0]?.closed)
      })
  )

  verifies(
    ["ERA-15", "CON-14"],
    "modern waits for a slow server as long as connecting may take",
    () =>
      Effect.gen(function*() {
        const slow = yield* Scripted.legacy({ "server/discover": never })
        const connecting = yield* Effect.forkScoped(connect(slow, { protocol: "modern" }))
        const probe = yield* slow.take("server/discover")
        yield* TestClock.adjust("59 seconds")
        assert.deepStrictEqual(slow.methods(), ["server/discover"])
        probe.result(discovery())
        const client = yield* Fiber.join(connecting)
        assert.strictEqual((yield* client.server).era, "modern")
      })
  )

  verifies(
    "CON-13",
    "anything but auto, modern and legacy is refused before anything is opened",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern()
        const options = JSON.parse("{\"protocol\":\"newest\"}")
        const error = yield* Effect.flip(connect(server, options))
        assert.strictEqual(error.reason._tag, "InvalidRequest")
        assert.strictEqual(server.links.length, 0)
      })
  )

  verifies(
    ["CON-13", "CON-27"],
    "auto is the default, and one program runs against either era",
    () =>
      Effect.gen(function*() {
        const handlers: Scripted.Handlers = {
          "tools/list": answer({ tools: [{ name: "echo", inputSchema: { type: "object" } }] }),
          "logging/setLevel": answer({}),
          "tools/call": (request) =>
            request.result({ content: [{ type: "text", text: JSON.stringify(request.params["arguments"]) }] })
        }
        for (const server of [yield* Scripted.modern(handlers), yield* Scripted.legacy(handlers)]) {
          const client = yield* connect(server)
          assert.deepStrictEqual((yield* client.listTools()).map(({ name }) => name), ["echo"])
          const result = yield* client.callTool("echo", { a: 1 })
          assert.deepStrictEqual(result.content, [{ type: "text", text: "{\"a\":1}" }])
          yield* client.setLogLevel("info")
        }
      })
  )
})
