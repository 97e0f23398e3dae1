/**
 * The few building blocks of message schemas that `effect/Schema` does not have.
 *
 * A message schema only checks: it has no transformations, defaults or records, since the parsed JSON object itself is
 * kept and its unknown members survive at no cost.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { isRequestId, type RequestId } from "../Envelope.ts"
import { isJsonObject, type JsonObject } from "../Json.ts"
import * as Guard from "./Guard.ts"
import * as Nulls from "./Nulls.ts"

/** A check written by hand. */
interface Check {
  readonly guard: Guard.Guard
  /** The issue of a value that the guard refuses. */
  readonly explain: (value: unknown, self: SchemaAST.Declaration) => SchemaIssue.Issue | undefined
  readonly strip: Nulls.Strip
}

const declare = <A>(expected: string, { explain, guard, strip }: Check): Schema.Codec<A> =>
  Schema.declareConstructor<A>()(
    [],
    () => (value, self) => {
      const issue = guard(value) ? undefined : explain(value, self)
      return issue === undefined ? Effect.succeed(value as A) : Effect.fail(issue)
    },
    { expected, [Guard.annotation]: guard, [Nulls.annotation]: strip }
  )

const refuse: Check["explain"] = (_, self) => new SchemaIssue.InvalidType(self)

const leaf = (guard: Guard.Guard): Check => ({ guard, explain: refuse, strip: Nulls.keep })

/** The check of a schema, made when it is first needed. */
const lazily = <A>(schema: Schema.Codec<A>): Check => {
  let guard: Guard.Guard | undefined
  let strip: Nulls.Strip | undefined
  const decode = SchemaParser.decodeUnknownResult(schema)
  return {
    guard: (value) => (guard ??= Guard.compile(schema.ast))(value),
    strip: (value) => (strip ??= Nulls.compile(schema.ast))(value),
    explain: (value) => {
      const result = decode(value)
      return Result.isFailure(result) ? result.failure : undefined
    }
  }
}

/** An object whose members are nobody's business. */
export const object: Schema.Codec<JsonObject> = declare("an object", leaf(isJsonObject))

/** The id of a request, or a progress token. */
export const requestId: Schema.Codec<RequestId> = declare("a string or an integer", leaf(isRequestId))

/** `_meta`: what else the sender has to say (2026-07-28 basic/index, `_meta`). */
export const meta = Schema.optional(object)

/** What every result may carry. Which `resultType` is good where is not a matter of schemas: see `ResultType`. */
export const resultFields = { _meta: meta, resultType: Schema.optional(Schema.String) }

/** A string with some well-known values; others are kept. */
export const openString = <Known extends string>(): Schema.Codec<Known | (string & {})> =>
  declare("a string", leaf((value) => typeof value === "string"))

/** A struct typed as an open object, so that members it does not name can be read. */
export const open = <A extends object>(struct: Schema.Codec<A>): Schema.Codec<A & JsonObject> =>
  struct as Schema.Codec<A & JsonObject>

/** An object with keys of the peer's choice and values of one kind. */
export const dictionary = <A>(values: Schema.Codec<A>): Schema.Codec<{ readonly [key: string]: A }> => {
  const { explain, guard, strip } = lazily(values)
  return declare("an object", {
    guard: (value) => isJsonObject(value) && Object.values(value).every(guard),
    explain: (value, self) => {
      if (!isJsonObject(value)) return refuse(value, self)
      for (const [key, member] of Object.entries(value)) {
        const issue = explain(member, self)
        // Under a composite of this node, `Decode` knows that the key is the peer's and does not show it.
        if (issue !== undefined) return new SchemaIssue.Composite(self, [new SchemaIssue.Pointer([key], issue)])
      }
      return undefined
    },
    strip: (value) => isJsonObject(value) ? Nulls.mapMembers(value, strip) : value
  })
}

/** One value, or an array of such values. */
export const oneOrMany = <A>(item: Schema.Codec<A>): Schema.Codec<A | ReadonlyArray<A>> => {
  const one = lazily(item)
  const many = lazily(Schema.Array(item))
  const pick = (value: unknown) => Array.isArray(value) ? many : one
  return declare("an object or an array", {
    guard: (value) => pick(value).guard(value),
    explain: (value, self) => pick(value).explain(value, self),
    strip: (value) => pick(value).strip(value)
  })
}

/** How an object is checked that can be one of several things. */
type Choice<A> =
  /** As this schema says. */
  | Schema.Codec<A>
  /** Not at all: something newer than this library. */
  | "keep"
  /** It is none of them, as the issue of one of its members tells. */
  | { readonly member: string; readonly issue: SchemaIssue.Issue }
  /** It is none of them. */
  | { readonly expected: string }

/**
 * An object that can be one of several things. `choose` tells by some of its members which, and must read no others, nor
 * inherited ones.
 */
export const select = <A>(
  members: ReadonlyArray<string>,
  choose: (value: JsonObject) => Choice<A>
): Schema.Codec<A> => {
  const known = new Map<Schema.Codec<A>, Check>()
  const checkOf = (schema: Schema.Codec<A>): Check => {
    let check = known.get(schema)
    if (check === undefined) known.set(schema, check = lazily(schema))
    return check
  }
  return declare("an object", {
    guard: (value) => {
      if (!isJsonObject(value) || members.some((member) => value[member] === null)) return false
      const choice = choose(value)
      return choice === "keep" || (Schema.isSchema(choice) && checkOf(choice).guard(value))
    },
    explain: (value, self) => {
      if (!isJsonObject(value)) return refuse(value, self)
      const choice = choose(value)
      if (choice === "keep") return undefined
      if (Schema.isSchema(choice)) return checkOf(choice).explain(value, self)
      return "member" in choice
        ? new SchemaIssue.Pointer([choice.member], choice.issue)
        : new SchemaIssue.InvalidType(Schema.Never.annotate({ expected: choice.expected }).ast)
    },
    strip: (value) => {
      if (!isJsonObject(value)) return value
      const told = Nulls.mapMembers(
        value,
        (member, key) => member === null && members.includes(key) ? undefined : member
      )
      const choice = choose(told)
      return Schema.isSchema(choice) ? checkOf(choice).strip(told) : told
    }
  })
}

/** An object told apart by one of its members. A value of it that the table does not list is kept, or refused. */
export const byMember = <A>(
  member: string,
  table: { readonly [value: string]: Schema.Codec<A> },
  unlisted: "keep" | "refuse"
): Schema.Codec<A> => {
  // A map, since the peer chooses what is looked up.
  const schemas = new Map(Object.entries(table))
  const tags = SchemaParser.decodeUnknownResult(
    unlisted === "keep" ? Schema.String : Schema.Literals(Array.from(schemas.keys()))
  )
  return select([member], (value) => {
    if (!Object.hasOwn(value, member)) return { member, issue: new SchemaIssue.MissingKey(undefined) }
    const tag = value[member]
    const schema = typeof tag === "string" ? schemas.get(tag) : undefined
    if (schema !== undefined) return schema
    const result = tags(tag)
    return Result.isFailure(result) ? { member, issue: result.failure } : "keep"
  })
}
