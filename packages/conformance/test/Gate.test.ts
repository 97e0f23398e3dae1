import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import * as Gate from "../src/Gate.ts"

const success: Gate.Check = { id: "a", status: "SUCCESS" }

describe("Gate", () => {
  it("passes a scenario with a success and nothing against it", () => {
    assert.isUndefined(Gate.fault([success, { id: "b", status: "SKIPPED" }, { id: "c", status: "INFO" }]))
  })

  it("fails a scenario in which nothing succeeded", () => {
    assert.strictEqual(Gate.fault([]), "no check succeeded")
    assert.strictEqual(Gate.fault([{ id: "b", status: "SKIPPED" }]), "no check succeeded")
    assert.strictEqual(Gate.fault(undefined), "it was not run")
  })

  it("fails a scenario with a failure or a warning beside its successes, and names them", () => {
    assert.strictEqual(
      Gate.fault([success, { id: "b", status: "WARNING" }, { id: "c", status: "FAILURE", errorMessage: "no header" }]),
      "b WARNING; c FAILURE no header"
    )
  })

  it("reads the list of scenarios", () => {
    const text =
      "Client scenarios (test against a client):\n  - tools_call [2025-06-18,2026-07-28]\n  - auth/dpop [extension]\n"
    assert.deepStrictEqual(Gate.parseList(text), [
      { name: "tools_call", revisions: ["2025-06-18", "2026-07-28"] },
      { name: "auth/dpop", revisions: [] }
    ])
  })

  it("finds the scenario of an output folder", () => {
    assert.strictEqual(Gate.scenarioOf("tools_call-2026-12-01T00-02-29-123Z"), "tools_call")
    assert.strictEqual(
      Gate.scenarioOf("auth/2025-03-26-oauth-endpoint-fallback-2026-12-01T00-02-29-123Z"),
      "auth/2025-03-26-oauth-endpoint-fallback"
    )
  })

  it("holds it against the client when a scenario of the baseline passes", () => {
    const due: Gate.Outcome = { title: "initialize", waitsFor: undefined, fault: undefined }
    const notDue: Gate.Outcome = { title: "auth/dpop", waitsFor: "OAuth", fault: "no check succeeded" }
    const stale: Gate.Outcome = { title: "sse-retry", waitsFor: "Streams", fault: undefined }
    assert.strictEqual(Gate.summary([due, notDue]), "1 passed, 0 failed")
    assert.strictEqual(Gate.summary([due, notDue, stale]), "1 passed, 1 failed")
    assert.deepStrictEqual([due, notDue, stale].map(Gate.isGood), [true, true, false])
  })
})

describe("The official suite", () => {
  verifiesPure(
    ["SDK-05", "SDK-06"],
    "is due as a whole: nothing is in the baseline, and the scenarios that other clients pass are in its list",
    async () => {
      const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8")
      assert.deepStrictEqual(JSON.parse(read("baseline.json")), {})
      const suite = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json")
      const { stdout } = await promisify(execFile)(process.execPath, [
        join(dirname(suite), "dist/index.js"),
        "list",
        "--client"
      ])
      const names = Gate.parseList(stdout).map(({ name }) => name)
      const authorization = [
        "scope-step-up",
        "metadata-default",
        "metadata-var1",
        "metadata-var2",
        "metadata-var3",
        "scope-from-www-authenticate",
        "scope-from-scopes-supported",
        "scope-omitted-when-undefined",
        "scope-retry-limit",
        "token-endpoint-auth-basic",
        "token-endpoint-auth-post",
        "token-endpoint-auth-none",
        "pre-registration",
        "resource-mismatch",
        "offline-access-not-supported"
      ]
      assert.includeMembers(names, ["sse-retry", ...authorization.map((name) => `auth/${name}`)])
    },
    60_000
  )
})
