import { assert, describe } from "@effect/vitest"
import { type ClientOptions, McpClient } from "@mcp-effect/client"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect, NodeHttp } from "@mcp-effect/node"
import { StreamableHttpTransport, Transport } from "@mcp-effect/transport"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { getEventListeners } from "node:events"

/** A legacy server in a session; `call` answers `tools/call`, `get` what is asked for by GET. */
const legacy = Effect.fnUntraced(function*(
  call: TestServer.Handler,
  get: TestServer.Handler = (_request, response) => response.send(405, {})
) {
  const cancelled = yield* Deferred.make<void>()
  const server = yield* TestServer.serve((request, response) => {
    if (request.httpMethod === "GET") return get(request, response)
    switch (request.message?.method) {
      case "server/discover":
        return response.send(400, {})
      case "initialize":
        response.raw.setHeader("mcp-session-id", "session-1")
        return response.result({
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "resumable", version: "1" }
        })
      case "tools/call":
        return call(request, response)
      case "notifications/cancelled":
        Deferred.doneUnsafe(cancelled, Effect.void)
        return response.send(202, {})
      default:
        response.send(202, {})
    }
  })
  return { ...server, cancelled: Deferred.await(cancelled) }
})

const gets = (server: TestServer.TestServer): number =>
  server.received.filter(({ httpMethod }) => httpMethod === "GET").length

const progressOf = ({ message }: TestServer.Received) => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: message.params._meta.progressToken, progress: 1 }
})

/** Begins a stream with word of progress, and primes it for a resumption. */
const beginning = (request: TestServer.Received, response: TestServer.Response, retry = 1_000): void => {
  response.stream()
  response.raw.write(`id: e1\nretry: ${retry}\ndata: ${JSON.stringify(progressOf(request))}\n\n`)
}

/** A call of which something was heard already. */
const begun = Effect.fnUntraced(function*(server: TestServer.TestServer, options: ClientOptions.ClientOptions) {
  const heard = yield* Deferred.make<void>()
  const announced = yield* Deferred.make<number>()
  const services = yield* Layer.build(NodeHttp.layer({ proxy: "none" }))
  const transport = yield* Effect.provide(StreamableHttpTransport.make({ url: server.url }), services)
  const onActivity = (graceMillis: number): void => {
    if (graceMillis > 0) Deferred.doneUnsafe(announced, Effect.succeed(graceMillis))
  }
  const client = yield* Effect.provideService(McpClient.make(options), Transport.Transport, {
    ...transport,
    connect: (inbound) =>
      Effect.map(transport.connect(inbound), (connection) => ({
        ...connection,
        open: (outgoing, exchange, context) =>
          connection.open(outgoing, {
            onMessage: (message) => exchange.onMessage(message),
            onActivity: (graceMillis) => {
              exchange.onActivity(graceMillis)
              onActivity(graceMillis)
            },
            onStream: (isOpen) => exchange.onStream?.(isOpen),
            onResponse: (message, evidence) => exchange.onResponse(message, evidence),
            onFailure: (error) => exchange.onFailure(error)
          }, context)
      }))
  })
  const call = yield* Effect.forkScoped(
    client.callTool("work", {}, { onProgress: () => Effect.asVoid(Deferred.succeed(heard, undefined)) })
  )
  yield* Deferred.await(heard)
  // The wait itself begins right after it was announced.
  const waiting = Effect.tap(Deferred.await(announced), () => Effect.yieldNow)
  return { client, call, error: Effect.flip(Fiber.join(call)), waiting }
})

describe("A call whose stream", () => {
  verifies(
    ["PAIN-19", "TMO-01"],
    "is open and silent fails with StreamIdle at the set time",
    () =>
      Effect.gen(function*() {
        const server = yield* legacy(beginning)
        const { call, error } = yield* begun(server, { idleTimeout: "20 seconds" })
        yield* TestClock.adjust(19_999)
        assert.isUndefined(call.pollUnsafe())
        yield* TestClock.adjust(1)
        const { delivery, reason } = yield* error
        assert(reason._tag === "StreamIdle")
        assert.strictEqual(reason.millis, 20_000)
        assert.strictEqual(delivery, "unknown")
      })
  )

  verifiesLive(
    ["PAIN-19", "TMO-05"],
    "brings comments outlasts its idle timeout",
    () =>
      Effect.gen(function*() {
        const server = yield* legacy((request, response) => {
          beginning(request, response)
          let left = 8
          const beat = setInterval(() => {
            if (left-- > 0) return void response.raw.write(": alive\n\n")
            clearInterval(beat)
            response.event({ jsonrpc: "2.0", id: request.message.id, result: { content: [] } })
            response.end()
          }, 200)
        })
        const { call } = yield* begun(server, { idleTimeout: "1 second" })
        assert.deepStrictEqual((yield* Fiber.join(call)).content, [])
      })
  )

  verifies(
    ["PAIN-5", "RES-03", "TMO-01"],
    "the server breaks off may take as long as it announces and the idle timeout; then nothing is asked for any more",
    () =>
      Effect.gen(function*() {
        const held = yield* Deferred.make<void>()
        const server = yield* legacy(
          (request, response) => {
            beginning(request, response, 60_000)
            response.end()
          },
          (_request, response) => {
            response.stream()
            Deferred.doneUnsafe(held, Effect.void)
          }
        )
        const { call, error, waiting } = yield* begun(server, { idleTimeout: "10 seconds" })
        assert.strictEqual(yield* waiting, 60_000)
        yield* TestClock.adjust(59_999)
        assert.isUndefined(call.pollUnsafe())
        assert.strictEqual(gets(server), 0)
        yield* TestClock.adjust(1)
        yield* Deferred.await(held)
        // What the GET is answered with starts the idle timeout anew, whenever it is read.
        yield* TestClock.adjust("20 seconds")
        assert.include(["StreamIdle", "RequestTimeout"], (yield* error).reason._tag)
        yield* server.abandoned(1)
        yield* TestClock.adjust("1 hour")
        yield* server.cancelled
        assert.strictEqual(gets(server), 1)
      })
  )

  verifies(
    ["PAIN-5", "TMO-01"],
    "is waited for at its deadline fails there, and is not asked for any more",
    () =>
      Effect.gen(function*() {
        const server = yield* legacy((request, response) => {
          beginning(request, response, 60_000)
          response.end()
        })
        const { error, waiting } = yield* begun(server, { idleTimeout: "10 seconds", deadline: "30 seconds" })
        yield* waiting
        yield* TestClock.adjust("30 seconds")
        const { reason } = yield* error
        assert(reason._tag === "RequestTimeout")
        assert.strictEqual(reason.kind, "deadline")
        yield* TestClock.adjust("1 hour")
        yield* server.cancelled
        assert.strictEqual(gets(server), 0)
      })
  )

  verifies(
    ["PAIN-5", "PAIN-6"],
    "is waited for may be interrupted, and is not asked for any more",
    () =>
      Effect.gen(function*() {
        const server = yield* legacy((request, response) => {
          beginning(request, response)
          response.end()
        })
        const { call, waiting } = yield* begun(server, {})
        yield* waiting
        yield* Fiber.interrupt(call)
        yield* TestClock.adjust("1 hour")
        yield* server.cancelled
        assert.strictEqual(gets(server), 0)
      })
  )
})

describe("A client that resumes streams", () => {
  verifiesLive(
    ["PAIN-16", "RES-14"],
    "leaves nothing behind: 300 calls, each broken off once, and one signal",
    () =>
      Effect.gen(function*() {
        const pending = new Map<string, unknown>()
        const server = yield* legacy(
          (request, response) => {
            const id = `e${request.message.id}`
            pending.set(id, request.message.id)
            response.stream()
            response.raw.write(`id: ${id}\nretry: 100\ndata:\n\n`)
            response.end()
          },
          (request, response) => {
            const id = pending.get(String(request.headers["last-event-id"]))
            response.stream()
            response.event({ jsonrpc: "2.0", id, result: { content: [] } })
            response.end()
          }
        )
        const client = yield* Connect.connect(server.url)
        const { signal } = new AbortController()
        yield* Effect.forEach(
          Array.from({ length: 300 }),
          () => client.callTool("work", {}, { signal }),
          { concurrency: 50 }
        )
        assert.strictEqual(gets(server), 300)
        assert.strictEqual(getEventListeners(signal, "abort").length, 0)
      }),
    60_000
  )

  verifiesLive(
    ["PAIN-31", "SHT-26"],
    "and listens closes in time, with one DELETE and nothing after it",
    () =>
      Effect.gen(function*() {
        const listening = yield* Deferred.make<void>()
        const called = yield* Deferred.make<void>()
        const server = yield* legacy(
          (request, response) => {
            beginning(request, response, 60_000)
            response.end()
            Deferred.doneUnsafe(called, Effect.void)
          },
          (_request, response) => {
            response.stream()
            Deferred.doneUnsafe(listening, Effect.void)
          }
        )
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(
          Connect.connect(server.url, { handlers: { elicitation: { form: () => Effect.never } } }),
          scope
        )
        const call = yield* Effect.forkScoped(client.callTool("work"))
        yield* Deferred.await(listening)
        yield* Deferred.await(called)
        const started = Date.now()
        yield* Scope.close(scope, Exit.void)
        assert.isBelow(Date.now() - started, 5_000)
        yield* server.abandoned(1)
        assert.strictEqual((yield* Effect.flip(Fiber.join(call))).reason._tag, "ConnectionClosed")
        const methods = server.received.map(({ httpMethod }) => httpMethod)
        assert.deepStrictEqual(methods.filter((method) => method === "DELETE"), ["DELETE"])
        assert.strictEqual(methods.at(-1), "DELETE")
      })
  )
})
