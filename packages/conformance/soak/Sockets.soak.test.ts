/**
 * A minute of real sockets and processes that break all the while: nothing that the servers tell may be lost, and nothing
 * may be left of the clients that lived through it.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe } from "@effect/vitest"
import { McpClient } from "@mcp-effect/client"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { NodeHttp } from "@mcp-effect/node"
import type { McpError } from "@mcp-effect/protocol"
import { StdioTransport, StreamableHttpTransport, type Transport } from "@mcp-effect/transport"
import { Context, type Duration, Effect, Exit, Fiber, Layer, Option, Random, Schedule, Scope, Stream } from "effect"
import { getEventListeners } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as FaultProxy from "../src/http/FaultProxy.ts"
import * as RealServers from "../src/RealServers.ts"

const soakMillis = 60_000
/** What is loaded, compiled and pooled in the beginning is there by then. */
const warmUpMillis = 20_000
/** What the heap may grow by after that: what the compiler and the collector keep for themselves, and no more. */
const maxGrowthBytes = 4 * 1_048_576
/** One for each subscription and each who asks, and those that they leave for others. */
const maxConnections = 24
/** Longer than the client leaves a server alone in between. */
const recovery = "60 seconds"
const timeoutMillis = 240_000

const counter = "test://counter"
const workers = 4

// ====================================================================================================================
// What a process holds
// ====================================================================================================================

/** What keeps the event loop busy, by its kind: sockets, pipes, processes. Timers come and go. */
const resources = (): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) {
    if (kind !== "Timeout" && kind !== "Immediate") counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return new Map([...counts].sort())
}

const total = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((sum, one) => sum + one, 0)

const listeners = (): number => process.eventNames().reduce((count, name) => count + process.listenerCount(name), 0)

const heapBytes = Effect.promise(async () => {
  // What is only reachable from a turn that is over is collected in the next.
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed
})

/** Waits until it holds: the kernel and the server may take a moment. */
const eventually = (
  title: string,
  holds: () => boolean | Effect.Effect<boolean>,
  duration: Duration.Input = recovery
) =>
  Effect.suspend(() => {
    const held = holds()
    return typeof held === "boolean" ? Effect.succeed(held) : held
  }).pipe(
    Effect.flatMap((held) => held ? Effect.void : Effect.fail(title)),
    Effect.retry(Schedule.spaced("100 millis").pipe(Schedule.upTo({ duration })))
  )

const temporaryFile = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "soak-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  ),
  (directory) => join(directory, "pids")
)

const linesOf = (file: string): ReadonlyArray<string> => readFileSync(file, "utf8").trim().split("\n")

// ====================================================================================================================
// Clients
// ====================================================================================================================

const connect = <E>(transport: Layer.Layer<Transport.Transport, E>) =>
  Effect.map(
    Layer.build(
      McpClient.layer({ protocol: "modern", probeTimeout: "30 seconds", idleTimeout: "5 seconds" }).pipe(
        Layer.provide(transport)
      )
    ),
    (context) => Context.get(context, McpClient.McpClient)
  )

const overHttp = (url: string) =>
  connect(StreamableHttpTransport.layer({ url }).pipe(Layer.provide(NodeHttp.layer({ proxy: "none" }))))

const overStdio = (command: RealServers.Command) =>
  connect(StdioTransport.layer(command).pipe(Layer.provide(NodeServices.layer)))

const namesOf = (tools: ReadonlyArray<{ readonly name: string }>): string => tools.map(({ name }) => name).join()

const textOf = ({ contents: [first] }: Effect.Success<ReturnType<McpClient.McpClient["readResource"]>>) =>
  first !== undefined && "text" in first ? first.text : ""

const filter = { toolsListChanged: true, resourceSubscriptions: [counter] }

/** Waits until the client is in that state. */
const becomes = (client: McpClient.McpClient, tag: string) =>
  Stream.runHead(Stream.filter(client.state, ({ _tag }) => _tag === tag))

/** Watches all that changes, at once and slowly, and asks all the while. */
const using = Effect.fnUntraced(function*(client: McpClient.McpClient, signal: AbortSignal) {
  const watched: Array<{ readonly subject: "tools" | "counter"; last: string }> = []
  const fibers: Array<Fiber.Fiber<void, McpError.McpError>> = []
  const heard = new Map<string, number>()
  const outcomes = new Map<string, number>()
  let pace: Duration.Input = "1 second"
  let isOver = false
  const slowly = Effect.suspend(() => Effect.sleep(pace))

  for (const pause of [Effect.void, slowly]) {
    const streams = [
      ["tools", Stream.map(client.watchTools, namesOf)],
      ["counter", Stream.map(client.watchResource(counter), textOf)]
    ] as const
    for (const [subject, stream] of streams) {
      const reader = { subject, last: "" }
      watched.push(reader)
      fibers.push(
        yield* Effect.forkScoped(
          Stream.runForEach(stream, (value) =>
            Effect.andThen(
              Effect.sync(() => {
                reader.last = value
              }),
              pause
            )),
          { startImmediately: true }
        )
      )
    }
  }
  const subscription = yield* client.listen(filter)
  fibers.push(
    yield* Effect.forkScoped(
      Stream.runForEach(subscription.notifications, ({ method }) =>
        Effect.suspend(() => {
          heard.set(method, (heard.get(method) ?? 0) + 1)
          return slowly
        })),
      { startImmediately: true }
    )
  )

  const ask = Effect.gen(function*() {
    const exit = yield* Effect.exit(
      yield* Random.choice<ReadonlyArray<Effect.Effect<unknown, McpError.McpError>>>([
        client.callTool("echo", { message: "x".repeat(1_000) }, { signal }),
        client.readResource("test://greeting", { signal }),
        Effect.timeoutOption(client.callTool("slow", { steps: 20, stepMillis: 20 }, { signal }), "100 millis")
      ])
    )
    const outcome = Exit.isSuccess(exit)
      ? "success"
      : Option.match(Exit.findErrorOption(exit), { onNone: () => "defect", onSome: ({ reason }) => reason._tag })
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    yield* Effect.sleep("10 millis")
  })
  const asking = yield* Effect.forkScoped(
    Effect.all(
      Array.from(
        { length: workers },
        () => Effect.whileLoop({ while: () => !isOver, body: () => ask, step: () => {} })
      ),
      { concurrency: "unbounded", discard: true }
    )
  )
  yield* eventually("the first of each", () => watched.every(({ last }) => last !== ""))

  return {
    outcomes,
    /** Has everything come to rest and sees that nothing is lost. `ask` reaches the server without a fault. */
    settle: Effect.fnUntraced(function*(asking_: McpClient.McpClient) {
      isOver = true
      pace = "1 millis"
      yield* Fiber.join(asking)
      yield* eventually(
        "a subscription",
        () => Effect.map(Stream.runHead(subscription.state), (state) => Option.getOrThrow(state)._tag === "Active")
      )
      yield* eventually("all is heard", () => Effect.map(subscription.pending, (pending) => pending === 0))
      const before = new Map(heard)
      yield* asking_.callTool("grow")
      yield* asking_.callTool("count")
      yield* asking_.clearCache
      const now = {
        tools: namesOf(yield* asking_.listTools()),
        counter: textOf(yield* asking_.readResource(counter))
      }
      yield* eventually("the last of each", () => watched.every(({ last, subject }) => last === now[subject]))
      yield* eventually(
        "the last signals",
        () =>
          ["notifications/tools/list_changed", "notifications/resources/updated"].every((method) =>
            (heard.get(method) ?? 0) > (before.get(method) ?? 0)
          )
      )
      for (const fiber of fibers) assert.isUndefined(fiber.pollUnsafe(), "somebody hears no more")
      assert.isUndefined(outcomes.get("defect"))
    })
  }
})

// ====================================================================================================================
// The soak
// ====================================================================================================================

/** Does one thing after another to a server, with pauses of up to so many milliseconds, until it is time. */
const repeatedly = (
  until: number,
  maxPauseMillis: number,
  things: ReadonlyArray<Effect.Effect<unknown, McpError.McpError>>
) =>
  Effect.gen(function*() {
    while (performance.now() < until) {
      yield* Effect.ignore(yield* Random.choice(things))
      yield* Effect.sleep(yield* Random.nextIntBetween(1, maxPauseMillis))
    }
  })

describe("A minute of broken sockets and killed processes", () => {
  verifiesLive(
    ["PAIN-29", "PAIN-48", "PAIN-62", "SUB-10", "SUB-19", "SUB-42"],
    "loses no signal and leaves nothing behind",
    Effect.fnUntraced(function*() {
      const { url } = yield* RealServers.dualHttp
      const proxy = yield* FaultProxy.make(url)
      yield* proxy.delay(5)
      const pidFile = yield* temporaryFile
      const controller = new AbortController()
      // The streams of this process are opened when they are first used, and stay so.
      yield* Effect.scoped(Layer.build(NodeServices.layer))
      assert.isTrue(process.stdout.writable && process.stderr.writable)
      const before = { resources: resources(), listeners: listeners() }
      const scope = yield* Scope.make()

      yield* Scope.provide(
        Effect.gen(function*() {
          const remote = yield* overHttp(proxy.url)
          const direct = yield* overHttp(url)
          const local = yield* overStdio(RealServers.launched(pidFile, RealServers.dual))
          const users = [yield* using(remote, controller.signal), yield* using(local, controller.signal)]
          const startedAt = performance.now()
          const until = startedAt + soakMillis
          const changes = (client: McpClient.McpClient) =>
            repeatedly(until, 400, [
              client.callTool("count"),
              client.callTool("count"),
              Effect.repeat(client.callTool("count"), { times: 20 }),
              client.callTool("grow")
            ])
          const held = <A>(state: Effect.Effect<A, never, Scope.Scope>, duration: Duration.Input) =>
            Effect.scoped(Effect.andThen(state, Effect.sleep(duration)))
          const churn = yield* Effect.forkScoped(Effect.all([
            changes(direct),
            changes(local),
            repeatedly(until, 3_000, [
              proxy.cut("reset"),
              proxy.cut("end"),
              held(proxy.stalled, "1 second"),
              held(Effect.andThen(proxy.refusing, proxy.cut()), "1 second")
            ]),
            repeatedly(until, 1_000, [
              becomes(local, "Ready").pipe(
                // Longer than a process is held to be crashing.
                Effect.andThen(Effect.sleep("6 seconds")),
                Effect.andThen(Effect.sync(() => process.kill(Number(linesOf(pidFile).at(-1)), "SIGKILL"))),
                Effect.andThen(becomes(local, "Failed"))
              )
            ])
          ], { concurrency: "unbounded", discard: true }))

          yield* Effect.sleep(warmUpMillis)
          const warm = { heap: yield* heapBytes, open: proxy.open() }
          yield* Effect.sleep(Math.max(0, until - performance.now() - 1_000))
          const late = { heap: yield* heapBytes, open: proxy.open() }
          yield* Fiber.join(churn)
          yield* users[0]?.settle(direct) ?? Effect.void
          yield* users[1]?.settle(local) ?? Effect.void
          // Twice two processes and more were started.
          assert.isAtLeast(linesOf(pidFile).length, 6)
          assert.strictEqual(getEventListeners(controller.signal, "abort").length, 0)
          assert.isAtMost(late.heap - warm.heap, maxGrowthBytes, "growth of the heap")
          assert.isAtMost(Math.max(warm.open, late.open), maxConnections, "connections")
        }),
        scope
      )
      yield* Scope.close(scope, Exit.void)

      yield* RealServers.allGone(pidFile)
      yield* eventually("no connection is open", () => proxy.open() === 0, "10 seconds")
      yield* Effect.ignore(
        eventually("no resource is held", () => total(resources()) <= total(before.resources), "10 seconds")
      )
      assert.deepStrictEqual(resources(), before.resources)
      assert.strictEqual(listeners(), before.listeners)
    }),
    timeoutMillis
  )
})
