/**
 * Opens a page in the browser of whoever sits at this machine.
 */
import { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type ChildProcess, spawn } from "node:child_process"

/** The program that opens a URL, and what it is given. No shell is between: a URL holds what shells obey. */
export const commandFor = (platform: NodeJS.Platform, url: string): readonly [string, ...ReadonlyArray<string>] => {
  switch (platform) {
    case "darwin":
      return ["open", url]
    case "win32":
      return ["rundll32.exe", "url.dll,FileProtocolHandler", url]
    default:
      return ["xdg-open", url]
  }
}

// An opener that finds no browser ends at once; one that has become the browser stays.
const patienceMillis = 2_000

const failure = (problem: string): McpError.McpError =>
  McpError.make(new McpError.AuthorizationFailed({ stage: "sign-in", problem }), "unsent")

// The error itself is not told: it holds the arguments of the program, and so the URL with its state.
const notStarted = (command: string, error: unknown): McpError.McpError => {
  const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : ""
  return failure(`no browser could be opened: ${command} did not start${code}`)
}

const start = (command: string, args: ReadonlyArray<string>): Result.Result<ChildProcess, McpError.McpError> =>
  Result.try({
    // A URL may be longer than an argument can be, which is thrown.
    try: () => spawn(command, args, { detached: true, stdio: "ignore", shell: false }),
    catch: (error) => notStarted(command, error)
  })

/** Opens an http(s) URL, and nothing else: other schemes start programs. The browser outlives this process. */
export const open = (
  url: URL,
  platform: NodeJS.Platform = process.platform
): Effect.Effect<void, McpError.McpError> => {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return Effect.fail(failure("the authorization URL is neither http: nor https:; it was not opened"))
  }
  const [command, ...args] = commandFor(platform, url.href)
  return Effect.callback<void, McpError.McpError>((resume) => {
    const started = start(command, args)
    if (Result.isFailure(started)) return resume(Effect.fail(started.failure))
    const child = started.success
    child.unref()
    const timer = setTimeout(() => resume(Effect.void), patienceMillis)
    timer.unref()
    child.once("error", (error) => {
      clearTimeout(timer)
      resume(Effect.fail(notStarted(command, error)))
    })
    child.once("exit", (code) => {
      clearTimeout(timer)
      resume(
        code === 0
          ? Effect.void
          : Effect.fail(failure(`no browser could be opened: ${command} exited with code ${code}`))
      )
    })
    return Effect.sync(() => clearTimeout(timer))
  })
}
