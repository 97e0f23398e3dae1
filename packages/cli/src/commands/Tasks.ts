/**
 * `tasks` and `task`: work that a server goes on with after it has answered.
 */
import type { McpTask } from "@mcp-effect/client"
import { Task } from "@mcp-effect/protocol"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Elicitation from "../elicitation/Elicitation.ts"
import * as Flags from "../Flags.ts"
import { Output, print } from "../Output.ts"
import * as ProgressBar from "../ProgressBar.ts"
import * as Render from "../render/Tasks.ts"
import { type Declared, withServer } from "../Server.ts"
import * as TaskHandle from "../TaskHandle.ts"
import * as TerminalText from "../TerminalText.ts"
import * as ToolResult from "../ToolResult.ts"
import { url } from "./Lists.ts"

const { extensions } = TaskHandle

export const tasks = Command.make(
  "tasks",
  { url },
  (config) =>
    withServer(config.url, (client) =>
      Effect.gen(function*() {
        const tasks = yield* client.listTasks()
        const { format, note } = yield* Output
        if (tasks.length === 0 && format === "text") return note("The server tells of no tasks.")
        return yield* print({ tasks }, (_, columns) => Render.list(tasks, columns))
      }), { extensions })
).pipe(
  Command.withDescription("List the tasks of a server, where it has such a list (2025-11-25 only)"),
  Command.withExamples([{ command: "mcp-effect tasks https://example.com/mcp" }])
)

const task = Argument.String("task").pipe(
  Argument.withDescription("The id of the task, or its handle: the JSON of call --as-task --output json")
)

/** Takes up the task that is named, and runs something with it. */
const withTask = <E, R>(
  word: string,
  use: (task: McpTask.McpTask) => Effect.Effect<void, E, R>,
  handlers?: Declared["handlers"]
) =>
  Effect.flatMap(Effect.fromResult(TaskHandle.parse(word)), (handle) =>
    withServer(
      Option.none(),
      (client) => Effect.flatMap(client.task(handle), use),
      { handlers, extensions }
    ))

const get = Command.make(
  "get",
  { task },
  (config) => withTask(config.task, ({ initial, tool }) => print(initial, () => Render.state(initial, tool)))
).pipe(
  Command.withDescription("Show where a task stands"),
  Command.withExamples([{ command: "mcp-effect task get 786512e2-9e0d --url https://example.com/mcp" }])
)

const subject = ({ id, tool }: McpTask.McpTask): string =>
  tool === undefined ? `The task ${TerminalText.oneLine(id)}` : `The tool ${TerminalText.oneLine(tool)}`

const wait = Command.make(
  "wait",
  { task, ...Elicitation.flags },
  ({ answers, task, yes }) =>
    Elicitation.answering({ answers, yes }, (handlers) =>
      withTask(task, (handle) =>
        Effect.gen(function*() {
          const { timeout } = yield* Flags.root
          // A task is for what takes long: only who says so waits for a limited time.
          const deadline = Option.getOrElse(timeout, () => Duration.infinity)
          const result = yield* ProgressBar.during(
            `task ${handle.id}`,
            (onProgress) => handle.await({ deadline, onProgress })
          )
          yield* ToolResult.show(result, subject(handle))
        }), handlers))
).pipe(
  Command.withDescription(
    "Wait for the result of a task and show it. Ctrl-C, or the end of --timeout, cancels the task"
  ),
  Command.withExamples([{ command: "mcp-effect task wait 786512e2-9e0d --url https://example.com/mcp" }])
)

const cancel = Command.make("cancel", { task }, (config) =>
  withTask(config.task, (handle) =>
    Effect.gen(function*() {
      const { id, initial } = handle
      const isOver = Task.isTerminal(initial.status)
      if (!isOver) yield* handle.cancel
      yield* print({ taskId: id, cancelRequested: !isOver }, () =>
        isOver
          ? `Task ${TerminalText.oneLine(id)} is ${initial.status} already.`
          : `The server was asked to cancel task ${TerminalText.oneLine(id)}.`)
    }))).pipe(
    Command.withDescription("Ask a server to cancel a task; it may end otherwise all the same"),
    Command.withExamples([{ command: "mcp-effect task cancel 786512e2-9e0d --url https://example.com/mcp" }])
  )

export const taskCommands = Command.make("task").pipe(
  Command.withSubcommands([get, wait, cancel]),
  Command.withDescription("Look after one task, which call --as-task has started")
)
