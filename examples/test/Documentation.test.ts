import { assert, describe, it } from "@effect/vitest"
import type { McpClient } from "@mcp-effect/client"
import { McpError } from "@mcp-effect/protocol"
import { readFileSync } from "node:fs"

const page = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")

// A member that is added to the client does not compile until it stands here.
const members: { readonly [Member in keyof McpClient.McpClient]: true } = {
  listTools: true,
  listPrompts: true,
  listResources: true,
  listResourceTemplates: true,
  toolPages: true,
  promptPages: true,
  resourcePages: true,
  resourceTemplatePages: true,
  callTool: true,
  call: true,
  startTool: true,
  task: true,
  listTasks: true,
  callToolStream: true,
  callTools: true,
  getPrompt: true,
  readResource: true,
  complete: true,
  ping: true,
  setLogLevel: true,
  resume: true,
  request: true,
  notify: true,
  cancel: true,
  server: true,
  state: true,
  notifications: true,
  subscribeNotifications: true,
  logs: true,
  diagnostics: true
}

describe("documentation", () => {
  it("README.md names every member of the client in its table", () => {
    const table = page("README.md").split("\n").filter((line) => line.startsWith("| `")).join("\n")
    for (const member of Object.keys(members)) {
      assert.match(table, new RegExp("`" + member + "[`(]"), member)
    }
  })

  it("docs/errors.md has a row for every reason, and for no other", () => {
    const rows = [...page("docs/errors.md").matchAll(/^\| `([A-Z]\w+)` /gm)].map(([, tag]) => tag)
    const tags = McpError.McpErrorReason.members.map(({ fields }) => fields._tag.schema.literal)
    assert.deepStrictEqual(rows.toSorted(), tags.toSorted())
  })
})
