import { assert, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Decode, type Json, Tool } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"

const validate = Decode.validator(Tool.Tool)

const read = (members: Json.JsonObject = {}): Tool.Tool => {
  const exit = validate({ name: "book", inputSchema: { type: "object" }, ...members })
  if (Exit.isFailure(exit)) throw new Error(JSON.stringify(Decode.issueOf(exit)))
  return exit.value
}

const lessSafe = { readOnly: false, destructive: true, idempotent: false, openWorld: true }

verifiesPure("TOO-06", "a hint that is not given counts as the less safe one", () => {
  assert.deepStrictEqual(Tool.hints(read({ annotations: {} })), lessSafe)
  assert.deepStrictEqual(Tool.hints(read({ annotations: { readOnlyHint: true } })), { ...lessSafe, readOnly: true })
  assert.deepStrictEqual(Tool.hints(read({ annotations: { destructiveHint: false } })), {
    ...lessSafe,
    destructive: false
  })
  assert.deepStrictEqual(Tool.hints(read({ annotations: { idempotentHint: true } })), { ...lessSafe, idempotent: true })
  assert.deepStrictEqual(Tool.hints(read({ annotations: { openWorldHint: false } })), { ...lessSafe, openWorld: false })
})

verifiesPure("TOO-20", "a tool without annotations writes, may destroy and reaches outside", () => {
  assert.deepStrictEqual(Tool.hints(read()), {
    readOnly: false,
    destructive: true,
    idempotent: false,
    openWorld: true
  })
})

verifiesPure("TOO-07", "the hints of old say whether a tool only reads, destroys or wants a confirmation", () => {
  assert.deepStrictEqual(
    Tool.legacyHints(read({ annotations: { readOnly: true, destructive: true, requiresConfirmation: true } })),
    { readOnly: true, destructive: true, requiresConfirmation: true }
  )
  const none = { readOnly: false, destructive: false, requiresConfirmation: false }
  assert.deepStrictEqual(Tool.legacyHints(read()), none)
  assert.deepStrictEqual(Tool.legacyHints(read({ annotations: { readOnly: "yes", destructive: 1 } })), none)
})

verifiesPure(["TOO-08", "MOD-04"], "title, icons and _meta of a tool are there", () => {
  const tool = read({
    title: "Book a room",
    icons: [{ src: "data:image/png;base64,aGk=", mimeType: "image/png", sizes: ["any"] }],
    _meta: { "com.example/rank": 3 }
  })
  assert.strictEqual(tool.title, "Book a room")
  assert.deepStrictEqual(tool.icons, [{ src: "data:image/png;base64,aGk=", mimeType: "image/png", sizes: ["any"] }])
  assert.strictEqual(tool._meta?.["com.example/rank"], 3)
})

verifiesPure("TOO-08", "a tool is shown by its title, else by that of its annotations, else by its name", () => {
  assert.strictEqual(Tool.displayName(read({ title: "A", annotations: { title: "B" } })), "A")
  assert.strictEqual(Tool.displayName(read({ annotations: { title: "B" } })), "B")
  assert.strictEqual(Tool.displayName(read()), "book")
})

verifiesPure("TOO-09", "the output schema of a tool is there as it came, and whether it has one", () => {
  const outputSchema = { $ref: "#/$defs/Room", $defs: { Room: { type: "array" } } }
  const tool = read({ outputSchema })
  assert.strictEqual(tool.outputSchema, outputSchema)
  assert.isTrue(Tool.hasStructuredOutput(tool))
  assert.isFalse(Tool.hasStructuredOutput(read()))
})

verifiesPure("TOO-10", "whether a tool may, must or must not run as a task", () => {
  const of = (taskSupport: unknown) => read({ execution: { taskSupport } })
  assert.strictEqual(Tool.taskSupport(read()), "forbidden")
  assert.strictEqual(Tool.taskSupport(read({ execution: {} })), "forbidden")
  assert.strictEqual(Tool.taskSupport(of("forbidden")), "forbidden")
  assert.strictEqual(Tool.taskSupport(of("optional")), "optional")
  assert.strictEqual(Tool.taskSupport(of("required")), "required")
  assert.strictEqual(Tool.taskSupport(of("sometimes")), "forbidden")
  assert.deepStrictEqual(["forbidden", "optional", "required"].map((support) => Tool.supportsTask(of(support))), [
    false,
    true,
    true
  ])
})

it("needs a name and an input schema that is an object, of whatever root", () => {
  assert.isTrue(Exit.isSuccess(validate({ name: "", inputSchema: {} })))
  assert.isTrue(Exit.isSuccess(validate({ name: "a/b c", inputSchema: { oneOf: [] } })))
  assert.isTrue(Exit.isFailure(validate({ name: "a", inputSchema: true })))
  assert.isTrue(Exit.isFailure(validate({ inputSchema: {} })))
})
