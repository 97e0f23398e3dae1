import { assert, describe } from "@effect/vitest"
import { verifies, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Metadata, type Roots } from "@mcp-effect/protocol"
import { Effect, Exit, Logger, References, SubscriptionRef } from "effect"
import type { ClientOptions } from "../src/ClientOptions.ts"
import * as Deprecations from "../src/Deprecations.ts"
import * as CapturedLogs from "./CapturedLogs.ts"
import * as Scripted from "./ScriptedTransport.ts"

/** The names of the features that a body gave notice of, as if the process had just begun. */
const noticesOf = <E, R>(body: Effect.Effect<unknown, E, R>): Effect.Effect<ReadonlyArray<string>, E, R> =>
  CapturedLogs.capture((lines) =>
    Effect.map(body, () => {
      const names = new Map(Deprecations.registry.map(({ feature, name }) => [name, feature]))
      return lines.flatMap(({ level, message }) => {
        const name = [...names.keys()].find((name) => message.startsWith(`${name} is deprecated`))
        const feature = name === undefined ? undefined : names.get(name)
        if (feature === undefined) return []
        assert.strictEqual(level, "Warn")
        return [feature]
      })
    })
  ).pipe(Effect.provideService(Deprecations.Noticed, new Set()))

const connecting = (options: ClientOptions, kind = "stdio", ask?: (link: Scripted.Link) => void) =>
  Effect.gen(function*() {
    const server = yield* Scripted.legacy({}, { kind })
    const client = yield* Scripted.connect(server, options)
    const [link] = server.links
    if (link !== undefined) ask?.(link)
    yield* Scripted.settled
    return client
  })

const sampled = { role: "assistant", content: { type: "text", text: "x" }, model: "m" } as const

describe("The registry", () => {
  verifiesPure(
    ["DEP-02", "DEP-03", "DEP-18", "DEP-19", "DEP-13"],
    "holds what the protocol says of all six features",
    () => {
      const next = "the first revision released on or after 2027-07-28"
      const facts = Deprecations.registry.map(({ earliestRemoval, feature, reference, since }) => [
        feature,
        since,
        reference,
        earliestRemoval
      ])
      assert.deepStrictEqual(facts, [
        ["roots", "2026-07-28", "SEP-2577", next],
        ["sampling", "2026-07-28", "SEP-2577", next],
        ["logging", "2026-07-28", "SEP-2577", next],
        ["include-context", "2025-11-25", "SEP-2596", "together with Sampling"],
        ["http-sse", "2025-03-26", "SEP-2596", "three months after SEP-2596 is final"],
        ["dynamic-client-registration", "2026-07-28", "pull request 2858", next]
      ])
      const migrations = new Map(Deprecations.registry.map(({ feature, migration }) => [feature, migration]))
      const words = {
        "roots": ["tool parameters", "resource URIs", "server's configuration"],
        "sampling": ["LLM provider"],
        "logging": ["stderr", "OpenTelemetry"],
        "include-context": ["omit", "\"none\""],
        "http-sse": ["Streamable HTTP"],
        "dynamic-client-registration": ["Client ID Metadata Document", "registered beforehand"]
      } satisfies Record<Deprecations.Feature, ReadonlyArray<string>>
      for (const { feature } of Deprecations.registry) {
        for (const word of words[feature]) assert.include(migrations.get(feature), word)
      }
    }
  )
})

describe("A notice", () => {
  verifies(
    ["DEP-01", "DEP-21"],
    "is one warning per feature, with since, reference, removal and migration",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          for (const { feature } of Deprecations.registry) {
            yield* Deprecations.notice(feature)
            yield* Deprecations.notice(feature)
          }
          assert.strictEqual(lines.length, 6)
          for (const [index, deprecation] of Deprecations.registry.entries()) {
            const { earliestRemoval, migration, name, reference, since } = deprecation
            assert.strictEqual(lines[index]?.level, "Warn")
            assert.strictEqual(
              lines[index]?.message,
              `${name} is deprecated since MCP ${since} (${reference}); it keeps working during its deprecation window. `
                + `Earliest removal: ${earliestRemoval}. Migration: ${migration}.`
            )
          }
        })
      ).pipe(Effect.provideService(Deprecations.Noticed, new Set()))
  )

  verifies("DEP-01", "is given once in a process, however many clients there are", () =>
    Effect.gen(function*() {
      const roots = [{ uri: "file:///home" }]
      // Not the set of one test but that of the process: whatever ran before, the second gives none.
      yield* CapturedLogs.capture(() => connecting({ handlers: { roots } }))
      yield* CapturedLogs.capture((lines) =>
        Effect.map(connecting({ handlers: { roots } }), () => {
          assert.isEmpty(lines.filter(({ message }) => message.includes("is deprecated")))
        })
      )
    }))

  verifies(
    ["DEP-07", "DEP-21"],
    "has a peer's words escaped and cut at 200 characters",
    () =>
      CapturedLogs.capture((lines) =>
        Effect.gen(function*() {
          yield* Deprecations.notice("http-sse", `evil\nline${"x".repeat(10_000)}`)
          const message = lines[0]?.message ?? ""
          assert.notInclude(message, "\n")
          const detail = message.slice(message.indexOf("evil"))
          assert.isTrue(detail.startsWith("evil\\nline"))
          assert.strictEqual(detail.length, 200)
        })
      ).pipe(Effect.provideService(Deprecations.Noticed, new Set()))
  )

  verifies(
    ["DEP-04", "DEP-08", "DEP-19"],
    "is not given where it is silenced, and is owed still",
    () =>
      Effect.gen(function*() {
        const noticed = new Set<Deprecations.Feature>()
        yield* CapturedLogs.capture((lines) =>
          Effect.gen(function*() {
            const use = Effect.provideService(
              connecting({ handlers: { roots: [{ uri: "file:///home" }] }, logLevel: "info" }),
              Deprecations.Noticed,
              noticed
            )
            yield* Effect.provideService(use, Deprecations.Enabled, false)
            assert.isEmpty(lines.filter(({ message }) => message.includes("is deprecated")))
            yield* use
            assert.strictEqual(lines.filter(({ message }) => message.includes("is deprecated")).length, 2)
          })
        )
      })
  )

  verifies(
    ["DEP-05", "DEP-06", "DEP-09", "DEP-10", "DEP-11", "DEP-12"],
    "is spent when a logger takes it, stays owed when none does, and makes nobody wait",
    () =>
      Effect.gen(function*() {
        const noticed = new Set<Deprecations.Feature>()
        const notice = Effect.provideService(Deprecations.notice("http-sse"), Deprecations.Noticed, noticed)
        const logging = (log: () => void) => Logger.layer([Logger.make(log)])
        // A level that lets no warning through, and a logger that fails as it would fail any other log call.
        yield* Effect.provideService(notice, References.MinimumLogLevel, "Error")
        const failed = yield* Effect.exit(Effect.provide(
          notice,
          logging(() => {
            throw new Error("the device is closed")
          })
        ))
        assert.isTrue(Exit.hasDies(failed))
        assert.isEmpty(noticed)
        // From inside the logger, and beside it, the notice in flight is not waited for and not repeated.
        let taken = 0
        const nested = logging(() => {
          taken++
          Effect.runSync(notice)
        })
        yield* Effect.provide(Effect.all([notice, notice], { concurrency: 2 }), nested)
        assert.strictEqual(taken, 1)
        assert.deepStrictEqual([...noticed], ["http-sse"])
      })
  )
})

describe("Use of a deprecated feature", () => {
  const list: ReadonlyArray<Roots.Root> = [{ uri: "file:///home" }]

  verifies(["DEP-14", "DEP-20", "ROO-07"], "of roots is giving some, or telling some", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({ handlers: { roots: list } })), ["roots"])
      assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({ handlers: { roots: [] } })), [])
      assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({})), [])
      const ask = (link: Scripted.Link) => link.ask(1, "roots/list")
      for (const [roots, expected] of [[list, ["roots"]], [[], []]] as const) {
        const ref = yield* SubscriptionRef.make<ReadonlyArray<Roots.Root>>(roots)
        for (const handlers of [{ roots: ref }, { roots: Effect.succeed(roots) }]) {
          assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({ handlers })), [])
          assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({ handlers }, "stdio", ask)), expected)
        }
      }
    }))

  verifies("DEP-15", "of sampling is giving a handler", () =>
    Effect.gen(function*() {
      const handlers = { sampling: { createMessage: () => Effect.succeed(sampled) } }
      assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({ handlers })), ["sampling"])
    }))

  verifies(
    ["DEP-17", "SAM-10"],
    "of includeContext is a request with thisServer or allServers, which is served",
    () =>
      Effect.gen(function*() {
        for (
          const [includeContext, expected] of [
            ["thisServer", ["sampling", "include-context"]],
            ["allServers", ["sampling", "include-context"]],
            ["none", ["sampling"]],
            [undefined, ["sampling"]]
          ] as const
        ) {
          let served = 0
          const handlers = {
            sampling: {
              createMessage: () =>
                Effect.sync(() => {
                  served++
                  return sampled
                })
            }
          }
          const notices = yield* noticesOf(
            connecting({ handlers }, "stdio", (link) =>
              link.ask(1, "sampling/createMessage", { messages: [], maxTokens: 1, includeContext }))
          )
          assert.deepStrictEqual(notices, expected)
          assert.strictEqual(served, 1)
        }
      })
  )

  verifies(
    ["DEP-16", "LOG-07"],
    "of logging is asking for a level, or getting a message",
    () =>
      Effect.gen(function*() {
        assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({ logLevel: "info" })), ["logging"])
        const message = (link: Scripted.Link) => link.notify("notifications/message", { level: "info", data: "x" })
        assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({}, "stdio", message)), ["logging"])
        const noMessage = (link: Scripted.Link) => link.notify("notifications/message", { level: "shout" })
        assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({}, "stdio", noMessage)), [])
        for (const server of [Scripted.modern(), Scripted.legacy({ "logging/setLevel": Scripted.answer({}) })]) {
          const setting = Effect.gen(function*() {
            const client = yield* Scripted.connect(yield* server)
            yield* client.setLogLevel("debug")
            yield* client.setLogLevel("info")
            yield* Scripted.settled
          })
          assert.deepStrictEqual<unknown>(yield* noticesOf(setting), ["logging"])
        }
        const meta = Effect.gen(function*() {
          const server = yield* Scripted.modern({ "tools/call": Scripted.answer({ content: [] }) })
          const client = yield* Scripted.connect(server)
          yield* client.callTool("work", {}, { meta: { [Metadata.logLevelKey]: "info" } })
          yield* Scripted.settled
          assert.strictEqual(server.sentOf("tools/call")[0]?.meta[Metadata.logLevelKey], "info")
        })
        assert.deepStrictEqual<unknown>(yield* noticesOf(meta), ["logging"])
      })
  )

  verifies("DEP-17", "of HTTP+SSE is a connection that stands, not the wish for one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({}, "sse")), ["http-sse"])
      assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({ lazy: true }, "sse")), [])
      assert.deepStrictEqual<unknown>(yield* noticesOf(connecting({}, "streamable-http")), [])
    }))
})
