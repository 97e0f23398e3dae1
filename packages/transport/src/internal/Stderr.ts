/**
 * What a server writes to stderr: lines for the log, and the last of it for the error that reports the server's end.
 */
import { PeerText } from "@mcp-effect/protocol"

// A line that does not end is handed over in pieces of this size.
const fragmentLength = 64 * 1024

const tailLength = 4096

const redaction = "<redacted>"

// Shorter values would blot out text that has nothing to do with them.
const shortestSecret = 4

export interface Stderr {
  /** Takes bytes and gives the lines that are complete, escaped. */
  readonly feed: (bytes: Uint8Array) => ReadonlyArray<string>
  /** Gives what follows the last line break. */
  readonly end: () => ReadonlyArray<string>
  /** The last 4 kB, escaped. */
  readonly tail: () => string
}

/** Creates a reader. `secrets` are values that this side gave to the server and that it must not give away. */
export const make = (secrets: ReadonlyArray<string>): Stderr => {
  const decoder = new TextDecoder()
  // The longest first: one may hold another.
  const hidden = secrets.flatMap((secret) => secret.split(/\r?\n/)).filter(({ length }) => length >= shortestSecret)
    .sort((one, other) => other.length - one.length)
  const longest = hidden[0]?.length ?? 0
  const capacity = tailLength + longest
  let rest = ""
  let recent = ""
  let isCut = false

  const redact = (text: string): string =>
    hidden.reduce((redacted, secret) => redacted.replaceAll(secret, redaction), text)

  const show = (line: string): string => PeerText.escape(redact(line.endsWith("\r") ? line.slice(0, -1) : line))

  const take = (text: string): ReadonlyArray<string> => {
    if (text === "") return []
    isCut ||= recent.length + text.length > capacity
    recent = (recent + text.slice(-capacity)).slice(-capacity)
    const [first = "", ...others] = text.split("\n")
    const lines = [rest + first, ...others]
    rest = lines.pop() ?? ""
    // The longest secret more is kept, so that none is cut in two.
    while (rest.length >= fragmentLength + longest) {
      rest = redact(rest)
      lines.push(rest.slice(0, fragmentLength))
      rest = rest.slice(fragmentLength)
    }
    return lines.map(show)
  }

  return {
    feed: (bytes) => take(decoder.decode(bytes, { stream: true })),
    end: () => {
      const lines = take(decoder.decode())
      const last = rest === "" ? [] : [show(rest)]
      rest = ""
      return [...lines, ...last]
    },
    tail: () => {
      // What was cut off may have begun a secret, which then cannot be told by its rest.
      const known = redact(recent).slice(isCut ? longest : 0)
      return PeerText.escape(known).slice(-tailLength)
    }
  }
}
