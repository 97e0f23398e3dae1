// Removes what the build writes, and with it what a removed source has left behind.
import * as fs from "node:fs"

const written = [
  "packages/*/{dist,build,tsconfig.tsbuildinfo}",
  "node_modules/.cache/*.tsbuildinfo",
  ".doctest",
  "coverage"
]
for (const entry of fs.globSync(written)) fs.rmSync(entry, { recursive: true, force: true })
