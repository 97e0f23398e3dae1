/**
 * Tools: lists and calls (2026-07-28 server/tools).
 */
import type { Diagnostic, Envelope, Json, ToolCall } from "@mcp-effect/protocol"
import { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { RequestOptions } from "../ClientOptions.ts"
import type { McpClient, ToolEvent } from "../McpClient.ts"
import * as McpTool from "../McpTool.ts"
import type { Calls, RunOptions } from "./Calls.ts"
import * as Lists from "./Lists.ts"
import * as Read from "./Read.ts"
import { mirrorsArguments, readPage, ToolDefinitions } from "./ToolDefinitions.ts"
import * as ToolInput from "./ToolInput.ts"

/** How many calls of a batch run at once by default. */
const batchConcurrency = 8

// Events of one call that may wait for its reader; the oldest go first, and the result is never among them.
const eventCapacity = 1_024

type Members = Pick<McpClient, "listTools" | "toolPages" | "callTool" | "call" | "callToolStream" | "callTools">

type OnNotification = (notification: Envelope.Notification) => void

export const make = (
  calls: Calls,
  server: string,
  onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void,
  /** Tells listeners that the list was read anew, as a server would. */
  announceListChanged: () => void
): Members => {
  const definitions = new ToolDefinitions()
  const list = Lists.make({
    method: "tools/list",
    read: readPage,
    calls,
    onDiagnostic,
    onPage: (page) => definitions.learn(page),
    onAll: (pages) => definitions.replace(pages)
  })

  const unsent = (reason: McpError.McpErrorReason): Effect.Effect<never, McpError.McpError> =>
    Effect.fail(McpError.make(reason, "unsent", { server, method: "tools/call" }))

  /** Reads the list on behalf of a call, within the time that the call has. */
  const refresh = (options: RunOptions): Effect.Effect<unknown, McpError.McpError> =>
    list.all({ idleTimeout: options.idleTimeout, signal: options.signal, deadlineAt: options.deadlineAt })

  const send = (
    name: string,
    args: Json.JsonObject,
    options: RunOptions,
    onNotification: OnNotification | undefined
  ): Effect.Effect<ToolCall.CallToolResult, McpError.McpError> => {
    // Applications put a model's arguments through as they are, `_meta` included; it is metadata, not an argument,
    // unless the tool declares an argument of that name.
    const known = definitions.get(name)
    const lifted = Object.hasOwn(args, "_meta")
      && (known === undefined || !ToolInput.declaresProperty(known.inputSchema, "_meta"))
    const { _meta, ...rest } = args
    const given = lifted ? rest : args
    return calls.run({
      method: "tools/call",
      name,
      params: lifted ? { name, arguments: given, _meta } : { name, arguments: given },
      routingParams: (session) => {
        const tool = definitions.get(name)
        if (tool === undefined) return Result.succeed(undefined)
        const problem = ToolInput.problem(tool, given)
        if (problem !== undefined) return Result.fail(problem)
        return mirrorsArguments(session) ? definitions.mirrored(tool, given) : Result.succeed(undefined)
      },
      onHeaderMismatch: Effect.ensuring(refresh(options), Effect.sync(announceListChanged)),
      decode: Read.callToolResult,
      onNotification
    }, options)
  }

  const callTool = (
    name: string,
    args: Json.JsonObject,
    given: RequestOptions | undefined,
    onNotification?: OnNotification
  ): Effect.Effect<ToolCall.CallToolResult, McpError.McpError> =>
    Effect.withFiber((fiber) => {
      const options: RunOptions = { ...given, deadlineAt: calls.deadlineAt(fiber, given) }
      const call = Effect.suspend(() => send(name, args, options, onNotification))
      if (definitions.lacks(name)) {
        // The list may have changed since it was read; where it cannot be had, the server decides.
        return Effect.matchEffect(refresh(options), {
          onFailure: () => call,
          onSuccess: () => definitions.lacks(name) ? unsent(new McpError.UnknownTool({ name })) : call
        })
      }
      if (!definitions.isUnknown(name)) return call
      return Effect.flatMap(calls.session("tools/call", fiber, options), (session) =>
        // Its definition says which arguments go into headers; without a list the call goes out without them.
        mirrorsArguments(session) ? Effect.andThen(Effect.ignore(refresh(options)), call) : call)
    })

  return {
    listTools: list.all,
    toolPages: list.pages,
    callTool: (name, args, options) => callTool(name, args ?? {}, options),
    call: (tool, args, options) => {
      const fail = (delivery: McpError.Delivery) => (reason: McpError.McpErrorReason) =>
        McpError.make(reason, delivery, { server, method: "tools/call" })
      return Effect.flatMap(
        Exit.mapError(McpTool.encode(tool, args), fail("unsent")),
        (encoded) =>
          Effect.flatMap(
            callTool(tool.name, encoded, options),
            (result) => Exit.mapError(McpTool.decode(tool, result), fail("unknown"))
          )
      )
    },
    callToolStream: (name, args, options) =>
      Stream.callback<ToolEvent, McpError.McpError>((queue) =>
        callTool(name, args ?? {}, {
          ...options,
          onProgress: (progress) =>
            Effect.andThen(
              Effect.sync(() => Queue.offerUnsafe(queue, { _tag: "Progress", progress })),
              options?.onProgress?.(progress) ?? Effect.void
            )
        }, (notification) => {
          const message = Read.logMessage(notification)
          if (message !== undefined) Queue.offerUnsafe(queue, { _tag: "Log", message })
        }).pipe(
          Effect.matchEffect({
            onSuccess: (result) =>
              Effect.sync(() => {
                Queue.offerUnsafe(queue, { _tag: "Final", result })
                Queue.endUnsafe(queue)
              }),
            onFailure: (error) => Queue.fail(queue, error)
          })
        ), { bufferSize: eventCapacity, strategy: "sliding" }),
    callTools: (batch, options) =>
      Effect.forEach(
        batch,
        (call) => Effect.result(callTool(call.name, call.arguments ?? {}, call.options)),
        { concurrency: options?.concurrency ?? batchConcurrency }
      )
  }
}
