/**
 * A store of secrets in one file that several processes share.
 */
import { Json, type McpError } from "@mcp-effect/protocol"
import * as Digest from "effect/crypto/Digest"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import * as Failure from "./Failure.ts"
import * as FileLock from "./FileLock.ts"

type Contents = ReadonlyMap<string, string>

const failed = (problem: string) => (cause: PlatformError): McpError.McpError =>
  Failure.failed("storage", problem, { cause })

const parse = (text: string): Contents | undefined => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Json.isJsonObject(value)) return undefined
  return new Map(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"))
}

export const make = Effect.fnUntraced(function*(file: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = path.dirname(path.resolve(file))
  const writing = Semaphore.makeUnsafe(1)
  const makeFolder = Effect.mapError(
    files.makeDirectory(folder, { recursive: true, mode: 0o700 }),
    failed("the folder of the token file cannot be made")
  )
  const lock = (name: string) => FileLock.make({ files, file: name })

  const read: Effect.Effect<Contents, McpError.McpError> = files.readFileString(file).pipe(
    Effect.catch((error) => error.reason._tag === "NotFound" ? Effect.succeed("{}") : Effect.fail(error)),
    Effect.mapError(failed("the token file cannot be read")),
    Effect.flatMap((text) => {
      const contents = parse(text === "" ? "{}" : text)
      return contents === undefined
        ? Effect.fail(Failure.failed("storage", "the token file holds something else than tokens; move it away"))
        : Effect.succeed(contents)
    })
  )

  // A reader sees the old file or the new one, and a crash leaves one of them.
  const write = (contents: Contents): Effect.Effect<void, McpError.McpError> =>
    Effect.suspend(() => {
      const temporary = `${file}.${SecureRandom.uuidV4Unsafe()}.tmp`
      const text = JSON.stringify(Object.fromEntries(contents))
      return Effect.acquireUseRelease(
        files.writeFileString(temporary, text, { flag: "wx", mode: 0o600 }),
        () => files.rename(temporary, file),
        () => Effect.ignore(files.remove(temporary, { force: true }))
      )
    }).pipe(Effect.mapError(failed("the token file cannot be written")))

  return {
    get: (key: string) =>
      Effect.map(read, (contents) => {
        const text = contents.get(key)
        return text === undefined ? undefined : Redacted.make(text)
      }),
    compareAndSet: (key: string, expected: Redacted.Redacted | undefined, next: Redacted.Redacted | undefined) =>
      Effect.gen(function*() {
        yield* makeFolder
        return yield* lock(`${file}.lock`).hold(Effect.gen(function*() {
          const contents = new Map(yield* read)
          if (contents.get(key) !== (expected === undefined ? undefined : Redacted.value(expected))) return false
          if (next === undefined) contents.delete(key)
          else contents.set(key, Redacted.value(next))
          yield* write(contents)
          return true
        }))
      }).pipe(writing.withPermits(1)),
    withLock: <A, E, R>(key: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | McpError.McpError, R> =>
      Effect.gen(function*() {
        const digest = yield* Effect.flatMap(
          Digest.Digest,
          (service) => service.digestHex(Digest.sha256, new TextEncoder().encode(key))
        ).pipe(Effect.provide(Digest.layerWebCrypto))
        yield* makeFolder
        return yield* lock(`${file}.${digest.slice(0, 16)}.lock`).hold(effect)
      })
  }
})
