import { assert, describe } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import * as EraCache from "../src/internal/EraCache.ts"

describe("EraCache", () => {
  verifiesPure(["ERA-14", "PAIN-49"], "remembers 1,000 servers and forgets the one that was seen longest ago", () => {
    const cache = EraCache.make()
    for (let index = 0; index < 1_000; index++) cache.remember(`server ${index}`)
    cache.remember("server 0")
    cache.remember("one more")
    assert.isTrue(cache.endsOnProbe("server 0"))
    assert.isFalse(cache.endsOnProbe("server 1"))
    assert.isTrue(cache.endsOnProbe("server 2"))
    assert.isTrue(cache.endsOnProbe("one more"))
    assert.isFalse(cache.endsOnProbe("never seen"))
  })
})
