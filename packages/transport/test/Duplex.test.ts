import { assert, describe, it } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { type Diagnostic, type Envelope, McpError, Revision } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Duplex from "../src/Duplex.ts"
import * as Lines from "../src/Lines.ts"
import type { Exchange, Outgoing } from "../src/Transport.ts"

const legacy = Revision.latestLegacy
const batching = Revision.fromVersion("2025-03-26") ?? assert.fail("no facts")

type Event =
  | readonly ["message", string]
  | readonly ["activity", number]
  | readonly ["response", Envelope.Outcome]
  | readonly ["failure", McpError.McpError]

/** A channel whose writes are recorded. It takes every write at once, unless `stalls`. */
const setUp = (options: { readonly outboxLimit?: number; readonly stalls?: boolean } = {}) => {
  const writes: Array<ReadonlyArray<string>> = []
  const inbound: Array<string> = []
  const diagnostics: Array<Diagnostic.Diagnostic> = []
  let onInbound = (): void => {}
  let ready = (): void => {}
  const duplex = Duplex.make({
    target: "server",
    inbound: {
      onMessage: (message) => {
        inbound.push(message.method)
        onInbound()
      },
      onDiagnostic: (diagnostic) => diagnostics.push(diagnostic)
    },
    write: (frames, taken) => {
      writes.push(frames.map(({ text }) => text))
      ready = taken
      if (options.stalls !== true) taken()
    },
    outboxLimit: options.outboxLimit ?? 1_000_000,
    messageLimit: 1_000
  })

  const open = (
    id: Envelope.RequestId,
    more: Partial<Outgoing> & { readonly on?: (event: Event) => void } = {}
  ) => {
    const events: Array<Event> = []
    const add = (event: Event): void => {
      events.push(event)
      more.on?.(event)
    }
    const exchange: Exchange = {
      onMessage: ({ method }) => add(["message", method]),
      onActivity: (grace) => add(["activity", grace]),
      onResponse: ({ outcome }) => add(["response", outcome]),
      onFailure: (error) => add(["failure", error])
    }
    const method = more.method ?? "tools/call"
    const cancel = duplex.connection.open(
      {
        id,
        method,
        text: more.text ?? JSON.stringify({ jsonrpc: "2.0", id, method }),
        revision: more.revision ?? legacy,
        routing: undefined,
        onAbandon: more.onAbandon ?? "cancel"
      },
      exchange,
      Context.empty()
    )
    return { events, cancel }
  }

  const receive = (message: unknown): void =>
    duplex.onText(typeof message === "string" ? message : JSON.stringify(message))
  return {
    duplex,
    writes,
    inbound,
    diagnostics,
    open,
    receive,
    result: (id: Envelope.RequestId) => receive({ jsonrpc: "2.0", id, result: {} }),
    taken: () => ready(),
    whenInbound: (act: () => void) => {
      onInbound = act
    },
    written: () => writes.flat().map((text) => JSON.parse(text))
  }
}

/** Lets what was sent in this turn leave. */
const flush = (): Promise<void> => new Promise((resolve) => queueMicrotask(resolve))

const empty: Event = ["response", { _tag: "Result", result: {} }]
const gone = McpError.make(new McpError.ConnectionClosed({ target: "server", local: false, exitCode: 3 }), "unknown")

const failureOf = (events: ReadonlyArray<Event>) => {
  const [event] = events
  assert.strictEqual(events.length, 1)
  if (event?.[0] !== "failure") return assert.fail(`no failure but ${JSON.stringify(event)}`)
  const { delivery, method, reason, server } = event[1]
  return { reason: reason._tag, delivery, method, server }
}

describe("Duplex: what goes out", () => {
  it("everything sent in one turn leaves in one write, in order", async () => {
    const { duplex, open, writes } = setUp()
    open(1, { text: "first" })
    Effect.runSync(duplex.connection.send({ _tag: "Notification", method: "n", params: undefined }, legacy))
    open(2, { text: "third" })
    assert.deepStrictEqual(writes, [])
    await flush()
    assert.deepStrictEqual(writes, [["first", "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", "third"]])
  })

  it("nothing is written until the last write was taken, then all that waits in one", async () => {
    const { open, taken, writes } = setUp({ stalls: true })
    open(1, { text: "first" })
    await flush()
    open(2, { text: "second" })
    open(3, { text: "third" })
    await flush()
    assert.deepStrictEqual(writes, [["first"]])
    taken()
    assert.deepStrictEqual(writes, [["first"], ["second", "third"]])
  })

  verifiesPure(
    "PAIN-10",
    "a full outbox fails the new request alone, unsent; a request that leaves makes room",
    async () => {
      const { open, taken } = setUp({ stalls: true, outboxLimit: 10 })
      open(1, { text: "0123456789" })
      await flush()
      const waiting = open(2, { text: "01234567" })
      const refused = open(3, { text: "012" })
      assert.deepStrictEqual(failureOf(refused.events), {
        reason: "MessageTooLarge",
        delivery: "unsent",
        method: "tools/call",
        server: "server"
      })
      const [, error] = refused.events[0] ?? assert.fail("no failure")
      assert.deepInclude((error as McpError.McpError).reason, { direction: "sent", limit: 10, size: 3 })
      assert.deepStrictEqual(waiting.events, [])
      waiting.cancel(undefined)
      assert.deepStrictEqual(open(4, { text: "012" }).events, [])
      taken()
      assert.deepStrictEqual(open(5, { text: "0123456789" }).events, [])
    }
  )

  it("a message that alone is larger than the outbox may wait alone", async () => {
    const { open, writes } = setUp({ outboxLimit: 3 })
    open(1, { text: "0123456789" })
    await flush()
    assert.deepStrictEqual(writes, [["0123456789"]])
  })

  verifiesPure(["STD-17", "TMO-13"], "a cancel follows the request it names", async () => {
    const { open, written } = setUp()
    open(1).cancel("ignored, since the request had not left")
    const { cancel } = open("two")
    await flush()
    cancel("Request timed out")
    await flush()
    assert.deepStrictEqual(written(), [
      { jsonrpc: "2.0", id: "two", method: "tools/call" },
      {
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: "two", reason: "Request timed out" }
      }
    ])
  })

  verifiesPure("TMO-11", "a cancel without a reason has none", async () => {
    const { open, written } = setUp()
    const { cancel } = open(1)
    await flush()
    cancel(undefined)
    await flush()
    assert.deepStrictEqual(written().at(-1), {
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 1 }
    })
  })

  it("a cancelled request that still waits is taken back, and nothing is said about it", async () => {
    const { open, taken, writes } = setUp({ stalls: true })
    open(1, { text: "first" })
    await flush()
    open(2, { text: "second" }).cancel("not needed")
    open(3, { text: "third" })
    taken()
    assert.deepStrictEqual(writes, [["first"], ["third"]])
  })

  it("one that is abandoned silently is not cancelled on the wire, but no callback follows", async () => {
    const { events, cancel, ...rest } = (() => {
      const channel = setUp()
      return { ...channel, ...channel.open(1, { method: "initialize", onAbandon: "silent" }) }
    })()
    await flush()
    cancel("given up")
    rest.result(1)
    await flush()
    assert.strictEqual(rest.written().length, 1)
    assert.deepStrictEqual(events, [])
  })

  it("cancelling twice, or after the answer, says nothing more", async () => {
    const { open, result, written } = setUp()
    const twice = open(1)
    const answered = open(2)
    await flush()
    twice.cancel("a")
    twice.cancel("b")
    result(2)
    answered.cancel("late")
    await flush()
    assert.deepStrictEqual(written().map(({ method }) => method), [
      "tools/call",
      "tools/call",
      "notifications/cancelled"
    ])
  })

  it("an id that is in use is refused, and the request that has it goes on", async () => {
    const { open, result } = setUp()
    const first = open(1)
    const second = open(1)
    await flush()
    result(1)
    assert.deepStrictEqual(failureOf(second.events), {
      reason: "InvalidRequest",
      delivery: "unsent",
      method: "tools/call",
      server: "server"
    })
    assert.deepStrictEqual(first.events, [empty])
  })

  verifies("STD-20", "a notification is one line, and sending it waits for nothing", () =>
    Effect.gen(function*() {
      const { duplex, writes } = setUp()
      yield* duplex.connection.send({ _tag: "Notification", method: "n", params: { text: "a\nb" } }, legacy)
      yield* Effect.promise(flush)
      assert.deepStrictEqual(writes, [["{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"text\":\"a\\nb\"}}"]])
    }))
})

describe("Duplex: what comes in", () => {
  it("an answer goes to the request of its id, of the same type", async () => {
    const { open, receive } = setUp()
    const number = open(1)
    const string = open("1")
    await flush()
    receive({ jsonrpc: "2.0", id: "1", result: { for: "string" } })
    assert.deepStrictEqual(number.events, [])
    assert.deepStrictEqual(string.events, [["response", { _tag: "Result", result: { for: "string" } }]])
  })

  verifiesPure("PAIN-42", "a malformed answer is handed to its request at once", async () => {
    const shapes: ReadonlyArray<readonly [object, string]> = [
      [{ result: "done" }, "its result is not an object"],
      [{ result: null }, "its result is not an object"],
      [{ error: "oops" }, "its error is not an object"],
      [{ error: { message: "oops" } }, "its error has no integer code"],
      [{}, "it has neither result nor error"]
    ]
    for (const [members, problem] of shapes) {
      const { open, receive } = setUp()
      const { events } = open(1)
      await flush()
      receive({ jsonrpc: "2.0", id: 1, ...members })
      assert.deepStrictEqual(events, [["response", { _tag: "Malformed", problem }]])
    }
  })

  verifiesPure(
    ["SEC-08", "STD-08"],
    "an answer that nobody waits for is dropped with a diagnostic, whyever",
    async () => {
      const { diagnostics, open, result } = setUp()
      result(99)
      const answered = open(1)
      const cancelled = open(2)
      await flush()
      result(1)
      result(1)
      cancelled.cancel(undefined)
      result(2)
      assert.deepStrictEqual(diagnostics.map(({ _tag }) => _tag), Array(3).fill("UnexpectedMessage"))
      assert.deepStrictEqual([answered.events, cancelled.events], [[empty], []])
    }
  )

  verifiesPure("SEC-08", "an answer to a request that has not left is not accepted", async () => {
    const { diagnostics, open, result, written } = setUp()
    const { events } = open(1)
    result(1)
    assert.deepStrictEqual(events, [])
    assert.strictEqual(diagnostics.length, 1)
    await flush()
    assert.strictEqual(written().length, 1)
    result(1)
    assert.deepStrictEqual(events, [empty])
  })

  it("an error without an id is for the only request that is open, and for none if there are more", async () => {
    const error = { jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } }
    const { diagnostics, open, receive } = setUp()
    const first = open(1)
    await flush()
    receive(error)
    assert.deepStrictEqual(first.events, [["response", {
      _tag: "Error",
      error: { code: -32700, message: "Parse error" }
    }]])
    const others = [open(2), open(3)]
    await flush()
    receive(error)
    assert.deepStrictEqual(others.map(({ events }) => events), [[], []])
    assert.deepStrictEqual(diagnostics.map(({ _tag }) => _tag), ["UnexpectedMessage"])
  })

  it("progress goes to the request whose id is its token, and is a sign of life; other progress is nobody's", async () => {
    const { inbound, open, receive } = setUp()
    const progress = (progressToken: unknown) =>
      receive({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } })
    const { events } = open(1)
    await flush()
    progress(1)
    progress("1")
    progress("a host's own token")
    progress({ odd: true })
    assert.deepStrictEqual(events, [["activity", 0], ["message", "notifications/progress"]])
    assert.deepStrictEqual(inbound, Array(3).fill("notifications/progress"))
  })

  it("what names a subscription goes to its request; other notifications and requests are nobody's", async () => {
    const { inbound, open, receive } = setUp()
    const { events } = open(7, { method: "subscriptions/listen", revision: Revision.latestModern })
    await flush()
    const changed = (subscription: unknown) =>
      receive({
        jsonrpc: "2.0",
        method: "notifications/tools/list_changed",
        params: { _meta: { "io.modelcontextprotocol/subscriptionId": subscription } }
      })
    changed(7)
    changed("7")
    receive({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
    receive({ jsonrpc: "2.0", id: 7, method: "ping" })
    assert.deepStrictEqual(events, [["activity", 0], ["message", "notifications/tools/list_changed"]])
    assert.deepStrictEqual(inbound, ["notifications/tools/list_changed", "notifications/tools/list_changed", "ping"])
  })

  it("a server ends a subscription by cancelling it, and cannot cancel anything else", async () => {
    const { inbound, open, receive } = setUp()
    const call = open(1)
    const listen = open(2, { method: "subscriptions/listen", revision: Revision.latestModern })
    await flush()
    const cancel = (requestId: unknown) =>
      receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } })
    cancel(1)
    cancel("2")
    cancel(2)
    assert.deepStrictEqual(call.events, [])
    assert.deepStrictEqual(failureOf(listen.events), {
      reason: "StreamEnded",
      delivery: "unknown",
      method: "subscriptions/listen",
      server: "server"
    })
    assert.deepStrictEqual(inbound, ["notifications/cancelled", "notifications/cancelled"])
  })

  verifiesPure(
    ["PAIN-41", "STD-06", "SEC-16"],
    "what is no message is reported as noise, and what follows is read",
    async () => {
      const { diagnostics, duplex, open, receive, result } = setUp()
      await Effect.runPromise(duplex.connection.established(legacy))
      const { events } = open(1)
      await flush()
      for (
        const line of [
          "Server \u001b[31mstarted",
          "{\"level\":\"info\",\"msg\":\"ready\"}",
          "[1,2]",
          "42",
          "",
          "  ",
          "null",
          "{\"result\":{}}"
        ]
      ) receive(line)
      result(1)
      assert.deepStrictEqual(events, [empty])
      assert.deepStrictEqual(
        diagnostics,
        [
          "Server \\u001b[31mstarted",
          "{\"level\":\"info\",\"msg\":\"ready\"}",
          "[1,2]",
          "42",
          "null",
          "{\"result\":{}}"
        ].map((excerpt) => ({ _tag: "StdoutNoise", excerpt, lines: 1 }))
      )
    }
  )

  verifiesPure("PAIN-41", "much noise is reported at the 100th line and the 1,000th, what is left at the end", () => {
    const { diagnostics, duplex, receive } = setUp()
    for (let line = 1; line <= 1_050; line++) receive(`line ${line} ${"x".repeat(300)}`)
    duplex.close(gone)
    assert.deepStrictEqual(
      diagnostics.map((diagnostic) => diagnostic._tag === "StdoutNoise" && diagnostic.lines),
      [...Array(10).fill(1), 90, 900, 50]
    )
    assert.isTrue(diagnostics.every((each) => each._tag === "StdoutNoise" && each.excerpt.length <= 200))
  })

  it("an array of messages is taken while the revision is open or has batches, and is noise otherwise", async () => {
    const batch = [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", method: "notifications/message" },
      17,
      { jsonrpc: "2.0", id: 2, result: {} }
    ]
    for (const facts of [undefined, batching, legacy, Revision.latestModern]) {
      const { diagnostics, duplex, inbound, open, receive } = setUp()
      if (facts !== undefined) await Effect.runPromise(duplex.connection.established(facts))
      const calls = [open(1), open(2)]
      await flush()
      receive(batch)
      const isTaken = facts === undefined || facts.version === "2025-03-26"
      assert.deepStrictEqual(calls.map(({ events }) => events), isTaken ? [[empty], [empty]] : [[], []])
      assert.deepStrictEqual(inbound, isTaken ? ["notifications/message"] : [])
      assert.deepStrictEqual(diagnostics.map(({ _tag }) => _tag), ["StdoutNoise"])
    }
  })

  it("a callback that throws is reported, and what follows is read", async () => {
    const { diagnostics, open, receive, result, whenInbound } = setUp()
    const fault = () => {
      throw new Error("a defect")
    }
    open(1, { on: fault })
    const other = open(2)
    await flush()
    receive({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } })
    result(1)
    whenInbound(fault)
    receive({ jsonrpc: "2.0", method: "notifications/message" })
    result(2)
    assert.deepStrictEqual(other.events, [empty])
    assert.deepStrictEqual(diagnostics, [
      { _tag: "CallbackFailed", callback: "message", method: "notifications/progress" },
      { _tag: "CallbackFailed", callback: "settling", method: "tools/call" },
      { _tag: "CallbackFailed", callback: "message", method: "notifications/message" }
    ])
  })
})

describe("Duplex: lines that cannot be read whole", () => {
  const filler = "x".repeat(20_000)
  const cases: ReadonlyArray<readonly [what: string, line: string, identified: boolean]> = [
    ["the id in front", `{"jsonrpc":"2.0","id":7,"result":{"text":"${filler}"}}`, true],
    ["the id at the end", `{"jsonrpc":"2.0","result":{"text":"${filler}","id":1},"id":7}`, true],
    ["the id at the end, before jsonrpc", `{"result":{"text":"${filler}"} , "id" : 7 , "jsonrpc":"2.0" }`, true],
    ["the id after an error", `{"error":{"code":1,"message":"a\\"]}","data":[{}]},"id":7,"x":"${filler}"}`, true],
    ["an id inside the result", `{"jsonrpc":"2.0","result":{"id":7,"text":"${filler}"}}`, false],
    ["an id inside the result, at the end", `{"jsonrpc":"2.0","result":{"text":"${filler}","id":7}}`, false],
    ["an id inside a string", `{"jsonrpc":"2.0","result":{"text":"${filler}, \\"id\\":7}"}}`, false],
    ["a request", `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"text":"${filler}"}}`, false],
    ["a request, its id at the end", `{"jsonrpc":"2.0","params":{"text":"${filler}"},"method":"x","id":7}`, false],
    ["a batch", `[{"jsonrpc":"2.0","id":7,"result":{"text":"${filler}"}}]`, false],
    ["no JSON", filler, false]
  ]

  for (const [what, line, identified] of cases) {
    verifiesPure(["PAIN-44", "STD-19"], `over the limit, ${what}`, async () => {
      const { diagnostics, duplex, open, result } = setUp()
      const seven = open(7)
      const one = open(1)
      await flush()
      const lines = Lines.make({ limit: 1_000, onLine: duplex.onText, onSkipped: duplex.onSkipped })
      lines.feed(new TextEncoder().encode(`${line}\n`))
      assert.deepStrictEqual(one.events, [])
      if (identified) {
        assert.deepStrictEqual(failureOf(seven.events), {
          reason: "MessageTooLarge",
          delivery: "unknown",
          method: "tools/call",
          server: "server"
        })
        assert.deepStrictEqual(diagnostics, [])
      } else {
        assert.deepStrictEqual(seven.events, [])
        assert.deepStrictEqual(diagnostics, [{ _tag: "MessageTooLarge", limit: 1_000, size: line.length }])
      }
      result(1)
      assert.deepStrictEqual(one.events, [empty])
    })
  }

  it("the id may stand where the part that was kept ends, and is then not guessed", async () => {
    // 4,096 bytes are kept of the front: "id":12 of "id":1234.
    const front = "{\"pad\":\"" + "x".repeat(4_096 - 8 - 9) + "\",\"id\":12"
    assert.strictEqual(front.length, 4_096 + 0)
    const { diagnostics, duplex, open } = setUp()
    const calls = [open(12), open(1234)]
    await flush()
    const lines = Lines.make({ limit: 1_000, onLine: duplex.onText, onSkipped: duplex.onSkipped })
    lines.feed(new TextEncoder().encode(`${front}34,"result":{"text":"${filler}"}}\n`))
    assert.deepStrictEqual(calls.map(({ events }) => events), [[], []])
    assert.deepStrictEqual(diagnostics.map(({ _tag }) => _tag), ["MessageTooLarge"])
  })

  verifiesPure(
    ["STD-06", "PAIN-42"],
    "an answer that is not UTF-8 fails its request; other such lines are noise",
    async () => {
      const { diagnostics, duplex, open } = setUp()
      const { events } = open(7)
      await flush()
      const lines = Lines.make({ limit: 1_000, onLine: duplex.onText, onSkipped: duplex.onSkipped })
      const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0))
      lines.feed(latin1("caf\u00e9\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"text\":\"caf\u00e9\"}}\n"))
      assert.deepStrictEqual(events, [["response", { _tag: "Malformed", problem: "it is not encoded in UTF-8" }]])
      assert.deepStrictEqual(diagnostics, [{ _tag: "StdoutNoise", excerpt: "caf\ufffd", lines: 1 }])
    }
  )
})

describe("Duplex: the end", () => {
  it("fails every request with the reason of the end: those that have left unknown, the others unsent", async () => {
    const { duplex, open } = setUp({ stalls: true })
    const sent = open(1)
    await flush()
    const waiting = open(2)
    duplex.close(gone)
    duplex.close(McpError.make(new McpError.StreamEnded({ resumable: false }), "unknown"))
    const common = { reason: "ConnectionClosed" as const, method: "tools/call", server: "server" }
    assert.deepStrictEqual(failureOf(sent.events), { ...common, delivery: "unknown" })
    assert.deepStrictEqual(failureOf(waiting.events), { ...common, delivery: "unsent" })
    assert.strictEqual(await Effect.runPromise(duplex.connection.closed), gone)
  })

  verifiesPure(
    "STD-17",
    "a cancel still leaves when this side closes in the same turn, a request does not",
    async () => {
      const closedHere = McpError.make(new McpError.ConnectionClosed({ target: "server", local: true }), "unknown")
      for (const [reason, leaves] of [[closedHere, true], [gone, false]] as const) {
        const { duplex, open, written } = setUp()
        const { cancel } = open(1)
        await flush()
        cancel("the client closes")
        const waiting = open(2)
        duplex.close(reason)
        await flush()
        assert.strictEqual(failureOf(waiting.events).delivery, "unsent")
        assert.deepStrictEqual(
          written().map(({ method }) => method),
          leaves ? ["tools/call", "notifications/cancelled"] : ["tools/call"]
        )
      }
    }
  )

  it("afterwards requests and notifications fail unsent, nothing is written and nothing is taken", async () => {
    const { duplex, inbound, open, receive, writes } = setUp()
    const { cancel } = open(1)
    await flush()
    duplex.close(gone)
    cancel("late")
    const late = open(2)
    const notification = Effect.runSync(
      Effect.flip(duplex.connection.send({ _tag: "Notification", method: "n", params: {} }, legacy))
    )
    receive({ jsonrpc: "2.0", method: "notifications/message" })
    await flush()
    assert.deepStrictEqual(failureOf(late.events), {
      reason: "ConnectionClosed",
      delivery: "unsent",
      method: "tools/call",
      server: "server"
    })
    assert.deepInclude(notification, { delivery: "unsent", method: "n", server: "server" })
    assert.strictEqual(writes.length, 1)
    assert.deepStrictEqual(inbound, [])
  })

  it("a callback may end the connection: the rest of the chunk is dropped, the others fail", async () => {
    const { duplex, inbound, open } = setUp()
    const first = open(1, { on: () => duplex.close(gone) })
    const second = open(2)
    await flush()
    const lines = Lines.make({ limit: 1_000, onLine: duplex.onText, onSkipped: duplex.onSkipped })
    const messages = [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 2, result: {} },
      { jsonrpc: "2.0", method: "notifications/message" }
    ]
    lines.feed(new TextEncoder().encode(messages.map((message) => `${JSON.stringify(message)}\n`).join("")))
    assert.deepStrictEqual(first.events, [empty])
    assert.strictEqual(failureOf(second.events).reason, "ConnectionClosed")
    assert.deepStrictEqual(inbound, [])
  })

  it("a request that fails at the end may cancel another, which then hears nothing", async () => {
    const { duplex, open } = setUp()
    const first = open(1, { on: () => second.cancel(undefined) })
    const second = open(2)
    await flush()
    duplex.close(gone)
    assert.strictEqual(first.events.length, 1)
    assert.deepStrictEqual(second.events, [])
  })
})
