/** The same work in bare code, without a client: what the machine, Node and JSON cost. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { request } from "undici"
import {
  type BigSubject,
  check,
  type Client,
  type Era,
  type MemorySubject,
  message,
  runPromises,
  type Subject
} from "../Subject.ts"

interface Reply {
  readonly id: number
  readonly result: { readonly content: ReadonlyArray<{ readonly text: string }> }
}

const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "floor", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {}
}

const encode = (id: number, era: Era, name: string, args: object): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: args, ...era === "modern" ? { _meta: modernMeta } : {} }
  })

const textOf = ({ result }: Reply): string | undefined => result.content[0]?.text

const openStdio = async (command: string, args: ReadonlyArray<string>, era: Era): Promise<Client> => {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] })
  await once(child, "spawn")
  const pending = new Map<number, (reply: Reply) => void>()
  let nextId = 0
  let rest = ""
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      const reply: Reply = JSON.parse(line)
      const resolve = pending.get(reply.id)
      pending.delete(reply.id)
      resolve?.(reply)
    }
  })
  const call = async (): Promise<void> => {
    const id = nextId++
    check(textOf(
      await new Promise<Reply>((resolve) => {
        pending.set(id, resolve)
        child.stdin.write(`${encode(id, era, "echo", { message })}\n`)
      })
    ))
  }
  return {
    call,
    run: (calls, inFlight) => runPromises(call, calls, inFlight),
    close: async () => {
      child.stdin.end()
      await once(child, "exit")
    }
  }
}

type Post = (url: string, init: { headers: Record<string, string>; body: string }) => Promise<string>

const openHttp = (post: Post, url: string, era: Era): Client => {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...era === "modern"
      ? { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo" }
      : { "mcp-protocol-version": "2025-11-25" }
  }
  let nextId = 0
  const call = async (): Promise<void> => {
    const body = await post(url, { headers, body: encode(nextId++, era, "echo", { message }) })
    check(textOf(JSON.parse(body.startsWith("event:") ? body.slice(body.indexOf("data: ") + 6) : body)))
  }
  return { call, run: (calls, inFlight) => runPromises(call, calls, inFlight), close: () => Promise.resolve() }
}

const withPost = (post: Post): Subject => ({
  open: (target, era) =>
    target.channel === "stdio"
      ? openStdio(target.command, target.args, era)
      : Promise.resolve(openHttp(post, target.url, era))
})

/** Over undici's own request. */
export const undici: Subject = withPost(async (url, init) =>
  (await request(url, { method: "POST", ...init })).body.text()
)

/** Over fetch. */
export const overFetch: Subject = withPost(async (url, init) => (await fetch(url, { method: "POST", ...init })).text())

/** Nothing but parsing the text. */
export const memory: MemorySubject = {
  open: (toolsResult) =>
    Promise.resolve({
      list: () => {
        const { tools }: { readonly tools: ReadonlyArray<object> } = JSON.parse(toolsResult)
        return Promise.resolve(tools.length)
      },
      close: () => Promise.resolve()
    })
}

/** Chunks put together once, decoded once, parsed once. */
export const big: BigSubject = {
  open: async ({ args, command }) => {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] })
    await once(child, "spawn")
    let nextId = 0
    return {
      read: (megabytes) =>
        new Promise((resolve) => {
          const chunks: Array<Buffer> = []
          const onData = (chunk: Buffer): void => {
            chunks.push(chunk)
            if (chunk[chunk.length - 1] !== 10) return
            child.stdout.off("data", onData)
            resolve(textOf(JSON.parse(Buffer.concat(chunks).toString("utf8")))?.length ?? 0)
          }
          child.stdout.on("data", onData)
          child.stdin.write(`${encode(nextId++, "modern", "big", { megabytes })}\n`)
        }),
      close: async () => {
        child.stdin.end()
        await once(child, "exit")
      }
    }
  }
}
