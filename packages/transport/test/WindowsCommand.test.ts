import { assert, describe, it } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as ChildProcess from "effect/process/ChildProcess"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Launch from "../src/internal/Launch.ts"
import * as WindowsCommand from "../src/internal/WindowsCommand.ts"

const diskWith = (...files: ReadonlyArray<string>): FileSystem.FileSystem =>
  FileSystem.makeNoop({ exists: (path) => Effect.succeed(files.includes(path)) })

const locate = (
  command: string,
  files: ReadonlyArray<string>,
  more: { readonly cwd?: string; readonly extensions?: string } = {}
) =>
  WindowsCommand.locate(diskWith(...files), {
    command,
    cwd: more.cwd,
    searched: ["C:\\nodejs", "C:\\tools"],
    extensions: more.extensions
  })

const special = "()[]%!^\"`<>&|;, *?"

/** What `cmd.exe` makes of a line outside of quotes. Nothing in it may mean anything to it. */
const readByCmd = (line: string): string =>
  line.replace(/\^(.)|./g, (character, escaped) => {
    if (escaped !== undefined) return escaped
    if (character !== " " && special.includes(character)) assert.fail(`a bare ${character} in ${line}`)
    return character
  })

/** How a program takes its command line apart (the C run-time library of Windows). */
const splitByProgram = (line: string): ReadonlyArray<string> => {
  const args: Array<string> = []
  let current: string | undefined
  let quoted = false
  for (let at = 0; at < line.length; at++) {
    const slashes = /^\\*/.exec(line.slice(at))?.[0].length ?? 0
    if (slashes > 0) {
      const beforeQuote = line[at + slashes] === "\""
      current = (current ?? "") + "\\".repeat(beforeQuote ? Math.floor(slashes / 2) : slashes)
      at += slashes - 1
      if (beforeQuote && slashes % 2 === 1) {
        current += "\""
        at++
      }
    } else if (line[at] === "\"") {
      quoted = !quoted
      current ??= ""
    } else if (line[at] === " " && !quoted) {
      if (current !== undefined) args.push(current)
      current = undefined
    } else {
      current = (current ?? "") + line[at]
    }
  }
  return current === undefined ? args : [...args, current]
}

const file = "C:\\nodejs\\npx.cmd"

describe("WindowsCommand", () => {
  verifies(
    "PAIN-47",
    "a name is looked up in each directory of PATH, with each extension of PATHEXT",
    () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* locate("npx", ["C:\\nodejs\\npx", "C:\\nodejs\\npx.cmd"]), "C:\\nodejs\\npx.cmd")
        assert.strictEqual(yield* locate("uvx", ["C:\\tools\\uvx.exe"]), "C:\\tools\\uvx.exe")
        assert.strictEqual(yield* locate("x", ["C:\\tools\\x.exe", "C:\\nodejs\\x.cmd"]), "C:\\nodejs\\x.cmd")
        assert.strictEqual(yield* locate("x", ["C:\\tools\\x.exe", "C:\\tools\\x.cmd"]), "C:\\tools\\x.exe")
        assert.strictEqual(
          yield* locate("x", ["C:\\tools\\x.exe", "C:\\tools\\x.cmd"], { extensions: ".CMD;.PS1;.EXE" }),
          "C:\\tools\\x.cmd"
        )
        assert.strictEqual(yield* locate("npx.cmd", ["C:\\nodejs\\npx.cmd"]), "C:\\nodejs\\npx.cmd")
        assert.strictEqual(yield* locate("server.v2", ["C:\\tools\\server.v2.exe"]), "C:\\tools\\server.v2.exe")
        assert.strictEqual(yield* locate("x", ["C:\\tools\\x.ps1"], { extensions: ".PS1" }), undefined)
        assert.strictEqual(yield* locate("absent", []), undefined)
      })
  )

  verifies(
    "PAIN-47",
    "a path is taken from the working directory, and searched for nowhere else",
    () =>
      Effect.gen(function*() {
        assert.strictEqual(
          yield* locate("bin\\x", ["D:\\work\\bin\\x.cmd"], { cwd: "D:\\work" }),
          "D:\\work\\bin\\x.cmd"
        )
        assert.strictEqual(yield* locate("C:\\a\\x.exe", ["C:\\a\\x.exe"], { cwd: "D:\\work" }), "C:\\a\\x.exe")
        assert.strictEqual(yield* locate("bin/x", ["bin/x.bat"]), "bin/x.bat")
        assert.strictEqual(yield* locate(".\\x", ["C:\\tools\\.\\x.exe"]), undefined)
      })
  )

  verifiesPure(
    "PAIN-47",
    "arguments for a batch file are quoted for both readings, plain ones stay as they are",
    () => {
      assert.strictEqual(WindowsCommand.batchScript(file, ["-y", "@scope/server@1.0"]), `${file} -y @scope/server@1.0`)
      assert.strictEqual(WindowsCommand.batchScript(file, ["a b"]), `${file} ^^^"a^^^ b^^^"`)
      assert.strictEqual(WindowsCommand.batchScript(file, [""]), `${file} ^^^"^^^"`)
      assert.strictEqual(WindowsCommand.batchScript("C:\\Program Files\\npx.cmd", []), "C:\\Program^ Files\\npx.cmd")
      for (const line of ["a\nb", "a\rb", "a\0b"]) assert.isUndefined(WindowsCommand.batchScript(file, [line]))
    }
  )

  verifies(
    "PAIN-47",
    "whatever an argument holds, it reaches the program as it is, and means nothing to cmd.exe",
    () => {
      const pieces = Schema.Literals([
        "a",
        "\\",
        "\"",
        " ",
        "&",
        "|",
        "%",
        "PATH",
        "^",
        "!",
        "<",
        ">",
        "(",
        "é",
        "'",
        ","
      ])
      const args = Arbitrary.array(Arbitrary.array(Arbitrary.schema(pieces), { maxLength: 8 }), { maxLength: 4 })
      return Effect.map(
        Arbitrary.checkEffect(args, (args) =>
          Effect.sync(() => {
            const texts = args.map((each) => each.join(""))
            const script = WindowsCommand.batchScript("npx.cmd", texts) ?? assert.fail("refused")
            // Once as the line that starts the batch file, once more where the batch file hands its arguments on.
            const [name, ...rest] = splitByProgram(readByCmd(`npx.cmd${readByCmd(script).slice("npx.cmd".length)}`))
            assert.deepStrictEqual([name, ...rest], ["npx.cmd", ...texts])
            return true
          }), { runs: 500 }),
        (result) => assert.strictEqual(Arbitrary.formatCheckFailure(result), undefined)
      )
    }
  )
})

describe("Launch", () => {
  const launch = (
    command: string,
    args: ReadonlyArray<string | Redacted.Redacted>,
    fileSystem: FileSystem.FileSystem | undefined,
    platform = "win32"
  ) =>
    Effect.map(
      Launch.make({
        command,
        args,
        platform,
        cwd: undefined,
        searched: ["C:\\nodejs"],
        settings: { env: {} },
        fileSystem
      }),
      (command) => command as ChildProcess.StandardCommand
    )

  it.effect("a batch file is a script for cmd.exe, a program is started as it was found", () =>
    Effect.gen(function*() {
      const batch = yield* launch("npx", ["-y", Redacted.make("a b")], diskWith(file))
      assert.deepStrictEqual([batch.command, batch.args, batch.options.shell], [`${file} -y ^^^"a^^^ b^^^"`, [], true])
      const program = yield* launch("uvx", ["a b"], diskWith("C:\\nodejs\\uvx.exe"))
      assert.deepStrictEqual([program.command, program.args, program.options.shell], [
        "C:\\nodejs\\uvx.exe",
        ["a b"],
        undefined
      ])
    }))

  it.effect("fails where nothing is found, or an argument cannot be given", () =>
    Effect.gen(function*() {
      const absent = yield* Effect.flip(launch("npx", [], diskWith()))
      assert.deepInclude(absent, { problem: "not-found", command: "npx", searched: ["C:\\nodejs"] })
      const refused = yield* Effect.flip(launch("npx", ["a\nb"], diskWith(file)))
      assert.strictEqual(refused.problem, "other")
    }))

  it.effect("nothing is searched for without a file system, or elsewhere than on Windows", () =>
    Effect.gen(function*() {
      const without = yield* launch("npx", ["-y"], undefined)
      const elsewhere = yield* launch("npx", ["-y"], diskWith(file), "linux")
      for (const { args, command, options } of [without, elsewhere]) {
        assert.deepStrictEqual([command, args, options.shell], ["npx", ["-y"], undefined])
      }
    }))
})
