import { assert, describe } from "@effect/vitest"
import { TokenStore } from "@mcp-effect/auth"
import * as SteppedClock from "@mcp-effect/conformance/auth/SteppedClock"
import { verifies, verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Clock, Context, Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as NodeOAuth from "../src/NodeOAuth.ts"

const key = "https://mcp.example/mcp"

/** A folder of its own, and stores on one file in it, as several processes would have them. */
const start = Effect.gen(function*() {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "tokens-"))),
    (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
  )
  const file = path.join(folder, "tokens.json")
  const open = Effect.map(
    Layer.build(Layer.fresh(NodeOAuth.layerTokenStore(file))),
    Context.get(TokenStore.TokenStore)
  )
  return { file, folder, open }
})

type Store = TokenStore.TokenStore["Service"]

const read = (store: Store) =>
  Effect.map(store.get(key), (text) => text === undefined ? undefined : Redacted.value(text))

const problemOf = (effect: Effect.Effect<unknown, unknown>) => Effect.map(Effect.flip(effect), String)

/** Lets time pass, and whoever looks at files look at them. */
const pass = (millis: number) =>
  Effect.andThen(
    Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 1))),
    TestClock.adjust(millis)
  )

/** The lock file that a holder makes for the key. */
const lockOf = (folder: string): string => {
  const [name, ...others] = fs.readdirSync(folder).filter((name) => /\.[0-9a-f]{16}\.lock$/.test(name))
  assert.deepStrictEqual(others, [])
  return path.join(folder, name ?? "none")
}

describe("A file of tokens", () => {
  verifiesLive("OAT-12", "keeps a text only instead of the one that was expected", () =>
    Effect.gen(function*() {
      const { file, folder, open } = yield* start
      fs.writeFileSync(file, "", { mode: 0o644 })
      const [one, two] = [yield* open, yield* open]
      const a = Redacted.make("a")
      assert.isTrue(yield* one.compareAndSet(key, undefined, a))
      assert.isFalse(yield* two.compareAndSet(key, undefined, Redacted.make("b")))
      assert.isFalse(yield* two.compareAndSet(key, Redacted.make("c"), Redacted.make("b")))
      assert.isFalse(yield* two.compareAndSet(key, Redacted.make("c"), undefined))
      assert.strictEqual(yield* read(two), "a")
      assert.isTrue(yield* two.compareAndSet(key, a, Redacted.make("b")))
      assert.isTrue(yield* two.compareAndSet("other", undefined, a))
      assert.strictEqual(yield* read(one), "b")
      assert.isTrue(yield* one.compareAndSet(key, Redacted.make("b"), undefined))
      assert.isUndefined(yield* read(two))
      assert.deepStrictEqual(JSON.parse(fs.readFileSync(file, "utf8")), { other: "a" })
      // Whatever it was before, it is for its owner alone, and nothing else stays behind.
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.deepStrictEqual(fs.readdirSync(folder), ["tokens.json"])
    }))

  verifiesLive(["PAIN-65", "OAT-12"], "loses no change of those who share it", () =>
    Effect.gen(function*() {
      const { open } = yield* start
      const stores = yield* Effect.all(Array.from({ length: 4 }, () => open))
      const add = (store: Store): Effect.Effect<void, unknown> =>
        Effect.gen(function*() {
          const text = yield* store.get(key)
          const next = Redacted.make(String(Number(text === undefined ? 0 : Redacted.value(text)) + 1))
          if (!(yield* store.compareAndSet(key, text, next))) return yield* add(store)
        })
      yield* Effect.all(stores.flatMap((store) => Array.from({ length: 5 }, () => add(store))), {
        concurrency: "unbounded"
      })
      assert.strictEqual(yield* read(yield* open), "20")
    }))

  verifiesLive("OAT-13", "that holds something else is left alone, and told", () =>
    Effect.gen(function*() {
      const { file, open } = yield* start
      const store = yield* open
      for (const text of ["not JSON: secret", "[\"secret\"]", "7"]) {
        fs.writeFileSync(file, text)
        for (const effect of [store.get(key), store.compareAndSet(key, undefined, Redacted.make("a"))]) {
          const problem = yield* problemOf(effect)
          assert.include(problem, "Authorization failed (storage): the token file holds something else than tokens")
          assert.notInclude(problem, "secret")
        }
        assert.strictEqual(fs.readFileSync(file, "utf8"), text)
      }
    }))
})

describe("The lock of a file of tokens", () => {
  verifiesLive(
    "PAIN-65",
    "lets one in at a time, whoever has the file open, and is given back in any case",
    () =>
      Effect.gen(function*() {
        const { folder, open } = yield* start
        const stores = [yield* open, yield* open]
        let inside = 0
        let most = 0
        const visit = (store: Store) =>
          store.withLock(
            key,
            Effect.gen(function*() {
              most = Math.max(most, ++inside)
              for (let count = 0; count < 5; count++) yield* Effect.yieldNow
              inside--
            })
          )
        yield* Effect.all(stores.flatMap((store) => [visit(store), visit(store), visit(store)]), {
          concurrency: "unbounded"
        })
        assert.strictEqual(most, 1)

        const [one, two] = stores
        assert(one !== undefined && two !== undefined)
        assert.strictEqual(yield* Effect.flip(one.withLock(key, Effect.fail("no"))), "no")
        const entered = yield* Deferred.make<void>()
        const holder = yield* Effect.forkScoped(
          one.withLock(key, Effect.andThen(Deferred.succeed(entered, undefined), Effect.never))
        )
        yield* Deferred.await(entered)
        // Another key is another lock.
        yield* two.withLock("other", Effect.void)
        const waiting = yield* Effect.forkScoped(two.withLock(key, Effect.succeed("in")))
        yield* Fiber.interrupt(holder)
        assert.strictEqual(yield* Fiber.join(waiting), "in")
        assert.deepStrictEqual(fs.readdirSync(folder), [])
      })
  )

  verifies("PAIN-65", "is taken over from a process that died, and from no other", () =>
    Effect.gen(function*() {
      const { folder, open } = yield* start
      const store = yield* open
      const lock = yield* store.withLock(key, Effect.sync(() => lockOf(folder)))
      // On a file system whose clock is a day ahead.
      let touched = Date.now() + 86_400_000
      const touch = Effect.sync(() => {
        touched += 1
        fs.utimesSync(lock, new Date(touched), new Date(touched))
      })
      fs.writeFileSync(lock, "of a process that lives")
      const waiting = yield* Effect.forkChild(store.withLock(key, Effect.sync(() => fs.readdirSync(folder).length)))
      for (let millis = 0; millis < 30_000; millis += 50) {
        if (millis % 3_000 === 0) yield* touch
        yield* pass(50)
      }
      assert.isUndefined(waiting.pollUnsafe())
      assert.strictEqual(fs.readFileSync(lock, "utf8"), "of a process that lives")
      // And now it died.
      let millis = 0
      for (; waiting.pollUnsafe() === undefined && millis < 59_000; millis += 50) yield* pass(50)
      assert.strictEqual(yield* Fiber.join(waiting), 1)
      assert.isAtLeast(millis, 12_000)
      assert.deepStrictEqual(fs.readdirSync(folder), [])
    }))

  verifiesLive(
    "PAIN-65",
    "goes by the clock of those who hold it, not of the file system",
    () =>
      Effect.gen(function*() {
        const { open } = yield* start
        const time = SteppedClock.make(yield* Clock.Clock, 3_600_000)
        time.step()
        const stores = [yield* open, yield* open]
        let inside = 0
        let most = 0
        yield* Effect.all(
          stores.map((store) =>
            store.withLock(
              key,
              Effect.gen(function*() {
                most = Math.max(most, ++inside)
                yield* Effect.sleep(100)
                inside--
              })
            )
          ),
          { concurrency: "unbounded" }
        ).pipe(Effect.provideService(Clock.Clock, time.clock))
        assert.strictEqual(most, 1)
      })
  )
})
