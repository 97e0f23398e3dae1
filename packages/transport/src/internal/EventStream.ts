/**
 * Server-sent events as MCP uses them: every event of the default type holds messages.
 */
import * as Duration from "effect/Duration"
import * as Sse from "effect/encoding/Sse"

export interface Options {
  /** In bytes; an event beyond it ends the reading. */
  readonly maxEventBytes: number
  /** Takes the data of one event. Events without data, such as the one that primes a resumption, are left out. */
  readonly onData: (data: string) => void
  /** Hears of the event that only a stream of HTTP+SSE begins with. */
  readonly onEndpoint?: (() => void) | undefined
}

// What an unfinished event has beyond its data.
const framingLength = "data: \n".length

// Ids come back to the server in a header, so only what can stand in one is kept.
const isLegalId = (id: string): boolean => /^[\x20-\x7e]{1,1024}$/.test(id)

const isOver = (data: string, maxBytes: number): boolean => {
  if (data.length > maxBytes) return true
  // No UTF-16 unit takes more than three bytes.
  if (data.length * 3 <= maxBytes) return false
  return new TextEncoder().encode(data).byteLength > maxBytes
}

const endsWithBlankLine = (text: string): boolean => /(?:\r\n|\r(?!\n)|\n)(?:\r\n|\r|\n)$/.test(text)

export class EventStream {
  /** The id of the last event that had one: where a resumption goes on. */
  lastEventId: string | undefined
  /** How long the server asks to wait before that, as it says it. */
  retryMillis: number | undefined
  private tooLarge = false
  private ending = ""
  private decoder = new TextDecoder()
  private readonly parser: Sse.Parser

  constructor({ maxEventBytes, onData, onEndpoint }: Options) {
    this.parser = Sse.makeParser(
      (event) => {
        if (this.tooLarge) return
        if (event._tag === "Retry") {
          this.retryMillis = Duration.toMillis(event.duration)
          return
        }
        if (event.id !== undefined && isLegalId(event.id)) this.lastEventId = event.id
        // The parser measures what is unfinished; an event may also come whole in one chunk.
        if (isOver(event.data, maxEventBytes)) this.tooLarge = true
        else if (event.event === "message" && event.data !== "") onData(event.data)
        else if (event.event === "endpoint") onEndpoint?.()
      },
      { maxEventSize: maxEventBytes + framingLength }
    )
  }

  /** Takes the next bytes. `false` once an event is over the limit. */
  feed(chunk: Uint8Array): boolean {
    const text = this.decoder.decode(chunk, { stream: true })
    this.ending = text.length < 4 ? (this.ending + text).slice(-4) : text.slice(-4)
    if (this.parser.feed(text) !== undefined) this.tooLarge = true
    return !this.tooLarge
  }

  /** The bytes are over. Others may follow over another connection; what is unfinished is not part of them. */
  end(): void {
    // The parser keeps the id of an event without any data to itself, until an event with data follows.
    if (endsWithBlankLine(this.ending)) this.parser.feed("data:\n\n")
    this.ending = ""
    this.decoder = new TextDecoder()
    this.parser.reset()
  }
}
