import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Decode, type Json, ResultType, Revision } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"

const read = (
  result: Json.JsonObject,
  method: string,
  context: { readonly revision?: Revision.Facts; readonly tasks?: boolean } = {}
): string => {
  const exit = ResultType.read(result, { revision: Revision.latestModern, tasks: false, method, ...context })
  return Exit.isSuccess(exit) ? exit.value : `refused at ${Decode.issueOf(exit).path}`
}

const refused = "refused at /resultType"

verifiesPure("ERA-22", "a result without a type is complete, in every revision", () => {
  for (const revision of Revision.all) {
    assert.strictEqual(read({}, "tools/list", { revision }), "complete", revision.version)
    assert.strictEqual(read({ resultType: "complete" }, "tools/list", { revision }), "complete", revision.version)
  }
})

verifiesPure("ERA-22", "a type that is not known, or none at all, is refused", () => {
  for (const resultType of ["partial", "Complete", "", null, 7, true, {}, []]) {
    assert.strictEqual(read({ resultType }, "tools/call"), refused, JSON.stringify(resultType))
  }
})

verifiesPure("ERA-22", "a legacy server knows no other type than complete", () => {
  for (const revision of Revision.legacy) {
    for (const resultType of ["input_required", "task", "partial"]) {
      assert.strictEqual(read({ resultType }, "tools/call", { revision, tasks: true }), refused, revision.version)
    }
  }
})

describe("input_required", () => {
  it("answers calls of tools, prompts and resources alone", () => {
    const result = { resultType: "input_required" }
    for (const method of ["tools/call", "prompts/get", "resources/read"]) {
      assert.strictEqual(read(result, method), "input_required", method)
    }
    for (
      const method of ["server/discover", "tools/list", "completion/complete", "subscriptions/listen", "tasks/get"]
    ) {
      assert.strictEqual(read(result, method, { tasks: true }), refused, method)
    }
  })
})

describe("task", () => {
  const result = { resultType: "task" }

  it("answers tools/call of a client that declared the extension", () => {
    assert.strictEqual(read(result, "tools/call", { tasks: true }), "task")
    assert.strictEqual(read(result, "tools/call"), refused)
    assert.strictEqual(read(result, "prompts/get", { tasks: true }), refused)
  })

  it("is taken for complete in answer to tasks/get", () => {
    assert.strictEqual(read(result, "tasks/get", { tasks: true }), "complete")
  })
})
