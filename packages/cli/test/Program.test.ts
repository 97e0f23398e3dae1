import { assert, describe, it } from "@effect/vitest"
import type { McpClient } from "@mcp-effect/client"
import { McpError, Revision, type Tool } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Invocation from "../src/Invocation.ts"
import { version } from "../src/Version.ts"
import { run } from "./Run.ts"

const echo: Tool.Tool = {
  name: "echo",
  description: "Gives back its message",
  inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] }
}

const echoing: Partial<McpClient.McpClient> = {
  listTools: () => Effect.succeed([echo]),
  callTool: (name, args) => Effect.succeed({ content: [{ type: "text", text: JSON.stringify({ name, args }) }] })
}

const untouched: Partial<McpClient.McpClient> = {}

const server = ["--", "npx", "-y", "some-server"]

describe("an invocation", () => {
  it("is split at the first --", () => {
    assert.deepStrictEqual(Invocation.read(["call", "echo", "--", "npx", "--", "x"]), {
      words: ["call", "echo"],
      afterDashes: ["npx", "--", "x"],
      format: "text"
    })
  })

  it("says how to write errors before anything else is understood", () => {
    const format = (...argv: ReadonlyArray<string>) => Invocation.read(argv).format
    assert.strictEqual(format("tools", "--output", "json", "--bogus"), "json")
    assert.strictEqual(format("tools", "--output=json"), "json")
    assert.strictEqual(format("tools", "-o", "json"), "json")
    assert.strictEqual(format("tools", "-o=json"), "json")
    assert.strictEqual(format("tools", "--", "--output", "json"), "text")
    assert.strictEqual(format("tools", "--output", "json", "--output", "text"), "text")
  })
})

describe("the server on the command line", () => {
  it.effect("is a command after the dashes", () =>
    Effect.gen(function*() {
      const { code, stdout, targets } = yield* run(
        ["call", "echo", "message=hi", "--env", "A=1", "--cwd", "/tmp", ...server, "--header", "x"],
        echoing
      )
      assert.strictEqual(code, 0)
      assert.strictEqual(stdout, "{\"name\":\"echo\",\"args\":{\"message\":\"hi\"}}\n")
      const [target] = targets
      assert.strictEqual(target?._tag, "Command")
      if (target?._tag !== "Command") return
      assert.deepStrictEqual([target.command, target.args, target.cwd, Array.from(target.env.keys())], [
        "npx",
        ["-y", "some-server", "--header", "x"],
        "/tmp",
        ["A"]
      ])
    }))

  it.effect("is a URL in any of its places", () =>
    Effect.gen(function*() {
      for (
        const argv of [
          ["tools", "https://h.example/mcp"],
          ["tools", "--url", "https://h.example/mcp"],
          ["--url=https://h.example/mcp", "tools"],
          ["tools", "--", "https://h.example/mcp"]
        ]
      ) {
        const { code, targets } = yield* run([...argv.slice(0, 1), "-H", "A: b", ...argv.slice(1)], echoing)
        assert.strictEqual(code, 0, argv.join(" "))
        const [target] = targets
        assert.deepStrictEqual(target?._tag === "Url" ? [target.url, Array.from(target.headers.keys())] : target, [
          "https://h.example/mcp",
          ["A"]
        ])
      }
    }))

  it.effect("is not started for a command line that cannot be carried out", () =>
    Effect.gen(function*() {
      const wrong: ReadonlyArray<readonly [argv: ReadonlyArray<string>, message: string]> = [
        [["bogus", ...server], "Unknown subcommand \"bogus\" for \"mcp-effect\""],
        [["tools"], "No server is given"],
        [["tools", "npx"], "Unexpected argument: npx"],
        [["tools", "--bogus", ...server], "Unrecognized flag: --bogus in command mcp-effect tools"],
        [["call", ...server], "Missing required argument: tool"],
        [
          ["call", "echo", "a=1", "--json", "{}", ...server],
          "The arguments are given twice: by --json and as key=value"
        ],
        [["call", "echo", "--json", "[]", ...server], "The value of --json is not a JSON object"],
        [["prompt", "p", "words", ...server], "Not an argument: words"],
        [["complete", "thing:p", "a=", ...server], "Not a reference: thing:p"],
        [
          ["tools", "--timeout", "30", ...server],
          "Invalid value for flag --timeout: \"30\". Expected: a time with its unit, such as 500ms, 30s, 5m or 1h, or infinity"
        ]
      ]
      for (const [argv, message] of wrong) {
        const { code, stderr, stdout, targets } = yield* run(argv, untouched)
        assert.deepStrictEqual([code, stdout, stderr.split("\n")[0], targets], [2, "", `error: ${message}`, []])
      }
    }))
})

describe("call", () => {
  it.effect("sends what --json says as it is, without asking for the definition", () =>
    Effect.gen(function*() {
      const { code, stdout } = yield* run(["call", "hidden", "--json", "{\"a\":{\"b\":[1]}}", ...server], {
        callTool: echoing.callTool!
      })
      assert.strictEqual(code, 0)
      assert.strictEqual(stdout, "{\"name\":\"hidden\",\"args\":{\"a\":{\"b\":[1]}}}\n")
    }))

  it.effect("knows the tools of the server and their arguments", () =>
    Effect.gen(function*() {
      const unknown = yield* run(["call", "ehco", "message=hi", ...server], { listTools: echoing.listTools! })
      assert.strictEqual(unknown.code, 2)
      assert.strictEqual(unknown.stderr, "error: The server lists no tool ehco\n  hint: it lists: echo\n")
      const missing = yield* run(["call", "echo", ...server], { listTools: echoing.listTools! })
      assert.strictEqual(missing.code, 2)
      assert.strictEqual(
        missing.stderr,
        "error: The tool echo requires message\n  hint: it is called so: echo message=<string>\n"
      )
    }))

  it.effect("shows what a failing tool says and exits with 1", () =>
    Effect.gen(function*() {
      const failing: Partial<McpClient.McpClient> = {
        callTool: () => Effect.succeed({ content: [{ type: "text", text: "no such file" }], isError: true })
      }
      const text = yield* run(["call", "read", "--json", "{}", ...server], failing)
      assert.deepStrictEqual([text.code, text.stdout, text.stderr], [
        1,
        "no such file\n",
        "error: The tool read reported an error\n"
      ])
      const json = yield* run(["call", "read", "--json", "{}", "-o", "json", ...server], failing)
      assert.deepStrictEqual([json.code, json.stdout, json.stderr], [
        1,
        "{\"content\":[{\"type\":\"text\",\"text\":\"no such file\"}],\"isError\":true}\n",
        ""
      ])
    }))

  it.effect("escapes the server's text on a terminal alone", () =>
    Effect.gen(function*() {
      const hostile: Partial<McpClient.McpClient> = {
        callTool: () => Effect.succeed({ content: [{ type: "text", text: "a\u001b[2J\nb" }] })
      }
      const argv = ["call", "x", "--json", "{}", ...server]
      assert.strictEqual((yield* run(argv, hostile)).stdout, "a\u001b[2J\nb\n")
      assert.strictEqual((yield* run(argv, hostile, { columns: 80 })).stdout, "a\\u001b[2J\nb\n")
    }))

  it.effect("draws a bar only while a long call lasts, and only on a terminal", () =>
    Effect.gen(function*() {
      const slow: Partial<McpClient.McpClient> = {
        callTool: (_name, _args, options) =>
          Effect.gen(function*() {
            yield* Effect.sleep(1_000)
            yield* options?.onProgress?.({ progressToken: 1, progress: 1, total: 2, message: "half" }) ?? Effect.void
            yield* Effect.sleep(1_000)
            return { content: [{ type: "text", text: "done" }] }
          })
      }
      const argv = ["call", "slow", "--json", "{}", ...server]
      const onTerminal = yield* Effect.forkChild(run(argv, slow, { statusColumns: 80 }))
      yield* TestClock.adjust("2 seconds")
      const { statuses, stdout } = yield* Fiber.join(onTerminal)
      assert.strictEqual(stdout, "done\n")
      // First at 400 ms, then each 100 ms.
      assert.strictEqual(statuses.find((status) => status !== undefined), "⠼ slow  400 ms")
      assert.include(statuses, "⠙ slow  ██████████░░░░░░░░░░ 50%  half  1.1 s")
      assert.strictEqual(statuses.at(-1), undefined)
      assert.isAtMost(statuses.length, 20)

      const elsewhere = yield* Effect.forkChild(run(argv, slow))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual((yield* Fiber.join(elsewhere)).statuses, [])
    }))

  it.effect("shows what it tells while it runs, a line each, with --stream", () =>
    Effect.gen(function*() {
      const events: ReadonlyArray<McpClient.ToolEvent> = [
        { _tag: "Progress", progress: { progressToken: 1, progress: 1, total: 4, message: "read\na" } },
        { _tag: "Progress", progress: { progressToken: 1, progress: 2 } },
        { _tag: "Log", message: { level: "info", logger: "disk", data: { free: 7 } } },
        {
          _tag: "Partial",
          notification: { _tag: "Notification", method: "notifications/part", params: { text: "a\u001b" } }
        },
        { _tag: "Final", result: { content: [{ type: "text", text: "done" }], isError: true } }
      ]
      const talking: Partial<McpClient.McpClient> = { callToolStream: () => Stream.fromIterable(events) }
      const argv = ["call", "slow", "--json", "{}", "--stream"]
      const text = yield* run([...argv, ...server], talking)
      assert.strictEqual(text.code, 1)
      assert.strictEqual(
        text.stdout,
        "progress  1/4  read a\nprogress  2\nlog  info  disk  {\"free\":7}\n"
          + "notifications/part  {\"text\":\"a\\u001b\"}\ndone\n"
      )
      const json = yield* run([...argv, "-o", "json", ...server], talking, { columns: 80 })
      assert.strictEqual(json.code, 1)
      assert.deepStrictEqual(json.stdout.trimEnd().split("\n").map((line): unknown => JSON.parse(line)), [...events])
      const both = yield* run([...argv, "--as-task", ...server], talking)
      assert.strictEqual(both.code, 2)
    }))
})

describe("lists", () => {
  it.effect("are tables, or what the protocol calls them", () =>
    Effect.gen(function*() {
      const text = yield* run(["tools", ...server], echoing)
      assert.strictEqual(
        text.stdout,
        "TOOL  ARGUMENTS         DESCRIPTION\necho  message=<string>  Gives back its message\n"
      )
      const json = yield* run(["tools", "-o", "json", ...server], echoing)
      assert.deepStrictEqual(JSON.parse(json.stdout), { tools: [echo] })
      const templates = yield* run(["templates", "-o", "json", ...server], {
        listResourceTemplates: () => Effect.succeed([])
      })
      assert.strictEqual(templates.stdout, "{\"resourceTemplates\":[]}\n")
    }))

  it.effect("say that they are empty where a person reads", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* run(["prompts", ...server], { listPrompts: () => Effect.succeed([]) })
      assert.deepStrictEqual([code, stdout, stderr], [0, "", "The server offers no prompts.\n"])
    }))
})

describe("complete", () => {
  it.effect("asks for the first argument and tells the others", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const client: Partial<McpClient.McpClient> = {
        complete: (params) => {
          asked.push(params)
          return Effect.succeed({ values: ["Alice", "Anna"], total: 5, hasMore: true })
        }
      }
      const first = yield* run(["complete", "prompt:staff", "name=A", "department=Sales", ...server], client)
      assert.deepStrictEqual([first.code, first.stdout, first.stderr], [0, "Alice\nAnna\n", "There are 5 in all.\n"])
      const second = yield* run(["complete", "ref/resource:file:///{path}", "path=", "-o", "json", ...server], client)
      assert.strictEqual(
        second.stdout,
        "{\"completion\":{\"values\":[\"Alice\",\"Anna\"],\"total\":5,\"hasMore\":true}}\n"
      )
      assert.deepStrictEqual(asked, [
        {
          ref: { type: "ref/prompt", name: "staff" },
          argument: { name: "name", value: "A" },
          context: { arguments: { department: "Sales" } }
        },
        { ref: { type: "ref/resource", uri: "file:///{path}" }, argument: { name: "path", value: "" } }
      ])
    }))
})

describe("prompt, read, info and ping", () => {
  it.effect("show what they get", () =>
    Effect.gen(function*() {
      const client: Partial<McpClient.McpClient> = {
        getPrompt: (name, args) =>
          Effect.succeed({
            messages: [{ role: "user", content: { type: "text", text: `${name} ${JSON.stringify(args)}` } }]
          }),
        readResource: (uri) => Effect.succeed({ contents: [{ uri, text: "hello" }] }),
        server: Effect.succeed({
          revision: Revision.latestModern,
          era: "modern",
          generation: 1,
          capabilities: { tools: {} },
          serverInfo: { name: "srv", version: "1" },
          instructions: undefined,
          supportedVersions: ["2026-07-28"]
        }),
        ping: () => Effect.fail(McpError.make(new McpError.ServerError({ code: -32601, excerpt: "" }), "refused"))
      }
      assert.strictEqual((yield* run(["prompt", "p", "a=1", ...server], client)).stdout, "user:\n  p {\"a\":\"1\"}\n")
      assert.strictEqual((yield* run(["read", "https://x.example/", ...server], client)).stdout, "hello\n")
      const info = yield* run(["info", ...server], client)
      assert.strictEqual(info.code, 0)
      assert.match(info.stdout, /^Server     srv 1\nProtocol   2026-07-28 \(modern\)\n/)
      assert.match(info.stdout, /Ping       not answered\n$/)
      assert.strictEqual((yield* run(["ping", ...server], client)).code, 4)
    }))
})

describe("errors", () => {
  const refused = McpError.make(
    new McpError.ConnectionFailed({
      target: "https://h.example/mcp",
      code: "ECONNREFUSED",
      description: "nobody listens"
    }),
    "unsent",
    { server: "https://h.example/mcp", method: "server/discover" }
  )

  it.effect("are text for people", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* run(["tools", "https://h.example/mcp"], refused)
      assert.deepStrictEqual([code, stdout, stderr], [
        3,
        "",
        "error: https://h.example/mcp server/discover: Cannot reach https://h.example/mcp (ECONNREFUSED): nobody listens\n"
      ])
    }))

  it.effect("are one JSON document for programs", () =>
    Effect.gen(function*() {
      const { code, stderr, stdout } = yield* run(["tools", "-o", "json", "https://h.example/mcp"], refused)
      assert.strictEqual(code, 3)
      assert.strictEqual(stdout, "")
      assert.deepStrictEqual(JSON.parse(stderr), {
        error: {
          kind: "ConnectionFailed",
          message:
            "https://h.example/mcp server/discover: Cannot reach https://h.example/mcp (ECONNREFUSED): nobody listens",
          exitCode: 3,
          server: "https://h.example/mcp",
          method: "server/discover",
          delivery: "unsent",
          reason: { target: "https://h.example/mcp", code: "ECONNREFUSED", description: "nobody listens" }
        }
      })
      const usage = yield* run(["tools", "-o", "json"], untouched)
      assert.deepStrictEqual([usage.code, JSON.parse(usage.stderr).error.kind], [2, "UsageError"])
    }))

  it.effect("of this program are told as such", () =>
    Effect.gen(function*() {
      const { code, stderr } = yield* run(["tools", ...server], { listTools: () => Effect.die(new Error("oops")) })
      assert.strictEqual(code, 1)
      assert.match(stderr, /^error: This is a bug in mcp-effect\n  what happened:\n    Error: oops\n/)
    }))
})

describe("the log", () => {
  const noisy: Partial<McpClient.McpClient> = {
    listTools: () =>
      Effect.as(Effect.andThen(Effect.logDebug("detail"), Effect.logWarning("an item was set aside")), [])
  }

  it.effect("has warnings, and with --verbose all, never on standard output", () =>
    Effect.gen(function*() {
      const quiet = yield* run(["tools", ...server], noisy)
      assert.deepStrictEqual([quiet.stdout, quiet.stderr], [
        "",
        "warning: an item was set aside\nThe server offers no tools.\n"
      ])
      const verbose = yield* run(["tools", "--verbose", ...server], noisy)
      assert.strictEqual(
        verbose.stderr,
        "debug: detail\nwarning: an item was set aside\nThe server offers no tools.\n"
      )
    }))

  it.effect("keeps quiet in JSON output, unless it is asked for", () =>
    Effect.gen(function*() {
      const quiet = yield* run(["tools", "-o", "json", ...server], noisy)
      assert.deepStrictEqual([quiet.stdout, quiet.stderr], ["{\"tools\":[]}\n", ""])
      const verbose = yield* run(["tools", "-o", "json", "--verbose", ...server], noisy)
      assert.deepStrictEqual(verbose.stderr.trim().split("\n").map((line) => JSON.parse(line).message), [
        "detail",
        "an item was set aside"
      ])
    }))
})

describe("help and version", () => {
  it.effect("go to standard output", () =>
    Effect.gen(function*() {
      const help = yield* run(["call", "--help"], untouched)
      assert.strictEqual(help.code, 0)
      assert.include(help.stdout, "mcp-effect call [flags] <tool> [<key=value...>] -- <server>")
      assert.include(help.stdout, "  130  cancelled by Ctrl-C")
      assert.strictEqual(help.stderr, "")
      const shown = yield* run(["--version"], untouched)
      assert.deepStrictEqual([shown.code, shown.stdout], [0, `mcp-effect ${version}\n`])
    }))

  it("is the version of the package", () => {
    const manifest = JSON.parse(fs.readFileSync(path.resolve(import.meta.dirname, "../package.json"), "utf8"))
    assert.strictEqual(version, manifest.version)
  })
})
