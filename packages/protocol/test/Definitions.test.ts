import { assert } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Decode, Implementation, Prompt, Resource } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"

const read = <A>(schema: Schema.Codec<A>, value: unknown): A => {
  const exit = Decode.validator(schema)(value)
  if (Exit.isFailure(exit)) throw new Error(JSON.stringify(Decode.issueOf(exit)))
  return exit.value
}

const icons = [{ src: "https://example.com/a.svg", mimeType: "image/svg+xml", theme: "dark" }]
const _meta = { "com.example/rank": 3 }

verifiesPure(["PRO-04", "MOD-04"], "title, icons and _meta of a prompt are there", () => {
  const prompt = read(Prompt.Prompt, {
    name: "review",
    title: "Review",
    description: "Reviews code",
    arguments: [{ name: "code", title: "Code", required: true }],
    icons,
    _meta
  })
  assert.strictEqual(prompt.title, "Review")
  assert.deepStrictEqual(prompt.icons, icons)
  assert.deepStrictEqual(prompt._meta, _meta)
  assert.strictEqual(prompt.arguments?.[0]?.title, "Code")
})

verifiesPure(["RSC-11", "MOD-04"], "annotations, size, type, title, icons and _meta of a resource are there", () => {
  const resource = read(Resource.Resource, {
    uri: "file:///report.csv",
    name: "report",
    title: "Report",
    description: "Last month",
    mimeType: "text/csv",
    size: 2048,
    annotations: { audience: ["user", "assistant"], priority: 0.25, lastModified: "2026-08-01T00:00:00Z" },
    icons,
    _meta
  })
  assert.strictEqual(resource.title, "Report")
  assert.strictEqual(resource.mimeType, "text/csv")
  assert.strictEqual(resource.size, 2048)
  assert.deepStrictEqual(resource.annotations?.audience, ["user", "assistant"])
  assert.strictEqual(resource.annotations?.priority, 0.25)
  assert.strictEqual(resource.annotations?.lastModified, "2026-08-01T00:00:00Z")
  assert.deepStrictEqual(resource.icons, icons)
  assert.deepStrictEqual(resource._meta, _meta)
})

verifiesPure(["MOD-03", "MOD-04"], "a template has its uriTemplate, title, icons and _meta", () => {
  const template = read(Resource.ResourceTemplate, {
    uriTemplate: "file:///{path}",
    name: "files",
    title: "Files",
    icons,
    _meta
  })
  assert.strictEqual(template.uriTemplate, "file:///{path}")
  assert.strictEqual(template.title, "Files")
  assert.deepStrictEqual(template.icons, icons)
  assert.deepStrictEqual(template._meta, _meta)
})

verifiesPure("CAP-08", "all that an identity says of itself is kept", () => {
  const given = {
    name: "ide",
    version: "2.1.0",
    title: "My IDE",
    description: "An editor",
    websiteUrl: "https://example.com/",
    icons,
    "com.example/edition": "community"
  }
  const identity = read(Implementation.Implementation, given)
  assert.strictEqual<unknown>(identity, given)
  assert.strictEqual(identity.title, "My IDE")
  assert.strictEqual(identity.description, "An editor")
  assert.strictEqual(identity.websiteUrl, "https://example.com/")
  assert.deepStrictEqual(identity.icons, icons)
})
