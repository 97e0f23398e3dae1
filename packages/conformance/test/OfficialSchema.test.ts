import { assert, describe, it } from "@effect/vitest"
import type { Revision } from "@mcp-effect/protocol"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as OfficialSchema from "../src/OfficialSchema.ts"

it("says whether the official data is there", () => {
  const file = fileURLToPath(new URL("../../../../shared/spec/schema/2026-07-28.json", import.meta.url))
  assert.strictEqual(OfficialSchema.available, existsSync(file))
})

if (OfficialSchema.available) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {}
  }
  const request = (method: string, params?: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params })
  const notification = (method: string, params?: unknown) => ({ jsonrpc: "2.0", method, params })
  const reply = (result: unknown) => ({ jsonrpc: "2.0", id: 1, result })

  describe("validateOutgoing", () => {
    const right: ReadonlyArray<readonly [Revision.Version, unknown, string?]> = [
      ["2026-07-28", request("tools/list", { _meta })],
      ["2026-07-28", request("tasks/get", { _meta, taskId: "a" })],
      ["2026-07-28", request("com.example/search", { _meta, text: "a" })],
      ["2026-07-28", notification("notifications/cancelled", { requestId: "a" })],
      [
        "2025-11-25",
        request("initialize", {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "a", version: "1" }
        })
      ],
      ["2025-11-25", request("tasks/result", { taskId: "a" })],
      ["2025-06-18", notification("notifications/initialized")],
      ["2025-06-18", reply({ action: "accept", content: { a: 3.5 } }), "elicitation/create"],
      ["2025-03-26", [request("ping"), notification("notifications/roots/list_changed")]],
      ["2025-03-26", reply({}), "ping"],
      ["2024-11-05", request("resources/subscribe", { uri: "file:///a" })],
      ["2024-11-05", { jsonrpc: "2.0", id: "a", error: { code: -32601, message: "Method not found" } }]
    ]
    for (const [version, message, answered] of right) {
      it(`${version} finds no fault with ${JSON.stringify(message)}`, () => {
        assert.deepStrictEqual(OfficialSchema.validateOutgoing(version, message, answered), [])
      })
    }

    const wrong: ReadonlyArray<readonly [Revision.Version, unknown, string?]> = [
      ["2026-07-28", request("tools/list")],
      ["2026-07-28", request("tools/list", {})],
      ["2026-07-28", request("tools/call", { _meta })],
      ["2026-07-28", request("tools/list", { _meta }, 1.5)],
      ["2026-07-28", request("tools/list", { _meta }, null)],
      ["2026-07-28", { id: 1, method: "tools/list", params: { _meta } }],
      ["2026-07-28", request("tasks/get", { taskId: "a" })],
      ["2026-07-28", request("tasks/get", { _meta })],
      ["2026-07-28", request("com.example/search", { text: "a" })],
      ["2026-07-28", request("ping", { _meta })],
      ["2026-07-28", request("initialize", { _meta })],
      ["2026-07-28", notification("notifications/initialized")],
      ["2026-07-28", reply({ roots: [] }), "roots/list"],
      ["2026-07-28", [request("tools/list", { _meta })]],
      ["2025-11-25", request("server/discover")],
      ["2025-11-25", request("notifications/cancelled", { requestId: 1 })],
      ["2025-06-18", notification("notifications/cancelled", {})],
      ["2025-06-18", notification("ping")],
      ["2025-06-18", reply({}), "elicitation/create"],
      ["2025-06-18", [request("ping")]],
      ["2025-03-26", []],
      ["2025-03-26", reply({}), "roots/list"],
      ["2024-11-05", request("prompts/get", { name: "a", arguments: { b: 7 } })],
      ["2024-11-05", reply(undefined), "ping"],
      ["2024-11-05", { jsonrpc: "2.0", id: 1, error: { code: -32021, message: "no" } }],
      ["2024-11-05", { jsonrpc: "2.0", id: 1, error: { message: "no" } }],
      ["2024-11-05", "text"]
    ]
    for (const [version, message, answered] of wrong) {
      it(`${version} finds fault with ${JSON.stringify(message)}`, () => {
        assert.isAbove(OfficialSchema.validateOutgoing(version, message, answered).length, 0)
      })
    }
  })

  describe("validate", () => {
    it("takes fractions, and null where JSON is open, which the generated schemas forget", () => {
      const capabilities = { experimental: { "com.example/a": { ratio: 0.5, none: null } } }
      assert.deepStrictEqual(OfficialSchema.validate("2026-07-28", "ClientCapabilities", capabilities), [])
      const form = { action: "accept", content: { age: 3.5 } }
      assert.deepStrictEqual(OfficialSchema.validate("2026-07-28", "ElicitResult", form), [])
      assert.deepStrictEqual(OfficialSchema.validate("2025-11-25", "ElicitResult", form), [])
    })
  })

  describe("examples", () => {
    it("are 129 in 88 folders, and right", () => {
      const examples = OfficialSchema.examples()
      assert.strictEqual(examples.length, 129)
      assert.strictEqual(new Set(examples.map(({ type }) => type)).size, 88)
      for (const { type, value } of examples) {
        assert.deepStrictEqual(OfficialSchema.validate("2026-07-28", type, value), [], type)
      }
    })
  })
}
