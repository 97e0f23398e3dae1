// Every ```ts block of the documentation compiles: each becomes a module of its own, padded so that its lines are those
// of the page, and is type-checked against the workspace. A block marked ```ts import.meta.vitest is run as well:
// `expression // => value` asserts, and a block that imports a test runner is a test file as it stands.
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { parseAst } from "rolldown/parseAst"

const root = path.resolve(import.meta.dirname, "..")
const output = path.join(root, ".doctest")
const pages = ["*.md", "docs/**/*.md", "examples/**/*.md", "packages/*/*.md", "packages/*/src/**/*.ts"]

export interface Block {
  /** The line of the opening fence, from 1. */
  readonly line: number
  readonly runs: boolean
  readonly code: string
}

/** The ```ts blocks of a page or, inside `/** … *\/` comments, of a source file. */
export const blocksOf = (text: string, source: boolean): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  const fence = source ? /^\s*\* ?(\s*)(`{3,})(\S*)(.*)$/ : /^(\s*)(`{3,})(\S*)(.*)$/
  let open:
    | { line: number; closing: string; indent: number; block: boolean; runs: boolean; code: Array<string> }
    | undefined
  text.split("\n").forEach((raw, index) => {
    const match = fence.exec(raw)
    if (open === undefined) {
      if (match === null) return
      const [, indent = "", closing = "", language = "", meta = ""] = match
      const runs = meta.trim() === "import.meta.vitest"
      open = { line: index + 1, closing, indent: indent.length, block: language === "ts", runs, code: [] }
    } else if (match !== null && match[2]?.startsWith(open.closing) === true && match[3] === "") {
      if (open.block) blocks.push({ line: open.line, runs: open.runs, code: open.code.join("\n") })
      open = undefined
    } else {
      const content = source ? raw.replace(/^\s*\* ?/, "") : raw
      open.code.push(content.slice(Math.min(open.indent, content.length - content.trimStart().length)))
    }
  })
  if (open !== undefined) throw new Error(`the fence of line ${open.line} is not closed`)
  return blocks
}

/** The test file of a runnable block. */
export const testOf = (block: Block, title: string): string => {
  const imports = parseAst(block.code, { lang: "ts" }).body.filter((node) => node.type === "ImportDeclaration")
  if (imports.some((node) => /^(@effect\/)?vitest$/.test(node.source.value))) return block.code
  let body = block.code
  for (const { end, start } of imports.toReversed()) body = body.slice(0, start) + body.slice(end)
  const assertions = body.split("\n").map((line) => {
    const [, indent = "", name, expression, expected] = /^(\s*)(?:const (\w+) = )?(.+?);?\s*\/\/ => (.+)$/.exec(line) ??
      []
    if (expression === undefined) return line
    return name === undefined
      ? `${indent}assert.deepStrictEqual(${expression} as unknown, ${expected})`
      : `${indent}const ${name} = ${expression}; assert.deepStrictEqual(${name} as unknown, ${expected})`
  })
  return [
    `import { assert, it } from "@effect/vitest"`,
    ...imports.map(({ end, start }) => block.code.slice(start, end)),
    `it(${JSON.stringify(title)}, async () => {`,
    ...assertions,
    "})",
    ""
  ].join("\n")
}

const write = (file: string, text: string): void => {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text)
}

const run = (command: string, ...args: ReadonlyArray<string>) =>
  spawnSync(command, args, { cwd: root, encoding: "utf8", shell: process.platform === "win32" })

const main = (): number => {
  fs.rmSync(output, { recursive: true, force: true })
  const pageOf = new Map<string, string>()
  let running = 0
  for (const page of fs.globSync(pages, { cwd: root, exclude: ["**/node_modules", "**/CHANGELOG.md"] }).sort()) {
    for (const block of blocksOf(fs.readFileSync(path.join(root, page), "utf8"), page.endsWith(".ts"))) {
      const name = `${page.replaceAll(path.sep, "+")}.${block.line}`
      pageOf.set(name, page)
      write(path.join(output, "check", `${name}.ts`), `${"\n".repeat(block.line)}${block.code}\n`)
      if (block.runs) {
        running++
        write(path.join(output, "run", `${name}.test.ts`), testOf(block, `${page}:${block.line}`))
      }
    }
  }
  if (pageOf.size === 0) {
    process.stderr.write("no code block was found\n")
    return 1
  }
  write(
    path.join(output, "tsconfig.json"),
    JSON.stringify({
      extends: "../tsconfig.base.json",
      references: [{ path: "../tsconfig.packages.json" }],
      include: ["check"],
      compilerOptions: {
        rootDir: "..",
        composite: false,
        incremental: false,
        declarationMap: false,
        noEmit: true,
        noUnusedLocals: false,
        noUnusedParameters: false,
        types: ["node"]
      }
    })
  )

  const compiled = run("tsc", "-b", path.join(output, "tsconfig.json"), "--pretty", "false")
  if (compiled.status !== 0) {
    process.stderr.write(
      `${compiled.stdout}${compiled.stderr}`.replaceAll(
        /^\.doctest\/check\/(.+)\.ts\((\d+),(\d+)\)/gm,
        (_, name: string, line: string, column: string) => `${pageOf.get(name)}:${line}:${column}`
      )
    )
    return 1
  }
  process.stdout.write(`${pageOf.size} code blocks of ${new Set(pageOf.values()).size} pages compile\n`)
  if (running === 0) return 0
  const tested = spawnSync("vitest", ["run", "--config", "vitest.docs.ts"], { cwd: root, stdio: "inherit" })
  return tested.status ?? 1
}

if (process.argv[1] === import.meta.filename) process.exitCode = main()
