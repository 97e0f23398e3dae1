/**
 * Tools: lists and calls (2026-07-28 server/tools).
 */
import { type Diagnostic, type Json, McpError, type Tool, type ToolCall } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { RequestOptions } from "../ClientOptions.ts"
import type { McpClient, ToolEvent } from "../McpClient.ts"
import type { Calls } from "./Calls.ts"
import * as Lists from "./Lists.ts"
import * as Read from "./Read.ts"
import * as ToolInput from "./ToolInput.ts"

/** How many calls of a batch run at once by default. */
const batchConcurrency = 8

// Events of one call that may wait for its reader; the oldest go first, and the result is never among them.
const eventCapacity = 1_024

/** The newest definition of each tool that a list has told of. */
class Definitions {
  private readonly tools = new Map<string, Tool.Tool>()
  private listed = false

  /** Takes one page. The first begins a new list, and a list that was seen to its end holds all there is. */
  learn(tools: ReadonlyArray<Tool.Tool>, first: boolean, last: boolean): void {
    if (first) {
      this.tools.clear()
      this.listed = false
    }
    for (const tool of tools) this.tools.set(tool.name, tool)
    if (last) this.listed = true
  }

  get(name: string): Tool.Tool | undefined {
    return this.tools.get(name)
  }

  /** Whether the tool can be missed: everything was listed, and it was not there. */
  lacks(name: string): boolean {
    return this.listed && !this.tools.has(name)
  }
}

type Members = Pick<McpClient, "listTools" | "toolPages" | "callTool" | "callToolStream" | "callTools">

export const make = (
  calls: Calls,
  server: string,
  onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
): Members => {
  const definitions = new Definitions()
  const list = Lists.make({
    method: "tools/list",
    read: Read.tools,
    calls,
    onDiagnostic,
    onPage: (tools, first, last) => definitions.learn(tools, first, last)
  })

  const send = (
    name: string,
    args: Json.JsonObject,
    options: RequestOptions | undefined,
    onNotification?: Parameters<Calls["run"]>[0]["onNotification"]
  ): Effect.Effect<ToolCall.CallToolResult, McpError.McpError> =>
    Effect.suspend(() => {
      const tool = definitions.get(name)
      // Applications put a model's arguments through as they are, `_meta` included; it is metadata, not an argument,
      // unless the tool declares an argument of that name.
      const lifted = Object.hasOwn(args, "_meta")
        && (tool === undefined || !ToolInput.declaresProperty(tool.inputSchema, "_meta"))
      const { _meta, ...rest } = args
      const given = lifted ? rest : args
      const problem = tool === undefined ? undefined : ToolInput.problem(tool, given)
      if (problem !== undefined) {
        return Effect.fail(McpError.make(problem, "unsent", { server, method: "tools/call" }))
      }
      return calls.run({
        method: "tools/call",
        name,
        params: lifted ? { name, arguments: given, _meta } : { name, arguments: given },
        decode: Read.callToolResult,
        onNotification
      }, options)
    })

  const callTool = (
    name: string,
    args: Json.JsonObject,
    options: RequestOptions | undefined,
    onNotification?: Parameters<Calls["run"]>[0]["onNotification"]
  ): Effect.Effect<ToolCall.CallToolResult, McpError.McpError> =>
    Effect.suspend(() => {
      if (!definitions.lacks(name)) return send(name, args, options, onNotification)
      // The list may have changed since it was read.
      return Effect.flatMap(list.all(options), () =>
        definitions.lacks(name)
          ? Effect.fail(McpError.make(new McpError.UnknownTool({ name }), "unsent", { server, method: "tools/call" }))
          : send(name, args, options, onNotification))
    })

  return {
    listTools: list.all,
    toolPages: list.pages,
    callTool: (name, args, options) => callTool(name, args ?? {}, options),
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
