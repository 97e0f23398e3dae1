/**
 * What every transport has to do, as cases that any test runner can run. Whoever writes a transport runs them on it.
 *
 * The peer of each case is a `PeerScript`; a `Harness` says how to put one at the other end of the transport.
 *
 * **Example** (Running the contract)
 *
 * ```ts
 * import { TransportContract } from "@mcp-effect/transport"
 * import { Effect } from "effect"
 *
 * declare const harness: TransportContract.Harness
 * declare const test: (title: string, body: () => Promise<void>) => void
 *
 * for (const { run, title } of TransportContract.cases(harness)) {
 *   test(title, () => Effect.runPromise(run))
 * }
 * ```
 *
 * @since 0.1.0
 */
import type { Diagnostic, Envelope, Json, McpError, Revision } from "@mcp-effect/protocol"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Report, Script } from "./PeerScript.ts"
import type { Cancel, Connection, Exchange, Inbound, Outgoing, Transport } from "./Transport.ts"

/**
 * How to run the contract on one transport.
 *
 * @category models
 * @since 0.1.0
 */
export interface Harness {
  /** The revision that every message travels under. */
  readonly revision: Revision.Facts
  /**
   * Every request shares one channel: what breaks it off ends them all. Otherwise each has a stream of its own, which
   * ends alone.
   */
  readonly sharedChannel: boolean
  /** Messages over `maxMessageBytes` are refused. */
  readonly limitsMessages: boolean
  /** Makes a transport whose every connection reaches a peer that follows the script. */
  readonly make: (
    script: Script,
    options: { readonly maxMessageBytes: number }
  ) => Effect.Effect<Transport["Service"], unknown, Scope.Scope>
}

/**
 * One case. `run` fails with what is wrong; it needs the real clock.
 *
 * @category models
 * @since 0.1.0
 */
export interface Case {
  readonly title: string
  readonly run: Effect.Effect<void, unknown>
}

/**
 * The transport does not do what it has to.
 *
 * @category errors
 * @since 0.1.0
 */
export class ContractViolation extends Data.TaggedError("ContractViolation")<{ readonly message: string }> {}

// Bounds a case that hangs; generous, since machines under load are slow.
const caseMillis = 30_000

const maxMessageBytes = 256 * 1024

// One count for all connections of a run: a peer that serves several of them can tell their requests apart.
let nextId = 1

type Incoming = Envelope.Request | Envelope.Notification

type Settled =
  | { readonly _tag: "Response"; readonly response: Envelope.Response }
  | { readonly _tag: "Failure"; readonly error: McpError.McpError }

interface Call {
  readonly id: Envelope.RequestId
  readonly cancel: Cancel
  readonly messages: ReadonlyArray<Incoming>
  readonly settlements: ReadonlyArray<Settled>
  readonly settled: Effect.Effect<Settled>
}

interface CallOptions {
  readonly id?: Envelope.RequestId
  readonly params?: Json.JsonObject
  readonly onAbandon?: Outgoing["onAbandon"]
  readonly onMessage?: () => void
  readonly onSettled?: () => void
}

interface Client {
  readonly transport: Transport["Service"]
  readonly connection: Connection
  readonly inbound: ReadonlyArray<Incoming>
  readonly diagnostics: ReadonlyArray<Diagnostic.Diagnostic>
  readonly open: (method: string, options?: CallOptions) => Effect.Effect<Call>
  readonly result: (method: string, params?: Json.JsonObject) => Effect.Effect<Json.JsonObject, ContractViolation>
}

const violation = (message: string) => new ContractViolation({ message })

const expect = (condition: boolean, message: string): Effect.Effect<void, ContractViolation> =>
  condition ? Effect.void : Effect.fail(violation(message))

const show = (value: unknown): string => JSON.stringify(value) ?? String(value)

const expectEqual = (actual: unknown, expected: unknown, what: string): Effect.Effect<void, ContractViolation> =>
  expect(show(actual) === show(expected), `${what}: expected ${show(expected)}, got ${show(actual)}`)

const encode = (id: Envelope.RequestId, method: string, params: Json.JsonObject): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: { progressToken: id } } })

const connect = (
  transport: Transport["Service"],
  revision: Revision.Facts
): Effect.Effect<Client, McpError.McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const inboundMessages: Array<Incoming> = []
    const diagnostics: Array<Diagnostic.Diagnostic> = []
    const inbound: Inbound = {
      onMessage: (message) => {
        inboundMessages.push(message)
      },
      onDiagnostic: (diagnostic) => {
        diagnostics.push(diagnostic)
      }
    }
    const connection = yield* transport.connect(inbound)
    const context = yield* Effect.context<never>()

    const open: Client["open"] = (method, options = {}) =>
      Effect.sync(() => {
        const id = options.id ?? nextId++
        const messages: Array<Incoming> = []
        const settlements: Array<Settled> = []
        const first = Deferred.makeUnsafe<Settled>()
        const settle = (settled: Settled): void => {
          settlements.push(settled)
          try {
            options.onSettled?.()
          } finally {
            // Who waits for it goes on at once, within this call.
            Deferred.doneUnsafe(first, Effect.succeed(settled))
          }
        }
        const exchange: Exchange = {
          onMessage: (message) => {
            messages.push(message)
            options.onMessage?.()
          },
          onActivity: () => {},
          onResponse: (response) => settle({ _tag: "Response", response }),
          onFailure: (error) => settle({ _tag: "Failure", error })
        }
        const cancel = connection.open(
          {
            id,
            method,
            text: encode(id, method, options.params ?? {}),
            revision,
            routing: undefined,
            onAbandon: options.onAbandon ?? "cancel"
          },
          exchange,
          context
        )
        return { id, cancel, messages, settlements, settled: Deferred.await(first) }
      })

    const result: Client["result"] = (method, params = {}) =>
      Effect.gen(function*() {
        const call = yield* open(method, { params })
        const settled = yield* call.settled
        if (settled._tag === "Failure") return yield* violation(`${method} failed: ${settled.error.message}`)
        const { outcome } = settled.response
        return outcome._tag === "Result"
          ? outcome.result
          : yield* violation(`${method} was answered with ${show(outcome)}`)
      })

    return { transport, connection, inbound: inboundMessages, diagnostics, open, result }
  })

const report = (client: Client, method: string): Effect.Effect<Report, ContractViolation> =>
  Effect.map(client.result(method), (result) => ({
    received: result["received"] as Report["received"],
    cancelled: result["cancelled"] as Report["cancelled"]
  }))

const expectFailure = (settled: Settled, what: string): Effect.Effect<McpError.McpError, ContractViolation> =>
  settled._tag === "Failure"
    ? Effect.succeed(settled.error)
    : Effect.fail(violation(`${what}: expected a failure, got the response ${show(settled.response)}`))

/**
 * The cases that apply to a transport.
 *
 * @category constructors
 * @since 0.1.0
 */
export const cases = (harness: Harness): ReadonlyArray<Case> => {
  const withTransport = (
    title: string,
    script: Script,
    body: (transport: Transport["Service"]) => Effect.Effect<void, unknown, Scope.Scope>
  ): Case => ({
    title,
    run: harness.make(script, { maxMessageBytes }).pipe(
      Effect.flatMap(body),
      Effect.scoped,
      Effect.timeoutOrElse({
        duration: caseMillis,
        orElse: () => Effect.fail(violation(`nothing more happened for ${caseMillis} ms`))
      })
    )
  })

  const withClient = (
    title: string,
    script: Script,
    body: (client: Client) => Effect.Effect<void, unknown, Scope.Scope>
  ): Case => withTransport(title, script, (transport) => Effect.flatMap(connect(transport, harness.revision), body))

  const all: ReadonlyArray<Case> = [
    withClient(
      "answers a request with its result, once",
      { echo: [{ do: "echo" }] },
      (client) =>
        Effect.gen(function*() {
          const call = yield* client.open("echo", { params: { text: "a \u2028 b \u{1f600} \\n" } })
          const settled = yield* call.settled
          if (settled._tag === "Failure") return yield* violation(`the request failed: ${settled.error.message}`)
          const { outcome } = settled.response
          yield* expectEqual(
            outcome._tag === "Result" && outcome.result["text"],
            "a \u2028 b \u{1f600} \\n",
            "the echo"
          )
          yield* expectEqual(settled.response.id, call.id, "the id")
          yield* client.result("echo")
          yield* expectEqual(call.settlements.length, 1, "settlements")
        })
    ),

    withClient(
      "hands over an error as the answer",
      { fail: [{ do: "error", code: -32602, message: "Bad", data: { field: "x" } }] },
      (client) =>
        Effect.gen(function*() {
          const settled = yield* (yield* client.open("fail")).settled
          yield* expectEqual(
            settled._tag === "Response" && settled.response.outcome,
            { _tag: "Error", error: { code: -32602, message: "Bad", data: { field: "x" } } },
            "the outcome"
          )
        })
    ),

    ...[
      ["a result that is a string", "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":\"done\"}"],
      ["an error that is a string", "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"error\":\"oops\"}"],
      ["an error without a code", "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"error\":{\"message\":\"oops\"}}"],
      ["neither result nor error", "{\"jsonrpc\":\"2.0\",\"id\":\"$id\"}"],
      ["a result that is null", "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":null}"]
    ].map(([what, text = ""]) =>
      withClient(
        `settles a request whose answer is malformed: ${what}`,
        { broken: [{ do: "text", text }], echo: [{ do: "echo" }] },
        (client) =>
          Effect.gen(function*() {
            const settled = yield* (yield* client.open("broken")).settled
            yield* expect(
              settled._tag === "Response"
                ? settled.response.outcome._tag === "Malformed"
                : settled.error.reason._tag === "MalformedMessage",
              `expected a malformed outcome, got ${show(settled)}`
            )
            yield* client.result("echo")
          })
      )
    ),

    withClient("keeps a number and a string of the same digits apart as ids", {
      slow: [{ do: "until", method: "fast" }, { do: "result", result: { which: "number" } }],
      fast: [{ do: "result", result: { which: "string" } }]
    }, (client) =>
      Effect.gen(function*() {
        const number = yield* client.open("slow", { id: 7_000_007 })
        const string = yield* client.open("fast", { id: "7000007" })
        const settled = [yield* number.settled, yield* string.settled]
        yield* expectEqual(
          settled.map((one) =>
            one._tag === "Response" && one.response.outcome._tag === "Result" && one.response.outcome.result["which"]
          ),
          ["number", "string"],
          "the answers"
        )
      })),

    withClient(
      "serves many requests at once, each with its own answer",
      { echo: [{ do: "echo" }] },
      (client) =>
        Effect.gen(function*() {
          const numbers = Array.from({ length: 40 }, (_, index) => index)
          const results = yield* Effect.forEach(numbers, (number) => client.result("echo", { number }), {
            concurrency: "unbounded"
          })
          yield* expectEqual(results.map((result) => result["number"]), numbers, "the answers")
        })
    ),

    withClient("carries a payload of 100 kB both ways", { echo: [{ do: "echo" }] }, (client) =>
      Effect.gen(function*() {
        const text = "é😀x".repeat(14_000)
        const result = yield* client.result("echo", { text })
        yield* expect(result["text"] === text, "the payload came back changed")
      })),

    withClient("delivers progress to its request, in order, before the answer", {
      work: [
        { do: "progress", progress: 1 },
        { do: "progress", progress: 2 },
        { do: "progress", progress: 3 },
        { do: "result", result: {} }
      ]
    }, (client) =>
      Effect.gen(function*() {
        const settledAfter: Array<number> = []
        const call: Call = yield* client.open("work", {
          onSettled: () => {
            settledAfter.push(call.messages.length)
          }
        })
        yield* call.settled
        yield* expectEqual(
          call.messages.map((message) => message.params?.["progress"]),
          [1, 2, 3],
          "the progress"
        )
        yield* expectEqual(settledAfter, [3], "messages before the answer")
      })),

    withClient("delivers a notification that names no request, once", {
      work: [
        { do: "notify", method: "notifications/tools/list_changed", params: {} },
        { do: "result", result: {} }
      ]
    }, (client) =>
      Effect.gen(function*() {
        const call = yield* client.open("work")
        yield* call.settled
        yield* expectEqual(
          [...client.inbound, ...call.messages].map(({ method }) => method),
          ["notifications/tools/list_changed"],
          "the notifications"
        )
      })),

    withClient("sends a notification", { report: [{ do: "report" }] }, (client) =>
      Effect.gen(function*() {
        yield* client.connection.send(
          { _tag: "Notification", method: "notifications/roots/list_changed", params: { from: "contract" } },
          harness.revision
        )
        const { received } = yield* report(client, "report")
        yield* expectEqual(
          received.find(({ method }) => method === "notifications/roots/list_changed")?.params,
          { from: "contract" },
          "its params as received"
        )
      })),

    withClient("a cancel reaches the peer and ends every callback; cancelling again does nothing", {
      work: [{ do: "until-cancelled" }, { do: "progress", progress: 1 }, { do: "result", result: {} }],
      "report-cancelled": [{ do: "until-cancelled" }, { do: "report" }],
      echo: [{ do: "echo" }]
    }, (client) =>
      Effect.gen(function*() {
        const call = yield* client.open("work")
        // An answer proves that what was sent before it has arrived on a shared channel.
        yield* client.result("echo")
        call.cancel("no longer needed")
        call.cancel(undefined)
        const { cancelled } = yield* report(client, "report-cancelled")
        yield* expectEqual(cancelled, [call.id], "what the peer knows as cancelled")
        yield* client.result("echo")
        yield* expectEqual([call.messages.length, call.settlements.length], [0, 0], "callbacks after the cancel")
      })),

    withClient("a cancel after the answer does nothing", {
      echo: [{ do: "echo" }],
      report: [{ do: "report" }]
    }, (client) =>
      Effect.gen(function*() {
        const call = yield* client.open("echo")
        yield* call.settled
        call.cancel("too late")
        const { cancelled } = yield* report(client, "report")
        yield* expectEqual(cancelled, [], "what the peer knows as cancelled")
        yield* expectEqual(call.settlements.length, 1, "settlements")
      })),

    withClient(
      "survives a callback that throws",
      { work: [{ do: "progress", progress: 1 }, { do: "result", result: {} }], echo: [{ do: "echo" }] },
      (client) =>
        Effect.gen(function*() {
          const fault = () => {
            throw new Error("a defect in a callback")
          }
          const call = yield* client.open("work", { onMessage: fault, onSettled: fault })
          yield* call.settled
          yield* client.result("echo")
          yield* expectEqual([call.messages.length, call.settlements.length], [1, 1], "callbacks")
        })
    ),

    withTransport("closing the scope fails what is pending and ends the connection", {
      work: [{ do: "never" }],
      echo: [{ do: "echo" }]
    }, (transport) =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(connect(transport, harness.revision), scope)
        const call = yield* client.open("work")
        yield* client.result("echo")
        yield* Scope.close(scope, Exit.void)
        const error = yield* expectFailure(yield* call.settled, "the pending request")
        yield* expectEqual(
          [error.reason._tag, error.reason._tag === "ConnectionClosed" && error.reason.local, error.delivery],
          ["ConnectionClosed", true, "unknown"],
          "its failure"
        )
        yield* expectEqual((yield* client.connection.closed).reason._tag, "ConnectionClosed", "closed")
        const late = yield* expectFailure(yield* (yield* client.open("echo")).settled, "a request after the end")
        yield* expectEqual(late.delivery, "unsent", "the delivery of a request after the end")
        const notification = yield* Effect.flip(
          client.connection.send({ _tag: "Notification", method: "notifications/x", params: {} }, harness.revision)
        )
        yield* expectEqual(notification.delivery, "unsent", "the delivery of a notification after the end")
        yield* expectEqual(call.settlements.length, 1, "settlements")
      })),

    withTransport("a callback may close the scope", {
      first: [{ do: "until", method: "second" }, { do: "result", result: {} }],
      second: [{ do: "never" }]
    }, (transport) =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const client = yield* Scope.provide(connect(transport, harness.revision), scope)
        const ended = yield* Deferred.make<void>()
        const fork = Effect.runForkWith(yield* Effect.context<never>())
        yield* client.open("first", {
          onSettled: () => {
            fork(Effect.ensuring(Scope.close(scope, Exit.void), Deferred.succeed(ended, undefined)))
          }
        })
        const second = yield* client.open("second")
        const error = yield* expectFailure(yield* second.settled, "the other request")
        yield* expectEqual(error.reason._tag, "ConnectionClosed", "its failure")
        yield* Deferred.await(ended)
        yield* expectEqual(second.settlements.length, 1, "settlements")
      })),

    withTransport(
      "each connect opens a connection of its own",
      { echo: [{ do: "echo" }] },
      (transport) =>
        Effect.gen(function*() {
          const scope = yield* Scope.make()
          const first = yield* Scope.provide(connect(transport, harness.revision), scope)
          const second = yield* connect(transport, harness.revision)
          yield* first.result("echo")
          yield* second.result("echo")
          yield* Scope.close(scope, Exit.void)
          yield* second.result("echo")
          const late = yield* expectFailure(yield* (yield* first.open("echo")).settled, "a request on the closed one")
          yield* expectEqual(late.delivery, "unsent", "its delivery")
        })
    ),

    withClient("a peer that breaks off fails its request, once, with unknown delivery", {
      work: [{ do: "progress", progress: 1 }, { do: "disconnect" }],
      other: [{ do: "never" }]
    }, (client) =>
      Effect.gen(function*() {
        const other = yield* client.open("other")
        const call = yield* client.open("work")
        const error = yield* expectFailure(yield* call.settled, "the request")
        yield* expect(
          ["ConnectionClosed", "ConnectionFailed", "StreamEnded"].includes(error.reason._tag),
          `expected a reason of the connection, got ${error.reason._tag}`
        )
        yield* expectEqual(error.delivery, "unknown", "its delivery")
        if (harness.sharedChannel) {
          yield* expectFailure(yield* other.settled, "the other request")
          yield* expectEqual((yield* client.connection.closed).reason._tag, "ConnectionClosed", "closed")
        }
        yield* expectEqual(call.settlements.length, 1, "settlements")
      }))
  ]

  const ofSharedChannel: ReadonlyArray<Case> = [
    withClient("delivers what was written just before the end, then fails the rest", {
      "last-words": [{ do: "result", result: { last: true } }, { do: "disconnect" }],
      other: [{ do: "never" }]
    }, (client) =>
      Effect.gen(function*() {
        const other = yield* client.open("other")
        yield* expectEqual(yield* client.result("last-words"), { last: true }, "the last words")
        yield* expectFailure(yield* other.settled, "the other request")
      }))
  ]

  const ofMessageLimit: ReadonlyArray<Case> = [
    withClient("a message over the limit fails its own request and leaves the connection standing", {
      large: [{ do: "large", bytes: maxMessageBytes + 1 }],
      echo: [{ do: "echo" }]
    }, (client) =>
      Effect.gen(function*() {
        const error = yield* expectFailure(yield* (yield* client.open("large")).settled, "the large answer")
        yield* expectEqual(error.reason._tag, "MessageTooLarge", "its failure")
        yield* client.result("echo")
      }))
  ]

  return [
    ...all,
    ...(harness.sharedChannel ? ofSharedChannel : []),
    ...(harness.limitsMessages ? ofMessageLimit : [])
  ]
}
