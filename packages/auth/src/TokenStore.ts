/**
 * Where tokens and registrations are kept.
 *
 * @since 0.1.0
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import * as FileStore from "./internal/FileStore.ts"

/**
 * Service that keeps one secret text for a key. The text is this package's own and may change its form; treat it as
 * opaque. A failure is an `AuthorizationFailed` of stage `storage`.
 *
 * @category services
 * @since 0.1.0
 */
export class TokenStore extends Context.Service<TokenStore, {
  readonly get: (key: string) => Effect.Effect<Redacted.Redacted | undefined, McpError.McpError>
  /**
   * Replaces the text if it is still the expected one, and tells whether it was. `undefined` stands for none: expected,
   * or to be.
   */
  readonly compareAndSet: (
    key: string,
    expected: Redacted.Redacted | undefined,
    next: Redacted.Redacted | undefined
  ) => Effect.Effect<boolean, McpError.McpError>
  /** Runs an effect while nobody else, in any process that shares the store, runs one under the same key. */
  readonly withLock: <A, E, R>(
    key: string,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | McpError.McpError, R>
}>()("@mcp-effect/auth/TokenStore") {}

const isSame = (left: Redacted.Redacted | undefined, right: Redacted.Redacted | undefined): boolean =>
  left === undefined || right === undefined ? left === right : Redacted.value(left) === Redacted.value(right)

/**
 * A store that forgets with the process.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeMemory: Effect.Effect<TokenStore["Service"]> = Effect.sync(() => {
  const values = new Map<string, Redacted.Redacted>()
  const locks = new Map<string, Semaphore.Semaphore>()
  return TokenStore.of({
    get: (key) => Effect.sync(() => values.get(key)),
    compareAndSet: (key, expected, next) =>
      Effect.sync(() => {
        if (!isSame(values.get(key), expected)) return false
        if (next === undefined) values.delete(key)
        else values.set(key, next)
        return true
      }),
    withLock: (key, effect) =>
      Effect.suspend(() => {
        const lock = locks.get(key) ?? Semaphore.makeUnsafe(1)
        locks.set(key, lock)
        return lock.withPermits(1)(effect)
      })
  })
})

/**
 * Layer of a store that forgets with the process.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory: Layer.Layer<TokenStore> = Layer.effect(TokenStore, makeMemory)

/**
 * Layer of a store in one file, which several processes may share. The file and its folder are for their owner alone
 * (modes 0600 and 0700), the file is replaced as a whole, and lock files beside it keep the processes apart. What is in
 * it is not encrypted.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFile = (options: {
  /** The file; its folder is made when it is missing. */
  readonly path: string
}): Layer.Layer<TokenStore, never, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(TokenStore, Effect.map(FileStore.make(options.path), (store) => TokenStore.of(store)))
