/**
 * `tools`, `prompts`, `resources` and `templates`: what a server offers.
 */
import type { McpClient } from "@mcp-effect/client"
import type { McpError } from "@mcp-effect/protocol"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import { Output, print } from "../Output.ts"
import * as Lists from "../render/Lists.ts"
import { withServer } from "../Server.ts"

/** The URL that may stand behind a command without arguments of its own. */
export const url = Argument.String("url").pipe(
  Argument.withDescription("The server's URL, where it is not given by -- or --url"),
  Argument.optional
)

const list = <const Name extends string, A>(options: {
  readonly name: Name
  readonly description: string
  /** The member of the protocol's list result, which JSON output has as well. */
  readonly member: string
  readonly read: (client: McpClient.McpClient) => Effect.Effect<ReadonlyArray<A>, McpError.McpError>
  readonly render: (items: ReadonlyArray<A>, columns: number | undefined) => string
}) =>
  Command.make(options.name, { url }, (config) =>
    withServer(config.url, (client) =>
      Effect.gen(function*() {
        const items = yield* options.read(client)
        const { format, note } = yield* Output
        if (items.length === 0 && format === "text") return note(`The server offers no ${options.name}.`)
        return yield* print({ [options.member]: items }, (_, columns) => options.render(items, columns))
      }))).pipe(
      Command.withDescription(options.description),
      Command.withExamples([
        { command: `mcp-effect ${options.name} -- npx -y @modelcontextprotocol/server-everything` },
        { command: `mcp-effect ${options.name} https://example.com/mcp` }
      ])
    )

export const tools = list({
  name: "tools",
  description: "List the tools of a server, with their arguments",
  member: "tools",
  read: (client) => client.listTools(),
  render: Lists.tools
})

export const prompts = list({
  name: "prompts",
  description: "List the prompts of a server, with their arguments",
  member: "prompts",
  read: (client) => client.listPrompts(),
  render: Lists.prompts
})

export const resources = list({
  name: "resources",
  description: "List the resources of a server",
  member: "resources",
  read: (client) => client.listResources(),
  render: Lists.resources
})

export const templates = list({
  name: "templates",
  description: "List the resource templates of a server",
  member: "resourceTemplates",
  read: (client) => client.listResourceTemplates(),
  render: Lists.templates
})
