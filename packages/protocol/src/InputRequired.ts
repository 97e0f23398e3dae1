/**
 * A server needs input before it can answer (2026-07-28 basic/patterns/mrtr): it sends what it wants to know in place of
 * the result, and the request is sent again with the answers.
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Decode from "./Decode.ts"
import { ElicitRequestParams, ElicitResult } from "./Elicitation.ts"
import * as Wire from "./internal/Wire.ts"
import { ListRootsResult } from "./Roots.ts"
import { CreateMessageRequestParams, CreateMessageResult } from "./Sampling.ts"

// ====================================================================================================================
// What the server asks
// ====================================================================================================================

const ElicitInputRequest = Schema.Struct({
  method: Schema.Literal("elicitation/create"),
  params: ElicitRequestParams
})

const CreateMessageInputRequest = Schema.Struct({
  method: Schema.Literal("sampling/createMessage"),
  params: CreateMessageRequestParams
})

const ListRootsInputRequest = Schema.Struct({
  method: Schema.Literal("roots/list"),
  params: Schema.optional(Schema.Struct({ _meta: Wire.meta }))
})

/**
 * One thing the server wants to know: a request without `jsonrpc` and `id`.
 *
 * @category models
 * @since 0.1.0
 */
export type InputRequest =
  | typeof ElicitInputRequest.Type
  | typeof CreateMessageInputRequest.Type
  | typeof ListRootsInputRequest.Type

/**
 * Schema of `InputRequest`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InputRequest: Schema.Codec<InputRequest> = Wire.byMember<InputRequest>(
  "method",
  {
    "elicitation/create": ElicitInputRequest,
    "sampling/createMessage": CreateMessageInputRequest,
    "roots/list": ListRootsInputRequest
  },
  "refuse"
)

/**
 * Schema of `InputRequests`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InputRequests: Schema.Codec<InputRequests> = Wire.dictionary(InputRequest)

/**
 * What the server wants to know, by keys of its choice. Read it with `Object.entries`.
 *
 * @category models
 * @since 0.1.0
 */
export interface InputRequests {
  readonly [key: string]: InputRequest
}

/**
 * Schema of `InputRequiredResult`. It does not tell that one of `inputRequests` and `requestState` has to be there:
 * `validate` does.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InputRequiredResult = Schema.Struct({
  _meta: Wire.meta,
  resultType: Schema.Literal("input_required"),
  inputRequests: Schema.optional(InputRequests),
  /** To be sent back as it is. Without `inputRequests`, the request is to be sent again after a while. */
  requestState: Schema.optional(Schema.String)
})

/**
 * The answer to a request of which the server wants to know more first.
 *
 * @category models
 * @since 0.1.0
 */
export type InputRequiredResult = typeof InputRequiredResult.Type

const validateShape = Decode.validator(InputRequiredResult)

/**
 * Checks an `InputRequiredResult`: "at least one of `inputRequests` or `requestState` MUST be present".
 *
 * @category decoding
 * @since 0.1.0
 */
export const validate: Decode.Validator<InputRequiredResult> = (value) => {
  const exit = validateShape(value)
  return Exit.isSuccess(exit) && exit.value.inputRequests === undefined && exit.value.requestState === undefined
    ? Decode.refuse("", "has neither inputRequests nor requestState")
    : exit
}

// ====================================================================================================================
// What the client answers
// ====================================================================================================================

/**
 * The answer to one input request: a bare result.
 *
 * @category models
 * @since 0.1.0
 */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult

/**
 * Schema of `InputResponse`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InputResponse: Schema.Codec<InputResponse> = Wire.select<InputResponse>(
  ["roots", "role", "model"],
  (response) =>
    Object.hasOwn(response, "roots")
      ? ListRootsResult
      : Object.hasOwn(response, "role") || Object.hasOwn(response, "model")
      ? CreateMessageResult
      : ElicitResult
)

/**
 * Schema of `InputResponses`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InputResponses: Schema.Codec<InputResponses> = Wire.dictionary(InputResponse)

/**
 * The answers to input requests, by the keys of the requests.
 *
 * @category models
 * @since 0.1.0
 */
export interface InputResponses {
  readonly [key: string]: InputResponse
}

/**
 * What a request carries when it is sent again, beside its other params.
 *
 * @category schemas
 * @since 0.1.0
 */
export const inputResponseFields = {
  inputResponses: Schema.optional(InputResponses),
  /** As it came in `InputRequiredResult`. */
  requestState: Schema.optional(Schema.String)
}
