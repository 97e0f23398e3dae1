import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as path from "node:path"

const bin = path.resolve(import.meta.dirname, "../src/bin.ts")

/** Runs the command line under a Node that says it is of another version. */
const runOn = (version: string) => {
  const pretend = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`
  return spawnSync(
    process.execPath,
    ["--conditions=@mcp-effect/source", `--import=data:text/javascript,${pretend}`, bin, "--version"],
    { encoding: "utf8" }
  )
}

describe("bin", () => {
  it("says in one line which Node it needs", () => {
    for (const version of ["18.20.8", "20.20.2", "22.18.0"]) {
      const { status, stderr, stdout } = runOn(version)
      assert.strictEqual(status, 1)
      assert.strictEqual(stdout, "")
      assert.strictEqual(
        stderr,
        `mcp-effect needs Node 22.19 or newer, and this is Node ${version} (${process.execPath}): `
          + "install a newer one, or run `npx -p node@24 -p mcp-effect mcp-effect ...`\n"
      )
    }
  })

  it("runs on Node 22.19 and newer", () => {
    for (const version of ["22.19.0", "23.0.0", "24.21.0"]) {
      const { status, stderr, stdout } = runOn(version)
      assert.strictEqual(stderr, "")
      assert.match(stdout, /\b\d+\.\d+\.\d+\b/)
      assert.strictEqual(status, 0)
    }
  })
})
