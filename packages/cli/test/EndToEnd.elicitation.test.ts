import { assert, describe, it } from "@effect/vitest"
import * as RealServers from "@mcp-effect/conformance/RealServers"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as HttpServer from "./HttpServer.ts"
import { bin, cli, start } from "./Spawn.ts"

const patience = 120_000

const everything = ["--", RealServers.everything.command, ...RealServers.everything.args]

/** What the everything server tells that it heard. */
const heard = (stdout: string): unknown => JSON.parse(/Raw result: (\{.*\})/s.exec(stdout)?.[1] ?? "null")

describe("the official everything server", () => {
  verifiesLive(
    "ELI-12",
    "hears the answers of the command line and the defaults",
    () =>
      Effect.gen(function*() {
        const { code, stdout } = yield* cli([
          "call",
          "trigger-elicitation-request",
          ...["name=Ada", "check=true", "integer=7", "untitledMultipleSelectEnum=[\"Piano\",\"Bass\"]"]
            .flatMap((answer) => ["--answer", answer]),
          ...everything
        ])
        assert.strictEqual(code, 0)
        assert.deepStrictEqual(heard(stdout), {
          action: "accept",
          content: {
            name: "Ada",
            check: true,
            firstLine: "It was a dark and stormy night.",
            integer: 7,
            number: 3.14,
            untitledSingleSelectEnum: "Monica",
            untitledMultipleSelectEnum: ["Piano", "Bass"],
            titledSingleSelectEnum: "hero-1",
            titledMultipleSelectEnum: ["fish-1"],
            legacyTitledEnum: "pet-1"
          }
        })
        const declined = yield* cli(["call", "trigger-elicitation-request", "--yes", ...everything])
        assert.strictEqual(declined.code, 0)
        assert.deepStrictEqual(heard(declined.stdout), { action: "decline" })
        assert.include(declined.stderr, "Declined: The form requires name: --answer name=VALUE\n")
      }),
    patience
  )

  it.live("offers what asks only to those who can be asked", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* cli(["call", "trigger-elicitation-request", ...everything])
      assert.strictEqual(code, 2)
      assert.match(stderr, /^error: The server lists no tool trigger-elicitation-request\n/)
    }), patience)

  it.live("has pages visited, asked for by a request and by an error", () =>
    Effect.gen(function*() {
      const call = ["call", "trigger-url-elicitation", "url=https://example.com/start", "--yes"]
      for (const errorPath of ["errorPath=false", "errorPath=true"]) {
        const { code, stderr, stdout } = yield* cli([...call, errorPath, ...everything])
        assert.strictEqual(code, 0)
        assert.deepStrictEqual(heard(stdout), { action: "accept" })
        assert.include(stderr, "  URL:    https://example.com/start\n  Domain: example.com\n  Accepted.\n")
      }
    }), patience)
})

describe("a modern server", () => {
  const question = {
    who: {
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "Who?",
        requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
      }
    }
  }
  const serve = HttpServer.start((message) => {
    switch (message.method) {
      case "server/discover":
        return HttpServer.discovered
      case "tools/list":
        return HttpServer.tools
      default:
        return message.params?.inputResponses === undefined
          ? {
            kind: "result",
            result: { resultType: "input_required", inputRequests: question, requestState: "opaque" }
          }
          : HttpServer.reply({ content: [{ type: "text", text: JSON.stringify(message.params.inputResponses) }] })
    }
  })

  it.live("is answered in the next round", () =>
    Effect.gen(function*() {
      const { received, url } = yield* serve
      const { code, stdout } = yield* cli(["call", "wait", "--answer", "name=Ada", "--url", url])
      assert.deepStrictEqual([code, JSON.parse(stdout)], [0, { who: { action: "accept", content: { name: "Ada" } } }])
      const capabilities = received.at(-1)?.params._meta["io.modelcontextprotocol/clientCapabilities"]
      assert.deepStrictEqual(capabilities, { elicitation: { form: {} } })
    }), patience)

  it.live("that asks all the same is told of in an error, with what to do", () =>
    Effect.gen(function*() {
      const { received, url } = yield* serve
      const { code, stderr, stdout } = yield* cli(["call", "wait", "--url", url])
      assert.deepStrictEqual([code, stdout], [4, ""])
      assert.include(stderr, "\n  hint: run it at a terminal to be asked, or answer with --yes or --answer key=value\n")
      assert.deepStrictEqual(received.at(-1)?.params._meta["io.modelcontextprotocol/clientCapabilities"], {})
    }), patience)
})

// Gives a process a terminal; other systems have another program of that name.
const terminalProgram = "script"
const script = spawnSync(terminalProgram, ["--version"], { encoding: "utf8" })

if (script.status === 0 && script.stdout.includes("util-linux")) {
  describe("at a terminal", () => {
    const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

    /** Runs the command line at a terminal, which is its standard error and its input; results go to a file. */
    const atTerminal = (argv: ReadonlyArray<string>) =>
      Effect.gen(function*() {
        const directory = yield* Effect.acquireRelease(
          Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "mcp-effect-"))),
          (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
        )
        const results = path.join(directory, "results")
        const words = [process.execPath, "--conditions=@mcp-effect/source", bin, ...argv].map(quote)
        const running = yield* start([], {
          env: { TERM: "xterm" },
          command: [terminalProgram, "-qec", `${words.join(" ")} > ${quote(results)}`, "/dev/null"]
        })
        return {
          press: (keys: string) => Effect.sync(() => running.child.stdin?.write(keys)),
          shows: running.printed,
          ended: Effect.map(running.ended, ({ code }) => ({ code, results: fs.readFileSync(results, "utf8") }))
        }
      })

    it.live("a person is asked there, and results stay apart", () =>
      Effect.gen(function*() {
        const { ended, press, shows } = yield* atTerminal([
          "call",
          "simulate-research-query",
          "topic=python",
          "ambiguous=true",
          ...everything
        ])
        yield* shows("Answer?")
        yield* press("\r")
        yield* shows("Clarification")
        yield* press("\t\r")
        yield* shows("Send this answer?")
        yield* press("\r")
        const { code, results } = yield* ended
        assert.strictEqual(code, 0)
        assert.match(results, /^# Research Report: python \(snake\)\n/)
      }), patience)

    it.live("Escape cancels the question, Ctrl-C the call", () =>
      Effect.gen(function*() {
        const left = yield* atTerminal(["call", "trigger-elicitation-request", ...everything])
        yield* left.shows("Answer?")
        yield* left.press("\u001b")
        const { code, results } = yield* left.ended
        assert.deepStrictEqual([code, heard(results)], [0, { action: "cancel" }])
        const ended = yield* atTerminal(["call", "trigger-elicitation-request", ...everything])
        yield* ended.shows("Answer?")
        yield* ended.press("\u0003")
        assert.deepStrictEqual(yield* ended.ended, { code: 130, results: "" })
      }), patience)
  })
}
