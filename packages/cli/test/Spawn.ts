/**
 * Runs the command line as people do: as a process.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import * as path from "node:path"

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  /** Waits until standard error has said this. */
  readonly said: (text: string) => Effect.Effect<void>
  readonly ended: Effect.Effect<Ended>
}

const bin = path.resolve(import.meta.dirname, "../src/bin.ts")

/** Starts it. What still runs when the scope closes is killed. */
export const start = (
  argv: ReadonlyArray<string>,
  env: NodeJS.ProcessEnv = {}
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync((): Running => {
      const child = spawn(process.execPath, ["--conditions=@mcp-effect/source", bin, ...argv], {
        env: { ...process.env, ...env },
        stdio: "pipe"
      })
      let stdout = ""
      let stderr = ""
      const waiting = new Map<string, () => void>()
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text
      })
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr += text
        for (const [wanted, resume] of waiting) if (stderr.includes(wanted)) resume()
      })
      const closed = new Promise<Ended>((resolve) => {
        child.once("close", (code) => resolve({ code, stdout, stderr }))
      })
      return {
        child,
        said: (text) =>
          Effect.callback<void>((resume) => {
            if (stderr.includes(text)) resume(Effect.void)
            else waiting.set(text, () => resume(Effect.void))
          }),
        ended: Effect.promise(() => closed)
      }
    }),
    ({ child, ended }) =>
      Effect.suspend(() => {
        child.kill("SIGKILL")
        return Effect.asVoid(ended)
      })
  )

/** Runs it to its end, with something on standard input. */
export const cli = (
  argv: ReadonlyArray<string>,
  options: { readonly stdin?: string; readonly env?: NodeJS.ProcessEnv } = {}
): Effect.Effect<Ended> =>
  Effect.scoped(Effect.gen(function*() {
    const { child, ended } = yield* start(argv, options.env)
    child.stdin?.end(options.stdin ?? "")
    return yield* ended
  }))
