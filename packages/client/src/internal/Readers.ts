/**
 * Those who read the notifications of one subscription, each at its own pace and by a mailbox of its own.
 *
 * What comes while nobody reads waits for the first who does. So does what the last reader leaves behind.
 */
import type { Envelope, McpError } from "@mcp-effect/protocol"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import { Mailbox } from "./Mailbox.ts"

type Step = Pull.Pull<readonly [Envelope.Notification], McpError.McpError>

interface Reader {
  readonly mailbox: Mailbox
  /** Set while it waits for something to come. */
  wake: (() => void) | undefined
}

export class Readers {
  /** How many notifications all readers have lost so far. */
  dropped = 0
  private readonly onFirstDrop: () => void
  private readonly reading = new Set<Reader>()
  /** What nobody reads at the moment. */
  private waiting: Mailbox | undefined = new Mailbox()
  private end: Step | undefined = undefined

  constructor(onFirstDrop: () => void) {
    this.onFirstDrop = onFirstDrop
  }

  /** How many notifications wait for the reader that is furthest behind. */
  get pending(): number {
    return this.most(({ size }) => size)
  }

  get pendingBytes(): number {
    return this.most(({ bytes }) => bytes)
  }

  offer(notification: Envelope.Notification): void {
    if (this.end !== undefined) return
    if (this.waiting !== undefined) this.put(this.waiting, notification)
    for (const reader of this.reading) {
      this.put(reader.mailbox, notification)
      wake(reader)
    }
  }

  /** Lets the readers come to an end, or fail, once they have read what is there. */
  close(error: McpError.McpError | undefined): void {
    this.end = error === undefined ? Cause.done() : Effect.fail(error)
    for (const reader of this.reading) wake(reader)
  }

  readonly stream: Stream.Stream<Envelope.Notification, McpError.McpError> = Stream.unwrap(
    Effect.map(
      Effect.acquireRelease(Effect.sync(() => this.join()), (reader) => Effect.sync(() => this.leave(reader))),
      (reader) => Stream.fromPull(Effect.succeed(this.next(reader)))
    )
  )

  private join(): Reader {
    const reader: Reader = { mailbox: this.waiting ?? new Mailbox(), wake: undefined }
    this.waiting = undefined
    this.reading.add(reader)
    return reader
  }

  private leave(reader: Reader): void {
    this.reading.delete(reader)
    if (this.reading.size === 0) this.waiting = reader.mailbox
  }

  /** One at a time, so that what is not yet read can still give way to what comes. */
  private next(reader: Reader): Step {
    const next: Step = Effect.suspend(() => {
      const notification = reader.mailbox.take()
      if (notification !== undefined) return Effect.succeed([notification] as const)
      if (this.end !== undefined) return this.end
      return Effect.callback((resume) => {
        // Whoever brings the news must not run what is done about it.
        reader.wake = () => resume(Effect.andThen(Effect.yieldNow, next))
        return Effect.sync(() => {
          reader.wake = undefined
        })
      })
    })
    return next
  }

  private put(mailbox: Mailbox, notification: Envelope.Notification): void {
    const before = mailbox.dropped
    mailbox.offer(notification)
    const dropped = mailbox.dropped - before
    if (dropped === 0) return
    if (this.dropped === 0) this.onFirstDrop()
    this.dropped += dropped
  }

  private most(measure: (mailbox: Mailbox) => number): number {
    let most = this.waiting === undefined ? 0 : measure(this.waiting)
    for (const { mailbox } of this.reading) most = Math.max(most, measure(mailbox))
    return most
  }
}

const wake = (reader: Reader): void => {
  const waiting = reader.wake
  reader.wake = undefined
  waiting?.()
}
