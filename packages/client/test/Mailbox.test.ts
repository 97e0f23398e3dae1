import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import type { Envelope } from "@mcp-effect/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Mailbox, maxPending, maxPendingBytes } from "../src/internal/Mailbox.ts"

type Notification = Envelope.Notification

const notification = (method: string, params?: Record<string, unknown>): Notification => ({
  _tag: "Notification",
  method,
  params
})

const updated = (uri: string, more?: Record<string, unknown>): Notification =>
  notification("notifications/resources/updated", { uri, ...more })

const drain = (mailbox: Mailbox): ReadonlyArray<Notification> => {
  const taken: Array<Notification> = []
  for (let next = mailbox.take(); next !== undefined; next = mailbox.take()) taken.push(next)
  return taken
}

const offered = (mailbox: Mailbox, notifications: ReadonlyArray<Notification>): Mailbox => {
  for (const each of notifications) mailbox.offer(each)
  return mailbox
}

const urisOf = (notifications: ReadonlyArray<Notification>) => notifications.map(({ params }) => params?.["uri"])

// ====================================================================================================================
// The same in a slow way
// ====================================================================================================================

const bytesOf = ({ method, params }: Notification): number =>
  Buffer.byteLength(method) + (params === undefined ? 0 : Buffer.byteLength(JSON.stringify(params)))

const identityOf = ({ method, params }: Notification): string =>
  JSON.stringify([method, params?.["uri"] ?? params?.["taskId"]])

class SlowMailbox {
  dropped = 0
  queue: ReadonlyArray<Notification> = []
  private readonly maxSize: number
  private readonly maxBytes: number

  constructor(maxSize: number, maxBytes: number) {
    this.maxSize = maxSize
    this.maxBytes = maxBytes
  }

  private isCharged(each: Notification): boolean {
    return bytesOf(each) <= this.maxBytes
  }

  get bytes(): number {
    return this.queue.filter((each) => this.isCharged(each)).reduce((sum, each) => sum + bytesOf(each), 0)
  }

  /** Drops one of the candidates, which stand in the order of their arrival. */
  private dropOneOf(candidates: ReadonlyArray<Notification>, arriving: Notification): void {
    const countOf = (one: Notification) => candidates.filter((each) => identityOf(each) === identityOf(one)).length
    const most = Math.max(...candidates.map(countOf))
    const gone = candidates.find((each) => identityOf(each) === identityOf(arriving))
      ?? candidates.find((each) => countOf(each) === most)
    this.queue = this.queue.filter((each) => each !== gone)
    this.dropped++
  }

  offer(arriving: Notification): void {
    if (!this.isCharged(arriving)) {
      const before = this.queue.length
      this.queue = this.queue.filter((each) => this.isCharged(each))
      this.dropped += before - this.queue.length
    } else {
      while (this.bytes + bytesOf(arriving) > this.maxBytes) {
        this.dropOneOf(this.queue.filter((each) => this.isCharged(each)), arriving)
      }
    }
    while (this.queue.length >= this.maxSize) this.dropOneOf(this.queue, arriving)
    this.queue = [...this.queue, arriving]
  }

  take(): Notification | undefined {
    const [first, ...rest] = this.queue
    this.queue = rest
    return first
  }
}

const maxSize = 4

const step = Schema.Struct({
  method: Schema.Literals(["m", "é", "longer"]),
  name: Schema.Literals(["none", "uri", "taskId"]),
  value: Schema.Literals(["a", "b", "c"]),
  // Small enough for several, enough for one or two, and more than there may be at all.
  padding: Schema.Literals([0, 0, 10, 40, 80, 100, 130, 400, 500]),
  // Takes so many before.
  takes: Schema.Literals([0, 0, 0, 1, 2])
})

describe("Mailbox", () => {
  /** Whether both take and give the same, and count the same. */
  const agrees = (steps: ReadonlyArray<typeof step.Type>, maxBytes: number): void => {
    const mailbox = new Mailbox(maxSize, maxBytes)
    const slow = new SlowMailbox(maxSize, maxBytes)
    for (const { method, name, padding, takes, value } of steps) {
      for (let count = 0; count < takes; count++) assert.strictEqual(mailbox.take(), slow.take())
      const arriving = notification(method, {
        ...(name === "none" ? undefined : { [name]: value }),
        padding: "x".repeat(padding)
      })
      mailbox.offer(arriving)
      slow.offer(arriving)
      assert.deepStrictEqual(
        [mailbox.size, mailbox.bytes, mailbox.dropped],
        [slow.queue.length, slow.bytes, slow.dropped]
      )
    }
    const taken = drain(mailbox)
    assert.strictEqual(taken.length, slow.queue.length)
    taken.forEach((each, index) => assert.strictEqual(each, slow.queue[index]))
    assert.deepStrictEqual([mailbox.size, mailbox.bytes], [0, 0])
  }

  // So few bytes that they run short before the number does, and so many that the number does.
  for (const maxBytes of [120, 400]) {
    it.effect(`does what a slow one does, with ${maxBytes} bytes`, () =>
      Effect.map(
        Arbitrary.checkEffect(
          Arbitrary.array(Arbitrary.schema(step), { minLength: 20, maxLength: 60 }),
          (steps) => Effect.sync(() => (agrees(steps, maxBytes), true)),
          { runs: 500 }
        ),
        (result) => assert.strictEqual(Arbitrary.formatCheckFailure(result), undefined)
      ))
  }

  it.prop(
    "never loses the only word about anything while there are repeats",
    [Arbitrary.array(Arbitrary.schema(Schema.Literals(["a", "b", "c", "d"])), { maxLength: 80 })],
    ([uris]) => {
      const left = urisOf(drain(offered(new Mailbox(4, maxPendingBytes), uris.map((uri) => updated(uri)))))
      for (const uri of uris) assert.include(left, uri)
    }
  )

  verifiesPure(
    ["QUE-02", "QUE-05", "QUE-11"],
    "holds 1,024 in the order of arrival, and drops the oldest repeat",
    () => {
      assert.strictEqual(maxPending, 1_024)
      const all = Array.from({ length: 1_024 }, (_, index) => updated("a:b", { index }))
      const mailbox = offered(new Mailbox(), [updated("a:quiet"), ...all.slice(1)])
      assert.deepStrictEqual([mailbox.size, mailbox.dropped], [1_024, 0])
      mailbox.offer(updated("a:b", { index: 1_024 }))
      assert.deepStrictEqual([mailbox.size, mailbox.dropped], [1_024, 1])
      const left = drain(mailbox)
      assert.deepStrictEqual(left[0], updated("a:quiet"))
      assert.deepStrictEqual(
        left.slice(1).map(({ params }) => params?.["index"]),
        Array.from({ length: 1_023 }, (_, index) => index + 2)
      )
    }
  )

  verifiesPure(["QUE-03", "QUE-04", "QUE-10"], "holds 8 MiB of methods and params in UTF-8", () => {
    assert.strictEqual(maxPendingBytes, 8_388_608)
    // `é` takes two bytes, and {"a":"é"} ten.
    const mailbox = new Mailbox()
    mailbox.offer(notification("é", { a: "é" }))
    assert.strictEqual(mailbox.bytes, 12)
    mailbox.offer(notification("é"))
    assert.strictEqual(mailbox.bytes, 14)
    mailbox.take()
    assert.strictEqual(mailbox.bytes, 2)
    // A method of a mebibyte weighs as much as params of one would.
    const megabyte = "m".repeat(1_048_576 - 2)
    const heavy = new Mailbox()
    for (let index = 0; index < 8; index++) heavy.offer(notification(megabyte, {}))
    assert.deepStrictEqual([heavy.size, heavy.bytes, heavy.dropped], [8, 8_388_608, 0])
    heavy.offer(notification(megabyte, {}))
    assert.deepStrictEqual([heavy.size, heavy.bytes, heavy.dropped], [8, 8_388_608, 1])
  })

  verifiesPure(["QUE-05", "QUE-06"], "tells things apart by the method and what it names", () => {
    const status = (taskId: string) => notification("notifications/tasks", { taskId })
    const first = [updated("a"), updated("b"), status("a"), notification("notifications/tools/list_changed")]
    for (const [index, same] of first.entries()) {
      const left = drain(offered(new Mailbox(4), [...first, same]))
      assert.deepStrictEqual(left, [...first.toSpliced(index, 1), same])
    }
    // Nothing that waits is about the newcomer's thing: what most are about gives way.
    const busy = [updated("quiet"), status("t"), updated("busy", { n: 1 }), updated("busy", { n: 2 })]
    assert.deepStrictEqual(urisOf(drain(offered(new Mailbox(4), [...busy, updated("new")]))), [
      "quiet",
      undefined,
      "busy",
      "new"
    ])
  })

  verifiesPure("QUE-07", "gives up the oldest only when no two are about the same thing", () => {
    const uris = ["a", "b", "c"]
    assert.deepStrictEqual(urisOf(drain(offered(new Mailbox(3), [...uris, "d"].map((uri) => updated(uri))))), [
      "b",
      "c",
      "d"
    ])
    // Of two things with as many, the one that has waited longer.
    const pairs = ["a", "b", "b", "a", "c"]
    assert.deepStrictEqual(urisOf(drain(offered(new Mailbox(4), pairs.map((uri) => updated(uri))))), [
      "b",
      "b",
      "a",
      "c"
    ])
  })

  verifiesPure(
    ["QUE-08", "QUE-09", "QUE-14"],
    "keeps one that is larger than all bytes allow, beside the others",
    () => {
      const huge = (uri: string) => updated(uri, { padding: "x".repeat(1_000) })
      const small = [updated("a"), updated("b")]
      const mailbox = offered(new Mailbox(10, 200), [...small, huge("a")])
      assert.deepStrictEqual([mailbox.size, mailbox.dropped], [3, 0])
      assert.strictEqual(mailbox.bytes, bytesOf(updated("a")) + bytesOf(updated("b")))
      // Another takes its place at the end.
      offered(mailbox, [huge("c")])
      assert.deepStrictEqual([mailbox.size, mailbox.dropped], [3, 1])
      // Bytes are not short because of it, so it does not give way to them, though it is about the same.
      const third = updated("c", { padding: "x".repeat(100) })
      offered(mailbox, [third, updated("c")])
      assert.deepStrictEqual(urisOf(drain(mailbox)), ["b", "c", "c"])
      // Number is short because of it, too.
      assert.deepStrictEqual(drain(offered(new Mailbox(3, 200), [...small, huge("c"), updated("c")])), [
        ...small,
        updated("c")
      ])
    }
  )

  verifiesPure("QUE-13", "drops for either ceiling alone", () => {
    const many = offered(new Mailbox(2, 10_000), ["a", "b", "c"].map((uri) => updated(uri)))
    assert.deepStrictEqual([many.size, many.dropped], [2, 1])
    const padded = ["a", "b", "c"].map((uri) => updated(uri, { padding: "x".repeat(40) }))
    const heavy = offered(new Mailbox(100, 2 * bytesOf(updated("a", { padding: "x".repeat(40) }))), padded)
    assert.deepStrictEqual([heavy.size, heavy.dropped], [2, 1])
  })

  it("takes what is nested deeper than can be measured for too large", () => {
    const depth = 200_000
    const deep: Record<string, unknown> = JSON.parse(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`)
    const mailbox = offered(new Mailbox(), [updated("a"), notification("deep", deep)])
    assert.deepStrictEqual([mailbox.size, mailbox.bytes], [2, bytesOf(updated("a"))])
  })
})
