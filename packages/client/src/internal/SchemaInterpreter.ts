/**
 * Checks values against a document in its normal form, by json-schema-library, which compiles the schemas into nodes and
 * applies them. Keywords stand here where the library's own would not do: what refers (it compiles the target anew at
 * every check, and registers each for good), what speculates (a keyword that is not evaluated must not count as a
 * match), what uses a pattern, looks at keys of a value, or compares.
 */
import { Json } from "@mcp-effect/protocol"
import type * as JsonSchemaLibrary from "json-schema-library"
import type { Draft, JsonError, Keyword, SchemaNode, ValidationPath } from "json-schema-library"
import { type Budget, Exhausted } from "./Budget.ts"
import * as JsonEquality from "./JsonEquality.ts"
import * as JsonPointer from "./JsonPointer.ts"
import { isMultipleOf } from "./MultipleOf.ts"
import type { Condition, Contains, Members, Normal, NormalDocument, NormalSchema, Reference } from "./NormalSchema.ts"
import type { Pattern } from "./Pattern.ts"
import * as ProblemWords from "./ProblemWords.ts"
import type { Resource } from "./SchemaDocument.ts"
import * as SchemaLimits from "./SchemaLimits.ts"
import * as Unevaluated from "./Unevaluated.ts"

export type Library = typeof JsonSchemaLibrary

/** The library's keywords that are used as they are. */
const libraryKeywords: ReadonlySet<string> = new Set([
  "allOf",
  "exclusiveMaximum",
  "exclusiveMinimum",
  "items",
  "maxItems",
  "maxProperties",
  "minItems",
  "minProperties",
  "minimum",
  "prefixItems",
  "propertyNames",
  "required",
  "type"
])

/** How a value fits a schema: it may be that only a keyword that is not evaluated could tell. */
type Fit = "fits" | "fails" | "uncertain"

/** A place in the document that the check has entered by reference. */
interface Entry {
  readonly resource: Resource
  readonly pointer: string
  readonly value: unknown
  /** How many references led here without going deeper into the value. */
  readonly chain: number
}

interface CompiledCondition {
  readonly condition: SchemaNode
  readonly fits: SchemaNode | undefined
  readonly fails: SchemaNode | undefined
}

// The library notes its way through the document here, and copies it at every `if`; nobody reads it.
class Unread extends Array<ValidationPath[number]> {
  override push(): number {
    return 0
  }
}

const unread: ValidationPath = new Unread()

const isDeeperThan = (value: unknown, levels: number, budget: Budget): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  const elements = Array.isArray(value) ? value : Object.values(value)
  budget.spend(elements.length)
  return elements.some((element) => isDeeperThan(element, levels - 1, budget))
}

export class SchemaInterpreter {
  private readonly root: SchemaNode
  private readonly nodes: Array<SchemaNode | undefined> = []
  private readonly conditions = new WeakMap<SchemaNode, CompiledCondition>()
  private readonly document: NormalDocument
  // The check in progress; there is one at a time, since it never waits.
  private budget: Budget | undefined
  private readonly entries: Array<Entry> = []
  /** How many keywords that are not evaluated have been met where the value seemed to fit. */
  private uncertainties = 0

  constructor(library: Library, document: NormalDocument) {
    this.document = document
    const schema = document.targets[0]?.schema ?? true
    this.root = library.compileSchema(schema, { drafts: [this.draft(library)] })
    this.nodes[0] = this.root
  }

  /** What is wrong with a value; at a bound of the check it stops, and that is then the one problem. */
  check(value: unknown, budget: Budget): ReadonlyArray<ProblemWords.Problem> {
    const root = this.document.targets[0]
    if (root === undefined) return []
    this.budget = budget
    this.uncertainties = 0
    this.entries.push({ resource: root.resource, pointer: "", value, chain: 0 })
    try {
      if (isDeeperThan(value, SchemaLimits.valueDepth, budget)) {
        throw new Exhausted(`nests deeper than ${SchemaLimits.valueDepth} levels, and was not checked`)
      }
      const problems = this.apply(this.root, value, "").map(({ data, message }) => ({
        pointer: data.pointer,
        problem: message
      }))
      return problems.length <= SchemaLimits.problems ? problems : [
        ...problems.slice(0, SchemaLimits.problems - 1),
        { pointer: "", problem: `has more than ${SchemaLimits.problems} problems; the others are not told` }
      ]
    } catch (error) {
      if (error instanceof Exhausted) return [{ pointer: "", problem: error.message }]
      // Nothing else is thrown but by a fault of the library or the end of the stack; neither may pass as valid.
      return [{ pointer: "", problem: "could not be checked: the validator failed" }]
    } finally {
      this.budget = undefined
      this.entries.length = 0
    }
  }

  private apply(node: SchemaNode, value: unknown, pointer: string): ReadonlyArray<JsonError> {
    return node.validate(value, pointer, unread).errors
  }

  private fit(node: SchemaNode, value: unknown, pointer: string): Fit {
    const before = this.uncertainties
    const fails = this.apply(node, value, pointer).length > 0
    const certain = this.uncertainties === before
    this.uncertainties = before
    return fails ? "fails" : certain ? "fits" : "uncertain"
  }

  /** The budget of the check in progress. */
  private get limits(): Budget {
    if (this.budget === undefined) throw new Error("no check is in progress")
    return this.budget
  }

  /** A problem, as the library hands it on. */
  private found(pointer: string, problem: string): JsonError {
    this.budget?.problem()
    return { type: "error", code: "invalid", message: problem, data: { pointer, schema: {}, value: undefined } }
  }

  /** Enters the place a reference leads to, and leaves it again. */
  private enter<A>(reference: Reference, value: unknown, pointer: string, use: (node: SchemaNode) => A): A {
    const index = this.resolve(reference)
    const resource = this.document.targets[index]?.resource
    const last = this.entries.at(-1)
    if (resource === undefined || last === undefined) throw new Error("a reference leads nowhere")
    const chain = last.pointer === pointer && Object.is(last.value, value) ? last.chain + 1 : 1
    if (chain > SchemaLimits.referenceChain) {
      throw new Exhausted(
        `more than ${SchemaLimits.referenceChain} references follow one another, and it was not checked`
      )
    }
    this.entries.push({ resource, pointer, value, chain })
    try {
      return use(this.node(index))
    } finally {
      this.entries.pop()
    }
  }

  /** "…the outermost schema resource in the dynamic scope" that has the anchor (2020-12 core 8.2.3.2). */
  private resolve({ dynamic, target }: Reference): number {
    if (dynamic === undefined) return target
    for (const { resource } of this.entries) {
      const outermost = this.document.dynamicTarget(resource, dynamic)
      if (outermost !== undefined) return outermost
    }
    return target
  }

  private node(index: number): SchemaNode {
    const known = this.nodes[index]
    if (known !== undefined) return known
    const node = compile(this.root, this.document.targets[index]?.schema ?? true)
    this.nodes[index] = node
    return node
  }

  /** See `Unevaluated.Check`. */
  private inPlace(
    node: SchemaNode,
    value: unknown,
    pointer: string,
    visit: (node: SchemaNode) => boolean
  ): boolean {
    const fits = (part: SchemaNode) => this.fit(part, value, pointer) !== "fails"
    // What all of a schema's own parts must fit, the value fits, or the schema would not be asked.
    if (node.allOf?.some(visit) === true) return true
    if ([...node.anyOf ?? [], ...node.oneOf ?? []].some((part) => fits(part) && visit(part))) return true
    const condition = this.conditions.get(node)
    if (condition !== undefined) {
      const fit = this.fit(condition.condition, value, pointer)
      const parts = fit === "fails" ? [condition.fails] : [condition.condition, condition.fits]
      if (fit === "uncertain") parts.push(condition.fails)
      if (parts.some((part) => part !== undefined && (fit !== "uncertain" || fits(part)) && visit(part))) return true
    }
    const { $ref }: NormalSchema = Json.isJsonObject(node.schema) ? node.schema : {}
    return $ref?.some((reference) => this.enter(reference, value, pointer, visit)) === true
  }

  private draft(library: Library): Draft {
    const { errors, keywords, methods } = library.draft2020
    return {
      version: "draft-2020-12",
      $schemaRegEx: ".",
      methods,
      formats: {},
      errors: Object.fromEntries(
        Object.keys(errors).map((code) => [code, (data: JsonError["data"]) => {
          const { pointer, problem } = ProblemWords.of(code, data)
          return this.found(pointer, problem)
        }])
      ),
      keywords: [...this.keywords(), ...keywords.filter(({ keyword }) => libraryKeywords.has(keyword))]
    }
  }

  private keywords(): ReadonlyArray<Keyword> {
    const check: Unevaluated.Check = {
      mayFit: (node, value, pointer) => this.fit(node, value, pointer) !== "fails",
      inPlace: (node, value, pointer, visit) => this.inPlace(node, value, pointer, visit),
      budget: () => this.limits
    }
    return [
      // The library reads `$ref` in every schema, so this is also where each application of one is counted.
      keyword("$ref", (_, references: ReadonlyArray<Reference> | undefined) => (value, pointer) => {
        this.limits.visit()
        return references?.flatMap((reference) =>
          this.enter(reference, value, pointer, (target) => this.apply(target, value, pointer))
        )
      }),
      keyword("uncertain", () => () => {
        this.uncertainties += 1
        return undefined
      }),
      keyword("members", (node, members: Members) => this.members(node, members)),
      keyword("anyOf", (node, schemas: ReadonlyArray<Normal>) => {
        node.anyOf = schemas.map((schema) => compile(node, schema))
        return this.anyOf(node.anyOf)
      }),
      keyword("oneOf", (node, schemas: ReadonlyArray<Normal>) => {
        node.oneOf = schemas.map((schema) => compile(node, schema))
        return this.oneOf(node.oneOf)
      }),
      keyword("not", (node, schema: Normal) => {
        const not = compile(node, schema)
        return (value, pointer) => {
          const fit = this.fit(not, value, pointer)
          if (fit === "uncertain") this.uncertainties += 1
          return fit === "fits" ? [this.found(pointer, "fits a schema that it must not fit")] : undefined
        }
      }),
      // The library reads `if` in every schema too.
      keyword(
        "if",
        (node, condition: Condition | undefined) =>
          condition === undefined ? undefined : this.condition(node, condition)
      ),
      keyword("contains", (node, contains: Contains) => {
        node.contains = compile(node, contains.schema)
        return this.contains(node.contains, contains)
      }),
      keyword("enum", (_, values: ReadonlyArray<unknown>) => {
        const isAmong = JsonEquality.among(values)
        return (value, pointer) =>
          isAmong(value, this.limits) ? undefined : [this.found(pointer, "is not one of the allowed values")]
      }),
      keyword(
        "pattern",
        (_, pattern: Pattern) => (value, pointer) =>
          typeof value !== "string" || pattern.test(value, this.limits)
            ? undefined
            : [this.found(pointer, "does not match the pattern")]
      ),
      keyword(
        "minLength",
        (_, least: number) => (value, pointer) =>
          typeof value === "string" && this.isShorterThan(value, least)
            ? [this.found(pointer, `must have at least ${least} characters`)]
            : undefined
      ),
      keyword(
        "maxLength",
        (_, most: number) => (value, pointer) =>
          typeof value === "string" && !this.isShorterThan(value, most + 1)
            ? [this.found(pointer, `must have at most ${most} characters`)]
            : undefined
      ),
      keyword("uniqueItems", () => (value, pointer) => {
        const index = Array.isArray(value) ? JsonEquality.firstRepeated(value, this.limits) : undefined
        return index === undefined ? undefined : [this.found(`${pointer}/${index}`, "repeats an item before it")]
      }),
      keyword(
        "multipleOf",
        (_, divisor: number) => (value, pointer) =>
          typeof value !== "number" || isMultipleOf(value, divisor)
            ? undefined
            : [this.found(pointer, `must be a multiple of ${divisor}`)]
      ),
      keyword(
        "maximum",
        (_, maximum: number) => (value, pointer) =>
          typeof value === "number" && value > maximum ? [this.found(pointer, `must be at most ${maximum}`)] : undefined
      ),
      keyword("unevaluatedProperties", (node, schema: Normal) => {
        const others = compile(node, schema)
        return (value, pointer) => {
          if (!Json.isJsonObject(value)) return undefined
          const evaluated = Unevaluated.evaluatedMembers(check, node, value, pointer)
          if (evaluated === "all") return undefined
          return Object.keys(value).filter((name) => !evaluated.has(name)).flatMap((name) =>
            this.apply(others, value[name], JsonPointer.child(pointer, name))
          )
        }
      }),
      keyword("unevaluatedItems", (node, schema: Normal) => {
        const others = compile(node, schema)
        return (value, pointer) => {
          if (!Array.isArray(value)) return undefined
          const evaluated = Unevaluated.evaluatedItems(check, node, value, pointer)
          if (evaluated === "all") return undefined
          return value.flatMap((item, index) =>
            evaluated.has(index) ? [] : this.apply(others, item, `${pointer}/${index}`)
          )
        }
      })
    ]
  }

  /** Whether a text has fewer characters; a character outside of the basic plane takes two UTF-16 units. */
  private isShorterThan(text: string, count: number): boolean {
    if (text.length < count) return true
    if (text.length >= count * 2) return false
    this.limits.spend(text.length)
    let characters = 0
    for (const _ of text) characters += 1
    return characters < count
  }

  private members(node: SchemaNode, { matching, named, others }: Members): Validate {
    const byName = new Map([...named].map(([name, schema]) => [name, compile(node, schema)]))
    const byPattern = matching.map(([pattern, schema]) => ({ pattern, part: compile(node, schema) }))
    const rest = others === undefined ? undefined : compile(node, others)
    return (value, pointer) => {
      if (!Json.isJsonObject(value)) return undefined
      const problems: Array<JsonError> = []
      for (const name of Object.keys(value)) {
        this.limits.spend(1)
        const at = JsonPointer.child(pointer, name)
        const part = byName.get(name)
        let known = part !== undefined
        if (part !== undefined) problems.push(...this.apply(part, value[name], at))
        for (const { part, pattern } of byPattern) {
          if (!pattern.test(name, this.limits)) continue
          known = true
          problems.push(...this.apply(part, value[name], at))
        }
        if (!known && rest !== undefined) problems.push(...this.apply(rest, value[name], at))
      }
      return problems
    }
  }

  private anyOf(parts: ReadonlyArray<SchemaNode>): Validate {
    return (value, pointer) => {
      let uncertain = false
      for (const part of parts) {
        const fit = this.fit(part, value, pointer)
        if (fit === "fits") return undefined
        if (fit === "uncertain") uncertain = true
      }
      if (!uncertain) return [this.found(pointer, "fits none of the schemas it may fit")]
      this.uncertainties += 1
      return undefined
    }
  }

  private oneOf(parts: ReadonlyArray<SchemaNode>): Validate {
    return (value, pointer) => {
      const fits = parts.map((part) => this.fit(part, value, pointer))
      const certain = fits.filter((fit) => fit === "fits").length
      const uncertain = fits.includes("uncertain")
      if (certain > 1) return [this.found(pointer, "fits more than one of the schemas of which it must fit one")]
      if (certain === 0 && !uncertain) return [this.found(pointer, "fits none of the schemas of which it must fit one")]
      if (uncertain) this.uncertainties += 1
      return undefined
    }
  }

  private condition(node: SchemaNode, { condition, fails, fits }: Condition): Validate {
    const parts = {
      condition: compile(node, condition),
      fits: fits === undefined ? undefined : compile(node, fits),
      fails: fails === undefined ? undefined : compile(node, fails)
    }
    this.conditions.set(node, parts)
    return (value, pointer) => {
      const fit = this.fit(parts.condition, value, pointer)
      if (fit === "uncertain") {
        this.uncertainties += 1
        return undefined
      }
      const part = parts[fit]
      return part === undefined ? undefined : this.apply(part, value, pointer)
    }
  }

  private contains(part: SchemaNode, { max, min }: Contains): Validate {
    return (value, pointer) => {
      if (!Array.isArray(value)) return undefined
      const fits = value.map((item, index) => this.fit(part, item, `${pointer}/${index}`))
      const certain = fits.filter((fit) => fit === "fits").length
      const possible = fits.filter((fit) => fit !== "fails").length
      if (certain > max) return [this.found(pointer, `must have at most ${max} items of a kind`)]
      if (possible < min) return [this.found(pointer, `must have at least ${min} items of a kind`)]
      if (possible > certain) this.uncertainties += 1
      return undefined
    }
  }
}

type Validate = (value: unknown, pointer: string) => ReadonlyArray<JsonError> | undefined

/** A keyword whose work for one schema is prepared when the schema is compiled. */
const keyword = <A>(name: string, prepare: (node: SchemaNode, value: A) => Validate | undefined): Keyword => ({
  id: name,
  keyword: name,
  parse: (node) => {
    const { schema } = node
    // A boolean schema has no keywords, but the library asks.
    if (typeof schema !== "object") return
    const validate = prepare(node, schema[name])
    if (validate === undefined) return
    node.validators.push(({ data, pointer }) => {
      const problems = validate(data, pointer)
      return problems === undefined ? undefined : [...problems]
    })
  }
})

// Where a schema stands does not matter, since references are resolved already.
const compile = (node: SchemaNode, schema: Normal): SchemaNode => node.compileSchema(schema, "#", "#")
