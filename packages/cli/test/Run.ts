/**
 * Runs a command line against a client that a test makes up, and keeps what is written.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { type ClientOptions, McpClient } from "@mcp-effect/client"
import { McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Terminal from "effect/Terminal"
import { Accounts } from "../src/Accounts.ts"
import * as Invocation from "../src/Invocation.ts"
import { Output } from "../src/Output.ts"
import { Person } from "../src/Person.ts"
import * as Program from "../src/Program.ts"
import { type Options, Server } from "../src/Server.ts"
import type { Target } from "../src/Target.ts"

export interface Written {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** What the status line showed, one after the other. */
  readonly statuses: ReadonlyArray<string | undefined>
  /** The servers that were connected to. */
  readonly targets: ReadonlyArray<Target>
}

export interface Screen {
  readonly columns?: number | undefined
  readonly statusColumns?: number | undefined
  /** The terminal at which somebody sits. */
  readonly terminal?: Terminal.Terminal | undefined
  /** Who is signed in, and what becomes of it. */
  readonly accounts?: Partial<Accounts["Service"]> | undefined
  /** What happens when a server is connected to. */
  readonly onConnect?: ((options: Options) => Effect.Effect<void, McpError.McpError, Scope.Scope>) | undefined
}

/** The members that a test needs of a client, which may depend on what the client is given. */
export type Members =
  | Partial<McpClient.McpClient>
  | ((options: ClientOptions.ClientOptions) => Partial<McpClient.McpClient>)

/** A client of which a test needs only some members. */
const stub = (members: Partial<McpClient.McpClient>): Effect.Effect<McpClient.McpClient, never, Scope.Scope> =>
  Effect.map(Layer.build(Layer.mock(McpClient.McpClient)(members)), Context.get(McpClient.McpClient))

export const run = (
  argv: ReadonlyArray<string>,
  client: Members | McpError.McpError,
  screen: Screen = {}
): Effect.Effect<Written, unknown> =>
  Effect.gen(function*() {
    let stdout = ""
    let stderr = ""
    const statuses: Array<string | undefined> = []
    const targets: Array<Target> = []
    const invocation = Invocation.read(argv)
    const output = Layer.succeed(Output, {
      format: invocation.format,
      columns: screen.columns,
      statusColumns: screen.statusColumns,
      write: (text) =>
        Effect.sync(() => {
          stdout += text
        }),
      note: (line) => {
        stderr += `${line}\n`
      },
      status: (line) => {
        statuses.push(line)
      },
      exclusively: (dialogue) => dialogue,
      flush: Effect.void
    })
    const person = Layer.succeed(Person, { terminal: screen.terminal, colors: false })
    const server = Layer.succeed(Server, {
      connect: (target, options) =>
        Effect.flatMap(screen.onConnect?.(options) ?? Effect.void, () => {
          targets.push(target)
          if (McpError.isMcpError(client)) return Effect.fail(client)
          return stub(typeof client === "function" ? client(options) : client)
        })
    })
    const accounts = Layer.succeed(Accounts, {
      list: () => Effect.succeed([]),
      keepClient: () => Effect.succeed(false),
      forget: () => Effect.succeed([]),
      ...screen.accounts
    })
    const code = yield* Effect.provide(
      Program.run(invocation),
      Layer.mergeAll(NodeServices.layer, server, accounts, person, output)
    )
    return { code, stdout, stderr, statuses, targets }
  })
