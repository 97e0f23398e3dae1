/**
 * Matches a regular expression by trying one way after the other, as ECMA-262 describes it (22.2.2). It is for what an
 * automaton cannot do: back-references, and counted repetitions too large to be written out. Every step is counted, and
 * at the end of the budget the match is given up, so that it may cost much but never runs away.
 */
import { type Budget, Exhausted } from "./Budget.ts"
import type { CharacterSet, Edge, Expression, Look, Node, Repeat } from "./PatternSyntax.ts"
import { codePointAfter, codePointBefore, hasEdge, widthOf } from "./PatternText.ts"

/** Choices and changes that may be remembered at once, three numbers each. */
const maxTrail = 1_000_000

type Instruction =
  | { readonly op: "character"; readonly codePoint: number; readonly forward: boolean }
  | { readonly op: "set"; readonly set: CharacterSet; readonly forward: boolean }
  | { readonly op: "edge"; readonly edge: Edge }
  /** Goes on with the next instruction; failing that, with the other. */
  | { readonly op: "choose"; other: number }
  | { readonly op: "jump"; to: number }
  | { readonly op: "save"; readonly register: number }
  | { readonly op: "back-reference"; readonly groups: ReadonlyArray<number>; readonly forward: boolean }
  /** A repetition begins: no round is done. */
  | { readonly op: "repeat"; readonly register: number }
  /** Before each round: another one, or past the end. */
  | { readonly op: "round"; readonly register: number; readonly repeat: Repeat; end: number }
  | { readonly op: "begin"; readonly register: number; readonly repeat: Repeat }
  /** After each round: back to `round`, which stands at `to`. */
  | { readonly op: "again"; readonly register: number; readonly repeat: Repeat; readonly to: number }
  | { readonly op: "look"; readonly look: Look; end: number }
  | { readonly op: "match" }

class Compiler {
  readonly code: Array<Instruction> = []
  registers: number

  constructor(groups: number) {
    // Two for each group, where it starts and where it ends; then two for each repetition: rounds and start of the last.
    this.registers = groups * 2
  }

  emit(node: Node, forward: boolean): void {
    switch (node.type) {
      case "character":
        this.code.push({ op: "character", codePoint: node.codePoint, forward })
        return
      case "set":
        this.code.push({ op: "set", set: node.set, forward })
        return
      case "edge":
        this.code.push({ op: "edge", edge: node.edge })
        return
      case "back-reference":
        this.code.push({ op: "back-reference", groups: node.groups, forward })
        return
      case "sequence":
        for (const item of forward ? node.items : [...node.items].reverse()) this.emit(item, forward)
        return
      case "group":
        this.code.push({ op: "save", register: node.index * 2 + (forward ? 0 : 1) })
        this.emit(node.body, forward)
        this.code.push({ op: "save", register: node.index * 2 + (forward ? 1 : 0) })
        return
      case "choice":
        return this.choice(node.alternatives, forward)
      case "repeat":
        return this.repeat(node, forward)
      case "look": {
        const look = { op: "look" as const, look: node, end: 0 }
        this.code.push(look)
        this.emit(node.body, node.ahead)
        this.code.push({ op: "match" })
        look.end = this.code.length
      }
    }
  }

  private choice(alternatives: ReadonlyArray<Node>, forward: boolean): void {
    const ends: Array<{ to: number }> = []
    alternatives.forEach((alternative, index) => {
      if (index === alternatives.length - 1) return this.emit(alternative, forward)
      const choose = { op: "choose" as const, other: 0 }
      this.code.push(choose)
      this.emit(alternative, forward)
      const end = { op: "jump" as const, to: 0 }
      this.code.push(end)
      ends.push(end)
      choose.other = this.code.length
    })
    for (const end of ends) end.to = this.code.length
  }

  private repeat(repeat: Repeat, forward: boolean): void {
    const register = this.registers
    this.registers += 2
    const round = { op: "round" as const, register, repeat, end: 0 }
    this.code.push({ op: "repeat", register })
    const to = this.code.push(round) - 1
    this.code.push({ op: "begin", register, repeat })
    this.emit(repeat.body, forward)
    this.code.push({ op: "again", register, repeat, to })
    round.end = this.code.length
  }
}

// What an entry of the trail is: a way not tried yet (where in code and text), or what a register was.
const choice = 0
const change = 1

/** One text, under one expression. */
class Run {
  private readonly trail: Array<number> = []
  private readonly registers: Int32Array
  private readonly code: ReadonlyArray<Instruction>
  private readonly text: string
  private readonly budget: Budget

  constructor(code: ReadonlyArray<Instruction>, registers: number, text: string, budget: Budget) {
    this.code = code
    this.registers = new Int32Array(registers).fill(-1)
    this.text = text
    this.budget = budget
  }

  /** Whether it matches from this position on. */
  matchesAt(position: number): boolean {
    const matches = this.run(0, position)
    this.undo(0)
    return matches
  }

  private remember(kind: typeof choice | typeof change, a: number, b: number): void {
    if (this.trail.length >= maxTrail * 3) {
      throw new Exhausted("a text leaves its pattern too many ways to match, and was not checked")
    }
    this.trail.push(kind, a, b)
  }

  private set(register: number, value: number): void {
    this.remember(change, register, this.registers[register] ?? -1)
    this.registers[register] = value
  }

  /** Takes the trail back to a length, undoing changes. */
  private undo(length: number): void {
    while (this.trail.length > length) this.pop()
  }

  private pop(): readonly [kind: number, a: number, b: number] {
    const b = this.trail.pop() ?? 0
    const a = this.trail.pop() ?? 0
    const kind = this.trail.pop() ?? choice
    if (kind === change) this.registers[a] = b
    return [kind, a, b]
  }

  /** Forgets the ways not tried since then, but keeps the changes: a lookaround is not entered again. */
  private commit(length: number): void {
    let kept = length
    for (let i = length; i < this.trail.length; i += 3) {
      if (this.trail[i] !== change) continue
      this.trail.copyWithin(kept, i, i + 3)
      kept += 3
    }
    this.trail.length = kept
  }

  private run(from: number, at: number): boolean {
    const base = this.trail.length
    let pc = from
    let position = at
    for (;;) {
      this.budget.spend(1)
      const instruction = this.code[pc]
      if (instruction === undefined || instruction.op === "match") return true
      const next = this.step(instruction, pc, position)
      if (next !== failed) {
        pc = next
        position = this.position
        continue
      }
      for (;;) {
        if (this.trail.length === base) return false
        const [kind, a, b] = this.pop()
        if (kind !== choice) continue
        pc = a
        position = b
        break
      }
    }
  }

  /** Where the last step has come to in the text. */
  private position = 0

  /** The next instruction, or `failed`. */
  private step(instruction: Exclude<Instruction, { op: "match" }>, pc: number, position: number): number {
    this.position = position
    switch (instruction.op) {
      case "character":
      case "set": {
        const { forward } = instruction
        if (position === (forward ? this.text.length : 0)) return failed
        const codePoint = forward ? codePointAfter(this.text, position) : codePointBefore(this.text, position)
        const matches = instruction.op === "character"
          ? instruction.codePoint === codePoint
          : instruction.set.has(codePoint)
        this.position += forward ? widthOf(codePoint) : -widthOf(codePoint)
        return matches ? pc + 1 : failed
      }
      case "edge":
        return hasEdge(this.text, position, instruction.edge) ? pc + 1 : failed
      case "choose":
        this.remember(choice, instruction.other, position)
        return pc + 1
      case "jump":
        return instruction.to
      case "save":
        this.set(instruction.register, position)
        return pc + 1
      case "back-reference":
        return this.referBack(instruction.groups, instruction.forward) ? pc + 1 : failed
      case "repeat":
        this.set(instruction.register, 0)
        return pc + 1
      case "round": {
        const { end, register, repeat } = instruction
        const rounds = this.registers[register] ?? 0
        if (rounds < repeat.min) return pc + 1
        if (rounds >= repeat.max) return end
        this.remember(choice, repeat.greedy ? end : pc + 1, position)
        return repeat.greedy ? pc + 1 : end
      }
      case "begin": {
        const { register, repeat: { groups: [first, last] } } = instruction
        this.set(register, (this.registers[register] ?? 0) + 1)
        this.set(register + 1, position)
        for (let i = first * 2; i < last * 2; i++) if (this.registers[i] !== -1) this.set(i, -1)
        return pc + 1
      }
      case "again": {
        const { register, repeat, to } = instruction
        // A round beyond the required ones that takes nothing leads nowhere (22.2.2.3.1 step 2.b).
        const empty = this.registers[register + 1] === position
        return empty && (this.registers[register] ?? 0) > repeat.min ? failed : to
      }
      case "look": {
        const length = this.trail.length
        const holds = this.run(pc + 1, position)
        this.position = position
        if (holds && !instruction.look.negated) this.commit(length)
        else this.undo(length)
        return holds === instruction.look.negated ? failed : instruction.end
      }
    }
  }

  private referBack(groups: ReadonlyArray<number>, forward: boolean): boolean {
    for (const group of groups) {
      const start = this.registers[group * 2] ?? -1
      const end = this.registers[group * 2 + 1] ?? -1
      // A group that has not taken part matches the empty text.
      if (start === -1 || end === -1) continue
      const captured = this.text.slice(start, end)
      this.budget.spend(captured.length)
      const from = forward ? this.position : this.position - captured.length
      if (from < 0 || !this.text.startsWith(captured, from)) return false
      this.position += forward ? captured.length : -captured.length
      return true
    }
    return true
  }
}

const failed = -1

/** Whether a text matches; the budget bounds how long that is tried. */
export type Backtracker = (text: string, budget: Budget) => boolean

export const make = ({ anchored, groups, node }: Expression): Backtracker => {
  const compiler = new Compiler(groups)
  compiler.emit(node, true)
  compiler.code.push({ op: "match" })
  return (text, budget) => {
    const run = new Run(compiler.code, compiler.registers, text, budget)
    for (let position = 0;; position += widthOf(codePointAfter(text, position))) {
      if (run.matchesAt(position)) return true
      if (anchored || position >= text.length) return false
    }
  }
}
