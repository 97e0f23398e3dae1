import { assert, describe, it } from "@effect/vitest"
import { Caching } from "@mcp-effect/protocol"

describe("read", () => {
  it("gives what the result says", () => {
    assert.deepStrictEqual(Caching.read({ ttlMs: 60000, cacheScope: "public" }), { ttlMs: 60000, cacheScope: "public" })
    assert.deepStrictEqual(Caching.read({ ttlMs: 0, cacheScope: "private" }), { ttlMs: 0, cacheScope: "private" })
  })

  it.each([{}, { ttlMs: -1 }, { ttlMs: "60" }, { ttlMs: 1.5 }, { ttlMs: null }, { ttlMs: Infinity }])(
    "takes %j for stale at once",
    (result) => assert.strictEqual(Caching.read(result).ttlMs, 0)
  )

  it.each([{}, { cacheScope: "shared" }, { cacheScope: "Public" }, { cacheScope: true }, { cacheScope: null }])(
    "takes %j for private",
    (result) => assert.strictEqual(Caching.read(result).cacheScope, "private")
  )
})
