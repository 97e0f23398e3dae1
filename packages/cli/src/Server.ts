/**
 * The way to the server that the command line names.
 */
import type { ClientOptions, McpClient, McpHandlers } from "@mcp-effect/client"
import { Connect, type NodeOAuth } from "@mcp-effect/node"
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
import * as SignIn from "./SignIn.ts"
import * as Target from "./Target.ts"
import { UsageError } from "./UsageError.ts"

export interface Options extends ClientOptions.ClientOptions {
  /** How to sign in; for a URL alone. */
  readonly oauth?: NodeOAuth.Options | undefined
}

/** Connects to a server; a test puts a client of its own in its place. */
export class Server extends Context.Service<Server, {
  readonly connect: (
    target: Target.Target,
    options: Options
  ) => Effect.Effect<McpClient.McpClient, McpError.McpError, Scope.Scope>
}>()("@mcp-effect/cli/Server") {}

export const layer: Layer.Layer<Server> = Layer.succeed(Server, {
  connect: (target, { oauth, ...options }) =>
    target._tag === "Command"
      ? Connect.connect({
        command: target.command,
        args: target.args,
        env: Object.fromEntries(target.env),
        cwd: target.cwd
      }, options)
      : Connect.connect(target.url, { ...options, oauth, headers: Object.fromEntries(target.headers) })
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
  /** How to sign in, where it is not left to whoever is at the terminal. */
  readonly oauth?: NodeOAuth.Options | undefined
}

const targetOf = Effect.fnUntraced(function*(positional: Option.Option<string>) {
  const flags = yield* Flags.root
  return yield* Effect.fromResult(Target.resolve({
    afterDashes: yield* AfterDashes,
    url: Option.getOrUndefined(flags.url),
    positional: Option.getOrUndefined(positional),
    headers: flags.headers,
    env: flags.env,
    cwd: Option.getOrUndefined(flags.cwd)
  }, process.env))
})

// Who brings a token signs in nowhere.
const isAuthorized = (headers: ReadonlyMap<string, unknown>): boolean =>
  Array.from(headers.keys()).some((name) => name.toLowerCase() === "authorization")

/** The URL of the server that the command line names, for what only a server at a URL has. */
export const urlOf = Effect.fnUntraced(function*(positional: Option.Option<string>) {
  const target = yield* targetOf(positional)
  if (target._tag === "Command") {
    return yield* new UsageError({ message: "Only a server at a URL is signed in to, and this one is a command" })
  }
  return isAuthorized(target.headers)
    ? yield* new UsageError({ message: "--header gives a token of its own; leave it out" })
    : target.url
})

/**
 * Connects to the server that the command line names, and closes the connection when `use` is done. `positional` is the
 * URL that may stand behind a command without arguments of its own; `connecting` is the time it took to connect.
 */
export const withServer = <A, E, R>(
  positional: Option.Option<string>,
  use: (client: McpClient.McpClient, connecting: Duration.Duration) => Effect.Effect<A, E, R>,
  { extensions, forwardLogs, handlers, oauth }: Declared = {}
) =>
  Effect.gen(function*() {
    const flags = yield* Flags.root
    const target = yield* targetOf(positional)
    const { connect } = yield* Server
    const name = nameOf(target)
    const options: Options = {
      ...Flags.clientOptions(flags),
      handlers: handlers?.(name),
      extensions,
      forwardLogs,
      oauth: target._tag === "Command" || isAuthorized(target.headers) ? undefined : oauth ?? (yield* SignIn.atTerminal)
    }
    const connected = ProgressBar.during(`connecting to ${name}`, () => connect(target, options))
    const conversation = Effect.scoped(
      Effect.flatMap(Effect.timed(connected), ([connecting, client]) => use(client, connecting))
    )
    return yield* flags.verbose
      ? Effect.provideService(conversation, References.MinimumLogLevel, "Debug")
      : conversation
  })
