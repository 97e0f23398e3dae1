import { assert, describe, it } from "@effect/vitest"
import { Decode, Elicitation, InputRequired } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"

const issueOf = (exit: Exit.Exit<unknown, Decode.DecodeIssue>): Decode.DecodeIssue | undefined =>
  Exit.isFailure(exit) ? Decode.issueOf(exit) : undefined

describe("InputRequired.validate", () => {
  it("needs inputRequests or requestState", () => {
    assert.deepStrictEqual(issueOf(InputRequired.validate({ resultType: "input_required" })), {
      path: "",
      problem: "has neither inputRequests nor requestState"
    })
    assert.isUndefined(issueOf(InputRequired.validate({ resultType: "input_required", requestState: "" })))
    assert.isUndefined(issueOf(InputRequired.validate({ resultType: "input_required", inputRequests: {} })))
  })

  it("needs its own resultType", () => {
    assert.strictEqual(issueOf(InputRequired.validate({ requestState: "a" }))?.path, "/resultType")
    assert.strictEqual(
      issueOf(InputRequired.validate({ resultType: "complete", requestState: "a" }))?.path,
      "/resultType"
    )
  })

  it("refuses requests for input of another method", () => {
    const inputRequests = { a: { method: "tools/call", params: {} } }
    assert.deepStrictEqual(issueOf(InputRequired.validate({ resultType: "input_required", inputRequests })), {
      path: "/inputRequests/*/method",
      problem: "is not \"elicitation/create\" or \"sampling/createMessage\" or \"roots/list\""
    })
  })

  it("keeps requestState to the byte", () => {
    const requestState = "{\"a\": [1,\u2028 2]}"
    const exit = InputRequired.validate({ resultType: "input_required", requestState })
    assert.isTrue(Exit.isSuccess(exit) && exit.value.requestState === requestState)
  })
})

describe("ElicitRequestParams", () => {
  const validate = Decode.validator(Elicitation.ElicitRequestParams)
  const form = { message: "Where to?", requestedSchema: { type: "object", properties: {} } }

  it("without a mode are a form", () => {
    const exit = validate(form)
    assert.isTrue(Exit.isSuccess(exit) && exit.value.mode !== "url" && exit.value.requestedSchema.type === "object")
    assert.isUndefined(issueOf(validate({ ...form, mode: "form" })))
  })

  it("of a URL need it, and in no revision its id", () => {
    const exit = validate({ mode: "url", message: "Sign in", url: "https://example.com/" })
    assert.isTrue(Exit.isSuccess(exit) && exit.value.mode === "url" && exit.value.url === "https://example.com/")
    assert.strictEqual(issueOf(validate({ mode: "url", message: "Sign in" }))?.path, "/url")
  })

  it("of another mode are refused", () => {
    assert.strictEqual(issueOf(validate({ ...form, mode: "voice" }))?.path, "/mode")
    assert.strictEqual(issueOf(validate({ ...form, mode: 7 }))?.path, "/mode")
  })

  it("ask for fields of the known kinds", () => {
    const pathOf = (field: unknown) =>
      issueOf(validate({ ...form, requestedSchema: { type: "object", properties: { a: field } } }))?.path
    const at = "/requestedSchema/properties/*"
    assert.isUndefined(pathOf({ type: "string", format: "color", pattern: "^a" }))
    assert.isUndefined(pathOf({ type: "string", enum: ["a"], enumNames: ["A"] }))
    assert.isUndefined(pathOf({ type: "array", items: { type: "string", enum: ["a"] } }))
    assert.strictEqual(pathOf({ type: "object" }), `${at}/type`)
    assert.strictEqual(pathOf({ type: "string", enum: [1] }), `${at}/enum/0`)
    assert.strictEqual(pathOf({ type: "string", oneOf: [{ const: "a" }] }), `${at}/oneOf/0/title`)
    assert.strictEqual(pathOf({ type: "array" }), `${at}/items`)
    assert.strictEqual(pathOf({ type: "array", items: { anyOf: [{ title: "A" }] } }), `${at}/items/anyOf/0/const`)
    assert.strictEqual(pathOf({ type: "number", minimum: "1" }), `${at}/minimum`)
  })
})
