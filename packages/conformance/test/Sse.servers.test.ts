import { assert, describe } from "@effect/vitest"
import { McpClient } from "@mcp-effect/client"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect, NodeHttp } from "@mcp-effect/node"
import type { Revision } from "@mcp-effect/protocol"
import { DetectHttpTransport, Transport } from "@mcp-effect/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RealServers from "../src/RealServers.ts"
import * as Menu from "./Menu.ts"

const timeoutMillis = 120_000

for (
  const [title, start, menu] of [
    ["server-everything", RealServers.everythingSse, Menu.everything],
    ["mcp-proxy", RealServers.proxySse, Menu.proxy]
  ] as const
) {
  const connect = Effect.flatMap(start, ({ url }) => Connect.connect(url))

  describe(`HTTP+SSE: ${title}`, () => {
    verifiesLive(
      ["CON-02", "CON-29", "SSE-01", "SSE-03", "SSE-04", "SSE-10"],
      "shakes hands and serves what it offers",
      Effect.fnUntraced(function*() {
        yield* Menu.serves(yield* connect, "2025-11-25", menu)
      }),
      timeoutMillis
    )

    verifiesLive(
      ["CON-29", "PAIN-6"],
      "sees a call cancelled and serves on",
      Effect.fnUntraced(function*() {
        yield* Menu.cancels(yield* connect, menu)
      }),
      timeoutMillis
    )
  })
}

describe("HTTP+SSE: server-everything", () => {
  verifiesLive(
    "SSE-12",
    "asks for a message of the model, for a form and for the roots",
    Effect.fnUntraced(function*() {
      const { url } = yield* RealServers.everythingSse
      const asked: Array<string> = []
      const client = yield* Connect.connect(url, {
        handlers: {
          roots: Effect.sync(() => {
            asked.push("roots")
            return [{ uri: "file:///work" }]
          }),
          sampling: {
            createMessage: () =>
              Effect.sync(() => {
                asked.push("sampling")
                return { role: "assistant", content: { type: "text", text: "from the model" }, model: "test" } as const
              })
          },
          elicitation: {
            form: () =>
              Effect.sync(() => {
                asked.push("elicitation")
                return { content: { name: "Ada", check: true } }
              })
          }
        }
      })
      const sampled = yield* client.callTool("trigger-sampling-request", { prompt: "Hi", maxTokens: 10 })
      assert.include(JSON.stringify(sampled.content), "from the model")
      const elicited = yield* client.callTool("trigger-elicitation-request", {})
      assert.include(JSON.stringify(elicited.content), "Ada")
      const roots = yield* client.callTool("get-roots-list", {})
      assert.include(JSON.stringify(roots.content), "file:///work")
      assert.includeMembers(asked, ["roots", "sampling", "elicitation"])
    }),
    timeoutMillis
  )
})

interface Case {
  readonly title: string
  readonly start: typeof RealServers.dualHttp
  readonly kind: Transport.Transport["Service"]["kind"]
  readonly version: Revision.Version
}

const cases: ReadonlyArray<Case> = [
  { title: "Streamable HTTP, both eras", start: RealServers.dualHttp, kind: "streamable-http", version: "2026-07-28" },
  {
    title: "Streamable HTTP, legacy",
    start: RealServers.everythingHttp,
    kind: "streamable-http",
    version: "2025-11-25"
  },
  { title: "HTTP+SSE", start: RealServers.everythingSse, kind: "sse", version: "2025-11-25" },
  { title: "HTTP+SSE of a proxy", start: RealServers.proxySse, kind: "sse", version: "2025-11-25" }
]

describe("a server at a URL whose transport is not known", () => {
  for (const { kind, start, title, version } of cases) {
    verifiesLive(
      ["CON-07", "PAIN-25"],
      `is found to speak ${title}`,
      Effect.fnUntraced(function*() {
        const { url } = yield* start
        const context = yield* Layer.build(
          DetectHttpTransport.layer({ url }).pipe(Layer.provide(NodeHttp.layer({ proxy: "none" })))
        )
        const transport = Context.get(context, Transport.Transport)
        const client = yield* Effect.provideContext(McpClient.make(), context)
        assert.strictEqual((yield* client.server).revision.version, version)
        assert.strictEqual(transport.kind, kind)
        const { content } = yield* client.callTool("echo", { message: "hi" })
        assert.include(JSON.stringify(content), "hi")
      }),
      timeoutMillis
    )
  }
})
