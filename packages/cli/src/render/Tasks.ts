/**
 * What a server says of tasks.
 */
import type { McpTask } from "@mcp-effect/client"
import * as Table from "../Table.ts"
import * as TerminalText from "../TerminalText.ts"

/** Several, as a table. */
export const list = (tasks: ReadonlyArray<McpTask.TaskState>, columns: number | undefined): string => {
  const column = (title: string, cell: (task: McpTask.TaskState) => string | undefined): Table.Column => ({
    title,
    cells: tasks.map((task) => TerminalText.oneLine(cell(task) ?? ""))
  })
  return Table.render([
    column("TASK", ({ taskId }) => taskId),
    column("STATUS", ({ status }) => status),
    column("CREATED", ({ createdAt }) => createdAt),
    column("MESSAGE", ({ statusMessage }) => statusMessage)
  ], columns)
}

/** One, in lines. */
export const state = (task: McpTask.TaskState, tool: string | undefined): string => {
  const asked = Object.values(task.inputRequests ?? {}).map(({ method }) => method).join(", ")
  const lines: ReadonlyArray<readonly [label: string, value: string | undefined]> = [
    ["Task", task.taskId],
    ["Tool", tool],
    ["Status", task.status],
    ["Message", task.statusMessage],
    ["Asks for", asked === "" ? undefined : asked],
    ["Error", task.error === undefined ? undefined : `${task.error.code} ${task.error.message}`],
    ["Created", task.createdAt],
    ["Updated", task.lastUpdatedAt],
    ["Kept for", task.ttlMillis === null ? "as long as the server likes" : TerminalText.millis(task.ttlMillis)]
  ]
  return lines.flatMap(([label, value]) =>
    value === undefined ? [] : [`${TerminalText.pad(label, 11)}${TerminalText.oneLine(value)}`]
  ).join("\n")
}
