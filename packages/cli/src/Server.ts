/**
 * The way to the server that the command line names.
 */
import type { ClientOptions, McpClient, McpHandlers } from "@mcp-effect/client"
import { Connect } from "@mcp-effect/node"
import type { McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import * as Flags from "./Flags.ts"
import { AfterDashes } from "./Invocation.ts"
import * as ProgressBar from "./ProgressBar.ts"
import * as Target from "./Target.ts"

/** Connects to a server; a test puts a client of its own in its place. */
export class Server extends Context.Service<Server, {
  readonly connect: (
    target: Target.Target,
    options: ClientOptions.ClientOptions
  ) => Effect.Effect<McpClient.McpClient, McpError.McpError, Scope.Scope>
}>()("@mcp-effect/cli/Server") {}

export const layer: Layer.Layer<Server> = Layer.succeed(Server, {
  connect: (target, options) =>
    target._tag === "Command"
      ? Connect.connect({
        command: target.command,
        args: target.args,
        env: Object.fromEntries(target.env),
        cwd: target.cwd
      }, options)
      : Connect.connect(target.url, { ...options, headers: Object.fromEntries(target.headers) })
})

const nameOf = (target: Target.Target): string =>
  target._tag === "Command" ? [target.command, ...target.args].join(" ") : new URL(target.url).host

/** What a command can do for a server. */
export interface Declared {
  /** Answers what the server asks, given what the server is called on the command line. */
  readonly handlers?: ((server: string) => McpHandlers.McpHandlers) | undefined
  readonly extensions?: ClientOptions.ClientOptions["extensions"]
  /** Off where the command itself shows what the server logs. */
  readonly forwardLogs?: boolean | undefined
}

/**
 * Connects to the server that the command line names, and closes the connection when `use` is done. `positional` is the
 * URL that may stand behind a command without arguments of its own; `connecting` is the time it took to connect.
 */
export const withServer = <A, E, R>(
  positional: Option.Option<string>,
  use: (client: McpClient.McpClient, connecting: Duration.Duration) => Effect.Effect<A, E, R>,
  { extensions, forwardLogs, handlers }: Declared = {}
) =>
  Effect.gen(function*() {
    const flags = yield* Flags.root
    const target = yield* Effect.fromResult(Target.resolve({
      afterDashes: yield* AfterDashes,
      url: Option.getOrUndefined(flags.url),
      positional: Option.getOrUndefined(positional),
      headers: flags.headers,
      env: flags.env,
      cwd: Option.getOrUndefined(flags.cwd)
    }, process.env))
    const { connect } = yield* Server
    const name = nameOf(target)
    const options = { ...Flags.clientOptions(flags), handlers: handlers?.(name), extensions, forwardLogs }
    const connected = ProgressBar.during(`connecting to ${name}`, () => connect(target, options))
    const conversation = Effect.scoped(
      Effect.flatMap(Effect.timed(connected), ([connecting, client]) => use(client, connecting))
    )
    return yield* flags.verbose
      ? Effect.provideService(conversation, References.MinimumLogLevel, "Debug")
      : conversation
  })
