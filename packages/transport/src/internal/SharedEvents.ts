/**
 * The events of one stream that carries the messages of a whole connection (2024-11-05 basic/transports, HTTP with SSE).
 *
 * An event that is too large is skipped, and the stream goes on: other requests wait for it too. That is why lines are
 * split before events are parsed.
 */
import * as Sse from "effect/encoding/Sse"
import * as Lines from "../Lines.ts"

export interface Options {
  /** In bytes. */
  readonly maxEventBytes: number
  /** Takes an event that is not empty. */
  readonly onEvent: (name: string, data: string) => void
  /** Takes the data of an event that is over the limit or not UTF-8, as far as it was kept. */
  readonly onSkipped: (data: Lines.SkippedLine) => void
}

const LF = 10
const CR = 13

const dataField = /^data: ?/
// What a line of data has beyond the data itself.
const framingBytes = "data: ".length

export class SharedEvents {
  private readonly lines: Lines.Lines
  private readonly parser: Sse.Parser
  private readonly options: Options
  private isAfterCarriageReturn = false
  /** The rest of this event is dropped, until the empty line that ends it. */
  private isSkipping = false
  private eventSize = 0

  constructor(options: Options) {
    this.options = options
    this.parser = Sse.makeParser((event) => {
      if (event._tag === "Event" && event.data !== "") options.onEvent(event.event, event.data)
    }, { maxEventSize: Infinity })
    this.lines = Lines.make({
      limit: options.maxEventBytes + framingBytes,
      onLine: (line) => this.onLine(line),
      onSkipped: (line) => this.onSkipped(line)
    })
  }

  feed(chunk: Uint8Array): void {
    this.lines.feed(this.withLineFeeds(chunk))
  }

  private onLine(line: string): void {
    if (line === "") {
      this.eventSize = 0
      if (this.isSkipping) this.isSkipping = false
      else this.parser.feed("\n")
      return
    }
    if (this.isSkipping) return
    // No line is longer than the limit, but an event may have many.
    this.eventSize += line.length
    if (this.eventSize > this.options.maxEventBytes + framingBytes) {
      this.skip({ cause: "size", head: "", tail: "", size: this.eventSize })
    } else {
      this.parser.feed(`${line}\n`)
    }
  }

  private onSkipped(line: Lines.SkippedLine): void {
    const field = dataField.exec(line.head)
    if (field === null || this.isSkipping) return
    const [prefix] = field
    this.skip({ ...line, head: line.head.slice(prefix.length), size: line.size - prefix.length })
  }

  private skip(data: Lines.SkippedLine): void {
    this.isSkipping = true
    this.parser.reset()
    this.options.onSkipped(data)
  }

  /** Lines may also end in CR LF or in CR alone, which `Lines` does not know. */
  private withLineFeeds(chunk: Uint8Array): Uint8Array {
    const from = this.isAfterCarriageReturn && chunk[0] === LF ? 1 : 0
    if (chunk.length > 0) this.isAfterCarriageReturn = chunk[chunk.length - 1] === CR
    if (chunk.indexOf(CR, from) === -1) return from === 0 ? chunk : chunk.subarray(from)
    const changed = new Uint8Array(chunk.length)
    let size = 0
    for (let index = from; index < chunk.length; index++) {
      const byte = chunk[index] ?? LF
      changed[size++] = byte === CR ? LF : byte
      if (byte === CR && chunk[index + 1] === LF) index++
    }
    return changed.subarray(0, size)
  }
}
