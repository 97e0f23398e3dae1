import { assert, describe, it } from "@effect/vitest"
import * as RealServers from "@mcp-effect/conformance/RealServers"
import type { Script, Step } from "@mcp-effect/conformance/servers/Script"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as HttpServer from "./HttpServer.ts"
import { cli, start } from "./Spawn.ts"

// Two processes start for each command, on a machine that may be busy.
const patience = 120_000

const words = ({ args, command }: RealServers.Command): ReadonlyArray<string> => ["--", command, ...args]

const everything = words(RealServers.everything)

const scripted = (on: NonNullable<Script["on"]>, start: ReadonlyArray<Step> = []): ReadonlyArray<string> =>
  words(RealServers.scripted({ revision: "2025-11-25", start, on }))

const result = (value: unknown): ReadonlyArray<Step> => [{ kind: "reply", result: value }]

const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "mcp-effect-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
)

const messages = (
  file: string
): ReadonlyArray<{ readonly id?: number; readonly method: string; readonly params?: any }> =>
  fs.readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line))

const assertNoStack = (text: string): void => assert.notMatch(text, /\n\s+at /)

describe("the official everything server", () => {
  it.live("tells and does everything at the terminal", () =>
    Effect.gen(function*() {
      const json = (argv: ReadonlyArray<string>) =>
        Effect.map(cli([...argv, "--output", "json", ...everything]), ({ code, stderr, stdout }) => {
          assert.deepStrictEqual([code, stderr], [0, ""], argv.join(" "))
          return JSON.parse(stdout)
        })
      const info = yield* json(["info"])
      assert.strictEqual(info.serverInfo.name, "mcp-servers/everything")
      assert.strictEqual(info.era, "legacy")
      assert.strictEqual(info.revision, "2025-11-25")
      assert.isAbove(info.times.connectMillis, 0)
      const { tools } = yield* json(["tools"])
      assert.include(tools.map(({ name }: { name: string }) => name), "echo")
      const sum = yield* json(["call", "get-sum", "a=1", "b=2.5"])
      assert.deepStrictEqual(sum.content, [{ type: "text", text: "The sum of 1 and 2.5 is 3.5." }])
      const { prompts } = yield* json(["prompts"])
      assert.include(prompts.map(({ name }: { name: string }) => name), "args-prompt")
      const prompt = yield* json(["prompt", "args-prompt", "city=Berlin"])
      assert.strictEqual(prompt.messages[0].content.text, "What's weather in Berlin?")
      const { resources } = yield* json(["resources"])
      const { contents } = yield* json(["read", resources[0].uri])
      assert.strictEqual(contents[0].uri, resources[0].uri)
      const { resourceTemplates } = yield* json(["templates"])
      assert.include(
        resourceTemplates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate),
        "demo://resource/dynamic/text/{resourceId}"
      )
      const { completion } = yield* json(["complete", "prompt:completable-prompt", "department=E"])
      assert.deepStrictEqual(completion.values, ["Engineering"])
      const ping = yield* json(["ping"])
      assert.isAbove(ping.millis, 0)
    }), patience)

  it.live("echoes", () =>
    Effect.gen(function*() {
      const ended = yield* cli(["call", "echo", "message=hi", ...everything])
      assert.deepStrictEqual(ended, { code: 0, stdout: "Echo: hi\n", stderr: "" })
    }), patience)

  it.live("gets only the variables it is given", () =>
    Effect.gen(function*() {
      const { stdout } = yield* cli(
        ["call", "get-env", "--env", "GIVEN=value", "--env", "PASSED", ...everything],
        { env: { PASSED: "on", SECRET_OF_MINE: "secret" } }
      )
      const env = JSON.parse(stdout)
      assert.deepStrictEqual([env.GIVEN, env.PASSED, env.SECRET_OF_MINE], ["value", "on", undefined])
    }), patience)
})

describe("arguments", () => {
  it.live("come from standard input where --json says so", () =>
    Effect.gen(function*() {
      const server = scripted({})
      const ended = yield* cli(["call", "echo", "--json", "-", ...server], { stdin: "{\"message\":\n[1,\"é\"]}" })
      assert.deepStrictEqual(ended, { code: 0, stdout: "{\"message\":[1,\"é\"]}\n", stderr: "" })
      const wrong = yield* cli(["call", "echo", "--json", "-", ...server], { stdin: "" })
      assert.strictEqual(wrong.code, 2)
      assert.match(wrong.stderr, /^error: Standard input is not JSON: /)
    }), patience)
})

describe("a server over HTTP", () => {
  it.live("gets the headers, whose values are told to nobody else", () =>
    Effect.gen(function*() {
      const server = yield* HttpServer.start((message) => {
        switch (message.method) {
          case "server/discover":
            return HttpServer.discovered
          case "tools/list":
            return HttpServer.tools
          default:
            return { kind: "json", status: 401, body: "", headers: { "www-authenticate": "Bearer realm=\"test\"" } }
        }
      })
      const header = ["--header", "Authorization: Bearer s3cret-value"]
      const tools = yield* cli(["tools", server.url, ...header])
      assert.deepStrictEqual([tools.code, tools.stdout, tools.stderr], [0, "TOOL\nwait\n", ""])
      assert.isTrue(server.received.every(({ headers }) => headers.authorization === "Bearer s3cret-value"))
      const call = yield* cli(["call", "wait", "--url", server.url, "--verbose", ...header])
      assert.strictEqual(call.code, 6)
      assert.include(call.stderr, "  it asks for: bearer realm=\"test\"\n")
      assert.include(
        call.stderr,
        "  hint: sign in: mcp-effect login URL, or give a token: --header \"Authorization: Bearer ...\"\n"
      )
      assert.notInclude(call.stderr, "s3cret-value")
    }), patience)

  it.live("works in both eras", () =>
    Effect.gen(function*() {
      const { url } = yield* RealServers.dualHttp
      for (const [protocol, revision] of [["auto", "2026-07-28"], ["modern", "2026-07-28"], ["legacy", "2025-11-25"]]) {
        const { code, stdout } = yield* cli(["info", url, "--output", "json", "--protocol", protocol ?? ""])
        assert.deepStrictEqual([code, JSON.parse(stdout).revision], [0, revision])
      }
    }), patience)
})

describe("Ctrl-C", () => {
  const recording = fileURLToPath(new URL("./servers/RecordingServer.ts", import.meta.url))

  verifiesLive(
    "PAIN-35",
    "cancels the call on the wire, closes the server and its launcher, and exits with 130",
    () =>
      Effect.gen(function*() {
        const directory = yield* folder
        const pids = path.join(directory, "pids")
        const record = path.join(directory, "record")
        const server = words(
          RealServers.launched(pids, { command: process.execPath, args: [recording, record] })
        )
        const { child, ended, said } = yield* start(["call", "wait", "--verbose", ...server])
        yield* said("got tools/call")
        child.kill("SIGINT")
        const { code, stderr, stdout } = yield* ended
        assert.deepStrictEqual([code, stdout], [130, ""])
        assert.match(stderr, /\nerror: Cancelled\n$/)
        const call = messages(record).find(({ method }) => method === "tools/call")
        const cancelled = messages(record).filter(({ method }) => method === "notifications/cancelled")
        assert.deepStrictEqual(cancelled.map(({ params }) => params.requestId), [call?.id])
        yield* RealServers.allGone(pids)
      }),
    patience
  )

  it.live("closes the stream of a call over HTTP in the modern era", () =>
    Effect.gen(function*() {
      const server = yield* HttpServer.start((message) =>
        message.method === "server/discover"
          ? HttpServer.discovered
          : message.method === "tools/list"
          ? HttpServer.tools
          : { kind: "hang" }
      )
      const { child, ended } = yield* start(["call", "wait", "--url", server.url])
      yield* server.hanging
      child.kill("SIGINT")
      yield* server.abandoned
      assert.deepStrictEqual(yield* ended, { code: 130, stdout: "", stderr: "error: Cancelled\n" })
    }), patience)

  it.live("pressed again, ends everything at once", () =>
    Effect.gen(function*() {
      const directory = yield* folder
      const pids = path.join(directory, "pids")
      const server = words(RealServers.launched(pids, {
        command: process.execPath,
        args: [recording, path.join(directory, "record"), "stubborn"]
      }))
      const { child, ended, said } = yield* start(["call", "wait", "--verbose", ...server])
      yield* said("got tools/call")
      child.kill("SIGINT")
      yield* said("got notifications/cancelled")
      child.kill("SIGINT")
      assert.strictEqual((yield* ended).code, 130)
      yield* RealServers.allGone(pids)
    }), patience)

  it.live("is not the only way to end it", () =>
    Effect.gen(function*() {
      const directory = yield* folder
      const pids = path.join(directory, "pids")
      const record = path.join(directory, "record")
      const server = words(RealServers.launched(pids, { command: process.execPath, args: [recording, record] }))
      for (const [signal, expected] of [["SIGTERM", 143], ["SIGHUP", 129]] as const) {
        fs.writeFileSync(record, "")
        const { child, ended, said } = yield* start(["call", "wait", "--verbose", ...server])
        yield* said("got tools/call")
        child.kill(signal)
        assert.strictEqual((yield* ended).code, expected)
        assert.include(messages(record).map(({ method }) => method), "notifications/cancelled")
        yield* RealServers.allGone(pids)
      }
    }), patience)
})

describe("what goes wrong", () => {
  verifiesLive("PAIN-47", "a command that does not exist", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* cli(["tools", "--", "no-such-command-here", "x"])
      assert.deepStrictEqual([code, stdout], [3, ""])
      assert.match(stderr, /^error: .*The command "no-such-command-here" was not found/)
      assertNoStack(stderr)
      const quoted = yield* cli(["tools", "--", "npx -y some-server"])
      assert.strictEqual(quoted.code, 3)
      assert.match(quoted.stderr, /\n  hint: give the command and its arguments as separate words after --/)
    }), patience)

  verifiesLive("PAIN-37", "a server that ends: its code and its last words are told", () =>
    Effect.gen(function*() {
      const server = scripted({}, [
        { kind: "complain", text: "starting\nFATAL: missing API key\n" },
        { kind: "exit", code: 3 }
      ])
      const { code, stderr, stdout } = yield* cli(["tools", ...server])
      assert.deepStrictEqual([code, stdout], [3, ""])
      assert.match(stderr, /^error: .*exited with code 3/)
      assert.include(stderr, "    starting\n    FATAL: missing API key\n")
      assertNoStack(stderr)
    }), patience)

  verifiesLive(
    "PAIN-40",
    "a server that floods standard error: nothing of it is shown unasked",
    () =>
      Effect.gen(function*() {
        const server = scripted({}, [{ kind: "complain", text: "noise\n", times: 100_000 }])
        const { code, stderr, stdout } = yield* cli(["call", "echo", "message=hi", ...server])
        assert.deepStrictEqual([code, stdout, stderr], [0, "{\"message\":\"hi\"}\n", ""])
      }),
    patience
  )

  it.live("a server that never answers", () =>
    Effect.gen(function*() {
      const server = scripted({ "tools/call": [{ kind: "hang" }] })
      const idle = yield* cli(["call", "echo", "--idle-timeout", "200ms", ...server])
      assert.strictEqual(idle.code, 5)
      assert.include(idle.stderr, "\n  hint: give it more time with --idle-timeout, as in --idle-timeout 5m\n")
      assert.include(idle.stderr, "\n  hint: the tool may have run; check its effect before you repeat the call\n")
      const total = yield* cli(["call", "echo", "--timeout", "200ms", ...server])
      assert.strictEqual(total.code, 5)
      assert.include(total.stderr, "--timeout 30m")
      const connect = yield* cli(["tools", "--connect-timeout", "200ms", ...scripted({ "*": [{ kind: "hang" }] })])
      assert.strictEqual(connect.code, 5)
      assert.include(connect.stderr, "--connect-timeout 2m")
    }), patience)

  it.live("a port where nothing listens", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* cli(["tools", yield* RealServers.refusedUrl])
      assert.strictEqual(code, 3)
      assert.match(stderr, /ECONNREFUSED/)
      assertNoStack(stderr)
    }), patience)

  it.live("HTML instead of JSON", () =>
    Effect.gen(function*() {
      const server = yield* HttpServer.start(() => ({
        kind: "json",
        status: 200,
        body: "<html>\u001b[2JWelcome</html>",
        headers: { "content-type": "text/html" }
      }))
      const { code, stderr, stdout } = yield* cli(["tools", server.url])
      assert.deepStrictEqual([code, stdout], [4, ""])
      assert.match(stderr, /text\/html/)
      assert.include(stderr, "\n  the server said: <html>\\u001b[2JWelcome</html>\n")
      assertNoStack(stderr)
    }), patience)

  it.live("an error of the server, as JSON", () =>
    Effect.gen(function*() {
      const server = scripted({
        "tools/call": [{ kind: "fail", code: -32000, message: "out of\u001b[2J paper", data: { tray: 2 } }]
      })
      const { code, stderr, stdout } = yield* cli(["call", "echo", "--output", "json", ...server])
      assert.deepStrictEqual([code, stdout], [4, ""])
      const { error } = JSON.parse(stderr)
      assert.deepStrictEqual([error.kind, error.exitCode, error.method, error.reason], [
        "ServerError",
        4,
        "tools/call",
        {
          code: -32000,
          excerpt: "out of\\u001b[2J paper",
          data: { tray: 2 }
        }
      ])
    }), patience)

  it.live("a tool that fails", () =>
    Effect.gen(function*() {
      const server = scripted({
        "tools/call": result({ content: [{ type: "text", text: "no such file" }], isError: true })
      })
      assert.deepStrictEqual(yield* cli(["call", "echo", ...server]), {
        code: 1,
        stdout: "no such file\n",
        stderr: "error: The tool echo reported an error\n"
      })
    }), patience)
})

describe("standard output", () => {
  const length = 5_000_000
  const large = HttpServer.start((message) =>
    message.method === "server/discover"
      ? HttpServer.discovered
      : HttpServer.reply({ content: [{ type: "text", text: "x".repeat(length) }] })
  )

  it.live("is written to the end however large it is", () =>
    Effect.gen(function*() {
      const server = yield* large
      const { code, stdout } = yield* cli(["call", "wait", "--json", "{}", "--url", server.url])
      assert.deepStrictEqual([code, stdout.length], [0, length + 1])
    }), patience)

  it.live("may be closed by its reader", () =>
    Effect.gen(function*() {
      const server = yield* large
      const { child, ended } = yield* start(["call", "wait", "--json", "{}", "--url", server.url])
      child.stdout?.destroy()
      const { code, stderr } = yield* ended
      assert.deepStrictEqual([code, stderr], [0, ""])
    }), patience)
})
