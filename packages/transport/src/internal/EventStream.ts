/**
 * Server-sent events as MCP uses them: every event of the default type holds messages.
 */
import * as Sse from "effect/encoding/Sse"

export interface Options {
  /** In bytes; an event beyond it ends the reading. */
  readonly maxEventBytes: number
  /** Takes the data of one event. Events without data, such as the one that primes a resumption, are left out. */
  readonly onData: (data: string) => void
}

// Ids come back to the server in a header, so only what can stand in one is kept.
const isLegalId = (id: string): boolean => /^[\x20-\x7e]{1,1024}$/.test(id)

const isOver = (data: string, maxBytes: number): boolean => {
  if (data.length > maxBytes) return true
  // No UTF-16 unit takes more than three bytes.
  if (data.length * 3 <= maxBytes) return false
  return new TextEncoder().encode(data).byteLength > maxBytes
}

export class EventStream {
  /** The id of the last event that had one: where a resumption would go on. */
  lastEventId: string | undefined
  private tooLarge = false
  private readonly decoder = new TextDecoder()
  private readonly parser: Sse.Parser

  constructor({ maxEventBytes, onData }: Options) {
    this.parser = Sse.makeParser(
      (event) => {
        if (event._tag !== "Event" || this.tooLarge) return
        if (event.id !== undefined && isLegalId(event.id)) this.lastEventId = event.id
        // The parser measures what is unfinished; an event may also come whole in one chunk.
        if (isOver(event.data, maxEventBytes)) this.tooLarge = true
        else if (event.event === "message" && event.data !== "") onData(event.data)
      },
      { maxEventSize: maxEventBytes }
    )
  }

  /** Takes the next bytes. `false` once an event is over the limit. */
  feed(chunk: Uint8Array): boolean {
    if (this.parser.feed(this.decoder.decode(chunk, { stream: true })) !== undefined) this.tooLarge = true
    return !this.tooLarge
  }
}
