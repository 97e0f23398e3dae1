import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError, Revision } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import { Clock, type Context, Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ClientOptions } from "../src/ClientOptions.ts"
import type { Session } from "../src/internal/Session.ts"
import { Standby } from "../src/internal/Standby.ts"
import * as Scripted from "./ScriptedTransport.ts"

// ====================================================================================================================
// A stream that a test drives
// ====================================================================================================================

interface Opened {
  /** When it was asked for, in milliseconds. */
  readonly at: number
  readonly open: () => void
  /** Any sign of life. */
  readonly alive: () => void
  readonly say: (method: string) => void
  readonly ask: (id: string, method: string, params: Record<string, unknown>) => void
  readonly fail: (reason: McpError.McpErrorReason) => void
  readonly end: (more?: { readonly resumable?: boolean; readonly retryAfterMillis?: number }) => void
  readonly isCancelled: () => boolean
}

/** The streams that were asked for; `onOpened` says what the server does about each. */
const server = (onOpened: (stream: Opened, count: number) => void = (stream) => stream.open()) => {
  const streams: Array<Opened> = []
  const standby = (exchange: Transport.Exchange, context: Context.Context<never>): Transport.Cancel => {
    let isCancelled = false
    const fail = (reason: McpError.McpErrorReason) => exchange.onFailure(McpError.make(reason, "unknown"))
    const stream: Opened = {
      at: Effect.runSyncWith(context)(Clock.currentTimeMillis),
      open: () => {
        exchange.onActivity(0)
        exchange.onStream?.(true)
      },
      alive: () => exchange.onActivity(0),
      say: (method) => {
        exchange.onActivity(0)
        exchange.onMessage({ _tag: "Notification", method, params: undefined })
      },
      ask: (id, method, params) => exchange.onMessage({ _tag: "Request", id, method, params }),
      fail,
      end: ({ resumable = false, retryAfterMillis } = {}) =>
        fail(new McpError.StreamEnded({ resumable, retryAfterMillis })),
      isCancelled: () => isCancelled
    }
    streams.push(stream)
    onOpened(stream, streams.length)
    return () => {
      isCancelled = true
    }
  }
  return { streams, standby }
}

/** The policy alone, for one session. */
const policy = Effect.fnUntraced(function*(
  { standby, streams }: ReturnType<typeof server>,
  mode: "auto" | "off" | "required" = "auto"
) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const context = yield* Effect.context<never>()
  const lost: Array<readonly [Session, boolean]> = []
  const heard: Array<string> = []
  let gaps = 0
  const session = {
    revision: Revision.latestLegacy,
    scope,
    requests: {
      server: "scripted",
      connection: { standby },
      onInbound: ({ method }: { readonly method: string }) => heard.push(method)
    }
  } as unknown as Session
  const policy = new Standby({
    mode,
    isNeeded: () => false,
    current: () => session,
    onSessionLost: (session, isListening) => Effect.sync(() => void lost.push([session, isListening])),
    onGap: () => gaps++,
    fork: Effect.runForkWith(context)
  })
  return { policy, session, scope, streams, lost, heard, gaps: () => gaps, need: policy.need(session) }
})

const status = (status: number, retryAfterMillis?: number) => new McpError.HttpStatus({ status, retryAfterMillis })

/** The next stream is opened after that delay, which jitter makes up to a quarter longer, and not before. */
const opensAfter = Effect.fnUntraced(function*(streams: ReadonlyArray<unknown>, millis: number) {
  const before = streams.length
  yield* TestClock.adjust(millis - 1)
  assert.strictEqual(streams.length, before, `opened before ${millis}`)
  yield* TestClock.adjust(millis / 4 + 1)
  assert.strictEqual(streams.length, before + 1, `not opened by ${millis * 1.25}`)
})

/** The streams that were opened by themselves came after these delays, which jitter makes up to a quarter longer. */
const cameAfter = (streams: ReadonlyArray<Opened>, delays: ReadonlyArray<number>): void => {
  assert.strictEqual(streams.length, delays.length + 1)
  for (const [index, delay] of delays.entries()) {
    const passed = (streams[index + 1]?.at ?? 0) - (streams[index]?.at ?? 0)
    assert.isAtLeast(passed, delay)
    assert.isAtMost(passed, delay * 1.25)
  }
}

const staysClosed = Effect.fnUntraced(function*(streams: ReadonlyArray<unknown>) {
  const before = streams.length
  yield* TestClock.adjust("1 day")
  assert.strictEqual(streams.length, before)
})

describe("The standby stream", () => {
  verifies(
    ["PAIN-14", "SDK-04", "SHT-25"],
    "that closes without a word is opened after 1, 2, 4 and 8 seconds, then left alone until it is needed again",
    () =>
      Effect.gen(function*() {
        const { need, streams } = yield* policy(server((stream) => {
          stream.open()
          stream.end()
        }))
        yield* need
        assert.strictEqual(streams.length, 1)
        yield* TestClock.adjust("1 day")
        cameAfter(streams, [1_000, 2_000, 4_000, 8_000])
        // Each need is one attempt, and no more.
        for (const count of [6, 7]) {
          yield* need
          assert.strictEqual(streams.length, count)
          yield* staysClosed(streams)
        }
      })
  )

  verifies(
    ["PAIN-14", "SDK-04"],
    "that is of no use is tried every five minutes while somebody listens, and not any longer",
    () =>
      Effect.gen(function*() {
        const { need, policy: standby, streams } = yield* policy(server((stream) => {
          stream.open()
          stream.end()
        }))
        const scope = yield* Scope.make()
        yield* Scope.provide(standby.listening, scope)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(streams.length, 5)
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(streams.length, 7)
        // Needs in between do not add up to more.
        for (let round = 0; round < 3; round++) yield* need
        assert.strictEqual(streams.length, 10)
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(streams.length, 12)
        yield* Scope.close(scope, Exit.void)
        yield* staysClosed(streams)
      })
  )

  verifies(
    ["PAIN-14", "SDK-04"],
    "that was of use is opened again a second later, however often it closes",
    () =>
      Effect.gen(function*() {
        const { heard, need, streams } = yield* policy(server())
        yield* need
        for (let round = 0; round < 10; round++) {
          streams.at(-1)?.say("notifications/tools/list_changed")
          streams.at(-1)?.end()
          yield* opensAfter(streams, 1_000)
        }
        assert.strictEqual(heard.length, 10)
        // Streams that stand for half a minute are of use, too: a proxy ends what is silent for so long.
        for (let round = 0; round < 10; round++) {
          yield* TestClock.adjust("30 seconds")
          streams.at(-1)?.end()
          yield* opensAfter(streams, 1_000)
        }
        // One that is of use makes up for those before it.
        for (const delay of [1_000, 2_000, 4_000]) {
          streams.at(-1)?.end()
          yield* opensAfter(streams, delay)
        }
        streams.at(-1)?.say("notifications/tools/list_changed")
        streams.at(-1)?.end()
        yield* opensAfter(streams, 1_000)
      })
  )

  verifies(
    ["PAIN-15", "SEC-05", "RES-03"],
    "is opened again when the server says, but no sooner than one that is of no use",
    () =>
      Effect.gen(function*() {
        const { need, streams } = yield* policy(server())
        yield* need
        for (const retryAfterMillis of [100, 500, 60_000]) {
          streams.at(-1)?.say("notifications/tools/list_changed")
          streams.at(-1)?.end({ retryAfterMillis })
          yield* opensAfter(streams, retryAfterMillis)
        }
        streams.at(-1)?.end({ retryAfterMillis: 100 })
        yield* opensAfter(streams, 1_000)
        streams.at(-1)?.end({ retryAfterMillis: 5_000 })
        yield* opensAfter(streams, 5_000)
      })
  )

  verifies(
    ["SDK-04", "SHT-25", "PAIN-19"],
    "on which nothing comes for 5 minutes is opened again at once; any byte is something",
    () =>
      Effect.gen(function*() {
        const { need, streams } = yield* policy(server())
        yield* need
        for (let round = 1; round < 10; round++) {
          yield* TestClock.adjust("200 seconds")
          streams[0]?.alive()
        }
        yield* TestClock.adjust(299_999)
        assert.isFalse(streams[0]?.isCancelled())
        yield* TestClock.adjust(1)
        assert.isTrue(streams[0]?.isCancelled())
        assert.strictEqual(streams.length, 2)
        for (let round = 3; round < 10; round++) {
          yield* TestClock.adjust("300 seconds")
          assert.strictEqual(streams.length, round)
        }
      })
  )

  verifies(
    ["SDK-04", "PAIN-14"],
    "that the server does not have is never asked for again in the session",
    () =>
      Effect.gen(function*() {
        for (
          const reason of [
            status(405),
            status(404),
            status(501),
            new McpError.MalformedMessage({ problem: "html" }),
            new McpError.RedirectRefused({ status: 307 })
          ]
        ) {
          const { need, streams } = yield* policy(server((stream) => stream.fail(reason)))
          yield* need
          yield* need
          yield* staysClosed(streams)
          assert.strictEqual(streams.length, 1)
        }
      })
  )

  verifies(
    ["SDK-04", "SHT-25"],
    "that cannot be had for the moment is asked for again; one without permission when it is needed again",
    () =>
      Effect.gen(function*() {
        for (
          const reason of [status(409), status(503), new McpError.ConnectionFailed({ target: "", description: "" })]
        ) {
          const { need, streams } = yield* policy(server((stream) => stream.fail(reason)))
          yield* need
          yield* TestClock.adjust("3750 millis")
          cameAfter(streams, [1_000, 2_000])
        }
        const limited = yield* policy(server((stream) => stream.fail(status(429, 20_000))))
        yield* limited.need
        yield* opensAfter(limited.streams, 20_000)
        const barred = yield* policy(server((stream) => stream.fail(new McpError.Unauthorized({ challenges: [] }))))
        yield* barred.need
        yield* staysClosed(barred.streams)
        yield* barred.need
        assert.strictEqual(barred.streams.length, 2)
      })
  )

  verifies("SHT-21", "that belongs to a session that is gone gives the session up", () =>
    Effect.gen(function*() {
      const { lost, need, session, streams } = yield* policy(
        server((stream) => stream.fail(new McpError.SessionExpired({ status: 404 })))
      )
      yield* need
      yield* need
      yield* staysClosed(streams)
      assert.deepStrictEqual(lost, [[session, false]])
      assert.strictEqual(streams.length, 1)
    }))

  verifies(
    ["SHT-26", "SDK-04"],
    "ends with its session, open or waiting",
    () =>
      Effect.gen(function*() {
        const open = yield* policy(server())
        yield* open.need
        yield* Scope.close(open.scope, Exit.void)
        assert.isTrue(open.streams[0]?.isCancelled())
        const waiting = yield* policy(server((stream) => stream.end()))
        yield* waiting.need
        yield* Scope.close(waiting.scope, Exit.void)
        for (const { need, streams } of [open, waiting]) {
          yield* staysClosed(streams)
          yield* need
          yield* staysClosed(streams)
        }
      })
  )

  verifies(
    "SDK-04",
    "tells of a gap when it is open again and does not go on where it ended",
    () =>
      Effect.gen(function*() {
        const { gaps, need, streams } = yield* policy(server())
        yield* need
        assert.strictEqual(gaps(), 0)
        streams.at(-1)?.end({ resumable: true })
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual([streams.length, gaps()], [2, 0])
        streams.at(-1)?.end()
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual([streams.length, gaps()], [3, 1])
        // Given up because it was silent: what was said on a dead connection is lost.
        yield* TestClock.adjust("300 seconds")
        assert.deepStrictEqual([streams.length, gaps()], [4, 2])

        // It could be gone on with, if the server still knew where.
        const forgotten = yield* policy(server((stream, count) => {
          if (count === 2) stream.end()
          else stream.open()
        }))
        yield* forgotten.need
        forgotten.streams[0]?.end({ resumable: true })
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual([forgotten.streams.length, forgotten.gaps()], [3, 1])
        const unreachable = yield* policy(server((stream, count) => {
          if (count === 2) stream.fail(status(503))
          else stream.open()
        }))
        yield* unreachable.need
        unreachable.streams[0]?.end({ resumable: true })
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual([unreachable.streams.length, unreachable.gaps()], [3, 0])
      })
  )

  verifies(
    "SDK-04",
    "is waited for by who needs it, for a second at most",
    () =>
      Effect.gen(function*() {
        const { need, streams } = yield* policy(server(() => {}))
        const first = yield* Effect.forkChild(need, { startImmediately: true })
        const second = yield* Effect.forkChild(need, { startImmediately: true })
        yield* TestClock.adjust(999)
        assert.isUndefined(first.pollUnsafe())
        streams[0]?.open()
        yield* Fiber.join(first)
        yield* Fiber.join(second)
        assert.strictEqual(streams.length, 1)
        const silent = yield* policy(server(() => {}))
        const waiting = yield* Effect.forkChild(silent.need, { startImmediately: true })
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(waiting)
      })
  )
})

// ====================================================================================================================
// A client that needs it, or does not
// ====================================================================================================================

/** A legacy server over HTTP with such a stream on each connection. */
const offering = Effect.fnUntraced(function*(
  offered: ReturnType<typeof server>,
  handlers: Scripted.Handlers = {},
  kind = "streamable-http"
) {
  const scripted = yield* Scripted.legacy(
    { "logging/setLevel": Scripted.answer({}), "tools/list": Scripted.answer({ tools: [] }), ...handlers },
    { kind }
  )
  const transport: Transport.Transport["Service"] = {
    ...scripted.transport,
    connect: (inbound) =>
      Effect.map(scripted.transport.connect(inbound), (connection) => ({ ...connection, standby: offered.standby }))
  }
  return { ...scripted, transport, streams: offered.streams }
})

const form = () => Effect.succeed({ action: "accept", content: {} } as const)
const handlers = { elicitation: { form } } satisfies ClientOptions["handlers"]

describe("A client", () => {
  verifies(
    ["PAIN-18", "SDK-04", "SHT-25"],
    "opens the standby stream once something needs it, and never when it is off",
    () =>
      Effect.gen(function*() {
        const cases: ReadonlyArray<
          readonly [
            ClientOptions,
            (
              client: Effect.Success<ReturnType<typeof Scripted.connect>>
            ) => Effect.Effect<unknown, McpError.McpError, Scope.Scope>
          ]
        > = [
          [{ handlers }, () => Effect.void],
          [{ logLevel: "info" }, () => Effect.void],
          [{}, (client) => client.subscribeNotifications],
          [{}, (client) => Effect.forkScoped(Stream.runDrain(client.notifications), { startImmediately: true })],
          [{}, (client) => Effect.forkScoped(Stream.runDrain(client.logs), { startImmediately: true })],
          [{}, (client) => client.setLogLevel("info")]
        ]
        for (const [options, need] of cases) {
          const legacy = yield* offering(server())
          const client = yield* Scripted.connect(legacy, options)
          yield* client.listTools()
          if (Object.keys(options).length === 0) assert.strictEqual(legacy.streams.length, 0)
          yield* need(client)
          assert.strictEqual(legacy.streams.length, 1)
          // Another need finds it open.
          yield* client.subscribeNotifications
          assert.strictEqual(legacy.streams.length, 1)

          const off = yield* offering(server())
          const without = yield* Scripted.connect(off, { ...options, standbyStream: "off" })
          yield* need(without)
          assert.strictEqual(off.streams.length, 0)
        }
      })
  )

  verifies(
    "SDK-04",
    "that requires it fails to connect where a legacy HTTP server has none; other servers have none at all",
    () =>
      Effect.gen(function*() {
        const without = yield* offering(server((stream) => stream.fail(status(405))))
        const error = yield* Effect.flip(Scripted.connect(without, { standbyStream: "required" }))
        assert(error.reason._tag === "ConnectionFailed")
        assert.match(error.reason.description, /standby stream/)
        assert.strictEqual((error.reason.cause as McpError.McpError).reason._tag, "HttpStatus")
        assert.isTrue(without.links[0]?.closed)

        const opened = yield* Deferred.make<Opened>()
        const slow = yield* offering(server((stream) => Deferred.doneUnsafe(opened, Effect.succeed(stream))))
        const connecting = yield* Effect.forkScoped(Scripted.connect(slow, { standbyStream: "required" }))
        const stream = yield* Deferred.await(opened)
        yield* TestClock.adjust("30 seconds")
        assert.isUndefined(connecting.pollUnsafe())
        stream.open()
        yield* Fiber.join(connecting)

        yield* Scripted.connect(yield* Scripted.modern({}, { kind: "streamable-http" }), { standbyStream: "required" })
        yield* Scripted.connect(yield* Scripted.legacy(), { standbyStream: "required" })
        const wrong = yield* Effect.flip(Scripted.connect(slow, { standbyStream: "always" as never }))
        assert.strictEqual(wrong.reason._tag, "InvalidRequest")
      })
  )

  verifies(
    ["SHT-25", "SHT-21", "SDK-04"],
    "answers what the server asks on it, and has it again on the session that follows one that is lost",
    () =>
      Effect.gen(function*() {
        const legacy = yield* offering(server())
        const client = yield* Scripted.connect(legacy, { handlers })
        const ask = (id: string) =>
          legacy.streams.at(-1)?.ask(id, "elicitation/create", {
            mode: "form",
            message: "",
            requestedSchema: { type: "object", properties: {} }
          })
        ask("a")
        yield* legacy.until(() => legacy.replies().length === 1)
        assert.strictEqual(legacy.replies()[0]?.["id"], "a")

        legacy.streams[0]?.fail(new McpError.SessionExpired({ status: 404 }))
        yield* legacy.until(() => legacy.links[0]?.closed === true)
        yield* client.listTools()
        assert.strictEqual(legacy.links.length, 2)
        assert.strictEqual(legacy.streams.length, 2)
        ask("b")
        yield* legacy.until(() => legacy.replies().length === 2)
        assert.strictEqual(legacy.sentOf("initialize").length, 2)
      })
  )

  verifies(
    ["SHT-26", "SDK-04"],
    "closes it with the connection, and listeners keep it across connections",
    () =>
      Effect.gen(function*() {
        const legacy = yield* offering(server())
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(Scripted.connect(legacy), scope)
        yield* Scope.provide(client.subscribeNotifications, scope)
        assert.strictEqual(legacy.streams.length, 1)
        // Nothing is requested, and still another session follows the one that is lost.
        legacy.streams[0]?.fail(new McpError.SessionExpired({ status: 404 }))
        yield* legacy.until(() => legacy.links.length === 2)
        yield* Scripted.settled
        assert.strictEqual(legacy.streams.length, 2)
        assert.isTrue(legacy.links[0]?.closed)
        legacy.links[1]?.exit()
        yield* legacy.until(() => legacy.links[1]?.closed === true)
        const list = yield* Effect.forkScoped(client.listTools())
        yield* Scripted.settled
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(list)
        assert.strictEqual(legacy.streams.length, 3)
        yield* Scripted.settled
        assert.isTrue(legacy.streams[1]?.isCancelled())
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(legacy.streams[2]?.isCancelled())
        yield* staysClosed(legacy.streams)
      })
  )
})
