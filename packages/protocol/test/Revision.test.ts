import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Revision } from "@mcp-effect/protocol"

// One row per fact, one column per revision, from the specification of each.
const columns = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const
const matrix: { readonly [Fact in keyof Revision.Facts]: ReadonlyArray<Revision.Facts[Fact]> } = {
  version: columns,
  era: ["legacy", "legacy", "legacy", "legacy", "modern"],
  handshake: [true, true, true, true, false],
  requestMetadata: [false, false, false, false, true],
  sessionIds: [false, true, true, true, false],
  standbyStream: [false, true, true, true, false],
  resumption: [false, true, true, true, false],
  batching: [false, true, false, false, false],
  protocolVersionHeader: ["never", "never", "after-handshake", "after-handshake", "always"],
  requestHeaders: [false, false, false, false, true],
  serverRequests: [true, true, true, true, false],
  httpCancellation: ["notification", "notification", "notification", "notification", "close-stream"],
  structuredContent: ["none", "none", "object", "object", "any"],
  resultType: [false, false, false, false, true],
  cacheHints: [false, false, false, false, true],
  ping: [true, true, true, true, false],
  logLevel: ["set-level", "set-level", "set-level", "set-level", "request"],
  subscriptions: ["subscribe", "subscribe", "subscribe", "subscribe", "listen"],
  completionsCapability: [false, true, true, true, true],
  completionContext: [false, false, true, true, true],
  elicitation: [
    { form: false, url: false, multiSelect: false },
    { form: false, url: false, multiSelect: false },
    { form: true, url: false, multiSelect: false },
    { form: true, url: true, multiSelect: true },
    { form: true, url: true, multiSelect: true }
  ],
  rootsListChanged: [true, true, true, true, false],
  samplingTools: [false, false, false, true, true],
  tasks: ["none", "none", "none", "core", "extension"],
  resourceNotFoundCodes: [[-32002], [-32002], [-32002], [-32002], [-32602, -32002]],
  implementation: ["name", "name", "title", "full", "full"]
}

describe("Revision", () => {
  verifiesPure("ERA-01", "knows five revisions, newest first", () => {
    assert.deepStrictEqual(
      Revision.all.map(({ version }) => version),
      ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    )
    assert.deepStrictEqual(Revision.modern.map(({ version }) => version), ["2026-07-28"])
    assert.deepStrictEqual(
      Revision.legacy.map(({ version }) => version),
      ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    )
    assert.strictEqual(Revision.latestModern.version, "2026-07-28")
    assert.strictEqual(Revision.latestLegacy.version, "2025-11-25")
  })

  it.each(columns.map((version, column) => ({ version, column })))("$version has its facts", ({ column, version }) => {
    const expected = Object.fromEntries(Object.entries(matrix).map(([fact, values]) => [fact, values[column]]))
    assert.deepStrictEqual<unknown>({ ...Revision.fromVersion(version) }, expected)
  })

  it("looks up exactly what it knows", () => {
    for (
      const version of ["", "2026-07-29", "2026-07-28 ", "DRAFT-2026-v1", "toString", undefined, null, 20260728, {}]
    ) {
      assert.isUndefined(Revision.fromVersion(version))
    }
  })
})
