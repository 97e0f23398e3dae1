/**
 * A server made with `fastmcp`, which speaks the legacy revisions.
 *
 * `FastMcpServer.ts` serves stdio; `FastMcpServer.ts http <port>` serves HTTP and prints `listening <url>`.
 */
import { FastMCP } from "fastmcp"
import { setTimeout as sleep } from "node:timers/promises"
import * as z from "zod"
import { announceUrl } from "./Announce.ts"
import { Cancellations } from "./Cancellations.ts"

const cancellations = new Cancellations()

const server = new FastMCP({ name: "fastmcp", version: "1.0.0", instructions: "Call echo." })

server.addTool({
  name: "echo",
  description: "Answers with its message.",
  parameters: z.object({ message: z.string() }),
  execute: ({ message }) => Promise.resolve(message)
})

server.addTool({
  name: "slow",
  description: "Reports progress at each step, then answers. Ends early when it is cancelled.",
  parameters: z.object({ steps: z.number().int(), stepMillis: z.number() }),
  execute: async ({ stepMillis, steps }, { reportProgress, signal }) => {
    for (let progress = 1; progress <= steps; progress++) {
      try {
        await sleep(stepMillis, undefined, { signal })
      } catch {
        cancellations.add()
        return "cancelled"
      }
      await reportProgress({ progress, total: steps })
    }
    return "done"
  }
})

server.addTool({
  name: "await-cancelled",
  description: "Answers with the number of cancelled calls once there is one.",
  execute: async () => String(await cancellations.first)
})

server.addTool({
  name: "fail",
  description: "Always fails.",
  execute: () => Promise.reject(new Error("it failed on purpose"))
})

server.addResource({
  name: "greeting",
  uri: "test://greeting",
  mimeType: "text/plain",
  load: () => Promise.resolve({ text: "hello" })
})

server.addResourceTemplate({
  name: "item",
  uriTemplate: "test://item/{id}",
  mimeType: "text/plain",
  arguments: [{ name: "id", required: true, complete: () => Promise.resolve({ values: ["1", "10"] }) }],
  load: ({ id }) => Promise.resolve({ text: `item ${id}` })
})

server.addPrompt({
  name: "topic",
  description: "Asks about a topic.",
  arguments: [{
    name: "topic",
    required: true,
    complete: (value) =>
      Promise.resolve({ values: ["ai", "art", "biology"].filter((topic) => topic.startsWith(value)) })
  }],
  load: ({ topic }) => Promise.resolve(`about ${topic}`)
})

if (process.argv[2] === "http") {
  const port = Number(process.argv[3])
  await server.start({ transportType: "httpStream", httpStream: { host: "127.0.0.1", port, endpoint: "/mcp" } })
  announceUrl(`http://127.0.0.1:${port}/mcp`)
} else {
  await server.start({ transportType: "stdio" })
}
