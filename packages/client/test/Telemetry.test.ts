import { assert, describe, it } from "@effect/vitest"
import { McpError } from "@mcp-effect/protocol"
import { Effect, Schema, Tracer } from "effect"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect, discovery } = Scripted

/** A tracer that keeps its spans. */
const recording = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, tracer }
}

const traced = <A, E, R>(
  body: (spans: ReadonlyArray<Tracer.NativeSpan>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const { spans, tracer } = recording()
  return Effect.provideService(Effect.suspend(() => body(spans)), Tracer.Tracer, tracer)
}

const attributes = (span: Tracer.NativeSpan | undefined) => Object.fromEntries(span?.attributes ?? [])

const handlers: Scripted.Handlers = {
  "tools/list": answer({ tools: [] }),
  "tools/call": answer({ content: [] }),
  "prompts/get": answer({ messages: [] }),
  "resources/read": answer({ contents: [] }),
  ping: answer({}),
  "vendor/raw": answer({})
}

describe("A span", () => {
  it.effect("of kind client stands for each request, by the OpenTelemetry conventions for MCP", () =>
    traced((spans) =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy(handlers)
        const client = yield* connect(server)
        yield* client.callTool("read_text_file", { path: "secret" })
        yield* client.getPrompt("review", { code: "secret" })
        yield* client.readResource("file:///a/b")
        yield* client.listTools()
        yield* client.ping()
        assert.deepStrictEqual(spans.map(({ kind, name }) => [name, kind]), [
          ["tools/call read_text_file", "client"],
          ["prompts/get review", "client"],
          ["resources/read", "client"],
          ["tools/list", "client"],
          ["ping", "client"]
        ])
        const common = { "server.address": Scripted.target, "mcp.protocol.version": "2025-11-25" }
        assert.deepStrictEqual(attributes(spans[0]), {
          ...common,
          "mcp.method.name": "tools/call",
          "gen_ai.tool.name": "read_text_file"
        })
        assert.deepStrictEqual(attributes(spans[1]), {
          ...common,
          "mcp.method.name": "prompts/get",
          "gen_ai.prompt.name": "review"
        })
        assert.deepStrictEqual(attributes(spans[2]), {
          ...common,
          "mcp.method.name": "resources/read",
          "mcp.resource.uri": "file:///a/b"
        })
        assert.deepStrictEqual(attributes(spans[3]), { ...common, "mcp.method.name": "tools/list" })
        for (const span of spans) assert.strictEqual(span.status._tag, "Ended")
      })
    ))

  it.effect("says what kind of error there was, and nothing of what the server wrote", () =>
    traced((spans) =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({
          "tools/call": Scripted.inTurn(
            (request) => request.error(-32603, "secret words", { secret: true }),
            (request) => request.fail(new McpError.StreamEnded({ resumable: false })),
            answer({ content: [{ type: "text", text: "secret words" }], isError: true })
          )
        })
        const client = yield* connect(server)
        yield* Effect.flip(client.callTool("work"))
        yield* Effect.flip(client.callTool("work"))
        yield* client.callTool("work")
        assert.strictEqual(attributes(spans[0])["error.type"], "ServerError")
        assert.strictEqual(attributes(spans[0])["rpc.response.status_code"], "-32603")
        assert.strictEqual(attributes(spans[1])["error.type"], "AmbiguousDelivery")
        assert.isUndefined(attributes(spans[1])["rpc.response.status_code"])
        assert.strictEqual(attributes(spans[2])["error.type"], "tool_error")
        for (const span of spans) {
          assert.notInclude(JSON.stringify([span.name, [...span.attributes], span.events]), "secret")
        }
      })
    ))

  it.effect("covers the repeats of its request, and the wait for the connection", () =>
    traced((spans) =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern({
          "tools/list": Scripted.inTurn(
            (request) => request.error(-32022, "no", { supported: ["2026-07-28"], requested: "2026-07-28" }),
            answer({ tools: [] })
          )
        })
        const client = yield* connect(server, { lazy: true })
        yield* client.listTools()
        assert.strictEqual(server.sentOf("tools/list").length, 2)
        assert.deepStrictEqual(spans.map(({ name }) => name), ["tools/list"])
      })
    ))

  it.effect("is a child of the caller's", () =>
    traced((spans) =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(handlers)
        const client = yield* connect(server)
        yield* Effect.withSpan(client.listTools(), "outer")
        const [outer, inner] = spans
        assert.strictEqual(outer?.name, "outer")
        assert.isTrue(inner?.parent._tag === "Some" && inner.parent.value.spanId === outer?.spanId)
      })
    ))
})

describe("Trace context", () => {
  it.effect("of the request's span goes out in _meta, in the form of W3C Trace Context", () =>
    traced((spans) =>
      Effect.gen(function*() {
        for (const make of [Scripted.modern, Scripted.legacy]) {
          const server = yield* make(handlers)
          const client = yield* connect(server)
          yield* client.callTool("work")
          const span = spans.at(-1)
          const traceparent = server.sentOf("tools/call")[0]?.meta["traceparent"]
          assert.strictEqual(traceparent, `00-${span?.traceId}-${span?.spanId}-01`)
          assert.match(String(traceparent), /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)
        }
      })
    ))

  it.effect("that the host gives prevails", () =>
    traced(() =>
      Effect.gen(function*() {
        const server = yield* Scripted.modern(handlers)
        const client = yield* connect(server)
        const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
        yield* client.callTool("work", {}, { meta: { traceparent, tracestate: "a=b" } })
        assert.strictEqual(server.sentOf("tools/call")[0]?.meta["traceparent"], traceparent)
        assert.strictEqual(server.sentOf("tools/call")[0]?.meta["tracestate"], "a=b")
      })
    ))

  it.effect("of a span from outside is passed on without a tracer", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const client = yield* connect(server)
      for (const [sampled, flags] of [[true, "01"], [false, "00"]] as const) {
        const outside = Tracer.externalSpan({
          traceId: "0af7651916cd43dd8448eb211c80319c",
          spanId: "b7ad6b7169203331",
          sampled
        })
        yield* Effect.withParentSpan(client.callTool("work"), outside)
        assert.strictEqual(
          server.sentOf("tools/call").at(-1)?.meta["traceparent"],
          `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-${flags}`
        )
      }
    }))

  it.effect("is left out where nothing is traced", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern(handlers)
      const client = yield* connect(server)
      yield* client.callTool("work")
      yield* Effect.withSpan(client.callTool("work"), "kept by Effect alone")
      yield* traced(() => Effect.withTracerEnabled(client.callTool("work"), false))
      for (const { meta } of server.sent) assert.isFalse(Object.hasOwn(meta, "traceparent"))
    }))

  it.effect("and spans are those of who makes the request, not of who connected", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({ ...handlers, "server/discover": answer(discovery()) })
      const client = yield* connect(server)
      yield* traced((spans) =>
        Effect.gen(function*() {
          yield* client.request("vendor/raw", {}, Schema.Record(Schema.String, Schema.Unknown))
          assert.deepStrictEqual(spans.map(({ name }) => name), ["vendor/raw"])
        })
      )
      yield* client.listTools()
      assert.isFalse(Object.hasOwn(server.sentOf("tools/list")[0]?.meta ?? {}, "traceparent"))
    }))
})
