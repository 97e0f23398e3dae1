import { assert, describe } from "@effect/vitest"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import * as Effect from "effect/Effect"
import * as v8 from "node:v8"
import * as vm from "node:vm"
import { SchemaCache } from "../src/internal/SchemaCache.ts"
import * as SchemaValidator from "../src/SchemaValidator.ts"

type Schema = Record<string, unknown>

const v2019 = "https://json-schema.org/draft/2019-09/schema"
const v7 = "http://json-schema.org/draft-07/schema#"

const compile = (schema: Schema | boolean, options?: Parameters<typeof SchemaValidator.make>[0]) =>
  SchemaValidator.make(options).compile(schema)

const issues = (schema: Schema | boolean, value: unknown) =>
  Effect.map(compile(schema), ({ validate }) => validate(value))

const problemOf = (schema: Schema) => Effect.flip(compile(schema))

const faultOf = (schema: Schema) => Effect.map(problemOf(schema), ({ fault, path }) => `${fault} ${path}`)

const nested = (levels: number, leaf: unknown, wrap: (inner: unknown) => unknown): unknown => {
  let value = leaf
  for (let i = 0; i < levels; i++) value = wrap(value)
  return value
}

const range = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

// The collector, which is there for the asking in every process.
v8.setFlagsFromString("--expose-gc")
const collectGarbage: () => void = vm.runInNewContext("gc")

const heap = (): number => {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

describe("SchemaValidator", () => {
  verifies("SCH-13", "says where a value is wrong, and how, without a word of the value", () =>
    Effect.gen(function*() {
      const schema = {
        type: "object",
        properties: {
          city: { type: "string", pattern: "^secret" },
          "a/b~c": { items: { maximum: 10 } },
          "\n": false,
          kind: { enum: ["secret"] },
          size: { oneOf: [{ minimum: 1 }, { maximum: 2 }] }
        },
        required: ["city", "day"],
        propertyNames: { maxLength: 10 },
        additionalProperties: { type: ["string", "null"] }
      }
      const value = { city: "classified", "a/b~c": [1, 11], "\n": 0, kind: 0, size: 1, other: 7, "a long name": "" }
      const found = yield* issues(schema, value)
      assert.deepStrictEqual([...found].sort((a, b) => a.path < b.path ? -1 : 1), [
        { path: "/\\n", problem: "is not allowed" },
        { path: "/a long name", problem: "has a name that is not allowed" },
        { path: "/a~1b~0c/1", problem: "must be at most 10" },
        { path: "/city", problem: "does not match the pattern" },
        { path: "/day", problem: "is required, but missing" },
        { path: "/kind", problem: "is not one of the allowed values" },
        { path: "/other", problem: "must be of type string or null, not number" },
        { path: "/size", problem: "fits more than one of the schemas of which it must fit one" }
      ])
      const [long] = yield* issues(false, 1)
      assert.deepStrictEqual(long, { path: "", problem: "is not allowed" })
      const [deep] = yield* issues({ additionalProperties: false }, { ["x".repeat(500)]: 1 })
      assert.strictEqual(deep?.path.length, 200)
    }))

  verifies(
    "SCH-22",
    "reads three dialects, takes 2020-12 where none is declared, and names them for any other",
    () =>
      Effect.gen(function*() {
        const tuple = { items: [{ type: "null" }] }
        assert.strictEqual(yield* faultOf(tuple), "malformed /items")
        assert.strictEqual(
          yield* faultOf({ $schema: "https://json-schema.org/draft/2020-12/schema", ...tuple }),
          "malformed /items"
        )
        for (const $schema of [v2019, v7]) assert.isNotEmpty(yield* issues({ $schema, ...tuple }, [1]))
        const problem = yield* problemOf({ $schema: "http://json-schema.org/draft-04/schema#" })
        assert.strictEqual(problem.fault, "dialect")
        assert.strictEqual(
          problem.problem,
          "that dialect is not supported (supported: https://json-schema.org/draft/2020-12/schema, "
            + "https://json-schema.org/draft/2019-09/schema, http://json-schema.org/draft-07/schema#)"
        )
        assert.strictEqual(
          yield* faultOf({ $defs: { a: { $id: "https://example.com/a", $schema: "urn:other" } } }),
          "dialect /$defs/a/$schema"
        )
      })
  )

  verifies(
    "SCH-32",
    "knows a dialect in each spelling; what is no URI is a fault, not the default",
    () =>
      Effect.gen(function*() {
        for (const scheme of ["http", "https"]) {
          for (const end of ["", "#"]) {
            for (const dialect of ["draft/2020-12", "draft/2019-09", "draft-07"]) {
              const $schema = `${scheme}://json-schema.org/${dialect}/schema${end}`
              assert.isEmpty(yield* issues({ $schema, type: "null" }, null))
            }
          }
        }
        for (const $schema of [7, null, "", true, {}]) {
          assert.strictEqual(yield* faultOf({ $schema }), "malformed /$schema")
        }
      })
  )

  verifies(
    "SCH-25",
    "refuses a keyword of the wrong shape wherever it stands, metadata included",
    () =>
      Effect.gen(function*() {
        const wrong: ReadonlyArray<Schema> = [
          { type: "text" },
          { type: [] },
          { type: ["null", "null"] },
          { required: "a" },
          { required: ["a", "a"] },
          { required: [1] },
          { enum: {} },
          { minLength: -1 },
          { maxItems: 1.5 },
          { minimum: "1" },
          { multipleOf: 0 },
          { uniqueItems: 1 },
          { pattern: 1 },
          { properties: [] },
          { patternProperties: { a: 1 } },
          { additionalProperties: null },
          { allOf: [] },
          { anyOf: [1] },
          { not: [] },
          { prefixItems: {} },
          { dependentRequired: { a: "b" } },
          { $defs: { a: 7 } },
          { definitions: [] },
          { $ref: 1 },
          { $anchor: "1a" },
          { $id: "a#b" },
          { $vocabulary: { a: 1 } },
          { format: 1 },
          { contentSchema: 1 },
          { $comment: 1 },
          { title: 1 },
          { description: ["a"] },
          { readOnly: "yes" },
          { writeOnly: 0 },
          { deprecated: "no" },
          { examples: 1 },
          { contentEncoding: 1 },
          { contentMediaType: null }
        ]
        for (const schema of wrong) {
          const [keyword] = Object.keys(schema)
          assert.strictEqual(yield* faultOf(schema), `malformed /${keyword}`, JSON.stringify(schema))
          assert.strictEqual(
            yield* faultOf({ properties: { "a/b": schema } }),
            `malformed /properties/a~1b/${keyword}`,
            JSON.stringify(schema)
          )
        }
        assert.strictEqual(yield* faultOf({ $schema: v7, dependencies: { a: 1 } }), "malformed /dependencies")
        assert.strictEqual(yield* faultOf({ $schema: v2019, $recursiveAnchor: "a" }), "malformed /$recursiveAnchor")
      })
  )

  verifies(
    ["SCH-25", "SCH-27", "PAIN-54"],
    "follows no reference out of the document, and fetches nothing",
    () =>
      Effect.gen(function*() {
        const { fetch } = globalThis
        let fetched = 0
        globalThis.fetch = () => {
          fetched += 1
          return Promise.reject(new Error("fetched"))
        }
        yield* Effect.gen(function*() {
          for (
            const $ref of [
              "https://example.com/schema",
              "http://127.0.0.1/schema#/a",
              "other.json",
              "urn:example:absent",
              "file:///etc/passwd",
              "https://json-schema.org/draft/2020-12/schema"
            ]
          ) {
            const problem = yield* problemOf({ properties: { a: { $ref } } })
            assert.strictEqual(problem.fault, "reference")
            assert.strictEqual(problem.path, "/properties/a/$ref")
            assert.strictEqual(problem.problem, "refers to a schema outside of the document, and none is fetched")
          }
        }).pipe(Effect.ensuring(Effect.sync(() => {
          globalThis.fetch = fetch
        })))
        assert.strictEqual(fetched, 0)
        const nowhere = [
          "#/$defs/absent",
          "#absent",
          "#/$defs/list/allOf/00",
          "#/$defs/list/allOf/1",
          "#/$defs/text/const",
          "#/toString",
          "http://[",
          "#/%E0%A4%A"
        ]
        for (const $ref of nowhere) {
          assert.strictEqual(
            yield* faultOf({ $ref, $defs: { list: { allOf: [true] }, text: { const: "" } } }),
            "reference /$ref"
          )
        }
        assert.strictEqual(yield* faultOf({ $dynamicRef: "#absent" }), "reference /$dynamicRef")
      })
  )

  verifies(
    "SCH-28",
    "resolves what the document bundles, by URI, URN, relative path and the empty reference",
    () =>
      Effect.gen(function*() {
        const bundle = (reference: string, defs: Schema, root: Schema = {}) => ({
          ...root,
          properties: { a: { $ref: reference } },
          $defs: defs
        })
        const text = { type: "string" }
        const found: ReadonlyArray<Schema> = [
          bundle("urn:example:s", { s: { $id: "urn:example:s", ...text } }),
          bundle("urn:example:s#/$defs/t", { s: { $id: "urn:example:s", $defs: { t: text } } }),
          bundle("urn:example:s#t", { s: { $id: "urn:example:s", $defs: { t: { $anchor: "t", ...text } } } }),
          bundle("HTTP://EXAMPLE.com:80/a/../s", { s: { $id: "http://example.com/s", ...text } }),
          bundle("item", { s: { $id: "item", ...text } }),
          bundle("item", { s: { $id: "/x/item", ...text } }, { $id: "https://example.com/x/root" }),
          bundle("/y/deep", { s: { $id: "/y/", $defs: { t: { $id: "deep", ...text } } } }, {
            $id: "https://example.com/"
          }),
          bundle("https://example.com/root#/$defs/s", { s: text }, { $id: "https://example.com/root" }),
          bundle("#/$defs/s/$defs/t", { s: { $id: "s", $defs: { t: { $ref: "#u" }, u: { $anchor: "u", ...text } } } })
        ]
        for (const schema of found) {
          assert.isEmpty(yield* issues(schema, { a: "" }), JSON.stringify(schema))
          assert.isNotEmpty(yield* issues(schema, { a: 1 }), JSON.stringify(schema))
        }
        // The empty reference is the resource that it stands in.
        const list = { $id: "urn:example:list", properties: { next: { $ref: "" } }, additionalProperties: false }
        const schema = { properties: { list: { $ref: "urn:example:list" } }, $defs: { list } }
        assert.isEmpty(yield* issues(schema, { list: { next: { next: {} } } }))
        assert.isNotEmpty(yield* issues(schema, { list: { next: { list: {} } } }))
        // In draft-07 an identifier may be a mere name.
        const old = { $schema: v7, $ref: "#n", definitions: { a: { $id: "#n", type: "null" } } }
        assert.isEmpty(yield* issues(old, null))
        assert.isNotEmpty(yield* issues(old, 1))
      })
  )

  verifies("SCH-26", "refuses a document in which two schemas are called the same", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* faultOf({ $defs: { a: { $id: "urn:example:a" }, b: { $id: "urn:example:a" } } }),
        "ambiguous /$defs/b/$id"
      )
      assert.strictEqual(
        yield* faultOf({ $id: "http://example.com/a", $defs: { b: { $id: "HTTP://example.com:80/b/../a" } } }),
        "ambiguous /$defs/b/$id"
      )
      assert.strictEqual(yield* faultOf({ $anchor: "a", not: { $anchor: "a" } }), "ambiguous /not")
      assert.strictEqual(yield* faultOf({ $anchor: "a", not: { $dynamicAnchor: "a" } }), "ambiguous /not")
      assert.strictEqual(
        yield* faultOf({ $schema: v7, definitions: { a: { $id: "#a" }, b: { $id: "#a" } } }),
        "ambiguous /definitions/b/$id"
      )
      // The same name in two resources names two things; what stands in a value names nothing.
      assert.isEmpty(
        yield* issues({ $anchor: "a", not: { $id: "b", $anchor: "a", type: "null" }, enum: [{ $anchor: "a" }] }, {
          $anchor: "a"
        })
      )
    }))

  verifies(["SCH-19", "PAIN-54"], "refuses a pattern that is no expression of ECMA-262", () =>
    Effect.gen(function*() {
      const problem = yield* problemOf({ properties: { a: { pattern: "(?i)a" } } })
      assert.deepStrictEqual([problem.fault, problem.path, problem.problem], [
        "pattern",
        "/properties/a/pattern",
        "the pattern is not a regular expression of ECMA-262"
      ])
      assert.strictEqual(yield* faultOf({ patternProperties: { "a++": true } }), "pattern /patternProperties")
      assert.strictEqual(yield* faultOf({ pattern: "a".repeat(10_001) }), "pattern /pattern")
    }))

  verifies("SCH-33", "refuses a schema that is too large or too deep", () =>
    Effect.gen(function*() {
      const not = (inner: unknown) => ({ not: inner })
      const list = (inner: unknown) => [inner]
      const schemas = (count: number) => ({ allOf: range(count).map(() => true) })
      const small: ReadonlyArray<Schema> = [
        { not: nested(62, {}, not) },
        schemas(1_999),
        { enum: range(7_999) },
        { const: nested(255, 1, list) }
      ]
      for (const schema of small) yield* compile(schema)
      const large: ReadonlyArray<Schema> = [
        { not: nested(63, {}, not) },
        schemas(2_000),
        { enum: range(8_000) },
        { const: nested(256, [], list) },
        { default: nested(100_000, 1, list) }
      ]
      for (const schema of large) assert.match(yield* faultOf(schema), /^limit /)
      // What references lead to, one within the other, is counted once for each.
      const references = range(61).map((depth) => ({ $ref: `#${"/not".repeat(depth + 1)}` }))
      const rest = { allOf: range(1_000).map(() => ({})) }
      yield* compile({ not: nested(60, rest, not), anyOf: references.slice(0, 1) })
      assert.strictEqual(yield* faultOf({ not: nested(60, rest, not), anyOf: references }), "limit ")
      const cyclic: Record<string, unknown> = {}
      cyclic["default"] = cyclic
      assert.strictEqual(yield* faultOf(cyclic), "limit ")
    }))

  verifies("SCH-33", "stops a check at its bounds, with one problem, and never passes", () =>
    Effect.gen(function*() {
      const object = (inner: unknown) => ({ a: inner })
      const stopped = (schema: Schema, value: unknown, why: RegExp) =>
        Effect.map(issues(schema, value), (found) => {
          assert.strictEqual(found.length, 1)
          assert.strictEqual(found[0]?.path, "")
          assert.match(found[0]?.problem ?? "", why)
        })
      const numbers = { items: { type: "number" } }
      assert.isEmpty(yield* issues(numbers, range(99_999)))
      yield* stopped(numbers, range(100_000), /more than 100000 steps/)
      yield* stopped({ not: { not: numbers } }, range(100_000), /more than 100000 steps/)
      const members = { items: { required: range(100).map(String) } }
      yield* stopped(members, range(2_000).map(() => ({})), /more than 100000 problems/)
      const chain = (length: number) => ({
        $ref: "#/$defs/0",
        $defs: Object.fromEntries(
          range(length).map((
            index
          ) => [index, index === length - 1 ? { type: "null" } : { $ref: `#/$defs/${index + 1}` }])
        )
      })
      assert.isEmpty(yield* issues(chain(32), null))
      yield* stopped(chain(33), null, /more than 32 references/)
      yield* stopped({ $ref: "#" }, null, /more than 32 references/)
      yield* stopped({ allOf: [{ $ref: "#" }] }, {}, /more than 32 references/)
      yield* stopped({ not: { $ref: "#" } }, {}, /more than 32 references/)
      yield* stopped({ unevaluatedProperties: false, anyOf: [{ $ref: "#" }] }, { a: 1 }, /more than 32 references/)
      const tree = { additionalProperties: { $ref: "#" } }
      assert.isEmpty(yield* issues(tree, nested(255, {}, object)))
      yield* stopped(tree, nested(256, {}, object), /deeper than 256/)
      yield* stopped({}, nested(256, [], (inner) => [inner]), /deeper than 256/)
      assert.strictEqual((yield* issues({ items: false, prefixItems: [{}] }, range(2)))[0]?.path, "")
    }))

  verifies(
    ["SCH-33", "SEC-10"],
    "refuses patterns that are too long in all, since reading them takes time too",
    () =>
      Effect.gen(function*() {
        const ofLength = (length: number, name: string) => ({ pattern: `${name}${"a".repeat(length - 1)}` })
        const most = ["b", "c", "d", "e", "f"].map((name) => ofLength(10_000, name))
        assert.isNotEmpty(yield* issues({ allOf: most }, ""))
        // One that stands in several places is read once.
        assert.isNotEmpty(yield* issues({ allOf: [...most, ...most] }, ""))
        assert.strictEqual(yield* faultOf({ allOf: [...most, ofLength(1, "g")] }), "pattern /allOf/5/pattern")
        assert.strictEqual(yield* faultOf({ allOf: most, patternProperties: { g: {} } }), "pattern /patternProperties")
      })
  )

  verifies("SCH-33", "tells of 100 problems at most", () =>
    Effect.gen(function*() {
      const schema = { items: { type: "null" } }
      const hundred = yield* issues(schema, range(100))
      assert.strictEqual(hundred.length, 100)
      assert.deepStrictEqual(hundred[99], { path: "/99", problem: "must be of type null, not number" })
      const more = yield* issues(schema, range(101))
      assert.strictEqual(more.length, 100)
      assert.match(more[99]?.problem ?? "", /more than 100 problems/)
    }))

  verifiesLive(
    ["SCH-21", "SEC-10"],
    "gives a whole check one time, patterns included, and fails it when it is over",
    () =>
      Effect.gen(function*() {
        const schema = { items: { pattern: "^(?:(a+)+\\1)+b$" } }
        const { validate } = yield* compile(schema, { timeBudget: "50 millis" })
        const start = performance.now()
        const found = validate(range(50).map(() => "a".repeat(50)))
        assert.isBelow(performance.now() - start, 5_000)
        assert.deepStrictEqual(found, [{ path: "", problem: "the check takes longer than 50 ms, and was stopped" }])
        // What an automaton can do takes no time to speak of.
        const linear = yield* compile({ pattern: "^(a+)+$" }, { timeBudget: "5 seconds" })
        assert.deepStrictEqual(linear.validate(`${"a".repeat(100_000)}!`), [{
          path: "",
          problem: "does not match the pattern"
        }])
      })
  )

  verifies(
    "SCH-33",
    "is not led astray by names that objects inherit, in schemas or values",
    () =>
      Effect.gen(function*() {
        const value: unknown = JSON.parse(`{"__proto__":{"a":1},"constructor":1,"toString":2,"hasOwnProperty":3}`)
        assert.isEmpty(yield* issues({ properties: { a: { type: "string" } } }, value))
        assert.isNotEmpty(yield* issues({ properties: { hasOwnProperty: { type: "string" } } }, value))
        const schema: Schema = JSON.parse(
          `{"properties":{"__proto__":{"required":["b"]}},"$defs":{"__proto__":{"type":"string"}}}`
        )
        assert.deepStrictEqual(yield* issues(schema, value), [{
          path: "/__proto__/b",
          problem: "is required, but missing"
        }])
        assert.isNotEmpty(yield* issues({ ...schema, $ref: "#/$defs/__proto__" }, 1))
        assert.isUndefined(Reflect.get({}, "a"))
      })
  )

  verifies(
    "PAIN-56",
    "knows a schema again, as the same object and as another that says the same",
    () =>
      Effect.gen(function*() {
        const validator = SchemaValidator.make()
        const schema = { type: "string" }
        const compiled = yield* validator.compile(schema)
        assert.strictEqual(yield* validator.compile(schema), compiled)
        assert.strictEqual(yield* validator.compile({ type: "string" }), compiled)
        assert.notStrictEqual(yield* validator.compile({ type: "number" }), compiled)
        assert.notStrictEqual(yield* compile(schema), compiled)
        const unusable = { type: "text" }
        assert.strictEqual(
          yield* Effect.flip(validator.compile(unusable)),
          yield* Effect.flip(validator.compile({ type: "text" }))
        )
        const cache = new SchemaCache<{ readonly bytes: number }>(1_000)
        const [a, b, c] = [{ bytes: 400 }, { bytes: 400 }, { bytes: 400 }]
        cache.set("a", a)
        cache.set("b", b)
        assert.strictEqual(cache.get("a"), a)
        cache.set("c", c)
        assert.deepStrictEqual([cache.get("a"), cache.get("b"), cache.get("c")], [a, undefined, c])
        cache.set("d", { bytes: 2_000 })
        assert.strictEqual(cache.size, 0)
      })
  )

  verifiesLive(
    "PAIN-56",
    "does not grow while a list of 50 tools is read anew 500 times and its results are checked",
    () =>
      Effect.gen(function*() {
        const validator = SchemaValidator.make()
        const texts = range(50).map((tool) =>
          JSON.stringify({
            type: "object",
            properties: Object.fromEntries(
              range(10).map((name) => [`p${name}`, { type: "string", pattern: `^t${tool}` }])
            ),
            additionalProperties: { $ref: "#" }
          })
        )
        const refresh = Effect.gen(function*() {
          for (const [tool, text] of texts.entries()) {
            const { validate } = yield* validator.compile(JSON.parse(text))
            assert.isEmpty(validate({ p1: `t${tool}`, other: { p2: `t${tool}`, more: {} } }))
          }
        })
        for (let i = 0; i < 20; i++) yield* refresh
        const before = heap()
        for (let i = 0; i < 500; i++) yield* refresh
        assert.isBelow(heap() - before, 5_000_000)
      })
  )

  verifiesLive(
    "PAIN-56",
    "keeps no more than its cache may hold, however many schemas a server makes up",
    () =>
      Effect.gen(function*() {
        const validator = SchemaValidator.make()
        const before = heap()
        const body = Object.fromEntries(range(200).map((name) => [`p${name}`, { type: "string" }]))
        for (const number of range(400)) {
          const { validate } = yield* validator.compile({ title: `tool ${number}`, properties: body })
          assert.isEmpty(validate({ p1: "a" }))
        }
        // 400 of these would take some 100 MB.
        assert.isBelow(heap() - before, 64_000_000)
      })
  )

  verifies("SCH-22", "can be replaced by another validator", () =>
    Effect.gen(function*() {
      const none: SchemaValidator.SchemaValidator = {
        compile: () => Effect.succeed({ unevaluated: [], validate: () => [] })
      }
      const validator = yield* Effect.provideService(
        Effect.service(SchemaValidator.SchemaValidator),
        SchemaValidator.SchemaValidator,
        none
      )
      assert.isEmpty((yield* validator.compile({ type: "null" })).validate(1))
      const standard = yield* SchemaValidator.SchemaValidator
      assert.isNotEmpty((yield* standard.compile({ type: "null" })).validate(1))
    }))
})
