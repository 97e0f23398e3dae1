import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig, type ViteUserConfig } from "vitest/config"

if (Number(process.versions.node.split(".")[0]) < 22) {
  throw new Error(`Node ${process.versions.node}: run through npm, after an install that ran node's install script`)
}

export const conditions = ["@mcp-effect/source", "module", "node", "development|production"]
const folders = [
  "packages/protocol",
  "packages/transport",
  "packages/client",
  "packages/auth",
  "packages/node",
  "packages/cli",
  "packages/conformance",
  "examples",
  "scripts"
]
const tests = "test/**/*.test.ts"

const project = (folder: string): ViteUserConfig => ({
  root: fileURLToPath(new URL(folder, import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    name: folder.replace("packages/", ""),
    include: [tests],
    sequence: { concurrent: false },
    // Many tests start real servers, and CI has two cores.
    testTimeout: 30_000,
    hookTimeout: 30_000
  }
})

export default defineConfig({
  test: {
    passWithNoTests: false,
    maxWorkers: 2,
    coverage: { provider: "v8", include: ["packages/*/src/**/*.ts"], reporter: ["text", "json-summary"] },
    projects: folders
      .filter((folder) => fs.globSync(`${folder}/${tests}`, { cwd: import.meta.dirname }).length > 0)
      .map(project)
  }
})
