/** How long the client takes to load, and the Effect modules that it loads. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { median } from "./Median.ts"

const packages = fileURLToPath(new URL("../../", import.meta.url))

const imports = /^(?:im|ex)port [^;]*?from "([^"]+)"/gm

/** The file that a module of this repository is built to; `undefined` for a module of somebody else. */
const builtFile = (specifier: string, importer: string): string | undefined => {
  if (specifier.startsWith(".")) return resolve(dirname(importer), specifier)
  const [, folder, module = "index"] = /^@mcp-effect\/([^/]+)(?:\/(.+))?$/.exec(specifier) ?? []
  return folder === undefined ? undefined : `${packages}${folder}/dist/${module}.js`
}

/** The Effect modules that the built client and what it stands on import when they load. */
const effectModules = (): ReadonlyArray<string> => {
  const modules = new Set<string>()
  const files = new Set([`${packages}client/dist/index.js`])
  // A set gives what is added to it while it is walked, too.
  for (const file of files) {
    for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(imports)) {
      const built = builtFile(specifier, file)
      if (built !== undefined) files.add(built)
      else if (specifier.startsWith("effect/")) modules.add(specifier)
    }
  }
  return [...modules].sort()
}

const importMillis = async (specifiers: ReadonlyArray<string>): Promise<number> => {
  const program =
    `const start = performance.now(); await Promise.all(${JSON.stringify(specifiers)}.map((s) => import(s)));` +
    "process.stdout.write(String(performance.now() - start))"
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: packages + "benchmark"
  })
  return Number(stdout)
}

export interface ImportTime {
  readonly clientMillis: number
  readonly effectMillis: number
  readonly officialMillis: number
}

export const importTime = async (runs: number): Promise<ImportTime> => {
  const modules = effectModules()
  if (modules.length === 0) throw new Error("the client is not built: npm run build")
  const client: Array<number> = []
  const effect: Array<number> = []
  const official: Array<number> = []
  for (let run = 0; run < runs; run++) {
    client.push(await importMillis(["@mcp-effect/client"]))
    effect.push(await importMillis(modules))
    official.push(await importMillis(["@modelcontextprotocol/client"]))
  }
  return { clientMillis: median(client), effectMillis: median(effect), officialMillis: median(official) }
}
