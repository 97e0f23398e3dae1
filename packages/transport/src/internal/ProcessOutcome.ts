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

/** What of a launch an error tells. */
export interface Launched {
  readonly command: string
  /** The directories that the command was looked up in. */
  readonly searched: ReadonlyArray<string>
  readonly cwd: string | undefined
}

/** `detail` is in our words, or a code of the operating system. */
export const notStarted = (
  { command, searched }: Launched,
  problem: McpError.SpawnFailed["problem"],
  detail: string | undefined
): McpError.SpawnFailed =>
  new McpError.SpawnFailed({
    command,
    searched,
    problem,
    cause: detail === undefined ? undefined : new Error(detail)
  })

/** The spawner fails with a `PlatformError`, but throws what it does not expect. */
export type SpawnFailure = PlatformError | { readonly defect: unknown }

/**
 * The reason why a process did not start. What the spawner says is not handed on, since it quotes all arguments, of
 * which any may be a secret; only the code of the operating system is.
 */
export const spawnFailed = (failure: SpawnFailure, launched: Launched): McpError.SpawnFailed => {
  const reason = "defect" in failure ? undefined : failure.reason
  const code = codeOf("defect" in failure ? failure.defect : failure.reason.cause)
  // The spawner looks at the working directory first, through the file system, but takes a file for one.
  if (reason?.module === "FileSystem" || (code === "ENOTDIR" && launched.cwd !== undefined)) {
    return notStarted(launched, "working-directory", code)
  }
  if (reason?._tag === "NotFound" || code === "ENOTDIR") return notStarted(launched, "not-found", code)
  if (reason?._tag === "PermissionDenied") return notStarted(launched, "permission-denied", code)
  return notStarted(launched, "other", reason?._tag === "BadArgument" ? reason.description : code)
}
