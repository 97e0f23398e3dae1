import { assert, describe, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { resolve, type Target, type Words } from "../src/Target.ts"

const none: Words = {
  afterDashes: undefined,
  url: undefined,
  positional: undefined,
  headers: [],
  env: [],
  cwd: undefined
}

const target = (words: Partial<Words>, environment: NodeJS.ProcessEnv = {}): Target =>
  Result.getOrThrow(resolve({ ...none, ...words }, environment))

const problem = (words: Partial<Words>, environment: NodeJS.ProcessEnv = {}): string =>
  Result.getOrThrow(Result.flip(resolve({ ...none, ...words }, environment))).message

const values = (map: ReadonlyMap<string, Redacted.Redacted>): ReadonlyArray<readonly [string, string]> =>
  Array.from(map, ([name, value]) => [name, Redacted.value(value)])

describe("the place of the server", () => {
  it("is a command after the dashes, with its own flags", () => {
    assert.deepStrictEqual(target({ afterDashes: ["npx", "-y", "some-server", "--header"], cwd: "/tmp" }), {
      _tag: "Command",
      command: "npx",
      args: ["-y", "some-server", "--header"],
      env: new Map(),
      cwd: "/tmp"
    })
  })

  it("is a URL after the dashes, in --url or behind the command", () => {
    const expected: Target = { _tag: "Url", url: "https://h.example/mcp", headers: new Map() }
    assert.deepStrictEqual(target({ afterDashes: ["https://h.example/mcp"] }), expected)
    assert.deepStrictEqual(target({ url: "https://h.example/mcp" }), expected)
    assert.deepStrictEqual(target({ positional: "https://h.example/mcp" }), expected)
  })

  it("must be given, once", () => {
    assert.strictEqual(problem({}), "No server is given")
    assert.strictEqual(problem({ afterDashes: [] }), "Nothing stands after --")
    assert.strictEqual(
      problem({ afterDashes: ["npx"], url: "https://h.example" }),
      "The server is given more than once"
    )
    assert.strictEqual(
      problem({ positional: "https://a.example", url: "https://b.example" }),
      "The server is given more than once"
    )
  })

  it("is refused where it is neither", () => {
    assert.strictEqual(problem({ positional: "npx" }), "Unexpected argument: npx")
    assert.strictEqual(problem({ url: "localhost:3000/mcp" }), "Not the URL of a server: localhost:3000/mcp")
    assert.strictEqual(problem({ url: "http://" }), "Not a valid URL: http://")
    assert.strictEqual(
      problem({ afterDashes: ["https://h.example/mcp", "-y"] }),
      "Nothing may follow the URL https://h.example/mcp, but -y does"
    )
  })
})

describe("headers", () => {
  const headers = (...words: ReadonlyArray<string>) => {
    const found = target({ url: "https://h.example/mcp", headers: words })
    return found._tag === "Url" ? values(found.headers) : []
  }

  it("are split at the first colon and trimmed", () => {
    assert.deepStrictEqual(headers("Authorization: Bearer a:b", "X-Empty:"), [
      ["Authorization", "Bearer a:b"],
      ["X-Empty", ""]
    ])
  })

  it("do not show their values", () => {
    const found = target({ url: "https://h.example/mcp", headers: ["Authorization: Bearer secret"] })
    assert.notInclude(JSON.stringify(found._tag === "Url" ? Array.from(found.headers) : []), "secret")
  })

  it("are refused where they are none, without quoting them", () => {
    const of = (...words: ReadonlyArray<string>) => problem({ url: "https://h.example/mcp", headers: words })
    assert.strictEqual(of("Authorization Bearer secret"), "A --header is not of the form \"Name: value\"")
    assert.strictEqual(of("Not a name: secret"), "A --header is not of the form \"Name: value\"")
    assert.strictEqual(
      of("X-Token: sec\nret"),
      "The value of --header X-Token has characters that a header cannot carry"
    )
    assert.strictEqual(of("X-Token: a", "x-token: b"), "The header x-token is given twice")
    assert.strictEqual(
      problem({ afterDashes: ["npx"], headers: ["X-Token: a"] }),
      "--header goes with a URL, and the server is given by its command"
    )
  })
})

describe("variables", () => {
  const env = (words: ReadonlyArray<string>, environment: NodeJS.ProcessEnv) => {
    const found = target({ afterDashes: ["npx"], env: words }, environment)
    return found._tag === "Command" ? values(found.env) : []
  }

  it("have the value that is given, or the one of this process", () => {
    assert.deepStrictEqual(env(["A=1=2", "B=", "TOKEN"], { TOKEN: "secret" }), [
      ["A", "1=2"],
      ["B", ""],
      ["TOKEN", "secret"]
    ])
  })

  it("are refused where there is no value, no name or no process", () => {
    assert.strictEqual(problem({ afterDashes: ["npx"], env: ["TOKEN"] }), "The variable TOKEN is not set here")
    assert.strictEqual(problem({ afterDashes: ["npx"], env: ["=x"] }), "An --env is not of the form NAME=value or NAME")
    assert.strictEqual(
      problem({ url: "https://h.example", env: ["A=1"] }),
      "--env goes with a command, and the server is given by its URL"
    )
    assert.strictEqual(
      problem({ url: "https://h.example", cwd: "/" }),
      "--cwd goes with a command, and the server is given by its URL"
    )
  })
})
