/**
 * Matches a regular expression without back-references in time linear in the text: all ways through the expression are
 * followed side by side, so none is ever tried anew (Thompson's construction).
 *
 * Only whether it matches is asked, not where, which makes lookaround linear too. What stands in a lookahead is run once
 * over the text from its end to its start, which tells for every position whether the lookahead holds there; a
 * lookbehind, from start to end. To the expression around it, it is then a mere test of the position.
 */
import { type Budget, Exhausted } from "./Budget.ts"
import type { CharacterSet, Edge, Expression, Look, Node, Repeat } from "./PatternSyntax.ts"
import { codePointAfter, codePointBefore, hasEdge, widthOf } from "./PatternText.ts"

/**
 * How long the expressions of one document may be in all, in UTF-16 units, and how many instructions they may have, once
 * counted repetitions are written out. Each takes some 100 bytes.
 */
export class Allowance {
  used = 0
  private read = 0
  readonly instructions: number
  readonly characters: number

  constructor(instructions: number, characters: number) {
    this.instructions = instructions
    this.characters = characters
  }

  /** Whether an expression of this length may be read too. */
  admits(length: number): boolean {
    this.read += length
    return this.read <= this.characters
  }
}

/** How many positions the tables of lookarounds may have for one text, in bytes. */
const maxTableBytes = 16 * 1_024 * 1_024

interface Instruction {
  readonly op: "character" | "set" | "split" | "jump" | "edge" | "look" | "match"
  readonly codePoint: number
  readonly set: CharacterSet | undefined
  readonly edge: Edge | undefined
  /** Where to go on: of a jump, and the two ways of a split. Of a look, the number of its lookaround. */
  to: number
  other: number
}

// All instructions have the same members, so that the engine reads them fast.
const instruction = (op: Instruction["op"], members?: Partial<Instruction>): Instruction => ({
  op,
  codePoint: members?.codePoint ?? -1,
  set: members?.set,
  edge: members?.edge,
  to: members?.to ?? 0,
  other: 0
})

/** One direction of one expression, with the memory its runs use. */
interface Program {
  readonly code: ReadonlyArray<Instruction>
  readonly forward: boolean
  /** It can only begin at the first position. */
  readonly anchored: boolean
  /** Steps are numbered on from run to run, so that the marks need no clearing. */
  step: number
  /** Per instruction, the last step that reached it. */
  readonly reached: Float64Array
  readonly stack: Int32Array
  readonly lists: readonly [Int32Array, Int32Array]
}

interface Lookaround {
  readonly program: Program
  readonly negated: boolean
}

class TooLarge extends Error {
  override readonly name = "TooLarge"
}

class Compiler {
  readonly lookarounds: Array<Lookaround> = []
  private readonly known = new Map<Look, number>()
  private readonly allowance: Allowance

  constructor(allowance: Allowance) {
    this.allowance = allowance
  }

  program(node: Node, forward: boolean, anchored: boolean): Program {
    const code: Array<Instruction> = []
    this.emit(node, code, forward)
    this.push(code, instruction("match"))
    return {
      code,
      forward,
      anchored,
      step: 0,
      reached: new Float64Array(code.length),
      stack: new Int32Array(code.length),
      lists: [new Int32Array(code.length), new Int32Array(code.length)]
    }
  }

  private push(code: Array<Instruction>, added: Instruction): Instruction {
    if (this.allowance.used >= this.allowance.instructions) throw new TooLarge()
    this.allowance.used += 1
    code.push(added)
    return added
  }

  private emit(node: Node, code: Array<Instruction>, forward: boolean): void {
    switch (node.type) {
      case "character":
        this.push(code, instruction("character", { codePoint: node.codePoint }))
        return
      case "set":
        this.push(code, instruction("set", { set: node.set }))
        return
      case "edge":
        this.push(code, instruction("edge", { edge: node.edge }))
        return
      case "look":
        this.push(code, instruction("look", { to: this.lookaround(node) }))
        return
      case "group":
        return this.emit(node.body, code, forward)
      case "sequence":
        for (const item of forward ? node.items : [...node.items].reverse()) this.emit(item, code, forward)
        return
      case "choice":
        return this.choice(node.alternatives, code, forward)
      case "repeat":
        return this.repeat(node, code, forward)
      case "back-reference":
        throw new Error("an automaton cannot refer back")
    }
  }

  private split(code: Array<Instruction>): Instruction {
    return this.push(code, instruction("split", { to: code.length + 1 }))
  }

  private choice(alternatives: ReadonlyArray<Node>, code: Array<Instruction>, forward: boolean): void {
    const ends: Array<Instruction> = []
    alternatives.forEach((alternative, index) => {
      if (index === alternatives.length - 1) return this.emit(alternative, code, forward)
      const split = this.split(code)
      this.emit(alternative, code, forward)
      ends.push(this.push(code, instruction("jump")))
      split.other = code.length
    })
    for (const end of ends) end.to = code.length
  }

  private repeat({ body, max, min }: Repeat, code: Array<Instruction>, forward: boolean): void {
    for (let i = 0; i < min; i++) {
      const before = code.length
      this.emit(body, code, forward)
      // What is empty is as good once as a billion times.
      if (code.length === before) return
    }
    if (max === Infinity) {
      const split = this.split(code)
      this.emit(body, code, forward)
      this.push(code, instruction("jump", { to: split.to - 1 }))
      split.other = code.length
      return
    }
    const splits: Array<Instruction> = []
    for (let i = min; i < max; i++) {
      splits.push(this.split(code))
      this.emit(body, code, forward)
    }
    for (const split of splits) split.other = code.length
  }

  private lookaround(look: Look): number {
    const known = this.known.get(look)
    if (known !== undefined) return known
    const program = this.program(look.body, !look.ahead, false)
    const index = this.lookarounds.push({ program, negated: look.negated }) - 1
    this.known.set(look, index)
    return index
  }
}

/** One text, under one expression. */
class Run {
  private readonly tables: Array<Uint8Array | undefined> = []
  private tableBytes = 0
  private readonly lookarounds: ReadonlyArray<Lookaround>
  private readonly text: string
  private readonly budget: Budget

  constructor(lookarounds: ReadonlyArray<Lookaround>, text: string, budget: Budget) {
    this.lookarounds = lookarounds
    this.text = text
    this.budget = budget
  }

  /** Whether the program matches somewhere; given a table, it marks every position where a match ends instead. */
  scan(program: Program, table: Uint8Array | undefined): boolean {
    const { text } = this
    const { anchored, code, forward } = program
    const start = forward ? 0 : text.length
    const last = text.length - start
    let [waiting, next] = program.lists
    let count = 0
    program.step += 1
    for (let position = start;;) {
      // A match may begin here.
      if (position === start || !anchored) count = this.follow(program, 0, position, waiting, count)
      if (program.reached[code.length - 1] === program.step) {
        if (table === undefined) return true
        table[position] = 1
      }
      if (position === last || (anchored && count === 0)) return false
      this.budget.spend(1 + count)
      const codePoint = forward ? codePointAfter(text, position) : codePointBefore(text, position)
      position += forward ? widthOf(codePoint) : -widthOf(codePoint)
      program.step += 1
      let nextCount = 0
      for (let i = 0; i < count; i++) {
        const at = waiting[i] ?? 0
        const { codePoint: wanted, set } = code[at] ?? end
        if (set === undefined ? wanted === codePoint : set.has(codePoint)) {
          nextCount = this.follow(program, at + 1, position, next, nextCount)
        }
      }
      const spare = waiting
      waiting = next
      next = spare
      count = nextCount
    }
  }

  /** Adds to the list the characters that can come next after an instruction; returns the list's new length. */
  private follow(program: Program, from: number, position: number, list: Int32Array, length: number): number {
    const { code, reached, stack, step } = program
    if (reached[from] === step) return length
    reached[from] = step
    stack[0] = from
    let depth = 1
    let count = length
    const enter = (to: number): void => {
      if (reached[to] === step) return
      reached[to] = step
      stack[depth++] = to
    }
    while (depth > 0) {
      const at = stack[--depth] ?? 0
      const { edge, op, other, to } = code[at] ?? end
      switch (op) {
        case "character":
        case "set":
          list[count++] = at
          break
        case "split":
          enter(other)
          enter(to)
          break
        case "jump":
          enter(to)
          break
        case "edge":
          if (edge !== undefined && hasEdge(this.text, position, edge)) enter(at + 1)
          break
        case "look":
          if (this.holds(to, position)) enter(at + 1)
          break
        case "match":
          break
      }
    }
    this.budget.spend(count - length)
    return count
  }

  private holds(index: number, position: number): boolean {
    const lookaround = this.lookarounds[index]
    if (lookaround === undefined) return false
    let table = this.tables[index]
    if (table === undefined) {
      this.tableBytes += this.text.length + 1
      if (this.tableBytes > maxTableBytes) {
        throw new Exhausted("a text is too long for its pattern, and was not checked")
      }
      table = new Uint8Array(this.text.length + 1)
      this.tables[index] = table
      this.scan(lookaround.program, table)
    }
    return (table[position] === 1) !== lookaround.negated
  }
}

const end: Instruction = instruction("match")

/** Whether a text matches, in time linear in its length. */
export type Automaton = (text: string, budget: Budget) => boolean

/** An automaton for an expression without back-references, unless it gets too large. */
export const make = ({ anchored, node }: Expression, allowance: Allowance): Automaton | undefined => {
  const compiler = new Compiler(allowance)
  const before = allowance.used
  try {
    const program = compiler.program(node, true, anchored)
    return (text, budget) => new Run(compiler.lookarounds, text, budget).scan(program, undefined)
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    allowance.used = before
    return undefined
  }
}
