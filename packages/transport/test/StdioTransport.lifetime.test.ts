import { assert, describe, it } from "@effect/vitest"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import type { McpError } from "@mcp-effect/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fixture, isRunning, type Options, pidOf, type Server, start } from "./StdioServer.ts"

const server = fixture("server.mjs")
const swift = { exitWithin: "100 millis", forceKillAfter: "300 millis" } as const

/** Starts a server, lets `use` have it, closes it, and gives what `use` gave. */
const during = <A, E>(
  options: Options,
  use: (server: Server) => Effect.Effect<A, E>
): Effect.Effect<A, E | McpError.McpError> => Effect.scoped(Effect.flatMap(start(options), use))

const closedReason = (error: McpError.McpError) =>
  error.reason._tag === "ConnectionClosed" ? error.reason : assert.fail(`${error}`)

const endOf = (error: McpError.McpError) => {
  const { exitCode, local, signal } = closedReason(error)
  return { exitCode, local, signal }
}

describe("StdioTransport: closing", () => {
  verifiesLive(
    ["STD-07", "PAIN-36"],
    "a server that exits when its stdin ends is gone when the scope is",
    () =>
      Effect.gen(function*() {
        const [duration, pid] = yield* Effect.timed(
          during({ shutdown: { exitWithin: "1 minute" } }, ({ request }) => Effect.map(request("launch"), pidOf))
        )
        assert.isFalse(isRunning(pid))
        assert.isBelow(Duration.toMillis(duration), 20_000)
      })
  )

  verifiesLive(
    ["STD-07", "PAIN-36"],
    "one that clings gets 2 s after its stdin, SIGTERM, 2 s more, and SIGKILL",
    () =>
      Effect.gen(function*() {
        const lines: Array<string> = []
        const closing = yield* during(
          { args: [server, "--stubborn"], onStderr: (line) => Effect.sync(() => lines.push(line)) },
          ({ request }) => Effect.map(request("launch"), (launch) => ({ pid: pidOf(launch), from: Date.now() }))
        )
        const until = Date.now()
        assert.isFalse(isRunning(closing.pid))
        const timeOf = (event: string) =>
          Number(lines.find((line) => line.startsWith(event))?.slice(event.length) ?? assert.fail(`no ${event}`))
        const times = [closing.from, timeOf("end of stdin"), timeOf("SIGTERM"), until]
        const [first = 0, second = 0, third = 0] = times.slice(1).map((time, index) => time - (times[index] ?? 0))
        assert.isBelow(first, 5_000)
        assert.isAbove(first + second, 1_950)
        assert.isBelow(second, 8_000)
        assert.isAbove(third, 1_950)
        assert.isBelow(third, 8_000)
      }),
    30_000
  )

  verifiesLive("PAIN-35", "a launcher that hands no signal on: both are gone", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const pid = yield* during({
        args: [fixture("launcher.mjs"), server, "--stubborn"],
        onStderr: (line) => Effect.sync(() => lines.push(line)),
        shutdown: swift
      }, ({ request }) => Effect.map(request("launch"), pidOf))
      const [, launched, launcher] = /^launched (\d+) by (\d+)$/.exec(lines[0] ?? "") ?? assert.fail(lines.join())
      assert.strictEqual(Number(launched), pid)
      assert.deepStrictEqual([pid, Number(launcher)].map(isRunning), [false, false])
    }))

  verifiesLive(
    "PAIN-35",
    "what a server leaves behind when it exits by itself is ended too",
    () =>
      Effect.gen(function*() {
        const left = yield* during({ shutdown: swift }, ({ request }) => Effect.map(request("spawn"), pidOf))
        assert.isFalse(isRunning(left))
        const clinging = ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 60_000)"]
        const stubborn = yield* during(
          { shutdown: swift },
          ({ request }) => Effect.map(request("spawn", { args: clinging }), pidOf)
        )
        assert.isFalse(isRunning(stubborn))
      })
  )

  verifiesLive("PAIN-35", "what a crashed server leaves behind is ended too", () =>
    Effect.gen(function*() {
      const left = yield* during({ shutdown: swift }, ({ connection, open, request }) =>
        Effect.gen(function*() {
          const pid = pidOf(yield* request("spawn"))
          open("exit", { code: 0 })
          yield* connection.closed
          return pid
        }))
      assert.isFalse(isRunning(left))
    }))

  verifiesLive(
    ["STD-10", "PAIN-36"],
    "a start that is given up ends the process before it returns",
    () =>
      Effect.gen(function*() {
        let pid = 0
        const exit = yield* Effect.exit(during({ args: [server, "--lingering"], shutdown: swift }, ({ request }) =>
          Effect.gen(function*() {
            pid = pidOf(yield* request("launch"))
            return yield* Effect.die("negotiation failed")
          })))
        assert.isTrue(Exit.isFailure(exit))
        assert.isFalse(isRunning(pid))
      })
  )

  it.live("a server that does not read does not keep the scope from closing", () =>
    Effect.gen(function*() {
      const pid = yield* during({ shutdown: swift }, ({ open, request }) =>
        Effect.gen(function*() {
          const pid = pidOf(yield* request("launch"))
          yield* request("stopReading")
          for (let index = 0; index < 5; index++) open("echo", { text: "x".repeat(500_000) })
          return pid
        }))
      assert.isFalse(isRunning(pid))
    }))

  verifies(
    "PAIN-36",
    "a process ends in real time, also under a test clock that stands still",
    () =>
      Effect.gen(function*() {
        const pid = yield* during(
          { args: [server, "--stubborn"], shutdown: swift },
          ({ request }) => Effect.map(request("launch"), pidOf)
        )
        assert.isFalse(isRunning(pid))
      })
  )

  verifiesLive(
    "PAIN-35",
    "when the host is killed the server sees the end of its stdin",
    () =>
      Effect.gen(function*() {
        const host = yield* Effect.acquireRelease(
          Effect.sync(() =>
            spawn(
              process.execPath,
              ["--conditions=@mcp-effect/source", fixture("host.mjs"), "default", "--waits"],
              { stdio: ["ignore", "pipe", "inherit"] }
            )
          ),
          (host) => Effect.sync(() => host.kill("SIGKILL"))
        )
        const [pid] = yield* Effect.promise(() => once(host.stdout, "data"))
        assert.isTrue(isRunning(Number(pid)))
        host.kill("SIGKILL")
        yield* Effect.repeat(Effect.sync(() => isRunning(Number(pid))), {
          until: (running) => !running,
          schedule: Schedule.spaced("10 millis")
        })
      }),
    60_000
  )

  verifiesLive("STD-17", "a cancel just before the close still arrives", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      yield* during(
        { args: [server, "--telling"], onStderr: (line) => Effect.sync(() => lines.push(line)) },
        ({ open, request }) =>
          Effect.gen(function*() {
            const { cancel } = open("silence")
            yield* request("echo")
            cancel(undefined)
          })
      )
      assert.deepStrictEqual(lines.map((line) => JSON.parse(line).method), [
        "silence",
        "echo",
        "notifications/cancelled"
      ])
    }))

  it.live("what is pending fails with the end that this side made", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { connection, open } = yield* Scope.provide(start(), scope)
      const { outcome } = open("silence")
      yield* Scope.close(scope, Exit.void)
      const error = yield* Effect.flip(outcome)
      assert.isTrue(endOf(error).local)
      assert.isTrue(endOf(yield* connection.closed).local)
    }))
})

describe("StdioTransport: a server that ends", () => {
  verifiesLive(
    ["PAIN-37", "ERR-08"],
    "the error has the exit code, the uptime and the last words, which are not in its message",
    () =>
      Effect.gen(function*() {
        const { connection, open, request } = yield* start()
        const waiting = open("silence")
        const error = yield* Effect.flip(request("exit", { code: 3, stderr: "FATAL: missing API key\u001b[0m\n" }))
        const reason = closedReason(error)
        assert.deepStrictEqual(endOf(error), { exitCode: 3, local: false, signal: undefined })
        assert.strictEqual(reason.target, process.execPath)
        assert.strictEqual(reason.stderr, "FATAL: missing API key\\u001b[0m\\n")
        assert.isAbove(reason.uptimeMillis ?? 0, 1)
        assert.isBelow(reason.uptimeMillis ?? 0, 60_000)
        assert.notInclude(error.message, "FATAL")
        assert.deepInclude(error, { delivery: "unknown", server: process.execPath, method: "exit" })
        // Everything that waited fails with it, at once.
        assert.strictEqual(endOf(yield* Effect.flip(waiting.outcome)).exitCode, 3)
        assert.strictEqual(endOf(yield* connection.closed).exitCode, 3)
        assert.strictEqual((yield* Effect.flip(request("echo"))).delivery, "unsent")
      })
  )

  verifiesLive("PAIN-37", "the error has the signal", () =>
    Effect.gen(function*() {
      const { request } = yield* start()
      const error = yield* Effect.flip(request("kill", { signal: "SIGKILL" }))
      assert.deepStrictEqual(endOf(error), { exitCode: undefined, local: false, signal: "SIGKILL" })
    }))

  verifiesLive(
    "PAIN-37",
    "what was written just before the exit is delivered before the rest fails",
    () =>
      Effect.gen(function*() {
        const { inbound, open, request } = yield* start()
        const first = open("silence")
        const last = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n".repeat(500)
        // The last line has no line break.
        const exit = request("exit", { code: 0, stdout: `${last}{"jsonrpc":"2.0","id":1,"result":{"last":true}}` })
        assert.strictEqual(endOf(yield* Effect.flip(exit)).exitCode, 0)
        assert.strictEqual(inbound.length, 500)
        assert.deepStrictEqual(yield* first.outcome, { _tag: "Result", result: { last: true } })
      })
  )

  verifiesLive(
    "PAIN-35",
    "a server that leaves its pipes to a process of its own has ended all the same; both are gone after the close",
    () =>
      Effect.gen(function*() {
        const left = yield* during({ shutdown: swift }, ({ open, request }) =>
          Effect.gen(function*() {
            const left = pidOf(yield* request("spawnOnPipes"))
            const { outcome } = open("silence")
            const exited = yield* Effect.flip(request("exit", { code: 0 }))
            assert.strictEqual(endOf(exited).exitCode, 0)
            assert.strictEqual(endOf(yield* Effect.flip(outcome)).exitCode, 0)
            assert.isTrue(isRunning(left))
            return left
          }))
        assert.isFalse(isRunning(left))
      })
  )

  for (const pipe of ["Stdout", "Stdin"]) {
    it.live(`a server that closes its ${pipe.toLowerCase()}, but does not exit, has ended too`, () =>
      Effect.gen(function*() {
        const { connection, open } = yield* start({ args: [server, "--lingering"], shutdown: swift })
        open(`close${pipe}`)
        // Only who writes learns that nobody reads.
        const calls = yield* Effect.forkChild(Effect.repeat(
          Effect.sync(() => open("silence")),
          Schedule.spaced("20 millis")
        ))
        const error = yield* connection.closed
        yield* Fiber.interrupt(calls)
        assert.deepStrictEqual(endOf(error), { exitCode: undefined, local: false, signal: undefined })
      }))
  }
})
