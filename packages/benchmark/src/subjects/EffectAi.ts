/** `effect/ai/McpClient`, over Effect's undici client where HTTP is wanted. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as McpClient from "effect/ai/McpClient"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as ChildProcess from "effect/process/ChildProcess"
import { check, message, runEffects, type Subject } from "../Subject.ts"

export const effectAi: Subject = {
  open: async (target, era) => {
    const protocol = era === "modern" ? McpProtocol.v2026_07_28 : McpProtocol.v2025_11_25
    const identity = { name: "bench", version: "1.0.0", protocol }
    const layer = target.channel === "stdio"
      ? McpClient.layerStdio({ ...identity, command: ChildProcess.make(target.command, target.args) }).pipe(
        Layer.provide(NodeServices.layer)
      )
      : McpClient.layerHttp({ ...identity, url: target.url }).pipe(Layer.provide(NodeHttpClient.layerUndici))
    const runtime = ManagedRuntime.make(layer)
    const client = await runtime.runPromise(McpClient.McpClient)
    const tools = await Effect.runPromise(client.listTools())
    const tool = tools.find(({ name }) => name === "echo")
    if (tool === undefined) throw new Error("no echo")
    const call = Effect.map(client.callTool({ tool, arguments: { message } }), ({ content: [block] }) => {
      check(block?.type === "text" ? block.text : block)
    })
    return {
      call: (signal) => Effect.runPromise(call, { signal }),
      run: (calls, inFlight) => runEffects(call, calls, inFlight),
      close: () => runtime.dispose()
    }
  }
}
