/**
 * Text that a server wrote, made fit for a terminal: it cannot move the cursor, and it can be cut to a width.
 */
import { PeerText } from "@mcp-effect/protocol"
import * as CliOutput from "effect/cli/CliOutput"

/** Escapes everything but line breaks and tabs. */
export const escapeLines = (text: string): string =>
  text.replace(/\r\n/g, "\n").replace(/[^\n\t]+/g, (part) => PeerText.escape(part))

/** Makes one line of a text: white space becomes single spaces, everything else is escaped. */
export const oneLine = (text: string): string => PeerText.escape(text.trim().replace(/\s+/g, " "))

const printableAscii = /^[\x20-\x7e]*$/

/** How many columns a text takes. */
export const width = (text: string): number => printableAscii.test(text) ? text.length : CliOutput.displayWidth(text)

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** Cuts a line to a number of columns, with an ellipsis where something is missing. */
export const truncate = (line: string, columns: number): string => {
  if (width(line) <= columns) return line
  let kept = ""
  let used = 0
  for (const { segment } of graphemes.segment(line)) {
    used += width(segment)
    if (used >= columns) break
    kept += segment
  }
  return columns <= 0 ? "" : `${kept}…`
}

/** Fills a line with spaces up to a number of columns. */
export const pad = (line: string, columns: number): string => line + " ".repeat(Math.max(0, columns - width(line)))

/** Indents every line of a text. */
export const indent = (text: string, prefix: string): string =>
  text.split("\n").map((line) => line === "" ? line : prefix + line).join("\n")

/** A number of bytes as people read it: up to 999 as it is, then in units of 1,000. */
export const bytes = (count: number): string => {
  const units = ["kB", "MB", "GB"]
  let value = count
  let unit = "bytes"
  for (let index = 0; index < units.length && value >= 999.5; index++) {
    value /= 1_000
    unit = units[index] ?? unit
  }
  return unit === "bytes" ? `${value} ${value === 1 ? "byte" : "bytes"}` : `${value.toPrecision(3)} ${unit}`
}

/** A number of milliseconds as people read it. */
export const millis = (count: number): string =>
  count < 1_000 ? `${Math.round(count)} ms` : `${(count / 1_000).toFixed(1)} s`
