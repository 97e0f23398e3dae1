import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Revision } from "@mcp-effect/protocol"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as path from "node:path"
import * as StdioTransport from "../src/StdioTransport.ts"
import { Transport } from "../src/Transport.ts"
import { connect, fixture, isRunning, make, pidOf, start } from "./StdioServer.ts"

const utf8 = new TextEncoder()

describe("StdioTransport: messages", () => {
  verifiesLive(["STD-01", "STD-20"], "requests and notifications are lines of JSON", () =>
    Effect.gen(function*() {
      const { connection, request } = yield* start()
      assert.deepStrictEqual(yield* request("echo", { text: "a\nb" }), { text: "a\nb" })
      yield* connection.send(
        { _tag: "Notification", method: "notifications/initialized", params: undefined },
        Revision.latestLegacy
      )
      assert.deepStrictEqual(yield* request("received"), {
        received: [
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{\"text\":\"a\\nb\"}}",
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
          "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"received\",\"params\":{}}"
        ]
      })
    }))

  verifiesLive("STD-16", "what is meant for headers changes nothing", () =>
    Effect.gen(function*() {
      const { open, request } = yield* start()
      yield* open("echo", {}, { routing: { name: "query", params: [["Region", "eu"]] } }).outcome
      const { received } = yield* request("received")
      assert.strictEqual(
        (received as Array<string>)[0],
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{}}"
      )
    }))

  verifiesLive("STD-17", "a cancel is a notification after its request", () =>
    Effect.gen(function*() {
      const { open, request } = yield* start()
      const { cancel } = open("silence")
      yield* request("echo")
      cancel("Request timed out")
      const { received } = yield* request("received")
      assert.deepStrictEqual((received as Array<string>).map((line) => JSON.parse(line).method), [
        "silence",
        "echo",
        "notifications/cancelled",
        "received"
      ])
      assert.deepStrictEqual(JSON.parse((received as Array<string>)[2] ?? "").params, {
        requestId: 1,
        reason: "Request timed out"
      })
    }))

  verifiesLive(
    "STD-04",
    "both ways are UTF-8 whatever the locale, also when a read ends inside a character",
    () =>
      Effect.gen(function*() {
        const { diagnostics, inbound, request } = yield* start({ env: { LC_ALL: "C", LANG: "C" } })
        assert.deepStrictEqual(yield* request("echo", { text: "é€\u{1f600}" }), { text: "é€\u{1f600}" })
        const bytes = Array.from(utf8.encode("{\"jsonrpc\":\"2.0\",\"method\":\"n\u{1f600}\"}\n"))
        const inside = bytes.indexOf(0xf0) + 2
        yield* request("printBytes", { first: bytes.slice(0, inside), second: bytes.slice(inside) })
        assert.deepStrictEqual(inbound, ["n\u{1f600}"])
        assert.deepStrictEqual(diagnostics, [])
      })
  )

  verifiesLive(
    ["PAIN-41", "STD-06", "SEC-16"],
    "noise on stdout is reported, and the call succeeds",
    () =>
      Effect.gen(function*() {
        const { connection, diagnostics, request } = yield* start()
        yield* connection.established(Revision.latestLegacy)
        const noise = ["  ___ My Server ___", "{\"level\":\"info\",\"message\":\"listening\"}", "[1,2]", "42"]
        assert.deepStrictEqual(yield* request("print", { text: noise.map((line) => `${line}\n`).join("") }), {})
        assert.deepStrictEqual(diagnostics, noise.map((excerpt) => ({ _tag: "StdoutNoise", excerpt, lines: 1 })))
      })
  )

  verifiesLive(
    "PAIN-42",
    "malformed answers settle their calls at once, and the next one works",
    () =>
      Effect.gen(function*() {
        const { open, request } = yield* start()
        const shapes = [
          "\"result\":\"done\"",
          "\"result\":null",
          "\"error\":\"oops\"",
          "\"error\":{\"message\":\"no code\"}",
          "\"_meta\":{}"
        ]
        const calls = shapes.map(() => open("silence"))
        const answers = shapes.map((members, index) => `{"jsonrpc":"2.0","id":${index + 1},${members}}\n`)
        yield* request("print", { text: answers.join("") })
        const outcomes = yield* Effect.all(calls.map(({ outcome }) => outcome))
        assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag), Array(5).fill("Malformed"))
      })
  )

  verifiesLive(
    ["SEC-08", "STD-08"],
    "an answer to no request is dropped with a diagnostic",
    () =>
      Effect.gen(function*() {
        const { diagnostics, request } = yield* start()
        yield* request("print", { text: "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n" })
        assert.deepStrictEqual(diagnostics.map(({ _tag }) => _tag), ["UnexpectedMessage"])
      })
  )

  verifiesLive(
    ["PAIN-44", "STD-19"],
    "an answer of 11 MB under a limit of 10 MB fails alone; the next call works",
    () =>
      Effect.gen(function*() {
        const { request } = yield* start({ maxMessageBytes: 10_000_000 })
        const error = yield* Effect.flip(request("large", { bytes: 11_000_000 }))
        assert.deepInclude(error.reason, { _tag: "MessageTooLarge", limit: 10_000_000, direction: "received" })
        assert.strictEqual(String((yield* request("large", { bytes: 9_000_000 }))["text"]).length, 9_000_000)
      })
  )

  verifiesLive(["PAIN-44", "STD-19"], "one whose id comes last is told by it", () =>
    Effect.gen(function*() {
      const { diagnostics, open, request } = yield* start({ maxMessageBytes: 10_000 })
      const { outcome } = open("silence")
      yield* request("print", { text: `{"jsonrpc":"2.0","result":{"text":"${"x".repeat(20_000)}"},"id":1}\n` })
      const error = yield* Effect.flip(outcome)
      // {"jsonrpc":"2.0","result":{"text":"…"},"id":1}: 45 bytes around the text.
      assert.deepInclude(error.reason, { _tag: "MessageTooLarge", limit: 10_000, size: 20_045 })
      assert.deepStrictEqual(diagnostics, [])
    }))

  verifiesLive("PAIN-43", "an answer of 80 MB takes under 3 s where the limit is raised", () =>
    Effect.gen(function*() {
      const { request } = yield* start({ maxMessageBytes: 100_000_000 })
      const attempt = Effect.timed(request("large", { bytes: 80_000_000 }))
      const attempts = [yield* attempt, yield* attempt, yield* attempt]
      for (const [, { text }] of attempts) assert.strictEqual(String(text).length, 80_000_000)
      assert.isBelow(Math.min(...attempts.map(([duration]) => Duration.toMillis(duration))), 3_000)
    }), 60_000)

  verifiesLive("STD-19", "without a setting 64 MiB are the limit", () =>
    Effect.gen(function*() {
      const { request } = yield* start()
      // {"jsonrpc":"2.0","id":1,"result":{"text":"…"}}: 45 bytes around the text.
      const largest = 64 * 1024 * 1024 - 45
      assert.strictEqual(String((yield* request("large", { bytes: largest }))["text"]).length, largest)
      const error = yield* Effect.flip(request("large", { bytes: largest + 1 }))
      assert.deepInclude(error.reason, { _tag: "MessageTooLarge", limit: 67_108_864, size: 67_108_865 })
    }), 60_000)

  verifiesLive(
    "PAIN-10",
    "a child that stops reading: calls can be given up, and nothing goes unhandled",
    () =>
      Effect.gen(function*() {
        const trouble: Array<unknown> = []
        const note = (what: unknown) => trouble.push(what)
        yield* Effect.acquireRelease(
          Effect.sync(() => process.on("unhandledRejection", note).on("warning", note)),
          () => Effect.sync(() => process.off("unhandledRejection", note).off("warning", note))
        )
        yield* Effect.scoped(Effect.gen(function*() {
          const { open, request } = yield* start({
            maxOutboxBytes: 5_000_000,
            shutdown: { exitWithin: "50 millis" }
          })
          yield* request("stopReading")
          const calls = Array.from({ length: 20 }, () => open("echo", { text: "x".repeat(200_000) }))
          yield* Effect.sleep("50 millis")
          assert.isTrue(calls.every(({ failures }) => failures.length === 0))
          for (const { cancel } of calls) cancel("Request timed out")
          // 6 MB where 5 MB may wait.
          const later = Array.from({ length: 30 }, () => open("echo", { text: "x".repeat(200_000) }))
          const refused = later.filter(({ failures }) => failures.length > 0)
          assert.isAbove(refused.length, 0)
          assert.isBelow(refused.length, 10)
          assert.deepInclude(refused[0]?.failures[0], { delivery: "unsent" })
          assert.deepInclude(refused[0]?.failures[0]?.reason, { _tag: "MessageTooLarge", direction: "sent" })
        }))
        yield* Effect.sleep("10 millis")
        assert.deepStrictEqual(trouble, [])
      })
  )
})

describe("StdioTransport: starting", () => {
  verifiesLive(
    "STD-03",
    "arguments arrive as they are, since no shell reads them; the directory is the given one",
    () =>
      Effect.gen(function*() {
        const args = ["$(touch x)", "a b", "*", "; exit", "\"quoted\"", "", "%PATH%"]
        const { request } = yield* start({
          args: [fixture("server.mjs"), ...args, Redacted.make("secret argument")],
          cwd: path.dirname(fixture(""))
        })
        const launch = yield* request("launch")
        assert.deepStrictEqual(launch["args"], [...args, "secret argument"])
        assert.strictEqual(launch["cwd"], path.dirname(fixture("")))
      })
  )

  const host = (variables: Record<string, string>) =>
    Effect.provideService(StdioTransport.HostEnvironment, { variables, platform: process.platform })
  const variables = {
    PATH: "/usr/bin",
    HOME: "/home/ada",
    LC_TIME: "en",
    XDG_DATA_HOME: "/d",
    HTTPS_PROXY: "http://proxy",
    no_proxy: "localhost",
    NODE_EXTRA_CA_CERTS: "",
    GITHUB_TOKEN: "secret"
  }
  const environmentOf = (options: Parameters<typeof start>[0]) =>
    Effect.gen(function*() {
      const { request } = yield* start(options)
      // macOS adds a variable of its own.
      const { __CF_USER_TEXT_ENCODING: _, ...environment } = yield* request("environment")
      return environment
    }).pipe(host(variables))

  verifiesLive(
    ["PAIN-46", "STD-03"],
    "by default what programs need is inherited, and no secret; env adds to it",
    () =>
      Effect.gen(function*() {
        const { GITHUB_TOKEN: _, ...safe } = variables
        assert.deepStrictEqual(yield* environmentOf({}), safe)
        assert.deepStrictEqual(
          yield* environmentOf({ env: { TOKEN: Redacted.make("t"), HOME: "/tmp", LC_TIME: undefined } }),
          {
            PATH: "/usr/bin",
            HOME: "/tmp",
            XDG_DATA_HOME: "/d",
            HTTPS_PROXY: "http://proxy",
            no_proxy: "localhost",
            NODE_EXTRA_CA_CERTS: "",
            TOKEN: "t"
          }
        )
      })
  )

  verifiesLive("PAIN-46", "all, none, or the named ones", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* environmentOf({ inheritEnv: "all" }), variables)
      assert.deepStrictEqual(yield* environmentOf({ inheritEnv: "none", env: { A: "1" } }), { A: "1" })
      assert.deepStrictEqual(yield* environmentOf({ inheritEnv: ["GITHUB_TOKEN", "HOME", "ABSENT"] }), {
        GITHUB_TOKEN: "secret",
        HOME: "/home/ada"
      })
    }))

  it.live("without a replacement the environment is that of this process", () =>
    Effect.gen(function*() {
      const { request } = yield* start()
      const environment = yield* request("environment")
      assert.strictEqual(environment["PATH"], process.env["PATH"])
    }))

  const failureOf = (options: Parameters<typeof start>[0]) =>
    Effect.map(Effect.flip(Effect.scoped(start(options))), (error) => {
      assert.strictEqual(error.delivery, "unsent")
      if (error.reason._tag !== "SpawnFailed") return assert.fail(`${error}`)
      return error.reason
    })

  verifiesLive(
    "PAIN-47",
    "a command that does not exist fails within 100 ms and says where it was looked for",
    () =>
      Effect.gen(function*() {
        const attempt = Effect.timed(failureOf({ command: "no-such-command", env: { PATH: "/usr/bin:/opt/none" } }))
        // The best of some: a busy machine may keep one waiting.
        const attempts = yield* Effect.all(Array.from({ length: 10 }, () => attempt))
        assert.isBelow(Math.min(...attempts.map(([duration]) => Duration.toMillis(duration))), 100)
        const [, reason] = attempts[0] ?? assert.fail()
        assert.deepInclude(reason, {
          problem: "not-found",
          command: "no-such-command",
          searched: ["/usr/bin", "/opt/none"]
        })
        assert.strictEqual(
          reason.message,
          "The command \"no-such-command\" was not found in /usr/bin:/opt/none; install it, or give its full path"
        )
      })
  )

  verifiesLive(
    "PAIN-47",
    "what else keeps a command from starting is told apart, without its arguments",
    () =>
      Effect.gen(function*() {
        const args = ["--token", "hush"]
        const reasons = [
          yield* failureOf({ command: "/no/such/command", args }),
          yield* failureOf({ command: fixture("server.mjs/below"), args }),
          yield* failureOf({ command: fixture("server.mjs"), args }),
          yield* failureOf({ command: process.execPath, args, cwd: "/no/such/directory" }),
          yield* failureOf({ command: process.execPath, args, cwd: fixture("server.mjs") }),
          yield* failureOf({ command: process.execPath, args: [...args, "x".repeat(3_000_000)] }),
          yield* failureOf({ command: process.execPath, args: [...args, "a\0b"] })
        ]
        assert.deepStrictEqual(reasons.map(({ problem, searched }) => [problem, searched]), [
          ["not-found", []],
          ["not-found", []],
          ["permission-denied", []],
          ["working-directory", []],
          ["working-directory", []],
          ["other", []],
          ["other", []]
        ])
        for (const reason of reasons) assert.notInclude(`${reason.message} ${reason.cause}`, "hush")
      })
  )

  it.live("the command is looked up in the PATH of the child", () =>
    Effect.gen(function*() {
      const { request } = yield* start({
        command: path.basename(process.execPath),
        env: { PATH: path.dirname(process.execPath) }
      })
      assert.isTrue(isRunning(pidOf(yield* request("launch"))))
    }))

  it.live("a transport starts a process for each connection", () =>
    Effect.gen(function*() {
      const transport = yield* make()
      const first = yield* connect(transport)
      const second = yield* connect(transport)
      assert.notStrictEqual(pidOf(yield* first.request("launch")), pidOf(yield* second.request("launch")))
    }))

  it.live("names itself, and tells configurations apart without giving values away", () =>
    Effect.gen(function*() {
      const transport = yield* make({
        command: "npx",
        args: ["-y", "server", Redacted.make("hush")],
        cwd: "/srv",
        env: { TOKEN: Redacted.make("hush"), REGION: "eu" }
      })
      assert.deepStrictEqual([transport.kind, transport.target], ["stdio", "npx"])
      assert.strictEqual(
        transport.fingerprint,
        "[\"stdio\",\"npx\",[\"-y\",\"server\",\"<redacted>\"],\"/srv\",[\"REGION\",\"TOKEN\"],\"safe\"]"
      )
      const other = yield* make({ command: "npx", args: ["-y", "server"] })
      assert.notStrictEqual(other.fingerprint, transport.fingerprint)
    }))

  it.live("its options may come from a Config", () =>
    Effect.gen(function*() {
      const layer = StdioTransport.layerConfig({
        command: Config.String("COMMAND"),
        args: Config.succeed([fixture("server.mjs")]),
        env: { TOKEN: Config.Redacted("TOKEN") },
        shutdown: { exitWithin: Config.Duration("GRACE") }
      }).pipe(
        Layer.provide(NodeServices.layer),
        Layer.provide(
          ConfigProvider.layer(
            ConfigProvider.fromEnv({ env: { COMMAND: process.execPath, TOKEN: "from config", GRACE: "1 second" } })
          )
        )
      )
      const transport = yield* Effect.provide(Transport, layer)
      assert.strictEqual(transport.target, process.execPath)
      assert.include(transport.fingerprint, "[\"TOKEN\"]")
    }))
})
