import { assert, describe } from "@effect/vitest"
import { Deprecations, type McpClient, type McpHandlers, McpTask } from "@mcp-effect/client"
import * as OfficialSchema from "@mcp-effect/conformance/OfficialSchema"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import { Json, type McpError, type ToolCall } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as RealServers from "../src/RealServers.ts"

const timeoutMillis = 120_000

const textOf = ({ content }: ToolCall.CallToolResult): string =>
  content.map((block) => "text" in block && typeof block.text === "string" ? block.text : "").join("\n")

const connect = (
  target: Connect.Target,
  options: Connect.Options
): Effect.Effect<McpClient.McpClient, McpError.McpError, Scope.Scope> =>
  Effect.provideService(Connect.connect(target, { forwardLogs: false, ...options }), Deprecations.Enabled, false)

// ====================================================================================================================
// server-everything: core tasks of 2025-11-25
// ====================================================================================================================

type Started = Effect.Effect<Connect.Target, RealServers.StartFailed, Scope.Scope>

const everything: ReadonlyArray<readonly [string, Started]> = [
  ["stdio", Effect.succeed(RealServers.everything)],
  ["Streamable HTTP", Effect.map(RealServers.everythingHttp, ({ url }) => url)]
]

const interpreter = (asked: Array<unknown>): McpHandlers.McpHandlers => ({
  elicitation: {
    form: ({ message, meta, requestedSchema }) =>
      Effect.sync(() => {
        asked.push([message.includes("python"), Object.keys(requestedSchema.properties), Object.keys(meta ?? {})])
        return { content: { interpretation: "snake" } }
      })
  }
})

for (const [transport, start] of everything) {
  describe(`server-everything over ${transport}`, () => {
    verifiesLive(
      ["TAS-02", "TAS-10", "TAS-29"],
      "has a call of a tool that runs as a task alone driven to its end, the question in between answered",
      Effect.fnUntraced(function*() {
        const asked: Array<unknown> = []
        const client = yield* connect(yield* start, { handlers: interpreter(asked) })
        const result = yield* client.callTool("simulate-research-query", { topic: "python", ambiguous: true })
        assert.include(textOf(result), "# Research Report: python (snake)")
        assert.deepStrictEqual(asked, [[true, ["interpretation"], ["io.modelcontextprotocol/related-task"]]])
      }),
      timeoutMillis
    )

    verifiesLive(
      ["TAS-03", "TAS-04", "TAS-06", "TAS-10", "TAS-27"],
      "gives a handle at once, whose states come as a stream, and ends a task that is cancelled",
      Effect.fnUntraced(function*() {
        const client = yield* connect(yield* start, {})
        const task = yield* client.startTool("simulate-research-query", { topic: "go" }, { ttl: "1 minute" })
        assert.strictEqual(task.initial.status, "working")
        const others = yield* client.startTool("simulate-research-query", { topic: "rust" })
        assert.include((yield* client.listTasks()).map(({ taskId }) => taskId), others.id)
        const watching = yield* Effect.forkScoped(Stream.runCollect(task.updates))
        yield* others.cancel
        assert.strictEqual((yield* others.get).status, "cancelled")
        const { reason } = yield* Effect.flip(others.await())
        assert.isTrue(reason._tag === "TaskFailed" && reason.problem === "cancelled")
        assert.include(textOf(yield* task.await()), "# Research Report: go")
        const states = yield* Fiber.join(watching)
        assert.deepStrictEqual(new Set(states.slice(0, -1).map(({ status }) => status)), new Set(["working"]))
        assert.strictEqual(states.at(-1)?.status, "completed")
      }),
      timeoutMillis
    )
  })
}

// ====================================================================================================================
// The tasks extension
// ====================================================================================================================

const declared: Connect.Options = { extensions: { [McpTask.extension]: {} } }

const answering = (asked: Array<string>): McpHandlers.McpHandlers => ({
  elicitation: {
    form: ({ message }) =>
      Effect.sync(() => {
        asked.push(message)
        return { content: { name: "Ada" } }
      })
  },
  roots: [{ uri: "file:///home/user/project" }]
})

const answers = {
  folders: { roots: [{ uri: "file:///home/user/project" }] },
  name: { action: "accept", content: { name: "Ada" } }
}

interface Line {
  readonly direction: "in" | "out"
  readonly method: string
  readonly message: Json.JsonObject
}

// What the extension adds has schemas of its own; everything else has those of the revision.
const extensionTypes: ReadonlyMap<string, string> = new Map([
  ["tasks/get", "GetTaskResult"],
  ["tasks/update", "UpdateTaskResult"],
  ["tasks/cancel", "CancelTaskResult"]
])
const coreTypes: ReadonlyMap<string, string> = new Map([
  ["server/discover", "DiscoverResult"],
  ["tools/list", "ListToolsResult"],
  ["tools/call", "CallToolResult"]
])

const problemsOf = ({ direction, message, method }: Line): ReadonlyArray<string> => {
  if (direction === "in") return OfficialSchema.validateOutgoing("2026-07-28", message)
  const result = Json.objectMember(message, "result")
  if (result === undefined) return OfficialSchema.validate("2026-07-28", "JSONRPCErrorResponse", message)
  const type = result["resultType"] === "task" ? "CreateTaskResult" : extensionTypes.get(method)
  return [
    ...OfficialSchema.validate("2026-07-28", "JSONRPCResultResponse", message),
    ...(type === undefined
      ? OfficialSchema.validate("2026-07-28", coreTypes.get(method) ?? "Result", result)
      : OfficialSchema.validate("ext-tasks", type, result))
  ]
}

/** Starts the server, and gives what it has said and heard so far. */
const started = Effect.fnUntraced(function*(transport: "stdio" | "http") {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "tasks-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  )
  const transcript = join(directory, "transcript")
  const target: Connect.Target = transport === "http"
    ? (yield* RealServers.tasksHttp(transcript)).url
    : RealServers.tasks(transcript)
  return {
    target,
    lines: (): ReadonlyArray<Line> =>
      readFileSync(transcript, "utf8").trim().split("\n").map((line): Line => JSON.parse(line))
  }
})

const methods = (lines: ReadonlyArray<Line>): ReadonlyArray<string> =>
  lines.filter(({ direction }) => direction === "in").map(({ method }) => method)

for (const transport of ["stdio", "http"] as const) {
  describe(`A server of the tasks extension over ${transport}`, () => {
    verifiesLive(
      ["TAS-01", "TAS-02", "TAS-04", "TAS-18", "TAS-31", "HDR-04"],
      "has its task driven to its end, and each of its questions answered once",
      Effect.fnUntraced(function*() {
        const { lines, target } = yield* started(transport)
        const asked: Array<string> = []
        const client = yield* connect(target, { ...declared, handlers: answering(asked) })
        const result = yield* client.callTool("report")
        assert.deepStrictEqual(JSON.parse(textOf(result)), answers)
        assert.deepStrictEqual(asked, ["Who are you?"])
        assert.strictEqual(methods(lines()).filter((method) => method === "tasks/update").length, 2)
        // The extension was not declared, so nothing becomes a task.
        const undeclared = yield* connect(target, {})
        assert.strictEqual(textOf(yield* undeclared.callTool("report")), "at once")
      }),
      timeoutMillis
    )

    verifiesLive(
      ["TAS-03", "TAS-04", "TAS-06", "TAS-21", "TAS-25"],
      "gives handles: of a task that completes, of one that fails, and of what was answered at once",
      Effect.fnUntraced(function*() {
        const { target } = yield* started(transport)
        const client = yield* connect(target, { ...declared, handlers: answering([]) })
        const report = yield* client.startTool("report")
        const states = yield* Effect.forkScoped(Stream.runCollect(report.updates))
        assert.deepStrictEqual(JSON.parse(textOf(yield* report.await())), answers)
        assert.strictEqual((yield* Fiber.join(states)).at(-1)?.status, "completed")
        const failing = yield* client.startTool("fail")
        const { reason } = yield* Effect.flip(failing.await())
        if (reason._tag !== "TaskFailed") return assert.fail(reason._tag)
        assert.deepStrictEqual<unknown>([reason.problem, reason.code, reason.data], ["failed", -32603, { tray: 2 }])
        const quick = yield* client.startTool("quick")
        assert.strictEqual(textOf(yield* quick.await()), "at once")
      }),
      timeoutMillis
    )

    verifiesLive(
      ["TMO-03", "TAS-34", "PAIN-6"],
      "is told by tasks/cancel that nobody waits any more, and hears no notifications/cancelled of the task",
      Effect.fnUntraced(function*() {
        const { lines, target } = yield* started(transport)
        const client = yield* connect(target, declared)
        const calling = yield* Effect.forkChild(client.callTool("endless"))
        yield* client.callTool("await-look")
        yield* Fiber.interrupt(calling)
        assert.strictEqual(textOf(yield* client.callTool("await-cancelled")), "1")
        const late = yield* Effect.flip(client.callTool("endless", {}, { deadline: "200 millis" }))
        assert.strictEqual(late.reason._tag, "RequestTimeout")
        const task = yield* client.startTool("endless")
        yield* task.cancel
        assert.strictEqual((yield* task.get).status, "cancelled")
        const heard = lines().filter(({ direction }) => direction === "in")
        assert.strictEqual(heard.filter(({ method }) => method === "tasks/cancel").length, 3)
        // Polls are requests like any other and may be cancelled; the calls were answered long ago.
        const calls = new Set(heard.filter(({ method }) => method === "tools/call").map(({ message }) => message["id"]))
        for (const { message } of heard.filter(({ method }) => method === "notifications/cancelled")) {
          assert.isFalse(calls.has(Json.objectMember(message, "params")?.["requestId"]))
        }
      }),
      timeoutMillis
    )

    if (transport === "http") {
      verifiesLive(
        ["TAS-14", "TAS-24", "TAS-30"],
        "knows its task when another client takes it up",
        Effect.fnUntraced(function*() {
          const { target } = yield* started(transport)
          const serialized = yield* Effect.scoped(Effect.gen(function*() {
            const client = yield* connect(target, declared)
            return JSON.stringify((yield* client.startTool("report")).serialized)
          }))
          const client = yield* connect(target, { ...declared, handlers: answering([]) })
          const task = yield* client.task(JSON.parse(serialized))
          assert.deepStrictEqual(JSON.parse(textOf(yield* task.await())), answers)
        }),
        timeoutMillis
      )
    }

    if (OfficialSchema.available) {
      verifiesLive(
        ["TAS-22", "TAS-23", "CAP-06"],
        "says, and hears, what the schema of the extension has, and nothing else",
        Effect.fnUntraced(function*() {
          const { lines, target } = yield* started(transport)
          const client = yield* connect(target, { ...declared, handlers: answering([]) })
          yield* client.listTools()
          yield* client.callTool("report")
          yield* client.callTool("quick")
          yield* Effect.flip(client.callTool("fail"))
          const task = yield* client.startTool("endless")
          yield* task.get
          yield* task.cancel
          const { reason } = yield* Effect.flip(client.task({ taskId: "no-such-task" }))
          assert.isTrue(reason._tag === "TaskFailed" && reason.problem === "not-found")
          assert.deepStrictEqual(
            lines().flatMap((line) => problemsOf(line).map((problem) => `${line.method}: ${problem}`)),
            []
          )
          const types = new Set(lines().map(({ direction, method }) => `${direction} ${method}`))
          for (const method of ["tools/call", "tasks/get", "tasks/update", "tasks/cancel"]) {
            assert.isTrue(types.has(`in ${method}`) && types.has(`out ${method}`), method)
          }
        }),
        timeoutMillis
      )
    }
  })
}
