import { assert, describe } from "@effect/vitest"
import { Registration } from "@mcp-effect/auth"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Redacted } from "effect"

describe("Registration.clientMetadataUrlProblem", () => {
  verifiesPure(["OAR-01", "OAR-02"], "wants https: and a path, and nothing that a parser would change", () => {
    for (
      const url of ["https://app.example/client.json", "https://app.example:8443/a/b?v=1", "https://app.example/..a"]
    ) {
      assert.isUndefined(Registration.clientMetadataUrlProblem(url), url)
    }
    for (
      const url of [
        "http://app.example/client.json",
        "https://app.example",
        "https://app.example/",
        "https://user@app.example/client.json",
        "https://user:password@app.example/client.json",
        "https://app.example/client.json#x",
        "https://app.example/a/../client.json",
        "https://app.example/./client.json",
        "https://app.example/a/%2e%2E/client.json",
        "https://app.example/a/..",
        "client.json",
        ""
      ]
    ) assert.isString(Registration.clientMetadataUrlProblem(url), url)
  })
})

describe("Registration.find", () => {
  verifiesPure(
    ["OAT-04", "OAR-11", "OAT-14"],
    "finds the client that a token was issued to, at its own server alone",
    () => {
      const options: Registration.Options = {
        clients: [{ issuer: "https://one.example", clientId: "one", clientSecret: "secret" }],
        clientMetadataUrl: "https://app.example/client.json"
      }
      const registered = { clientId: "registered", redirectUri: "http://127.0.0.1/callback" }
      const find = (issuer: string, clientId: string) => Registration.find(options, issuer, clientId, registered)
      const secret = find("https://one.example", "one")?.clientSecret
      assert.strictEqual(secret === undefined ? undefined : Redacted.value(secret), "secret")
      assert.isUndefined(find("https://two.example", "one"))
      assert.strictEqual(find("https://two.example", "https://app.example/client.json")?.authMethod, "none")
      assert.strictEqual(find("https://two.example", "registered"), registered)
      assert.isUndefined(find("https://one.example", "other"))
    }
  )
})
