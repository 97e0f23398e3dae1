/**
 * Skills that a server offers: instructions for a model, in directories of files that are read as resources (extension
 * `io.modelcontextprotocol/skills`, SEP-2640).
 *
 * An entry lists the files of its skill with their sizes and digests. Nothing is read before it is needed, and what is
 * read is held against the entry: a file that is not what the entry says, or that the entry does not list, is refused.
 * That shows that entry and content agree, not that either can be trusted: show the user where a skill comes from, and
 * let nothing in it run or widen permissions without asking.
 *
 * **Example** (Loading a skill)
 *
 * ```ts
 * import { McpClient, Skills } from "@mcp-effect/client"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const client = yield* McpClient.McpClient
 *   const skills = yield* Skills.listSkills(client)
 *   const wanted = skills.find((skill) => skill.frontmatter.name === "pdf-processing")
 *   if (wanted === undefined) return
 *   const loaded = yield* Skills.readSkill(client, wanted)
 *   const forms = yield* loaded.readFile("references/FORMS.md")
 *   return [loaded.text, forms.bytes.length]
 * })
 * ```
 *
 * @since 0.1.0
 */
import { Capabilities, Decode, Diagnostic, Json, ListResult, McpError, Resource, Skill } from "@mcp-effect/protocol"
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Yaml from "effect/encoding/Yaml"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { RequestOptions } from "./ClientOptions.ts"
import type { McpClient } from "./McpClient.ts"
import { maxItems, maxPages, type Page, type PageOptions } from "./Pages.ts"

/**
 * A file of a skill, as it was read and, where its entry lists digests, verified.
 *
 * @category models
 * @since 0.1.0
 */
export interface SkillFile {
  readonly uri: string
  readonly mimeType: string | undefined
  readonly bytes: Uint8Array
}

/**
 * A skill whose `SKILL.md` was read: what a host acts on, together with the entry it was loaded under.
 *
 * @category models
 * @since 0.1.0
 */
export interface LoadedSkill {
  readonly skill: Skill.Skill
  /** The whole of `SKILL.md`, frontmatter included. */
  readonly text: string
  /**
   * Reads another file of the skill, by its path from the directory of `SKILL.md`. Fails with `SkillRejected` where the
   * entry does not list it or its content is another.
   */
  readonly readFile: (path: string, options?: RequestOptions) => Effect.Effect<SkillFile, McpError.McpError>
}

/**
 * What bounds the loading of a skill. The defaults are what every host has to take.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadOptions extends RequestOptions {
  /**
   * How many files a skill may list.
   *
   * @default 512
   */
  readonly maxFiles?: number | undefined
  /**
   * How many bytes the files of a skill may have in all. Of a skill that does not list its files, those count that were
   * read.
   *
   * @default 16_777_216, 16 MiB
   */
  readonly maxBytes?: number | undefined
}

const defaultMaxFiles = 512
const defaultMaxBytes = 16 * 1024 * 1024

// What a model sees of a skill before it is loaded; nobody writes more.
const maxFrontmatterLength = 65_536

const answer = Schema.declare(Json.isJsonObject, { expected: "an object" })

const refusal = (
  reason: McpError.McpErrorReason,
  method: string,
  delivery: McpError.Delivery
): Effect.Effect<never, McpError.McpError> => Effect.fail(McpError.make(reason, delivery, { method }))

/** "Clients issue `skills/list` and `skills/get` only after observing the server's declaration" (Capability Negotiation). */
const settings = (client: McpClient, method: string): Effect.Effect<Json.JsonObject | undefined, McpError.McpError> =>
  Effect.flatMap(client.server, ({ capabilities }) => {
    // A server that does not tell what it can do may have skills; it will say so itself if not.
    if (capabilities === undefined) return Effect.succeed(undefined)
    const declared = Capabilities.extension(capabilities, Skill.extension)
    return declared === undefined
      ? refusal(new McpError.CapabilityMissing({ capability: `extensions.${Skill.extension}` }), method, "unsent")
      : Effect.succeed(declared)
  })

const ask = <A>(
  client: McpClient,
  method: string,
  params: Json.JsonObject,
  read: (result: Json.JsonObject) => Exit.Exit<A, Decode.DecodeIssue>,
  options: RequestOptions | undefined
): Effect.Effect<A, McpError.McpError> =>
  Effect.flatMap(
    client.request(method, params, answer, options),
    (result) => Exit.mapError(read(result), (issue) => McpError.make(Decode.malformed(issue), "unknown", { method }))
  )

/** Walks the pages of a list that the client itself does not know of. */
const pagesOf = <A>(
  client: McpClient,
  method: string,
  params: Json.JsonObject,
  read: (result: Json.JsonObject) => Exit.Exit<ListResult.Page<A>, Decode.DecodeIssue>,
  options: PageOptions | undefined
): Stream.Stream<Page<A>, McpError.McpError> => {
  const { cursor: from, ...first } = options ?? {}
  return Stream.suspend(() => {
    const seen = new Set(from === undefined ? [] : [from])
    let pages = 0
    let items = 0
    return Stream.paginate(from, (cursor) =>
      Effect.flatMap(
        // A caller's id names one request only.
        ask(client, method, cursor === undefined ? params : { ...params, cursor }, read, {
          ...first,
          requestId: pages === 0 ? first.requestId : undefined
        }),
        Effect.fnUntraced(function*(page) {
          pages++
          items += page.items.length
          for (const item of page.setAside) yield* Effect.logWarning(Diagnostic.describe(item))
          const next = page.nextCursor
          const cutShort = next === undefined
            ? undefined
            : seen.has(next)
            ? "repeated-cursor" as const
            : pages >= maxPages
            ? "page-limit" as const
            : items >= maxItems
            ? "item-limit" as const
            : undefined
          if (cutShort !== undefined) {
            yield* Effect.logWarning(
              Diagnostic.describe({ _tag: "ListCutShort", method, cause: cutShort, pages, items })
            )
          }
          if (next !== undefined) seen.add(next)
          return [
            [{ ...page, cutShort }],
            next === undefined || cutShort !== undefined ? Option.none<string>() : Option.some(next)
          ] as const
        })
      ))
  })
}

const readList = (result: Json.JsonObject) => ListResult.read("skills/list", result, "skills", Skill.validate)

/**
 * The skills a server lists, page by page (Listing Skills). An entry that is not as it has to be is set aside, with a
 * warning in the log. Fails with `CapabilityMissing` where the server does not declare the extension.
 *
 * @category accessors
 * @since 0.1.0
 */
export const skillPages = (
  client: McpClient,
  options?: PageOptions
): Stream.Stream<Page<Skill.Skill>, McpError.McpError> =>
  Stream.unwrap(Effect.as(
    settings(client, "skills/list"),
    pagesOf(client, "skills/list", {}, readList, options)
  ))

/**
 * All skills a server lists; the options hold for each page. A server may have more than it lists: see {@link getSkill}.
 * No file is read.
 *
 * @category accessors
 * @since 0.1.0
 */
export const listSkills = (
  client: McpClient,
  options?: RequestOptions
): Effect.Effect<ReadonlyArray<Skill.Skill>, McpError.McpError> =>
  Effect.map(Stream.runCollect(skillPages(client, options)), (pages) => pages.flatMap(({ items }) => items))

const readEntry = (uri: string) => (result: Json.JsonObject): Exit.Exit<Skill.Skill, Decode.DecodeIssue> => {
  const entry = Exit.mapError(
    Skill.validate(result["skill"]),
    ({ path, problem }): Decode.DecodeIssue => ({ path: `/skill${path}`, problem })
  )
  return Exit.isSuccess(entry) && entry.value.uri !== uri
    ? Decode.refuse("/skill/uri", "is not the one that was asked for")
    : entry
}

/**
 * The entry of one skill, by the URI of its `SKILL.md`, listed or not, as it is now (Getting a Skill). No file is read.
 *
 * @category accessors
 * @since 0.1.0
 */
export const getSkill = (
  client: McpClient,
  uri: string,
  options?: RequestOptions
): Effect.Effect<Skill.Skill, McpError.McpError> =>
  Effect.andThen(settings(client, "skills/get"), ask(client, "skills/get", { uri }, readEntry(uri), options))

const validateResource = Decode.validator(Resource.Resource)

/**
 * What a directory holds, page by page and one level deep (Reading Directories). Fails with `CapabilityMissing` where
 * the server does not declare `directoryRead`. What it lists beyond the entry of a skill is not part of that skill.
 *
 * @category accessors
 * @since 0.1.0
 */
export const directoryPages = (
  client: McpClient,
  uri: string,
  options?: PageOptions
): Stream.Stream<Page<Resource.Resource>, McpError.McpError> => {
  const method = "resources/directory/read"
  return Stream.unwrap(Effect.flatMap(
    settings(client, method),
    (declared) =>
      declared?.["directoryRead"] === true
        ? Effect.succeed(pagesOf(
          client,
          method,
          { uri },
          (result) => ListResult.read(method, result, "resources", validateResource),
          options
        ))
        : refusal(
          new McpError.CapabilityMissing({ capability: `extensions.${Skill.extension}.directoryRead` }),
          method,
          "unsent"
        )
  ))
}

const rejected = (
  uri: string,
  check: McpError.SkillRejected["check"],
  delivery: McpError.Delivery
): Effect.Effect<never, McpError.McpError> =>
  refusal(new McpError.SkillRejected({ uri, check }), "resources/read", delivery)

const sha256 = (bytes: Uint8Array): Effect.Effect<string | undefined> =>
  Digest.Digest.use((digest) => digest.digestHex(Digest.sha256, bytes)).pipe(
    Effect.provide(Digest.layerWebCrypto),
    // Browsers have no WebCrypto on pages without TLS; what cannot be verified is not used.
    Effect.catchCause(() => Effect.succeed(undefined))
  )

const bytesOf = (contents: Resource.ReadResourceResult["contents"][number]): Uint8Array | undefined => {
  const { blob, text } = contents as { readonly blob?: unknown; readonly text?: unknown }
  if (typeof text === "string") return new TextEncoder().encode(text)
  return typeof blob === "string" ? Result.getOrUndefined(Base64.decode(blob)) : undefined
}

/** Reads one file and holds it against what its skill says of it, where it says anything. */
const readFile = Effect.fnUntraced(function*(
  client: McpClient,
  uri: string,
  listed: Skill.SkillResource | undefined,
  options: RequestOptions | undefined
): Effect.fn.Return<SkillFile, McpError.McpError> {
  const { contents } = yield* client.readResource(uri, options)
  const content = contents.find((one) => one.uri === uri) ?? (contents.length === 1 ? contents[0] : undefined)
  const bytes = content === undefined ? undefined : bytesOf(content)
  if (content === undefined || bytes === undefined) {
    return yield* refusal(
      new McpError.MalformedMessage({ problem: "what was read does not hold the file that was asked for" }),
      "resources/read",
      "unknown"
    )
  }
  if (listed !== undefined) {
    if (bytes.byteLength !== listed.size) return yield* rejected(uri, "size", "unknown")
    const hex = yield* sha256(bytes)
    if (hex === undefined || listed.digest !== `sha256:${hex}`) return yield* rejected(uri, "digest", "unknown")
  }
  return { uri, mimeType: content.mimeType, bytes }
})

/** The YAML between the first line, `---`, and the next such line; `undefined` where there is none. */
const frontmatterOf = (text: string): unknown => {
  const lines = text.slice(0, maxFrontmatterLength).split(/\r?\n/)
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === "---")
  if (lines[0]?.trimEnd() !== "---" || end === -1) return undefined
  try {
    return Yaml.parse(lines.slice(1, end).join("\n"))
  } catch {
    return undefined
  }
}

/** Whether two values are the same JSON. It takes no longer than the second is large. */
const isSame = (one: unknown, other: unknown): boolean => {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, index) => isSame(item, other[index]))
  }
  if (Json.isJsonObject(one)) {
    if (!Json.isJsonObject(other)) return false
    const keys = Object.keys(one)
    return keys.length === Object.keys(other).length
      && keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  }
  return one === other
}

/**
 * The path of a file from the directory of its skill, as a file system would resolve it (Relative References);
 * `undefined` where it leads out of that directory.
 */
const resolve = (path: string): string | undefined => {
  const segments: Array<string> = []
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue
    if (segment !== "..") segments.push(segment)
    else if (segments.pop() === undefined) return undefined
  }
  return segments.length === 0 || path.startsWith("/") ? undefined : segments.join("/")
}

/**
 * Loads a skill: reads its `SKILL.md`, and nothing else, and holds it against the entry by size, digest and frontmatter
 * (Integrity and Verification). With a URI in place of an entry, the entry is got first.
 *
 * Fails with `SkillRejected` where one of them does not agree, or where the skill is beyond the limits.
 *
 * @category accessors
 * @since 0.1.0
 */
export const readSkill = Effect.fnUntraced(function*(
  client: McpClient,
  entry: Skill.Skill | string,
  options?: ReadOptions
): Effect.fn.Return<LoadedSkill, McpError.McpError> {
  const { maxBytes = defaultMaxBytes, maxFiles = defaultMaxFiles, ...request } = options ?? {}
  const skill = typeof entry === "string"
    ? yield* getSkill(client, entry, request)
    : yield* Exit.mapError(Skill.validate(entry), ({ path, problem }) =>
      McpError.make(
        new McpError.InvalidRequest({ path, problem: `the entry of the skill ${problem}` }),
        "unsent",
        { method: "resources/read" }
      ))
  const directory = Skill.root(skill)
  const files = skill.resources === "dynamic"
    ? undefined
    : new Map(skill.resources.map((file) => [file.uri, file]))
  let bytesLeft = maxBytes
  if (skill.resources !== "dynamic") {
    for (const { size } of skill.resources) bytesLeft -= size
    if (skill.resources.length > maxFiles || bytesLeft < 0) return yield* rejected(skill.uri, "limit", "unsent")
  }

  const read = (uri: string, options: RequestOptions | undefined) =>
    files === undefined
      ? Effect.tap(readFile(client, uri, undefined, options), ({ bytes }) => {
        bytesLeft -= bytes.byteLength
        return bytesLeft < 0 ? rejected(uri, "limit", "unknown") : Effect.void
      })
      : Effect.suspend(() => {
        const listed = files.get(uri)
        return listed === undefined ? rejected(uri, "unlisted", "unsent") : readFile(client, uri, listed, options)
      })

  // The caller's id went with the entry, if that was asked for.
  const { bytes } = yield* read(skill.uri, typeof entry === "string" ? { ...request, requestId: undefined } : request)
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
  if (!isSame(frontmatterOf(text), skill.frontmatter)) return yield* rejected(skill.uri, "frontmatter", "unknown")

  return {
    skill,
    text,
    readFile: (path, options) => {
      const resolved = resolve(path)
      if (resolved === undefined) return rejected(`${directory}/${path}`, "unlisted", "unsent")
      const uri = `${directory}/${resolved}`
      const encoded = `${directory}/${encodeURI(resolved)}`
      return read(files !== undefined && !files.has(uri) && files.has(encoded) ? encoded : uri, options)
    }
  }
})
