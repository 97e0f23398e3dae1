import { assert, describe } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Diagnostic, Revision } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as OutputValidation from "../src/internal/OutputValidation.ts"
import * as SchemaValidator from "../src/SchemaValidator.ts"

const modern = Revision.latestModern
const legacy = Revision.latestLegacy
const before = Revision.fromVersion("2025-03-26")

const weather = {
  name: "weather",
  outputSchema: {
    type: "object",
    properties: { degrees: { type: "number" } },
    required: ["degrees"]
  }
}

const missing = [
  { path: "", problem: "is missing: the tool declares an output schema, but gave no structured content" }
]

const make = () => {
  const diagnostics: Array<Diagnostic.Diagnostic> = []
  const validation = new OutputValidation.OutputValidation((diagnostic) => diagnostics.push(diagnostic))
  return { diagnostics, validation }
}

describe("structuredContentOf", () => {
  const values = [null, [], "", 0, false]

  verifiesPure(["SCH-05", "SCH-35"], "is any value that is there since 2026-07-28, and an object before", () => {
    const object = { structuredContent: { a: 1 } }
    assert.deepStrictEqual(OutputValidation.structuredContentOf(object, modern), Option.some({ a: 1 }))
    assert.deepStrictEqual(OutputValidation.structuredContentOf(object, legacy), Option.some({ a: 1 }))
    for (const structuredContent of values) {
      const result = { structuredContent }
      assert.deepStrictEqual(OutputValidation.structuredContentOf(result, modern), Option.some(structuredContent))
      assert.deepStrictEqual(OutputValidation.structuredContentOf(result, legacy), Option.none())
    }
    for (const revision of [modern, legacy]) {
      assert.deepStrictEqual(OutputValidation.structuredContentOf({}, revision), Option.none())
    }
    assert.deepStrictEqual(OutputValidation.structuredContentOf(Object.create(object), modern), Option.none())
    // Before 2025-06-18 there was none.
    assert.deepStrictEqual(OutputValidation.structuredContentOf(object, before), Option.none())
  })

  verifiesPure("SCH-06", "is any value where the revision is not known", () => {
    for (const structuredContent of values) {
      assert.deepStrictEqual(
        OutputValidation.structuredContentOf({ structuredContent }, undefined),
        Option.some(structuredContent)
      )
    }
  })
})

describe("dialectProblem", () => {
  verifiesPure(["SCH-23", "SCH-36"], "is that the output schema is in a dialect that is not supported", () => {
    const tool = (outputSchema: Record<string, unknown> | undefined) => ({ name: "t", outputSchema })
    const problem = OutputValidation.dialectProblem(tool({ $schema: "urn:unknown-dialect" }))
    assert.strictEqual(
      problem?.message,
      "The outputSchema of tool \"t\" declares a dialect of JSON Schema (urn:unknown-dialect) that is not supported "
        + "(supported: https://json-schema.org/draft/2020-12/schema, https://json-schema.org/draft/2019-09/schema, "
        + "http://json-schema.org/draft-07/schema#)"
    )
    assert.deepStrictEqual(problem?.supported, SchemaValidator.supportedDialects)
    for (const schema of [undefined, {}, { $schema: "https://json-schema.org/draft-07/schema" }, { $schema: 7 }]) {
      assert.isUndefined(OutputValidation.dialectProblem(tool(schema)))
    }
  })
})

describe("OutputValidation", () => {
  verifies("SCH-01", "finds what does not fit the output schema", () =>
    Effect.gen(function*() {
      const { diagnostics, validation } = make()
      const check = (structuredContent: unknown) => validation.check(weather, { structuredContent }, modern)
      assert.deepStrictEqual(yield* check({ degrees: 20 }), [])
      assert.deepStrictEqual(yield* check({ degrees: "warm" }), [
        { path: "/degrees", problem: "must be of type number, not string" }
      ])
      assert.deepStrictEqual(yield* check({}), [{ path: "/degrees", problem: "is required, but missing" }])
      assert.deepStrictEqual(yield* check(null), [{ path: "", problem: "must be of type object, not null" }])
      assert.deepStrictEqual(diagnostics, [])
    }))

  verifies(
    ["SCH-01", "SCH-05", "PAIN-53"],
    "finds structured content missing where it was declared",
    () =>
      Effect.gen(function*() {
        const { validation } = make()
        const anything = { name: "any", outputSchema: {} }
        assert.deepStrictEqual(yield* validation.check(weather, {}, modern), missing)
        assert.deepStrictEqual(yield* validation.check(weather, { structuredContent: [1] }, legacy), missing)
        assert.deepStrictEqual(yield* validation.check(anything, { structuredContent: null }, legacy), missing)
        assert.deepStrictEqual(yield* validation.check(anything, { structuredContent: null }, modern), [])
        assert.deepStrictEqual(yield* validation.check({ name: "none", outputSchema: undefined }, {}, modern), [])
        assert.deepStrictEqual(yield* validation.check(weather, {}, before), [])
      })
  )

  verifies("SCH-04", "looks into no result that is an error", () =>
    Effect.gen(function*() {
      const { validation } = make()
      assert.deepStrictEqual(yield* validation.check(weather, { isError: true }, modern), [])
      assert.deepStrictEqual(yield* validation.check(weather, { isError: true, structuredContent: {} }, modern), [])
      assert.deepStrictEqual(yield* validation.check(weather, { isError: false }, modern), missing)
    }))

  verifies(
    ["SCH-25", "PAIN-54"],
    "finds nothing by a schema that cannot be used, and tells of it once",
    () =>
      Effect.gen(function*() {
        const { diagnostics, validation } = make()
        const check = (name: string, outputSchema: Record<string, unknown>) =>
          validation.check({ name, outputSchema }, { structuredContent: { a: 1 } }, modern)
        for (let i = 0; i < 2; i++) {
          assert.deepStrictEqual(yield* check("remote", { $ref: "https://example.com/a" }), [])
          assert.deepStrictEqual(yield* check("dangling", { properties: { a: { $ref: "#/$defs/a" } } }), [])
          assert.deepStrictEqual(yield* check("pattern", { pattern: "(?i)a" }), [])
          assert.deepStrictEqual(yield* check("odd\n", { $schema: "urn:other" }), [])
        }
        assert.deepStrictEqual(diagnostics, [
          {
            _tag: "SchemaUnusable",
            tool: "remote",
            problem: "outputSchema/$ref: refers to a schema outside of the document, and none is fetched"
          },
          {
            _tag: "SchemaUnusable",
            tool: "dangling",
            problem: "outputSchema/properties/a/$ref: refers to a place that does not exist, or is no schema"
          },
          {
            _tag: "SchemaUnusable",
            tool: "pattern",
            problem: "outputSchema/pattern: the pattern is not a regular expression of ECMA-262"
          },
          {
            _tag: "SchemaUnusable",
            tool: "odd\\n",
            problem: "outputSchema/$schema: that dialect is not supported (supported: "
              + `${SchemaValidator.supportedDialects.join(", ")})`
          }
        ])
        // Another fault of the same tool is news.
        yield* check("remote", { type: "text" })
        assert.strictEqual(diagnostics.length, 5)
      })
  )

  verifies(
    ["SCH-17", "SCH-40"],
    "tells once that a check is partial, and of which keywords",
    () =>
      Effect.gen(function*() {
        const { diagnostics, validation } = make()
        const tool = {
          name: "mail",
          outputSchema: { properties: { to: { format: "email" }, body: { contentSchema: {} }, at: { format: "date" } } }
        }
        for (let i = 0; i < 2; i++) {
          assert.deepStrictEqual(yield* validation.check(tool, { structuredContent: { to: "nobody" } }, modern), [])
        }
        const [told] = diagnostics
        assert.deepStrictEqual(diagnostics, [
          { _tag: "SchemaPartial", tool: "mail", keywords: ["format", "contentSchema"] }
        ])
        assert.strictEqual(
          told === undefined ? undefined : Diagnostic.describe(told),
          "Validation of the output of tool mail is partial: format and contentSchema in its schema are not evaluated"
        )
      })
  )

  verifies("SCH-25", "loses no result to a validator of the host that breaks", () =>
    Effect.gen(function*() {
      const { diagnostics, validation } = make()
      const broken = Effect.provideService(SchemaValidator.SchemaValidator, {
        compile: () =>
          Effect.succeed({
            unevaluated: [],
            validate: () => {
              throw new Error("broken")
            }
          })
      })
      assert.deepStrictEqual(yield* broken(validation.check(weather, { structuredContent: {} }, modern)), [])
      assert.deepStrictEqual(diagnostics, [
        { _tag: "SchemaUnusable", tool: "weather", problem: "outputSchema: the validator failed" }
      ])
    }))
})
