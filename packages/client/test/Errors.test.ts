import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Effect, Exit, Schema } from "effect"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect } = Scripted
const anything = Schema.Record(Schema.String, Schema.Unknown)
const both = [Scripted.modern, Scripted.legacy]

/** The error of a call that the server answers like this. */
const errorOf = Effect.fnUntraced(function*(
  handler: Scripted.Handler,
  options?: { readonly make?: typeof Scripted.modern; readonly transport?: Scripted.Options }
) {
  const server = yield* (options?.make ?? Scripted.modern)({ "tools/call": handler }, options?.transport)
  const client = yield* connect(server)
  return yield* Effect.flip(client.callTool("work"))
})

describe("An error of the server", () => {
  verifies(["ERR-03", "ERR-04"], "keeps code and data, and is recognisable", () =>
    Effect.gen(function*() {
      for (const make of both) {
        for (const code of [-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32019, -32042, 0, 1, 4711]) {
          const error = yield* errorOf((request) => request.error(code, "words", { detail: [code] }), { make })
          assert.isTrue(error.reason._tag === "ServerError")
          if (error.reason._tag !== "ServerError") continue
          assert.strictEqual(error.reason.code, code)
          assert.deepStrictEqual(error.reason.data, { detail: [code] })
          assert.strictEqual(error.reason.excerpt, "words")
          assert.strictEqual(error.reason.isMethodNotFound, code === -32601)
        }
      }
    }))

  verifies("ERR-03", "-32020, -32021 and -32022 are reasons of their own", () =>
    Effect.gen(function*() {
      const mismatch = (yield* errorOf((request) => request.error(-32020, "no", { header: "Mcp-Name" }))).reason
      assert.isTrue(mismatch._tag === "HeaderMismatch" && mismatch.code === -32020)
      assert.deepStrictEqual(mismatch._tag === "HeaderMismatch" ? mismatch.data : undefined, { header: "Mcp-Name" })

      const missing = (yield* errorOf((request) =>
        request.error(-32021, "no", { requiredCapabilities: { sampling: {} } })
      )).reason
      assert.deepStrictEqual(
        missing._tag === "MissingClientCapability" ? missing.requiredCapabilities : undefined,
        { sampling: {} }
      )

      const version = (yield* errorOf((request) =>
        request.error(-32022, "no", { supported: ["2099-01-01"], requested: "2026-07-28" })
      )).reason
      assert.isTrue(version._tag === "UnsupportedProtocolVersion" && version.requested === "2026-07-28")
      assert.deepStrictEqual(version._tag === "UnsupportedProtocolVersion" ? version.supported : undefined, [
        "2099-01-01"
      ])
    }))

  verifies("ERR-04", "with malformed data keeps code and data under ServerError", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [code: number, data: unknown]> = [
        [-32021, undefined],
        [-32021, { requiredCapabilities: [] }],
        [-32022, { supported: "2026-07-28", requested: "x" }],
        [-32022, null]
      ]
      for (const [code, data] of cases) {
        const { reason } = yield* errorOf((request) => request.error(code, "no", data))
        assert.isTrue(reason._tag === "ServerError" && reason.code === code)
        assert.deepStrictEqual(reason._tag === "ServerError" ? reason.data : "another reason", data)
      }
    }))

  verifies(
    "ERR-04",
    "without a message, or with one that is no string, keeps its code and gives no typed reason",
    () =>
      Effect.gen(function*() {
        const { reason } = yield* errorOf((request) =>
          request.malformed({ error: { code: -32020, message: 7, data: "kept" } })
        )
        assert.isTrue(reason._tag === "ServerError" && reason.code === -32020 && reason.excerpt === "")
      })
  )

  verifies(
    ["ERR-08", "ERR-01"],
    "its words stand escaped, at most 200 characters of them, in the reason alone",
    () =>
      Effect.gen(function*() {
        const words = `boom\n\u001b[31m${"x".repeat(1_000)}`
        const error = yield* errorOf((request) => request.error(-32603, words))
        assert.isTrue(McpError.isMcpError(error))
        if (error.reason._tag !== "ServerError") return assert.fail("another reason")
        assert.strictEqual(error.reason.excerpt.length, 200)
        assert.isTrue(error.reason.excerpt.startsWith("boom\\n\\u001b[31mxxx"))
        assert.notInclude(error.message, "boom")
        assert.notInclude(error.reason.message, "boom")
      })
  )

  verifies("ERR-10", "that may pass is caught with ServerError like the others", () =>
    Effect.gen(function*() {
      const http = { kind: "streamable-http" }
      for (
        const [status, isTransient] of [[503, true], [500, true], [429, true], [200, false], [400, false]] as const
      ) {
        const error = yield* errorOf(
          (request) => request.error(-32603, "busy", undefined, status),
          { transport: http }
        )
        const caught = yield* Effect.fail(error).pipe(
          Effect.catchReason("McpError", "ServerError", (reason) => Effect.succeed(reason))
        )
        assert.strictEqual(caught.httpStatus, status)
        assert.strictEqual(caught.isTransient, isTransient)
      }
    }))
})

describe("How far a request got", () => {
  verifies(
    ["ERR-06", "ERR-03"],
    "is refused for codes that say it was not executed, unknown for others",
    () =>
      Effect.gen(function*() {
        const refused = [-32700, -32600, -32601, -32602, -32020]
        for (const code of [...refused, -32603, -32000, 1]) {
          const error = yield* errorOf((request) => request.error(code))
          assert.strictEqual(error.delivery, refused.includes(code) ? "refused" : "unknown", String(code))
        }
      })
  )

  verifies("ERR-06", "is kept as the transport tells it, and nothing is sent again", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [McpError.McpErrorReason, McpError.Delivery, retryable: boolean]> = [
        [new McpError.StreamEnded({ resumable: false }), "unknown", false],
        [new McpError.MessageTooLarge({ limit: 1, direction: "received" }), "unknown", false],
        [new McpError.MessageTooLarge({ limit: 1, direction: "sent" }), "unsent", false],
        [new McpError.HttpStatus({ status: 503 }), "refused", true],
        [new McpError.HttpStatus({ status: 503 }), "unknown", false],
        [new McpError.ConnectionFailed({ target: "x", description: "refused" }), "unsent", true],
        [new McpError.ConnectionClosed({ target: "x", local: false }), "unknown", false]
      ]
      for (const [reason, delivery, retryable] of cases) {
        const server = yield* Scripted.legacy({ "tools/call": (request) => request.fail(reason, delivery) })
        const error = yield* Effect.flip((yield* connect(server)).callTool("work"))
        // What broke once the call was out may have run the tool.
        const isAmbiguous = delivery === "unknown" && ["StreamEnded", "ConnectionClosed"].includes(reason._tag)
        const { cause } = error.reason
        assert.strictEqual(error.reason._tag, isAmbiguous ? "AmbiguousDelivery" : reason._tag)
        assert.strictEqual(isAmbiguous && McpError.isMcpError(cause) ? cause.reason : error.reason, reason)
        assert.strictEqual(error.delivery, delivery)
        assert.strictEqual(error.isRetryable, retryable)
        assert.strictEqual(server.sentOf("tools/call").length, 1)
      }
    }))

  verifies("ERR-06", "does not matter to a retry of a method that only asks", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.legacy({
        "resources/read": Scripted.inTurn(
          (request) => request.fail(new McpError.StreamEnded({ resumable: false })),
          answer({ contents: [] })
        )
      })
      const client = yield* connect(server, Scripted.once)
      const error = yield* Effect.flip(client.readResource("a:b"))
      assert.isTrue(error.isRetryable)
    }))
})

describe("An error", () => {
  verifies(
    ["ERR-05", "ERR-09", "ERR-07"],
    "of a transport comes through with its own reason",
    () =>
      Effect.gen(function*() {
        const challenge = { scheme: "bearer", parameters: { scope: "a b", error_description: "more" } }
        const reasons: ReadonlyArray<McpError.McpErrorReason> = [
          new McpError.HttpStatus({ status: 400 }),
          new McpError.Unauthorized({ challenges: [challenge] }),
          new McpError.InsufficientScope({ challenges: [challenge], scope: "a b", excerpt: "more" }),
          new McpError.HttpStatus({ status: 404 }),
          new McpError.HttpStatus({ status: 422 }),
          new McpError.HttpStatus({ status: 500 }),
          new McpError.RedirectRefused({ status: 302 }),
          new McpError.MalformedMessage({ problem: "no body", status: 200 })
        ]
        for (const reason of reasons) {
          const error = yield* errorOf((request) => request.fail(reason, "refused"))
          assert.strictEqual(error.reason, reason)
          assert.strictEqual(error.method, "tools/call")
          assert.strictEqual(error.server, Scripted.target)
        }
      })
  )

  verifies(
    ["ERR-07", "TOO-17"],
    "of any function is an McpError that names the server and the method",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy()
        const client = yield* connect(server)
        const calls: ReadonlyArray<readonly [method: string, Effect.Effect<unknown, McpError.McpError>]> = [
          ["tools/list", client.listTools()],
          ["prompts/list", client.listPrompts()],
          ["resources/list", client.listResources()],
          ["resources/templates/list", client.listResourceTemplates()],
          ["tools/call", client.callTool("work")],
          ["prompts/get", client.getPrompt("p")],
          ["resources/read", client.readResource("a:b")],
          [
            "completion/complete",
            client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } })
          ],
          ["ping", client.ping()],
          ["logging/setLevel", client.setLogLevel("info")],
          ["vendor/raw", client.request("vendor/raw", {}, anything)]
        ]
        for (const [method, call] of calls) {
          const error = yield* Effect.flip(call)
          assert.isTrue(McpError.isMcpError(error))
          assert.isTrue(error.reason._tag === "ServerError" && error.reason.isMethodNotFound)
          assert.strictEqual(error.method, method)
          assert.isTrue(error.message.startsWith(`${Scripted.target} ${method}: `))
        }
      })
  )
})

describe("A malformed response", () => {
  const shapes: ReadonlyArray<Record<string, unknown>> = [
    { result: "text" },
    { result: null },
    { result: [] },
    { result: 7 },
    { error: "oops" },
    { error: {} },
    { error: { message: "no code" } },
    { error: { code: "x", message: "y" } },
    { error: { code: 1.5, message: "y" } },
    { error: [] },
    {}
  ]

  verifies(
    ["PAIN-42", "ERA-22", "ERR-02"],
    "of whatever shape fails its request at once",
    () =>
      Effect.gen(function*() {
        for (const make of both) {
          for (const transport of [{ kind: "memory" }, { kind: "streamable-http" }]) {
            for (const shape of shapes) {
              const error = yield* errorOf((request) => request.malformed(shape), { make, transport })
              assert.strictEqual(error.reason._tag, "MalformedMessage", JSON.stringify(shape))
              assert.strictEqual(error.delivery, "unknown")
              assert.strictEqual(error.method, "tools/call")
            }
          }
        }
      })
  )

  verifies("PAIN-42", "leaves the connection and the requests beside it standing", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/call": Scripted.inTurn((request) => request.malformed({ result: "text" }), answer({ content: [] }))
      })
      const client = yield* connect(server)
      yield* Effect.flip(client.callTool("work"))
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(client.callTool("work"))))
      assert.strictEqual(server.links.length, 1)
    }))

  verifies("ERR-02", "result of each kind says where it is wrong", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/list": answer({ tools: "none" }),
        "prompts/list": answer({}),
        "resources/list": answer({ resources: [], nextCursor: 7 }),
        "tools/call": answer({ content: [{ type: "text" }] }),
        "prompts/get": answer({ messages: [{ role: "robot", content: { type: "text", text: "x" } }] }),
        "resources/read": answer({ contents: [{ uri: "a:b" }] })
      })
      const client = yield* connect(server)
      const calls: ReadonlyArray<readonly [path: string, Effect.Effect<unknown, McpError.McpError>]> = [
        ["/tools", client.listTools()],
        ["/prompts", client.listPrompts()],
        ["/nextCursor", client.listResources()],
        ["/content/0/text", client.callTool("work")],
        ["/messages/0/role", client.getPrompt("p")]
      ]
      for (const [path, call] of calls) {
        const { reason } = yield* Effect.flip(call)
        assert.strictEqual(reason._tag === "MalformedMessage" ? reason.path : reason._tag, path)
      }
      const { reason } = yield* Effect.flip(client.readResource("a:b"))
      assert.isTrue(reason._tag === "MalformedMessage" && reason.path?.startsWith("/contents/0"))
    }))
})

describe("resultType", () => {
  verifies("ERA-22", "that is absent or complete is complete, in either era", () =>
    Effect.gen(function*() {
      for (const make of both) {
        for (const resultType of [undefined, "complete"]) {
          const server = yield* make({ "tools/call": answer({ content: [], resultType }) })
          yield* (yield* connect(server)).callTool("work")
        }
      }
    }))

  verifies(
    "ERA-22",
    "that is not known, or that this request cannot have, fails it with MalformedMessage",
    () =>
      Effect.gen(function*() {
        for (const make of both) {
          for (const resultType of ["partial", "task", "", "COMPLETE", null, 7]) {
            const error = yield* errorOf(answer({ content: [], resultType }), { make })
            assert.isTrue(
              error.reason._tag === "MalformedMessage" && error.reason.path === "/resultType",
              String(resultType)
            )
          }
        }
        const legacy = yield* errorOf(answer({ resultType: "input_required", inputRequests: {} }), {
          make: Scripted.legacy
        })
        assert.isTrue(legacy.reason._tag === "MalformedMessage" && legacy.reason.path === "/resultType")
        const server = yield* Scripted.modern({
          "tools/list": answer({ tools: [], resultType: "input_required", requestState: "s" })
        })
        const list = yield* Effect.flip((yield* connect(server)).listTools())
        assert.strictEqual(list.reason._tag, "MalformedMessage")
      })
  )
})
