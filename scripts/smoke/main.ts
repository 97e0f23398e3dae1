/**
 * Calls a tool over stdio and over HTTP with fetch, to show that the client runs where this runs: Bun, Deno or Node.
 * The server always runs on Node, from the PATH.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { McpClient } from "@mcp-effect/client"
import { StdioTransport, StreamableHttpTransport, type Transport } from "@mcp-effect/transport"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as assert from "node:assert/strict"
import { spawn } from "node:child_process"
import * as path from "node:path"
import { createInterface } from "node:readline"

const server = [
  "--conditions=@mcp-effect/source",
  path.resolve(import.meta.dirname, "../../packages/conformance/src/servers/DualServer.ts")
]

/** Starts the server on HTTP, gives its URL and ends it with the scope. */
const httpServer = Effect.gen(function*() {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn("node", [...server, "http"], { stdio: ["pipe", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.kill())
  )
  return yield* Effect.callback<string>((resume) => {
    createInterface(child.stdout).on("line", (line) => {
      const url = /^listening (.+)$/.exec(line)?.[1]
      if (url !== undefined) resume(Effect.succeed(url))
    })
    child.once("error", (error) => resume(Effect.die(error)))
    child.once("exit", (code) => resume(Effect.die(new Error(`the server exited with ${code}`))))
  })
})

const callOver = (protocol: "modern" | "legacy", transport: Layer.Layer<Transport.Transport>) =>
  Effect.gen(function*() {
    const client = yield* McpClient.McpClient
    const { revision } = yield* client.server
    const { content } = yield* client.callTool("echo", { message: "hello" }, { deadline: "20 seconds" })
    assert.deepEqual(content, [{ type: "text", text: "hello" }])
    return revision.version
  }).pipe(Effect.provide(
    McpClient.layer({ clientInfo: { name: "smoke", version: "1.0.0" }, protocol }).pipe(Layer.provide(transport))
  ))

const program = Effect.gen(function*() {
  const stdio = StdioTransport.layer({ command: "node", args: server }).pipe(Layer.provide(NodeServices.layer))
  const http = StreamableHttpTransport.layer({ url: yield* httpServer }).pipe(Layer.provide(FetchHttpClient.layer))
  const runtime = ["bun", "deno", "node"].find((name) => name in process.versions)
  for (const [channel, transport] of [["stdio", stdio], ["fetch", http]] as const) {
    for (const protocol of ["modern", "legacy"] as const) {
      const version = yield* callOver(protocol, transport)
      yield* Effect.sync(() => process.stdout.write(`${runtime}: called over ${channel} by ${version}\n`))
    }
  }
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.timeout("60 seconds")))
