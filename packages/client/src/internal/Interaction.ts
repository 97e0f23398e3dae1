/**
 * Answers what a server asks for, in either era, with the handlers of the application.
 */
import {
  Decode,
  Elicitation,
  ErrorCode,
  Json,
  McpError,
  PeerText,
  type Revision,
  Roots,
  Sampling
} from "@mcp-effect/protocol"
import type * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Deprecations from "../Deprecations.ts"
import { type McpHandlers, SamplingRejected } from "../McpHandlers.ts"
import * as FormContent from "./FormContent.ts"
import * as SamplingHistory from "./SamplingHistory.ts"
import { Visits } from "./Visits.ts"

/** Why something was not answered. `message` is ours, constant, and all that a server hears. */
export interface Refusal {
  readonly kind: "unhandled" | "malformed" | "handler-failed" | "rejected"
  readonly code: number
  readonly message: string
}

/** What a server may ask for, and the answers. */
export interface Interaction {
  /** What the client declares in a revision. */
  readonly capabilities: (revision: Revision.Facts) => Json.JsonObject
  readonly answer: (
    method: string,
    params: Json.JsonObject | undefined,
    revision: Revision.Facts
  ) => Effect.Effect<Json.JsonObject, Refusal>
  /** The pages that the user was asked to visit. */
  readonly visits: Visits
  /** The roots whenever they change, where they are given as something that changes. */
  readonly rootsChanges: Stream.Stream<unknown> | undefined
}

/** The code is that of the protocol (client/sampling, Error handling). */
const rejected: Refusal = { kind: "rejected", code: -1, message: "User rejected sampling request" }

export const unhandled = (method: string): Refusal => ({
  kind: "unhandled",
  code: ErrorCode.MethodNotFound,
  message: `Method not found: ${method}`
})
/** It exists, but this client has not declared it. */
const undeclared = (message: string): Refusal => ({ kind: "unhandled", code: ErrorCode.InvalidParams, message })
const malformed = (message: string): Refusal => ({ kind: "malformed", code: ErrorCode.InvalidParams, message })
const failed = (message: string): Refusal => ({ kind: "handler-failed", code: ErrorCode.InternalError, message })

const elicitRequest = Decode.validator(Elicitation.ElicitRequestParams)
const createMessageRequest = Decode.validator(Sampling.CreateMessageRequestParams)
const createMessageResult = Decode.validator(Sampling.CreateMessageResult)
const elicitResult = Decode.validator(Elicitation.ElicitResult)
const listRootsResult = Decode.validator(Roots.ListRootsResult)

/** Whether a root is one that may be told: a `file:` URI whose path does not climb. */
const isRootUri = (uri: string): boolean => {
  if (!uri.startsWith("file://") || !URL.canParse(uri)) return false
  try {
    return !decodeURIComponent(uri).split(/[/\\]/).includes("..")
  } catch {
    return false
  }
}

const rootsProblem = (roots: unknown): string | undefined => {
  const checked = listRootsResult({ roots })
  if (!Exit.isSuccess(checked)) return "roots must be a list of { uri, name? }"
  const wrong = checked.value.roots.find((root) => !isRootUri(root.uri))
  return wrong === undefined ? undefined : `the root ${JSON.stringify(wrong.uri)} is not a file:// URI without ".."`
}

const clamp = (priority: number | undefined): number | undefined =>
  priority === undefined ? undefined : Math.min(1, Math.max(0, priority))

const within = (params: Sampling.CreateMessageRequestParams): Sampling.CreateMessageRequestParams => {
  const preferences = params.modelPreferences
  if (preferences === undefined) return params
  return {
    ...params,
    modelPreferences: {
      ...preferences,
      hints: preferences.hints?.map(({ name }) => ({ name })),
      costPriority: clamp(preferences.costPriority),
      speedPriority: clamp(preferences.speedPriority),
      intelligencePriority: clamp(preferences.intelligencePriority)
    }
  }
}

export const make = <R>(
  handlers: McpHandlers<R>,
  server: string,
  context: Context.Context<R>
): Effect.Effect<Interaction, McpError.McpError> =>
  Effect.gen(function*() {
    const { elicitation, roots, sampling } = handlers
    if (Array.isArray(roots)) {
      const problem = rootsProblem(roots)
      if (problem !== undefined) {
        return yield* McpError.make(new McpError.InvalidRequest({ path: "/handlers/roots", problem }), "unsent", {
          server
        })
      }
    }

    const run = <A>(
      what: string,
      handler: Effect.Effect<A, unknown, R>,
      refuse: (error: unknown) => Refusal
    ): Effect.Effect<A, Refusal> =>
      // An interruption from without does not come through here; one that comes is a way of the handler to fail.
      Effect.catchCause(Effect.provideContext(handler, context), (cause: Cause.Cause<unknown>) => {
        const error = Exit.findErrorOption(Exit.failCause(cause))
        const refusal = refuse(error._tag === "Some" ? error.value : undefined)
        return refusal.kind === "handler-failed"
          ? Effect.andThen(Effect.logError(`The ${what} handler failed`, cause), Effect.fail(refusal))
          : Effect.fail(refusal)
      })

    /** Runs a handler, which may be code without types, for the object that it answers with. */
    const ask = (
      what: string,
      handler: () => Effect.Effect<unknown, unknown, R>,
      refuse: (error: unknown) => Refusal
    ): Effect.Effect<Json.JsonObject, Refusal> =>
      Effect.flatMap(
        run(what, Effect.suspend(handler), refuse),
        (answer) => Json.isJsonObject(answer) ? Effect.succeed(answer) : unusable(what, refuse(undefined))
      )

    const unusable = (what: string, refusal: Refusal): Effect.Effect<never, Refusal> =>
      Effect.andThen(
        Effect.logError(`The ${what} handler gave an answer that the protocol does not have`),
        Effect.fail(refusal)
      )

    const checked = <A>(
      what: string,
      validate: Decode.Validator<A>,
      value: Json.JsonObject,
      refusal: Refusal
    ): Effect.Effect<Json.JsonObject, Refusal> =>
      Exit.isSuccess(validate(value)) ? Effect.succeed(value) : unusable(what, refusal)

    const elicitationFailed = (): Refusal => failed("Elicitation handler error")

    const elicitForm = (
      request: Elicitation.ElicitRequestFormParams,
      revision: Revision.Facts
    ): Effect.Effect<Json.JsonObject, Refusal> => {
      const form = elicitation?.form
      if (form === undefined || !revision.elicitation.form) {
        return Effect.fail(undeclared("Form elicitation is not supported"))
      }
      const schema = request.requestedSchema
      const multiSelect = revision.elicitation.multiSelect
      if (!multiSelect && FormContent.hasMultiSelect(schema)) {
        return Effect.fail(malformed("Fields with several values are not supported in this revision"))
      }
      const asked = () =>
        Effect.flatMap(FormContent.prepare(schema), () =>
          form({
            server,
            revision,
            message: request.message,
            requestedSchema: schema,
            defaults: FormContent.defaults(schema),
            meta: request._meta
          }))
      return Effect.flatMap(ask("Elicitation", asked, elicitationFailed), (answer) => {
        const { _meta, action, content: given } = answer
        const meta = _meta === undefined ? undefined : { _meta }
        if (action !== undefined && action !== "accept") {
          return checked(
            "Elicitation",
            elicitResult,
            { ...meta, action: action === "decline" ? "decline" : "cancel" },
            elicitationFailed()
          )
        }
        if (given !== undefined && !Json.isJsonObject(given)) return unusable("Elicitation", elicitationFailed())
        const content = FormContent.withDefaults(schema, given ?? {})
        const problem = FormContent.problem(schema, content, multiSelect)
        if (problem !== undefined) {
          return Effect.andThen(
            Effect.logError(
              `The answer to a form does not fit it: "${PeerText.excerpt(problem.field)}" ${problem.problem}`
            ),
            Effect.fail(failed("Elicitation answer does not match the requested schema"))
          )
        }
        return checked("Elicitation", elicitResult, { ...meta, action: "accept", content }, elicitationFailed())
      })
    }

    const elicitUrl = (
      request: Elicitation.ElicitRequestURLParams,
      revision: Revision.Facts
    ): Effect.Effect<Json.JsonObject, Refusal> => {
      const url = elicitation?.url
      if (url === undefined || !revision.elicitation.url) {
        return Effect.fail(undeclared("URL elicitation is not supported"))
      }
      // Other schemes run programs or scripts on the user's machine instead of showing a page.
      if (!/^https?:/i.test(request.url) || !URL.canParse(request.url)) {
        return Effect.fail(malformed("The URL of an elicitation must be an http or https URL"))
      }
      // What is asked in place of a result is named by its `requestState`; only requests of a server have ids of theirs.
      const { elicitationId } = request
      const named = revision.serverRequests
      const asked = () =>
        url({
          server,
          revision,
          message: request.message,
          url: request.url,
          elicitationId: named ? elicitationId : undefined,
          meta: request._meta
        })
      const answered = run("Elicitation", Effect.suspend(asked), elicitationFailed)
      return Effect.andThen(
        elicitationId === undefined || named
          ? Effect.void
          : Effect.logWarning(`${server} sent an elicitationId, which its revision does not have; it was dropped`),
        Effect.flatMap(answered, (answer) => {
          const { _meta, action }: Json.JsonObject = Json.isJsonObject(answer)
            ? answer
            : { action: answer === true ? "accept" : "cancel" }
          return checked(
            "Elicitation",
            elicitResult,
            {
              ...(_meta === undefined ? undefined : { _meta }),
              action: action === "accept" || action === "decline" ? action : "cancel"
            },
            elicitationFailed()
          )
        })
      )
    }

    const elicit = (
      params: Json.JsonObject | undefined,
      revision: Revision.Facts
    ): Effect.Effect<Json.JsonObject, Refusal> => {
      if (elicitation?.form === undefined && elicitation?.url === undefined) {
        return Effect.fail(unhandled("elicitation/create"))
      }
      const request = elicitRequest(params)
      if (!Exit.isSuccess(request)) return Effect.fail(malformed("Invalid elicitation parameters"))
      return request.value.mode === "url" ? elicitUrl(request.value, revision) : elicitForm(request.value, revision)
    }

    const createMessage = (
      params: Json.JsonObject | undefined,
      revision: Revision.Facts
    ): Effect.Effect<Json.JsonObject, Refusal> => {
      if (sampling === undefined) return Effect.fail(unhandled("sampling/createMessage"))
      const request = createMessageRequest(params)
      if (!Exit.isSuccess(request)) return Effect.fail(malformed("Invalid sampling parameters"))
      const { includeContext, messages, toolChoice, tools } = request.value
      // "The client MUST return an error if this field is provided but sampling.tools is not declared" (schema).
      if ((tools !== undefined || toolChoice !== undefined) && !(sampling.tools === true && revision.samplingTools)) {
        return Effect.fail(undeclared("Tools in sampling are not supported"))
      }
      const problem = SamplingHistory.problem(messages)
      if (problem !== undefined) return Effect.fail(malformed(`Invalid sampling history: ${problem}`))
      const asked = () =>
        Effect.andThen(
          includeContext === "thisServer" || includeContext === "allServers"
            ? Deprecations.notice("include-context")
            : Effect.void,
          sampling.createMessage({ server, revision, params: within(request.value) })
        )
      const refuse = (error: unknown): Refusal =>
        error instanceof SamplingRejected ? rejected : failed("Sampling error")
      return Effect.flatMap(ask("Sampling", asked, refuse), (result) => {
        if (revision.samplingTools) return checked("Sampling", createMessageResult, result, failed("Sampling error"))
        // Up to 2025-06-18 a message holds one block, and no tools.
        const { content: given } = result
        const content: unknown = Array.isArray(given) && given.length === 1 ? given[0] : given
        return Array.isArray(content) || (Json.isJsonObject(content) && String(content["type"]).startsWith("tool_"))
          ? unusable("Sampling", failed("Sampling error"))
          : checked("Sampling", createMessageResult, { ...result, content }, failed("Sampling error"))
      })
    }

    const listRoots = (): Effect.Effect<Json.JsonObject, Refusal> => {
      if (roots === undefined) return Effect.fail(unhandled("roots/list"))
      const current: Effect.Effect<unknown, unknown, R> = SubscriptionRef.isSubscriptionRef(roots)
        ? SubscriptionRef.get(roots)
        : Effect.isEffect(roots)
        ? roots
        : Effect.succeed(roots)
      return Effect.flatMap(run("Roots", current, () => failed("Roots error")), (list) => {
        const problem = rootsProblem(list)
        if (problem !== undefined) {
          return Effect.andThen(Effect.logError(`Roots cannot be told: ${problem}`), Effect.fail(failed("Roots error")))
        }
        const exposes = Array.isArray(list) && list.length > 0
        return Effect.as(exposes ? Deprecations.notice("roots") : Effect.void, { roots: list })
      })
    }

    if (sampling !== undefined) yield* Deprecations.notice("sampling")
    if (Array.isArray(roots) && roots.length > 0) yield* Deprecations.notice("roots")

    return {
      capabilities: (revision) => {
        const { form, url } = elicitation ?? {}
        return {
          ...(form === undefined && url === undefined ? undefined : {
            elicitation: {
              ...(form === undefined ? undefined : { form: {} }),
              ...(url === undefined ? undefined : { url: {} })
            }
          }),
          ...(sampling === undefined
            ? undefined
            : { sampling: sampling.tools === true && revision.samplingTools ? { tools: {} } : {} }),
          ...(roots === undefined ? undefined : { roots: revision.rootsListChanged ? { listChanged: true } : {} })
        }
      },
      answer: (method, params, revision) => {
        switch (method) {
          case "elicitation/create":
            return elicit(params, revision)
          case "sampling/createMessage":
            return createMessage(params, revision)
          case "roots/list":
            return listRoots()
          default:
            return Effect.fail(unhandled(method))
        }
      },
      visits: new Visits(),
      // The first is what they are now.
      rootsChanges: SubscriptionRef.isSubscriptionRef(roots)
        ? Stream.drop(SubscriptionRef.changes(roots), 1)
        : undefined
    }
  })
