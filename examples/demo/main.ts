/**
 * One client program against four servers: over stdio and over HTTP, in the legacy and in the modern era.
 *
 * It checks what it shows, and ends with an error where something is not as it should be.
 */
import { NodeRuntime } from "@effect/platform-node"
import type { McpClient } from "@mcp-effect/client"
import { Connect } from "@mcp-effect/node"
import { Console, Deferred, Duration, Effect, Exit, Schema, Stream } from "effect"
import { HttpServer } from "effect/http"
import * as assert from "node:assert/strict"
import { fileURLToPath } from "node:url"
import { type Era, http } from "./server.ts"

const heading = (text: string) => Console.log(`\n${text}\n${"-".repeat(text.length)}`)
const show = (label: string, text: string) => Console.log(`${label.padEnd(14)}${text}`)

const discover = Effect.fnUntraced(function*(client: McpClient.McpClient, era: Era) {
  const { instructions, revision, serverInfo } = yield* client.server
  assert.equal(revision.era, era)
  yield* show("server", `${serverInfo?.name} ${serverInfo?.version}, found to speak ${revision.version}`)
  yield* show("instructions", instructions ?? "none")

  const tools = yield* client.listTools()
  assert.deepEqual(tools.map(({ name }) => name), ["count-words", "recite", "await-interruption", "learn"])
  for (const { description, name } of tools) yield* show("tool", `${name.padEnd(20)}${description}`)
  for (const { name, uri } of yield* client.listResources()) yield* show("resource", `${uri} (${name})`)
  for (const { arguments: parameters = [], name } of yield* client.listPrompts()) {
    yield* show("prompt", `${name}(${parameters.map((parameter) => parameter.name).join(", ")})`)
  }
})

const callWithProgress = Effect.fnUntraced(function*(client: McpClient.McpClient) {
  yield* show("call", "recite once")
  const seen: Array<number> = []
  const result = yield* client.callTool("recite", { times: 1, millisPerLine: 60 }, {
    onProgress: ({ message, progress, total }) => {
      seen.push(progress)
      return show("  progress", `${progress} of ${total}  ${message}`)
    }
  })
  assert.deepEqual(seen, [1, 2, 3])
  assert.deepEqual(result.structuredContent, { linesRecited: 3 })
  yield* show("  result", JSON.stringify(result.structuredContent))
})

const read = Effect.fnUntraced(function*(client: McpClient.McpClient) {
  const { contents: [page] } = yield* client.readResource("poem://frog")
  assert.ok(page !== undefined && "text" in page)
  assert.match(page.text, /^An old silent pond\n/)
  yield* show("read", `${page.uri}: ${page.text.replaceAll("\n", " / ")}`)
})

const fillIn = Effect.fnUntraced(function*(client: McpClient.McpClient) {
  const { messages: [message] } = yield* client.getPrompt("interpret", { style: "plain" })
  assert.ok(message?.content.type === "text")
  const [firstLine = ""] = message.content.text.split("\n")
  assert.equal(firstLine, "Interpret this haiku in a plain style:")
  yield* show("fill in", `interpret, for the ${message.role}: ${firstLine} ...`)
})

/** Watches a list while a tool changes it. */
const watch = Effect.fnUntraced(function*(client: McpClient.McpClient) {
  yield* show("watch", "the resources, and have the server learn a poem")
  const lists = yield* client.watchResources.pipe(
    Stream.map((resources) => resources.map(({ name }) => name)),
    Stream.tap((names) => show("  list", names.join(", "))),
    Stream.tap(({ length }) =>
      length === 1
        ? client.callTool("learn", { name: "snail", text: "Climb Mount Fuji, snail, but slowly" })
        : Effect.void
    ),
    Stream.take(2),
    Stream.runCollect
  )
  assert.deepEqual(lists, [["frog"], ["frog", "snail"]])
})

const Interruption = Schema.Struct({ linesRecited: Schema.Int, processId: Schema.Int })

/** Gives up a call that would take minutes, and asks the server what it noticed. */
const cancel = Effect.fnUntraced(function*(client: McpClient.McpClient) {
  yield* show("cancel", "recite 1,000 times, and interrupt at the second line")
  const secondLine = yield* Deferred.make<void>()
  const call = client.callTool("recite", { times: 1_000, millisPerLine: 60 }, {
    onProgress: ({ progress }) => progress === 2 ? Deferred.done(secondLine, Exit.void) : Effect.void
  })
  // The race interrupts what loses it.
  yield* Effect.raceFirst(call, Deferred.await(secondLine))
  const { structuredContent } = yield* client.callTool("await-interruption", {}, { deadline: "10 seconds" })
  const { linesRecited, processId } = yield* Schema.decodeUnknownEffect(Interruption)(structuredContent)
  assert.ok(linesRecited >= 2 && linesRecited < 1_000)
  yield* show("  result", `the server stopped after line ${linesRecited} of 3,000`)
  return processId
})

/** What each of the four servers is asked; gives the id of the server's process. */
const converse = Effect.fnUntraced(function*(target: Connect.Target, era: Era) {
  const client = yield* Connect.connect(target)
  yield* discover(client, era)
  yield* callWithProgress(client)
  yield* read(client)
  yield* fillIn(client)
  yield* watch(client)
  return yield* cancel(client)
}, Effect.scoped)

const overStdio = Effect.fnUntraced(function*(era: Era) {
  yield* heading(`stdio, ${era} server`)
  const server = fileURLToPath(new URL("server.ts", import.meta.url))
  const processId = yield* converse([process.execPath, server, era], era)
  assert.throws(() => process.kill(processId, 0), { code: "ESRCH" })
  yield* show("closed", `process ${processId} is gone`)
})

const overHttp = Effect.fnUntraced(function*(era: Era) {
  yield* heading(`HTTP, ${era} server`)
  const { address } = yield* HttpServer.HttpServer
  assert.ok(address._tag === "InetAddressV4")
  yield* converse(`http://127.0.0.1:${address.port}/mcp`, era)
}, (effect, era) => Effect.provide(effect, http(era)))

const demo = Effect.gen(function*() {
  yield* Console.log("One client program, four servers. Nothing tells the client which era a server is of.")
  for (const run of [overStdio, overHttp]) {
    for (const era of ["legacy", "modern"] as const) yield* run(era)
  }
})

const main = Effect.gen(function*() {
  const [elapsed] = yield* Effect.timed(Effect.timeout(demo, "60 seconds"))
  yield* Console.log(`\nAll four were as expected, in ${Duration.toSeconds(elapsed).toFixed(1)} s.`)
})

NodeRuntime.runMain(main)
