import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Tool } from "@mcp-effect/protocol"
import { Effect, Fiber, Result, Stream } from "effect"
import * as McpClient from "../src/McpClient.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, initialization, never } = Scripted

const toolNamed = (name: string, more?: Record<string, unknown>) => ({ name, inputSchema: { type: "object" }, ...more })
const text = (text: string) => ({ content: [{ type: "text", text }] })

/** Answers with the name of the tool and its arguments. */
const echo: Scripted.Handler = ({ params, result }) =>
  result(text(`${String(params["name"])} ${JSON.stringify(params["arguments"])}`))

describe("callTool", () => {
  verifies(["TOO-02", "TOO-01"], "calls a tool by name, with its arguments or none", () =>
    Effect.gen(function*() {
      for (
        const server of [yield* Scripted.modern({ "tools/call": echo }), yield* Scripted.legacy({ "tools/call": echo })]
      ) {
        const client = yield* connect(server)
        const result = yield* client.callTool("add", { a: 1, b: [2] })
        assert.deepStrictEqual(result.content as unknown, [{ type: "text", text: "add {\"a\":1,\"b\":[2]}" }])
        yield* client.callTool("add")
        assert.deepStrictEqual(
          server.sentOf("tools/call").map(({ params }) => [params["name"], params["arguments"]]),
          [["add", { a: 1, b: [2] }], ["add", {}]]
        )
      }
    }))

  verifies(
    ["TOO-18", "MOD-01", "MOD-02", "RSC-10"],
    "gives every kind of content, and keeps one that is not known",
    () =>
      Effect.gen(function*() {
        const content = [
          { type: "text", text: "hello", annotations: { audience: ["user"], priority: 0.5 }, _meta: { a: 1 } },
          { type: "image", data: "aGk=", mimeType: "image/png" },
          { type: "audio", data: "aGk=", mimeType: "audio/wav", annotations: { lastModified: "2025-01-01T00:00:00Z" } },
          {
            type: "resource_link",
            uri: "file:///a",
            name: "a",
            title: "A",
            description: "The letter",
            mimeType: "text/plain",
            size: 1,
            icons: [{ src: "https://x.example/i.png" }],
            annotations: { audience: ["assistant"] },
            _meta: { b: 2 }
          },
          { type: "resource", resource: { uri: "file:///a", text: "A", mimeType: "text/plain", _meta: { c: 3 } } },
          { type: "resource", resource: { uri: "file:///b", blob: "aGk=" } },
          { type: "hologram", frames: [1, 2] }
        ]
        const server = yield* Scripted.modern({ "tools/call": answer({ content, structuredContent: [1, null] }) })
        const client = yield* connect(server)
        const result = yield* client.callTool("work")
        assert.deepStrictEqual(result.content as unknown, content)
        assert.deepStrictEqual(result.structuredContent, [1, null])
        const link = result.content.find((block) => block.type === "resource_link")
        assert.strictEqual(link?.type === "resource_link" ? link.uri : undefined, "file:///a")
      })
  )

  verifies("TOO-02", "a result that says isError is a result", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/call": answer({ ...text("no such city"), isError: true }) })
      const result = yield* (yield* connect(server)).callTool("weather")
      assert.isTrue(result.isError)
    }))

  verifies(
    "TOO-11",
    "fails before anything is sent where a required argument of a listed tool is missing",
    () =>
      Effect.gen(function*() {
        const inputSchema = {
          type: "object",
          properties: { city: { type: "string" }, unit: { type: "string", default: "C" } },
          required: ["city", "unit"]
        }
        const server = yield* Scripted.modern({
          "tools/list": answer({ tools: [{ name: "weather", inputSchema }] }),
          "tools/call": echo
        })
        const client = yield* connect(server)
        yield* client.callTool("weather", {})
        yield* client.listTools()
        const error = yield* Effect.flip(client.callTool("weather", { unit: "F" }))
        assert.isTrue(error.reason._tag === "InvalidRequest" && error.reason.path === "/city")
        assert.strictEqual(error.delivery, "unsent")
        assert.strictEqual(error.method, "tools/call")
        yield* client.callTool("weather", { city: "Rome" })
        assert.deepStrictEqual(server.sentOf("tools/call").map(({ params }) => params["arguments"]), [{}, {
          city: "Rome"
        }])
      })
  )

  verifies(
    "TOO-13",
    "fails before anything is sent where the input schema is in a dialect that is not read",
    () =>
      Effect.gen(function*() {
        const inputSchema = { type: "object", $schema: "http://json-schema.org/draft-04/schema#" }
        const server = yield* Scripted.modern({
          "tools/list": answer({ tools: [{ name: "old", inputSchema }] }),
          "tools/call": echo
        })
        const client = yield* connect(server)
        yield* client.listTools()
        const error = yield* Effect.flip(client.callTool("old"))
        assert.strictEqual(error.reason._tag, "SchemaUnsupported")
        assert.strictEqual(error.delivery, "unsent")
        assert.strictEqual(server.sentOf("tools/call").length, 0)
      })
  )

  verifies(
    "TOO-14",
    "is made with an input schema that checks nothing, which is told once as a diagnostic",
    () =>
      Effect.gen(function*() {
        const inputSchema = { type: "object", $ref: "#/$defs/nowhere", required: ["a"] }
        const server = yield* Scripted.modern({
          "tools/list": answer({ tools: [{ name: "odd", inputSchema }] }),
          "tools/call": echo
        })
        const client = yield* connect(server)
        const diagnostics = yield* collect(client.diagnostics)
        yield* client.listTools()
        yield* client.callTool("odd", { a: 1 })
        yield* client.callTool("odd", { a: 2 })
        yield* Scripted.settled
        assert.strictEqual(server.sentOf("tools/call").length, 2)
        assert.deepStrictEqual(diagnostics.map((each) => each._tag === "SchemaUnusable" && each.tool), ["odd"])
      })
  )

  verifies(
    "TOO-15",
    "fails with UnknownTool where the whole list, read once more, does not have the tool",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({ "tools/list": answer({ tools: [toolNamed("a")] }), "tools/call": echo })
        const client = yield* connect(server)
        yield* client.listTools()
        const error = yield* Effect.flip(client.callTool("b"))
        assert.isTrue(error.reason._tag === "UnknownTool" && error.reason.name === "b")
        assert.strictEqual(error.delivery, "unsent")
        assert.strictEqual(server.sentOf("tools/list").length, 2)
        assert.strictEqual(server.sentOf("tools/call").length, 0)
      })
  )

  verifies(
    "TOO-15",
    "calls a tool that has come since, and leaves it to the server where the list cannot be had",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": Scripted.inTurn(
            answer({ tools: [] }),
            answer({ tools: [toolNamed("new")] }),
            (request) => request.error(-32603)
          ),
          "tools/call": echo
        })
        const client = yield* connect(server)
        yield* client.listTools()
        yield* client.callTool("new")
        yield* client.callTool("other")
        assert.deepStrictEqual(server.sentOf("tools/call").map(({ params }) => params["name"]), ["new", "other"])
      })
  )

  verifies("TOO-15", "a tool whose definition was set aside exists all the same", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/list": answer({ tools: [{ name: "odd" }] }), "tools/call": echo })
      const client = yield* connect(server)
      assert.deepStrictEqual(yield* client.listTools(), [])
      yield* client.callTool("odd")
      assert.strictEqual(server.sentOf("tools/call").length, 1)
    }))

  verifies(
    ["TOO-16", "TOO-10"],
    "a tool that asks to run as a task is an ordinary call on a server without tasks",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          initialize: answer(initialization("2025-11-25", { capabilities: { tools: {} } })),
          "tools/list": answer({ tools: [toolNamed("long", { execution: { taskSupport: "required" } })] }),
          "tools/call": echo
        })
        const client = yield* connect(server)
        const [tool] = yield* client.listTools()
        assert.isTrue(tool !== undefined && Tool.supportsTask(tool))
        yield* client.callTool("long")
        assert.isFalse(Object.hasOwn(server.sentOf("tools/call")[0]?.params ?? {}, "task"))
      })
  )
})

describe("Tools", () => {
  verifies(
    ["TOO-06", "TOO-07", "TOO-08", "TOO-09", "TOO-10", "TOO-20", "MOD-04"],
    "have title, icons, _meta, output schema, hints and task support",
    () =>
      Effect.gen(function*() {
        const full = toolNamed("full", {
          title: "Full",
          description: "Everything",
          icons: [{ src: "data:image/png;base64,aGk=", mimeType: "image/png", sizes: ["any"] }],
          outputSchema: { type: "object", properties: { n: { type: "integer" } } },
          annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
          execution: { taskSupport: "optional" },
          _meta: { "vendor.example/x": 1 },
          vendorMember: "kept"
        })
        const server = yield* Scripted.legacy({ "tools/list": answer({ tools: [full, toolNamed("bare")] }) })
        const client = yield* connect(server)
        const [first, second] = yield* client.listTools()
        assert.deepStrictEqual(first as unknown, full)
        assert.isTrue(first !== undefined && second !== undefined)
        if (first === undefined || second === undefined) return
        assert.deepStrictEqual(Tool.hints(first), {
          readOnly: true,
          destructive: false,
          idempotent: true,
          openWorld: false
        })
        assert.deepStrictEqual(Tool.hints(second), {
          readOnly: false,
          destructive: true,
          idempotent: false,
          openWorld: true
        })
        assert.deepStrictEqual([first, second].map(Tool.hasStructuredOutput), [true, false])
        assert.deepStrictEqual([first, second].map(Tool.taskSupport), ["optional", "forbidden"])
        assert.deepStrictEqual([first, second].map(Tool.displayName), ["Full", "bare"])
      })
  )

  verifies(
    "TOO-05",
    "are found by name, and by a text or a pattern, over the whole list",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": (request) =>
            request.result(
              request.params["cursor"] === undefined
                ? { tools: [toolNamed("read_file"), toolNamed("write_file")], nextCursor: "2" }
                : { tools: [toolNamed("read_dir")] }
            )
        })
        const client = yield* connect(server)
        const names = (tools: ReadonlyArray<Tool.Tool>) => tools.map(({ name }) => name)
        assert.strictEqual((yield* McpClient.findTool(client, "read_dir")).name, "read_dir")
        assert.deepStrictEqual(names(yield* McpClient.findTools(client, "file")), ["read_file", "write_file"])
        // A pattern that remembers where it was must not skip every other tool.
        assert.deepStrictEqual(names(yield* McpClient.findTools(client, /^read/gy)), ["read_file", "read_dir"])
        assert.deepStrictEqual(yield* McpClient.findTools(client, "nothing"), [])
        const error = yield* Effect.flip(McpClient.findTool(client, "nothing"))
        assert.isTrue(error.reason._tag === "UnknownTool" && error.reason.name === "nothing")
      })
  )

  verifies(
    "STD-16",
    "x-mcp-header means nothing on stdio: no definition is refused, nothing is listed before a call",
    () =>
      Effect.gen(function*() {
        const invalid = toolNamed("odd", {
          inputSchema: { type: "object", properties: { n: { type: "number", "x-mcp-header": "Number" } } }
        })
        const valid = toolNamed("fine", {
          inputSchema: { type: "object", properties: { s: { type: "string", "x-mcp-header": "Text" } } }
        })
        const server = yield* Scripted.modern(
          { "tools/list": answer({ tools: [invalid, valid] }), "tools/call": echo },
          { kind: "stdio" }
        )
        const client = yield* connect(server)
        yield* client.callTool("fine", { s: "x" })
        assert.deepStrictEqual(server.methods(), ["server/discover", "tools/call"])
        assert.strictEqual((yield* client.listTools()).length, 2)
        yield* client.callTool("fine", { s: "x" })
        for (let call = 0; call < 2; call++) {
          const { outgoing } = yield* server.take("tools/call")
          assert.isUndefined(outgoing.routing?.params)
        }
      })
  )
})

describe("callTools", () => {
  verifies("TOO-03", "gives every outcome in the order of the calls, failures included", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/call": (request) => {
          switch (request.params["name"]) {
            case "slow":
              return
            case "broken":
              return request.error(-32603, "broken")
            case "sad":
              return request.result({ ...text("sad"), isError: true })
            default:
              return request.result(text("ok"))
          }
        }
      })
      const client = yield* connect(server)
      const batch = yield* Effect.forkScoped(client.callTools([
        { name: "slow", arguments: { n: 1 }, options: { requestId: "slow-1" } },
        { name: "broken" },
        { name: "sad" },
        { name: "fine" }
      ]))
      yield* server.until(() => server.sentOf("tools/call").length === 4)
      const slow = yield* server.take("tools/call")
      assert.strictEqual(slow.id, "slow-1")
      slow.result(text("slow"))
      const [first, second, third, fourth] = yield* Fiber.join(batch)
      assert.isTrue(first !== undefined && Result.isSuccess(first))
      assert.isTrue(second !== undefined && Result.isFailure(second) && second.failure.reason._tag === "ServerError")
      assert.isTrue(third !== undefined && Result.isSuccess(third) && third.success.isError)
      assert.isTrue(fourth !== undefined && Result.isSuccess(fourth))
      assert.deepStrictEqual(yield* client.callTools([]), [])
    }))

  verifies(
    "TOO-03",
    "makes 8 calls at a time, or as many as it is told, and at least one",
    () =>
      Effect.gen(function*() {
        const table = [[undefined, 8], [3, 3], [1.5, 2], [0, 1], [-1, 1], [Number.NaN, 1]] as const
        for (const [concurrency, expected] of table) {
          const options = concurrency === undefined ? undefined : { concurrency }
          const server = yield* Scripted.modern({ "tools/call": never })
          const client = yield* connect(server)
          yield* Effect.forkScoped(client.callTools(Array.from({ length: 20 }, () => ({ name: "work" })), options))
          yield* server.until(() => server.sentOf("tools/call").length === expected)
          yield* Scripted.settled
          assert.strictEqual(server.sentOf("tools/call").length, expected)
          ;(yield* server.take("tools/call")).result(text("ok"))
          yield* server.until(() => server.sentOf("tools/call").length === expected + 1)
        }
      })
  )
})

describe("callToolStream", () => {
  verifies(
    "TOO-04",
    "gives progress, log messages, what else comes along, and the result, which is the last event",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/call": (request) => {
            request.progress(1, { total: 2 })
            request.notify("notifications/message", { level: "info", data: "half" })
            request.notify("notifications/vendor/part", { text: "o" })
            request.progress(2, { total: 2, message: "done" })
            request.result(text("ok"))
          }
        }, { kind: "streamable-http" })
        const client = yield* connect(server, { forwardLogs: false })
        const heard: Array<number> = []
        const events = yield* Stream.runCollect(client.callToolStream("work", { a: 1 }, {
          onProgress: ({ progress }) => Effect.sync(() => void heard.push(progress))
        }))
        assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["Progress", "Log", "Partial", "Progress", "Final"])
        const [first, second, part, third, last] = events
        assert.isTrue(first?._tag === "Progress" && first.progress.total === 2)
        assert.isTrue(second?._tag === "Log" && second.message.data === "half")
        assert.isTrue(part?._tag === "Partial" && part.notification.method === "notifications/vendor/part")
        assert.isTrue(third?._tag === "Progress" && third.progress.message === "done")
        assert.deepStrictEqual(last?._tag === "Final" ? (last.result as unknown) : undefined, text("ok"))
        assert.deepStrictEqual(heard, [1, 2])
        assert.deepStrictEqual(server.sentOf("tools/call")[0]?.params["arguments"], { a: 1 })
      })
  )

  verifies("TOO-04", "gives events as they come, and fails with the call", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ "tools/call": never })
      const client = yield* connect(server)
      const events: Array<McpClient.ToolEvent> = []
      const run = yield* Effect.forkScoped(
        Stream.runForEach(client.callToolStream("work"), (event) => Effect.sync(() => events.push(event)))
      )
      const call = yield* server.take("tools/call")
      call.progress(1)
      yield* Scripted.settled
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["Progress"])
      call.error(-32603, "broken")
      const error = yield* Effect.flip(Fiber.join(run))
      assert.strictEqual(error.reason._tag, "ServerError")
    }))

  verifies(["TOO-04", "TMO-17"], "who stops reading cancels the call", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/call": (request) => {
          request.progress(1)
        }
      })
      const client = yield* connect(server)
      yield* Stream.runDrain(Stream.take(client.callToolStream("work"), 1))
      yield* server.until(() => server.sentOf("notifications/cancelled").length === 1)
      assert.strictEqual(
        server.sentOf("notifications/cancelled")[0]?.params["requestId"],
        server.sentOf("tools/call")[0]?.id
      )
    }))

  verifies(
    "TOO-04",
    "a reader that is too slow loses the oldest events and never the result",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/call": (request) => {
            for (let progress = 1; progress <= 3_000; progress++) request.progress(progress)
            request.result(text("ok"))
          }
        })
        const client = yield* connect(server)
        const events = yield* Stream.runCollect(client.callToolStream("work"))
        assert.isAtMost(events.length, 1_024)
        assert.strictEqual(events.at(-1)?._tag, "Final")
        const [last] = events.slice(-2)
        assert.isTrue(last?._tag === "Progress" && last.progress.progress === 3_000)
      })
  )
})
