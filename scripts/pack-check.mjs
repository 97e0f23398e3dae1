// What is published works where it is installed: packs the packages, installs the tarballs in empty folders, runs the
// command line there and type-checks a program against the libraries.
import * as assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const root = path.resolve(import.meta.dirname, "..")
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "mcp-effect-pack-"))
const readJson = (file) => JSON.parse(fs.readFileSync(path.join(root, file), "utf8"))

const libraries = ["protocol", "transport", "client", "auth", "node"]
const { version } = readJson("packages/cli/package.json")
const { devDependencies } = readJson("package.json")

/** The environment of a user: without this workspace's programs and what npm tells the scripts it runs. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    !/^(npm_(package|lifecycle|command|node_execpath|execpath|config_(local_)?prefix)|INIT_CWD)/i.test(name)
  )
)
environment.PATH = process.env.PATH.split(path.delimiter)
  .filter((entry) => !entry.includes("node_modules")).join(path.delimiter)

const run = (folder, command, ...args) => {
  const { error, signal, status, stderr, stdout } = spawnSync(command, args, {
    cwd: folder,
    encoding: "utf8",
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 240_000
  })
  return { line: [command, ...args].join(" "), status: status ?? signal ?? error?.message, stderr, stdout }
}

const succeed = (folder, command, ...args) => {
  const result = run(folder, command, ...args)
  assert.equal(result.status, 0, `${result.line} in ${folder}: ${result.status}\n${result.stdout}${result.stderr}`)
  return result.stdout
}

const report = (what) => process.stdout.write(`- ${what}\n`)

/** An empty folder with a manifest and files, installed. */
const install = (name, manifest, files = {}) => {
  const folder = path.join(temporary, name)
  fs.mkdirSync(folder)
  for (const [file, text] of Object.entries({ "package.json": JSON.stringify(manifest), ...files })) {
    fs.writeFileSync(path.join(folder, file), text)
  }
  succeed(folder, "npm", "install", "--no-audit", "--no-fund")
  return folder
}

const pack = () => {
  const tarballs = new Map()
  for (const folder of [...libraries, "cli"]) {
    const [packed] = JSON.parse(
      succeed(path.join(root, "packages", folder), "npm", "pack", "--json", "--pack-destination", temporary)
    )
    const files = packed.files.map((file) => file.path)
    assert.ok(files.includes("LICENSE"), `${packed.name} has no LICENSE`)
    assert.ok(files.some((file) => /^dist\/.*\.js$/.test(file)), `${packed.name} has no dist`)
    assert.ok(files.every((file) => /^(src|dist)\/|^[A-Z]+(\.md)?$|^package\.json$/.test(file)), files.join(" "))
    tarballs.set(packed.name, `file:${path.join(temporary, packed.filename)}`)
    report(`${packed.name} ${packed.version}: ${files.length} files, ${Math.round(packed.size / 1000)} kB packed`)
  }
  return tarballs
}

/** One line that says which Node is needed, and exit code 1. */
const assertRefusal = ({ line, status, stderr, stdout }, version) => {
  assert.equal(status, 1, `${line}: ${status}`)
  assert.equal(stdout, "")
  assert.match(stderr, new RegExp(`^mcp-effect needs Node 22\\.19 or newer, and this is Node ${version} .*\\n$`))
  report(`refuses Node ${version} in one line`)
}

const checkCommandLine = (tarballs) => {
  const folder = install("cli", {
    private: true,
    allowScripts: { node: true },
    dependencies: { "mcp-effect": tarballs.get("mcp-effect"), node: devDependencies.node }
  })
  const installed = fs.readdirSync(path.join(folder, "node_modules")).filter((name) => !/^\.|^node/.test(name))
  assert.deepEqual(installed, ["mcp-effect"], "the command line is published without dependencies")

  const commandLine = (...args) => succeed(folder, "npm", "exec", "--", "mcp-effect", ...args)
  assert.match(commandLine("--version"), new RegExp(`\\b${version.replaceAll(".", "\\.")}\\b`))
  assert.match(commandLine("--help"), /\bcall\b/)
  report(`mcp-effect --version and --help run on Node ${devDependencies.node}`)
  const { devDependencies: servers } = readJson("packages/conformance/package.json")
  const server = `@modelcontextprotocol/server-everything@${servers["@modelcontextprotocol/server-everything"]}`
  assert.match(commandLine("call", "echo", "message=hi", "--", "npx", "-y", server), /\bhi\b/)
  report(`mcp-effect call echo message=hi -- npx -y ${server}`)

  const bin = path.join("node_modules", "mcp-effect", "dist", "bin.js")
  const pretend = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "22.18.0" } })`
  assertRefusal(run(folder, process.execPath, `--import=data:text/javascript,${pretend}`, bin), "22.18.0")
  const system = run(folder, "node", "--print", "process.versions.node").stdout?.trim()
  const [major, minor] = (system || "99.0").split(".").map(Number)
  if (major < 22 || (major === 22 && minor < 19)) assertRefusal(run(folder, "node", bin), system)
}

const checkLibraries = (tarballs) => {
  const modules = libraries.flatMap((name) =>
    fs.globSync("*.ts", { cwd: path.join(root, "packages", name, "src") }).sort().map((file) =>
      file === "index.ts" ? `@mcp-effect/${name}` : `@mcp-effect/${name}/${path.basename(file, ".ts")}`
    )
  )
  const dependencies = libraries.map((name) => [`@mcp-effect/${name}`, tarballs.get(`@mcp-effect/${name}`)])
  const folder = install("libraries", {
    private: true,
    type: "module",
    dependencies: Object.fromEntries(dependencies),
    devDependencies: { "@types/node": devDependencies["@types/node"] }
  }, {
    "tsconfig.json": JSON.stringify({
      compilerOptions: {
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        target: "ES2022",
        module: "NodeNext",
        types: ["node"]
      },
      files: ["main.ts"]
    }),
    "main.ts": [
      ...modules.map((module, index) => `import * as m${index} from "${module}"`),
      `console.log([${modules.map((_, index) => `m${index}`).join(", ")}].every((m) => typeof m === "object"))`
    ].join("\n")
  })
  const copies = succeed(folder, "npm", "ls", "effect", "--all", "--parseable").trim().split("\n")
  assert.equal(copies.length, 1, `one copy of effect: ${copies.join(" ")}`)
  succeed(folder, path.join(root, "node_modules", ".bin", "tsc"), "-p", "tsconfig.json")
  assert.equal(succeed(folder, process.execPath, "main.js"), "true\n")
  report(`${modules.length} modules of ${libraries.length} libraries compile and load where they are installed`)
}

try {
  succeed(root, "npm", "run", "build")
  const tarballs = pack()
  checkCommandLine(tarballs)
  checkLibraries(tarballs)
} finally {
  fs.rmSync(temporary, { recursive: true, force: true })
}
