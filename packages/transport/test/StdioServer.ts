/** Real server processes for the tests of `StdioTransport`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { type Diagnostic, type Envelope, type Json, type McpError, Revision } from "@mcp-effect/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as StdioTransport from "../src/StdioTransport.ts"
import type { Cancel, Connection, Outgoing, Transport } from "../src/Transport.ts"

export const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

export interface Call {
  readonly cancel: Cancel
  readonly failures: ReadonlyArray<McpError.McpError>
  readonly outcome: Effect.Effect<Envelope.Outcome, McpError.McpError>
}

export interface Server {
  readonly connection: Connection
  readonly inbound: ReadonlyArray<string>
  readonly diagnostics: ReadonlyArray<Diagnostic.Diagnostic>
  readonly open: (method: string, params?: Json.JsonObject, more?: Partial<Outgoing>) => Call
  readonly request: (method: string, params?: Json.JsonObject) => Effect.Effect<Json.JsonObject, McpError.McpError>
}

export type Options = Partial<StdioTransport.Options>

export const make = (options: Options = {}) =>
  StdioTransport.make({ command: process.execPath, args: [fixture("server.mjs")], ...options }).pipe(
    Effect.provide(NodeServices.layer)
  )

/** Starts `server.mjs`, or what the options say. */
export const start = (options: Options = {}): Effect.Effect<Server, McpError.McpError, Scope.Scope> =>
  Effect.flatMap(make(options), connect)

export const connect = (transport: Transport["Service"]): Effect.Effect<Server, McpError.McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const inbound: Array<string> = []
    const diagnostics: Array<Diagnostic.Diagnostic> = []
    const connection = yield* transport.connect({
      onMessage: ({ method }) => inbound.push(method),
      onDiagnostic: (diagnostic) => diagnostics.push(diagnostic)
    })
    const context = yield* Effect.context<never>()
    let nextId = 1

    const open: Server["open"] = (method, params = {}, more = {}) => {
      const id = nextId++
      const failures: Array<McpError.McpError> = []
      const settled = Deferred.makeUnsafe<Envelope.Outcome, McpError.McpError>()
      const cancel = connection.open(
        {
          id,
          method,
          text: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
          revision: Revision.latestModern,
          routing: undefined,
          onAbandon: "cancel",
          ...more
        },
        {
          onMessage: () => {},
          onActivity: () => {},
          onResponse: ({ outcome }) => Deferred.doneUnsafe(settled, Effect.succeed(outcome)),
          onFailure: (error) => {
            failures.push(error)
            Deferred.doneUnsafe(settled, Effect.fail(error))
          }
        },
        context
      )
      return { cancel, failures, outcome: Deferred.await(settled) }
    }

    const request: Server["request"] = (method, params) =>
      Effect.flatMap(open(method, params).outcome, (outcome) =>
        outcome._tag === "Result"
          ? Effect.succeed(outcome.result)
          : Effect.die(new Error(`${method} was answered with ${JSON.stringify(outcome)}`)))

    return { connection, inbound, diagnostics, open, request }
  })

export const pidOf = (result: Json.JsonObject): number => Number(result["pid"])

/** Whether a process runs. One that has ended and waits for its parent to notice does not. */
export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8")
    return !status.slice(status.lastIndexOf(")")).startsWith(") Z")
  } catch {
    return process.platform !== "linux"
  }
}
