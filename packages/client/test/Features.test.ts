import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Metadata, type Revision } from "@mcp-effect/protocol"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, never } = Scripted
const anything = Schema.Record(Schema.String, Schema.Unknown)
const both = [Scripted.modern, Scripted.legacy]

describe("Prompts", () => {
  verifies(["PRO-01", "PRO-04", "MOD-04", "MOD-01"], "are listed and got as they are", () =>
    Effect.gen(function*() {
      const prompt = {
        name: "review",
        title: "Review",
        description: "Reviews code",
        icons: [{ src: "https://x.example/i.png" }],
        arguments: [{ name: "code", title: "Code", description: "What", required: true }],
        _meta: { a: 1 }
      }
      const filled = {
        description: "Reviews x",
        messages: [
          { role: "user", content: { type: "text", text: "Review x" } },
          { role: "assistant", content: { type: "resource", resource: { uri: "a:b", text: "x" } } },
          { role: "user", content: { type: "hologram" } }
        ]
      }
      for (const make of both) {
        const server = yield* make({ "prompts/list": answer({ prompts: [prompt] }), "prompts/get": answer(filled) })
        const client = yield* connect(server)
        assert.deepStrictEqual((yield* client.listPrompts()) as unknown, [prompt])
        assert.deepStrictEqual((yield* client.getPrompt("review", { code: "x" })) as unknown, filled)
        yield* client.getPrompt("review")
        assert.deepStrictEqual(server.sentOf("prompts/get").map(({ content }) => content), [
          { name: "review", arguments: { code: "x" } },
          { name: "review" }
        ])
      }
    }))
})

describe("Resources", () => {
  verifies(
    ["RSC-11", "RSC-03", "MOD-03", "MOD-04"],
    "and templates are listed with everything they have",
    () =>
      Effect.gen(function*() {
        const common = {
          name: "readme",
          title: "Readme",
          description: "Read me",
          mimeType: "text/markdown",
          icons: [{ src: "https://x.example/i.png" }],
          annotations: { audience: ["user", "assistant"], priority: 1, lastModified: "2025-01-12T15:00:58Z" },
          _meta: { a: 1 }
        }
        const resource = { ...common, uri: "file:///readme", size: 12 }
        const template = { ...common, uriTemplate: "file:///{path}" }
        const server = yield* Scripted.modern({
          "resources/list": answer({ resources: [resource] }),
          "resources/templates/list": answer({ resourceTemplates: [template] })
        })
        const client = yield* connect(server)
        assert.deepStrictEqual((yield* client.listResources()) as unknown, [resource])
        assert.deepStrictEqual((yield* client.listResourceTemplates()) as unknown, [template])
      })
  )

  verifies(["RSC-02", "MOD-03"], "are read as text or as base64 data, several at a time", () =>
    Effect.gen(function*() {
      const contents = [
        { uri: "file:///a", mimeType: "text/plain", text: "A", _meta: { a: 1 } },
        { uri: "file:///b", blob: "aGk=" }
      ]
      for (const make of both) {
        const server = yield* make({ "resources/read": answer({ contents }) })
        const client = yield* connect(server)
        assert.deepStrictEqual((yield* client.readResource("file:///")).contents as unknown, contents)
        assert.strictEqual(server.sentOf("resources/read")[0]?.params["uri"], "file:///")
      }
    }))

  verifies(
    ["RSC-08", "ERR-02"],
    "that do not exist are -32002 on legacy servers, and -32602 too on modern ones",
    () =>
      Effect.gen(function*() {
        const cases = [
          [Scripted.modern, -32002, true],
          [Scripted.modern, -32602, true],
          [Scripted.legacy, -32002, true],
          [Scripted.legacy, -32602, false]
        ] as const
        for (const [make, code, isNotFound] of cases) {
          const server = yield* make({ "resources/read": (request) => request.error(code, "no", { uri: "a:b" }) })
          const client = yield* connect(server)
          const error = yield* Effect.flip(client.readResource("a:b"))
          assert.strictEqual(error.reason._tag, isNotFound ? "ResourceNotFound" : "ServerError")
          if (error.reason._tag !== "ResourceNotFound") continue
          assert.strictEqual(error.reason.uri, "a:b")
          assert.strictEqual(error.reason.code, code)
          assert.deepStrictEqual(error.reason.data, { uri: "a:b" })
        }
      })
  )

  verifies("RSC-08", "the same code for another method says nothing about a resource", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "prompts/get": (request) => request.error(-32602, "no such prompt") })
      const error = yield* Effect.flip((yield* connect(server)).getPrompt("p"))
      assert.isTrue(error.reason._tag === "ServerError" && error.reason.code === -32602)
    }))

  verifies(
    ["RSC-15", "RSC-07", "RSC-14"],
    "updates of a resource are asked for and declined on a legacy server",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          "resources/subscribe": answer({}),
          "resources/unsubscribe": answer({})
        })
        const client = yield* connect(server)
        const notifications = yield* collect(client.notifications)
        yield* client.request("resources/subscribe", { uri: "a:b" }, anything)
        server.links[0]?.notify("notifications/resources/updated", { uri: "a:b" })
        yield* client.request("resources/unsubscribe", { uri: "a:b" }, anything)
        yield* Scripted.settled
        assert.deepStrictEqual(notifications.map(({ method, params }) => [method, params]), [
          ["notifications/resources/updated", { uri: "a:b" }]
        ])
        assert.deepStrictEqual(server.methods().slice(-2), ["resources/subscribe", "resources/unsubscribe"])
      })
  )

  verifies("RSC-05", "asking fails with the server's error, or with a timeout", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({
        "resources/subscribe": Scripted.inTurn((request) => request.error(-32002, "no"), never)
      })
      const client = yield* connect(server)
      const refused = yield* Effect.flip(client.request("resources/subscribe", { uri: "a:b" }, anything))
      assert.isTrue(refused.reason._tag === "ServerError" && refused.reason.code === -32002)
      const asking = yield* Effect.forkScoped(
        client.request("resources/subscribe", { uri: "a:b" }, anything, { idleTimeout: "5 seconds" })
      )
      yield* server.until(() => server.sentOf("resources/subscribe").length === 2)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Effect.flip(Fiber.join(asking))).reason._tag, "RequestTimeout")
    }))
})

describe("complete", () => {
  const ref = { type: "ref/prompt", name: "review" } as const
  const argument = { name: "language", value: "ty" }

  verifies("CMP-01", "gives values, total and whether there are more", () =>
    Effect.gen(function*() {
      const completion = { values: ["typescript", "typst"], total: 12, hasMore: true }
      for (const make of both) {
        const server = yield* make({ "completion/complete": answer({ completion }) })
        const client = yield* connect(server)
        assert.deepStrictEqual((yield* client.complete({ ref, argument })) as unknown, completion)
        yield* client.complete({ ref: { type: "ref/resource", uri: "file:///{path}" }, argument })
        assert.deepStrictEqual(
          server.sentOf("completion/complete").map(({ params }) => [params["ref"], params["argument"]]),
          [[ref, argument], [{ type: "ref/resource", uri: "file:///{path}" }, argument]]
        )
      }
    }))

  verifies(
    "CMP-02",
    "says nothing of settled arguments to revisions that do not know of them",
    () =>
      Effect.gen(function*() {
        for (const [version, knows] of [["2024-11-05", false], ["2025-03-26", false], ["2025-06-18", true]] as const) {
          const server = yield* Scripted.legacy({
            "completion/complete": answer({ completion: { values: [] } })
          }, { version })
          const client = yield* connect(server)
          const context = { arguments: { framework: "effect" } }
          yield* client.complete({
            ref: { type: "ref/prompt", name: "p" },
            argument: { name: "a", value: "" },
            context
          })
          assert.deepStrictEqual(
            server.sentOf("completion/complete")[0]?.content["context"],
            knows ? context : undefined
          )
        }
      })
  )

  verifies("CMP-02", "sends the arguments that are settled already as context.arguments", () =>
    Effect.gen(function*() {
      const handlers = { "completion/complete": answer({ completion: { values: [] } }) }
      const servers = [
        yield* Scripted.modern(handlers),
        yield* Scripted.legacy(handlers, { version: "2025-11-25" }),
        yield* Scripted.legacy(handlers, { version: "2025-06-18" })
      ]
      for (const server of servers) {
        const client = yield* connect(server)
        yield* client.complete({ ref, argument, context: { arguments: { framework: "effect" } } })
        assert.deepStrictEqual(server.sentOf("completion/complete")[0]?.params["context"], {
          arguments: { framework: "effect" }
        })
      }
    }))

  verifies(
    "CMP-04",
    "an answer without completion is an empty list of values, a malformed one fails",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "completion/complete": Scripted.inTurn(answer({}), answer({ completion: { values: "x" } }))
        })
        const client = yield* connect(server)
        assert.deepStrictEqual(yield* client.complete({ ref, argument }), { values: [] })
        const error = yield* Effect.flip(client.complete({ ref, argument }))
        assert.isTrue(error.reason._tag === "MalformedMessage" && error.reason.path === "/completion/values")
      })
  )
})

describe("Raw messages", () => {
  verifies(
    "MUL-06",
    "a request of any method is sent, and its result decoded with a Schema",
    () =>
      Effect.gen(function*() {
        for (const make of both) {
          const server = yield* make({ "vendor.example/now": answer({ at: "2026-07-28T00:00:00.000Z", extra: 1 }) })
          const client = yield* connect(server)
          const now = yield* client.request(
            "vendor.example/now",
            { zone: "UTC" },
            Schema.Struct({ at: Schema.DateTimeUtcFromString })
          )
          assert.strictEqual(now.at.epochMilliseconds, Date.UTC(2026, 6, 28))
          yield* client.request("vendor.example/now", undefined, anything)
          assert.deepStrictEqual(
            server.sentOf("vendor.example/now").map(({ content }) => content),
            [{ zone: "UTC" }, {}]
          )
        }
      })
  )

  verifies(
    "MUL-06",
    "a result that the Schema refuses fails with MalformedMessage, and says where",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "vendor.example/now": answer({ at: { deep: 7 } }) })
        const client = yield* connect(server)
        const error = yield* Effect.flip(
          client.request("vendor.example/now", {}, Schema.Struct({ at: Schema.Struct({ deep: Schema.String }) }))
        )
        assert.isTrue(error.reason._tag === "MalformedMessage" && error.reason.path === "/at/deep")
        assert.strictEqual(error.delivery, "unknown")
        assert.strictEqual(error.method, "vendor.example/now")
      })
  )

  verifies("MUL-06", "parameters that are not JSON fail before anything is sent", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern()
      const client = yield* connect(server)
      const circle: Record<string, unknown> = {}
      circle["self"] = circle
      for (const params of [circle, { big: 1n }]) {
        const error = yield* Effect.flip(client.request("vendor.example/x", params, anything))
        assert.strictEqual(error.reason._tag, "InvalidRequest")
        assert.strictEqual(error.delivery, "unsent")
      }
      assert.deepStrictEqual(server.methods(), ["server/discover"])
    }))

  verifies("MUL-06", "a notification is sent and not answered", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy()
      const client = yield* connect(server)
      yield* client.notify("vendor.example/hello", { a: 1 })
      yield* client.notify("vendor.example/hello")
      yield* server.until(() => server.sentOf("vendor.example/hello").length === 2)
      assert.deepStrictEqual(server.sentOf("vendor.example/hello").map(({ message }) => message), [
        { jsonrpc: "2.0", method: "vendor.example/hello", params: { a: 1 } },
        { jsonrpc: "2.0", method: "vendor.example/hello" }
      ])
    }))

  verifies(
    ["ERA-18", "MUL-06"],
    "ping is ping on a legacy server and server/discover on a modern one",
    () =>
      Effect.gen(function*() {
        const modern = yield* Scripted.modern()
        yield* (yield* connect(modern)).ping()
        assert.deepStrictEqual(modern.methods(), ["server/discover", "server/discover"])
        assert.isTrue(Object.hasOwn(modern.sent[1]?.meta ?? {}, Metadata.protocolVersionKey))
        const versions: ReadonlyArray<Revision.Version> = ["2024-11-05", "2025-11-25"]
        for (const version of versions) {
          const legacy = yield* Scripted.legacy({ ping: answer({}) }, { version })
          yield* (yield* connect(legacy)).ping()
          assert.strictEqual(legacy.methods().at(-1), "ping")
        }
      })
  )

  verifies("ERA-18", "ping fails where the server does not answer it", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({ ping: (request) => request.error(-32601) })
      const error = yield* Effect.flip((yield* connect(server)).ping())
      assert.isTrue(error.reason._tag === "ServerError" && error.reason.isMethodNotFound)
    }))
})
