/**
 * A server made with `@modelcontextprotocol/server` that speaks both eras.
 *
 * `DualServer.ts` serves stdio; `DualServer.ts http` serves HTTP on a port of its own choice and prints
 * `listening <url>`.
 */
import { toNodeHandler } from "@modelcontextprotocol/node"
import { completable, createMcpHandler, McpServer, ResourceTemplate } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import * as z from "zod"
import { announce } from "./Announce.ts"
import { Cancellations } from "./Cancellations.ts"

// Over HTTP each request gets a server object of its own, so what outlives a request is kept here.
const cancellations = new Cancellations()
const counterUri = "test://counter"
let counter = 0
let grown = 0
let tellUpdated: ((uri: string) => void) | undefined
let tellGrown: (() => void) | undefined

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] })

const makeServer = (): McpServer => {
  const server = new McpServer({ name: "dual", version: "1.0.0", title: "Both eras" }, {
    capabilities: { logging: {}, resources: { subscribe: true } },
    instructions: "Call echo.",
    // The rest is stale at once.
    cacheHints: {
      "tools/list": { ttlMs: 60_000, cacheScope: "public" },
      "prompts/list": { ttlMs: 60_000, cacheScope: "private" }
    }
  })

  server.registerTool("echo", {
    title: "Echo",
    description: "Answers with its message.",
    inputSchema: z.object({ message: z.string() }),
    annotations: { readOnlyHint: true }
  }, ({ message }) => text(message))

  server.registerTool("slow", {
    description: "Reports progress at each step, then answers. Ends early when it is cancelled.",
    inputSchema: z.object({ steps: z.number().int(), stepMillis: z.number() })
  }, async ({ stepMillis, steps }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    for (let progress = 1; progress <= steps; progress++) {
      try {
        await sleep(stepMillis, undefined, { signal: mcpReq.signal })
      } catch {
        cancellations.add()
        return text("cancelled")
      }
      if (progressToken === undefined) continue
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress, total: steps, message: `step ${progress}` }
      })
    }
    return text("done")
  })

  server.registerTool("await-cancelled", {
    description: "Answers with the number of cancelled calls once there is one."
  }, async () => text(String(await cancellations.first)))

  server.registerTool("fail", { description: "Always fails." }, () => {
    throw new Error("it failed on purpose")
  })

  server.registerTool("sum", {
    description: "Adds two numbers, with structured output.",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() })
  }, ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }))

  const grow = (name: string) => server.registerTool(name, { description: "Was added." }, () => text(name))
  for (let index = 1; index <= grown; index++) grow(`grown-${index}`)
  server.registerTool("grow", { description: "Adds a tool, for as long as the server runs." }, () => {
    const name = `grown-${++grown}`
    grow(name)
    tellGrown?.()
    return text(name)
  })

  server.registerTool("count", { description: "Adds one to the counter, and tells of it." }, async () => {
    counter++
    if (tellUpdated === undefined) await server.server.sendResourceUpdated({ uri: counterUri })
    else tellUpdated(counterUri)
    return text(String(counter))
  })

  server.registerTool("exit", { description: "Ends the server." }, () => process.exit(1))

  server.registerTool("log", {
    description: "Sends one log message, then answers.",
    inputSchema: z.object({ level: z.enum(["debug", "info", "warning", "error"]), message: z.string() })
  }, async ({ level, message }, { mcpReq }) => {
    await mcpReq.log(level, message, "dual")
    return text("logged")
  })

  const greeting = { mimeType: "text/plain", cacheHint: { ttlMs: 60_000, cacheScope: "public" } } as const
  server.registerResource("greeting", "test://greeting", greeting, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "hello" }]
  }))

  server.registerResource("counter", counterUri, {}, (uri) => ({
    contents: [{ uri: uri.href, text: String(counter) }]
  }))

  server.registerResource("bytes", "test://bytes", { mimeType: "application/octet-stream" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "application/octet-stream", blob: "AAEC" }]
  }))

  server.registerResource(
    "item",
    new ResourceTemplate("test://item/{id}", {
      list: undefined,
      complete: { id: (value) => ["1", "10", "2"].filter((id) => id.startsWith(value)) }
    }),
    {},
    (uri, { id }) => ({ contents: [{ uri: uri.href, text: `item ${String(id)}` }] })
  )

  // The package lists everything on one page; two pages are wanted here.
  server.server.setRequestHandler("resources/list", ({ params }) =>
    params?.cursor === "second"
      ? { resources: [{ name: "bytes", uri: "test://bytes", mimeType: "application/octet-stream" }] }
      : { resources: [{ name: "greeting", uri: "test://greeting", mimeType: "text/plain" }], nextCursor: "second" })

  server.registerPrompt("topic", {
    description: "Asks about a topic.",
    argsSchema: z.object({
      topic: completable(z.string(), (value) => ["ai", "art", "biology"].filter((topic) => topic.startsWith(value)))
    })
  }, ({ topic }) => ({ messages: [{ role: "user", content: { type: "text", text: `about ${topic}` } }] }))

  return server
}

if (process.argv[2] === "http") {
  const handler = createMcpHandler(makeServer)
  tellUpdated = handler.notify.resourceUpdated
  tellGrown = handler.notify.toolsChanged
  const handle = toNodeHandler(handler)
  const server = createServer((request, response) => {
    const { method = "GET", url = "/" } = request
    void handle(Object.assign(request, { method, url }), response)
  })
  server.listen(0, "127.0.0.1", () => announce(server))
} else {
  serveStdio(makeServer)
}
