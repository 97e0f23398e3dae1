/**
 * A check for every type that a revision of the protocol names in its schema: whole messages, params, results and parts.
 *
 * The client checks what it needs with the schemas of the other modules. These tables are for who handles whole messages
 * by name: test servers, recorders, tools that inspect traffic.
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { Annotations, Role } from "./Annotations.ts"
import { CancelledNotificationParams } from "./Cancellation.ts"
import { ClientCapabilities, ServerCapabilities } from "./Capabilities.ts"
import * as Completion from "./Completion.ts"
import * as Content from "./Content.ts"
import * as CoreTask from "./CoreTask.ts"
import * as Decode from "./Decode.ts"
import * as Discovery from "./Discovery.ts"
import * as Elicitation from "./Elicitation.ts"
import * as ErrorCode from "./ErrorCode.ts"
import * as ErrorReply from "./ErrorReply.ts"
import { Icon } from "./Icon.ts"
import { Implementation } from "./Implementation.ts"
import * as InputRequired from "./InputRequired.ts"
import * as Wire from "./internal/Wire.ts"
import { isJsonObject, type JsonObject } from "./Json.ts"
import * as ListResult from "./ListResult.ts"
import * as Logging from "./Logging.ts"
import { RequestMetaObject } from "./Metadata.ts"
import { ProgressNotificationParams } from "./Progress.ts"
import * as Prompt from "./Prompt.ts"
import * as Resource from "./Resource.ts"
import type * as Revision from "./Revision.ts"
import * as Roots from "./Roots.ts"
import * as Sampling from "./Sampling.ts"
import * as Subscription from "./Subscription.ts"
import * as Task from "./Task.ts"
import * as Tool from "./Tool.ts"
import { CallToolRequestParams, CallToolResult } from "./ToolCall.ts"

type Validator = Decode.Validator<unknown>
type Names = { readonly [name: string]: Validator }

// ====================================================================================================================
// Building checks of checks
// ====================================================================================================================

const check = <A>(schema: Schema.Codec<A>): Validator => Decode.validator(schema)

/** Checks one member of an object by itself. */
const member = (key: string, validate: Validator, presence: "required" | "optional"): Validator => (value) => {
  const given = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  if (given === undefined) return presence === "optional" ? Exit.succeed(value) : Decode.refuse(`/${key}`, "is missing")
  const exit = validate(given)
  if (Exit.isSuccess(exit)) return Exit.succeed(value)
  const { path, problem } = Decode.issueOf(exit)
  return Decode.refuse(`/${key}${path}`, problem)
}

const every = (...checks: ReadonlyArray<Validator>): Validator => (value) => {
  for (const validate of checks) {
    const exit = validate(value)
    if (Exit.isFailure(exit)) return exit
  }
  return Exit.succeed(value)
}

const jsonrpc = Schema.Literal("2.0")
const EmptyParams = check(Schema.Struct({ _meta: Wire.meta }))
const EmptyResult = check(Schema.Struct(Wire.resultFields))

const request = (method: string, params: Validator, presence: "required" | "optional" = "required"): Validator =>
  every(
    check(Schema.Struct({ jsonrpc, id: Wire.requestId, method: Schema.Literal(method) })),
    member("params", params, presence)
  )

const notification = (
  method: string,
  params: Validator = EmptyParams,
  presence: "required" | "optional" = "required"
) => every(check(Schema.Struct({ jsonrpc, method: Schema.Literal(method) })), member("params", params, presence))

const response = (result: Validator): Validator =>
  every(check(Schema.Struct({ jsonrpc, id: Wire.requestId })), member("result", result, "required"))

/** A result that may be a request for input in its place. */
const orInputRequired = (result: Validator): Validator => (value) =>
  isJsonObject(value) && value["resultType"] === "input_required" ? InputRequired.validate(value) : result(value)

/** A page of a list none of whose items had to be set aside. */
const list = <A>(key: string, item: Schema.Codec<A>): Validator => {
  const validateItem = Decode.validator(item)
  return every(EmptyResult, (value) => {
    const exit = ListResult.read("", value as JsonObject, key, validateItem)
    if (Exit.isFailure(exit)) return exit
    const [first] = exit.value.setAside
    return first === undefined ? Exit.succeed(value) : Decode.refuse(first.path, first.problem)
  })
}

const errorObject = (code: Schema.Codec<number>, data?: Validator): Validator =>
  every(
    check(Schema.Struct({ code, message: Schema.String })),
    ...(data === undefined ? [] : [member("data", data, "required")])
  )

// The id is absent where the request was too broken to tell it, and some servers write `null` for that.
const errorResponse = (code: number, data?: Validator): Validator =>
  every(
    check(Schema.Struct({ jsonrpc, id: Schema.optional(Wire.requestId) })),
    member("error", errorObject(Schema.Literal(code), data), "required")
  )

// ====================================================================================================================
// What the revisions share
// ====================================================================================================================

const since2024 = (): Names => ({
  Role: check(Role),
  Implementation: check(Implementation),
  ClientCapabilities: check(ClientCapabilities),
  ServerCapabilities: check(ServerCapabilities),
  LoggingLevel: check(Logging.LoggingLevel),
  RequestId: check(Wire.requestId),
  ProgressToken: check(Wire.requestId),
  Cursor: check(Schema.String),
  TextContent: check(Content.TextContent),
  ImageContent: check(Content.ImageContent),
  EmbeddedResource: check(Content.EmbeddedResource),
  TextResourceContents: check(Content.TextResourceContents),
  BlobResourceContents: check(Content.BlobResourceContents),
  Tool: check(Tool.Tool),
  Prompt: check(Prompt.Prompt),
  PromptArgument: check(Prompt.PromptArgument),
  PromptMessage: check(Prompt.PromptMessage),
  Resource: check(Resource.Resource),
  ResourceTemplate: check(Resource.ResourceTemplate),
  PromptReference: check(Completion.PromptReference),
  Root: check(Roots.Root),
  SamplingMessage: check(Sampling.SamplingMessage),
  ModelHint: check(Sampling.ModelHint),
  ModelPreferences: check(Sampling.ModelPreferences),
  EmptyResult,
  Result: EmptyResult,
  ListToolsResult: list("tools", Tool.Tool),
  ListPromptsResult: list("prompts", Prompt.Prompt),
  ListResourcesResult: list("resources", Resource.Resource),
  ListResourceTemplatesResult: list("resourceTemplates", Resource.ResourceTemplate),
  CallToolResult: check(CallToolResult),
  GetPromptResult: check(Prompt.GetPromptResult),
  ReadResourceResult: check(Resource.ReadResourceResult),
  CompleteResult: check(Completion.CompleteResult),
  CreateMessageResult: check(Sampling.CreateMessageResult),
  ListRootsResult: check(Roots.ListRootsResult),
  CancelledNotification: notification("notifications/cancelled", check(CancelledNotificationParams)),
  ProgressNotification: notification("notifications/progress", check(ProgressNotificationParams)),
  LoggingMessageNotification: notification("notifications/message", check(Logging.LoggingMessageNotificationParams)),
  ResourceUpdatedNotification: notification(
    "notifications/resources/updated",
    check(Resource.ResourceUpdatedNotificationParams)
  ),
  ResourceListChangedNotification: notification("notifications/resources/list_changed", EmptyParams, "optional"),
  ToolListChangedNotification: notification("notifications/tools/list_changed", EmptyParams, "optional"),
  PromptListChangedNotification: notification("notifications/prompts/list_changed", EmptyParams, "optional")
})

const since2025_03 = (): Names => ({
  Annotations: check(Annotations),
  AudioContent: check(Content.AudioContent),
  ToolAnnotations: check(Tool.ToolAnnotations)
})

const since2025_06 = (): Names => ({
  ContentBlock: check(Content.ContentBlock),
  ResourceLink: check(Content.ResourceLink),
  ResourceTemplateReference: check(Completion.ResourceTemplateReference),
  StringSchema: check(Elicitation.StringSchema),
  NumberSchema: check(Elicitation.NumberSchema),
  BooleanSchema: check(Elicitation.BooleanSchema),
  PrimitiveSchemaDefinition: check(Elicitation.PrimitiveSchemaDefinition),
  ElicitResult: check(Elicitation.ElicitResult)
})

const since2025_11 = (): Names => ({
  Icon: check(Icon),
  LegacyTitledEnumSchema: check(Elicitation.LegacyTitledEnumSchema),
  TitledSingleSelectEnumSchema: check(Elicitation.TitledSingleSelectEnumSchema),
  UntitledSingleSelectEnumSchema: check(Elicitation.UntitledSingleSelectEnumSchema),
  TitledMultiSelectEnumSchema: check(Elicitation.TitledMultiSelectEnumSchema),
  UntitledMultiSelectEnumSchema: check(Elicitation.UntitledMultiSelectEnumSchema),
  ToolChoice: check(Sampling.ToolChoice),
  ToolUseContent: check(Content.ToolUseContent),
  ToolResultContent: check(Content.ToolResultContent),
  SamplingMessageContentBlock: check(Content.SamplingMessageContentBlock),
  TaskStatus: check(Task.TaskStatus),
  CreateMessageRequestParams: check(Sampling.CreateMessageRequestParams),
  ElicitRequestParams: check(Elicitation.ElicitRequestParams),
  ElicitRequestFormParams: check(Elicitation.ElicitRequestFormParams),
  ElicitRequestURLParams: check(Elicitation.ElicitRequestURLParams),
  NotificationParams: EmptyParams,
  Error: errorObject(Schema.Int),
  CancelledNotificationParams: check(CancelledNotificationParams),
  ProgressNotificationParams: check(ProgressNotificationParams),
  LoggingMessageNotificationParams: check(Logging.LoggingMessageNotificationParams),
  ResourceUpdatedNotificationParams: check(Resource.ResourceUpdatedNotificationParams)
})

// ====================================================================================================================
// What only the revisions with a handshake have
// ====================================================================================================================

const paginated = check(ListResult.PaginatedRequestParams)
const callTool = check(CallToolRequestParams)
const getPrompt = check(Prompt.GetPromptRequestParams)
const readResource = check(Resource.ReadResourceRequestParams)
const subscribe = check(Resource.SubscribeRequestParams)
const complete = check(Completion.CompleteRequestParams)
const setLevel = check(Logging.SetLevelRequestParams)
const initialize = check(Discovery.InitializeRequestParams)
const createMessage = check(Sampling.CreateMessageRequestParams)
const elicit = check(Elicitation.ElicitRequestParams)
const taskId = check(Task.TaskRequestParams)

const legacy = (): Names => ({
  InitializeRequest: request("initialize", initialize),
  InitializeResult: check(Discovery.InitializeResult),
  InitializedNotification: notification("notifications/initialized", EmptyParams, "optional"),
  PingRequest: request("ping", EmptyParams, "optional"),
  ListToolsRequest: request("tools/list", paginated, "optional"),
  CallToolRequest: request("tools/call", callTool),
  ListPromptsRequest: request("prompts/list", paginated, "optional"),
  GetPromptRequest: request("prompts/get", getPrompt),
  ListResourcesRequest: request("resources/list", paginated, "optional"),
  ListResourceTemplatesRequest: request("resources/templates/list", paginated, "optional"),
  ReadResourceRequest: request("resources/read", readResource),
  SubscribeRequest: request("resources/subscribe", subscribe),
  UnsubscribeRequest: request("resources/unsubscribe", subscribe),
  CompleteRequest: request("completion/complete", complete),
  SetLevelRequest: request("logging/setLevel", setLevel),
  ListRootsRequest: request("roots/list", EmptyParams, "optional"),
  CreateMessageRequest: request("sampling/createMessage", createMessage),
  RootsListChangedNotification: notification("notifications/roots/list_changed", EmptyParams, "optional")
})

const legacyUntil2025_03 = (): Names => ({ ResourceReference: check(Completion.ResourceTemplateReference) })

const legacySince2025_06 = (): Names => ({ ElicitRequest: request("elicitation/create", elicit) })

const only2025_06 = (): Names => ({ EnumSchema: check(Elicitation.LegacyTitledEnumSchema) })

const only2025_11 = (): Names => ({
  RequestParams: EmptyParams,
  InitializeRequestParams: initialize,
  PaginatedRequestParams: paginated,
  CallToolRequestParams: callTool,
  GetPromptRequestParams: getPrompt,
  ReadResourceRequestParams: readResource,
  ResourceRequestParams: subscribe,
  SubscribeRequestParams: subscribe,
  UnsubscribeRequestParams: subscribe,
  CompleteRequestParams: complete,
  SetLevelRequestParams: setLevel,
  ToolExecution: check(Tool.ToolExecution),
  TaskMetadata: check(CoreTask.TaskMetadata),
  RelatedTaskMetadata: check(CoreTask.RelatedTaskMetadata),
  Task: check(CoreTask.Task),
  CreateTaskResult: check(CoreTask.CreateTaskResult),
  GetTaskRequest: request("tasks/get", taskId),
  GetTaskResult: check(CoreTask.Task),
  GetTaskPayloadRequest: request("tasks/result", taskId),
  GetTaskPayloadResult: EmptyResult,
  CancelTaskRequest: request("tasks/cancel", taskId),
  CancelTaskResult: check(CoreTask.Task),
  ListTasksRequest: request("tasks/list", paginated, "optional"),
  ListTasksResult: list("tasks", CoreTask.Task),
  TaskStatusNotification: notification("notifications/tasks/status", check(CoreTask.Task)),
  TaskStatusNotificationParams: check(CoreTask.Task),
  ElicitationCompleteNotification: notification(
    "notifications/elicitation/complete",
    check(Elicitation.ElicitationCompleteNotificationParams)
  ),
  URLElicitationRequiredError: errorResponse(
    ErrorCode.UrlElicitationRequired,
    check(ErrorReply.URLElicitationRequiredData)
  )
})

// ====================================================================================================================
// What only 2026-07-28 has
// ====================================================================================================================

/** Every request of 2026-07-28 carries `_meta`. */
const withMeta = (params: Validator): Validator => every(params, member("_meta", check(RequestMetaObject), "required"))

const input = (method: string, params: Validator): Validator =>
  every(check(Schema.Struct({ method: Schema.Literal(method) })), member("params", params, "required"))

const discoverResult = check(Discovery.DiscoverResult)
const callToolResult = check(CallToolResult)
const listenResult = check(Subscription.SubscriptionsListenResult)
const listen = withMeta(check(Subscription.SubscriptionsListenRequestParams))
const acknowledged = check(Subscription.SubscriptionsAcknowledgedNotificationParams)
const listTools = list("tools", Tool.Tool)
const listPrompts = list("prompts", Prompt.Prompt)
const listResources = list("resources", Resource.Resource)
const listResourceTemplates = list("resourceTemplates", Resource.ResourceTemplate)

const only2026_07 = (): Names => ({
  RequestMetaObject: check(RequestMetaObject),
  RequestParams: withMeta(EmptyParams),
  PaginatedRequestParams: withMeta(paginated),
  CallToolRequestParams: withMeta(callTool),
  GetPromptRequestParams: withMeta(getPrompt),
  ReadResourceRequestParams: withMeta(readResource),
  ResourceRequestParams: withMeta(subscribe),
  CompleteRequestParams: withMeta(complete),
  SubscriptionFilter: check(Subscription.SubscriptionFilter),
  SubscriptionsListenRequestParams: listen,
  DiscoverRequest: request("server/discover", withMeta(EmptyParams)),
  ListToolsRequest: request("tools/list", withMeta(paginated)),
  CallToolRequest: request("tools/call", withMeta(callTool)),
  ListPromptsRequest: request("prompts/list", withMeta(paginated)),
  GetPromptRequest: request("prompts/get", withMeta(getPrompt)),
  ListResourcesRequest: request("resources/list", withMeta(paginated)),
  ListResourceTemplatesRequest: request("resources/templates/list", withMeta(paginated)),
  ReadResourceRequest: request("resources/read", withMeta(readResource)),
  CompleteRequest: request("completion/complete", withMeta(complete)),
  SubscriptionsListenRequest: request("subscriptions/listen", listen),
  // Requests for input are no requests of JSON-RPC: they have no `jsonrpc` and no `id`.
  InputRequest: check(InputRequired.InputRequest),
  InputRequests: check(InputRequired.InputRequests),
  ElicitRequest: input("elicitation/create", elicit),
  CreateMessageRequest: input("sampling/createMessage", createMessage),
  ListRootsRequest: every(
    check(Schema.Struct({ method: Schema.Literal("roots/list") })),
    member("params", EmptyParams, "optional")
  ),
  InputRequiredResult: InputRequired.validate,
  InputResponse: check(InputRequired.InputResponse),
  InputResponses: check(InputRequired.InputResponses),
  DiscoverResult: discoverResult,
  SubscriptionsListenResult: listenResult,
  SubscriptionsAcknowledgedNotificationParams: acknowledged,
  SubscriptionsAcknowledgedNotification: notification("notifications/subscriptions/acknowledged", acknowledged),
  DiscoverResultResponse: response(discoverResult),
  ListToolsResultResponse: response(listTools),
  CallToolResultResponse: response(orInputRequired(callToolResult)),
  ListPromptsResultResponse: response(listPrompts),
  GetPromptResultResponse: response(orInputRequired(check(Prompt.GetPromptResult))),
  ListResourcesResultResponse: response(listResources),
  ListResourceTemplatesResultResponse: response(listResourceTemplates),
  ReadResourceResultResponse: response(orInputRequired(check(Resource.ReadResourceResult))),
  CompleteResultResponse: response(check(Completion.CompleteResult)),
  SubscriptionsListenResultResponse: response(listenResult),
  ParseError: errorObject(Schema.Literal(ErrorCode.ParseError)),
  InvalidRequestError: errorObject(Schema.Literal(ErrorCode.InvalidRequest)),
  MethodNotFoundError: errorObject(Schema.Literal(ErrorCode.MethodNotFound)),
  InvalidParamsError: errorObject(Schema.Literal(ErrorCode.InvalidParams)),
  InternalError: errorObject(Schema.Literal(ErrorCode.InternalError)),
  HeaderMismatchError: errorResponse(ErrorCode.HeaderMismatch),
  MissingRequiredClientCapabilityError: errorResponse(
    ErrorCode.MissingRequiredClientCapability,
    check(ErrorReply.MissingRequiredClientCapabilityData)
  ),
  UnsupportedProtocolVersionError: errorResponse(
    ErrorCode.UnsupportedProtocolVersion,
    check(ErrorReply.UnsupportedProtocolVersionData)
  ),
  // The extension io.modelcontextprotocol/tasks.
  Task: check(Task.Task),
  DetailedTask: check(Task.DetailedTask),
  CreateTaskResult: check(Task.CreateTaskResult),
  GetTaskRequest: request("tasks/get", withMeta(taskId)),
  GetTaskResult: check(Task.DetailedTask),
  UpdateTaskRequest: request("tasks/update", withMeta(check(Task.UpdateTaskRequestParams))),
  UpdateTaskResult: EmptyResult,
  CancelTaskRequest: request("tasks/cancel", withMeta(taskId)),
  CancelTaskResult: EmptyResult,
  TaskStatusNotificationParams: check(Task.DetailedTask),
  TaskStatusNotification: notification("notifications/tasks", check(Task.DetailedTask))
})

// ====================================================================================================================
// The tables
// ====================================================================================================================

const parts: { readonly [V in Revision.Version]: ReadonlyArray<() => Names> } = {
  "2024-11-05": [since2024, legacy, legacyUntil2025_03],
  "2025-03-26": [since2024, since2025_03, legacy, legacyUntil2025_03],
  "2025-06-18": [since2024, since2025_03, since2025_06, legacy, legacySince2025_06, only2025_06],
  "2025-11-25": [since2024, since2025_03, since2025_06, since2025_11, legacy, legacySince2025_06, only2025_11],
  "2026-07-28": [since2024, since2025_03, since2025_06, since2025_11, only2026_07]
}

// Made when they are first asked for: a client that only calls tools does not pay for them.
const tables = new Map<Revision.Version, ReadonlyMap<string, Validator>>()

/**
 * The checks of a revision, by the names that its schema gives to its types; those of the tasks extension are beside the
 * ones of 2026-07-28.
 *
 * They are lenient where the client is: unknown members, content types and values of hints pass, and so do results
 * without `resultType`, `ttlMs` and `cacheScope`.
 *
 * @category decoding
 * @since 0.1.0
 */
export const validators = ({ version }: Revision.Facts): ReadonlyMap<string, Decode.Validator<unknown>> => {
  const known = tables.get(version)
  if (known !== undefined) return known
  const table = new Map(parts[version].flatMap((names) => Object.entries(names())))
  tables.set(version, table)
  return table
}
