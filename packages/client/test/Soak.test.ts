/**
 * Ten minutes of a server that never rests, by the test's clock: nothing that it tells may be lost, and nothing may be left
 * of the client that lived through it.
 */
import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import type { McpError } from "@mcp-effect/protocol"
import { Transport } from "@mcp-effect/transport"
import { type Array as Arr, Effect, Exit, Fiber, Metric, Option, Random, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { getEventListeners } from "node:events"
import * as McpClient from "../src/McpClient.ts"
import * as ChurningServer from "./ChurningServer.ts"
import * as Scripted from "./ScriptedTransport.ts"

const soakMillis = 600_000
/** Longer than any pause between two attempts. */
const recoveryMillis = 120_000
const slowMillis = 20_000
const workers = 4
const timeoutMillis = 30_000

const listen = "subscriptions/listen"
const { busy, lists, quiet } = ChurningServer
const subjects = [...lists, busy, quiet]

/** Counts the fibers that run on behalf of what it is provided to. */
class LivingFibers implements Metric.FiberRuntimeMetricsService {
  count = 0
  most = 0
  readonly recordFiberStart = (): void => {
    this.most = Math.max(this.most, ++this.count)
  }
  readonly recordFiberEnd = (): void => {
    this.count--
  }
}

const advance = (millis: number) => Effect.andThen(TestClock.adjust(millis), Scripted.settled)

const firstName = (list: ReadonlyArray<{ readonly name: string }>): string | undefined => list[0]?.name

/** Every list and resource under watch, as the name of its version. */
const watched = (
  client: McpClient.McpClient
): ReadonlyArray<readonly [string, Stream.Stream<unknown, McpError.McpError>]> => [
  ["tools", Stream.map(client.watchTools, firstName)],
  ["prompts", Stream.map(client.watchPrompts, firstName)],
  ["resources", Stream.map(client.watchResources, firstName)],
  ...[busy, quiet].map((uri) =>
    [
      uri,
      Stream.map(client.watchResource(uri), ({ contents: [first] }) =>
        first !== undefined && "text" in first ? first.text : undefined)
    ] as const
  )
]

/** What one reader was given last. */
interface Reader {
  readonly subject: string
  fiber: Fiber.Fiber<void, McpError.McpError> | undefined
  last: unknown
}

const faultsOf: Readonly<Record<ChurningServer.Kind, ReadonlyArray<string>>> = {
  "stdio": ["exit", "graceful"],
  "http": ["drop", "graceful", "outage"],
  "legacy http": ["drop", "loss", "outage"]
}

const behaviours: Arr.NonEmptyReadonlyArray<string> = [
  "answer",
  "answer",
  "answer",
  "progress",
  "refuse",
  "break",
  "busy",
  "silent"
]

const soak = Effect.fnUntraced(function*(kind: ChurningServer.Kind) {
  const server = yield* ChurningServer.make(kind)
  const scope = yield* Scope.make()
  const reading = yield* Scope.make()
  const controller = new AbortController()
  const outcomes = new Map<string, number>()
  let paceMillis = slowMillis
  let begun = 0
  let isOver = false

  // ------------------------------------------------------------------------------------------------------------------
  // Those who read, at once and slowly
  // ------------------------------------------------------------------------------------------------------------------

  const client = yield* Scope.provide(
    Effect.provideService(McpClient.make({ idleTimeout: "10 seconds" }), Transport.Transport, server.transport),
    scope
  )
  const states = yield* Effect.forkScoped(Stream.runDrain(client.state), { startImmediately: true })
  const readers: Array<Reader> = []
  const slowly = Effect.suspend(() => Effect.sleep(paceMillis))
  for (const pause of [Effect.void, slowly]) {
    for (const [subject, stream] of watched(client)) {
      const reader: Reader = { subject, last: undefined, fiber: undefined }
      const read = Stream.runForEach(stream, (value) =>
        Effect.andThen(
          Effect.sync(() => {
            reader.last = value
          }),
          pause
        ))
      reader.fiber = yield* Effect.forkIn(read, reading, { startImmediately: true })
      readers.push(reader)
    }
  }
  const notifications = yield* Effect.forkIn(
    Stream.runForEach(client.notifications, () => slowly),
    reading,
    { startImmediately: true }
  )
  const heard = new Map<string, unknown>()
  const everything = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: [busy, quiet]
  }
  const listening = kind === "legacy http" ? undefined : yield* Effect.forkIn(
    Scope.provide(client.listen(everything, { meta: { [ChurningServer.listenerKey]: "slow" } }), reading),
    reading,
    { startImmediately: true }
  )
  yield* advance(1_000)
  const subscription = listening === undefined ? undefined : yield* Fiber.join(listening)
  const slow = subscription === undefined ? undefined : yield* Effect.forkIn(
    Stream.runForEach(subscription.notifications, ({ method, params }) =>
      Effect.suspend(() => {
        heard.set(String(params?.["uri"] ?? method.split("/")[1]), params?.["version"])
        return slowly
      })),
    reading,
    { startImmediately: true }
  )

  // ------------------------------------------------------------------------------------------------------------------
  // Those who ask all the while
  // ------------------------------------------------------------------------------------------------------------------

  const ask = Effect.gen(function*() {
    const signal = controller.signal
    const behaviour = yield* Random.choice(behaviours)
    const choices: Arr.NonEmptyReadonlyArray<Effect.Effect<unknown, McpError.McpError>> = [
      client.callTool(ChurningServer.tool, { behaviour }, { signal }),
      client.callTool(ChurningServer.tool, { behaviour }, { signal }),
      client.readResource(quiet, { signal }),
      client.listTools({ signal }),
      // Whoever asks gives up.
      Effect.timeoutOption(client.callTool(ChurningServer.tool, { behaviour }, { signal }), "500 millis")
    ]
    begun++
    const exit = yield* Effect.exit(yield* Random.choice(choices))
    const outcome = Exit.isSuccess(exit)
      ? "success"
      : Option.match(Exit.findErrorOption(exit), { onNone: () => "defect", onSome: ({ reason }) => reason._tag })
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    yield* Effect.sleep(yield* Random.nextIntBetween(0, 500))
  })
  const asking = yield* Effect.forkChild(
    Effect.all(
      Array.from(
        { length: workers },
        () => Effect.whileLoop({ while: () => !isOver, body: () => ask, step: () => {} })
      ),
      { concurrency: "unbounded", discard: true }
    )
  )

  // ------------------------------------------------------------------------------------------------------------------
  // The churn
  // ------------------------------------------------------------------------------------------------------------------

  let nextFaultAt = 0
  let mostListeners = 0
  for (let elapsed = 0; elapsed < soakMillis;) {
    const step = yield* Random.nextIntBetween(1, 1_500)
    yield* advance(step)
    elapsed += step
    const dice = yield* Random.nextIntBetween(0, 100)
    // What hardly ever changes must be heard of in the midst of what never stops.
    server.change(dice < 4 ? quiet : dice < 60 ? busy : yield* Random.choice(lists))
    if (dice === 99) server.change(busy, 2_000)
    if (elapsed >= nextFaultAt) {
      nextFaultAt = elapsed + (yield* Random.nextIntBetween(500, 12_000))
      yield* server.fail
    }
    assert.isAtMost(subscription === undefined ? 0 : yield* subscription.pending, 1_024)
    mostListeners = Math.max(mostListeners, getEventListeners(controller.signal, "abort").length)
  }
  // The last changes of all fall into a gap.
  yield* server.fail
  for (const subject of subjects) server.change(subject)

  // ------------------------------------------------------------------------------------------------------------------
  // The rest
  // ------------------------------------------------------------------------------------------------------------------

  server.heal()
  isOver = true
  paceMillis = 0
  for (let elapsed = 0; elapsed < recoveryMillis; elapsed += 1_000) yield* advance(1_000)
  yield* Fiber.join(asking)

  // No signal is lost.
  for (const { fiber, last, subject } of readers) {
    assert.isUndefined(fiber?.pollUnsafe(), `${subject} is watched no more`)
    assert.strictEqual(last, String(server.versions.get(subject)), `${subject} under watch`)
  }
  assert.deepStrictEqual(heard, new Map(server.told("slow")))
  if (subscription !== undefined) {
    assert.isUndefined(slow?.pollUnsafe(), "the subscription has ended")
    assert.strictEqual(yield* subscription.pending, 0)
    assert.isAbove(yield* subscription.dropped, 0)
  }
  assert.strictEqual(firstName(yield* client.listTools()), String(server.versions.get("tools")))

  // All calls are settled, each by a result or an error of its own.
  assert.strictEqual([...outcomes.values()].reduce((sum, count) => sum + count, 0), begun)
  assert.isUndefined(outcomes.get("defect"))
  assert.isAbove(begun, 1_000)
  assert.strictEqual(getEventListeners(controller.signal, "abort").length, 0)
  assert.isAtMost(mostListeners, workers)

  // What is open is what is needed: a subscription for each list and resource, and the slow one, or the one stream.
  assert.deepStrictEqual(server.outstanding(), Array.from({ length: kind === "legacy http" ? 0 : 6 }, () => listen))
  assert.strictEqual(server.standbyStreams(), kind === "legacy http" ? 1 : 0)
  assert.strictEqual(server.links.filter(({ closed }) => !closed).length, 1)

  // Nothing is left of those who read, and nothing of the client.
  yield* Scope.close(reading, Exit.void)
  yield* advance(1_000)
  assert.deepStrictEqual(server.outstanding(), [])
  assert.isUndefined(states.pollUnsafe())
  yield* Scope.close(scope, Exit.void)
  yield* advance(1_000)
  assert.isTrue(server.links.every(({ closed }) => closed))
  assert.strictEqual(server.standbyStreams(), 0)
  assert.isDefined(notifications.pollUnsafe())
  assert.isTrue(Exit.isSuccess(states.pollUnsafe() ?? Exit.fail("the states go on")))
  // All kinds of faults were made, and calls ended in more than one way.
  assert.sameMembers([...server.faults.keys()], [...faultsOf[kind]])
  assert.isAbove(outcomes.size, 3)
})

/** Lives through it, and sees that no fiber outlives it. The seed makes each run the same. */
const leavingNothing = (kind: ChurningServer.Kind) =>
  Effect.gen(function*() {
    const living = new LivingFibers()
    yield* Effect.provideService(Effect.scoped(soak(kind)), Metric.FiberRuntimeMetrics, living)
    assert.isAbove(living.most, 0)
    assert.strictEqual(living.count, 0)
  }).pipe(Random.withSeed("soak"))

describe("Ten minutes of churn lose no signal and leave nothing behind", () => {
  verifies(
    ["PAIN-48", "PAIN-62", "SUB-10", "SUB-19", "SUB-42"],
    "on stdio, whose process ends again and again",
    () => leavingNothing("stdio"),
    timeoutMillis
  )

  verifies(
    ["PAIN-29", "PAIN-62", "SUB-10", "SUB-42"],
    "over HTTP, whose streams break and whose server is away",
    () => leavingNothing("http"),
    timeoutMillis
  )

  verifies(
    "PAIN-62",
    "over HTTP of the legacy era, whose sessions are lost, too",
    () => leavingNothing("legacy http"),
    timeoutMillis
  )
})
