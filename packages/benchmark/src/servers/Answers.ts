/**
 * The answers of a server that costs next to nothing, so that what is measured is the client.
 *
 * A call of `echo` is answered without parsing it, by what the members look like in any client's JSON.
 */

const modernVersion = "2026-07-28"
const serverInfo = { name: "bare", version: "1.0.0" }
const capabilities = { tools: {} }
const echo = {
  name: "echo",
  description: "Answers with its message.",
  inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] }
}
const big = {
  name: "big",
  inputSchema: { type: "object", properties: { megabytes: { type: "integer" } }, required: ["megabytes"] }
}

const isModern = (text: string): boolean => text.includes(modernVersion)

/** The id of a message, as JSON. */
const idOf = (text: string): string => /"id":("[^"]*"|\d+)/.exec(text)?.[1] ?? "null"

/** Opens the one text block of a tool's result; `closeText` ends it. */
export const openText = (text: string): string =>
  `{"jsonrpc":"2.0","id":${idOf(text)},"result":{${isModern(text) ? "\"resultType\":\"complete\"," : ""}` +
  "\"content\":[{\"type\":\"text\",\"text\":\""

export const closeText = "\"}]}}"

/** The answer to one message as JSON, or `undefined` where none is due. */
export const answer = (text: string): string | undefined => {
  if (text.includes("\"tools/call\"")) {
    return openText(text) + (/"message":"([^"]*)"/.exec(text)?.[1] ?? "") + closeText
  }
  const { id, method, params } = JSON.parse(text)
  if (id === undefined) return undefined
  const modern = isModern(text)
  const reply = (result: object): string =>
    JSON.stringify({ jsonrpc: "2.0", id, result: modern ? { resultType: "complete", ...result } : result })
  const fresh = modern ? { ttlMs: 3_600_000, cacheScope: "public" } : {}
  switch (method) {
    case "server/discover":
      if (!modern) break
      return reply({
        supportedVersions: [modernVersion],
        capabilities,
        ...fresh,
        _meta: { "io.modelcontextprotocol/serverInfo": serverInfo }
      })
    case "initialize":
      return reply({ protocolVersion: params.protocolVersion, capabilities, serverInfo })
    case "tools/list":
      return reply({ tools: [echo, big], ...fresh })
    case "ping":
      return reply({})
  }
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } })
}
