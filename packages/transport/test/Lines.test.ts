import { assert, describe, it } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Lines from "../src/Lines.ts"

const utf8 = new TextEncoder()

type Seen = string | { readonly cause: "size" | "encoding"; readonly size: number }

const split = (chunks: ReadonlyArray<Uint8Array>, limit = 1_000_000): ReadonlyArray<Seen> => {
  const seen: Array<Seen> = []
  const lines = Lines.make({
    limit,
    onLine: (line) => seen.push(line),
    onSkipped: ({ cause, size }) => seen.push({ cause, size })
  })
  for (const chunk of chunks) lines.feed(chunk)
  lines.end()
  return seen
}

const splitText = (...chunks: ReadonlyArray<string>): ReadonlyArray<Seen> =>
  split(chunks.map((text) => utf8.encode(text)))

/** The same, byte by byte and with nothing in mind but the rules. */
const splitNaively = (bytes: Uint8Array, limit: number): ReadonlyArray<Seen> => {
  const pieces: Array<Array<number>> = [[]]
  for (const byte of bytes) {
    if (byte === 10) pieces.push([])
    else pieces.at(-1)?.push(byte)
  }
  if (pieces.at(-1)?.length === 0) pieces.pop()
  return pieces.map((piece, index) => {
    if (piece.length > limit) return { cause: "size", size: piece.length }
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(piece))
      return text.replace(/\r$/, "").replace(index === 0 ? /^\ufeff/ : /^$/, "")
    } catch {
      return { cause: "encoding", size: piece.length }
    }
  })
}

const cut = (bytes: Uint8Array, sizes: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  let from = 0
  for (const size of sizes) {
    chunks.push(bytes.slice(from, from + size))
    from += size
  }
  return [...chunks, bytes.slice(from)]
}

const holds = <A>(arbitrary: Arbitrary.Arbitrary<A>, property: (value: A) => void): Effect.Effect<void> =>
  Effect.map(
    Arbitrary.checkEffect(arbitrary, (value) => Effect.sync(() => (property(value), true)), { runs: 500 }),
    (result) => assert.strictEqual(Arbitrary.formatCheckFailure(result), undefined)
  )

const sizes = Arbitrary.array(Arbitrary.schema(Schema.Literals([0, 1, 2, 3, 7, 40])), { maxLength: 20 })
const pieces = Schema.Literals([
  "",
  "a",
  "{\"id\":1}",
  "\n",
  "\r\n",
  "\r",
  "é",
  "\u{1f600}",
  "\ufeff",
  "\u2028",
  "0123456789"
])

describe("Lines", () => {
  it("splits at LF and CRLF, and hands over what follows the last break at the end", () => {
    assert.deepStrictEqual(splitText("a\nb\r\n\nlast"), ["a", "b", "", "last"])
    assert.deepStrictEqual(splitText("a\n"), ["a"])
    assert.deepStrictEqual(splitText(""), [])
  })

  it("joins a line over chunks, also when CR and LF are in different ones", () => {
    assert.deepStrictEqual(splitText("{\"a", "\":", "1}\r", "\n{}", "\n"), ["{\"a\":1}", "{}"])
  })

  it("drops a byte order mark at the start, even one that comes byte by byte, and no other", () => {
    assert.deepStrictEqual(splitText("\ufeff{}\n\ufeff{}\n"), ["{}", "\ufeff{}"])
    assert.deepStrictEqual(split([[0xef], [0xbb], [0xbf, 0x61, 10]].map((bytes) => Uint8Array.from(bytes))), ["a"])
  })

  verifiesPure("STD-04", "a character that is cut by a chunk is read whole, as UTF-8", () => {
    const bytes = utf8.encode("é€\u{1f600}\n")
    assert.deepStrictEqual(split(Array.from(bytes, (byte) => Uint8Array.of(byte))), ["é€\u{1f600}"])
  })

  verifiesPure("STD-06", "a line that is not UTF-8 is reported alone; its neighbours in the chunk are read", () => {
    const latin1 = Uint8Array.of(0x63, 0x61, 0x66, 0xe9)
    const chunk = Uint8Array.of(...utf8.encode("a\n"), ...latin1, ...utf8.encode("\nb\n"))
    assert.deepStrictEqual(split([chunk]), ["a", { cause: "encoding", size: 4 }, "b"])
  })

  it("a line of exactly the limit passes, one byte more is skipped", () => {
    assert.deepStrictEqual(split([utf8.encode("12345\n123456\n12345")], 5), [
      "12345",
      { cause: "size", size: 6 },
      "12345"
    ])
  })

  verifiesPure("PAIN-44", "a line over the limit is not kept; its first 4 kB and last 1 kB are", () => {
    const skipped: Array<Lines.SkippedLine> = []
    const read: Array<string> = []
    const lines = Lines.make({
      limit: 10_000,
      onLine: (line) => read.push(line),
      onSkipped: (line) => skipped.push(line)
    })
    lines.feed(utf8.encode("before\n{\"start\":1,"))
    for (let index = 0; index < 100; index++) lines.feed(utf8.encode("x".repeat(1000)))
    lines.feed(utf8.encode(",\"id\":7}\nafter\n"))
    assert.deepStrictEqual(read, ["before", "after"])
    assert.strictEqual(skipped.length, 1)
    const [line] = skipped
    // 11 bytes at the front, 100,000 in the middle, 8 at the end.
    assert.strictEqual(line?.size, 100_019)
    assert.strictEqual(line?.cause, "size")
    assert.strictEqual(line?.head, "{\"start\":1," + "x".repeat(4096 - 11))
    assert.strictEqual(line?.tail, "x".repeat(1024 - 8) + ",\"id\":7}")
  })

  verifies("PAIN-43", "any chunking of any text gives the same lines", () =>
    holds(
      Arbitrary.all({
        pieces: Arbitrary.array(Arbitrary.schema(pieces), { maxLength: 60 }),
        sizes,
        limit: Arbitrary.schema(Schema.Literals([4, 12, 1_000]))
      }),
      ({ limit, pieces, sizes }) => {
        const bytes = utf8.encode(pieces.join(""))
        assert.deepStrictEqual(split(cut(bytes, sizes), limit), splitNaively(bytes, limit))
      }
    ))

  verifies("STD-06", "any chunking of any bytes gives the same lines", () =>
    holds(
      Arbitrary.all({
        bytes: Arbitrary.array(
          Arbitrary.schema(Schema.Literals([10, 13, 0x41, 0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80, 0xff, 0xef, 0xbb, 0xbf])),
          { maxLength: 40 }
        ),
        sizes
      }),
      ({ bytes, sizes }) => {
        assert.deepStrictEqual(split(cut(Uint8Array.from(bytes), sizes), 6), splitNaively(Uint8Array.from(bytes), 6))
      }
    ))

  const millisFor = (megabytes: number, chunkBytes: number): number => {
    const chunk = new Uint8Array(chunkBytes).fill(0x78)
    const count = Math.ceil(megabytes * 1_000_000 / chunkBytes)
    let length = 0
    const lines = Lines.make({
      limit: 200_000_000,
      onLine: (line) => {
        length += line.length
      },
      onSkipped: () => assert.fail("skipped")
    })
    const start = performance.now()
    for (let index = 0; index < count; index++) lines.feed(chunk)
    lines.feed(Uint8Array.of(10))
    const millis = performance.now() - start
    assert.strictEqual(length, count * chunkBytes)
    return millis
  }
  /**
   * How many times longer the large line takes than the small one, at best. Whatever else the machine does can only make
   * one of them slower for a while, so that they take turns until the ratio is below the bound or there is no hope of it.
   */
  const ratioOf = (small: number, large: number, chunkBytes: number, bound: number) => {
    let [smallMillis, largeMillis] = [Infinity, Infinity]
    for (let attempt = 0; attempt < 20 && !(largeMillis / smallMillis < bound); attempt++) {
      smallMillis = Math.min(smallMillis, millisFor(small, chunkBytes))
      largeMillis = Math.min(largeMillis, millisFor(large, chunkBytes))
    }
    return { ratio: largeMillis / smallMillis, largeMillis }
  }

  verifiesPure("PAIN-43", "a line of 80 MB takes under 3 s, and under 6 times the time of 20 MB", () => {
    const { largeMillis, ratio } = ratioOf(20, 80, 65_536, 6)
    assert.isBelow(largeMillis, 3_000)
    assert.isBelow(ratio, 6)
  }, 120_000)

  verifiesPure("PAIN-43", "a line that comes in pieces of 16 bytes takes linear time as well", () => {
    // In quadratic time it would be 256.
    assert.isBelow(ratioOf(1, 16, 16, 64).ratio, 64)
  }, 120_000)
})
