import { assert, describe } from "@effect/vitest"
import { Authorize, TokenStore } from "@mcp-effect/auth"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { McpError } from "@mcp-effect/protocol"
import { Effect, Layer } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { vi } from "vitest"
import * as NodeOAuth from "../src/NodeOAuth.ts"

// What a name leads to differs from one machine to the next.
vi.mock("node:dns/promises", () => ({
  lookup: (hostname: string, options: unknown) => {
    assert.deepStrictEqual([hostname, options], ["inside.example", { all: true }])
    return Promise.resolve([{ address: "8.8.8.8", family: 4 }, { address: "10.0.0.1", family: 4 }])
  }
}))

describe("NodeOAuth", () => {
  verifiesLive(
    ["OAD-12", "PAIN-71"],
    "asks the resolver where a name that a server gives leads to, and sends nothing into a private network",
    () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const server = HttpClient.make((request, url) =>
          Effect.sync(() => {
            asked.push(url.href)
            return HttpClientResponse.fromWeb(
              request,
              new Response("", {
                status: 401,
                headers: { "www-authenticate": "Bearer resource_metadata=\"https://inside.example/metadata\"" }
              })
            )
          })
        )
        const layer = NodeOAuth.layer({
          authorize: Authorize.layerUnattended().pipe(Layer.provide(Layer.succeed(HttpClient.HttpClient, server))),
          store: TokenStore.layerMemory
        }).pipe(Layer.provide(Layer.succeed(HttpClient.HttpClient, server)))
        const error = yield* Effect.flip(Effect.provide(HttpClient.post("https://mcp.example/mcp"), layer))
        const cause = error.reason._tag === "TransportError" ? error.reason.cause : undefined
        assert(McpError.isMcpError(cause))
        assert.include(cause.message, "resolves to an address inside a private network")
        assert.deepStrictEqual(asked, ["https://mcp.example/mcp"])
      })
  )
})
