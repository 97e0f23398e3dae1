/**
 * The commands, their help and what is asked of the command line itself.
 */
import * as CliConfig from "effect/cli/CliConfig"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { call } from "./commands/Call.ts"
import { complete } from "./commands/Complete.ts"
import { info, ping } from "./commands/Info.ts"
import { prompts, resources, templates, tools } from "./commands/Lists.ts"
import { login, logout, whoami } from "./commands/Login.ts"
import { prompt, read } from "./commands/Read.ts"
import { taskCommands, tasks } from "./commands/Tasks.ts"
import { watch } from "./commands/Watch.ts"
import * as ExitCode from "./ExitCode.ts"
import { root } from "./Flags.ts"
import { Output } from "./Output.ts"
import { version } from "./Version.ts"

const command = root.pipe(
  Command.withSubcommands([
    info,
    tools,
    call,
    tasks,
    taskCommands,
    prompts,
    prompt,
    resources,
    templates,
    read,
    watch,
    complete,
    ping,
    login,
    whoami,
    logout
  ]),
  Command.withDescription(
    "List and call what an MCP server offers, and find out why one does not answer.\n\n"
      + "  The server is a command after --, which is started and ended, or a URL: after --, by --url, or behind a\n"
      + "  command that takes no arguments of its own."
  ),
  Command.withExamples([
    { command: "mcp-effect tools -- npx -y @modelcontextprotocol/server-everything" },
    { command: "mcp-effect call echo message=hi -- npx -y @modelcontextprotocol/server-everything" },
    { command: "mcp-effect info https://example.com/mcp --header \"Authorization: Bearer ...\"" },
    { command: "mcp-effect tools --output json --url https://example.com/mcp | jq '.tools[].name'" },
    { command: "eval \"$(mcp-effect --completions bash)\"", description: "Complete commands and flags in this shell" }
  ])
)

const exitCodes = [
  "EXIT CODES",
  ...ExitCode.descriptions.map(([code, meaning]) => `  ${code.padEnd(5)}${meaning}`)
].join("\n")

const presenter = Effect.gen(function*() {
  const { columns, write } = yield* Output
  const formatter = CliOutput.defaultFormatter({
    colors: columns !== undefined && process.env["NO_COLOR"] === undefined
  })
  const show = (text: string): Effect.Effect<void> => Effect.ignore(write(`${text}\n`))
  return CliOutput.Presenter.of({
    present: (event) => {
      switch (event._tag) {
        case "Help": {
          const usage = `${event.helpDoc.usage} -- <server>`
          return show(`${formatter.formatHelpDoc({ ...event.helpDoc, usage })}\n\n${exitCodes}`)
        }
        case "Version":
          return show(`${event.name} ${event.version}`)
        // The program reports it as it reports every other error.
        case "InvalidInvocation":
          return Effect.void
      }
    }
  })
})

const settings = Layer.mergeAll(
  Layer.effect(CliOutput.Presenter, presenter),
  // Without the wizard, which knows nothing of what stands after --, and the log level, which --verbose sets.
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
)

/** Carries out the words of a command line. */
export const run = (words: ReadonlyArray<string>) =>
  Command.runWith(command, { version })(words).pipe(Effect.provide(settings))
