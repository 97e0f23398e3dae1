import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Logging, McpError, Metadata } from "@mcp-effect/protocol"
import { Effect, Schema } from "effect"
import * as CapturedLogs from "./CapturedLogs.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, initialization } = Scripted

const handlers: Scripted.Handlers = {
  "tools/list": answer({ tools: [] }),
  "logging/setLevel": answer({})
}
const withoutLogging: Scripted.Handlers = {
  ...handlers,
  initialize: answer(initialization("2025-11-25", { capabilities: {} }))
}
const levelsOf = (server: Scripted.Server) => server.sentOf("logging/setLevel").map(({ params }) => params["level"])

describe("Asking for log messages", () => {
  verifies(
    ["LOG-02", "LOG-04", "LOG-08"],
    "is logging/setLevel on a legacy server, for each of the eight levels",
    () =>
      Effect.gen(function*() {
        const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const
        assert.deepStrictEqual(Logging.levels, levels)
        const server = yield* Scripted.legacy(handlers)
        const client = yield* connect(server)
        for (const level of levels) yield* client.setLogLevel(level)
        assert.deepStrictEqual(levelsOf(server), [...levels])
        yield* client.listTools()
        assert.isFalse(Object.hasOwn(server.sentOf("tools/list")[0]?.meta ?? {}, Metadata.logLevelKey))
      })
  )

  verifies(
    ["LOG-02", "ERA-19", "MET-08", "LOG-08"],
    "is a member of every later request on a modern server",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(handlers)
        const client = yield* connect(server)
        for (const level of Logging.levels) {
          yield* client.setLogLevel(level)
          yield* client.listTools()
        }
        assert.deepStrictEqual(
          server.sentOf("tools/list").map(({ meta }) => meta[Metadata.logLevelKey]),
          [...Logging.levels]
        )
        assert.deepStrictEqual(levelsOf(server), [])
      })
  )

  verifies("LOG-04", "another level is refused before anything is sent", () =>
    Effect.gen(function*() {
      for (const server of [yield* Scripted.modern(handlers), yield* Scripted.legacy(handlers)]) {
        const client = yield* connect(server)
        const before = server.sent.length
        for (const level of ["loud", "WARNING", "", "warn"]) {
          const error = yield* Effect.flip(client.setLogLevel(level as Logging.LoggingLevel))
          assert.strictEqual(error.reason._tag, "InvalidRequest")
        }
        assert.strictEqual(server.sent.length, before)
        const error = yield* Effect.flip(connect(server, { logLevel: "loud" as Logging.LoggingLevel }))
        assert.strictEqual(error.reason._tag, "InvalidRequest")
        assert.strictEqual(server.links.length, 1)
      }
    }))

  verifies("LOG-01", "servers that do not log are skipped by catching CapabilityMissing", () =>
    Effect.gen(function*() {
      const logs = yield* Scripted.legacy(handlers)
      const doesNot = yield* Scripted.legacy(withoutLogging)
      const modern = yield* Scripted.modern(handlers)
      const clients = [yield* connect(doesNot), yield* connect(logs), yield* connect(modern)]
      yield* Effect.forEach(clients, (client) =>
        client.setLogLevel("error").pipe(Effect.catchReason("McpError", "CapabilityMissing", () =>
          Effect.void)))
      assert.deepStrictEqual(levelsOf(logs), ["error"])
      assert.deepStrictEqual(levelsOf(doesNot), [])
    }))

  verifies(
    "LOG-02",
    "a level given to the client is asked for at the start, before anything else",
    () =>
      Effect.gen(function*() {
        const legacy = yield* Scripted.legacy(handlers)
        const client = yield* connect(legacy, { logLevel: "notice" })
        assert.deepStrictEqual(levelsOf(legacy), ["notice"])
        assert.deepStrictEqual(legacy.methods().slice(-2), ["notifications/initialized", "logging/setLevel"])
        yield* client.setLogLevel("error")
        legacy.links[0]?.exit(1)
        yield* client.listTools()
        assert.deepStrictEqual(levelsOf(legacy), ["notice", "error", "error"])

        const doesNot = yield* Scripted.legacy(withoutLogging)
        yield* connect(doesNot, { logLevel: "notice" })
        assert.deepStrictEqual(levelsOf(doesNot), [])
      })
  )

  verifies(
    "LOG-02",
    "a server that refuses it at the start is connected to all the same",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          const server = yield* Scripted.legacy({
            ...handlers,
            "logging/setLevel": (request) => request.error(-32603, "secret words")
          })
          const client = yield* connect(server, { logLevel: "notice" })
          assert.deepStrictEqual(yield* client.listTools(), [])
          assert.deepStrictEqual(lines.map(({ level }) => level), ["Warn"])
          assert.notInclude(lines[0]?.text, "secret words")
        })
      )
  )

  verifies(
    "LOG-04",
    "a level that the server refused is not taken for the one that holds",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          ...handlers,
          "logging/setLevel": Scripted.inTurn(answer({}), (request) => request.error(-32602, "no"), answer({}))
        })
        const client = yield* connect(server, { logLevel: "notice" })
        yield* Effect.flip(client.setLogLevel("debug"))
        server.links[0]?.exit(1)
        yield* client.listTools()
        assert.deepStrictEqual(levelsOf(server), ["notice", "debug", "notice"])
      })
  )
})

describe("Log messages of the server", () => {
  const message = (link: Scripted.Link | undefined, params: Record<string, unknown>) =>
    link?.notify("notifications/message", params)

  verifies("LOG-03", "reach logs with level, logger and data, whatever the data are", () =>
    Effect.gen(function*() {
      for (const server of [yield* Scripted.modern(), yield* Scripted.legacy()]) {
        const client = yield* connect(server, { forwardLogs: false })
        const logs = yield* collect(client.logs)
        const notifications = yield* collect(client.notifications)
        const messages = [
          { level: "info", data: "text" },
          { level: "emergency", logger: "db", data: { query: ["a", 1, null], nested: { ok: true } } },
          { level: "debug", data: null }
        ]
        for (const params of messages) message(server.links[0], params)
        yield* Scripted.settled
        assert.deepStrictEqual(logs, messages as ReadonlyArray<unknown>)
        assert.deepStrictEqual(notifications.map(({ params }) => params), messages)
      }
    }))

  verifies(
    "LOG-03",
    "that are malformed stay in notifications and reach nobody else",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          const server = yield* Scripted.legacy()
          const client = yield* connect(server)
          const logs = yield* collect(client.logs)
          const notifications = yield* collect(client.notifications)
          message(server.links[0], { level: "loud", data: "x" })
          message(server.links[0], { data: "x" })
          server.links[0]?.notify("notifications/message")
          yield* Scripted.settled
          assert.deepStrictEqual(logs, [])
          assert.strictEqual(notifications.length, 3)
          assert.deepStrictEqual(lines, [])
        })
      )
  )

  verifies(
    "LOG-05",
    "go to Effect's logger at the level that corresponds to theirs, and name the server",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          const server = yield* Scripted.legacy()
          yield* connect(server)
          for (const level of Logging.levels) message(server.links[0], { level, logger: "db", data: level })
          yield* Scripted.settled
          assert.deepStrictEqual(lines.map(({ level, message }) => [message, level]), [
            ["debug", "Debug"],
            ["info", "Info"],
            ["notice", "Info"],
            ["warning", "Warn"],
            ["error", "Error"],
            ["critical", "Error"],
            ["alert", "Error"],
            ["emergency", "Error"]
          ])
          for (const { annotations } of lines) {
            assert.strictEqual(annotations["mcp.server"], Scripted.target)
            assert.strictEqual(annotations["mcp.logger"], "db")
          }
        })
      )
  )

  verifies(
    ["LOG-06", "SEC-11"],
    "are escaped and cut at 4,096 characters there, and left as they are in logs",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          const server = yield* Scripted.legacy()
          const client = yield* connect(server)
          const logs = yield* collect(client.logs)
          const forged = "ok\n2026-01-01 ERROR forged\r\u001b[31m\u202etxt"
          message(server.links[0], { level: "info", data: forged, logger: "a\nb" })
          message(server.links[0], { level: "info", data: "x".repeat(100_000) })
          message(server.links[0], { level: "info", data: { key: "line\nbreak" } })
          message(server.links[0], { level: "info", data: "\n".repeat(4_000) })
          yield* Scripted.settled
          assert.strictEqual(lines[0]?.message, "ok\\n2026-01-01 ERROR forged\\r\\u001b[31m\\u202etxt")
          assert.strictEqual(lines[0]?.annotations["mcp.logger"], "a\\nb")
          assert.strictEqual(lines[1]?.message.length, 4_096)
          assert.strictEqual(lines[1]?.message, `${"x".repeat(4_095)}…`)
          assert.strictEqual(lines[2]?.message, "{\"key\":\"line\\nbreak\"}")
          assert.isAtMost(lines[3]?.message.length ?? Infinity, 4_096)
          for (const { message } of lines) assert.notMatch(message, /[\p{Cc}\u202e]/u)
          assert.strictEqual(logs[0]?.data, forged)
        })
      )
  )

  verifies(
    "LOG-05",
    "stay out of Effect's logger with forwardLogs off",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          const server = yield* Scripted.legacy()
          const client = yield* connect(server, { forwardLogs: false })
          const logs = yield* collect(client.logs)
          message(server.links[0], { level: "error", data: "x" })
          yield* Scripted.settled
          assert.strictEqual(logs.length, 1)
          assert.deepStrictEqual(lines, [])
        })
      )
  )

  verifies(
    "LOG-03",
    "that come on the stream of a request over HTTP reach the same places",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/call": (request) => {
            request.notify("notifications/message", { level: "info", data: "working" })
            request.result({ content: [] })
          }
        }, { kind: "streamable-http" })
        const client = yield* connect(server, { forwardLogs: false })
        const logs = yield* collect(client.logs)
        yield* client.callTool("work")
        yield* Scripted.settled
        assert.deepStrictEqual(logs, [{ level: "info", data: "working" }])
      })
  )
})

describe("The library's own log", () => {
  verifies(
    ["SEC-12", "CON-12", "ERR-08"],
    "names methods and servers, and holds no payload of either side",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          const secret = "s3cr3t"
          const anything = Schema.Record(Schema.String, Schema.Unknown)
          const server = yield* Scripted.legacy({
            "tools/list": answer({ tools: [{ name: "good", inputSchema: { type: "object" } }, { title: secret }] }),
            "tools/call": (request) => {
              request.progress(1, { message: secret })
              request.error(-32603, secret, { secret })
            },
            "prompts/list": answer({ prompts: secret }),
            "prompts/get": (request) => request.malformed({ result: secret }),
            "resources/read": answer({ contents: [{ uri: "a:b", text: secret }] }),
            "vendor/raw": answer({ value: secret })
          })
          const client = yield* connect(server, { requestMetadata: { token: secret } })
          yield* client.listTools()
          yield* Effect.flip(
            client.callTool("good", { password: secret }, { onProgress: () => Effect.die(new Error("callback")) })
          )
          yield* Effect.flip(client.callTool("bad", { password: secret }))
          yield* Effect.flip(client.listPrompts())
          yield* Effect.flip(client.getPrompt("p", { password: secret }))
          yield* client.readResource("a:b")
          yield* client.request("vendor/raw", { password: secret }, anything)
          yield* Effect.flip(
            client.request("vendor/raw", { password: secret }, Schema.Struct({ value: Schema.Number }))
          )
          server.links[0]?.ask(1, "vendor/ask", { secret })
          server.links[0]?.text(`{"jsonrpc":"2.0","id":99,"result":{"x":"${secret}"}}`)
          server.links[0]?.text(secret)
          server.links[0]?.notify("notifications/vendor", { secret })
          yield* Scripted.settled
          server.links[0]?.exit(1)
          yield* Scripted.settled
          assert.isNotEmpty(lines)
          for (const { text } of lines) assert.notInclude(text, secret)
          for (const { annotations, level } of lines) {
            if (level === "Warn" && annotations["mcp.server"] !== undefined) {
              assert.strictEqual(annotations["mcp.server"], Scripted.target)
            }
          }
        })
      )
  )

  verifies(["ERR-08", "SEC-12"], "and neither does the message of any error", () =>
    Effect.gen(function*() {
      const secret = "s3cr3t"
      const server = yield* Scripted.legacy({
        "tools/call": (request) => request.error(-32603, secret, { secret }),
        "prompts/get": (request) => request.malformed({ error: { code: secret } }),
        "prompts/list": answer({ prompts: { [secret]: secret } }),
        "resources/read": (request) => request.error(-32002, secret)
      })
      const client = yield* connect(server)
      const errors = [
        yield* Effect.flip(client.callTool("work")),
        yield* Effect.flip(client.getPrompt("p")),
        yield* Effect.flip(client.listPrompts()),
        yield* Effect.flip(client.readResource("a:b"))
      ]
      for (const error of errors) {
        assert.notInclude(error.message, secret)
        assert.notInclude(error.reason.message, secret)
        assert.include(error.message, Scripted.target)
        assert.isTrue(McpError.isMcpError(error))
      }
    }))
})
