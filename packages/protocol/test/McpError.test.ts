import { assert, describe, it } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { McpError, PeerText } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"

// Stands wherever a peer could have written it.
const peer = "written by the peer"
const response = { excerpt: peer, data: { peer } }

const sample = {
  SpawnFailed: new McpError.SpawnFailed({ command: "srv", searched: ["/bin"], problem: "not-found" }),
  ConnectionFailed: new McpError.ConnectionFailed({ target: "http://h", code: "ECONNREFUSED", description: "refused" }),
  ConnectionClosed: new McpError.ConnectionClosed({ target: "srv", local: false, exitCode: 3, stderr: peer }),
  HttpStatus: new McpError.HttpStatus({ status: 404, contentType: peer, excerpt: peer }),
  RedirectRefused: new McpError.RedirectRefused({ status: 307, location: peer }),
  StreamEnded: new McpError.StreamEnded({ resumable: false }),
  StreamIdle: new McpError.StreamIdle({ millis: 60_000 }),
  MalformedMessage: new McpError.MalformedMessage({ problem: "it is no object", contentType: peer, excerpt: peer }),
  MessageTooLarge: new McpError.MessageTooLarge({ limit: 10, direction: "received" }),
  ServerError: new McpError.ServerError({ code: -32000, ...response }),
  HeaderMismatch: new McpError.HeaderMismatch({ code: -32020, ...response }),
  MissingClientCapability: new McpError.MissingClientCapability({
    code: -32021,
    requiredCapabilities: { [peer]: {} },
    ...response
  }),
  UnsupportedProtocolVersion: new McpError.UnsupportedProtocolVersion({
    code: -32022,
    supported: [peer],
    requested: peer,
    ...response
  }),
  ResourceNotFound: new McpError.ResourceNotFound({ uri: "file:///a", code: -32602, ...response }),
  NegotiationFailed: new McpError.NegotiationFailed({
    problem: "none in common",
    offered: ["2026-07-28"],
    supported: [peer],
    excerpt: peer
  }),
  SessionExpired: new McpError.SessionExpired({ status: 404 }),
  ServerUnavailable: new McpError.ServerUnavailable({ failures: 10, retryAfterMillis: 59_500 }),
  CapabilityMissing: new McpError.CapabilityMissing({ capability: "completions" }),
  RequestTimeout: new McpError.RequestTimeout({ kind: "idle", millis: 60_000 }),
  AmbiguousDelivery: new McpError.AmbiguousDelivery({ name: "pay" }),
  InputRequired: new McpError.InputRequired({
    problem: "unhandled",
    requestMethod: "tools/call",
    requestParams: { name: peer },
    inputRequests: { [peer]: {} },
    requestState: peer
  }),
  UnknownTool: new McpError.UnknownTool({ name: "pay" }),
  InvalidRequest: new McpError.InvalidRequest({ problem: "it is empty", path: "/name" }),
  SchemaUnsupported: new McpError.SchemaUnsupported({
    tool: "pay",
    which: "outputSchema",
    dialect: "http://json-schema.org/draft-04/schema",
    supported: ["https://json-schema.org/draft/2020-12/schema"]
  }),
  TaskFailed: new McpError.TaskFailed({ taskId: "7", problem: "failed", code: -32603, data: peer, excerpt: peer }),
  TaskReplaced: new McpError.TaskReplaced({ taskId: "7" }),
  SkillRejected: new McpError.SkillRejected({ uri: "skill://a/SKILL.md", check: "digest" }),
  ToolFailed: new McpError.ToolFailed({ name: "pay", result: { content: [peer] } }),
  OutputInvalid: new McpError.OutputInvalid({
    name: "pay",
    issues: [{ path: "/sum", problem: "is missing" }],
    result: { content: [peer] }
  }),
  Cancelled: new McpError.Cancelled({ reason: "the user left" }),
  Unauthorized: new McpError.Unauthorized({ challenges: [{ scheme: "bearer", parameters: { realm: peer } }] }),
  InsufficientScope: new McpError.InsufficientScope({
    challenges: [{ scheme: "bearer", parameters: { scope: peer } }],
    scope: peer,
    excerpt: peer
  }),
  AuthorizationFailed: new McpError.AuthorizationFailed({
    stage: "token",
    problem: "the token endpoint refused the request",
    issuer: peer,
    error: peer,
    excerpt: peer
  }),
  InvalidGrant: new McpError.InvalidGrant({ issuer: peer, excerpt: peer })
} satisfies { readonly [Tag in McpError.McpErrorReason["_tag"]]: Extract<McpError.McpErrorReason, { _tag: Tag }> }

const reasons: ReadonlyArray<McpError.McpErrorReason> = Object.values(sample)

const messageOf = (reason: McpError.McpErrorReason) => reason.message

describe("McpError.message", () => {
  it("begins with server and method where they are known", () => {
    const reason = sample.SessionExpired
    const text = "The server has ended the session; the next request begins another"
    assert.strictEqual(McpError.make(reason, "refused").message, text)
    assert.strictEqual(McpError.make(reason, "refused", { server: "srv" }).message, `srv: ${text}`)
    assert.strictEqual(McpError.make(reason, "refused", { method: "tools/call" }).message, `tools/call: ${text}`)
    assert.strictEqual(
      McpError.make(reason, "refused", { server: "srv", method: "tools/call" }).message,
      `srv tools/call: ${text}`
    )
  })

  it("says of each reason what happened and what to do", () => {
    const messages: { readonly [Tag in keyof typeof sample]: string } = {
      SpawnFailed: "The command \"srv\" was not found in /bin; install it, or give its full path",
      ConnectionFailed: "Cannot reach http://h (ECONNREFUSED): refused",
      ConnectionClosed: "srv exited with code 3; see stderr of this reason for its last words",
      HttpStatus: "The server answered HTTP 404: not found; check the path of the URL",
      RedirectRefused:
        "The server redirected the request (HTTP 307), which is not followed; if you trust it, use the URL it points to (location)",
      StreamEnded: "The server ended the response stream before it answered",
      StreamIdle:
        "The response stream was silent for 60000 ms; raise idleTimeout if the server works that long in silence",
      MalformedMessage: "The server's answer is malformed: it is no object",
      MessageTooLarge: "The server's answer is over the limit of 10 bytes; raise the limit if the server is trusted",
      ServerError: "The server answered with error -32000; its words are in the excerpt of this reason",
      HeaderMismatch:
        "The server found that headers and body of the request differ; a proxy may have changed one of them, or the tool's definition is out of date",
      MissingClientCapability:
        "The server requires a capability that this client does not declare (requiredCapabilities); give the client the handler or extension it asks for",
      UnsupportedProtocolVersion:
        "The server does not speak the revision of the request (requested); it lists 1 others (supported)",
      ResourceNotFound: "The server has no resource \"file:///a\"; list its resources to see what it has",
      NegotiationFailed: "No revision of the protocol could be agreed on: none in common",
      SessionExpired: "The server has ended the session; the next request begins another",
      ServerUnavailable:
        "The server failed 10 times in a row and is left alone; it is tried again in 60 s at the earliest",
      CapabilityMissing: "The server does not declare the capability completions, and the request was not sent",
      RequestTimeout: "Nothing was heard of the request for 60000 ms; raise idleTimeout if the server is slow",
      AmbiguousDelivery:
        "The connection died before the answer came of \"pay\"; it may have run, so check its effect before you repeat it",
      InputRequired: "The server asks for input that this client has no handler for; give it one",
      UnknownTool: "The server offers no tool \"pay\"; list its tools to see what it offers",
      InvalidRequest: "/name: it is empty",
      SchemaUnsupported:
        "The outputSchema of tool \"pay\" declares a dialect of JSON Schema (http://json-schema.org/draft-04/schema) that is not supported (supported: https://json-schema.org/draft/2020-12/schema)",
      TaskFailed: "Task \"7\" failed with error -32603",
      TaskReplaced: "Task \"7\" is gone: the server uses its id for another task",
      SkillRejected:
        "\"skill://a/SKILL.md\" was not loaded: its digest is not the one its skill lists; get the skill anew if it changed",
      ToolFailed: "Tool \"pay\" reported a failure; what it says is in the result of this reason",
      OutputInvalid: "Tool \"pay\" ran, but its output does not fit its schema: /sum is missing",
      Cancelled: "The request was cancelled: the user left",
      Unauthorized: "The server requires authorization (HTTP 401); give a token in its headers",
      InsufficientScope:
        "The server refused the request (HTTP 403): what was granted does not suffice for the scopes it names (scope)",
      AuthorizationFailed: "Authorization failed (token): the token endpoint refused the request",
      InvalidGrant: "The authorization server does not accept what was granted before (invalid_grant); sign in again"
    }
    assert.deepStrictEqual(
      Object.fromEntries(reasons.map((reason) => [reason._tag, messageOf(reason)])),
      messages
    )
  })

  it("tells the causes of one reason apart", () => {
    const spawn = (problem: "permission-denied" | "working-directory" | "other") =>
      new McpError.SpawnFailed({ command: "srv", searched: [], problem }).message
    assert.strictEqual(spawn("permission-denied"), "The command \"srv\" may not be executed; check its permissions")
    assert.strictEqual(spawn("working-directory"), "The working directory of the command \"srv\" does not exist")
    assert.strictEqual(spawn("other"), "The command \"srv\" could not be started")

    const closed = (how: { local?: boolean; signal?: string; exitCode?: number; uptimeMillis?: number }) =>
      new McpError.ConnectionClosed({ target: "srv", local: false, ...how }).message
    assert.strictEqual(closed({ local: true }), "The connection to srv was closed by this client")
    assert.strictEqual(closed({ signal: "SIGKILL", uptimeMillis: 12.4 }), "srv was ended by SIGKILL after 12 ms")
    assert.strictEqual(closed({ exitCode: 0, uptimeMillis: 5 }), "srv exited with code 0 after 5 ms")
    assert.strictEqual(closed({}), "srv closed the connection")

    const timeout = (kind: McpError.RequestTimeout["kind"]) => new McpError.RequestTimeout({ kind, millis: 5 }).message
    assert.strictEqual(
      timeout("deadline"),
      "The request was not answered within its deadline of 5 ms; raise deadline if it may take longer"
    )
    assert.strictEqual(
      timeout("connect"),
      "The server was not ready within 5 ms; raise connectTimeout if it starts slowly"
    )
    assert.strictEqual(
      timeout("acknowledgment"),
      "The server did not acknowledge the subscription within 5 ms; raise ackTimeout if it is slow"
    )
    assert.strictEqual(
      new McpError.MessageTooLarge({ limit: 10, direction: "sent" }).message,
      "The server does not read; 10 bytes wait for it already, and the request was not sent"
    )
    assert.strictEqual(
      new McpError.ConnectionFailed({
        target: "http://h",
        description: "no transport works",
        attempts: [
          { transport: "streamable-http", problem: "405", isTransient: false },
          { transport: "sse", problem: "404", isTransient: false }
        ]
      }).message,
      "Cannot reach http://h: no transport works: streamable-http: 405; sse: 404"
    )
    assert.strictEqual(new McpError.Cancelled({}).message, "The request was cancelled")
  })

  verifiesPure("ERR-08", "holds no text of the peer, which stands in fields alone", () => {
    for (const reason of reasons) {
      assert.notInclude(McpError.make(reason, "unknown", { server: "srv", method: "m" }).message, peer, reason._tag)
    }
    assert.strictEqual(sample.ServerError.excerpt, peer)
  })

  verifiesPure("ERR-08", "shows names escaped and cut", () => {
    const name = `\u001b[2J\u202e\n${"x".repeat(500)}`
    const named = [
      new McpError.UnknownTool({ name }),
      new McpError.AmbiguousDelivery({ name }),
      new McpError.ResourceNotFound({ uri: name, code: -32602, excerpt: "" }),
      new McpError.SpawnFailed({ command: name, searched: [], problem: "other" }),
      new McpError.SchemaUnsupported({ tool: name, which: "inputSchema", dialect: "d", supported: [] })
    ]
    for (const reason of named) {
      assert.strictEqual(PeerText.escape(reason.message), reason.message, reason._tag)
      assert.include(reason.message, "\"\\u001b[2J\\u202e\\nxxx")
      assert.isBelow(reason.message.length, 400)
    }
  })
})

describe("McpError.isRetryable", () => {
  const transient: ReadonlySet<McpError.McpErrorReason["_tag"]> = new Set([
    "ConnectionFailed",
    "ConnectionClosed",
    "StreamEnded",
    "StreamIdle",
    "SessionExpired",
    "ServerUnavailable",
    "RequestTimeout"
  ])
  const deliveries = ["unsent", "refused", "unknown"] as const
  const safe = [
    "server/discover",
    "initialize",
    "ping",
    "tools/list",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "completion/complete",
    "logging/setLevel",
    "tasks/get",
    "tasks/list",
    "tasks/result"
  ]
  const others = ["tools/call", "tasks/cancel", "tasks/update", "subscriptions/listen", "x/y", "toString", undefined]

  it("follows from reason, delivery and method", () => {
    for (const reason of reasons) {
      for (const delivery of deliveries) {
        for (const method of safe) {
          assert.strictEqual(
            McpError.make(reason, delivery, { method }).isRetryable,
            transient.has(reason._tag),
            `${reason._tag} ${delivery} ${method}`
          )
        }
        for (const method of others) {
          assert.strictEqual(
            McpError.make(reason, delivery, { method }).isRetryable,
            transient.has(reason._tag) && delivery !== "unknown",
            `${reason._tag} ${delivery} ${method}`
          )
        }
      }
    }
  })

  it("follows from the HTTP status where there is one", () => {
    const retryable = [408, 425, 429, 500, 502, 503, 504]
    for (const status of [400, 401, 404, 405, 406, 413, 415, 422, 431, ...retryable]) {
      const reason = new McpError.HttpStatus({ status })
      assert.strictEqual(McpError.make(reason, "refused").isRetryable, retryable.includes(status), String(status))
      assert.strictEqual(McpError.make(reason, "unknown", { method: "tools/call" }).isRetryable, false)
    }
    for (const [httpStatus, expected] of [[undefined, false], [400, false], [429, true], [503, true]] as const) {
      const failed = new McpError.AuthorizationFailed({ stage: "token", problem: "", status: httpStatus })
      assert.strictEqual(McpError.make(failed, "refused").isRetryable, expected, String(httpStatus))
      const reason = new McpError.ServerError({ code: -32603, excerpt: "", httpStatus })
      assert.strictEqual(McpError.make(reason, "refused").isRetryable, expected, String(httpStatus))
    }
  })

  it("is denied where waiting mends nothing: a connection closed on purpose, a certificate, a client that is closed", () => {
    const closed = (local: boolean) => new McpError.ConnectionClosed({ target: "srv", local })
    const failed = (code: string | undefined) => new McpError.ConnectionFailed({ target: "srv", code, description: "" })
    assert.isFalse(McpError.make(closed(true), "unsent").isRetryable)
    assert.isTrue(McpError.make(closed(false), "unsent").isRetryable)
    for (
      const code of [undefined, "ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "UND_ERR_SOCKET", "UND_ERR_CONNECT_TIMEOUT"]
    ) {
      assert.isTrue(McpError.make(failed(code), "unsent").isRetryable, code)
    }
    for (
      const code of [
        "CERT_HAS_EXPIRED",
        "SELF_SIGNED_CERT_IN_CHAIN",
        "ERR_TLS_CERT_ALTNAME_INVALID",
        "UND_ERR_DESTROYED"
      ]
    ) {
      assert.isFalse(McpError.make(failed(code), "unsent").isRetryable, code)
    }
  })

  verifies("ERR-10", "a transient server error is caught as a server error", () =>
    Effect.gen(function*() {
      const call = Effect.fail(
        McpError.make(new McpError.ServerError({ code: -32603, excerpt: "", httpStatus: 503 }), "refused")
      )
      const caught = yield* call.pipe(
        Effect.catchReason("McpError", "ServerError", (reason) => Effect.succeed([reason.code, reason.isTransient]))
      )
      assert.deepStrictEqual(caught, [-32603, true])
    }))
})

describe("McpError", () => {
  it("is told from everything else", () => {
    assert.isTrue(McpError.isMcpError(McpError.make(sample.StreamEnded, "unknown")))
    assert.isTrue(McpError.isMcpError({ "~@mcp-effect/protocol/McpError": true }))
    for (const value of [undefined, null, "McpError", {}, { _tag: "McpError" }, new Error("x"), sample.StreamEnded]) {
      assert.isFalse(McpError.isMcpError(value))
    }
  })

  it("is an Error whose cause is its reason", () => {
    const error = McpError.make(sample.StreamEnded, "unknown")
    assert.instanceOf(error, Error)
    assert.strictEqual(error.cause, sample.StreamEnded)
    assert.strictEqual(error._tag, "McpError")
    assert.isUndefined(error.server)
  })

  it("gets a server and a method once", () => {
    const error = McpError.make(sample.StreamEnded, "unknown", { method: "ping" })
    const told = McpError.withContext(error, { server: "srv", method: "tools/list" })
    assert.strictEqual(told.server, "srv")
    assert.strictEqual(told.method, "ping")
    assert.strictEqual(told.delivery, "unknown")
    assert.strictEqual(told.reason, sample.StreamEnded)
    assert.strictEqual(McpError.withContext(told, { server: "other", method: "other" }), told)
  })

  it("knows the methods that only ask", () => {
    assert.isTrue(McpError.isSafeMethod("tools/list"))
    for (const method of ["tools/call", "", "constructor", "TOOLS/LIST"]) assert.isFalse(McpError.isSafeMethod(method))
  })
})
