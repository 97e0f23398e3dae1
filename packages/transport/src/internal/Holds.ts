/**
 * Whether somebody waits for a person on behalf of a message.
 */
import type { Activity } from "@mcp-effect/protocol"

export class Holds implements Activity.Activity {
  private count = 0
  private readonly onHeld: () => void
  private readonly onReleased: () => void

  /** Both are called when the whole changes, however many hold at once. */
  constructor(onHeld: () => void, onReleased: () => void) {
    this.onHeld = onHeld
    this.onReleased = onReleased
  }

  get isHeld(): boolean {
    return this.count > 0
  }

  readonly hold = (): () => void => {
    this.count++
    if (this.count === 1) this.onHeld()
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.count--
      if (this.count === 0) this.onReleased()
    }
  }
}
