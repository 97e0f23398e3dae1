/**
 * A schema document in one form for all dialects: only what constrains a value, identifiers and references resolved,
 * and what older dialects write differently put as 2020-12 has it. An interpreter needs to know of nothing else.
 *
 * - A schema with an identifier of its own becomes a reference to it, so that a resource is only ever entered by one.
 * - `const` becomes `enum`; `dependentRequired`, `dependentSchemas` and `dependencies` become `if` and `then`; the array
 *   form of `items` becomes `prefixItems`, and `additionalItems` then `items`.
 */
import { Json } from "@mcp-effect/protocol"
import type { Pattern } from "./Pattern.ts"
import type { Resource, SchemaDocument, Subschema, Target } from "./SchemaDocument.ts"
import * as SchemaLimits from "./SchemaLimits.ts"
import { UnusableSchema } from "./UnusableSchema.ts"

export interface Reference {
  /** Index into the targets. */
  readonly target: number
  /** The anchor to look up in the dynamic scope, where the reference is a dynamic one. */
  readonly dynamic: string | undefined
}

/** What an object's members must be: those named, those whose name matches, and all others. */
export interface Members {
  readonly named: ReadonlyMap<string, Normal>
  readonly matching: ReadonlyArray<readonly [pattern: Pattern, schema: Normal]>
  readonly others: Normal | undefined
}

/** How many of an array's items must fit. */
export interface Contains {
  readonly schema: Normal
  readonly min: number
  /** May be infinite. */
  readonly max: number
  /** Whether the items that fit count as evaluated, as since 2020-12. */
  readonly evaluates: boolean
}

/** What a value must fit if it fits another schema, and what otherwise. */
export interface Condition {
  readonly condition: Normal
  readonly fits: Normal | undefined
  readonly fails: Normal | undefined
}

export interface NormalSchema {
  $ref?: ReadonlyArray<Reference>
  /** It has keywords that are not evaluated: a value may not fit it although it seems to. */
  uncertain?: true
  members?: Members
  enum?: ReadonlyArray<unknown>
  pattern?: Pattern
  allOf?: ReadonlyArray<Normal>
  anyOf?: ReadonlyArray<Normal>
  oneOf?: ReadonlyArray<Normal>
  not?: Normal
  if?: Condition
  prefixItems?: ReadonlyArray<Normal>
  items?: Normal
  contains?: Contains
  propertyNames?: Normal
  unevaluatedItems?: Normal
  unevaluatedProperties?: Normal
  uniqueItems?: true
  /** Keywords that are kept as they are: `type`, `required` and the bounds. */
  [keyword: string]: unknown
}

export type Normal = NormalSchema | boolean

export interface NormalDocument {
  /** What references lead to; the first is the document itself. */
  readonly targets: ReadonlyArray<{ readonly schema: Normal; readonly resource: Resource }>
  /** The target that a resource has under a dynamic anchor. */
  readonly dynamicTarget: (resource: Resource, anchor: string) => number | undefined
  /** What it takes to keep it, compiled. */
  readonly bytes: number
}

// As measured.
const schemaBytes = 1_200
const instructionBytes = 100

const kept: ReadonlyArray<string> = [
  "type",
  "required",
  "multipleOf",
  "maximum",
  "exclusiveMaximum",
  "minimum",
  "exclusiveMinimum",
  "maxLength",
  "minLength",
  "maxItems",
  "minItems",
  "maxProperties",
  "minProperties"
]

/** The value of a keyword of one schema. */
type Get = (keyword: string) => unknown

class Normalizer implements NormalDocument {
  readonly targets: Array<{ schema: Normal; readonly resource: Resource; readonly source: Subschema }> = []
  private readonly indexes = new Map<Subschema, number>()
  private readonly document: SchemaDocument
  private schemas = 0

  constructor(document: SchemaDocument) {
    this.document = document
  }

  get bytes(): number {
    return this.schemas * schemaBytes + this.document.instructions * instructionBytes
  }

  /** Targets are found while others are normalized, so the list grows underway. */
  run(): void {
    this.indexOf(this.document.root)
    for (const target of this.targets) target.schema = this.whole(target.source)
  }

  indexOf({ resource, schema }: Pick<Target, "resource" | "schema">): number {
    const known = this.indexes.get(schema)
    if (known !== undefined) return known
    const index = this.targets.push({ schema: true, resource, source: schema }) - 1
    this.indexes.set(schema, index)
    return index
  }

  dynamicTarget(resource: Resource, anchor: string): number | undefined {
    const schema = resource.dynamicAnchors.get(anchor)
    return schema === undefined ? undefined : this.indexes.get(schema)
  }

  /** A schema in its place: by reference where it is a resource of its own. */
  private part(schema: unknown): Normal {
    if (typeof schema === "boolean") return schema
    if (!Json.isJsonObject(schema)) return true
    const resource = this.document.ownerOf(schema)
    return resource.root === schema
      ? { $ref: [{ target: this.indexOf({ schema, resource }), dynamic: undefined }] }
      : this.whole(schema)
  }

  private optional(schema: unknown): Normal | undefined {
    return schema === undefined ? undefined : this.part(schema)
  }

  private parts(schemas: unknown): ReadonlyArray<Normal> {
    return Array.isArray(schemas) ? schemas.map((schema) => this.part(schema)) : []
  }

  private whole(source: Subschema): Normal {
    if (typeof source === "boolean") return source
    // What is referred to inside of what is referred to is there twice.
    this.schemas += 1
    if (this.schemas > SchemaLimits.normalSchemas) {
      throw new UnusableSchema(
        "limit",
        "",
        `it has more than ${SchemaLimits.normalSchemas} schemas, references resolved`
      )
    }
    const resource = this.document.ownerOf(source)
    // JSON knows no undefined, so that it can say what is absent, or no keyword of the dialect.
    const get: Get = (keyword) => this.document.valueOf(source, keyword)
    const schema: NormalSchema = {}
    for (const keyword of kept) {
      const value = get(keyword)
      if (value !== undefined) schema[keyword] = value
    }
    if (get("uniqueItems") === true) schema.uniqueItems = true
    if (get("format") !== undefined || get("contentSchema") !== undefined) schema.uncertain = true
    const pattern = get("pattern")
    if (typeof pattern === "string") schema.pattern = this.document.patternOf(pattern)
    const references = this.references(source)
    if (references.length > 0) schema.$ref = references
    this.combinations(get, schema)
    this.members(get, schema)
    this.items(get, resource, schema)
    return schema
  }

  private references(source: Json.JsonObject): ReadonlyArray<Reference> {
    const references: Array<Reference> = []
    const plain = this.document.follow(source, "$ref")
    if (plain !== undefined) references.push({ target: this.indexOf(plain), dynamic: undefined })
    const dynamic = this.document.follow(source, "$dynamicRef")
    if (dynamic !== undefined) references.push(this.dynamicReference(dynamic, dynamic.anchor))
    const recursive = this.document.follow(source, "$recursiveRef")
    if (recursive !== undefined) references.push(this.dynamicReference(recursive, ""))
    return references
  }

  /** It is one only if it leads, at first, to an anchor of the dynamic kind (2020-12 core 8.2.3.2). */
  private dynamicReference(target: Target, anchor: string | undefined): Reference {
    const index = this.indexOf(target)
    if (anchor === undefined || target.resource.dynamicAnchors.get(anchor) !== target.schema) {
      return { target: index, dynamic: undefined }
    }
    for (const resource of this.document.resources.values()) {
      const schema = resource.dynamicAnchors.get(anchor)
      if (schema !== undefined) this.indexOf({ schema, resource })
    }
    return { target: index, dynamic: anchor }
  }

  private combinations(get: Get, schema: NormalSchema): void {
    const all = [...this.parts(get("allOf")), ...this.dependencies(get)]
    const enumeration = get("enum")
    const constant = get("const")
    if (Array.isArray(enumeration)) schema.enum = enumeration
    if (constant !== undefined) {
      if (schema.enum === undefined) schema.enum = [constant]
      else all.push({ enum: [constant] })
    }
    if (all.length > 0) schema.allOf = all
    for (const keyword of ["anyOf", "oneOf"] as const) {
      const schemas = get(keyword)
      if (schemas !== undefined) schema[keyword] = this.parts(schemas)
    }
    for (const keyword of ["not", "propertyNames", "unevaluatedItems", "unevaluatedProperties"] as const) {
      const part = get(keyword)
      if (part !== undefined) schema[keyword] = this.part(part)
    }
    const condition = this.optional(get("if"))
    if (condition !== undefined) {
      schema.if = { condition, fits: this.optional(get("then")), fails: this.optional(get("else")) }
    }
  }

  private dependencies(get: Get): ReadonlyArray<Normal> {
    return ["dependentRequired", "dependentSchemas", "dependencies"].flatMap((keyword) => {
      const dependencies = get(keyword)
      if (!Json.isJsonObject(dependencies)) return []
      return Object.entries(dependencies).map(([name, dependency]): Normal => ({
        if: {
          condition: { type: "object", required: [name] },
          fits: Array.isArray(dependency) ? { required: dependency } : this.part(dependency),
          fails: undefined
        }
      }))
    })
  }

  private members(get: Get, schema: NormalSchema): void {
    const named = get("properties")
    const matching = get("patternProperties")
    const others = get("additionalProperties")
    if (named === undefined && matching === undefined && others === undefined) return
    schema.members = {
      named: new Map(entries(named).map(([name, part]) => [name, this.part(part)])),
      matching: entries(matching).map(([source, part]) => [this.document.patternOf(source), this.part(part)]),
      others: this.optional(others)
    }
  }

  private items(get: Get, resource: Resource, schema: NormalSchema): void {
    const items = get("items")
    const prefix = Array.isArray(items) ? items : get("prefixItems")
    const others = Array.isArray(items) ? get("additionalItems") : items
    if (prefix !== undefined) schema.prefixItems = this.parts(prefix)
    if (others !== undefined) schema.items = this.part(others)
    const contains = get("contains")
    if (contains === undefined) return
    const bound = (keyword: string, otherwise: number): number => {
      const value = get(keyword)
      return typeof value === "number" ? value : otherwise
    }
    schema.contains = {
      schema: this.part(contains),
      min: bound("minContains", 1),
      max: bound("maxContains", Infinity),
      evaluates: resource.dialect === "2020-12"
    }
  }
}

const entries = (dictionary: unknown): ReadonlyArray<[string, unknown]> =>
  Json.isJsonObject(dictionary) ? Object.entries(dictionary) : []

/** @throws UnusableSchema */
export const make = (document: SchemaDocument): NormalDocument => {
  const normalizer = new Normalizer(document)
  normalizer.run()
  return normalizer
}
