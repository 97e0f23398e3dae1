import { NodeServices } from "@effect/platform-node"
import { assert, describe } from "@effect/vitest"
import { type ClientOptions, McpClient, type Subscription } from "@mcp-effect/client"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { NodeHttp } from "@mcp-effect/node"
import { StdioTransport, StreamableHttpTransport, type Transport } from "@mcp-effect/transport"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import * as FaultProxy from "../src/http/FaultProxy.ts"
import * as TestServer from "../src/http/TestServer.ts"
import * as RealServers from "../src/RealServers.ts"

const timeoutMillis = 60_000
const counter = "test://counter"

type Protocol = ClientOptions.ClientOptions["protocol"]

const connect = <E>(transport: Layer.Layer<Transport.Transport, E>, protocol: Protocol) =>
  Effect.map(
    // A machine that is busy starts a process slowly.
    Layer.build(McpClient.layer({ protocol, probeTimeout: "30 seconds" }).pipe(Layer.provide(transport))),
    (context) => Context.get(context, McpClient.McpClient)
  )

const overHttp = (url: string, protocol?: Protocol) =>
  connect(StreamableHttpTransport.layer({ url }).pipe(Layer.provide(NodeHttp.layer({ proxy: "none" }))), protocol)

const overStdio = (command: RealServers.Command, protocol?: Protocol) =>
  connect(StdioTransport.layer(command).pipe(Layer.provide(NodeServices.layer)), protocol)

/** Waits until the subscription is in that state. */
const becomes = (subscription: Subscription.Subscription, tag: Subscription.State["_tag"]) =>
  Stream.runHead(Stream.filter(subscription.state, ({ _tag }) => _tag === tag))

/** Counts and sees that the subscription brings it. */
const bringsUpdates = Effect.fnUntraced(function*(
  client: McpClient.McpClient,
  subscription: Subscription.Subscription
) {
  for (let round = 0; round < 3; round++) {
    const [, heard] = yield* Effect.all([
      client.callTool("count"),
      Stream.runHead(subscription.notifications)
    ], { concurrency: 2 })
    const notification = heard._tag === "Some" ? heard.value : undefined
    assert.strictEqual(notification?.method, "notifications/resources/updated")
    assert.strictEqual(notification?.params?.["uri"], counter)
  }
})

const filter = { toolsListChanged: true, resourceSubscriptions: [counter] }

describe("A subscription to the server package", () => {
  verifiesLive(
    ["SUB-01", "SUB-05", "SUB-10", "RSC-06"],
    "over HTTP is acknowledged and brings what it is about",
    Effect.fnUntraced(function*() {
      const { url } = yield* RealServers.dualHttp
      const client = yield* overHttp(url)
      const subscription = yield* client.listen(filter)
      assert.deepInclude(yield* subscription.acknowledged, { resourceSubscriptions: [counter] })
      yield* bringsUpdates(client, subscription)
    }),
    timeoutMillis
  )

  verifiesLive(
    ["SUB-01", "SUB-05", "SUB-10", "RSC-06"],
    "on stdio is acknowledged and brings what it is about",
    Effect.fnUntraced(function*() {
      const client = yield* overStdio(RealServers.dual)
      const subscription = yield* client.listen(filter)
      assert.deepInclude(yield* subscription.acknowledged, { resourceSubscriptions: [counter] })
      yield* bringsUpdates(client, subscription)
      // Each is told of its own, and a closed one of nothing.
      const other = yield* client.listen({ promptsListChanged: true })
      yield* bringsUpdates(client, subscription)
      assert.strictEqual(yield* other.pending, 0)
      yield* subscription.close
      yield* client.callTool("count")
      assert.strictEqual(yield* subscription.pending, 0)
    }),
    timeoutMillis
  )

  verifiesLive(
    ["PAIN-29", "SUB-10", "SUB-11", "SUB-13"],
    "over HTTP survives three broken connections",
    Effect.fnUntraced(function*() {
      const { url } = yield* RealServers.dualHttp
      const proxy = yield* FaultProxy.make(url)
      const client = yield* overHttp(proxy.url)
      const subscription = yield* client.listen(filter)
      for (const how of ["reset", "end", "reset"] as const) {
        const reconnecting = yield* Effect.forkScoped(becomes(subscription, "Reconnecting"), { startImmediately: true })
        yield* proxy.cut(how)
        yield* Fiber.join(reconnecting)
        yield* becomes(subscription, "Active")
        yield* bringsUpdates(client, subscription)
      }
    }),
    timeoutMillis
  )

  verifiesLive(
    ["SUB-10", "SUB-19"],
    "on stdio is sent to the process that replaces one",
    Effect.fnUntraced(function*() {
      const client = yield* overStdio(RealServers.dual)
      const subscription = yield* client.listen(filter)
      // Longer than a process is held to be crashing.
      yield* Effect.sleep("5 seconds")
      const reconnecting = yield* Effect.forkScoped(becomes(subscription, "Reconnecting"), { startImmediately: true })
      yield* Effect.ignore(client.callTool("exit"))
      yield* Fiber.join(reconnecting)
      yield* becomes(subscription, "Active")
      yield* bringsUpdates(client, subscription)
    }),
    timeoutMillis
  )
})

const discovery = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: {} }

/** Begins a stream and acknowledges on it. */
const acknowledge = ({ message: { id } }: TestServer.Received, response: TestServer.Response): void => {
  response.stream()
  response.event({
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: {
      _meta: { "io.modelcontextprotocol/subscriptionId": id },
      notifications: { toolsListChanged: true }
    }
  })
}

describe("A subscription over a socket", () => {
  verifiesLive(
    ["SUB-06", "SUB-11", "SUB-17", "SUB-18"],
    "has its stream closed with it, with its scope and with the client",
    Effect.fnUntraced(function*() {
      const server = yield* TestServer.serve((request, response) =>
        request.message.method === "server/discover" ? response.result(discovery) : acknowledge(request, response)
      )
      const clientScope = yield* Scope.make()
      const client = yield* Scope.provide(overHttp(server.url), clientScope)
      const scope = yield* Scope.make()
      const subscriptions = [
        yield* client.listen(filter),
        yield* Scope.provide(client.listen(filter), scope),
        yield* client.listen(filter)
      ]
      const closing = [subscriptions[0]?.close, Scope.close(scope, Exit.void), Scope.close(clientScope, Exit.void)]
      for (const [index, close] of closing.entries()) {
        yield* close ?? Effect.void
        yield* server.abandoned(index + 1)
      }
      for (const { state } of subscriptions) {
        const last = yield* Stream.runLast(state)
        assert.deepInclude(last._tag === "Some" ? last.value : undefined, { _tag: "Closed", cause: "byClient" })
      }
      assert.deepStrictEqual(server.received.map(({ message }) => message.method), [
        "server/discover",
        "subscriptions/listen",
        "subscriptions/listen",
        "subscriptions/listen"
      ])
      for (const { headers, message } of server.received) {
        if (message.method === "subscriptions/listen") assert.notInclude(headers["accept-encoding"] ?? "", "gzip")
      }
    }),
    timeoutMillis
  )

  verifiesLive(
    ["SUB-12", "SUB-15", "SUB-16"],
    "is opened again after a 503, and ended by an answer that is no stream",
    Effect.fnUntraced(function*() {
      const cases = [
        [{ result: { resultType: "complete" } }, { cause: "graceful" }],
        [{ error: { code: -32603, message: "Subscription limit reached" } }, { cause: "failed" }]
      ] as const
      for (const [answer, end] of cases) {
        let count = 0
        const server = yield* TestServer.serve((request, response) => {
          if (request.message.method === "server/discover") return response.result(discovery)
          switch (count++) {
            case 0:
              acknowledge(request, response)
              return response.end()
            case 1:
              return response.send(503, { "content-type": "text/plain" }, "busy")
            default:
              return response.json({ jsonrpc: "2.0", id: request.message.id, ...answer })
          }
        })
        const client = yield* overHttp(server.url)
        const subscription = yield* client.listen(filter)
        const last = yield* Stream.runLast(subscription.state)
        assert.deepInclude(last._tag === "Some" ? last.value : undefined, { _tag: "Closed", ...end })
        assert.strictEqual(count, 3)
      }
    }),
    timeoutMillis
  )
})

/** Watches the counter while it counts to three. */
const follows = Effect.fnUntraced(function*(client: McpClient.McpClient, from: number) {
  const values = yield* client.watchResource(counter).pipe(
    Stream.map(({ contents: [first] }) => first !== undefined && "text" in first ? Number(first.text) : NaN),
    Stream.tap((value) => value < from + 3 ? client.callTool("count") : Effect.void),
    Stream.takeUntil((value) => value === from + 3),
    Stream.runCollect
  )
  assert.deepStrictEqual(values, [0, 1, 2, 3].map((value) => value + from))
})

describe("A resource under watch", () => {
  verifiesLive(
    ["SUB-28", "RSC-04"],
    "of the server package is followed in its modern revision, over HTTP and on stdio, and in a legacy one",
    Effect.fnUntraced(function*() {
      const { url } = yield* RealServers.dualHttp
      yield* follows(yield* overHttp(url), 0)
      yield* follows(yield* overStdio(RealServers.dual), 0)
    }),
    timeoutMillis
  )

  verifiesLive(
    ["PAIN-29", "SUB-29"],
    "is read once more when its stream was broken",
    Effect.fnUntraced(function*() {
      const { url } = yield* RealServers.dualHttp
      const proxy = yield* FaultProxy.make(url)
      const watching = yield* overHttp(proxy.url)
      const counting = yield* overHttp(url)
      const first = yield* Deferred.make<void>()
      const seen = yield* Effect.forkScoped(
        watching.watchResource(counter).pipe(
          Stream.map(({ contents: [first] }) => first !== undefined && "text" in first ? first.text : ""),
          Stream.tap(() => Deferred.succeed(first, undefined)),
          Stream.takeUntil((value) => value === "1"),
          Stream.runCollect
        )
      )
      yield* Deferred.await(first)
      // While nobody can hear of it.
      yield* Effect.scoped(Effect.gen(function*() {
        yield* proxy.refusing
        yield* proxy.cut()
        yield* counting.callTool("count")
      }))
      assert.deepStrictEqual(yield* Fiber.join(seen), ["0", "1"])
    }),
    timeoutMillis
  )

  for (const [title, start] of [["stdio", undefined], ["HTTP", RealServers.everythingHttp]] as const) {
    verifiesLive(
      ["RSC-04", "RSC-06"],
      `of the everything server is followed on ${title}`,
      Effect.fnUntraced(function*() {
        const client = yield* start === undefined
          ? overStdio(RealServers.everything)
          : Effect.flatMap(start, ({ url }) => overHttp(url))
        const [resource] = yield* client.listResources()
        assert.isDefined(resource)
        const watched = yield* client.watchResource(resource?.uri ?? "").pipe(
          Stream.zipWithIndex,
          // It begins to tell of updates at once.
          Stream.tap(([, index]) => index === 0 ? client.callTool("toggle-subscriber-updates") : Effect.void),
          Stream.take(2),
          Stream.runCollect
        )
        assert.strictEqual(watched.length, 2)
      }),
      timeoutMillis
    )
  }
})
