import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

/** Runs a program to its end. Rejects when it fails or takes more than a minute. */
const run = async (program: string): Promise<ReadonlyArray<string>> => {
  const file = fileURLToPath(new URL(`../${program}`, import.meta.url))
  const { stderr, stdout } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@mcp-effect/source", file],
    { timeout: 60_000 }
  )
  assert.strictEqual(stderr, "")
  return stdout.trimEnd().split("\n")
}

const timeout = 90_000

describe("examples", () => {
  it("stdio.ts", async () => {
    const [connected, offers, ...rest] = await run("stdio.ts")
    assert.strictEqual(connected, "connected to mcp-servers/everything in revision 2025-11-25")
    assert.match(offers ?? "", /^it offers \d+ tools, among them echo, /)
    assert.deepStrictEqual(rest, ["Echo: hello", "step 1 of 4", "step 2 of 4", "step 3 of 4", "step 4 of 4"])
  }, timeout)

  it("http.ts", async () => {
    assert.deepStrictEqual(await run("http.ts"), [
      "poem://frog has 13 words",
      "reciting: An old silent pond",
      "reciting: A frog jumps into the pond",
      "reciting: Splash! Silence again",
      "poem://missing is not there"
    ])
  }, timeout)

  it("several-servers.ts", async () => {
    const [toolbox, ...rest] = await run("several-servers.ts")
    assert.match(toolbox ?? "", /^toolbox offers \d+ tools$/)
    assert.deepStrictEqual(rest, [
      "poetry offers 4 tools",
      "Echo: An old silent pond",
      "A frog jumps into the pond",
      "Splash! Silence again"
    ])
  }, timeout)

  it("watch.ts", async () => {
    assert.deepStrictEqual(await run("watch.ts"), [
      "offered: poem://frog",
      "offered: poem://frog poem://snail",
      "snail: O snail",
      "snail: O snail / Climb Mount Fuji",
      "snail: O snail / Climb Mount Fuji / But slowly, slowly!"
    ])
  }, timeout)
})

describe("demo", () => {
  const runs = [
    ["stdio, legacy server", "2025-11-25"],
    ["stdio, modern server", "2026-07-28"],
    ["HTTP, legacy server", "2025-11-25"],
    ["HTTP, modern server", "2026-07-28"]
  ] as const
  const shown = [
    /^instructions {2}Recite before you interpret\.$/,
    /^tool {10}count-words {9}Counts the words of a text\.$/,
    /^resource {6}poem:\/\/frog \(frog\)$/,
    /^prompt {8}interpret\(style\)$/,
    /^call {10}recite once$/,
    /^ {2}progress {4}1 of 3 {2}An old silent pond$/,
    /^ {2}progress {4}2 of 3 {2}A frog jumps into the pond$/,
    /^ {2}progress {4}3 of 3 {2}Splash! Silence again$/,
    /^ {2}result {6}\{"linesRecited":3\}$/,
    /^read {10}poem:\/\/frog: An old silent pond \/ A frog jumps into the pond \/ Splash! Silence again$/,
    /^fill in {7}interpret, for the user: Interpret this haiku in a plain style: \.\.\.$/,
    /^watch {9}the resources, and have the server learn a poem$/,
    /^ {2}list {8}frog$/,
    /^ {2}list {8}frog, snail$/,
    /^cancel {8}recite 1,000 times, and interrupt at the second line$/,
    /^ {2}result {6}the server stopped after line \d+ of 3,000$/
  ]

  it("shows the same of all four servers, in under 15 seconds, and leaves no process behind", async () => {
    const lines = await run("demo/main.ts")
    const headings = lines.flatMap((_, index) => /^-+$/.test(lines[index + 1] ?? "") ? [index] : [])
    assert.deepStrictEqual(headings.map((index) => lines[index]), runs.map(([heading]) => heading))

    runs.forEach(([, revision], index) => {
      const section = lines.slice(headings[index], headings[index + 1])
      assert.include(section, `server        poetry 1.0.0, found to speak ${revision}`)
      const found = shown.map((pattern) => section.findIndex((line) => pattern.test(line)))
      assert.notInclude(found, -1, section.join("\n"))
      assert.deepStrictEqual(found, found.toSorted((a, b) => a - b))
    })

    const closed = lines.flatMap((line) => /^closed {8}process (\d+) is gone$/.exec(line)?.[1] ?? [])
    assert.strictEqual(closed.length, 2)
    for (const id of closed) assert.throws(() => process.kill(Number(id), 0), /ESRCH/)

    const [, seconds] = /^All four were as expected, in ([\d.]+) s\.$/.exec(lines.at(-1) ?? "") ?? []
    assert.isBelow(Number(seconds), 15)
  }, timeout)
})
