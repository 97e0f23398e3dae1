import { assert, describe, it } from "@effect/vitest"
import { Decode, type Json, Task } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"

const task = {
  taskId: "t-1",
  status: "working",
  createdAt: "2026-08-01T10:00:00Z",
  lastUpdatedAt: "2026-08-01T12:00:00.250+02:00",
  ttlMs: 60000
}

const refusal = (members: Json.JsonObject): string => {
  const exit = Decode.validator(Task.DetailedTask)({ ...task, ...members })
  return Exit.isFailure(exit) ? Decode.issueOf(exit).path : "nowhere"
}

describe("DetailedTask", () => {
  it("brings what its status implies", () => {
    assert.strictEqual(refusal({}), "nowhere")
    assert.strictEqual(refusal({ status: "cancelled" }), "nowhere")
    assert.strictEqual(refusal({ status: "completed" }), "/result")
    assert.strictEqual(refusal({ status: "completed", result: {} }), "nowhere")
    assert.strictEqual(refusal({ status: "failed" }), "/error")
    assert.strictEqual(refusal({ status: "failed", error: { code: 1.5, message: "a" } }), "/error/code")
    assert.strictEqual(refusal({ status: "failed", error: { code: -1, message: "a" } }), "nowhere")
    assert.strictEqual(refusal({ status: "input_required" }), "/inputRequests")
    assert.strictEqual(refusal({ status: "input_required", inputRequests: {} }), "nowhere")
    assert.strictEqual(refusal({ status: "paused" }), "/status")
  })

  it("has times in ISO 8601", () => {
    for (const createdAt of ["2026-08-01T10:00", "2026-08-01T10:00:00", "2026-08-01T10:00:00,5+0200"]) {
      assert.strictEqual(refusal({ createdAt }), "nowhere", createdAt)
    }
    for (const createdAt of ["yesterday", "2026-08-01", "1754042400", "01.08.2026 10:00", 1754042400]) {
      assert.strictEqual(refusal({ createdAt }), "/createdAt", String(createdAt))
    }
  })

  it("has a limit, or null, and waits no negative time between polls", () => {
    assert.strictEqual(refusal({ ttlMs: null }), "nowhere")
    assert.strictEqual(refusal({ ttlMs: 1.5 }), "/ttlMs")
    assert.strictEqual(refusal({ ttlMs: undefined }), "/ttlMs")
    assert.strictEqual(refusal({ pollIntervalMs: 0 }), "nowhere")
    assert.strictEqual(refusal({ pollIntervalMs: -1 }), "/pollIntervalMs")
    assert.strictEqual(refusal({ pollIntervalMs: 0.5 }), "/pollIntervalMs")
  })
})

it("tells the ends of a task", () => {
  const statuses = ["working", "input_required", "completed", "failed", "cancelled"] as const
  assert.deepStrictEqual(statuses.map(Task.isTerminal), [false, false, true, true, true])
})
