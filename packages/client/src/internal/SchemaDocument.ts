/**
 * Reads a JSON Schema document: which resources it bundles, what their identifiers and anchors name, and whether it is
 * well-formed and within bounds. References lead to places of the document only; nothing is ever fetched.
 */
import { Json } from "@mcp-effect/protocol"
import * as Dialect from "./Dialect.ts"
import * as JsonPointer from "./JsonPointer.ts"
import * as Pattern from "./Pattern.ts"
import { Allowance } from "./PatternAutomaton.ts"
import * as SchemaKeywords from "./SchemaKeywords.ts"
import * as SchemaLimits from "./SchemaLimits.ts"
import { UnusableSchema } from "./UnusableSchema.ts"

export type Subschema = Json.JsonObject | boolean

/** A schema with an identifier of its own, and what is in it (2020-12 core 4.3.5). */
export interface Resource {
  /** Absolute, without a fragment. */
  readonly uri: string
  readonly dialect: Dialect.Dialect
  readonly root: Subschema
  readonly anchors: Map<string, Json.JsonObject>
  /** `$dynamicAnchor`s by name; a `$recursiveAnchor` of 2019-09 under the empty name. */
  readonly dynamicAnchors: Map<string, Json.JsonObject>
}

/** Where a reference leads. */
export interface Target {
  readonly schema: Subschema
  readonly resource: Resource
  /** The name in the fragment of the reference, if it is a name. */
  readonly anchor: string | undefined
}

/** Where a schema stands: in which resource, and where in the document. */
interface Place {
  readonly resource: Resource
  readonly path: string
}

// What references are resolved against in a document without an identifier.
const anonymous = "document:///"

/** Keywords that may constrain a value but are not evaluated. */
const unevaluated: ReadonlySet<string> = new Set(["format", "contentSchema"])

/** What is wrong with the size of a document: to be asked before anything else walks it. */
export const checkSize = (document: Subschema): UnusableSchema | undefined => {
  let elements = 0
  let level: ReadonlyArray<unknown> = [document]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > SchemaLimits.valueDepth) return new UnusableSchema("limit", "", "it is nested too deeply")
    const next: Array<unknown> = []
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue
      for (const element of Array.isArray(value) ? value : Object.values(value)) {
        elements += 1
        if (elements > SchemaLimits.elements) {
          return new UnusableSchema("limit", "", `it has more than ${SchemaLimits.elements} members and items`)
        }
        next.push(element)
      }
    }
    level = next
  }
  return undefined
}

export class SchemaDocument {
  readonly root: Target
  /** By source: those of `pattern` and the names of `patternProperties`. */
  private readonly patterns = new Map<string, Pattern.Pattern>()
  private readonly allowance = new Allowance(SchemaLimits.patternInstructions, SchemaLimits.patternCharacters)
  /** The keywords in it that are not evaluated. */
  readonly unevaluated = new Set<string>()
  readonly resources = new Map<string, Resource>()
  private readonly places = new Map<Json.JsonObject, Place>()
  private subschemas = 0

  /**
   * Takes a document of its own that `checkSize` has found nothing wrong with.
   *
   * @throws UnusableSchema
   */
  constructor(schema: Subschema) {
    const dialect = typeof schema === "boolean" ? undefined : this.declaredDialect(schema, "")
    const resource: Resource = {
      uri: anonymous,
      dialect: dialect ?? "2020-12",
      root: schema,
      anchors: new Map(),
      dynamicAnchors: new Map()
    }
    this.read(schema, resource, "", 1)
    const owner = typeof schema === "boolean" ? resource : this.ownerOf(schema)
    // A document with an identifier is known by it only; one without, by none.
    this.resources.set(owner.uri, owner)
    this.root = { schema, resource: owner, anchor: undefined }
  }

  /** How many instructions its patterns have. */
  get instructions(): number {
    return this.allowance.used
  }

  /** The resource that a schema of the document belongs to. */
  ownerOf(schema: Json.JsonObject): Resource {
    return this.placeOf(schema).resource
  }

  /** The value of a keyword, where the dialect of the schema has it. */
  valueOf(schema: Json.JsonObject, keyword: string): unknown {
    const defined = Object.hasOwn(schema, keyword) && isInForce(schema, this.ownerOf(schema).dialect, keyword)
    return defined ? schema[keyword] : undefined
  }

  patternOf(source: string): Pattern.Pattern {
    const pattern = this.patterns.get(source)
    if (pattern === undefined) throw new Error("not a pattern of this document")
    return pattern
  }

  /**
   * Where a keyword that is a reference leads, if the schema has it.
   *
   * @throws UnusableSchema
   */
  follow(schema: Json.JsonObject, keyword: "$ref" | "$dynamicRef" | "$recursiveRef"): Target | undefined {
    const reference = this.valueOf(schema, keyword)
    if (typeof reference !== "string") return undefined
    const place = this.placeOf(schema)
    const path = `${place.path}/${keyword}`
    const [uri, fragment] = this.absolute(reference, place.resource.uri, path)
    const resource = this.resources.get(uri)
    if (resource === undefined) {
      throw new UnusableSchema("reference", path, "refers to a schema outside of the document, and none is fetched")
    }
    return fragment === "" || fragment.startsWith("/")
      ? this.pointedTo(resource, fragment, path)
      : this.named(resource, fragment, path)
  }

  private named(resource: Resource, anchor: string, path: string): Target {
    const schema = resource.anchors.get(anchor)
    if (schema === undefined) throw new UnusableSchema("reference", path, "refers to an anchor that does not exist")
    return { schema, resource, anchor }
  }

  private pointedTo(resource: Resource, pointer: string, path: string): Target {
    let owner = resource
    let value: unknown = resource.root
    for (const token of JsonPointer.tokens(pointer)) {
      if (Json.isJsonObject(value)) owner = this.places.get(value)?.resource ?? owner
      value = JsonPointer.step(value, token)
    }
    if (typeof value === "boolean") return { schema: value, resource: owner, anchor: undefined }
    if (!Json.isJsonObject(value)) {
      throw new UnusableSchema("reference", path, "refers to a place that does not exist, or is no schema")
    }
    // It may stand where the dialect knows of no schema.
    this.read(value, owner, path, 1)
    return { schema: value, resource: this.ownerOf(value), anchor: undefined }
  }

  private placeOf(schema: Json.JsonObject): Place {
    const place = this.places.get(schema)
    if (place === undefined) throw new Error("not a schema of this document")
    return place
  }

  private absolute(reference: string, base: string, path: string): readonly [uri: string, fragment: string] {
    try {
      // A URI that cannot be a base for paths, such as a URN, is still one for the empty reference.
      const { href } = reference === "" ? new URL(base) : new URL(reference, base)
      const [uri = "", fragment = ""] = href.split("#", 2)
      return [uri, decodeURIComponent(fragment)]
    } catch {
      throw new UnusableSchema("reference", path, "is not a URI that can be resolved here")
    }
  }

  private declaredDialect(schema: Json.JsonObject, path: string): Dialect.Dialect | undefined {
    if (!Object.hasOwn(schema, "$schema")) return undefined
    const uri = schema["$schema"]
    if (!Dialect.isUri(uri)) throw new UnusableSchema("malformed", `${path}/$schema`, "must be the URI of a dialect")
    const dialect = Dialect.ofUri(uri)
    if (dialect === undefined) {
      throw new UnusableSchema(
        "dialect",
        `${path}/$schema`,
        `that dialect is not supported (supported: ${Dialect.supported.join(", ")})`
      )
    }
    return dialect
  }

  private read(schema: unknown, outer: Resource, path: string, depth: number): void {
    if (Json.isJsonObject(schema) && this.places.has(schema)) return
    this.subschemas += 1
    if (this.subschemas > SchemaLimits.subschemas) {
      throw new UnusableSchema("limit", path, `the document has more than ${SchemaLimits.subschemas} schemas`)
    }
    if (depth > SchemaLimits.schemaDepth) {
      throw new UnusableSchema("limit", path, `schemas are nested deeper than ${SchemaLimits.schemaDepth}`)
    }
    if (!Json.isJsonObject(schema)) return
    const resource = this.identify(schema, outer, path)
    this.places.set(schema, { resource, path })
    for (const name of Object.keys(schema)) {
      const keyword = SchemaKeywords.of(resource.dialect).get(name)
      if (keyword === undefined || !isInForce(schema, resource.dialect, name)) continue
      const value = schema[name]
      const at = JsonPointer.child(path, name)
      const problem = keyword.check(value)
      if (problem !== undefined) throw new UnusableSchema("malformed", at, problem)
      if (unevaluated.has(name)) this.unevaluated.add(name)
      if (name === "pattern" && typeof value === "string") this.readPattern(value, at)
      if (name === "patternProperties" && Json.isJsonObject(value)) {
        for (const pattern of Object.keys(value)) this.readPattern(pattern, at)
      }
      this.descend(keyword.place, value, resource, at, depth)
    }
  }

  private descend(place: SchemaKeywords.Place, value: unknown, resource: Resource, at: string, depth: number): void {
    if (place === "nowhere") return
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        this.read(item, resource, JsonPointer.child(at, index), depth + 1)
      }
    } else if (place === "dictionary" || place === "dependencies") {
      if (!Json.isJsonObject(value)) return
      for (const name of Object.keys(value)) {
        // A dependency may be a list of names instead.
        if (!Array.isArray(value[name])) this.read(value[name], resource, JsonPointer.child(at, name), depth + 1)
      }
    } else this.read(value, resource, at, depth + 1)
  }

  private readPattern(source: string, path: string): void {
    if (this.patterns.has(source)) return
    const pattern = Pattern.make(source, this.allowance)
    if (typeof pattern === "string") throw new UnusableSchema("pattern", path, `the pattern ${pattern}`)
    this.patterns.set(source, pattern)
  }

  /** The resource a schema belongs to: the one around it, or its own. Takes down what it is called. */
  private identify(schema: Json.JsonObject, outer: Resource, path: string): Resource {
    const own = this.declared(schema, outer, path)
    const resource = own ?? outer
    const name = (keyword: string): string | undefined => {
      const value = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined
      return typeof value === "string" && isInForce(schema, resource.dialect, keyword) ? value : undefined
    }
    const dynamic = name("$dynamicAnchor")
    for (const anchor of new Set([name("$anchor"), dynamic])) {
      if (anchor !== undefined) this.anchor(resource, anchor, schema, path)
    }
    if (dynamic !== undefined) resource.dynamicAnchors.set(dynamic, schema)
    if (resource.dialect === "2019-09" && resource.root === schema && schema["$recursiveAnchor"] === true) {
      resource.dynamicAnchors.set("", schema)
    }
    return resource
  }

  /** The resource that a schema declares with `$id`, if it declares one. */
  private declared(schema: Json.JsonObject, outer: Resource, path: string): Resource | undefined {
    const id = Object.hasOwn(schema, "$id") ? schema["$id"] : undefined
    // What is no string, or has a fragment where none may be, is reported as malformed.
    if (typeof id !== "string") return undefined
    const dialect = this.declaredDialect(schema, path) ?? outer.dialect
    if (!isInForce(schema, dialect, "$id")) return undefined
    const at = `${path}/$id`
    const [uri, fragment] = this.absolute(id, outer.uri, at)
    const names = dialect === "draft-07" && fragment !== "" && !fragment.startsWith("/")
    const declares = id !== "" && !id.startsWith("#")
    if (!declares) {
      if (names) this.anchor(outer, fragment, schema, at)
      return undefined
    }
    if (this.resources.has(uri)) {
      throw new UnusableSchema("ambiguous", at, "is the identifier of another schema of the document too")
    }
    const resource = { uri, dialect, root: schema, anchors: new Map(), dynamicAnchors: new Map() }
    this.resources.set(uri, resource)
    if (names) this.anchor(resource, fragment, schema, at)
    return resource
  }

  private anchor(resource: Resource, name: string, schema: Json.JsonObject, path: string): void {
    if (resource.anchors.has(name)) {
      throw new UnusableSchema("ambiguous", path, "is called as another schema of the same resource is")
    }
    resource.anchors.set(name, schema)
  }
}

/**
 * Whether a keyword has an effect: the dialect defines it, and it does not stand beside a `$ref` in draft-07, where "all
 * other properties in a "$ref" object MUST be ignored" (draft-07 core 8.3). `definitions` only holds what references
 * lead to.
 */
const isInForce = (schema: Json.JsonObject, dialect: Dialect.Dialect, keyword: string): boolean =>
  SchemaKeywords.of(dialect).has(keyword)
  && !(dialect === "draft-07" && Object.hasOwn(schema, "$ref") && keyword !== "$ref" && keyword !== "definitions")
