import { assert, describe, it } from "@effect/vitest"
import { verifiesPure } from "@mcp-effect/conformance/Verifies"
import {
  Decode,
  Discovery,
  Elicitation,
  InputRequired,
  Logging,
  Prompt,
  Resource,
  Sampling,
  Task,
  Tool,
  ToolCall
} from "@mcp-effect/protocol"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as Guard from "../src/internal/Guard.ts"
import { edit, type Keys, otherValues } from "./Mutations.ts"

const issueOf = (exit: Exit.Exit<unknown, Decode.DecodeIssue>): Decode.DecodeIssue => {
  if (Exit.isSuccess(exit)) throw new Error("It was accepted")
  return Decode.issueOf(exit)
}

const tool = { name: "book", inputSchema: { type: "object" } }

describe("validator", () => {
  it("gives back the very value, with members that the schema does not name", () => {
    const value = { ...tool, "x-vendor": { rank: 1 }, annotations: { readOnlyHint: true, cost: "low" } }
    const exit = Decode.validator(Tool.Tool)(value)
    assert.isTrue(Exit.isSuccess(exit) && exit.value === value)
    assert.deepStrictEqual(value.annotations, { readOnlyHint: true, cost: "low" })
  })

  it.each<readonly [string, unknown, Decode.DecodeIssue]>([
    ["a value of another type", 7, { path: "", problem: "is not an object" }],
    ["an array", [], { path: "", problem: "is not an object" }],
    ["nothing", undefined, { path: "", problem: "is not an object" }],
    ["an absent member", { name: "a" }, { path: "/inputSchema", problem: "is missing" }],
    ["a mistyped member", { ...tool, name: 7 }, { path: "/name", problem: "is not a string" }],
    ["a mistyped object", { ...tool, inputSchema: [] }, { path: "/inputSchema", problem: "is not an object" }],
    ["a mistyped optional member", { ...tool, title: 7 }, { path: "/title", problem: "is not a string" }],
    [
      "a nested member",
      { ...tool, annotations: { readOnlyHint: "yes" } },
      { path: "/annotations/readOnlyHint", problem: "is not true or false" }
    ],
    ["an array that is none", { ...tool, icons: {} }, { path: "/icons", problem: "is not an array" }],
    [
      "an item",
      { ...tool, icons: [{ src: "a" }, { src: 7 }] },
      { path: "/icons/1/src", problem: "is not a string" }
    ]
  ])("says where and why it refuses %s", (_, value, expected) => {
    assert.deepStrictEqual(issueOf(Decode.validator(Tool.Tool)(value)), expected)
  })

  it("names the values that it wants", () => {
    const issue = issueOf(Decode.validator(Schema.Literals(["user", "assistant"]))("system"))
    assert.deepStrictEqual(issue, { path: "", problem: "is not \"user\" or \"assistant\"" })
  })

  it("escapes the slashes of a path", () => {
    const validate = Decode.validator(Schema.Struct({ "a/b~c": Schema.String }))
    assert.deepStrictEqual(issueOf(validate({})), { path: "/a~1b~0c", problem: "is missing" })
  })

  it("counts an optional member that is null as absent, at any depth, and keeps the rest", () => {
    const value = {
      ...tool,
      description: null,
      outputSchema: null,
      annotations: { title: null, readOnlyHint: true },
      icons: [{ src: "a", sizes: null, "x-kept": null }],
      "x-vendor": null
    }
    const exit = Decode.validator(Tool.Tool)(value)
    assert.deepStrictEqual(
      exit,
      Exit.succeed({
        ...tool,
        annotations: { readOnlyHint: true },
        icons: [{ src: "a", "x-kept": null }],
        "x-vendor": null
      })
    )
    assert.isNull(value.description, "what was given is not changed")
  })

  it("refuses null in place of a member that has to be there, and of an item", () => {
    const validate = Decode.validator(Tool.Tool)
    assert.deepStrictEqual(issueOf(validate({ ...tool, name: null })), { path: "/name", problem: "is not a string" })
    assert.deepStrictEqual(issueOf(validate({ ...tool, icons: [null] })), {
      path: "/icons/0",
      problem: "is not an object"
    })
  })

  it("keeps null where it may stand", () => {
    const value = { content: [], structuredContent: null }
    const exit = Decode.validator(ToolCall.CallToolResult)(value)
    assert.isTrue(Exit.isSuccess(exit) && exit.value === value)
  })

  it("takes a key named __proto__ for a key like any other", () => {
    const value: unknown = JSON.parse(
      "{\"name\":\"a\",\"inputSchema\":{},\"title\":null,\"__proto__\":{\"polluted\":true}}"
    )
    const exit = Decode.validator(Tool.Tool)(value)
    assert.isTrue(Exit.isSuccess(exit))
    assert.isFalse("polluted" in {})
    assert.isTrue(Exit.isSuccess(exit) && Object.getPrototypeOf(exit.value) === Object.prototype)
    const requests: unknown = JSON.parse("{\"__proto__\":{\"method\":\"roots/list\"},\"b\":{\"method\":7}}")
    assert.strictEqual(issueOf(Decode.validator(InputRequired.InputRequests)(requests)).path, "/*/method")
  })

  it("counts any number of such members as absent, wherever a type is chosen or keys are the peer's", () => {
    const content = Array.from({ length: 300 }, () => ({ type: "text", text: "a", annotations: null, _meta: null }))
    const exit = Decode.validator(ToolCall.CallToolResult)({
      content: [...content, { type: "resource", resource: { uri: "a", text: null, blob: "b", _meta: null } }, {
        type: "hologram",
        depth: null
      }]
    })
    assert.deepStrictEqual<unknown>(
      exit,
      Exit.succeed({
        content: [
          ...Array.from({ length: 300 }, () => ({ type: "text", text: "a" })),
          { type: "resource", resource: { uri: "a", blob: "b" } },
          { type: "hologram", depth: null }
        ]
      })
    )
    const property = { type: "string", title: null, enum: null }
    assert.deepStrictEqual<unknown>(
      Decode.validator(InputRequired.InputRequests)({
        a: {
          method: "elicitation/create",
          params: { mode: null, message: "m", requestedSchema: { type: "object", properties: { b: property } } }
        },
        c: {
          method: "sampling/createMessage",
          params: { maxTokens: 1, messages: [{ role: "user", content: [{ type: "text", text: "d", _meta: null }] }] }
        }
      }),
      Exit.succeed({
        a: {
          method: "elicitation/create",
          params: { message: "m", requestedSchema: { type: "object", properties: { b: { type: "string" } } } }
        },
        c: {
          method: "sampling/createMessage",
          params: { maxTokens: 1, messages: [{ role: "user", content: [{ type: "text", text: "d" }] }] }
        }
      })
    )
  })
})

verifiesPure("SEC-15", "an issue quotes neither values nor keys of the peer", () => {
  const secret = "hunter2"
  const refused = [
    Decode.validator(Tool.Tool)({ name: 7, [secret]: secret, description: secret }),
    Decode.validator(Tool.Tool)({ ...tool, title: [secret] }),
    Decode.validator(Sampling.SamplingMessage)({ role: secret, content: { type: "text", text: secret } }),
    Decode.validator(InputRequired.InputRequests)({ [secret]: { method: secret } }),
    Decode.validator(InputRequired.InputResponses)({ [secret]: { action: secret } }),
    Decode.validator(Elicitation.ElicitRequestParams)({ mode: secret, message: secret }),
    Decode.validator(Elicitation.ElicitRequestFormParams)({
      message: secret,
      requestedSchema: { type: "object", properties: { [secret]: { type: secret } } }
    }),
    Decode.validator(Prompt.GetPromptRequestParams)({ name: secret, arguments: { [secret]: 7 } }),
    Decode.validator(Schema.Record(Schema.String, Schema.Finite))({ [secret]: secret }),
    Decode.validator(Schema.Literal("a"))(secret)
  ]
  for (const exit of refused) {
    const { path, problem } = issueOf(exit)
    assert.notInclude(path + problem, secret)
    assert.notInclude(Decode.malformed({ path, problem }).message, secret)
  }
  assert.strictEqual(
    refused.map((exit) => issueOf(exit).path).join(" "),
    [
      "/name",
      "/title",
      "/role",
      "/*/method",
      "/*/action",
      "/mode",
      "/requestedSchema/properties/*/type",
      "/arguments/*",
      "/*",
      ""
    ].join(" ")
  )
})

describe("guards", () => {
  const everyPlace = (value: unknown, keys: Keys = []): ReadonlyArray<Keys> => [
    ...(keys.length === 0 ? [] : [keys]),
    ...(typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, member]) =>
        everyPlace(member, [...keys, Array.isArray(value) ? Number(key) : key])
      )
      : [])
  ]

  const text = { type: "text", text: "a", annotations: { audience: ["user"], priority: 1, lastModified: "b" } }
  const samples: ReadonlyArray<readonly [string, Schema.Codec<unknown>, unknown]> = [
    ["Tool", Tool.Tool, {
      ...tool,
      title: "a",
      outputSchema: {},
      annotations: { title: "b", openWorldHint: false },
      execution: { taskSupport: "optional" },
      icons: [{ src: "c", sizes: ["d"], theme: "dark" }],
      _meta: {}
    }],
    ["Prompt", Prompt.Prompt, { name: "a", arguments: [{ name: "b", required: true }] }],
    ["Resource", Resource.Resource, { uri: "a", name: "b", size: 1, annotations: { priority: 0 } }],
    ["CallToolResult", ToolCall.CallToolResult, {
      content: [
        text,
        { type: "image", data: "a", mimeType: "b" },
        { type: "resource", resource: { uri: "c", blob: "d" } },
        { type: "resource_link", uri: "e", name: "f", size: 2 },
        { type: "hologram", depth: 3 }
      ],
      structuredContent: [1],
      isError: false,
      resultType: "complete",
      _meta: {}
    }],
    ["GetPromptResult", Prompt.GetPromptResult, { messages: [{ role: "user", content: text }] }],
    ["ReadResourceResult", Resource.ReadResourceResult, {
      contents: [{ uri: "a", text: "b" }, { uri: "c", blob: "d" }]
    }],
    ["InitializeResult", Discovery.InitializeResult, {
      protocolVersion: "a",
      capabilities: { tools: { listChanged: true }, tasks: { requests: { tools: { call: {} } } }, extensions: {} },
      serverInfo: { name: "b", version: "c" }
    }],
    ["InputRequiredResult", InputRequired.InputRequiredResult, {
      resultType: "input_required",
      inputRequests: {
        a: {
          method: "elicitation/create",
          params: {
            message: "b",
            requestedSchema: {
              type: "object",
              properties: {
                c: { type: "array", items: { anyOf: [{ const: "d", title: "e" }] } },
                f: { type: "string", oneOf: [{ const: "g", title: "h" }] }
              }
            }
          }
        },
        i: { method: "sampling/createMessage", params: { messages: [{ role: "user", content: [text] }], maxTokens: 1 } }
      }
    }],
    ["LoggingMessageNotificationParams", Logging.LoggingMessageNotificationParams, { level: "info", data: 1 }],
    ["DetailedTask", Task.DetailedTask, {
      taskId: "a",
      status: "failed",
      createdAt: "2026-01-01T00:00:00Z",
      lastUpdatedAt: "2026-01-01T00:00:00Z",
      ttlMs: 1,
      pollIntervalMs: 2,
      error: { code: 1, message: "b" }
    }]
  ]

  it.each(samples)("of %s accept nothing that the schema refuses, and what is right at once", (_, schema, value) => {
    const guard = Guard.compile(schema.ast)
    const decode = SchemaParser.decodeUnknownExit(schema)
    assert.isTrue(guard(value), "the fast way is taken")
    for (const keys of everyPlace(value)) {
      const spoiled = [edit(value, keys), ...[...otherValues, 1.5, -1, ""].map((by) => edit(value, keys, { by }))]
      for (const candidate of spoiled) {
        const accepted = Exit.isSuccess(decode(candidate))
        assert.strictEqual(guard(candidate), accepted, `${keys.join("/")}: ${JSON.stringify(candidate)}`)
      }
    }
  })
})
