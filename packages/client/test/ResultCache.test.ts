import { assert, describe } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { type Json, McpError } from "@mcp-effect/protocol"
import { Clock, Context, Effect, Fiber, Layer, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ClientOptions from "../src/ClientOptions.ts"
import * as McpClient from "../src/McpClient.ts"
import * as ResultCache from "../src/ResultCache.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, collect, connect, inTurn, never } = Scripted

const tool = (name: string) => ({ name, inputSchema: { type: "object" } })

interface Cacheable {
  readonly method: string
  readonly result: Json.JsonObject
  readonly ask: (
    client: McpClient.McpClient,
    options?: ClientOptions.RequestOptions
  ) => Effect.Effect<unknown, McpError.McpError>
  readonly kind: ResultCache.ListKind | { readonly uri: string }
}

const uri = "file:///a"
const tools: Cacheable = {
  method: "tools/list",
  result: { tools: [tool("a")] },
  ask: (client, options) => client.listTools(options),
  kind: "tools"
}
const prompts: Cacheable = {
  method: "prompts/list",
  result: { prompts: [{ name: "a" }] },
  ask: (client, options) => client.listPrompts(options),
  kind: "prompts"
}
const resources: Cacheable = {
  method: "resources/list",
  result: { resources: [{ name: "a", uri }] },
  ask: (client, options) => client.listResources(options),
  kind: "resources"
}
const templates: Cacheable = {
  method: "resources/templates/list",
  result: { resourceTemplates: [{ name: "a", uriTemplate: "file:///{a}" }] },
  ask: (client, options) => client.listResourceTemplates(options),
  kind: "resourceTemplates"
}
const read: Cacheable = {
  method: "resources/read",
  result: { contents: [{ uri, text: "a" }] },
  ask: (client, options) => client.readResource(uri, options),
  kind: { uri }
}
const lists = [tools, prompts, resources, templates]
const everything = [...lists, read]

const minute = 60_000
const hints = (ttlMs: unknown, cacheScope: unknown = "public"): Json.JsonObject => ({ ttlMs, cacheScope })

/** A modern server that answers everything that may be kept with these members beside its own. */
const serverOf = (members: Json.JsonObject, options?: Scripted.Options) =>
  Scripted.modern(
    Object.fromEntries(everything.map(({ method, result }) => [method, answer({ ...result, ...members })])),
    options
  )

/** How often a method was requested so far. */
const requests = (server: Scripted.Server, { method }: Cacheable): number => server.sentOf(method).length

const http = { kind: "streamable-http" } as const

describe("A result that says how long it stays fresh", () => {
  verifies(
    ["CAC-01", "CAC-02", "CAC-05", "CAC-13"],
    "is given again while it is, counted from its receipt, and requested anew once it is stale",
    () =>
      Effect.gen(function*() {
        for (const kept of everything) {
          const server = yield* Scripted.modern({ [kept.method]: never })
          const client = yield* connect(server)
          const first = yield* Effect.forkScoped(kept.ask(client))
          const request = yield* server.take(kept.method)
          // What the server takes to answer is not taken off.
          yield* TestClock.adjust("3 seconds")
          request.result({ ...kept.result, ...hints(5_000) })
          const given = yield* Fiber.join(first)
          yield* TestClock.adjust(4_999)
          assert.deepStrictEqual(yield* kept.ask(client), given)
          assert.strictEqual(requests(server, kept), 1, kept.method)
          yield* TestClock.adjust(1)
          const second = yield* Effect.forkScoped(kept.ask(client))
          const again = yield* server.take(kept.method)
          again.result({ ...kept.result, ...hints(5_000) })
          assert.deepStrictEqual(yield* Fiber.join(second), given)
          assert.strictEqual(requests(server, kept), 2, kept.method)
        }
      })
  )

  verifies(
    ["CAC-03", "CAC-05", "CAC-13"],
    "is requested each time where it says nothing, or nothing sensible, or 0",
    () =>
      Effect.gen(function*() {
        for (const ttlMs of [undefined, 0, -1, 1.5, "60000", null, NaN, true, {}]) {
          const server = yield* serverOf(hints(ttlMs))
          const client = yield* connect(server)
          for (const kept of everything) {
            yield* kept.ask(client)
            yield* kept.ask(client)
            assert.strictEqual(requests(server, kept), 2, `${kept.method} with ${String(ttlMs)}`)
            assert.isUndefined(yield* client.cacheInfo(kept.kind))
          }
        }
      })
  )

  verifies(
    ["CAC-03", "CAC-04"],
    "takes the place of the one before it, also when it is stale at once or of another scope",
    () =>
      Effect.gen(function*() {
        for (const first of ["public", "private"]) {
          for (
            const [second, ttlMs] of [["public", minute], ["private", minute], ["public", 0], ["private", 0]] as const
          ) {
            const server = yield* Scripted.modern({
              "tools/list": inTurn(
                answer({ tools: [tool("old")], ...hints(2 * minute, first) }),
                answer({ tools: [tool("new")], ...hints(ttlMs, second) }),
                answer({ tools: [tool("newest")] })
              )
            })
            const client = yield* connect(server)
            const before = yield* client.listTools()
            // A clock that was set back makes what is kept stale for the moment.
            const now = yield* Clock.currentTimeMillis
            yield* TestClock.setTime(now - 1)
            yield* client.listTools()
            yield* TestClock.setTime(now)
            const [listed] = yield* client.listTools()
            assert.strictEqual(before[0]?.name, "old")
            assert.strictEqual(listed?.name, ttlMs === 0 ? "newest" : "new")
          }
        }
      })
  )

  verifies("CAC-05", "is kept for its URI alone", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "resources/read": (request) =>
          request.result({ contents: [{ uri: request.params["uri"], text: "x" }], ...hints(minute) })
      })
      const client = yield* connect(server)
      for (const wanted of ["a:1", "a:2", "a:1", "a:2"]) {
        assert.strictEqual((yield* client.readResource(wanted)).contents[0]?.uri, wanted)
      }
      assert.deepStrictEqual(server.sentOf("resources/read").map(({ content }) => content["uri"]), ["a:1", "a:2"])
    }))

  verifies(
    ["CAC-07", "CAC-04"],
    "tells its time to live, its scope, when it was received and whether it is fresh; without a scope it is private",
    () =>
      Effect.gen(function*() {
        for (
          const [given, cacheScope] of [["public", "public"], ["private", "private"], [undefined, "private"], [
            "shared",
            "private"
          ], [7, "private"]] as const
        ) {
          const server = yield* Scripted.modern(
            Object.fromEntries(everything.map(({ method, result }) => [
              method,
              answer({ ...result, ttlMs: minute, cacheScope: given })
            ]))
          )
          const client = yield* connect(server)
          yield* TestClock.setTime(1_000_000)
          for (const kept of everything) {
            assert.isUndefined(yield* client.cacheInfo(kept.kind))
            yield* kept.ask(client)
          }
          yield* TestClock.adjust(minute - 1)
          const info = { ttlMs: minute, cacheScope, receivedAt: 1_000_000 }
          for (const { kind } of everything) {
            assert.deepStrictEqual(yield* client.cacheInfo(kind), { ...info, fresh: true })
          }
          yield* TestClock.adjust(1)
          for (const { kind } of everything) {
            assert.deepStrictEqual(yield* client.cacheInfo(kind), { ...info, fresh: false })
          }
          assert.isUndefined(yield* client.cacheInfo({ uri: "a:other" }))
        }
      })
  )

  verifies("MRT-14", "is not kept when its server had to ask something first", () =>
    Effect.gen(function*() {
      const asks = answer({ resultType: "input_required", requestState: "later" })
      const server = yield* Scripted.modern({
        "resources/read": inTurn(asks, answer({ contents: [], ...hints(minute) }))
      })
      const client = yield* connect(server, { onInputRequiredWait: () => Effect.succeed("retry") })
      yield* client.readResource(uri)
      assert.isUndefined(yield* client.cacheInfo({ uri }))
      yield* client.readResource(uri)
      // The second one was answered at once.
      yield* client.readResource(uri)
      assert.strictEqual(server.sentOf("resources/read").length, 3)
    }))

  verifies("CAC-02", "is not given to a request that was cancelled before it began", () =>
    Effect.gen(function*() {
      const server = yield* serverOf(hints(minute))
      const client = yield* connect(server)
      for (const kept of everything) {
        yield* kept.ask(client)
        const error = yield* Effect.flip(kept.ask(client, { signal: AbortSignal.abort("no") }))
        assert.strictEqual(error.reason._tag, "Cancelled")
      }
    }))
})

describe("A list of a legacy server", () => {
  const announced = Scripted.initialization("2025-11-25", {
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true }
    }
  })
  // Hints mean nothing before 2026-07-28.
  const handlers = Object.fromEntries(
    everything.map(({ method, result }) => [method, answer({ ...result, ...hints(minute) })])
  )

  verifies(
    ["CAC-03", "CAC-13"],
    "is kept until its server says that it changed, where that is declared and sure to arrive",
    () =>
      Effect.gen(function*() {
        const server = yield* Scripted.legacy({ ...handlers, initialize: answer(announced) }, { kind: "stdio" })
        const client = yield* connect(server)
        for (
          const [kept, notification] of [
            [tools, "notifications/tools/list_changed"],
            [prompts, "notifications/prompts/list_changed"],
            [resources, "notifications/resources/list_changed"]
          ] as const
        ) {
          yield* kept.ask(client)
          yield* TestClock.adjust("10 days")
          yield* kept.ask(client)
          assert.strictEqual(requests(server, kept), 1)
          assert.deepInclude(yield* client.cacheInfo(kept.kind), {
            ttlMs: Infinity,
            cacheScope: "private",
            fresh: true
          })
          server.links[0]?.notify(notification)
          assert.isUndefined(yield* client.cacheInfo(kept.kind))
          yield* kept.ask(client)
          assert.strictEqual(requests(server, kept), 2)
        }
        // Templates have no declaration, and reads need a time to live.
        for (const kept of [templates, read]) {
          yield* kept.ask(client)
          yield* kept.ask(client)
          assert.strictEqual(requests(server, kept), 2)
        }
      })
  )

  verifies(
    "CAC-03",
    "is requested each time where its server does not declare that it tells, or over HTTP",
    () =>
      Effect.gen(function*() {
        for (
          const [initialize, kind] of [
            [Scripted.initialization("2025-11-25"), "stdio"],
            [announced, "streamable-http"],
            [announced, "http"]
          ] as const
        ) {
          const server = yield* Scripted.legacy({ ...handlers, initialize: answer(initialize) }, { kind })
          const client = yield* connect(server)
          for (const kept of lists) {
            yield* kept.ask(client)
            yield* kept.ask(client)
            assert.strictEqual(requests(server, kept), 2)
          }
        }
      })
  )
})

describe("Notifications", () => {
  const changes = [
    ["notifications/tools/list_changed", undefined, [tools]],
    ["notifications/prompts/list_changed", undefined, [prompts]],
    ["notifications/resources/list_changed", undefined, [resources, templates, read]],
    ["notifications/resources/updated", { uri }, [read]],
    ["notifications/resources/updated", { uri: `${uri}/part` }, [read]],
    ["notifications/resources/updated", { uri: `${uri}b` }, []],
    ["notifications/message", { level: "info", data: "x" }, []]
  ] as const

  verifies(["CAC-15", "TOO-19", "PRO-05"], "drop what they concern and nothing else", () =>
    Effect.gen(function*() {
      for (const [method, params, dropped] of changes) {
        const server = yield* serverOf(hints(minute))
        const client = yield* connect(server)
        for (const kept of everything) yield* kept.ask(client)
        server.links[0]?.notify(method, params)
        for (const kept of everything) {
          const isDropped = dropped.some((one) => one === kept)
          assert.strictEqual((yield* client.cacheInfo(kept.kind)) === undefined, isDropped, `${method} ${kept.method}`)
          yield* kept.ask(client)
          assert.strictEqual(requests(server, kept), isDropped ? 2 : 1)
        }
      }
    }))

  verifies(
    ["NOT-02", "NOT-03", "NOT-04", "TOO-19", "PRO-05"],
    "have done so when listeners hear of them, on every kind of transport",
    () =>
      Effect.gen(function*() {
        for (const kind of ["memory", "stdio", "streamable-http", "sse-like"]) {
          const server = yield* serverOf(hints(minute), { kind })
          const client = yield* connect(server)
          for (const [method, params, dropped] of changes) {
            for (const kept of everything) yield* kept.ask(client)
            const before = dropped.map((kept) => requests(server, kept))
            const heard = yield* Stream.runHead(client.notifications).pipe(
              Effect.tap(() => Effect.forEach(dropped, (kept) => kept.ask(client))),
              Effect.forkScoped({ startImmediately: true })
            )
            server.links[0]?.notify(method, params)
            yield* Fiber.join(heard)
            assert.deepStrictEqual(dropped.map((kept) => requests(server, kept)), before.map((count) => count + 1))
          }
        }
      })
  )

  verifies("TOO-19", "make a client forget the definitions by which it checks calls", () =>
    Effect.gen(function*() {
      const strict = { name: "a", inputSchema: { type: "object", required: ["x"] } }
      for (const make of [Scripted.modern, Scripted.legacy]) {
        const server = yield* make({
          "tools/list": answer({ tools: [strict] }),
          "tools/call": answer({ content: [] })
        })
        const client = yield* connect(server)
        yield* client.listTools()
        const error = yield* Effect.flip(client.callTool("a", {}))
        assert.strictEqual(error.reason._tag, "InvalidRequest")
        server.links[0]?.notify("notifications/tools/list_changed")
        yield* client.callTool("a", {})
      }
    }))

  verifies("CAC-17", "keep what was under way at that moment from being kept", () =>
    Effect.gen(function*() {
      for (const [method, params, dropped] of changes) {
        const server = yield* Scripted.modern(Object.fromEntries(everything.map((kept) => [kept.method, never])))
        const client = yield* connect(server)
        for (const kept of everything) {
          const fiber = yield* Effect.forkScoped(kept.ask(client))
          const request = yield* server.take(kept.method)
          server.links[0]?.notify(method, params)
          request.result({ ...kept.result, ...hints(minute) })
          yield* Fiber.join(fiber)
          const isDropped = dropped.some((one) => one === kept)
          assert.strictEqual((yield* client.cacheInfo(kept.kind)) === undefined, isDropped, `${method} ${kept.method}`)
        }
      }
    }))

  verifies(
    "CAC-17",
    "of 256 other resources are remembered that long, and then every read counts as changed",
    () =>
      Effect.gen(function*() {
        for (const [others, isKept] of [[255, false], [256, false], [400, false]] as const) {
          const server = yield* Scripted.modern({ "resources/read": never })
          const client = yield* connect(server)
          const fiber = yield* Effect.forkScoped(client.readResource(uri))
          const request = yield* server.take("resources/read")
          server.links[0]?.notify("notifications/resources/updated", { uri })
          for (let index = 0; index < others; index++) {
            server.links[0]?.notify("notifications/resources/updated", { uri: `other:${index}` })
          }
          request.result({ contents: [], ...hints(minute) })
          yield* Fiber.join(fiber)
          assert.strictEqual((yield* client.cacheInfo({ uri })) !== undefined, isKept)
        }
        // A read that began after them is kept.
        const server = yield* serverOf(hints(minute))
        const client = yield* connect(server)
        for (let index = 0; index < 400; index++) {
          server.links[0]?.notify("notifications/resources/updated", { uri: `other:${index}` })
        }
        yield* client.readResource(uri)
        assert.isDefined(yield* client.cacheInfo({ uri }))
      })
  )
})

describe("A stale list", () => {
  const failures: ReadonlyArray<readonly [McpError.McpErrorReason, boolean]> = [
    [new McpError.ConnectionFailed({ target: "scripted", description: "refused" }), true],
    [new McpError.HttpStatus({ status: 503 }), true],
    [new McpError.HttpStatus({ status: 404 }), false],
    [new McpError.StreamEnded({ resumable: false }), true],
    [new McpError.Unauthorized({ challenges: [] }), false],
    [new McpError.AuthorizationFailed({ stage: "token", problem: "x", status: 503 }), false]
  ]

  verifies(
    "CAC-08",
    "is given over HTTP with a diagnostic when a passing failure keeps it from being requested",
    () =>
      Effect.gen(function*() {
        for (const kept of lists) {
          for (const [reason, isServed] of failures) {
            const server = yield* Scripted.modern({
              [kept.method]: inTurn(
                answer({ ...kept.result, ...hints(1_000) }),
                (request) => request.fail(reason)
              )
            }, http)
            const client = yield* connect(server, Scripted.once)
            const diagnostics = yield* collect(client.diagnostics)
            const given = yield* kept.ask(client)
            yield* TestClock.adjust(1_500)
            const outcome = yield* Effect.result(kept.ask(client))
            yield* Scripted.settled
            if (!isServed) {
              assert.strictEqual(Result.isFailure(outcome) ? outcome.failure.reason._tag : undefined, reason._tag)
              assert.isFalse(diagnostics.some(({ _tag }) => _tag === "StaleListServed"))
              continue
            }
            assert.deepStrictEqual(Result.getOrUndefined(outcome), given)
            const diagnostic = diagnostics.find(({ _tag }) => _tag === "StaleListServed")
            assert.strictEqual(diagnostic?._tag, "StaleListServed")
            assert.isTrue(diagnostic?._tag === "StaleListServed" && diagnostic.method === kept.method)
            assert.isTrue(diagnostic?._tag === "StaleListServed" && diagnostic.cause === reason._tag)
          }
        }
      })
  )

  verifies(
    "CAC-08",
    "is not given on a shared channel, after an error of the server, or once it was dropped",
    () =>
      Effect.gen(function*() {
        const failing = (kept: Cacheable, fail: Scripted.Handler) => ({
          [kept.method]: inTurn(answer({ ...kept.result, ...hints(1_000) }), fail)
        })
        for (const kept of lists) {
          for (
            const [fail, kind] of [
              [(request) => request.fail(new McpError.HttpStatus({ status: 503 })), "stdio"],
              [(request) => request.error(-32603, "broken"), "streamable-http"],
              [(request) => request.error(-32602, "broken"), "streamable-http"]
            ] as ReadonlyArray<readonly [Scripted.Handler, string]>
          ) {
            const server = yield* Scripted.modern(failing(kept, fail), { kind })
            const client = yield* connect(server, Scripted.once)
            yield* kept.ask(client)
            yield* TestClock.adjust(2_000)
            yield* Effect.flip(kept.ask(client))
          }
          const server = yield* Scripted.modern(
            failing(kept, (request) => request.fail(new McpError.HttpStatus({ status: 503 }))),
            http
          )
          const client = yield* connect(server, Scripted.once)
          yield* kept.ask(client)
          yield* TestClock.adjust(2_000)
          yield* client.clearCache
          const asked = yield* Effect.forkScoped(Effect.flip(kept.ask(client)))
          yield* TestClock.adjust("1 minute")
          assert.strictEqual((yield* Fiber.join(asked)).reason._tag, "HttpStatus")
        }
        // Reads are never given stale.
        const server = yield* Scripted.modern(
          failing(read, (request) => request.fail(new McpError.HttpStatus({ status: 503 }))),
          http
        )
        const client = yield* connect(server, Scripted.once)
        yield* read.ask(client)
        yield* TestClock.adjust(2_000)
        const asked = yield* Effect.forkScoped(Effect.flip(read.ask(client)))
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(asked)
      })
  )
})

describe("A private result", () => {
  /** Answers each request under the next of these authorizations. */
  const under = (scope: string, ...evidence: ReadonlyArray<{ authorization: string; isConfigured?: boolean }>) => {
    let next = 0
    return Scripted.modern(
      Object.fromEntries([...everything, { method: "prompts/get", result: { messages: [] } }].map((
        { method, result }
      ) => [
        method,
        (request: Scripted.Received) =>
          request.result({ ...result, ...hints(minute, scope) }, evidence[Math.min(next++, evidence.length - 1)])
      ])),
      http
    )
  }
  const own = (authorization: string) => ({ authorization, isConfigured: true })
  const other = (authorization: string) => ({ authorization, isConfigured: false })

  verifies(
    ["CAC-09", "CAC-11", "CAC-21"],
    "is given again under the authorization that the transport itself has",
    () =>
      Effect.gen(function*() {
        for (const kept of everything) {
          for (const evidence of [own("digest"), other("none")]) {
            const server = yield* under("private", evidence)
            const client = yield* connect(server)
            yield* kept.ask(client)
            yield* kept.ask(client)
            assert.strictEqual(requests(server, kept), 1)
            assert.deepInclude(yield* client.cacheInfo(kept.kind), { cacheScope: "private", fresh: true })
          }
        }
      })
  )

  verifies(
    ["CAC-09", "CAC-22", "CAC-25"],
    "is requested each time where the HTTP client chooses the authorization",
    () =>
      Effect.gen(function*() {
        for (const kept of everything) {
          const server = yield* under("private", other("digest"))
          const client = yield* connect(server)
          yield* kept.ask(client)
          yield* kept.ask(client)
          assert.strictEqual(requests(server, kept), 2)
          assert.isUndefined(yield* client.cacheInfo(kept.kind))
          // What is public is not affected.
          const open = yield* under("public", other("digest"), other("rotated"))
          const other_ = yield* connect(open)
          yield* kept.ask(other_)
          yield* kept.ask(other_)
          assert.strictEqual(requests(open, kept), 1)
        }
      })
  )

  verifies(
    ["CAC-09", "CAC-25"],
    "is not given once another request went out under another authorization",
    () =>
      Effect.gen(function*() {
        for (const kept of everything) {
          for (
            const [first, second] of [
              [own("mine"), other("rotated")],
              [own("mine"), other("none")],
              [own("mine"), other("unknown")],
              [other("none"), own("mine")]
            ] as const
          ) {
            const server = yield* under("private", first, second, first)
            const client = yield* connect(server)
            yield* kept.ask(client)
            yield* client.getPrompt("p")
            assert.isUndefined(yield* client.cacheInfo(kept.kind))
            yield* kept.ask(client)
            assert.strictEqual(requests(server, kept), 2)
          }
        }
      })
  )

  verifies(
    "CAC-09",
    "is not given after a refusal of the authorization, until another request is answered",
    () =>
      Effect.gen(function*() {
        for (const kept of everything) {
          const server = yield* Scripted.modern({
            [kept.method]: (request) =>
              request.result({ ...kept.result, ...hints(minute, "private") }, {
                authorization: "x",
                isConfigured: true
              }),
            "tools/call": (request) => request.fail(new McpError.Unauthorized({ challenges: [] }))
          }, http)
          const client = yield* connect(server)
          yield* kept.ask(client)
          yield* Effect.flip(client.callTool("a"))
          assert.isUndefined(yield* client.cacheInfo(kept.kind))
          yield* kept.ask(client)
          assert.strictEqual(requests(server, kept), 2)
          yield* kept.ask(client)
          assert.strictEqual(requests(server, kept), 2)
        }
      })
  )

  verifies(
    "CAC-12",
    "and a public one are requested each time where it cannot be told what was sent",
    () =>
      Effect.gen(function*() {
        for (const scope of ["private", "public"]) {
          for (const kept of everything) {
            const server = yield* under(scope, other("unknown"))
            const client = yield* connect(server)
            yield* kept.ask(client)
            yield* kept.ask(client)
            assert.strictEqual(requests(server, kept), 2)
            assert.isUndefined(yield* client.cacheInfo(kept.kind))
          }
        }
      })
  )

  verifies(
    ["CAC-09", "CAC-10", "CAC-11"],
    "is not shared with a client of another authorization, or of none; a public one is",
    () =>
      Effect.gen(function*() {
        const cache = ResultCache.make()
        const sharing = (server: Scripted.Server) =>
          Effect.provideService(connect(server), ResultCache.ResultCache, cache)
        const clientOf = Effect.fnUntraced(function*(
          scope: string,
          fingerprint: string,
          evidence: { authorization: string; isConfigured?: boolean }
        ) {
          const server = yield* Scripted.modern({
            "tools/list": (request) => request.result({ tools: [tool("a")], ...hints(minute, scope) }, evidence),
            "prompts/get": (request) => request.result({ messages: [] }, evidence)
          }, { ...http, fingerprint })
          const client = yield* sharing(server)
          // The client learns what its requests are sent under.
          yield* client.getPrompt("p")
          yield* client.listTools()
          return requests(server, tools)
        })
        assert.strictEqual(yield* clientOf("private", "one", own("a")), 1)
        assert.strictEqual(yield* clientOf("private", "one", own("a")), 0)
        assert.strictEqual(yield* clientOf("private", "one", own("b")), 1)
        assert.strictEqual(yield* clientOf("private", "one", other("a")), 1)
        assert.strictEqual(yield* clientOf("private", "one", other("none")), 1)
        assert.strictEqual(yield* clientOf("private", "one", other("none")), 1)
        assert.strictEqual(yield* clientOf("public", "two", own("a")), 1)
        assert.strictEqual(yield* clientOf("public", "two", own("b")), 0)
        assert.strictEqual(yield* clientOf("public", "two", other("none")), 0)
        assert.strictEqual(yield* clientOf("public", "three", own("a")), 1)
      })
  )

  verifies(
    "CAC-10",
    "that is public is shared by all clients that a cache is provided to as a layer",
    () =>
      Effect.gen(function*() {
        const one = yield* serverOf(hints(minute), { fingerprint: "same" })
        const other = yield* serverOf(hints(minute), { fingerprint: "same" })
        const clients = Layer.mergeAll(
          One.layer().pipe(Layer.provide(one.layer)),
          Other.layer().pipe(Layer.provide(other.layer))
        )
        for (const [layer, count] of [[clients, 1], [Layer.provide(clients, ResultCache.layer()), 0]] as const) {
          const context = yield* Layer.build(layer)
          const before = requests(other, tools)
          const listed = yield* Context.get(context, One).listTools()
          assert.deepStrictEqual(yield* Context.get(context, Other).listTools(), listed)
          assert.strictEqual(requests(other, tools) - before, count)
        }
      })
  )
})

class One extends McpClient.Service<One>()("test/One") {}
class Other extends McpClient.Service<Other>()("test/Other") {}

describe("Results are told apart", () => {
  verifies(
    ["CAC-10", "CAC-24"],
    "by the metadata that their requests carry, as it is then",
    () =>
      Effect.gen(function*() {
        for (const kept of everything) {
          const requestMetadata: Record<string, unknown> = { "example/tenant": { id: "a" } }
          const server = yield* serverOf(hints(minute))
          const client = yield* connect(server, { requestMetadata })
          const expect = Effect.fnUntraced(function*(count: number, options?: ClientOptions.RequestOptions) {
            yield* kept.ask(client, options)
            assert.strictEqual(requests(server, kept), count)
          })
          yield* expect(1)
          yield* expect(1)
          yield* expect(2, { meta: { "example/user": "x" } })
          yield* expect(2, { meta: { "example/user": "x" } })
          yield* expect(3, { meta: { "example/user": "y" } })
          yield* Effect.provideService(expect(4), ClientOptions.RequestMetadata, { baggage: "a=b" })
          yield* Effect.provideService(expect(4), ClientOptions.RequestMetadata, { baggage: "a=b" })
          yield* expect(4)
          // What is written into the object holds from the next request on, and changes nothing that was sent.
          requestMetadata["example/tenant"] = { id: "b" }
          yield* expect(5)
          yield* expect(5)
          requestMetadata["example/tenant"] = { id: "a" }
          yield* expect(5)
        }
      })
  )

  verifies("CAC-10", "by identity and capabilities of the client", () =>
    Effect.gen(function*() {
      const cache = ResultCache.make()
      const requestsOf = Effect.fnUntraced(function*(options: ClientOptions.ClientOptions) {
        const server = yield* serverOf(hints(minute), { fingerprint: "shared" })
        const client = yield* Effect.provideService(connect(server, options), ResultCache.ResultCache, cache)
        for (const kept of everything) yield* kept.ask(client)
        return everything.reduce((sum, kept) => sum + requests(server, kept), 0)
      })
      const clientInfo = { name: "a", version: "1" }
      assert.strictEqual(yield* requestsOf({ clientInfo }), 5)
      assert.strictEqual(yield* requestsOf({ clientInfo }), 0)
      assert.strictEqual(yield* requestsOf({ clientInfo: { name: "a", version: "2" } }), 5)
      assert.strictEqual(yield* requestsOf({ clientInfo, extensions: { "example/x": {} } }), 5)
    }))

  verifies(["CAC-12", "CAC-23"], "or not kept where a hook may change what is sent", () =>
    Effect.gen(function*() {
      const options: ReadonlyArray<ClientOptions.ClientOptions> = [
        { around: (request, proceed) => proceed(request.params) },
        { requestMetadata: Effect.succeed({ a: 1 }) }
      ]
      for (const option of options) {
        const server = yield* serverOf(hints(minute))
        const client = yield* connect(server, option)
        for (const kept of everything) {
          yield* kept.ask(client)
          yield* kept.ask(client)
          assert.strictEqual(requests(server, kept), 2)
          assert.isUndefined(yield* client.cacheInfo(kept.kind))
        }
      }
    }))
})

describe("A list of several pages", () => {
  interface PageHints {
    readonly ttlMs: number
    readonly cacheScope?: string
    readonly authorization?: string
  }

  /** Three pages with their hints. */
  const three = (first: PageHints, second: PageHints, third: PageHints, options?: Scripted.Options) => {
    const pages = [first, second, third]
    return Scripted.modern({
      "tools/list": (request) => {
        const index = Number(request.params["cursor"] ?? 0)
        const page = pages[index]
        request.result({
          tools: [tool(String(index))],
          nextCursor: index < 2 ? String(index + 1) : undefined,
          ttlMs: page?.ttlMs,
          cacheScope: page?.cacheScope ?? "public"
        }, { authorization: page?.authorization ?? "none", isConfigured: true })
      }
    }, options)
  }
  const cursors = (server: Scripted.Server) => server.sentOf("tools/list").map(({ params }) => params["cursor"])

  verifies(
    "CAC-16",
    "is as fresh as the page that goes stale first, and private if one of them is",
    () =>
      Effect.gen(function*() {
        for (
          const [pages, info] of [
            [[{ ttlMs: 3_000 }, { ttlMs: 2_000 }, { ttlMs: 9_000 }], { ttlMs: 2_000, cacheScope: "public" }],
            [
              [{ ttlMs: 3_000 }, { ttlMs: 4_000 }, { ttlMs: 5_000, cacheScope: "private" }],
              { ttlMs: 3_000, cacheScope: "private" }
            ],
            [
              [{ ttlMs: 5_000, cacheScope: "private" }, { ttlMs: 4_000 }, { ttlMs: 3_000 }],
              { ttlMs: 3_000, cacheScope: "private" }
            ]
          ] as const
        ) {
          const [first, second, third] = pages
          const server = yield* three(first, second, third)
          const client = yield* connect(server)
          const names = ["0", "1", "2"]
          assert.deepStrictEqual((yield* client.listTools()).map(({ name }) => name), names)
          assert.deepInclude(yield* client.cacheInfo("tools"), { ...info, fresh: true })
          yield* TestClock.adjust(info.ttlMs - 1)
          assert.deepStrictEqual((yield* client.listTools()).map(({ name }) => name), names)
          assert.strictEqual(cursors(server).length, 3)
          yield* TestClock.adjust(1)
          assert.deepInclude(yield* client.cacheInfo("tools"), { fresh: false })
          yield* client.listTools()
          // A whole list is one picture: it begins anew with its first page.
          assert.deepStrictEqual(cursors(server).slice(3), [undefined, "1", "2"])
        }
      })
  )

  verifies(
    "CAC-16",
    "is requested each time where a page is not kept, or was sent under something else",
    () =>
      Effect.gen(function*() {
        const kept = { ttlMs: minute, cacheScope: "private", authorization: "a" }
        for (
          const [first, second, third] of [
            [{ ttlMs: minute }, { ttlMs: 0 }, { ttlMs: minute }],
            [kept, { ...kept, authorization: "b" }, kept],
            [kept, kept, { ...kept, authorization: "b" }],
            [kept, kept, { ...kept, authorization: "unknown" }]
          ] as const
        ) {
          const server = yield* three(first, second, third, http)
          const client = yield* connect(server)
          yield* client.listTools()
          yield* client.listTools()
          assert.strictEqual(cursors(server).length, 6)
          assert.isUndefined(yield* client.cacheInfo("tools"))
        }
      })
  )

  verifies(
    ["CAC-01", "CAC-02"],
    "has pages that are kept one by one, each requested anew with its own cursor",
    () =>
      Effect.gen(function*() {
        const server = yield* three({ ttlMs: minute }, { ttlMs: 1_000 }, { ttlMs: minute })
        const client = yield* connect(server)
        const pages = client.toolPages()
        yield* Stream.runDrain(pages)
        yield* TestClock.adjust(1_000)
        const again = yield* Stream.runCollect(pages)
        assert.deepStrictEqual(again.flatMap(({ items }) => items).map(({ name }) => name), ["0", "1", "2"])
        assert.deepStrictEqual(cursors(server), [undefined, "1", "2", "1"])
        // They are not one picture, which a whole list is.
        yield* client.listTools()
        assert.deepStrictEqual(cursors(server).slice(4), [undefined, "1", "2"])
        assert.deepStrictEqual(
          (yield* Stream.runCollect(client.toolPages({ cursor: "2" }))).flatMap(({ items }) =>
            items.map(({ name }) => name)
          ),
          ["2"]
        )
        assert.strictEqual(cursors(server).length, 7)
      })
  )

  verifies("CAC-16", "is not put together from pages of different walks", () =>
    Effect.gen(function*() {
      let version = 1
      const server = yield* Scripted.modern({
        "tools/list": (request) =>
          request.result(
            request.params["cursor"] === undefined
              ? { tools: [tool(`first ${version}`)], nextCursor: "1", ...hints(1_000) }
              : { tools: [tool(`second ${version}`)], ...hints(minute) }
          )
      })
      const client = yield* connect(server)
      const names = Effect.map(client.listTools(), (tools) => tools.map(({ name }) => name))
      assert.deepStrictEqual(yield* names, ["first 1", "second 1"])
      version = 2
      yield* TestClock.adjust(1_000)
      yield* Stream.runDrain(Stream.take(client.toolPages(), 1))
      assert.deepStrictEqual(yield* names, ["first 2", "second 2"])
    }))

  verifies(
    "CAC-02",
    "is requested anew where a call shows that it has changed, fresh or not",
    () =>
      Effect.gen(function*() {
        const annotated = (name: string, header: string) => ({
          name,
          inputSchema: { type: "object", properties: { x: { type: "string", "x-mcp-header": header } } }
        })
        let listed = [annotated("a", "Old")]
        const server = yield* Scripted.modern({
          "tools/list": (request) => request.result({ tools: listed, ...hints(minute) }),
          "tools/call": (request) =>
            request.outgoing.routing?.params?.[0]?.[0] === "Old"
              ? request.error(-32020, "Header mismatch", undefined, 400)
              : request.result({ content: [] })
        }, http)
        const client = yield* connect(server)
        const heard = yield* collect(client.notifications)
        yield* client.listTools()
        // A tool that is not on the list may be new.
        listed = [annotated("a", "Old"), annotated("b", "Other")]
        yield* client.callTool("b", { x: "1" })
        assert.strictEqual(requests(server, tools), 2)
        assert.deepStrictEqual(heard, [])
        // A definition that the server does not agree with is an old one.
        listed = [annotated("a", "New")]
        yield* client.callTool("a", { x: "1" })
        assert.strictEqual(requests(server, tools), 3)
        yield* Scripted.settled
        assert.deepStrictEqual(heard.map(({ method }) => method), ["notifications/tools/list_changed"])
        // What came of it is kept.
        assert.deepStrictEqual((yield* client.listTools()) as unknown, listed)
        assert.strictEqual(requests(server, tools), 3)
      })
  )

  verifies("CAC-02", "that does not end is never given from what is kept", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern({
        "tools/list": answer({ tools: [tool("a")], nextCursor: "again", ...hints(minute) })
      })
      const client = yield* connect(server)
      yield* client.listTools()
      yield* client.listTools()
      assert.strictEqual(server.sentOf("tools/list").length, 4)
    }))

  verifies(
    "CAC-14",
    "begins anew once, from its first page, when its server does not know a cursor any more",
    () =>
      Effect.gen(function*() {
        let version = 1
        const server = yield* Scripted.modern({
          "tools/list": (request) => {
            const { cursor } = request.params
            if (cursor === undefined) {
              request.result({ tools: [tool(`first ${version}`)], nextCursor: `cursor ${version}`, ...hints(minute) })
            } else if (cursor === "cursor 1") {
              version = 2
              request.error(-32602, "Invalid cursor")
            } else request.result({ tools: [tool(`second ${version}`)], ...hints(minute) })
          }
        })
        const client = yield* connect(server)
        assert.deepStrictEqual(
          (yield* client.listTools({ requestId: "mine" })).map(({ name }) => name),
          ["first 2", "second 2"]
        )
        assert.deepStrictEqual(cursors(server), [undefined, "cursor 1", undefined, "cursor 2"])
        assert.strictEqual(server.sentOf("tools/list").filter(({ id }) => id === "mine").length, 1)
        // What is kept is what came at last.
        yield* client.listTools()
        assert.strictEqual(cursors(server).length, 4)
      })
  )

  verifies(
    "CAC-14",
    "fails when a cursor is not known the second time either, and when the first page is refused",
    () =>
      Effect.gen(function*() {
        for (const [page, count] of [["x", 4], [undefined, 1]] as const) {
          const server = yield* Scripted.modern({
            "tools/list": (request) =>
              request.params["cursor"] === page
                ? request.error(-32602, "Invalid cursor")
                : request.result({ tools: [], nextCursor: "x", ...hints(minute) })
          })
          const client = yield* connect(server)
          const error = yield* Effect.flip(client.listTools())
          assert.isTrue(error.reason._tag === "ServerError" && error.reason.code === -32602)
          assert.strictEqual(cursors(server).length, count)
        }
      })
  )

  verifies(
    ["RSC-12", "CAC-14"],
    "fails for a caller's own cursor that is rejected, and its pages are dropped",
    () =>
      Effect.gen(function*() {
        for (
          const [kept, pages] of [
            [resources, (client) => client.resourcePages({ cursor: "dead" })],
            [templates, (client) => client.resourceTemplatePages({ cursor: "dead" })]
          ] as ReadonlyArray<
            readonly [Cacheable, (client: McpClient.McpClient) => Stream.Stream<unknown, McpError.McpError>]
          >
        ) {
          for (const make of [Scripted.modern, Scripted.legacy]) {
            const server = yield* make({
              [kept.method]: (request) =>
                request.params["cursor"] === undefined
                  ? request.result({ ...kept.result, ...hints(minute) })
                  : request.error(-32602, "Invalid cursor")
            })
            const client = yield* connect(server)
            yield* kept.ask(client)
            const before = requests(server, kept)
            const error = yield* Effect.flip(Stream.runDrain(pages(client)))
            assert.isTrue(error.reason._tag === "ServerError" && error.reason.code === -32602)
            assert.isUndefined(yield* client.cacheInfo(kept.kind))
            yield* kept.ask(client)
            assert.strictEqual(requests(server, kept), before + 2)
          }
        }
      })
  )
})

describe("What is kept", () => {
  verifies(["CAC-18", "PRO-06"], "cannot be changed by those it is given to", () =>
    Effect.gen(function*() {
      const depth = 100_000
      const schema = `{"type":"object","default":${"{\"deeper\":".repeat(depth)}[1]${"}".repeat(depth)}}`
      const server = yield* Scripted.modern({
        "tools/list": ({ connection, id }) =>
          connection.text(
            `{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"a","inputSchema":${schema}}],"ttlMs":60000}}`
          ),
        "prompts/list": answer({ prompts: [{ name: "a", arguments: [{ name: "x" }] }], ...hints(minute) }),
        "resources/read": answer({ contents: [{ uri, text: "a" }], ...hints(minute) })
      })
      const client = yield* connect(server)
      const isFrozen = (value: unknown): boolean => {
        const left = [value]
        for (let next = left.pop(); next !== undefined; next = left.pop()) {
          if (typeof next !== "object" || next === null) continue
          if (!Object.isFrozen(next)) return false
          left.push(...Object.values(next))
        }
        return true
      }
      for (const kept of [tools, prompts, read]) {
        const first = yield* kept.ask(client)
        assert.isTrue(isFrozen(first), kept.method)
        assert.strictEqual(yield* kept.ask(client), first)
      }
      const [page] = yield* Stream.runCollect(client.toolPages())
      const items = page?.items as Array<unknown>
      assert.throws(() => items.push({}), TypeError)
      const [listed] = yield* client.listTools()
      assert.throws(() => Object.assign(listed?.inputSchema ?? {}, { required: ["x"] }), TypeError)
      assert.strictEqual((yield* client.listTools()).length, 1)
    }))

  verifies("CAC-18", "leaves alone what is not", () =>
    Effect.gen(function*() {
      const server = yield* serverOf({})
      const client = yield* connect(server)
      const [listed] = yield* client.listTools()
      assert.isFalse(Object.isFrozen(listed))
    }))

  verifies("CAC-19", "is forgotten with the connection", () =>
    Effect.gen(function*() {
      const strict = { name: "a", inputSchema: { type: "object", required: ["x"] } }
      const server = yield* Scripted.modern({
        ...Object.fromEntries(
          everything.map(({ method, result }) => [method, answer({ ...result, ...hints(minute) })])
        ),
        "tools/list": answer({ tools: [strict], ...hints(minute) }),
        "tools/call": answer({ content: [] })
      })
      const client = yield* connect(server)
      for (const kept of everything) yield* kept.ask(client)
      server.links[0]?.exit()
      for (const { kind } of everything) assert.isUndefined(yield* client.cacheInfo(kind))
      // A restarted server may be another one.
      yield* client.callTool("a", {})
      assert.strictEqual(server.links.length, 2)
      for (const { kind } of everything) assert.isUndefined(yield* client.cacheInfo(kind))
      for (const kept of everything) {
        yield* kept.ask(client)
        assert.strictEqual(requests(server, kept), 2)
      }
    }))

  verifies(
    "CAC-20",
    "is forgotten when the application says so, and what is under way is not kept",
    () =>
      Effect.gen(function*() {
        const server = yield* serverOf(hints(minute))
        const client = yield* connect(server)
        for (const kept of everything) yield* kept.ask(client)
        yield* client.clearCache
        for (const kept of everything) {
          assert.isUndefined(yield* client.cacheInfo(kept.kind))
          yield* kept.ask(client)
          assert.strictEqual(requests(server, kept), 2)
        }
        const slow = yield* Scripted.modern({ "tools/list": never })
        const waiting = yield* connect(slow)
        const fiber = yield* Effect.forkScoped(waiting.listTools())
        const request = yield* slow.take("tools/list")
        yield* waiting.clearCache
        request.result({ tools: [], ...hints(minute) })
        yield* Fiber.join(fiber)
        assert.isUndefined(yield* waiting.cacheInfo("tools"))
      })
  )

  verifies(
    "CAC-19",
    "was learned on this connection: nothing is taken from an answer to another",
    () =>
      Effect.gen(function*() {
        const server = yield* serverOf(hints(minute))
        const client = yield* connect(server, { lazy: true })
        assert.isUndefined(yield* client.cacheInfo("tools"))
        yield* client.listTools()
        yield* client.listTools()
        assert.strictEqual(requests(server, tools), 1)
      })
  )
})

describe("The cache in memory", () => {
  const key = (argument: string, method = "resources/read", server = "s"): ResultCache.Key => ({
    server,
    method,
    argument,
    context: "c"
  })
  const entry = (value: unknown, receivedAt: number, ttlMs: number): ResultCache.Entry => ({
    value,
    receivedAt,
    ttlMs,
    cacheScope: "public"
  })

  verifiesPure("CAC-06", "keeps 64 reads; what is stale makes room first, then what was kept longest", () => {
    const cache = ResultCache.make()
    for (let index = 0; index < 64; index++) {
      cache.set(key(String(index)), entry(index, index, index === 40 ? 1 : 1_000))
    }
    cache.set(key("a"), entry("a", 100, 1_000))
    assert.isUndefined(cache.get(key("40")))
    assert.strictEqual(cache.get(key("0"))?.value, 0)
    cache.set(key("b"), entry("b", 101, 1_000))
    assert.isUndefined(cache.get(key("0")))
    assert.strictEqual(cache.get(key("1"))?.value, 1)
    // One that is replaced is the youngest.
    cache.set(key("1"), entry("new", 102, 1_000))
    cache.set(key("c"), entry("c", 103, 1_000))
    assert.strictEqual(cache.get(key("1"))?.value, "new")
    assert.isUndefined(cache.get(key("2")))
    // Pages have room of their own.
    cache.set(key("x", "tools/list"), entry("page", 104, 1_000))
    assert.strictEqual(cache.get(key("3"))?.value, 3)
  })

  verifiesPure("CAC-06", "holds what it is told to hold", () => {
    const cache = ResultCache.make({ maxReads: 1, maxPages: 0 })
    cache.set(key("a"), entry(1, 0, 1_000))
    cache.set(key("b"), entry(2, 1, 1_000))
    cache.set(key("a", "tools/list"), entry(3, 2, 1_000))
    assert.isUndefined(cache.get(key("a")))
    assert.strictEqual(cache.get(key("b"))?.value, 2)
    assert.isUndefined(cache.get(key("a", "tools/list")))
  })

  verifiesPure(["PRO-06", "CAC-15"], "tells servers, methods and arguments apart, an empty cursor from none", () => {
    const cache = ResultCache.make()
    const first: ResultCache.Key = { ...key("", "prompts/list"), argument: undefined }
    cache.set(first, entry("first", 0, 1_000))
    assert.isUndefined(cache.get(key("", "prompts/list")))
    cache.set(key("", "prompts/list"), entry("empty", 0, 1_000))
    cache.set(key("", "prompts/list", "other"), entry("other", 0, 1_000))
    assert.strictEqual(cache.get(first)?.value, "first")
    cache.invalidate("s", "prompts/list", (argument) => argument === undefined)
    assert.isUndefined(cache.get(first))
    assert.strictEqual(cache.get(key("", "prompts/list"))?.value, "empty")
    cache.invalidate("s")
    assert.isUndefined(cache.get(key("", "prompts/list")))
    assert.strictEqual(cache.get(key("", "prompts/list", "other"))?.value, "other")
  })

  verifiesPure("CAC-02", "has entries that a clock which was set back makes stale", () => {
    const kept = entry(1, 1_000, 500)
    assert.deepStrictEqual([999, 1_000, 1_499, 1_500].map((now) => ResultCache.isFresh(kept, now)), [
      false,
      true,
      true,
      false
    ])
  })
})
