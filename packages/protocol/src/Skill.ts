/**
 * Skills that a server offers: directories of instructions for a model, whose files are resources (extension
 * `io.modelcontextprotocol/skills`, SEP-2640).
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Decode from "./Decode.ts"

/**
 * The identifier that servers declare the extension under.
 *
 * @category models
 * @since 0.1.0
 */
export const extension = "io.modelcontextprotocol/skills"

const fileName = "SKILL.md"

/**
 * Schema of `SkillResource`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SkillResource = Schema.Struct({
  uri: Schema.String,
  /** `sha256:` and 64 lowercase hexadecimal digits, over the raw bytes of the file. */
  digest: Schema.String,
  /** The number of these bytes. */
  size: Schema.Number
})

/**
 * A file of a skill.
 *
 * @category models
 * @since 0.1.0
 */
export type SkillResource = typeof SkillResource.Type

/**
 * Schema of `Skill`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Skill = Schema.Struct({
  /** The URI of its `SKILL.md`, which names the skill on its server. */
  uri: Schema.String,
  /** The YAML frontmatter of that file as JSON, with every member its author wrote. */
  frontmatter: Schema.Struct({ name: Schema.String, description: Schema.String }),
  /** Every file of the skill, `SKILL.md` included; `"dynamic"` where they are made on demand and cannot be verified. */
  resources: Schema.Union([Schema.Array(SkillResource), Schema.Literal("dynamic")])
})

/**
 * A skill as its server describes it.
 *
 * @category models
 * @since 0.1.0
 */
export type Skill = typeof Skill.Type

/**
 * The directory of a skill: the URI of its `SKILL.md` without that segment.
 *
 * @category accessors
 * @since 0.1.0
 */
export const root = (skill: Skill): string => skill.uri.slice(0, -fileName.length - 1)

const isDigest = (text: string): boolean => /^sha256:[0-9a-f]{64}$/.test(text)

/** A dot segment, however it is written, would lead out of the directory. */
const isDotSegment = (segment: string): boolean => /^(?:\.|%2e){1,2}$/i.test(segment)

const isWithin = (uri: string, directory: string): boolean =>
  uri.startsWith(`${directory}/`) &&
  uri.slice(directory.length + 1).split("/").every((segment) => segment !== "" && !isDotSegment(segment))

const validateShape = Decode.validator(Skill)

/** What is wrong with the files that an entry lists (Skill Entries, Resources). */
const resourcesIssue = (skill: Skill): Decode.DecodeIssue | undefined => {
  if (skill.resources === "dynamic") return undefined
  const directory = root(skill)
  const seen = new Set<string>()
  for (const [index, { digest, size, uri }] of skill.resources.entries()) {
    const path = `/resources/${index}`
    if (!isWithin(uri, directory)) return { path: `${path}/uri`, problem: "is not a file of the skill" }
    if (seen.has(uri)) return { path: `${path}/uri`, problem: "is listed twice" }
    seen.add(uri)
    if (!isDigest(digest)) return { path: `${path}/digest`, problem: "is not a SHA-256 digest" }
    if (!Number.isSafeInteger(size) || size < 0) return { path: `${path}/size`, problem: "is not a number of bytes" }
  }
  return seen.has(skill.uri) ? undefined : { path: "/resources", problem: `does not list ${fileName}` }
}

/**
 * Checks an entry of `skills/list`, or the `skill` of `skills/get`: its shape, and that it speaks of the files of one
 * directory that bears its name.
 *
 * @category decoding
 * @since 0.1.0
 */
export const validate: Decode.Validator<Skill> = (value) => {
  const shape = validateShape(value)
  if (Exit.isFailure(shape)) return shape
  const skill = shape.value
  if (!skill.uri.endsWith(`/${fileName}`)) return Decode.refuse("/uri", `does not end with /${fileName}`)
  const directory = root(skill)
  if (directory.slice(directory.lastIndexOf("/") + 1) !== skill.frontmatter.name) {
    return Decode.refuse("/frontmatter/name", "is not the name of the directory")
  }
  const issue = resourcesIssue(skill)
  return issue === undefined ? shape : Exit.fail(issue)
}
