/** This client, over the lean HTTP client for Node and over fetch. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { McpClient } from "@mcp-effect/client"
import { NodeHttp } from "@mcp-effect/node"
import type { Content } from "@mcp-effect/protocol"
import { MemoryTransport, StdioTransport, StreamableHttpTransport, Transport } from "@mcp-effect/transport"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Scope from "effect/Scope"
import {
  type BigSubject,
  check,
  type Era,
  type MemorySubject,
  message,
  runEffects,
  type StdioTarget,
  type Subject
} from "../Subject.ts"

const clientInfo = { name: "bench", version: "1.0.0" }

const open = async <E>(transport: Layer.Layer<Transport.Transport, E>, era: Era) => {
  const runtime = ManagedRuntime.make(
    McpClient.layer({ clientInfo, protocol: era }).pipe(Layer.provide(transport))
  )
  const client = await runtime.runPromise(McpClient.McpClient)
  return { client, close: () => runtime.dispose() }
}

const stdio = ({ args, command }: StdioTarget, maxMessageBytes?: number) =>
  StdioTransport.layer({ command, args, maxMessageBytes }).pipe(Layer.provide(NodeServices.layer))

const textOf = ([block]: ReadonlyArray<Content.ContentBlock>): unknown =>
  block !== undefined && "text" in block ? block.text : block

const over = <E>(http: Layer.Layer<HttpClient.HttpClient, E>): Subject => ({
  open: async (target, era) => {
    const { client, close } = await open(
      target.channel === "stdio"
        ? stdio(target)
        : StreamableHttpTransport.layer({ url: target.url }).pipe(Layer.provide(http)),
      era
    )
    const call = (signal?: AbortSignal) =>
      Effect.map(client.callTool("echo", { message }, { signal }), ({ content }) => check(textOf(content)))
    return {
      call: (signal) => Effect.runPromise(call(signal)),
      run: (calls, inFlight) => runEffects(call(), calls, inFlight),
      close
    }
  }
})

export const ours: Subject = over(NodeHttp.layer())

export const overFetch: Subject = over(FetchHttpClient.layer)

const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "memory", version: "1.0.0" }
}

const answerWith = (toolsResult: string): MemoryTransport.Answer => ({ id, method }, peer) =>
  method === "initialize"
    ? Effect.succeed(initialized)
    // Sent as the text it is, which leaves nothing to answer.
    : Effect.andThen(
      peer.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${toolsResult}}`),
      Effect.interrupt
    )

export const memory: MemorySubject = {
  open: async (toolsResult) => {
    const { transport } = await Effect.runPromise(MemoryTransport.make(answerWith(toolsResult)))
    const scope = Scope.makeUnsafe()
    const client = await Effect.runPromise(
      McpClient.make({ clientInfo, protocol: "legacy" }).pipe(
        Effect.provideService(Transport.Transport, transport),
        Scope.provide(scope)
      )
    )
    return {
      list: () => Effect.runPromise(Effect.map(client.listTools(), ({ length }) => length)),
      close: () => Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

const bigMessageBytes = 128 * 1_048_576

export const big: BigSubject = {
  open: async (target) => {
    const { client, close } = await open(stdio(target, bigMessageBytes), "modern")
    return {
      read: (megabytes) =>
        Effect.runPromise(
          Effect.map(client.callTool("big", { megabytes }), ({ content }) => String(textOf(content)).length)
        ),
      close
    }
  }
}
