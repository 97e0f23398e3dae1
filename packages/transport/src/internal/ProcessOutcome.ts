/**
 * How a process failed to start, or ended, out of what Effect's spawner says about it.
 */
import { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type { PlatformError } from "effect/PlatformError"
import * as Predicate from "effect/Predicate"
import type { ChildProcessHandle } from "effect/process/ChildProcessSpawner"

/** How a process ended; neither is known of one that is still running. */
export interface Ended {
  readonly exitCode?: number | undefined
  readonly signal?: string | undefined
}

// The spawner reports a signal as a failure that carries the signal's name in its text alone.
const signalIn = (error: PlatformError): string | undefined =>
  error.cause instanceof Error ? /\bSIG[A-Z0-9]+\b/.exec(error.cause.message)?.[0] : undefined

/** Waits for the end of a process. */
export const ended = (handle: ChildProcessHandle): Effect.Effect<Ended> =>
  Effect.match(handle.exitCode, {
    onSuccess: (exitCode): Ended => ({ exitCode }),
    onFailure: (error): Ended => ({ signal: signalIn(error) })
  })

const codeOf = (cause: unknown): string | undefined =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : undefined

/**
 * The reason why a process did not start. What the spawner says is not handed on, since it quotes all arguments, of
 * which any may be a secret; only the code of the operating system is.
 */
export const spawnFailed = (
  failure: PlatformError | { readonly defect: unknown },
  command: string,
  searched: ReadonlyArray<string>
): McpError.SpawnFailed => {
  const make = (problem: McpError.SpawnFailed["problem"], detail?: string): McpError.SpawnFailed =>
    new McpError.SpawnFailed({
      command,
      searched,
      problem,
      cause: detail === undefined ? undefined : new Error(detail)
    })
  if ("defect" in failure) return make("other", codeOf(failure.defect))
  const { reason } = failure
  const code = codeOf(reason.cause)
  // The spawner checks the working directory through the file system before it starts anything.
  if (reason.module === "FileSystem" || code === "ENOTDIR") return make("working-directory", code)
  if (reason._tag === "NotFound") return make("not-found", code)
  if (reason._tag === "PermissionDenied") return make("permission-denied", code)
  return make("other", reason._tag === "BadArgument" ? reason.description : code)
}
