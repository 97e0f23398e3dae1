import { assert, describe } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import * as ToolInput from "../src/internal/ToolInput.ts"

describe("ToolInput", () => {
  verifiesPure("TOO-11", "names required arguments that are missing, save those with a default", () => {
    const schema = {
      type: "object",
      properties: { city: { type: "string" }, unit: { type: "string", default: "C" }, day: {} },
      required: ["city", "unit", "day"]
    }
    assert.deepStrictEqual(ToolInput.missingArguments(schema, {}), ["city", "day"])
    assert.deepStrictEqual(ToolInput.missingArguments(schema, { city: undefined, day: null }), ["city"])
    assert.deepStrictEqual(ToolInput.missingArguments(schema, { city: "Rome", day: 0 }), [])
  })

  verifiesPure(
    "TOO-12",
    "reads requirements through the root, its local references and allOf, and nowhere else",
    () => {
      const schema = {
        $ref: "#/$defs/place",
        allOf: [{ required: ["a"] }, { $ref: "#/$defs/odd~1name" }],
        anyOf: [{ required: ["never"] }],
        $defs: {
          place: { required: ["city"], $ref: "#" },
          "odd/name": { required: ["b"] },
          unused: { required: ["never"] }
        }
      }
      assert.deepStrictEqual([...ToolInput.missingArguments(schema, {})].sort(), ["a", "b", "city"])
    }
  )

  verifiesPure("TOO-12", "requirements in a malformed or remote place are not read", () => {
    assert.deepStrictEqual(ToolInput.missingArguments({ required: "city" }, {}), [])
    assert.deepStrictEqual(ToolInput.missingArguments({ required: [1, null, "x"] }, {}), ["x"])
    assert.deepStrictEqual(ToolInput.missingArguments({ $ref: "https://example.com/schema" }, {}), [])
    assert.deepStrictEqual(ToolInput.missingArguments({ $ref: "#/%E0%A4%A" }, {}), [])
  })

  verifiesPure("TOO-11", "an inherited property is not an argument", () => {
    assert.deepStrictEqual(ToolInput.missingArguments({ required: ["toString", "__proto__"] }, {}), [
      "toString",
      "__proto__"
    ])
  })

  verifiesPure(
    "TOO-13",
    "knows the three dialects in every spelling and refuses another before the call is sent",
    () => {
      const tool = (dialect: unknown) => ({ name: "t", inputSchema: { type: "object", $schema: dialect } })
      for (
        const dialect of [
          "https://json-schema.org/draft/2020-12/schema",
          "http://json-schema.org/draft/2020-12/schema#",
          "https://json-schema.org/draft/2019-09/schema",
          "http://json-schema.org/draft-07/schema#",
          "https://json-schema.org/draft-07/schema"
        ]
      ) assert.isUndefined(ToolInput.problem(tool(dialect), {}))
      const reason = ToolInput.problem(tool("http://json-schema.org/draft-04/schema#"), {})
      assert.strictEqual(reason?._tag, "SchemaUnsupported")
      if (reason?._tag === "SchemaUnsupported") {
        assert.strictEqual(reason.which, "inputSchema")
        assert.strictEqual(reason.dialect, "http://json-schema.org/draft-04/schema#")
        assert.strictEqual(reason.supported.length, 3)
      }
    }
  )

  verifiesPure("TOO-14", "a schema that is unusable for another reason does not stop the call", () => {
    assert.isUndefined(
      ToolInput.problem({ name: "t", inputSchema: { type: "object", $schema: 7, $ref: "#/nowhere" } }, {})
    )
  })

  verifiesPure(
    "TOO-14",
    "says why a schema checks nothing: no usable dialect, or a reference that leads nowhere",
    () => {
      for (
        const schema of [
          { $schema: 7 },
          { $ref: "#/$defs/nowhere" },
          { $ref: "https://example.com/schema" },
          { allOf: [{ $ref: "#/$defs/nowhere" }] }
        ]
      ) assert.isString(ToolInput.unusable(schema), JSON.stringify(schema))
      for (const schema of [{}, { type: "object" }, { $ref: "#" }, { $ref: "#/$defs/a", $defs: { a: {} } }]) {
        assert.isUndefined(ToolInput.unusable(schema), JSON.stringify(schema))
      }
    }
  )
})
