/**
 * A server of 2026-07-28 whose calls become tasks of the extension `io.modelcontextprotocol/tasks`. Every message that
 * it gets and gives is added to a transcript, as a line of JSON.
 *
 * `TaskServer.ts <transcript>` serves stdio; `TaskServer.ts <transcript> http` serves HTTP on a port of its own choice
 * and prints `listening <url>`.
 */
import { randomUUID } from "node:crypto"
import { appendFileSync } from "node:fs"
import { createServer } from "node:http"
import { createInterface } from "node:readline"
import { text as textOf } from "node:stream/consumers"
import { announce } from "./Announce.ts"
import { Cancellations } from "./Cancellations.ts"

const [transcript = "", transport] = process.argv.slice(2)

const extension = "io.modelcontextprotocol/tasks"

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly taskId?: string
    readonly inputResponses?: Readonly<Record<string, unknown>>
    readonly _meta?: { readonly "io.modelcontextprotocol/clientCapabilities"?: { readonly extensions?: object } }
  }
}

type Outcome = { readonly result: object } | { readonly error: { readonly code: number; readonly message: string } }

class Task {
  readonly taskId = randomUUID()
  readonly createdAt = new Date().toISOString()
  readonly kind: string
  status: "working" | "input_required" | "completed" | "failed" | "cancelled" = "working"
  readonly answers: Record<string, unknown> = {}
  private polls = 0

  constructor(kind: string) {
    this.kind = kind
  }

  describe(): object {
    return {
      taskId: this.taskId,
      status: this.status,
      createdAt: this.createdAt,
      lastUpdatedAt: new Date().toISOString(),
      ttlMs: 60_000,
      pollIntervalMs: 20
    }
  }

  /** Goes one step further with each look. */
  look(): object {
    this.polls += 1
    looked()
    if (this.status === "working" && this.kind !== "endless" && this.polls > 1) {
      if (this.kind === "fail") this.status = "failed"
      else this.status = Object.keys(this.answers).length < 2 ? "input_required" : "completed"
    }
    return { ...this.describe(), ...this.payload() }
  }

  private payload(): object {
    switch (this.status) {
      case "input_required":
        return { statusMessage: "Somebody has to say something", inputRequests: this.questions() }
      case "completed":
        return { result: { content: [{ type: "text", text: JSON.stringify(this.answers) }] } }
      case "failed":
        return { statusMessage: "It failed", error: { code: -32603, message: "Out of paper", data: { tray: 2 } } }
      default:
        return {}
    }
  }

  /** What is not answered yet: the folders first, the name once these are known. */
  private questions(): object {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
    return Object.hasOwn(this.answers, "folders")
      ? { name: { method: "elicitation/create", params: { message: "Who are you?", requestedSchema } } }
      : { folders: { method: "roots/list" } }
  }

  answer(responses: Readonly<Record<string, unknown>>): void {
    Object.assign(this.answers, responses)
    if (this.status === "input_required") this.status = "working"
  }
}

const tasks = new Map<string, Task>()
const cancellations = new Cancellations()
let looked: () => void = () => {}
const firstLook = new Promise<void>((resolve) => {
  looked = resolve
})

const complete = (members: object = {}): Outcome => ({ result: { resultType: "complete", ...members } })
const refuse = (code: number, message: string): Outcome => ({ error: { code, message } })
const plain = (text: string): Outcome => complete({ content: [{ type: "text", text }] })

const tools = ["report", "fail", "endless", "quick", "await-look", "await-cancelled"].map((name) => ({
  name,
  inputSchema: { type: "object" }
}))

const call = async (name: string, declared: boolean): Promise<Outcome> => {
  if (name === "await-look") return firstLook.then(() => plain("looked"))
  if (name === "await-cancelled") return plain(String(await cancellations.first))
  // "The server MUST NOT return a task" to a client that has not declared the extension.
  if (name === "quick" || !declared) return plain("at once")
  const task = new Task(name)
  tasks.set(task.taskId, task)
  return { result: { resultType: "task", ...task.describe() } }
}

const about = (task: Task, { method, params }: Message): Outcome => {
  switch (method) {
    case "tasks/update":
      task.answer(params?.inputResponses ?? {})
      return complete()
    case "tasks/cancel":
      task.status = "cancelled"
      cancellations.add()
      return complete()
    default:
      return complete(task.look())
  }
}

const handle = async (message: Message): Promise<Outcome> => {
  const { method = "", params } = message
  const { extensions = {} } = params?._meta?.["io.modelcontextprotocol/clientCapabilities"] ?? {}
  const declared = Object.hasOwn(extensions, extension)
  switch (method) {
    case "server/discover":
      return complete({
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {}, extensions: { [extension]: {} } },
        ttlMs: 0,
        cacheScope: "private"
      })
    case "tools/list":
      return complete({ tools, ttlMs: 0, cacheScope: "private" })
    case "tools/call":
      return call(params?.name ?? "", declared)
    case "tasks/get":
    case "tasks/update":
    case "tasks/cancel": {
      if (!declared) return refuse(-32021, "The tasks extension is not declared")
      const task = tasks.get(params?.taskId ?? "")
      return task === undefined ? refuse(-32602, "Failed to retrieve task: Task not found") : about(task, message)
    }
    default:
      return refuse(-32601, "Method not found")
  }
}

const record = (direction: "in" | "out", method: string | undefined, message: unknown): void =>
  appendFileSync(transcript, `${JSON.stringify({ direction, method, message })}\n`)

/** The answer to a message, or `undefined` where it wants none. */
const respond = async (line: string, name?: string | ReadonlyArray<string>): Promise<string | undefined> => {
  const message: Message = JSON.parse(line)
  const { id, method, params } = message
  record("in", method, message)
  if (id === undefined || method === undefined) return undefined
  const isNamed = transport !== "http" || params?.taskId === undefined || name === params.taskId
  const outcome = isNamed ? await handle(message) : refuse(-32020, "Mcp-Name does not name the task")
  const answer = { jsonrpc: "2.0", id, ...outcome }
  record("out", method, answer)
  return JSON.stringify(answer)
}

if (transport === "http") {
  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end()
    const answer = await respond(await textOf(request), request.headers["mcp-name"])
    if (answer === undefined) return void response.writeHead(202).end()
    response.writeHead(answer.includes("\"code\":-3202") ? 400 : 200, { "content-type": "application/json" })
    response.end(answer)
  })
  server.listen(0, "127.0.0.1", () => announce(server))
} else {
  for await (const line of createInterface({ input: process.stdin })) {
    void respond(line).then((answer) => answer === undefined ? undefined : process.stdout.write(`${answer}\n`))
  }
}
