/**
 * The client that the official conformance suite runs: the URL of the server is the last argument, the scenario is in
 * the environment. What a scenario needs belongs in the library, so that all scenarios are served by the same lines.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { McpClient, Skills } from "@mcp-effect/client"
import { Connect, NodeHttp } from "@mcp-effect/node"
import { Capabilities, type Json, Skill } from "@mcp-effect/protocol"
import { StreamableHttpTransport } from "@mcp-effect/transport"
import * as Services from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Grants from "./auth/Grants.ts"

interface ToolCall {
  readonly name: string
  readonly arguments?: Json.JsonObject | undefined
}

interface Context extends Grants.Context {
  readonly toolCalls?: ReadonlyArray<ToolCall>
}

const url = process.argv[2] ?? ""
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? ""
const context: Context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}")

const options = {
  handlers: { elicitation: { form: () => Effect.succeed({ action: "accept", content: { confirmed: true } }) } }
} as const

const connect = Effect.suspend(() => {
  const authorization = Grants.layer(scenario, context, url)
  if (authorization === undefined) return Connect.connect(url, options)
  const transport = StreamableHttpTransport.layer({ url }).pipe(
    Layer.provide(authorization),
    Layer.provide(NodeHttp.layer())
  )
  return Effect.map(
    Layer.build(McpClient.layer(options).pipe(Layer.provide(transport))),
    Services.get(McpClient.McpClient)
  )
})

const program = Effect.gen(function*() {
  const client = yield* connect
  const { capabilities } = yield* client.server
  const tools = capabilities?.tools === undefined ? [] : yield* client.listTools()
  const preserved = tools.find(({ name }) => name === "json_schema_2020_12_tool")?.inputSchema
  const args: Readonly<Record<string, Json.JsonObject>> = {
    add_numbers: { a: 5, b: 3 },
    valid_tool: { region: "us-west1" },
    json_schema_echo: { schema: preserved }
  }
  // The one server that offers a tool and does not want it called.
  const offered = scenario === "json-schema-ref-no-deref" ? [] : tools
  const calls = context.toolCalls ?? offered.map(({ name }): ToolCall => ({ name, arguments: args[name] }))
  const outcomes = yield* client.callTools(calls)
  for (const outcome of outcomes) {
    if (Result.isFailure(outcome)) yield* Effect.logError(outcome.failure)
  }
  if (capabilities?.resources !== undefined) {
    for (const { uri } of yield* client.listResources()) yield* client.readResource(uri)
  }
  if (capabilities?.prompts !== undefined) {
    for (const { name } of yield* client.listPrompts()) yield* client.getPrompt(name)
  }
  if (capabilities !== undefined && Capabilities.extension(capabilities, Skill.extension) !== undefined) {
    const skills = yield* Skills.listSkills(client)
    // The one server that wants to see that nothing is read before it is needed.
    const wanted = scenario === "sep-2640-client-no-prefetch" ? [] : skills
    for (const skill of wanted) {
      const loaded = yield* Skills.readSkill(client, skill)
      const directory = Skill.root(skill)
      for (const { uri } of skill.resources === "dynamic" ? [] : skill.resources) {
        yield* loaded.readFile(uri.slice(directory.length + 1))
      }
    }
  }
})

program.pipe(Effect.scoped, NodeRuntime.runMain)
