/**
 * Reads schemas, applies them, and remembers those it has read. It is loaded at the first check, together with
 * json-schema-library: most programs never need it.
 */
import { type Json, PeerText } from "@mcp-effect/protocol"
import * as JsonSchemaLibrary from "json-schema-library"
import type { CompiledSchema, SchemaProblem } from "../SchemaValidator.ts"
import { Budget } from "./Budget.ts"
import * as NormalSchema from "./NormalSchema.ts"
import { SchemaCache } from "./SchemaCache.ts"
import { checkSize, SchemaDocument } from "./SchemaDocument.ts"
import { SchemaInterpreter } from "./SchemaInterpreter.ts"
import * as SchemaLimits from "./SchemaLimits.ts"
import { UnusableSchema } from "./UnusableSchema.ts"

/** What became of a schema. */
type Entry = Usable | Unusable

interface Usable {
  readonly document: NormalSchema.NormalDocument
  readonly unevaluated: ReadonlyArray<string>
  readonly bytes: number
  compiled?: CompiledSchema
}

interface Unusable {
  readonly problem: SchemaProblem
  readonly bytes: number
}

export class SchemaEngine {
  private readonly byObject = new WeakMap<object, Entry>()
  private readonly byText = new SchemaCache<Entry>()
  private readonly millis: number
  private readonly problemOf: (unusable: UnusableSchema) => SchemaProblem

  /** `millis` is how long one check may take; `problemOf` tells of schemas that cannot be used. */
  constructor(millis: number, problemOf: (unusable: UnusableSchema) => SchemaProblem) {
    this.millis = millis
    this.problemOf = problemOf
  }

  compile(schema: Json.JsonObject | boolean): CompiledSchema | SchemaProblem {
    const entry = this.find(schema)
    return "problem" in entry ? entry.problem : entry.compiled ??= this.interpret(entry)
  }

  private find(schema: Json.JsonObject | boolean): Entry {
    if (typeof schema === "boolean") return this.readOnce(String(schema))
    const known = this.byObject.get(schema)
    if (known !== undefined) return known
    const oversize = checkSize(schema)
    const entry = oversize === undefined ? this.readOnce(JSON.stringify(schema)) : this.unusable(oversize)
    this.byObject.set(schema, entry)
    return entry
  }

  private readOnce(text: string): Entry {
    const known = this.byText.get(text)
    if (known !== undefined) return known
    const entry = this.read(text)
    this.byText.set(text, entry)
    return entry
  }

  private read(text: string): Entry {
    try {
      const schemas = new SchemaDocument(JSON.parse(text))
      const document = NormalSchema.make(schemas)
      return { document, unevaluated: [...schemas.unevaluated], bytes: document.bytes }
    } catch (error) {
      if (error instanceof UnusableSchema) return this.unusable(error)
      throw error
    }
  }

  private unusable(fault: UnusableSchema): Unusable {
    return { problem: this.problemOf(fault), bytes: 0 }
  }

  private interpret({ document, unevaluated }: Usable): CompiledSchema {
    const interpreter = new SchemaInterpreter(JsonSchemaLibrary, document)
    const now = () => performance.now()
    return {
      unevaluated,
      validate: (value) =>
        interpreter.check(value, new Budget({ visits: SchemaLimits.visits, millis: this.millis, now })).map(
          ({ pointer, problem }) => ({ path: PeerText.excerpt(pointer), problem })
        )
    }
  }
}
