import { assert, describe, it } from "@effect/vitest"
import * as RealServers from "@mcp-effect/conformance/RealServers"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import * as Effect from "effect/Effect"
import * as HttpServer from "./HttpServer.ts"
import { cli, start } from "./Spawn.ts"

const patience = 120_000

const extension = "io.modelcontextprotocol/tasks"
const createdAt = "2026-07-28T10:00:00Z"

const task = (status: string, more: object = {}) => ({
  taskId: "t-1",
  status,
  createdAt,
  lastUpdatedAt: "2026-07-28T10:00:05Z",
  ttlMs: 60_000,
  pollIntervalMs: 50,
  ...more
})

const completed = task("completed", { result: { content: [{ type: "text", text: "trained" }] } })

/** A modern server whose tool answers with a task which stands as `states` has it, one look after the other. */
const serve = (
  states: ReadonlyArray<object | "hang">,
  answers: { readonly [method: string]: HttpServer.Answer } = {}
) => {
  let looks = 0
  return HttpServer.start((message) => {
    const answer = answers[message.method]
    if (answer !== undefined) return answer
    switch (message.method) {
      case "server/discover":
        return HttpServer.reply({
          supportedVersions: ["2026-07-28"],
          capabilities: { tools: {}, extensions: { [extension]: {} } },
          ttlMs: 0,
          cacheScope: "private"
        })
      case "tools/list":
        return HttpServer.tools
      case "tools/call":
        return { kind: "result", result: { resultType: "task", ...task("working") } }
      case "tasks/get": {
        const state = states[Math.min(looks++, states.length - 1)] ?? {}
        return state === "hang" ? { kind: "hang" } : HttpServer.reply(state)
      }
      default:
        return HttpServer.reply({})
    }
  })
}

const received = (server: HttpServer.HttpServer, method: string): ReadonlyArray<HttpServer.Received> =>
  server.received.filter((message) => message.method === method)

const question = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "How many epochs?",
    requestedSchema: { type: "object", properties: { epochs: { type: "integer" } }, required: ["epochs"] }
  }
}

describe("a task of the extension", () => {
  verifiesLive(
    "TAS-14",
    "is started by one process, and looked at and waited for by others",
    () =>
      Effect.gen(function*() {
        const server = yield* serve([
          task("working", { statusMessage: "warming \u001b[2Jup" }),
          task("working"),
          task("input_required", { inputRequests: { epochs: question } }),
          completed
        ])
        const url = ["--url", server.url]
        const started = yield* cli(["call", "wait", "--as-task", ...url])
        assert.deepStrictEqual(started, { code: 0, stdout: "t-1\n", stderr: "" })
        const inJson = yield* cli(["call", "wait", "--as-task", "-o", "json", ...url])
        assert.deepStrictEqual(JSON.parse(inJson.stdout), { taskId: "t-1", createdAt, tool: "wait" })
        const looked = yield* cli(["task", "get", "t-1", ...url])
        assert.deepStrictEqual(looked, {
          code: 0,
          stdout: [
            "Task       t-1",
            "Status     working",
            "Message    warming \\u001b[2Jup",
            `Created    ${createdAt}`,
            "Updated    2026-07-28T10:00:05Z",
            "Kept for   60.0 s",
            ""
          ].join("\n"),
          stderr: ""
        })
        const waited = yield* cli(["task", "wait", inJson.stdout, "--answer", "epochs=3", ...url])
        assert.deepStrictEqual([waited.code, waited.stdout], [0, "trained\n"])
        assert.include(waited.stderr, "asks:\n  | How many epochs?\n  Accepted with: epochs\n")
        const updates = received(server, "tasks/update")
        assert.deepStrictEqual(updates.map(({ params }) => params.inputResponses), [
          { epochs: { action: "accept", content: { epochs: 3 } } }
        ])
        // 2026-07-28 streamable-http: the header names the task.
        assert.isTrue(received(server, "tasks/get").every(({ headers }) => headers["mcp-name"] === "t-1"))
        assert.isTrue(server.received.every(({ params }) =>
          Object.hasOwn(params._meta["io.modelcontextprotocol/clientCapabilities"].extensions, extension)
        ))
      }),
    patience
  )

  verifiesLive("TAS-15", "is not taken for another with its id", () =>
    Effect.gen(function*() {
      const server = yield* serve([completed])
      const handle = JSON.stringify({ taskId: "t-1", createdAt: "2026-07-27T10:00:00Z" })
      const { code, stderr, stdout } = yield* cli(["task", "wait", handle, "--url", server.url])
      assert.deepStrictEqual([code, stdout], [4, ""])
      assert.match(stderr, /^error: .*Task "t-1" is gone: the server uses its id for another task\n/)
    }), patience)

  it.live("ends as it says, and the exit code says so", () =>
    Effect.gen(function*() {
      const outcome = (state: object, answers?: { readonly [method: string]: HttpServer.Answer }) =>
        Effect.scoped(Effect.gen(function*() {
          const server = yield* serve([state], answers)
          return yield* cli(["task", "wait", "t-1", "--url", server.url])
        }))
      const failed = yield* outcome(task("failed", { error: { code: -32000, message: "no \u001b[2J memory" } }))
      assert.deepStrictEqual([failed.code, failed.stdout], [4, ""])
      assert.match(failed.stderr, /Task "t-1" failed with error -32000\n  the server said: no \\u001b\[2J memory\n/)
      const cancelled = yield* outcome(task("cancelled"))
      assert.strictEqual(cancelled.code, 1)
      assert.match(cancelled.stderr, /Task "t-1" was cancelled/)
      const wrong = yield* outcome(
        task("completed", { result: { content: [{ type: "text", text: "no data" }], isError: true } })
      )
      assert.deepStrictEqual(wrong, { code: 1, stdout: "no data\n", stderr: "error: The task t-1 reported an error\n" })
      const unknown = yield* outcome({}, {
        "tasks/get": {
          kind: "json",
          status: 200,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ jsonrpc: "2.0", id: 2, error: { code: -32602, message: "no such task" } })
        }
      })
      assert.strictEqual(unknown.code, 4)
      assert.match(unknown.stderr, /Task "t-1" is not known to the server/)
    }), patience)

  it.live("is cancelled on demand, unless it is over", () =>
    Effect.gen(function*() {
      const running = yield* serve([task("working")])
      const asked = yield* cli(["task", "cancel", "t-1", "--url", running.url])
      assert.deepStrictEqual(asked, {
        code: 0,
        stdout: "The server was asked to cancel task t-1.\n",
        stderr: ""
      })
      assert.deepStrictEqual(received(running, "tasks/cancel").map(({ params }) => params.taskId), ["t-1"])
      const over = yield* serve([completed])
      const late = yield* cli(["task", "cancel", "t-1", "-o", "json", "--url", over.url])
      assert.deepStrictEqual([late.code, JSON.parse(late.stdout)], [0, { taskId: "t-1", cancelRequested: false }])
      assert.deepStrictEqual(received(over, "tasks/cancel"), [])
    }), patience)

  it.live(
    "is cancelled when it is not waited for any more: by Ctrl-C, and when time is up",
    () =>
      Effect.gen(function*() {
        const server = yield* serve([task("working"), "hang"])
        const { child, ended } = yield* start(["task", "wait", "t-1", "--url", server.url])
        yield* server.hanging
        child.kill("SIGINT")
        assert.deepStrictEqual(yield* ended, { code: 130, stdout: "", stderr: "error: Cancelled\n" })
        assert.isNotEmpty(received(server, "tasks/cancel"))
        const slow = yield* serve([task("working")])
        const late = yield* cli(["task", "wait", "t-1", "--timeout", "500ms", "--url", slow.url])
        assert.strictEqual(late.code, 5)
        assert.isNotEmpty(received(slow, "tasks/cancel"))
      }),
    patience
  )

  it.live("is waited for by a call that allows one, and by no other", () =>
    Effect.gen(function*() {
      const server = yield* serve([task("working"), completed])
      const url = ["--url", server.url]
      const allowed = yield* cli(["call", "wait", "--tasks", ...url])
      assert.deepStrictEqual(allowed, { code: 0, stdout: "trained\n", stderr: "" })
      const [call] = received(server, "tools/call")
      assert.deepStrictEqual(call?.params._meta["io.modelcontextprotocol/clientCapabilities"], {
        extensions: { [extension]: {} }
      })
      yield* cli(["call", "wait", ...url])
      const [, other] = received(server, "tools/call")
      assert.deepStrictEqual(other?.params._meta["io.modelcontextprotocol/clientCapabilities"], {})
    }), patience)

  it.live("need not come about", () =>
    Effect.gen(function*() {
      const server = yield* serve([], {
        "tools/call": HttpServer.reply({ content: [{ type: "text", text: "at once" }] })
      })
      const ended = yield* cli(["call", "wait", "--as-task", "--url", server.url])
      assert.deepStrictEqual(ended, {
        code: 0,
        stdout: "at once\n",
        stderr: "The server answered at once, without a task:\n"
      })
    }), patience)

  it.live("is required by a server that says so", () =>
    Effect.gen(function*() {
      const required = { extensions: { [extension]: {} } }
      const server = yield* serve([], {
        "tools/call": {
          kind: "json",
          status: 400,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            jsonrpc: "2.0",
            id: 3,
            error: { code: -32021, message: "tasks", data: { requiredCapabilities: required } }
          })
        }
      })
      const { code, stderr } = yield* cli(["call", "wait", "--url", server.url])
      assert.strictEqual(code, 4)
      assert.include(stderr, "\n  hint: let the server answer with a task: --tasks, or --as-task\n")
    }), patience)
})

describe("the list of tasks", () => {
  const tasks = [{
    taskId: "c-1",
    status: "working",
    statusMessage: "half",
    createdAt,
    lastUpdatedAt: createdAt,
    ttl: null,
    pollInterval: 100
  }]

  it.live("is a table, or what the protocol calls it", () =>
    Effect.gen(function*() {
      const { url } = yield* RealServers.scriptedHttp({
        revision: "2025-11-25",
        on: {
          initialize: [{
            kind: "reply",
            result: {
              protocolVersion: "2025-11-25",
              capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
              serverInfo: { name: "scripted", version: "1.0.0" }
            }
          }],
          "tasks/list": [{ kind: "reply", result: { tasks } }]
        }
      })
      const table = yield* cli(["tasks", url])
      assert.deepStrictEqual(table, {
        code: 0,
        stdout: `TASK  STATUS   CREATED               MESSAGE\nc-1   working  ${createdAt}  half\n`,
        stderr: ""
      })
      const json = yield* cli(["tasks", url, "--output", "json"])
      assert.deepInclude(JSON.parse(json.stdout).tasks[0], { taskId: "c-1", status: "working", ttlMillis: null })
    }), patience)

  it.live("is missing in later revisions", () =>
    Effect.gen(function*() {
      const server = yield* serve([])
      const { code, stderr } = yield* cli(["tasks", server.url])
      assert.strictEqual(code, 4)
      assert.match(stderr, /^error: .*tasks/)
      assert.deepStrictEqual(received(server, "tasks/list"), [])
    }), patience)
})

describe("the official everything server", () => {
  const everything = ["--", RealServers.everything.command, ...RealServers.everything.args]

  it.live("runs a long tool as a task of 2025-11-25, and asks meanwhile", () =>
    Effect.gen(function*() {
      const research = ["call", "simulate-research-query", "topic=python"]
      const asked = yield* cli([...research, "ambiguous=true", "--answer", "interpretation=snake", ...everything])
      assert.strictEqual(asked.code, 0, asked.stderr)
      assert.match(asked.stdout, /^# Research Report: python \(snake\)\n/)
      assert.include(asked.stderr, "Accepted with: interpretation\n")
      const handle = yield* cli([...research, "--as-task", "-o", "json", ...everything])
      assert.deepStrictEqual([handle.code, handle.stderr], [0, ""])
      assert.hasAllKeys(JSON.parse(handle.stdout), ["taskId", "createdAt", "tool"])
      // It ended with the process that it ran in.
      const gone = yield* cli(["task", "get", handle.stdout, ...everything])
      assert.strictEqual(gone.code, 4)
      assert.include(
        gone.stderr,
        "\n  hint: a server that is started by its command takes its tasks with it when it ends\n"
      )
      const none = yield* cli(["tasks", ...everything])
      assert.deepStrictEqual(none, { code: 0, stdout: "", stderr: "The server tells of no tasks.\n" })
    }), patience)
})
