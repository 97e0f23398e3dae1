/**
 * Chromium without a screen, as it is installed on this machine.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Browser, chromium, type Page } from "playwright-core"

const names = ["chromium", "chromium-browser", "google-chrome"]

const isExecutable = (file: string): boolean => {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}

/** The program: what `CHROMIUM` names, else the first of its usual names in `PATH`. */
const find = (environment: NodeJS.ProcessEnv): string => {
  const named = environment["CHROMIUM"]
  const folders = (environment["PATH"] ?? "").split(path.delimiter)
  const candidates = named === undefined || named === ""
    ? names.flatMap((name) => folders.map((folder) => path.join(folder, name)))
    : [named]
  const found = candidates.find(isExecutable)
  if (found !== undefined) return found
  const missing = named === undefined || named === "" ? `${names.join(", ")} in PATH` : `program ${named} (CHROMIUM)`
  throw new Error(
    `There is no ${missing}. These tests drive a real browser: install it (apt-get install chromium), or name it in `
      + "CHROMIUM"
  )
}

const launch: Effect.Effect<Browser, never, Scope.Scope> = Effect.acquireRelease(
  // Its sandbox does not work for root, as whom containers run.
  Effect.promise(() => chromium.launch({ executablePath: find(process.env), args: ["--no-sandbox"] })),
  (browser) => Effect.promise(() => browser.close())
)

/** An empty page of a browser that knows nobody yet. */
export const page: Effect.Effect<Page, never, Scope.Scope> = Effect.flatMap(
  launch,
  (browser) => Effect.promise(() => browser.newPage())
)
