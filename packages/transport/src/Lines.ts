/**
 * Splits bytes into lines, in linear time and with a bound on what one line may take.
 *
 * @since 0.1.0
 */

/**
 * A line that was not handed over whole: it is over the limit, or it is not UTF-8. `head` and `tail` are its first 4 kB
 * and its last 1 kB (they overlap in a short line), enough to find an id at either end.
 *
 * @category models
 * @since 0.1.0
 */
export interface SkippedLine {
  readonly cause: "size" | "encoding"
  readonly head: string
  readonly tail: string
  /** In bytes, without the line break. */
  readonly size: number
}

/**
 * What a splitter does with what it finds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The most bytes a line may have, without its line break. What is beyond it is skipped without being kept. */
  readonly limit: number
  /** Takes a line without its line break (LF or CRLF). Empty lines are handed over too. */
  readonly onLine: (line: string) => void
  readonly onSkipped: (line: SkippedLine) => void
}

/**
 * A splitter. `end` hands over what follows the last line break, if there is anything.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lines {
  readonly feed: (chunk: Uint8Array) => void
  readonly end: () => void
}

const LF = 10
const CR = 13
const headBytes = 4096
const tailBytes = 1024

// Pieces under this size are copied together, so that a line that trickles in byte by byte does not cost an object for
// each byte.
const smallPiece = 1024
const blockBytes = 4096

const empty: Uint8Array = new Uint8Array(0)

const concat = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0))
  let offset = 0
  for (const piece of pieces) {
    whole.set(piece, offset)
    offset += piece.length
  }
  return whole
}

/** The beginning of a line whose end has not come yet. */
class Unfinished {
  size = 0
  private pieces: Array<Uint8Array> = []
  private block: Uint8Array = empty
  private used = 0

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.size += bytes.length
    if (this.pieces.length === 0 || bytes.length >= smallPiece) {
      this.pieces.push(bytes)
      this.block = empty
      return
    }
    if (this.used + bytes.length > this.block.length) {
      this.block = new Uint8Array(blockBytes)
      this.used = 0
      this.pieces.push(empty)
    }
    this.block.set(bytes, this.used)
    this.used += bytes.length
    this.pieces[this.pieces.length - 1] = this.block.subarray(0, this.used)
  }

  take(): ReadonlyArray<Uint8Array> {
    const pieces = this.pieces
    this.size = 0
    this.pieces = []
    this.block = empty
    return pieces
  }
}

/** A line over the limit, of which only the ends are kept. */
class Excess {
  private head: Uint8Array = empty
  private tail: Uint8Array = empty
  private size = 0

  add(bytes: Uint8Array): void {
    this.size += bytes.length
    if (this.head.length < headBytes) {
      this.head = concat([this.head, bytes.subarray(0, headBytes - this.head.length)])
    }
    const last = bytes.subarray(-tailBytes)
    this.tail = concat([this.tail.subarray(Math.max(0, this.tail.length + last.length - tailBytes)), last])
  }

  toSkipped(cause: SkippedLine["cause"], decoder: TextDecoder): SkippedLine {
    return { cause, head: decoder.decode(this.head), tail: decoder.decode(this.tail), size: this.size }
  }
}

/**
 * Creates a splitter. Chunks may break anywhere, also inside a character; a byte order mark at the very start is
 * dropped. A chunk must not be changed after it was fed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ limit, onLine, onSkipped }: Options): Lines => {
  // Both keep byte order marks, since only the one at the start of the stream is no part of the text.
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
  const lenient = new TextDecoder("utf-8", { ignoreBOM: true })
  const unfinished = new Unfinished()
  let excess: Excess | undefined
  let isStart = true

  const decode = (bytes: Uint8Array): string | undefined => {
    try {
      return strict.decode(bytes)
    } catch {
      return undefined
    }
  }

  const emit = (line: string): void => {
    const from = isStart && line.charCodeAt(0) === 0xfeff ? 1 : 0
    isStart = false
    const to = line.charCodeAt(line.length - 1) === CR ? line.length - 1 : line.length
    onLine(from === 0 && to === line.length ? line : line.slice(from, to))
  }

  const skip = (line: SkippedLine): void => {
    isStart = false
    onSkipped(line)
  }

  const emitBytes = (bytes: Uint8Array): void => {
    const line = bytes.length <= limit ? decode(bytes) : undefined
    if (line !== undefined) return emit(line)
    const ends = new Excess()
    ends.add(bytes)
    skip(ends.toSkipped(bytes.length <= limit ? "encoding" : "size", lenient))
  }

  /** Takes whole lines, without the last line break. One call of the decoder serves all of them, if it can. */
  const emitWhole = (bytes: Uint8Array): void => {
    const text = bytes.length <= limit ? decode(bytes) : undefined
    if (text !== undefined) {
      for (const line of text.split("\n")) emit(line)
      return
    }
    let from = 0
    for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, from)) {
      emitBytes(bytes.subarray(from, at))
      from = at + 1
    }
    emitBytes(bytes.subarray(from))
  }

  const finish = (bytes: Uint8Array): void => {
    if (excess === undefined) {
      unfinished.add(bytes)
      const pieces = unfinished.take()
      const [only = empty] = pieces
      return emitBytes(pieces.length < 2 ? only : concat(pieces))
    }
    excess.add(bytes)
    const line = excess.toSkipped("size", lenient)
    excess = undefined
    skip(line)
  }

  const keep = (bytes: Uint8Array): void => {
    if (excess !== undefined) return excess.add(bytes)
    unfinished.add(bytes)
    if (unfinished.size > limit) {
      excess = new Excess()
      for (const piece of unfinished.take()) excess.add(piece)
    }
  }

  return {
    feed: (chunk) => {
      const last = chunk.lastIndexOf(LF)
      if (last === -1) return keep(chunk)
      let from = 0
      if (excess !== undefined || unfinished.size > 0) {
        const first = chunk.indexOf(LF)
        finish(chunk.subarray(0, first))
        from = first + 1
      }
      if (from <= last) emitWhole(chunk.subarray(from, last))
      keep(chunk.subarray(last + 1))
    },
    end: () => {
      if (excess !== undefined || unfinished.size > 0) finish(empty)
    }
  }
}
