/**
 * What a scripted server does, as data, so that a test can say it in the arguments of a process.
 *
 * A method without steps of its own gets the answer of a small well-behaved server with one tool, `echo`. In every text
 * and result, `"$ID"` stands for the id of the message, `"$TOKEN"` for its progress token, and `$COUNT` for the number
 * of messages received so far.
 */
import { appendFileSync } from "node:fs"

export type Step =
  /** Answers with a result. */
  | { readonly kind: "reply"; readonly result: unknown }
  /** Answers with an error. */
  | { readonly kind: "fail"; readonly code: number; readonly message: string; readonly data?: unknown }
  /** Answers as if there were no script. */
  | { readonly kind: "behave" }
  /** Writes text as it is: on stdio to standard output, over HTTP into the body. */
  | { readonly kind: "write"; readonly text: string; readonly times?: number }
  /** Writes to standard error. */
  | { readonly kind: "complain"; readonly text: string; readonly times?: number }
  /** Lets time pass before the next step. */
  | { readonly kind: "wait"; readonly millis: number }
  /** Ends the process. */
  | { readonly kind: "exit"; readonly code: number }
  /** Does nothing more about this message, and over HTTP leaves the response open. */
  | { readonly kind: "hang" }
  /** Over HTTP: starts the response; what follows is written into it. */
  | { readonly kind: "respond"; readonly status: number; readonly contentType?: string }
  /** Over HTTP: cuts the connection. */
  | { readonly kind: "reset" }

export interface Script {
  /** The revision it speaks: `2026-07-28` through `server/discover`, any other through `initialize`. */
  readonly revision: string
  /** A file to which every message that is received is added, as a line of JSON. */
  readonly transcript?: string
  /** Done before the first message is read. */
  readonly start?: ReadonlyArray<Step>
  /** Done about each message of a method, `*` for those that are not named. */
  readonly on?: { readonly [method: string]: ReadonlyArray<Step> }
}

/** As much of a message as a scripted server looks at. */
export interface Received {
  readonly id?: string | number
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: unknown
    readonly _meta?: { progressToken?: unknown }
  }
}

/** Takes a message that came, as text. */
export const receive = (script: Script, text: string): Received => {
  if (script.transcript !== undefined) appendFileSync(script.transcript, `${text}\n`)
  return JSON.parse(text)
}

export const stepsFor = (script: Script, message: Received): ReadonlyArray<Step> =>
  script.on?.[message.method ?? ""] ?? script.on?.["*"] ?? [{ kind: "behave" }]

export const fill = (template: string, message: Received, count: number): string =>
  template
    .replaceAll("\"$ID\"", () => JSON.stringify(message.id ?? null))
    .replaceAll("\"$TOKEN\"", () => JSON.stringify(message.params?._meta?.progressToken ?? null))
    .replaceAll("$COUNT", () => String(count))

const serverInfo = { name: "scripted", version: "1.0.0" }
const capabilities = { tools: {} }
const tools = [{ name: "echo", inputSchema: { type: "object", properties: { message: { type: "string" } } } }]

const wellBehaved = (script: Script, message: Received): Step => {
  const modern = script.revision === "2026-07-28"
  const reply = (result: object): Step => ({
    kind: "reply",
    result: modern
      ? { resultType: "complete", _meta: { "io.modelcontextprotocol/serverInfo": serverInfo }, ...result }
      : result
  })
  switch (message.method) {
    case "server/discover":
      if (modern) return reply({ supportedVersions: [script.revision], capabilities, ttlMs: 0, cacheScope: "private" })
      break
    case "initialize":
      if (!modern) return reply({ protocolVersion: script.revision, capabilities, serverInfo })
      break
    case "ping":
      if (!modern) return reply({})
      break
    case "tools/list":
      return reply(modern ? { tools, ttlMs: 0, cacheScope: "private" } : { tools })
    case "tools/call":
      return reply({ content: [{ type: "text", text: JSON.stringify(message.params?.arguments ?? {}) }] })
  }
  return { kind: "fail", code: -32601, message: "Method not found" }
}

/** The text of a JSON-RPC answer, or `undefined` for a step that is none, or for a message that wants none. */
export const answer = (script: Script, step: Step, message: Received, count: number): string | undefined => {
  if (message.id === undefined) return undefined
  switch (step.kind) {
    case "behave":
      return answer(script, wellBehaved(script, message), message, count)
    case "reply":
      return fill(JSON.stringify({ jsonrpc: "2.0", id: "$ID", result: step.result }), message, count)
    case "fail": {
      const { code, data, message: text } = step
      return fill(JSON.stringify({ jsonrpc: "2.0", id: "$ID", error: { code, message: text, data } }), message, count)
    }
    default:
      return undefined
  }
}
