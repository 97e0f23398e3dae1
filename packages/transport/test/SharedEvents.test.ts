import { assert, describe } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import type { Lines } from "@mcp-effect/transport"
import { SharedEvents } from "../src/internal/SharedEvents.ts"

interface Parsed {
  readonly events: Array<readonly [name: string, data: string]>
  readonly skipped: Array<Lines.SkippedLine>
  readonly feed: (text: string | Uint8Array) => void
}

const parser = (maxEventBytes = 1024): Parsed => {
  const events: Parsed["events"] = []
  const skipped: Parsed["skipped"] = []
  const shared = new SharedEvents({
    maxEventBytes,
    onEvent: (name, data) => {
      events.push([name, data])
    },
    onSkipped: (data) => {
      skipped.push(data)
    }
  })
  return {
    events,
    skipped,
    feed: (text) => shared.feed(typeof text === "string" ? new TextEncoder().encode(text) : text)
  }
}

const sample = (lineBreak: string): string =>
  [
    ": a comment",
    "event: endpoint",
    "data: /messages?session=é1",
    "",
    "data: {\"a\":",
    "data: 1}",
    "",
    "event: message",
    "id: 7",
    "retry: 10",
    "data:no space",
    "",
    "event: empty",
    "",
    ""
  ].join(lineBreak)

const expected = [
  ["endpoint", "/messages?session=é1"],
  ["message", "{\"a\":\n1}"],
  ["message", "no space"]
]

describe("SharedEvents", () => {
  for (const [name, lineBreak] of [["LF", "\n"], ["CR LF", "\r\n"], ["CR", "\r"]] as const) {
    verifiesPure("SSE-09", `lines that end in ${name}, broken up anywhere`, () => {
      const bytes = new TextEncoder().encode(sample(lineBreak))
      for (let size = 1; size <= bytes.length; size++) {
        const { events, feed, skipped } = parser()
        for (let from = 0; from < bytes.length; from += size) feed(bytes.slice(from, from + size))
        assert.deepStrictEqual<unknown>(events, expected, `in pieces of ${size}`)
        assert.deepStrictEqual(skipped, [])
      }
    })
  }

  verifiesPure(
    ["SSE-09", "SEC-17"],
    "an event over the limit is skipped with its ends, and what follows is not",
    () => {
      const { events, feed, skipped } = parser(100)
      const data = `{"id":5,"result":"${"x".repeat(2000)}"}`
      feed(`event: message\ndata: ${data}\n\ndata: next\n\n`)
      assert.deepStrictEqual(skipped, [{ cause: "size", head: data, tail: data.slice(-1024), size: data.length }])
      assert.deepStrictEqual(events, [["message", "next"]])
    }
  )

  verifiesPure("SSE-09", "data of exactly the limit passes; a byte more does not", () => {
    const { events, feed, skipped } = parser(100)
    feed(`data: ${"x".repeat(100)}\n\ndata: ${"y".repeat(101)}\n\n`)
    assert.deepStrictEqual(events, [["message", "x".repeat(100)]])
    assert.deepStrictEqual(skipped.map(({ size }) => size), [101])
  })

  verifiesPure("SSE-09", "an event of many lines is measured as a whole", () => {
    const { events, feed, skipped } = parser(100)
    feed(`${"data: 0123456789\n".repeat(20)}\ndata: next\n\n`)
    assert.lengthOf(skipped, 1)
    assert.deepStrictEqual(events, [["message", "next"]])
  })

  verifiesPure("SSE-09", "nothing but its data counts", () => {
    const { events, feed, skipped } = parser(100)
    feed(`${": still here\n".repeat(50)}event: message\nid: 1\nretry: 10\ndata: ${"x".repeat(100)}\n\n`)
    assert.deepStrictEqual(skipped, [])
    assert.deepStrictEqual(events, [["message", "x".repeat(100)]])
  })

  verifiesPure(
    ["SSE-09", "SEC-17"],
    "what tells which request it answers is kept, on whichever line it goes over",
    () => {
      const short = parser(100)
      short.feed(`data: {"id":5,\n${"data: 0123456789\n".repeat(20)}\n`)
      const long = parser(100)
      long.feed(`data: {"id":5,\ndata: 0${"x".repeat(200)}\n\n`)
      for (const { events, skipped } of [short, long]) {
        assert.deepStrictEqual(skipped.map(({ head }) => head.slice(0, 10)), ["{\"id\":5,\n0"])
        assert.deepStrictEqual(events, [])
      }
    }
  )

  verifiesPure("SSE-09", "an event that is never finished is not kept beyond the limit", () => {
    const { feed, skipped } = parser(1024)
    feed("data: {\"id\":5,")
    for (let index = 0; index < 1000; index++) feed("x".repeat(1000))
    assert.deepStrictEqual(skipped, [])
    feed("\n\n")
    assert.deepInclude(skipped[0], { cause: "size", size: 1_000_008 })
    assert.lengthOf(skipped[0]?.head ?? "", 4096 - "data: ".length)
  })

  verifiesPure("SSE-09", "a long comment is no message", () => {
    const { events, feed, skipped } = parser(100)
    feed(`: ${"x".repeat(500)}\n\ndata: next\n\n`)
    assert.deepStrictEqual(skipped, [])
    assert.deepStrictEqual(events, [["message", "next"]])
  })
})
