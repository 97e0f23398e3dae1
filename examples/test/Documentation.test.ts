import { assert, describe, it } from "@effect/vitest"
import type { McpClient } from "@mcp-effect/client"
import { McpError } from "@mcp-effect/protocol"
import { existsSync, globSync, readFileSync } from "node:fs"
import { posix } from "node:path"
import { fileURLToPath } from "node:url"

const root = new URL("../../", import.meta.url)
const page = (name: string): string => readFileSync(new URL(name, root), "utf8")
const find = (pattern: string): ReadonlyArray<string> =>
  globSync(pattern, { cwd: fileURLToPath(root) }).map((file) => file.replaceAll("\\", "/"))

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
  watchTools: true,
  watchPrompts: true,
  watchResources: true,
  watchResource: true,
  listen: true,
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
  cacheInfo: true,
  clearCache: true,
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

  it("README.md links to every page of docs/ and names every package that is published", () => {
    const text = page("README.md")
    for (const name of find("docs/*.md")) assert.include(text, `](${name})`)
    const packages = find("packages/*/package.json").map((file) => JSON.parse(page(file)))
    for (const { name } of packages.filter((one) => one.private !== true)) assert.include(text, `[\`${name}\`](`)
  })

  it("no page links to a file that is not there", () => {
    const pages = ["README.md", "CHANGELOG.md", ...find("docs/*.md"), ...find("packages/*/README.md")]
    const broken = pages.flatMap((name) =>
      [...page(name).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)]
        .map(([, target = ""]) => posix.join(posix.dirname(name), target))
        .filter((target) => !existsSync(new URL(target, root)))
        .map((target) => `${name}: ${target}`)
    )
    assert.deepStrictEqual(broken, [])
  })

  it("docs/errors.md has a row for every reason, and for no other", () => {
    const rows = [...page("docs/errors.md").matchAll(/^\| `([A-Z]\w+)` /gm)].map(([, tag]) => tag)
    const tags = McpError.McpErrorReason.members.map(({ fields }) => fields._tag.schema.literal)
    assert.deepStrictEqual(rows.toSorted(), tags.toSorted())
  })
})
