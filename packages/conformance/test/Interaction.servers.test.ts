import { assert, describe } from "@effect/vitest"
import { Deprecations, type McpClient, type McpHandlers } from "@mcp-effect/client"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import type { McpError, Progress, Revision, Roots, ToolCall } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as RealServers from "../src/RealServers.ts"

const timeoutMillis = 120_000

type Started = Effect.Effect<Connect.Target, RealServers.StartFailed, Scope.Scope>

const overStdio = (command: RealServers.Command): Started => Effect.succeed(command)
const overHttp = (start: typeof RealServers.askingHttp): Started => Effect.map(start, ({ url }) => url)

/** A client that gives no notices of deprecated features, which these tests are full of. */
const connect = (
  start: Started,
  options: Connect.Options
): Effect.Effect<McpClient.McpClient, RealServers.StartFailed | McpError.McpError, Scope.Scope> =>
  Effect.flatMap(
    start,
    (target) =>
      Effect.provideService(Connect.connect(target, { forwardLogs: false, ...options }), Deprecations.Enabled, false)
  )

const textOf = ({ content }: ToolCall.CallToolResult): string =>
  content.map((block) => "text" in block && typeof block.text === "string" ? block.text : "").join("\n")

const project: Roots.Root = { uri: "file:///home/user/project", name: "Project" }

/** Someone who answers whatever is asked, and what they were asked. */
const someone = () => {
  const asked: Array<unknown> = []
  const handlers: McpHandlers.McpHandlers = {
    elicitation: {
      form: ({ defaults, message }) =>
        Effect.sync(() => {
          asked.push({ message, defaults })
          return { content: { name: "Ada" } }
        }),
      url: ({ message, url }) =>
        Effect.sync(() => {
          asked.push({ message, url })
          return true
        })
    },
    sampling: {
      createMessage: ({ params }) =>
        Effect.sync(() => {
          asked.push({ maxTokens: params.maxTokens })
          return { role: "assistant", content: { type: "text", text: "Paris." }, model: "some-model" } as const
        })
    },
    roots: [project]
  }
  return { asked, handlers }
}

const decliner: McpHandlers.McpHandlers = {
  elicitation: {
    form: () => Effect.succeed({ action: "decline" }),
    url: () => Effect.succeed({ action: "decline" })
  }
}

// ====================================================================================================================
// server-everything, 2025-11-25
// ====================================================================================================================

for (
  const [transport, start] of [
    ["stdio", overStdio(RealServers.everything)],
    ["Streamable HTTP", overHttp(RealServers.everythingHttp)]
  ] as const
) {
  describe(`server-everything over ${transport}`, () => {
    verifiesLive(
      ["ELI-01", "ELI-06", "ELI-09", "ELI-12"],
      "gets a form filled in, with the defaults of every kind of field",
      Effect.fnUntraced(function*() {
        const { asked, handlers } = someone()
        const client = yield* connect(start, { handlers })
        const text = textOf(yield* client.callTool("trigger-elicitation-request"))
        const defaults = {
          firstLine: "It was a dark and stormy night.",
          integer: 42,
          number: 3.14,
          untitledSingleSelectEnum: "Monica",
          untitledMultipleSelectEnum: ["Guitar"],
          titledSingleSelectEnum: "hero-1",
          titledMultipleSelectEnum: ["fish-1"],
          legacyTitledEnum: "pet-1"
        }
        assert.deepStrictEqual(asked, [{ message: "Please provide inputs for the following fields:", defaults }])
        assert.deepStrictEqual(JSON.parse(text.slice(text.indexOf("Raw result: ") + 12)), {
          action: "accept",
          content: { ...defaults, name: "Ada" }
        })
        const declining = yield* connect(start, { handlers: decliner })
        assert.include(textOf(yield* declining.callTool("trigger-elicitation-request")), "User declined")
      }),
      timeoutMillis
    )

    verifiesLive(
      ["ELI-03", "ELI-05", "ELI-06"],
      "has a page visited, be it by a request or by -32042",
      Effect.fnUntraced(function*() {
        const { asked, handlers } = someone()
        const client = yield* connect(start, { handlers })
        const page = { url: "https://pay.example/42", message: "Please pay" }
        assert.include(textOf(yield* client.callTool("trigger-url-elicitation", page)), "User completed")
        assert.deepStrictEqual(asked, [page])
        assert.include(
          textOf(yield* client.callTool("trigger-url-elicitation", { ...page, errorPath: true })),
          "User completed"
        )
        assert.deepStrictEqual(asked.slice(1), [
          {
            url: "https://modelcontextprotocol.io",
            message: "Open this link to satisfy the prerequisite, then retry the request."
          },
          page
        ])
        const declining = yield* connect(start, { handlers: decliner })
        const error = yield* Effect.flip(declining.callTool("trigger-url-elicitation", { ...page, errorPath: true }))
        assert.isTrue(error.reason._tag === "ServerError" && error.reason.code === -32042)
      }),
      timeoutMillis
    )

    verifiesLive(
      ["SAM-01", "SAM-02"],
      "has the model asked",
      Effect.fnUntraced(function*() {
        const { asked, handlers } = someone()
        const client = yield* connect(start, { handlers })
        const text = textOf(yield* client.callTool("trigger-sampling-request", { prompt: "Capital?", maxTokens: 7 }))
        assert.deepStrictEqual(asked, [{ maxTokens: 7 }])
        assert.deepStrictEqual(JSON.parse(text.slice(text.indexOf("{"))), {
          role: "assistant",
          content: { type: "text", text: "Paris." },
          model: "some-model"
        })
      }),
      timeoutMillis
    )

    verifiesLive(
      ["ROO-01", "ROO-02", "ROO-08"],
      "is told the roots, and of their change",
      Effect.fnUntraced(function*() {
        const roots = yield* SubscriptionRef.make<ReadonlyArray<Roots.Root>>([project])
        const client = yield* connect(start, { handlers: { roots } })
        const listed = Effect.map(client.callTool("get-roots-list"), textOf)
        assert.include(yield* listed, "1. Project\n   URI: file:///home/user/project")
        yield* SubscriptionRef.set(roots, [{ uri: "file:///srv" }, { uri: "file:///etc", name: "Settings" }])
        // It asks for them on its own, once it was told of the change.
        const changed = yield* Effect.repeat(listed, {
          until: (text) => text.includes("2 total"),
          schedule: Schedule.spaced("20 millis")
        })
        assert.include(changed, "1. Unnamed Root\n   URI: file:///srv")
        assert.include(changed, "2. Settings\n   URI: file:///etc")
      }),
      timeoutMillis
    )

    verifiesLive(
      ["CAP-06", "ELI-07"],
      "offers what the client declared, and nothing that it did not",
      Effect.fnUntraced(function*() {
        const conditional = (handlers: McpHandlers.McpHandlers) =>
          Effect.map(
            Effect.flatMap(connect(start, { handlers }), (client) => client.listTools()),
            (tools) =>
              tools.map(({ name }) => name).filter((name) =>
                /^trigger-(elicitation|url-elicitation|sampling)\b/.test(name) || name === "get-roots-list"
              ).sort()
          )
        const { handlers } = someone()
        assert.deepStrictEqual(yield* conditional({}), [])
        assert.deepStrictEqual(yield* conditional({ elicitation: { form: handlers.elicitation?.form } }), [
          "trigger-elicitation-request"
        ])
        assert.deepStrictEqual(yield* conditional(handlers), [
          "get-roots-list",
          "trigger-elicitation-request",
          "trigger-sampling-request",
          "trigger-url-elicitation"
        ])
      }),
      timeoutMillis
    )

    verifiesLive(
      ["PRG-01", "PAIN-1"],
      "tells the progress of what takes longer than it may be silent",
      Effect.fnUntraced(function*() {
        const client = yield* connect(start, {})
        const seen: Array<Progress.ProgressNotificationParams> = []
        const result = yield* client.callTool("trigger-long-running-operation", { duration: 1.2, steps: 6 }, {
          idleTimeout: "1 second",
          onProgress: (progress) => Effect.sync(() => seen.push(progress))
        })
        assert.include(textOf(result), "Long running operation completed")
        assert.deepStrictEqual(seen.map(({ progress, total }) => [progress, total]), [
          [1, 6],
          [2, 6],
          [3, 6],
          [4, 6],
          [5, 6],
          [6, 6]
        ])
      }),
      timeoutMillis
    )
  })
}

// ====================================================================================================================
// @modelcontextprotocol/server 2.4.0
// ====================================================================================================================

// On stdio the server takes a connection for a legacy one once it was asked for a handshake, whatever it had answered to
// the probe before; on a busy machine it may come up only after the probe's usual time.
const patient: Connect.Options = { probeTimeout: "1 minute" }

interface Era {
  readonly title: string
  readonly start: Started
  readonly version: Revision.Version
  readonly protocol?: "legacy"
}

const eras: ReadonlyArray<Era> = [
  { title: "2026-07-28 over HTTP", start: overHttp(RealServers.askingHttp), version: "2026-07-28" },
  { title: "2026-07-28 over stdio", start: overStdio(RealServers.asking), version: "2026-07-28" },
  {
    title: "2025-11-25 over stdio",
    start: overStdio(RealServers.asking),
    version: "2025-11-25",
    protocol: "legacy"
  }
]

for (const { protocol, start, title, version } of eras) {
  describe(`@modelcontextprotocol/server, ${title}`, () => {
    verifiesLive(
      ["MRT-02", "MRT-03", "ELI-06", "ELI-11", "SAM-02", "ROO-06"],
      "learns from user, model and file system, round after round, with its state as it gave it",
      Effect.fnUntraced(function*() {
        const { asked, handlers } = someone()
        const client = yield* connect(start, { ...patient, handlers, protocol })
        assert.strictEqual((yield* client.server).revision.version, version)
        assert.deepStrictEqual(JSON.parse(textOf(yield* client.callTool("survey"))), {
          person: { kind: "elicit", action: "accept", content: { name: "Ada", colour: "g", age: 30 } },
          capital: {
            kind: "sampling",
            result: { role: "assistant", content: { type: "text", text: "Paris." }, model: "some-model" }
          },
          folders: { kind: "roots", roots: [project] },
          page: { kind: "elicit", action: "accept" }
        })
        assert.sameDeepMembers(asked, [
          { message: "Who are you?", defaults: { colour: "g", age: 30 } },
          { maxTokens: 10 },
          { message: "Please pay", url: "https://pay.example/42" }
        ])
      }),
      timeoutMillis
    )

    verifiesLive(
      ["MRT-01", "PRO-03"],
      "may ask before it gives a prompt or a resource, and hears of a refusal",
      Effect.fnUntraced(function*() {
        for (
          const [handlers, name] of [[someone().handlers, "Ada"], [decliner, "nobody (decline)"]] as const
        ) {
          const client = yield* connect(start, { ...patient, handlers, protocol })
          const prompt = yield* client.getPrompt("introduction")
          assert.deepStrictEqual<unknown>(prompt.messages, [
            { role: "user", content: { type: "text", text: `I am ${name}` } }
          ])
          const resource = yield* client.readResource("test://badge")
          assert.deepStrictEqual<unknown>(resource.contents, [{ uri: "test://badge", text: `badge of ${name}` }])
        }
      }),
      timeoutMillis
    )

    verifiesLive(
      ["PAIN-4", "TMO-01"],
      "waits for a person longer than it may be silent, but not beyond the deadline",
      Effect.fnUntraced(function*() {
        const slow: McpHandlers.McpHandlers = {
          elicitation: { form: () => Effect.delay(Effect.succeed({ content: { name: "Ada" } }), "1500 millis") }
        }
        const client = yield* connect(start, { ...patient, handlers: slow, protocol, idleTimeout: "1 second" })
        assert.isNotEmpty((yield* client.getPrompt("introduction")).messages)
        const error = yield* Effect.flip(client.getPrompt("introduction", {}, { deadline: "1 second" }))
        const { reason } = error
        assert.isTrue(
          reason._tag === "RequestTimeout" || (reason._tag === "InputRequired" && reason.problem === "deadline"),
          reason._tag
        )
      }),
      timeoutMillis
    )
  })
}

describe("@modelcontextprotocol/server, 2025-11-25 over stdio", () => {
  verifiesLive(
    ["ELI-03", "ELI-06"],
    "has a page visited by -32042, and the call made again when it tells that the visit is over",
    Effect.fnUntraced(function*() {
      const { asked, handlers } = someone()
      const client = yield* connect(overStdio(RealServers.asking), {
        handlers,
        protocol: "legacy",
        // Nothing but the server ends the wait.
        onInputRequiredWait: () => Effect.never
      })
      assert.strictEqual(textOf(yield* client.callTool("sign-in")), "asked 2 times")
      assert.deepStrictEqual(asked, [{ message: "Please sign in", url: "https://auth.example/1" }])
    }),
    timeoutMillis
  )
})

describe("@modelcontextprotocol/server, 2026-07-28 over HTTP", () => {
  const start = overHttp(RealServers.askingHttp)

  verifiesLive(
    ["MRT-05", "MRT-06"],
    "is asked again as it wishes, at the pace that the host is told of",
    Effect.fnUntraced(function*() {
      const waits: Array<unknown> = []
      const client = yield* connect(start, {
        onInputRequiredWait: ({ delayMillis, method, round }) =>
          Effect.sync(() => {
            waits.push([method, round, delayMillis])
            return "wait"
          })
      })
      assert.strictEqual(textOf(yield* client.callTool("later")), "now")
      assert.deepStrictEqual(waits, [["tools/call", 0, 500], ["tools/call", 1, 1_000]])
    }),
    timeoutMillis
  )

  verifiesLive(
    ["MRT-04", "MRT-07", "MRT-08", "ERR-11"],
    "goes on with a call that nobody could answer, from the state it gave",
    Effect.fnUntraced(function*() {
      const client = yield* connect(start, { onInputRequiredWait: () => Effect.succeed("cancel") })
      const { reason } = yield* Effect.flip(client.callTool("later"))
      if (reason._tag !== "InputRequired") return assert.fail(reason._tag)
      assert.deepStrictEqual([reason.problem, reason.isResumable, reason.requestMethod], [
        "stopped",
        true,
        "tools/call"
      ])
      const again = yield* Effect.flip(client.resume(reason))
      if (again.reason._tag !== "InputRequired") return assert.fail(again.reason._tag)
      // It has asked twice by now, and the third time it knows enough.
      const done = yield* client.resume(again.reason)
      assert.include(JSON.stringify(done), "now")
    }),
    timeoutMillis
  )

  verifiesLive(
    ["HDR-09", "HDR-10", "HDR-13", "HDR-20"],
    "gets arguments in headers, as it checks itself, also of a tool that was never listed",
    Effect.fnUntraced(function*() {
      const client = yield* connect(start, {})
      const headers = Effect.map(
        client.callTool("search", { region: " größer 🚀", limit: 3, exact: true, query: "q" }),
        (result) => JSON.parse(textOf(result))
      )
      const expected = {
        "mcp-method": "tools/call",
        "mcp-name": "search",
        "mcp-protocol-version": "2026-07-28",
        "mcp-param-region": "=?base64?IGdyw7bDn2VyIPCfmoA=?=",
        "mcp-param-limit": "3",
        "mcp-param-exact": "true"
      }
      assert.deepStrictEqual(yield* headers, expected)
      yield* client.listTools()
      assert.deepStrictEqual(yield* headers, expected)
      const bare = JSON.parse(textOf(yield* client.callTool("search", { region: "eu" })))
      assert.deepStrictEqual(Object.keys(bare).filter((name) => name.startsWith("mcp-param")), ["mcp-param-region"])
      assert.strictEqual(bare["mcp-param-region"], "eu")
    }),
    timeoutMillis
  )

  verifiesLive(
    ["HDR-17", "HDR-18"],
    "refuses headers of a definition that it has changed, and is asked again by the new one",
    Effect.fnUntraced(function*() {
      const client = yield* connect(start, {})
      yield* client.callTool("search", { region: "eu" })
      yield* client.callTool("move-header", { header: "Area" })
      const headers = JSON.parse(textOf(yield* client.callTool("search", { region: "eu" })))
      assert.deepStrictEqual(Object.keys(headers).filter((name) => name.startsWith("mcp-param")), ["mcp-param-area"])
    }),
    timeoutMillis
  )
})

// ====================================================================================================================
// Effect's McpServer
// ====================================================================================================================

const revisions: ReadonlyArray<Revision.Version> = ["2026-07-28", "2025-11-25", "2025-06-18"]

describe("Effect's McpServer", () => {
  const cases: ReadonlyArray<Era> = [
    ...revisions.map((version) => ({
      title: `${version} over stdio`,
      start: overStdio(RealServers.effect(version)),
      version
    })),
    { title: "2026-07-28 over HTTP", start: overHttp(RealServers.effectHttp), version: "2026-07-28" },
    {
      title: "2025-11-25 over HTTP",
      start: overHttp(RealServers.effectHttp),
      version: "2025-11-25",
      protocol: "legacy"
    }
  ]
  for (const { protocol, start, title, version } of cases) {
    verifiesLive(
      ["ELI-01", "ELI-06", "ELI-08", "MRT-02", "MRT-03"],
      `asks for a name, then greets: ${title}`,
      Effect.fnUntraced(function*() {
        const { asked, handlers } = someone()
        const client = yield* connect(start, { handlers, protocol })
        assert.strictEqual((yield* client.server).revision.version, version)
        // In the modern era the exclamation mark says that the state came back.
        const mark = version === "2026-07-28" ? "!" : ""
        assert.strictEqual(textOf(yield* client.callTool("greet")), `hello Ada${mark}`)
        assert.deepStrictEqual(asked, [{ message: "Who are you?", defaults: {} }])
        const declining = yield* connect(start, { handlers: decliner, protocol })
        assert.strictEqual(textOf(yield* declining.callTool("greet")), `hello nobody${mark}`)
      }),
      timeoutMillis
    )
  }
})
