/**
 * A small MCP server, made with Effect's `McpServer`: what the demo and the examples talk to.
 *
 * `node server.ts legacy` and `node server.ts modern` serve standard input and output; `http(era)` is a layer that
 * serves HTTP.
 */
import { NodeHttpServer, NodeRuntime, NodeStdio } from "@effect/platform-node"
import { Deferred, Effect, Layer, Logger, Schema } from "effect"
import { McpProtocol, McpSchema, McpServer, Tool, Toolkit } from "effect/ai"
import { HttpRouter } from "effect/http"
import { createServer } from "node:http"

const poem = ["An old silent pond", "A frog jumps into the pond", "Splash! Silence again"]

const CountWords = Tool.make("count-words", {
  description: "Counts the words of a text.",
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.Struct({ words: Schema.Int })
})

const Recite = Tool.make("recite", {
  description: "Recites the poem, a line at a time, and reports each as progress.",
  parameters: Schema.Struct({ times: Schema.Int, millisPerLine: Schema.Int }),
  success: Schema.Struct({ linesRecited: Schema.Int }),
  dependencies: [McpSchema.McpRequestContext]
})

const AwaitInterruption = Tool.make("await-interruption", {
  description: "Answers as soon as a recital has been interrupted.",
  success: Schema.Struct({ linesRecited: Schema.Int, processId: Schema.Int })
})

const Learn = Tool.make("learn", {
  description: "Offers one more poem, or a poem anew.",
  parameters: Schema.Struct({ name: Schema.String, text: Schema.String }),
  success: Schema.Struct({ uri: Schema.String })
})

const kit = Toolkit.make(CountWords, Recite, AwaitInterruption, Learn)

const tools = McpServer.toolkit(kit).pipe(Layer.provide(kit.toLayer(Effect.gen(function*() {
  const server = yield* McpServer.McpServer
  const { notifications } = server
  const interruption = yield* Deferred.make<number>()

  return {
    "count-words": ({ text }) => Effect.succeed({ words: text.split(/\s+/).filter((word) => word !== "").length }),
    recite: ({ millisPerLine, times }) => {
      const total = times * poem.length
      let progress = 0
      return Effect.gen(function*() {
        const progressToken = (yield* McpSchema.McpRequestContext).requestMetadata?.["progressToken"]
        while (progress < total) {
          yield* Effect.sleep(millisPerLine)
          const message = poem[progress % poem.length] ?? ""
          progress++
          if (typeof progressToken !== "string" && typeof progressToken !== "number") continue
          yield* notifications["notifications/progress"]({ progressToken, progress, total, message })
        }
        return { linesRecited: progress }
      }).pipe(Effect.onInterrupt(() => Deferred.succeed(interruption, progress)))
    },
    "await-interruption": () =>
      Effect.map(Deferred.await(interruption), (linesRecited) => ({ linesRecited, processId: process.pid })),
    learn: Effect.fnUntraced(function*({ name, text }) {
      const uri = `poem://${name}`
      // Tells that the list has changed.
      yield* McpServer.registerResource({ uri, name, mimeType: "text/plain", content: Effect.succeed(text) }).pipe(
        Effect.provideService(McpServer.McpServer, server)
      )
      yield* notifications["notifications/resources/updated"]({ uri })
      return { uri }
    })
  }
}))))

const registrations = Layer.mergeAll(
  tools,
  McpServer.resource({
    uri: "poem://frog",
    name: "frog",
    description: "A haiku by Bashō.",
    mimeType: "text/plain",
    content: Effect.succeed(poem.join("\n"))
  }),
  McpServer.prompt({
    name: "interpret",
    description: "Asks for an interpretation of the poem.",
    parameters: { style: Schema.String },
    completion: { style: () => Effect.succeed(["plain", "scholarly"]) },
    content: ({ style }) => Effect.succeed(`Interpret this haiku in a ${style} style:\n${poem.join("\n")}`)
  })
)

export type Era = "legacy" | "modern"

const eras = {
  modern: [McpProtocol.v2026_07_28],
  legacy: [McpProtocol.v2025_11_25, McpProtocol.v2025_06_18, McpProtocol.v2025_03_26, McpProtocol.v2024_11_05]
} as const

const options = (era: Era) => ({
  name: "poetry",
  version: "1.0.0",
  instructions: "Recite before you interpret.",
  protocols: eras[era],
  registrations
} as const)

/** Serves HTTP at `/mcp`, on a port of the system's choice, and provides the `HttpServer`, which knows it. */
export const http = (era: Era) =>
  HttpRouter.serve(McpServer.layerHttp({ ...options(era), path: "/mcp", allowSessionTermination: true }), {
    disableLogger: true,
    disableListenLog: true
  }).pipe(Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })))

const stdio = (era: Era) =>
  McpServer.layerStdio(options(era)).pipe(
    Layer.provide(NodeStdio.layer),
    Layer.provide(Layer.succeed(Logger.LogToStderr, true))
  )

if (import.meta.main) {
  NodeRuntime.runMain(Layer.launch(stdio(process.argv[2] === "legacy" ? "legacy" : "modern")))
}
