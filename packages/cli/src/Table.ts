/**
 * Tables of text that fit a terminal.
 */
import * as TerminalText from "./TerminalText.ts"

export interface Column {
  readonly title: string
  /** One cell per row, each one line. */
  readonly cells: ReadonlyArray<string>
}

const gap = "  "
// Narrower than this, a column says nothing any more.
const minWidth = 8

/** Takes room from the widest column until all fit, and from the first, which holds the names, only at last. */
const fit = (widths: ReadonlyArray<number>, available: number): ReadonlyArray<number> => {
  const fitted = [...widths]
  let excess = fitted.reduce((sum, width) => sum + width, gap.length * (fitted.length - 1)) - available
  for (; excess > 0; excess--) {
    const widestOther = Math.max(...fitted.slice(1))
    const index = widestOther > minWidth ? fitted.indexOf(widestOther, 1) : 0
    const width = fitted[index] ?? 0
    if (width <= minWidth) break
    fitted[index] = width - 1
  }
  return fitted
}

/**
 * Renders a table. `columns` is the width of the terminal; without one nothing is cut. A column without a single
 * non-empty cell is left out.
 */
export const render = (table: ReadonlyArray<Column>, columns: number | undefined): string => {
  const shown = table.filter(({ cells }) => cells.some((cell) => cell !== ""))
  const natural = shown.map(({ cells, title }) =>
    cells.reduce((widest, cell) => Math.max(widest, TerminalText.width(cell)), TerminalText.width(title))
  )
  const widths = columns === undefined ? natural : fit(natural, columns)
  const line = (cells: ReadonlyArray<string>): string =>
    cells.map((cell, index) => {
      const width = widths[index] ?? 0
      return TerminalText.pad(TerminalText.truncate(cell, width), width)
    }).join(gap).trimEnd()
  const rows = shown[0]?.cells.length ?? 0
  return [
    line(shown.map(({ title }) => title)),
    ...Array.from({ length: rows }, (_, row) => line(shown.map(({ cells }) => cells[row] ?? "")))
  ].join("\n")
}
