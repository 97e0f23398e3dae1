// Imports run one way (`layers`), stay inside their package or go through another package's public modules, and keep
// what belongs to Node out of what also runs elsewhere. Usage: node scripts/import-direction.mjs [root]
import * as fs from "node:fs"
import { isBuiltin } from "node:module"
import * as path from "node:path"
import { parseAst } from "rolldown/parseAst"

const conversation = ["protocol", "transport", "client"]
const besideConversation = ["auth", "hub", "ai", "testing"]
const published = [...conversation, ...besideConversation, "node", "cli"]

/** What the `src/` of each folder may import from the workspace. A package may not import itself by name. */
const layers = {
  protocol: [],
  transport: ["protocol"],
  client: ["protocol", "transport"],
  auth: ["protocol"],
  hub: conversation,
  ai: conversation,
  testing: conversation,
  node: [...conversation, ...besideConversation],
  cli: [...conversation, ...besideConversation, "node"],
  conformance: published,
  benchmark: published,
  examples: published
}
const onNode = new Set(["node", "cli", "conformance", "benchmark", "examples"])
/** What is shipped runs one way. A test may put together what its users do, and name the requirements it proves. */
const layersOfTests = [...published, "conformance"]

const sourceFile = /\.[mc]?[jt]sx?$/
const barrel = /^effect(\/[a-z][a-z-]*)?$|^@effect\/[a-z-]+$/

/** Every module specifier of a file: import and export declarations, `import()`, `import("x").T`, `require`. */
const specifiersOf = (text, file) => {
  const found = []
  const add = (node, literal) => {
    const constant = literal?.type === "TemplateLiteral" && literal.expressions.length === 0
      ? literal.quasis[0].value.cooked
      : literal?.value
    found.push({
      specifier: typeof constant === "string" ? constant : undefined,
      line: text.slice(0, node.start).split("\n").length
    })
  }
  const visit = (node) => {
    if (Array.isArray(node)) return node.forEach(visit)
    if (node === null || typeof node !== "object") return
    switch (node.type) {
      case "ImportDeclaration":
      case "ExportAllDeclaration":
      case "ImportExpression":
      case "TSImportType":
        add(node, node.source)
        break
      case "ExportNamedDeclaration":
        if (node.source) add(node, node.source)
        break
      case "TSExternalModuleReference":
        add(node, node.expression)
        break
      case "CallExpression": {
        const name = node.callee.name ?? node.callee.property?.name
        if (name === "require" || name === "getBuiltinModule") add(node, node.arguments[0])
      }
    }
    Object.values(node).forEach(visit)
  }
  visit(parseAst(text, { lang: /\.[mc]?ts$/.test(file) ? "ts" : "tsx" }, file))
  return found
}

const inside = (folder, file) => !path.relative(folder, file).startsWith("..")

/** The workspace: packages and examples by folder, and the folder of each published name. */
const readWorkspace = (root) => {
  const workspace = new Map()
  for (const folder of [...fs.globSync("packages/*", { cwd: root }), "examples"].sort()) {
    const manifest = path.join(root, folder, "package.json")
    if (fs.existsSync(manifest)) workspace.set(JSON.parse(fs.readFileSync(manifest, "utf8")).name, folder)
  }
  return workspace
}

const check = ({ file, folder, root, specifier, workspace }) => {
  const name = path.basename(folder)
  const packageRoot = path.join(root, folder)
  const isSource = name === "examples" || inside(path.join(packageRoot, "src"), file)
  const isLibrary = isSource && published.includes(name)

  if (specifier === undefined) {
    return isLibrary ? ["imports a module whose name is computed: write it as a literal"] : []
  }
  if (/^[./]/.test(specifier)) {
    const target = path.resolve(path.dirname(file), specifier)
    if (!inside(packageRoot, target)) return [`${specifier} leaves ${folder}: import the package by name`]
    return isLibrary && !inside(path.join(packageRoot, "src"), target) ? [`${specifier} leaves ${folder}/src`] : []
  }

  const problems = []
  const imported = [...workspace.keys()].find((known) => specifier === known || specifier.startsWith(`${known}/`))
  if (imported !== undefined) {
    const target = path.basename(workspace.get(imported))
    const allowed = isSource ? layers[name] : layersOfTests
    if (!allowed.includes(target)) {
      problems.push(`${specifier}: ${name} stands on ${allowed.length === 0 ? "no other package" : allowed.join(", ")}`)
    }
    if (target !== name && /^(internal|src|dist|test)(\/|$)/.test(specifier.slice(imported.length + 1))) {
      problems.push(`${specifier} is not public`)
    }
  }
  if (isSource && !onNode.has(name) && (isBuiltin(specifier) || /^(node|bun):|^@effect\/platform-/.test(specifier))) {
    problems.push(`${specifier}: ${name} runs outside Node too`)
  }
  if (isLibrary && barrel.test(specifier)) problems.push(`${specifier} is a barrel: import the module itself`)
  return problems
}

const root = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, ".."))
const workspace = readWorkspace(root)
const problems = []
let files = 0
for (const folder of workspace.values()) {
  if (!Object.hasOwn(layers, path.basename(folder))) {
    problems.push(`${folder}: has no place among the layers of scripts/import-direction.mjs`)
    continue
  }
  const found = fs.globSync(`${folder}/**/*`, { cwd: root, exclude: ["**/node_modules", "**/dist"] })
  for (const relative of found.filter((entry) => sourceFile.test(entry)).sort()) {
    files++
    const file = path.join(root, relative)
    for (const { line, specifier } of specifiersOf(fs.readFileSync(file, "utf8"), relative)) {
      for (const problem of check({ file, folder, root, specifier, workspace })) {
        problems.push(`${relative}:${line}: ${problem}`)
      }
    }
  }
}
if (files === 0) problems.push(`no source file under ${root}`)
for (const problem of problems) process.stderr.write(`${problem}\n`)
process.stdout.write(`imports of ${files} files, ${problems.length} refused\n`)
process.exitCode = problems.length === 0 ? 0 : 1
