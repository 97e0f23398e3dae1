import { assert, describe } from "@effect/vitest"
import * as OfficialSchema from "@mcp-effect/conformance/OfficialSchema"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { type Json, McpError } from "@mcp-effect/protocol"
import { Effect, Exit, Fiber, Schedule, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { McpHandlers } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"
import * as TaskServer from "./TaskServer.ts"

const { answer, inTurn, never } = Scripted
const { asking, completed, created, form, modern, pass, result, state, working } = TaskServer

const taskFailed = (error: McpError.McpError): McpError.TaskFailed => {
  if (error.reason._tag !== "TaskFailed") throw new Error(`not TaskFailed: ${error.reason._tag}`)
  return error.reason
}

/** Answers each form with its own message, and remembers the questions. */
const answering = () => {
  const asked: Array<string> = []
  const handlers: McpHandlers = {
    elicitation: {
      form: ({ message }) =>
        Effect.sync(() => {
          asked.push(message)
          return { action: "accept" as const, content: { name: message } }
        })
    }
  }
  return { asked, handlers }
}
const accepted = (name: string) => ({ action: "accept", content: { name } })

/** The tasks requests that were sent, without the call. */
const requests = (server: Scripted.Server) =>
  server.methods().filter((method) => method?.startsWith("tasks/") || method === "notifications/cancelled")

describe("The fixtures of these tests", () => {
  if (OfficialSchema.available) {
    verifiesPure("TAS-22", "are what the schema of the extension has", () => {
      const check = (type: string, value: unknown) =>
        assert.deepStrictEqual(OfficialSchema.validate("ext-tasks", type, value), [])
      check("CreateTaskResult", created())
      check("CreateTaskResult", created({ ttlMs: 60_000, pollIntervalMs: 5_000 }))
      check("GetTaskResult", state("working"))
      check("GetTaskResult", state("completed", { result }))
      check("GetTaskResult", state("failed", { error: { code: -32603, message: "x" } }))
      check("GetTaskResult", state("cancelled"))
      check("GetTaskResult", state("input_required", { inputRequests: { q: form("?") } }))
    })
  }
})

describe("callTool on a server that answers with a task", () => {
  verifies(
    ["TAS-02", "TAS-01", "TAS-19", "TAS-32"],
    "polls at once and then at the server's pace, and gives the result",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({
          call: answer(created({ pollIntervalMs: 60_000 })),
          get: [working({ pollIntervalMs: 5_000 }), working({ pollIntervalMs: 2_000 }), completed()]
        })
        const fiber = yield* Asking.start(client.callTool("long", { a: 1 }))
        const polls = () => server.sentOf("tasks/get").length
        yield* Scripted.settled
        assert.strictEqual(polls(), 1)
        yield* pass(4_999)
        assert.strictEqual(polls(), 1)
        yield* pass(1)
        assert.strictEqual(polls(), 2)
        yield* pass(1_999)
        assert.strictEqual(polls(), 2)
        yield* pass(1)
        assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
        assert.deepStrictEqual(server.sentOf("tools/call")[0]?.content, { name: "long", arguments: { a: 1 } })
        for (const { content } of server.sentOf("tasks/get")) assert.deepStrictEqual(content, { taskId: "t-1" })
        const capabilities = "io.modelcontextprotocol/clientCapabilities"
        for (const { meta } of server.sent) {
          assert.deepStrictEqual(meta[capabilities], { extensions: TaskServer.declared })
        }
      })
  )

  verifies(
    ["TAS-16", "TAS-33"],
    "waits 1 s where no pace is told, never less than 50 ms, and as long as the server wants",
    () =>
      Effect.gen(function*() {
        for (
          const [pollIntervalMs, pause] of [[undefined, 1_000], [0, 50], [49, 50], [51, 51], [
            86_400_000,
            86_400_000
          ]] as const
        ) {
          const { client, server } = yield* modern({ get: [working({ pollIntervalMs }), completed()] })
          const fiber = yield* Asking.start(client.callTool("long", {}, { deadline: "7 days" }))
          yield* pass(pause - 1)
          assert.strictEqual(server.sentOf("tasks/get").length, 1, String(pollIntervalMs))
          yield* pass(1)
          yield* Fiber.join(fiber)
        }
      })
  )

  verifies(
    ["TAS-01", "TAS-26", "CAP-06"],
    "takes it for malformed where the extension was not declared",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({ client: { extensions: {} } })
        const { reason } = yield* Effect.flip(client.callTool("long"))
        assert.strictEqual(reason._tag, "MalformedMessage")
        assert.isEmpty(requests(server))
      })
  )

  verifies("TAS-01", "takes it for malformed in answer to anything but a call", () =>
    Effect.gen(function*() {
      const { client } = yield* modern({ more: { "prompts/get": answer(created()), "tools/list": answer(created()) } })
      for (const request of [Effect.asVoid(client.getPrompt("p")), Effect.asVoid(client.listTools())]) {
        assert.strictEqual((yield* Effect.flip(request)).reason._tag, "MalformedMessage")
      }
    }))

  verifies(
    ["TAS-02", "TAS-08", "TAS-21"],
    "gives a result that says isError, since the task has completed",
    () =>
      Effect.gen(function*() {
        const isError = { content: [{ type: "text", text: "no" }], isError: true }
        const { client, server } = yield* modern({ get: [completed({ result: isError })] })
        assert.deepStrictEqual<unknown>(yield* client.callTool("long"), isError)
        assert.notInclude(server.methods(), "tasks/result")
      })
  )

  verifies(
    ["TAS-02", "MRT-02"],
    "may be asked first, and the task again under the same key",
    () =>
      Effect.gen(function*() {
        const { asked, handlers } = answering()
        const { client, server } = yield* modern({
          call: inTurn(answer(Asking.inputRequired({ name: form("round") }, "s")), answer(created())),
          get: [asking({ name: form("task") }), completed()],
          client: { handlers }
        })
        const fiber = yield* Asking.start(client.callTool("long"))
        yield* pass(1_000)
        assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
        assert.deepStrictEqual(asked, ["round", "task"])
        assert.deepStrictEqual(server.sentOf("tasks/update")[0]?.content, {
          taskId: "t-1",
          inputResponses: { name: accepted("task") }
        })
      })
  )

  verifies(
    ["TMO-03", "TAS-34", "TAS-05"],
    "cancels it with tasks/cancel at its one deadline, and sends no notifications/cancelled",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({ call: never, get: [working()] })
        const fiber = yield* Asking.start(client.callTool("long", {}, { deadline: "5 seconds" }))
        const call = yield* server.take("tools/call")
        // The call itself has used up some of the time.
        yield* pass(2_500)
        call.result(created())
        yield* pass(500, 5)
        const { reason } = yield* Effect.flip(Fiber.join(fiber))
        assert.isTrue(reason._tag === "RequestTimeout" && reason.kind === "deadline" && reason.millis === 5_000)
        yield* Scripted.settled
        assert.deepStrictEqual(requests(server), ["tasks/get", "tasks/get", "tasks/get", "tasks/cancel"])
        assert.deepStrictEqual(server.sentOf("tasks/cancel")[0]?.content, { taskId: "t-1" })
      })
  )

  verifies(
    ["TMO-03", "TAS-34", "TAS-27", "TAS-28"],
    "cancels it with tasks/cancel when it is interrupted, and does not wait for that",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          const { client, server } = yield* modern({ get: [working()], more: { "tasks/cancel": never }, kind })
          const fiber = yield* Asking.start(client.callTool("long"))
          yield* pass(1_500)
          yield* Fiber.interrupt(fiber)
          yield* server.until(() => server.sentOf("tasks/cancel").length === 1)
          const id = server.sentOf("tasks/cancel")[0]?.id
          const givenUp = () =>
            kind === "stdio"
              ? server.sentOf("notifications/cancelled").map(({ content }) => content["requestId"])
              : server.streamsClosed.filter((closed) => closed === id)
          yield* pass(999)
          assert.deepStrictEqual(givenUp(), [])
          // Nobody is there to hear it: it is given a second.
          yield* pass(1)
          assert.deepStrictEqual(givenUp(), [id])
          assert.strictEqual(server.sentOf("tasks/cancel").length, 1)
        }
      })
  )

  verifies(
    ["TAS-27", "CON-23"],
    "cancels it when the client closes, which closes the connection only when the server has heard of it, or after a second",
    () =>
      Effect.gen(function*() {
        for (const isAnswered of [true, false]) {
          const scope = yield* Scope.make()
          const { client, server } = yield* Scope.provide(
            modern({ get: [working()], more: { "tasks/cancel": never } }),
            scope
          )
          const fiber = yield* Asking.start(client.callTool("long"))
          yield* pass(1_500)
          yield* Fiber.interrupt(fiber)
          const closing = yield* Effect.forkScoped(Scope.close(scope, Exit.void), { startImmediately: true })
          const cancel = yield* server.take("tasks/cancel")
          yield* pass(999)
          assert.isFalse(server.links[0]?.closed)
          if (isAnswered) cancel.result({ resultType: "complete" })
          else yield* pass(1)
          yield* Fiber.join(closing)
          assert.isTrue(server.links[0]?.closed)
        }
      })
  )

  verifies(
    "TAS-34",
    "cancels it where its questions cannot be answered, since nobody can take it up",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({ get: [asking({ q: form("?") })] })
        const error = yield* Effect.flip(client.callTool("long"))
        assert.strictEqual(Asking.problemOf(error), "unhandled")
        yield* Scripted.settled
        assert.deepStrictEqual(requests(server), ["tasks/get", "tasks/cancel"])
      })
  )

  verifies(
    "TAS-34",
    "cancels it where its state cannot be had, but not where a handle is left to take it up",
    () =>
      Effect.gen(function*() {
        const refused: Scripted.Handler = ({ fail }) => fail(new McpError.HttpStatus({ status: 400 }), "refused")
        for (
          const get of [refused, answer(state("working", { status: 7 })), answer(state("working", { ttlMs: "x" }))]
        ) {
          const { client, server } = yield* modern({ get: [get] })
          yield* Effect.flip(client.callTool("long"))
          yield* Scripted.settled
          assert.deepStrictEqual(requests(server), ["tasks/get", "tasks/cancel"])
          const task = yield* client.startTool("long")
          yield* Effect.flip(task.await())
          yield* Scripted.settled
          assert.deepStrictEqual(requests(server), ["tasks/get", "tasks/cancel", "tasks/get"])
        }
      })
  )
})

describe("How a task ends", () => {
  verifies(
    ["TAS-21", "TAS-29"],
    "failed with its JSON-RPC error, or cancelled, is typed",
    () =>
      Effect.gen(function*() {
        const error = { code: -32050, message: "API rate\nlimit", data: { retry: 5 } }
        for (const kind of ["stdio", "streamable-http"]) {
          const failed = yield* modern({
            get: [answer(state("failed", { error, statusMessage: "rate limited" }))],
            kind
          })
          const failure = taskFailed(yield* Effect.flip(failed.client.callTool("long")))
          assert.deepStrictEqual(
            [failure.taskId, failure.problem, failure.code, failure.data, failure.excerpt],
            ["t-1", "failed", -32050, { retry: 5 }, "API rate\\nlimit"]
          )
          assert.notInclude(failure.message, "rate")
          const cancelled = yield* modern({ get: [answer(state("cancelled", { statusMessage: "by the user" }))], kind })
          const end = taskFailed(yield* Effect.flip(cancelled.client.callTool("long")))
          assert.deepStrictEqual([end.problem, end.code, end.excerpt], ["cancelled", undefined, "by the user"])
          yield* Scripted.settled
          assert.notInclude([...failed.server.methods(), ...cancelled.server.methods()], "tasks/cancel")
        }
      })
  )

  verifies(
    ["TAS-05", "TAS-19", "TAS-16"],
    "not within the time its server keeps it: polled once more then, and expired",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({
          call: answer(created({ ttlMs: 3_000 })),
          get: [working({ ttlMs: 3_000, pollIntervalMs: 2_000 })]
        })
        const fiber = yield* Asking.start(client.callTool("long"))
        yield* pass(500, 5)
        assert.strictEqual(server.sentOf("tasks/get").length, 2)
        yield* pass(500)
        assert.strictEqual(server.sentOf("tasks/get").length, 3)
        assert.strictEqual(taskFailed(yield* Effect.flip(Fiber.join(fiber))).problem, "expired")
      })
  )

  verifies("TAS-19", "by a time that each poll replaces, and null takes away", () =>
    Effect.gen(function*() {
      for (const ttlMs of [null, 3_600_000]) {
        const { client } = yield* modern({
          call: answer(created({ ttlMs: 1_000 })),
          get: [...Array.from({ length: 10 }, () => working({ ttlMs })), completed()]
        })
        const fiber = yield* Asking.start(client.callTool("long"))
        yield* pass(1_000, 10)
        yield* Fiber.join(fiber)
      }
      const shorter = yield* modern({
        call: answer(created({ ttlMs: 3_600_000 })),
        get: [working({ ttlMs: 3_600_000 }), working({ ttlMs: 1_500 })]
      })
      const fiber = yield* Asking.start(shorter.client.callTool("long"))
      yield* pass(500, 3)
      assert.strictEqual(taskFailed(yield* Effect.flip(Fiber.join(fiber))).problem, "expired")
    }))

  verifies(
    ["TAS-23", "TAS-06"],
    "-32602 means that the server does not know it; other errors are what they are",
    () =>
      Effect.gen(function*() {
        const unknown: Scripted.Handler = ({ error }) => error(-32602, "Unknown id", { a: 1 })
        const { client } = yield* modern({ get: [unknown] })
        const failure = taskFailed(yield* Effect.flip(client.callTool("long")))
        assert.deepStrictEqual([failure.problem, failure.code, failure.data], ["not-found", -32602, { a: 1 }])
        const broken = yield* modern({ get: [({ error }) => error(-32603, "broken")] })
        assert.strictEqual((yield* Effect.flip(broken.client.callTool("long"))).reason._tag, "ServerError")
        // Update and cancel name other parameters too: only a message about the task means it.
        for (
          const [message, tag] of [["Task not found", "TaskFailed"], ["invalid inputResponses", "ServerError"]] as const
        ) {
          const refuse: Scripted.Handler = ({ error }) => error(-32602, message)
          const made = yield* modern({ more: { "tasks/update": refuse, "tasks/cancel": refuse } })
          const task = yield* made.client.startTool("long")
          assert.strictEqual((yield* Effect.flip(task.cancel)).reason._tag, tag)
          assert.strictEqual((yield* Effect.flip(task.answer({ q: { action: "cancel" } }))).reason._tag, tag)
        }
      })
  )

  verifies(
    ["TAS-15", "TAS-23"],
    "replaced by another of its id, or answered as another, is typed",
    () =>
      Effect.gen(function*() {
        const replaced = yield* modern({ get: [working({ createdAt: "2026-11-26T00:00:00Z" })] })
        assert.strictEqual((yield* Effect.flip(replaced.client.callTool("long"))).reason._tag, "TaskReplaced")
        const other = yield* modern({ get: [working({ taskId: "t-2" })] })
        const { reason } = yield* Effect.flip(other.client.callTool("long"))
        assert.isTrue(reason._tag === "MalformedMessage" && reason.path === "/taskId")
      })
  )

  verifies("TAS-22", "in a shape that the extension does not have is malformed", () =>
    Effect.gen(function*() {
      const bad: ReadonlyArray<Json.JsonObject> = [
        state("working", { taskId: 7 }),
        state("paused"),
        state("working", { createdAt: "yesterday" }),
        state("working", { lastUpdatedAt: 5 }),
        state("working", { ttlMs: undefined }),
        state("working", { ttlMs: 1.5 }),
        state("working", { ttlMs: "60000" }),
        state("working", { pollIntervalMs: -1 }),
        state("working", { pollIntervalMs: 0.5 }),
        state("working", { statusMessage: 7 }),
        state("completed"),
        state("completed", { result: 7 }),
        state("completed", { result: { content: 7 } }),
        state("failed"),
        state("failed", { error: { message: "x" } }),
        state("failed", { error: { code: "x", message: "x" } }),
        state("input_required"),
        state("input_required", { inputRequests: { q: { method: "ping" } } })
      ]
      for (const answered of bad) {
        const { client } = yield* modern({ get: [answer(answered)] })
        const { reason } = yield* Effect.flip(client.callTool("long"))
        assert.strictEqual(reason._tag, "MalformedMessage", JSON.stringify(answered))
      }
      for (
        const made of [created({ taskId: 7 }), created({ ttlMs: undefined }), created({ status: "paused" }), {
          resultType: "task",
          task: created()
        }]
      ) {
        const { client, server } = yield* modern({ call: answer(made) })
        assert.strictEqual((yield* Effect.flip(client.callTool("long"))).reason._tag, "MalformedMessage")
        assert.isEmpty(requests(server))
      }
      // Two examples of the extension write the kind of a created task here.
      const lenient = yield* modern({ get: [completed({ resultType: "task" })] })
      assert.deepStrictEqual<unknown>(yield* lenient.client.callTool("long"), result)
    }))
})

describe("A poll", () => {
  verifies(
    ["TAS-17", "TAS-28"],
    "that is not answered within 30 s is made again; the deadline of the wait holds",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          const { client, server } = yield* modern({ get: [never, never, completed()], kind })
          const fiber = yield* Asking.start(client.callTool("long", {}, { deadline: "5 minutes" }))
          const first = yield* server.take("tasks/get")
          yield* TestClock.adjust("20 seconds")
          // Signs of life of the stream are none of the answer.
          first.alive()
          yield* TestClock.adjust("10 seconds")
          yield* server.until(() => server.sentOf("tasks/get").length === 2)
          yield* TestClock.adjust("30 seconds")
          assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
        }
        const hanging = yield* modern({ get: [never] })
        const fiber = yield* Asking.start(hanging.client.callTool("long", {}, { deadline: "40 seconds" }))
        yield* Scripted.settled
        yield* pass(10_000, 4)
        const { reason } = yield* Effect.flip(Fiber.join(fiber))
        assert.isTrue(reason._tag === "RequestTimeout" && reason.kind === "deadline")
        assert.strictEqual(hanging.server.sentOf("tasks/get").length, 2)
      })
  )

  const busy: Scripted.Handler = ({ fail }) => fail(new McpError.HttpStatus({ status: 503 }), "refused")

  verifies(
    ["TAS-12", "RTY-01"],
    "that fails for now is made again as the schedule says, each anew, and the call is not",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          // By default three times, after 200 ms, 400 ms and 800 ms with jitter.
          const get = [busy, busy, busy, working({ pollIntervalMs: 60_000 }), busy, busy, busy, completed()]
          const { client, server } = yield* modern({ get, kind })
          const polls = () => server.sentOf("tasks/get").length
          const fiber = yield* Asking.start(client.callTool("long", {}, { deadline: "5 minutes" }))
          yield* pass(100, 20)
          assert.strictEqual(polls(), 4)
          yield* pass(59_000)
          assert.strictEqual(polls(), 4)
          yield* pass(100, 30)
          assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
          assert.deepStrictEqual([polls(), server.sentOf("tools/call").length], [8, 1])
          assert.notInclude(server.methods(), "tasks/cancel")
        }
      })
  )

  verifies(
    ["TAS-12", "RTY-01", "TAS-18"],
    "and an answer are repeated as the caller's schedule says; when it is over, the task lives on and can be waited for",
    () =>
      Effect.gen(function*() {
        const retry = Schedule.spaced("10 seconds").pipe(Schedule.upTo({ times: 1 }))
        const { asked, handlers } = answering()
        const { client, server } = yield* modern({
          get: [busy, asking({ a: form("A") }), busy, busy, completed()],
          more: { "tasks/update": inTurn(busy, TaskServer.acknowledge) },
          client: { handlers }
        })
        const task = yield* client.startTool("long")
        const sends = () => requests(server).length
        const fiber = yield* Asking.start(task.await({ retry, deadline: "5 minutes" }))
        yield* Scripted.settled
        assert.strictEqual(sends(), 1)
        yield* pass(10_000)
        assert.deepStrictEqual(requests(server), ["tasks/get", "tasks/get", "tasks/update"])
        yield* pass(10_000)
        assert.deepStrictEqual(requests(server).slice(3), ["tasks/update"])
        yield* pass(1_000)
        yield* pass(10_000)
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason._tag, "HttpStatus")
        assert.deepStrictEqual(requests(server).slice(4), ["tasks/get", "tasks/get"])
        assert.deepStrictEqual<unknown>(yield* task.await(), result)
        assert.deepStrictEqual(asked, ["A"])
        const [first, second] = server.sentOf("tasks/update").map(({ content }) => content["inputResponses"])
        assert.deepStrictEqual([first, second], [{ a: accepted("A") }, { a: accepted("A") }])
      })
  )

  verifies(
    ["TAS-12", "TAS-13", "TAS-32"],
    "is made at once when the server announces a change of the task, and of no other",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({ get: [working({ pollIntervalMs: 600_000 }), completed()] })
        const heard = yield* Scripted.collect(client.notifications)
        const fiber = yield* Asking.start(client.callTool("long"))
        yield* Scripted.settled
        const notify = (taskId: string) =>
          server.links[0]?.notify("notifications/tasks", { ...state("working"), taskId })
        notify("t-2")
        server.links[0]?.notify("notifications/tools/list_changed")
        yield* Scripted.settled
        assert.strictEqual(server.sentOf("tasks/get").length, 1)
        notify("t-1")
        assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
        assert.deepStrictEqual(heard.map(({ method, params }) => [method, params?.["taskId"]]), [
          ["notifications/tasks", "t-2"],
          ["notifications/tools/list_changed", undefined],
          ["notifications/tasks", "t-1"]
        ])
      })
  )

  verifies(
    ["HDR-04", "TAS-06"],
    "names the task to the transport, as every request about it does",
    () =>
      Effect.gen(function*() {
        const { handlers } = answering()
        const { client, server } = yield* modern({
          get: [asking({ q: form("?") }), completed()],
          kind: "streamable-http",
          client: { handlers }
        })
        const task = yield* client.startTool("long")
        const fiber = yield* Asking.start(task.await())
        yield* pass(1_000)
        yield* Fiber.join(fiber)
        yield* task.cancel
        for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
          const { outgoing } = yield* server.take(method)
          assert.strictEqual(outgoing.routing?.name, "t-1", method)
        }
      })
  )
})

describe("What a task asks", () => {
  verifies(
    ["TAS-04", "TAS-18", "TAS-31"],
    "is answered with tasks/update, each key once, however long the server shows it",
    () =>
      Effect.gen(function*() {
        const { asked, handlers } = answering()
        const { client, server } = yield* modern({
          get: [
            asking({ a: form("A"), b: form("B") }),
            // The server is slow to take note, and asks something else beside.
            ...Array.from({ length: 12 }, () => asking({ a: form("A"), b: form("B") })),
            asking({ b: form("B"), c: form("C") }),
            completed()
          ],
          client: { handlers }
        })
        const fiber = yield* Asking.start(client.callTool("long"))
        yield* pass(1_000, 14)
        assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
        assert.deepStrictEqual(asked, ["A", "B", "C"])
        assert.deepStrictEqual(server.sentOf("tasks/update").map(({ content }) => content), [
          { taskId: "t-1", inputResponses: { a: accepted("A"), b: accepted("B") } },
          { taskId: "t-1", inputResponses: { c: accepted("C") } }
        ])
      })
  )

  verifies("TAS-18", "may be ten rounds of questions", () =>
    Effect.gen(function*() {
      const { asked, handlers } = answering()
      const { client, server } = yield* modern({
        get: Array.from({ length: 12 }, (_, index) => asking({ [`q${index}`]: form(String(index)) })),
        client: { handlers }
      })
      const fiber = yield* Asking.start(client.callTool("long"))
      yield* pass(1_000, 12)
      assert.strictEqual(Asking.problemOf(yield* Effect.flip(Fiber.join(fiber))), "too-many-rounds")
      assert.strictEqual(asked.length, 10)
      assert.strictEqual(server.sentOf("tasks/update").length, 10)
    }))

  verifies(
    ["TAS-20", "TAS-17"],
    "and whose answer may not have arrived is answered again with the same at the next poll",
    () =>
      Effect.gen(function*() {
        const { asked, handlers } = answering()
        const { client, server } = yield* modern({
          get: [asking({ a: form("A") }), asking({ a: form("A"), b: form("B") }), completed()],
          more: { "tasks/update": inTurn(never, TaskServer.acknowledge) },
          client: { handlers }
        })
        const fiber = yield* Asking.start(client.callTool("long"))
        yield* pass(30_000)
        yield* pass(1_000, 2)
        assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
        assert.deepStrictEqual(asked, ["A", "B"])
        assert.deepStrictEqual(server.sentOf("tasks/update").map(({ content }) => content["inputResponses"]), [
          { a: accepted("A") },
          { a: accepted("A"), b: accepted("B") }
        ])
      })
  )

  verifies(
    "TAS-20",
    "and whose answer the server refuses fails the wait, and may be asked for again",
    () =>
      Effect.gen(function*() {
        const { asked, handlers } = answering()
        const { client, server } = yield* modern({
          get: [asking({ a: form("A") }), asking({ a: form("A") }), completed()],
          more: { "tasks/update": inTurn(({ error }) => error(-32602, "a must be longer"), TaskServer.acknowledge) },
          client: { handlers }
        })
        const task = yield* client.startTool("long")
        const { reason } = yield* Effect.flip(task.await())
        assert.isTrue(reason._tag === "ServerError" && reason.code === -32602)
        const fiber = yield* Asking.start(task.await())
        yield* pass(1_000)
        assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
        assert.deepStrictEqual(asked, ["A", "A"])
        assert.strictEqual(server.sentOf("tasks/update").length, 2)
        assert.notInclude(server.methods(), "tasks/cancel")
      })
  )

  verifies(
    ["MRT-12", "MRT-13", "TAS-18"],
    "and is answered in part where a handler fails: what was answered is sent, and not asked again",
    () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        let broken = true
        const handlers: McpHandlers = {
          elicitation: {
            form: ({ message }) =>
              Effect.suspend(() => {
                asked.push(message)
                return message === "B" && broken
                  ? Effect.fail("secret")
                  : Effect.succeed({ action: "accept" as const, content: { name: message } })
              })
          }
        }
        const { client, server } = yield* modern({
          get: [
            asking({ a: form("A"), b: form("B"), c: form("C") }),
            asking({ a: form("A"), b: form("B"), c: form("C") }),
            completed()
          ],
          client: { handlers }
        })
        const task = yield* client.startTool("long")
        const error = yield* Effect.flip(task.await())
        assert.strictEqual(Asking.problemOf(error), "handler-failed")
        broken = false
        const fiber = yield* Asking.start(task.await())
        yield* pass(1_000)
        assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
        assert.deepStrictEqual(asked, ["A", "B", "B", "C"])
        assert.deepStrictEqual(server.sentOf("tasks/update").map(({ content }) => content["inputResponses"]), [
          { a: accepted("A") },
          { b: accepted("B"), c: accepted("C") }
        ])
      })
  )

  verifies(
    ["TAS-18", "TAS-30"],
    "is asked once of two who wait for it, through one handle or two",
    () =>
      Effect.gen(function*() {
        for (const restored of [false, true]) {
          const { asked, handlers } = answering()
          let isAnswered = false
          const { client, server } = yield* modern({
            get: [({ result: reply }) =>
              reply(
                isAnswered
                  ? state("completed", { result })
                  : state("input_required", { inputRequests: { a: form("A") } })
              )],
            client: { handlers }
          })
          const task = yield* client.startTool("long")
          const other = restored ? yield* client.task(task.serialized) : task
          assert.strictEqual(other.tool, "long")
          const fibers = [yield* Asking.start(task.await()), yield* Asking.start(other.await())]
          yield* server.until(() => server.sentOf("tasks/update").length === 1)
          isAnswered = true
          yield* pass(1_000)
          for (const fiber of fibers) assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
          assert.deepStrictEqual(asked, ["A"])
          assert.strictEqual(server.sentOf("tasks/update").length, 1)
        }
      })
  )

  verifies(
    ["TAS-06", "TAS-18", "TAS-31"],
    "may be answered by hand, each key once, and the wait goes on from there",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({
          get: [asking({ a: form("A") }), asking({ a: form("A") }), asking({ a: form("A") }), completed()]
        })
        const task = yield* client.startTool("long")
        const seen = yield* task.get
        assert.strictEqual(seen.status, "input_required")
        assert.deepStrictEqual(seen.inputRequests as unknown, { a: form("A") })
        const response = { action: "accept" as const, content: { name: "Luca" } }
        yield* task.answer({ a: response })
        yield* task.answer({ a: response })
        assert.deepStrictEqual(server.sentOf("tasks/update").map(({ content }) => content), [
          { taskId: "t-1", inputResponses: { a: response } }
        ])
        const fiber = yield* Asking.start(task.await())
        yield* pass(1_000, 2)
        assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), result)
        assert.strictEqual(server.sentOf("tasks/update").length, 1)
      })
  )

  verifies(
    "TAS-12",
    "in a notification is delivered as it is, and answered by nobody who does not wait for the task",
    () =>
      Effect.gen(function*() {
        const { asked, handlers } = answering()
        const { client, server } = yield* modern({ client: { handlers } })
        const heard = yield* Scripted.collect(client.notifications)
        yield* client.startTool("long")
        const params = state("input_required", { inputRequests: { a: form("A") } })
        server.links[0]?.notify("notifications/tasks", params)
        yield* pass(10_000)
        assert.deepStrictEqual(heard.map((notification) => notification.params), [params])
        assert.isEmpty(asked)
        assert.isEmpty(requests(server))
      })
  )
})

describe("A handle", () => {
  verifies(
    ["TAS-03", "TAS-07", "MOD-05", "TAS-33"],
    "is given at once, with everything that is known of the task",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({
          call: answer(created({ statusMessage: "queued", ttlMs: 60_000, pollIntervalMs: 5_000 })),
          get: [
            working(),
            answer(state("failed", { error: { code: -1, message: "no" }, statusMessage: "oh" })),
            completed()
          ]
        })
        const task = yield* client.startTool("long", { a: 1 })
        assert.isEmpty(requests(server))
        assert.deepStrictEqual([task.id, task.tool], ["t-1", "long"])
        const common = {
          taskId: "t-1",
          createdAt: TaskServer.createdAt,
          lastUpdatedAt: "2026-11-25T10:40:00Z",
          statusMessage: undefined,
          ttlMillis: null,
          pollIntervalMillis: 1_000,
          inputRequests: undefined,
          result: undefined,
          error: undefined
        }
        assert.deepStrictEqual(task.initial, {
          ...common,
          status: "working",
          statusMessage: "queued",
          ttlMillis: 60_000,
          pollIntervalMillis: 5_000
        })
        assert.deepStrictEqual<unknown>(yield* task.get, { ...common, status: "working" })
        assert.deepStrictEqual<unknown>(yield* task.get, {
          ...common,
          status: "failed",
          statusMessage: "oh",
          error: { code: -1, message: "no" }
        })
        assert.deepStrictEqual((yield* task.get).result as unknown, result)
      })
  )

  verifies(
    ["TAS-04", "TAS-05"],
    "waits within the time it is given, and cancels the task at its end",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({ get: [working()] })
        const task = yield* client.startTool("long")
        const fiber = yield* Asking.start(task.await({ deadline: "2500 millis" }))
        yield* pass(500, 5)
        const { reason } = yield* Effect.flip(Fiber.join(fiber))
        assert.isTrue(reason._tag === "RequestTimeout" && reason.kind === "deadline" && reason.millis === 2_500)
        yield* Scripted.settled
        assert.deepStrictEqual(requests(server), ["tasks/get", "tasks/get", "tasks/get", "tasks/cancel"])
      })
  )

  verifies("TAS-04", "gives the states of the task, each once, until it is done", () =>
    Effect.gen(function*() {
      const { client } = yield* modern({
        get: [
          working(),
          working(),
          working({ statusMessage: "halfway", lastUpdatedAt: "2026-11-25T10:41:00Z" }),
          asking({ q: form("?") }),
          completed()
        ]
      })
      const task = yield* client.startTool("long")
      const seen: Array<string> = []
      const fiber = yield* Asking.start(
        Stream.runForEach(task.updates, ({ status, statusMessage }) =>
          Effect.sync(() => seen.push(`${status} ${statusMessage ?? ""}`.trim())))
      )
      yield* pass(1_000, 4)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["working", "working halfway", "input_required", "completed"])
    }))

  verifies("TAS-27", "cancels the task on request, which is no more than a request", () =>
    Effect.gen(function*() {
      const { client, server } = yield* modern({ get: [working(), completed()] })
      const task = yield* client.startTool("long")
      yield* task.cancel
      assert.deepStrictEqual(requests(server), ["tasks/cancel"])
      assert.strictEqual((yield* task.get).status, "working")
      assert.deepStrictEqual<unknown>(yield* task.await(), result)
    }))

  verifies(
    ["TAS-14", "TAS-15", "TAS-30"],
    "survives a process: what it serializes to names the same task in another client",
    () =>
      Effect.gen(function*() {
        const here = yield* modern()
        const { serialized } = yield* here.client.startTool("long")
        assert.deepStrictEqual(serialized, { taskId: "t-1", createdAt: TaskServer.createdAt, tool: "long" })
        const text = JSON.stringify(serialized)
        const there = yield* modern({ get: [working(), completed()] })
        const task = yield* there.client.task(JSON.parse(text))
        assert.deepStrictEqual([task.id, task.tool, task.initial.status], ["t-1", "long", "working"])
        assert.deepStrictEqual<unknown>(yield* task.await(), result)
        assert.notInclude(there.server.methods(), "tools/call")
        const replaced = yield* modern({ get: [working({ createdAt: "2027-01-01T00:00:00Z" })] })
        assert.strictEqual((yield* Effect.flip(replaced.client.task(JSON.parse(text)))).reason._tag, "TaskReplaced")
        const gone = yield* modern({ get: [({ error }) => error(-32602, "no such task")] })
        assert.strictEqual(taskFailed(yield* Effect.flip(gone.client.task(JSON.parse(text)))).problem, "not-found")
        for (
          const bad of [
            "{}",
            "{\"taskId\":7,\"createdAt\":\"x\"}",
            "{\"taskId\":\"\",\"createdAt\":\"x\"}",
            "null",
            "[]"
          ]
        ) {
          const { reason } = yield* Effect.flip(there.client.task(JSON.parse(bad)))
          assert.strictEqual(reason._tag, "InvalidRequest", bad)
        }
      })
  )

  verifies(
    "TAS-24",
    "lives with its session: after it, nothing more is sent about the task, nor a server started for it",
    () =>
      Effect.gen(function*() {
        for (const open of [modern, TaskServer.legacy]) {
          const { client, server } = yield* open({ get: [working(), never] })
          const task = yield* client.startTool("long")
          const fiber = yield* Asking.start(task.await())
          yield* pass(1_000)
          server.links[0]?.exit(1)
          const { reason } = yield* Effect.flip(Fiber.join(fiber))
          assert.include(["ConnectionClosed", "TaskFailed", "MalformedMessage"], reason._tag)
          const sent = server.sent.length
          for (const request of [Effect.asVoid(task.get), task.cancel, Effect.asVoid(task.await())]) {
            const error = yield* Effect.flip(request)
            assert.strictEqual(taskFailed(error).problem, "session-ended")
            assert.strictEqual(error.delivery, "unsent")
          }
          assert.strictEqual(server.links.length, 1)
          yield* client.listTools()
          assert.strictEqual(taskFailed(yield* Effect.flip(task.get)).problem, "session-ended")
          assert.isEmpty(server.sent.slice(sent).filter(({ method }) => method?.startsWith("tasks/")))
        }
      })
  )

  verifies(
    "TAS-24",
    "of a modern server over HTTP does not, since its requests stand on their own",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* modern({ get: [working()], kind: "streamable-http" })
        const task = yield* client.startTool("long")
        server.links[0]?.exit(1)
        yield* Scripted.settled
        assert.strictEqual((yield* task.get).status, "working")
        assert.strictEqual(server.sentOf("tasks/get")[0]?.connection, 1)
      })
  )

  verifies(
    ["TAS-25", "TAS-09"],
    "of a call that was answered at once is done, and the server hears no more of it",
    () =>
      Effect.gen(function*() {
        for (const open of [modern, TaskServer.legacy]) {
          const { client, server } = yield* open({ call: answer(result), taskSupport: "optional" } as TaskServer.Setup)
          const task = yield* client.startTool("long", {}, { ttl: "1 minute" })
          assert.deepStrictEqual<unknown>(yield* task.await(), result)
          assert.strictEqual((yield* task.get).status, "completed")
          assert.strictEqual(task.initial.status, "completed")
          yield* task.cancel
          yield* task.answer({})
          assert.isEmpty(requests(server))
          const { reason } = yield* Effect.flip(client.task(task.serialized))
          assert.strictEqual(reason._tag, "InvalidRequest")
        }
      })
  )

  verifies(
    ["TAS-26", "TAS-08"],
    "is not to be had without the extension, nor is a list of tasks in the modern era",
    () =>
      Effect.gen(function*() {
        const serialized = { taskId: "t-1", createdAt: TaskServer.createdAt, tool: "long" }
        const notDeclared = yield* modern({ client: { extensions: {} } })
        const notOffered = yield* modern({
          more: { "server/discover": answer(Scripted.discovery()) }
        })
        const legacyWithout = yield* TaskServer.legacy({ tasks: undefined })
        for (const { client, server } of [notDeclared, notOffered, legacyWithout]) {
          const before = server.sent.length
          const operations = [
            Effect.asVoid(client.startTool("long")),
            Effect.asVoid(client.task(serialized)),
            Effect.asVoid(client.listTasks())
          ]
          for (const operation of operations) {
            const error = yield* Effect.flip(operation)
            assert.strictEqual(error.reason._tag, "CapabilityMissing")
            assert.strictEqual(error.delivery, "unsent")
          }
          assert.strictEqual(server.sent.length, before)
        }
        const { client, server } = yield* modern()
        assert.strictEqual((yield* Effect.flip(client.listTasks())).reason._tag, "CapabilityMissing")
        assert.isEmpty(requests(server))
      })
  )

  verifies("TAS-09", "has no lifetime of ours in the modern era: ttl is not sent", () =>
    Effect.gen(function*() {
      const { client, server } = yield* modern()
      yield* client.startTool("long", {}, { ttl: "1 hour" })
      assert.deepStrictEqual(server.sentOf("tools/call")[0]?.content, { name: "long", arguments: {} })
    }))
})
