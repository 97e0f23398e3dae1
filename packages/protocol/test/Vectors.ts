/**
 * Values of every kind of type in every revision, written by hand after the text of the specification, with the members
 * that have to be there and their JSON types. A segment in braces is a key of the peer's choice.
 */
import type { Revision } from "@mcp-effect/protocol"

/** `id` is a string or an integer, `limit` a number or `null`; `any` is of every type but has to be there. */
export type MemberType = "string" | "number" | "object" | "array" | "id" | "limit" | "any"

export interface Vector {
  readonly type: string
  readonly since: Revision.Version
  readonly until: Revision.Version
  readonly value: unknown
  readonly required: { readonly [pointer: string]: MemberType }
}

const vector = (
  type: string,
  [since, until]: readonly [Revision.Version, Revision.Version],
  value: unknown,
  required: Vector["required"] = {}
): Vector => ({ type, since, until, value, required })

const ever = ["2024-11-05", "2026-07-28"] as const
const from2025_03 = ["2025-03-26", "2026-07-28"] as const
const from2025_06 = ["2025-06-18", "2026-07-28"] as const
const from2025_11 = ["2025-11-25", "2026-07-28"] as const
const only2025_11 = ["2025-11-25", "2025-11-25"] as const
const legacy = ["2024-11-05", "2025-11-25"] as const
const modern = ["2026-07-28", "2026-07-28"] as const

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  "io.modelcontextprotocol/clientInfo": { name: "ide", version: "2.1.0" },
  progressToken: 7
}

const metaAt = (at: string): Vector["required"] => ({
  [`${at}`]: "object",
  [`${at}/io.modelcontextprotocol~1protocolVersion`]: "string",
  [`${at}/io.modelcontextprotocol~1clientCapabilities`]: "object"
})

const envelope = { "/jsonrpc": "string", "/id": "id", "/method": "string" } as const

const icon = { src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48", "any"], theme: "dark" }
const annotations = { audience: ["user"], priority: 0.4, lastModified: "2026-01-02T03:04:05Z" }
const text = { type: "text", text: "Seven lines changed" }
const image = { type: "image", data: "aGk=", mimeType: "image/png" }
const task = { taskId: "t-1", createdAt: "2026-08-01T10:00:00Z", lastUpdatedAt: "2026-08-01T10:00:05.250+02:00" }
const taskMembers = {
  "/taskId": "string",
  "/status": "string",
  "/createdAt": "string",
  "/lastUpdatedAt": "string"
} as const

const form = {
  message: "Where to?",
  requestedSchema: {
    type: "object",
    properties: {
      city: { type: "string", title: "City", minLength: 2, maxLength: 40 },
      mail: { type: "string", format: "email" },
      nights: { type: "integer", minimum: 1, maximum: 30 },
      budget: { type: "number" },
      breakfast: { type: "boolean" },
      room: { type: "string", enum: ["s", "d"], enumNames: ["Single", "Double"] }
    },
    required: ["city"]
  }
}

const sampling = {
  messages: [{ role: "user", content: text }, { role: "assistant", content: image }],
  maxTokens: 200,
  modelPreferences: { hints: [{ name: "small" }], costPriority: 0.9, speedPriority: 0.1, intelligencePriority: 0 },
  systemPrompt: "Be brief",
  includeContext: "none",
  temperature: 0.3,
  stopSequences: ["END"],
  metadata: { trace: 1 }
}

const answer = { role: "assistant", content: text, model: "small-1", stopReason: "endTurn" }

const parts: ReadonlyArray<Vector> = [
  vector("TextContent", ever, { ...text, annotations: { audience: ["assistant"], priority: 1 } }, {
    "/type": "string",
    "/text": "string"
  }),
  vector("ImageContent", ever, image, { "/type": "string", "/data": "string", "/mimeType": "string" }),
  vector("AudioContent", from2025_03, { type: "audio", data: "aGk=", mimeType: "audio/wav", annotations }, {
    "/type": "string",
    "/data": "string",
    "/mimeType": "string"
  }),
  vector("ResourceLink", from2025_06, {
    type: "resource_link",
    uri: "file:///a.txt",
    name: "a",
    title: "A",
    description: "The first",
    mimeType: "text/plain",
    size: 12,
    annotations,
    icons: [icon],
    _meta: { "com.example/rank": 1 }
  }, { "/type": "string", "/uri": "string", "/name": "string", "/icons/0/src": "string" }),
  vector("EmbeddedResource", ever, { type: "resource", resource: { uri: "file:///a.txt", text: "hi" } }, {
    "/type": "string",
    "/resource": "object",
    "/resource/uri": "string"
  }),
  vector("TextResourceContents", ever, { uri: "file:///a.txt", mimeType: "text/plain", text: "" }, {
    "/uri": "string",
    "/text": "string"
  }),
  vector("BlobResourceContents", ever, { uri: "file:///a.png", mimeType: "image/png", blob: "aGk=" }, {
    "/uri": "string",
    "/blob": "string"
  }),
  vector("ToolUseContent", from2025_11, { type: "tool_use", id: "u1", name: "look", input: { at: "x" } }, {
    "/type": "string",
    "/id": "string",
    "/name": "string",
    "/input": "object"
  }),
  vector("ToolResultContent", from2025_11, { type: "tool_result", toolUseId: "u1", content: [text, image] }, {
    "/type": "string",
    "/toolUseId": "string",
    "/content": "array",
    "/content/0/text": "string",
    "/content/1/data": "string"
  }),
  vector("Icon", from2025_11, icon, { "/src": "string" }),
  vector("Implementation", ever, { name: "ide", version: "2.1.0" }, { "/name": "string", "/version": "string" }),
  vector("ClientCapabilities", legacy, {
    roots: { listChanged: true },
    sampling: {},
    elicitation: { form: {}, url: {} },
    experimental: { "com.example/x": { on: true } }
  }),
  vector("ClientCapabilities", modern, {
    extensions: { "io.modelcontextprotocol/tasks": {} },
    sampling: { tools: {} }
  }),
  vector("ServerCapabilities", ever, {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: false },
    prompts: {},
    logging: {},
    completions: {}
  }),
  vector("Tool", ever, {
    name: "book",
    description: "Books a room",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }, { "/name": "string", "/inputSchema": "object" }),
  vector("Tool", from2025_11, {
    name: "book",
    title: "Book",
    inputSchema: { type: "object", $schema: "https://json-schema.org/draft/2020-12/schema" },
    outputSchema: { type: "object" },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    icons: [icon],
    _meta: {}
  }, { "/name": "string", "/inputSchema": "object", "/icons/0/src": "string" }),
  vector("Prompt", ever, { name: "review", arguments: [{ name: "code", required: true }] }, {
    "/name": "string",
    "/arguments/0/name": "string"
  }),
  vector("PromptMessage", ever, { role: "user", content: text }, {
    "/role": "string",
    "/content": "object",
    "/content/type": "string",
    "/content/text": "string"
  }),
  vector("Resource", ever, { uri: "file:///a.txt", name: "a", mimeType: "text/plain" }, {
    "/uri": "string",
    "/name": "string"
  }),
  vector("ResourceTemplate", ever, { uriTemplate: "file:///{path}", name: "files" }, {
    "/uriTemplate": "string",
    "/name": "string"
  }),
  vector("Root", ever, { uri: "file:///home", name: "Home" }, { "/uri": "string" }),
  vector("SamplingMessage", ever, { role: "user", content: text }, { "/role": "string", "/content/text": "string" }),
  vector("SamplingMessage", from2025_11, {
    role: "user",
    content: [{ type: "tool_result", toolUseId: "u1", content: [] }]
  }, { "/role": "string", "/content/0/toolUseId": "string", "/content/0/content": "array" }),
  vector("ModelPreferences", ever, { hints: [{ name: "small" }, {}], costPriority: 1 })
]

const fields: ReadonlyArray<Vector> = [
  vector("StringSchema", from2025_06, { type: "string", title: "Mail", format: "email", minLength: 3 }, {
    "/type": "string"
  }),
  vector("NumberSchema", from2025_06, { type: "integer", minimum: 0, maximum: 9 }, { "/type": "string" }),
  vector("BooleanSchema", from2025_06, { type: "boolean", default: true }, { "/type": "string" }),
  vector("UntitledSingleSelectEnumSchema", from2025_11, { type: "string", enum: ["a", "b"], default: "a" }, {
    "/type": "string",
    "/enum": "array"
  }),
  vector("LegacyTitledEnumSchema", from2025_11, { type: "string", enum: ["a"], enumNames: ["A"] }, {
    "/type": "string",
    "/enum": "array"
  }),
  vector("TitledSingleSelectEnumSchema", from2025_11, { type: "string", oneOf: [{ const: "a", title: "A" }] }, {
    "/type": "string",
    "/oneOf": "array",
    "/oneOf/0/const": "string",
    "/oneOf/0/title": "string"
  }),
  vector("UntitledMultiSelectEnumSchema", from2025_11, {
    type: "array",
    items: { type: "string", enum: ["a", "b"] },
    minItems: 1,
    default: ["a"]
  }, { "/type": "string", "/items": "object", "/items/type": "string", "/items/enum": "array" }),
  vector("TitledMultiSelectEnumSchema", from2025_11, {
    type: "array",
    items: { anyOf: [{ const: "a", title: "A" }] }
  }, {
    "/type": "string",
    "/items": "object",
    "/items/anyOf": "array",
    "/items/anyOf/0/const": "string",
    "/items/anyOf/0/title": "string"
  })
]

const results: ReadonlyArray<Vector> = [
  vector("InitializeResult", legacy, {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "hotel", version: "1" },
    instructions: "Ask for the city first"
  }, {
    "/protocolVersion": "string",
    "/capabilities": "object",
    "/serverInfo": "object",
    "/serverInfo/name": "string",
    "/serverInfo/version": "string"
  }),
  vector("DiscoverResult", modern, {
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    capabilities: {},
    ttlMs: 1,
    cacheScope: "public"
  }, { "/supportedVersions": "array", "/capabilities": "object" }),
  vector("ListToolsResult", legacy, { tools: [{ name: "a", inputSchema: { type: "object" } }], nextCursor: "" }, {
    "/tools": "array",
    "/tools/0/name": "string",
    "/tools/0/inputSchema": "object"
  }),
  vector("ListPromptsResult", legacy, { prompts: [{ name: "a" }, { name: "b" }] }, {
    "/prompts": "array",
    "/prompts/1/name": "string"
  }),
  vector("ListResourcesResult", legacy, { resources: [{ uri: "a:b", name: "a" }] }, {
    "/resources": "array",
    "/resources/0/uri": "string"
  }),
  vector("ListResourceTemplatesResult", legacy, { resourceTemplates: [{ uriTemplate: "a:{b}", name: "a" }] }, {
    "/resourceTemplates": "array",
    "/resourceTemplates/0/uriTemplate": "string"
  }),
  vector("CallToolResult", legacy, { content: [text, image], isError: true }, {
    "/content": "array",
    "/content/0/text": "string",
    "/content/1/mimeType": "string"
  }),
  vector("CallToolResult", modern, { resultType: "complete", content: [], structuredContent: [1, null] }, {
    "/content": "array"
  }),
  vector("GetPromptResult", legacy, { description: "d", messages: [{ role: "assistant", content: text }] }, {
    "/messages": "array",
    "/messages/0/role": "string",
    "/messages/0/content": "object"
  }),
  vector("ReadResourceResult", legacy, { contents: [{ uri: "a:b", text: "" }, { uri: "a:c", blob: "aGk=" }] }, {
    "/contents": "array",
    "/contents/0/uri": "string",
    "/contents/1/uri": "string"
  }),
  vector("CompleteResult", legacy, { completion: { values: ["paris"], total: 1, hasMore: false } }, {
    "/completion": "object",
    "/completion/values": "array"
  }),
  vector("ListRootsResult", ever, { roots: [{ uri: "file:///home" }] }, {
    "/roots": "array",
    "/roots/0/uri": "string"
  }),
  vector("CreateMessageResult", ever, answer, {
    "/role": "string",
    "/content/type": "string",
    "/content/text": "string",
    "/model": "string"
  }),
  vector("ElicitResult", from2025_06, { action: "accept", content: { city: "Rome", nights: 2.5, breakfast: true } }, {
    "/action": "string"
  }),
  vector("InputRequiredResult", modern, {
    resultType: "input_required",
    inputRequests: {
      trip: { method: "elicitation/create", params: form },
      pay: { method: "elicitation/create", params: { mode: "url", message: "Pay", url: "https://example.com/pay" } },
      model: { method: "sampling/createMessage", params: sampling },
      where: { method: "roots/list" }
    },
    requestState: "{\"step\":1}"
  }, {
    "/resultType": "string",
    "/inputRequests/{trip}/method": "string",
    "/inputRequests/{trip}/params": "object",
    "/inputRequests/{trip}/params/message": "string",
    "/inputRequests/{trip}/params/requestedSchema": "object",
    "/inputRequests/{trip}/params/requestedSchema/type": "string",
    "/inputRequests/{trip}/params/requestedSchema/properties": "object",
    "/inputRequests/{trip}/params/requestedSchema/properties/{city}/type": "string",
    "/inputRequests/{pay}/params/url": "string",
    "/inputRequests/{pay}/params/message": "string",
    "/inputRequests/{model}/params/messages": "array",
    "/inputRequests/{model}/params/messages/1/content/data": "string",
    "/inputRequests/{model}/params/maxTokens": "number",
    "/inputRequests/{where}/method": "string"
  }),
  vector("InputResponses", modern, {
    trip: { action: "accept", content: { tags: ["a"] } },
    model: answer,
    where: { roots: [] }
  }, { "/{trip}/action": "string", "/{model}/role": "string", "/{model}/model": "string" }),
  vector("SubscriptionsListenResult", modern, {
    resultType: "complete",
    _meta: { "io.modelcontextprotocol/subscriptionId": 3 }
  }),
  vector("CreateTaskResult", only2025_11, { task: { ...task, status: "working", ttl: 60000, pollInterval: 500 } }, {
    "/task": "object",
    "/task/taskId": "string",
    "/task/status": "string",
    "/task/createdAt": "string",
    "/task/lastUpdatedAt": "string",
    "/task/ttl": "limit"
  }),
  vector("GetTaskResult", only2025_11, { ...task, status: "failed", ttl: 1 }, { ...taskMembers, "/ttl": "limit" }),
  vector("ListTasksResult", only2025_11, { tasks: [{ ...task, status: "cancelled", ttl: 1 }] }, {
    "/tasks": "array",
    "/tasks/0/taskId": "string"
  }),
  vector("CreateTaskResult", modern, {
    resultType: "task",
    ...task,
    status: "working",
    ttlMs: 60000,
    pollIntervalMs: 0
  }, { ...taskMembers, "/resultType": "string", "/ttlMs": "limit" }),
  vector("GetTaskResult", modern, {
    resultType: "complete",
    ...task,
    status: "input_required",
    ttlMs: 60000,
    inputRequests: { trip: { method: "elicitation/create", params: form } }
  }, { ...taskMembers, "/ttlMs": "limit", "/inputRequests": "object", "/inputRequests/{trip}/method": "string" }),
  vector("GetTaskResult", modern, {
    resultType: "complete",
    ...task,
    status: "completed",
    ttlMs: 5,
    result: { content: [] }
  }, {
    ...taskMembers,
    "/result": "object"
  }),
  vector("GetTaskResult", modern, {
    resultType: "complete",
    ...task,
    status: "failed",
    ttlMs: 5,
    error: { code: -32603, message: "no" }
  }, {
    ...taskMembers,
    "/error": "object",
    "/error/code": "number",
    "/error/message": "string"
  })
]

const requests: ReadonlyArray<Vector> = [
  vector("InitializeRequest", legacy, {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "ide", version: "2" } }
  }, {
    ...envelope,
    "/params": "object",
    "/params/protocolVersion": "string",
    "/params/capabilities": "object",
    "/params/clientInfo": "object",
    "/params/clientInfo/name": "string"
  }),
  vector("PingRequest", legacy, { jsonrpc: "2.0", id: "p", method: "ping" }, envelope),
  vector("ListToolsRequest", legacy, { jsonrpc: "2.0", id: 1, method: "tools/list", params: { cursor: "" } }, envelope),
  vector("ListToolsRequest", modern, { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } }, {
    ...envelope,
    "/params": "object",
    ...metaAt("/params/_meta")
  }),
  vector("CallToolRequest", legacy, {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "book", arguments: { city: "Rome" } }
  }, { ...envelope, "/params": "object", "/params/name": "string" }),
  vector("CallToolRequest", modern, {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: "book",
      arguments: {},
      inputResponses: { trip: { action: "decline" } },
      requestState: "s",
      _meta: meta
    }
  }, {
    ...envelope,
    "/params": "object",
    "/params/name": "string",
    "/params/inputResponses/{trip}/action": "string",
    ...metaAt("/params/_meta")
  }),
  vector("GetPromptRequest", legacy, {
    jsonrpc: "2.0",
    id: 1,
    method: "prompts/get",
    params: { name: "review", arguments: { code: "x" } }
  }, { ...envelope, "/params/name": "string" }),
  vector("ReadResourceRequest", legacy, { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "a:b" } }, {
    ...envelope,
    "/params/uri": "string"
  }),
  vector("SubscribeRequest", legacy, { jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "a:b" } }, {
    ...envelope,
    "/params/uri": "string"
  }),
  vector("UnsubscribeRequest", legacy, {
    jsonrpc: "2.0",
    id: 1,
    method: "resources/unsubscribe",
    params: { uri: "a:b" }
  }, { ...envelope, "/params/uri": "string" }),
  vector("SetLevelRequest", legacy, { jsonrpc: "2.0", id: 1, method: "logging/setLevel", params: { level: "alert" } }, {
    ...envelope,
    "/params/level": "string"
  }),
  vector("CompleteRequest", legacy, {
    jsonrpc: "2.0",
    id: 1,
    method: "completion/complete",
    params: { ref: { type: "ref/resource", uri: "a:{b}" }, argument: { name: "b", value: "c" } }
  }, {
    ...envelope,
    "/params/ref": "object",
    "/params/ref/type": "string",
    "/params/ref/uri": "string",
    "/params/argument": "object",
    "/params/argument/name": "string",
    "/params/argument/value": "string"
  }),
  vector("SubscriptionsListenRequest", modern, {
    jsonrpc: "2.0",
    id: 9,
    method: "subscriptions/listen",
    params: { _meta: meta, notifications: { toolsListChanged: true, resourceSubscriptions: ["a:b"] } }
  }, { ...envelope, "/params/notifications": "object", ...metaAt("/params/_meta") }),
  vector("UpdateTaskRequest", modern, {
    jsonrpc: "2.0",
    id: 9,
    method: "tasks/update",
    params: { _meta: meta, taskId: "t-1", inputResponses: { trip: { action: "cancel" } } }
  }, {
    ...envelope,
    "/params/taskId": "string",
    "/params/inputResponses": "object",
    "/params/inputResponses/{trip}/action": "string",
    ...metaAt("/params/_meta")
  }),
  vector("ElicitRequest", ["2025-06-18", "2025-11-25"], {
    jsonrpc: "2.0",
    id: 4,
    method: "elicitation/create",
    params: form
  }, {
    ...envelope,
    "/params/message": "string",
    "/params/requestedSchema": "object",
    "/params/requestedSchema/properties": "object",
    "/params/requestedSchema/properties/{budget}/type": "string"
  }),
  vector("CreateMessageRequest", legacy, {
    jsonrpc: "2.0",
    id: 4,
    method: "sampling/createMessage",
    params: sampling
  }, {
    ...envelope,
    "/params/messages": "array",
    "/params/messages/0/role": "string",
    "/params/messages/0/content/text": "string",
    "/params/maxTokens": "number"
  }),
  vector("ListRootsRequest", legacy, { jsonrpc: "2.0", id: 4, method: "roots/list" }, envelope)
]

const notification = { "/jsonrpc": "string", "/method": "string" } as const

const notifications: ReadonlyArray<Vector> = [
  vector("CancelledNotification", ever, {
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: 4, reason: "late" }
  }, { ...notification, "/params": "object", "/params/requestId": "id" }),
  vector("ProgressNotification", ever, {
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken: "t", progress: 0.25, total: 1 }
  }, { ...notification, "/params": "object", "/params/progressToken": "id", "/params/progress": "number" }),
  vector("LoggingMessageNotification", ever, {
    jsonrpc: "2.0",
    method: "notifications/message",
    params: { level: "info", logger: "db", data: { rows: 3 } }
  }, { ...notification, "/params": "object", "/params/level": "string", "/params/data": "any" }),
  vector("ResourceUpdatedNotification", ever, {
    jsonrpc: "2.0",
    method: "notifications/resources/updated",
    params: { uri: "a:b" }
  }, { ...notification, "/params": "object", "/params/uri": "string" }),
  vector(
    "ToolListChangedNotification",
    ever,
    { jsonrpc: "2.0", method: "notifications/tools/list_changed" },
    notification
  ),
  vector("InitializedNotification", legacy, { jsonrpc: "2.0", method: "notifications/initialized" }, notification),
  vector("ElicitationCompleteNotification", only2025_11, {
    jsonrpc: "2.0",
    method: "notifications/elicitation/complete",
    params: { elicitationId: "e1" }
  }, { ...notification, "/params/elicitationId": "string" }),
  vector("SubscriptionsAcknowledgedNotification", modern, {
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { _meta: { "io.modelcontextprotocol/subscriptionId": 9 }, notifications: { toolsListChanged: true } }
  }, { ...notification, "/params": "object", "/params/notifications": "object" }),
  vector("TaskStatusNotification", modern, {
    jsonrpc: "2.0",
    method: "notifications/tasks",
    params: { ...task, status: "cancelled", ttlMs: 5 }
  }, { ...notification, "/params": "object", "/params/taskId": "string", "/params/status": "string" })
]

const errors: ReadonlyArray<Vector> = [
  vector("HeaderMismatchError", modern, { jsonrpc: "2.0", id: 1, error: { code: -32020, message: "differs" } }, {
    "/jsonrpc": "string",
    "/error": "object",
    "/error/code": "number",
    "/error/message": "string"
  }),
  vector("UnsupportedProtocolVersionError", modern, {
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32022, message: "no", data: { supported: ["2026-07-28"], requested: "2030-01-01" } }
  }, {
    "/error/code": "number",
    "/error/message": "string",
    "/error/data": "object",
    "/error/data/supported": "array",
    "/error/data/requested": "string"
  }),
  vector("MissingRequiredClientCapabilityError", modern, {
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32021, message: "no", data: { requiredCapabilities: { sampling: {} } } }
  }, { "/error/data": "object", "/error/data/requiredCapabilities": "object" }),
  vector("URLElicitationRequiredError", only2025_11, {
    jsonrpc: "2.0",
    id: 1,
    error: {
      code: -32042,
      message: "no",
      data: {
        elicitations: [{ mode: "url", message: "Sign in", url: "https://example.com/", elicitationId: "e1" }]
      }
    }
  }, {
    "/error/data": "object",
    "/error/data/elicitations": "array",
    "/error/data/elicitations/0/mode": "string",
    "/error/data/elicitations/0/url": "string"
  })
]

export const vectors: ReadonlyArray<Vector> = [
  ...parts,
  ...fields,
  ...results,
  ...requests,
  ...notifications,
  ...errors
]
