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
  /** Waits until standard output has this. */
  readonly printed: (text: string) => Effect.Effect<void>
  readonly ended: Effect.Effect<Ended>
}

export const bin = path.resolve(import.meta.dirname, "../src/bin.ts")

/** Something that grows, and that is waited for. */
class Transcript {
  text = ""
  private readonly waiting = new Map<string, () => void>()

  readonly add = (text: string): void => {
    this.text += text
    for (const [wanted, resume] of this.waiting) if (this.text.includes(wanted)) resume()
  }

  readonly has = (wanted: string): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      if (this.text.includes(wanted)) resume(Effect.void)
      else this.waiting.set(wanted, () => resume(Effect.void))
    })
}

/** Starts it, or another command. What still runs when the scope closes is killed. */
export const start = (
  argv: ReadonlyArray<string>,
  options: { readonly env?: NodeJS.ProcessEnv | undefined; readonly command?: ReadonlyArray<string> } = {}
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync((): Running => {
      const [command = "", ...args] = options.command ?? [process.execPath, "--conditions=@mcp-effect/source", bin]
      const child = spawn(command, [...args, ...argv], { env: { ...process.env, ...options.env }, stdio: "pipe" })
      const stdout = new Transcript()
      const stderr = new Transcript()
      child.stdout.setEncoding("utf8").on("data", stdout.add)
      child.stderr.setEncoding("utf8").on("data", stderr.add)
      const closed = new Promise<Ended>((resolve) => {
        child.once("close", (code) => resolve({ code, stdout: stdout.text, stderr: stderr.text }))
      })
      return { child, said: stderr.has, printed: stdout.has, ended: Effect.promise(() => closed) }
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
    const { child, ended } = yield* start(argv, options)
    child.stdin?.end(options.stdin ?? "")
    return yield* ended
  }))
