/**
 * What happens while a tool runs, and what a server says by itself: a line each.
 */
import type { McpClient } from "@mcp-effect/client"
import type { Logging, Progress } from "@mcp-effect/protocol"
import { encodeJson } from "../Output.ts"
import * as TerminalText from "../TerminalText.ts"

const join = (...parts: ReadonlyArray<string | undefined>): string =>
  parts.filter((part) => part !== undefined && part !== "").join("  ")

const progress = ({ message, progress, total }: Progress.ProgressNotificationParams): string =>
  join(
    "progress",
    total === undefined ? String(progress) : `${progress}/${total}`,
    TerminalText.oneLine(message ?? "")
  )

/** A log message of the server. */
export const log = ({ data, level, logger }: Logging.LoggingMessageNotificationParams): string =>
  join(
    TerminalText.oneLine(level),
    TerminalText.oneLine(logger ?? ""),
    TerminalText.oneLine(typeof data === "string" ? data : encodeJson(data) ?? "")
  )

/** An event of a call that is not over. */
export const event = (event: Exclude<McpClient.ToolEvent, { readonly _tag: "Final" }>): string => {
  switch (event._tag) {
    case "Progress":
      return progress(event.progress)
    case "Log":
      return join("log", log(event.message))
    case "Partial":
      return join(TerminalText.oneLine(event.notification.method), encodeJson(event.notification.params ?? {}))
  }
}
