import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { type Json, Metadata, type Roots } from "@mcp-effect/protocol"
import { Effect, SubscriptionRef } from "effect"
import type { McpHandlers } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"

const project: Roots.Root = { uri: "file:///home/ada/project", name: "Project" }
const home: Roots.Root = { uri: "file:///home/ada" }

const capabilitiesOf = (server: Scripted.Server): ReadonlyArray<unknown> => [
  server.sentOf("server/discover")[0]?.meta[Metadata.clientCapabilitiesKey],
  server.sentOf("initialize")[0]?.params["capabilities"]
]

describe("The roots capability", () => {
  verifies(
    ["ROO-05", "CAP-04", "CAP-06"],
    "announces changes up to 2025-11-25 and is an empty object since",
    () =>
      Effect.gen(function*() {
        const ref = yield* SubscriptionRef.make<ReadonlyArray<Roots.Root>>([])
        for (const roots of [[], [home], Effect.succeed([home]), ref]) {
          const server = yield* Scripted.legacy()
          yield* Asking.connectQuietly(server, { handlers: { roots } })
          assert.deepStrictEqual(capabilitiesOf(server), [{ roots: {} }, { roots: { listChanged: true } }])
        }
      })
  )

  verifies("ROO-05", "is not there without roots, which are then answered -32601", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Asking.legacy({}, "roots/list")).error?.["code"], -32601)
      assert.strictEqual(Asking.problemOf((yield* Asking.modern({}, "roots/list")).error), "unhandled")
    }))
})

describe("Roots", () => {
  verifies(
    ["ROO-01", "ROO-06", "ROO-08"],
    "are told as they are, from a list, an Effect or a reference, in every revision",
    () =>
      Effect.gen(function*() {
        const list = [project, home, { uri: "file:///a%20b", _meta: { a: 1 } }]
        const ref = yield* SubscriptionRef.make<ReadonlyArray<Roots.Root>>(list)
        for (const roots of [list, Effect.succeed(list), ref]) {
          for (const version of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const) {
            assert.deepStrictEqual((yield* Asking.legacy({ roots }, "roots/list", undefined, version)).result, {
              roots: list
            })
          }
          assert.deepStrictEqual((yield* Asking.modern({ roots }, "roots/list")).response, { roots: list })
          assert.deepStrictEqual((yield* Asking.modern({ roots }, "roots/list", {})).response, { roots: list })
        }
      })
  )

  verifies(["ROO-08", "ROO-07"], "may be replaced at any time, by none as well", () =>
    Effect.gen(function*() {
      const ref = yield* SubscriptionRef.make<ReadonlyArray<Roots.Root>>([home])
      const server = yield* Scripted.legacy()
      yield* Asking.connectQuietly(server, { handlers: { roots: ref } })
      const told: Array<unknown> = []
      for (const [id, roots] of [[home], [project, home], []].entries()) {
        yield* SubscriptionRef.set(ref, roots)
        server.links[0]?.ask(id, "roots/list")
        yield* server.until(() => server.replies().length === id + 1)
        told.push(server.replies()[id]?.["result"])
      }
      assert.deepStrictEqual(told, [{ roots: [home] }, { roots: [project, home] }, { roots: [] }])
    }))

  verifies(
    "ROO-02",
    "that change are announced to each legacy session that was told so, once a change",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http", "sse", "memory"]) {
          const ref = yield* SubscriptionRef.make<ReadonlyArray<Roots.Root>>([home])
          const server = yield* Scripted.legacy({ "tools/list": Scripted.answer({ tools: [] }) }, { kind })
          const client = yield* Asking.connectQuietly(server, { handlers: { roots: ref } })
          const announced = () => server.sentOf("notifications/roots/list_changed")
          yield* Scripted.settled
          assert.isEmpty(announced(), kind)
          yield* SubscriptionRef.set(ref, [project])
          yield* server.until(() => announced().length === 1)
          yield* SubscriptionRef.set(ref, [])
          yield* server.until(() => announced().length === 2)
          assert.deepStrictEqual(announced()[0]?.message, {
            jsonrpc: "2.0",
            method: "notifications/roots/list_changed"
          })
          // The next session hears of what changes during it.
          server.links[0]?.exit(1)
          yield* Scripted.settled
          yield* SubscriptionRef.set(ref, [home])
          yield* client.listTools()
          yield* SubscriptionRef.set(ref, [project])
          yield* server.until(() => announced().length === 3)
          yield* Scripted.settled
          assert.deepStrictEqual(announced().map(({ connection }) => connection), [0, 0, 1], kind)
        }
      })
  )

  verifies("ROO-02", "that change at once after connecting are announced", () =>
    Effect.gen(function*() {
      const ref = yield* SubscriptionRef.make<ReadonlyArray<Roots.Root>>([home])
      const server = yield* Scripted.legacy({}, { kind: "stdio" })
      yield* Asking.connectQuietly(server, { handlers: { roots: ref } })
      yield* SubscriptionRef.set(ref, [project])
      yield* server.until(() => server.sentOf("notifications/roots/list_changed").length === 1)
    }))

  verifies(
    ["ROO-02", "ROO-06"],
    "that change are not announced to a modern server, nor over plain HTTP, nor where none were given",
    () =>
      Effect.gen(function*() {
        const ref = yield* SubscriptionRef.make<ReadonlyArray<Roots.Root>>([home])
        const servers = [
          yield* Scripted.modern(),
          yield* Scripted.modern({}, { kind: "streamable-http" }),
          yield* Scripted.legacy({}, { kind: "http" })
        ]
        for (const server of servers) yield* Asking.connectQuietly(server, { handlers: { roots: ref } })
        const without = yield* Scripted.legacy()
        yield* Asking.connectQuietly(without)
        yield* SubscriptionRef.set(ref, [project])
        yield* Scripted.settled
        for (const server of [...servers, without]) {
          assert.notInclude(server.methods(), "notifications/roots/list_changed")
        }
      })
  )
})

describe("A root", () => {
  const bad: ReadonlyArray<string> = [
    "{\"uri\":\"https://example.com/x\"}",
    "{\"uri\":\"/home/ada\"}",
    "{\"uri\":\"file:/home/ada\"}",
    "{\"uri\":\"file:///home/../etc\"}",
    "{\"uri\":\"file:///home/%2e%2e/etc\"}",
    "{\"uri\":\"file:///home/%2E%2E%2Fetc\"}",
    "{\"uri\":\"file:///home/..\"}",
    "{\"uri\":\"file:///home/..\\\\etc\"}",
    "{\"uri\":\"file:///home/%\"}",
    "{\"uri\":\"file:///a\",\"_meta\":7}",
    "{\"uri\":\"file:///a\",\"_meta\":[]}",
    "{\"uri\":\"file:///a\",\"name\":7}",
    "{\"name\":\"x\"}",
    "null",
    "\"file:///a\""
  ]

  verifies(
    "ROO-04",
    "is a file:// URI that does not climb; another is refused before anything is opened",
    () =>
      Effect.gen(function*() {
        for (const root of bad) {
          const server = yield* Scripted.legacy()
          const error = yield* Effect.flip(
            Asking.connectQuietly(server, { handlers: { roots: JSON.parse(`[${root}]`) } })
          )
          assert.strictEqual(error.reason._tag, "InvalidRequest", root)
          assert.isEmpty(server.links, root)
        }
        for (const uri of ["file:///", "file:///C:/x", "file://host/share", "file:///a..b/..c", "file:///a/.../b"]) {
          const server = yield* Scripted.legacy()
          yield* Asking.connectQuietly(server, { handlers: { roots: [{ uri }] } })
        }
      })
  )

  verifies(
    "ROO-04",
    "that an Effect or a reference gives is checked each time, and none is told where one is wrong",
    () =>
      Effect.gen(function*() {
        for (const root of bad) {
          const list: ReadonlyArray<Roots.Root> = JSON.parse(`[{"uri":"file:///good"},${root}]`)
          const ref = yield* SubscriptionRef.make(list)
          const every: ReadonlyArray<McpHandlers> = [{ roots: ref }, { roots: Effect.succeed(list) }]
          for (const handlers of every) {
            assert.deepStrictEqual((yield* Asking.legacy(handlers, "roots/list")).error, {
              code: -32603,
              message: "Roots error"
            })
            assert.strictEqual(
              Asking.problemOf((yield* Asking.modern(handlers, "roots/list")).error),
              "handler-failed"
            )
          }
        }
        const noList: McpHandlers = {
          roots: Effect.sync((): ReadonlyArray<Roots.Root> => JSON.parse("{\"roots\":[]}"))
        }
        const { error }: { error?: Json.JsonObject | undefined } = yield* Asking.legacy(noList, "roots/list")
        assert.strictEqual(error?.["code"], -32603)
      })
  )
})
