import { assert, describe } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Budget, Exhausted } from "../src/internal/Budget.ts"
import * as Pattern from "../src/internal/Pattern.ts"
import { Allowance } from "../src/internal/PatternAutomaton.ts"
import * as PatternBacktracker from "../src/internal/PatternBacktracker.ts"
import * as PatternSyntax from "../src/internal/PatternSyntax.ts"

const make = (source: string, instructions = 50_000) => Pattern.make(source, new Allowance(instructions, 50_000))

const compile = (source: string, instructions?: number): Pattern.Pattern => {
  const pattern = make(source, instructions)
  if (typeof pattern === "string") throw new Error(`${source} ${pattern}`)
  return pattern
}

// A clock that goes on by one with each reading: how often it was read tells how much work was done.
const work = (millis = Infinity) => {
  let readings = 0
  const budget = new Budget({ visits: 1, millis, now: () => readings++ })
  return { budget, readings: () => readings }
}

const matches = (source: string, text: string, instructions?: number): boolean =>
  compile(source, instructions).test(text, work().budget)

const steps = (source: string, text: string): number => {
  const { budget, readings } = work()
  compile(source).test(text, budget)
  return readings()
}

interface Vector {
  readonly pattern: string
  readonly yes: ReadonlyArray<string>
  readonly no: ReadonlyArray<string>
}

const vectors: ReadonlyArray<Vector> = [
  { pattern: "", yes: ["", "a"], no: [] },
  { pattern: "b", yes: ["abc"], no: ["", "a"] },
  { pattern: "^abc$", yes: ["abc"], no: ["abc\n", "\nabc", "ab"] },
  { pattern: "^.$", yes: ["a", "é", "🐲", "\ud83d"], no: ["", "\n", "\u2028", "ab"] },
  { pattern: "^(?:ab|a)(?:c|bcd)$", yes: ["abc", "ac", "abcd", "abbcd"], no: ["ab"] },
  { pattern: "^a*?b+c??$", yes: ["b", "aabb", "abc"], no: ["a", "abcc"] },
  { pattern: "^a{2}$", yes: ["aa"], no: ["a", "aaa"] },
  { pattern: "^a{2,}$", yes: ["aa", "aaaa"], no: ["a"] },
  { pattern: "^(?:ab){1,2}$", yes: ["ab", "abab"], no: ["", "ababab"] },
  { pattern: "^(?:a{0}|b)$", yes: ["", "b"], no: ["a"] },
  { pattern: "^(?:a*)*$", yes: ["", "aaa"], no: ["b"] },
  { pattern: "^[a-c\\d\\-\\]x]+$", yes: ["ab9-]x"], no: ["d", "\\"] },
  { pattern: "^[^a]$", yes: ["b", "\n", "🐲"], no: ["a", ""] },
  { pattern: "^[]$", yes: [], no: ["", "a"] },
  { pattern: "^[\\b]$", yes: ["\b"], no: ["b"] },
  { pattern: "^\\d\\D\\w\\W\\s\\S$", yes: ["0a_-\ufeffx"], no: ["\u0660a_- x", "0aé- x"] },
  {
    pattern: "^\\t\\n\\v\\f\\r\\0\\cA\\x41\\u0042\\u{1F432}\\uD83D\\uDC32\\.\\/\\^$",
    yes: ["\t\n\v\f\r\0\u0001AB🐲🐲./^"],
    no: [""]
  },
  { pattern: "^\\p{Lu}\\P{Lu}\\p{Script=Greek}$", yes: ["Éeα"], no: ["eeα", "Eee"] },
  { pattern: "\\bcat\\b", yes: ["a cat.", "cat"], no: ["cats", "_cat"] },
  { pattern: "\\Bcat", yes: ["concat"], no: ["a cat", "cat"] },
  { pattern: "é\\b", yes: ["éa"], no: ["é"] },
  { pattern: "^🐲*$", yes: ["", "🐲🐲"], no: ["🐉", "\ud83d"] },
  { pattern: "^(?=.*\\d)(?=.*[a-z])[a-z\\d]{3,}$", yes: ["ab1", "1aa"], no: ["abc", "123", "a1", "A1b"] },
  { pattern: "^(?!.*\\.\\.)[\\w.]+$", yes: ["a.b"], no: ["a..b"] },
  { pattern: "(?<=\\$)\\d+", yes: ["$1"], no: ["1", "€1"] },
  { pattern: "(?<!\\$)\\b\\d+$", yes: ["€12"], no: ["$12"] },
  { pattern: "^(?=(?!b)a|b(?=c))..?$", yes: ["a", "ab", "bc"], no: ["b", "bd"] },
  { pattern: "^🐲(?<=^🐲)(?=a🐲)a(?!🐉)", yes: ["🐲a🐲"], no: ["🐲a🐉"] },
  { pattern: "^(?<quote>['\"])[^'\"]*\\k<quote>$", yes: ["'a'", "\"\""], no: ["'a\""] },
  { pattern: "^(a+)b\\1$", yes: ["aba", "aabaa"], no: ["aaba", "ab"] },
  // A group that has not taken part yet, or no more, matches the empty text; each round forgets what the last one took.
  { pattern: "^\\1(a)$", yes: ["a"], no: ["aa"] },
  { pattern: "^(?:(a)|b)*\\1$", yes: ["ab", "aa"], no: ["c"] },
  { pattern: "^(?:(a)|(b))+\\1c$", yes: ["abc", "aac", "baac"], no: ["ab"] },
  { pattern: "^(?=(a+))\\1b$", yes: ["aab"], no: ["aa"] },
  { pattern: "(?<=\\1(a))b", yes: ["aab"], no: ["ab"] }
]

describe("Patterns", () => {
  verifiesPure("SCH-19", "are expressions of ECMA-262 with its Unicode semantics", () => {
    for (const { no, pattern, yes } of vectors) {
      for (const text of yes) assert.isTrue(matches(pattern, text), `${pattern} ${JSON.stringify(text)}`)
      for (const text of no) assert.isFalse(matches(pattern, text), `${pattern} ${JSON.stringify(text)}`)
    }
  })

  verifiesPure("SCH-19", "mean the same to the matcher that tries one way after the other", () => {
    for (const { no, pattern, yes } of vectors) {
      const test = PatternBacktracker.make(PatternSyntax.parse(pattern))
      for (const text of yes) assert.isTrue(test(text, work().budget), `${pattern} ${JSON.stringify(text)}`)
      for (const text of no) assert.isFalse(test(text, work().budget), `${pattern} ${JSON.stringify(text)}`)
    }
  })

  verifiesPure(
    "SCH-19",
    "may escape punctuation without need, and put a hyphen beside a class, as Annex B allows",
    () => {
      assert.isTrue(matches("^[\\w-.]+\\@[\\w-]+\\-\\_\\:$", "a-b.c@d-e-_:"))
      assert.isFalse(matches("^[\\w-.]+$", "a/b"))
      assert.isTrue(matches("^[+-\\d\\,]+$", "+-1,"))
    }
  )

  verifiesPure("SCH-19", "of another engine's syntax, or too long, are refused", () => {
    const refused = [
      "(?i)a",
      "a++",
      "a*+",
      "(?>a)",
      "\\Aa\\Z",
      "(?P<a>b)",
      "\\h",
      "[[:alpha:]]",
      "(",
      "a{2,1}",
      "\\p{Nope}",
      "*a",
      "\\2(a)",
      "x{,5}"
    ]
    for (const source of refused) assert.strictEqual(make(source), "is not a regular expression of ECMA-262", source)
    assert.strictEqual(make("(?i:a)"), "changes its flags in the middle, which this library does not support")
    assert.strictEqual(make("(".repeat(300) + ")".repeat(300)), "is nested deeper than 256 groups")
    assert.strictEqual(make("a".repeat(10_001)), "is longer than 10000 characters")
    assert.isTrue(matches(`^${"a".repeat(9_999)}`, "a".repeat(10_000)))
  })

  verifiesPure("SCH-20", "may refer back to a repeated group and look behind by any length", () => {
    assert.isTrue(matches("^(?:(a|b)c)+\\1$", "acbcb"))
    assert.isFalse(matches("^(?:(a|b)c)+\\1$", "acbca"))
    assert.isTrue(matches("(?<=a+b*)c", "aabbc"))
    assert.isFalse(matches("(?<=a+b*)c", "xbbc"))
  })

  verifiesPure(["SCH-21", "SEC-10"], "take time linear in the text, whatever their nesting", () => {
    for (
      const pattern of [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a|aa)+$",
        "(.*)*x",
        "^(?:a?){20}a{20}b$",
        "a*a*a*a*a*b",
        "^(?=(a+)+$)(a+)+b",
        "(?<!(a*)*b)$c",
        "(?:(?=a)a)*b"
      ]
    ) {
      const once = steps(pattern, `${"a".repeat(20_000)}!`)
      const twice = steps(pattern, `${"a".repeat(40_000)}!`)
      assert.isAtLeast(once, 1, pattern)
      assert.isAtMost(twice, once * 2.5 + 2, pattern)
    }
    assert.isFalse(matches("^(a+)+$", `${"a".repeat(100_000)}!`))
  })

  verifiesPure(
    ["SCH-21", "SEC-10"],
    "that refer back, or are too large for an automaton, stop at the end of the time",
    () => {
      const run = (source: string, text: string, instructions?: number) => {
        const { budget, readings } = work(50)
        const exit = () => compile(source, instructions).test(text, budget)
        assert.throws(exit, Exhausted)
        assert.isAtMost(readings(), 100)
      }
      run("^(a+)+\\1b$", "a".repeat(40))
      run("^(a+)+$", `${"a".repeat(40)}!`, 3)
      run("^(a*)*(?=\\1c)$", "a".repeat(40))
      // Without running out of time, they answer all the same.
      assert.isTrue(matches("^(?:[a-c]{1,30}\\d){2}$", "abc1ca2", 3))
      assert.isTrue(matches("^x{2,60000}y$", `${"x".repeat(500)}y`))
      assert.isFalse(matches("^x{2,60000}y$", "xy"))
    }
  )

  verifiesPure("SCH-21", "keep neither their expressions nor their texts from growing without a bound", () => {
    const allowance = new Allowance(1_000, 50_000)
    for (let i = 0; i < 100; i++) Pattern.make(`^a{${i},500}$`, allowance)
    assert.isAtMost(allowance.used, 1_000)
    // Empty repetitions are written out once, however often they are asked for.
    assert.isTrue(matches("^(?:(?:){1000000000}){1000000000}$", ""))
    assert.throws(() => matches("^b(?=a)", `b${"a".repeat(17 * 1_024 * 1_024)}`), Exhausted)
  })

  verifiesPure("SCH-19", "agree with the runtime's own engine on small expressions", () => {
    const seed = Date.now() % 1_000_000
    let state = seed
    const below = (limit: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
      return (state >>> 8) % limit
    }
    const oneOf = (choices: ReadonlyArray<string>): string => choices[below(choices.length)] ?? ""
    const expression = (depth: number): string => {
      const part = () => expression(depth - 1)
      const repeat = () => oneOf(["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "*?", "??", "{1,2}?"])
      if (depth === 0) {
        return oneOf(["a", "b", "é", ".", "\\w", "[ab]", "[^a]", "\\b", "\\B", "^", "$", "\\p{L}", "\\1"])
      }
      switch (below(6)) {
        case 0:
          return part() + part()
        case 1:
          return `(?:${part()}|${part()})`
        case 2:
          return `(${part()})${repeat()}${part()}`
        case 3:
          return `(?:${part()})${repeat()}`
        case 4:
          return `${oneOf(["(?=", "(?!"])}${part()})`
        default:
          return `${oneOf(["(?<=", "(?<!"])}${part()})`
      }
    }
    for (let i = 0; i < 2_000; i++) {
      const source = `(a?)${expression(1 + below(4))}`
      const native = new RegExp(source, "u")
      const backtracker = PatternBacktracker.make(PatternSyntax.parse(source))
      for (let j = 0; j < 3; j++) {
        const text = Array.from({ length: below(7) }, () => oneOf(["a", "b", "c", "é", "1", " ", "\n"])).join("")
        const what = `seed ${seed}: ${source} on ${JSON.stringify(text)}`
        assert.strictEqual(matches(source, text), native.test(text), what)
        assert.strictEqual(backtracker(text, work().budget), native.test(text), `backtracking, ${what}`)
      }
    }
  })
})
