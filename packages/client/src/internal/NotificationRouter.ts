/**
 * Takes what a server tells and passes it on in one order, which nobody further down can upset:
 *
 * 1. The subscription that the notification belongs to is found, and takes note of what concerns itself.
 * 2. What is kept of the server's state is invalidated, so that whoever asks in answer to the news asks the server.
 * 3. The notification is queued for the readers of the subscription. They run on fibers of their own, later.
 * 4. The streams of the application have it, with what is made of it: log messages, the status of tasks.
 */
import { type Envelope, Metadata } from "@mcp-effect/protocol"
import type { InFlight } from "./Pending.ts"

/** A request that stays open for what the server has to tell. */
export interface Subscriber {
  /**
   * Takes note of what concerns the subscription itself, whose request has that id. Tells whether the notification is
   * for its readers.
   */
  readonly accept: (notification: Envelope.Notification, id: Envelope.RequestId) => boolean
  /** Queues the notification for the readers. */
  readonly deliver: (notification: Envelope.Notification) => void
}

type Listener = (notification: Envelope.Notification) => void

export interface Options {
  /** The streams of the application, and what else comes last. */
  readonly publish: Listener
  /** Hears of a notification whose subscription is not open, such as one that crossed the end of it. */
  readonly onUnowned: Listener
}

export class NotificationRouter {
  private readonly options: Options
  private readonly invalidating = new Set<Listener>()

  constructor(options: Options) {
    this.options = options
  }

  /** Has `listener` drop what a notification says is no longer so, before anybody else hears of it. */
  onInvalidate(listener: Listener): () => void {
    this.invalidating.add(listener)
    return () => void this.invalidating.delete(listener)
  }

  /** `origin` is the request that the notification came with. */
  route(notification: Envelope.Notification, origin?: InFlight): void {
    const subscriber = this.isForOther(notification, origin) ? undefined : origin?.subscriber
    const isForReaders = origin !== undefined && subscriber?.accept(notification, origin.id) === true
    this.invalidate(notification)
    if (isForReaders) subscriber?.deliver(notification)
    this.options.publish(notification)
  }

  /** Drops what the notification would, had it come: it may have been missed. */
  invalidate(notification: Envelope.Notification): void {
    for (const listener of this.invalidating) listener(notification)
  }

  /**
   * Whether the notification is for another subscription than the one that it came with: on a shared channel its id is
   * the way there, and one that leads nowhere belongs to no request; on a stream of its own it is a fault of the server.
   */
  private isForOther(notification: Envelope.Notification, origin: InFlight | undefined): boolean {
    const id = Metadata.subscriptionId(notification.params)
    if (id === undefined || (origin?.subscriber !== undefined && id === origin.id)) return false
    this.options.onUnowned(notification)
    return true
  }
}
