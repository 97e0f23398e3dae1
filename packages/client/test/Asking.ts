/**
 * Has a server of either era ask the client something, and tells what it was answered.
 */
import { Json, type McpError } from "@mcp-effect/protocol"
import { Effect, Result } from "effect"
import type { ClientOptions } from "../src/ClientOptions.ts"
import * as Deprecations from "../src/Deprecations.ts"
import type * as McpClient from "../src/McpClient.ts"
import type { McpHandlers } from "../src/McpHandlers.ts"
import * as Scripted from "./ScriptedTransport.ts"

export const done: Json.JsonObject = { content: [] }

export const inputRequired = (
  inputRequests: Json.JsonObject | undefined,
  requestState?: string
): Json.JsonObject => ({ resultType: "input_required", inputRequests, requestState })

/** A client that gives no notices of deprecated features. */
export const connectQuietly = (server: Scripted.Server, options?: ClientOptions) =>
  Effect.provideService(Scripted.connect(server, options), Deprecations.Enabled, false)

export type LegacyVersion = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25"

/** The reply to a request of a legacy server, with `result` or `error`. */
export const legacy = Effect.fnUntraced(function*(
  handlers: McpHandlers,
  method: string,
  params?: Json.JsonObject,
  version: LegacyVersion = "2025-11-25"
) {
  const server = yield* Scripted.legacy({}, { version, kind: "stdio" })
  yield* connectQuietly(server, { handlers })
  server.links[0]?.ask(1, method, params)
  yield* server.until(() => server.replies().length === 1)
  const [reply] = server.replies()
  return { result: Json.objectMember(reply, "result"), error: Json.objectMember(reply, "error") }
})

/** What a modern server gets in answer to one input request, or how the call fails that it asked during. */
export const modern = Effect.fnUntraced(function*(handlers: McpHandlers, method: string, params?: Json.JsonObject) {
  const server = yield* Scripted.modern({
    "tools/call": Scripted.inTurn(
      Scripted.answer(inputRequired({ asked: { method, params } }, "state")),
      Scripted.answer(done)
    )
  })
  const client = yield* connectQuietly(server, { handlers })
  const outcome = yield* Effect.result(client.callTool("work"))
  const sent = server.sentOf("tools/call")
  return {
    response: Json.objectMember(Json.objectMember(sent[1]?.params, "inputResponses"), "asked"),
    error: Result.isFailure(outcome) ? outcome.failure : undefined,
    sends: sent.length
  }
})

export const inputRequiredOf = (error: McpError.McpError | undefined): McpError.InputRequired => {
  if (error?.reason._tag !== "InputRequired") throw new Error(`not InputRequired: ${String(error?.reason._tag)}`)
  return error.reason
}

/** How a modern call fails: `problem` of its `InputRequired`. */
export const problemOf = (error: McpError.McpError | undefined): string => inputRequiredOf(error).problem

/** Makes a call and waits until it is under way, so that the clock may be moved. */
export const start = <A>(effect: Effect.Effect<A, McpError.McpError>) =>
  Effect.forkScoped(effect, { startImmediately: true })

export type Client = McpClient.McpClient
