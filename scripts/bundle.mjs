// Joins the modules that a library loads at once into one file, from which its public modules give their exports: a
// program finds, reads and links a handful of files instead of hundreds. What is loaded later stays apart.
import * as fs from "node:fs"
import * as path from "node:path"
import { build } from "rolldown"

const isOfLibrary = (id) => id.startsWith(".") || path.isAbsolute(id)

const isLoadedAtOnce = (id, context, seen = new Set()) => {
  if (seen.has(id)) return false
  seen.add(id)
  const { importers, isEntry } = context.getModuleInfo(id)
  return isEntry || importers.some((importer) => isLoadedAtOnce(importer, context, seen))
}

for (const library of ["protocol", "transport", "client"]) {
  const folder = path.resolve("packages", library)
  // The index stays as it is: bundlers see through its namespaces only where they are those of modules.
  const modules = fs.globSync("*.ts", { cwd: path.join(folder, "src"), exclude: ["index.ts"] })
  await build({
    cwd: folder,
    input: Object.fromEntries(modules.map((file) => [path.basename(file, ".ts"), `src/${file}`])),
    external: (id) => !isOfLibrary(id),
    platform: "neutral",
    output: {
      dir: "dist",
      sourcemap: true,
      // They are published beside it.
      sourcemapExcludeSources: true,
      chunkFileNames: "chunks/[name].js",
      codeSplitting: {
        groups: [{ name: (id, context) => isLoadedAtOnce(id, context) ? "library" : null, debugName: "library" }]
      }
    }
  })
}
