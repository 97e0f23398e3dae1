import { afterEach, assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const script = path.resolve(import.meta.dirname, "../coverage.mjs")
const roots: Array<string> = []

/** A workspace with two requirements and the given tests. */
const workspace = (tests: Record<string, string>) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "coverage-"))
  roots.push(root)
  const write = (file: string, text: string) => {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
    fs.writeFileSync(path.join(root, file), text)
  }
  write("packages/conformance/requirements.json", JSON.stringify({ "STD-01": "Lines.", "STD-02": "Times." }))
  for (const [file, text] of Object.entries(tests)) write(file, text)
  const run = (...options: ReadonlyArray<string>) => {
    const { status, stderr, stdout } = spawnSync(process.execPath, [script, ...options, root], { encoding: "utf8" })
    return { status, problems: stderr.split("\n").filter((line) => line !== ""), closing: stdout.trim() }
  }
  return { run, page: () => fs.readFileSync(path.join(root, "packages/conformance/coverage.md"), "utf8") }
}

afterEach(() => {
  for (const root of roots.splice(0)) fs.rmSync(root, { recursive: true, force: true })
})

describe("coverage", () => {
  it("lists every test that names a requirement, and then accepts the page", () => {
    const { page, run } = workspace({
      "packages/transport/test/Lines.test.ts": `verifies("STD-01", "one line", () => Effect.void)\n`
        + `describe("x", () => { verifiesLive(\n  ["STD-01", "STD-02"],\n  \`\${name} lasts\`,\n  () => Effect.void\n) })`,
      "examples/test/demo.test.ts": `verifiesPure("STD-02", "demo", () => {})`
    })
    assert.deepStrictEqual(run(), { status: 0, problems: [], closing: "2 of 2 requirements have a test" })
    assert.strictEqual(
      page(),
      [
        "# Requirements and the tests that prove them",
        "",
        "Made by `npm run coverage:requirements` from `requirements.json` and the tests; do not edit.",
        "",
        "## STD",
        "",
        "- **STD-01** Lines.",
        "  - `packages/transport/test/Lines.test.ts`: `one line`",
        "  - `packages/transport/test/Lines.test.ts`: `` `${name} lasts` ``",
        "- **STD-02** Times.",
        "  - `examples/test/demo.test.ts`: `demo`",
        "  - `packages/transport/test/Lines.test.ts`: `` `${name} lasts` ``",
        ""
      ].join("\n")
    )
    assert.deepStrictEqual(run("--check"), { status: 0, problems: [], closing: "2 of 2 requirements have a test" })
  })

  it("refuses a requirement without a test, and does not count a comment as one", () => {
    const { page, run } = workspace({
      "packages/transport/test/Lines.test.ts":
        `verifies("STD-01", "one line", body)\n// verifies("STD-02", "gone", body)\nconst text = 'verifies("STD-02", "x")'`
    })
    assert.deepStrictEqual(run(), {
      status: 0,
      problems: ["STD-02 has no test: Times."],
      closing: "1 of 2 requirements have a test"
    })
    assert.include(page(), "- **STD-02** Times.\n  - no test yet\n")
    assert.strictEqual(run("--check").status, 1)
  })

  it("refuses ids that are unknown or computed", () => {
    const { run } = workspace({
      "packages/transport/test/Lines.test.ts":
        `verifies(["STD-01", "STD-02"], "both", body)\nverifies("STD-03", "later", body)\nverifies(id, "any", body)\n`
        + `verifies(["STD-01", id], "some", body)\nverifies([], "none", body)\nverifies("toString", "inherited", body)`
    })
    run()
    const file = "packages/transport/test/Lines.test.ts"
    assert.deepStrictEqual(run("--check"), {
      status: 1,
      problems: [
        `${file}:2: STD-03 is not in requirements.json`,
        `${file}:3: name the ids as string literals`,
        `${file}:4: name the ids as string literals`,
        `${file}:5: name the ids as string literals`,
        `${file}:6: toString is not in requirements.json`
      ],
      closing: "2 of 2 requirements have a test"
    })
  })

  it("refuses a page that is missing or out of date, and leaves it as it is", () => {
    const tests = { "examples/test/demo.test.ts": `verifies(["STD-01", "STD-02"], "both", body)` }
    const { page, run } = workspace(tests)
    const problems = ["packages/conformance/coverage.md is out of date: npm run coverage:requirements"]
    assert.deepStrictEqual(run("--check").problems, problems)
    assert.throws(page)
    run()
    fs.writeFileSync(path.join(roots[0] ?? "", "examples/test/other.test.ts"), `verifies("STD-01", "more", body)`)
    const before = page()
    assert.deepStrictEqual(run("--check").problems, problems)
    assert.strictEqual(page(), before)
  })
})
