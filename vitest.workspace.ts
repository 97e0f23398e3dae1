import { fileURLToPath } from "node:url"
import { defineConfig, type ViteUserConfig } from "vitest/config"

if (Number(process.versions.node.split(".")[0]) < 22) {
  throw new Error(`Node ${process.versions.node}: run through npm, after an install that ran node's install script`)
}

const conditions = ["@mcp-effect/source", "module", "node", "development|production"]

const project = (name: string, directory: string): ViteUserConfig => ({
  root: fileURLToPath(new URL(directory, import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { name, include: ["test/**/*.test.ts"], sequence: { concurrent: false } }
})

export default defineConfig({
  test: {
    passWithNoTests: false,
    coverage: { provider: "v8", include: ["packages/*/src/**/*.ts"], reporter: ["text", "json-summary"] },
    projects: ["protocol", "transport", "client", "node", "cli", "conformance"].map((name) => project(name, `packages/${name}`))
  }
})
