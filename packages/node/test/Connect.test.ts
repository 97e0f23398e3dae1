import { assert, describe } from "@effect/vitest"
import { McpClient } from "@mcp-effect/client"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import * as RealServers from "@mcp-effect/conformance/RealServers"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import {
  Config,
  ConfigProvider,
  Context,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Redacted,
  References,
  Schedule,
  Scope
} from "effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Servers from "./http/Servers.ts"

const legacyResults: Readonly<Record<string, unknown>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "recorder", version: "1.0.0" }
  },
  "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] }
}

/** Answers as a legacy server with sessions does, which does not know `server/discover`. */
const legacy: TestServer.Handler = ({ message }, response) => {
  const result = legacyResults[message?.method]
  if (result !== undefined) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: message.id, result })
    return response.send(200, { "content-type": "application/json", "mcp-session-id": "s-1" }, body)
  }
  if (message?.id === undefined) return response.send(202, {})
  return response.json({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "Method not found" } }, 400)
}

const names = Effect.map(
  Effect.flatMap(McpClient.McpClient, (client) => client.listTools()),
  (tools) => tools.map(({ name }) => name)
)

const quoted = ({ args, command }: RealServers.Command): string =>
  [command, ...args].map((word) => `'${word}'`).join(" ")

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "mcp-effect-"))),
  (directory) => Effect.sync(() => Fs.rmSync(directory, { recursive: true }))
)

const transcript = (file: string): ReadonlyArray<{ readonly method?: string; readonly params?: any }> =>
  Fs.readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line))

/** Text of what is logged in a region, without the messages below `Warn`. */
const warningsOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const messages: Array<string> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (logLevel === "Warn") messages.push(String(message))
    })
    return Effect.as(Effect.provide(effect, Logger.layer([logger])), messages)
  })

describe("Connect.connect", () => {
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    verifiesLive(
      ["CON-01", "CON-04", "CON-27"],
      `a command gives a client that is ready: ${revision}`,
      () =>
        Effect.gen(function*() {
          const client = yield* Connect.connect(`stdio://${quoted(RealServers.effect(revision))}`)
          const { content } = yield* client.callTool("echo", { message: "hi" })
          assert.strictEqual((yield* client.server).revision.version, revision)
          assert.include(JSON.stringify(content), "hi")
        })
    )
  }

  verifiesLive(["CON-01", "CON-03", "CON-27"], "a URL gives a client that is ready", () =>
    Effect.gen(function*() {
      const { url } = yield* RealServers.effectHttp
      for (const protocol of ["auto", "legacy"] as const) {
        const client = yield* Connect.connect(url, { protocol })
        const { content } = yield* client.callTool("echo", { message: "hi" })
        assert.strictEqual((yield* client.server).era, protocol === "auto" ? "modern" : "legacy")
        assert.include(JSON.stringify(content), "hi")
      }
    }))

  verifiesLive("CON-04", "an array and an object start a process", () =>
    Effect.gen(function*() {
      const { args, command } = RealServers.everything
      const [fromArray, fromObject] = yield* Effect.all([
        Connect.connect([command, ...args]),
        Connect.connect({ command, args })
      ], { concurrency: 2 })
      assert.isNotEmpty(yield* fromArray.listTools())
      assert.isNotEmpty(yield* fromObject.listTools())
    }))

  verifiesLive(
    "CON-12",
    "headers go with every request, and timeouts are those of the client",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          if (request.message?.method !== "tools/list") legacy(request, response)
        })
        const client = yield* Connect.connect(server.url, {
          headers: { authorization: Redacted.make("Bearer s3cret"), "x-tenant": "acme" },
          idleTimeout: "100 millis"
        })
        const error = yield* Effect.flip(client.listTools())
        assert.deepInclude(error.reason, { _tag: "RequestTimeout", kind: "idle", millis: 100 })
        assert.isAtLeast(server.received.length, 4)
        for (const { headers } of server.received) {
          assert.deepInclude(headers, { authorization: "Bearer s3cret", "x-tenant": "acme" })
        }
      })
  )

  verifiesLive("CON-12", "a Schedule says how often a call is tried", () =>
    Effect.gen(function*() {
      let refusals = 2
      const server = yield* TestServer.serve((request, response) => {
        if (request.message?.method === "tools/list" && refusals-- > 0) response.send(503, {})
        else legacy(request, response)
      })
      const client = yield* Connect.connect(server.url)
      const tools = yield* Effect.retry(client.listTools(), {
        schedule: Schedule.exponential("10 millis"),
        times: 3,
        while: (error) => error.isRetryable
      })
      assert.deepStrictEqual(tools.map(({ name }) => name), ["echo"])
    }))

  verifiesLive(
    "CON-12",
    "variables and the working directory are those of the process; the target's own come first",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const show = `process.stderr.write([process.env.A, process.env.B, process.cwd()].join(" ")); process.exit(3)`
        const closed = yield* Effect.flip(Connect.connect(
          { command: process.execPath, args: ["-e", show], env: { A: "of-target" } },
          { env: { A: "of-options", B: Redacted.make("hidden") }, cwd: Fs.realpathSync(directory), protocol: "legacy" }
        ))
        assert.deepInclude(closed.reason, { _tag: "ConnectionClosed", exitCode: 3 })
        const { stderr } = closed.reason as { readonly stderr?: string }
        assert.match(stderr ?? "", new RegExp(`^of-target .*${Fs.realpathSync(directory)}$`))
        assert.notInclude(stderr, "hidden")
      })
  )

  verifiesLive("CON-12", "what a server writes to stderr goes to Effect's logger", () =>
    Effect.gen(function*() {
      const messages: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => {
        messages.push(String(message))
      })
      const script = { revision: "2025-11-25", start: [{ kind: "complain", text: "it is cold here\n" }] } as const
      const { args, command } = RealServers.scripted(script)
      yield* Connect.connect([command, ...args]).pipe(
        Effect.scoped,
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "Debug")
      )
      assert.isTrue(messages.some((message) => message.includes("it is cold here")), messages.join("\n"))
    }))

  verifiesLive("CON-12", "the name of a server stands in its errors", () =>
    Effect.gen(function*() {
      for (const target of [["a-command-that-does-not-exist"], yield* RealServers.refusedUrl]) {
        const error = yield* Effect.flip(Effect.scoped(Connect.connect(target, { name: "archive" })))
        assert.strictEqual(error.server, "archive")
        assert.isTrue(error.message.startsWith("archive"), error.message)
      }
    }))

  for (const protocol of ["sse", "", "Modern"]) {
    verifiesLive("CON-13", `protocol "${protocol}" is refused, and nothing is started`, () =>
      Effect.gen(function*() {
        const options = JSON.parse(JSON.stringify({ protocol }))
        const error = yield* Effect.flip(Connect.connect(["a-command-that-does-not-exist"], options))
        assert.strictEqual(error.reason._tag, "InvalidRequest")
      }))
  }

  verifiesLive(["CON-13", "CON-16"], "protocol is taken on stdio and on HTTP alike", () =>
    Effect.gen(function*() {
      const { args, command } = RealServers.everything
      const server = yield* TestServer.serve(legacy)
      for (const target of [[command, ...args], server.url]) {
        const client = yield* Connect.connect(target, { protocol: "legacy" })
        assert.strictEqual((yield* client.server).era, "legacy")
        const refused = yield* Effect.flip(Effect.scoped(Connect.connect(target, { protocol: "modern" })))
        assert.strictEqual(refused.reason._tag, "NegotiationFailed")
      }
    }))

  verifiesLive(["CON-14", "CON-16"], "probeTimeout bounds the probe alone", () =>
    Effect.gen(function*() {
      const late = { kind: "wait", millis: 600 } as const
      const { args, command } = RealServers.scripted({
        revision: "2025-11-25",
        on: { "server/discover": [{ kind: "hang" }], initialize: [late, { kind: "behave" }] }
      })
      const overStdio = yield* Connect.connect([command, ...args], { probeTimeout: "200 millis" })
      assert.strictEqual((yield* overStdio.server).era, "legacy")

      const server = yield* TestServer.serve((request, response) => {
        if (request.message?.method !== "server/discover") legacy(request, response)
      })
      const error = yield* Effect.flip(Connect.connect(server.url, { probeTimeout: "200 millis" }))
      assert.deepInclude(error.reason, { _tag: "RequestTimeout", millis: 200 })
    }))

  verifiesLive("CON-15", "extensions are declared in either era", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const extensions = { "vendor.example/charts": { version: 2 } }
      const declared = Effect.fnUntraced(function*(revision: string) {
        const file = Path.join(directory, revision)
        const { args, command } = RealServers.scripted({ revision, transcript: file })
        yield* Effect.scoped(
          Effect.flatMap(Connect.connect([command, ...args], { extensions }), (client) => client.listTools())
        )
        return transcript(file)
      })
      const handshake = (yield* declared("2025-11-25")).find(({ method }) => method === "initialize")
      assert.deepStrictEqual(handshake?.params.capabilities.extensions, extensions)
      for (const { params } of yield* declared("2026-07-28")) {
        assert.deepStrictEqual(params._meta["io.modelcontextprotocol/clientCapabilities"].extensions, extensions)
      }
    }))

  verifiesLive(
    ["CON-23", "PAIN-35"],
    "closing the scope ends the process and what it started",
    () =>
      Effect.gen(function*() {
        const file = Path.join(yield* temporaryDirectory, "pids")
        yield* Effect.scoped(Effect.flatMap(
          Connect.connect(RealServers.launched(file, RealServers.everything)),
          (client) => client.listTools()
        ))
        yield* RealServers.allGone(file)
        assert.lengthOf(Fs.readFileSync(file, "utf8").trim().split("\n"), 2)
      })
  )

  verifiesLive(
    ["CON-23", "CON-28"],
    "a session needs no settings: its id is taken up, sent and given back",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve(legacy)
        yield* Effect.scoped(Effect.flatMap(Connect.connect(server.url), (client) => client.listTools()))
        assert.deepStrictEqual(
          server.received.map(({ headers, httpMethod, message }) => [
            httpMethod,
            message?.method,
            headers["mcp-session-id"]
          ]),
          [
            ["POST", "server/discover", undefined],
            ["POST", "initialize", undefined],
            ["POST", "notifications/initialized", "s-1"],
            ["POST", "tools/list", "s-1"],
            ["DELETE", undefined, "s-1"]
          ]
        )
      })
  )

  verifiesLive("CON-24", "an unusable target fails before anything is sent", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Connect.connect("gopher://example.com/mcp"))
      assert.strictEqual(error.reason._tag, "InvalidRequest")
      assert.strictEqual(error.delivery, "unsent")
    }))

  verifiesLive(
    "CON-25",
    "requests go to the URL as it was given, with its path and query",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve(legacy)
        const client = yield* Connect.connect(`http://127.0.0.1:${server.port}/v1/custom/rpc?key=1`)
        yield* client.listTools()
        assert.deepStrictEqual([...new Set(server.received.map(({ url }) => url))], ["/v1/custom/rpc?key=1"])
      })
  )

  verifiesLive("CON-26", "0.0.0.0 is accepted, with a warning", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve(legacy)
      const warnings = yield* warningsOf(Effect.scoped(Connect.connect(`http://0.0.0.0:${server.port}/mcp`)))
      assert.isTrue(warnings.some((warning) => warning.includes("0.0.0.0")), warnings.join("\n"))
    }))

  verifiesLive("PAIN-26", "a proxy of this server alone is used", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve(legacy)
      const proxy = yield* Servers.serveProxy()
      const client = yield* Connect.connect(server.url, { proxy: { http: proxy.url } })
      yield* client.listTools()
      assert.isAtLeast(proxy.hits.length, 4)
      assert.deepStrictEqual([...new Set(proxy.hits)], [`POST ${server.url}`])
    }))

  verifiesLive("PAIN-27", "the private authority of this server alone is trusted", () =>
    Effect.gen(function*() {
      const { url } = yield* Servers.serveTls({ clientCertificate: false })
      const reason = (tls: Connect.Options["tls"]) =>
        Connect.connect(url, { tls, proxy: "none" }).pipe(
          Effect.flip,
          Effect.map((error) => error.reason._tag),
          Effect.provideService(References.MinimumLogLevel, "Error")
        )
      assert.strictEqual(yield* reason(undefined), "ConnectionFailed")
      // It speaks no MCP, but it is reached.
      assert.notStrictEqual(yield* reason({ ca: Servers.pem("authority") }), "ConnectionFailed")
    }))

  verifiesLive("PAIN-44", "maxMessageBytes holds on stdio and on HTTP", () =>
    Effect.gen(function*() {
      const long = "x".repeat(3_000)
      const { args, command } = RealServers.everything
      const { url } = yield* RealServers.effectHttp
      for (const target of [[command, ...args], url]) {
        const client = yield* Connect.connect(target, { maxMessageBytes: 100_000 })
        assert.isNotEmpty((yield* client.callTool("echo", { message: long })).content)
        const tight = yield* Connect.connect(target, { maxMessageBytes: 2_500 })
        const error = yield* Effect.flip(tight.callTool("echo", { message: long }))
        assert.deepInclude(error.reason, { _tag: "MessageTooLarge", limit: 2_500 })
        assert.isNotEmpty((yield* tight.callTool("echo", { message: "short" })).content)
      }
    }))

  verifiesLive(
    "PAIN-47",
    "a command that does not exist fails at once and says where it was looked for",
    () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Connect.connect("stdio://a-command-that-does-not-exist --flag"))
        assert.deepInclude(error.reason, {
          _tag: "SpawnFailed",
          command: "a-command-that-does-not-exist",
          problem: "not-found"
        })
        assert.isNotEmpty((error.reason as { readonly searched: ReadonlyArray<string> }).searched)
      })
  )

  verifiesLive("CON-23", "interrupting a connect in progress ends the process", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const pids = Path.join(directory, "pids")
      const received = Path.join(directory, "received")
      const silent = RealServers.scripted({
        revision: "2025-11-25",
        transcript: received,
        on: { "*": [{ kind: "hang" }] }
      })
      const connecting = yield* Effect.forkChild(Effect.scoped(Connect.connect(RealServers.launched(pids, silent))))
      yield* Effect.retry(Effect.try({ try: () => transcript(received), catch: () => "not yet" }), {
        schedule: Schedule.spaced("25 millis"),
        times: 400
      })
      yield* Fiber.interrupt(connecting)
      yield* RealServers.allGone(pids)
    }))
})

describe("Connect layers", () => {
  verifiesLive("CON-01", "layer provides McpClient, for as long as its scope is open", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve(legacy)
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Connect.layer(server.url), scope)
      assert.deepStrictEqual(yield* Effect.provideContext(names, context), ["echo"])
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(server.received.at(-1)?.httpMethod, "DELETE")
      const error = yield* Effect.flip(Context.get(context, McpClient.McpClient).listTools())
      assert.strictEqual(error.reason._tag, "ConnectionClosed")
    }))

  verifiesLive("CON-12", "layerConfig takes target and options from the configuration", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve(legacy)
      const layer = Connect.layerConfig(Config.String("MCP_SERVER"), {
        headers: { authorization: Config.Redacted("MCP_AUTHORIZATION") }
      })
      const environment = (env: Record<string, string>) => ConfigProvider.layer(ConfigProvider.fromEnv({ env }))
      const tools = names.pipe(
        Effect.provide(layer),
        Effect.provide(environment({ MCP_SERVER: server.url, MCP_AUTHORIZATION: "Bearer s3cret" }))
      )
      assert.deepStrictEqual(yield* tools, ["echo"])
      assert.strictEqual(server.received.at(-2)?.headers.authorization, "Bearer s3cret")
      const error = yield* Effect.flip(names.pipe(Effect.provide(layer), Effect.provide(environment({}))))
      assert.strictEqual(error._tag, "ConfigError")
    }))

  verifiesLive("CON-01", "layerTransport gives each tag a server of its own", () =>
    Effect.gen(function*() {
      class First extends McpClient.Service<First>()("test/First") {}
      class Second extends McpClient.Service<Second>()("test/Second") {}
      const one = yield* TestServer.serve(legacy)
      const two = yield* RealServers.effectHttp
      const servers = Layer.merge(
        First.layer().pipe(Layer.provide(Connect.layerTransport(one.url))),
        Second.layer().pipe(Layer.provide(Connect.layerTransport(two.url)))
      )
      const [first, second] = yield* Effect.provide(
        Effect.gen(function*() {
          return [yield* (yield* First).listTools(), yield* (yield* Second).listTools()] as const
        }),
        servers
      )
      assert.deepStrictEqual(first.map(({ name }) => name), ["echo"])
      assert.include(second.map(({ name }) => name), "sum")
    }))
})
