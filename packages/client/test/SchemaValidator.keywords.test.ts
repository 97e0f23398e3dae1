/**
 * What each keyword of each dialect makes of values: by hand, from the specifications of the dialects.
 */
import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import * as Effect from "effect/Effect"
import * as SchemaValidator from "../src/SchemaValidator.ts"

type Schema = Record<string, unknown> | boolean

interface Vector {
  readonly schema: Schema
  readonly fits: ReadonlyArray<unknown>
  readonly fails: ReadonlyArray<unknown>
}

const v2019 = "https://json-schema.org/draft/2019-09/schema"
const v7 = "http://json-schema.org/draft-07/schema#"

const holds = Effect.fnUntraced(function*(vectors: ReadonlyArray<Vector>) {
  for (const { fails, fits, schema } of vectors) {
    const compiled = yield* SchemaValidator.make().compile(schema)
    const name = (value: unknown) => `${JSON.stringify(schema)} and ${JSON.stringify(value)}`
    for (const value of fits) assert.deepStrictEqual(compiled.validate(value), [], name(value))
    for (const value of fails) assert.isNotEmpty(compiled.validate(value), name(value))
  }
})

/** The same in all three dialects. */
const everywhere = (vectors: ReadonlyArray<Vector>): ReadonlyArray<Vector> =>
  vectors.flatMap((vector) =>
    typeof vector.schema === "boolean" ? [vector] : [
      vector,
      { ...vector, schema: { $schema: v2019, ...vector.schema } },
      { ...vector, schema: { $schema: v7, ...vector.schema } }
    ]
  )

// A lint rule takes whatever has a `then` for a promise.
const branches = (...parts: ReadonlyArray<Schema>): Record<string, unknown> =>
  Object.fromEntries(parts.map((part, index) => [["then", "else", "if"][index], part]))

const when = (condition: Schema, fits: Schema, fails: Schema) => branches(fits, fails, condition)

// A member of this name comes from a parser; a literal would set the prototype.
const proto: unknown = JSON.parse(`{"__proto__":1}`)

describe("SchemaValidator: keywords", () => {
  verifies("SCH-10", "types, enumerations and objects", () =>
    holds(everywhere([
      { schema: { type: "integer" }, fits: [1, 1.0, -0, 1e300], fails: [1.5, "1", null, true, [], {}] },
      { schema: { type: ["string", "null"] }, fits: ["", null], fails: [0, false, [], {}] },
      { schema: { type: "number" }, fits: [1, 1.5], fails: ["1"] },
      { schema: { type: "object" }, fits: [{}, proto], fails: [[], null] },
      {
        schema: { enum: [1, "a", null, { a: 1, b: [2] }, ["x"]] },
        fits: [1, "a", null, { b: [2], a: 1 }, ["x"]],
        fails: ["1", true, { a: 1 }, { a: 1, b: [2, 3] }, [], [1], { 0: "x" }]
      },
      { schema: { const: null }, fits: [null], fails: [0, "", false] },
      { schema: { const: { valueOf: 1, constructor: {} } }, fits: [{ constructor: {}, valueOf: 1 }], fails: [{}] },
      { schema: { const: false, enum: [false, 0] }, fits: [false], fails: [0] },
      {
        schema: { properties: { a: { type: "string" }, no: false } },
        fits: [{}, { a: "" }, { toString: 1, constructor: 2 }, 7, [1]],
        fails: [{ a: 1 }, { no: 1 }]
      },
      { schema: { properties: { toString: { type: "string" } } }, fits: [{}], fails: [{ toString: 1 }] },
      { schema: JSON.parse(`{"properties":{"__proto__":{"type":"string"}}}`), fits: [{}], fails: [proto] },
      {
        schema: { required: ["a", "__proto__"] },
        fits: [JSON.parse(`{"a":0,"__proto__":0}`), 1],
        fails: [{ a: 1 }, {}]
      },
      {
        schema: { patternProperties: { "^x-": { type: "number" }, "y$": { minimum: 2 } } },
        fits: [{ "x-a": 1, b: "" }, { "x-y": 2 }],
        fails: [{ "x-a": "" }, { "x-y": 1 }]
      },
      {
        schema: { properties: { a: true }, patternProperties: { "^x-": true }, additionalProperties: { type: "null" } },
        fits: [{ a: 1, "x-b": 2, c: null }],
        fails: [{ _id: 1 }, { c: 1 }]
      },
      { schema: { additionalProperties: false }, fits: [{}, []], fails: [{ _id: 1 }, proto] },
      {
        schema: { propertyNames: { maxLength: 2, pattern: "^a" } },
        fits: [{ a: 1, ab: 1 }],
        fails: [{ abc: 1 }, { b: 1 }]
      },
      { schema: { propertyNames: false }, fits: [{}], fails: [{ a: 1 }] },
      {
        schema: { minProperties: 1, maxProperties: 2 },
        fits: [{ a: 1 }, { a: 1, b: 1 }, []],
        fails: [{}, { a: 1, b: 1, c: 1 }]
      }
    ])))

  verifies("SCH-11", "what the presence of one member demands", () => {
    const required = { fits: [{ a: 1, b: 1 }, { b: 1 }, {}, 1], fails: [{ a: 1 }] }
    const schemas = { fits: [{ a: 1, b: 1 }, { b: "" }], fails: [{ a: 1, b: "" }] }
    const byName = { a: { properties: { b: { type: "number" } } } }
    return holds([
      { schema: { dependentRequired: { a: ["b"] } }, ...required },
      { schema: { $schema: v2019, dependentRequired: { a: ["b"] } }, ...required },
      { schema: { $schema: v7, dependencies: { a: ["b"] } }, ...required },
      { schema: { dependentSchemas: byName }, ...schemas },
      { schema: { $schema: v2019, dependentSchemas: byName }, ...schemas },
      { schema: { $schema: v7, dependencies: byName }, ...schemas },
      { schema: { $schema: v7, dependencies: { a: false } }, fits: [{}], fails: [{ a: 1 }] },
      { schema: JSON.parse(`{"dependentRequired":{"__proto__":["b"]}}`), fits: [{}], fails: [proto] }
    ])
  })

  verifies("SCH-12", "items, their number and their likeness", () =>
    holds([
      ...everywhere([
        { schema: { items: { type: "number" } }, fits: [[], [1, 2], {}], fails: [[1, ""]] },
        { schema: { items: false }, fits: [[]], fails: [[1]] },
        { schema: { minItems: 1, maxItems: 2 }, fits: [[1], [1, 2], ""], fails: [[], [1, 2, 3]] },
        {
          schema: { uniqueItems: true },
          fits: [[1, "1", true, null], [[1], { 0: 1 }], [{ a: 1 }, { a: 2 }], [[1, 2], [2, 1]], [1, [1]], ["a,b", [
            "a",
            "b"
          ]]],
          fails: [[1, 2, 1.0], [{ a: 1, b: 2 }, { b: 2, a: 1 }], [[[]], [[]]], [0, -0]]
        },
        { schema: { contains: { type: "number" } }, fits: [[1], ["", 1], {}], fails: [[], [""]] },
        { schema: { contains: false }, fits: [""], fails: [[], [1]] }
      ]),
      {
        schema: { prefixItems: [{ type: "number" }, true], items: { type: "string" } },
        fits: [[1], [1, 2, "a"], []],
        fails: [["a"], [1, 2, 3]]
      },
      { schema: { prefixItems: [true], items: false }, fits: [[1]], fails: [[1, 2]] },
      ...[v2019, v7].flatMap(($schema) => [
        {
          schema: { $schema, items: [{ type: "number" }, true], additionalItems: { type: "string" } },
          fits: [[1], [1, 2, "a"]],
          fails: [["a"], [1, 2, 3]]
        },
        { schema: { $schema, items: {}, additionalItems: false }, fits: [[1, 2]], fails: [] },
        { schema: { $schema, additionalItems: false }, fits: [[1, 2]], fails: [] }
      ]),
      ...[{}, { $schema: v2019 }].flatMap((dialect) => [
        {
          schema: { ...dialect, contains: { type: "number" }, minContains: 2, maxContains: 3 },
          fits: [[1, 2], [1, "", 2, 3]],
          fails: [[1], [1, 2, 3, 4]]
        },
        { schema: { ...dialect, contains: false, minContains: 0 }, fits: [[], [1]], fails: [] },
        { schema: { ...dialect, minContains: 2 }, fits: [[]], fails: [] },
        { schema: { ...dialect, contains: true, maxContains: 1 }, fits: [[1]], fails: [[1, 2], []] }
      ])
    ]))

  verifies("SCH-13", "lengths, patterns and numbers", () =>
    holds(everywhere([
      {
        schema: { minLength: 2, maxLength: 3 },
        fits: ["ab", "🐲🐲", "🐲🐲🐲", 1],
        fails: ["a", "🐲", "abcd", "🐲🐲🐲🐲"]
      },
      { schema: { pattern: "b+$" }, fits: ["abb", 1], fails: ["ba"] },
      { schema: { maximum: 0 }, fits: [0, -1, "1"], fails: [0.1] },
      { schema: { minimum: 0 }, fits: [0], fails: [-0.1] },
      { schema: { exclusiveMaximum: 0, exclusiveMinimum: -2 }, fits: [-1], fails: [0, -2] },
      { schema: { multipleOf: 0.01 }, fits: [19.99, 0, 1, -0.07, 4.35], fails: [0.005, 19.995] },
      { schema: { multipleOf: 1e-8 }, fits: [12391239123, 1.00000001], fails: [1.000000001] },
      { schema: { multipleOf: 0.123456789 }, fits: [0.246913578], fails: [1e308] },
      { schema: { multipleOf: 3 }, fits: [-9, 3e20], fails: [10, 1e300] }
    ])))

  verifies("SCH-14", "combinations, conditions and references within the document", () =>
    holds(everywhere([
      { schema: { allOf: [{ minimum: 1 }, { maximum: 2 }] }, fits: [1, 2], fails: [0, 3] },
      { schema: { anyOf: [{ minimum: 3 }, { maximum: 1 }] }, fits: [0, 3], fails: [2] },
      { schema: { oneOf: [{ minimum: 1 }, { maximum: 2 }] }, fits: [0, 3], fails: [1] },
      { schema: { not: { type: "number" } }, fits: [""], fails: [1] },
      { schema: { not: {} }, fits: [], fails: [1] },
      {
        schema: when({ minimum: 1 }, { maximum: 2 }, { multipleOf: 2 }),
        fits: [1, 2, 0, -4],
        fails: [3, -1]
      },
      { schema: branches(false, false), fits: [1], fails: [] },
      {
        schema: { properties: { a: { $ref: "#/definitions/b" } }, definitions: { b: { type: "string" } } },
        fits: [{ a: "" }],
        fails: [{ a: 1 }]
      },
      {
        schema: { properties: { next: { $ref: "#" } }, additionalProperties: false },
        fits: [{ next: { next: {} } }],
        fails: [{ next: { other: 1 } }]
      },
      {
        schema: { items: { $ref: "#/definitions/a~1b%25~0%22" }, definitions: { "a/b%~\"": { type: "null" } } },
        fits: [[null]],
        fails: [[1]]
      },
      { schema: { $ref: "#/x-own/0", "x-own": [{ type: "null" }] }, fits: [null], fails: [1] }
    ])))

  verifies(
    "SCH-15",
    "what other schemas applied to the same value have evaluated is known, and nothing else",
    () =>
      holds(
        [{}, { $schema: v2019 }].flatMap((dialect): ReadonlyArray<Vector> => [
          {
            schema: {
              ...dialect,
              allOf: [{ properties: { a: true } }],
              anyOf: [{ properties: { b: { const: 1 } }, required: ["b"] }, {
                properties: { c: { const: 1 } },
                required: ["c"]
              }],
              ...when(
                { properties: { d: { const: 1 } }, required: ["d"] },
                { properties: { e: true } },
                { properties: { f: true } }
              ),
              dependentSchemas: { g: { properties: { g: true, h: true } } },
              $ref: "#/$defs/i",
              unevaluatedProperties: false,
              $defs: { i: { patternProperties: { "^i": true } } }
            },
            fits: [{ a: 1, b: 1, d: 1, e: 1 }, { c: 1, f: 1 }, { b: 1, c: 1, g: 1, h: 1, i1: 1 }],
            // `c` belongs to a branch that fails, `f` and `e` to the branch not taken, `h` to a member that is absent.
            fails: [{ b: 1, c: 2 }, { b: 1, d: 1, f: 1 }, { b: 1, e: 1 }, { b: 1, h: 1 }, { b: 1, x: 1 }]
          },
          // A cousin evaluates nothing for the one beside it.
          {
            schema: { ...dialect, allOf: [{ properties: { a: true } }, { unevaluatedProperties: false }] },
            fits: [{}],
            fails: [{ a: 1 }]
          },
          {
            schema: { ...dialect, not: { not: { properties: { a: true } } }, unevaluatedProperties: false },
            fits: [{}],
            fails: [{ a: 1 }]
          },
          {
            schema: { ...dialect, allOf: [{ unevaluatedProperties: true }], unevaluatedProperties: false },
            fits: [{ a: 1 }],
            fails: []
          },
          {
            schema: { ...dialect, additionalProperties: true, unevaluatedProperties: false },
            fits: [{ a: 1 }],
            fails: []
          },
          {
            schema: {
              ...dialect,
              oneOf: [{ properties: { a: { const: 1 } } }, { required: ["b"] }],
              unevaluatedProperties: { type: "null" }
            },
            fits: [{ a: 1, x: null }],
            fails: [{ a: 1, x: 1 }]
          },
          {
            schema: { ...dialect, allOf: [{ items: { type: "number" } }], unevaluatedItems: false },
            fits: [[1, 2]],
            fails: []
          },
          { schema: { ...dialect, unevaluatedItems: { type: "null" } }, fits: [[null]], fails: [[1]] }
        ]).concat([
          {
            schema: { prefixItems: [true], contains: { type: "null" }, unevaluatedItems: false },
            fits: [[1, null, null], [null]],
            fails: [[1, null, 2]]
          },
          {
            schema: {
              allOf: [{ prefixItems: [true] }],
              anyOf: [{ prefixItems: [true, { const: 1 }] }, true],
              unevaluatedItems: false
            },
            fits: [[1], [1, 1]],
            fails: [[1, 2]]
          },
          // Only since 2020-12 does `contains` evaluate.
          {
            schema: { $schema: v2019, items: [true], contains: { type: "null" }, unevaluatedItems: false },
            fits: [[null]],
            fails: [[1, null]]
          }
        ])
      )
  )

  verifies(["SCH-16", "SCH-39"], "a dynamic reference binds to the outermost resource that was entered", () => {
    const tree = (dialect: Record<string, unknown>, mark: Record<string, unknown>, refer: Record<string, unknown>) => ({
      ...dialect,
      $id: "https://example.com/strict",
      ...mark,
      $ref: "tree",
      unevaluatedProperties: false,
      $defs: {
        tree: {
          $id: "tree",
          ...mark,
          type: "object",
          properties: { data: true, children: { type: "array", items: refer } }
        }
      }
    })
    const strict = { fits: [{ children: [{ data: 1 }] }], fails: [{ children: [{ dat: 1 }] }, { dat: 1 }] }
    const anchored = { $dynamicAnchor: "node" }
    const referring = { $dynamicRef: "#node" }
    return holds([
      { schema: tree({}, anchored, referring), ...strict },
      { schema: tree({ $schema: v2019 }, { $recursiveAnchor: true }, { $recursiveRef: "#" }), ...strict },
      // Without the anchor at its target the reference is a plain one.
      {
        schema: tree({ $schema: v2019 }, {}, { $recursiveRef: "#" }),
        fits: [{ children: [{ dat: 1 }] }],
        fails: [{ dat: 1 }]
      },
      {
        schema: {
          $id: "https://example.com/plain",
          $dynamicAnchor: "item",
          type: "object",
          properties: { list: { $ref: "list" } },
          $defs: {
            list: { $id: "list", items: { $dynamicRef: "#item" }, $defs: { item: { $anchor: "item", type: "string" } } }
          }
        },
        fits: [{ list: ["a"] }],
        fails: [{ list: [{}] }]
      },
      {
        // The resource `never` has the anchor too, but is never entered, and decides nothing.
        schema: {
          $id: "https://example.com/root",
          $ref: "list",
          $defs: {
            never: { $id: "never", $dynamicAnchor: "item", type: "boolean" },
            list: {
              $id: "list",
              items: { $dynamicRef: "#item" },
              $defs: { item: { $dynamicAnchor: "item", type: "string" } }
            }
          }
        },
        fits: [["a"]],
        fails: [[true], [1]]
      },
      {
        // Entered and left again, `numbers` is no part of the scope in which `strings` is entered.
        schema: {
          $id: "https://example.com/two",
          properties: { n: { $ref: "numbers" }, s: { $ref: "strings" } },
          $defs: {
            numbers: { $id: "numbers", $ref: "list", $defs: { a: { $dynamicAnchor: "item", type: "number" } } },
            strings: { $id: "strings", $ref: "list", $defs: { a: { $dynamicAnchor: "item", type: "string" } } },
            list: { $id: "list", items: { $dynamicRef: "#item" }, $defs: { a: { $dynamicAnchor: "item" } } }
          }
        },
        fits: [{ n: [1], s: ["a"] }],
        fails: [{ n: ["a"] }, { n: [1], s: [1] }]
      }
    ])
  })

  verifies(
    ["SCH-17", "SCH-40"],
    "format and contentSchema decide nothing, and are named",
    () =>
      Effect.gen(function*() {
        const schema = {
          properties: {
            a: { format: "email" },
            b: { contentMediaType: "application/json", contentSchema: { type: "number" } }
          }
        }
        yield* holds(everywhere([{ schema, fits: [{ a: "no address", b: "{" }], fails: [] }]))
        const validator = SchemaValidator.make()
        assert.deepStrictEqual((yield* validator.compile(schema)).unevaluated, ["format", "contentSchema"])
        assert.deepStrictEqual((yield* validator.compile({ format: "email" })).unevaluated, ["format"])
        // draft-07 has no contentSchema, and an example is no schema.
        const old = { $schema: v7, contentSchema: {}, examples: [{ format: "email" }], properties: { format: true } }
        assert.deepStrictEqual((yield* validator.compile(old)).unevaluated, [])
      })
  )

  verifies("SCH-18", "a keyword that is not evaluated is never taken for a match", () => {
    const email = { type: "string", format: "email" }
    return holds(everywhere([
      { schema: { not: email }, fits: ["a", 1], fails: [] },
      { schema: { not: { not: email } }, fits: ["a"], fails: [1] },
      { schema: { not: { properties: { a: email } } }, fits: [{ a: "x" }, { a: 1 }], fails: [{}, 1] },
      { schema: { oneOf: [email, { type: "string" }] }, fits: ["a"], fails: [1] },
      { schema: { oneOf: [email, { minLength: 1 }, { maxLength: 3 }] }, fits: [""], fails: ["ab"] },
      { schema: { anyOf: [email, { type: "null" }] }, fits: ["a", null], fails: [1] },
      { schema: { not: { anyOf: [email, { type: "null" }] } }, fits: ["a", 1], fails: [null] },
      { schema: when(email, { maxLength: 1 }, { type: "null" }), fits: ["abc", null], fails: [1] },
      { schema: { not: { contains: email } }, fits: [["a"], [1], []], fails: [] },
      { schema: { not: when(email, true, true) }, fits: ["a"], fails: [1] }
    ]))
  })

  verifies("SCH-29", "definitions hold schemas as $defs do", () =>
    holds([{}, { $schema: v2019 }].map((dialect) => ({
      schema: { ...dialect, $ref: "#here", definitions: { a: { $anchor: "here", type: "null" } } },
      fits: [null],
      fails: [1]
    }))))

  verifies("SCH-30", "a reference stands alone in draft-07, and beside others since", () => {
    const beside = { $ref: "#/definitions/a", maximum: 1, definitions: { a: { type: "number" } } }
    return holds([
      { schema: beside, fits: [1], fails: [2, ""] },
      { schema: { $schema: v2019, ...beside }, fits: [1], fails: [2, ""] },
      { schema: { $schema: v7, ...beside }, fits: [1, 2], fails: [""] },
      // A schema with an identifier may be written in another dialect.
      {
        schema: {
          properties: { old: { $ref: "https://example.com/old" }, new: { $ref: "#/$defs/new" } },
          $defs: {
            new: { prefixItems: [{ type: "number" }], items: false },
            old: {
              $id: "https://example.com/old",
              $schema: v7,
              items: [{ type: "number" }],
              additionalItems: false,
              prefixItems: [{ type: "string" }]
            }
          }
        },
        fits: [{ old: [1], new: [1] }],
        fails: [{ old: ["a"] }, { old: [1, 2] }, { new: ["a"] }, { new: [1, 2] }]
      }
    ])
  })

  verifies("SCH-31", "what is no keyword of the dialect is nothing at all", () =>
    holds([
      {
        schema: {
          $schema: v7,
          $defs: 7,
          $anchor: [],
          minContains: "x",
          dependentRequired: 1,
          unevaluatedProperties: false
        },
        fits: [{ a: 1 }],
        fails: []
      },
      {
        schema: { $schema: v2019, prefixItems: "x", $dynamicRef: 1, dependencies: { a: ["b"] } },
        fits: [{ a: 1 }],
        fails: []
      },
      {
        schema: {
          additionalItems: 7,
          $recursiveRef: {},
          dependencies: { a: ["b"] },
          "x-mcp-header": 1,
          discriminator: {}
        },
        fits: [{ a: 1 }],
        fails: []
      },
      // Nor what means something to the library underneath.
      {
        schema: {
          type: "string",
          errorMessages: 1,
          regexFlags: "i",
          pattern: "^a$",
          oneOfProperty: 1,
          propertyDependencies: 1
        },
        fits: ["a"],
        fails: ["A"]
      }
    ]))

  verifies("SCH-34", "a boolean is a schema, at the root and below", () =>
    holds([
      { schema: true, fits: [null, {}], fails: [] },
      { schema: false, fits: [], fails: [null, {}] },
      { schema: { properties: { a: false }, items: true }, fits: [{}, [1]], fails: [{ a: 1 }] },
      { schema: { $ref: "#/$defs/no", $defs: { no: false } }, fits: [], fails: [1] }
    ]))
})
