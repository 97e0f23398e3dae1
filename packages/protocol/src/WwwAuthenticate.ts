/**
 * What a server wants to be shown before it answers (RFC 9110 section 11, `WWW-Authenticate`).
 *
 * @since 0.1.0
 */
import type { Challenge as ChallengeSchema } from "./McpErrorReason.ts"

/**
 * One challenge: its scheme and the names of its parameters in lower case. It has either a `token68` or parameters.
 *
 * @category models
 * @since 0.1.0
 */
export type Challenge = typeof ChallengeSchema.Type

interface Draft {
  readonly scheme: string
  token68?: string
  readonly parameters: Record<string, string>
}

const separators = /[ \t,]+/y
const whitespace = /[ \t]+/y
const token = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y
const token68 = /[-._~+/0-9A-Za-z]+=*/y
// Wider than the token it should be: servers forget the quotes around a URL.
const unquoted = /[^ \t,"]+/y

// The list of challenges and the lists of parameters within share the comma (RFC 9110 section 11.6.1): `name =` goes on
// with the challenge at hand, a name without it begins the next one.
class Parser {
  private readonly text: string
  private readonly challenges: Array<Draft>
  private position = 0

  constructor(text: string, challenges: Array<Draft>) {
    this.text = text
    this.challenges = challenges
  }

  run(): void {
    this.take(separators)
    while (this.position < this.text.length) {
      this.element()
      this.skipElement()
      this.take(separators)
    }
  }

  private element(): void {
    const name = this.take(token).toLowerCase()
    if (name === "") return
    const spaced = this.take(whitespace) !== ""
    if (this.text[this.position] === "=") return this.parameterValue(name)
    if (!spaced && !this.isElementEnd()) return
    const challenge: Draft = { scheme: name, parameters: Object.create(null) as Record<string, string> }
    this.challenges.push(challenge)
    const start = this.position
    const credentials = this.take(token68)
    this.take(whitespace)
    if (this.isElementEnd()) {
      if (credentials !== "") challenge.token68 = credentials
      return
    }
    this.position = start
    const parameter = this.take(token).toLowerCase()
    this.take(whitespace)
    if (parameter !== "" && this.text[this.position] === "=") this.parameterValue(parameter)
  }

  private parameterValue(name: string): void {
    this.position++
    this.take(whitespace)
    const isQuoted = this.text[this.position] === "\""
    const value = isQuoted ? this.quotedString() : this.take(unquoted)
    if (value === undefined || (value === "" && !isQuoted)) return
    // A quote or a word right after the value means that the value did not really end there.
    if (this.take(whitespace) === "" && !this.isElementEnd()) return
    const challenge = this.challenges.at(-1)
    if (challenge === undefined) return
    // It was no token68 then, but a name whose value is missing: a challenge has one or the other.
    delete challenge.token68
    if (!Object.hasOwn(challenge.parameters, name)) challenge.parameters[name] = value
  }

  /** `undefined` when it is never closed. */
  private quotedString(): string | undefined {
    let value = ""
    for (this.position++; this.position < this.text.length; this.position++) {
      if (this.text[this.position] === "\"") {
        this.position++
        return value
      }
      if (this.text[this.position] === "\\") this.position++
      value += this.text[this.position] ?? ""
    }
    return undefined
  }

  private skipElement(): void {
    while (!this.isElementEnd()) {
      if (this.text[this.position] === "\"") this.quotedString()
      else this.position++
    }
  }

  private isElementEnd(): boolean {
    return this.position >= this.text.length || this.text[this.position] === ","
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.position
    const taken = pattern.exec(this.text)?.[0] ?? ""
    this.position += taken.length
    return taken
  }
}

/**
 * Reads the value of a `WWW-Authenticate` header, or the values of several. What is malformed is skipped up to the next
 * comma outside quotes, and the rest is kept; nothing makes this fail. Of a parameter given twice the first counts.
 *
 * @category decoding
 * @since 0.1.0
 */
export const parse = (header: string | ReadonlyArray<string>): ReadonlyArray<Challenge> => {
  const challenges: Array<Draft> = []
  for (const value of typeof header === "string" ? [header] : header) new Parser(value, challenges).run()
  return challenges
}
