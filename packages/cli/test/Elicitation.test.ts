import { assert, describe, it } from "@effect/vitest"
import { Form, type McpHandlers } from "@mcp-effect/client"
import { type Elicitation, Revision } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Answers from "../src/elicitation/Answers.ts"
import * as Field from "../src/elicitation/Field.ts"
import * as Page from "../src/elicitation/Page.ts"
import { run } from "./Run.ts"
import * as ScriptedTerminal from "./ScriptedTerminal.ts"

const { clear, down, enter, escape } = ScriptedTerminal

const server = ["--", "some-server"]

type Definition = Elicitation.PrimitiveSchemaDefinition

const field = (definition: Definition, required = false, name = "it"): Field.Field => ({ name, definition, required })

const schema = (
  properties: { readonly [name: string]: Definition },
  required: ReadonlyArray<string> = []
): Form.Schema => ({ type: "object", properties, required })

const formRequest = (requestedSchema: Form.Schema, message = "Who are you?"): McpHandlers.FormElicitation => ({
  server: "some-server",
  revision: Revision.latestLegacy,
  message,
  requestedSchema,
  defaults: Form.defaults(requestedSchema),
  meta: undefined
})

const urlRequest = (url: string, message = "Sign in there"): McpHandlers.UrlElicitation => ({
  server: "some-server",
  revision: Revision.latestLegacy,
  message,
  url,
  elicitationId: undefined,
  meta: undefined
})

/** Runs `call` against a server whose tool asks something, and gives the answer that the server hears. */
const asked = (
  argv: ReadonlyArray<string>,
  request: McpHandlers.FormElicitation | McpHandlers.UrlElicitation,
  keys?: string
) =>
  Effect.gen(function*() {
    const person = keys === undefined ? undefined : yield* ScriptedTerminal.make(keys)
    const written = yield* run(
      ["call", "ask", "--json", "{}", ...argv, ...server],
      ({ handlers }) => ({
        callTool: () => {
          const { form, url } = handlers?.elicitation ?? {}
          const answer: Effect.Effect<unknown, unknown> | undefined = "url" in request
            ? url?.(request)
            : form?.(request)
          return Effect.map(
            Effect.orDie(answer ?? Effect.succeed("not declared")),
            (answer) => ({ content: [{ type: "text", text: JSON.stringify(answer) }] })
          )
        }
      }),
      { terminal: person?.terminal }
    )
    assert.strictEqual(written.code, 0, written.stderr)
    return { answer: JSON.parse(written.stdout), stderr: written.stderr, shown: person?.shown() ?? "" }
  })

const name: Definition = { type: "string", title: "Name", minLength: 2 }
const age: Definition = { type: "integer", minimum: 18, maximum: 120, default: 36 }

describe("a field", () => {
  it("offers its choices in all five forms", () => {
    const plain = [{ value: "r", title: "r" }, { value: "g", title: "g" }]
    const titled = [{ value: "r", title: "Red" }, { value: "g", title: "Green" }]
    const options = [{ const: "r", title: "Red" }, { const: "g", title: "Green" }]
    const choices = (definition: Definition) => Field.choices(field(definition))
    assert.deepStrictEqual(choices({ type: "string", enum: ["r", "g"] }), plain)
    assert.deepStrictEqual(choices({ type: "string", oneOf: options }), titled)
    assert.deepStrictEqual(choices({ type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] }), titled)
    assert.deepStrictEqual(choices({ type: "string", enum: ["r", "g"], enumNames: ["Red"] }), [
      { value: "r", title: "Red" },
      { value: "g", title: "g" }
    ])
    assert.deepStrictEqual(choices({ type: "array", items: { type: "string", enum: ["r", "g"] } }), plain)
    assert.deepStrictEqual(choices({ type: "array", items: { anyOf: options } }), titled)
    assert.strictEqual(choices({ type: "string" }), undefined)
    assert.strictEqual(choices({ type: "boolean" }), undefined)
  })

  it("says what it is called and what is expected", () => {
    const label = (definition: Definition, required?: boolean) => Field.label(field(definition, required))
    assert.strictEqual(label({ type: "string" }, true), "it")
    assert.strictEqual(label({ type: "string", title: "Name\u001b[2J\nx" }, true), "Name\\u001b[2J x")
    assert.strictEqual(label({ type: "string", minLength: 2, maxLength: 9 }), "it (2 to 9 characters, optional)")
    assert.strictEqual(label({ type: "integer", minimum: 1 }, true), "it (a whole number, at least 1)")
    assert.strictEqual(label({ type: "number", maximum: 2.5 }, true), "it (a number, at most 2.5)")
    assert.strictEqual(label({ type: "string", format: "date" }, true), "it (a date such as 2024-12-31)")
    assert.strictEqual(label({ type: "boolean" }), "it (optional)")
    assert.strictEqual(
      label({ type: "array", minItems: 1, maxItems: 2, items: { type: "string", enum: ["a"] } }, true),
      "it (1 to 2 of them)"
    )
  })

  it("reads what was typed, or says what is wrong with it", () => {
    const read = (definition: Definition, text: string, required = false) =>
      Result.match(Field.read(field(definition, required), text, definition.default), {
        onSuccess: (value) => ({ value }),
        onFailure: (problem) => problem
      })
    assert.deepStrictEqual(read({ type: "string" }, "  a "), { value: "  a " })
    assert.deepStrictEqual(read({ type: "string" }, ""), { value: undefined })
    assert.deepStrictEqual(read({ type: "string" }, "", true), "is required")
    assert.deepStrictEqual(read({ type: "string", minLength: 2 }, "a"), "needs at least 2 characters")
    assert.deepStrictEqual(read({ type: "string", format: "date" }, "2024-02-30"), "is not a valid date")
    assert.deepStrictEqual(read({ type: "number" }, " -1.5e2 "), { value: -150 })
    assert.deepStrictEqual(read({ type: "number" }, "+.5"), { value: 0.5 })
    for (const text of ["one", "0x10", "Infinity", "1e999", "1 2", "-"]) {
      assert.deepStrictEqual(read({ type: "number" }, text), "must be a number")
    }
    assert.deepStrictEqual(read({ type: "integer" }, "1.5"), "must be a whole number")
    assert.deepStrictEqual(read({ type: "integer", maximum: 5 }, "6"), "must be at most 5")
    assert.deepStrictEqual(read({ type: "integer" }, " ", true), "is required")
    // A default that was shown and then erased is not meant; one that could not be shown is.
    assert.deepStrictEqual(read({ type: "string", default: "a" }, ""), { value: "" })
    assert.deepStrictEqual(read({ type: "string", default: "a" }, "", true), "is required")
    assert.deepStrictEqual(read({ type: "string", default: "a\nb" }, "", true), { value: "a\nb" })
    assert.deepStrictEqual(read({ type: "integer", default: 1 }, ""), { value: undefined })
  })

  it("shows a value by its titles", () => {
    assert.strictEqual(Field.show(field({ type: "boolean" }), false), "no")
    assert.strictEqual(Field.show(field({ type: "string", oneOf: [{ const: "r", title: "Red" }] }), "r"), "Red")
    assert.strictEqual(Field.show(field({ type: "array", items: { type: "string", enum: ["a"] } }), []), "none")
    assert.strictEqual(Field.show(field({ type: "string" }), "a\u001b[2Jb"), "a\\u001b[2Jb")
  })
})

describe("a page", () => {
  it("is shown as a browser goes to it, with what is odd about it", () => {
    const warnings = (url: string) => Page.inspect(url).warnings
    assert.deepStrictEqual(Page.inspect("https://example.com/a?b=1#c"), {
      url: "https://example.com/a?b=1#c",
      domain: "example.com",
      warnings: []
    })
    // Cyrillic letters that look like "apple".
    const lookalike = Page.inspect("https://www.аррӏе.com/")
    assert.deepStrictEqual([lookalike.url, lookalike.domain], [
      "https://www.xn--80ak6aa92e.com/",
      "www.xn--80ak6aa92e.com"
    ])
    assert.match(lookalike.warnings.join(), /reads "www\.аррӏе\.com" \(Punycode\)/)
    const { domain, url } = Page.inspect("https://example.com\\@evil.example/")
    assert.deepStrictEqual([url, domain], ["https://example.com/@evil.example/", "example.com"])
    assert.match(warnings("https://example.com@evil.example/").join(), /before the @/)
    assert.match(warnings("https://203.0.113.7/").join(), /bare IP address/)
    assert.match(warnings("https://[2001:db8::1]/").join(), /bare IP address/)
    assert.match(warnings("http://example.com/").join(), /not encrypted/)
    assert.deepStrictEqual(warnings("https://127.evil.example/"), [])
    for (const local of ["http://localhost:3000/", "http://127.0.0.1/", "http://[::1]/", "http://app.localhost/"]) {
      assert.deepStrictEqual(warnings(local), ["the page is on this computer"])
    }
  })
})

describe("answers of the command line", () => {
  const parse = (...words: ReadonlyArray<string>) => Result.getOrThrow(Answers.parse(words))
  const tags: Definition = { type: "array", maxItems: 1, items: { type: "string", enum: ["a", "b"] } }

  it("get the types of the form", () => {
    const { problems, values } = Answers.forForm(
      parse("name=42", "age=42", "ok=true", "tags=[\"a\"]", "n:=1.5", "other=x"),
      schema({ name, age, ok: { type: "boolean" }, tags, n: { type: "number" } })
    )
    assert.deepStrictEqual(problems, [])
    assert.deepStrictEqual(Array.from(values), [["name", "42"], ["age", 42], ["ok", true], ["tags", ["a"]], ["n", 1.5]])
  })

  it("are held against the form", () => {
    const problems = (word: string, properties: { readonly [name: string]: Definition }) =>
      Answers.forForm(parse(word), schema(properties)).problems
    assert.deepStrictEqual(problems("age=old", { age }), ["The answer age must be an integer, not old"])
    assert.deepStrictEqual(problems("age=7", { age }), ["The answer age must be at least 18"])
    assert.deepStrictEqual(problems("tags=[\"c\"]", { tags }), [
      "The answer tags holds a value that is not offered: a, b"
    ])
    assert.deepStrictEqual(problems("name:={\"a\":1}", { name }), [
      "The answer name must be a text, a number, true, false or a list of texts"
    ])
  })

  it.effect("are refused before a server is started where they cannot be read", () =>
    Effect.gen(function*() {
      for (
        const [words, message] of [
          [["--answer", "name"], "Not an answer: name"],
          [["--answer", "a=1", "--answer", "a=2"], "The answer a is given twice"]
        ] as const
      ) {
        const { code, stderr, targets } = yield* run(["call", "x", ...words, ...server], {})
        assert.deepStrictEqual([code, stderr.split("\n")[0], targets], [2, `error: ${message}`, []])
      }
    }))
})

describe("without a terminal", () => {
  const form = formRequest(schema({ name, age }, ["name"]))

  it.effect("elicitation is declared as far as the command line answers", () =>
    Effect.gen(function*() {
      const declared = (...argv: ReadonlyArray<string>) =>
        Effect.gen(function*() {
          let seen: unknown
          yield* run(["call", "x", "--json", "{}", ...argv, ...server], ({ handlers }) => {
            seen = Object.entries(handlers?.elicitation ?? {}).filter(([, handler]) => handler !== undefined)
              .map(([mode]) => mode)
            return { callTool: () => Effect.succeed({ content: [] }) }
          })
          return seen
        })
      assert.deepStrictEqual(yield* declared(), [])
      assert.deepStrictEqual(yield* declared("--answer", "a=1"), ["form"])
      assert.deepStrictEqual(yield* declared("--yes"), ["form", "url"])
      assert.deepStrictEqual(yield* declared("-y"), ["form", "url"])
    }))

  it.effect("a form is accepted with defaults and answers", () =>
    Effect.gen(function*() {
      const { answer, stderr } = yield* asked(["--answer", "name=Ada"], form)
      assert.deepStrictEqual(answer, { action: "accept", content: { age: 36, name: "Ada" } })
      assert.strictEqual(stderr, "some-server asks:\n  | Who are you?\n  Accepted with: age, name\n")
      const over = yield* asked(["--answer", "name=Ada", "--answer", "age=40"], form)
      assert.deepStrictEqual(over.answer.content, { age: 40, name: "Ada" })
      const defaults = yield* asked(["--yes"], formRequest(schema({ age })))
      assert.deepStrictEqual(defaults.answer, { action: "accept", content: { age: 36 } })
    }))

  it.effect("a form that the answers do not fit is declined, and standard error says why", () =>
    Effect.gen(function*() {
      const missing = yield* asked(["--yes"], form)
      assert.deepStrictEqual(missing.answer, { action: "decline" })
      assert.include(missing.stderr, "\n  Declined: The form requires name: --answer name=VALUE\n")
      const wrong = yield* asked(["--answer", "name=A"], form)
      assert.deepStrictEqual(wrong.answer, { action: "decline" })
      assert.include(wrong.stderr, "\n  Declined: The answer name needs at least 2 characters\n")
    }))

  it.effect("an answer that no form asked for is told", () =>
    Effect.gen(function*() {
      const { stderr } = yield* asked(["--answer", "name=Ada", "--answer", "nmae=x"], form)
      assert.match(stderr, /warning: No form asked for --answer nmae\n$/)
    }))

  it.effect("a page is agreed to with --yes, and told with its domain", () =>
    Effect.gen(function*() {
      const { answer, stderr } = yield* asked(["--yes"], urlRequest("http://xn--80ak6aa92e.com/a", "a\nb\u001b[2J"))
      assert.deepStrictEqual(answer, { action: "accept" })
      assert.strictEqual(
        stderr,
        [
          "some-server asks you to visit a page:",
          "  | a",
          "  | b\\u001b[2J",
          "  URL:    http://xn--80ak6aa92e.com/a",
          "  Domain: xn--80ak6aa92e.com",
          "  Warning: the domain is written with characters that may look like others: it reads \"аррӏе.com\" (Punycode)",
          "  Warning: the connection is not encrypted (http), so that others can read and change what is sent",
          "  Accepted.",
          ""
        ].join("\n")
      )
    }))

  it.effect("JSON output has a line of JSON for each", () =>
    Effect.gen(function*() {
      const declined = yield* asked(["--yes", "-o", "json"], form)
      assert.deepStrictEqual(JSON.parse(declined.stderr), {
        elicitation: {
          mode: "form",
          server: "some-server",
          message: "Who are you?",
          action: "decline",
          problem: "The form requires name: --answer name=VALUE"
        }
      })
      const page = yield* asked(["--yes", "-o", "json"], urlRequest("https://example.com/"))
      assert.deepStrictEqual(JSON.parse(page.stderr), {
        elicitation: {
          mode: "url",
          server: "some-server",
          message: "Sign in there",
          url: "https://example.com/",
          domain: "example.com",
          warnings: [],
          action: "accept"
        }
      })
    }))
})

describe("at a terminal", () => {
  const form = formRequest(schema({ name, age }, ["name"]))

  it.effect("a form is filled in field by field, reviewed and sent", () =>
    Effect.gen(function*() {
      const all = formRequest(schema({
        name,
        age,
        vip: { type: "boolean" },
        terms: { type: "boolean", default: true },
        color: { type: "string", enum: ["red", "green"], default: "green" },
        size: { type: "string", oneOf: [{ const: "s", title: "Small" }, { const: "l", title: "Large" }] },
        pet: { type: "string", enum: ["c", "d"], enumNames: ["Cat", "Dog"] },
        fish: { type: "array", items: { anyOf: [{ const: "f1", title: "Tuna" }, { const: "f2", title: "Trout" }] } },
        tools: { type: "array", items: { type: "string", enum: ["saw", "axe"] }, default: ["axe"] },
        note: { type: "string" }
      }, ["name", "size"]))
      const { answer, shown, stderr } = yield* asked(
        [],
        all,
        [
          enter, // Answer
          `Ada${enter}`,
          `${clear}40${enter}`,
          enter, // leaves vip out
          `${down}${enter}`, // no
          enter, // green
          `${down}${enter}`, // Large
          `${down}${enter}`, // leaves pet out, goes round to Cat
          `${down}${down}${down} ${enter}`, // Trout, behind two choices for all
          enter, // axe
          enter, // leaves note out
          enter // Send
        ].join("")
      )
      assert.deepStrictEqual(answer, {
        action: "accept",
        content: {
          name: "Ada",
          age: 40,
          terms: false,
          color: "green",
          size: "l",
          pet: "c",
          fish: ["f2"],
          tools: ["axe"]
        }
      })
      // Everything goes to the terminal.
      assert.strictEqual(stderr, "")
      assert.include(shown, "\nsome-server asks:\n  | Who are you?\n")
      const review = [
        "Name: Ada",
        "age: 40",
        "vip: (left out)",
        "terms: no",
        "color: green",
        "size: Large",
        "pet: Cat",
        "fish: Trout",
        "tools: axe",
        "note: (left out)"
      ]
      assert.include(shown, review.map((line) => `  ${line}\n`).join(""))
    }))

  it.effect("a value that does not fit is asked for again, with the reason", () =>
    Effect.gen(function*() {
      const { answer, shown } = yield* asked(
        [],
        form,
        [enter, `A${enter}da${enter}`, `${clear}7${enter}0${enter}`, enter].join("")
      )
      assert.deepStrictEqual(answer, { action: "accept", content: { name: "Ada", age: 70 } })
      assert.include(shown, "Name needs at least 2 characters")
      assert.include(shown, "age must be at least 18")
      const required = yield* asked([], form, [enter, `${enter}Ada${enter}`, enter, enter].join(""))
      assert.deepStrictEqual(required.answer, { action: "accept", content: { name: "Ada", age: 36 } })
      assert.include(required.shown, "Name is required")
      const several = yield* asked(
        [],
        formRequest(
          schema({ pets: { type: "array", minItems: 1, items: { type: "string", enum: ["cat"] } } }, ["pets"])
        ),
        [enter, enter, `${down}${down} ${enter}`, enter].join("")
      )
      assert.deepStrictEqual(several.answer, { action: "accept", content: { pets: ["cat"] } })
      assert.include(several.shown, "  pets needs at least 1 items\n")
    }))

  it.effect("what the command line answers is not asked for, but reviewed", () =>
    Effect.gen(function*() {
      const given = ["--answer", "name=Ada", "--answer", "age=40"]
      const sent = yield* asked(given, form, enter)
      assert.deepStrictEqual(sent.answer, { action: "accept", content: { name: "Ada", age: 40 } })
      // Change both.
      const changed = yield* asked(given, form, `${down}${enter} L${enter}${clear}41${enter}${enter}`)
      assert.deepStrictEqual(changed.answer, { action: "accept", content: { name: "Ada L", age: 41 } })
      const wrong = yield* asked(["--answer", "age=7"], form, [enter, `Ada${enter}`, enter, enter].join(""))
      assert.include(wrong.shown, "The answer age must be at least 18\n")
      assert.deepStrictEqual(wrong.answer, { action: "accept", content: { name: "Ada", age: 36 } })
    }))

  it.effect("--yes asks nobody", () =>
    Effect.gen(function*() {
      const { answer, shown } = yield* asked(["--yes", "--answer", "name=Ada"], form, escape)
      assert.deepStrictEqual([answer.action, shown], ["accept", ""])
    }))

  it.effect("a form can be declined and cancelled at its beginning and at its end, and left at any time", () =>
    Effect.gen(function*() {
      const filled = [enter, `Ada${enter}`, enter].join("")
      const outcomes: ReadonlyArray<readonly [keys: string, action: string]> = [
        [`${down}${enter}`, "decline"],
        [`${down}${down}${enter}`, "cancel"],
        [escape, "cancel"],
        [`${enter}A${escape}`, "cancel"],
        [`${filled}${down}${down}${enter}`, "decline"],
        [`${filled}${down}${down}${down}${enter}`, "cancel"]
      ]
      for (const [keys, action] of outcomes) {
        assert.deepStrictEqual((yield* asked([], form, keys)).answer, { action }, JSON.stringify(keys))
      }
    }))

  it.effect("a form that nobody can fill in cannot be sent", () =>
    Effect.gen(function*() {
      const { answer, shown } = yield* asked(
        [],
        formRequest(schema({ pet: { type: "string", enum: [] } }, ["pet"])),
        `${enter}${down}${enter}`
      )
      assert.deepStrictEqual(answer, { action: "decline" })
      assert.include(shown, "It cannot be sent: pet is required")
    }))

  it.effect("a form without fields is only agreed to", () =>
    Effect.gen(function*() {
      const { answer } = yield* asked([], formRequest(schema({})), enter)
      assert.deepStrictEqual(answer, { action: "accept", content: {} })
    }))

  it.effect("a server's text cannot move the cursor, nor pass for ours", () =>
    Effect.gen(function*() {
      const hostile = "\u001b[2J\u202e\u0007"
      const { shown } = yield* asked(
        [],
        formRequest(
          schema({
            a: { type: "string", title: `t${hostile}`, description: `d${hostile}\nd`, default: `x${hostile}\ny` },
            b: { type: "string", oneOf: [{ const: "c", title: `o${hostile}` }] }
          }),
          `m${hostile}\n  URL: https://example.com`
        ),
        [enter, enter, enter, enter].join("")
      )
      assert.include(shown, "  | m\\u001b[2J\\u202e\\u0007\n  |   URL: https://example.com\n")
      assert.include(shown, "  d\\u001b[2J\\u202e\\u0007 d\n")
      assert.include(shown, "  An empty line stands for: x\\u001b[2J\\u202e\\u0007 y\n")
      assert.include(shown, "t\\u001b[2J\\u202e\\u0007")
      assert.include(shown, "o\\u001b[2J\\u202e\\u0007")
      for (const character of hostile.slice(-2)) assert.notInclude(shown, character)
    }))

  it.effect("a page is visited only by consent, which Enter alone does not give", () =>
    Effect.gen(function*() {
      const page = urlRequest("https://example.com/a?b=1")
      const outcomes: ReadonlyArray<readonly [keys: string, action: string]> = [
        [enter, "decline"],
        [`${down}${enter}${enter}`, "accept"],
        [`${down}${enter}${down}${enter}`, "cancel"],
        [`${down}${down}${enter}`, "cancel"],
        [escape, "cancel"]
      ]
      for (const [keys, action] of outcomes) {
        const { answer, shown } = yield* asked([], page, keys)
        assert.deepStrictEqual(answer, { action }, JSON.stringify(keys))
        assert.include(shown, "  URL:    https://example.com/a?b=1\n  Domain: example.com\n")
      }
    }))

  it.effect("one question comes after the other", () =>
    Effect.gen(function*() {
      const person = yield* ScriptedTerminal.make([down, enter, enter, down, enter].join(""))
      const { stdout } = yield* run(["call", "ask", "--json", "{}", ...server], ({ handlers }) => ({
        callTool: () => {
          const url = handlers?.elicitation?.url
          assert.isDefined(url)
          const answers = Effect.forEach(
            ["https://one.example/", "https://two.example/"],
            (address) => url?.(urlRequest(address)) ?? Effect.void,
            { concurrency: "unbounded" }
          )
          return Effect.map(Effect.orDie(answers), (answers) => ({
            content: [{ type: "text", text: JSON.stringify(answers) }]
          }))
        }
      }), { terminal: person.terminal })
      assert.deepStrictEqual(JSON.parse(stdout), [{ action: "accept" }, { action: "cancel" }])
      const shown = person.shown()
      assert.isAbove(shown.indexOf("two.example"), shown.indexOf("I am done there"))
    }))
})
