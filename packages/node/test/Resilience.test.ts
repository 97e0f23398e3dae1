import { assert, describe } from "@effect/vitest"
import { McpClient } from "@mcp-effect/client"
import * as FaultProxy from "@mcp-effect/conformance/http/FaultProxy"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import * as RealServers from "@mcp-effect/conformance/RealServers"
import type { Script } from "@mcp-effect/conformance/servers/Script"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import { McpError } from "@mcp-effect/protocol"
import { StreamableHttpTransport, Transport } from "@mcp-effect/transport"
import { Effect, ManagedRuntime, Schedule, Stream } from "effect"
import { HttpClient } from "effect/http"
import { execFile } from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Agent } from "undici"
import * as DispatchClient from "../src/internal/DispatchClient.ts"

type Reply = (method: string) => object | undefined

const tool = { name: "work", inputSchema: { type: "object" }, annotations: { idempotentHint: true } }

const modern: Reply = (method) => {
  const fresh = { resultType: "complete", ttlMs: 0, cacheScope: "private" }
  if (method === "server/discover") {
    return { ...fresh, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
  }
  if (method === "tools/list") return { ...fresh, tools: [tool] }
  return method === "tools/call" ? { resultType: "complete", content: [] } : undefined
}

const legacy: Reply = (method) => {
  if (method === "initialize") {
    return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "legacy", version: "1" } }
  }
  if (method === "tools/list") return { tools: [tool] }
  return method === "tools/call" ? { content: [] } : undefined
}

/** A server of an era, with sessions in the legacy one; `on` may answer in its place. */
const serving = (reply: Reply, on: (...args: Parameters<TestServer.Handler>) => boolean = () => false) => {
  let sessions = 0
  return TestServer.serve((request, response) => {
    if (on(request, response)) return
    const { message } = request
    if (request.httpMethod !== "POST") return response.send(405, {})
    if (message?.id === undefined || message.method === undefined) return response.send(202, {})
    const result = reply(message.method)
    if (result === undefined) {
      return response.json({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "unknown" } }, 404)
    }
    if (message.method !== "initialize") return response.result(result)
    const body = JSON.stringify({ jsonrpc: "2.0", id: message.id, result })
    response.send(200, { "content-type": "application/json", "mcp-session-id": `s-${++sessions}` }, body)
  })
}

const sentOf = (server: TestServer.TestServer, method: string) =>
  server.received.filter(({ message }) => message?.method === method)

const connect = (server: { readonly url: string }, options?: Connect.Options) =>
  Connect.connect(server.url, { proxy: "none", ...options })

const causeOf = (error: McpError.McpError): string | undefined =>
  McpError.isMcpError(error.reason.cause) ? error.reason.cause.reason._tag : undefined

const temporaryFile = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "mcp-effect-"))),
    (directory) => Effect.sync(() => Fs.rmSync(directory, { recursive: true, force: true }))
  ),
  (directory) => Path.join(directory, "file")
)

const linesOf = (file: string): ReadonlyArray<string> =>
  Fs.existsSync(file) ? Fs.readFileSync(file, "utf8").trim().split("\n") : []

// ====================================================================================================================
// HTTP
// ====================================================================================================================

describe("A server over HTTP", () => {
  verifiesLive("PAIN-30", "may answer 503, or reset the connection, while it starts", () =>
    Effect.gen(function*() {
      for (const reply of [modern, legacy]) {
        let refusals = 2
        const server = yield* serving(reply, (request, response) => {
          if (request.message?.id === undefined || refusals-- <= 0) return false
          if (refusals === 1) response.send(503, { "retry-after": "0" })
          else response.reset()
          return true
        })
        const client = yield* connect(server)
        assert.strictEqual((yield* client.listTools()).length, 1)
      }
    }))

  verifiesLive(
    ["PAIN-12", "SHT-22", "RTY-06"],
    "that forgets its sessions is asked for one new session by ten requests, which all succeed",
    () =>
      Effect.gen(function*() {
        const lost = new Set<string>()
        const server = yield* serving(legacy, ({ headers }, response) => {
          const isLost = lost.has(String(headers["mcp-session-id"]))
          if (isLost) response.send(404, {})
          return isLost
        })
        const client = yield* connect(server)
        yield* client.listTools()
        lost.add("s-1")
        const lists = yield* Effect.all(Array.from({ length: 10 }, () => client.listTools()), {
          concurrency: "unbounded"
        })
        assert.isTrue(lists.every(({ length }) => length === 1))
        assert.strictEqual(sentOf(server, "initialize").length, 2)
        lost.add("s-2")
        const error = yield* Effect.flip(client.callTool("work"))
        assert.strictEqual(error.reason._tag, "SessionExpired")
        assert.strictEqual(error.delivery, "refused")
        assert.strictEqual(sentOf(server, "tools/call").length, 1)
        yield* client.callTool("work")
        assert.strictEqual(sentOf(server, "initialize").length, 3)
        // Each new session is forgotten as well.
        for (let session = 3; session < 10; session++) lost.add(`s-${session}`)
        assert.strictEqual((yield* Effect.flip(client.listTools())).reason._tag, "SessionExpired")
      })
  )

  verifiesLive(
    "PAIN-12",
    "that does not know what it is told to cancel has not lost the session",
    () =>
      Effect.gen(function*() {
        const server = yield* serving(legacy, ({ message }, response) => {
          if (message?.method === "notifications/cancelled") response.send(404, {})
          return message?.method === "notifications/cancelled" || message?.method === "tools/call"
        })
        const client = yield* connect(server)
        yield* Effect.flip(client.callTool("work", {}, { deadline: "50 millis" }))
        yield* server.arrived(server.received.length + (sentOf(server, "notifications/cancelled").length === 0 ? 1 : 0))
        assert.strictEqual((yield* client.listTools()).length, 1)
        assert.strictEqual(sentOf(server, "initialize").length, 1)
      })
  )

  verifiesLive(
    ["PAIN-13", "RTY-12", "RTY-13"],
    "that drops the answer of a call has executed it once, which the error says",
    () =>
      Effect.gen(function*() {
        const drops: ReadonlyArray<(response: TestServer.Response) => void> = [
          (response) => response.reset(),
          (response) => {
            response.stream()
            response.raw.write(": at work\n\n", () => response.reset())
          },
          (response) => {
            response.stream()
            response.end()
          }
        ]
        for (const [reply, options] of [[legacy, {}], [modern, { reissue: "safe" }]] as const) {
          for (const drop of drops) {
            const server = yield* serving(reply, ({ message }, response) => {
              if (message?.method !== "tools/call") return false
              drop(response)
              return true
            })
            const client = yield* connect(server, options)
            const error = yield* Effect.flip(client.callTool("work"))
            assert.strictEqual(error.reason._tag, "AmbiguousDelivery")
            assert.include(["ConnectionFailed", "StreamEnded"], causeOf(error))
            assert.strictEqual(error.delivery, "unknown")
            assert.strictEqual(sentOf(server, "tools/call").length, 1)
          }
        }
        // One that is annotated, and believed, is tried once more.
        let drops2 = 1
        const server = yield* serving(modern, ({ message }, response) => {
          if (message?.method !== "tools/call" || drops2-- <= 0) return false
          response.stream()
          response.end()
          return true
        })
        const client = yield* connect(server, { reissue: "safe", trustAnnotations: true })
        yield* client.callTool("work")
        assert.strictEqual(sentOf(server, "tools/call").length, 2)
      })
  )

  verifiesLive(
    ["RTY-07", "RTY-10", "RTY-14"],
    "of the modern era has a call issued anew whose answer broke off, as a stream or as JSON",
    () =>
      Effect.gen(function*() {
        const breaks: ReadonlyArray<(response: TestServer.Response) => void> = [
          (response) => {
            response.stream()
            response.end()
          },
          (response) => {
            response.raw.writeHead(200, { "content-type": "application/json", "content-length": 1_000 })
            response.raw.write("{\"jsonrpc\":", () => response.reset())
          }
        ]
        for (const breakOff of breaks) {
          let isBroken = false
          const server = yield* serving(modern, ({ message }, response) => {
            if (message?.method !== "tools/call" || isBroken) return false
            isBroken = true
            breakOff(response)
            return true
          })
          const client = yield* connect(server)
          yield* client.callTool("work")
          const [first, second] = sentOf(server, "tools/call")
          assert.strictEqual(sentOf(server, "tools/call").length, 2)
          assert.notStrictEqual(first?.message.id, second?.message.id)
        }
      })
  )

  verifiesLive(
    ["RTY-09", "RTY-10"],
    "that answered is asked no more, however its connection ends",
    () =>
      Effect.gen(function*() {
        const server = yield* serving(modern, ({ message }, response) => {
          if (message?.method !== "tools/call") return false
          response.stream()
          const answer = { jsonrpc: "2.0", id: message.id, result: { resultType: "complete", content: [] } }
          response.raw.write(`data: ${JSON.stringify(answer)}\n\n`, () => response.reset())
          return true
        })
        const client = yield* connect(server)
        assert.deepStrictEqual((yield* client.callTool("work")).content, [])
        yield* client.listTools()
        assert.strictEqual(sentOf(server, "tools/call").length, 1)
      })
  )

  verifiesLive(
    "PAIN-21",
    "that closed an idle connection unseen is asked again for a list, and a call that may have arrived is not repeated",
    () =>
      Effect.gen(function*() {
        let stale = new Set<number>()
        const server = yield* serving(modern, ({ connection }, response) => {
          const isStale = stale.has(connection)
          if (isStale) response.raw.socket?.destroy()
          return isStale
        })
        const client = yield* connect(server)
        yield* client.listTools()
        // It ends as soon as something is written to it, and no byte comes back.
        stale = new Set([server.connections()])
        assert.strictEqual((yield* client.listTools()).length, 1)
        stale = new Set([server.connections()])
        const error = yield* Effect.flip(client.callTool("work"))
        assert.strictEqual(error.reason._tag, "AmbiguousDelivery")
        assert.strictEqual(sentOf(server, "tools/call").length, 1)
        const proxy = yield* FaultProxy.make(server.url)
        const behind = yield* connect(proxy)
        for (const how of ["end", "reset"] as const) {
          yield* proxy.cut(how)
          assert.strictEqual((yield* behind.listTools()).length, 1)
        }
      })
  )

  verifiesLive(
    "PAIN-21",
    "whose connection breaks in the TLS handshake was sent nothing",
    () =>
      Effect.gen(function*() {
        const listener = yield* Effect.acquireRelease(
          Effect.callback<Net.Server>((resume) => {
            const server = Net.createServer((socket) => socket.once("data", () => socket.destroy()))
            server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
          }),
          (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
        )
        const address = listener.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const error = yield* Effect.flip(
          connect({ url: `https://127.0.0.1:${port}/mcp` }, { retry: Schedule.recurs(0) })
        )
        assert.deepInclude(error.reason, { _tag: "ConnectionFailed", code: "ECONNRESET" })
        assert.strictEqual(error.delivery, "unsent")
      })
  )

  verifiesLive(
    "PAIN-20",
    "may be silent on a stream for longer than undici's timeouts, not than ours",
    () =>
      Effect.gen(function*() {
        const server = yield* serving(modern, ({ message }, response) => {
          if (message?.method !== "tools/call") return false
          if (message.params.arguments.quiet === true) {
            response.stream()
            return true
          }
          let comments = 0
          const answer = { jsonrpc: "2.0", id: message.id, result: { resultType: "complete", content: [] } }
          setTimeout(() => {
            response.stream()
            const timer = setInterval(() => {
              if (++comments < 4) {
                response.raw.write(": still here\n\n")
                return
              }
              clearInterval(timer)
              response.event(answer)
              response.end()
            }, 500)
          }, 1_200)
          return true
        })
        // Both would end it, where the request did not say otherwise.
        const agent = yield* Effect.acquireRelease(
          Effect.sync(() => new Agent({ bodyTimeout: 300, headersTimeout: 300 })),
          (agent) => Effect.promise(() => agent.destroy())
        )
        const transport = yield* Effect.provideService(
          StreamableHttpTransport.make({ url: server.url }),
          HttpClient.HttpClient,
          DispatchClient.make(agent)
        )
        const client = yield* Effect.provideService(McpClient.make(), Transport.Transport, transport)
        assert.deepStrictEqual((yield* client.callTool("work")).content, [])
        const error = yield* Effect.flip(client.callTool("work", { quiet: true }, { idleTimeout: "700 millis" }))
        assert.deepInclude(error.reason, { _tag: "StreamIdle", millis: 700 })
      })
  )

  verifiesLive(
    "PAIN-28",
    "is noticed when it goes silent, and the process may end with the timer armed",
    () =>
      Effect.gen(function*() {
        const server = yield* serving(modern)
        const proxy = yield* FaultProxy.make(server.url)
        const client = yield* connect(proxy, { keepAlive: "200 millis" })
        yield* proxy.stalled
        const since = Date.now()
        yield* Stream.runDrain(Stream.takeUntil(client.state, ({ _tag }) => _tag === "Degraded"))
        // Two intervals; the rest is for a machine that is busy.
        assert.isBelow(Date.now() - since, 5_000)

        const script = fileURLToPath(new URL("fixtures/KeepAlive.ts", import.meta.url))
        const { stdout } = yield* Effect.promise(() =>
          promisify(execFile)(process.execPath, ["--conditions=@mcp-effect/source", script, server.url], {
            timeout: 20_000
          })
        )
        assert.strictEqual(stdout, "1")
      }),
    30_000
  )
})

// ====================================================================================================================
// Processes
// ====================================================================================================================

describe("A server on stdio", () => {
  const script = (transcript: string, more: Partial<Script> = {}): Script => ({
    revision: "2026-07-28",
    transcript,
    ...more
  })

  verifiesLive(
    "PAIN-48",
    "that is killed is there again for the next request within two seconds",
    () =>
      Effect.gen(function*() {
        const note = "import { appendFileSync } from 'node:fs'; appendFileSync(process.env.PIDS, `${process.pid}\\n`)"
        for (const isSeen of [true, false]) {
          const millis: Array<number> = []
          // Starting a process takes a busy machine longer, so that the best of three counts.
          while (millis.length === 0 || (Math.min(...millis) > 2_000 && millis.length < 3)) {
            const pids = yield* temporaryFile
            const { args, command } = RealServers.scripted(script(yield* temporaryFile))
            const client = yield* Connect.connect({
              command,
              args: ["--import", `data:text/javascript,${encodeURIComponent(note)}`, ...args],
              env: { PIDS: pids }
            })
            yield* client.callTool("echo", { message: "1" })
            process.kill(Number(linesOf(pids)[0]), "SIGKILL")
            const since = Date.now()
            if (isSeen) {
              yield* Stream.runDrain(Stream.takeUntil(client.state, ({ _tag }) => _tag === "Failed"))
              yield* client.callTool("echo", { message: "2" })
            } else {
              // The request itself finds out.
              assert.strictEqual((yield* client.listTools()).length, 1)
            }
            millis.push(Date.now() - since)
            assert.strictEqual(linesOf(pids).length, 2)
          }
          assert.isAtMost(Math.min(...millis), 2_000)
        }
      }),
    60_000
  )

  verifiesLive(["PAIN-13", "STD-14"], "that dies during a call has executed it once", () =>
    Effect.gen(function*() {
      const transcript = yield* temporaryFile
      const dying = script(transcript, { on: { "tools/call": [{ kind: "exit", code: 9 }] } })
      const client = yield* Connect.connect(RealServers.scripted(dying))
      const error = yield* Effect.flip(client.callTool("echo", { message: "1" }))
      assert.strictEqual(error.reason._tag, "AmbiguousDelivery")
      assert.strictEqual(causeOf(error), "ConnectionClosed")
      assert.strictEqual((yield* client.listTools()).length, 1)
      assert.strictEqual(linesOf(transcript).filter((line) => line.includes("\"tools/call\"")).length, 1)
    }))

  verifiesLive(
    "PAIN-50",
    "is one process for ten scopes under one layer, which ends with the layer",
    () =>
      Effect.gen(function*() {
        const pidFile = yield* temporaryFile
        const transcript = yield* temporaryFile
        const command = RealServers.launched(pidFile, RealServers.scripted(script(transcript)))
        const runtime = ManagedRuntime.make(Connect.layer(command))
        const scope = Effect.scoped(Effect.gen(function*() {
          const client = yield* McpClient.McpClient
          for (let call = 0; call < 10; call++) yield* client.callTool("echo", { message: "x" })
        }))
        yield* Effect.promise(() => Promise.all(Array.from({ length: 10 }, () => runtime.runPromise(scope))))
        assert.strictEqual(linesOf(pidFile).length, 2)
        assert.strictEqual(linesOf(transcript).filter((line) => line.includes("\"tools/call\"")).length, 100)
        yield* Effect.promise(() => runtime.dispose())
        yield* RealServers.allGone(pidFile)
      }),
    20_000
  )
})
