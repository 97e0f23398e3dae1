import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { HeaderParams, HeaderValue } from "@mcp-effect/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const property = (schema: unknown) => ({ type: "object", properties: { value: schema } })

const annotated = (name: unknown, type: unknown = "string") => property({ type, "x-mcp-header": name })

const pathsOf = (inputSchema: unknown) => HeaderParams.validateSchema(inputSchema).map(({ path }) => path)

const headers = (inputSchema: unknown, args: Readonly<Record<string, unknown>>) =>
  Result.getOrThrow(HeaderParams.headersFor(inputSchema, args))

const problemOf = (inputSchema: unknown, args: Readonly<Record<string, unknown>>) =>
  Result.getOrThrow(Result.flip(HeaderParams.headersFor(inputSchema, args)))

const query = {
  type: "object",
  properties: {
    region: { type: "string", "x-mcp-header": "Region" },
    options: {
      type: "object",
      properties: {
        priority: { type: "integer", "x-mcp-header": "Priority" },
        dryRun: { type: "boolean", "x-mcp-header": "Dry-Run" }
      }
    },
    sql: { type: "string" }
  }
}

describe("HeaderParams.validateSchema", () => {
  verifiesPure("HDR-15", "accepts tokens on strings, integers and booleans, at any depth of properties", () => {
    assert.deepStrictEqual(HeaderParams.validateSchema(query), [])
    for (const name of ["Method", "x", "!#$%&'*+-.^_`|~09AZaz"]) {
      assert.deepStrictEqual(HeaderParams.validateSchema(annotated(name)), [], name)
    }
    for (const type of ["string", "integer", "boolean", ["string"], ["integer", "null"], ["null", "boolean"]]) {
      assert.deepStrictEqual(HeaderParams.validateSchema(annotated("Region", type)), [])
    }
  })

  verifiesPure("HDR-15", "refuses a name that is no token of RFC 9110", () => {
    const names = ["", "My Region", "Region:Primary", "Région", "Region\t1", "Region\r\nX: y", "Region ", "a,b", "(a)"]
    for (const name of [...names, null, 7, true, ["Region"], { name: "Region" }]) {
      assert.deepStrictEqual(pathsOf(annotated(name)), ["/properties/value"], JSON.stringify(name))
    }
  })

  verifiesPure("HDR-15", "refuses every other type, and none", () => {
    const types = ["object", "array", "null", "number", "String", ["string", "integer"], ["null"], [], [
      "number",
      "null"
    ]]
    for (const type of [...types, null, 3, {}]) {
      assert.deepStrictEqual(pathsOf(annotated("Region", type)), ["/properties/value"], JSON.stringify(type))
    }
    assert.deepStrictEqual(pathsOf(property({ "x-mcp-header": "Region" })), ["/properties/value"])
    assert.deepStrictEqual(pathsOf(property({ enum: ["a"], "x-mcp-header": "Region" })), ["/properties/value"])
  })

  verifiesPure("HDR-15", "refuses the second of two names that differ in case at most", () => {
    for (const second of ["Region", "REGION"]) {
      const schema = {
        type: "object",
        properties: {
          first: { type: "string", "x-mcp-header": "Region" },
          group: { type: "object", properties: { second: { type: "string", "x-mcp-header": second } } }
        }
      }
      assert.deepStrictEqual(pathsOf(schema), ["/properties/group/properties/second"])
    }
  })

  verifiesPure("HDR-15", "refuses an annotation that is not reached through properties alone", () => {
    const stray = { type: "string", "x-mcp-header": "Region" }
    const inObject = { type: "object", properties: { value: stray } }
    const places: ReadonlyArray<readonly [schema: unknown, path: string]> = [
      [stray, ""],
      [{ type: "object", items: stray }, "/items"],
      [{ items: [true, stray] }, "/items/1"],
      [{ prefixItems: [stray] }, "/prefixItems/0"],
      [{ contains: stray }, "/contains"],
      [{ additionalItems: stray }, "/additionalItems"],
      [{ unevaluatedItems: stray }, "/unevaluatedItems"],
      [{ additionalProperties: stray }, "/additionalProperties"],
      [{ unevaluatedProperties: stray }, "/unevaluatedProperties"],
      [{ propertyNames: stray }, "/propertyNames"],
      [{ patternProperties: { "^a/b~": stray } }, "/patternProperties/^a~1b~0"],
      [{ allOf: [stray] }, "/allOf/0"],
      [{ anyOf: [{}, stray] }, "/anyOf/1"],
      [{ oneOf: [stray] }, "/oneOf/0"],
      [{ not: stray }, "/not"],
      [{ if: stray }, "/if"],
      // oxlint-disable-next-line no-thenable -- the keyword of JSON Schema
      [{ then: stray }, "/then"],
      [{ else: stray }, "/else"],
      [{ $defs: { region: stray } }, "/$defs/region"],
      [{ definitions: { region: stray } }, "/definitions/region"],
      [{ dependentSchemas: { a: stray } }, "/dependentSchemas/a"],
      [{ dependencies: { a: ["b"], c: stray } }, "/dependencies/c"],
      [{ contentSchema: stray }, "/contentSchema"],
      [{ allOf: [inObject] }, "/allOf/0/properties/value"],
      [property({ type: "array", items: inObject }), "/properties/value/items/properties/value"]
    ]
    for (const [schema, path] of places) assert.deepStrictEqual(pathsOf(schema), [path], path)
  })

  verifiesPure("HDR-16", "takes data and names of properties for what they are", () => {
    const data = { type: "string", "x-mcp-header": "not a token" }
    const schema = {
      type: "object",
      default: { value: data },
      examples: [data],
      enum: [data],
      const: data,
      "x-vendor": data,
      properties: {
        "x-mcp-header": { type: "string" },
        default: { type: "string", "x-mcp-header": "Default" },
        enum: { type: "object", properties: { const: { type: "integer", "x-mcp-header": "Const" } } },
        value: { type: "string", default: "x-mcp-header", examples: [data], enum: ["a", data] }
      }
    }
    assert.deepStrictEqual(HeaderParams.validateSchema(schema), [])
    assert.deepStrictEqual(HeaderParams.annotations(schema), [
      { name: "Default", type: "string", path: ["default"] },
      { name: "Const", type: "integer", path: ["enum", "const"] }
    ])
  })

  it("has nothing to say about what is no schema", () => {
    for (const value of [undefined, null, true, false, 7, "x-mcp-header", [], [annotated("Region")], {}]) {
      assert.deepStrictEqual(HeaderParams.validateSchema(value), [])
    }
    assert.deepStrictEqual(
      HeaderParams.validateSchema({ properties: [{ "x-mcp-header": "A" }], allOf: 3, not: null }),
      []
    )
  })

  it("tells the first twenty problems and keeps the peer's text out of them", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`\u001b[31m${index}`, { type: "string", "x-mcp-header": "no token" }])
    )
    const problems = HeaderParams.validateSchema({ type: "object", properties })
    assert.strictEqual(problems.length, 20)
    assert.strictEqual(problems[0]?.path, "/properties/\\u001b[31m0")
    assert.isFalse(problems.some(({ problem }) => problem.includes("no token")))
    const long = HeaderParams.validateSchema({ properties: { ["a".repeat(1000)]: { "x-mcp-header": "" } } })
    assert.strictEqual(long[0]?.path.length, 200)
  })

  it("allows 64 levels, and survives a schema that is as deep or as wide as a message can be", () => {
    const nested = (levels: number) => {
      let schema: unknown = { type: "string", "x-mcp-header": "Region" }
      for (let level = 0; level < levels; level++) schema = property(schema)
      return schema
    }
    assert.deepStrictEqual(HeaderParams.validateSchema(nested(64)), [])
    assert.strictEqual(HeaderParams.validateSchema(nested(65)).length, 1)
    assert.strictEqual(HeaderParams.validateSchema(nested(50_000)).length, 1)
    const wide = { properties: Object.fromEntries(Array.from({ length: 150_000 }, (_, index) => [`p${index}`, {}])) }
    assert.deepStrictEqual(
      HeaderParams.validateSchema({ ...wide, allOf: Array.from({ length: 150_000 }, () => ({})) }),
      []
    )
  })

  it.prop("never throws on any JSON, and finds annotations only where it has no problem", [Schema.Json], ([json]) => {
    const schema = { type: "object", properties: json, allOf: json, "x-mcp-header": "Region" }
    assert.strictEqual(HeaderParams.validateSchema(schema)[0]?.path, "")
    assert.deepStrictEqual(HeaderParams.annotations(schema), [])
  })
})

describe("HeaderParams.annotations", () => {
  verifiesPure("HDR-20", "gives name, path and type of each", () => {
    assert.deepStrictEqual(HeaderParams.annotations(query), [
      { name: "Region", type: "string", path: ["region"] },
      { name: "Priority", type: "integer", path: ["options", "priority"] },
      { name: "Dry-Run", type: "boolean", path: ["options", "dryRun"] }
    ])
  })

  verifiesPure("HDR-20", "gives none of a schema with a problem", () => {
    const { properties } = query
    assert.deepStrictEqual(
      HeaderParams.annotations({ properties: { ...properties, cost: { type: "number", "x-mcp-header": "Cost" } } }),
      []
    )
  })
})

describe("HeaderParams.headersFor", () => {
  verifiesPure("HDR-20", "mirrors the annotated arguments, and only those", () => {
    assert.deepStrictEqual(
      headers(query, { region: "us-west1", sql: "select 1", options: { priority: 3, dryRun: false, other: "x" } }),
      [["Mcp-Param-Region", "us-west1"], ["Mcp-Param-Priority", "3"], ["Mcp-Param-Dry-Run", "false"]]
    )
  })

  verifiesPure("HDR-10", "writes strings as they are or encoded, integers in decimal, booleans in lower case", () => {
    const one = (value: unknown) => headers(annotated("Value"), { value })
    const cases: ReadonlyArray<readonly [value: unknown, header: string]> = [
      ["us west 1", "us west 1"],
      ["", ""],
      ["日本語", "=?base64?5pel5pys6Kqe?="],
      ["line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="],
      [42, "42"],
      [-7, "-7"],
      [-0, "0"],
      [1e6, "1000000"],
      [9007199254740991, "9007199254740991"],
      [-9007199254740991, "-9007199254740991"],
      [true, "true"],
      [false, "false"]
    ]
    for (const [value, header] of cases) assert.deepStrictEqual(one(value), [["Mcp-Param-Value", header]])
  })

  verifiesPure("HDR-10", "leaves the header out where the argument is absent or null", () => {
    assert.deepStrictEqual(headers(query, { region: null, options: { dryRun: undefined } }), [])
    assert.deepStrictEqual(headers(query, {}), [])
    assert.deepStrictEqual(Result.getOrThrow(HeaderParams.headersFor(query, undefined)), [])
    for (const options of [null, "text", 7, [{ priority: 1 }], { other: { priority: 1 } }]) {
      assert.deepStrictEqual(headers(query, { options }), [])
    }
  })

  it("refuses what no header can hold, and says where", () => {
    for (
      const value of [{}, [], ["a"], 3.5, 9007199254740992, -9007199254740992, 1e300, NaN, Infinity, 7n, "a\ud83d"]
    ) {
      assert.strictEqual(problemOf(query, { options: { priority: value } }).path, "/options/priority")
    }
  })

  it("refuses the arguments of a tool whose schema has a problem", () => {
    assert.strictEqual(problemOf(annotated("My Region"), { value: "x" }).path, "/properties/value")
  })

  it("reads own members of the arguments only", () => {
    const schema: unknown = JSON.parse(
      `{"properties":{"__proto__":{"type":"string","x-mcp-header":"Proto"},"constructor":{"properties":{"name":{"type":"string","x-mcp-header":"Name"}}}}}`
    )
    assert.deepStrictEqual(headers(schema, {}), [])
    assert.deepStrictEqual(headers(schema, JSON.parse(`{"__proto__":"own"}`)), [["Mcp-Param-Proto", "own"]])
  })

  it.prop(
    "gives every string back to a server that decodes it",
    [Arbitrary.map(Arbitrary.schema(Schema.String), (text) => text.replaceAll(/\p{Surrogate}/gu, "\ufffd"))],
    ([value]) => {
      const [header] = headers(annotated("Value"), { value })
      assert.strictEqual(header?.[0], "Mcp-Param-Value")
      assert.strictEqual(HeaderValue.decode(header?.[1] ?? "missing"), value)
    }
  )
})

describe("HeaderParams.valuesFor", () => {
  it("gives the values before they are encoded", () => {
    assert.deepStrictEqual(
      Result.getOrThrow(
        HeaderParams.valuesFor(HeaderParams.annotations(query), {
          region: "日本",
          options: { priority: 1, dryRun: true }
        })
      ),
      [["Region", "日本"], ["Priority", 1], ["Dry-Run", true]]
    )
  })
})
