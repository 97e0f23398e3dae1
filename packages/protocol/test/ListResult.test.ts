import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Decode, Diagnostic, type Json, ListResult, Resource, Tool } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"

const validateTool = Decode.validator(Tool.Tool)

const read = (result: Json.JsonObject): ListResult.Page<Tool.Tool> => {
  const exit = ListResult.read("tools/list", result, "tools", validateTool)
  if (Exit.isFailure(exit)) throw new Error(JSON.stringify(Decode.issueOf(exit)))
  return exit.value
}

const issueOf = (result: Json.JsonObject): Decode.DecodeIssue | undefined => {
  const exit = ListResult.read("tools/list", result, "tools", validateTool)
  return Exit.isFailure(exit) ? Decode.issueOf(exit) : undefined
}

const good = { name: "good", inputSchema: { type: "object" }, "x-kept": 1 }

verifiesPure("PAIN-51", "a bad item is set aside with its place, and the others are given", () => {
  const page = read({
    tools: [
      { name: "no schema" },
      good,
      7,
      { name: 7, inputSchema: {} },
      { ...good, name: "bad\u001b[2J icon", icons: [{ src: "a" }, {}] },
      { ...good, name: "other" }
    ]
  })
  assert.deepStrictEqual(page.items.map(({ name }) => name), ["good", "other"])
  assert.strictEqual<unknown>(page.items[0], good)
  assert.deepStrictEqual(
    page.setAside.map(({ index, method, name, path, problem }) => ({ index, method, name, path, problem })),
    [
      { index: 0, method: "tools/list", name: "no schema", path: "/tools/0/inputSchema", problem: "is missing" },
      { index: 2, method: "tools/list", name: undefined, path: "/tools/2", problem: "is not an object" },
      { index: 3, method: "tools/list", name: undefined, path: "/tools/3/name", problem: "is not a string" },
      {
        index: 4,
        method: "tools/list",
        name: "bad\\u001b[2J icon",
        path: "/tools/4/icons/1/src",
        problem: "is missing"
      }
    ]
  )
  const [first] = page.setAside
  assert.strictEqual(
    first === undefined ? undefined : Diagnostic.describe(first),
    "An item of tools/list (no schema) was set aside: /tools/0/inputSchema: is missing"
  )
})

describe("nextCursor", () => {
  it("is opaque, and an empty one is a cursor like any other", () => {
    assert.strictEqual(read({ tools: [], nextCursor: "" }).nextCursor, "")
    assert.strictEqual(read({ tools: [], nextCursor: " a\n" }).nextCursor, " a\n")
  })

  it("is absent on the last page, or null", () => {
    assert.isUndefined(read({ tools: [] }).nextCursor)
    assert.isUndefined(read({ tools: [], nextCursor: null }).nextCursor)
  })

  it("is a string", () => {
    assert.deepStrictEqual(issueOf({ tools: [], nextCursor: 2 }), { path: "/nextCursor", problem: "is not a string" })
  })
})

it("refuses a result without a list", () => {
  assert.deepStrictEqual(issueOf({}), { path: "/tools", problem: "is missing" })
  assert.deepStrictEqual(issueOf({ tools: {} }), { path: "/tools", problem: "is not an array" })
  assert.deepStrictEqual(issueOf({ tools: null }), { path: "/tools", problem: "is not an array" })
})

it("says how long the page stays fresh", () => {
  assert.deepStrictEqual(read({ tools: [], ttlMs: 500, cacheScope: "public" }).cache, {
    ttlMs: 500,
    cacheScope: "public"
  })
  assert.deepStrictEqual(read({ tools: [] }).cache, { ttlMs: 0, cacheScope: "private" })
})

it("reads every kind of list", () => {
  const exit = ListResult.read(
    "resources/templates/list",
    { resourceTemplates: [{ uriTemplate: "a:{b}", name: "a" }, { uriTemplate: "c" }] },
    "resourceTemplates",
    Decode.validator(Resource.ResourceTemplate)
  )
  assert.isTrue(Exit.isSuccess(exit) && exit.value.items.length === 1 && exit.value.setAside.length === 1)
})

it("keeps the very items of a long list", () => {
  const tools = Array.from({ length: 1000 }, (_, index) => ({ ...good, name: `tool ${index}` }))
  const page = read({ tools })
  assert.strictEqual(page.items.length, 1000)
  assert.isTrue(page.items.every((item, index) => item === tools[index]))
})
