/**
 * The notifications that wait for one reader, bounded in number and in bytes.
 *
 * A notification says "look again" about one thing: a list, or the resource or task that it names. A later one about the
 * same thing says all that an earlier one did, while the only one about a thing says what no other does. So what a slow
 * reader loses is repeats:
 *
 * | the arriving notification                | gives way                                                               |
 * | ---------------------------------------- | ----------------------------------------------------------------------- |
 * | would be one too many                    | the oldest about the same thing; or else the oldest about whatever most |
 * |                                          | are about, which is the oldest of all if no two are about the same      |
 * | would be over the bytes                  | the same, among those that count by their bytes                         |
 * | is larger by itself than all bytes allow | the last that was: one such waits beside the others, its bytes uncounted |
 *
 * Nothing here depends on how many wait, but for the logarithm that it takes to know what most are about.
 */
import type { Envelope } from "@mcp-effect/protocol"

/** How many notifications wait at most. */
export const maxPending = 1_024

/** How many bytes those notifications may have in all, but for one that is larger by itself. */
export const maxPendingBytes = 8 * 1_048_576

interface Entry {
  readonly notification: Envelope.Notification
  readonly bytes: number
  /** Counts arrivals. */
  readonly arrival: number
  readonly subject: Subject
  older: Entry | undefined
  newer: Entry | undefined
  /** The next about the same subject. */
  next: Entry | undefined
}

/** What notifications are about, and those that wait and count by their bytes. */
class Subject {
  readonly method: string
  readonly name: string | undefined
  size = 0
  oldest: Entry | undefined = undefined
  newest: Entry | undefined = undefined
  /** The one that is larger than all bytes allow. */
  oversized: Entry | undefined = undefined
  /** Where it stands in the heap. */
  index = -1

  constructor(method: string, name: string | undefined) {
    this.method = method
    this.name = name
  }
}

const encoder = new TextEncoder()

const sizeOf = ({ method, params }: Envelope.Notification): number => {
  const bytes = encoder.encode(method).byteLength
  if (params === undefined) return bytes
  try {
    return bytes + encoder.encode(JSON.stringify(params)).byteLength
  } catch {
    // It is nested deeper than the stack allows, and could be of any size.
    return Infinity
  }
}

const nameOf = (params: Envelope.Notification["params"]): string | undefined => {
  const name = params?.["uri"] ?? params?.["taskId"]
  return typeof name === "string" ? name : undefined
}

const olderOf = (one: Entry | undefined, other: Entry | undefined): Entry | undefined =>
  one === undefined || (other !== undefined && other.arrival < one.arrival) ? other : one

/** Whether the oldest about `one` gives way before the oldest about `other`. */
const precedes = (one: Subject, other: Subject): boolean =>
  one.size !== other.size ? one.size > other.size : olderOf(one.oldest, other.oldest) === one.oldest

export class Mailbox {
  /** How many notifications wait. */
  size = 0
  /** How many bytes they count for. */
  bytes = 0
  /** How many were lost so far. */
  dropped = 0
  private readonly maxSize: number
  private readonly maxBytes: number
  private readonly subjects = new Map<string, Map<string | undefined, Subject>>()
  /** A heap of the subjects that have something that counts by its bytes: first what most are about. */
  private readonly heap: Array<Subject> = []
  private oldest: Entry | undefined = undefined
  private newest: Entry | undefined = undefined
  private oversized: Entry | undefined = undefined
  private arrivals = 0

  constructor(maxSize: number = maxPending, maxBytes: number = maxPendingBytes) {
    this.maxSize = maxSize
    this.maxBytes = maxBytes
  }

  /** Takes a notification in, and drops others if it must. */
  offer(notification: Envelope.Notification): void {
    const bytes = sizeOf(notification)
    const subject = this.subjectOf(notification)
    const isOversized = bytes > this.maxBytes
    if (isOversized) this.drop(this.oversized)
    else while (this.bytes + bytes > this.maxBytes) this.drop(subject.oldest ?? this.heap[0]?.oldest)
    while (this.size >= this.maxSize) this.drop(this.spare(subject))
    this.add({
      notification,
      bytes,
      arrival: this.arrivals++,
      subject,
      older: this.newest,
      newer: undefined,
      next: undefined
    }, isOversized)
  }

  /** Gives the notification that has waited longest. */
  take(): Envelope.Notification | undefined {
    const entry = this.oldest
    if (entry === undefined) return undefined
    this.remove(entry)
    return entry.notification
  }

  /** What gives way to one more about `subject`. */
  private spare(subject: Subject): Entry | undefined {
    const same = olderOf(subject.oldest, subject.oversized)
    if (same !== undefined) return same
    const most = this.heap[0]
    const other = this.oversized?.subject
    if (other === undefined) return most?.oldest
    // The one beside the others counts here, too.
    const oldest = olderOf(other.oldest, other.oversized)
    if (most === undefined || other.size + 1 > most.size) return oldest
    return other.size + 1 === most.size ? olderOf(most.oldest, oldest) : most.oldest
  }

  private drop(entry: Entry | undefined): void {
    if (entry === undefined) return
    this.remove(entry)
    this.dropped++
  }

  private add(entry: Entry, isOversized: boolean): void {
    const { subject } = entry
    this.keep(subject)
    this.size++
    if (this.newest === undefined) this.oldest = entry
    else this.newest.newer = entry
    this.newest = entry
    if (isOversized) {
      this.oversized = entry
      subject.oversized = entry
      return
    }
    this.bytes += entry.bytes
    if (subject.newest === undefined) subject.oldest = entry
    else subject.newest.next = entry
    subject.newest = entry
    subject.size++
    if (subject.index === -1) {
      subject.index = this.heap.length
      this.heap.push(subject)
    }
    this.rise(subject)
  }

  private remove(entry: Entry): void {
    const { newer, older, subject } = entry
    this.size--
    if (older === undefined) this.oldest = newer
    else older.newer = newer
    if (newer === undefined) this.newest = older
    else newer.older = older
    if (entry === this.oversized) {
      this.oversized = undefined
      subject.oversized = undefined
    } else {
      // Whatever leaves is the oldest about its subject.
      this.bytes -= entry.bytes
      subject.oldest = entry.next
      if (entry.next === undefined) subject.newest = undefined
      subject.size--
      if (subject.size === 0) this.unlist(subject)
      else this.sink(subject)
    }
    if (subject.size === 0 && subject.oversized === undefined) this.forget(subject)
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Subjects
  // ------------------------------------------------------------------------------------------------------------------

  private subjectOf({ method, params }: Envelope.Notification): Subject {
    const name = nameOf(params)
    return this.subjects.get(method)?.get(name) ?? new Subject(method, name)
  }

  private keep(subject: Subject): void {
    const named = this.subjects.get(subject.method)
    if (named === undefined) this.subjects.set(subject.method, new Map([[subject.name, subject]]))
    else named.set(subject.name, subject)
  }

  private forget({ method, name }: Subject): void {
    const named = this.subjects.get(method)
    named?.delete(name)
    if (named?.size === 0) this.subjects.delete(method)
  }

  // ------------------------------------------------------------------------------------------------------------------
  // The heap
  // ------------------------------------------------------------------------------------------------------------------

  private place(subject: Subject, index: number): void {
    this.heap[index] = subject
    subject.index = index
  }

  private rise(subject: Subject): void {
    while (subject.index > 0) {
      const index = subject.index
      const above = this.heap[(index - 1) >> 1]
      if (above === undefined || !precedes(subject, above)) return
      this.place(subject, above.index)
      this.place(above, index)
    }
  }

  private sink(subject: Subject): void {
    while (true) {
      const index = subject.index
      const left = this.heap[2 * index + 1]
      const right = this.heap[2 * index + 2]
      const below = left !== undefined && right !== undefined && precedes(right, left) ? right : left
      if (below === undefined || !precedes(below, subject)) return
      this.place(subject, below.index)
      this.place(below, index)
    }
  }

  private unlist(subject: Subject): void {
    const last = this.heap.pop()
    if (last !== undefined && last !== subject) {
      this.place(last, subject.index)
      this.rise(last)
      this.sink(last)
    }
    subject.index = -1
  }
}
