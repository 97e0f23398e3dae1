import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Json, Metadata } from "@mcp-effect/protocol"
import { Effect, Fiber, Schema } from "effect"
import type { McpHandlers } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"
import * as TaskServer from "./TaskServer.ts"

const { answer, inTurn, never } = Scripted
const { core, legacy, pass, result } = TaskServer

const related = { [Metadata.relatedTaskKey]: { taskId: "t-1" } }
const told = { ...result, _meta: related }
const working = (more?: Json.JsonObject) => answer(core("working", more))

describe("callTool on a server of 2025-11-25", () => {
  verifies(
    ["TAS-02", "TAS-10", "TOO-16"],
    "runs a tool that is a task only as one, whether or not it was listed before",
    () =>
      Effect.gen(function*() {
        for (const listed of [true, false]) {
          const { client, server } = yield* legacy({
            get: [working({ pollInterval: 3_000 }), answer(core("completed"))]
          })
          if (listed) yield* client.listTools()
          const fiber = yield* Asking.start(client.callTool("long", { a: 1 }))
          yield* pass(2_999)
          assert.strictEqual(server.sentOf("tasks/get").length, 1)
          yield* pass(1)
          assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), told)
          assert.deepStrictEqual(server.sentOf("tools/call")[0]?.content, {
            name: "long",
            arguments: { a: 1 },
            task: {}
          })
          for (const method of ["tasks/get", "tasks/result"]) {
            assert.deepStrictEqual(server.sentOf(method)[0]?.content, { taskId: "t-1" })
          }
          assert.strictEqual(server.sentOf("tools/list").length, 1)
        }
      })
  )

  verifies(
    ["TAS-10", "TOO-16"],
    "runs every other tool as the call that it is, as on a server without tasks",
    () =>
      Effect.gen(function*() {
        const withoutTasks = { tasks: undefined }
        const withoutCalls = { tasks: { list: {}, cancel: {} } }
        for (
          const setup of [
            { taskSupport: "optional" },
            { taskSupport: "forbidden" },
            { taskSupport: "sometimes" },
            withoutTasks,
            withoutCalls
          ]
        ) {
          const { client, server } = yield* legacy(setup)
          yield* client.listTools()
          assert.deepStrictEqual<unknown>(yield* client.callTool("long"), result)
          assert.isFalse(Object.hasOwn(server.sentOf("tools/call")[0]?.params ?? {}, "task"))
        }
      })
  )

  verifies(
    ["TMO-03", "TAS-34"],
    "cancels the task with tasks/cancel when it is interrupted or its time is up",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          for (const end of ["interrupt", "deadline"]) {
            const { client, server } = yield* legacy({ get: [working()], kind })
            yield* client.listTools()
            const fiber = yield* Asking.start(client.callTool("long", {}, { deadline: "2500 millis" }))
            yield* pass(500, 3)
            if (end === "interrupt") yield* Fiber.interrupt(fiber)
            else {
              yield* pass(500, 2)
              assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason._tag, "RequestTimeout")
            }
            yield* server.until(() => server.sentOf("tasks/cancel").length === 1)
            assert.deepStrictEqual(server.sentOf("tasks/cancel")[0]?.content, { taskId: "t-1" })
            assert.notInclude(server.methods(), "notifications/cancelled")
          }
        }
      })
  )

  verifies("TAS-34", "does not cancel a task on a server that cannot", () =>
    Effect.gen(function*() {
      const { client, server } = yield* legacy({ get: [working()], tasks: { requests: { tools: { call: {} } } } })
      yield* client.listTools()
      const fiber = yield* Asking.start(client.callTool("long"))
      yield* pass(500)
      yield* Fiber.interrupt(fiber)
      yield* Scripted.settled
      assert.notInclude(server.methods(), "tasks/cancel")
    }))
})

describe("A core task", () => {
  verifies(
    ["TAS-09", "TAS-10", "TAS-03"],
    "is started with the lifetime that was asked for",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* legacy({ taskSupport: "optional" })
        yield* client.listTools()
        for (const ttl of ["1 minute", "1500 micros", "Infinity", undefined] as const) {
          const task = yield* client.startTool("long", {}, { ttl: ttl === "Infinity" ? Infinity : ttl })
          assert.deepStrictEqual([task.id, task.tool, task.initial.status], ["t-1", "long", "working"])
        }
        assert.deepStrictEqual(server.sentOf("tools/call").map(({ params }) => params["task"]), [
          { ttl: 60_000 },
          { ttl: 2 },
          {},
          {}
        ])
      })
  )

  verifies("TAS-10", "is not started of a tool that is none", () =>
    Effect.gen(function*() {
      const { client, server } = yield* legacy({ taskSupport: "forbidden" })
      const { reason } = yield* Effect.flip(client.startTool("long"))
      assert.strictEqual(reason._tag, "InvalidRequest")
      assert.notInclude(server.methods(), "tools/call")
    }))

  verifies(["MOD-05", "TAS-07"], "is told in the same terms as one of the extension", () =>
    Effect.gen(function*() {
      const { client } = yield* legacy({
        get: [answer(core("working", { ttl: 60_000, pollInterval: 5_000, statusMessage: "halfway" })), working()]
      })
      const task = yield* client.startTool("long")
      const common = {
        taskId: "t-1",
        status: "working",
        createdAt: TaskServer.createdAt,
        lastUpdatedAt: "2026-11-25T10:40:00Z",
        inputRequests: undefined,
        result: undefined,
        error: undefined
      }
      assert.deepStrictEqual<unknown>(yield* task.get, {
        ...common,
        statusMessage: "halfway",
        ttlMillis: 60_000,
        pollIntervalMillis: 5_000
      })
      assert.deepStrictEqual<unknown>(yield* task.get, {
        ...common,
        statusMessage: undefined,
        ttlMillis: null,
        pollIntervalMillis: 1_000
      })
    }))

  verifies(
    ["TAS-10", "TAS-04"],
    "asks on the stream of its result, which may take as long as it takes",
    () =>
      Effect.gen(function*() {
        for (const kind of ["stdio", "streamable-http"]) {
          const handlers: McpHandlers = {
            elicitation: { form: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }
          }
          const { client, server } = yield* legacy({
            get: [working(), answer(core("input_required"))],
            more: { "tasks/result": never },
            kind,
            client: { handlers }
          })
          const task = yield* client.startTool("long")
          const fiber = yield* Asking.start(task.await({ idleTimeout: "10 seconds", deadline: "1 hour" }))
          yield* pass(1_000)
          const blocked = yield* server.take("tasks/result")
          blocked.ask("q", "elicitation/create", {
            message: "Who?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } },
            _meta: related
          })
          yield* server.until(() => server.replies().length === 1)
          assert.deepStrictEqual(Json.objectMember(server.replies()[0], "result"), {
            action: "accept",
            content: { name: "Ada" },
            _meta: related
          })
          yield* pass(60_000, 10)
          blocked.result(told)
          assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), told)
          const error = yield* Effect.flip(task.answer({}))
          assert.strictEqual(error.reason._tag, "InvalidRequest")
          assert.notInclude(server.methods(), "tasks/update")
        }
      })
  )

  verifies(
    ["PRG-01", "TAS-10"],
    "tells its progress under the token of its call, after that was answered, until it is done",
    () =>
      Effect.gen(function*() {
        for (const token of [undefined, "mine"]) {
          for (const kind of ["stdio", "streamable-http"]) {
            const seen: Array<number> = []
            const { client, server } = yield* legacy({
              get: [working(), answer(core("completed"))],
              call: never,
              more: { "tasks/result": never },
              kind
            })
            const onProgress = ({ progress }: { readonly progress: number }) =>
              Effect.andThen(Effect.yieldNow, Effect.sync(() => void seen.push(progress)))
            const options = token === undefined ? { onProgress } : { onProgress, meta: { progressToken: token } }
            const fiber = yield* Asking.start(client.callTool("long", {}, options))
            const call = yield* server.take("tools/call")
            const sent = server.sentOf("tools/call")[0]?.meta["progressToken"]
            if (token !== undefined) assert.strictEqual(sent, token)
            const tell = (request: Scripted.Received, progress: number, progressToken: unknown = sent) =>
              request.notify("notifications/progress", { progressToken, progress })
            tell(call, 1)
            call.result({ task: core("working") })
            yield* pass(1_000)
            const blocked = yield* server.take("tasks/result")
            tell(blocked, 2)
            tell(blocked, 99, "of another")
            tell(blocked, 3)
            blocked.result(told)
            assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), told)
            assert.deepStrictEqual(seen, [1, 2, 3])
            // It is over.
            const next = yield* Asking.start(client.request("prompts/get", { name: "p" }, Schema.Unknown))
            yield* Scripted.settled
            server.links[0]?.notify("notifications/progress", { progressToken: String(sent), progress: 4 })
            yield* Scripted.settled
            assert.deepStrictEqual(seen, [1, 2, 3])
            yield* Fiber.interrupt(next)
          }
        }
      })
  )

  verifies(
    ["PRG-01", "TAS-03"],
    "tells its progress to whoever has started it, and no longer once the call has failed",
    () =>
      Effect.gen(function*() {
        const seen: Array<number> = []
        const { client, server } = yield* legacy({
          call: inTurn(answer({ task: core("working") }), ({ error }) => error(-32603, "no")),
          get: [working()]
        })
        const options = {
          onProgress: ({ progress }: { readonly progress: number }) => Effect.sync(() => void seen.push(progress))
        }
        yield* client.startTool("long", {}, options)
        yield* Effect.flip(client.startTool("long", {}, options))
        for (const { meta } of server.sentOf("tools/call")) {
          const progressToken = String(meta["progressToken"])
          server.links[0]?.notify("notifications/progress", { progressToken, progress: seen.length + 1 })
        }
        yield* Scripted.settled
        assert.deepStrictEqual(seen, [1])
      })
  )

  verifies(
    ["TAS-21", "TAS-29"],
    "that failed gives its result where it has one, its error otherwise; one that was cancelled is typed",
    () =>
      Effect.gen(function*() {
        const isError = { content: [], isError: true }
        const failed = [answer(core("failed", { statusMessage: "it broke" }))]
        const withResult = yield* legacy({ get: failed, more: { "tasks/result": answer(isError) } })
        assert.deepStrictEqual<unknown>(yield* withResult.client.callTool("long"), isError)
        for (const code of [-32603, -32602]) {
          const withError = yield* legacy({
            get: failed,
            more: { "tasks/result": ({ error }) => error(code, "invalid city", { a: 1 }) }
          })
          const { reason } = yield* Effect.flip(withError.client.callTool("long"))
          assert.deepStrictEqual(
            reason._tag === "TaskFailed" ? [reason.problem, reason.code, reason.data, reason.excerpt] : [reason._tag],
            ["failed", code, { a: 1 }, "invalid city"]
          )
        }
        const cancelled = yield* legacy({ get: [answer(core("cancelled"))] })
        const { reason } = yield* Effect.flip(cancelled.client.callTool("long"))
        assert.isTrue(reason._tag === "TaskFailed" && reason.problem === "cancelled")
        assert.notInclude(cancelled.server.methods(), "tasks/result")
        const gone = yield* legacy({ more: { "tasks/result": ({ error }) => error(-32602, "Task has expired") } })
        const end = (yield* Effect.flip(gone.client.callTool("long"))).reason
        assert.isTrue(end._tag === "TaskFailed" && end.problem === "not-found")
      })
  )

  verifies(
    ["TAS-12", "TAS-13"],
    "is polled at once when the server announces a change of it",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* legacy({
          get: [working({ pollInterval: 600_000 }), answer(core("completed"))]
        })
        const heard = yield* Scripted.collect(client.notifications)
        const fiber = yield* Asking.start(client.callTool("long"))
        yield* pass(1_000)
        server.links[0]?.notify("notifications/tasks/status", core("completed"))
        assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), told)
        assert.deepStrictEqual(heard.map(({ method }) => method), ["notifications/tasks/status"])
      })
  )

  verifies(
    ["TAS-14", "TAS-24"],
    "is taken up by another client, and lives with its session from there",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* legacy({ get: [working(), answer(core("completed"))] })
        const task = yield* client.task({ taskId: "t-1", createdAt: TaskServer.createdAt, tool: "long" })
        assert.deepStrictEqual<unknown>(yield* task.await(), told)
        server.links[0]?.exit(1)
        yield* Scripted.settled
        const { reason } = yield* Effect.flip(task.get)
        assert.isTrue(reason._tag === "TaskFailed" && reason.problem === "session-ended")
      })
  )
})

describe("listTasks", () => {
  verifies(
    ["TAS-10", "TAS-08"],
    "gives all pages, sets aside what is no task, and ends where a cursor repeats",
    () =>
      Effect.gen(function*() {
        const { client, server } = yield* legacy({
          more: {
            "tasks/list": inTurn(
              answer({ tasks: [core("working"), { taskId: 7 }], nextCursor: "2" }),
              answer({ tasks: [core("completed", { taskId: "t-2" })], nextCursor: "2" })
            )
          }
        })
        const diagnostics = yield* Scripted.collect(client.diagnostics)
        const tasks = yield* client.listTasks()
        assert.deepStrictEqual(tasks.map(({ status, taskId }) => [taskId, status]), [
          ["t-1", "working"],
          ["t-2", "completed"]
        ])
        assert.deepStrictEqual(server.sentOf("tasks/list").map(({ content }) => content), [{}, { cursor: "2" }])
        yield* Scripted.settled
        assert.deepStrictEqual(diagnostics.map(({ _tag }) => _tag), ["InvalidItem", "ListCutShort"])
      })
  )

  verifies("TAS-10", "needs the capability", () =>
    Effect.gen(function*() {
      const { client, server } = yield* legacy({ tasks: { requests: { tools: { call: {} } } } })
      const { reason } = yield* Effect.flip(client.listTasks())
      assert.isTrue(reason._tag === "CapabilityMissing" && reason.capability === "tasks.list")
      assert.notInclude(server.methods(), "tasks/list")
    }))
})
