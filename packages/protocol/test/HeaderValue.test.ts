import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { HeaderValue } from "@mcp-effect/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

// The table of the specification (2026-07-28 streamable-http, Value Encoding) and the cases of SEP-2243.
const unsafe: ReadonlyArray<readonly [text: string, value: string]> = [
  ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
  ["日本語", "=?base64?5pel5pys6Kqe?="],
  [" padded ", "=?base64?IHBhZGRlZCA=?="],
  [" us-west1", "=?base64?IHVzLXdlc3Qx?="],
  ["us-west1 ", "=?base64?dXMtd2VzdDEg?="],
  [" us-west1 ", "=?base64?IHVzLXdlc3QxIA==?="],
  ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
  ["line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="],
  ["\tindented", "=?base64?CWluZGVudGVk?="]
]

const safe = [
  "us-west1",
  "us west 1",
  "true",
  "42",
  "-7",
  "file:///path/to/file%20name.txt",
  "https://example.com/resource?id=123",
  "a",
  "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
  "=?base64?open",
  "closed?=",
  "=?BASE64?bGl0ZXJhbA==?=",
  "x=?base64?eA==?="
]

const legal = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/

const characters = [
  "a",
  "Z",
  "0",
  " ",
  "\t",
  "\r",
  "\n",
  "\0",
  "\x7f",
  "\x85",
  "=",
  "?",
  "é",
  "世",
  "😀",
  "\ufeff",
  "\u2028"
]
const markers = ["=?base64?", "?=", "=?BASE64?", "\ud83d", "\ude00"]
const units = Arbitrary.array(Arbitrary.schema(Schema.Literals([...characters, ...markers])), { maxLength: 12 })
const anyText = Arbitrary.map(units, (parts) => parts.join(""))
const wellFormedText = Arbitrary.map(anyText, (text) => text.replaceAll(/\p{Surrogate}/gu, "?"))

describe("HeaderValue.encode", () => {
  verifiesPure(
    "HDR-06",
    "text that would not survive as a header value goes as base64, visible ASCII as it is",
    () => {
      for (const [text, value] of unsafe) assert.strictEqual(HeaderValue.encode(text), value)
      for (const text of safe) assert.strictEqual(HeaderValue.encode(text), text)
    }
  )

  verifiesPure("HDR-06", "a TAB inside goes as base64, though RFC 9110 lets it pass", () => {
    assert.strictEqual(HeaderValue.encode("a\tb"), "=?base64?YQli?=")
  })

  verifiesPure("HDR-07", "a value that looks encoded already is encoded itself", () => {
    assert.strictEqual(HeaderValue.encode("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")
    assert.strictEqual(HeaderValue.encode("=?base64? ?="), "=?base64?PT9iYXNlNjQ/ID89?=")
  })

  verifiesPure("HDR-08", "the ends alone decide what looks encoded, and empty text is an empty value", () => {
    assert.strictEqual(HeaderValue.encode("=?base64?="), "=?base64?PT9iYXNlNjQ/PQ==?=")
    assert.strictEqual(HeaderValue.encode(""), "")
    assert.strictEqual(HeaderValue.encode("a\ud83d"), "=?base64?Ye+/vQ==?=")
  })

  verifiesPure("HDR-22", "CR and LF never reach the header", () => {
    const value = HeaderValue.encode("x\r\nAuthorization: Bearer stolen")
    assert.match(value, legal)
    assert.strictEqual(HeaderValue.decode(value), "x\r\nAuthorization: Bearer stolen")
  })

  verifiesPure("HDR-23", "the base64 is the standard one, padded and in one line however long", () => {
    // c2bf c3bf c2be 3e3e3e 3f3f3f: base64url would write the `/` and `+` of it as `_` and `-`.
    assert.strictEqual(HeaderValue.encode("\u00bf\u00ff\u00be>>>???"), "=?base64?wr/Dv8K+Pj4+Pz8/?=")
    assert.strictEqual(HeaderValue.encode("é"), "=?base64?w6k=?=")
    assert.match(HeaderValue.encode("é".repeat(1000)), /^=\?base64\?[A-Za-z0-9+/]{2666}[A-Za-z0-9+/=]{2}\?=$/)
  })

  it.prop("whatever the text, the value is legal", [anyText], ([text]) => legal.test(HeaderValue.encode(text)))
})

describe("HeaderValue.decode", () => {
  it("reads what the specification's table holds", () => {
    for (const [text, value] of unsafe) assert.strictEqual(HeaderValue.decode(value), text)
    for (const text of safe) assert.strictEqual(HeaderValue.decode(text), text)
    assert.strictEqual(HeaderValue.decode(""), "")
    assert.strictEqual(HeaderValue.decode("=?base64??="), "")
  })

  it("takes what is too short to hold both markers as it stands", () => {
    assert.strictEqual(HeaderValue.decode("=?base64?="), "=?base64?=")
  })

  it("refuses what claims to be base64 of UTF-8 and is not", () => {
    for (const body of ["!", "YQ", "YQ=", "Y Q=", "YR==", "/w==", "w6kA=", "-_8="]) {
      assert.isUndefined(HeaderValue.decode(`=?base64?${body}?=`), body)
    }
  })

  it("keeps a byte order mark", () => {
    assert.strictEqual(HeaderValue.decode("=?base64?77u/YQ==?="), "\ufeffa")
    assert.strictEqual(HeaderValue.decode("=?base64?77u/77u/?="), "\ufeff\ufeff")
  })

  it.prop("gives back every well-formed text", [wellFormedText], ([text]) => {
    assert.strictEqual(HeaderValue.decode(HeaderValue.encode(text)), text)
  })

  it.prop("never throws", [anyText], ([text]) => {
    HeaderValue.decode(text)
    HeaderValue.decode(`=?base64?${text}?=`)
  })
})
