/**
 * Runs a command line against a client that a test makes up, and keeps what is written.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { McpClient } from "@mcp-effect/client"
import { McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Invocation from "../src/Invocation.ts"
import { Output } from "../src/Output.ts"
import * as Program from "../src/Program.ts"
import { Server } from "../src/Server.ts"
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
}

/** A client of which a test needs only some members. */
const stub = (members: Partial<McpClient.McpClient>): Effect.Effect<McpClient.McpClient, never, Scope.Scope> =>
  Effect.map(Layer.build(Layer.mock(McpClient.McpClient)(members)), Context.get(McpClient.McpClient))

export const run = (
  argv: ReadonlyArray<string>,
  client: Partial<McpClient.McpClient> | McpError.McpError,
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
      flush: Effect.void
    })
    const server = Layer.succeed(Server, {
      connect: (target) =>
        Effect.suspend(() => {
          targets.push(target)
          return McpError.isMcpError(client) ? Effect.fail(client) : stub(client)
        })
    })
    const code = yield* Effect.provide(Program.run(invocation), Layer.mergeAll(NodeServices.layer, server, output))
    return { code, stdout, stderr, statuses, targets }
  })
