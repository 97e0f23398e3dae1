import { assert, describe } from "@effect/vitest"
import * as TestServer from "@mcp-effect/conformance/http/TestServer"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect } from "@mcp-effect/node"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "asking", version: "1" }
}

const form = {
  mode: "form",
  message: "Your name?",
  requestedSchema: { type: "object", properties: { name: { type: "string", default: "Ada" } }, required: ["name"] }
}

describe("the standby stream of a client", () => {
  verifiesLive(
    ["SDK-02", "SDK-04"],
    "is opened where the client has handlers, and requests on it are answered",
    () =>
      Effect.gen(function*() {
        const answered = yield* Deferred.make<unknown>()
        let ask = (): void => {}
        const server = yield* TestServer.serve((request, response) => {
          if (request.httpMethod === "GET") {
            response.stream()
            ask = () => response.event({ jsonrpc: "2.0", id: 1, method: "elicitation/create", params: form })
            return
          }
          const { message } = request
          if (message?.method === "initialize") return response.result(initialized)
          if (message?.method === "server/discover") return response.send(400, {})
          if (message?.result !== undefined) Deferred.doneUnsafe(answered, Effect.succeed(message))
          response.send(202, {})
        })
        yield* Connect.connect(server.url, {
          handlers: { elicitation: { form: ({ defaults }) => Effect.succeed({ action: "accept", content: defaults }) } }
        })
        ask()
        assert.deepStrictEqual(yield* Deferred.await(answered), {
          jsonrpc: "2.0",
          id: 1,
          result: { action: "accept", content: { name: "Ada" } }
        })
      })
  )

  verifiesLive("SDK-04", "is not opened where nothing needs it, or it is switched off", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.serve(({ message }, response) => {
        if (message?.method === "initialize") return response.result(initialized)
        if (message?.method === "server/discover") return response.send(400, {})
        if (message?.id === undefined) return response.send(202, {})
        response.result({ tools: [] })
      })
      const form = () => Effect.succeed({ action: "decline" } as const)
      for (const options of [{}, { standbyStream: "off", handlers: { elicitation: { form } } } as const]) {
        const client = yield* Connect.connect(server.url, options)
        yield* client.listTools()
      }
      assert.isFalse(server.received.some(({ httpMethod }) => httpMethod === "GET"))
    }))

  verifiesLive(
    "SDK-04",
    "that the server refuses is not asked for again, and the client works",
    () =>
      Effect.gen(function*() {
        const server = yield* TestServer.serve((request, response) => {
          if (request.httpMethod === "GET") return response.send(405, {})
          const { message } = request
          if (message?.method === "initialize") return response.result(initialized)
          if (message?.method === "server/discover") return response.send(400, {})
          if (message?.id === undefined) return response.send(202, {})
          response.result({ tools: [] })
        })
        const client = yield* Connect.connect(server.url, {
          handlers: { elicitation: { form: () => Effect.succeed({ action: "decline" }) } }
        })
        assert.deepStrictEqual(yield* client.listTools(), [])
        assert.strictEqual(server.received.filter(({ httpMethod }) => httpMethod === "GET").length, 1)
      })
  )
})
