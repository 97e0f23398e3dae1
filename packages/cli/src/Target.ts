/**
 * Which server is meant: a command to start, or a URL.
 */
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { UsageError } from "./UsageError.ts"

export type Target =
  | {
    readonly _tag: "Command"
    readonly command: string
    readonly args: ReadonlyArray<string>
    readonly env: ReadonlyMap<string, Redacted.Redacted>
    readonly cwd: string | undefined
  }
  | { readonly _tag: "Url"; readonly url: string; readonly headers: ReadonlyMap<string, Redacted.Redacted> }

/** The places of a command line where a server can be named, and what goes with it. */
export interface Words {
  /** Everything after `--`; `undefined` without one. */
  readonly afterDashes: ReadonlyArray<string> | undefined
  /** The value of `--url`. */
  readonly url: string | undefined
  /** What stands behind a command that takes no arguments of its own. */
  readonly positional: string | undefined
  readonly headers: ReadonlyArray<string>
  readonly env: ReadonlyArray<string>
  readonly cwd: string | undefined
}

const fail = (message: string, hint?: string): Result.Result<never, UsageError> =>
  Result.fail(new UsageError({ message, hint }))

const howToName = "put the server's command after --, as in: -- npx -y @modelcontextprotocol/server-everything, "
  + "or give its URL, as in: --url https://example.com/mcp"

const looksLikeUrl = (word: string): boolean => /^https?:\/\//i.test(word)

const parseUrl = (word: string): Result.Result<string, UsageError> => {
  if (!looksLikeUrl(word)) return fail(`Not the URL of a server: ${word}`, "a URL starts with http:// or https://")
  return URL.canParse(word) ? Result.succeed(word) : fail(`Not a valid URL: ${word}`)
}

// RFC 9110 section 5.1 (field names are tokens) and 5.5 (field values).
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

// The messages say nothing of a value, which may be a secret.
const parseHeaders = (
  words: ReadonlyArray<string>
): Result.Result<ReadonlyMap<string, Redacted.Redacted>, UsageError> => {
  const headers = new Map<string, Redacted.Redacted>()
  const seen = new Set<string>()
  for (const word of words) {
    const colon = word.indexOf(":")
    const name = word.slice(0, Math.max(colon, 0)).trim()
    const value = word.slice(colon + 1).trim()
    if (!headerName.test(name)) {
      return fail(
        "A --header is not of the form \"Name: value\"",
        "for instance: --header \"Authorization: Bearer ...\""
      )
    }
    if (!headerValue.test(value)) return fail(`The value of --header ${name} has characters that a header cannot carry`)
    if (seen.has(name.toLowerCase())) return fail(`The header ${name} is given twice`)
    seen.add(name.toLowerCase())
    headers.set(name, Redacted.make(value))
  }
  return Result.succeed(headers)
}

const parseEnv = (
  words: ReadonlyArray<string>,
  environment: NodeJS.ProcessEnv
): Result.Result<ReadonlyMap<string, Redacted.Redacted>, UsageError> => {
  const env = new Map<string, Redacted.Redacted>()
  for (const word of words) {
    const equals = word.indexOf("=")
    const name = equals === -1 ? word : word.slice(0, equals)
    const value = equals === -1 ? environment[name] : word.slice(equals + 1)
    if (name === "") return fail("An --env is not of the form NAME=value or NAME")
    if (value === undefined) {
      return fail(`The variable ${name} is not set here`, `give it a value: --env ${name}=...`)
    }
    env.set(name, Redacted.make(value))
  }
  return Result.succeed(env)
}

const urlTarget = (url: string, words: Words): Result.Result<Target, UsageError> => {
  if (words.env.length > 0) return fail("--env goes with a command, and the server is given by its URL")
  if (words.cwd !== undefined) return fail("--cwd goes with a command, and the server is given by its URL")
  return Result.gen(function*() {
    return { _tag: "Url", url: yield* parseUrl(url), headers: yield* parseHeaders(words.headers) }
  })
}

const commandTarget = (
  command: string,
  args: ReadonlyArray<string>,
  words: Words,
  environment: NodeJS.ProcessEnv
): Result.Result<Target, UsageError> =>
  words.headers.length > 0
    ? fail("--header goes with a URL, and the server is given by its command")
    : Result.map(parseEnv(words.env, environment), (env): Target => ({
      _tag: "Command",
      command,
      args,
      env,
      cwd: words.cwd
    }))

/**
 * Finds the server that is meant. `environment` is where an `--env NAME` without a value takes it from.
 */
export const resolve = (words: Words, environment: NodeJS.ProcessEnv): Result.Result<Target, UsageError> => {
  const { afterDashes, positional, url } = words
  const places = [afterDashes, url, positional].filter((place) => place !== undefined)
  if (places.length === 0) return fail("No server is given", howToName)
  if (places.length > 1) {
    return fail(
      "The server is given more than once",
      "keep one of: the words after --, --url, the URL behind the command"
    )
  }
  if (url !== undefined) return urlTarget(url, words)
  if (positional !== undefined) {
    return looksLikeUrl(positional)
      ? urlTarget(positional, words)
      : fail(`Unexpected argument: ${positional}`, howToName)
  }
  const [first, ...rest] = afterDashes ?? []
  if (first === undefined || first === "") return fail("Nothing stands after --", howToName)
  if (!looksLikeUrl(first)) return commandTarget(first, rest, words, environment)
  return rest.length === 0 ? urlTarget(first, words) : fail(`Nothing may follow the URL ${first}, but ${rest[0]} does`)
}
