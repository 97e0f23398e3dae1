import { NodeServices } from "@effect/platform-node"
import { assert, describe } from "@effect/vitest"
import { type ClientOptions, McpClient } from "@mcp-effect/client"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { NodeHttp } from "@mcp-effect/node"
import { StdioTransport, StreamableHttpTransport, type Transport } from "@mcp-effect/transport"
import { Context, Effect, Layer, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as RealServers from "../src/RealServers.ts"

const timeoutMillis = 60_000

type Protocol = ClientOptions.ClientOptions["protocol"]

const connect = <E>(transport: Layer.Layer<Transport.Transport, E>, protocol: Protocol) =>
  Effect.map(
    Layer.build(McpClient.layer({ protocol, probeTimeout: "30 seconds" }).pipe(Layer.provide(transport))),
    (context) => Context.get(context, McpClient.McpClient)
  )

interface Settings extends Omit<StreamableHttpTransport.Options, "url"> {
  readonly protocol?: Protocol
  /** What the application's HTTP client does to requests. */
  readonly change?: (request: HttpClientRequest.HttpClientRequest) => HttpClientRequest.HttpClientRequest
}

/** A client over HTTP, and how many requests it takes to run an effect. */
const overHttp = Effect.fnUntraced(function*(
  url: string,
  { change = (request) => request, protocol, ...transport }: Settings = {}
) {
  let sent = 0
  const counting = Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) =>
      HttpClient.mapRequest(client, (request) => {
        sent++
        return change(request)
      }))
  ).pipe(Layer.provide(NodeHttp.layer({ proxy: "none" })))
  const client = yield* connect(
    StreamableHttpTransport.layer({ url, ...transport }).pipe(Layer.provide(counting)),
    protocol
  )
  const requestsOf = (effect: Effect.Effect<unknown, unknown>) =>
    Effect.suspend(() => {
      const before = sent
      return Effect.map(effect, () => sent - before)
    })
  return { client, requestsOf }
})

const overStdio = (command: RealServers.Command, protocol?: Protocol) =>
  connect(StdioTransport.layer(command).pipe(Layer.provide(NodeServices.layer)), protocol)

describe("The server package", () => {
  verifiesLive(
    ["CAC-01", "CAC-02", "CAC-03", "CAC-05", "CAC-13"],
    "has its hints kept to: lists and a resource that it lets be kept are requested once, the rest each time",
    Effect.fnUntraced(function*() {
      const { url } = yield* RealServers.dualHttp
      const { client, requestsOf } = yield* overHttp(url)
      const cases = [
        [client.listTools(), "tools", 1, { ttlMs: 60_000, cacheScope: "public" }],
        [client.listPrompts(), "prompts", 1, { ttlMs: 60_000, cacheScope: "private" }],
        [client.readResource("test://greeting"), { uri: "test://greeting" }, 1, {
          ttlMs: 60_000,
          cacheScope: "public"
        }],
        [client.listResources(), "resources", 2, undefined],
        [client.listResourceTemplates(), "resourceTemplates", 1, undefined],
        [client.readResource("test://bytes"), { uri: "test://bytes" }, 1, undefined]
      ] as const
      for (const [ask, kind, requests, info] of cases) {
        assert.strictEqual(yield* requestsOf(ask), requests)
        const known = yield* client.cacheInfo(kind)
        if (info === undefined) assert.isUndefined(known)
        else assert.deepInclude(known, { ...info, fresh: true })
        assert.strictEqual(yield* requestsOf(ask), info === undefined ? requests : 0)
        yield* client.clearCache
        assert.strictEqual(yield* requestsOf(ask), requests)
      }
    }),
    timeoutMillis
  )

  verifiesLive(
    ["CAC-09", "CAC-11", "CAC-21", "CAC-22", "CAC-25"],
    "has a private list kept under the authorization of the transport, and not under one that the HTTP client adds",
    Effect.fnUntraced(function*() {
      const { url } = yield* RealServers.dualHttp
      const bearer = { authorization: "Bearer configured" }
      let token = 0
      const cases: ReadonlyArray<readonly [Settings, boolean]> = [
        [{}, true],
        [{ headers: { "x-api-key": "secret", cookie: "session=1" } }, true],
        [{ headers: bearer }, true],
        [{ headers: bearer, change: HttpClientRequest.setHeader("x-trace", "1") }, true],
        [{ change: HttpClientRequest.bearerToken("constant") }, false],
        [{ change: (request) => HttpClientRequest.bearerToken(request, `rotated-${++token}`) }, false],
        [{ headers: bearer, change: HttpClientRequest.bearerToken("another") }, false]
      ]
      for (const [settings, isKept] of cases) {
        const { client, requestsOf } = yield* overHttp(url, settings)
        yield* client.listPrompts()
        assert.strictEqual(yield* requestsOf(client.listPrompts()), isKept ? 0 : 1)
        // What is public is kept all the same.
        yield* client.listTools()
        assert.strictEqual(yield* requestsOf(client.listTools()), 0)
      }
    }),
    timeoutMillis
  )

  verifiesLive(
    ["CAC-01", "CAC-03", "CAC-15"],
    "on stdio has its lists kept by its hints, and in a legacy revision because it announces changes",
    Effect.fnUntraced(function*() {
      const modern = yield* overStdio(RealServers.dual)
      const tools = yield* modern.listTools()
      assert.strictEqual(yield* modern.listTools(), tools)
      assert.deepInclude(yield* modern.cacheInfo("tools"), { ttlMs: 60_000, cacheScope: "public" })
      const legacy = yield* overStdio(RealServers.dual, "legacy")
      const prompts = yield* legacy.listPrompts()
      assert.strictEqual(yield* legacy.listPrompts(), prompts)
      assert.deepInclude(yield* legacy.cacheInfo("prompts"), { ttlMs: Infinity, fresh: true })
      // Over HTTP a legacy server may have no way to say it.
      const { url } = yield* RealServers.dualHttp
      const { client, requestsOf } = yield* overHttp(url, { protocol: "legacy" })
      yield* client.listPrompts()
      assert.strictEqual(yield* requestsOf(client.listPrompts()), 1)
    }),
    timeoutMillis
  )
})

const grownOf = (tools: ReadonlyArray<{ readonly name: string }>): number =>
  tools.filter(({ name }) => name.startsWith("grown")).length

/** Has a server add tools, and sees that the watched list and the one that is kept follow. */
const growsUnderWatch = Effect.fnUntraced(function*(client: McpClient.McpClient) {
  const watched = yield* client.watchTools.pipe(
    Stream.map(grownOf),
    // Each list brings about the next.
    Stream.tap((count) => count < 3 ? client.callTool("grow") : Effect.void),
    Stream.takeUntil((count) => count === 3),
    Stream.runCollect
  )
  assert.deepStrictEqual(watched, [0, 1, 2, 3])
  assert.strictEqual(grownOf(yield* client.listTools()), 3)
})

describe("A list under watch", () => {
  const cases: ReadonlyArray<readonly [string, RealServers.Command, Protocol]> = [
    ["the server package, modern", RealServers.dual, "modern"],
    ["the server package, legacy", RealServers.dual, "legacy"],
    ...["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"].map((version) =>
      [`Effect's McpServer, ${version}`, RealServers.effect(version), "auto"] as const
    )
  ]
  for (const [title, command, protocol] of cases) {
    verifiesLive(
      ["PAIN-62", "CAC-15", "NOT-02"],
      `follows its changes on stdio: ${title}`,
      Effect.fnUntraced(function*() {
        yield* growsUnderWatch(yield* overStdio(command, protocol))
      }),
      timeoutMillis
    )
  }

  verifiesLive(
    "PAIN-62",
    "follows its changes on the standby stream of legacy HTTP: Effect's McpServer",
    Effect.fnUntraced(function*() {
      const { url } = yield* RealServers.effectHttp
      const { client } = yield* overHttp(url, { protocol: "legacy" })
      const names = yield* client.watchTools.pipe(
        Stream.map((tools) => tools.map(({ name }) => name)),
        Stream.tap((names) => names.includes("grown-1") ? Effect.void : client.callTool("grow")),
        Stream.takeUntil((names) => names.includes("grown-1")),
        Stream.runLast
      )
      assert.isTrue(names._tag === "Some")
    }),
    timeoutMillis
  )
})
