/**
 * Measures this client side by side with others and writes `RESULTS.md`.
 *
 * `--quick` takes one short run of everything, to see that it works; `--only <words>` takes the works whose name has
 * these words. Neither writes the file. `--runs <n>` takes the median of so many runs, 3 by default.
 */
import { writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { figureTable, isReached, type Row, verdictTable } from "./Report.ts"
import { type Effort, works } from "./Works.ts"

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string" }, runs: { type: "string" } }
})

const effort: Effort = values.quick
  ? { runs: 1, share: 0.05 }
  : { runs: Number(values.runs ?? 3), share: 1 }

const rows: Array<Row> = []
const failures: Array<string> = []
for (const { name, rows: take } of works.filter(({ name }) => name.includes(values.only ?? ""))) {
  const start = performance.now()
  try {
    rows.push(...await take(effort))
  } catch (error) {
    failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
  }
  process.stderr.write(`${name}: ${((performance.now() - start) / 1_000).toFixed(0)} s\n`)
}

const verdicts = rows.flatMap((row) => row.verdicts)
const summary = `${verdicts.filter(isReached).length} of ${verdicts.length} targets reached`
const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}`
const tables = `${verdictTable(rows)}\n\n${figureTable(rows)}`
console.log(`${tables}\n\n${summary} (${machine})`)
for (const failure of failures) console.error(`failed: ${failure}`)

if (!values.quick && values.only === undefined && failures.length === 0) {
  writeFileSync(
    new URL("../RESULTS.md", import.meta.url),
    `# Results of the benchmark

Made by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}: ${machine}. Each figure is the median of
${effort.runs} alternating runs, each in a process of its own. A load is 20,000 calls or more after a warm-up, with an echo
of 96 bytes. The server is a bare process that hardly looks at a message, so that the client is what is measured; *floor*
is the same work in bare code without a client.

${summary}.

## Targets

${verdictTable(rows)}

## Figures

${figureTable(rows)}
`
  )
}
process.exitCode = failures.length === 0 ? 0 : 1
