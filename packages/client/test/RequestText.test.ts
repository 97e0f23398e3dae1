import { assert, describe } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import * as RequestText from "../src/internal/RequestText.ts"

const parse = (text: string): unknown => JSON.parse(text)

describe("RequestText", () => {
  verifiesPure("PRG-01", "always sends a progress token, the id itself", () => {
    assert.deepStrictEqual(parse(RequestText.encode(7, "tools/list", "", undefined, {})), {
      jsonrpc: "2.0",
      id: 7,
      method: "tools/list",
      params: { _meta: { progressToken: 7 } }
    })
    assert.deepStrictEqual(parse(RequestText.encode("a\"b", "ping", "", undefined, undefined)), {
      jsonrpc: "2.0",
      id: "a\"b",
      method: "ping",
      params: { _meta: { progressToken: "a\"b" } }
    })
  })

  verifiesPure("MET-01", "puts the session's own members first and the params beside _meta", () => {
    const constant = RequestText.members({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" })
    assert.deepStrictEqual(
      parse(
        RequestText.encode(1, "tools/call", constant, { trace: "x" }, { name: "echo", arguments: { a: [1, "\n"] } })
      ),
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28", trace: "x", progressToken: 1 },
          name: "echo",
          arguments: { a: [1, "\n"] }
        }
      }
    )
  })

  verifiesPure("PRG-03", "a host's own progress token replaces the id", () => {
    assert.deepStrictEqual(parse(RequestText.encode(1, "ping", "", { progressToken: "mine" }, undefined)), {
      jsonrpc: "2.0",
      id: 1,
      method: "ping",
      params: { _meta: { progressToken: "mine" } }
    })
  })

  verifiesPure("MET-03", "merges metadata by rank and strips the protocol's own keys", () => {
    assert.deepStrictEqual(
      RequestText.mergeMetadata(
        { a: 1, b: 1, "io.modelcontextprotocol/clientInfo": {} },
        undefined,
        { b: 2, "io.modelcontextprotocol/protocolVersion": "1", "io.modelcontextprotocol/clientCapabilities": {} }
      ),
      { a: 1, b: 2 }
    )
    assert.isUndefined(RequestText.mergeMetadata({ "io.modelcontextprotocol/clientInfo": {} }, undefined))
  })

  verifiesPure("MET-03", "a key named __proto__ stays data", () => {
    const merged = RequestText.mergeMetadata(JSON.parse("{\"__proto__\":{\"x\":1}}"))
    assert.isTrue(merged !== undefined && Object.hasOwn(merged, "__proto__"))
    assert.strictEqual(JSON.stringify(merged), "{\"__proto__\":{\"x\":1}}")
  })

  verifiesPure("MET-05", "takes _meta out of the params of a raw request", () => {
    assert.deepStrictEqual(RequestText.splitMetadata({ a: 1, _meta: { b: 2 } }), {
      params: { a: 1 },
      metadata: { b: 2 }
    })
    assert.deepStrictEqual(RequestText.splitMetadata({ _meta: 5 }), { params: {}, metadata: undefined })
  })

  verifiesPure("MET-04", "what was encoded is a copy: a later change of the host's object changes nothing", () => {
    const params = { name: "x", arguments: { list: [1] } }
    const text = RequestText.encode(1, "tools/call", "", undefined, params)
    params.arguments.list.push(2)
    assert.isTrue(text.includes("[1]"))
  })

  verifiesPure("STD-01", "is one line", () => {
    assert.isFalse(/[\r\n]/.test(RequestText.encode("i\nd", "m\r\n", "", { "k\n": "\r" }, { "p\n": "v\n" })))
  })
})
