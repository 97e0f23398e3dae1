import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError, Metadata, type Revision } from "@mcp-effect/protocol"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { readFileSync } from "node:fs"
import * as McpClient from "../src/McpClient.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, discovery, initialization } = Scripted
const anything = Schema.Record(Schema.String, Schema.Unknown)

describe("The identity of the client", () => {
  const info = {
    name: "my-ide",
    version: "2.0.0",
    title: "My IDE",
    description: "Writes code",
    websiteUrl: "https://ide.example",
    icons: [{ src: "https://ide.example/icon.png", mimeType: "image/png", sizes: ["48x48"] }]
  }

  verifies(
    ["CAP-01", "CAP-08"],
    "goes out in initialize and in the _meta of modern requests, as it was given",
    () =>
      Effect.gen(function*() {
        const modern = yield* Scripted.modern({ "tools/list": answer({ tools: [] }) })
        const client = yield* connect(modern, { clientInfo: info })
        yield* client.listTools()
        for (const { meta } of modern.sent) assert.deepStrictEqual(meta[Metadata.clientInfoKey], info)
        const legacy = yield* Scripted.legacy()
        yield* connect(legacy, { clientInfo: info })
        assert.deepStrictEqual(legacy.sentOf("initialize")[0]?.params["clientInfo"], info)
      })
  )

  verifies("CAP-02", "is the library's own where the host gives none", () =>
    Effect.gen(function*() {
      const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
      const server = yield* Scripted.legacy()
      yield* connect(server)
      const own = { name: "mcp-effect", version }
      assert.deepStrictEqual(server.sentOf("server/discover")[0]?.meta[Metadata.clientInfoKey], own)
      assert.deepStrictEqual(server.sentOf("initialize")[0]?.params["clientInfo"], own)
    }))

  verifies("CAP-02", "without name or version is refused before anything is opened", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern()
      for (
        const clientInfo of [
          "{\"name\":\"\",\"version\":\"1\"}",
          "{\"name\":\"x\",\"version\":\"\"}",
          "{\"name\":\"x\"}",
          "{\"version\":\"1\"}",
          "{}"
        ]
      ) {
        const error = yield* Effect.flip(connect(server, { clientInfo: JSON.parse(clientInfo) }))
        assert.strictEqual(error.reason._tag, "InvalidRequest", clientInfo)
      }
      assert.strictEqual(server.links.length, 0)
    }))
})

describe("The capabilities of the client", () => {
  verifies(["CAP-04", "CAP-07"], "are none without handlers, in either era", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy()
      yield* connect(server)
      assert.deepStrictEqual(server.sentOf("server/discover")[0]?.meta[Metadata.clientCapabilitiesKey], {})
      assert.deepStrictEqual(server.sentOf("initialize")[0]?.params["capabilities"], {})
    }))
})

describe("The capabilities of the server", () => {
  const gated = (client: McpClient.McpClient) =>
    [
      [client.setLogLevel("info"), "logging/setLevel", "logging"],
      [client.request("resources/subscribe", { uri: "a:b" }, anything), "resources/subscribe", "resources.subscribe"],
      [
        client.request("resources/unsubscribe", { uri: "a:b" }, anything),
        "resources/unsubscribe",
        "resources.subscribe"
      ],
      [
        client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }),
        "completion/complete",
        "completions"
      ],
      [client.request("tasks/list", {}, anything), "tasks/list", "tasks.list"],
      [client.request("tasks/cancel", { taskId: "t" }, anything), "tasks/cancel", "tasks.cancel"]
    ] as const

  verifies("CAP-03", "decide whether an optional request is sent at all", () =>
    Effect.gen(function*() {
      for (const resources of [undefined, {}, { subscribe: false }]) {
        const server = yield* Scripted.legacy({
          initialize: answer(initialization("2025-11-25", { capabilities: { tools: {}, resources, tasks: {} } }))
        })
        const client = yield* connect(server)
        const before = server.sent.length
        for (const [request, method, capability] of gated(client)) {
          const error = yield* Effect.flip(Effect.asVoid(request))
          assert.deepStrictEqual(error.reason, new McpError.CapabilityMissing({ capability }))
          assert.strictEqual(error.delivery, "unsent")
          assert.strictEqual(error.method, method)
          assert.isFalse(error.isRetryable)
        }
        assert.strictEqual(server.sent.length, before)
      }
    }))

  verifies("CAP-03", "where they are declared the request is sent", () =>
    Effect.gen(function*() {
      const capabilities = {
        logging: {},
        resources: { subscribe: true },
        completions: {},
        tasks: { list: {}, cancel: {} }
      }
      const server = yield* Scripted.legacy({
        initialize: answer(initialization("2025-11-25", { capabilities })),
        "logging/setLevel": answer({}),
        "resources/subscribe": answer({}),
        "resources/unsubscribe": answer({}),
        "completion/complete": answer({ completion: { values: [] } }),
        "tasks/list": answer({ tasks: [] }),
        "tasks/cancel": answer({
          taskId: "t",
          status: "cancelled",
          createdAt: "2025-11-25T00:00:00Z",
          lastUpdatedAt: "2025-11-25T00:00:00Z",
          ttl: null
        })
      })
      const client = yield* connect(server)
      for (const [request, method] of gated(client)) {
        yield* Effect.asVoid(request)
        assert.strictEqual(server.sentOf(method).length, 1)
      }
    }))

  verifies(
    "ERA-20",
    "of a discovery that is stale are asked for anew before one is judged to be missing, on every transport",
    () =>
      Effect.gen(function*() {
        const complete = (client: McpClient.McpClient) =>
          client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } })
        const without = (ttlMs: unknown) => answer(discovery({ capabilities: {}, ttlMs }))
        const completion = { "completion/complete": answer({ completion: { values: ["x"] } }) }
        for (const kind of ["stdio", "streamable-http"]) {
          for (const ttlMs of [undefined, 0, -1, "60000"]) {
            const server = yield* Scripted.modern({
              ...completion,
              "server/discover": Scripted.inTurn(without(ttlMs), answer(discovery()))
            }, { kind })
            const client = yield* connect(server)
            assert.deepStrictEqual((yield* complete(client)).values, ["x"])
            assert.deepStrictEqual((yield* client.server).capabilities, Scripted.everyCapability)
            yield* complete(client)
            assert.strictEqual(server.sentOf("server/discover").length, 2)
          }
          const server = yield* Scripted.modern({
            ...completion,
            "server/discover": Scripted.inTurn(without(60_000), answer(discovery()))
          }, { kind })
          const client = yield* connect(server)
          yield* TestClock.adjust(59_999)
          assert.strictEqual((yield* Effect.flip(complete(client))).reason._tag, "CapabilityMissing")
          assert.strictEqual(server.sentOf("server/discover").length, 1)
          yield* TestClock.adjust(1)
          assert.deepStrictEqual((yield* complete(client)).values, ["x"])
        }
        // Where it cannot be asked, or still does not declare it, nothing is sent.
        for (const second of [without(0), (request: Scripted.Received) => request.error(-32603)]) {
          const server = yield* Scripted.modern({ "server/discover": Scripted.inTurn(without(0), second) })
          const error = yield* Effect.flip(complete(yield* connect(server)))
          assert.strictEqual(error.reason._tag, "CapabilityMissing")
          assert.strictEqual(error.delivery, "unsent")
          assert.isEmpty(server.sentOf("completion/complete"))
        }
      })
  )

  verifies(
    ["CAP-03", "CMP-03"],
    "a modern server without completions is not asked for any",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "server/discover": answer(discovery({ capabilities: {}, ttlMs: 60_000 }))
        })
        const client = yield* connect(server)
        const error = yield* Effect.flip(
          client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } })
        )
        assert.isTrue(error.reason._tag === "CapabilityMissing" && error.reason.capability === "completions")
        assert.deepStrictEqual(server.methods(), ["server/discover"])
      })
  )

  verifies(
    ["CAP-03", "CMP-03"],
    "2024-11-05 has completion without a capability for it; later revisions do not",
    () =>
      Effect.gen(function*() {
        const versions: ReadonlyArray<readonly [Revision.Version, boolean]> = [
          ["2024-11-05", true],
          ["2025-03-26", false],
          ["2025-06-18", false]
        ]
        for (const [version, isSent] of versions) {
          const server = yield* Scripted.legacy({
            initialize: answer(initialization(version, { capabilities: {} })),
            "completion/complete": answer({ completion: { values: ["x"] } })
          })
          const client = yield* connect(server)
          yield* Effect.exit(
            client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } })
          )
          assert.strictEqual(server.sentOf("completion/complete").length, isSent ? 1 : 0)
        }
      })
  )

  verifies("CAP-03", "where nothing is known of them the server decides", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.make({
        "server/discover": (request) => request.error(-32601, "", undefined, 404),
        initialize: (request) => request.error(-32601, "", undefined, 404),
        "completion/complete": answer({ completion: { values: ["x"] } })
      }, { kind: "streamable-http" })
      const client = yield* connect(server)
      const { values } = yield* client.complete({
        ref: { type: "ref/prompt", name: "p" },
        argument: { name: "a", value: "" }
      })
      assert.deepStrictEqual(values, ["x"])
      assert.isUndefined(McpClient.hasCapability(yield* client.server, "tools"))
    }))

  verifies("CAP-05", "can be asked for by path", () =>
    Effect.gen(function*() {
      const capabilities = {
        tools: {},
        resources: { subscribe: true, listChanged: false },
        prompts: null,
        experimental: { "vendor.example": { deep: 1 } }
      }
      const server = yield* Scripted.legacy({ initialize: answer(initialization("2025-11-25", { capabilities })) })
      const negotiated = yield* (yield* connect(server)).server
      const paths: ReadonlyArray<readonly [path: string, has: boolean]> = [
        ["tools", true],
        ["tools.listChanged", false],
        ["resources.subscribe", true],
        ["resources.listChanged", false],
        ["prompts", false],
        ["logging", false],
        ["experimental", true],
        ["toString", false],
        ["__proto__", false]
      ]
      for (const [path, has] of paths) assert.strictEqual(McpClient.hasCapability(negotiated, path), has, path)
    }))
})
