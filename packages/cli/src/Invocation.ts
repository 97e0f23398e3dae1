/**
 * The command line before it is understood: the words for this program, and those that start a server.
 */
import * as Context from "effect/Context"

export type Format = "text" | "json"

export interface Invocation {
  /** The words up to `--`. */
  readonly words: ReadonlyArray<string>
  /** The words after `--`; `undefined` without one. */
  readonly afterDashes: ReadonlyArray<string> | undefined
  /** What `--output` asks for, known before the rest, so that errors about the rest are written that way. */
  readonly format: Format
}

/** The words after `--`, which no command may take for its own arguments. */
export const AfterDashes = Context.Reference<ReadonlyArray<string> | undefined>(
  "@mcp-effect/cli/Invocation/AfterDashes",
  {
    defaultValue: () => undefined
  }
)

const formatOf = (words: ReadonlyArray<string>): Format => {
  const value = words.flatMap((word, index) => {
    if (word === "--output" || word === "-o") return words.slice(index + 1, index + 2)
    return /^(?:--output|-o)=/.test(word) ? [word.slice(word.indexOf("=") + 1)] : []
  }).at(-1)
  return value === "json" ? "json" : "text"
}

export const read = (argv: ReadonlyArray<string>): Invocation => {
  const dashes = argv.indexOf("--")
  const words = dashes === -1 ? argv : argv.slice(0, dashes)
  return { words, afterDashes: dashes === -1 ? undefined : argv.slice(dashes + 1), format: formatOf(words) }
}
