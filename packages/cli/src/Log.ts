/**
 * The log: lines on standard error, so that standard output holds results alone.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import { encodeJson, Output } from "./Output.ts"
import * as TerminalText from "./TerminalText.ts"

type Entry = typeof Logger.formatStructured extends Logger.Logger<unknown, infer Output> ? Output : never

const line = ({ cause, level, message }: Entry): string => {
  const words = (Array.isArray(message) ? message : [message]).map((part) =>
    typeof part === "string" ? part : JSON.stringify(part)
  )
  const name = level === "WARN" ? "warning" : level.toLowerCase()
  return TerminalText.escapeLines(`${name}: ${words.join(" ")}${cause === undefined ? "" : `\n${cause}`}`)
}

const logger = Effect.map(
  Output,
  ({ format, note }) =>
    Logger.map(Logger.formatStructured, (entry) => note(format === "json" ? encodeJson(entry) : line(entry)))
)

// Who asked for JSON reads standard error with a program, which expects an error there or nothing.
const level = Effect.map(Output, ({ format }) => format === "json" ? "None" as const : "Warn" as const)

/** Logs warnings, in JSON output nothing; `--verbose` lowers the level. */
export const layer: Layer.Layer<never, never, Output> = Layer.mergeAll(
  Logger.layer([logger]),
  Layer.effect(References.MinimumLogLevel, level)
)
