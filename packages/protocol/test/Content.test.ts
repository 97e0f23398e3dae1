import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Content, Decode, type Json, ToolCall } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"

const validate = Decode.validator(ToolCall.CallToolResult)

const read = (content: ReadonlyArray<unknown>): ReadonlyArray<Content.ContentBlock> => {
  const exit = validate({ content })
  if (Exit.isFailure(exit)) throw new Error(JSON.stringify(Decode.issueOf(exit)))
  return exit.value.content
}

const refusal = (content: ReadonlyArray<unknown>): string => {
  const exit = validate({ content })
  return Exit.isFailure(exit) ? Decode.issueOf(exit).path : "nowhere"
}

verifiesPure(["MOD-01", "TOO-18"], "text, images, audio, resources and links are told apart by their type", () => {
  const told = read([
    { type: "text", text: "Hello" },
    { type: "image", data: "aGk=", mimeType: "image/png" },
    { type: "audio", data: "aG8=", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "file:///a", text: "inside" } },
    { type: "resource_link", uri: "file:///b", name: "b" },
    { type: "hologram", depth: 3 }
  ]).map((block) => {
    switch (block.type) {
      case "text":
        return block.text
      case "image":
      case "audio":
        return `${block.mimeType} ${block.data}`
      case "resource":
        return "text" in block.resource ? block.resource.text : block.resource.blob
      case "resource_link":
        return `${block.name} at ${block.uri}`
      default:
        return `${block.type} of depth ${String(block["depth"])}`
    }
  })
  assert.deepStrictEqual(told, [
    "Hello",
    "image/png aGk=",
    "audio/wav aG8=",
    "inside",
    "b at file:///b",
    "hologram of depth 3"
  ])
})

verifiesPure("MOD-01", "a known type that is malformed is refused with its path", () => {
  assert.strictEqual(refusal([{ type: "text" }]), "/content/0/text")
  assert.strictEqual(refusal([{ type: "text", text: "a" }, { type: "audio", data: "a" }]), "/content/1/mimeType")
  assert.strictEqual(refusal([{ type: "resource_link", uri: "a" }]), "/content/0/name")
  assert.strictEqual(refusal([{ type: "resource", resource: { uri: "a" } }]), "/content/0/resource")
  assert.strictEqual(refusal([{ type: "text", text: "a", annotations: 7 }]), "/content/0/annotations")
  assert.strictEqual(refusal([{ text: "a" }]), "/content/0/type")
  assert.strictEqual(refusal([{ type: 7 }]), "/content/0/type")
  assert.strictEqual(refusal(["text"]), "/content/0")
})

it("takes a type for what it says, not for a member that every object has", () => {
  for (const type of ["constructor", "__proto__", "toString", ""]) {
    const [block] = read([{ type }])
    assert.deepStrictEqual<unknown>(block, { type })
  }
})

verifiesPure("MOD-02", "audio has its data, type and annotations", () => {
  const [audio] = read([
    { type: "audio", data: "aGk=", mimeType: "audio/ogg", annotations: { audience: ["user"], priority: 0.5 } }
  ])
  assert.isTrue(audio?.type === "audio")
  if (audio?.type !== "audio") return
  assert.strictEqual(audio.data, "aGk=")
  assert.strictEqual(audio.mimeType, "audio/ogg")
  assert.deepStrictEqual(audio.annotations?.audience, ["user"])
  assert.strictEqual(audio.annotations?.priority, 0.5)
})

verifiesPure(["MOD-02", "RSC-10"], "a resource link has all that a resource has", () => {
  const [link] = read([{
    type: "resource_link",
    uri: "file:///report.csv",
    name: "report",
    title: "Report",
    description: "Last month",
    mimeType: "text/csv",
    size: 2048,
    icons: [{ src: "https://example.com/csv.svg", theme: "light" }],
    annotations: { lastModified: "2026-08-01T00:00:00Z" },
    _meta: { "com.example/owner": "ann" }
  }])
  assert.isTrue(link?.type === "resource_link")
  if (link?.type !== "resource_link") return
  assert.strictEqual(link.uri, "file:///report.csv")
  assert.strictEqual(link.name, "report")
  assert.strictEqual(link.title, "Report")
  assert.strictEqual(link.description, "Last month")
  assert.strictEqual(link.mimeType, "text/csv")
  assert.strictEqual(link.size, 2048)
  assert.strictEqual(link.icons?.[0]?.src, "https://example.com/csv.svg")
  assert.strictEqual(link.annotations?.lastModified, "2026-08-01T00:00:00Z")
  assert.strictEqual(link._meta?.["com.example/owner"], "ann")
})

verifiesPure("MOD-03", "contents have URI, type, text or base64 data, and _meta", () => {
  const validateContents = Decode.validator(Content.ResourceContents)
  const read = (value: unknown): Content.ResourceContents => {
    const exit = validateContents(value)
    if (Exit.isFailure(exit)) throw new Error("refused")
    return exit.value
  }
  const text = read({ uri: "file:///a", mimeType: "text/plain", text: "", _meta: { "com.example/a": 1 } })
  assert.isTrue("text" in text && text.text === "" && text.mimeType === "text/plain")
  assert.strictEqual(text._meta?.["com.example/a"], 1)
  const blob = read({ uri: "file:///b", blob: "aGk=" })
  assert.isTrue("blob" in blob && blob.blob === "aGk=" && blob.uri === "file:///b")
  assert.isTrue(Exit.isFailure(validateContents({ uri: "file:///c" })))
  assert.isTrue(Exit.isFailure(validateContents({ uri: "file:///c", blob: 7 })))
})

describe("annotations", () => {
  it("are hints: values out of range do not spoil the content", () => {
    const annotations = { audience: ["user", "auditor"], priority: 3 }
    const [block] = read([{ type: "text", text: "a", annotations }])
    assert.deepStrictEqual(block, { type: "text", text: "a", annotations })
  })
})

it("lets members that it does not name be read", () => {
  const [block] = read([{ type: "text", text: "a", "x-lang": "en" }])
  const open: Json.JsonObject = block ?? {}
  assert.strictEqual(open["x-lang"], "en")
})
