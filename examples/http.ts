/**
 * A server over HTTP, by its URL alone; this program starts one of its own first.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Connect } from "@mcp-effect/node"
import { Console, Effect, Schema, Stream } from "effect"
import { HttpServer } from "effect/http"
import { http } from "./demo/server.ts"

const Words = Schema.Struct({ words: Schema.Int })

const program = Effect.gen(function*() {
  const { address } = yield* HttpServer.HttpServer
  const url = `${HttpServer.formatAddress(address)}/mcp`

  const client = yield* Connect.connect(url, { idleTimeout: "10 seconds" })

  const { contents } = yield* client.readResource("poem://frog")
  for (const page of contents) {
    if (!("text" in page)) continue
    const { structuredContent } = yield* client.callTool("count-words", { text: page.text })
    const { words } = yield* Schema.decodeUnknownEffect(Words)(structuredContent)
    yield* Console.log(`${page.uri} has ${words} words`)
  }

  // A call as a stream: its progress, its log messages and, at the end, its result.
  yield* client.callToolStream("recite", { times: 1, millisPerLine: 50 }).pipe(
    Stream.runForEach((event) =>
      event._tag === "Progress" ? Console.log(`reciting: ${event.progress.message}`) : Effect.void
    )
  )

  const answer = yield* client.readResource("poem://missing").pipe(
    Effect.map(() => "poem://missing is there"),
    Effect.catchReason("McpError", "ResourceNotFound", ({ uri }) => Effect.succeed(`${uri} is not there`))
  )
  yield* Console.log(answer)
}).pipe(Effect.scoped)

NodeRuntime.runMain(Effect.provide(program, http("modern")))
