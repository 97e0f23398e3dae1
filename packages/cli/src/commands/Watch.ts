/**
 * `watch`: what a server offers and says, as it changes, until Ctrl-C.
 */
import type { McpClient } from "@mcp-effect/client"
import { Logging, type McpError } from "@mcp-effect/protocol"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Output, printEvent } from "../Output.ts"
import * as Changes from "../render/Changes.ts"
import * as Content from "../render/Content.ts"
import * as Events from "../render/Events.ts"
import * as Lists from "../render/Lists.ts"
import { withServer } from "../Server.ts"
import { url } from "./Lists.ts"

const list = <const Name extends string, A>(options: {
  readonly name: Name
  readonly watch: (client: McpClient.McpClient) => Stream.Stream<ReadonlyArray<A>, McpError.McpError>
  readonly key: (item: A) => string
  readonly render: (items: ReadonlyArray<A>, columns: number | undefined) => string
}) =>
  Command.make(options.name, { url }, (config) =>
    withServer(config.url, (client) => {
      let known: ReadonlyArray<A> | undefined
      return Stream.runForEach(options.watch(client), (items) =>
        Effect.gen(function*() {
          const before = known
          known = items
          const changes = before === undefined ? undefined : Changes.between(before, items, options.key)
          const time = Changes.timeOfDay(yield* Clock.currentTimeMillis)
          yield* printEvent({ [options.name]: items }, (_, columns) => {
            if (changes === undefined) {
              return items.length === 0
                ? `${time}  the server offers no ${options.name}`
                : options.render(items, columns)
            }
            return changes.length === 0
              ? `${time}  the ${options.name} were announced as changed, and are the same`
              : changes.map((change) => `${time}  ${change}`).join("\n")
          })
        }))
    })).pipe(
      Command.withDescription(`Show the ${options.name} of a server, and what changes about them`),
      Command.withExamples([{ command: `mcp-effect watch ${options.name} https://example.com/mcp` }])
    )

const tools = list({
  name: "tools",
  watch: (client) => client.watchTools,
  key: ({ name }) => name,
  render: Lists.tools
})

const prompts = list({
  name: "prompts",
  watch: (client) => client.watchPrompts,
  key: ({ name }) => name,
  render: Lists.prompts
})

const resources = list({
  name: "resources",
  watch: (client) => client.watchResources,
  key: ({ uri }) => uri,
  render: Lists.resources
})

const resource = Command.make(
  "resource",
  {
    uri: Argument.String("uri").pipe(Argument.withDescription("The URI of the resource"))
  },
  ({ uri }) =>
    withServer(
      Option.none(),
      (client) =>
        Stream.runForEach(client.watchResource(uri), (result) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            printEvent(result, (show) =>
              `${Changes.timeOfDay(now)}  ${show(uri)}\n${Content.resource(result, show)}`)))
    )
).pipe(
  Command.withDescription("Show what a resource holds, and again at each update"),
  Command.withExamples([{ command: "mcp-effect watch resource file:///var/log/app.log --url https://example.com/mcp" }])
)

const logs = Command.make("logs", {
  url,
  level: Flag.Literals("level", Logging.levels).pipe(
    Flag.withDescription("The least serious messages to ask for (default: info)"),
    Flag.withDefault("info")
  )
}, (config) =>
  withServer(config.url, (client) =>
    Effect.scoped(Effect.gen(function*() {
      const { format, note } = yield* Output
      const { revision } = yield* client.server
      if (revision.logLevel === "request" && format === "text") {
        note(`By revision ${revision.version} a server sends log messages along with its answers alone.`)
      }
      const shown = yield* Effect.forkScoped(
        Stream.runForEach(client.logs, (message) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            printEvent(message, () => `${Changes.timeOfDay(now)}  ${Events.log(message)}`))),
        { startImmediately: true }
      )
      yield* client.setLogLevel(config.level)
      return yield* Fiber.join(shown)
    })), { forwardLogs: false })).pipe(
    Command.withDescription("Show the log messages of a server"),
    Command.withExamples([{ command: "mcp-effect watch logs --level debug -- npx -y my-server" }])
  )

export const watch = Command.make("watch").pipe(
  Command.withSubcommands([tools, prompts, resources, resource, logs]),
  Command.withDescription("Show what a server offers or says as it changes, until Ctrl-C; in JSON a document a line")
)
