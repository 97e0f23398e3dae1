import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { McpError, WwwAuthenticate } from "@mcp-effect/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

type Plain = readonly [scheme: string, content?: string | Readonly<Record<string, string>>]

/** What was read, in a shape that is short to write. */
const plain = (header: string | ReadonlyArray<string>): ReadonlyArray<Plain> =>
  WwwAuthenticate.parse(header).map(({ parameters, scheme, token68 }) => {
    const entries = Object.entries(parameters)
    return token68 === undefined
      ? entries.length === 0 ? [scheme] : [scheme, Object.fromEntries(entries)]
      : [scheme, token68]
  })

const metadata = "https://mcp.example.com/.well-known/oauth-protected-resource"

const wellFormed: ReadonlyArray<readonly [header: string, challenges: ReadonlyArray<Plain>]> = [
  ["", []],
  ["Bearer", [["bearer"]]],
  [`Bearer resource_metadata="${metadata}"`, [["bearer", { resource_metadata: metadata }]]],
  [
    `Bearer error="insufficient_scope", scope="files:read files:write", resource_metadata="${metadata}"`,
    [["bearer", { error: "insufficient_scope", scope: "files:read files:write", resource_metadata: metadata }]]
  ],
  // The example of RFC 9110 section 11.6.1.
  [
    `Basic realm="simple", Newauth realm="apps", type=1, title="Login to \\"apps\\""`,
    [["basic", { realm: "simple" }], ["newauth", { realm: "apps", type: "1", title: "Login to \"apps\"" }]]
  ],
  // Schemes and names in any case.
  ["bEaReR ReAlM=\"A\", SCOPE=\"B c\"", [["bearer", { realm: "A", scope: "B c" }]]],
  // Whitespace around the equals sign, and tabs for it.
  ["Bearer\trealm =\t\"x\" ,\tscope= a", [["bearer", { realm: "x", scope: "a" }]]],
  // Tokens as values.
  ["Bearer error=invalid_token, scope=mcp", [["bearer", { error: "invalid_token", scope: "mcp" }]]],
  // Quoted pairs; a backslash escapes any character.
  [String.raw`Bearer realm="a\\b\"c\d"`, [["bearer", { realm: "a\\b\"cd" }]]],
  // Commas and equals signs in quotes.
  ["Bearer realm=\"a, b=c\", scope=\"x\"", [["bearer", { realm: "a, b=c", scope: "x" }]]],
  ["Bearer realm=\"\"", [["bearer", { realm: "" }]]],
  ["Bearer realm=\"caf\u00e9\"", [["bearer", { realm: "caf\u00e9" }]]],
  // token68.
  ["Negotiate YII=", [["negotiate", "YII="]]],
  ["Negotiate abc+/._~-123==, Basic realm=\"x\"", [["negotiate", "abc+/._~-123=="], ["basic", { realm: "x" }]]],
  // Empty elements of the list.
  [", ,Bearer , realm=\"x\",, ,scope=\"y\",", [["bearer", { realm: "x", scope: "y" }]]],
  // Schemes without parameters beside those with some.
  ["Negotiate, NTLM, Bearer scope=\"a\", Basic", [["negotiate"], ["ntlm"], ["bearer", { scope: "a" }], ["basic"]]],
  // A parameter given twice: the first counts.
  ["Bearer scope=\"first\", SCOPE=\"second\"", [["bearer", { scope: "first" }]]],
  // The same name in two challenges.
  ["Basic realm=\"a\", Bearer realm=\"b\"", [["basic", { realm: "a" }], ["bearer", { realm: "b" }]]]
]

const malformed: ReadonlyArray<readonly [header: string, challenges: ReadonlyArray<Plain>]> = [
  // A URL without its quotes.
  [`Bearer resource_metadata=${metadata}, scope=a`, [["bearer", { resource_metadata: metadata, scope: "a" }]]],
  // A comma forgotten: what stands before it is kept.
  ["Bearer realm=\"x\" scope=\"y\", error=\"z\"", [["bearer", { realm: "x", error: "z" }]]],
  // A quote that never closes takes the rest with it.
  ["Bearer scope=\"a\", realm=\"open, scope=\"b\"", [["bearer", { scope: "a" }]]],
  ["Bearer realm=\"open, scope=evil", [["bearer"]]],
  ["Bearer realm=\"a\\", [["bearer"]]],
  // Values that are missing or broken.
  ["Bearer realm=, scope=\"a\"", [["bearer", { scope: "a" }]]],
  ["Bearer error=, realm=, scope=\"a\"", [["bearer", { scope: "a" }]]],
  ["Bearer realm=\"a\"b, scope=\"c\"", [["bearer", { scope: "c" }]]],
  ["Bearer realm=a\"b, c\", scope=\"d\"", [["bearer", { scope: "d" }]]],
  // Elements that are neither a challenge nor a parameter.
  ["Bearer realm=\"a\", =x, \"quoted, scope=evil\", @@, scope=\"b\"", [["bearer", { realm: "a", scope: "b" }]]],
  ["Bearer @@, scope=\"a\"", [["bearer", { scope: "a" }]]],
  ["Bearer some words, scope=\"a\"", [["bearer", { scope: "a" }]]],
  ["Bearer: realm=\"a\"", []],
  // A parameter that belongs to nobody, and one that shows that what came before it is no token68.
  ["realm=\"a\", Bearer scope=\"b\"", [["bearer", { scope: "b" }]]],
  ["Negotiate abc=, realm=\"a\", Bearer scope=\"b\"", [["negotiate", { realm: "a" }], ["bearer", { scope: "b" }]]]
]

// Each is a challenge without scope and metadata, whatever its description says.
const descriptions = [
  "scope=evil",
  "need scope=\\\"evil\\\", resource_metadata=\\\"http://evil/x\\\"",
  ", scope=evil, resource_metadata=http://evil/x",
  "\\\", scope=evil, resource_metadata=http://evil/x, \\\"",
  "Bearer scope=evil, Bearer resource_metadata=http://evil/x",
  "\\\\\\\", Bearer scope=evil, resource_metadata=http://evil/x",
  "bad token\\\", scope=\\\"evil"
]
// The same, from servers that do not escape the quotes inside.
const unescapedDescriptions = [
  "say \"scope=evil\" please",
  "say \"scope=evil\", then",
  "say \" scope=evil \" please",
  "say \"resource_metadata=http://evil/x\""
]

// Characters of a token that can also be the value of a parameter, and any that a quoted string may hold.
const token = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Literals([..."abcz019!#$%&'*+-.^_`|~"])), { minLength: 1, maxLength: 8 }),
  (characters) => characters.join("")
)
const quotable = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Literals([..."ab =,;\\\"\t'é", "\u00ff"])), { maxLength: 12 }),
  (characters) => characters.join("")
)
const base64 = Arbitrary.map(
  Arbitrary.all([token, Arbitrary.schema(Schema.Literals(["", "=", "=="]))]),
  ([text, padding]) => `${text.replaceAll(/[^a-z0-9+.~_-]/g, "/")}${padding}`
)
const space = Arbitrary.schema(Schema.Literals(["", " ", "\t", " \t "]))
const comma = Arbitrary.schema(Schema.Literals([",", ", ", " ,\t", ", ,", ",,,"]))
const challenge = Arbitrary.all({
  scheme: token,
  credentials: base64,
  hasCredentials: Arbitrary.schema(Schema.Boolean),
  parameters: Arbitrary.array(Arbitrary.all({ name: token, value: quotable, before: space, after: space }), {
    maxLength: 4
  }),
  comma
})
type Written = typeof challenge extends Arbitrary.Arbitrary<infer A> ? A : never

const print = ({ comma, credentials, hasCredentials, parameters, scheme }: Written): string => {
  const written = parameters.map(({ after, before, name, value }) =>
    `${name.toUpperCase()}${before}=${after}"${value.replaceAll(/["\\]/g, "\\$&")}"`
  )
  return hasCredentials ? `${scheme.toUpperCase()} ${credentials}` : `${scheme.toUpperCase()} ${written.join(comma)}`
}

const meant = ({ credentials, hasCredentials, parameters, scheme }: Written) => ({
  scheme,
  token68: hasCredentials ? credentials : undefined,
  // Of two values for a name the first counts, so that it has to be set last.
  parameters: new Map(hasCredentials ? [] : [...parameters].reverse().map(({ name, value }) => [name, value]))
})

const read = (header: string | ReadonlyArray<string>) =>
  WwwAuthenticate.parse(header).map(({ parameters, scheme, token68 }) => ({
    scheme,
    token68,
    parameters: new Map(Object.entries(parameters))
  }))

describe("WwwAuthenticate.parse", () => {
  verifiesPure("PAIN-68", "reads every form the grammar of RFC 9110 has", () => {
    for (const [header, challenges] of wellFormed) assert.deepStrictEqual(plain(header), challenges, header)
  })

  verifiesPure("PAIN-68", "skips what is malformed and keeps the rest", () => {
    for (const [header, challenges] of malformed) assert.deepStrictEqual(plain(header), challenges, header)
  })

  verifiesPure("PAIN-68", "takes no scope and no URL out of a description", () => {
    for (const description of descriptions) {
      const [bearer, ...others] = WwwAuthenticate.parse(`Bearer error="e", error_description="${description}"`)
      assert.deepStrictEqual(Object.keys(bearer?.parameters ?? {}), ["error", "error_description"], description)
      assert.deepStrictEqual(others, [])
      const [known] = WwwAuthenticate.parse(`Bearer error_description="${description}", scope="good"`)
      assert.strictEqual(known?.parameters["scope"], "good", description)
    }
    for (const description of unescapedDescriptions) {
      const [bearer, ...others] = WwwAuthenticate.parse(`Bearer error="e", error_description="${description}"`)
      assert.isUndefined(bearer?.parameters["scope"], description)
      assert.isUndefined(bearer?.parameters["resource_metadata"], description)
      assert.deepStrictEqual(others, [])
    }
  })

  it("reads several headers as one list, without letting an open quote reach the next", () => {
    assert.deepStrictEqual(plain(["Basic realm=\"a\"", "Bearer scope=\"b\""]), [
      ["basic", { realm: "a" }],
      ["bearer", { scope: "b" }]
    ])
    assert.deepStrictEqual(plain(["Basic realm=\"open", "Bearer scope=\"b\""]), [["basic"], ["bearer", { scope: "b" }]])
    assert.deepStrictEqual(plain(["Bearer realm=\"a\"", "scope=\"b\""]), [["bearer", { realm: "a", scope: "b" }]])
    assert.deepStrictEqual(plain([]), [])
  })

  it("keeps names that mean something to JavaScript as plain names", () => {
    const [bearer] = WwwAuthenticate.parse("Bearer __proto__=\"polluted\", constructor=\"x\", toString=\"y\"")
    assert.deepStrictEqual(Object.entries(bearer?.parameters ?? {}), [
      ["__proto__", "polluted"],
      ["constructor", "x"],
      ["tostring", "y"]
    ])
    assert.isUndefined(WwwAuthenticate.parse("Bearer realm=\"a\"")[0]?.parameters["hasOwnProperty"])
  })

  it("fits the reason of an error", () => {
    const challenges = WwwAuthenticate.parse("Bearer __proto__=\"x\", scope=\"a b\", Negotiate abc=")
    const reason = new McpError.Unauthorized({ challenges })
    assert.strictEqual(reason.challenges[0]?.parameters["scope"], "a b")
    assert.strictEqual(reason.challenges[1]?.token68, "abc=")
  })

  it("takes time in proportion to the header", () => {
    const size = 200_000
    const headers = [
      "a".repeat(size),
      `Bearer ${"a".repeat(size)} x`,
      `Bearer ${"a=".repeat(size)}`,
      `Bearer ${"=".repeat(size)}`,
      `Bearer realm="${"\\\"".repeat(size)}`,
      `Bearer realm="${"a".repeat(size)}`,
      `Bearer ${" ".repeat(size)}x`,
      ",".repeat(size),
      "\"".repeat(size),
      "a, ".repeat(size),
      "a=\"b\" ".repeat(size),
      "\",".repeat(size)
    ]
    const started = performance.now()
    for (const header of headers) WwwAuthenticate.parse(header)
    // Some 5 million characters; anything quadratic takes minutes.
    assert.isBelow(performance.now() - started, 10_000)
  })

  it.prop("gives back every list of challenges, however it is written", [
    Arbitrary.array(challenge, { maxLength: 4 })
  ], ([challenges]) => {
    assert.deepStrictEqual(read(challenges.map(print).join(", ")), challenges.map(meant))
    assert.deepStrictEqual(read(challenges.map(print)), challenges.map(meant))
  })

  it.prop(
    "never throws",
    [Arbitrary.array(Arbitrary.schema(Schema.Literals([..."Ba =,\"\\\t@\n\0é"])), { maxLength: 40 }), Schema.String],
    ([characters, text]) => {
      WwwAuthenticate.parse(characters.join(""))
      WwwAuthenticate.parse([text, `Bearer ${text}`, `Bearer realm="${text}`])
    }
  )
})
