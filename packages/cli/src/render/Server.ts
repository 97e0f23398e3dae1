/**
 * What is known about a server.
 */
import type { McpClient } from "@mcp-effect/client"
import { Json } from "@mcp-effect/protocol"
import * as TerminalText from "../TerminalText.ts"

export interface Times {
  /** From the start of the process, or of the first request, to the agreement on a revision. */
  readonly connectMillis: number
  /** One question and its answer; `null` where the server does not answer it. */
  readonly pingMillis: number | null
}

/** What JSON output tells. */
export const json = (server: McpClient.Negotiated, times: Times): Json.JsonObject => ({
  serverInfo: server.serverInfo,
  revision: server.revision.version,
  era: server.era,
  supportedVersions: server.supportedVersions,
  capabilities: server.capabilities,
  instructions: server.instructions,
  times
})

// The settings of a capability that are on, such as `listChanged`; for extensions, their names.
const settings = (capability: unknown): string => {
  if (!Json.isJsonObject(capability)) return ""
  const names = Object.keys(capability).filter((name) => capability[name] !== false && capability[name] !== undefined)
  return names.length === 0 ? "" : ` (${names.map(TerminalText.oneLine).join(", ")})`
}

const capabilities = (server: McpClient.Negotiated): string => {
  if (server.capabilities === undefined) return "not told"
  const declared: Json.JsonObject = server.capabilities
  const names = Object.keys(declared).filter((name) => declared[name] !== undefined)
  return names.length === 0
    ? "none"
    : names.map((name) => TerminalText.oneLine(name) + settings(declared[name])).join(", ")
}

const identity = (info: McpClient.Negotiated["serverInfo"]): string => {
  if (info === undefined) return "not told"
  const title = info.title === undefined || info.title === info.name ? "" : ` (${info.title})`
  return TerminalText.oneLine(`${info.name} ${info.version}${title}`)
}

/** What text output tells. */
export const text = (server: McpClient.Negotiated, times: Times, show: (text: string) => string): string => {
  const { serverInfo } = server
  const lines: ReadonlyArray<readonly [label: string, value: string | undefined]> = [
    ["Server", identity(serverInfo)],
    ["About", serverInfo?.description === undefined ? undefined : TerminalText.oneLine(serverInfo.description)],
    ["Website", serverInfo?.websiteUrl === undefined ? undefined : TerminalText.oneLine(serverInfo.websiteUrl)],
    ["Protocol", `${server.revision.version} (${server.era})`],
    [
      "Speaks",
      server.supportedVersions.length < 2 ? undefined : server.supportedVersions.map(TerminalText.oneLine).join(", ")
    ],
    ["Offers", capabilities(server)],
    ["Connected", `in ${TerminalText.millis(times.connectMillis)}`],
    ["Ping", times.pingMillis === null ? "not answered" : TerminalText.millis(times.pingMillis)]
  ]
  const facts = lines.flatMap(([label, value]) => value === undefined ? [] : [`${TerminalText.pad(label, 11)}${value}`])
  const instructions = server.instructions === undefined || server.instructions.trim() === ""
    ? []
    : ["", "Instructions", TerminalText.indent(show(server.instructions.trim()), "  ")]
  return [...facts, ...instructions].join("\n")
}
