/**
 * How a command is started on Windows. The operating system itself looks only for `.exe` and `.com`, and Node refuses
 * to start batch files, as which `npx` and its like come, without a shell. So the command is looked up in `PATH` and
 * `PATHEXT` here, and a batch file is handed to `cmd.exe` with everything quoted that could mean something to it.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import { isPath } from "./Environment.ts"

const startable = [".COM", ".EXE", ".BAT", ".CMD"]

const extensionOf = (file: string): string => /\.[^\\/.]*$/.exec(file)?.[0].toUpperCase() ?? ""

const isAbsolute = (path: string): boolean => /^([A-Za-z]:|[\\/])/.test(path)

/** Finds the file that a command means; `undefined` if there is none. */
export const locate = (
  fileSystem: FileSystem.FileSystem,
  options: {
    readonly command: string
    readonly cwd: string | undefined
    readonly searched: ReadonlyArray<string>
    readonly extensions: string | undefined
  }
): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    const { command, cwd, searched } = options
    const listed = (options.extensions ?? "").toUpperCase().split(";").filter((each) => startable.includes(each))
    const extensions = listed.length === 0 ? startable : listed
    const files = isPath(command, "win32")
      ? [cwd === undefined || isAbsolute(command) ? command : `${cwd}\\${command}`]
      : searched.map((directory) => `${directory}\\${command}`)
    for (const file of files) {
      const candidates = extensions.map((extension) => file + extension.toLowerCase())
      for (const candidate of startable.includes(extensionOf(file)) ? [file, ...candidates] : candidates) {
        if (yield* Effect.orElseSucceed(fileSystem.exists(candidate), () => false)) return candidate
      }
    }
    return undefined
  })

/** Whether a file has to be run by `cmd.exe`. */
export const isBatch = (file: string): boolean => [".BAT", ".CMD"].includes(extensionOf(file))

const special = /[()\][%!^"`<>&|;, *?]/g
const caret = (text: string): string => text.replace(special, "^$&")

const quote = (argument: string): string => {
  if (/^[\w\-./\\:=@+~]+$/.test(argument)) return argument
  // Backslashes count double before a quote, of which there is one at the end.
  const quoted = `"${argument.replace(/(\\*)"/g, "$1$1\\\"").replace(/(\\+)$/, "$1$1")}"`
  // A batch file hands its arguments on (`%*`), and `cmd.exe` then reads them a second time.
  return caret(caret(quoted))
}

/**
 * The script that runs a batch file; `undefined` if an argument holds a line break or NUL, which `cmd.exe` cannot be
 * given.
 */
export const batchScript = (file: string, args: ReadonlyArray<string>): string | undefined =>
  // oxlint-disable-next-line no-control-regex
  [file, ...args].some((argument) => /[\r\n\0]/.test(argument))
    ? undefined
    : [caret(file), ...args.map(quote)].join(" ")
