import { assert, describe, it } from "@effect/vitest"
import * as OfficialSchema from "@mcp-effect/conformance/OfficialSchema"
import { Decode, Json, Messages, Revision } from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"
import { edit, jsonType, type Keys, type Mutation, mutations, otherValues, sample } from "./Mutations.ts"
import { type MemberType, type Vector, vectors } from "./Vectors.ts"

const validatorOf = (revision: Revision.Facts, type: string): Decode.Validator<unknown> => {
  const validate = Messages.validators(revision).get(type)
  if (validate === undefined) throw new Error(`${revision.version} has no check for ${type}`)
  return validate
}

const issueOf = (exit: Exit.Exit<unknown, Decode.DecodeIssue>): Decode.DecodeIssue | undefined =>
  Exit.isFailure(exit) ? Decode.issueOf(exit) : undefined

// ====================================================================================================================
// Our own vectors
// ====================================================================================================================

const isOf = (type: MemberType, value: unknown): boolean =>
  type === "any" || type === jsonType(value) ||
  (type === "id" && (typeof value === "string" || typeof value === "number"))
  || (type === "limit" && (value === null || typeof value === "number"))

const place = (pointer: string): { readonly keys: Keys; readonly path: string } => {
  const segments = pointer.split("/").slice(1)
  return {
    keys: segments.map((segment) =>
      /^\d+$/.test(segment)
        ? Number(segment)
        : segment.replace(/^\{(.*)\}$/, "$1").replaceAll("~1", "/").replaceAll("~0", "~")
    ),
    path: segments.map((segment) => `/${segment.replace(/^\{.*\}$/, "*")}`).join("")
  }
}

const refusal = (exit: Exit.Exit<unknown, Decode.DecodeIssue>): string => issueOf(exit)?.path ?? "nowhere"

const revisionsOf = ({ since, until }: Vector): ReadonlyArray<Revision.Facts> =>
  Revision.all.filter(({ version }) => since <= version && version <= until)

describe("vectors", () => {
  for (const vector of vectors) {
    const { required, type, value } = vector
    for (const revision of revisionsOf(vector)) {
      it(`${type} of ${revision.version} decodes, and is refused with a required member removed or mistyped`, () => {
        const validate = validatorOf(revision, type)
        const exit = validate(value)
        assert.isTrue(Exit.isSuccess(exit) && exit.value === value, `refused at ${refusal(exit)}`)
        for (const [pointer, memberType] of Object.entries(required)) {
          const { keys, path } = place(pointer)
          assert.strictEqual(refusal(validate(edit(value, keys))), path, `${path} removed`)
          for (const by of otherValues.filter((other) => !isOf(memberType, other))) {
            assert.strictEqual(refusal(validate(edit(value, keys, { by }))), path, `${path}: ${JSON.stringify(by)}`)
          }
        }
      })
    }
  }

  it("stand for every revision", () => {
    for (const revision of Revision.all) {
      assert.isAbove(vectors.filter((vector) => revisionsOf(vector).includes(revision)).length, 35, revision.version)
    }
  })
})

// ====================================================================================================================
// The official examples and schemas
// ====================================================================================================================

interface Leniency {
  readonly where: RegExp
  readonly kinds: ReadonlyArray<Mutation["kind"]>
  readonly types?: RegExp
  readonly except?: RegExp
  /** Only where this stands in its place. */
  readonly by?: unknown
  readonly because: string
}

/** Where the prose of the protocol is kinder than its schema. */
const leniencies: ReadonlyArray<Leniency> = [
  {
    where: /(^|\/result)\/resultType$/,
    kinds: ["removed"],
    except: /^(InputRequiredResult|CreateTaskResult)$/,
    because: "clients MUST treat an absent resultType as complete (basic/index, Messages)"
  },
  {
    where: /(^|\/result)\/ttlMs$/,
    kinds: ["removed", "mistyped"],
    types: /Result(Response)?$/,
    except: /Task/,
    because: "if ttlMs is absent, clients SHOULD assume 0 (server/utilities/caching)"
  },
  {
    where: /(^|\/result)\/cacheScope$/,
    kinds: ["removed", "mistyped"],
    types: /Result(Response)?$/,
    because: "a scope that is not public is private: the side on which nothing leaks (server/utilities/caching)"
  },
  {
    where: /(^|\/result)\/_meta$/,
    kinds: ["removed"],
    types: /^SubscriptionsListenResult(Response)?$/,
    because: "the response to the listen request itself ends the subscription (basic/patterns/subscriptions)"
  },
  {
    where: /(^|\/result)\/_meta\/io\.modelcontextprotocol~1subscriptionId$/,
    kinds: ["removed"],
    types: /^SubscriptionsListenResult(Response)?$/,
    because: "the response to the listen request itself ends the subscription (basic/patterns/subscriptions)"
  },
  {
    where: /_meta\/io\.modelcontextprotocol~1serverInfo(\/|$)/,
    kinds: ["removed", "mistyped"],
    because: "servers SHOULD say who they are, and clients SHOULD NOT behave by it (basic/index, _meta)"
  },
  {
    where: /(in|out)putSchema\/type$/,
    kinds: ["removed", "mistyped"],
    because:
      "a server MUST write it (server/tools), but its tool can be called without; any type of output since 2026-07-28"
  },
  {
    where: /\/elicitationId$/,
    kinds: ["removed"],
    types: /^(ElicitRequest|URLElicitation)/,
    because: "2026-07-28 has no elicitationId, and the model is one for all revisions (client/elicitation)"
  },
  {
    where: /\/content$/,
    kinds: ["mistyped"],
    types: /^(SamplingMessage|CreateMessage)/,
    by: [],
    because:
      "content is one block or several since 2025-11-25, and the model is one for all revisions (client/sampling)"
  }
]

const isLenient = (type: string, mutation: Mutation): boolean =>
  leniencies.some(({ by, except, kinds, types, where }) =>
    where.test(mutation.path) && kinds.includes(mutation.kind)
    && (by === undefined || JSON.stringify(by) === JSON.stringify(mutation.by))
    && (types === undefined || types.test(type))
    && (except === undefined || !except.test(type))
  )

/** Asserts that a spoiled value is refused where the official schema refuses it, and accepted where it does not. */
const assertMutation = (source: OfficialSchema.Source, revision: Revision.Facts, type: string, mutation: Mutation) => {
  const { by, kind, path, value } = mutation
  const issue = issueOf(validatorOf(revision, type)(value))
  const told = `${type} with ${path} ${kind}: ${JSON.stringify(value)}`
  if (OfficialSchema.validate(source, type, value).length === 0 || isLenient(type, mutation)) {
    assert.isUndefined(issue, `${told} is refused`)
  } else {
    const found = issue?.path ?? "nowhere"
    // Without its mode a request is one for a form: what is missing is the form.
    if (path.endsWith("/mode") && kind === "removed") return assert.notStrictEqual(found, "nowhere", told)
    // Contents need one of two members, and neither is there.
    const contents = /^(.*\/(?:resource|contents\/\d+))\/(?:text|blob)$/.exec(path)
    if (contents !== null && kind === "removed") return assert.strictEqual(found, contents[1], told)
    // An object may be the right type after all, so that the fault is what it lacks.
    assert.isTrue(
      found === path || (Json.isJsonObject(by) && found.startsWith(`${path}/`)),
      `${told} is refused at ${found}`
    )
  }
}

// Unions, bases, and the envelope, which `Envelope` reads.
const unchecked =
  /^(JSON.*|Client(Request|Result|Notification)|Server(Request|Result|Notification)|Request|Notification|Annotated|BaseMetadata|Icons|ResourceContents|(Paginated|Cacheable)Result|PaginatedRequest|TaskAugmentedRequestParams|InputResponseRequestParams|(Single|Multi)SelectEnumSchema|EnumSchema|.*MetaObject|ResultType)$/

const extensionTypes =
  /^(Task|TaskStatus|DetailedTask|CreateTaskResult|GetTaskResult|UpdateTaskResult|CancelTaskResult|TaskStatusNotification(Params)?)$/

const asMessage = (type: string, value: unknown): unknown => {
  if (!Json.isJsonObject(value)) return value
  if (type.endsWith("Notification")) return { jsonrpc: "2.0", ...value }
  return type.endsWith("Request") ? { jsonrpc: "2.0", id: 1, ...value } : value
}

if (OfficialSchema.available) {
  describe("vectors", () => {
    const tasks = /^(CreateTaskResult|GetTaskResult|UpdateTaskRequest|TaskStatusNotification)$/

    it("are right by the official schemas", () => {
      for (const vector of vectors) {
        for (const { version } of revisionsOf(vector)) {
          const source = version === "2026-07-28" && tasks.test(vector.type) ? "ext-tasks" : version
          assert.deepStrictEqual(OfficialSchema.validate(source, vector.type, vector.value), [], vector.type)
        }
      }
    })
  })

  describe("official examples", () => {
    const examples = OfficialSchema.examples()

    it("are 129", () => assert.strictEqual(examples.length, 129))

    for (const { file, type, value } of examples) {
      it(`${type}/${file} decodes, and is refused with any required member removed or mistyped`, () => {
        const exit = validatorOf(Revision.latestModern, type)(value)
        assert.isTrue(Exit.isSuccess(exit) && exit.value === value, JSON.stringify(issueOf(exit)))
        for (const mutation of mutations("2026-07-28", type, value)) {
          assertMutation("2026-07-28", Revision.latestModern, type, mutation)
        }
      })
    }

    it("have a thousand ways to be spoiled", () => {
      const count = examples.flatMap(({ type, value }) => mutations("2026-07-28", type, value)).length
      assert.isAbove(count, 1000)
    })
  })

  describe("official schemas", () => {
    const sources: ReadonlyArray<readonly [OfficialSchema.Source, Revision.Facts]> = [
      ...Revision.all.map((revision) => [revision.version, revision] as const),
      ["ext-tasks", Revision.latestModern]
    ]
    for (const [source, revision] of sources) {
      const types = Object.keys(OfficialSchema.definitions(source)).filter((type) =>
        source === "ext-tasks" ? extensionTypes.test(type) : !unchecked.test(type)
      )
      it.each(types)(`a %s of ${source} decodes, and is refused as its schema says`, (type) => {
        for (const extent of ["required", "everything"] as const) {
          const value = asMessage(type, sample(source, { $ref: type }, extent))
          assert.deepStrictEqual(OfficialSchema.validate(source, type, value), [])
          assert.isUndefined(issueOf(validatorOf(revision, type)(value)), JSON.stringify(value))
          for (const mutation of mutations(source, type, value)) assertMutation(source, revision, type, mutation)
        }
      })
    }
  })
}
