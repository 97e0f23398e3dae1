/**
 * Remembers what became of schemas, by what they say: a list that is read anew brings new objects with the same schemas.
 * Bounded by size, the least recently used go first.
 */

/** How much is kept, in bytes. */
const defaultCapacity = 32 * 1_024 * 1_024

interface Entry<A> {
  readonly value: A
  readonly bytes: number
}

export class SchemaCache<A extends { readonly bytes: number }> {
  private readonly entries = new Map<string, Entry<A>>()
  private bytes = 0
  private readonly capacity: number

  constructor(capacity: number = defaultCapacity) {
    this.capacity = capacity
  }

  get size(): number {
    return this.entries.size
  }

  get(text: string): A | undefined {
    const entry = this.entries.get(text)
    if (entry === undefined) return undefined
    this.entries.delete(text)
    this.entries.set(text, entry)
    return entry.value
  }

  /** Keeps a value that is not in it yet. */
  set(text: string, value: A): void {
    // A character takes two bytes, or one.
    const bytes = text.length * 2 + value.bytes
    this.entries.set(text, { value, bytes })
    this.bytes += bytes
    for (const [oldest, entry] of this.entries) {
      if (this.bytes <= this.capacity) return
      this.entries.delete(oldest)
      this.bytes -= entry.bytes
    }
  }
}
