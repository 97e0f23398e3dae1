import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import type { Diagnostic, McpError } from "@mcp-effect/protocol"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type * as McpClient from "../src/McpClient.ts"
import * as Pages from "../src/Pages.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, never } = Scripted

const tool = (name: string) => ({ name, inputSchema: { type: "object" } })

/** A list whose pages follow one another as the function says: from the cursor, the items and the next cursor. */
const pages = (
  key: string,
  page: (cursor: string | undefined) => readonly [items: ReadonlyArray<unknown>, next?: string | undefined]
): Scripted.Handler =>
(request) => {
  const [items, nextCursor] = page(request.params["cursor"] as string | undefined)
  request.result({ [key]: items, nextCursor })
}

/** Five pages of one item each: 0 to 4. */
const five = (key: string, item: (name: string) => unknown): Scripted.Handler =>
  pages(key, (cursor) => {
    const index = Number(cursor ?? 0)
    return [[item(String(index))], index < 4 ? String(index + 1) : undefined]
  })

type ListMethod = "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list"

interface Listed {
  readonly key: string
  readonly item: (name: string) => unknown
  readonly all: (client: McpClient.McpClient) => Effect.Effect<ReadonlyArray<unknown>, McpError.McpError>
  readonly pages: (client: McpClient.McpClient) => Stream.Stream<Pages.Page<unknown>, McpError.McpError>
}

const lists: Readonly<Record<ListMethod, Listed>> = {
  "tools/list": {
    key: "tools",
    item: tool,
    all: (client: McpClient.McpClient) => client.listTools(),
    pages: (client: McpClient.McpClient) => client.toolPages()
  },
  "prompts/list": {
    key: "prompts",
    item: (name: string) => ({ name }),
    all: (client: McpClient.McpClient) => client.listPrompts(),
    pages: (client: McpClient.McpClient) => client.promptPages()
  },
  "resources/list": {
    key: "resources",
    item: (name: string) => ({ name, uri: `a:${name}` }),
    all: (client: McpClient.McpClient) => client.listResources(),
    pages: (client: McpClient.McpClient) => client.resourcePages()
  },
  "resources/templates/list": {
    key: "resourceTemplates",
    item: (name: string) => ({ name, uriTemplate: `a:{${name}}` }),
    all: (client: McpClient.McpClient) => client.listResourceTemplates(),
    pages: (client: McpClient.McpClient) => client.resourceTemplatePages()
  }
}

const cutShort = (diagnostics: ReadonlyArray<Diagnostic.Diagnostic>) =>
  diagnostics.flatMap((diagnostic) =>
    diagnostic._tag === "ListCutShort"
      ? [[diagnostic.method, diagnostic.cause, diagnostic.pages, diagnostic.items] as const]
      : []
  )

describe("Lists", () => {
  verifies(
    ["PAG-01", "PAIN-60", "TOO-01", "PRO-01", "RSC-01", "RSC-03"],
    "are followed to their end, cursor by cursor",
    () =>
      Effect.gen(function*() {
        for (const [method, { all, item, key }] of Object.entries(lists)) {
          for (const make of [Scripted.modern, Scripted.legacy]) {
            const server = yield* make({ [method]: five(key, item) })
            const items = yield* all(yield* connect(server))
            assert.deepStrictEqual(items, ["0", "1", "2", "3", "4"].map(item))
            assert.deepStrictEqual(
              server.sentOf(method).map(({ params }) => params["cursor"]),
              [undefined, "1", "2", "3", "4"]
            )
            assert.strictEqual(new Set(server.sentOf(method).map(({ id }) => id)).size, 5)
          }
        }
      })
  )

  verifies(
    ["PAIN-60", "PAG-01"],
    "are pulled page by page: three of five pages are three requests",
    () =>
      Effect.gen(function*() {
        for (const [method, { item, key, pages }] of Object.entries(lists)) {
          const server = yield* Scripted.modern({ [method]: five(key, item) })
          const client = yield* connect(server)
          const taken = yield* Stream.runCollect(Stream.take(pages(client), 3))
          assert.strictEqual(taken.length, 3)
          yield* Scripted.settled
          assert.strictEqual(server.sentOf(method).length, 3)
        }
      })
  )

  verifies(
    ["PAG-03", "RSC-01"],
    "a page has its items, its cursor and its cache hints, and can be begun anywhere",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "resources/list": answer({
            resources: [{ name: "r", uri: "a:b" }],
            nextCursor: "more",
            ttlMs: 5_000,
            cacheScope: "public"
          })
        })
        const client = yield* connect(server)
        const [page] = yield* Stream.runCollect(Stream.take(client.resourcePages({ cursor: "here" }), 1))
        assert.strictEqual(server.sentOf("resources/list")[0]?.params["cursor"], "here")
        assert.deepStrictEqual(page?.items as unknown, [{ name: "r", uri: "a:b" }])
        assert.strictEqual(page?.nextCursor, "more")
        assert.deepStrictEqual(page?.cache, { ttlMs: 5_000, cacheScope: "public" })
        assert.isUndefined(page?.cutShort)
        assert.deepStrictEqual(page?.setAside, [])
      })
  )

  verifies("PAG-01", "an empty string is a cursor like any other, and null is none", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/list": (request) =>
          request.result(
            request.params["cursor"] === ""
              ? { tools: [tool("b")], nextCursor: null }
              : { tools: [tool("a")], nextCursor: "" }
          )
      })
      const client = yield* connect(server)
      assert.deepStrictEqual((yield* client.listTools()).map(({ name }) => name), ["a", "b"])
      assert.deepStrictEqual(server.sentOf("tools/list").map(({ params }) => params["cursor"]), [undefined, ""])
      yield* Stream.runDrain(client.toolPages({ cursor: "" }))
      assert.strictEqual(server.sentOf("tools/list").at(-1)?.params["cursor"], "")
    }))

  verifies("PAG-01", "an empty page in the middle does not end a list", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/list": pages("tools", (cursor) =>
          cursor === undefined ? [[tool("a")], "1"] : cursor === "1" ? [[], "2"] : [[tool("c")]])
      })
      const client = yield* connect(server)
      assert.deepStrictEqual(
        (yield* client.listTools()).map(({ name }) =>
          name
        ),
        ["a", "c"]
      )
    }))

  verifies("PAG-03", "a page that fails fails the list", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/list": Scripted.inTurn(
          answer({ tools: [tool("a")], nextCursor: "1" }),
          (request) => request.error(-32602, "Invalid cursor")
        )
      })
      const client = yield* connect(server)
      const error = yield* Effect.flip(client.listTools())
      assert.isTrue(error.reason._tag === "ServerError" && error.reason.code === -32602)
    }))

  verifies(
    "PAIN-51",
    "a malformed item is set aside with a diagnostic, and the good ones are given",
    () =>
      Effect.gen(function*() {
        const cases = {
          "tools/list": [tool("good"), [{ name: "bad" }, { inputSchema: { type: "object" } }, null, "x", 7]],
          "prompts/list": [{ name: "good" }, [{ title: "bad" }, { name: 7 }, [], true, null]],
          "resources/list": [{ name: "good", uri: "a:b" }, [{ name: "bad" }, { uri: "a:b" }, null, 0, ""]],
          "resources/templates/list": [
            { name: "good", uriTemplate: "a:{b}" },
            [{ name: "bad" }, { uriTemplate: "a:{b}" }, null, 0, ""]
          ]
        } as const
        for (const [method, [good, bad]] of Object.entries(cases)) {
          const { all, key, pages } = lists[method as keyof typeof lists]
          const server = yield* Scripted.modern({ [method]: answer({ [key]: [...bad, good] }) })
          const client = yield* connect(server)
          const diagnostics = yield* collect(client.diagnostics)
          assert.deepStrictEqual(yield* all(client), [good])
          yield* Scripted.settled
          assert.strictEqual(diagnostics.length, 5)
          for (const diagnostic of diagnostics) {
            assert.isTrue(diagnostic._tag === "InvalidItem" && diagnostic.method === method)
          }
          const [page] = yield* Stream.runCollect(pages(client))
          assert.deepStrictEqual(page?.setAside.map(({ index }) => index), [0, 1, 2, 3, 4])
          assert.isTrue(page?.setAside[0]?.path.startsWith(`/${key}/0`))
        }
      })
  )

  verifies("PAIN-51", "a diagnostic of an item names it, where it has a name", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": answer({ tools: [{ name: "nameless-schema" }] }) })
      const client = yield* connect(server)
      const diagnostics = yield* collect(client.diagnostics)
      assert.deepStrictEqual(yield* client.listTools(), [])
      yield* Scripted.settled
      const [diagnostic] = diagnostics
      assert.isTrue(diagnostic?._tag === "InvalidItem" && diagnostic.name === "nameless-schema")
      assert.isTrue(diagnostic?._tag === "InvalidItem" && diagnostic.path === "/tools/0/inputSchema")
    }))

  verifies("TMO-05", "one deadline covers all pages", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": never })
      const client = yield* connect(server)
      const list = yield* Effect.forkScoped(client.listTools({ deadline: "10 seconds" }))
      for (const cursor of ["1", "2", "3"]) {
        const request = yield* server.take("tools/list")
        yield* TestClock.adjust("3 seconds")
        request.result({ tools: [], nextCursor: cursor })
      }
      yield* server.take("tools/list")
      assert.isUndefined(list.pollUnsafe())
      yield* TestClock.adjust("1 seconds")
      const error = yield* Effect.flip(Fiber.join(list))
      assert.isTrue(error.reason._tag === "RequestTimeout" && error.reason.kind === "deadline")
      assert.isTrue(error.reason._tag === "RequestTimeout" && error.reason.millis === 10_000)
    }))

  verifies("TMO-19", "an id that the caller chose names the first request alone", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": five("tools", tool) })
      const client = yield* connect(server)
      yield* client.listTools({ requestId: "mine" })
      const ids = server.sentOf("tools/list").map(({ id }) => id)
      assert.strictEqual(ids[0], "mine")
      assert.strictEqual(ids.filter((id) => id === "mine").length, 1)
    }))
})

describe("A list that does not end", () => {
  verifies(
    ["PAIN-61", "PAG-02", "PAG-03"],
    "gives what came when a cursor repeats at once",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": pages("tools", (cursor) => [[tool(`after ${cursor}`)], "x"])
        })
        const client = yield* connect(server)
        const diagnostics = yield* collect(client.diagnostics)
        assert.deepStrictEqual((yield* client.listTools()).map(({ name }) => name), ["after undefined", "after x"])
        yield* Scripted.settled
        assert.deepStrictEqual(cutShort(diagnostics), [["tools/list", "repeated-cursor", 2, 2]])
        const collected = yield* Stream.runCollect(client.toolPages())
        assert.deepStrictEqual(collected.map((page) => page.cutShort), [undefined, "repeated-cursor"])
      })
  )

  verifies(
    ["PAIN-61", "PAG-02"],
    "gives what came when cursors run in a circle, also from where the caller began",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "prompts/list": pages("prompts", (cursor) => [[{ name: cursor ?? "first" }], cursor === "A" ? "B" : "A"])
        })
        const client = yield* connect(server)
        const diagnostics = yield* collect(client.diagnostics)
        assert.deepStrictEqual((yield* client.listPrompts()).map(({ name }) => name), ["first", "A", "B"])
        yield* Scripted.settled
        assert.deepStrictEqual(cutShort(diagnostics), [["prompts/list", "repeated-cursor", 3, 3]])
        const begun = yield* Stream.runCollect(client.promptPages({ cursor: "A" }))
        assert.deepStrictEqual(begun.map(({ items }) => items[0]?.name), ["A", "B"])
      })
  )

  verifies(["PAIN-61", "PAG-02"], "gives 1,000 pages of cursors that are always new", () =>
    Effect.gen(function*() {
      assert.strictEqual(Pages.maxPages, 1_000)
      const server = yield* Scripted.modern({
        "resources/list": pages("resources", (cursor) => {
          const index = Number(cursor ?? 0)
          return [[{ name: String(index), uri: `a:${index}` }], String(index + 1)]
        })
      })
      const client = yield* connect(server)
      const diagnostics = yield* collect(client.diagnostics)
      const resources = yield* client.listResources()
      assert.strictEqual(resources.length, 1_000)
      assert.strictEqual(resources.at(-1)?.name, "999")
      assert.strictEqual(server.sentOf("resources/list").length, 1_000)
      yield* Scripted.settled
      assert.deepStrictEqual(cutShort(diagnostics), [["resources/list", "page-limit", 1_000, 1_000]])
    }))

  verifies(["PAG-02"], "gives no more pages once 100,000 items are there", () =>
    Effect.gen(function*() {
      assert.strictEqual(Pages.maxItems, 100_000)
      const items = Array.from({ length: 40_000 }, (_, index) => ({ name: String(index) }))
      const server = yield* Scripted.modern({
        "prompts/list": pages("prompts", (cursor) => [items, String(Number(cursor ?? 0) + 1)])
      })
      const client = yield* connect(server)
      const diagnostics = yield* collect(client.diagnostics)
      assert.strictEqual((yield* client.listPrompts()).length, 120_000)
      assert.strictEqual(server.sentOf("prompts/list").length, 3)
      yield* Scripted.settled
      assert.deepStrictEqual(cutShort(diagnostics), [["prompts/list", "item-limit", 3, 120_000]])
    }))

  verifies("PAG-02", "a list that ends exactly at a limit is whole", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/list": pages("tools", (cursor) => {
          const index = Number(cursor ?? 0)
          return [[], index < 999 ? String(index + 1) : undefined]
        })
      })
      const client = yield* connect(server)
      const diagnostics = yield* collect(client.diagnostics)
      yield* client.listTools()
      yield* Scripted.settled
      assert.strictEqual(server.sentOf("tools/list").length, 1_000)
      assert.deepStrictEqual(diagnostics, [])
    }))
})
