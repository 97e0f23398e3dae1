import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Metadata } from "@mcp-effect/protocol"

describe("isKey", () => {
  it.each([
    "progressToken",
    "a",
    "7",
    "a-b_c.d",
    "com.example/rank",
    "com.example/",
    "io.modelcontextprotocol/serverInfo",
    "a/b",
    "x-1.y2/z",
    ""
  ])("takes %j", (key) => assert.isTrue(Metadata.isKey(key)))

  it.each([
    "-a",
    "a-",
    "a b",
    "/a",
    "1com.example/a",
    "com-.example/a",
    "com..example/a",
    "com.example/-a",
    "com.example/a/b",
    "com_example/a",
    "größe",
    "a\n"
  ])("refuses %j", (key) => assert.isFalse(Metadata.isKey(key)))
})

describe("isReservedKey", () => {
  it.each([
    "io.modelcontextprotocol/protocolVersion",
    "dev.mcp/a",
    "com.mcp.tools/a",
    "progressToken",
    "traceparent",
    "tracestate",
    "baggage"
  ])("knows %j", (key) => assert.isTrue(Metadata.isReservedKey(key)))

  it.each(["com.example.mcp/a", "mcp/a", "com.example/mcp", "other", "progresstoken"])(
    "leaves %j to others",
    (key) => assert.isFalse(Metadata.isReservedKey(key))
  )
})

verifiesPure("MET-09", "an extension id has a prefix, a slash and perhaps a name; its settings are an object", () => {
  for (const id of ["io.modelcontextprotocol/tasks", "com.example/", "com.example.deep/a-b.c_d", "x2.y/1"]) {
    assert.isTrue(Metadata.isExtensionId(id), id)
    assert.isUndefined(Metadata.extensionProblem(id, {}), id)
  }
  for (const id of ["tasks", "", "/tasks", "com.example", "com.example/a b", "com..example/a", ".com/a", "a/b/c"]) {
    assert.isFalse(Metadata.isExtensionId(id), id)
    assert.include(Metadata.extensionProblem(id, {}), "cannot name an extension", id)
  }
  for (const settings of [undefined, null, true, "on", 1, []]) {
    assert.include(Metadata.extensionProblem("com.example/a", settings), "not an object")
  }
})

describe("serverInfo", () => {
  const info = { name: "hotel", version: "1", title: "Hotel" }

  it("reads who the server is", () => {
    assert.strictEqual<unknown>(Metadata.serverInfo({ _meta: { "io.modelcontextprotocol/serverInfo": info } }), info)
  })

  it.each([
    {},
    { _meta: null },
    { _meta: {} },
    { _meta: { "io.modelcontextprotocol/serverInfo": "hotel" } },
    { _meta: { "io.modelcontextprotocol/serverInfo": { name: "hotel" } } },
    { serverInfo: info }
  ])("knows nothing of it by %j", (result) => assert.isUndefined(Metadata.serverInfo(result)))
})

describe("subscriptionId", () => {
  it("keeps the type of the id", () => {
    assert.strictEqual(Metadata.subscriptionId({ _meta: { "io.modelcontextprotocol/subscriptionId": 1 } }), 1)
    assert.strictEqual(Metadata.subscriptionId({ _meta: { "io.modelcontextprotocol/subscriptionId": "1" } }), "1")
  })

  it("is not there where it is absent or no id", () => {
    assert.isUndefined(Metadata.subscriptionId(undefined))
    assert.isUndefined(Metadata.subscriptionId({}))
    assert.isUndefined(Metadata.subscriptionId({ _meta: { "io.modelcontextprotocol/subscriptionId": 1.5 } }))
    assert.isUndefined(Metadata.subscriptionId({ _meta: { "io.modelcontextprotocol/subscriptionId": null } }))
  })
})
