/**
 * Counts lines that are no messages and reports them ever more rarely, so that a chatty server does not flood a log.
 */
import { type Diagnostic, PeerText } from "@mcp-effect/protocol"

const reportedEach = 10

const keptLength = 4096

export interface Noise {
  readonly add: (line: string) => void
  /** Reports what was counted since the last report. */
  readonly flush: () => void
}

/** Reports each of the first ten lines, then at the 100th, the 1,000th and so on, with the number since the last report. */
export const make = (onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void): Noise => {
  let total = 0
  let reported = 0
  let next = 1
  let last = ""
  const flush = (): void => {
    if (total === reported) return
    onDiagnostic({ _tag: "StdoutNoise", excerpt: PeerText.excerpt(last), lines: total - reported })
    reported = total
  }
  return {
    add: (line) => {
      total++
      // Not the line itself, which may be as large as a message may be.
      last = line.length > keptLength ? PeerText.excerpt(line) : line
      if (total < next) return
      next = total < reportedEach ? total + 1 : total * 10
      flush()
    },
    flush
  }
}
