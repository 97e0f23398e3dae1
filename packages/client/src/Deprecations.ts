/**
 * Features that the protocol has deprecated (2026-07-28 deprecated), and the notice that their use is worth.
 *
 * They keep working. What "earliest removal" names is when a feature may go; whether it does is decided then.
 *
 * @since 0.1.0
 */
import { PeerText } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"

/**
 * A deprecated feature.
 *
 * @category models
 * @since 0.1.0
 */
export type Feature =
  | "roots"
  | "sampling"
  | "logging"
  | "include-context"
  | "http-sse"
  | "dynamic-client-registration"

/**
 * What the protocol says of a deprecated feature.
 *
 * @category models
 * @since 0.1.0
 */
export interface Deprecation {
  readonly feature: Feature
  readonly name: string
  /** The revision that deprecated it. */
  readonly since: string
  /** The proposal that decided it. */
  readonly reference: string
  readonly earliestRemoval: string
  readonly migration: string
}

const nextYear = "the first revision released on or after 2027-07-28"

/**
 * Every deprecated feature.
 *
 * @category models
 * @since 0.1.0
 */
export const registry: ReadonlyArray<Deprecation> = [
  {
    feature: "roots",
    name: "Roots",
    since: "2026-07-28",
    reference: "SEP-2577",
    earliestRemoval: nextYear,
    migration: "pass directories as tool parameters, as resource URIs or in the server's configuration"
  },
  {
    feature: "sampling",
    name: "Sampling",
    since: "2026-07-28",
    reference: "SEP-2577",
    earliestRemoval: nextYear,
    migration: "let the server call the API of its LLM provider"
  },
  {
    feature: "logging",
    name: "Logging",
    since: "2026-07-28",
    reference: "SEP-2577",
    earliestRemoval: nextYear,
    migration: "read the server's stderr on stdio, or use OpenTelemetry"
  },
  {
    feature: "include-context",
    name: "includeContext \"thisServer\" and \"allServers\"",
    since: "2025-11-25",
    reference: "SEP-2596",
    earliestRemoval: "together with Sampling",
    migration: "omit includeContext, or send \"none\""
  },
  {
    feature: "http-sse",
    name: "The HTTP+SSE transport",
    since: "2025-03-26",
    reference: "SEP-2596",
    earliestRemoval: "three months after SEP-2596 is final",
    migration: "use Streamable HTTP"
  },
  {
    feature: "dynamic-client-registration",
    name: "OAuth dynamic client registration",
    since: "2026-07-28",
    reference: "pull request 2858",
    earliestRemoval: nextYear,
    migration: "use a Client ID Metadata Document or a client that is registered beforehand"
  }
]

/**
 * Whether notices are logged. Provide `false` around what builds a client to silence them.
 *
 * @category references
 * @since 0.1.0
 */
export const Enabled: Context.Reference<boolean> = Context.Reference<boolean>(
  "@mcp-effect/client/Deprecations/Enabled",
  { defaultValue: () => true }
)

/**
 * The features that were noticed already, of the whole process unless another set is provided.
 *
 * @category references
 * @since 0.1.0
 */
export const Noticed: Context.Reference<Set<Feature>> = Context.Reference<Set<Feature>>(
  "@mcp-effect/client/Deprecations/Noticed",
  { defaultValue: () => new Set() }
)

/**
 * Logs a warning at the first use of a deprecated feature in a process. Where warnings are not logged, or the logger
 * fails, it stays owed. `detail` may come from a peer: it is escaped, and at most 200 characters of it are logged.
 *
 * @category logging
 * @since 0.1.0
 */
export const notice = (feature: Feature, detail?: string): Effect.Effect<void> =>
  Effect.gen(function*() {
    if (!(yield* Enabled)) return
    const noticed = yield* Noticed
    if (noticed.has(feature)) return
    const deprecation = registry.find((entry) => entry.feature === feature)
    if (deprecation === undefined || LogLevel.isGreaterThan(yield* References.MinimumLogLevel, "Warn")) return
    // Spent before it is logged: who comes meanwhile, be it from inside the logger, neither waits nor repeats it.
    noticed.add(feature)
    const logged = Effect.logWarning(
      `${deprecation.name} is deprecated since MCP ${deprecation.since} (${deprecation.reference}); it keeps working `
        + `during its deprecation window. Earliest removal: ${deprecation.earliestRemoval}. `
        + `Migration: ${deprecation.migration}.`
        + (detail === undefined ? "" : ` ${PeerText.excerpt(detail)}`)
    )
    yield* Effect.onError(logged, () => Effect.sync(() => noticed.delete(feature)))
  })
