/**
 * A command that was written as one string.
 */
import { McpError } from "@mcp-effect/protocol"
import * as CommandLine from "effect/process/CommandLine"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

// Programs that servers are commonly started with.
const launchers: ReadonlySet<string> = new Set([
  "npx",
  "npm",
  "pnpm",
  "yarn",
  "node",
  "tsx",
  "bun",
  "bunx",
  "deno",
  "python",
  "uv",
  "uvx",
  "pipx",
  "ruby",
  "php",
  "java",
  "cargo",
  "go run",
  "dotnet",
  "docker",
  "podman"
])

/** Tells whether a command starts with a program that servers are commonly started with, under any path. */
export const startsWithLauncher = (text: string): boolean => {
  const [program = "", argument] = text.trim().split(/\s+/, 2)
  const name = program.replace(/^.*[/\\]/, "").replace(/\.(?:exe|cmd|bat)$/i, "").replace(/^python[\d.]+$/, "python")
  return launchers.has(name) || launchers.has(`${name} ${argument}`)
}

const problems: Record<CommandLine.CommandLineError["reason"], string> = {
  UnsupportedSyntax:
    "it uses what only a shell understands, such as a pipe, a variable, a wildcard or ~, and no shell runs; "
    + "quote such characters, or give an array of the command and its arguments",
  UnterminatedQuote: "a quote in it is not closed",
  InvalidEscape: "it ends in a backslash that escapes nothing",
  InvalidArgument: "an argument in it cannot be passed on",
  NulCharacter: "an argument in it contains a NUL character"
}

const invalid = (problem: string): McpError.McpError =>
  McpError.make(
    new McpError.InvalidRequest({ problem: `the command cannot be read: ${problem}`, path: "target" }),
    "unsent"
  )

/** Splits a command into words as a POSIX shell does, and refuses what would need one. */
export const split = (
  text: string
): Result.Result<readonly [command: string, ...args: ReadonlyArray<string>], McpError.McpError> =>
  CommandLine.template(Object.assign([text], { raw: [text] })).pipe(
    Result.mapError(({ reason }) => invalid(problems[reason])),
    Result.flatMap((words) => {
      // Only interpolated values can be redacted, and there are none.
      const [command, ...args] = words.map((word) => Redacted.isRedacted(word) ? Redacted.value(word) : word)
      return command === undefined || command === ""
        ? Result.fail(invalid("it names no program"))
        : Result.succeed([command, ...args] as const)
    })
  )
