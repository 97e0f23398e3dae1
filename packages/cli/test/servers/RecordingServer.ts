/**
 * A legacy server on stdio that notes every message it gets in a file, says on standard error what it gets, and never
 * answers a call. With `stubborn` it also outlives the end of its standard input and SIGTERM.
 */
import { appendFileSync } from "node:fs"
import { createInterface } from "node:readline"

const [file = "", mode] = process.argv.slice(2)

if (mode === "stubborn") {
  process.on("SIGTERM", () => {})
  setInterval(() => {}, 60_000)
}

const results = new Map<string, object>([
  ["initialize", {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "recording", version: "1.0.0" }
  }],
  ["tools/list", { tools: [{ name: "wait", inputSchema: { type: "object" } }] }],
  ["ping", {}]
])

createInterface({ input: process.stdin }).on("line", (line) => {
  appendFileSync(file, `${line}\n`)
  const { id, method } = JSON.parse(line)
  process.stderr.write(`got ${method}\n`)
  const result = results.get(method)
  if (id === undefined || method === "tools/call") return
  const answer = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result }
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`)
})
