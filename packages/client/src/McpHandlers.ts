/**
 * What a server may ask for before it can answer: the user (elicitation), the model (sampling), the file system (roots).
 *
 * Handlers are values with requirements of their own, which become those of the client's layer. What a client declares
 * to its server follows from the handlers it is given: none, nothing declared. Legacy servers ask by requests of their
 * own, modern ones by answering `input_required`; a handler sees no difference.
 *
 * A handler that fails is logged here; the server hears a constant message, never the text of the failure. Time in a
 * handler does not count as silence of the server, but it counts towards the deadline of the call it serves; when that
 * call is interrupted, so is the handler.
 *
 * @since 0.1.0
 */
import type { Elicitation, Json, Revision, Roots, Sampling } from "@mcp-effect/protocol"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as SubscriptionRef from "effect/SubscriptionRef"

/**
 * A form that a server wants filled in (2026-07-28 client/elicitation, Form mode).
 *
 * @category models
 * @since 0.1.0
 */
export interface FormElicitation {
  /** Which server asks; show it to the user. */
  readonly server: string
  readonly revision: Revision.Facts
  readonly message: string
  readonly requestedSchema: Elicitation.ElicitRequestFormParams["requestedSchema"]
  /** The defaults that the schema names, to begin with. What an accepted answer leaves out is taken from them. */
  readonly defaults: { readonly [field: string]: Elicitation.ElicitValue }
  readonly meta: Json.JsonObject | undefined
}

/**
 * A page that a server wants the user to visit (2026-07-28 client/elicitation, URL mode). Show the whole URL and its
 * domain, and open it only with consent; never fetch it.
 *
 * @category models
 * @since 0.1.0
 */
export interface UrlElicitation {
  /** Which server asks; show it to the user. */
  readonly server: string
  readonly revision: Revision.Facts
  readonly message: string
  readonly url: string
  /**
   * Names this elicitation in 2025-11-25, also in `notifications/elicitation/complete`, which tells that the visit is
   * over; later revisions have none.
   */
  readonly elicitationId: string | undefined
  readonly meta: Json.JsonObject | undefined
}

/**
 * A form that the user has filled in.
 *
 * @category models
 * @since 0.1.0
 */
export interface AcceptedForm {
  readonly action: "accept"
  readonly content: { readonly [field: string]: Elicitation.ElicitValue }
  readonly _meta?: Json.JsonObject | undefined
}

/**
 * What the user said to a form.
 *
 * @category models
 * @since 0.1.0
 */
export type FormAnswer =
  | AcceptedForm
  | { readonly action: "decline" | "cancel"; readonly _meta?: Json.JsonObject | undefined }

/**
 * Whether the user agreed to visit a page. It says nothing of what came of the visit.
 *
 * @category models
 * @since 0.1.0
 */
export interface UrlAnswer {
  readonly action: "accept" | "decline" | "cancel"
  readonly _meta?: Json.JsonObject | undefined
}

/**
 * What a sampling handler fails with when the user does not want the model to be asked.
 *
 * @category errors
 * @since 0.1.0
 */
export class SamplingRejected extends Data.TaggedError("SamplingRejected") {}

/**
 * A request for a message of the model (2026-07-28 client/sampling). The history has been checked, priorities are
 * within 0 and 1, and `maxTokens` has to be respected.
 *
 * @category models
 * @since 0.1.0
 */
export interface SamplingRequest {
  /** Which server asks; show it to the user. */
  readonly server: string
  readonly revision: Revision.Facts
  readonly params: Sampling.CreateMessageRequestParams
}

/**
 * The handlers of a client. `R` is what they require.
 *
 * @category models
 * @since 0.1.0
 */
export interface McpHandlers<in out R = never> {
  /** Declares elicitation, for the forms that have a handler (client/elicitation). */
  readonly elicitation?: {
    /** An answer of `content` alone is an `accept`. */
    readonly form?:
      | ((request: FormElicitation) => Effect.Effect<FormAnswer | Pick<AcceptedForm, "content">, unknown, R>)
      | undefined
    /** `true` is short for `accept`, `false` for `cancel`. */
    readonly url?: ((request: UrlElicitation) => Effect.Effect<UrlAnswer | boolean, unknown, R>) | undefined
  } | undefined
  /**
   * Declares sampling (client/sampling).
   *
   * @deprecated the protocol deprecates sampling in 2026-07-28
   */
  readonly sampling?: {
    readonly createMessage: (
      request: SamplingRequest
    ) => Effect.Effect<Sampling.CreateMessageResult, SamplingRejected | unknown, R>
    /**
     * Whether the model may be given tools; requests with tools are refused otherwise.
     *
     * @default false
     */
    readonly tools?: boolean | undefined
  } | undefined
  /**
   * Declares roots (client/roots): a list, an Effect that gives it each time, or a reference whose changes are
   * announced to servers of revisions that have that. Each URI must be a `file:` URI without `..` in its path.
   *
   * @deprecated the protocol deprecates roots in 2026-07-28
   */
  readonly roots?:
    | ReadonlyArray<Roots.Root>
    | Effect.Effect<ReadonlyArray<Roots.Root>, unknown, R>
    | SubscriptionRef.SubscriptionRef<ReadonlyArray<Roots.Root>>
    | undefined
}
