import { assert, describe, it } from "@effect/vitest"
import * as Gate from "../src/Gate.ts"

const success: Gate.Check = { id: "a", status: "SUCCESS" }

describe("Gate", () => {
  it("passes a scenario with a success and nothing against it", () => {
    assert.isUndefined(Gate.fault([success, { id: "b", status: "SKIPPED" }, { id: "c", status: "INFO" }]))
  })

  it("fails a scenario in which nothing succeeded", () => {
    assert.strictEqual(Gate.fault([]), "no check succeeded")
    assert.strictEqual(Gate.fault([{ id: "b", status: "SKIPPED" }]), "no check succeeded")
    assert.strictEqual(Gate.fault(undefined), "it was not run")
  })

  it("fails a scenario with a failure or a warning beside its successes, and names them", () => {
    assert.strictEqual(
      Gate.fault([success, { id: "b", status: "WARNING" }, { id: "c", status: "FAILURE", errorMessage: "no header" }]),
      "b WARNING; c FAILURE no header"
    )
  })

  it("reads the list of scenarios", () => {
    const text =
      "Client scenarios (test against a client):\n  - tools_call [2025-06-18,2026-07-28]\n  - auth/dpop [extension]\n"
    assert.deepStrictEqual(Gate.parseList(text), [
      { name: "tools_call", revisions: ["2025-06-18", "2026-07-28"] },
      { name: "auth/dpop", revisions: [] }
    ])
  })

  it("finds the scenario of an output folder", () => {
    assert.strictEqual(Gate.scenarioOf("tools_call-2026-12-01T00-02-29-123Z"), "tools_call")
    assert.strictEqual(
      Gate.scenarioOf("auth/2025-03-26-oauth-endpoint-fallback-2026-12-01T00-02-29-123Z"),
      "auth/2025-03-26-oauth-endpoint-fallback"
    )
  })

  it("holds it against the client when a scenario of the baseline passes", () => {
    const due: Gate.Outcome = { title: "initialize", waitsFor: undefined, fault: undefined }
    const notDue: Gate.Outcome = { title: "auth/dpop", waitsFor: "OAuth", fault: "no check succeeded" }
    const stale: Gate.Outcome = { title: "sse-retry", waitsFor: "Streams", fault: undefined }
    assert.strictEqual(Gate.summary([due, notDue]), "1 passed, 0 failed")
    assert.strictEqual(Gate.summary([due, notDue, stale]), "1 passed, 1 failed")
    assert.deepStrictEqual([due, notDue, stale].map(Gate.isGood), [true, true, false])
  })
})
