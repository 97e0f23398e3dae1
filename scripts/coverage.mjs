// Which test proves which requirement: writes packages/conformance/coverage.md from requirements.json and the tests that
// name its ids. With --check it writes nothing and fails on an id without a test, on a test that names an id without a
// requirement, and on a page that is out of date. Usage: node scripts/coverage.mjs [--check] [root]
import * as fs from "node:fs"
import * as path from "node:path"
import { parseAst } from "rolldown/parseAst"

const helpers = new Set(["verifies", "verifiesLive", "verifiesPure"])
const tests = "{packages/*,examples,scripts}/{test,soak}/**/*.ts"

const stringOf = (node) => node?.type === "Literal" && typeof node.value === "string" ? node.value : undefined

/** The ids that a call names; `undefined` where one of them is not a literal. */
const idsOf = (node) => {
  const ids = node?.type === "ArrayExpression" ? node.elements.map(stringOf) : [stringOf(node)]
  return ids.includes(undefined) || ids.length === 0 ? undefined : ids
}

/** Every call of a helper: its ids, its title and its line. A title that is computed is given as its source. */
const callsOf = (text, file) => {
  const found = []
  const visit = (node) => {
    if (Array.isArray(node)) return node.forEach(visit)
    if (node === null || typeof node !== "object") return
    if (node.type === "CallExpression" && helpers.has(node.callee.name)) {
      const [ids, title] = node.arguments
      found.push({
        ids: idsOf(ids),
        title: stringOf(title) ?? text.slice(title?.start, title?.end).replaceAll(/\s+/g, " "),
        line: text.slice(0, node.start).split("\n").length
      })
    }
    Object.values(node).forEach(visit)
  }
  visit(parseAst(text, { lang: "ts" }, file))
  return found
}

// CommonMark 6.1: a longer fence for text with backticks, apart from it by a space where it begins or ends with one.
const code = (text) => {
  if (!text.includes("`")) return `\`${text}\``
  const space = text.startsWith("`") || text.endsWith("`") ? " " : ""
  return `\`\`${space}${text}${space}\`\``
}

const pageOf = (requirements, proofs) => {
  const lines = [
    "# Requirements and the tests that prove them",
    "",
    "Made by `npm run coverage:requirements` from `requirements.json` and the tests; do not edit.",
    ""
  ]
  let area
  for (const [id, statement] of Object.entries(requirements)) {
    if (id.split("-")[0] !== area) {
      area = id.split("-")[0]
      if (lines.at(-1) !== "") lines.push("")
      lines.push(`## ${area}`, "")
    }
    lines.push(`- **${id}** ${statement}`)
    const proved = proofs.get(id) ?? []
    for (const { file, title } of proved) lines.push(`  - ${code(file)}: ${code(title)}`)
    if (proved.length === 0) lines.push("  - no test yet")
  }
  return `${lines.join("\n")}\n`
}

const args = process.argv.slice(2)
const checks = args.includes("--check")
const root = path.resolve(args.find((argument) => argument !== "--check") ?? path.join(import.meta.dirname, ".."))
const folder = path.join(root, "packages/conformance")
const requirements = JSON.parse(fs.readFileSync(path.join(folder, "requirements.json"), "utf8"))

const proofs = new Map()
const problems = []
for (const relative of fs.globSync(tests, { cwd: root, exclude: ["**/node_modules"] }).sort()) {
  const file = relative.replaceAll(path.sep, "/")
  for (const { ids, line, title } of callsOf(fs.readFileSync(path.join(root, relative), "utf8"), file)) {
    if (ids === undefined) problems.push(`${file}:${line}: name the ids as string literals`)
    for (const id of ids ?? []) {
      if (!Object.hasOwn(requirements, id)) problems.push(`${file}:${line}: ${id} is not in requirements.json`)
      proofs.set(id, [...(proofs.get(id) ?? []), { file, title }])
    }
  }
}
const unproved = Object.keys(requirements).filter((id) => !proofs.has(id))
for (const id of unproved) problems.push(`${id} has no test: ${requirements[id]}`)

const page = path.join(folder, "coverage.md")
const text = pageOf(requirements, proofs)
if (!checks) fs.writeFileSync(page, text)
else if (!fs.existsSync(page) || fs.readFileSync(page, "utf8") !== text) {
  problems.push("packages/conformance/coverage.md is out of date: npm run coverage:requirements")
}

for (const problem of problems) process.stderr.write(`${problem}\n`)
const total = Object.keys(requirements).length
process.stdout.write(`${total - unproved.length} of ${total} requirements have a test\n`)
process.exitCode = checks && problems.length > 0 ? 1 : 0
