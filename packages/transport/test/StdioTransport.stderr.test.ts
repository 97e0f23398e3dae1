import { assert, describe } from "@effect/vitest"
import { verifiesLive, verifiesPure } from "@mcp-effect/conformance/Verifies"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import { execFile } from "node:child_process"
import * as Stderr from "../src/internal/Stderr.ts"
import { fixture, start } from "./StdioServer.ts"

const utf8 = new TextEncoder()

describe("StdioTransport: stderr", () => {
  for (const stderr of ["capture", "ignore"] as const) {
    verifiesLive(
      "PAIN-39",
      `a flood before the answer does not block the server (${stderr})`,
      () =>
        Effect.gen(function*() {
          const { request } = yield* start({ stderr })
          assert.deepStrictEqual(yield* request("complain", { text: `${"x".repeat(99)}\n`, times: 14_000 }), {})
        })
    )
  }

  verifiesLive(
    ["PAIN-40", "STD-05"],
    "lines are logged at debug level with the server's name, and given to onStderr",
    () =>
      Effect.gen(function*() {
        const logged: Array<readonly [level: string, message: unknown, server: unknown]> = []
        const logger = Logger.make(({ fiber, logLevel, message }) => {
          logged.push([logLevel, message, fiber.getRef(References.CurrentLogAnnotations)["server"]])
        })
        const lines: Array<string> = []
        const text = Array.from({ length: 1_000 }, (_, index) => `line ${index}\n`).join("")
        yield* Effect.scoped(Effect.gen(function*() {
          const { request } = yield* start({ onStderr: (line) => Effect.sync(() => lines.push(line)) })
          yield* request("complain", { text: `${text}\u001b[31mred\u2028` })
        })).pipe(
          Effect.provide(Logger.layer([logger])),
          Effect.provideService(References.MinimumLogLevel, "Debug")
        )
        const expected = [...Array.from({ length: 1_000 }, (_, index) => `line ${index}`), "\\u001b[31mred\\u2028"]
        assert.deepStrictEqual(lines, expected)
        assert.deepStrictEqual(logged, expected.map((line) => ["Debug", [`stderr: ${line}`], process.execPath]))
      })
  )

  verifiesLive("PAIN-39", "a callback that dies is reported, and stderr is read on", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.make(({ logLevel }) => {
        logged.push(logLevel)
      })
      yield* Effect.scoped(Effect.gen(function*() {
        const { request } = yield* start({ onStderr: () => Effect.die("a defect") })
        yield* request("complain", { text: "one\ntwo\n" })
        yield* request("complain", { text: `${"x".repeat(99)}\n`, times: 5_000 })
      })).pipe(Effect.provide(Logger.layer([logger])))
      assert.strictEqual(logged.length, 5_002)
    }))

  const terminalOf = (mode: string) =>
    Effect.promise(() =>
      new Promise<{ readonly stdout: string; readonly stderr: string }>((resolve, reject) => {
        execFile(
          process.execPath,
          ["--conditions=@mcp-effect/source", fixture("host.mjs"), mode],
          (error, stdout, stderr) => error === null ? resolve({ stdout, stderr }) : reject(error)
        )
      })
    )

  verifiesLive(
    "PAIN-40",
    "nothing reaches the terminal unless asked for, nor keeps the program from its end",
    () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* terminalOf("default"), { stdout: "", stderr: "" })
        assert.deepStrictEqual(yield* terminalOf("ignore"), { stdout: "", stderr: "" })
        assert.deepStrictEqual(yield* terminalOf("inherit"), { stdout: "", stderr: "a complaint\n" })
      }),
    60_000
  )

  verifiesLive(
    ["PAIN-37", "ERR-08"],
    "secrets that the server was given are left out, and 4 kB are kept",
    () =>
      Effect.gen(function*() {
        const lines: Array<string> = []
        const { request } = yield* start({
          env: { API_KEY: Redacted.make("sk-1234567890"), REGION: "eu-central" },
          onStderr: (line) => Effect.sync(() => lines.push(line))
        })
        const error = yield* Effect.flip(
          request("exit", { code: 1, stderr: `${"x".repeat(20_000)}\nbad key sk-1234567890 for eu-central` })
        )
        if (error.reason._tag !== "ConnectionClosed") return assert.fail(`${error}`)
        const end = "\\nbad key <redacted> for eu-central"
        assert.isTrue(error.reason.stderr?.endsWith(end))
        assert.isAtMost(error.reason.stderr?.length ?? 0, 4_096)
        assert.isAbove(error.reason.stderr?.length ?? 0, 4_000)
        assert.deepStrictEqual(lines, ["x".repeat(20_000), "bad key <redacted> for eu-central"])
      })
  )
})

describe("Stderr", () => {
  const feed = (stderr: Stderr.Stderr, ...texts: ReadonlyArray<string>): ReadonlyArray<string> =>
    texts.flatMap((text) => stderr.feed(utf8.encode(text)))

  verifiesPure("STD-05", "gives lines, the last one at the end, and an endless one in pieces of 64 KiB", () => {
    const stderr = Stderr.make([])
    assert.deepStrictEqual(feed(stderr, "a\r\n\nb", "c\nrest"), ["a", "", "bc"])
    assert.deepStrictEqual(stderr.end(), ["rest"])
    assert.deepStrictEqual(stderr.end(), [])
    const piece = 65_536
    assert.deepStrictEqual(
      feed(stderr, ...Array.from({ length: 20 }, () => "x".repeat(10_000))).map(({ length }) => length),
      [piece, piece, piece]
    )
    assert.deepStrictEqual(stderr.end().map(({ length }) => length), [200_000 - 3 * piece])
  })

  verifiesPure("STD-04", "a character that is cut by a read is read whole", () => {
    const stderr = Stderr.make([])
    const bytes = utf8.encode("é\u{1f600}\n")
    assert.deepStrictEqual(Array.from(bytes).flatMap((byte) => stderr.feed(Uint8Array.of(byte))), ["é\u{1f600}"])
  })

  verifiesPure("ERR-08", "hides secrets, each line of them, also one that is cut in two by the limit", () => {
    const stderr = Stderr.make(["top-secret", "first line\nsecond line", "abc"])
    assert.deepStrictEqual(feed(stderr, "a top-secret b\nsecond line\nabc\n"), ["a <redacted> b", "<redacted>", "abc"])
    assert.deepStrictEqual(feed(Stderr.make(["sk-12", "sk-123456"]), "key sk-123456\n"), ["key <redacted>"])
    // A piece of an endless line ends inside the secret.
    const endless = Stderr.make(["top-secret"])
    const pieces = [...feed(endless, `${"x".repeat(65_530)}top-se`, "cret", "y".repeat(100)), ...endless.end()]
    assert.strictEqual(pieces.join(""), `${"x".repeat(65_530)}<redacted>${"y".repeat(100)}`)
    // What is kept begins inside the secret.
    const cut = Stderr.make(["top-secret"])
    feed(cut, "top-secret", "y".repeat(4_100))
    assert.strictEqual(cut.tail(), "y".repeat(4_096))
  })

  verifiesPure("STD-05", "keeps the last 4 kB, whatever comes in what pieces", () => {
    const stderr = Stderr.make([])
    for (let index = 0; index < 100; index++) feed(stderr, String(index % 10).repeat(100))
    const all = Array.from({ length: 100 }, (_, index) => String(index % 10).repeat(100)).join("")
    assert.strictEqual(stderr.tail(), all.slice(-4_096))
  })
})
