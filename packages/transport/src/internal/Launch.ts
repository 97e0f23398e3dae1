/**
 * The command that starts a server, as Effect's spawner takes it.
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as ChildProcess from "effect/process/ChildProcess"
import * as Redacted from "effect/Redacted"
import * as Environment from "./Environment.ts"
import * as ProcessOutcome from "./ProcessOutcome.ts"
import * as WindowsCommand from "./WindowsCommand.ts"

export interface Options extends ProcessOutcome.Launched {
  readonly args: ReadonlyArray<string | Redacted.Redacted>
  readonly platform: string
  readonly settings: ChildProcess.CommandOptions
  /** Where to look for batch files on Windows; without it only `.exe` and `.com` files are found there. */
  readonly fileSystem: FileSystem.FileSystem | undefined
}

export const reveal = (value: string | Redacted.Redacted): string =>
  Redacted.isRedacted(value) ? Redacted.value(value) : value

const makeOnWindows = (options: Options, fileSystem: FileSystem.FileSystem) =>
  Effect.gen(function*() {
    const { args, command, cwd, searched, settings } = options
    const extensions = Environment.valueOf(settings.env ?? {}, "win32", "PATHEXT")
    const file = yield* WindowsCommand.locate(fileSystem, {
      command,
      cwd,
      searched,
      extensions: extensions === undefined ? undefined : reveal(extensions)
    })
    if (file === undefined) return yield* ProcessOutcome.notStarted(options, "not-found", undefined)
    if (!WindowsCommand.isBatch(file)) return ChildProcess.make(file, args, settings)
    const script = WindowsCommand.batchScript(file, args.map(reveal))
    if (script !== undefined) return ChildProcess.make(script, { ...settings, shell: true })
    const problem = "An argument with a line break cannot be given to a batch file"
    return yield* ProcessOutcome.notStarted(options, "other", problem)
  })

export const make = (options: Options): Effect.Effect<ChildProcess.Command, McpError.SpawnFailed> =>
  options.platform === "win32" && options.fileSystem !== undefined
    ? makeOnWindows(options, options.fileSystem)
    : Effect.sync(() => ChildProcess.make(options.command, options.args, options.settings))
