/**
 * A browser for programs in processes of their own, which find it in `PATH`.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { Person } from "./Person.ts"

/** A sign-in from the URL that was opened to the page that the browser ended at. */
export interface Visit {
  readonly url: string
  readonly status: number
  readonly page: string
}

export interface ScriptedBrowser {
  /** A folder of its own, for whatever a test keeps in files. */
  readonly folder: string
  /** The variables of a program that opens this browser. */
  readonly env: { readonly PATH: string }
  /** The sign-ins so far; waits until there are so many, since the browser outlives the program that opened it. */
  readonly visits: (count: number) => Effect.Effect<ReadonlyArray<Visit>>
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const readVisits = (notes: string): ReadonlyArray<Visit> =>
  fs.existsSync(notes)
    ? fs.readFileSync(notes, "utf8").split("\n").slice(0, -1).map((line): Visit => JSON.parse(line))
    : []

const waitFor = <A>(folder: string, read: () => A, isEnough: (value: A) => boolean): Effect.Effect<A> =>
  Effect.callback<A>((resume) => {
    const look = (): void => {
      const value = read()
      if (!isEnough(value)) return
      watcher.close()
      resume(Effect.succeed(value))
    }
    const watcher = fs.watch(folder, look)
    look()
    return Effect.sync(() => watcher.close())
  })

/** Makes the browser of a person; it ends with the scope. `command` runs instead of it, with the URL behind its words. */
export const make = (
  person: Person,
  command?: ReadonlyArray<string>
): Effect.Effect<ScriptedBrowser, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), "browser-"))
      const notes = path.join(folder, "visits")
      const opener = path.join(import.meta.dirname, "Opener.ts")
      const words = command
        ?? [process.execPath, "--conditions=@mcp-effect/source", opener, notes, person.name, person.choice]
      const script = `#!/bin/sh\nexec ${words.map(quote).join(" ")} "$1"\n`
      for (const name of ["xdg-open", "open"]) fs.writeFileSync(path.join(folder, name), script, { mode: 0o755 })
      return {
        folder,
        env: { PATH: `${folder}${path.delimiter}${process.env["PATH"] ?? ""}` },
        visits: (count) => waitFor(folder, () => readVisits(notes), (visits) => visits.length >= count)
      }
    }),
    ({ folder }) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
  )
