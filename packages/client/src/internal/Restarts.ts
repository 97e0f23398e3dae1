/**
 * How soon a server may be connected to again that could not be reached, or was gone again at once.
 *
 * The first time at once, then after half a second, doubling to 30 seconds. After ten times in a row the circuit opens:
 * the server is left alone for a minute, then tried once, and left alone for twice as long, up to five minutes, if that
 * fails. A connection that stands for 30 seconds ends the row.
 */
import { McpError } from "@mcp-effect/protocol"

const firstDelayMillis = 500
const longestDelayMillis = 30_000

const maxFailures = 10
const firstRestMillis = 60_000
const longestRestMillis = 300_000

const healthyMillis = 30_000

export class Restarts {
  failures = 0
  private last: McpError.McpError | undefined = undefined
  private dueAt = 0
  private readonly now: () => number

  /** `now` gives monotonic milliseconds. */
  constructor(now: () => number) {
    this.now = now
  }

  /** The server could not be connected to. */
  failed(error: McpError.McpError): void {
    this.failures++
    this.last = error
    this.dueAt = this.now() + this.delayMillis
  }

  /** A connection or a session is gone that stood for so long. */
  ended(uptimeMillis: number, error: McpError.McpError): void {
    if (uptimeMillis >= healthyMillis) this.failures = 0
    else this.failed(error)
  }

  get isOpen(): boolean {
    return this.failures >= maxFailures
  }

  /** How long until the next attempt. */
  get waitMillis(): number {
    return this.failures === 0 ? 0 : Math.max(0, this.dueAt - this.now())
  }

  /** Why no attempt is made now, if none is. */
  unavailable(server: string): McpError.McpError | undefined {
    const { failures, isOpen, last: cause, waitMillis: retryAfterMillis } = this
    return isOpen && retryAfterMillis > 0
      ? McpError.make(new McpError.ServerUnavailable({ failures, retryAfterMillis, cause }), "unsent", { server })
      : undefined
  }

  private get delayMillis(): number {
    const { failures } = this
    if (failures < 2) return 0
    return failures < maxFailures
      ? Math.min(firstDelayMillis * 2 ** (failures - 2), longestDelayMillis)
      : Math.min(firstRestMillis * 2 ** (failures - maxFailures), longestRestMillis)
  }
}
