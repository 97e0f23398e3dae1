import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { Json } from "@mcp-effect/protocol"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { McpHandlers } from "../src/McpHandlers.ts"
import * as Asking from "./Asking.ts"
import * as Scripted from "./ScriptedTransport.ts"

const form: Json.JsonObject = {
  message: "Who are you?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } }
}

/** Somebody who takes their time. */
const slowly = (millis: number): McpHandlers => ({
  elicitation: { form: () => Effect.delay(Effect.succeed({ action: "decline" as const }), millis) }
})

/** Somebody who never answers, and what becomes of the question. */
const pondering = () => {
  const fates: Array<"asked" | "interrupted"> = []
  const handlers: McpHandlers = {
    elicitation: {
      form: () =>
        Effect.onInterrupt(
          Effect.andThen(Effect.sync(() => fates.push("asked")), Effect.never),
          () => Effect.sync(() => fates.push("interrupted"))
        )
    }
  }
  return { fates, handlers }
}

/** A call on a legacy server, during which the server asks. */
const asking = Effect.fnUntraced(function*(
  kind: string,
  handlers: McpHandlers,
  options?: Parameters<Asking.Client["callTool"]>[2]
) {
  const server = yield* Scripted.legacy({ "tools/call": Scripted.never }, { kind })
  const client = yield* Asking.connectQuietly(server, { handlers })
  const fiber = yield* Asking.start(client.callTool("work", {}, options))
  const call = yield* server.take("tools/call")
  call.ask("q", "elicitation/create", form)
  yield* Scripted.settled
  return { server, client, fiber, call }
})

const declined = Effect.succeed({ action: "decline" as const })

const kinds = ["stdio", "streamable-http"]

describe("Time in a handler", () => {
  verifies(
    "PAIN-4",
    "does not count as idle: 1.5 s of a person pass under an idle timeout of 1 s",
    () =>
      Effect.gen(function*() {
        for (const kind of kinds) {
          const { call, fiber, server } = yield* asking(kind, slowly(1_500), { idleTimeout: "1 second" })
          yield* TestClock.adjust("1500 millis")
          yield* server.until(() => server.replies().length === 1)
          // The silence of the server begins anew.
          yield* TestClock.adjust("900 millis")
          call.result(Asking.done)
          assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), Asking.done)
        }
      })
  )

  verifies("PAIN-4", "over, the silence of the server counts again", () =>
    Effect.gen(function*() {
      for (const kind of kinds) {
        const { fiber, server } = yield* asking(kind, slowly(1_500), { idleTimeout: "1 second" })
        yield* TestClock.adjust("1500 millis")
        yield* server.until(() => server.replies().length === 1)
        yield* TestClock.adjust("1 second")
        const { reason } = yield* Effect.flip(Fiber.join(fiber))
        assert.isTrue(reason._tag === "RequestTimeout" && reason.kind === "idle" && reason.millis === 1_000)
      }
    }))

  verifies("PAIN-4", "of several questions counts until the last is answered", () =>
    Effect.gen(function*() {
      for (const kind of kinds) {
        const handlers: McpHandlers = {
          elicitation: {
            form: ({ message }) => Effect.delay(Effect.succeed({ action: "cancel" as const }), Number(message))
          }
        }
        const { call, fiber, server } = yield* asking(kind, { ...handlers }, { idleTimeout: "1 second" })
        call.ask(1, "elicitation/create", { ...form, message: "1500" })
        call.ask(2, "elicitation/create", { ...form, message: "3000" })
        yield* TestClock.adjust("1500 millis")
        yield* server.until(() => server.replies().length === 2)
        yield* TestClock.adjust("1500 millis")
        yield* server.until(() => server.replies().length === 3)
        call.result(Asking.done)
        yield* Fiber.join(fiber)
      }
    }))

  verifies("PAIN-4", "counts towards the deadline, which interrupts it", () =>
    Effect.gen(function*() {
      for (const kind of kinds) {
        const { fates, handlers } = pondering()
        const { fiber, server } = yield* asking(kind, handlers, { deadline: "1 second", idleTimeout: "1 second" })
        yield* TestClock.adjust("1 second")
        const { reason } = yield* Effect.flip(Fiber.join(fiber))
        assert.isTrue(reason._tag === "RequestTimeout" && reason.kind === "deadline")
        yield* Scripted.settled
        assert.deepStrictEqual(fates, ["asked", "interrupted"])
        assert.strictEqual(server.sentOf("notifications/cancelled").length, 1)
      }
    }))

  verifies(
    "PAIN-4",
    "of a modern server is no time of a request, and counts towards the deadline",
    () =>
      Effect.gen(function*() {
        for (const [deadline, succeeds] of [["10 seconds", true], ["1 second", false]] as const) {
          const server = yield* Scripted.modern({
            "tools/call": Scripted.inTurn(
              Scripted.answer(Asking.inputRequired({ q: { method: "elicitation/create", params: form } })),
              Scripted.answer(Asking.done)
            )
          })
          const client = yield* Asking.connectQuietly(server, { handlers: slowly(1_500) })
          const fiber = yield* Asking.start(client.callTool("work", {}, { idleTimeout: "1 second", deadline }))
          yield* Scripted.settled
          yield* TestClock.adjust("1500 millis")
          const exit = yield* Fiber.await(fiber)
          assert.strictEqual(Exit.isSuccess(exit), succeeds)
        }
      })
  )
})

describe("A question of a legacy server", () => {
  verifies(
    ["ELI-06", "STD-18"],
    "on the stream of a call ends with that call: given up or answered",
    () =>
      Effect.gen(function*() {
        for (const end of ["interrupt", "answer", "error"]) {
          const { fates, handlers } = pondering()
          const { call, fiber, server } = yield* asking("streamable-http", handlers)
          if (end === "interrupt") yield* Fiber.interrupt(fiber)
          else if (end === "answer") call.result(Asking.done)
          else call.error(-32603)
          yield* Fiber.await(fiber)
          yield* Scripted.settled
          assert.deepStrictEqual(fates, ["asked", "interrupted"], end)
          assert.isEmpty(server.replies(), end)
        }
      })
  )

  verifies(
    ["ELI-06", "STD-18"],
    "on a shared channel ends when every call it can belong to is given up, with an error",
    () =>
      Effect.gen(function*() {
        const { fates, handlers } = pondering()
        const server = yield* Scripted.legacy({ "tools/call": Scripted.never }, { kind: "stdio" })
        const client = yield* Asking.connectQuietly(server, { handlers })
        const first = yield* Asking.start(client.callTool("first"))
        const second = yield* Asking.start(client.callTool("second"))
        yield* server.until(() => server.sentOf("tools/call").length === 2)
        server.links[0]?.ask("q", "elicitation/create", form)
        yield* Scripted.settled
        yield* Fiber.interrupt(first)
        yield* Scripted.settled
        assert.deepStrictEqual(fates, ["asked"])
        yield* Fiber.interrupt(second)
        yield* Scripted.settled
        assert.deepStrictEqual(fates, ["asked", "interrupted"])
        assert.deepStrictEqual(server.replies(), [
          { jsonrpc: "2.0", id: "q", error: { code: -32603, message: "Cancelled" } }
        ])
      })
  )

  verifies(["ELI-06", "STD-18"], "on a shared channel that may stand alone goes on", () =>
    Effect.gen(function*() {
      const answer = yield* Deferred.make<void>()
      const handlers: McpHandlers = { elicitation: { form: () => Effect.andThen(Deferred.await(answer), declined) } }
      const server = yield* Scripted.legacy({ "tools/call": Scripted.never }, { kind: "stdio" })
      const client = yield* Asking.connectQuietly(server, { handlers })
      // Asked while nothing is in flight, and while a call was that is answered then.
      server.links[0]?.ask("alone", "elicitation/create", form)
      const answered = yield* Asking.start(client.callTool("answered"))
      const call = yield* server.take("tools/call")
      server.links[0]?.ask("beside", "elicitation/create", form)
      const given = yield* Asking.start(client.callTool("given up"))
      call.result(Asking.done)
      yield* Fiber.join(answered)
      yield* Fiber.interrupt(given)
      yield* Scripted.settled
      assert.isEmpty(server.replies())
      yield* Deferred.succeed(answer, undefined)
      yield* server.until(() => server.replies().length === 2)
      assert.deepStrictEqual(server.replies().map((reply) => Json.objectMember(reply, "result")), [
        { action: "decline" },
        { action: "decline" }
      ])
    }))

  verifies(
    ["STD-18", "TMO-11"],
    "that the server takes back is interrupted and not answered; another goes on",
    () =>
      Effect.gen(function*() {
        for (const kind of kinds) {
          const { fates, handlers } = pondering()
          const { call, fiber, server } = yield* asking(kind, handlers)
          for (const requestId of ["unknown", 1, null, undefined, {}]) {
            call.notify("notifications/cancelled", { requestId })
          }
          yield* Scripted.settled
          assert.deepStrictEqual(fates, ["asked"])
          call.notify("notifications/cancelled", { requestId: "q", reason: "changed my mind" })
          yield* Scripted.settled
          assert.deepStrictEqual(fates, ["asked", "interrupted"])
          assert.isEmpty(server.replies())
          // Its place and its id are free again.
          call.ask("q", "ping")
          yield* server.until(() => server.replies().length === 1)
          call.result(Asking.done)
          yield* Fiber.join(fiber)
        }
      })
  )
})
