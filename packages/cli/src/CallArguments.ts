/**
 * Arguments of tools and prompts as they stand on a command line.
 */
import { Json, PeerText } from "@mcp-effect/protocol"
import * as Result from "effect/Result"
import * as InputSchema from "./InputSchema.ts"
import { UsageError } from "./UsageError.ts"

const fail = (message: string, hint?: string): Result.Result<never, UsageError> =>
  Result.fail(new UsageError({ message, hint }))

const parseJson = (text: string): Result.Result<unknown, string> => {
  try {
    return Result.succeed(JSON.parse(text))
  } catch (error) {
    return Result.fail(error instanceof Error ? error.message : String(error))
  }
}

/** A value that has no type yet. */
export interface Pair {
  readonly key: string
  readonly value: string
  /** Written `key:=value`. */
  readonly raw: boolean
}

/** What the words are for. */
type Kind = "argument" | "answer"

const splitPair = (word: string, withRaw: boolean, kind: Kind): Result.Result<Pair, UsageError> => {
  const equals = word.indexOf("=")
  const raw = withRaw && equals > 0 && word[equals - 1] === ":"
  const key = word.slice(0, raw ? equals - 1 : Math.max(equals, 0))
  if (key === "") {
    return fail(
      `Not an ${kind}: ${PeerText.excerpt(word, 60)}`,
      `${kind}s are written key=value, and the server's command stands after --`
    )
  }
  return Result.succeed({ key, value: word.slice(equals + 1), raw })
}

const collect = (
  words: ReadonlyArray<string>,
  withRaw: boolean,
  kind: Kind
): Result.Result<ReadonlyMap<string, Pair>, UsageError> =>
  Result.gen(function*() {
    const pairs = new Map<string, Pair>()
    for (const word of words) {
      const pair = yield* splitPair(word, withRaw, kind)
      if (pairs.has(pair.key)) return yield* fail(`The ${kind} ${pair.key} is given twice`)
      pairs.set(pair.key, pair)
    }
    return pairs
  })

/** Splits words of the form `key=value` or `key:=json`, each key once. */
export const pairs = (
  words: ReadonlyArray<string>,
  kind: Kind
): Result.Result<ReadonlyMap<string, Pair>, UsageError> => collect(words, true, kind)

// Objects are made of entries, which sets even a member called `__proto__` as a plain member.
const object = <A>(
  pairs: ReadonlyMap<string, Pair>,
  read: (pair: Pair) => Result.Result<A, UsageError>
): Result.Result<{ readonly [key: string]: A }, UsageError> =>
  Result.gen(function*() {
    const entries: Array<readonly [string, A]> = []
    for (const [key, pair] of pairs) entries.push([key, yield* read(pair)])
    return Object.fromEntries(entries)
  })

const matches = (value: unknown, types: ReadonlySet<InputSchema.JsonType>): boolean => {
  const type = InputSchema.typeOf(value)
  return types.has(type) || (type === "integer" && types.has("number"))
}

const isExact = (value: unknown): boolean =>
  typeof value !== "number" || (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)))

/**
 * Gives a value its type: that of the JSON that it is written as, or one of `types`. A value is a string wherever they
 * allow a string or are not known.
 */
export const convert = (
  { key, raw, value }: Pair,
  types: ReadonlySet<InputSchema.JsonType> | undefined,
  kind: Kind
): Result.Result<unknown, UsageError> => {
  if (!raw && (types === undefined || types.has("string"))) return Result.succeed(value)
  const parsed = parseJson(value)
  if (raw) {
    return Result.mapError(
      parsed,
      (problem) => new UsageError({ message: `The value of ${key}:= is not JSON: ${problem}` })
    )
  }
  const expected = types ?? new Set()
  if (Result.isFailure(parsed) || !matches(parsed.success, expected)) {
    return fail(
      `The ${kind} ${key} must be ${InputSchema.describeTypes(expected)}, not ${PeerText.excerpt(value, 60)}`,
      expected.has("array")
        ? `for instance: '${key}=["a","b"]'`
        : expected.has("object")
        ? `for instance: '${key}={"name":"value"}'`
        : undefined
    )
  }
  return isExact(parsed.success)
    ? Result.succeed(parsed.success)
    : fail(`The ${kind} ${key} is a number that JSON cannot carry exactly: ${PeerText.excerpt(value, 60)}`)
}

/**
 * Reads the arguments of a tool: `key=value`, typed by the tool's `inputSchema`, or `key:=json`. A value is a string
 * wherever the schema allows a string or does not say; otherwise it is read as JSON.
 */
export const forTool = (
  tool: { readonly name: string; readonly inputSchema: Json.JsonObject },
  words: ReadonlyArray<string>
): Result.Result<Json.JsonObject, UsageError> => {
  const parameters = new Map(InputSchema.parameters(tool.inputSchema).map((parameter) => [parameter.name, parameter]))
  const others = InputSchema.additional(tool.inputSchema)
  const name = PeerText.excerpt(tool.name)
  const usage = PeerText.excerpt(`${tool.name} ${InputSchema.synopsis(tool.inputSchema)}`.trim(), 1_000)
  return Result.gen(function*() {
    const args = yield* object(yield* pairs(words, "argument"), (pair) => {
      const declared = parameters.get(pair.key)
      if (declared !== undefined) return convert(pair, declared.types, "argument")
      return others === "forbidden"
        ? fail(`The tool ${name} has no argument ${PeerText.excerpt(pair.key, 60)}`, `it is called so: ${usage}`)
        : convert(pair, others, "argument")
    })
    const missing = Array.from(parameters.values()).filter((parameter) =>
      parameter.required && !Object.hasOwn(args, parameter.name)
    )
    return missing.length === 0 ? args : yield* fail(
      `The tool ${name} requires ${missing.map((parameter) => PeerText.excerpt(parameter.name, 60)).join(", ")}`,
      `it is called so: ${usage}`
    )
  })
}

/** Reads the arguments of a prompt or of a completion, which are strings: `key=value`. */
export const strings = (
  words: ReadonlyArray<string>
): Result.Result<{ readonly [key: string]: string }, UsageError> =>
  Result.flatMap(collect(words, false, "argument"), (pairs) => object(pairs, ({ value }) => Result.succeed(value)))

/** Reads the arguments of a tool from a JSON object. */
export const fromJson = (text: string, source: string): Result.Result<Json.JsonObject, UsageError> => {
  const parsed = parseJson(text)
  if (Result.isFailure(parsed)) return fail(`${source} is not JSON: ${parsed.failure}`)
  return Json.isJsonObject(parsed.success) ? Result.succeed(parsed.success) : fail(`${source} is not a JSON object`)
}
