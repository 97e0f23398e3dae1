/**
 * Every way in which a call can be ended early, against every stage at which it can be: what the caller is told, what
 * the server is told, and that nothing is left behind.
 */
import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { type Json, McpError } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber, Option, Schedule, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { ClientOptions } from "../src/ClientOptions.ts"
import type { McpHandlers } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"
import * as TaskServer from "./TaskServer.ts"

const { answer, inTurn, never } = Scripted

type End = "cancel" | "signal" | "deadline" | "interrupt"
const ends: ReadonlyArray<End> = ["cancel", "signal", "deadline", "interrupt"]

interface Stage {
  readonly name: string
  /** Everything but the call itself, which is made by `start` under the id "mine". */
  readonly open: () => Effect.Effect<
    { readonly server: Scripted.Server; readonly client: Asking.Client; readonly interrupted: () => number },
    McpError.McpError,
    Scope.Scope
  >
  /** Ends when the call has come to the stage. */
  readonly reach: (server: Scripted.Server) => Effect.Effect<void>
  /** What the deadline fails with. */
  readonly deadline: "RequestTimeout" | "InputRequired"
  /** What silence of the server comes to: an error, nothing, or that the call goes on without what was waited for. */
  readonly silence: "RequestTimeout" | "HeaderMismatch" | "waits" | "goes on"
  /** What is sent because the call has ended; `id` is that of the request that was in flight. */
  readonly told: (end: End) => ReadonlyArray<unknown>
  /** How many handlers are interrupted. */
  readonly handlers: number
}

const reasonOf = (end: End): { readonly reason?: string } => {
  if (end === "interrupt") return {}
  return { reason: end === "deadline" ? "Request timed out" : "why" }
}

const cancelled = (end: End, requestId: unknown) => ({
  method: "notifications/cancelled",
  params: { requestId, ...reasonOf(end) }
})
const taskCancelled = { method: "tasks/cancel", params: { taskId: "t-1" } }

const form: Json.JsonObject = {
  message: "Who?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } }
}
const question = Asking.inputRequired({ q: { method: "elicitation/create", params: form } }, "s")

/** Never answers, and counts how often it was interrupted. */
const pondering = () => {
  let interrupted = 0
  const handlers: McpHandlers = {
    elicitation: { form: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++)) }
  }
  return { handlers, interrupted: () => interrupted }
}

const decline: McpHandlers = { elicitation: { form: () => Effect.succeed({ action: "decline" }) } }

const modern = (handlers: Scripted.Handlers, options?: ClientOptions, transport?: Scripted.Options) =>
  Effect.gen(function*() {
    const server = yield* Scripted.modern(handlers, { kind: "stdio", ...transport })
    const client = yield* Asking.connectQuietly(server, options)
    return { server, client, interrupted: () => 0 }
  })

const listed = answer({ tools: ["work", "next"].map((name) => ({ name, inputSchema: { type: "object" } })) })

const sent = (method: string, count = 1) => (server: Scripted.Server): Effect.Effect<void> =>
  Effect.andThen(server.until(() => server.sentOf(method).length >= count), Scripted.settled)

const asked = (server: Scripted.Server): Effect.Effect<void> =>
  Effect.gen(function*() {
    const call = yield* server.take("tools/call")
    call.ask("q", "elicitation/create", form)
    yield* Scripted.settled
  })

const legacyAsking = (kind: string) =>
  Effect.gen(function*() {
    const { handlers, interrupted } = pondering()
    const server = yield* Scripted.legacy({ "tools/call": inTurn(never, answer(Asking.done)) }, { kind })
    const client = yield* Asking.connectQuietly(server, { handlers })
    return { server, client, interrupted }
  })

/** A legacy server that wants a page visited before its first call can succeed. */
const visiting = (options: ClientOptions, interrupted: () => number = () => 0) =>
  Effect.gen(function*() {
    const page = { mode: "url", message: "Pay", url: "https://pay.example", elicitationId: "e-1" }
    const required: Scripted.Handler = ({ error }) => error(-32042, "Visit it", { elicitations: [page] })
    const server = yield* Scripted.legacy({ "tools/call": inTurn(required, answer(Asking.done)) }, { kind: "stdio" })
    const client = yield* Asking.connectQuietly(server, options)
    return { server, client, interrupted }
  })

/** A server of 2025-11-25 whose calls become a task that is done, but whose result is not told. */
const coreTask = (kind: string) =>
  Effect.gen(function*() {
    const { handlers, interrupted } = pondering()
    const made = yield* TaskServer.legacy({
      taskSupport: "optional",
      call: inTurn(answer({ task: TaskServer.core("working") }), answer(Asking.done)),
      more: {
        "tools/list": answer({
          tools: ["work", "next"].map((name) => ({
            name,
            inputSchema: { type: "object" },
            execution: { taskSupport: name === "work" ? "required" : "forbidden" }
          }))
        }),
        "tasks/result": never
      },
      kind,
      client: { handlers }
    })
    return { ...made, interrupted }
  })

/** A server whose first call becomes a task, and whose later calls are answered. */
const task = (get: ReadonlyArray<Scripted.Handler>) =>
  Effect.map(
    TaskServer.modern({ call: inTurn(answer(TaskServer.created()), answer(Asking.done)), get }),
    (made) => ({ ...made, interrupted: () => 0 })
  )

const stages: ReadonlyArray<Stage> = [
  {
    name: "while the client connects",
    open: () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "server/discover": inTurn(never, answer(Scripted.discovery())),
          "tools/call": answer(Asking.done)
        }, { kind: "stdio" })
        const client = yield* Asking.connectQuietly(server, { lazy: true, protocol: "modern", probeTimeout: "1 hour" })
        return { server, client, interrupted: () => 0 }
      }),
    reach: sent("server/discover"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [],
    handlers: 0
  },
  {
    name: "while the list is read on its behalf",
    open: () =>
      modern(
        { "tools/list": inTurn(never, answer({ tools: [] })), "tools/call": answer(Asking.done) },
        {},
        { kind: "streamable-http" }
      ),
    reach: sent("tools/list"),
    deadline: "RequestTimeout",
    silence: "goes on",
    told: () => [],
    handlers: 0
  },
  {
    name: "in flight",
    open: () => modern({ "tools/call": inTurn(never, answer(Asking.done)) }),
    reach: sent("tools/call"),
    deadline: "RequestTimeout",
    silence: "RequestTimeout",
    told: (end) => [cancelled(end, "mine")],
    handlers: 0
  },
  {
    name: "in a handler of a modern server",
    open: () =>
      Effect.gen(function*() {
        const { handlers, interrupted } = pondering()
        const made = yield* modern({ "tools/call": inTurn(answer(question), answer(Asking.done)) }, { handlers })
        return { ...made, interrupted }
      }),
    reach: sent("tools/call"),
    deadline: "InputRequired",
    silence: "waits",
    told: () => [],
    handlers: 1
  },
  {
    name: "in a handler of a legacy server, on a shared channel",
    open: () => legacyAsking("stdio"),
    reach: asked,
    deadline: "RequestTimeout",
    silence: "waits",
    told: (end) => [
      { id: "q", error: { code: -32603, message: "Cancelled" } },
      cancelled(end, "mine")
    ],
    handlers: 1
  },
  {
    name: "in a handler of a legacy server, on the stream of the call",
    open: () => legacyAsking("streamable-http"),
    reach: asked,
    deadline: "RequestTimeout",
    silence: "waits",
    told: (end) => [cancelled(end, "mine")],
    handlers: 1
  },
  {
    name: "in the second round",
    open: () =>
      modern(
        { "tools/call": inTurn(answer(question), never, answer(Asking.done)) },
        { handlers: decline }
      ),
    reach: sent("tools/call", 2),
    deadline: "RequestTimeout",
    silence: "RequestTimeout",
    told: (end) => [cancelled(end, "second")],
    handlers: 0
  },
  {
    name: "in a pause between rounds",
    open: () =>
      modern({
        "tools/call": inTurn(
          ...Array.from({ length: 2 }, () => answer(Asking.inputRequired(undefined, "s"))),
          answer(Asking.done)
        )
      }, {
        onInputRequiredWait: ({ round }) =>
          round === 0 ? Effect.succeed("retry") : Effect.as(Effect.sleep("1 hour"), "wait")
      }),
    reach: sent("tools/call", 2),
    deadline: "InputRequired",
    silence: "waits",
    told: () => [],
    handlers: 0
  },
  {
    name: "while the list is read anew after -32020",
    open: () =>
      modern(
        {
          "tools/list": inTurn(listed, never, listed),
          "tools/call": inTurn(({ error }) => error(-32020, "mismatch", undefined, 400), answer(Asking.done))
        },
        {},
        { kind: "streamable-http" }
      ),
    reach: sent("tools/list", 2),
    deadline: "RequestTimeout",
    silence: "HeaderMismatch",
    told: () => [],
    handlers: 0
  },
  {
    name: "while a page is to be visited",
    open: () => {
      let interrupted = 0
      const url = () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      return visiting({ handlers: { elicitation: { url } } }, () => interrupted)
    },
    reach: sent("tools/call"),
    deadline: "InputRequired",
    silence: "waits",
    told: () => [],
    handlers: 1
  },
  {
    name: "while a visit is not over",
    open: () =>
      visiting({
        handlers: { elicitation: { url: () => Effect.succeed(true) } },
        onInputRequiredWait: () => Effect.as(Effect.sleep("1 hour"), "wait")
      }),
    reach: sent("tools/call"),
    deadline: "InputRequired",
    silence: "waits",
    told: () => [],
    handlers: 0
  },
  {
    name: "while the result of its core task is awaited",
    open: () => coreTask("stdio"),
    reach: sent("tasks/result"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [cancelled("interrupt", "result"), taskCancelled],
    handlers: 0
  },
  {
    name: "in a handler of its core task, on the stream of the result",
    open: () => coreTask("streamable-http"),
    reach: (server) =>
      Effect.gen(function*() {
        const result = yield* server.take("tasks/result")
        result.ask("q", "elicitation/create", form)
        yield* Scripted.settled
      }),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [cancelled("interrupt", "result"), taskCancelled],
    handlers: 1
  },
  {
    name: "between two polls of its task",
    open: () => task([TaskServer.working({ pollIntervalMs: 3_600_000 })]),
    reach: sent("tasks/get"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [taskCancelled],
    handlers: 0
  },
  {
    name: "in a poll of its task",
    open: () => task([never]),
    reach: sent("tasks/get"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [cancelled("interrupt", "poll"), taskCancelled],
    handlers: 0
  },
  {
    name: "in a handler of its task",
    open: () =>
      Effect.gen(function*() {
        const { handlers, interrupted } = pondering()
        const made = yield* TaskServer.modern({
          call: inTurn(answer(TaskServer.created()), answer(Asking.done)),
          get: [TaskServer.asking({ q: TaskServer.form("?") })],
          client: { handlers }
        })
        return { ...made, interrupted }
      }),
    reach: sent("tasks/get"),
    deadline: "RequestTimeout",
    silence: "waits",
    told: () => [taskCancelled],
    handlers: 1
  }
]

/** What a message says, without what is the same for every request, and with names for the ids of later requests. */
const summary = (server: Scripted.Server) => (entry: Scripted.Sent): unknown => {
  if (entry.method === undefined) {
    const { id, error } = entry.message
    return { id, error }
  }
  const names = new Map<unknown, string>([
    [server.sentOf("tools/call")[1]?.id, "second"],
    [server.sentOf("tasks/get")[0]?.id, "poll"],
    [server.sentOf("tasks/result")[0]?.id, "result"]
  ])
  const { requestId, ...rest } = entry.content
  if (requestId === undefined) return { method: entry.method, params: rest }
  const name = names.get(requestId) ?? requestId
  // Why a task is not asked about any more concerns nobody.
  const isAboutTask = name === "poll" || name === "result"
  return { method: entry.method, params: isAboutTask ? { requestId: name } : { requestId: name, ...rest } }
}

const asText = (value: unknown): string => JSON.stringify(value)

describe("A call that is ended early", () => {
  for (const stage of stages) {
    verifies(
      ["TMO-03", "TMO-16", "TAS-34", "MRT-09", "PAIN-6"],
      `${stage.name}: by cancel, signal, deadline or interruption`,
      () =>
        Effect.gen(function*() {
          for (const end of ends) {
            const { client, interrupted, server } = yield* stage.open()
            const controller = new AbortController()
            const fiber = yield* Asking.start(
              client.callTool("work", {}, { requestId: "mine", signal: controller.signal, deadline: "10 seconds" })
            )
            yield* stage.reach(server)
            assert.isUndefined(fiber.pollUnsafe(), end)
            const before = server.sent.length
            const closed = server.streamsClosed.length
            switch (end) {
              case "cancel":
                yield* client.cancel("mine", "why")
                break
              case "signal":
                controller.abort("why")
                break
              case "deadline":
                yield* TestClock.adjust("10 seconds")
                break
              case "interrupt":
                yield* Fiber.interrupt(fiber)
            }
            const exit = yield* Fiber.await(fiber)
            yield* Scripted.settled

            const error = Option.getOrUndefined(Exit.findErrorOption(exit))
            if (end === "interrupt") assert.isTrue(Exit.hasInterrupts(exit))
            else if (end === "deadline") assert.strictEqual(error?.reason._tag, stage.deadline)
            else assert.deepStrictEqual(error?.reason, new McpError.Cancelled({ reason: "why" }), end)

            const messages = server.sent.slice(before).map(summary(server))
            assert.deepStrictEqual(messages.map(asText).sort(), stage.told(end).map(asText).sort(), end)
            assert.strictEqual(interrupted(), stage.handlers, end)
            // The stream of a modern request over HTTP is its cancellation.
            if (server.transport.kind === "streamable-http" && messages.length === 0) {
              assert.strictEqual(server.streamsClosed.length, closed + 1, end)
            }

            // Nothing comes after it, and nothing of it stands in the way of the next call, not even its id.
            const after = server.sent.length
            yield* TaskServer.pass(3_600_000)
            assert.strictEqual(server.sent.length, after, end)
            yield* Asking.start(client.cancel("mine", "again"))
            if (stage.name !== "while the client connects") {
              assert.deepStrictEqual<unknown>(yield* client.callTool("next", {}, { requestId: "mine" }), Asking.done)
            }
          }
        }),
      30_000
    )
  }

  for (const stage of stages) {
    verifies(
      ["TMO-01", "PAIN-4", "MRT-09"],
      `${stage.name}: the server is silent for longer than it may be`,
      () =>
        Effect.gen(function*() {
          const { client, server } = yield* stage.open()
          const fiber = yield* Asking.start(client.callTool("work", {}, { idleTimeout: "1 second" }))
          yield* stage.reach(server)
          yield* TestClock.adjust("999 millis")
          assert.isUndefined(fiber.pollUnsafe())
          yield* TestClock.adjust("4 seconds")
          yield* Scripted.settled
          if (stage.silence === "waits") return assert.isUndefined(fiber.pollUnsafe())
          const exit = yield* Fiber.await(fiber)
          const reason = Option.getOrUndefined(Exit.findErrorOption(exit))?.reason
          assert.strictEqual(reason?._tag ?? "goes on", stage.silence)
          if (reason?._tag === "RequestTimeout") assert.deepStrictEqual([reason.kind, reason.millis], ["idle", 1_000])
        })
    )
  }

  verifies(
    ["TMO-16", "TMO-09"],
    "an id is in use for as long as anything is done under it",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({ "tools/call": answer(Asking.inputRequired(undefined, "s")) })
        yield* Asking.start(client.callTool("work", {}, { requestId: "mine" }))
        yield* sent("tools/call")(server)
        // The pause has no request in flight.
        const error = yield* Effect.flip(client.callTool("other", {}, { requestId: "mine" }))
        assert.deepStrictEqual([error.reason._tag, error.delivery], ["InvalidRequest", "unsent"])
        assert.strictEqual(server.sentOf("tools/call").length, 1)
      })
  )
})

/** Once more, ten seconds later. */
const later = Schedule.spaced("10 seconds").pipe(Schedule.upTo({ times: 1 }))

// Neither canonical JSON nor normalized text: whoever reads the state changes it.
const state = "{ \"a\": 1.0, \"b\": \"e\u0301\" } "
const asks = answer(Asking.inputRequired({ q: { method: "elicitation/create", params: form } }, state))
const asksMore = answer(Asking.inputRequired({ r: { method: "elicitation/create", params: form } }, "t"))
const asksForTime = answer(Asking.inputRequired(undefined, state))
const succeeds = answer(Asking.done)
const busy: Scripted.Handler = (request) => request.fail(new McpError.HttpStatus({ status: 503 }), "refused")
const reset: Scripted.Handler = (request) =>
  request.fail(new McpError.ConnectionFailed({ target: "scripted", description: "reset" }), "unknown")
const ended: Scripted.Handler = (request) => request.fail(new McpError.StreamEnded({ resumable: false }), "unknown")
const lost: Scripted.Handler = (request) => request.fail(new McpError.SessionExpired({ status: 404 }), "refused")
const visit: Scripted.Handler = ({ error }) =>
  error(-32042, "Visit it", {
    elicitations: [{ mode: "url", message: "Pay", url: "https://pay.example", elicitationId: "e-1" }]
  })

const own = { name: "work", arguments: {} }
const answered = { ...own, inputResponses: { q: { action: "decline" } }, requestState: state }
const answeredMore = { ...own, inputResponses: { r: { action: "decline" } }, requestState: "t" }
const waited = { ...own, requestState: state }

interface Repetition {
  readonly name: string
  readonly era?: "legacy"
  /** What the server does about each attempt. */
  readonly attempts: ReadonlyArray<Scripted.Handler>
  /** The parameters of each attempt, and the milliseconds after which it is made. */
  readonly sends: ReadonlyArray<readonly [millis: number, params: unknown]>
  /** How often a person is asked. */
  readonly asked: number
  readonly outcome: "success" | McpError.McpErrorReason["_tag"]
  readonly failing?: boolean
  readonly options?: { readonly idleTimeout?: "1 second"; readonly deadline?: "15 seconds" }
  /** When it ends, where that is not with the last attempt. */
  readonly endsAt?: number
  /** Whether the last attempt is cancelled on the wire. */
  readonly cancels?: boolean
}

const repetitions: ReadonlyArray<Repetition> = [
  {
    name: "fails before the first round",
    attempts: [busy, asks, succeeds],
    sends: [[0, own], [10_000, own], [10_000, answered]],
    asked: 1,
    outcome: "success"
  },
  {
    name: "fails between rounds",
    attempts: [asks, busy, asksMore, succeeds],
    sends: [[0, own], [0, answered], [10_000, answered], [10_000, answeredMore]],
    asked: 2,
    outcome: "success"
  },
  {
    name: "fails after the last round",
    attempts: [asks, asksMore, busy, succeeds],
    sends: [[0, own], [0, answered], [0, answeredMore], [10_000, answeredMore]],
    asked: 2,
    outcome: "success"
  },
  {
    name: "fails after a pause that the server asked for",
    attempts: [asksForTime, busy, succeeds],
    sends: [[0, own], [500, waited], [10_500, waited]],
    asked: 0,
    outcome: "success"
  },
  {
    name: "fails in every round: each has the schedule to itself",
    attempts: [busy, asks, busy, succeeds],
    sends: [[0, own], [10_000, own], [10_000, answered], [20_000, answered]],
    asked: 1,
    outcome: "success"
  },
  {
    name: "fails more often than the schedule allows",
    attempts: [asks, busy],
    sends: [[0, own], [0, answered], [10_000, answered]],
    asked: 1,
    outcome: "HttpStatus"
  },
  {
    name: "may have been executed in its second round",
    attempts: [asks, reset],
    sends: [[0, own], [0, answered]],
    asked: 1,
    outcome: "AmbiguousDelivery"
  },
  {
    name: "loses its stream in its second round: issued anew at once, which is not up to the schedule",
    attempts: [asks, ended, busy, succeeds],
    sends: [[0, own], [0, answered], [0, answered], [10_000, answered]],
    asked: 1,
    outcome: "success"
  },
  {
    name: "is answered by a handler that fails, after a repetition",
    attempts: [busy, asks],
    sends: [[0, own], [10_000, own]],
    asked: 1,
    outcome: "InputRequired",
    failing: true
  },
  {
    name: "is repeated to a silent server",
    attempts: [busy, never],
    sends: [[0, own], [10_000, own]],
    asked: 0,
    outcome: "RequestTimeout",
    options: { idleTimeout: "1 second" },
    endsAt: 11_000,
    cancels: true
  },
  {
    name: "is repeated to a silent server in its second round",
    attempts: [asks, busy, never],
    sends: [[0, own], [0, answered], [10_000, answered]],
    asked: 1,
    outcome: "RequestTimeout",
    options: { idleTimeout: "1 second" },
    endsAt: 11_000,
    cancels: true
  },
  {
    name: "is under way for the second time when its one deadline passes",
    attempts: [asks, busy, never],
    sends: [[0, own], [0, answered], [10_000, answered]],
    asked: 1,
    outcome: "RequestTimeout",
    options: { deadline: "15 seconds" },
    endsAt: 15_000,
    cancels: true
  },
  {
    name: "would be repeated after its deadline, which is not waited for",
    attempts: [busy, asks, busy],
    sends: [[0, own], [10_000, own], [10_000, answered]],
    asked: 1,
    outcome: "HttpStatus",
    options: { deadline: "15 seconds" }
  },
  {
    name: "fails before pages have to be visited",
    era: "legacy",
    attempts: [busy, visit, succeeds],
    sends: [[0, own], [10_000, own], [10_500, own]],
    asked: 1,
    outcome: "success"
  },
  {
    name: "fails after pages were visited",
    era: "legacy",
    attempts: [visit, busy, visit, succeeds],
    sends: [[0, own], [500, own], [10_500, own], [11_500, own]],
    asked: 1,
    outcome: "success"
  },
  {
    name: "loses its session after pages were visited for it",
    era: "legacy",
    attempts: [visit, lost],
    sends: [[0, own], [500, own]],
    asked: 1,
    outcome: "SessionExpired"
  }
]

/** A server that does one thing after another about calls, and how often its client's handlers ran. */
const repeating = (
  { attempts, era, failing }: Pick<Repetition, "attempts" | "era" | "failing">,
  kind: string
) =>
  Effect.gen(function*() {
    let asked = 0
    const handlers = { "tools/list": listed, "tools/call": inTurn(...attempts) }
    const server = yield* era === "legacy" ? Scripted.legacy(handlers, { kind }) : Scripted.modern(handlers, { kind })
    const counting = <A>(value: A): Effect.Effect<A> => Effect.sync(() => (asked++, value))
    const client = yield* Asking.connectQuietly(server, {
      handlers: {
        elicitation: {
          form: () =>
            Effect.flatMap(
              counting({ action: "decline" } as const),
              (given) => failing ? Effect.fail("broken") : Effect.succeed(given)
            ),
          url: () => counting(true)
        }
      }
    })
    return { server, client, asked: () => asked }
  })

describe("A call that is repeated by a schedule", () => {
  for (const repetition of repetitions) {
    verifies(
      ["MRT-03", "MRT-11", "RTY-11", "TMO-05"],
      `${repetition.name}: what it says, when, and that nobody is asked twice`,
      () =>
        Effect.gen(function*() {
          for (const kind of ["stdio", "streamable-http"]) {
            const { asked, client, server } = yield* repeating(repetition, kind)
            const fiber = yield* Asking.start(
              client.callTool("work", {}, { requestId: "mine", retry: later, ...repetition.options })
            )
            const sends: Array<readonly [number, unknown]> = []
            let millis = 0
            for (; millis <= 30_000; millis += 500) {
              yield* Scripted.settled
              for (const { content } of server.sentOf("tools/call").slice(sends.length)) sends.push([millis, content])
              if (fiber.pollUnsafe() !== undefined) break
              yield* TestClock.adjust(500)
            }
            const exit = yield* Fiber.await(fiber)
            assert.deepStrictEqual(sends, repetition.sends, kind)
            assert.strictEqual(millis, repetition.endsAt ?? repetition.sends.at(-1)?.[0], kind)
            assert.strictEqual(asked(), repetition.asked, kind)
            assert.strictEqual(
              Option.getOrUndefined(Exit.findErrorOption(exit))?.reason._tag ?? "success",
              repetition.outcome,
              kind
            )
            const ids = server.sentOf("tools/call").map(({ id }) => id)
            // A caller's id names one request only.
            assert.strictEqual(ids[0], "mine", kind)
            assert.strictEqual(new Set(ids).size, ids.length, kind)
            // The stream of a modern request over HTTP is its cancellation.
            const told = kind === "stdio"
              ? server.sentOf("notifications/cancelled").map(({ content }) => content["requestId"])
              : server.streamsClosed.filter((id) => id === ids.at(-1))
            assert.deepStrictEqual(told, repetition.cancels ? [ids.at(-1)] : [], kind)
            yield* TaskServer.pass(3_600_000)
            assert.strictEqual(server.sentOf("tools/call").length, sends.length, kind)
          }
        })
    )
  }

  const pauses: ReadonlyArray<Pick<Repetition, "name" | "attempts" | "asked"> & { readonly era?: "legacy" }> = [
    { name: "before the first round", attempts: [busy, succeeds], asked: 0 },
    { name: "between rounds", attempts: [asks, busy, succeeds], asked: 1 },
    { name: "in the legacy era", era: "legacy", attempts: [busy, succeeds], asked: 0 }
  ]
  for (const pause of pauses) {
    verifies(
      ["RTY-11", "TMO-16", "MRT-11"],
      `ends in the pause ${pause.name}, of which the server learns nothing`,
      () =>
        Effect.gen(function*() {
          for (const kind of ["stdio", "streamable-http"]) {
            for (const end of ["cancel", "signal", "interrupt"] as const) {
              const { asked, client, server } = yield* repeating(pause, kind)
              const controller = new AbortController()
              const fiber = yield* Asking.start(
                client.callTool("work", {}, { requestId: "mine", signal: controller.signal, retry: later })
              )
              yield* sent("tools/call", pause.attempts.length - 1)(server)
              const before = server.sent.length
              if (end === "cancel") yield* client.cancel("mine", "why")
              else if (end === "signal") controller.abort("why")
              else yield* Fiber.interrupt(fiber)
              const exit = yield* Fiber.await(fiber)
              if (end === "interrupt") assert.isTrue(Exit.hasInterrupts(exit))
              else {
                const reason = Option.getOrUndefined(Exit.findErrorOption(exit))?.reason
                assert.deepStrictEqual(reason, new McpError.Cancelled({ reason: "why" }), end)
              }
              yield* TaskServer.pass(3_600_000)
              assert.strictEqual(server.sent.length, before, end)
              assert.strictEqual(asked(), pause.asked, end)
              assert.deepStrictEqual<unknown>(yield* client.callTool("next", {}, { requestId: "mine" }), Asking.done)
            }
          }
        })
    )
  }

  verifies(
    ["RTY-11", "ELI-08", "ELI-13"],
    "may be asked for during its repetition by a legacy server, which gets one reply and no text of a failure",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          for (const failing of [false, true]) {
            const calls: Array<Scripted.Received> = []
            const attempts: ReadonlyArray<Scripted.Handler> = [busy, (request) => void calls.push(request)]
            const { asked, client, server } = yield* repeating({ era: "legacy", attempts, failing }, kind)
            const fiber = yield* Asking.start(client.callTool("work", {}, { retry: later }))
            yield* sent("tools/call")(server)
            yield* TestClock.adjust("10 seconds")
            yield* sent("tools/call", 2)(server)
            calls[0]?.ask("q", "elicitation/create", form)
            yield* server.until(() => server.replies().length === 1)
            const [reply] = server.replies()
            const error = { code: -32603, message: "Elicitation handler error" }
            const expected = failing ? { error } : { result: { action: "decline" } }
            assert.deepStrictEqual<unknown>(reply, { jsonrpc: "2.0", id: "q", ...expected })
            calls[0]?.result(Asking.done)
            assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), Asking.done)
            assert.deepStrictEqual([asked(), calls.length, server.replies().length], [1, 1, 1])
          }
        }
      })
  )

  verifies(
    ["RTY-11", "TMO-01"],
    "leaves no handler of the attempt that failed behind, and the next one is not waited for on its account",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          const { handlers, interrupted } = pondering()
          const calls: Array<Scripted.Received> = []
          const server = yield* Scripted.legacy({ "tools/call": (request) => void calls.push(request) }, { kind })
          const client = yield* Asking.connectQuietly(server, { handlers })
          const fiber = yield* Asking.start(client.callTool("work", {}, { retry: later, idleTimeout: "1 second" }))
          yield* sent("tools/call")(server)
          calls[0]?.ask("q", "elicitation/create", form)
          yield* TaskServer.pass(5_000)
          assert.isUndefined(fiber.pollUnsafe(), kind)
          calls[0]?.fail(new McpError.HttpStatus({ status: 503 }), "refused")
          yield* Scripted.settled
          assert.strictEqual(interrupted(), 1, kind)
          yield* TestClock.adjust("10 seconds")
          yield* sent("tools/call", 2)(server)
          yield* TaskServer.pass(999)
          assert.isUndefined(fiber.pollUnsafe(), kind)
          yield* TaskServer.pass(1)
          const error = yield* Effect.flip(Fiber.join(fiber))
          assert.deepInclude(error.reason, { _tag: "RequestTimeout", kind: "idle", millis: 1_000 }, kind)
          // On the stream of the attempt nobody is left to hear it.
          const told = kind === "stdio"
            ? [{ jsonrpc: "2.0", id: "q", error: { code: -32603, message: "Cancelled" } }]
            : []
          assert.deepStrictEqual<unknown>(server.replies(), told, kind)
        }
      })
  )
})
