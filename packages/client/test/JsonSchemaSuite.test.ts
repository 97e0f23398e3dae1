/**
 * The official JSON Schema Test Suite, where it is at hand, in the three dialects.
 *
 * Of its optional parts these are out: `format` and `format-assertion`, and draft-07's `content`, since those keywords
 * are not evaluated; `dependencies-compatibility`, since 2019-09 and 2020-12 no longer have that keyword.
 */
import { assert, it } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import * as SchemaValidator from "../src/SchemaValidator.ts"

interface Group {
  readonly description: string
  readonly schema: Record<string, unknown> | boolean
  readonly tests: ReadonlyArray<{ readonly description: string; readonly data: unknown; readonly valid: boolean }>
}

const folder = fileURLToPath(new URL("../../../../shared/json-schema-test-suite", import.meta.url))

// Schemas that refer to, or are written in, a document which the suite serves over the network.
const remote = [
  "ref.json: remote ref, containing refs itself",
  "refRemote.json: remote ref",
  "refRemote.json: fragment within remote ref",
  "refRemote.json: ref within remote ref",
  "refRemote.json: base URI change",
  "refRemote.json: base URI change - change folder",
  "refRemote.json: base URI change - change folder in subschema",
  "refRemote.json: root ref in remote ref",
  "refRemote.json: Location-independent identifier in remote ref",
  "refRemote.json: retrieved nested refs resolve relative to their URI not $id"
]
const remoteSince2019 = [
  ...remote,
  "defs.json: validate definition against metaschema",
  "refRemote.json: anchor within remote ref",
  "refRemote.json: remote ref with ref to defs",
  "refRemote.json: remote HTTP ref with different $id",
  "refRemote.json: remote HTTP ref with different URN $id",
  "refRemote.json: remote HTTP ref with nested absolute ref",
  "refRemote.json: $ref to $ref finds detached $anchor",
  "vocabulary.json: schema that uses custom metaschema with with no validation vocabulary",
  "vocabulary.json: ignore unrecognized optional vocabulary",
  "optional/cross-draft.json: refs to historic drafts are processed as historic drafts"
]

const dialects = [
  {
    name: "2020-12",
    folder: "draft2020-12",
    uri: "https://json-schema.org/draft/2020-12/schema",
    cases: 1_300,
    out: ["optional/dependencies-compatibility.json", "optional/format-assertion.json"],
    remote: [
      ...remoteSince2019,
      "dynamicRef.json: strict-tree schema, guards against misspelled properties",
      "dynamicRef.json: tests for implementation dynamic anchor and reference link",
      "dynamicRef.json: $ref and $dynamicAnchor are independent of order - $defs first",
      "dynamicRef.json: $ref and $dynamicAnchor are independent of order - $ref first",
      "dynamicRef.json: $ref to $dynamicRef finds detached $dynamicAnchor"
    ]
  },
  {
    name: "2019-09",
    folder: "draft2019-09",
    uri: "https://json-schema.org/draft/2019-09/schema",
    cases: 1_300,
    out: ["optional/dependencies-compatibility.json"],
    remote: [
      ...remoteSince2019,
      "optional/cross-draft.json: refs to future drafts are processed as future drafts"
    ]
  },
  {
    name: "draft-07",
    folder: "draft7",
    uri: "http://json-schema.org/draft-07/schema#",
    cases: 950,
    out: ["optional/content.json"],
    remote: [
      ...remote,
      "definitions.json: validate definition against metaschema",
      "refRemote.json: remote ref with ref to definitions",
      "refRemote.json: $ref to $ref finds location-independent $id",
      "optional/cross-draft.json: refs to future drafts are processed as future drafts"
    ]
  }
]

/** The cases that fail, by name. */
const failing: ReadonlyArray<string> = []

const run = Effect.fnUntraced(function*(files: ReadonlyMap<string, ReadonlyArray<Group>>, uri: string) {
  const validator = SchemaValidator.make()
  const wrong: Array<string> = []
  const refused: Array<string> = []
  let cases = 0
  for (const [file, groups] of files) {
    for (const { description, schema, tests } of groups) {
      // A schema of the suite may leave the dialect to its folder; here, none declared means 2020-12.
      const declared = typeof schema === "boolean" ? schema : { $schema: uri, ...schema }
      const compiled = yield* Effect.result(validator.compile(declared))
      if (compiled._tag === "Failure") {
        assert.include(["reference", "dialect"], compiled.failure.fault, `${file}: ${description}`)
        refused.push(`${file}: ${description}`)
        continue
      }
      for (const test of tests) {
        cases += 1
        const valid = compiled.success.validate(test.data).length === 0
        if (valid !== test.valid) wrong.push(`${file}: ${description}: ${test.description}`)
      }
    }
  }
  return { wrong, refused, cases }
})

it.effect("names what is wrong, and what is refused", () =>
  Effect.gen(function*() {
    const groups: ReadonlyArray<Group> = [
      {
        description: "numbers",
        schema: { type: "number" },
        tests: [
          { description: "a right one", data: 1, valid: true },
          { description: "said to fail", data: 1, valid: false },
          { description: "said to fit", data: "", valid: true }
        ]
      },
      { description: "far away", schema: { $ref: "http://localhost:1234/a" }, tests: [] }
    ]
    assert.deepStrictEqual(yield* run(new Map([["a.json", groups]]), "https://json-schema.org/draft/2020-12/schema"), {
      wrong: ["a.json: numbers: said to fail", "a.json: numbers: said to fit"],
      refused: ["a.json: far away"],
      cases: 3
    })
  }))

if (fs.existsSync(folder)) {
  for (const dialect of dialects) {
    const root = `${folder}/${dialect.folder}`

    verifies(
      [
        "SCH-10",
        "SCH-11",
        "SCH-12",
        "SCH-13",
        "SCH-14",
        "SCH-15",
        "SCH-16",
        "SCH-22",
        "SCH-27",
        "SCH-28",
        "SCH-29",
        "SCH-30",
        "SCH-31",
        "SCH-34",
        "SCH-39"
      ],
      `${dialect.name}: every case of the official suite, but those that need a document from the network`,
      () =>
        Effect.gen(function*() {
          const files = ["", "optional/"].flatMap((part) =>
            fs.readdirSync(`${root}/${part}`).filter((file) => file.endsWith(".json")).map((file) => part + file)
          )
          const read = (file: string): ReadonlyArray<Group> => JSON.parse(fs.readFileSync(`${root}/${file}`, "utf8"))
          const groups = new Map(
            files.filter((file) => !dialect.out.includes(file)).map((file) => [file, read(file)])
          )
          const { cases, refused, wrong } = yield* run(groups, dialect.uri)
          assert.deepStrictEqual(
            wrong.map((name) => `${dialect.name}: ${name}`),
            failing.filter((name) => name.startsWith(dialect.name))
          )
          assert.deepStrictEqual(refused.sort(), [...dialect.remote].sort())
          assert.isAbove(cases, dialect.cases)
        })
    )
  }
}
