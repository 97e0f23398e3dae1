import { assert, describe, it } from "@effect/vitest"
import { TokenStore } from "@mcp-effect/auth"
import { Effect, Redacted } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as NodeOAuth from "../src/NodeOAuth.ts"

describe("NodeOAuth", () => {
  it("keeps tokens where the platform wants such files", () => {
    assert.strictEqual(
      NodeOAuth.defaultTokenFile("linux", {}, "/home/ada"),
      path.join("/home/ada", ".local", "state", "mcp-effect", "tokens.json")
    )
    assert.strictEqual(
      NodeOAuth.defaultTokenFile("linux", { XDG_STATE_HOME: "/state" }, "/home/ada"),
      path.join("/state", "mcp-effect", "tokens.json")
    )
    assert.strictEqual(
      NodeOAuth.defaultTokenFile("darwin", {}, "/Users/ada"),
      path.join("/Users/ada", "Library", "Application Support", "mcp-effect", "tokens.json")
    )
    assert.strictEqual(
      NodeOAuth.defaultTokenFile("win32", { LOCALAPPDATA: "C:/Local" }, "C:/Users/ada"),
      path.join("C:/Local", "mcp-effect", "tokens.json")
    )
  })

  it.live("keeps them for their owner alone", () =>
    Effect.scoped(Effect.gen(function*() {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "tokens-"))),
        (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
      )
      const file = path.join(folder, "deep", "tokens.json")
      yield* TokenStore.TokenStore.use((store) => store.compareAndSet("key", undefined, Redacted.make("secret"))).pipe(
        Effect.provide(NodeOAuth.layerTokenStore(file))
      )
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(path.dirname(file)).mode & 0o777, 0o700)
      assert.deepStrictEqual(fs.readdirSync(path.dirname(file)), ["tokens.json"])
    })))
})
