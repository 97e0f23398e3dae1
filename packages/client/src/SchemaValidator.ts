/**
 * Checks JSON values against JSON Schemas that a server wrote.
 *
 * **Details**
 *
 * - Dialects: 2020-12 (also without `$schema`), 2019-09 and draft-07. A schema with an identifier of its own inside the
 *   document may declare another of these.
 * - References lead to places of the document itself. Nothing is ever fetched.
 * - `format` and `contentSchema` are not evaluated, and never count as a match, so that `not`, `oneOf`, `if` and the like
 *   decide nothing by them.
 * - A schema may have 2,000 schemas in it, 64 levels of them, and 8,000 members and items in all. One check may apply
 *   schemas 100,000 times, follow 32 references in a row, and take one second; a value may have 256 levels. What hits a
 *   bound is not valid.
 * - Regular expressions are those of ECMA-262, of at most 10,000 characters each and 50,000 in all. They are matched by
 *   an automaton whose time is linear in the text, lookaround included; back-references, and counted repetitions of a
 *   size that would be too large written out, by a matcher that stops at the end of the time for the check. This needs no
 *   worker and is the same on every runtime.
 *
 * What applies the schemas, json-schema-library among it, is loaded at the first check.
 *
 * @since 0.1.0
 */
import { type Json, PeerText } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Dialect from "./internal/Dialect.ts"
import type { SchemaEngine } from "./internal/SchemaEngine.ts"
import * as SchemaLimits from "./internal/SchemaLimits.ts"
import type { UnusableSchema } from "./internal/UnusableSchema.ts"

/**
 * What is wrong with a value.
 *
 * @category models
 * @since 0.1.0
 */
export interface Issue {
  /** Where in the value, as a JSON pointer; escaped, at most 200 characters. */
  readonly path: string
  /** What is wrong there, in our words: nothing of the value is in it. */
  readonly problem: string
}

/**
 * Why a schema cannot be used for checking.
 *
 * - `dialect`: it is written in a dialect that is not supported.
 * - `malformed`: a keyword has a value that its dialect does not allow.
 * - `reference`: a reference leads out of the document, or nowhere.
 * - `ambiguous`: two schemas in it are called the same.
 * - `pattern`: a regular expression is none of ECMA-262, or too long.
 * - `limit`: it is too large.
 * - `unavailable`: the library that applies schemas could not be loaded; a later attempt may succeed.
 *
 * @category errors
 * @since 0.1.0
 */
export class SchemaProblem extends Data.TaggedError("SchemaProblem")<{
  readonly fault: "dialect" | "malformed" | "reference" | "ambiguous" | "pattern" | "limit" | "unavailable"
  /** Where in the schema, as a JSON pointer; escaped, at most 200 characters. */
  readonly path: string
  /** In our words. */
  readonly problem: string
}> {
  override get message(): string {
    return `The schema cannot be used for checking: ${this.problem}`
  }
}

/**
 * A schema that values can be checked against.
 *
 * @category models
 * @since 0.1.0
 */
export interface CompiledSchema {
  /** Keywords in it that constrain values but are not evaluated: a value without issues may still be at odds with them. */
  readonly unevaluated: ReadonlyArray<string>
  /** What is wrong with a value; nothing, when it fits. */
  readonly validate: (value: unknown) => ReadonlyArray<Issue>
}

/**
 * Compiles schemas. Compiling the same schema again is cheap.
 *
 * @category models
 * @since 0.1.0
 */
export interface SchemaValidator {
  /** The schema must not be changed afterwards. */
  readonly compile: (schema: Json.JsonObject | boolean) => Effect.Effect<CompiledSchema, SchemaProblem>
}

/**
 * How long one check may take: one second.
 *
 * @category models
 * @since 0.1.0
 */
export const defaultTimeBudget: Duration.Input = SchemaLimits.millis

/**
 * The dialects of JSON Schema that are read, as `$schema` names them.
 *
 * @category models
 * @since 0.1.0
 */
export const supportedDialects: ReadonlyArray<string> = Dialect.supported

const problemOf = ({ fault, path, problem }: UnusableSchema): SchemaProblem =>
  new SchemaProblem({ fault, path: PeerText.excerpt(path), problem })

/**
 * A validator with a cache of its own: what it knows goes with it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: {
  /**
   * How long one check may take, regular expressions included.
   *
   * @default 1 second
   */
  readonly timeBudget?: Duration.Input | undefined
}): SchemaValidator => {
  const millis = Duration.toMillis(options?.timeBudget ?? defaultTimeBudget)
  let engine: SchemaEngine | undefined

  const load = Effect.tryPromise({
    try: () => import("./internal/SchemaEngine.ts"),
    catch: () =>
      new SchemaProblem({ fault: "unavailable", path: "", problem: "json-schema-library could not be loaded" })
  })

  const compile = (
    engine: SchemaEngine,
    schema: Json.JsonObject | boolean
  ): Effect.Effect<CompiledSchema, SchemaProblem> => {
    const compiled = engine.compile(schema)
    return compiled instanceof SchemaProblem ? Effect.fail(compiled) : Effect.succeed(compiled)
  }

  return {
    compile: (schema) =>
      Effect.suspend(() =>
        engine === undefined
          ? Effect.flatMap(load, (loaded) => compile(engine ??= new loaded.SchemaEngine(millis, problemOf), schema))
          : compile(engine, schema)
      )
  }
}

/**
 * The validator in use. A host may put another in its place.
 *
 * **Example** (Giving checks less time)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { McpClient, SchemaValidator } from "@mcp-effect/client"
 *
 * const program = Effect.gen(function*() {
 *   const client = yield* McpClient.McpClient
 *   return yield* client.callTool("report")
 * }).pipe(
 *   Effect.provideService(SchemaValidator.SchemaValidator, SchemaValidator.make({ timeBudget: "100 millis" }))
 * )
 * ```
 *
 * @category references
 * @since 0.1.0
 */
export const SchemaValidator: Context.Reference<SchemaValidator> = Context.Reference<SchemaValidator>(
  "@mcp-effect/client/SchemaValidator",
  { defaultValue: () => make() }
)
