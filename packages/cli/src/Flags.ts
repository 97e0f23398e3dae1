/**
 * The flags that every command understands.
 */
import type { ClientOptions } from "@mcp-effect/client"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { version } from "./Version.ts"

const unitMillis = new Map([["ms", 1], ["s", 1_000], ["m", 60_000], ["h", 3_600_000]])

/** Reads a time with its unit: `500ms`, `30s`, `5m`, `1h`, or `infinity`. */
const parseTime = (text: string): Option.Option<Duration.Duration> => {
  if (text === "infinity") return Option.some(Duration.infinity)
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text)
  const millis = Number(match?.[1]) * (unitMillis.get(match?.[2] ?? "") ?? Number.NaN)
  return millis > 0 ? Option.some(Duration.millis(millis)) : Option.none()
}

const time = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.filterMap(parseTime, () => "a time with its unit, such as 500ms, 30s, 5m or 1h, or infinity"),
    Flag.withMetavar("TIME"),
    Flag.withDescription(description),
    Flag.optional
  )

/** The root command, whose flags its subcommands share. */
export const root = Command.make("mcp-effect").pipe(
  Command.withSharedFlags({
    url: Flag.String("url").pipe(
      Flag.withMetavar("URL"),
      Flag.withDescription(
        "The server's URL, the same as: -- URL. A path that ends in /sse is the transport of 2024-11-05; "
          + "any other finds out by itself"
      ),
      Flag.optional
    ),
    headers: Flag.String("header").pipe(
      Flag.withAlias("H"),
      Flag.withMetavar("\"NAME: VALUE\""),
      Flag.withDescription("A header for every request to a URL; may be repeated"),
      Flag.atLeast(0)
    ),
    env: Flag.String("env").pipe(
      Flag.withAlias("e"),
      Flag.withMetavar("NAME[=VALUE]"),
      Flag.withDescription(
        "A variable for the server's process, from here where it has no value; may be repeated. "
          + "Without it the process sees only PATH, HOME and the like"
      ),
      Flag.atLeast(0)
    ),
    cwd: Flag.String("cwd").pipe(
      Flag.withMetavar("FOLDER"),
      Flag.withDescription("The working directory of the server's process"),
      Flag.optional
    ),
    timeout: time("timeout", "How long a request may take in all (default: 10m)"),
    idleTimeout: time("idle-timeout", "How long nothing may be heard of a request (default: 60s)"),
    connectTimeout: time("connect-timeout", "How long starting the server and agreeing may take (default: 60s)"),
    protocol: Flag.Literals("protocol", ["auto", "modern", "legacy"]).pipe(
      Flag.withMetavar("ERA"),
      Flag.withDescription("Which revisions of the protocol to speak (default: auto)"),
      Flag.withDefault("auto")
    ),
    output: Flag.Literals("output", ["text", "json"]).pipe(
      Flag.withAlias("o"),
      Flag.withMetavar("FORMAT"),
      Flag.withDescription("For people, or one JSON document for programs (default: text)"),
      Flag.withDefault("text")
    ),
    verbose: Flag.Boolean("verbose").pipe(
      Flag.withDescription("Log to standard error what happens, and what the server writes there"),
      Flag.withoutNegation,
      Flag.withDefault(false)
    )
  })
)

type Shared = Effect.Success<typeof root>

/** What the flags say to the client. */
export const clientOptions = (shared: Shared): ClientOptions.ClientOptions => ({
  clientInfo: { name: "mcp-effect", version },
  protocol: shared.protocol,
  deadline: Option.getOrUndefined(shared.timeout),
  idleTimeout: Option.getOrUndefined(shared.idleTimeout),
  connectTimeout: Option.getOrUndefined(shared.connectTimeout)
})
