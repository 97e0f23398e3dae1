/**
 * A server made with `@modelcontextprotocol/server` that needs the user, the model and the file system before it can
 * answer, and whose tool wants arguments in headers. It speaks both eras.
 *
 * `AskingServer.ts` serves stdio; `AskingServer.ts http` serves HTTP on a port of its own choice and prints
 * `listening <url>`.
 */
import { toNodeHandler } from "@modelcontextprotocol/node"
import {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  McpServer,
  type ServerContext,
  UrlElicitationRequiredError
} from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import * as z from "zod"
import { announce } from "./Announce.ts"

/** How far a call has come, in the state that the client carries for it. */
interface Progress {
  readonly step: number
  readonly known: Readonly<Record<string, unknown>>
}

// What was changed by one byte is refused, so a call that succeeds has carried each state as it came.
const states = createRequestStateCodec<Progress>({ key: randomBytes(32) })

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] })

const stateOf = ({ mcpReq }: ServerContext): Progress => mcpReq.requestState<Progress>() ?? { step: 0, known: {} }

const askName = inputRequired.elicit({
  message: "Who are you?",
  requestedSchema: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1 },
      colour: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g", title: "Green" }], default: "g" },
      age: { type: "integer", minimum: 0, default: 30 }
    },
    required: ["name", "colour", "age"]
  }
})

const nameIn = (context: ServerContext): string | undefined => {
  const answer = inputResponse(context.mcpReq.inputResponses, "person")
  if (answer.kind !== "elicit") return undefined
  return answer.action === "accept" ? String(answer.content?.["name"]) : `nobody (${answer.action})`
}

// Over HTTP each request gets a server object of its own, so what outlives a request is kept here.
let searchHeader = "Region"
let signIns = 0

const makeServer = (): McpServer => {
  const server = new McpServer({ name: "asking", version: "1.0.0" }, {
    capabilities: { logging: {} },
    requestState: { verify: states.verify }
  })

  server.registerTool("survey", {
    description: "Asks user, model and file system at once, then has a page visited, and tells what it learned."
  }, async (context) => {
    const { known, step } = stateOf(context)
    const { inputResponses } = context.mcpReq
    if (step === 0) {
      return inputRequired({
        inputRequests: {
          person: askName,
          capital: inputRequired.createMessage({
            messages: [{ role: "user", content: { type: "text", text: "The capital of France?" } }],
            maxTokens: 10
          }),
          folders: inputRequired.listRoots()
        },
        requestState: await states.mint({ step: 1, known }, context)
      })
    }
    if (step === 1) {
      const learned = Object.fromEntries(
        ["person", "capital", "folders"].map((key) => [key, inputResponse(inputResponses, key)])
      )
      return inputRequired({
        inputRequests: { page: inputRequired.elicitUrl({ message: "Please pay", url: "https://pay.example/42" }) },
        requestState: await states.mint({ step: 2, known: learned }, context)
      })
    }
    return text(JSON.stringify({ ...known, page: inputResponse(inputResponses, "page") }))
  })

  server.registerTool("later", { description: "Only wants to be asked again, twice." }, async (context) => {
    const { known, step } = stateOf(context)
    return step === 2
      ? text("now")
      : inputRequired({ requestState: await states.mint({ step: step + 1, known }, context) })
  })

  server.registerTool("search", {
    description: "Wants its region, its limit and its flag in headers, and tells which it got.",
    inputSchema: z.object({
      region: z.string().meta({ "x-mcp-header": searchHeader }),
      limit: z.number().int().optional().meta({ "x-mcp-header": "Limit" }),
      exact: z.boolean().optional().meta({ "x-mcp-header": "Exact" }),
      query: z.string().optional()
    })
  }, (_, { http }) => {
    const headers = [...http?.req?.headers ?? []].filter(([name]) => name.startsWith("mcp-"))
    return text(JSON.stringify(Object.fromEntries(headers)))
  })

  server.registerTool("move-header", {
    description: "From now on, `search` wants its region in another header.",
    inputSchema: z.object({ header: z.string() })
  }, ({ header }) => {
    searchHeader = header
    return text("moved")
  })

  server.registerTool("sign-in", {
    description: "Wants a page visited first, as 2025-11-25 has it, and tells soon that the visit is over."
  }, () => {
    signIns += 1
    if (signIns > 1) return text(`asked ${signIns} times`)
    const elicitationId = "sign-in"
    setTimeout(() => void server.server.createElicitationCompletionNotifier(elicitationId)(), 50)
    const page = { mode: "url" as const, message: "Please sign in", url: "https://auth.example/1", elicitationId }
    throw new UrlElicitationRequiredError([page])
  })

  server.registerPrompt("introduction", {}, (context) => {
    const name = nameIn(context)
    return name === undefined
      ? inputRequired({ inputRequests: { person: askName } })
      : { messages: [{ role: "user" as const, content: { type: "text" as const, text: `I am ${name}` } }] }
  })

  server.registerResource("badge", "test://badge", {}, (uri, context) => {
    const name = nameIn(context)
    return name === undefined
      ? inputRequired({ inputRequests: { person: askName } })
      : { contents: [{ uri: uri.href, text: `badge of ${name}` }] }
  })

  return server
}

if (process.argv[2] === "http") {
  const handle = toNodeHandler(createMcpHandler(makeServer))
  const server = createServer((request, response) => {
    const { method = "GET", url = "/" } = request
    void handle(Object.assign(request, { method, url }), response)
  })
  server.listen(0, "127.0.0.1", () => announce(server))
} else {
  serveStdio(makeServer)
}
