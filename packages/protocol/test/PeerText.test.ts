import { assert, describe, it } from "@effect/vitest"
import { PeerText } from "@mcp-effect/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

const text = Arbitrary.map(
  Arbitrary.array(
    Arbitrary.schema(
      Schema.Literals(["a", " ", "\n", "\u001b", "\u202e", "é", "😀", "\ud83d", "\ude00", "\u{e0041}", "\\"])
    ),
    { maxLength: 60 }
  ),
  (parts) => parts.join("")
)

const shown = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u

describe("PeerText.escape", () => {
  it("leaves ordinary text alone", () => {
    for (const ordinary of ["", "plain", "a\\nb", "Größe 世界 😀 ✓ Ω", "<b>&\"'`$(x)"]) {
      assert.strictEqual(PeerText.escape(ordinary), ordinary)
    }
  })

  it("escapes what forges lines or moves a cursor", () => {
    assert.strictEqual(PeerText.escape("a\nb\r\tc"), "a\\nb\\r\\tc")
    assert.strictEqual(PeerText.escape("\u001b[2J\u0007\0\u007f"), "\\u001b[2J\\u0007\\u0000\\u007f")
    assert.strictEqual(PeerText.escape("\u009b31m\u0085\u2028\u2029"), "\\u009b31m\\u0085\\u2028\\u2029")
  })

  it("escapes what turns or hides the text around it", () => {
    const hidden = [
      "\u202e",
      "\u2066",
      "\u2069",
      "\u200b",
      "\u200f",
      "\u061c",
      "\u00ad",
      "\ufeff",
      "\u2060",
      "\u180e",
      "\ufff9"
    ]
    assert.strictEqual(
      PeerText.escape(hidden.join("")),
      "\\u202e\\u2066\\u2069\\u200b\\u200f\\u061c\\u00ad\\ufeff\\u2060\\u180e\\ufff9"
    )
    // Tags, which spell out ASCII that no one sees.
    assert.strictEqual(PeerText.escape("\u{e0041}\u{e007f}"), "\\u{e0041}\\u{e007f}")
  })

  it("escapes lone surrogates and keeps pairs", () => {
    assert.strictEqual(PeerText.escape("\ud83d"), "\\ud83d")
    assert.strictEqual(PeerText.escape("\ude00\ud83d"), "\\ude00\\ud83d")
    assert.strictEqual(PeerText.escape("a\ud83d😀\ude00"), "a\\ud83d😀\\ude00")
  })

  it.prop("leaves nothing that could disguise", [text], ([text]) => shown.test(PeerText.escape(text)))
})

describe("PeerText.excerpt", () => {
  it("keeps up to 200 characters", () => {
    assert.strictEqual(PeerText.excerptLength, 200)
    assert.strictEqual(PeerText.excerpt("a".repeat(200)), "a".repeat(200))
    assert.strictEqual(PeerText.excerpt("a".repeat(201)), `${"a".repeat(199)}…`)
    assert.strictEqual(PeerText.excerpt(""), "")
  })

  it("counts after escaping", () => {
    assert.strictEqual(PeerText.excerpt("\n".repeat(100)), "\\n".repeat(100))
    assert.strictEqual(PeerText.excerpt("\n".repeat(101)), `${"\\n".repeat(99)}…`)
  })

  it("cuts neither an escape nor a pair in two", () => {
    assert.strictEqual(PeerText.excerpt("abcd\u001bxyz", 8), "abcd…")
    assert.strictEqual(PeerText.excerpt("ab\u001b", 8), "ab\\u001b")
    assert.strictEqual(PeerText.excerpt("😀😀😀", 6), "😀😀😀")
    assert.strictEqual(PeerText.excerpt("😀😀😀", 5), "😀😀…")
    assert.strictEqual(PeerText.excerpt("😀😀😀", 4), "😀…")
    assert.strictEqual(PeerText.excerpt("a😀😀", 4), "a😀…")
  })

  it("looks no further than it keeps", () => {
    const started = performance.now()
    assert.strictEqual(PeerText.excerpt("\u001b".repeat(20_000_000), 10), "\\u001b…")
    assert.isBelow(performance.now() - started, 5000)
  })

  it.prop("is escaped, within its length, and a beginning of the whole", [text], ([text]) => {
    for (const length of [1, 7, 20, 200]) {
      const excerpt = PeerText.excerpt(text, length)
      const whole = PeerText.escape(text)
      assert.isAtMost(excerpt.length, length)
      assert.match(excerpt, shown)
      if (whole.length <= length) assert.strictEqual(excerpt, whole)
      else assert.isTrue(excerpt.endsWith("…") && whole.startsWith(excerpt.slice(0, -1)))
    }
  })
})
