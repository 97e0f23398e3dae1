import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { type Json, McpError, Revision } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber, Option, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { ClientOptions, InputRequiredWait } from "../src/ClientOptions.ts"
import type { McpHandlers } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, inTurn } = Scripted
const { done, inputRequired, inputRequiredOf, problemOf } = Asking

const form = (message = "Who?"): Json.JsonObject => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: { name: { type: "string" } } } }
})
const page: Json.JsonObject = {
  method: "elicitation/create",
  params: { mode: "url", message: "Pay", url: "https://pay.example" }
}
const capital: Json.JsonObject = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 10 }
}

const paris = { role: "assistant", content: { type: "text", text: "Paris." }, model: "some-model" } as const

const everyHandler: McpHandlers = {
  elicitation: {
    form: ({ message }) => Effect.succeed({ action: "accept", content: { name: message } }),
    url: () => Effect.succeed(true)
  },
  sampling: { createMessage: () => Effect.succeed(paris) },
  roots: [{ uri: "file:///home/user/project", name: "Project" }]
}

interface Operation {
  readonly method: string
  readonly run: (client: Asking.Client, options?: Parameters<Asking.Client["callTool"]>[2]) => Effect.Effect<
    unknown,
    McpError.McpError
  >
  /** The caller's own params. */
  readonly params: Json.JsonObject
  readonly result: Json.JsonObject
}

const operations: ReadonlyArray<Operation> = [
  {
    method: "tools/call",
    run: (client, options) => client.callTool("work", { a: 1 }, options),
    params: { name: "work", arguments: { a: 1 } },
    result: { content: [{ type: "text", text: "done" }] }
  },
  {
    method: "prompts/get",
    run: (client, options) => client.getPrompt("greet", { who: "Ada" }, options),
    params: { name: "greet", arguments: { who: "Ada" } },
    result: { messages: [] }
  },
  {
    method: "resources/read",
    run: (client, options) => client.readResource("file:///a", options),
    params: { uri: "file:///a" },
    result: { contents: [{ uri: "file:///a", text: "A" }] }
  }
]

/** A modern server that answers a method with these in turn, and a client with every handler. */
const scripted = Effect.fnUntraced(function*(
  method: string,
  answers: ReadonlyArray<Scripted.Handler>,
  options?: ClientOptions,
  kind = "memory",
  more?: Scripted.Handlers
) {
  const server = yield* Scripted.modern({ [method]: inTurn(...answers), ...more }, { kind })
  const client = yield* Asking.connectQuietly(server, { handlers: everyHandler, ...options })
  return { server, client, sends: () => server.sentOf(method) }
})

const waiting = (state: string) => answer(inputRequired(undefined, state))

describe("A request that needs input first", () => {
  verifies(
    ["MRT-01", "MRT-02", "MRT-03", "PRO-03"],
    "is sent again with an answer to each question, and the state as it came, beside the caller's own params",
    () =>
      Effect.gen(function*() {
        const state = "eyJ\u0000 \"quoted\" \\ 世界 😀 {\"a\":1}\n"
        for (const { method, params, result, run } of operations) {
          const questions = { github_login: form(), pay: page, capital, roots: { method: "roots/list" }, "": form("2") }
          const { client, sends } = yield* scripted(method, [
            answer(inputRequired(questions, state)),
            answer(inputRequired({ again: form("more") })),
            answer(result)
          ])
          assert.deepStrictEqual<unknown>(yield* run(client), result)
          const [first, second, third] = sends()
          assert.deepStrictEqual(first?.content, params)
          assert.deepStrictEqual(second?.content, {
            ...params,
            inputResponses: {
              github_login: { action: "accept", content: { name: "Who?" } },
              pay: { action: "accept" },
              capital: paris,
              roots: { roots: [{ uri: "file:///home/user/project", name: "Project" }] },
              "": { action: "accept", content: { name: "2" } }
            },
            requestState: state
          })
          // Neither the answers nor the state of the round before.
          assert.deepStrictEqual(third?.content, {
            ...params,
            inputResponses: { again: { action: "accept", content: { name: "more" } } }
          })
          const ids = [first?.id, second?.id, third?.id]
          assert.strictEqual(new Set(ids).size, 3)
          for (const { id, meta } of sends()) {
            assert.strictEqual(meta["progressToken"], id)
            assert.deepStrictEqual(Object.keys(meta).sort(), Object.keys(first?.meta ?? {}).sort())
          }
        }
      })
  )

  verifies("MRT-03", "sends an empty state back too, and a caller's id only once", () =>
    Effect.gen(function*() {
      const { client, sends } = yield* scripted("tools/call", [answer(inputRequired({ q: form() }, "")), answer(done)])
      yield* client.callTool("work", {}, { requestId: "mine", meta: { "example.com/a": 1 } })
      const [first, second] = sends()
      assert.strictEqual(first?.id, "mine")
      assert.notStrictEqual(second?.id, "mine")
      assert.strictEqual(second?.params["requestState"], "")
      for (const { meta } of sends()) assert.strictEqual(meta["example.com/a"], 1)
    }))

  verifies("MRT-03", "keeps answers and state out of every other request", () =>
    Effect.gen(function*() {
      const { client, server } = yield* scripted("tools/call", [Scripted.never])
      const first = yield* Asking.start(client.callTool("first"))
      const second = yield* Asking.start(client.callTool("second"))
      const one = yield* server.take("tools/call")
      const other = yield* server.take("tools/call")
      one.result(inputRequired({ q: form() }, "one"))
      other.result(inputRequired({ p: form() }, "other"))
      const again = yield* server.take("tools/call")
      const otherAgain = yield* server.take("tools/call")
      assert.deepStrictEqual(
        [again, otherAgain].map(({ params }) => [
          params["name"],
          params["requestState"],
          Object.keys(params["inputResponses"] ?? {})
        ]),
        [["first", "one", ["q"]], ["second", "other", ["p"]]]
      )
      again.result(done)
      otherAgain.result(done)
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      yield* Asking.start(client.callTool("third"))
      assert.deepStrictEqual((yield* server.take("tools/call")).params["name"], "third")
      assert.isFalse(Object.hasOwn(server.sentOf("tools/call").at(-1)?.params ?? {}, "requestState"))
    }))

  verifies("MRT-01", "is no answer to any other method, nor of a legacy server", () =>
    Effect.gen(function*() {
      const question = answer(inputRequired({ q: form() }, "s"))
      const server = yield* Scripted.modern({
        "tools/list": question,
        "prompts/list": question,
        "resources/list": question,
        "resources/templates/list": question,
        "completion/complete": question,
        "vendor/ask": question
      })
      const client = yield* Asking.connectQuietly(server, { handlers: everyHandler })
      const requests: ReadonlyArray<Effect.Effect<unknown, McpError.McpError>> = [
        client.listTools(),
        client.listPrompts(),
        client.listResources(),
        client.listResourceTemplates(),
        client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }),
        client.request("vendor/ask", {}, Schema.Unknown)
      ]
      for (const request of requests) {
        assert.strictEqual((yield* Effect.flip(request)).reason._tag, "MalformedMessage")
      }
      for (const { method, run } of operations) {
        const legacy = yield* Scripted.legacy({ [method]: question })
        const error = yield* Effect.flip(run(yield* Asking.connectQuietly(legacy, { handlers: everyHandler })))
        assert.strictEqual(error.reason._tag, "MalformedMessage")
        assert.strictEqual(legacy.sentOf(method).length, 1)
      }
    }))

  verifies(
    ["MRT-04", "ERR-11", "MRT-07"],
    "fails where what is asked is malformed, and tells what that was",
    () =>
      Effect.gen(function*() {
        for (const { method, params, run } of operations) {
          for (
            const [inputRequests, requestState] of [
              [undefined, undefined],
              [{ q: form() }, 7],
              [[form()], "s"],
              ["x", "s"],
              [{ q: null }, "s"],
              [{ q: { params: {} } }, "s"],
              [{ q: { method: "tools/list" } }, "s"],
              [{ q: { method: "elicitation/create" } }, "s"],
              [{ q: { method: "elicitation/create", params: { message: 7 } } }, "s"],
              [{ ok: form(), q: { method: "ping" } }, "s"]
            ] as const
          ) {
            const { client, sends } = yield* scripted(method, [
              answer({ resultType: "input_required", inputRequests, requestState })
            ])
            const error = yield* Effect.flip(run(client))
            const required = inputRequiredOf(error)
            assert.strictEqual(required.problem, "malformed", JSON.stringify(inputRequests))
            assert.strictEqual(error.delivery, "refused")
            assert.strictEqual(required.requestMethod, method)
            assert.deepStrictEqual(required.requestParams, params)
            assert.deepStrictEqual(required.inputRequests, inputRequests)
            assert.strictEqual(required.requestState, requestState === "s" ? "s" : undefined)
            assert.strictEqual(required.isResumable, requestState === "s")
            assert.strictEqual(sends().length, 1)
          }
        }
      })
  )

  verifies(
    ["MRT-04", "MRT-13"],
    "fails where one question cannot be answered, without asking the rest",
    () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const handlers: McpHandlers = {
          elicitation: {
            form: ({ message }) =>
              Effect.suspend(() => {
                asked.push(message)
                return message === "bad" ? Effect.fail("secret") : Effect.succeed({ action: "cancel" as const })
              })
          }
        }
        const questions = { a: form("good"), b: form("bad"), c: form("after") }
        const { client, sends } = yield* scripted("tools/call", [answer(inputRequired(questions, "s"))], { handlers })
        const error = yield* Effect.flip(client.callTool("work"))
        assert.strictEqual(problemOf(error), "handler-failed")
        assert.deepStrictEqual(asked, ["good", "bad"])
        assert.strictEqual(sends().length, 1)
        const unhandled = yield* scripted("tools/call", [answer(inputRequired({ q: capital }, "s"))], { handlers })
        assert.strictEqual(problemOf(yield* Effect.flip(unhandled.client.callTool("work"))), "unhandled")
      })
  )

  verifies(["MRT-04", "ERR-11"], "ends after ten rounds", () =>
    Effect.gen(function*() {
      for (const { method, params, run } of operations) {
        let asked = 0
        const handlers: McpHandlers = {
          elicitation: { form: () => Effect.sync(() => ({ action: "decline" as const, asked: asked++ })) }
        }
        const { client, sends } = yield* scripted(method, [answer(inputRequired({ q: form() }, "s"))], { handlers })
        const required = inputRequiredOf(yield* Effect.flip(run(client)))
        assert.strictEqual(required.problem, "too-many-rounds")
        assert.deepStrictEqual(required.inputRequests, { q: form() })
        assert.strictEqual(required.requestState, "s")
        assert.deepStrictEqual(required.requestParams, params)
        assert.deepStrictEqual([asked, sends().length], [10, 11])
      }
    }))
})

describe("A server that only wants to be asked again", () => {
  /** When each of the requests went out, in milliseconds after the first. */
  const timesOf = Effect.fnUntraced(function*(
    answers: ReadonlyArray<Scripted.Handler>,
    seconds: number,
    options?: ClientOptions
  ) {
    let now = 0
    const times: Array<number> = []
    const timed = answers.map((handler): Scripted.Handler => (request) => {
      times.push(now)
      handler(request)
    })
    const { client } = yield* scripted("tools/call", timed, options)
    const fiber = yield* Asking.start(Effect.result(client.callTool("work")))
    yield* Scripted.settled
    for (; now < seconds * 1_000;) {
      now += 500
      yield* TestClock.adjust(500)
      yield* Scripted.settled
    }
    return { times, outcome: yield* Fiber.join(fiber) }
  })

  verifies("MRT-05", "is asked after 0.5 s, doubling to 5 s, ten times at most", () =>
    Effect.gen(function*() {
      const { outcome, times } = yield* timesOf([waiting("s")], 45)
      assert.deepStrictEqual(times, [0, 500, 1500, 3500, 7500, 12500, 17500, 22500, 27500, 32500, 37500])
      assert.isTrue(outcome._tag === "Failure" && problemOf(outcome.failure) === "too-many-rounds")
    }))

  verifies(
    "MRT-05",
    "is asked as slowly where its questions are none, and faster again after a question",
    () =>
      Effect.gen(function*() {
        const none = answer(inputRequired({}, "s"))
        const { outcome, times } = yield* timesOf(
          [none, waiting("s"), none, answer(inputRequired({ q: form() }, "s")), waiting("s"), answer(done)],
          6
        )
        assert.deepStrictEqual(times, [0, 500, 1500, 3500, 3500, 4000])
        assert.strictEqual(outcome._tag, "Success")
      })
  )

  verifies(["MRT-03", "MRT-05"], "gets its newest state back, and no answers", () =>
    Effect.gen(function*() {
      const { client, sends } = yield* scripted("tools/call", [
        answer(inputRequired({ q: form() }, "1")),
        waiting("2"),
        waiting("3"),
        answer(done)
      ])
      const fiber = yield* Asking.start(client.callTool("work"))
      yield* Scripted.settled
      yield* TestClock.adjust("0.5 seconds")
      yield* Scripted.settled
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        sends().map(({ content }) => [content["requestState"], Object.hasOwn(content, "inputResponses")]),
        [[undefined, false], ["1", true], ["2", false], ["3", false]]
      )
    }))

  verifies(
    ["MRT-06", "MRT-16", "MRT-17"],
    "is waited for as the host decides, which hears of each wait",
    () =>
      Effect.gen(function*() {
        for (const { method, result, run } of operations) {
          const waits: Array<InputRequiredWait> = []
          const withMeta = answer({ ...inputRequired(undefined, "s1"), _meta: { "example.com/progress": 0.5 } })
          const { client, sends } = yield* scripted(method, [withMeta, waiting("s2"), answer(result)], {
            onInputRequiredWait: (wait) =>
              Effect.sync(() => {
                waits.push(wait)
                return "wait"
              })
          })
          const fiber = yield* Asking.start(run(client))
          yield* Scripted.settled
          yield* TestClock.adjust("499 millis")
          assert.strictEqual(sends().length, 1)
          yield* TestClock.adjust("1 millis")
          yield* Scripted.settled
          assert.strictEqual(sends().length, 2)
          yield* TestClock.adjust("1 second")
          yield* Fiber.join(fiber)
          assert.deepStrictEqual(waits, [
            {
              method,
              round: 0,
              delayMillis: 500,
              elapsedMillis: 0,
              requestState: "s1",
              result: { resultType: "input_required", requestState: "s1", _meta: { "example.com/progress": 0.5 } }
            },
            {
              method,
              round: 1,
              delayMillis: 1_000,
              elapsedMillis: 500,
              requestState: "s2",
              result: { resultType: "input_required", requestState: "s2" }
            }
          ])
        }
      })
  )

  verifies(
    ["MRT-06", "MRT-10", "MRT-17"],
    "is asked at once where the host says retry, which keeps the pace and counts",
    () =>
      Effect.gen(function*() {
        const delays: Array<number> = []
        const { client, sends } = yield* scripted("tools/call", [waiting("s")], {
          onInputRequiredWait: ({ delayMillis }) =>
            Effect.sync(() => {
              delays.push(delayMillis)
              return "retry"
            })
        })
        const error = yield* Effect.flip(client.callTool("work"))
        assert.strictEqual(problemOf(error), "too-many-rounds")
        assert.deepStrictEqual(delays, [500, 1000, 2000, 4000, 5000, 5000, 5000, 5000, 5000, 5000])
        assert.strictEqual(sends().length, 11)
      })
  )

  verifies(
    ["MRT-06", "MRT-16", "MRT-07"],
    "is left alone at once where the host says cancel, and the call can be resumed",
    () =>
      Effect.gen(function*() {
        for (const { method, params, run } of operations) {
          const { client, sends } = yield* scripted(method, [waiting("s")], {
            onInputRequiredWait: () => Effect.succeed("cancel")
          })
          const required = inputRequiredOf(yield* Effect.flip(run(client)))
          assert.strictEqual(required.problem, "stopped")
          assert.isTrue(required.isResumable)
          assert.deepStrictEqual([required.requestMethod, required.requestParams, required.requestState], [
            method,
            params,
            "s"
          ])
          assert.strictEqual(sends().length, 1)
        }
      })
  )

  verifies(
    ["MRT-09", "MRT-07"],
    "is not waited for beyond the deadline, in a pause or in the host's decision",
    () =>
      Effect.gen(function*() {
        const deciding: ReadonlyArray<ClientOptions["onInputRequiredWait"]> = [
          undefined,
          () => Effect.succeed("wait"),
          () => Effect.delay(Effect.succeed("retry" as const), "1 hour"),
          () => Effect.never
        ]
        for (const onInputRequiredWait of deciding) {
          const { client, sends } = yield* scripted("tools/call", [waiting("s")], { onInputRequiredWait })
          const fiber = yield* Asking.start(client.callTool("work", {}, { deadline: "3 seconds" }))
          for (let i = 0; i < 6; i++) {
            yield* Scripted.settled
            yield* TestClock.adjust("500 millis")
          }
          const error = yield* Effect.flip(Fiber.join(fiber))
          const required = inputRequiredOf(error)
          assert.strictEqual(required.problem, "deadline")
          assert.isTrue(required.isResumable)
          assert.isAtMost(sends().length, 3)
        }
      })
  )

  verifies(
    ["MRT-09", "MRT-10"],
    "is asked again by retry as long as the deadline has not passed",
    () =>
      Effect.gen(function*() {
        const { client } = yield* scripted("tools/call", [waiting("s"), answer(done)], {
          // The pause itself would end after the deadline.
          onInputRequiredWait: () => Effect.delay(Effect.succeed("retry" as const), "900 millis")
        })
        const fiber = yield* Asking.start(client.callTool("work", {}, { deadline: "1 second" }))
        yield* Scripted.settled
        yield* TestClock.adjust("900 millis")
        yield* Fiber.join(fiber)
      })
  )

  verifies(
    ["MRT-09", "MRT-07"],
    "a handler is given no more than the deadline, and the call can be resumed",
    () =>
      Effect.gen(function*() {
        let interrupted = false
        const handlers: McpHandlers = {
          elicitation: {
            form: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => (interrupted = true)))
          }
        }
        const { client } = yield* scripted("tools/call", [answer(inputRequired({ q: form() }, "s"))], { handlers })
        const fiber = yield* Asking.start(client.callTool("work", {}, { deadline: "3 seconds" }))
        yield* Scripted.settled
        yield* TestClock.adjust("3 seconds")
        const required = inputRequiredOf(yield* Effect.flip(Fiber.join(fiber)))
        assert.deepStrictEqual([required.problem, required.requestState, interrupted], ["deadline", "s", true])
      })
  )
})

describe("A round that is made by hand", () => {
  verifies(
    ["MRT-15", "MRT-04"],
    "is told what is asked, and goes on with its own answers and state, which belong to it alone",
    () =>
      Effect.gen(function*() {
        for (const { method, params, result } of operations) {
          const { client, sends } = yield* scripted(method, [
            answer(inputRequired({ q: form() }, "1")),
            answer(inputRequired({ p: form() })),
            answer(result)
          ], { handlers: {} })
          const first = inputRequiredOf(yield* Effect.flip(client.request(method, params, Schema.Unknown)))
          assert.deepStrictEqual<unknown>([first.inputRequests, first.requestState], [{ q: form() }, "1"])
          const given = { inputResponses: { q: { action: "decline" } }, requestState: first.requestState }
          const second = yield* Effect.flip(client.request(method, { ...params, ...given }, Schema.Unknown))
          const required = inputRequiredOf(second)
          assert.deepStrictEqual<unknown>([required.inputRequests, required.requestState], [{ p: form() }, undefined])
          assert.deepStrictEqual(required.requestParams, params)
          assert.deepStrictEqual<unknown>(yield* client.request(method, params, Schema.Unknown), result)
          assert.deepStrictEqual(sends().map(({ content }) => content), [params, { ...params, ...given }, params])
        }
      })
  )

  verifies(
    ["MRT-15", "MRT-03"],
    "is followed by rounds of the client that carry nothing of it",
    () =>
      Effect.gen(function*() {
        const { client, sends } = yield* scripted("tools/call", [
          answer(inputRequired({ q: form("Next?") })),
          waiting("3"),
          answer(done)
        ], { onInputRequiredWait: () => Effect.succeed("retry") })
        const own = { name: "work", arguments: {} }
        const given = { ...own, inputResponses: { old: { action: "decline" } }, requestState: "old" }
        yield* client.request("tools/call", given, Schema.Unknown)
        assert.deepStrictEqual<unknown>(sends().map(({ content }) => content), [
          given,
          { ...own, inputResponses: { q: { action: "accept", content: { name: "Next?" } } } },
          { ...own, requestState: "3" }
        ])
      })
  )
})

describe("resume", () => {
  verifies(
    ["MRT-07", "MRT-08"],
    "goes on with the state and without answers, under the same handlers",
    () =>
      Effect.gen(function*() {
        for (const { method, params, result, run } of operations) {
          let stop = true
          const { client, sends } = yield* scripted(method, [
            answer(inputRequired({ q: form() }, "1")),
            waiting("2"),
            answer(inputRequired({ p: form() }, "3")),
            answer(result)
          ], { onInputRequiredWait: () => Effect.succeed(stop ? "cancel" : "retry") })
          const required = inputRequiredOf(yield* Effect.flip(run(client)))
          stop = false
          assert.deepStrictEqual<unknown>(yield* client.resume(required, { meta: { "example.com/a": 1 } }), result)
          assert.deepStrictEqual(sends().slice(2).map(({ content }) => content), [
            { ...params, requestState: "2" },
            { ...params, inputResponses: { p: { action: "accept", content: { name: "Who?" } } }, requestState: "3" }
          ])
          assert.strictEqual(sends()[2]?.meta["example.com/a"], 1)
        }
      })
  )

  verifies(
    ["MRT-08", "ERR-11"],
    "refuses what has nothing to go on from, and sends nothing",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* scripted("tools/call", [answer(done)])
        const before = server.sent.length
        const requestParams = { name: "work" }
        for (
          const members of [
            { requestMethod: "tools/call", requestParams },
            { requestMethod: "tools/list", requestParams, requestState: "s" },
            { requestMethod: "tools/call", requestParams: "work", requestState: "s" },
            { requestMethod: "tools/call", requestParams: {}, requestState: "s" },
            { requestMethod: "resources/read", requestParams, requestState: "s" }
          ]
        ) {
          const required = new McpError.InputRequired({ problem: "deadline", ...members })
          const error = yield* Effect.flip(client.resume(required))
          assert.strictEqual(error.reason._tag, "InvalidRequest")
          assert.strictEqual(error.delivery, "unsent")
        }
        assert.strictEqual(server.sent.length, before)
      })
  )

  verifies(
    ["MRT-07", "HDR-09"],
    "of a call mirrors its arguments into headers and may end in a task, as the call would",
    () =>
      Effect.gen(function*() {
        const inputSchema = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } }
        const { client, server } = yield* scripted(
          "tools/call",
          [waiting("s"), answer(done)],
          { onInputRequiredWait: () => Effect.succeed("cancel") },
          "streamable-http",
          { "tools/list": answer({ tools: [{ name: "query", inputSchema }] }) }
        )
        const routing: Array<unknown> = []
        const required = inputRequiredOf(yield* Effect.flip(client.callTool("query", { region: "eu" })))
        yield* client.resume(required)
        for (let i = 0; i < 2; i++) routing.push((yield* server.take("tools/call")).outgoing.routing)
        assert.deepStrictEqual(routing, [
          { name: "query", params: [["Region", "eu"]] },
          { name: "query", params: [["Region", "eu"]] }
        ])
      })
  )
})

describe("What else becomes of a round", () => {
  const questions = [{ q1: form("1") }, { q2: form("2") }]
  const unsupported: Scripted.Handler = ({ error }) =>
    error(-32022, "no", { supported: [Revision.latestModern.version], requested: Revision.latestModern.version })
  const mismatch: Scripted.Handler = ({ error }) => error(-32020, "Header mismatch", undefined, 400)

  /** The content of each send: the caller's own, then that of round one, then that of round two. */
  const contents: ReadonlyArray<Json.JsonObject> = [
    { name: "query", arguments: {} },
    {
      name: "query",
      arguments: {},
      inputResponses: { q1: { action: "accept", content: { name: "1" } } },
      requestState: "s1"
    },
    {
      name: "query",
      arguments: {},
      inputResponses: { q2: { action: "accept", content: { name: "2" } } },
      requestState: "s2"
    }
  ]
  const rounds = [
    answer(inputRequired(questions[0], "s1")),
    answer(inputRequired(questions[1], "s2")),
    answer(done)
  ]

  verifies(
    "MRT-11",
    "a refused revision that is listed, or refused headers, have that round sent again as it was",
    () =>
      Effect.gen(function*() {
        for (const recoveries of [[unsupported], [mismatch], [unsupported, mismatch], [mismatch, unsupported]]) {
          for (const at of [0, 1, 2]) {
            const script = [...rounds.slice(0, at), ...recoveries, ...rounds.slice(at)]
            const { client, sends, server } = yield* scripted("tools/call", script, {}, "streamable-http", {
              "tools/list": answer({ tools: [{ name: "query", inputSchema: { type: "object" } }] })
            })
            yield* client.callTool("query")
            const expected = [
              ...contents.slice(0, at),
              ...recoveries.flatMap(() => contents.slice(at, at + 1)),
              ...contents.slice(at)
            ]
            assert.deepStrictEqual(sends().map(({ content }) => content), expected)
            assert.strictEqual(new Set(sends().map(({ id }) => id)).size, expected.length)
            // Once because the tool was unknown, and once for each mismatch.
            const refreshes = recoveries.filter((recovery) => recovery === mismatch).length
            assert.strictEqual(server.sentOf("tools/list").length, 1 + refreshes)
          }
        }
      })
  )

  verifies("MRT-11", "at every round anew, and twice in one round not at all", () =>
    Effect.gen(function*() {
      const each = rounds.flatMap((round) => [unsupported, mismatch, round])
      const { client, sends } = yield* scripted("tools/call", each, {}, "streamable-http", {
        "tools/list": answer({ tools: [{ name: "query", inputSchema: { type: "object" } }] })
      })
      yield* client.callTool("query")
      assert.strictEqual(sends().length, 9)
      for (
        const [recovery, tag] of [[unsupported, "UnsupportedProtocolVersion"], [mismatch, "HeaderMismatch"]] as const
      ) {
        const script = [answer(inputRequired(questions[0], "s1")), recovery, recovery, answer(done)]
        const twice = yield* scripted("tools/call", script, {}, "streamable-http", {
          "tools/list": answer({ tools: [{ name: "query", inputSchema: { type: "object" } }] })
        })
        const { reason } = yield* Effect.flip(twice.client.callTool("query"))
        assert.strictEqual(reason._tag, tag)
        assert.strictEqual(twice.sends().length, 3)
      }
    }))

  verifies(
    "MRT-11",
    "a connection that is lost ends the call, at whatever round, and the client goes on",
    () =>
      Effect.gen(function*() {
        for (const at of [0, 1, 2]) {
          const lost: Scripted.Handler = ({ connection }) => connection.exit(1)
          const { client, sends } = yield* scripted(
            "tools/call",
            [...rounds.slice(0, at), lost, answer(done)],
            {},
            "stdio"
          )
          const error = yield* Effect.flip(client.callTool("query"))
          assert.strictEqual(error.reason._tag, "AmbiguousDelivery")
          assert.strictEqual(sends().length, at + 1)
          yield* client.callTool("other")
          // What belonged to the call that was lost stays with it.
          assert.deepStrictEqual(sends().at(-1)?.content, { name: "other", arguments: {} })
        }
      })
  )

  verifies(
    "MRT-11",
    "a connection that is lost while somebody is asked fails the round that follows",
    () =>
      Effect.gen(function*() {
        let server: Scripted.Server | undefined
        const handlers: McpHandlers = {
          elicitation: {
            form: () =>
              Effect.sync(() => {
                server?.links[0]?.exit(1)
                return { action: "decline" as const }
              })
          }
        }
        const made = yield* scripted("tools/call", [answer(inputRequired(questions[0], "s1"))], { handlers }, "stdio")
        server = made.server
        const error = yield* Effect.flip(made.client.callTool("query"))
        assert.strictEqual(error.reason._tag, "ConnectionClosed")
        assert.strictEqual(error.delivery, "unsent")
        assert.strictEqual(made.sends().length, 1)
      })
  )
})

describe("-32042 of 2025-11-25", () => {
  const visit = (elicitationId: string): Json.JsonObject => ({
    mode: "url",
    message: `Visit ${elicitationId}`,
    url: `https://auth.example/${elicitationId}`,
    elicitationId
  })
  const required = (...elicitations: ReadonlyArray<unknown>): Scripted.Handler => ({ error }) =>
    error(-32042, "This request requires more information.", { elicitations })

  const visiting = (agree: (id: string | undefined) => boolean) => {
    const visited: Array<string> = []
    const handlers: McpHandlers = {
      elicitation: {
        url: ({ elicitationId, url }) =>
          Effect.sync(() => {
            visited.push(url)
            return { action: agree(elicitationId) ? "accept" as const : "decline" as const }
          })
      }
    }
    return { visited, handlers }
  }

  const onLegacy = Effect.fnUntraced(function*(
    answers: ReadonlyArray<Scripted.Handler>,
    handlers: McpHandlers,
    version: Asking.LegacyVersion = "2025-11-25",
    options?: ClientOptions
  ) {
    const server = yield* Scripted.legacy({ "tools/call": inTurn(...answers) }, { version })
    const client = yield* Asking.connectQuietly(server, { handlers, ...options })
    return { client, server, sends: () => server.sentOf("tools/call") }
  })

  verifies(
    ["ELI-03", "MRT-02"],
    "has the user visit the pages, then the request is made again",
    () =>
      Effect.gen(function*() {
        const { handlers, visited } = visiting(() => true)
        const { client, sends } = yield* onLegacy([required(visit("a"), visit("b")), answer(done)], handlers)
        const call = yield* Asking.start(client.callTool("work", { a: 1 }))
        yield* Scripted.settled
        assert.deepStrictEqual(visited, ["https://auth.example/a", "https://auth.example/b"])
        // The server need not tell when the visits are over.
        yield* TestClock.adjust(499)
        assert.strictEqual(sends().length, 1)
        yield* TestClock.adjust(1)
        assert.deepStrictEqual<unknown>(yield* Fiber.join(call), done)
        assert.deepStrictEqual(sends().map(({ content }) => content), [
          { name: "work", arguments: { a: 1 } },
          { name: "work", arguments: { a: 1 } }
        ])
        assert.notStrictEqual(sends()[0]?.id, sends()[1]?.id)
      })
  )

  const completed = (server: Scripted.Server, elicitationId: unknown) =>
    Effect.andThen(
      Effect.sync(() =>
        server.links[0]?.notify("notifications/elicitation/complete", JSON.parse(JSON.stringify({ elicitationId })))
      ),
      Scripted.settled
    )

  verifies(
    "ELI-03",
    "makes the request again as soon as the server has told that every visit is over, be it before the user says so",
    () =>
      Effect.gen(function*() {
        const { handlers } = visiting(() => true)
        const { client, sends, server } = yield* onLegacy([
          required(visit("a"), visit("b")),
          required(visit("c"), visit("d")),
          answer(done)
        ], handlers)
        const call = yield* Asking.start(client.callTool("work"))
        yield* Scripted.settled
        // Of others, of nothing, and of one alone: it goes on waiting.
        for (const id of ["z", undefined, 7, "a", "a"]) yield* completed(server, id)
        assert.strictEqual(sends().length, 1)
        yield* completed(server, "b")
        assert.strictEqual(sends().length, 2)
        yield* completed(server, "c")
        assert.strictEqual(sends().length, 2)
        yield* completed(server, "d")
        assert.deepStrictEqual<unknown>(yield* Fiber.join(call), done)

        let early: Scripted.Server | undefined
        const slow: McpHandlers = {
          elicitation: {
            url: () => Effect.as(Effect.suspend(() => early === undefined ? Effect.void : completed(early, "a")), true)
          }
        }
        const second = yield* onLegacy([required(visit("a")), answer(done)], slow)
        early = second.server
        assert.deepStrictEqual<unknown>(yield* second.client.callTool("work"), done)
      })
  )

  verifies(
    ["ELI-03", "MRT-17"],
    "asks for no page twice, and waits longer each time it is named again, as the host decides",
    () =>
      Effect.gen(function*() {
        const { handlers, visited } = visiting(() => true)
        const { client, sends } = yield* onLegacy([required(visit("a"))], handlers)
        const call = yield* Asking.start(client.callTool("work"))
        yield* Scripted.settled
        const times = [0]
        for (let time = 500; time <= 250_000; time += 500) {
          yield* TestClock.adjust(500)
          if (sends().length > times.length) times.push(time)
        }
        yield* Effect.flip(Fiber.join(call))
        assert.deepStrictEqual(
          times,
          [0, 500, 1_500, 3_500, 7_500, 15_500, 31_500, 63_500, 123_500, 183_500, 243_500]
        )
        assert.deepStrictEqual(visited, ["https://auth.example/a"])

        const waits: Array<unknown> = []
        const steered = yield* onLegacy([required(visit("a"))], handlers, "2025-11-25", {
          onInputRequiredWait: ({ delayMillis, method, round }) =>
            Effect.sync(() => {
              waits.push([method, round, delayMillis])
              return round === 0 ? "retry" : "cancel"
            })
        })
        const { reason } = yield* Effect.flip(steered.client.callTool("work"))
        assert.isTrue(reason._tag === "InputRequired" && reason.problem === "stopped")
        assert.deepStrictEqual(waits, [["tools/call", 0, 500], ["tools/call", 1, 1_000]])
        assert.strictEqual(steered.sends().length, 2)
      })
  )

  verifies(
    ["ELI-03", "MRT-09"],
    "waits no longer than the call may take",
    () =>
      Effect.gen(function*() {
        const { handlers } = visiting(() => true)
        const { client, sends } = yield* onLegacy([required(visit("a")), answer(done)], handlers)
        const call = yield* Asking.start(client.callTool("work", {}, { deadline: 300 }))
        yield* Scripted.settled
        yield* TestClock.adjust(300)
        const { reason } = yield* Effect.flip(Fiber.join(call))
        assert.isTrue(reason._tag === "InputRequired" && reason.problem === "deadline")
        assert.strictEqual(sends().length, 1)
      })
  )

  verifies(
    "ELI-05",
    "is the error it is where the user does not agree, or cannot be asked",
    () =>
      Effect.gen(function*() {
        const disagree = visiting((id) => id !== "b").handlers
        const failing: McpHandlers = { elicitation: { url: () => Effect.fail("secret") } }
        const onlyForms: McpHandlers = { elicitation: { form: () => Effect.succeed({ action: "cancel" }) } }
        for (const handlers of [disagree, failing, onlyForms, {}]) {
          const { client, sends } = yield* onLegacy([required(visit("a"), visit("b")), answer(done)], handlers)
          const { reason } = yield* Effect.flip(client.callTool("work"))
          assert.isTrue(reason._tag === "ServerError" && reason.code === -32042)
          assert.deepStrictEqual(reason._tag === "ServerError" ? reason.data : undefined, {
            elicitations: [visit("a"), visit("b")]
          })
          assert.strictEqual(sends().length, 1)
        }
      })
  )

  verifies("ELI-03", "ends after ten rounds with the error", () =>
    Effect.gen(function*() {
      const { handlers, visited } = visiting(() => true)
      let page = 0
      const { client, sends } = yield* onLegacy(
        [(sent) => required(visit(`p${page++}`))(sent)],
        handlers,
        "2025-11-25",
        {
          onInputRequiredWait: () => Effect.succeed("retry")
        }
      )
      const { reason } = yield* Effect.flip(client.callTool("work"))
      assert.strictEqual(reason._tag, "ServerError")
      assert.deepStrictEqual([visited.length, sends().length], [10, 11])
    }))

  verifies(
    "ELI-03",
    "is an error like any other where its data are malformed, and in every other revision",
    () =>
      Effect.gen(function*() {
        const { handlers, visited } = visiting(() => true)
        for (const elicitations of [[{ url: "https://a.example" }], [7]]) {
          const { client } = yield* onLegacy([required(...elicitations)], handlers)
          assert.strictEqual((yield* Effect.flip(client.callTool("work"))).reason._tag, "ServerError")
        }
        for (const version of ["2024-11-05", "2025-03-26", "2025-06-18"] as const) {
          const { client } = yield* onLegacy([required(visit("a"))], handlers, version)
          assert.strictEqual((yield* Effect.flip(client.callTool("work"))).reason._tag, "ServerError")
        }
        const { client } = yield* scripted("tools/call", [required(visit("a"))], { handlers })
        assert.strictEqual((yield* Effect.flip(client.callTool("work"))).reason._tag, "ServerError")
        assert.isEmpty(visited)
      })
  )
})

describe("A schedule of retries", () => {
  const state = "{ \"a\": 1.0 } "
  const asks = answer(inputRequired({ q: form("Ada") }, state))
  const busy: Scripted.Handler = ({ fail }) => fail(new McpError.HttpStatus({ status: 503 }), "refused")
  const later = Schedule.spaced("10 seconds").pipe(Schedule.upTo({ times: 1 }))
  const given = { q: { action: "accept", content: { name: "Ada" } } }

  const counting = () => {
    let asked = 0
    const handlers: McpHandlers = {
      elicitation: {
        form: ({ message }) => Effect.sync(() => (asked++, { action: "accept" as const, content: { name: message } }))
      }
    }
    return { asked: () => asked, handlers }
  }

  verifies(
    ["MRT-11", "MRT-03", "RTY-01"],
    "by default repeats what only asks in every round, with its answers and state, and no call",
    () =>
      Effect.gen(function*() {
        for (const { method, params, result, run } of operations) {
          const { asked, handlers } = counting()
          const { client, sends } = yield* scripted(method, [busy, asks, busy, busy, answer(result)], { handlers })
          const times: Array<number> = []
          const fiber = yield* Asking.start(run(client))
          for (let millis = 0; millis <= 5_000; millis += 10) {
            yield* Scripted.settled
            while (times.length < sends().length) times.push(millis)
            if (fiber.pollUnsafe() !== undefined) break
            yield* TestClock.adjust(10)
          }
          const exit = yield* Fiber.await(fiber)
          if (method === "tools/call") {
            assert.strictEqual(Option.getOrUndefined(Exit.findErrorOption(exit))?.reason._tag, "HttpStatus")
            assert.deepStrictEqual([times, asked()], [[0], 0])
            continue
          }
          assert.isTrue(Exit.isSuccess(exit), method)
          const answered = { ...params, inputResponses: given, requestState: state }
          assert.deepStrictEqual(sends().map(({ content }) => content), [params, params, answered, answered, answered])
          assert.strictEqual(new Set(sends().map(({ id }) => id)).size, 5)
          assert.strictEqual(asked(), 1)
          // A round begins at once, and the schedule with it: 200 ms and 400 ms, within 20 % of jitter.
          const [, second = 0, third = 0, fourth = 0, fifth = 0] = times
          assert.strictEqual(third, second)
          for (const [waited, delay] of [[second, 200], [fourth - third, 200], [fifth - fourth, 400]] as const) {
            assert.isAtLeast(waited, delay * 0.8 - 10, method)
            assert.isAtMost(waited, delay * 1.2 + 10, method)
          }
        }
      })
  )

  verifies(
    ["MRT-11", "RTY-04", "RTY-06"],
    "does not take what a server was told to another session or connection",
    () =>
      Effect.gen(function*() {
        for (const { method, result, run } of operations) {
          const expired: Scripted.Handler = ({ fail }) => fail(new McpError.SessionExpired({ status: 404 }), "refused")
          const { asked, handlers } = counting()
          const http = yield* scripted(method, [asks, expired, answer(result)], { handlers }, "streamable-http")
          const error = yield* Effect.flip(run(http.client, { retry: later }))
          assert.deepStrictEqual([error.reason._tag, error.delivery], ["SessionExpired", "refused"], method)
          assert.deepStrictEqual([http.sends().length, asked()], [2, 1], method)
          // The next request has nothing of it.
          yield* run(http.client)
          assert.notProperty(http.sends()[2]?.content, "requestState")

          let server: Scripted.Server | undefined
          const leaving: McpHandlers = {
            elicitation: {
              form: () =>
                Effect.sync(() => {
                  server?.links[0]?.exit(1)
                  return { action: "decline" as const }
                })
            }
          }
          const stdio = yield* scripted(method, [asks, answer(result)], { handlers: leaving }, "stdio")
          server = stdio.server
          const closed = yield* Effect.flip(run(stdio.client, { retry: later }))
          assert.deepStrictEqual([closed.reason._tag, closed.delivery], ["ConnectionClosed", "unsent"], method)
          assert.strictEqual(stdio.sends().length, 1, method)
        }
      })
  )

  verifies(
    ["RTY-11", "MRT-13", "ELI-03"],
    "does not repeat what a handler for pages has failed at, whose text no server hears",
    () =>
      Effect.gen(function*() {
        let asked = 0
        const handlers: McpHandlers = {
          elicitation: { url: () => Effect.suspend(() => (asked++, Effect.fail("the secret"))) }
        }
        const silent = (server: Scripted.Server) => assert.notInclude(JSON.stringify(server.sent), "secret")
        const modern = yield* scripted("tools/call", [busy, answer(inputRequired({ p: page }, state))], { handlers })
        const call = yield* Asking.start(modern.client.callTool("work", {}, { retry: later }))
        yield* Scripted.settled
        yield* TestClock.adjust("10 seconds")
        const { problem, requestState } = inputRequiredOf(yield* Effect.flip(Fiber.join(call)))
        assert.deepStrictEqual([problem, requestState, asked], ["handler-failed", state, 1])
        assert.strictEqual(modern.sends().length, 2)
        silent(modern.server)

        const required: Scripted.Handler = ({ error }) =>
          error(-32042, "Visit it", {
            elicitations: [{ mode: "url", message: "Pay", url: "https://pay.example", elicitationId: "e" }]
          })
        const server = yield* Scripted.legacy({ "tools/call": inTurn(busy, required) }, { kind: "streamable-http" })
        const client = yield* Asking.connectQuietly(server, { handlers })
        const legacy = yield* Asking.start(client.callTool("work", {}, { retry: later }))
        yield* Scripted.settled
        yield* TestClock.adjust("10 seconds")
        const { reason } = yield* Effect.flip(Fiber.join(legacy))
        assert.isTrue(reason._tag === "ServerError" && reason.code === -32042)
        assert.deepStrictEqual([server.sentOf("tools/call").length, asked], [2, 2])
        silent(server)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(server.sentOf("tools/call").length, 2)
      })
  )
})
