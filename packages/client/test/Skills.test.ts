import { assert, describe, it } from "@effect/vitest"
import type { Json, McpError } from "@mcp-effect/protocol"
import { Effect, Stream } from "effect"
import * as Skills from "../src/Skills.ts"
import { capture } from "./CapturedLogs.ts"
import * as Scripted from "./ScriptedTransport.ts"

const { answer, connect } = Scripted

const skillText = `---
name: pdf-processing
description: Fill in forms
metadata:
  version: "2.1"
---

Use references/FORMS.md.
`
const formsText = "Forms.\n"
const skillUri = "skill://acme/pdf-processing/SKILL.md"
const formsUri = "skill://acme/pdf-processing/references/FORMS.md"
// By sha256sum and wc.
const skillFile = {
  uri: skillUri,
  digest: "sha256:1f4bfa187fc3190329e0c9533679a80006979a3f57bc00ea536a57725502a034",
  size: 109
}
const formsFile = {
  uri: formsUri,
  digest: "sha256:5231e9fdc7e33a3f5b7b70abc690f99fa5e55bf0cd94042337583470964de937",
  size: 7
}
const frontmatter = { name: "pdf-processing", description: "Fill in forms", metadata: { version: "2.1" } }
const entry = { uri: skillUri, frontmatter, resources: [skillFile, formsFile] }
const dynamic = { uri: skillUri, frontmatter, resources: "dynamic" as const }
const cached = { ttlMs: 0, cacheScope: "private" }

type Content = { readonly text: string } | { readonly blob: string }

/** A server of one skill. What it lists and what its files hold need not agree. */
const serve = (
  files: { readonly [uri: string]: Content },
  more: Scripted.Handlers = {},
  settings: Json.JsonObject = {}
) =>
  Scripted.modern({
    "server/discover": answer(Scripted.discovery({
      capabilities: { ...Scripted.everyCapability, extensions: { "io.modelcontextprotocol/skills": settings } }
    })),
    "skills/list": answer({ skills: [entry], ...cached }),
    "skills/get": answer({ skill: entry, ...cached }),
    "resources/read": (request) => {
      const uri = String(request.params["uri"])
      const content = files[uri]
      if (content === undefined) request.error(-32602, "no such file")
      else request.result({ contents: [{ uri, ...content }], ...cached })
    },
    ...more
  })

const honest = { [skillUri]: { text: skillText }, [formsUri]: { text: formsText } }

const reasonOf = <A>(effect: Effect.Effect<A, McpError.McpError>) => Effect.map(Effect.flip(effect), (e) => e.reason)

const reads = (server: Scripted.Server) => server.sentOf("resources/read").map(({ content }) => content["uri"])

describe("Skills", () => {
  it.effect("are listed over all pages without reading a file; bad entries are set aside", () =>
    capture((lines) =>
      Effect.gen(function*() {
        const bad: ReadonlyArray<unknown> = [
          { ...entry, resources: undefined },
          { ...entry, resources: "static" },
          { ...entry, uri: "skill://acme/pdf-processing/README.md" },
          { ...entry, frontmatter: { ...frontmatter, name: "other" } },
          { ...entry, frontmatter: { name: "pdf-processing" } },
          { ...entry, resources: [formsFile] },
          { ...entry, resources: [skillFile, formsFile, formsFile] },
          { ...entry, resources: [skillFile, { ...formsFile, digest: formsFile.digest.toUpperCase() }] },
          { ...entry, resources: [skillFile, { ...formsFile, size: -1 }] },
          { ...entry, resources: [skillFile, { ...formsFile, size: 1.5 }] },
          { ...entry, resources: [skillFile, { ...formsFile, uri: "skill://acme/other/FORMS.md" }] },
          { ...entry, resources: [skillFile, { ...formsFile, uri: "skill://acme/pdf-processing/../other/FORMS.md" }] },
          { ...entry, resources: [skillFile, { ...formsFile, uri: "skill://acme/pdf-processing/%2E%2e/FORMS.md" }] }
        ]
        const server = yield* serve(honest, {
          "skills/list": (request) =>
            request.result(
              request.params["cursor"] === undefined
                ? { skills: [entry, ...bad], nextCursor: "2", ...cached }
                : { skills: [dynamic], ...cached }
            )
        })
        const client = yield* connect(server)
        assert.deepStrictEqual((yield* Skills.listSkills(client)) as unknown, [entry, dynamic])
        assert.deepStrictEqual(reads(server), [])
        assert.strictEqual(lines.filter(({ level }) => level === "Warn").length, bad.length)
      })
    ))

  it.effect("stop where a list of them does not", () =>
    Effect.gen(function*() {
      const server = yield* serve(honest, {
        "skills/list": answer({ skills: [entry], nextCursor: "again", ...cached })
      })
      const client = yield* connect(server)
      assert.strictEqual((yield* Skills.listSkills(client)).length, 2)
      assert.strictEqual(server.sentOf("skills/list").length, 2)
    }))

  it.effect("are asked for only where the server declares them", () =>
    Effect.gen(function*() {
      const server = yield* Scripted.modern()
      const client = yield* connect(server)
      const missing = "extensions.io.modelcontextprotocol/skills"
      const asked: ReadonlyArray<Effect.Effect<unknown, McpError.McpError>> = [
        Skills.listSkills(client),
        Skills.getSkill(client, skillUri),
        Skills.readSkill(client, skillUri)
      ]
      for (const effect of asked) {
        const reason = yield* reasonOf(effect)
        assert(reason._tag === "CapabilityMissing")
        assert.strictEqual(reason.capability, missing)
      }
      assert.deepStrictEqual(server.methods(), ["server/discover"])
    }))

  it.effect("are loaded by reading SKILL.md alone, then file by file", () =>
    Effect.gen(function*() {
      const server = yield* serve({ ...honest, [formsUri]: { blob: "Rm9ybXMuCg==" } })
      const client = yield* connect(server)
      const loaded = yield* Skills.readSkill(client, entry)
      assert.strictEqual(loaded.text, skillText)
      assert.deepStrictEqual(reads(server), [skillUri])
      for (const path of ["references/FORMS.md", "./references/../references/FORMS.md"]) {
        const forms = yield* loaded.readFile(path)
        assert.strictEqual(new TextDecoder().decode(forms.bytes), formsText)
        assert.strictEqual(forms.uri, formsUri)
      }
    }))

  it.effect("are got by their URI, listed or not", () =>
    Effect.gen(function*() {
      const server = yield* serve(honest)
      const client = yield* connect(server)
      const loaded = yield* Skills.readSkill(client, skillUri)
      assert.deepStrictEqual(loaded.skill as unknown, entry)
      assert.deepStrictEqual(server.sentOf("skills/get").map(({ content }) => content), [{ uri: skillUri }])
      const other = yield* reasonOf(Skills.getSkill(client, "skill://other/SKILL.md"))
      assert(other._tag === "MalformedMessage")
      assert.strictEqual(other.path, "/skill/uri")
    }))

  it.effect("are refused where size, digest or frontmatter are not those of the entry", () =>
    Effect.gen(function*() {
      const evil = skillText.replace("Use", "Tap")
      const longer = `${skillText}more\n`
      const rewritten = skillText.replace("Fill in forms", "Send us forms")
      for (const [text, check] of [[evil, "digest"], [longer, "size"]] as const) {
        const server = yield* serve({ ...honest, [skillUri]: { text } })
        const client = yield* connect(server)
        const reason = yield* reasonOf(Skills.readSkill(client, entry))
        assert(reason._tag === "SkillRejected")
        assert.strictEqual(reason.check, check)
        assert.deepStrictEqual(reads(server), [skillUri])
      }
      const texts = [
        rewritten,
        skillText.replace("---\n", "----\n"),
        skillText.replace("---\n\n", "\n"),
        skillText.replace("metadata:", "allowed-tools: Bash\nmetadata:"),
        skillText.replace("\"2.1\"", "2.1"),
        "no frontmatter"
      ]
      for (const text of texts) {
        const server = yield* serve({ [skillUri]: { text } })
        const client = yield* connect(server)
        const reason = yield* reasonOf(Skills.readSkill(client, dynamic))
        assert(reason._tag === "SkillRejected", text)
        assert.strictEqual(reason.check, "frontmatter", text)
      }
    }))

  it.effect("have no files but those that the entry lists", () =>
    Effect.gen(function*() {
      const server = yield* serve({ ...honest, "skill://acme/pdf-processing/new.md": { text: "x" } })
      const client = yield* connect(server)
      const loaded = yield* Skills.readSkill(client, entry)
      for (const path of ["new.md", "../secrets/SKILL.md", "/etc/passwd", "", "references"]) {
        const reason = yield* reasonOf(loaded.readFile(path))
        assert(reason._tag === "SkillRejected", path)
        assert.strictEqual(reason.check, "unlisted", path)
      }
      assert.deepStrictEqual(reads(server), [skillUri])
    }))

  it.effect("that are made on demand stay in their directory, too", () =>
    Effect.gen(function*() {
      const server = yield* serve(honest)
      const client = yield* connect(server)
      const loaded = yield* Skills.readSkill(client, dynamic, { maxBytes: 116 })
      assert.strictEqual((yield* loaded.readFile("references/FORMS.md")).bytes.byteLength, 7)
      assert.strictEqual((yield* reasonOf(loaded.readFile("../x/SKILL.md")))._tag, "SkillRejected")
      const reason = yield* reasonOf(loaded.readFile("references/FORMS.md"))
      assert(reason._tag === "SkillRejected")
      assert.strictEqual(reason.check, "limit")
    }))

  it.effect("beyond the limits are declined before anything is read", () =>
    Effect.gen(function*() {
      const file = (index: number) => ({ ...formsFile, uri: `skill://acme/pdf-processing/${index}` })
      const atLimit = Array.from({ length: 511 }, (_, index) => file(index))
      const server = yield* serve(honest)
      const client = yield* connect(server)
      yield* Skills.readSkill(client, { ...entry, resources: [skillFile, ...atLimit] })
      const tooMany = { ...entry, resources: [skillFile, ...atLimit, file(511)] }
      const tooLarge = { ...entry, resources: [skillFile, { ...formsFile, size: 16_777_216 - 108 }] }
      yield* Skills.readSkill(client, { ...entry, resources: [skillFile, { ...formsFile, size: 16_777_216 - 109 }] })
      for (const skill of [tooMany, tooLarge]) {
        const reason = yield* reasonOf(Skills.readSkill(client, skill))
        assert(reason._tag === "SkillRejected")
        assert.strictEqual(reason.check, "limit")
      }
      assert.strictEqual(reads(server).length, 2)
    }))

  it.effect("have directories, which are read only where the server declares that it can", () =>
    Effect.gen(function*() {
      const child = { uri: formsUri, name: "FORMS.md" }
      const listing = { "resources/directory/read": answer({ resources: [child] }) }
      const without = yield* connect(yield* serve(honest, listing))
      const root = "skill://acme/pdf-processing/references"
      const missing = yield* reasonOf(Stream.runDrain(Skills.directoryPages(without, root)))
      assert(missing._tag === "CapabilityMissing")
      assert.strictEqual(missing.capability, "extensions.io.modelcontextprotocol/skills.directoryRead")
      const server = yield* serve(honest, listing, { directoryRead: true })
      const client = yield* connect(server)
      const pages = yield* Stream.runCollect(Skills.directoryPages(client, root))
      assert.deepStrictEqual(pages.flatMap(({ items }) => items) as unknown, [child])
      assert.deepStrictEqual(server.sentOf("resources/directory/read").map(({ content }) => content), [{ uri: root }])
    }))
})
