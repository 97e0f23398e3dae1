import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Envelope, ErrorReply, type Json, type McpError, Revision } from "@mcp-effect/protocol"

const revisionOf = (version: Revision.Version): Revision.Facts => {
  const facts = Revision.fromVersion(version)
  if (facts === undefined) throw new Error(version)
  return facts
}

/** As it comes over the wire. */
const errorOf = (error: unknown): Envelope.ErrorObject => {
  const message = Envelope.read({ jsonrpc: "2.0", id: 1, error })
  if (message?._tag !== "Response" || message.outcome._tag !== "Error") throw new Error("no error")
  return message.outcome.error
}

const reasonOf = (
  error: unknown,
  context: Partial<ErrorReply.ErrorContext> = {}
): McpError.McpErrorReason =>
  ErrorReply.reason(errorOf(error), { revision: Revision.latestModern, method: "tools/call", ...context })

const versionData = { supported: ["2026-07-28", "2025-11-25"], requested: "2030-01-01" }
const capabilityData = { requiredCapabilities: { elicitation: {} } }

verifiesPure(["ERR-03", "ERA-16"], "-32020, -32021 and -32022 are reasons of their own, with their data", () => {
  const mismatch = reasonOf({ code: -32020, message: "Mcp-Name differs" }, { httpStatus: 400 })
  assert.isTrue(mismatch._tag === "HeaderMismatch" && mismatch.excerpt === "Mcp-Name differs")
  assert.isTrue(mismatch._tag === "HeaderMismatch" && mismatch.httpStatus === 400)

  const capability = reasonOf({ code: -32021, message: "no", data: capabilityData }, { httpStatus: 400 })
  if (capability._tag !== "MissingClientCapability") return assert.fail(capability._tag)
  assert.deepStrictEqual(capability.requiredCapabilities, { elicitation: {} })
  assert.deepStrictEqual(capability.data, capabilityData)
  assert.strictEqual(capability.code, -32021)

  const version = reasonOf({ code: -32022, message: "no", data: versionData })
  if (version._tag !== "UnsupportedProtocolVersion") return assert.fail(version._tag)
  assert.deepStrictEqual(version.supported, ["2026-07-28", "2025-11-25"])
  assert.strictEqual(version.requested, "2030-01-01")
  assert.deepStrictEqual(version.data, versionData)
})

describe("a code whose error is not formed as it demands", () => {
  const malformed: ReadonlyArray<readonly [title: string, error: Json.JsonObject]> = [
    ["-32020 without a message", { code: -32020 }],
    ["-32020 with a number for a message", { code: -32020, message: 7 }],
    ["-32021 without data", { code: -32021, message: "no" }],
    ["-32021 with a list of capabilities", { code: -32021, message: "no", data: { requiredCapabilities: ["a"] } }],
    ["-32022 without data", { code: -32022, message: "no" }],
    ["-32022 without requested", { code: -32022, message: "no", data: { supported: [] } }],
    ["-32022 with numbers", { code: -32022, message: "no", data: { supported: [1], requested: "a" } }],
    ["-32022 with a string", { code: -32022, message: "no", data: { supported: "a", requested: "a" } }],
    ["-32022 with good data and no message", { code: -32022, data: versionData }]
  ]
  for (const [title, error] of malformed) {
    verifiesPure(["ERA-16", "ERR-04"], `is plain ServerError and keeps code and data: ${title}`, () => {
      const reason = reasonOf(error)
      if (reason._tag !== "ServerError") return assert.fail(reason._tag)
      assert.strictEqual<unknown>(reason.code, error["code"])
      assert.deepStrictEqual(reason.data, error["data"])
    })
  }

  it("does not include one whose message is empty", () => {
    assert.strictEqual(reasonOf({ code: -32022, message: "", data: versionData })._tag, "UnsupportedProtocolVersion")
  })
})

verifiesPure("ERR-04", "-32601 is recognisable, and a code without a meaning is plain ServerError", () => {
  const unknownMethod = reasonOf({ code: -32601, message: "no", data: { reason: "x" } }, { httpStatus: 404 })
  if (unknownMethod._tag !== "ServerError") return assert.fail(unknownMethod._tag)
  assert.isTrue(unknownMethod.isMethodNotFound)
  assert.strictEqual(unknownMethod.httpStatus, 404)
  assert.deepStrictEqual(unknownMethod.data, { reason: "x" })
  for (const code of [0, 1, -1, -32000, -32001, -32003, -32004, -32023, -32042, -32602, -32603]) {
    const reason = reasonOf({ code, message: "no", data: 7 })
    if (reason._tag !== "ServerError") return assert.fail(`${code} is ${reason._tag}`)
    assert.strictEqual(reason.code, code)
    assert.strictEqual(reason.data, 7)
    assert.isFalse(reason.isMethodNotFound)
  }
})

verifiesPure("RSC-08", "-32602 and -32002 mean not found on a modern server, -32002 on a legacy one", () => {
  const tagOf = (version: Revision.Version, code: number, method = "resources/read", uri: string | undefined = "a:b") =>
    reasonOf({ code, message: "no" }, { revision: revisionOf(version), method, uri })._tag
  assert.strictEqual(tagOf("2026-07-28", -32602), "ResourceNotFound")
  assert.strictEqual(tagOf("2026-07-28", -32002), "ResourceNotFound")
  for (const version of ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const) {
    assert.strictEqual(tagOf(version, -32002), "ResourceNotFound", version)
    assert.strictEqual(tagOf(version, -32602), "ServerError", version)
  }
  assert.strictEqual(tagOf("2026-07-28", -32603), "ServerError")
  assert.strictEqual(tagOf("2026-07-28", -32602, "tools/call"), "ServerError")
  assert.strictEqual(tagOf("2025-11-25", -32002, "resources/subscribe"), "ServerError")
  const reason = reasonOf({ code: -32602, message: "gone", data: { uri: "a:b" } }, {
    method: "resources/read",
    uri: "a:b"
  })
  if (reason._tag !== "ResourceNotFound") return assert.fail(reason._tag)
  assert.strictEqual(reason.uri, "a:b")
  assert.strictEqual(reason.excerpt, "gone")
  assert.deepStrictEqual(reason.data, { uri: "a:b" })
})

it("shows what the peer wrote as escaped excerpts, and never in the message", () => {
  const words = `\u001b[31m${"x".repeat(500)}`
  const reasons = [
    reasonOf({ code: -32000, message: words }),
    reasonOf({ code: -32020, message: words }),
    reasonOf({ code: -32021, message: words, data: capabilityData }),
    reasonOf({ code: -32022, message: words, data: { supported: [words], requested: words } })
  ]
  for (const reason of reasons) {
    assert.notInclude(reason.message, "xxx")
    if (!("excerpt" in reason) || reason.excerpt === undefined) return assert.fail(reason._tag)
    assert.isTrue(reason.excerpt.startsWith("\\u001b[31mxxx") && reason.excerpt.length <= 200)
  }
  const version = reasons.find((reason) => reason._tag === "UnsupportedProtocolVersion")
  assert.isAtMost(version?.requested.length ?? Infinity, 200)
  assert.isAtMost(version?.supported[0]?.length ?? Infinity, 200)
})

describe("requiredElicitations", () => {
  const url = { mode: "url", message: "Sign in", url: "https://example.com/", elicitationId: "e1" }

  it("are those of -32042", () => {
    const data = { elicitations: [url, { ...url, elicitationId: "e2" }] }
    assert.deepStrictEqual<unknown>(ErrorReply.requiredElicitations({ code: -32042, data }), data.elicitations)
  })

  it.each([
    { code: -32042 },
    { code: -32042, data: {} },
    { code: -32042, data: { elicitations: [{ mode: "form", message: "a" }] } },
    { code: -32041, data: { elicitations: [url] } }
  ])("are not there with %j", (error) => assert.isUndefined(ErrorReply.requiredElicitations(error)))
})
