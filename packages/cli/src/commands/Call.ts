/**
 * `call`: runs a tool, at once or as a task.
 */
import type { McpClient } from "@mcp-effect/client"
import type { Json, McpError, Tool } from "@mcp-effect/protocol"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as CallArguments from "../CallArguments.ts"
import * as Elicitation from "../elicitation/Elicitation.ts"
import { Output, print, printEvent } from "../Output.ts"
import * as ProgressBar from "../ProgressBar.ts"
import * as Events from "../render/Events.ts"
import { withServer } from "../Server.ts"
import * as StandardInput from "../StandardInput.ts"
import * as TaskHandle from "../TaskHandle.ts"
import * as TerminalText from "../TerminalText.ts"
import * as ToolResult from "../ToolResult.ts"
import { UsageError } from "../UsageError.ts"

const argumentsFromJson = (text: string) =>
  text === "-"
    ? Effect.flatMap(
      StandardInput.read,
      (input) => Effect.fromResult(CallArguments.fromJson(input, "Standard input"))
    )
    : Effect.fromResult(CallArguments.fromJson(text, "The value of --json"))

const definitionOf = (
  client: McpClient.McpClient,
  name: string
): Effect.Effect<Tool.Tool, McpError.McpError | UsageError> =>
  Effect.flatMap(client.listTools(), (tools) => {
    const tool = tools.find((candidate) => candidate.name === name)
    if (tool !== undefined) return Effect.succeed(tool)
    const names = tools.map((candidate) => candidate.name).join(", ")
    return Effect.fail(
      new UsageError({
        message: `The server lists no tool ${name}`,
        hint: tools.length === 0
          ? "it lists none at all"
          : `it lists: ${TerminalText.truncate(TerminalText.oneLine(names), 500)}`
      })
    )
  })

const start = (client: McpClient.McpClient, tool: string, args: Json.JsonObject) =>
  Effect.gen(function*() {
    const task = yield* ProgressBar.during(tool, (onProgress) => client.startTool(tool, args, { onProgress }))
    // A task that is over before it began has no id, and nobody else can ask for its result.
    if (task.id === "") {
      const { format, note } = yield* Output
      if (format === "text") note("The server answered at once, without a task:")
      return yield* Effect.flatMap(task.await(), (result) => ToolResult.show(result, `The tool ${tool}`))
    }
    yield* print(task.serialized, (show) => show(task.id))
  })

const run = (client: McpClient.McpClient, tool: string, args: Json.JsonObject) =>
  Effect.flatMap(
    ProgressBar.during(tool, (onProgress) => client.callTool(tool, args, { onProgress })),
    (result) => ToolResult.show(result, `The tool ${tool}`)
  )

/** Shows what the tool tells while it runs, as it comes. */
const stream = (client: McpClient.McpClient, tool: string, args: Json.JsonObject) =>
  Stream.runForEach(
    client.callToolStream(tool, args),
    (event) =>
      Effect.flatMap(Output, ({ format }) =>
        event._tag !== "Final"
          ? printEvent(event, () => Events.event(event))
          : format === "text"
          ? ToolResult.show(event.result, `The tool ${tool}`)
          : Effect.andThen(printEvent(event, () => ""), ToolResult.outcome(event.result, `The tool ${tool}`)))
  )

export const call = Command.make("call", {
  tool: Argument.String("tool").pipe(Argument.withDescription("The name of the tool")),
  words: Argument.String("key=value").pipe(
    Argument.withDescription(
      "Arguments of the tool: key=value, read as the tool's schema wants it (numbers, booleans, JSON for arrays and "
        + "objects), or key:=JSON"
    ),
    Argument.variadic()
  ),
  json: Flag.String("json").pipe(
    Flag.withMetavar("OBJECT"),
    Flag.withDescription("All arguments as one JSON object, sent as they are; - reads it from standard input"),
    Flag.optional
  ),
  ...Elicitation.flags,
  tasks: Flag.Boolean("tasks").pipe(
    Flag.withDescription("Let the server answer with a task, and wait for its result (the tasks extension)"),
    Flag.withoutNegation,
    Flag.withDefault(false)
  ),
  stream: Flag.Boolean("stream").pipe(
    Flag.withDescription("Show progress and log messages as they come, a line each; in JSON a document a line"),
    Flag.withoutNegation,
    Flag.withDefault(false)
  ),
  asTask: Flag.Boolean("as-task").pipe(
    Flag.withDescription("Start a task and print its id, in JSON its handle, instead of waiting for its result"),
    Flag.withoutNegation,
    Flag.withDefault(false)
  )
}, ({ answers, asTask, json, stream: asStream, tasks, tool, words, yes }) =>
  Effect.gen(function*() {
    if (Option.isSome(json) && words.length > 0) {
      return yield* new UsageError({ message: "The arguments are given twice: by --json and as key=value" })
    }
    if (asStream && asTask) {
      return yield* new UsageError({
        message: "--stream shows a call until its end, --as-task does not wait for it",
        hint: "give one of them"
      })
    }
    // Read before a server is started for nothing.
    const given: Json.JsonObject | undefined = Option.isSome(json) ? yield* argumentsFromJson(json.value) : undefined
    return yield* Elicitation.answering({ answers, yes }, (handlers) =>
      withServer(Option.none(), (client) =>
        Effect.gen(function*() {
          const args = given
            ?? (yield* Effect.fromResult(CallArguments.forTool(yield* definitionOf(client, tool), words)))
          yield* asTask
            ? start(client, tool, args)
            : asStream
            ? stream(client, tool, args)
            : run(client, tool, args)
        }), { handlers, extensions: tasks || asTask ? TaskHandle.extensions : undefined }))
  })).pipe(
    Command.withDescription("Call a tool and show what it gives"),
    Command.withExamples([
      { command: "mcp-effect call echo message=hi -- npx -y @modelcontextprotocol/server-everything" },
      { command: "mcp-effect call search query=effect limit=3 'tags=[\"a\",\"b\"]' --url https://example.com/mcp" },
      { command: "mcp-effect call search --json '{\"query\":\"effect\"}' --url https://example.com/mcp" },
      { command: "mcp-effect call search --json - --url https://example.com/mcp < arguments.json" },
      { command: "mcp-effect call sign-up --answer name=Ada --answer age=36 --url https://example.com/mcp" },
      { command: "mcp-effect call train epochs=10 --stream --url https://example.com/mcp" },
      { command: "mcp-effect call train epochs=10 --as-task --url https://example.com/mcp" }
    ])
  )
