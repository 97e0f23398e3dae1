import { assert, describe } from "@effect/vitest"
import { verifies } from "@mcp-effect/conformance/Verifies"
import { MemoryTransport, Transport } from "@mcp-effect/transport"
import * as Effect from "effect/Effect"
import type * as ClientOptions from "../src/ClientOptions.ts"
import * as McpClient from "../src/McpClient.ts"

const integer = { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] }

/** A modern server whose one tool declares a schema and answers as it is told. */
const serving = (outputSchema: unknown, answer: () => Record<string, unknown>, calls: Array<unknown> = []) =>
  MemoryTransport.make(({ method, params }) => {
    switch (method) {
      case "server/discover":
        return Effect.succeed({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } })
      case "tools/list":
        return Effect.succeed({ tools: [{ name: "add", inputSchema: { type: "object" }, outputSchema }] })
      default:
        calls.push(params)
        return Effect.sync(() => ({ content: [], ...answer() }))
    }
  })

const connect = (
  server: ReturnType<typeof serving>,
  options: ClientOptions.ClientOptions = {}
) =>
  Effect.flatMap(
    server,
    ({ transport }) =>
      Effect.provideService(McpClient.make({ protocol: "modern", ...options }), Transport.Transport, transport)
  )

describe("the output of a tool", () => {
  verifies(
    ["SCH-01", "SCH-03", "PAIN-52"],
    "that does not fit comes with what is wrong, and nothing is lost",
    () =>
      Effect.gen(function*() {
        const client = yield* connect(serving(integer, () => ({ structuredContent: { sum: "three" } })))
        yield* client.listTools()
        const result = yield* client.callTool("add", { a: 1 })
        assert.deepStrictEqual(result.structuredContent, { sum: "three" })
        assert.deepStrictEqual(result.outputIssues?.map(({ path }) => path), ["/sum"])
      })
  )

  verifies(
    ["SCH-01", "PAIN-53"],
    "that is missing although it was promised is reported alike",
    () =>
      Effect.gen(function*() {
        const client = yield* connect(serving(integer, () => ({})))
        yield* client.listTools()
        const result = yield* client.callTool("add")
        assert.strictEqual(result.outputIssues?.length, 1)
      })
  )

  verifies(
    ["SCH-03", "PAIN-52"],
    "fails a strict client, with the whole result in the error",
    () =>
      Effect.gen(function*() {
        const server = serving(integer, () => ({ structuredContent: { sum: 1.5 } }))
        const client = yield* connect(server, { outputValidation: "strict" })
        yield* client.listTools()
        const { delivery, reason } = yield* Effect.flip(client.callTool("add"))
        assert.strictEqual(reason._tag, "OutputInvalid")
        assert.strictEqual(delivery, "unknown")
        if (reason._tag === "OutputInvalid") {
          assert.deepStrictEqual(reason.result, { content: [], structuredContent: { sum: 1.5 } })
        }
      })
  )

  verifies(
    ["SCH-01", "SCH-04"],
    "that fits, and that of a tool which failed, comes as it is",
    () =>
      Effect.gen(function*() {
        let answer: Record<string, unknown> = { structuredContent: { sum: 3 } }
        const client = yield* connect(serving(integer, () => answer), { outputValidation: "strict" })
        yield* client.listTools()
        assert.deepStrictEqual(yield* client.callTool("add"), { content: [], structuredContent: { sum: 3 } })
        answer = { isError: true }
        assert.deepStrictEqual(yield* client.callTool("add"), { content: [], isError: true })
      })
  )

  verifies(
    ["SCH-25", "PAIN-54"],
    "of a schema that cannot be used is not checked, and the call goes through",
    () =>
      Effect.gen(function*() {
        const calls: Array<unknown> = []
        const server = serving({ $ref: "https://example.com/schema" }, () => ({ structuredContent: 1 }), calls)
        const client = yield* connect(server, { outputValidation: "strict" })
        yield* client.listTools()
        assert.strictEqual((yield* client.callTool("add")).structuredContent, 1)
        assert.strictEqual(calls.length, 1)
      })
  )

  verifies(
    ["SCH-23", "SCH-36"],
    "in an unsupported dialect is refused before the call is sent",
    () =>
      Effect.gen(function*() {
        const calls: Array<unknown> = []
        const server = serving({ $schema: "http://json-schema.org/draft-04/schema#" }, () => ({}), calls)
        const client = yield* connect(server)
        yield* client.listTools()
        const { delivery, reason } = yield* Effect.flip(client.callTool("add"))
        assert.strictEqual(delivery, "unsent")
        assert.strictEqual(reason._tag, "SchemaUnsupported")
        if (reason._tag === "SchemaUnsupported") assert.strictEqual(reason.which, "outputSchema")
        assert.deepStrictEqual(calls, [])
      })
  )

  verifies("SCH-03", "takes no other mode", () =>
    Effect.gen(function*() {
      const options = JSON.parse("{\"outputValidation\":\"lenient\"}")
      const { reason } = yield* Effect.flip(connect(serving(integer, () => ({})), options))
      assert.strictEqual(reason._tag, "InvalidRequest")
    }))
})
