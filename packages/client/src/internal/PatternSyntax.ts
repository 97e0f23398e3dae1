/**
 * Reads a regular expression of ECMA-262 (with the `u` flag, as JSON Schema 2020-12 core 6.4 wants it) into a tree.
 *
 * Whether it is one is asked of the runtime's own parser, so this reader only ever sees valid expressions. Classes and
 * escapes are kept as tests of one character, which the runtime's engine answers: one character cannot run away.
 */

/** A test of one code point that is not a mere comparison: a class, a property, `.`. */
export class CharacterSet {
  // Per ASCII character: 0 not asked yet, 1 in the set, 2 not in it.
  private readonly ascii = new Uint8Array(128)
  private readonly native: RegExp

  constructor(source: string) {
    this.native = new RegExp(`^${source}$`, "u")
  }

  has(codePoint: number): boolean {
    if (codePoint > 127) return this.native.test(String.fromCodePoint(codePoint))
    if (this.ascii[codePoint] === 0) {
      this.ascii[codePoint] = this.native.test(String.fromCharCode(codePoint)) ? 1 : 2
    }
    return this.ascii[codePoint] === 1
  }
}

/** A place between two characters: the start or end of the text, the edge of a word, no edge of a word. */
export type Edge = "start" | "end" | "word" | "not-word"

export interface Repeat {
  readonly type: "repeat"
  readonly body: Node
  readonly min: number
  /** May be infinite. */
  readonly max: number
  readonly greedy: boolean
  /** The groups inside it, first and one past the last, which each round clears. */
  readonly groups: readonly [from: number, to: number]
}

export interface Look {
  readonly type: "look"
  readonly body: Node
  readonly ahead: boolean
  readonly negated: boolean
}

export type Node =
  | { readonly type: "character"; readonly codePoint: number }
  | { readonly type: "set"; readonly set: CharacterSet }
  | { readonly type: "sequence"; readonly items: ReadonlyArray<Node> }
  | { readonly type: "choice"; readonly alternatives: ReadonlyArray<Node> }
  | Repeat
  | { readonly type: "group"; readonly body: Node; readonly index: number }
  | { readonly type: "edge"; readonly edge: Edge }
  | Look
  /** What one of these groups matched; a name may belong to several groups, of which one takes part. */
  | { readonly type: "back-reference"; readonly groups: ReadonlyArray<number> }

export interface Expression {
  readonly node: Node
  /** How many groups it has, the whole match counting as the first. */
  readonly groups: number
  readonly hasBackReference: boolean
  /** It can only match at the start of the text. */
  readonly anchored: boolean
}

/** How deep groups may nest: deeper ones come from broken or hostile schemas. */
const maxNesting = 256

/** The expression is one of ECMA-262 that is not read here; its message says why. */
export class Unreadable extends Error {
  override readonly name = "Unreadable"
}

const isValid = (source: string): boolean => {
  try {
    return new RegExp(source, "u") instanceof RegExp
  } catch {
    return false
  }
}

/**
 * Without the `u` flag ECMA-262 lets punctuation be escaped without need, and a hyphen stand beside a class escape
 * (Annex B.1.2). Both are common (`^[\w-.]+\@`) and mean the same everywhere; they are put into the strict form.
 */
const strict = (source: string): string => {
  const tokens = source.match(/\\[pP]\{[^}]*\}|\\[^]|[^]/g) ?? []
  let inClass = false
  let text = ""
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] ?? ""
    const before = tokens[i - 1] ?? ""
    const after = tokens[i + 1] ?? ""
    if (/^\\[ !"#%&',\-:;<=>@_`~]$/.test(token)) {
      text += inClass && token === "\\-" ? token : token.slice(1)
      continue
    }
    const besideEscape = /^\\[dDsSwWpP]/.test(before) || /^\\[dDsSwWpP]/.test(after)
    text += inClass && token === "-" && besideEscape && after !== "]" ? "\\-" : token
    if (token === "[") inClass = true
    else if (token === "]") inClass = false
  }
  return text
}

const control: ReadonlyMap<string, number> = new Map([["t", 9], ["n", 10], ["v", 11], ["f", 12], ["r", 13], ["0", 0]])

class Reader {
  private at = 0
  private groups = 1
  private depth = 0
  private hasBackReference = false
  private readonly names = new Map<string, Array<number>>()
  private readonly sets = new Map<string, CharacterSet>()
  private readonly source: string

  constructor(source: string) {
    this.source = source
  }

  read(): Expression {
    const node = this.choice()
    return { node, groups: this.groups, hasBackReference: this.hasBackReference, anchored: isAnchored(node) }
  }

  private take(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  /** Takes what matches from here on; the expression is sticky. */
  private match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.at
    const found = expression.exec(this.source)
    if (found === null) return undefined
    this.at = expression.lastIndex
    return found
  }

  private choice(): Node {
    this.depth += 1
    if (this.depth > maxNesting) throw new Unreadable(`is nested deeper than ${maxNesting} groups`)
    const alternatives = [this.sequence()]
    while (this.take("|")) alternatives.push(this.sequence())
    this.depth -= 1
    const [only] = alternatives
    return alternatives.length === 1 && only !== undefined ? only : { type: "choice", alternatives }
  }

  private sequence(): Node {
    const items: Array<Node> = []
    while (this.at < this.source.length) {
      const next = this.source[this.at]
      if (next === "|" || next === ")") break
      const from = this.groups
      const atom = this.atom()
      items.push(this.quantified(atom, from))
    }
    return { type: "sequence", items }
  }

  private quantified(body: Node, from: number): Node {
    const found = this.match(/(?:([*+?])|\{(\d+)(,(\d*))?\})(\??)/uy)
    if (found === undefined) return body
    const [, sign, least, comma, most, lazy] = found
    const min = sign === undefined ? Number(least) : sign === "+" ? 1 : 0
    const max = sign === "?"
      ? 1
      : sign !== undefined || most === ""
      ? Infinity
      : Number(comma === undefined ? least : most)
    return { type: "repeat", body, min, max, greedy: lazy === "", groups: [from, this.groups] }
  }

  private atom(): Node {
    const start = this.at
    const codePoint = this.source.codePointAt(start) ?? 0
    switch (this.source[start]) {
      case "^":
        this.at += 1
        return { type: "edge", edge: "start" }
      case "$":
        this.at += 1
        return { type: "edge", edge: "end" }
      case ".":
        this.at += 1
        return this.set(".")
      case "(":
        return this.group()
      case "[": {
        const found = this.match(/\[(?:\\[^]|[^\]\\])*\]/uy)
        return this.set(found === undefined ? "[]" : found[0])
      }
      case "\\":
        return this.escape()
    }
    this.at += codePoint > 0xffff ? 2 : 1
    return { type: "character", codePoint }
  }

  private set(source: string): Node {
    const known = this.sets.get(source)
    const set = known ?? new CharacterSet(source)
    if (known === undefined) this.sets.set(source, set)
    return { type: "set", set }
  }

  private group(): Node {
    if (this.take("(?:")) return this.closed(this.choice())
    for (const [opening, ahead, negated] of looks) {
      if (this.take(opening)) return { type: "look", ahead, negated, body: this.closed(this.choice()) }
    }
    const name = this.match(/\(\?<([^>]*)>/uy)
    if (name === undefined && this.source.startsWith("(?", this.at)) {
      throw new Unreadable("changes its flags in the middle, which this library does not support")
    }
    if (name === undefined) this.at += 1
    const index = this.groups++
    if (name !== undefined) this.groupsNamed(name[1] ?? "").push(index)
    return { type: "group", index, body: this.closed(this.choice()) }
  }

  private closed(node: Node): Node {
    this.take(")")
    return node
  }

  /** A name may be referred to before its group is read, so the list is filled in later. */
  private groupsNamed(written: string): Array<number> {
    const name = written.replace(
      /\\u(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{4}))/gu,
      (_, braced, plain) => String.fromCodePoint(Number.parseInt(braced ?? plain, 16))
    )
    const known = this.names.get(name)
    if (known !== undefined) return known
    const groups: Array<number> = []
    this.names.set(name, groups)
    return groups
  }

  private escape(): Node {
    const edge = this.match(/\\([bB])/uy)
    if (edge !== undefined) return { type: "edge", edge: edge[1] === "b" ? "word" : "not-word" }
    const set = this.match(/\\(?:[dDsSwW]|[pP]\{[^}]*\})/uy)
    if (set !== undefined) return this.set(set[0])
    const reference = this.match(/\\(?:([1-9]\d*)|k<([^>]*)>)/uy)
    if (reference !== undefined) {
      this.hasBackReference = true
      const [, index, name] = reference
      return { type: "back-reference", groups: index === undefined ? this.groupsNamed(name ?? "") : [Number(index)] }
    }
    const letter = this.match(/\\c([a-zA-Z])/uy)
    if (letter !== undefined) return { type: "character", codePoint: (letter[1] ?? "").charCodeAt(0) % 32 }
    const pair = this.match(/\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/uy)
    if (pair !== undefined) {
      const [high, low] = [Number.parseInt(pair[1] ?? "", 16), Number.parseInt(pair[2] ?? "", 16)]
      return { type: "character", codePoint: (high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000 }
    }
    const code = this.match(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\})/uy)
    if (code !== undefined) {
      return { type: "character", codePoint: Number.parseInt(code[1] ?? code[2] ?? code[3] ?? "", 16) }
    }
    const escaped = this.source[this.at + 1] ?? ""
    this.at += 2
    return { type: "character", codePoint: control.get(escaped) ?? escaped.charCodeAt(0) }
  }
}

const looks: ReadonlyArray<readonly [opening: string, ahead: boolean, negated: boolean]> = [
  ["(?=", true, false],
  ["(?!", true, true],
  ["(?<=", false, false],
  ["(?<!", false, true]
]

const isAnchored = (node: Node): boolean => {
  switch (node.type) {
    case "edge":
      return node.edge === "start"
    case "group":
      return isAnchored(node.body)
    case "choice":
      return node.alternatives.every(isAnchored)
    case "sequence":
      return node.items[0] !== undefined && isAnchored(node.items[0])
    default:
      return false
  }
}

/**
 * @throws Unreadable when it is no expression of ECMA-262, or one that this library does not support.
 */
export const parse = (source: string): Expression => {
  if (isValid(source)) return new Reader(source).read()
  const valid = strict(source)
  if (!isValid(valid)) throw new Unreadable("is not a regular expression of ECMA-262")
  return new Reader(valid).read()
}
