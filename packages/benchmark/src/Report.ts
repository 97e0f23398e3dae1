/** The result of a benchmark as tables. */

/** One figure of ours against what it is to reach. */
export interface Verdict {
  readonly measure: string
  readonly value: number
  readonly target: { readonly atLeast: number } | { readonly atMost: number }
  readonly unit: string
}

export interface Row {
  readonly work: string
  /** What was measured, by subject. */
  readonly figures: ReadonlyArray<readonly [subject: string, figures: string]>
  readonly verdicts: ReadonlyArray<Verdict>
}

export const isReached = ({ target, value }: Verdict): boolean =>
  "atLeast" in target ? value >= target.atLeast : value <= target.atMost

const round = (value: number): string =>
  value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2 })

const targetText = ({ target, unit }: Verdict): string =>
  "atLeast" in target ? `≥ ${target.atLeast}${unit}` : `≤ ${target.atMost}${unit}`

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = head.map((title, column) => Math.max(title.length, 3, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>): string =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |`
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n")
}

/** What ours reaches, of what it is to reach. */
export const verdictTable = (rows: ReadonlyArray<Row>): string =>
  table(
    ["work", "measure", "ours", "target", ""],
    rows.flatMap(({ verdicts, work }) =>
      verdicts.map((verdict) => [
        work,
        verdict.measure,
        `${round(verdict.value)}${verdict.unit}`,
        targetText(verdict),
        isReached(verdict) ? "✓" : "✗ missed"
      ])
    )
  )

/** What was measured. */
export const figureTable = (rows: ReadonlyArray<Row>): string =>
  table(
    ["work", "subject", "figures"],
    rows.flatMap(({ figures, work }) => figures.map(([subject, text]) => [work, subject, text]))
  )

export const figure = (value: number, unit: string): string => `${round(value)}${unit}`
