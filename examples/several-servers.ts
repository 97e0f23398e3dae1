/**
 * Two servers, each with a tag of its own and a transport of its own: one over stdio, one over HTTP.
 */
import { NodeRuntime } from "@effect/platform-node"
import { McpClient } from "@mcp-effect/client"
import { Connect } from "@mcp-effect/node"
import { Console, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { fileURLToPath } from "node:url"
import { http } from "./demo/server.ts"

class Toolbox extends McpClient.Service<Toolbox>()("examples/Toolbox") {}
class Poetry extends McpClient.Service<Poetry>()("examples/Poetry") {}

const everything = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))

const ToolboxLive = Toolbox.layer().pipe(
  Layer.provide(Connect.layerTransport({ command: process.execPath, args: [everything, "stdio"] }))
)

const PoetryLive = Layer.unwrap(
  Effect.map(
    HttpServer.HttpServer,
    ({ address }) =>
      Poetry.layer().pipe(Layer.provide(Connect.layerTransport(`${HttpServer.formatAddress(address)}/mcp`)))
  )
).pipe(Layer.provide(http("legacy")))

const program = Effect.gen(function*() {
  const toolbox = yield* Toolbox
  const poetry = yield* Poetry

  const lists = yield* Effect.all({ toolbox: toolbox.listTools(), poetry: poetry.listTools() }, { concurrency: 2 })
  for (const [name, tools] of Object.entries(lists)) yield* Console.log(`${name} offers ${tools.length} tools`)

  const { contents: [poem] } = yield* poetry.readResource("poem://frog")
  const message = poem !== undefined && "text" in poem ? poem.text : "no poem"
  const { content: [echo] } = yield* toolbox.callTool("echo", { message })
  if (echo?.type === "text") yield* Console.log(echo.text)
})

NodeRuntime.runMain(Effect.provide(program, Layer.merge(ToolboxLive, PoetryLive)))
