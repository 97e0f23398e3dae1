import { assert, describe } from "@effect/vitest"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as RealServers from "../src/RealServers.ts"
import type { Script, Step } from "../src/servers/Script.ts"

const timeoutMillis = 120_000

const legacy = "2025-11-25"
const modern = "2026-07-28"

/** The file to which a scripted server writes what it receives. */
const transcript = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "faulty-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  ),
  (directory) => join(directory, "transcript")
)

const methods = (file: string): ReadonlyArray<string> =>
  readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line).method)

// What is tolerated here would fill the log with warnings.
const connect = (target: Connect.Target, options?: Connect.Options) =>
  Effect.provide(Connect.connect(target, options), Logger.layer([]))

const stdio = (script: Script, options?: Connect.Options) => connect(RealServers.scripted(script), options)

const http = (script: Script, options?: Connect.Options) =>
  Effect.flatMap(RealServers.scriptedHttp(script), ({ url }) => connect(url, options))

/** Fails unless the Effect fails with this reason, and gives the reason. */
const failsWith = <Tag extends McpError.McpErrorReason["_tag"], A, E, R>(
  effect: Effect.Effect<A, McpError.McpError | E, R>,
  tag: Tag
) =>
  Effect.map(Effect.flip(effect), (error): Extract<McpError.McpErrorReason, { readonly _tag: Tag }> => {
    assert.propertyVal(error, "_tag", "McpError")
    const reason: McpError.McpErrorReason = (error as McpError.McpError).reason
    assert.strictEqual(reason._tag, tag, reason.message)
    return reason as Extract<McpError.McpErrorReason, { readonly _tag: Tag }>
  })

const html: ReadonlyArray<Step> = [
  { kind: "respond", status: 200, contentType: "text/html" },
  { kind: "write", text: "<!doctype html><title>Welcome</title>" }
]

const endless: ReadonlyArray<Step> = [{
  kind: "reply",
  result: { tools: [{ name: "tool-$COUNT", inputSchema: { type: "object" } }], nextCursor: "cursor-$COUNT" }
}]

const circle: ReadonlyArray<Step> = [{
  kind: "reply",
  result: { tools: [{ name: "tool-$COUNT", inputSchema: { type: "object" } }], nextCursor: "again" }
}]

describe("eras", () => {
  verifiesLive(
    "ERA-02",
    "a server that answers the probe never sees a handshake",
    Effect.fnUntraced(function*() {
      const file = yield* transcript
      const client = yield* stdio({ revision: modern, transcript: file })
      yield* client.callTool("echo", { message: "hi" })
      assert.deepStrictEqual(methods(file), ["server/discover", "tools/call"])
    }),
    timeoutMillis
  )

  verifiesLive(
    ["ERA-03", "SDK-03"],
    "any other server gets a handshake that offers 2025-11-25",
    Effect.fnUntraced(function*() {
      for (const start of [stdio, http]) {
        const file = yield* transcript
        const client = yield* start({ revision: "2025-06-18", transcript: file })
        yield* client.callTool("echo", { message: "hi" })
        assert.deepStrictEqual(methods(file), [
          "server/discover",
          "initialize",
          "notifications/initialized",
          "tools/call"
        ])
        const [, initialize = ""] = readFileSync(file, "utf8").split("\n")
        assert.strictEqual(JSON.parse(initialize).params.protocolVersion, "2025-11-25")
      }
    }),
    timeoutMillis
  )
})

describe("servers that do not come up", () => {
  verifiesLive(
    ["PAIN-47", "ERR-01"],
    "a command that does not exist",
    Effect.fnUntraced(function*() {
      const reason = yield* failsWith(Connect.connect({ command: "no-such-mcp-server" }), "SpawnFailed")
      assert.strictEqual(reason.problem, "not-found")
    }),
    timeoutMillis
  )

  verifiesLive(
    "PAIN-37",
    "a process that exits at once",
    Effect.fnUntraced(function*() {
      const reason = yield* failsWith(
        stdio({
          revision: legacy,
          start: [{ kind: "complain", text: "FATAL: missing API key\n" }, { kind: "exit", code: 3 }]
        }),
        "ConnectionClosed"
      )
      assert.strictEqual(reason.exitCode, 3)
      assert.include(reason.stderr, "FATAL: missing API key")
    }),
    timeoutMillis
  )

  verifiesLive(
    "PAIN-49",
    "a process that exits on the probe is started once more",
    Effect.fnUntraced(function*() {
      const file = yield* transcript
      const client = yield* stdio({
        revision: legacy,
        transcript: file,
        on: { "server/discover": [{ kind: "exit", code: 1 }] }
      })
      yield* client.listTools()
      assert.deepStrictEqual(methods(file), [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list"
      ])
    }),
    timeoutMillis
  )

  verifiesLive(
    ["STD-10", "CON-23"],
    "a process that hangs is given up in time, and ended",
    Effect.fnUntraced(function*() {
      const file = yield* transcript
      const command = RealServers.launched(
        file,
        RealServers.scripted({ revision: legacy, on: { "*": [{ kind: "hang" }] } })
      )
      const reason = yield* failsWith(
        Effect.scoped(connect(command, { connectTimeout: "2 seconds", probeTimeout: "500 millis" })),
        "RequestTimeout"
      )
      assert.strictEqual(reason.kind, "connect")
      yield* RealServers.allGone(file)
    }),
    timeoutMillis
  )

  verifiesLive(
    "ERR-01",
    "a port where nothing listens",
    Effect.fnUntraced(function*() {
      const url = yield* RealServers.refusedUrl
      const reason = yield* failsWith(Connect.connect(url), "ConnectionFailed")
      assert.strictEqual(reason.code, "ECONNREFUSED")
    }),
    timeoutMillis
  )

  verifiesLive(
    "SHT-03",
    "a web page",
    Effect.fnUntraced(function*() {
      const reason = yield* failsWith(http({ revision: legacy, on: { "*": html } }), "MalformedMessage")
      assert.strictEqual(reason.contentType, "text/html")
    }),
    timeoutMillis
  )

  verifiesLive(
    ["ERA-13", "ERR-09"],
    "an endpoint that is broken",
    Effect.fnUntraced(function*() {
      const reason = yield* failsWith(
        http({ revision: modern, on: { "*": [{ kind: "respond", status: 500, contentType: "text/html" }] } }),
        "HttpStatus"
      )
      assert.strictEqual(reason.status, 500)
    }),
    timeoutMillis
  )

  verifiesLive(
    "ERA-13",
    "an endpoint that hangs",
    Effect.fnUntraced(function*() {
      const reason = yield* failsWith(
        http({ revision: modern, on: { "*": [{ kind: "hang" }] } }, { probeTimeout: "1 second" }),
        "RequestTimeout"
      )
      assert.strictEqual(reason.kind, "connect")
    }),
    timeoutMillis
  )
})

describe("servers that talk nonsense", () => {
  verifiesLive(
    ["PAIN-41", "STD-06"],
    "a flood of noise on stdout",
    Effect.fnUntraced(function*() {
      const client = yield* stdio({
        revision: modern,
        start: [{ kind: "write", text: "Listening for the love of listening\n", times: 50_000 }],
        on: {
          "tools/call": [
            { kind: "write", text: "[1,2]\n{\"level\":\"info\"}\n42\nbanner\n" },
            { kind: "behave" }
          ]
        }
      })
      const result = yield* client.callTool("echo", { message: "hi" })
      assert.isNotTrue(result.isError)
    }),
    timeoutMillis
  )

  verifiesLive(
    "PAIN-39",
    "a flood on stderr",
    Effect.fnUntraced(function*() {
      const client = yield* stdio({
        revision: modern,
        on: {
          "tools/call": [{ kind: "complain", text: "warning: nothing is wrong\n", times: 60_000 }, { kind: "behave" }]
        }
      })
      const result = yield* client.callTool("echo", { message: "hi" })
      assert.isNotTrue(result.isError)
    }),
    timeoutMillis
  )

  verifiesLive(
    "PAIN-42",
    "malformed responses on stdio",
    Effect.fnUntraced(function*() {
      for (const rest of [`"result":"text"`, `"error":"oops"`, `"error":{"message":"no code"}`, `"result":null`]) {
        const client = yield* stdio({
          revision: modern,
          on: { "tools/call": [{ kind: "write", text: `{"jsonrpc":"2.0","id":"$ID",${rest}}\n` }] }
        })
        yield* failsWith(client.callTool("echo", { message: "hi" }), "MalformedMessage")
        yield* client.listTools()
      }
    }),
    timeoutMillis
  )

  verifiesLive(
    "PAIN-23",
    "answers over HTTP that answer nothing",
    Effect.fnUntraced(function*() {
      for (const text of ["{}", "null", "", "not JSON", "{\"jsonrpc\":\"2.0\",\"id\":\"another\",\"result\":{}}"]) {
        const client = yield* http({ revision: modern, on: { "tools/call": [{ kind: "write", text }] } })
        yield* failsWith(client.callTool("echo", { message: "hi" }), "MalformedMessage")
      }
    }),
    timeoutMillis
  )

  verifiesLive(
    ["PAG-02", "PAG-03", "PAIN-61"],
    "lists that never end",
    Effect.fnUntraced(function*() {
      const endlessClient = yield* stdio({ revision: legacy, on: { "tools/list": endless } })
      const tools = yield* endlessClient.listTools()
      assert.strictEqual(tools.length, 1_000)
      const circleClient = yield* http({ revision: legacy, on: { "tools/list": circle } })
      const pages = yield* Stream.runCollect(circleClient.toolPages())
      assert.deepStrictEqual(pages.map(({ cutShort, items }) => [items.length, cutShort]), [
        [1, undefined],
        [1, "repeated-cursor"]
      ])
    }),
    timeoutMillis
  )
})

describe("servers that go away or drag on", () => {
  verifiesLive(
    "PAIN-37",
    "a process that dies during a call",
    Effect.fnUntraced(function*() {
      const client = yield* stdio({
        revision: legacy,
        on: { "prompts/list": [{ kind: "complain", text: "out of memory\n" }, { kind: "exit", code: 7 }] }
      })
      const error = yield* Effect.flip(client.request("prompts/list", undefined, Schema.Unknown))
      assert.strictEqual(error.delivery, "unknown")
      assert.strictEqual(error.reason._tag, "ConnectionClosed")
    }),
    timeoutMillis
  )

  verifiesLive(
    "PAIN-11",
    "a response stream that ends or breaks before the response",
    Effect.fnUntraced(function*() {
      const stream: Step = { kind: "respond", status: 200, contentType: "text/event-stream" }
      for (const rest of [[], [{ kind: "reset" }]] satisfies ReadonlyArray<ReadonlyArray<Step>>) {
        const client = yield* http({ revision: legacy, on: { "tools/call": [stream, ...rest] } })
        const { cause } = yield* failsWith(client.callTool("echo", { message: "hi" }), "AmbiguousDelivery")
        assert.strictEqual(McpError.isMcpError(cause) ? cause.reason._tag : undefined, "StreamEnded")
      }
    }),
    timeoutMillis
  )

  verifiesLive(
    "PAIN-1",
    "progress keeps a call alive",
    Effect.fnUntraced(function*() {
      const step: ReadonlyArray<Step> = [
        { kind: "wait", millis: 250 },
        {
          kind: "write",
          text:
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"$TOKEN\",\"progress\":1}}\n"
        }
      ]
      const client = yield* stdio({
        revision: modern,
        on: { "tools/call": [...Array.from({ length: 12 }, () => step).flat(), { kind: "behave" }] }
      })
      const result = yield* client.callTool("echo", { message: "hi" }, { idleTimeout: "2 seconds" })
      assert.isNotTrue(result.isError)
    }),
    timeoutMillis
  )

  verifiesLive(
    ["TMO-01", "TMO-02"],
    "a call that is never answered",
    Effect.fnUntraced(function*() {
      for (const start of [stdio, http]) {
        const client = yield* start({ revision: modern, on: { "tools/call": [{ kind: "hang" }] } })
        const reason = yield* failsWith(
          client.callTool("echo", { message: "hi" }, { deadline: "300 millis" }),
          "RequestTimeout"
        )
        assert.strictEqual(reason.kind, "deadline")
        yield* client.listTools()
      }
    }),
    timeoutMillis
  )
})
