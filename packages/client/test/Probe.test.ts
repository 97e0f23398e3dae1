import { assert, describe } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { McpError, Revision } from "@mcp-effect/protocol"
import * as Probe from "../src/internal/Probe.ts"

const serverError = (code: number, httpStatus?: number, data?: unknown) =>
  McpError.make(new McpError.ServerError({ code, excerpt: "", data, httpStatus }), "refused")
const httpStatus = (status: number) => McpError.make(new McpError.HttpStatus({ status }), "refused")
const unsupported = (supported: ReadonlyArray<string>) =>
  McpError.make(
    new McpError.UnsupportedProtocolVersion({ code: -32022, supported, requested: "2026-07-28", excerpt: "" }),
    "refused"
  )
const failed = (error: McpError.McpError): Probe.Outcome => ({ _tag: "Failed", error })
const discovered = (result: Record<string, unknown>): Probe.Outcome => ({ _tag: "Discovered", result })

describe("Probe.classify", () => {
  verifiesPure(["ERA-02", "ERA-08"], "a DiscoverResult is modern, under the newest revision both sides list", () => {
    const verdict = Probe.classify(
      discovered({ supportedVersions: ["2099-01-01", "2026-07-28", "2025-11-25"], capabilities: {} }),
      true
    )
    assert.strictEqual(verdict._tag, "Modern")
    if (verdict._tag === "Modern") assert.strictEqual(verdict.revision.version, "2026-07-28")
  })

  verifiesPure("ERA-08", "a list of modern revisions without a mutual one gives up and never shakes hands", () => {
    const verdict = Probe.classify(discovered({ supportedVersions: ["2099-01-01"], capabilities: {} }), true)
    assert.strictEqual(verdict._tag, "Failed")
    if (verdict._tag === "Failed") assert.strictEqual(verdict.error.reason._tag, "NegotiationFailed")
  })

  verifiesPure("ERA-08", "a list of legacy revisions alone leads to the handshake", () => {
    assert.strictEqual(
      Probe.classify(discovered({ supportedVersions: ["2025-11-25"], capabilities: {} }), true)._tag,
      "Legacy"
    )
    assert.strictEqual(Probe.classify(failed(unsupported(["2025-11-25", "2024-11-05"])), true)._tag, "Legacy")
  })

  verifiesPure("ERA-12", "a result that is no DiscoverResult is legacy", () => {
    for (const result of [{}, { supportedVersions: "2026-07-28", capabilities: {} }, { supportedVersions: [1] }]) {
      assert.strictEqual(Probe.classify(discovered(result), true)._tag, "Legacy")
    }
  })

  verifiesPure(
    "ERA-09",
    "-32022 is probed once more under a listed revision, even the refused one, and only once",
    () => {
      const first = Probe.classify(failed(unsupported(["2026-07-28"])), true)
      assert.deepStrictEqual(first, { _tag: "ProbeAgain", revision: Revision.latestModern })
      assert.strictEqual(Probe.classify(failed(unsupported(["2026-07-28"])), false)._tag, "Failed")
    }
  )

  verifiesPure(["ERA-11", "ERA-16"], "-32020 and -32021 settle the modern era", () => {
    const mismatch = McpError.make(new McpError.HeaderMismatch({ code: -32020, excerpt: "" }), "refused")
    const capability = McpError.make(
      new McpError.MissingClientCapability({ code: -32021, requiredCapabilities: {}, excerpt: "" }),
      "refused"
    )
    for (const error of [mismatch, capability]) {
      assert.deepStrictEqual(Probe.classify(failed(error), true), { _tag: "Failed", error })
      assert.isTrue(Probe.isModernError(error))
    }
  })

  verifiesPure("ERA-11", "on a shared channel any other error is legacy, whatever its code", () => {
    for (const code of [-32601, -32602, -32603, -32600, -32700, -32000, -32001, -32002, -32042, 0, 1]) {
      assert.deepStrictEqual(Probe.classify(failed(serverError(code)), true), { _tag: "Legacy", undiscovered: false })
    }
  })

  verifiesPure(
    "ERA-12",
    "over HTTP a 4xx without a modern error is legacy; 404 with -32601 may be undiscovered",
    () => {
      for (const status of [400, 404, 405, 406, 415]) {
        assert.deepStrictEqual(Probe.classify(failed(httpStatus(status)), true), {
          _tag: "Legacy",
          undiscovered: false
        })
      }
      assert.deepStrictEqual(Probe.classify(failed(serverError(-32000, 400)), true), {
        _tag: "Legacy",
        undiscovered: false
      })
      assert.deepStrictEqual(Probe.classify(failed(serverError(-32601, 200)), true), {
        _tag: "Legacy",
        undiscovered: false
      })
      assert.deepStrictEqual(Probe.classify(failed(serverError(-32601, 404)), true), {
        _tag: "Legacy",
        undiscovered: true
      })
    }
  )

  verifiesPure(
    "ERA-13",
    "authorization, overload, server faults, timeouts and broken connections settle nothing",
    () => {
      const errors = [
        httpStatus(429),
        httpStatus(500),
        httpStatus(503),
        serverError(-32000, 503),
        serverError(-32001, 401),
        McpError.make(new McpError.Unauthorized({ challenges: [] }), "refused"),
        McpError.make(new McpError.InsufficientScope({ challenges: [] }), "refused"),
        McpError.make(new McpError.RequestTimeout({ kind: "idle", millis: 1 }), "unknown"),
        McpError.make(new McpError.StreamEnded({ resumable: false }), "unknown"),
        McpError.make(new McpError.MessageTooLarge({ limit: 1, direction: "received" }), "unknown"),
        McpError.make(new McpError.ConnectionFailed({ target: "x", description: "y" }), "unsent")
      ]
      for (const error of errors) {
        assert.deepStrictEqual(Probe.classify(failed(error), true), { _tag: "Failed", error }, error.reason._tag)
      }
    }
  )

  verifiesPure("ERA-17", "a discovery that is answered with input_required is never taken for a legacy server", () => {
    const error = McpError.make(new McpError.MalformedMessage({ problem: "x", path: "/resultType" }), "unknown")
    assert.deepStrictEqual(Probe.classify(failed(error), true), { _tag: "Failed", error })
  })
})

describe("Probe.refusesHandshake", () => {
  verifiesPure("ERA-12", "-32601, 404 or a modern error to initialize make an undiscovered server modern", () => {
    assert.isTrue(Probe.refusesHandshake(serverError(-32601, 200)))
    assert.isTrue(Probe.refusesHandshake(httpStatus(404)))
    assert.isTrue(Probe.refusesHandshake(unsupported([])))
    assert.isFalse(Probe.refusesHandshake(httpStatus(500)))
    assert.isFalse(Probe.refusesHandshake(serverError(-32603, 200)))
  })
})

describe("Probe.legacyAlternative", () => {
  verifiesPure("ERA-03", "an error to initialize that lists revisions names the newest of ours to try next", () => {
    const error = serverError(-32602, undefined, { supported: ["2024-11-05", "2025-03-26"], requested: "2025-11-25" })
    assert.strictEqual(Probe.legacyAlternative(error, Revision.latestLegacy)?.version, "2025-03-26")
    assert.isUndefined(Probe.legacyAlternative(serverError(-32602), Revision.latestLegacy))
    assert.isUndefined(
      Probe.legacyAlternative(serverError(-32602, undefined, { supported: ["2025-11-25"] }), Revision.latestLegacy)
    )
  })
})
