/**
 * Log messages of a server, on their way to Effect's logger: escaped and cut, so that a server can neither forge lines
 * nor flood the log.
 */
import { type Logging, PeerText } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"

/** How much of one message is logged, in characters. */
const maxLength = 4_096

const text = (data: unknown): string => {
  if (typeof data === "string") return data
  try {
    return JSON.stringify(data) ?? ""
  } catch {
    return ""
  }
}

const log = (level: Logging.LoggingLevel): (...message: ReadonlyArray<unknown>) => Effect.Effect<void> => {
  switch (level) {
    case "debug":
      return Effect.logDebug
    case "info":
    case "notice":
      return Effect.logInfo
    case "warning":
      return Effect.logWarning
    case "error":
    case "critical":
    case "alert":
    case "emergency":
      return Effect.logError
  }
}

/** Logs one message at the level that corresponds to its own. */
export const forward = (server: string, message: Logging.LoggingMessageNotificationParams): Effect.Effect<void> =>
  log(message.level)(PeerText.excerpt(text(message.data), maxLength)).pipe(
    Effect.annotateLogs({
      "mcp.server": server,
      ...(message.logger === undefined ? undefined : { "mcp.logger": PeerText.excerpt(message.logger) })
    })
  )
