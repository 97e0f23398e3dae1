/** `@modelcontextprotocol/client`, as its guide has it. */
import {
  Client,
  InMemoryTransport,
  type JSONRPCMessage,
  StreamableHTTPClientTransport
} from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { check, type Era, type MemorySubject, message, runPromises, type Subject } from "../Subject.ts"

const makeClient = (era: Era): Client =>
  new Client({ name: "bench", version: "1.0.0" }, {
    versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" }
  })

export const official: Subject = {
  open: async (target, era) => {
    const client = makeClient(era)
    await client.connect(
      target.channel === "stdio"
        ? new StdioClientTransport({ command: target.command, args: [...target.args] })
        : new StreamableHTTPClientTransport(new URL(target.url))
    )
    const call = async (signal?: AbortSignal): Promise<void> => {
      const options = signal === undefined ? undefined : { signal }
      const { content } = await client.callTool({ name: "echo", arguments: { message } }, options)
      const [block] = content
      check(block?.type === "text" ? block.text : block)
    }
    return { call, run: (calls, inFlight) => runPromises(call, calls, inFlight), close: () => client.close() }
  }
}

const serverInfo = { name: "memory", version: "1.0.0" }

export const memory: MemorySubject = {
  open: async (toolsResult) => {
    const client = makeClient("legacy")
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const onmessage = (request: JSONRPCMessage): void => {
      if (!("id" in request && "method" in request)) return
      const result = request.method === "initialize"
        ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo }
        // This transport passes objects on; any other would have to parse text.
        : JSON.parse(toolsResult)
      void theirs.send({ jsonrpc: "2.0", id: request.id, result })
    }
    Object.assign(theirs, { onmessage })
    await theirs.start()
    await client.connect(ours)
    return { list: async () => (await client.listTools()).tools.length, close: () => client.close() }
  }
}
