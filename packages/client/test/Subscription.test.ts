import { assert, describe } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { type Envelope, type Json, McpError, Metadata } from "@mcp-effect/protocol"
import { Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ClientOptions from "../src/ClientOptions.ts"
import { NotificationRouter } from "../src/internal/NotificationRouter.ts"
import type * as Subscription from "../src/Subscription.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { collect, connect, never } = Scripted

const method = "subscriptions/listen"
const acknowledged = "notifications/subscriptions/acknowledged"
const toolsChanged = "notifications/tools/list_changed"
const resourceUpdated = "notifications/resources/updated"

const about = (id: unknown, params?: Json.JsonObject): Json.JsonObject => ({
  _meta: { [Metadata.subscriptionIdKey]: id },
  ...params
})

/** Acknowledges the request: all that it asks for, or what is given. */
const acknowledge = (request: Scripted.Received, granted?: Json.JsonObject): void =>
  request.notify(acknowledged, about(request.id, { notifications: granted ?? request.params["notifications"] }))

const acknowledging: Scripted.Handler = (request) => acknowledge(request)

const closing = (request: Scripted.Received): void => request.result({ resultType: "complete", ...about(request.id) })

const http = { kind: "streamable-http" }
const stdio = { kind: "stdio" }

const everything: Subscription.Filter = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ["file:///a", "file:///b"]
}

/** A subscription in a scope of its own, on a server that acknowledges. */
const opened = Effect.fnUntraced(function*(
  options: Scripted.Options = {},
  filter: Subscription.Filter = { toolsListChanged: true },
  handler: Scripted.Handler = acknowledging,
  listenOptions?: Subscription.ListenOptions
) {
  const server = yield* Scripted.modern({ [method]: handler }, options)
  const client = yield* connect(server)
  const scope = yield* Scope.make()
  const subscription = yield* Scope.provide(client.listen(filter, listenOptions), scope)
  const request = yield* server.take(method)
  const states = yield* collect(subscription.state)
  const heard = yield* collect(subscription.notifications)
  yield* Scripted.settled
  return { server, client, scope, subscription, request, states, heard }
})

const tags = (states: ReadonlyArray<Subscription.State>): ReadonlyArray<string> =>
  states.map((state) => state._tag === "Closed" ? state.cause : state._tag)

/** The last state's error. */
const errorOf = (states: ReadonlyArray<Subscription.State>): McpError.McpErrorReason | undefined => {
  const last = states.at(-1)
  return last?._tag === "Closed" ? last.error?.reason : undefined
}

const listens = (server: Scripted.Server): ReadonlyArray<Scripted.Sent> => server.sentOf(method)

const advance = (duration: string) =>
  Effect.andThen(TestClock.adjust(duration as `${number} seconds`), Scripted.settled)

const dropped = new McpError.StreamEnded({ resumable: false })

describe("A subscription", () => {
  verifies(
    ["SUB-01", "SUB-02", "SUB-05", "SUB-10", "SUB-36", "SUB-40", "SUB-41", "QUE-11"],
    "is one request, acknowledged once, that brings what the server tells in order, for as long as it is open",
    Effect.fnUntraced(function*() {
      for (const options of [http, stdio]) {
        const { client, heard, request, server, states, subscription } = yield* opened(options, everything)
        assert.deepStrictEqual(listens(server).map(({ content }) => content), [{ notifications: { ...everything } }])
        assert.deepStrictEqual(subscription.requested, everything)
        assert.deepStrictEqual(yield* subscription.acknowledged, everything)
        assert.deepStrictEqual(yield* subscription.unsupported, [])
        // Nothing in time ends it: neither the idle timeout nor the deadline of requests.
        yield* advance("200 seconds")
        request.notify(toolsChanged, about(request.id))
        request.alive()
        yield* advance("200 seconds")
        request.notify(resourceUpdated, about(request.id, { uri: "file:///a" }))
        request.notify("notifications/vendor", about(request.id, { n: 1 }))
        yield* Scripted.settled
        assert.deepStrictEqual(heard.map((each) => [each.method, each.params?.["uri"]]), [
          [toolsChanged, undefined],
          [resourceUpdated, "file:///a"],
          ["notifications/vendor", undefined]
        ])
        assert.deepStrictEqual(states, [{ _tag: "Active", id: request.id }])
        // Another is another request, and neither hears of the other's.
        const other = yield* client.listen({ promptsListChanged: true })
        const others = yield* collect(other.notifications)
        const second = yield* server.take(method)
        assert.notStrictEqual(second.id, request.id)
        second.notify("notifications/prompts/list_changed", about(second.id))
        yield* Scripted.settled
        assert.deepStrictEqual([heard.length, others.length], [3, 1])
      }
    })
  )

  verifies(
    ["SUB-04", "SUB-05"],
    "keeps its own record of what was asked for and granted, whatever is done to the objects",
    Effect.fnUntraced(function*() {
      const uris = ["file:///a"]
      const filter = { toolsListChanged: true, resourceSubscriptions: uris }
      const server = yield* Scripted.modern({ [method]: acknowledging }, http)
      const client = yield* connect(server)
      const raw = yield* collect(client.notifications)
      const subscription = yield* client.listen(filter)
      uris.push("file:///b")
      filter.toolsListChanged = false
      yield* Scripted.settled
      const granted = raw[0]?.params?.["notifications"] as { resourceSubscriptions: Array<string> }
      granted.resourceSubscriptions.push("file:///c")
      const asked = { toolsListChanged: true, resourceSubscriptions: ["file:///a"] }
      assert.deepStrictEqual(subscription.requested, asked)
      assert.deepStrictEqual(yield* subscription.acknowledged, asked)
      for (const record of [subscription.requested, yield* subscription.acknowledged]) {
        assert.isTrue(Object.isFrozen(record) && Object.isFrozen(record?.resourceSubscriptions))
      }
      const request = yield* server.take(method)
      request.fail(dropped)
      yield* advance("1 seconds")
      assert.deepStrictEqual(listens(server)[1]?.content, { notifications: asked })
    })
  )

  verifies(
    "SUB-03",
    "is refused for a filter that is none, before anything is sent",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.modern({ [method]: acknowledging }, http)
      const client = yield* connect(server)
      const before = server.sent.length
      const filters: ReadonlyArray<readonly [unknown, RegExp]> = [
        [{ tools_list_changed: true }, /"tools_list_changed" is none of them/],
        [{ toolsListChanged: "yes" }, /toolsListChanged must be true or false/],
        [{ resourceSubscriptions: "file:///a" }, /resourceSubscriptions must be an array/],
        [{ resourceSubscriptions: [1] }, /resourceSubscriptions must be an array/],
        [{ taskIds: ["t"] }, /taskIds needs the tasks extension/],
        ["tools", /is an object/],
        [null, /is an object/]
      ]
      for (const [filter, problem] of filters) {
        const { delivery, reason } = yield* Effect.flip(Effect.scoped(client.listen(filter as Subscription.Filter)))
        assert.deepStrictEqual([reason._tag, delivery], ["InvalidRequest", "unsent"])
        assert.match(reason.message, problem)
      }
      assert.strictEqual(server.sent.length, before)
      const declaring = yield* connect(server, { extensions: { "io.modelcontextprotocol/tasks": {} } })
      const subscription = yield* declaring.listen({ taskIds: ["t"] })
      assert.deepStrictEqual(yield* subscription.acknowledged, { taskIds: ["t"] })
    })
  )

  verifies(
    "SUB-34",
    "is refused in a legacy revision",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.legacy()
      const client = yield* connect(server)
      const { delivery, reason } = yield* Effect.flip(Effect.scoped(client.listen({ toolsListChanged: true })))
      assert.deepStrictEqual([reason._tag, delivery], ["CapabilityMissing", "unsent"])
      assert.deepStrictEqual(listens(server), [])
    })
  )

  verifies(
    ["SUB-43", "NOT-10"],
    "tells what the server does not honour, by what the acknowledgment says and not by what it mentions",
    Effect.fnUntraced(function*() {
      const cases: ReadonlyArray<readonly [Json.JsonObject, ReadonlyArray<string>]> = [
        [{}, ["toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"]],
        [{ toolsListChanged: true, promptsListChanged: false, resourcesListChanged: "yes" }, [
          "promptsListChanged",
          "resourcesListChanged",
          "resourceSubscriptions"
        ]],
        [{ ...everything, resourceSubscriptions: ["file:///other"] }, ["resourceSubscriptions"]],
        [{ ...everything, resourceSubscriptions: [] }, ["resourceSubscriptions"]],
        [{ ...everything, resourceSubscriptions: ["file:///b"] }, []]
      ]
      for (const [granted, unsupported] of cases) {
        const { subscription } = yield* opened(http, everything, (request) => acknowledge(request, granted))
        assert.deepStrictEqual(yield* subscription.unsupported, unsupported)
      }
      const { subscription } = yield* opened(
        http,
        { toolsListChanged: false, resourceSubscriptions: [] },
        (request) => acknowledge(request, {})
      )
      assert.deepStrictEqual(yield* subscription.unsupported, [])
    })
  )
})

describe("The acknowledgment", () => {
  verifies(
    ["SUB-07", "SUB-08", "SUB-09"],
    "is waited for 30 seconds, or as long as is said, and then the request is cancelled",
    Effect.fnUntraced(function*() {
      const cases: ReadonlyArray<readonly [Subscription.ListenOptions | undefined, number]> = [
        [undefined, 30],
        [{ ackTimeout: "5 seconds" }, 5]
      ]
      for (const options of [http, stdio]) {
        for (const [listenOptions, seconds] of cases) {
          const server = yield* Scripted.modern({ [method]: never }, options)
          const client = yield* connect(server)
          const listening = yield* Effect.forkChild(Effect.exit(Effect.scoped(
            client.listen({ toolsListChanged: true }, listenOptions)
          )))
          const request = yield* server.take(method)
          yield* advance(`${seconds - 0.001} seconds`)
          assert.isUndefined(listening.pollUnsafe())
          yield* advance("0.001 seconds")
          const exit = yield* Fiber.join(listening)
          const error = Exit.isFailure(exit) ? yield* Effect.flip(exit) : undefined
          assert.deepInclude(error?.reason, { _tag: "RequestTimeout", kind: "acknowledgment", millis: seconds * 1_000 })
          if (options === http) assert.deepStrictEqual(server.streamsClosed, [request.id])
          else {
            assert.deepStrictEqual(server.sentOf("notifications/cancelled").map(({ content }) => content), [{
              requestId: request.id
            }])
          }
        }
      }
    })
  )

  verifies(
    "SUB-09",
    "is not waited for while there is no connection yet",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.modern({ [method]: never }, {
        ...stdio,
        connect: () => Effect.sleep("40 seconds")
      })
      const client = yield* connect(server, { lazy: true })
      const listening = yield* Effect.forkScoped(client.listen({ toolsListChanged: true }))
      yield* Scripted.settled
      yield* advance("40 seconds")
      const request = yield* server.take(method)
      yield* advance("29 seconds")
      acknowledge(request)
      yield* Fiber.join(listening)
    })
  )

  verifies(
    ["SUB-07", "SUB-41"],
    "is waited for without end where that is asked for",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.modern({ [method]: never }, stdio)
      const client = yield* connect(server)
      const listening = yield* Effect.forkScoped(client.listen({ toolsListChanged: true }, { ackTimeout: Infinity }))
      const request = yield* server.take(method)
      yield* advance("86400 seconds")
      assert.isUndefined(listening.pollUnsafe())
      acknowledge(request)
      yield* Fiber.join(listening)
    })
  )

  verifies(
    ["SUB-08", "SUB-42"],
    "is waited for again by each later request, and what was acknowledged is not",
    Effect.fnUntraced(function*() {
      for (const options of [http, stdio]) {
        let count = 0
        const { request, server, states } = yield* opened(options, undefined, (request) => {
          if (count++ === 0) acknowledge(request)
        })
        yield* advance("100 seconds")
        if (options === http) request.fail(dropped)
        else server.links[0]?.exit(1)
        yield* advance("1 seconds")
        assert.strictEqual(listens(server).length, 2)
        yield* advance("28.9 seconds")
        assert.deepStrictEqual(tags(states), ["Active", "Reconnecting"])
        yield* advance("1.1 seconds")
        assert.deepStrictEqual(tags(states), ["Active", "Reconnecting", "failed"])
        assert.deepInclude(errorOf(states), { _tag: "RequestTimeout", kind: "acknowledgment" })
      }
    })
  )

  verifies(
    "SUB-32",
    "counts even if the stream breaks with it",
    Effect.fnUntraced(function*() {
      let count = 0
      const { states } = yield* opened(http, undefined, (request) => {
        if (count++ > 0) return
        acknowledge(request)
        request.fail(dropped)
      })
      assert.strictEqual(tags(states).at(-1), "Reconnecting")
    })
  )
})

describe("The request of a subscription", () => {
  verifies(
    ["SUB-01", "SUB-08"],
    "carries the metadata of client, region and caller, and goes through the client's hook, each time",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.modern({ [method]: acknowledging }, http)
      const around: Array<string> = []
      const client = yield* connect(server, {
        requestMetadata: { "vendor.example/client": 1 },
        around: (request, proceed) => {
          around.push(request.method)
          return proceed(request.params)
        }
      })
      yield* Effect.provideService(
        client.listen({ toolsListChanged: true }, { meta: { "vendor.example/caller": 3 } }),
        ClientOptions.RequestMetadata,
        { "vendor.example/region": 2 }
      )
      ;(yield* server.take(method)).fail(dropped)
      yield* advance("1 seconds")
      assert.deepStrictEqual(around, [method, method])
      for (const { meta } of listens(server)) {
        assert.deepInclude(meta, {
          "vendor.example/client": 1,
          "vendor.example/region": 2,
          "vendor.example/caller": 3
        })
      }
      assert.strictEqual(listens(server).length, 2)
    })
  )

  verifies(
    "SUB-08",
    "fails the subscription where the hook of the client has a defect",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.modern({ [method]: acknowledging }, http)
      const client = yield* connect(server, { around: () => Effect.die("a defect of the host") })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(Effect.scoped(client.listen({ toolsListChanged: true })))))
    })
  )
})

describe("Over HTTP a subscription", () => {
  verifies(
    "PAIN-29",
    "has a list under watch fetched once more whenever it was dropped",
    Effect.fnUntraced(function*() {
      let version = 0
      let fetches = 0
      const server = yield* Scripted.modern({
        [method]: acknowledging,
        "tools/list": (request) => {
          fetches++
          request.result({
            resultType: "complete",
            tools: [{ name: String(version), inputSchema: { type: "object" } }],
            ttlMs: 1_000_000,
            cacheScope: "public"
          })
        }
      }, http)
      const client = yield* connect(server)
      const lists = yield* collect(Stream.map(client.watchTools, ([tool]) => tool?.name))
      yield* Scripted.settled
      for (let drop = 1; drop <= 3; drop++) {
        // Nobody hears of this change.
        version = drop
        ;(yield* server.take(method)).fail(dropped)
        yield* advance("1 seconds")
        yield* advance("0.05 seconds")
      }
      assert.deepStrictEqual(lists, ["0", "1", "2", "3"])
      assert.strictEqual(listens(server).length, 4)
      assert.strictEqual(fetches, 4)
    })
  )

  verifies(
    ["PAIN-29", "SUB-10", "SUB-11", "SUB-13", "SUB-42"],
    "is opened again after 1 s, doubling to 30 s, with a new id, and is not active meanwhile",
    Effect.fnUntraced(function*() {
      let isUp = true
      const { request, server, states } = yield* opened(http, undefined, (request) => {
        if (isUp) acknowledge(request)
        else request.fail(new McpError.ConnectionFailed({ target: "scripted", description: "down" }), "unsent")
      })
      isUp = false
      request.fail(dropped)
      yield* Scripted.settled
      assert.deepStrictEqual(tags(states), ["Active", "Reconnecting"])
      for (const [index, seconds] of [1, 2, 4, 8, 16, 30, 30].entries()) {
        yield* advance(`${seconds - 0.001} seconds`)
        assert.strictEqual(listens(server).length, index + 1)
        yield* advance("0.001 seconds")
        assert.strictEqual(listens(server).length, index + 2)
      }
      assert.notInclude(tags(states).slice(2), "Active")
      isUp = true
      yield* advance("30 seconds")
      assert.strictEqual(tags(states).at(-1), "Active")
      assert.strictEqual(new Set(listens(server).map(({ id }) => id)).size, listens(server).length)
      // What was acknowledged begins again with a second.
      const last = listens(server).length
      for (let taken = 1; taken < last; taken++) yield* server.take(method)
      const current = states.at(-1)
      assert.strictEqual(current?._tag === "Active" ? current.id : undefined, listens(server).at(-1)?.id)
    })
  )

  verifies(
    ["SUB-11", "SUB-41"],
    "is opened again when nothing at all has come for five minutes",
    Effect.fnUntraced(function*() {
      const { request, server, states } = yield* opened(http)
      yield* advance("299 seconds")
      request.alive()
      yield* advance("299 seconds")
      assert.deepStrictEqual(tags(states), ["Active"])
      yield* advance("1 seconds")
      assert.deepStrictEqual(server.streamsClosed, [request.id])
      yield* advance("1 seconds")
      assert.deepStrictEqual(tags(states), ["Active", "Reconnecting", "Active"])
    })
  )

  verifies(
    ["SUB-12", "SUB-11"],
    "is dropped by a status of 500 or more, and ended by 4xx or a refusal of the authorization",
    Effect.fnUntraced(function*() {
      const status = (status: number) => new McpError.HttpStatus({ status })
      const cases: ReadonlyArray<readonly [(request: Scripted.Received) => void, string]> = [
        [(request) => request.fail(status(500), "unknown"), "Active"],
        [(request) => request.fail(status(503), "unknown"), "Active"],
        [(request) => request.error(-32603, "overloaded", undefined, 503), "Active"],
        [(request) => request.fail(new McpError.StreamEnded({ resumable: false })), "Active"],
        [(request) => request.fail(status(400), "refused"), "failed"],
        [(request) => request.fail(status(404), "refused"), "failed"],
        [(request) => request.fail(status(429), "refused"), "failed"],
        [(request) => request.error(-32601, "unknown method", undefined, 404), "failed"],
        [(request) => request.fail(new McpError.Unauthorized({ challenges: [] }), "refused"), "failed"]
      ]
      for (const [answer, expected] of cases) {
        let count = 0
        const { request, states } = yield* opened(http, undefined, (request) => {
          if (count++ === 1) answer(request)
          else acknowledge(request)
        })
        request.fail(dropped)
        yield* advance("1 seconds")
        yield* advance("2 seconds")
        assert.strictEqual(tags(states).at(-1), expected)
      }
    })
  )

  verifies(
    "SUB-12",
    "that is not acknowledged at first for such a reason is tried again, as long as there is time",
    Effect.fnUntraced(function*() {
      let count = 0
      const server = yield* Scripted.modern({
        [method]: (request) => {
          if (count++ < 2) request.fail(new McpError.HttpStatus({ status: 503 }))
          else acknowledge(request)
        }
      }, http)
      const client = yield* connect(server)
      const listening = yield* Effect.forkScoped(client.listen({ toolsListChanged: true }))
      yield* server.until(() => listens(server).length === 1)
      yield* advance("3 seconds")
      yield* Fiber.join(listening)
      count = -Infinity
      const failing = yield* Effect.forkChild(Effect.flip(Effect.scoped(client.listen({ toolsListChanged: true }))))
      yield* Scripted.settled
      // 1 + 2 + 4 + 8, and 16 more would be too late.
      yield* advance("15 seconds")
      assert.deepInclude((yield* Fiber.join(failing)).reason, { _tag: "HttpStatus", status: 503 })
      assert.strictEqual(listens(server).length, 3 + 5)
    })
  )
})

describe("On a shared channel a subscription", () => {
  const closed = (states: ReadonlyArray<Subscription.State>) => [tags(states).at(-1), errorOf(states)?._tag]

  verifies(
    ["SUB-10", "SUB-19", "SUB-25", "SUB-26", "SUB-42"],
    "is sent to the next process as soon as one has ended, once, and what the old one was sent is forgotten",
    Effect.fnUntraced(function*() {
      const { client, heard, request, server, states } = yield* opened(stdio)
      const second = yield* client.listen({ promptsListChanged: true })
      const others = yield* collect(second.state)
      yield* advance("10 seconds")
      server.links[0]?.exit(1)
      yield* Scripted.settled
      assert.strictEqual(server.links.length, 2)
      const again = listens(server).filter(({ connection }) => connection === 1)
      assert.deepStrictEqual(again.map(({ content }) => content), [
        { notifications: { toolsListChanged: true } },
        { notifications: { promptsListChanged: true } }
      ])
      assert.deepStrictEqual(tags(states), ["Active", "Reconnecting", "Active"])
      assert.deepStrictEqual(tags(others), ["Active", "Reconnecting", "Active"])
      assert.deepStrictEqual(server.sentOf("notifications/cancelled"), [])
      // What the new process tells arrives.
      server.links[1]?.notify(toolsChanged, about(again[0]?.id))
      yield* Scripted.settled
      assert.strictEqual(heard.length, 1)
      void request
    })
  )

  verifies(
    ["SUB-21", "SUB-22", "SUB-37", "SUB-38", "SUB-44", "STD-21"],
    "ends with the process that ends within 5 s of its first subscription, and not with one that lasts",
    Effect.fnUntraced(function*() {
      const first = yield* opened(stdio)
      yield* advance("4.999 seconds")
      first.server.links[0]?.exit(1)
      yield* Scripted.settled
      assert.deepStrictEqual(closed(first.states), ["failed", "ConnectionClosed"])
      assert.strictEqual(first.server.links.length, 1)
      // The time runs from the receipt, not from the start of the process.
      const late = yield* Scripted.modern({ [method]: acknowledging }, stdio)
      const lateClient = yield* connect(late)
      yield* advance("100 seconds")
      const lateStates = yield* collect((yield* lateClient.listen({ toolsListChanged: true })).state)
      yield* advance("4 seconds")
      late.links[0]?.exit(1)
      yield* Scripted.settled
      assert.deepStrictEqual(closed(lateStates), ["failed", "ConnectionClosed"])
      // A process that survived it counts as sound, for whoever comes later, and each process counts for itself.
      const second = yield* opened(stdio)
      yield* advance("5 seconds")
      const newcomer = yield* collect((yield* second.client.listen({ promptsListChanged: true })).state)
      second.server.links[0]?.exit(1)
      yield* Scripted.settled
      assert.deepStrictEqual([tags(second.states).at(-1), tags(newcomer).at(-1)], ["Active", "Active"])
      // A request of the host brings no respite: the replacement is judged by its own time.
      yield* advance("4.9 seconds")
      second.server.links[1]?.exit(1)
      yield* Effect.forkScoped(Effect.ignore(second.client.listTools()), { startImmediately: true })
      yield* Scripted.settled
      assert.deepStrictEqual([tags(second.states).at(-1), tags(newcomer).at(-1)], ["failed", "failed"])
    })
  )

  verifies(
    ["SUB-20", "SUB-39"],
    "is sent to a process that ends between the probe and the request, and to the one after it",
    Effect.fnUntraced(function*() {
      let isFragile = false
      const server = yield* Scripted.make({
        "server/discover": (request) => {
          request.result(Scripted.discovery())
          if (!isFragile) return
          isFragile = false
          request.connection.exit(1)
        },
        [method]: acknowledging
      }, stdio)
      const client = yield* connect(server)
      const states = yield* collect((yield* client.listen({ toolsListChanged: true })).state)
      yield* advance("60 seconds")
      isFragile = true
      server.links[0]?.exit(1)
      yield* Scripted.settled
      yield* advance("60 seconds")
      assert.strictEqual(tags(states).at(-1), "Active")
      assert.strictEqual(server.links.length, 3)
    })
  )

  verifies(
    ["STD-21", "SUB-44"],
    "ends with the error when no process can be started",
    Effect.fnUntraced(function*() {
      let isGone = false
      const spawnFailed = McpError.make(
        new McpError.SpawnFailed({ command: "scripted", problem: "not-found", searched: [] }),
        "unsent"
      )
      const { server, states } = yield* opened({
        ...stdio,
        connect: () => isGone ? Effect.fail(spawnFailed) : Effect.void
      })
      yield* advance("60 seconds")
      isGone = true
      server.links[0]?.exit(1)
      yield* Scripted.settled
      yield* advance("600 seconds")
      assert.deepStrictEqual(closed(states), ["failed", "SpawnFailed"])
    })
  )

  verifies(
    ["SUB-23", "SUB-44"],
    "ends when the next process speaks a legacy revision",
    Effect.fnUntraced(function*() {
      let isModern = true
      const server = yield* Scripted.make({
        "server/discover": (request) => isModern ? request.result(Scripted.discovery()) : request.error(-32601),
        initialize: Scripted.answer(Scripted.initialization("2025-11-25")),
        [method]: acknowledging
      }, stdio)
      const client = yield* connect(server)
      const states = yield* collect((yield* client.listen({ toolsListChanged: true })).state)
      yield* advance("60 seconds")
      isModern = false
      server.links[0]?.exit(1)
      yield* Scripted.settled
      yield* advance("60 seconds")
      assert.deepStrictEqual(closed(states), ["failed", "CapabilityMissing"])
      assert.strictEqual(listens(server).length, 1)
    })
  )

  verifies(
    "SUB-24",
    "whose request does not reach a process that is gone is left for the next one",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.modern({ [method]: acknowledging }, stdio)
      const client = yield* connect(server)
      const listening = yield* Effect.forkScoped(client.listen({ toolsListChanged: true }), { startImmediately: true })
      // The request waits in the outbox still.
      server.links[0]?.exit(1)
      yield* Fiber.join(listening)
      assert.deepStrictEqual(listens(server).map(({ connection }) => connection), [1])
    })
  )

  verifies(
    ["SUB-15", "NOT-09"],
    "is ended by the server's cancellation of its very id, and hears nothing that is meant for another",
    Effect.fnUntraced(function*() {
      const { client, heard, request, server, states, subscription } = yield* opened(stdio)
      const link = server.links[0]
      link?.notify(toolsChanged, about(String(request.id)))
      link?.notify(toolsChanged, about(4_711))
      link?.notify("notifications/cancelled", { requestId: String(request.id) })
      link?.notify("notifications/cancelled", { requestId: 4_711 })
      link?.notify(toolsChanged)
      const raw = yield* collect(client.notifications)
      yield* Scripted.settled
      assert.deepStrictEqual([heard, tags(states)], [[], ["Active"]])
      link?.notify(toolsChanged, about(request.id))
      link?.notify("notifications/cancelled", { requestId: request.id, reason: "shutdown" })
      // It is over.
      link?.notify(toolsChanged, about(request.id))
      yield* Scripted.settled
      assert.strictEqual(heard.length, 1)
      assert.deepStrictEqual(closed(states), ["failed", "StreamEnded"])
      // The application still hears of all of it.
      assert.strictEqual(raw.filter(({ method }) => method === toolsChanged).length, 2)
      const error = yield* Effect.flip(Stream.runDrain(subscription.notifications))
      assert.strictEqual(error.reason._tag, "StreamEnded")
      // Nobody asks again for what the server has ended.
      yield* advance("60 seconds")
      assert.strictEqual(listens(server).length, 1)
    })
  )
})

describe("The end of a subscription", () => {
  verifies(
    ["SUB-15", "SUB-16", "SUB-36", "QUE-11"],
    "is graceful when the server answers its request, and what came before is still read",
    Effect.fnUntraced(function*() {
      for (const options of [http, stdio]) {
        const { request, server, states, subscription } = yield* opened(options)
        const slow: Array<string> = []
        const gate = yield* Deferred.make<void>()
        const reading = yield* Effect.forkScoped(
          Stream.runForEach(
            subscription.notifications,
            ({ method }) => Effect.andThen(Deferred.await(gate), Effect.sync(() => slow.push(method)))
          ),
          { startImmediately: true }
        )
        request.notify(toolsChanged, about(request.id))
        request.notify(toolsChanged, about(request.id))
        closing(request)
        yield* Scripted.settled
        assert.deepStrictEqual(states.at(-1), { _tag: "Closed", cause: "graceful", error: undefined })
        assert.strictEqual(slow.length, 0)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(reading)
        assert.strictEqual(slow.length, 2)
        yield* advance("60 seconds")
        assert.strictEqual(listens(server).length, 1)
        assert.deepStrictEqual(server.sentOf("notifications/cancelled"), [])
      }
      // Without a word before it, too.
      const { states, subscription } = yield* opened(http, undefined, closing)
      assert.deepStrictEqual(tags(states), ["graceful"])
      assert.isUndefined(yield* subscription.acknowledged)
    })
  )

  verifies(
    ["SUB-14", "SUB-15"],
    "is a failure when the answer is an error or nothing that a client can understand",
    Effect.fnUntraced(function*() {
      const cases: ReadonlyArray<readonly [(request: Scripted.Received) => void, string]> = [
        [(request) => request.error(-32603, "went wrong"), "ServerError"],
        [(request) => request.result({ resultType: "vendor" }), "MalformedMessage"],
        [(request) => request.result({ resultType: 1 }), "MalformedMessage"],
        [
          (request) => request.result({ resultType: "input_required", inputRequests: {}, requestState: "s" }),
          "MalformedMessage"
        ],
        [(request) => request.malformed({ result: 42 }), "MalformedMessage"],
        [(request) => request.malformed({ result: null }), "MalformedMessage"]
      ]
      for (const options of [http, stdio]) {
        for (const [answer, tag] of cases) {
          const { request, states, server } = yield* opened(options)
          answer(request)
          yield* Scripted.settled
          assert.deepStrictEqual([tags(states).at(-1), errorOf(states)?._tag], ["failed", tag])
          yield* advance("60 seconds")
          assert.strictEqual(listens(server).length, 1)
        }
      }
    })
  )

  verifies(
    ["SUB-06", "SUB-17", "SUB-27", "SUB-36"],
    "by the client closes the stream over HTTP, and is told by its id on a shared channel",
    Effect.fnUntraced(function*() {
      for (const options of [http, stdio]) {
        for (const how of ["close", "scope"]) {
          const { heard, request, scope, server, states, subscription } = yield* opened(options)
          if (how === "close") yield* subscription.close
          else yield* Scope.close(scope, Exit.void)
          yield* Scripted.settled
          assert.deepStrictEqual(states.at(-1), { _tag: "Closed", cause: "byClient", error: undefined })
          const told = server.sentOf("notifications/cancelled").map(({ content }) => content)
          if (options === http) assert.deepStrictEqual([server.streamsClosed, told], [[request.id], []])
          else assert.deepStrictEqual(told, [{ requestId: request.id }])
          // The end of the stream is no failure, and nothing follows it.
          request.notify(toolsChanged, about(request.id))
          yield* Stream.runDrain(subscription.notifications)
          yield* advance("60 seconds")
          assert.strictEqual(heard.length, 0)
          assert.strictEqual(listens(server).length, 1)
          yield* subscription.close
          assert.strictEqual(server.sentOf("notifications/cancelled").length, told.length)
        }
      }
    })
  )

  verifies(
    ["SUB-17", "SUB-18", "SUB-27"],
    "by the client comes before any other request, whether it waits to be opened again or is being opened",
    Effect.fnUntraced(function*() {
      const { request, server, states, subscription } = yield* opened(http)
      request.fail(dropped)
      yield* Scripted.settled
      assert.deepStrictEqual(tags(states), ["Active", "Reconnecting"])
      yield* subscription.close
      yield* advance("60 seconds")
      assert.strictEqual(listens(server).length, 1)
      assert.strictEqual(tags(states).at(-1), "byClient")
      // A connection that is being opened brings no request either.
      const gate = yield* Deferred.make<void>()
      const slow = yield* Scripted.modern({ [method]: acknowledging }, {
        ...stdio,
        connect: () => Deferred.await(gate)
      })
      const lazy = yield* connect(slow, { lazy: true })
      const listening = yield* Effect.forkScoped(Effect.scoped(lazy.listen({ toolsListChanged: true })), {
        startImmediately: true
      })
      yield* Fiber.interrupt(listening)
      yield* Deferred.succeed(gate, undefined)
      yield* Scripted.settled
      assert.deepStrictEqual(listens(slow), [])
      // One that has not left yet is taken back, and nothing is said of it.
      const sent = slow.sent.length
      const leaving = yield* Effect.forkScoped(Effect.scoped(lazy.listen({ toolsListChanged: true })), {
        startImmediately: true
      })
      yield* Fiber.interrupt(leaving)
      yield* Scripted.settled
      assert.strictEqual(slow.sent.length, sent)
    })
  )

  verifies(
    "SUB-17",
    "comes with that of the client",
    Effect.fnUntraced(function*() {
      for (const options of [http, stdio]) {
        const server = yield* Scripted.modern({ [method]: acknowledging }, options)
        const clientScope = yield* Scope.make()
        const client = yield* Scope.provide(connect(server), clientScope)
        const subscription = yield* client.listen({ toolsListChanged: true })
        const states = yield* collect(subscription.state)
        yield* Scope.close(clientScope, Exit.void)
        yield* Stream.runDrain(subscription.notifications)
        yield* advance("60 seconds")
        assert.strictEqual(tags(states).at(-1), "byClient")
        assert.strictEqual(server.links.length, 1)
      }
    })
  )

  verifies(
    ["SUB-17", "SUB-36"],
    "before the acknowledgment fails whoever waits for it",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.modern({ [method]: never }, stdio)
      const clientScope = yield* Scope.make()
      const client = yield* Scope.provide(connect(server), clientScope)
      const waiting = yield* Effect.forkScoped(Effect.flip(client.listen({ toolsListChanged: true })))
      const request = yield* server.take(method)
      yield* client.cancel(request.id, "enough")
      assert.deepInclude((yield* Fiber.join(waiting)).reason, { _tag: "Cancelled", reason: "enough" })
      const another = yield* Effect.forkScoped(Effect.flip(client.listen({ toolsListChanged: true })))
      yield* server.take(method)
      yield* Scope.close(clientScope, Exit.void)
      assert.strictEqual((yield* Fiber.join(another)).reason._tag, "ConnectionClosed")
      const late = yield* Effect.flip(Effect.scoped(client.listen({ toolsListChanged: true })))
      assert.strictEqual(late.reason._tag, "ConnectionClosed")
    })
  )

  verifies(
    "SUB-36",
    "by `cancel` of its id is one by the client",
    Effect.fnUntraced(function*() {
      for (const options of [http, stdio]) {
        const { client, request, server, states, subscription } = yield* opened(options)
        const [state] = states
        assert.deepStrictEqual(state, { _tag: "Active", id: request.id })
        yield* client.cancel(request.id, "enough")
        yield* Stream.runDrain(subscription.notifications)
        assert.strictEqual(tags(states).at(-1), "byClient")
        yield* advance("60 seconds")
        assert.strictEqual(listens(server).length, 1)
      }
    })
  )

  verifies(
    "SUB-15",
    "over HTTP is what a cancellation on its own stream means, too",
    Effect.fnUntraced(function*() {
      const { request, server, states } = yield* opened(http)
      request.notify("notifications/cancelled", { requestId: String(request.id) })
      yield* Scripted.settled
      assert.deepStrictEqual(tags(states), ["Active"])
      request.notify("notifications/cancelled", { requestId: request.id })
      yield* advance("60 seconds")
      assert.deepStrictEqual([tags(states).at(-1), errorOf(states)?._tag], ["failed", "StreamEnded"])
      assert.strictEqual(listens(server).length, 1)
    })
  )
})

describe("The notifications of a subscription", () => {
  verifies(
    ["QUE-01", "NOT-13", "NOT-14"],
    "are read on fibers of their own, which may make requests and may be stuck",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.modern({
        [method]: acknowledging,
        "tools/list": Scripted.answer({ tools: [], resultType: "complete", ttlMs: 0, cacheScope: "private" })
      }, stdio)
      const client = yield* connect(server)
      const subscription = yield* client.listen({ toolsListChanged: true })
      const request = yield* server.take(method)
      const lists: Array<number> = []
      yield* Effect.forkScoped(
        Stream.runForEach(
          subscription.notifications,
          () => Effect.map(client.listTools(), (tools) => lists.push(tools.length))
        ),
        { startImmediately: true }
      )
      yield* Effect.forkScoped(
        Stream.runForEach(subscription.notifications, () => Effect.never),
        { startImmediately: true }
      )
      yield* Effect.forkScoped(Stream.runForEach(client.notifications, () => Effect.never), { startImmediately: true })
      yield* Scripted.settled
      request.notify(toolsChanged, about(request.id))
      // Whoever tells runs nothing of it.
      assert.strictEqual(server.sentOf("tools/list").length, 0)
      request.notify(toolsChanged, about(request.id))
      yield* Scripted.settled
      assert.deepStrictEqual(lists, [0, 0])
    })
  )

  verifies(
    ["PAIN-63", "NOT-08", "QUE-11"],
    "reach everybody who reads them, and one that fails takes nobody along",
    Effect.fnUntraced(function*() {
      const { heard, request, subscription } = yield* opened(stdio)
      const failing = yield* Effect.forkScoped(
        Effect.exit(Stream.runForEach(subscription.notifications, () => Effect.die("a defect of the host"))),
        { startImmediately: true }
      )
      yield* Scripted.settled
      request.notify(toolsChanged, about(request.id))
      assert.isTrue(Exit.hasDies(yield* Fiber.join(failing)))
      request.notify(toolsChanged, about(request.id))
      yield* Scripted.settled
      assert.strictEqual(heard.length, 2)
    })
  )

  verifies(
    ["QUE-01", "QUE-10"],
    "wait for the first reader, and what one leaves waits for the next",
    Effect.fnUntraced(function*() {
      const server = yield* Scripted.modern({ [method]: acknowledging }, stdio)
      const client = yield* connect(server)
      const subscription = yield* client.listen({ resourceSubscriptions: ["a:b"] })
      const request = yield* server.take(method)
      const tell = (n: number) => request.notify(resourceUpdated, about(request.id, { uri: `a:${n}` }))
      for (let n = 1; n <= 3; n++) tell(n)
      const bytes = JSON.stringify(about(request.id, { uri: "a:1" })).length + resourceUpdated.length
      assert.deepStrictEqual([yield* subscription.pending, yield* subscription.pendingBytes], [3, 3 * bytes])
      const urisOf = (notifications: Iterable<Envelope.Notification>) =>
        Array.from(notifications, ({ params }) => params?.["uri"])
      const first = yield* Stream.runCollect(Stream.take(subscription.notifications, 2))
      tell(4)
      const second = yield* Stream.runCollect(Stream.take(subscription.notifications, 2))
      assert.deepStrictEqual([urisOf(first), urisOf(second)], [["a:1", "a:2"], ["a:3", "a:4"]])
      assert.deepStrictEqual(
        [yield* subscription.pending, yield* subscription.pendingBytes, yield* subscription.dropped],
        [0, 0, 0]
      )
    })
  )

  verifies(
    ["QUE-10", "QUE-12"],
    "that a slow reader loses are counted, told once, and no loss to others",
    Effect.fnUntraced(function*() {
      const { client, heard, request, subscription } = yield* opened(stdio)
      const diagnostics = yield* collect(client.diagnostics)
      let isStuck = true
      const release = yield* Deferred.make<void>()
      const slow: Array<unknown> = []
      yield* Effect.forkScoped(
        Stream.runForEach(
          subscription.notifications,
          ({ params }) =>
            Effect.andThen(
              isStuck ? Deferred.await(release) : Effect.void,
              Effect.sync(() => slow.push(params?.["uri"]))
            )
        ),
        { startImmediately: true }
      )
      yield* Scripted.settled
      request.notify(resourceUpdated, about(request.id, { uri: "a:quiet" }))
      yield* Scripted.settled
      for (let round = 0; round < 3; round++) {
        request.notify(resourceUpdated, about(request.id, { uri: `a:only ${round}` }))
        for (let index = 0; index < 1_000; index++) {
          request.notify(resourceUpdated, about(request.id, { uri: "a:busy" }))
        }
        yield* Scripted.settled
      }
      // One is being worked on, 1,024 wait.
      assert.deepStrictEqual([yield* subscription.pending, yield* subscription.dropped], [1_024, 3_003 - 1_024])
      assert.deepStrictEqual(diagnostics.filter(({ _tag }) => _tag === "MessagesDropped"), [
        { _tag: "MessagesDropped", stream: "subscription", dropped: 1 }
      ])
      assert.strictEqual(heard.length, 3_004)
      isStuck = false
      yield* Deferred.succeed(release, undefined)
      yield* Scripted.settled
      for (const uri of ["a:quiet", "a:only 0", "a:only 1", "a:only 2"]) assert.include(slow, uri)
    })
  )
})

describe("A notification", () => {
  verifies(
    ["NOT-01", "NOT-02", "NOT-03", "NOT-12"],
    "reaches the subscription, then the cache, then the readers, then the application",
    Effect.fnUntraced(function*() {
      let version = 0
      const server = yield* Scripted.modern({
        [method]: acknowledging,
        "tools/list": (request) =>
          request.result({
            resultType: "complete",
            tools: [{ name: String(++version), inputSchema: { type: "object" } }],
            ttlMs: 1_000_000,
            cacheScope: "public"
          })
      }, stdio)
      const client = yield* connect(server)
      const subscription = yield* client.listen({ toolsListChanged: true })
      const request = yield* server.take(method)
      const names = Effect.map(client.listTools(), (tools) => tools.map(({ name }) => name).join())
      assert.deepStrictEqual([yield* names, yield* names], ["1", "1"])
      const order: Array<string> = []
      const listed = (reader: string) => Effect.map(names, (list) => order.push(`${reader} ${list}`))
      yield* Effect.forkScoped(
        Stream.runForEach(client.notifications, () => Effect.sync(() => order.push("application"))),
        { startImmediately: true }
      )
      yield* Effect.forkScoped(Stream.runForEach(subscription.notifications, () => listed("reader")), {
        startImmediately: true
      })
      yield* Scripted.settled
      request.notify(toolsChanged, about(request.id))
      yield* Scripted.settled
      assert.sameMembers(order, ["application", "reader 2"])
    })
  )

  verifies(
    "NOT-07",
    "that an application changes is neither lost to others nor given to the wrong ones",
    Effect.fnUntraced(function*() {
      const { client, heard, request, states } = yield* opened(stdio)
      yield* Effect.forkScoped(
        Stream.runForEach(client.notifications, (notification) =>
          Effect.sync(() => {
            Object.assign(notification, { method: "notifications/cancelled", params: { requestId: request.id } })
            throw new Error("a fault of the application")
          })),
        { startImmediately: true }
      )
      yield* Scripted.settled
      request.notify(toolsChanged, about(request.id))
      request.notify(toolsChanged, about(request.id))
      yield* Scripted.settled
      assert.strictEqual(heard.length, 2)
      assert.deepStrictEqual(tags(states), ["Active"])
    })
  )
})

describe("What is not said", () => {
  verifies(
    "NOT-11",
    "is that a handshake is done or that roots have changed, to a server of a revision without either",
    Effect.fnUntraced(function*() {
      const removed = ["notifications/initialized", "notifications/roots/list_changed"]
      const modern = yield* Scripted.modern()
      const legacy = yield* Scripted.legacy()
      for (const server of [modern, legacy]) {
        const client = yield* connect(server)
        for (const method of [...removed, "notifications/vendor"]) yield* client.notify(method)
        yield* Scripted.settled
      }
      const toModern = modern.methods().filter((method) => method?.startsWith("notifications/"))
      assert.deepStrictEqual(toModern, ["notifications/vendor"])
      // One of its own, and three of the application.
      const toLegacy = legacy.methods().filter((method) => method?.startsWith("notifications/"))
      assert.deepStrictEqual(toLegacy, ["notifications/initialized", ...removed, "notifications/vendor"])
    })
  )
})

describe("A list that is found to have changed", () => {
  verifies(
    "NOT-06",
    "is invalidated before anybody hears of it, as if its server had said so",
    Effect.fnUntraced(function*() {
      let version = 0
      let isOutdated = true
      const server = yield* Scripted.modern({
        "tools/list": (request) =>
          request.result({
            resultType: "complete",
            tools: [{ name: "echo", title: String(++version), inputSchema: { type: "object" } }],
            ttlMs: 1_000_000,
            cacheScope: "public"
          }),
        "tools/call": (request) => {
          if (isOutdated) request.error(-32020, "the headers differ", undefined, 400)
          else request.result({ resultType: "complete", content: [] })
          isOutdated = false
        }
      }, http)
      const client = yield* connect(server)
      const titles = Effect.map(client.listTools(), ([tool]) => tool?.title)
      assert.strictEqual(yield* titles, "1")
      const heard = yield* collect(
        Stream.mapEffect(client.notifications, ({ method }) => Effect.map(titles, (title) => [method, title]))
      )
      yield* client.callTool("echo")
      yield* Scripted.settled
      assert.deepStrictEqual(heard, [[toolsChanged, "2"]])
    })
  )
})

describe("What the routes of notifications are", () => {
  const notification = (params?: Json.JsonObject): Envelope.Notification => ({
    _tag: "Notification",
    method: toolsChanged,
    params
  })

  const route = (given: Envelope.Notification, id: Envelope.RequestId | undefined) => {
    const steps: Array<string> = []
    const router = new NotificationRouter({
      publish: () => steps.push("publish"),
      onUnowned: () => steps.push("unowned")
    })
    router.onInvalidate(() => steps.push("invalidate"))
    const stop = router.onInvalidate(() => steps.push("stopped"))
    stop()
    const subscriber = {
      accept: () => steps.push("accept") > 0,
      deliver: () => void steps.push("deliver")
    }
    router.route(given, id === undefined ? undefined : { id, subscriber } as never)
    return steps
  }

  verifiesPure(
    ["NOT-01", "NOT-05", "NOT-09", "NOT-12"],
    "one order, and nothing to a subscription of another id",
    () => {
      const owned = ["accept", "invalidate", "deliver", "publish"]
      assert.deepStrictEqual(route(notification(about(1)), 1), owned)
      assert.deepStrictEqual(route(notification(), 1), owned)
      const unowned = ["unowned", "invalidate", "publish"]
      for (const id of [2, "1", undefined]) assert.deepStrictEqual(route(notification(about(1)), id), unowned)
      assert.deepStrictEqual(route(notification(), undefined), ["invalidate", "publish"])
    }
  )
})
