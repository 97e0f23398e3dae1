import { assert, describe, it } from "@effect/vitest"
import type { McpClient } from "@mcp-effect/client"
import { type Content, McpError, Revision } from "@mcp-effect/protocol"
import * as ExitCode from "../src/ExitCode.ts"
import { encodeJson } from "../src/Output.ts"
import * as ProgressBar from "../src/ProgressBar.ts"
import * as RenderContent from "../src/render/Content.ts"
import * as Failure from "../src/render/Failure.ts"
import * as Lists from "../src/render/Lists.ts"
import * as RenderServer from "../src/render/Server.ts"
import * as Table from "../src/Table.ts"
import * as TerminalText from "../src/TerminalText.ts"

const asIs = (text: string): string => text

describe("text for a terminal", () => {
  it("keeps line breaks and tabs, and escapes what a terminal obeys", () => {
    assert.strictEqual(
      TerminalText.escapeLines("a\tb\r\nc\u001b[2J\u009b1;1H\rd\u202ee"),
      "a\tb\nc\\u001b[2J\\u009b1;1H\\rd\\u202ee"
    )
  })

  it("becomes one line", () => {
    assert.strictEqual(TerminalText.oneLine("  a\n\n b\tc\u0007 "), "a b c\\u0007")
  })

  it("is cut by columns, not by characters", () => {
    assert.strictEqual(TerminalText.truncate("abcdef", 6), "abcdef")
    assert.strictEqual(TerminalText.truncate("abcdef", 4), "abc…")
    // Each of these takes two columns.
    assert.strictEqual(TerminalText.truncate("日本語", 6), "日本語")
    assert.strictEqual(TerminalText.truncate("日本語", 5), "日本…")
    assert.strictEqual(TerminalText.truncate("日本語", 4), "日…")
    assert.strictEqual(TerminalText.truncate("abc", 0), "")
  })

  it("says sizes and times as people do", () => {
    assert.deepStrictEqual(
      [0, 1, 999, 1_000, 12_345, 999_499, 999_500, 5_000_000_000].map(TerminalText.bytes),
      ["0 bytes", "1 byte", "999 bytes", "1.00 kB", "12.3 kB", "999 kB", "1.00 MB", "5.00 GB"]
    )
    assert.deepStrictEqual([0.4, 12.6, 999, 1_500].map(TerminalText.millis), ["0 ms", "13 ms", "999 ms", "1.5 s"])
  })
})

describe("tables", () => {
  const columns: ReadonlyArray<Table.Column> = [
    { title: "NAME", cells: ["echo", "get-sum"] },
    { title: "EMPTY", cells: ["", ""] },
    { title: "DESCRIPTION", cells: ["Gives back what it was given", ""] }
  ]

  it("are as wide as they are where there is no terminal, without empty columns", () => {
    assert.strictEqual(
      Table.render(columns, undefined),
      "NAME     DESCRIPTION\n"
        + "echo     Gives back what it was given\n"
        + "get-sum"
    )
  })

  it("fit the terminal, at the cost of the widest column", () => {
    assert.strictEqual(
      Table.render(columns, 25),
      "NAME     DESCRIPTION\n"
        + "echo     Gives back what…\n"
        + "get-sum"
    )
  })

  it("keep the names whole as long as anything else can give way", () => {
    const names = [{ title: "TOOL", cells: ["a-rather-long-name"] }, { title: "DESCRIPTION", cells: ["what it does"] }]
    assert.strictEqual(Table.render(names, 30), "TOOL                DESCRIPTI…\na-rather-long-name  what it d…")
    assert.strictEqual(Table.render(names, 24), "TOOL            DESCRIP…\na-rather-long…  what it…")
  })

  it("stay readable on a terminal that is too narrow", () => {
    assert.strictEqual(Table.render(columns, 4), "NAME     DESCRIP…\necho     Gives b…\nget-sum")
  })
})

describe("lists", () => {
  it("show tools with their arguments", () => {
    assert.strictEqual(
      Lists.tools([{
        name: "add\u001b[H",
        title: "Add",
        inputSchema: {
          type: "object",
          properties: { a: { type: "number" }, b: { type: ["integer", "null"] }, c: {} },
          required: ["a"]
        }
      }], undefined),
      "TOOL         ARGUMENTS                                DESCRIPTION\n"
        + "add\\u001b[H  a=<number> [b=<integer|null>] [c=<any>]  Add"
    )
  })

  it("show prompts, resources and templates", () => {
    assert.strictEqual(
      Lists.prompts([{ name: "p", arguments: [{ name: "city", required: true }, { name: "state" }] }], undefined),
      "PROMPT  ARGUMENTS\np       city= [state=]"
    )
    assert.strictEqual(
      Lists.resources([
        { uri: "file:///a", name: "a", mimeType: "text/plain", size: 2_000 },
        { uri: "file:///b", name: "b" }
      ], undefined),
      "URI        NAME  TYPE        SIZE\n"
        + "file:///a  a     text/plain  2.00 kB\n"
        + "file:///b  b"
    )
    assert.strictEqual(
      Lists.templates([{ uriTemplate: "file:///{path}", name: "files", description: "All\nfiles" }], undefined),
      "URI TEMPLATE    NAME   DESCRIPTION\nfile:///{path}  files  All files"
    )
  })
})

describe("content", () => {
  it("is shown where it is text and summed up where it is not", () => {
    const blocks: ReadonlyArray<Content.ContentBlock> = [
      { type: "text", text: "line 1\nline 2" },
      // 8 characters of base64, two of them padding: 4 bytes.
      { type: "image", data: "AAAAAA==", mimeType: "image/png" },
      { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      { type: "resource_link", uri: "file:///a", name: "a", size: 1 },
      { type: "resource", resource: { uri: "file:///b", mimeType: "text/plain", text: "b" } },
      { type: "resource", resource: { uri: "file:///c", blob: "AAAA" } }
    ]
    assert.strictEqual(
      RenderContent.toolResult({ content: blocks }, asIs),
      [
        "line 1",
        "line 2",
        "[image image/png 4 bytes]",
        "[audio audio/wav 3 bytes]",
        "[resource link file:///a a 1 byte]",
        "[resource file:///b text/plain]",
        "b",
        "[blob file:///c 3 bytes]"
      ].join("\n")
    )
  })

  it("escapes what a server says of binary content", () => {
    assert.strictEqual(
      RenderContent.block({ type: "image", data: "", mimeType: "image/\u001b[2J" }, asIs),
      "[image image/\\u001b[2J 0 bytes]"
    )
  })

  it("shows structured content that no text repeats", () => {
    const structuredContent = { a: 1 }
    assert.strictEqual(RenderContent.toolResult({ content: [], structuredContent }, asIs), "{\n  \"a\": 1\n}")
    assert.strictEqual(
      RenderContent.toolResult({ content: [{ type: "text", text: "{ \"a\": 1 }" }], structuredContent }, asIs),
      "{ \"a\": 1 }"
    )
    assert.strictEqual(
      RenderContent.toolResult({ content: [{ type: "text", text: "done" }], structuredContent: null }, asIs),
      "done\nnull"
    )
  })

  it("shows messages of prompts under their roles", () => {
    assert.strictEqual(
      RenderContent.prompt({
        messages: [
          { role: "user", content: { type: "text", text: "Hello\n\nthere" } },
          { role: "assistant", content: { type: "image", data: "AAAA", mimeType: "image/png" } }
        ]
      }, asIs),
      "user:\n  Hello\n\n  there\n\nassistant:\n  [image image/png 3 bytes]"
    )
  })

  it("shows one resource as it is, and several under their URIs", () => {
    assert.strictEqual(RenderContent.resource({ contents: [{ uri: "a:1", text: "x\n" }] }, asIs), "x\n")
    assert.strictEqual(
      RenderContent.resource({
        contents: [{ uri: "a:1", text: "x" }, { uri: "a:2", mimeType: "image/png", blob: "AAAA" }]
      }, asIs),
      "[resource a:1]\nx\n\n[blob a:2 image/png 3 bytes]"
    )
    assert.strictEqual(RenderContent.resource({ contents: [] }, asIs), "")
  })
})

describe("a server", () => {
  const server: McpClient.Negotiated = {
    revision: Revision.latestLegacy,
    era: "legacy",
    generation: 1,
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: false }, logging: {} },
    serverInfo: { name: "files", version: "1.2.3", title: "Files\u0007" },
    instructions: "Read first.\nThen write.",
    supportedVersions: ["2025-11-25"]
  }

  it("is told as text", () => {
    assert.strictEqual(
      RenderServer.text(server, { connectMillis: 1_234, pingMillis: 3 }, asIs),
      [
        "Server     files 1.2.3 (Files\\u0007)",
        "Protocol   2025-11-25 (legacy)",
        "Offers     tools (listChanged), resources (subscribe), logging",
        "Connected  in 1.2 s",
        "Ping       3 ms",
        "",
        "Instructions",
        "  Read first.",
        "  Then write."
      ].join("\n")
    )
  })

  it("is told as text where it tells nothing", () => {
    assert.strictEqual(
      RenderServer.text(
        {
          ...server,
          revision: Revision.latestModern,
          era: "modern",
          capabilities: undefined,
          serverInfo: undefined,
          instructions: undefined,
          supportedVersions: ["2026-07-28", "2025-11-25"]
        },
        { connectMillis: 5, pingMillis: null },
        asIs
      ),
      [
        "Server     not told",
        "Protocol   2026-07-28 (modern)",
        "Speaks     2026-07-28, 2025-11-25",
        "Offers     not told",
        "Connected  in 5 ms",
        "Ping       not answered"
      ].join("\n")
    )
  })

  it("is told as JSON", () => {
    assert.deepStrictEqual(RenderServer.json(server, { connectMillis: 5, pingMillis: null }), {
      serverInfo: server.serverInfo,
      revision: "2025-11-25",
      era: "legacy",
      supportedVersions: ["2025-11-25"],
      capabilities: server.capabilities,
      instructions: "Read first.\nThen write.",
      times: { connectMillis: 5, pingMillis: null }
    })
  })
})

describe("JSON", () => {
  it("is lossless and has nothing that a terminal obeys", () => {
    const value = { text: "a\u001b[2J\u009b\u202e\u2028\u{e0041}é日" }
    const encoded = encodeJson(value)
    assert.strictEqual(encoded, "{\"text\":\"a\\u001b[2J\\u009b\\u202e\\u2028\\udb40\\udc41é日\"}")
    assert.deepStrictEqual(JSON.parse(encoded), value)
  })
})

describe("the progress bar", () => {
  it("shows the share, or the count where the total is not known", () => {
    assert.strictEqual(ProgressBar.draw("echo", undefined, 500, 80), "⠴ echo  500 ms")
    assert.strictEqual(
      ProgressBar.draw("echo", { progress: 1, total: 4, message: "reading\nfile" }, 1_000, 80),
      "⠋ echo  █████░░░░░░░░░░░░░░░ 25%  reading file  1.0 s"
    )
    assert.strictEqual(ProgressBar.draw("echo", { progress: 7 }, 0, 80), "⠋ echo  7  0 ms")
    assert.strictEqual(
      ProgressBar.draw("echo", { progress: 9, total: 4 }, 0, 80),
      "⠋ echo  ████████████████████ 100%  0 ms"
    )
    assert.strictEqual(ProgressBar.draw("echo", { progress: 9, total: 0 }, 0, 80), "⠋ echo  9  0 ms")
  })

  it("is never wider than the terminal and never moves its cursor", () => {
    const line = ProgressBar.draw("echo", { progress: 1, message: `\u001b[2J${"x".repeat(200)}` }, 0, 30)
    assert.strictEqual(line, "⠋ echo  1  \\u001b[2Jxxxxxxxx…")
    assert.strictEqual(TerminalText.width(line), 29)
  })
})

describe("failures", () => {
  const failure = (reason: McpError.McpErrorReason, method = "tools/call", delivery: McpError.Delivery = "refused") =>
    Failure.ofMcpError(McpError.make(reason, delivery, { server: "srv", method }), ExitCode.ofReason(reason))

  it("give the server's own words and what to do", () => {
    assert.strictEqual(
      Failure.text(failure(new McpError.ServerError({ code: -32602, excerpt: "no such tool", data: { tool: "x" } }))),
      "error: srv tools/call: The server answered with error -32602 (invalid parameters)\n"
        + "  the server said: no such tool\n"
        + "  data: {\"tool\":\"x\"}"
    )
    assert.strictEqual(
      Failure.text(failure(
        new McpError.ConnectionClosed({
          target: "srv",
          local: false,
          exitCode: 3,
          uptimeMillis: 12,
          stderr: "starting\\nFATAL: missing API key\\n"
        }),
        "tools/list"
      )),
      "error: srv tools/list: srv exited with code 3 after 12 ms\n"
        + "  the last it wrote to standard error:\n"
        + "    starting\n"
        + "    FATAL: missing API key\n"
        + "  hint: run the command by itself to see why it ends; variables it needs are passed on with --env NAME"
    )
    assert.strictEqual(
      Failure.text(failure(
        new McpError.Unauthorized({
          challenges: [{ scheme: "Bearer", parameters: { realm: "a\u001b[2J", scope: "read" } }]
        })
      )),
      "error: srv tools/call: The server requires authorization (HTTP 401); give a token in its headers\n"
        + "  it asks for: Bearer realm=\"a\\u001b[2J\" scope=\"read\"\n"
        + "  hint: sign in: mcp-effect login URL, or give a token: --header \"Authorization: Bearer ...\""
    )
  })

  it("warn that a tool may have run", () => {
    const timeout = new McpError.RequestTimeout({ kind: "idle", millis: 60_000 })
    const warning = "the tool may have run; check its effect before you repeat the call"
    assert.include(failure(timeout, "tools/call", "unknown").hints, warning)
    assert.notInclude(failure(timeout, "tools/call", "unsent").hints, warning)
    assert.notInclude(failure(timeout, "tools/list", "unknown").hints, warning)
  })

  it("tell what led to them", () => {
    const cause = McpError.make(
      new McpError.ConnectionClosed({ target: "srv", local: false, signal: "SIGKILL", stderr: "out of memory" }),
      "unknown",
      { server: "srv" }
    )
    assert.strictEqual(
      Failure.text(failure(new McpError.AmbiguousDelivery({ name: "pay", cause }), "tools/call", "unknown")),
      "error: srv tools/call: The connection died before the answer came of \"pay\"; it may have run, so check its effect "
        + "before you repeat it\n"
        + "  because: srv: srv was ended by SIGKILL\n"
        + "  the last it wrote to standard error: out of memory\n"
        + "  hint: run the command by itself to see why it ends; variables it needs are passed on with --env NAME"
    )
  })

  it("are documents for programs", () => {
    assert.deepStrictEqual(
      Failure.document(failure(new McpError.HttpStatus({ status: 500, excerpt: "oops" }), "initialize")),
      {
        error: {
          kind: "HttpStatus",
          message: "srv initialize: The server answered HTTP 500: the server failed",
          exitCode: 4,
          server: "srv",
          method: "initialize",
          delivery: "refused",
          reason: { status: 500, excerpt: "oops" }
        }
      }
    )
    assert.deepStrictEqual(
      Failure.document(failure(new McpError.UnknownTool({ name: "x" }))),
      {
        error: {
          kind: "UnknownTool",
          message: "srv tools/call: The server offers no tool \"x\"; list its tools to see what it offers",
          exitCode: 2,
          server: "srv",
          method: "tools/call",
          delivery: "refused",
          reason: { name: "x" },
          hints: ["mcp-effect tools shows what the server offers"]
        }
      }
    )
  })
})

describe("exit codes", () => {
  it("have one for each class of failure", () => {
    const codes: ReadonlyArray<readonly [McpError.McpErrorReason, number]> = [
      [new McpError.SpawnFailed({ command: "x", searched: [], problem: "not-found" }), 3],
      [new McpError.ConnectionFailed({ target: "x", description: "refused" }), 3],
      [new McpError.ConnectionClosed({ target: "x", local: false }), 3],
      [new McpError.RedirectRefused({ status: 302 }), 3],
      [new McpError.StreamEnded({ resumable: false }), 3],
      [new McpError.NegotiationFailed({ problem: "x", offered: [], supported: [] }), 3],
      [new McpError.AmbiguousDelivery({}), 3],
      [new McpError.HttpStatus({ status: 404 }), 4],
      [new McpError.MalformedMessage({ problem: "x" }), 4],
      [new McpError.MessageTooLarge({ limit: 1, direction: "received" }), 4],
      [new McpError.ServerError({ code: 1, excerpt: "" }), 4],
      [new McpError.ResourceNotFound({ uri: "x", code: -32002, excerpt: "" }), 4],
      [new McpError.SessionExpired({ status: 404 }), 4],
      [new McpError.CapabilityMissing({ capability: "tools" }), 4],
      [new McpError.RequestTimeout({ kind: "connect", millis: 1 }), 5],
      [new McpError.StreamIdle({ millis: 1 }), 5],
      [new McpError.UnknownTool({ name: "x" }), 2],
      [new McpError.InvalidRequest({ problem: "x" }), 2],
      [new McpError.Unauthorized({ challenges: [] }), 6],
      [new McpError.InsufficientScope({ challenges: [] }), 6],
      [new McpError.Cancelled({}), 130]
    ]
    assert.deepStrictEqual(codes.map(([reason]) => ExitCode.ofReason(reason)), codes.map(([, code]) => code))
  })
})
