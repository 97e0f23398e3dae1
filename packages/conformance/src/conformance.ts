/**
 * Runs the official conformance suite against this client and judges it by `baseline.json`.
 *
 * Each scenario that is due runs by itself, at every revision that it knows, where the exit code of the client counts
 * too; what fails is tried once more. Those in the baseline run once, all together: they are to fail.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"
import { type Check, describe, fault, isGood, type Outcome, parseList, scenarioOf, summary } from "./Gate.ts"

const suiteLimitMillis = 300_000
const scenarioLimitMillis = 90_000

const root = fileURLToPath(new URL("../", import.meta.url))
const suite = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json")),
  "dist/index.js"
)
const bundle = "dist/fixture/client.mjs"
// The suite splits the command at spaces and runs it in a shell, so the path is relative; without `exec` its time
// limit would end the shell and leave the client behind.
const command = `exec node ${bundle}`
const baseline: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(root, "baseline.json"), "utf8"))

interface Ran {
  readonly ok: boolean
  readonly output: string
}

/** Runs the suite's program in a process group of its own, which is gone afterwards. */
const runSuite = async (args: ReadonlyArray<string>, limitMillis: number): Promise<Ran> => {
  const child = spawn(process.execPath, [suite, ...args], {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) }
  })
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
    } catch {
      // ESRCH: everything is gone already.
    }
  }
  const limit = setTimeout(end, limitMillis)
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk
  })
  const [code] = await once(child, "exit")
  clearTimeout(limit)
  end()
  return { ok: code === 0, output }
}

/** Runs scenarios and gives the checks of each, and whether the program was content. */
const runScenarios = async (
  args: ReadonlyArray<string>,
  limitMillis: number
): Promise<{ readonly ok: boolean; readonly checks: ReadonlyMap<string, ReadonlyArray<Check>> }> => {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"))
  try {
    const { ok } = await runSuite(["client", "--command", command, ...args, "-o", folder], limitMillis)
    const files = globSync("**/checks.json", { cwd: folder })
    return {
      ok,
      checks: new Map(
        files.map((file) => [scenarioOf(dirname(file)), JSON.parse(readFileSync(join(folder, file), "utf8"))])
      )
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const runAlone = async (name: string, revision: string | undefined): Promise<string | undefined> => {
  const version = revision === undefined ? [] : ["--spec-version", revision]
  const { checks, ok } = await runScenarios(["--scenario", name, ...version], scenarioLimitMillis)
  return fault(checks.get(name)) ?? (ok ? undefined : "the client failed or took too long")
}

const twice = async (run: () => Promise<string | undefined>): Promise<string | undefined> =>
  await run() === undefined ? undefined : run()

await build({
  input: join(root, "src/client.ts"),
  platform: "node",
  resolve: { conditionNames: ["@mcp-effect/source", "import", "node", "default"] },
  output: { file: join(root, bundle), codeSplitting: false },
  logLevel: "warn"
})

const scenarios = parseList((await runSuite(["list", "--client"], scenarioLimitMillis)).output)
const outcomes: Array<Outcome> = []
const report = (outcome: Outcome): void => {
  outcomes.push(outcome)
  process.stdout.write(`${describe(outcome)}\n`)
}

if (scenarios.length === 0) report({ title: "list of scenarios", waitsFor: undefined, fault: "it is empty" })
for (const name of Object.keys(baseline)) {
  if (!scenarios.some((scenario) => scenario.name === name)) {
    report({ title: name, waitsFor: undefined, fault: "the baseline names it, the suite does not" })
  }
}

const together = Object.keys(baseline).length === 0
  ? undefined
  : await runScenarios(["--suite", "all"], suiteLimitMillis)
const runs = scenarios.flatMap(({ name, revisions }) => {
  const waitsFor = baseline[name]
  if (waitsFor !== undefined) {
    const first = fault(together?.checks.get(name))
    return [async (): Promise<Outcome> => ({ title: name, waitsFor, fault: first })]
  }
  // Without a revision of its own a scenario runs at the one that the suite chooses.
  const alone = revisions.length === 0 ? [undefined] : revisions
  return alone.map((revision) => {
    const title = revision === undefined ? name : `${name} at ${revision}`
    return async (): Promise<Outcome> => ({ title, waitsFor, fault: await twice(() => runAlone(name, revision)) })
  })
})

// Most of a scenario is the start of two processes; more at a time would only make them slow.
const atOnce = 3
const waiting = [...runs]
await Promise.all(Array.from({ length: atOnce }, async () => {
  for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) report(await run())
}))

process.stdout.write(`${summary(outcomes)}\n`)
process.exitCode = outcomes.every(isGood) ? 0 : 1
