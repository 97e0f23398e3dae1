/**
 * Where results, remarks and progress go: results to standard output, everything else to standard error.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Format } from "./Invocation.ts"
import * as TerminalText from "./TerminalText.ts"

/** Standard output takes no more. */
export class OutputFailed extends Data.TaggedError("OutputFailed")<{
  /** `EPIPE` where the reader has gone, as `head` does. */
  readonly code: string | undefined
  readonly message: string
}> {}

export class Output extends Context.Service<Output, {
  readonly format: Format
  /** The width of standard output; `undefined` where it is no terminal. */
  readonly columns: number | undefined
  /** The width of standard error; `undefined` where it is no terminal that can redraw a line. */
  readonly statusColumns: number | undefined
  /** Writes to standard output. */
  readonly write: (text: string) => Effect.Effect<void, OutputFailed>
  /** Writes a line to standard error. */
  readonly note: (line: string) => void
  /** Redraws the last line of standard error, or takes it away. */
  readonly status: (line: string | undefined) => void
  /** Keeps everything else away from standard error while a dialogue is on it; lines follow afterwards. */
  readonly exclusively: <A, E, R>(dialogue: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Waits until everything is written. */
  readonly flush: Effect.Effect<void>
}>()("@mcp-effect/cli/Output") {}

// Whatever a terminal might take for a command, or a person for other text, as JSON may have it escaped.
const unsafeInJson = /[\u007f-\u009f\p{Zl}\p{Zp}\p{Cf}]/gu

/** Encodes a value as one JSON document, without characters that a terminal obeys. */
export const encodeJson = (value: unknown, indentation?: number): string =>
  JSON.stringify(value, undefined, indentation).replace(unsafeInJson, (character) =>
    // Character by character of UTF-16, which is what JSON escapes.
    character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""))

const withLineBreak = (text: string): string => text === "" || text.endsWith("\n") ? text : `${text}\n`

type Render = (show: (text: string) => string, columns: number | undefined) => string

const writeAs = (
  json: (value: unknown, columns: number | undefined) => string
) =>
(value: unknown, render: Render): Effect.Effect<void, OutputFailed, Output> =>
  Effect.gen(function*() {
    const { columns, format, write } = yield* Output
    if (format === "json") return yield* write(`${json(value, columns)}\n`)
    return yield* write(
      withLineBreak(render(columns === undefined ? (text) => text : TerminalText.escapeLines, columns))
    )
  })

/**
 * Writes a result: the value as JSON, or what `render` makes of it. `render` is given a function that prepares a
 * server's text for where it goes: escaped on a terminal, as it is elsewhere.
 */
export const print = writeAs((value, columns) => encodeJson(value, columns === undefined ? undefined : 2))

/** Writes one of many results, as {@link print} does, with the JSON in one line for a program that reads along. */
export const printEvent = writeAs((value) => encodeJson(value))

/** What a terminal has that does not tell its width. */
export const usualColumns = 80

const eraseLine = "\r\u001b[2K"

const writeTo = (stream: NodeJS.WriteStream, text: string): Effect.Effect<void, OutputFailed> =>
  Effect.callback<void, OutputFailed>((resume) => {
    stream.write(text, (error) => {
      resume(
        error === null || error === undefined
          ? Effect.void
          : Effect.fail(
            new OutputFailed({ code: "code" in error ? String(error.code) : undefined, message: error.message })
          )
      )
    })
  })

/** Writes to the standard streams of this process. */
export const layer = (format: Format): Layer.Layer<Output> =>
  Layer.sync(Output, () => {
    // A failed write tells its callback; without a listener it would end the process as well.
    process.stdout.on("error", () => {})
    process.stderr.on("error", () => {})
    const canRedraw = process.stderr.isTTY && process.env["TERM"] !== "dumb"
    let drawn = false
    const erase = (): string => {
      const text = drawn ? eraseLine : ""
      drawn = false
      return text
    }
    let held: Array<string> | undefined
    const writeLine = (line: string): void => {
      process.stderr.write(`${erase()}${line}\n`)
    }
    const release = (): void => {
      const lines = held ?? []
      held = undefined
      lines.forEach(writeLine)
    }
    return {
      format,
      columns: process.stdout.isTTY ? process.stdout.columns || usualColumns : undefined,
      statusColumns: canRedraw ? process.stderr.columns || usualColumns : undefined,
      write: (text) => writeTo(process.stdout, text),
      note: (line) => {
        if (held === undefined) writeLine(line)
        else held.push(line)
      },
      status: (line) => {
        if (held !== undefined) return
        const before = erase()
        drawn = line !== undefined
        if (before !== "" || drawn) process.stderr.write(before + (line ?? ""))
      },
      exclusively: (dialogue) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            process.stderr.write(erase())
            held = []
          }),
          () => dialogue,
          () => Effect.sync(release)
        ),
      flush: Effect.sync(release).pipe(
        Effect.andThen(writeTo(process.stdout, "")),
        Effect.andThen(writeTo(process.stderr, "")),
        Effect.ignore
      )
    }
  })
