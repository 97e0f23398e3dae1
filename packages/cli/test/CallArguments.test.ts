import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as CallArguments from "../src/CallArguments.ts"
import type { UsageError } from "../src/UsageError.ts"

const inputSchema = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    ratio: { type: "number" },
    loud: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    options: { type: "object" },
    limit: { anyOf: [{ type: "integer" }, { type: "null" }] },
    label: { anyOf: [{ type: "string" }, { type: "null" }] },
    color: { $ref: "#/$defs/Color" },
    size: { $ref: "#/$defs/Size" },
    level: { enum: [1, 2, 3] },
    anything: {}
  },
  $defs: { Color: { enum: ["red", "green"] }, Size: { allOf: [{ description: "in cm" }, { type: "number" }] } }
}

const read = (...words: ReadonlyArray<string>) =>
  Result.getOrThrow(CallArguments.forTool({ name: "paint", inputSchema }, words))

const refusal = (schema: typeof inputSchema | object, ...words: ReadonlyArray<string>): UsageError =>
  Result.getOrThrow(Result.flip(CallArguments.forTool({ name: "paint", inputSchema: { ...schema } }, words)))

describe("values", () => {
  it("have the type that the schema wants", () => {
    assert.deepStrictEqual(
      read("text=42", "count=-3", "ratio=1e-2", "loud=false", "tags=[\"a\",\"b\"]", "options={\"x\":null}"),
      { text: "42", count: -3, ratio: 0.01, loud: false, tags: ["a", "b"], options: { x: null } }
    )
  })

  it("are found behind references and alternatives", () => {
    assert.deepStrictEqual(read("limit=null", "label=null", "color=red", "size=3", "level=2"), {
      limit: null,
      label: "null",
      color: "red",
      size: 3,
      level: 2
    })
  })

  it("are strings where the schema does not say, or does not know them", () => {
    assert.deepStrictEqual(read("anything=1", "unheard=true"), { anything: "1", unheard: "true" })
  })

  it("are JSON behind := whatever the schema says", () => {
    assert.deepStrictEqual(read("text:=42", "anything:={\"a\":[1]}"), { text: 42, anything: { a: [1] } })
  })

  it("keep everything behind the first =, and may be empty", () => {
    assert.deepStrictEqual(read("text=a=b:=c", "label="), { text: "a=b:=c", label: "" })
  })

  it("are typed by additionalProperties where they are not declared", () => {
    const schema = { type: "object", additionalProperties: { type: "number" } }
    assert.deepStrictEqual(
      Result.getOrThrow(CallArguments.forTool({ name: "sum", inputSchema: schema }, ["a=1", "b=2.5"])),
      { a: 1, b: 2.5 }
    )
  })

  it("set members of any name and nothing else", () => {
    const args = read("__proto__:={\"polluted\":true}", "constructor=x")
    assert.deepStrictEqual(Object.keys(args), ["__proto__", "constructor"])
    assert.strictEqual(Object.getPrototypeOf(args), Object.prototype)
  })
})

describe("what is refused", () => {
  it("says which argument and what it must be", () => {
    assert.strictEqual(refusal(inputSchema, "count=abc").message, "The argument count must be an integer, not abc")
    assert.strictEqual(refusal(inputSchema, "count=1.5").message, "The argument count must be an integer, not 1.5")
    assert.strictEqual(refusal(inputSchema, "loud=yes").message, "The argument loud must be a boolean, not yes")
    assert.strictEqual(refusal(inputSchema, "limit=x").message, "The argument limit must be an integer or null, not x")
    const tags = refusal(inputSchema, "tags=a")
    assert.strictEqual(tags.message, "The argument tags must be an array, not a")
    assert.strictEqual(tags.hint, "for instance: 'tags=[\"a\",\"b\"]'")
  })

  it("is a number that would be another one", () => {
    assert.strictEqual(
      refusal(inputSchema, "count=9007199254740993").message,
      "The argument count is a number that JSON cannot carry exactly: 9007199254740993"
    )
    assert.strictEqual(
      refusal(inputSchema, "ratio=1e999").message,
      "The argument ratio is a number that JSON cannot carry exactly: 1e999"
    )
  })

  it("is a word that is no argument, or the same one twice", () => {
    assert.strictEqual(refusal(inputSchema, "npx").message, "Not an argument: npx")
    assert.strictEqual(refusal(inputSchema, "=x").message, "Not an argument: =x")
    assert.strictEqual(refusal(inputSchema, "text=a", "text:=1").message, "The argument text is given twice")
  })

  it("is an argument that the schema forbids", () => {
    const error = refusal({ ...inputSchema, properties: { a: { type: "string" } }, additionalProperties: false }, "b=1")
    assert.strictEqual(error.message, "The tool paint has no argument b")
    assert.strictEqual(error.hint, "it is called so: paint [a=<string>]")
  })

  it("is a call without what the tool requires, unless it has a default", () => {
    const error = refusal({
      type: "object",
      properties: {
        text: { type: "string" },
        count: { type: "integer" },
        loud: { type: "boolean" },
        mode: { type: "string", default: "a" }
      },
      required: ["text", "count", "mode"]
    }, "text=a")
    assert.strictEqual(error.message, "The tool paint requires count")
    assert.strictEqual(
      error.hint,
      "it is called so: paint text=<string> count=<integer> [loud=<boolean>] [mode=<string>]"
    )
  })

  it("is JSON that is none", () => {
    assert.match(refusal(inputSchema, "text:={").message, /^The value of text:= is not JSON: /)
  })
})

describe("hostile schemas", () => {
  it("end a reference to itself", () => {
    const schema = { properties: { a: { $ref: "#/properties/a" }, b: { anyOf: [{ $ref: "#/properties/b" }] } } }
    assert.deepStrictEqual(
      Result.getOrThrow(CallArguments.forTool({ name: "loop", inputSchema: schema }, ["a=1", "b=2"])),
      { a: "1", b: "2" }
    )
  })

  it("are read where their members are of the wrong type", () => {
    const schema = { properties: { a: 1, b: { type: 5 }, c: { enum: "x" }, d: { anyOf: 3 } }, required: "a" }
    assert.deepStrictEqual(
      Result.getOrThrow(CallArguments.forTool({ name: "odd", inputSchema: schema }, ["a=1", "b=2", "c=3", "d=4"])),
      { a: "1", b: "2", c: "3", d: "4" }
    )
  })

  it("cannot write to the terminal", () => {
    const error = Result.getOrThrow(Result.flip(
      CallArguments.forTool({
        name: "x\u001b[2J",
        inputSchema: { properties: { "a\u001b[H": { type: "string" } }, required: ["a\u001b[H"] }
      }, [])
    ))
    assert.strictEqual(error.message, "The tool x\\u001b[2J requires a\\u001b[H")
    assert.strictEqual(error.hint, "it is called so: x\\u001b[2J a\\u001b[H=<string>")
  })
})

describe("all arguments as JSON", () => {
  it("are an object", () => {
    assert.deepStrictEqual(Result.getOrThrow(CallArguments.fromJson("{\"a\":[1]}", "Standard input")), { a: [1] })
    const message = (text: string) => Result.getOrThrow(Result.flip(CallArguments.fromJson(text, "It"))).message
    assert.strictEqual(message("[1]"), "It is not a JSON object")
    assert.strictEqual(message("null"), "It is not a JSON object")
    assert.match(message("{"), /^It is not JSON: /)
    assert.match(message(""), /^It is not JSON: /)
  })
})

describe("arguments of prompts", () => {
  it("are strings", () => {
    assert.deepStrictEqual(Result.getOrThrow(CallArguments.strings(["city=Berlin", "n=1", "raw:=1"])), {
      city: "Berlin",
      n: "1",
      "raw:": "1"
    })
  })
})
