import { afterEach, assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const script = path.resolve(import.meta.dirname, "../import-direction.mjs")
const roots: Array<string> = []

/** Runs the check over a workspace of the given files; each package named by a path gets its manifest. */
const run = (files: Record<string, string>) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "import-direction-"))
  roots.push(root)
  const write = (file: string, text: string) => {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
    fs.writeFileSync(path.join(root, file), text)
  }
  for (const folder of ["protocol", "transport", "client", "node", "cli", "conformance", "benchmark"]) {
    const name = folder === "cli" ? "mcp-effect" : `@mcp-effect/${folder}`
    write(`packages/${folder}/package.json`, JSON.stringify({ name }))
  }
  for (const [file, text] of Object.entries(files)) write(file, text)
  const { status, stderr, stdout } = spawnSync(process.execPath, [script, root], { encoding: "utf8" })
  return { status, refused: stderr.split("\n").filter((line) => line !== ""), closing: stdout.trim() }
}

afterEach(() => {
  for (const root of roots.splice(0)) fs.rmSync(root, { recursive: true, force: true })
})

describe("import-direction", () => {
  it("accepts imports that run down the layers", () => {
    const { closing, refused, status } = run({
      "packages/protocol/src/Revision.ts": `import * as Schema from "effect/Schema"\nexport const one = Schema.String`,
      "packages/transport/src/Transport.ts":
        `import type { Revision } from "@mcp-effect/protocol"\nimport * as Sse from "effect/encoding/Sse"\n`
        + `import { limit } from "./internal/Body.ts"\nexport type R = Revision; export const s = [Sse, limit]`,
      "packages/transport/src/internal/Body.ts": "export const limit = 1",
      "packages/transport/test/Transport.test.ts":
        `import * as fs from "node:fs"\nimport { verifies } from "@mcp-effect/conformance/Verifies"\n`
        + `import { Transport } from "@mcp-effect/transport"\nimport { NodeHttp } from "@mcp-effect/node"\nimport { limit } from "../src/internal/Body.ts"`,
      "packages/node/src/Connect.ts":
        `import * as fs from "node:fs"\nimport * as M from "@mcp-effect/client/McpClient"`,
      "packages/cli/src/main.ts": `import * as Connect from "@mcp-effect/node/Connect"\nawait import("./commands.ts")`,
      "packages/cli/src/commands.ts": `export const commands = []`,
      "packages/conformance/src/client.ts": `import * as Main from "@mcp-effect/node/Connect"`
    })
    assert.deepStrictEqual(refused, [])
    assert.strictEqual(closing, "imports of 8 files, 0 refused")
    assert.strictEqual(status, 0)
  })

  it("refuses a layer above, in every form an import takes", () => {
    const { refused, status } = run({
      "packages/protocol/src/A.ts": `import { x } from "@mcp-effect/transport"`,
      "packages/protocol/src/B.ts": `\nimport type { X } from "@mcp-effect/client/McpClient"`,
      "packages/protocol/src/C.ts": `export * from "@mcp-effect/node"`,
      "packages/protocol/src/D.ts": `/* é */ export { x } from "mcp-effect"`,
      "packages/protocol/src/E.ts": `const x = await import("@mcp-effect/client")`,
      "packages/protocol/src/F.ts": `export type X = import("@mcp-effect/client").X`,
      "packages/protocol/src/G.ts": `import "@mcp-effect/protocol"`,
      "packages/protocol/src/H.ts": `import { verifies } from "@mcp-effect/conformance/Verifies"`,
      "packages/client/test/Client.test.ts": `import * as Report from "@mcp-effect/benchmark/Report"`
    })
    assert.deepStrictEqual(refused.toSorted(), [
      "packages/client/test/Client.test.ts:1: @mcp-effect/benchmark/Report: client stands on protocol, transport, client, auth, hub, ai, testing, node, cli, conformance",
      "packages/protocol/src/A.ts:1: @mcp-effect/transport: protocol stands on no other package",
      "packages/protocol/src/B.ts:2: @mcp-effect/client/McpClient: protocol stands on no other package",
      "packages/protocol/src/C.ts:1: @mcp-effect/node: protocol stands on no other package",
      "packages/protocol/src/D.ts:1: mcp-effect: protocol stands on no other package",
      "packages/protocol/src/E.ts:1: @mcp-effect/client: protocol stands on no other package",
      "packages/protocol/src/F.ts:1: @mcp-effect/client: protocol stands on no other package",
      "packages/protocol/src/G.ts:1: @mcp-effect/protocol: protocol stands on no other package",
      "packages/protocol/src/H.ts:1: @mcp-effect/conformance/Verifies: protocol stands on no other package"
    ])
    assert.strictEqual(status, 1)
  })

  it("refuses Node in what also runs elsewhere, barrels, and another package's insides", () => {
    const { refused, status } = run({
      "packages/client/src/A.ts": `import * as fs from "node:fs"`,
      "packages/client/src/B.ts": `import * as path from "path"`,
      "packages/client/src/C.ts": `import * as S from "@effect/platform-node/NodeServices"`,
      "packages/client/src/D.ts": `const { createHash } = require("crypto")`,
      "packages/client/src/E.ts": `import { Effect } from "effect"`,
      "packages/client/src/F.ts": `import type { HttpClient } from "effect/http"`,
      "packages/client/src/G.ts": `import { x } from "@mcp-effect/transport/internal/Body"`,
      "packages/client/src/H.ts": `import { x } from "../../transport/src/Lines.ts"`,
      "packages/client/src/I.ts": `const name = "node:fs"; await import(name)`,
      "packages/client/src/J.ts": `import { x } from "../test/Server.ts"`,
      "packages/client/test/K.test.ts": `import { x } from "../../transport/src/Lines.ts"`,
      "packages/hovercraft/package.json": `{ "name": "@mcp-effect/hovercraft" }`
    })
    assert.deepStrictEqual(refused.toSorted(), [
      "packages/client/src/A.ts:1: node:fs: client runs outside Node too",
      "packages/client/src/B.ts:1: path: client runs outside Node too",
      "packages/client/src/C.ts:1: @effect/platform-node/NodeServices: client runs outside Node too",
      "packages/client/src/D.ts:1: crypto: client runs outside Node too",
      "packages/client/src/E.ts:1: effect is a barrel: import the module itself",
      "packages/client/src/F.ts:1: effect/http is a barrel: import the module itself",
      "packages/client/src/G.ts:1: @mcp-effect/transport/internal/Body is not public",
      "packages/client/src/H.ts:1: ../../transport/src/Lines.ts leaves packages/client: import the package by name",
      "packages/client/src/I.ts:1: imports a module whose name is computed: write it as a literal",
      "packages/client/src/J.ts:1: ../test/Server.ts leaves packages/client/src",
      "packages/client/test/K.test.ts:1: ../../transport/src/Lines.ts leaves packages/client: import the package by name",
      "packages/hovercraft: has no place among the layers of scripts/import-direction.mjs"
    ])
    assert.strictEqual(status, 1)
  })

  it("refuses a folder without source files", () => {
    assert.strictEqual(run({}).status, 1)
  })
})
