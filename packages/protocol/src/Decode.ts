/**
 * Decoding that only checks: the parsed JSON value itself is kept, with every member its schema does not name.
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import * as Guard from "./internal/Guard.ts"
import * as Nulls from "./internal/Nulls.ts"
import { MalformedMessage } from "./McpErrorReason.ts"

/**
 * Why a value was refused. Both members are in our own words and quote nothing that the peer wrote.
 *
 * @category models
 * @since 0.1.0
 */
export interface DecodeIssue {
  /** Where, as a JSON pointer (RFC 6901) with `*` for a key that the peer chose; `""` is the value itself. */
  readonly path: string
  /** What is wrong there, such as `is missing` or `is not a string`. */
  readonly problem: string
}

/**
 * Checks a parsed JSON value.
 *
 * @category models
 * @since 0.1.0
 */
export interface Validator<out A> {
  (value: unknown): Exit.Exit<A, DecodeIssue>
}

/**
 * Refuses a value.
 *
 * @category constructors
 * @since 0.1.0
 */
export const refuse = (path: string, problem: string): Exit.Exit<never, DecodeIssue> => Exit.fail({ path, problem })

/**
 * The issue of a value that was refused.
 *
 * @category accessors
 * @since 0.1.0
 */
export const issueOf = (refused: Exit.Failure<unknown, DecodeIssue>): DecodeIssue =>
  Option.getOrThrow(Exit.findErrorOption(refused))

const expectation = (ast: SchemaAST.AST): string => {
  const expected = ast.annotations?.["expected"]
  if (typeof expected === "string") return expected
  switch (ast._tag) {
    case "String":
      return "a string"
    case "Number":
      return "a number"
    case "Boolean":
      return "true or false"
    case "Null":
      return "null"
    case "Arrays":
      return "an array"
    case "Objects":
      return "an object"
    case "Literal":
      return typeof ast.literal === "string" ? JSON.stringify(ast.literal) : String(ast.literal)
    case "Union":
      return ast.types.filter((type) => type._tag !== "Undefined").map(expectation).join(" or ")
    default:
      return "what it should be"
  }
}

const isOurs = (key: PropertyKey, parent: SchemaAST.AST | undefined): boolean =>
  parent === undefined || parent._tag === "Arrays"
  || (parent._tag === "Objects" && parent.propertySignatures.some((property) => property.name === key))

const segment = (key: PropertyKey, parent: SchemaAST.AST | undefined): string =>
  isOurs(key, parent) ? `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}` : "/*"

/** Descends to the first thing that a schema found. */
const find = (issue: SchemaIssue.Issue, at: DecodeIssue, parent?: SchemaAST.AST): DecodeIssue => {
  switch (issue._tag) {
    case "Pointer":
      return find(issue.issue, {
        ...at,
        path: at.path + issue.path.map((key) => segment(key, parent)).join("")
      })
    case "Composite":
      return find(issue.issues[0], at, issue.ast)
    case "Encoding":
      return find(issue.issue, at)
    case "Filter": {
      const expected = issue.filter.annotations?.expected
      return expected === undefined ? find(issue.issue, at) : { ...at, problem: `is not ${expected}` }
    }
    case "AnyOf": {
      const [only] = issue.issues
      return only !== undefined && issue.issues.length === 1
        ? find(only, at)
        : { ...at, problem: `is not ${expectation(issue.ast)}` }
    }
    case "MissingKey":
      return { ...at, problem: "is missing" }
    case "InvalidType":
      return { ...at, problem: `is not ${expectation(issue.ast)}` }
    default:
      return at
  }
}

/**
 * Describes the first thing that a schema found, in our own words.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromSchemaIssue = (issue: SchemaIssue.Issue): DecodeIssue =>
  find(issue, { path: "", problem: "is not what it should be" })

/**
 * The reason of an error about an answer that was refused.
 *
 * @category constructors
 * @since 0.1.0
 */
export const malformed = (issue: DecodeIssue): MalformedMessage => new MalformedMessage(issue)

/**
 * Makes a check of a schema, once. What passes is the very value that was given: unknown members stay, and nothing is
 * transformed or filled in, so the schema must have no transformations and no defaults.
 *
 * **Details**
 *
 * An optional member that is `null` counts as absent, as servers in languages without `undefined` mean it; a value
 * with such members passes as a copy without them. Members that may be `null` keep it.
 *
 * **Example** (Checking a value)
 *
 * ```ts import.meta.vitest
 * import { Decode, Tool } from "@mcp-effect/protocol"
 * import { Exit } from "effect"
 *
 * const validate = Decode.validator(Tool.Tool)
 * validate({ name: "echo" }) // => Exit.fail({ path: "/inputSchema", problem: "is missing" })
 * Exit.isSuccess(validate({ name: "echo", inputSchema: { type: "object" } })) // => true
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const validator = <A>(schema: Schema.Codec<A>): Validator<A> => {
  let guard: Guard.Guard | undefined
  let strip: Nulls.Strip | undefined
  let decode: ((value: unknown) => Result.Result<A, SchemaIssue.Issue>) | undefined
  const again = (value: unknown): Exit.Exit<A, DecodeIssue> => {
    const stripped = (strip ??= Nulls.compile(schema.ast))(value)
    const result = (decode ??= SchemaParser.decodeUnknownResult(schema))(stripped)
    return Result.isSuccess(result) ? Exit.succeed(stripped as A) : Exit.fail(fromSchemaIssue(result.failure))
  }
  return (value) => (guard ??= Guard.compile(schema.ast))(value) ? Exit.succeed(value as A) : again(value)
}
