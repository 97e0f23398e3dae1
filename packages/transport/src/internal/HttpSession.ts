/**
 * The session that a server of the legacy era may keep (2025-11-25 basic/transports, Session Management).
 */
import type { Revision } from "@mcp-effect/protocol"

// Visible ASCII, as the specification wants it; the bound keeps a server from filling our headers.
const isLegal = (id: string): boolean => /^[\x21-\x7e]{1,4096}$/.test(id)

export class HttpSession {
  private current: string | undefined
  private ended = false
  /** What was agreed on, once it is known. */
  revision: Revision.Facts | undefined
  /** The server gives streams by GET, so that 404 to one is about the session. Some without any say 404 for 405. */
  hasStreams = false
  /** Where the standby stream goes on when it is opened again. */
  standbyEventId: string | undefined

  /** The id that the next message carries. `initialize` begins a session and carries none. */
  idFor(method: string | undefined, revision: Revision.Facts): string | undefined {
    return revision.handshake && method !== "initialize" ? this.current : undefined
  }

  /** The session is over, and only `initialize` makes sense. */
  isOverFor(method: string | undefined): boolean {
    return this.ended && method !== "initialize"
  }

  /** Takes the id that came with the answer to `initialize`; anything but visible ASCII is not adopted. */
  adopt(id: string | undefined): void {
    this.current = id !== undefined && isLegal(id) ? id : undefined
    this.ended = false
    this.hasStreams = false
    this.standbyEventId = undefined
  }

  /** The server has forgotten this session. Another one may have begun since. */
  expire(id: string): void {
    if (this.current !== id) return
    this.current = undefined
    this.ended = true
  }

  /** The id to end the session with, once. */
  take(): string | undefined {
    const id = this.current
    this.current = undefined
    this.ended = id !== undefined || this.ended
    return id
  }
}
