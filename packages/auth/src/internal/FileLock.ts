/**
 * A lock between processes: a file that exists while it is held.
 *
 * The holder touches it again and again. One that somebody saw unchanged for `staleMillis` was left behind by a process
 * that died, and is taken over. No time of the file system is held against a clock: the two may differ, and clocks jump.
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type { PlatformError } from "effect/PlatformError"
import * as Failure from "./Failure.ts"

const staleMillis = 15_000
const touchMillis = 3_000
const pollMillis = 25
const waitMillis = 60_000

export interface FileLock {
  readonly hold: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | McpError.McpError, R>
}

export const make = (options: { readonly files: FileSystem.FileSystem; readonly file: string }): FileLock => {
  const { file, files } = options

  /** Takes the lock where it is free. `false` when somebody has it. */
  const take = (owner: string): Effect.Effect<boolean, PlatformError> =>
    files.writeFileString(file, owner, { flag: "wx", mode: 0o600 }).pipe(
      Effect.as(true),
      Effect.catch((error) => error.reason._tag === "AlreadyExists" ? Effect.succeed(false) : Effect.fail(error))
    )

  const owner: Effect.Effect<string | undefined> = Effect.orElseSucceed(files.readFileString(file), () => undefined)

  /** What changes as long as there is a holder that lives. */
  const signOfLife = Effect.map(
    Effect.all([owner, Effect.option(files.stat(file))]),
    ([owner, info]) => ({
      owner,
      touched: Option.getOrUndefined(Option.flatMap(info, ({ mtime }) => mtime))?.getTime()
    })
  )

  /** Removes a lock whose holder died. It is moved away first, since another may be about to do the same. */
  const breakStale = (found: string | undefined): Effect.Effect<void> =>
    Effect.gen(function*() {
      const aside = `${file}.${SecureRandom.uuidV4Unsafe()}.stale`
      yield* files.rename(file, aside)
      // Between the look and the move a new holder may have come: it gets its lock back, if nobody has it yet.
      const moved = yield* files.readFileString(aside)
      if (moved !== found) yield* Effect.ignore(files.link(aside, file))
      yield* files.remove(aside, { force: true })
    }).pipe(Effect.ignore)

  const acquire = Effect.gen(function*() {
    const mine = SecureRandom.uuidV4Unsafe()
    let waited = 0
    let seen: { readonly owner: string | undefined; readonly touched: number | undefined } | undefined
    let seenAt = 0
    while (!(yield* take(mine))) {
      const now = yield* signOfLife
      if (seen === undefined || now.owner !== seen.owner || now.touched !== seen.touched) {
        seen = now
        seenAt = waited
      } else if (waited - seenAt >= staleMillis) {
        yield* breakStale(now.owner)
      }
      if (waited >= waitMillis) {
        return yield* Effect.fail(
          Failure.failed(
            "storage",
            "another process has had the token file locked for a minute; end it, or remove its lock"
          )
        )
      }
      const pause = pollMillis + Math.random() * pollMillis
      waited += pause
      yield* Effect.interruptible(Effect.sleep(pause))
    }
    return mine
  }).pipe(
    Effect.catchTag(
      "PlatformError",
      (cause) => Effect.fail(Failure.failed("storage", "the token file cannot be locked", { cause }))
    )
  )

  const release = (mine: string): Effect.Effect<void> =>
    Effect.flatMap(owner, (found) => found === mine ? Effect.ignore(files.remove(file, { force: true })) : Effect.void)

  const touch = Effect.forever(
    Effect.delay(
      Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.ignore(files.utimes(file, new Date(now), new Date(now)))),
      touchMillis
    )
  )

  return {
    hold: (effect) =>
      // Only its sleeps can be interrupted, so that a lock once taken is released in any case.
      Effect.acquireUseRelease(
        acquire,
        () => Effect.raceFirst(effect, touch),
        release
      )
  }
}
