/**
 * A server as a child process: `@modelcontextprotocol/server-everything`.
 *
 * The client is a layer, so that the program says only that it needs one.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { McpClient } from "@mcp-effect/client"
import { StdioTransport } from "@mcp-effect/transport"
import { Console, Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"

const Everything = McpClient.layer({ clientInfo: { name: "stdio-example", version: "1.0.0" } }).pipe(
  Layer.provide(StdioTransport.layer({
    command: process.execPath,
    args: [fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js")), "stdio"]
  })),
  Layer.provide(NodeServices.layer)
)

const program = Effect.gen(function*() {
  const client = yield* McpClient.McpClient

  const { revision, serverInfo } = yield* client.server
  yield* Console.log(`connected to ${serverInfo?.name} in revision ${revision.version}`)

  const tools = yield* client.listTools()
  yield* Console.log(
    `it offers ${tools.length} tools, among them ${tools.slice(0, 3).map(({ name }) => name).join(", ")}`
  )

  const { content } = yield* client.callTool("echo", { message: "hello" }, { deadline: "10 seconds" })
  for (const block of content) {
    if (block.type === "text") yield* Console.log(block.text)
  }

  yield* client.callTool("trigger-long-running-operation", { duration: 1, steps: 4 }, {
    onProgress: ({ progress, total }) => Console.log(`step ${progress} of ${total}`)
  })
})

program.pipe(
  Effect.provide(Everything),
  // One cause is dealt with here; every other one ends the program.
  Effect.catchReason("McpError", "SpawnFailed", ({ message }) => Console.error(message)),
  NodeRuntime.runMain
)
