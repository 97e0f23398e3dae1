import { assert, describe } from "@effect/vitest"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Effect } from "effect"
import * as Client from "./Client.ts"
import * as TestAuthority from "./TestAuthority.ts"

describe("OAuth.layer", () => {
  verifiesLive(
    ["OAD-01", "OAS-01", "OAT-01", "SHT-10"],
    "signs in on 401 and sends the request once more",
    () =>
      Effect.gen(function*() {
        const authority = yield* TestAuthority.start
        const client = yield* Client.make(authority)
        assert.strictEqual(yield* client.call, 200)
        assert.strictEqual(yield* client.call, 200)
        assert.deepStrictEqual(authority.seen.map(({ method, path }) => `${method} ${path}`), [
          "POST /mcp",
          "GET /.well-known/oauth-protected-resource/mcp",
          "GET /.well-known/oauth-authorization-server/as1",
          "POST /as1/register",
          "GET /as1/authorize",
          "POST /as1/token",
          "POST /mcp",
          "POST /mcp"
        ])
      })
  )
})
