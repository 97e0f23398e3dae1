/**
 * A server made with Effect's own `McpServer`, which speaks all five revisions.
 *
 * `EffectServer.ts <revision>` serves one revision on stdio, or all five without an argument; `EffectServer.ts http`
 * serves all five at one URL on a port of its own choice and prints `listening <url>`.
 */
import { NodeHttpServer, NodeRuntime, NodeStdio } from "@effect/platform-node"
import { Context, Effect, Layer, Logger, Option, Schema } from "effect"
import { McpProtocol, McpSchema, McpServer, Tool, Toolkit } from "effect/ai"
import { HttpRouter } from "effect/http"
import { createServer } from "node:http"
import { announce } from "./Announce.ts"
import { Cancellations } from "./Cancellations.ts"

const protocols = [
  McpProtocol.v2026_07_28,
  McpProtocol.v2025_11_25,
  McpProtocol.v2025_06_18,
  McpProtocol.v2025_03_26,
  McpProtocol.v2024_11_05
] as const

const Echo = Tool.make("echo", {
  description: "Answers with its message.",
  parameters: Schema.Struct({ message: Schema.String }),
  success: Schema.String
})

const Sum = Tool.make("sum", {
  description: "Adds two numbers, with structured output.",
  parameters: Schema.Struct({ a: Schema.Number, b: Schema.Number }),
  success: Schema.Struct({ sum: Schema.Number })
})

const Slow = Tool.make("slow", {
  description: "Reports progress at each step, then answers. Ends early when it is cancelled.",
  parameters: Schema.Struct({ steps: Schema.Int, stepMillis: Schema.Number }),
  success: Schema.String,
  dependencies: [McpSchema.McpRequestContext]
})

const AwaitCancelled = Tool.make("await-cancelled", {
  description: "Answers with the number of cancelled calls once there is one.",
  success: Schema.String
})

const Fail = Tool.make("fail", {
  description: "Always fails.",
  success: Schema.String,
  failure: Schema.String
})

const kit = Toolkit.make(Echo, Sum, Slow, AwaitCancelled, Fail)

const tools = McpServer.toolkit(kit).pipe(Layer.provide(kit.toLayer(Effect.gen(function*() {
  const server = yield* McpServer.McpServer
  const cancellations = new Cancellations()
  return {
    echo: ({ message }) => Effect.succeed(message),
    sum: ({ a, b }) => Effect.succeed({ sum: a + b }),
    slow: Effect.fnUntraced(function*({ stepMillis, steps }) {
      const progressToken = (yield* McpSchema.McpRequestContext).requestMetadata?.["progressToken"]
      for (let progress = 1; progress <= steps; progress++) {
        yield* Effect.sleep(stepMillis)
        if (typeof progressToken !== "string" && typeof progressToken !== "number") continue
        yield* server.notifications["notifications/progress"]({ progressToken, progress, total: steps })
      }
      return "done"
    }, Effect.onInterrupt(() => Effect.sync(() => cancellations.add()))),
    "await-cancelled": () => Effect.promise(() => cancellations.first).pipe(Effect.map(String)),
    fail: () => Effect.fail("it failed on purpose")
  }
}))))

const Person = Schema.Struct({ name: Schema.String })

/** Legacy clients are asked by a request, modern ones in place of the result. */
const greet = Effect.gen(function*() {
  const legacy = yield* Effect.serviceOption(McpSchema.McpServerClient)
  if (Option.isSome(legacy)) {
    const { name } = yield* McpServer.elicit({ message: "Who are you?", schema: Person }).pipe(
      Effect.provideService(McpSchema.McpServerClient, legacy.value),
      Effect.catchTag("ElicitationDeclined", () => Effect.succeed({ name: "nobody" }))
    )
    return text(`hello ${name}`)
  }
  const { inputResponses, requestState } = yield* McpSchema.McpRequestContext
  const answer = inputResponses?.["person"]
  if (answer === undefined) {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
    return new McpSchema.InputRequired({
      inputRequests: { person: { method: "elicitation/create", params: { message: "Who are you?", requestedSchema } } },
      requestState: "größer 🚀 \u0000"
    })
  }
  const person = Schema.decodeUnknownOption(Person)(answer["content"])
  return text(`hello ${Option.isSome(person) ? person.value.name : "nobody"}${requestState === undefined ? "" : "!"}`)
})

const text = (value: string) => new McpSchema.CallToolResult({ content: [{ type: "text", text: value }] })

const greeting = Layer.effectDiscard(Effect.flatMap(McpServer.McpServer, (server) =>
  server.addTool({
    tool: new McpSchema.Tool({
      name: "greet",
      description: "Asks for a name, then greets.",
      inputSchema: { type: "object" }
    }),
    annotations: Context.empty(),
    handle: () => greet
  })))

/** A tool that adds another, whose name is how many it has added. */
const growing = Layer.effectDiscard(Effect.gen(function*() {
  const server = yield* McpServer.McpServer
  let count = 0
  const addTool = (name: string, handle: Effect.Effect<McpSchema.CallToolResult>) =>
    server.addTool({
      tool: new McpSchema.Tool({ name, description: "Adds a tool.", inputSchema: { type: "object" } }),
      annotations: Context.empty(),
      handle: () => handle
    })
  yield* addTool(
    "grow",
    Effect.suspend(() => {
      const name = `grown-${++count}`
      return Effect.as(addTool(name, Effect.succeed(text(name))), text(name))
    })
  )
}))

const registrations = Layer.mergeAll(
  tools,
  greeting,
  growing,
  McpServer.resource({
    uri: "test://greeting",
    name: "greeting",
    mimeType: "text/plain",
    content: Effect.succeed("hello")
  }),
  McpServer.resource`test://item/${McpSchema.param("id", Schema.NumberFromString)}`({
    name: "item",
    content: (_uri, id) => Effect.succeed(`item ${id}`),
    completion: { id: () => Effect.succeed([1, 10]) }
  }),
  McpServer.prompt({
    name: "topic",
    description: "Asks about a topic.",
    parameters: { topic: Schema.String },
    completion: {
      topic: (value: string) => Effect.succeed(["ai", "art", "biology"].filter((topic) => topic.startsWith(value)))
    },
    content: ({ topic }) => Effect.succeed(`about ${topic}`)
  })
)

const identity = { name: "effect", version: "1.0.0", instructions: "Call echo." }
const logToStandardError = Layer.succeed(Logger.LogToStderr, true)

const stdio = (revision: string | undefined) => {
  const one = protocols.find(({ protocolVersion }) => protocolVersion === revision)
  return McpServer.layerStdio({ ...identity, protocols: one === undefined ? protocols : [one], registrations }).pipe(
    Layer.provide(NodeStdio.layer)
  )
}

const http = () => {
  const server = createServer()
  return HttpRouter.serve(
    McpServer.layerHttp({ ...identity, path: "/mcp", protocols, allowSessionTermination: true, registrations }),
    { disableLogger: true, disableListenLog: true }
  ).pipe(
    Layer.provide(NodeHttpServer.layer(() => server, { port: 0, host: "127.0.0.1" })),
    Layer.tap(() => Effect.sync(() => announce(server)))
  )
}

const argument = process.argv[2]
Layer.launch((argument === "http" ? http() : stdio(argument)).pipe(Layer.provide(logToStandardError))).pipe(
  NodeRuntime.runMain
)
