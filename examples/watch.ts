/**
 * What changes at a server: a list under watch, and a resource.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Connect } from "@mcp-effect/node"
import { Console, Effect, Stream } from "effect"
import { fileURLToPath } from "node:url"

const lines = ["O snail", "Climb Mount Fuji", "But slowly, slowly!"]

const program = Effect.gen(function*() {
  const client = yield* Connect.connect([process.execPath, fileURLToPath(new URL("demo/server.ts", import.meta.url))])

  const learn = (count: number) => client.callTool("learn", { name: "snail", text: lines.slice(0, count).join(" / ") })

  // The list as it is, and the whole list again when the server tells that it has changed.
  yield* client.watchResources.pipe(
    Stream.map((resources) => resources.map(({ uri }) => uri)),
    Stream.tap((uris) => Console.log(`offered: ${uris.join(" ")}`)),
    Stream.tap((uris) => uris.includes("poem://snail") ? Effect.void : learn(1)),
    Stream.takeUntil((uris) => uris.includes("poem://snail")),
    Stream.runDrain
  )

  // What the resource holds, and again after each update. The subscription ends with the stream.
  let known = 1
  yield* client.watchResource("poem://snail").pipe(
    Stream.flatMap(({ contents }) => Stream.fromIterable(contents)),
    Stream.map((page) => "text" in page ? page.text : ""),
    Stream.tap((text) => Console.log(`snail: ${text}`)),
    Stream.tap(() => known < lines.length ? learn(++known) : Effect.void),
    Stream.takeUntil((text) => text.endsWith("slowly!")),
    Stream.runDrain
  )
}).pipe(Effect.scoped)

NodeRuntime.runMain(program)
