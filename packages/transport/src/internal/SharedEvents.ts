/**
 * The events of one stream that carries the messages of a whole connection (2024-11-05 basic/transports, HTTP with SSE).
 *
 * An event that is too large is skipped, and the stream goes on: other requests wait for it too. Of the fields of an
 * event only its name and its data mean anything here, since nothing resumes such a stream.
 */
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

// What tells which request an event of many lines answers.
const headLength = 4096

export class SharedEvents {
  private readonly lines: Lines.Lines
  private readonly options: Options
  private isAfterCarriageReturn = false
  /** The rest of this event is dropped, until the empty line that ends it. */
  private isSkipping = false
  private name = ""
  private data: string | undefined

  constructor(options: Options) {
    this.options = options
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
    if (line === "") return this.onEnd()
    if (this.isSkipping) return
    const colon = line.indexOf(":")
    const field = colon === -1 ? line : line.slice(0, colon)
    if (field !== "data" && field !== "event") return
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)
    if (field === "event") this.name = value
    else this.onData(value)
  }

  private onData(value: string): void {
    const data = this.joined(value)
    // No line is longer than the limit, but an event may have many.
    if (data.length > this.options.maxEventBytes) {
      this.skip({ cause: "size", head: data.slice(0, headLength), tail: "", size: data.length })
    } else {
      this.data = data
    }
  }

  private onEnd(): void {
    const { data, name } = this
    this.isSkipping = false
    this.name = ""
    this.data = undefined
    if (data !== undefined && data !== "") this.options.onEvent(name === "" ? "message" : name, data)
  }

  private onSkipped(line: Lines.SkippedLine): void {
    const field = dataField.exec(line.head)
    if (field === null || this.isSkipping) return
    const [prefix] = field
    const head = this.joined(line.head.slice(prefix.length)).slice(0, headLength)
    this.skip({ ...line, head, size: line.size - prefix.length })
  }

  private joined(value: string): string {
    return this.data === undefined ? value : `${this.data}\n${value}`
  }

  private skip(data: Lines.SkippedLine): void {
    this.isSkipping = true
    this.data = undefined
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
