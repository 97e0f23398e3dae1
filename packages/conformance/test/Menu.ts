/** What the servers of the interop tests offer, and a client going through it. */
import { assert } from "@effect/vitest"
import type { McpClient } from "@mcp-effect/client"
import type { Completion, Json, McpError, Progress, Revision } from "@mcp-effect/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

interface Call {
  readonly name: string
  readonly args: Json.JsonObject
}

export interface Menu {
  /** A call, and what the text of its result has in it. */
  readonly call: Call & { readonly text: string }
  /** A call that reports progress so many times, and how often at least it arrives. */
  readonly progress?: Call & { readonly steps: number; readonly atLeast?: number }
  /** A call that the server tells to have failed. */
  readonly failing?: Call
  /** Some of the resources, so many at least that a list of several pages is seen to its end. */
  readonly resources?: ReadonlyArray<string>
  /** What is read, and what its text has in it. */
  readonly reads?: ReadonlyArray<{ readonly uri: string; readonly text: string }>
  readonly template?: string
  readonly prompt?: { readonly name: string; readonly args: { readonly [name: string]: string }; readonly text: string }
  readonly completion?: { readonly params: Completion.CompleteRequestParams; readonly values: ReadonlyArray<string> }
  /** A call that takes long and reports progress meanwhile. */
  readonly long?: Call
  /** A tool that answers once the server has seen a call cancelled. */
  readonly awaitCancelled?: string
}

const completeTopic: Completion.CompleteRequestParams = {
  ref: { type: "ref/prompt", name: "topic" },
  argument: { name: "topic", value: "a" }
}

/** What our own servers offer, whatever they are made with. */
export const fixture: Menu = {
  call: { name: "echo", args: { message: "größer 🚀" }, text: "größer 🚀" },
  progress: { name: "slow", args: { steps: 3, stepMillis: 5 }, steps: 3 },
  failing: { name: "fail", args: {} },
  resources: ["test://greeting"],
  reads: [{ uri: "test://greeting", text: "hello" }, { uri: "test://item/7", text: "item 7" }],
  template: "test://item/{id}",
  prompt: { name: "topic", args: { topic: "ai" }, text: "about ai" },
  completion: { params: completeTopic, values: ["ai", "art"] },
  long: { name: "slow", args: { steps: 10_000, stepMillis: 10 } },
  awaitCancelled: "await-cancelled"
}

/** The same with a list of resources on two pages. */
export const dual: Menu = { ...fixture, resources: ["test://greeting", "test://bytes"] }

export const everything: Menu = {
  call: { name: "echo", args: { message: "hi" }, text: "Echo: hi" },
  progress: { name: "trigger-long-running-operation", args: { duration: 0.03, steps: 3 }, steps: 3 },
  resources: ["demo://resource/static/document/architecture.md"],
  reads: [{ uri: "demo://resource/dynamic/text/1", text: "Resource 1" }],
  template: "demo://resource/dynamic/text/{resourceId}",
  prompt: { name: "args-prompt", args: { city: "Paris" }, text: "Paris" },
  completion: {
    params: {
      ref: { type: "ref/prompt", name: "completable-prompt" },
      argument: { name: "name", value: "" },
      context: { arguments: { department: "Sales" } }
    },
    values: ["David", "Eve", "Frank"]
  },
  long: { name: "trigger-long-running-operation", args: { duration: 300, steps: 30_000 } }
}

/** The proxy now and then loses progress that comes together with the response. */
export const proxy: Menu = {
  ...everything,
  progress: { name: "trigger-long-running-operation", args: { duration: 0.03, steps: 3 }, steps: 3, atLeast: 2 }
}

const textOf = (blocks: ReadonlyArray<object>): string =>
  blocks.map((block) => "text" in block && typeof block.text === "string" ? block.text : "").join("")

/** Goes through everything the menu has, and pings. */
export const serves = Effect.fnUntraced(function*(
  client: McpClient.McpClient,
  version: Revision.Version,
  menu: Menu
): Effect.fn.Return<void, McpError.McpError> {
  const { revision, serverInfo } = yield* client.server
  assert.strictEqual(revision.version, version)
  assert.isString(serverInfo?.name)

  const tools = yield* client.listTools()
  assert.include(tools.map(({ name }) => name), menu.call.name)

  const result = yield* client.callTool(menu.call.name, menu.call.args)
  assert.isNotTrue(result.isError)
  assert.include(textOf(result.content), menu.call.text)

  if (menu.progress !== undefined) {
    const { args, name, steps } = menu.progress
    const seen: Array<Progress.ProgressNotificationParams> = []
    yield* client.callTool(name, args, { onProgress: (progress) => Effect.sync(() => seen.push(progress)) })
    assert.isAtLeast(seen.length, menu.progress.atLeast ?? steps)
    assert.deepStrictEqual(
      seen.map(({ progress, total }) => [progress, total]),
      Array.from({ length: steps }, (_, index) => [index + 1, steps]).slice(0, seen.length)
    )
  }

  if (menu.failing !== undefined) {
    assert.isTrue((yield* client.callTool(menu.failing.name, menu.failing.args)).isError)
  }

  if (menu.resources !== undefined) {
    const uris = (yield* client.listResources()).map(({ uri }) => uri)
    for (const uri of menu.resources) assert.include(uris, uri)
  }

  for (const { text, uri } of menu.reads ?? []) {
    assert.include(textOf((yield* client.readResource(uri)).contents), text)
  }

  if (menu.template !== undefined) {
    const templates = yield* client.listResourceTemplates()
    assert.include(templates.map(({ uriTemplate }) => uriTemplate), menu.template)
  }

  if (menu.prompt !== undefined) {
    const { args, name, text } = menu.prompt
    assert.include((yield* client.listPrompts()).map((prompt) => prompt.name), name)
    assert.include(textOf((yield* client.getPrompt(name, args)).messages.map(({ content }) => content)), text)
  }

  if (menu.completion !== undefined) {
    assert.deepStrictEqual((yield* client.complete(menu.completion.params)).values, menu.completion.values)
  }

  yield* client.ping()
})

/** Interrupts a call that is under way. Where the server can tell, it has seen that; in any case it serves on. */
export const cancels = Effect.fnUntraced(function*(
  client: McpClient.McpClient,
  { awaitCancelled, call, long }: Menu
): Effect.fn.Return<void, McpError.McpError> {
  if (long === undefined) return assert.fail("nothing on the menu takes long")
  const underWay = yield* Deferred.make<void>()
  const fiber = yield* client.callTool(long.name, long.args, {
    onProgress: () => Deferred.succeed(underWay, undefined)
  })
    .pipe(Effect.forkChild)
  yield* Deferred.await(underWay)
  yield* Fiber.interrupt(fiber)
  if (awaitCancelled !== undefined) {
    assert.include(textOf((yield* client.callTool(awaitCancelled)).content), "1")
  }
  assert.include(textOf((yield* client.callTool(call.name, call.args)).content), call.text)
})
