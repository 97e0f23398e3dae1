import { assert, describe, it } from "@effect/vitest"
import { Envelope } from "@mcp-effect/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

const read = (message: Readonly<Record<string, unknown>>) => Envelope.read({ jsonrpc: "2.0", ...message })

const result = (id: Envelope.RequestId, value: Readonly<Record<string, unknown>>): Envelope.Incoming => ({
  _tag: "Response",
  id,
  outcome: { _tag: "Result", result: value }
})

const malformed = (id: Envelope.RequestId | undefined, problem: string): Envelope.Incoming => ({
  _tag: "Response",
  id,
  outcome: { _tag: "Malformed", problem }
})

const error = (id: Envelope.RequestId | undefined, error: Envelope.ErrorObject): Envelope.Incoming => ({
  _tag: "Response",
  id,
  outcome: { _tag: "Error", error }
})

describe("Envelope.isRequestId", () => {
  it("takes strings and integers", () => {
    for (const id of ["", "1", "a b", 0, 1, -1, 2 ** 53 - 1]) assert.isTrue(Envelope.isRequestId(id), String(id))
    for (const id of [null, undefined, 1.5, NaN, Infinity, true, {}, [1], 1n]) {
      assert.isFalse(Envelope.isRequestId(id), String(id))
    }
  })
})

describe("Envelope.read", () => {
  it("reads requests", () => {
    assert.deepStrictEqual(read({ id: 1, method: "ping" }), {
      _tag: "Request",
      id: 1,
      method: "ping",
      params: undefined
    })
    assert.deepStrictEqual(read({ id: "1", method: "roots/list", params: { a: [1] } }), {
      _tag: "Request",
      id: "1",
      method: "roots/list",
      params: { a: [1] }
    })
    // A method makes it a request, whatever else stands there.
    assert.strictEqual(read({ id: 1, method: "ping", result: {} })?._tag, "Request")
  })

  it("reads notifications", () => {
    assert.deepStrictEqual(read({ method: "notifications/progress", params: { progress: 0.5 } }), {
      _tag: "Notification",
      method: "notifications/progress",
      params: { progress: 0.5 }
    })
  })

  it("takes params that are no object as none", () => {
    for (const params of [null, [1], "text", 7]) {
      assert.deepStrictEqual(read({ method: "x", params }), { _tag: "Notification", method: "x", params: undefined })
      assert.deepStrictEqual(read({ id: 1, method: "x", params }), {
        _tag: "Request",
        id: 1,
        method: "x",
        params: undefined
      })
    }
  })

  it("reads results and keeps every member of them", () => {
    const value = { content: [], unknown: { a: 1 } }
    assert.deepStrictEqual(read({ id: 7, result: value }), result(7, value))
    const message = read({ id: 7, result: value })
    assert.isTrue(message?._tag === "Response" && message.outcome._tag === "Result" && message.outcome.result === value)
    assert.deepStrictEqual(read({ id: "7", result: {} }), result("7", {}))
    assert.deepStrictEqual(read({ id: 0, result: {} }), result(0, {}))
    assert.deepStrictEqual(read({ id: "", result: {} }), result("", {}))
  })

  it("reads errors with and without data", () => {
    assert.deepStrictEqual(
      read({ id: 1, error: { code: -32601, message: "no" } }),
      error(1, { code: -32601, message: "no" })
    )
    for (const data of [null, 0, "text", [1], { supported: [] }]) {
      assert.deepStrictEqual(
        read({ id: 1, error: { code: 5, message: "no", data } }),
        error(1, { code: 5, message: "no", data })
      )
    }
  })

  it("reads an error without a message", () => {
    for (const message of [undefined, null, 7, {}]) {
      assert.deepStrictEqual(
        read({ id: 1, error: { code: -1, message } }),
        error(1, { code: -1, message: "", malformed: true })
      )
    }
  })

  it("reads an error that names no request", () => {
    const refusal = { code: -32700, message: "parse error" }
    assert.deepStrictEqual(read({ error: refusal }), error(undefined, refusal))
    assert.deepStrictEqual(read({ id: null, error: refusal }), error(undefined, refusal))
    assert.deepStrictEqual(read({ id: 1.5, error: refusal }), error(undefined, refusal))
    assert.deepStrictEqual(read({ error: "oops" }), malformed(undefined, "its error is not an object"))
  })

  it("finds a malformed response by its id", () => {
    for (const broken of ["oops", 7, true, [{ code: 1 }]]) {
      assert.deepStrictEqual(read({ id: 1, error: broken }), malformed(1, "its error is not an object"))
    }
    for (const code of [undefined, null, "-32601", 1.5]) {
      assert.deepStrictEqual(
        read({ id: 1, error: { code, message: "no" } }),
        malformed(1, "its error has no integer code")
      )
    }
    for (const broken of ["str", 7, false, [], [{}]]) {
      assert.deepStrictEqual(read({ id: "a", result: broken }), malformed("a", "its result is not an object"))
    }
    for (const empty of [{}, { result: null }, { error: null }, { result: null, error: null }]) {
      assert.strictEqual(read({ id: 1, ...empty })?._tag, "Response")
    }
    assert.deepStrictEqual(read({ id: 1 }), malformed(1, "it has neither result nor error"))
  })

  it("lets an error prevail over a result", () => {
    const refusal = { code: 1, message: "no" }
    assert.deepStrictEqual(read({ id: 1, result: {}, error: refusal }), error(1, refusal))
  })

  it("takes members that are null as absent", () => {
    assert.deepStrictEqual(read({ id: 1, method: null, result: { a: 1 }, error: null }), result(1, { a: 1 }))
    assert.deepStrictEqual(
      read({ id: 1, result: null, error: { code: 1, message: "no" } }),
      error(1, { code: 1, message: "no" })
    )
    assert.deepStrictEqual(read({ id: 1, error: null }), malformed(1, "it has neither result nor error"))
  })

  it("takes everything else for noise", () => {
    const noise: ReadonlyArray<unknown> = [
      undefined,
      null,
      true,
      42,
      "text",
      [],
      [1, 2],
      [{ jsonrpc: "2.0", id: 1, result: {} }],
      {},
      { jsonrpc: "2.0" },
      { jsonrpc: "2.0", result: {} },
      { jsonrpc: "2.0", id: null, result: {} },
      { jsonrpc: "2.0", id: 1.5, result: {} },
      { jsonrpc: "2.0", id: null },
      { jsonrpc: "2.0", id: null, error: null },
      { jsonrpc: "2.0", id: null, method: "ping" },
      { jsonrpc: "2.0", id: 1.5, method: "ping" },
      { jsonrpc: "2.0", id: {}, method: "ping" },
      { jsonrpc: "2.0", id: 1, method: 7 },
      { jsonrpc: "2.0", id: 1, method: {}, result: {} }
    ]
    for (const value of noise) assert.isUndefined(Envelope.read(value), JSON.stringify(value))
  })

  it("takes a line of a log or the error of a gateway for noise", () => {
    const lines = [
      { level: 30, time: 1, pid: 1, msg: "listening" },
      { level: "info", method: "GET", path: "/mcp" },
      { id: 1, method: "GET", url: "/" },
      { id: 1, level: "info" },
      { error: "invalid_token", error_description: "expired" },
      { error: { code: 404, message: "Not Found", status: "NOT_FOUND" } },
      { jsonrpc: "1.0", id: 1, method: "ping" }
    ]
    for (const line of lines) assert.isUndefined(Envelope.read(line), JSON.stringify(line))
  })

  it("lets an answer count that forgets to name the protocol", () => {
    assert.deepStrictEqual(Envelope.read({ id: 1, result: {} }), result(1, {}))
    assert.deepStrictEqual(
      Envelope.read({ jsonrpc: 2, id: 1, error: { code: 1, message: "no" } }),
      error(1, { code: 1, message: "no" })
    )
  })

  it.prop("never throws, and an integer or string id without a method is never lost", [
    Schema.Json,
    Arbitrary.schema(Schema.Struct({ id: Schema.Union([Schema.String, Schema.Int]), result: Schema.Json }))
  ], ([json, response]) => {
    Envelope.read(json)
    const message = Envelope.read({ jsonrpc: "2.0", ...response })
    assert.isTrue(message?._tag === "Response" && message.id === response.id)
  })
})

describe("Envelope.encode", () => {
  it("writes notifications", () => {
    assert.strictEqual(
      Envelope.encode({ _tag: "Notification", method: "notifications/initialized", params: undefined }),
      `{"jsonrpc":"2.0","method":"notifications/initialized"}`
    )
    assert.strictEqual(
      Envelope.encode({ _tag: "Notification", method: "notifications/cancelled", params: { requestId: "1" } }),
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`
    )
  })

  it("writes replies", () => {
    assert.strictEqual(
      Envelope.encode({ _tag: "Reply", id: 3, outcome: { _tag: "Result", result: {} } }),
      `{"jsonrpc":"2.0","id":3,"result":{}}`
    )
    assert.strictEqual(
      Envelope.encode({
        _tag: "Reply",
        id: "a",
        outcome: { _tag: "Error", error: { code: -32601, message: "Method not found" } }
      }),
      `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"Method not found"}}`
    )
    assert.strictEqual(
      Envelope.encode({
        _tag: "Reply",
        id: 1,
        outcome: { _tag: "Error", error: { code: 1, message: "m", data: null } }
      }),
      `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":null}}`
    )
  })

  it.prop("writes one line that reads back", [
    Schema.String,
    Schema.Union([Schema.String, Schema.Int]),
    Schema.Json
  ], ([method, id, json]) => {
    const params = { json, text: "a\r\n\u2028b" }
    // Zero has a sign in JavaScript, and no request id needs it.
    const same = JSON.parse(JSON.stringify({ id, params })) as { id: Envelope.RequestId; params: typeof params }
    const notification = Envelope.encode({ _tag: "Notification", method, params })
    const reply = Envelope.encode({ _tag: "Reply", id, outcome: { _tag: "Result", result: params } })
    for (const line of [notification, reply]) assert.notMatch(line, /[\r\n]/)
    assert.deepStrictEqual(Envelope.read(JSON.parse(notification)), {
      _tag: "Notification",
      method,
      params: same.params
    })
    assert.deepStrictEqual(Envelope.read(JSON.parse(reply)), result(same.id, same.params))
  })
})
