import { assert, describe } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { McpError, Revision } from "@mcp-effect/protocol"
import * as Recovery from "../src/internal/Recovery.ts"

const modern = Revision.latestModern
const legacy = Revision.latestLegacy

const circumstances: Recovery.Circumstances = {
  revision: modern,
  isRepeatable: false,
  isPinned: false,
  reissue: "always",
  done: Recovery.nothing
}

interface Case extends Partial<Recovery.Circumstances> {
  readonly reason: McpError.McpErrorReason
  readonly delivery?: McpError.Delivery
  readonly method?: string
}

const decide = ({ delivery = "unknown", method = "tools/call", reason, ...given }: Case): Recovery.Action =>
  Recovery.decide(McpError.make(reason, delivery, { method }), { ...circumstances, ...given })

const streamEnded = new McpError.StreamEnded({ resumable: false })
const unresumed = new McpError.StreamEnded({ resumable: true })
const expired = new McpError.SessionExpired({ status: 404 })
const exited = new McpError.ConnectionClosed({ target: "srv", local: false, exitCode: 1 })
const closedHere = new McpError.ConnectionClosed({ target: "srv", local: true })
const reset = new McpError.ConnectionFailed({ target: "srv", code: "ECONNRESET", description: "reset" })
const status = (status: number) => new McpError.HttpStatus({ status })
const deliveries = ["unsent", "refused", "unknown"] as const

describe("A failure that may pass", () => {
  verifiesPure(
    "RTY-02",
    "is one of the network, HTTP 429 and every 5xx; no error of the server, and no other 4xx",
    () => {
      const may = [reset, exited, expired, status(429), status(500), status(502), status(503), status(504)]
      for (const reason of may) assert.isTrue(Recovery.mayPass(reason), reason.message)
      const lasting = [
        ...[400, 401, 404, 405, 408, 409, 413, 422, 425].map(status),
        new McpError.ServerError({ code: -32603, excerpt: "" }),
        new McpError.MalformedMessage({ problem: "" }),
        new McpError.Unauthorized({ challenges: [] }),
        new McpError.ConnectionFailed({ target: "srv", code: "CERT_HAS_EXPIRED", description: "" })
      ]
      for (const reason of lasting) assert.isFalse(Recovery.mayPass(reason), reason.message)
    }
  )

  verifiesPure("RTY-05", "is no timeout and no message over the limit, whatever the method", () => {
    const reasons = [
      new McpError.RequestTimeout({ kind: "idle", millis: 1 }),
      new McpError.RequestTimeout({ kind: "deadline", millis: 1 }),
      new McpError.StreamIdle({ millis: 1 }),
      new McpError.MessageTooLarge({ limit: 1, direction: "received" })
    ]
    for (const reason of reasons) {
      for (const isRepeatable of [true, false]) {
        for (const delivery of deliveries) assert.strictEqual(decide({ reason, delivery, isRepeatable }), "fail")
      }
    }
  })

  verifiesPure(
    ["RTY-04", "RTY-11", "RTY-12"],
    "is asked of the schedule where nothing was executed, or repeating does no harm, and never else",
    () => {
      for (const reason of [reset, status(503), status(500)]) {
        for (const delivery of deliveries) {
          assert.strictEqual(decide({ reason, delivery, isRepeatable: true, method: "tools/list" }), "retry")
        }
        assert.strictEqual(decide({ reason, delivery: "unsent" }), "retry")
        assert.strictEqual(decide({ reason, delivery: "refused" }), "retry")
      }
      assert.strictEqual(decide({ reason: status(500) }), "fail")
      assert.strictEqual(decide({ reason: reset }), "ambiguous")
      // Only a tool may have run.
      assert.strictEqual(decide({ reason: reset, method: "tasks/cancel" }), "fail")
    }
  )
})

describe("A connection or a session that is gone", () => {
  verifiesPure(
    ["RTY-06", "SHT-22", "RTY-13"],
    "has what only asks sent in the next one, once, and leaves a call to its caller",
    () => {
      const list = { reason: expired, isRepeatable: true, revision: legacy, method: "tools/list" }
      assert.strictEqual(decide({ ...list, delivery: "refused" }), "renew")
      assert.strictEqual(decide({ ...list, delivery: "refused", done: { ...Recovery.nothing, renewed: true } }), "fail")
      assert.strictEqual(decide({ ...list, delivery: "unknown" }), "renew")
      // By itself nothing is sent again; a schedule of the caller's may be asked.
      assert.strictEqual(decide({ reason: expired, revision: legacy, delivery: "refused" }), "retry")
      assert.strictEqual(decide({ reason: expired, revision: legacy, delivery: "unknown" }), "ambiguous")
    }
  )

  verifiesPure("STD-14", "takes nothing along that may have been executed", () => {
    assert.strictEqual(decide({ reason: exited }), "ambiguous")
    assert.strictEqual(decide({ reason: exited, isRepeatable: true, method: "tools/list" }), "retry")
    // What had not left is sent for the first time, if to the next process.
    assert.strictEqual(decide({ reason: exited, delivery: "unsent" }), "renew")
    assert.strictEqual(
      decide({ reason: exited, delivery: "unsent", done: { ...Recovery.nothing, renewed: true } }),
      "retry"
    )
    assert.strictEqual(decide({ reason: closedHere }), "fail")
    assert.strictEqual(decide({ reason: closedHere, isRepeatable: true }), "fail")
  })

  verifiesPure("MRT-11", "ends what makes sense in it only", () => {
    for (const reason of [exited, expired]) {
      assert.strictEqual(decide({ reason, isPinned: true, isRepeatable: true, delivery: "unsent" }), "fail")
      assert.strictEqual(decide({ reason, isPinned: true, isRepeatable: true, delivery: "unknown" }), "fail")
      assert.strictEqual(decide({ reason, isPinned: true, delivery: "refused" }), "fail")
      assert.strictEqual(decide({ reason, isPinned: true, delivery: "unknown" }), "ambiguous")
    }
  })
})

describe("A response stream that broke", () => {
  verifiesPure(["RTY-07", "RTY-14"], "has its request issued anew once, as far as the setting goes", () => {
    const list = { reason: streamEnded, isRepeatable: true, method: "tools/list" }
    const reissued = { ...Recovery.nothing, reissued: true }
    assert.strictEqual(decide({ reason: streamEnded }), "reissue")
    assert.strictEqual(decide({ reason: streamEnded, reissue: "safe" }), "ambiguous")
    assert.strictEqual(decide({ reason: streamEnded, reissue: "never" }), "ambiguous")
    assert.strictEqual(decide({ reason: streamEnded, done: reissued }), "ambiguous")
    assert.strictEqual(decide({ ...list }), "reissue")
    assert.strictEqual(decide({ ...list, reissue: "safe" }), "reissue")
    assert.strictEqual(decide({ ...list, reissue: "never" }), "fail")
    assert.strictEqual(decide({ ...list, done: reissued }), "fail")
  })

  verifiesPure("RTY-13", "of the legacy era may go on at the server, so that only what asks is issued anew", () => {
    const list = { reason: streamEnded, isRepeatable: true, method: "tools/list", revision: legacy }
    assert.strictEqual(decide({ reason: streamEnded, revision: legacy }), "ambiguous")
    assert.strictEqual(decide(list), "reissue")
    assert.strictEqual(decide({ ...list, reason: unresumed }), "fail")
  })
})

describe("What a server refuses or asks", () => {
  verifiesPure("HDR-19", "is mended once each", () => {
    const version = new McpError.UnsupportedProtocolVersion({
      code: -32022,
      supported: [modern.version],
      requested: modern.version,
      excerpt: ""
    })
    const headers = new McpError.HeaderMismatch({ code: -32020, excerpt: "" })
    assert.strictEqual(decide({ reason: version, delivery: "refused" }), "resend")
    assert.strictEqual(decide({ reason: headers, delivery: "refused" }), "refresh-headers")
    const done = { ...Recovery.nothing, resent: true, refreshed: true }
    assert.strictEqual(decide({ reason: version, delivery: "refused", done }), "fail")
    assert.strictEqual(decide({ reason: headers, delivery: "refused", done }), "fail")
    assert.strictEqual(decide({ reason: streamEnded, done }), "reissue")
  })
})
