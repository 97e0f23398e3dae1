import { assert, describe, it } from "@effect/vitest"
import { blocksOf, testOf } from "../doc-blocks.ts"

const fence = "```"

describe("doc-blocks", () => {
  it("finds the ts blocks of a page, with their lines and without their indentation", () => {
    const page = [
      "# Title",
      `${fence}ts`,
      "const a = 1",
      fence,
      `${fence}sh`,
      "npm test",
      fence,
      "1. An item",
      `   ${fence}ts import.meta.vitest`,
      "   if (true) {",
      "     const b = 2",
      "   }",
      "",
      `   ${fence}`
    ].join("\n")
    assert.deepStrictEqual(blocksOf(page, false), [
      { line: 2, runs: false, code: "const a = 1" },
      { line: 9, runs: true, code: "if (true) {\n  const b = 2\n}\n" }
    ])
  })

  it("finds those of a source file in its comments alone", () => {
    const source = [
      "/**",
      " * Title.",
      ` * ${fence}ts`,
      " * const a = {",
      " *   b: 1",
      " * }",
      " *",
      ` * ${fence}`,
      " */",
      "export const text = `",
      `${fence}ts`,
      "not a block",
      `${fence}\``
    ].join("\n")
    assert.deepStrictEqual(blocksOf(source, true), [{ line: 3, runs: false, code: "const a = {\n  b: 1\n}\n" }])
  })

  it("refuses a fence that is not closed", () => {
    assert.throws(() => blocksOf(`text\n${fence}ts\nconst a = 1`, false), "the fence of line 2 is not closed")
  })

  it("turns a runnable block into a test", () => {
    const code = [
      "import {",
      "  join",
      `} from "node:path"`,
      `const a = join("x", "y") // => "x/y"`,
      "a.length // => 3",
      "const b = a"
    ].join("\n")
    assert.strictEqual(
      testOf({ line: 1, runs: true, code }, "README.md:1"),
      [
        `import { assert, it } from "@effect/vitest"`,
        "import {",
        "  join",
        `} from "node:path"`,
        `it("README.md:1", async () => {`,
        "",
        `const a = join("x", "y"); assert.deepStrictEqual(a as unknown, "x/y")`,
        "assert.deepStrictEqual(a.length as unknown, 3)",
        "const b = a",
        "})",
        ""
      ].join("\n")
    )
  })

  it("keeps a block that is a test file itself", () => {
    const code = `import { it } from "@effect/vitest"\nit("works", () => {})`
    assert.strictEqual(testOf({ line: 1, runs: true, code }, "README.md:1"), code)
  })
})
