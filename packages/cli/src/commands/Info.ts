/**
 * `info` and `ping`: who a server is, and whether it answers.
 */
import * as Command from "effect/cli/Command"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { print } from "../Output.ts"
import * as Render from "../render/Server.ts"
import { withServer } from "../Server.ts"
import * as TerminalText from "../TerminalText.ts"
import { url } from "./Lists.ts"

export const info = Command.make(
  "info",
  { url },
  (config) =>
    withServer(config.url, (client, connecting) =>
      Effect.gen(function*() {
        const server = yield* client.server
        // What else is known of the server is worth showing all the same.
        const ping = yield* Effect.option(Effect.timed(client.ping()))
        const times = {
          connectMillis: Duration.toMillis(connecting),
          pingMillis: Option.isSome(ping) ? Duration.toMillis(ping.value[0]) : null
        }
        yield* print(Render.json(server, times), (show) => Render.text(server, times, show))
      }))
).pipe(
  Command.withDescription("Show who a server is, which revision it speaks and what it offers"),
  Command.withExamples([
    { command: "mcp-effect info -- npx -y @modelcontextprotocol/server-everything" },
    { command: "mcp-effect info https://example.com/mcp" }
  ])
)

export const ping = Command.make(
  "ping",
  { url },
  (config) =>
    withServer(config.url, (client) =>
      Effect.gen(function*() {
        const [duration] = yield* Effect.timed(client.ping())
        const millis = Duration.toMillis(duration)
        yield* print({ millis }, () => `The server answered in ${TerminalText.millis(millis)}.`)
      }))
).pipe(
  Command.withDescription("Ask whether a server answers, and measure how long it takes"),
  Command.withExamples([{ command: "mcp-effect ping https://example.com/mcp" }])
)
