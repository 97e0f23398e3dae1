/**
 * One running server process as a connection: its pipes, its end, and how it is brought to its end.
 */
import { McpError } from "@mcp-effect/protocol"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as ChildProcess from "effect/process/ChildProcess"
import type { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Duplex from "../Duplex.ts"
import * as Lines from "../Lines.ts"
import type { Connection, Inbound } from "../Transport.ts"
import * as ProcessOutcome from "./ProcessOutcome.ts"
import * as Stderr from "./Stderr.ts"
import * as StdinFeed from "./StdinFeed.ts"

export interface Options {
  readonly target: string
  readonly command: ChildProcess.Command
  readonly inbound: Inbound
  readonly maxMessageBytes: number
  readonly maxOutboxBytes: number
  /** How long the process may take to exit once its stdin is closed. */
  readonly exitWithin: Duration.Input
  /** Values that must not be quoted from stderr. */
  readonly secrets: ReadonlyArray<string>
  readonly onStderr: (line: string) => Effect.Effect<void>
}

export interface ServerProcess {
  readonly connection: Connection
  /** Ends the process and its whole group. Returns when it is gone. */
  readonly shutdown: Effect.Effect<void>
}

// A process lives in real time, whatever clock a test has put in place for the program around it.
const realClock = Clock.Clock.defaultValue()
const inRealTime = Effect.provideService(Clock.Clock, realClock)

// How long a process that has closed a pipe may take to exit, before its end is reported without an exit code.
const exitAfterPipe = "1 second"

// How long the pipes of an exited process are read on. They end at once, unless a process it started holds them open.
const lastOutput = "1 second"

const fork = <A>(effect: Effect.Effect<A>, scope: Scope.Scope): Effect.Effect<Fiber.Fiber<A>> =>
  Effect.forkIn(effect, scope, { startImmediately: true })

export const open = (
  spawner: ChildProcessSpawner["Service"],
  options: Options
): Effect.Effect<ServerProcess, ProcessOutcome.SpawnFailure> =>
  Effect.gen(function*() {
    const { inbound, target } = options

    // Ends after the process: what it writes while it exits is still read, or it could block on a full pipe.
    const pipes = yield* Scope.make()
    const processScope = yield* Scope.make()
    const handle = yield* spawner.spawn(options.command).pipe(
      Scope.provide(processScope),
      Effect.catchDefect((defect) => Effect.fail({ defect })),
      Effect.tapError(() => Scope.close(processScope, Exit.void))
    )
    const startedAt = realClock.monotonicTimeNanosUnsafe()

    const feed = StdinFeed.make()
    const duplex = Duplex.make({
      target,
      inbound,
      outboxLimit: options.maxOutboxBytes,
      messageLimit: options.maxMessageBytes,
      write: (frames, ready) => feed.write(frames.map(({ text }) => `${text}\n`).join(""), ready)
    })
    const stderr = Stderr.make(options.secrets)

    const end = (cause: { readonly local: boolean } & ProcessOutcome.Ended): void => {
      const tail = cause.local ? "" : stderr.tail()
      const uptimeMillis = Number(realClock.monotonicTimeNanosUnsafe() - startedAt) / 1_000_000
      const reason = new McpError.ConnectionClosed({
        ...cause,
        target,
        uptimeMillis,
        stderr: tail === "" ? undefined : tail
      })
      duplex.close(McpError.make(reason, "unknown", { server: target }))
    }

    // A pipe that breaks is no failure of its own: the end of the process follows, and is what is reported.
    const feeder = yield* fork(Effect.ignore(Stream.run(feed.stream, handle.stdin)), pipes)

    const lines = Lines.make({
      limit: options.maxMessageBytes,
      onLine: duplex.onText,
      onSkipped: duplex.onSkipped
    })
    const reader = yield* fork(
      Stream.runForEachArray(handle.stdout, (chunks) => {
        for (const chunk of chunks) lines.feed(chunk)
        return Effect.void
      }).pipe(Effect.ignoreCause, Effect.andThen(Effect.sync(lines.end))),
      pipes
    )

    const report = (lines: ReadonlyArray<string>): Effect.Effect<void> =>
      Effect.forEach(lines, (line) =>
        options.onStderr(line).pipe(
          Effect.catchCause((cause) => Effect.logWarning("The onStderr callback failed", cause)),
          Effect.andThen(Effect.logDebug(`stderr: ${line}`))
        ), { discard: true })
    const drain = yield* fork(
      Stream.runForEachArray(handle.stderr, (chunks) => report(chunks.flatMap(stderr.feed))).pipe(
        Effect.ignore,
        Effect.andThen(Effect.suspend(() => report(stderr.end()))),
        Effect.annotateLogs({ server: target })
      ),
      pipes
    )

    const exited = ProcessOutcome.ended(handle)
    const brokenPipe = Effect.raceFirst(Fiber.await(reader), Fiber.await(feeder))
    yield* fork(
      Effect.raceFirst(
        exited,
        Effect.andThen(brokenPipe, Effect.timeoutOption(exited, exitAfterPipe)).pipe(
          Effect.map(Option.getOrElse((): ProcessOutcome.Ended => ({})))
        )
      ).pipe(
        // Output written just before exit is delivered before pending calls fail.
        Effect.tap(Effect.timeoutOption(Fiber.awaitAll([reader, drain]), lastOutput)),
        Effect.map((ended) => end({ local: false, ...ended })),
        inRealTime
      ),
      pipes
    )

    // 2026-07-28 basic/transports/stdio, Shutdown: close stdin, wait, then terminate. The spawner does the latter when
    // its scope closes: SIGTERM to the group, SIGKILL after `forceKillAfter`, also when only children of the process
    // are left.
    const shutdown = Effect.gen(function*() {
      end({ local: true })
      if (!feed.end()) yield* Fiber.interrupt(feeder)
      yield* Effect.timeoutOption(exited, options.exitWithin)
      yield* Scope.close(processScope, Exit.void)
      yield* Effect.timeoutOption(Fiber.await(drain), lastOutput)
      yield* Scope.close(pipes, Exit.void)
    }).pipe(inRealTime)

    return { connection: duplex.connection, shutdown }
  })
