import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as ExitCode from "../src/ExitCode.ts"
import * as Tasks from "../src/render/Tasks.ts"
import * as TaskHandle from "../src/TaskHandle.ts"
import { run } from "./Run.ts"

const parse = (word: string) =>
  Result.match(TaskHandle.parse(word), { onSuccess: (handle) => handle, onFailure: ({ message }) => message })

describe("the name of a task", () => {
  it("is its id, or its handle", () => {
    assert.deepStrictEqual(parse("t-1"), { taskId: "t-1" })
    assert.deepStrictEqual(parse("[1]"), { taskId: "[1]" })
    assert.deepStrictEqual(
      parse(" {\"taskId\":\"t-1\",\"createdAt\":\"2026-07-28T10:00:00Z\",\"tool\":\"x\",\"y\":1}\n"),
      {
        taskId: "t-1",
        createdAt: "2026-07-28T10:00:00Z",
        tool: "x"
      }
    )
    assert.deepStrictEqual(parse("{\"taskId\":\"t-1\"}"), { taskId: "t-1", createdAt: undefined, tool: undefined })
  })

  it("is nothing else", () => {
    assert.strictEqual(parse(""), "The id of the task is empty")
    assert.strictEqual(parse("{\"id\":\"t-1\"}"), "The handle of the task has no taskId")
    assert.match(String(parse("{t-1}")), /^The handle of the task is not JSON: /)
  })

  it.effect("is read before a server is started", () =>
    Effect.gen(function*() {
      for (const command of ["get", "wait", "cancel"]) {
        const { code, stderr, targets } = yield* run(["task", command, "{}", "--", "some-server"], {})
        assert.deepStrictEqual([code, targets], [2, []])
        assert.match(stderr, /^error: The handle of the task has no taskId\n  hint: give the id of a task, or the JSON/)
      }
    }))
})

describe("what is known of a task", () => {
  it("is told line by line, escaped", () => {
    assert.strictEqual(
      Tasks.state({
        taskId: "t\u001b[2J",
        status: "input_required",
        statusMessage: "which\none?",
        createdAt: "2026-07-28T10:00:00Z",
        lastUpdatedAt: "2026-07-28T10:00:01Z",
        ttlMillis: null,
        pollIntervalMillis: 1_000,
        inputRequests: { a: { method: "roots/list" } },
        result: undefined,
        error: { code: -32000, message: "no" }
      }, "train"),
      [
        "Task       t\\u001b[2J",
        "Tool       train",
        "Status     input_required",
        "Message    which one?",
        "Asks for   roots/list",
        "Error      -32000 no",
        "Created    2026-07-28T10:00:00Z",
        "Updated    2026-07-28T10:00:01Z",
        "Kept for   as long as the server likes"
      ].join("\n")
    )
  })
})

describe("the exit code", () => {
  it("tells why there is no result", () => {
    const code = (problem: McpError.TaskFailed["problem"]) =>
      ExitCode.ofReason(new McpError.TaskFailed({ taskId: "t-1", problem }))
    assert.deepStrictEqual(
      [code("cancelled"), code("failed"), code("not-found"), code("expired"), code("session-ended")],
      [1, 4, 4, 5, 3]
    )
    assert.strictEqual(ExitCode.ofReason(new McpError.TaskReplaced({ taskId: "t-1" })), 4)
  })
})
