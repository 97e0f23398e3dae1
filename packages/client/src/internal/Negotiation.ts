/**
 * Finds the revision that client and server have in common, in the one connection that is then used.
 *
 * `server/discover` is asked first; a server that knows it is modern. Any other gets the `initialize` handshake. On a
 * shared channel a server may be slow, or silent about what it does not know, so that after the probe timeout
 * `initialize` goes out beside the open probe. A server of both eras may take both: from then on it is where the
 * handshake, which it was sent last, has led it. So a handshake that succeeds decides, and a discovery where it does not.
 */
import { Caching, type Implementation, Json, McpError, Metadata, Revision } from "@mcp-effect/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Call } from "./Pending.ts"
import * as Probe from "./Probe.ts"
import * as Read from "./Read.ts"
import type { Requests, Terms } from "./Requests.ts"
import * as RequestText from "./RequestText.ts"

/** What client and server agreed on. */
export interface Agreement {
  readonly terms: Terms
  readonly capabilities: Json.JsonObject | undefined
  readonly serverInfo: Implementation.Implementation | undefined
  readonly instructions: string | undefined
  readonly supportedVersions: ReadonlyArray<string>
  /** How long what a modern server declares may be judged by, in monotonic milliseconds. */
  readonly freshUntil: number
}

export interface Options {
  readonly protocol: "auto" | "modern" | "legacy"
  /** Over HTTP a failed exchange says more than silence, and probe and handshake never overlap. */
  readonly http: boolean
  readonly probeTimeout: Duration.Duration
  /** Hears of the refusal of one way while the other is still open. */
  readonly onRefused: (error: McpError.McpError) => void
  readonly clientInfo: Implementation.Implementation
  readonly sendClientInfo: boolean
  readonly capabilities: (revision: Revision.Facts) => Json.JsonObject
  readonly onRevision: (revision: Revision.Facts) => void
  /** Makes a request again, as often as failures that pass allow. */
  readonly repeated: <A>(request: Effect.Effect<A, McpError.McpError>) => Effect.Effect<A, McpError.McpError>
  /** Makes the switch by which a request says that a person is waited for. */
  readonly onHold: () => NonNullable<Call<unknown>["onHold"]>
}

const modernTerms = (revision: Revision.Facts, options: Options): Terms => {
  const metadata = {
    [Metadata.protocolVersionKey]: revision.version,
    ...(options.sendClientInfo ? { [Metadata.clientInfoKey]: options.clientInfo } : undefined),
    [Metadata.clientCapabilitiesKey]: options.capabilities(revision)
  }
  return { revision, metadata, constantMetadata: RequestText.members(metadata) }
}

const legacyTerms = (revision: Revision.Facts): Terms => ({ revision, metadata: undefined, constantMetadata: "" })

// Neither is cancelled: "The initialize request MUST NOT be cancelled by clients" (2025-11-25 basic/utilities/
// cancellation), and a legacy server would not know what to do with a cancelled probe.
const call = (
  method: string,
  params: Json.JsonObject | undefined,
  options: Options
): Call<Json.JsonObject> => ({
  method,
  params,
  decode: Exit.succeed,
  idleMillis: Infinity,
  // Connecting as a whole has a deadline.
  deadlineAt: Infinity,
  deadlineMillis: Infinity,
  onAbandon: "silent",
  onHold: options.onHold()
})

/** Over HTTP a probe that is silent for too long fails; a person who signs in meanwhile is no silence. */
const discover = (
  requests: Requests,
  revision: Revision.Facts,
  options: Options
): Effect.Effect<Probe.Outcome> => {
  const idleMillis = options.http ? Duration.toMillis(options.probeTimeout) : Infinity
  return options.repeated(requests.request(
    { ...call("server/discover", undefined, options), idleMillis },
    modernTerms(revision, options)
  )).pipe(
    Effect.match({
      onSuccess: (result): Probe.Outcome => ({ _tag: "Discovered", result }),
      onFailure: (error): Probe.Outcome => ({
        _tag: "Failed",
        error: error.reason._tag === "RequestTimeout" || error.reason._tag === "StreamIdle"
          ? McpError.make(new McpError.RequestTimeout({ kind: "connect", millis: idleMillis }), error.delivery, error)
          : error
      })
    })
  )
}

const initialize = (
  requests: Requests,
  revision: Revision.Facts,
  options: Options
): Effect.Effect<Json.JsonObject, McpError.McpError> =>
  options.repeated(requests.request(
    call(
      "initialize",
      {
        protocolVersion: revision.version,
        capabilities: options.capabilities(revision),
        clientInfo: options.clientInfo
      },
      options
    ),
    legacyTerms(revision)
  ))

const handshake = (requests: Requests, options: Options): Effect.Effect<Json.JsonObject, McpError.McpError> =>
  Effect.catch(initialize(requests, Revision.latestLegacy, options), (error) => {
    const alternative = Probe.legacyAlternative(error, Revision.latestLegacy)
    return alternative === undefined ? Effect.fail(error) : initialize(requests, alternative, options)
  })

const optionalString = (value: unknown): string | undefined => typeof value === "string" ? value : undefined

const freshUntil = (requests: Requests, result: Json.JsonObject): number => requests.now() + Caching.read(result).ttlMs

const agreeModern = (
  requests: Requests,
  revision: Revision.Facts,
  result: Json.JsonObject,
  options: Options
): Agreement => {
  const supported = result["supportedVersions"]
  return {
    terms: modernTerms(revision, options),
    capabilities: Json.objectMember(result, "capabilities"),
    // Some servers put it where the handshake has it.
    serverInfo: Metadata.serverInfo(result) ?? Read.implementation(result["serverInfo"]),
    instructions: optionalString(result["instructions"]),
    supportedVersions: Array.isArray(supported)
      ? supported.filter((version) => typeof version === "string")
      : [revision.version],
    freshUntil: freshUntil(requests, result)
  }
}

/**
 * What a modern server declares by now: a discovery is judged by its `ttlMs` like any other result (2026-07-28
 * server/utilities/caching).
 */
export const rediscover = (
  requests: Requests,
  agreement: Agreement,
  limits: Pick<Call<unknown>, "idleMillis" | "deadlineAt" | "deadlineMillis" | "signal">
): Effect.Effect<Agreement, McpError.McpError> =>
  Effect.map(
    requests.request(
      { method: "server/discover", params: undefined, decode: Exit.succeed, ...limits },
      agreement.terms
    ),
    (result: Json.JsonObject) => ({
      ...agreement,
      capabilities: Json.objectMember(result, "capabilities") ?? agreement.capabilities,
      freshUntil: freshUntil(requests, result)
    })
  )

/** A modern server that does not know `server/discover`: what it can do is not known. */
const agreeUndiscovered = (options: Options): Agreement => ({
  terms: modernTerms(Revision.latestModern, options),
  capabilities: undefined,
  serverInfo: undefined,
  instructions: undefined,
  supportedVersions: [Revision.latestModern.version],
  freshUntil: Infinity
})

const agreeLegacy = Effect.fnUntraced(function*(
  requests: Requests,
  result: Json.JsonObject,
  options: Options
): Effect.fn.Return<Agreement, McpError.McpError> {
  const version = result["protocolVersion"]
  const revision = Revision.legacy.find((facts) => facts.version === version)
  if (revision === undefined) {
    return yield* McpError.make(
      new McpError.NegotiationFailed({
        problem: version === undefined
          ? "the server's answer to initialize names no revision"
          : "the server answered initialize with a revision that this client cannot speak after a handshake",
        offered: Revision.legacy.map((facts) => facts.version),
        supported: typeof version === "string" ? [version.slice(0, 32)] : []
      }),
      "refused",
      { server: requests.server, method: "initialize" }
    )
  }
  options.onRevision(revision)
  yield* requests.connection.established(revision)
  yield* options.repeated(requests.notify("notifications/initialized", undefined, revision))
  return {
    terms: legacyTerms(revision),
    capabilities: Json.objectMember(result, "capabilities") ?? {},
    serverInfo: Read.implementation(result["serverInfo"]),
    instructions: optionalString(result["instructions"]),
    supportedVersions: [revision.version],
    freshUntil: Infinity
  }
})

const settleModern = (
  requests: Requests,
  agreement: Agreement,
  options: Options
): Effect.Effect<Agreement, McpError.McpError> => {
  options.onRevision(agreement.terms.revision)
  return Effect.as(requests.connection.established(agreement.terms.revision), agreement)
}

const notModern = (server: string, again: boolean, cause?: McpError.McpError): McpError.McpError =>
  McpError.make(
    new McpError.NegotiationFailed({
      problem: again
        ? "the server does not speak a modern revision, and protocol: \"modern\" rules out the others"
        : "the server refused the very revision that it had asked for",
      offered: Revision.modern.map((facts) => facts.version),
      supported: [],
      ...(cause === undefined ? undefined : { cause })
    }),
    "refused",
    { server, method: "server/discover" }
  )

/** Whether the connection ended instead of an answer to the probe. */
export const endsOnProbe = (error: McpError.McpError): boolean =>
  error.reason._tag === "ConnectionClosed" && error.method === "server/discover"

/** Follows one verdict about a probe to the end. */
const follow = (
  requests: Requests,
  outcome: Probe.Outcome,
  again: boolean,
  options: Options
): Effect.Effect<Agreement, McpError.McpError> => {
  const verdict = Probe.classify(outcome, again)
  switch (verdict._tag) {
    case "Modern":
      return settleModern(requests, agreeModern(requests, verdict.revision, verdict.result, options), options)
    case "ProbeAgain":
      // Only a modern server answers like this: it may not ask anything from now on, and no handshake follows.
      options.onRevision(verdict.revision)
      return Effect.flatMap(
        discover(requests, verdict.revision, options),
        (second) => follow(requests, second, false, { ...options, protocol: "modern" })
      )
    case "Failed":
      return Effect.fail(verdict.error)
    case "Legacy":
      if (verdict.undiscovered) return undiscovered(requests, options)
      return options.protocol === "modern"
        ? Effect.fail(notModern(requests.server, again, outcome._tag === "Failed" ? outcome.error : undefined))
        : Effect.flatMap(handshake(requests, options), (result) => agreeLegacy(requests, result, options))
  }
}

/** HTTP 404 with -32601 is how a modern server says that it has no such method, and a legacy one may say it too. */
const undiscovered = (
  requests: Requests,
  options: Options
): Effect.Effect<Agreement, McpError.McpError> =>
  options.protocol === "modern"
    ? settleModern(requests, agreeUndiscovered(options), options)
    : Effect.matchEffect(handshake(requests, options), {
      onSuccess: (result) => agreeLegacy(requests, result, options),
      onFailure: (error) =>
        Probe.refusesHandshake(error)
          ? settleModern(requests, agreeUndiscovered(options), options)
          : Effect.fail(error)
    })

/** Probe and handshake side by side: a handshake that succeeds decides, and a discovery where none does. */
const sideBySide = Effect.fnUntraced(function*(
  requests: Requests,
  probe: Fiber.Fiber<Probe.Outcome>,
  options: Options
): Effect.fn.Return<Agreement, McpError.McpError, Scope.Scope> {
  const shaken = yield* Effect.forkScoped(Effect.exit(handshake(requests, options)), { startImmediately: true })
  const first = yield* Effect.raceFirst(
    Effect.map(Fiber.join(probe), (outcome) => ({ _tag: "Probe" as const, outcome })),
    Effect.map(Fiber.join(shaken), (exit) => ({ _tag: "Handshake" as const, exit }))
  )
  if (first._tag === "Handshake" && Exit.isSuccess(first.exit)) {
    yield* Fiber.interrupt(probe)
    return yield* agreeLegacy(requests, first.exit.value, options)
  }
  if (first._tag === "Handshake") {
    const error = Exit.findErrorOption(first.exit)
    if (error._tag === "Some") options.onRefused(error.value)
  }
  const outcome = first._tag === "Probe" ? first.outcome : yield* Fiber.join(probe)
  const verdict = Probe.classify(outcome, true)
  if (verdict._tag === "Modern") {
    // Silence about a handshake that is not known lasts as long as silence about a probe.
    const answered = yield* Effect.timeoutOption(Fiber.join(shaken), options.probeTimeout)
    if (Option.isSome(answered) && Exit.isSuccess(answered.value)) {
      return yield* agreeLegacy(requests, answered.value.value, options)
    }
  }
  if (verdict._tag === "Modern" || verdict._tag === "ProbeAgain") {
    yield* Fiber.interrupt(shaken)
    return yield* follow(requests, outcome, true, options)
  }
  if (verdict._tag === "Failed" && (Probe.provesModern(outcome) || endsOnProbe(verdict.error))) {
    return yield* verdict.error
  }
  const result = yield* yield* Fiber.join(shaken)
  return yield* agreeLegacy(requests, result, options)
})

/** Agrees on a revision. The caller bounds it in time, and sends nothing else meanwhile. */
export const negotiate = Effect.fnUntraced(function*(
  requests: Requests,
  options: Options
): Effect.fn.Return<Agreement, McpError.McpError, Scope.Scope> {
  if (options.protocol === "legacy") {
    return yield* agreeLegacy(requests, yield* handshake(requests, options), options)
  }
  if (options.http) {
    return yield* follow(requests, yield* discover(requests, Revision.latestModern, options), true, options)
  }
  const probe = yield* Effect.forkScoped(discover(requests, Revision.latestModern, options), {
    startImmediately: true
  })
  const answered = yield* Effect.timeoutOption(Fiber.join(probe), options.probeTimeout)
  if (answered._tag === "Some") return yield* follow(requests, answered.value, true, options)
  if (options.protocol === "modern") return yield* follow(requests, yield* Fiber.join(probe), true, options)
  return yield* sideBySide(requests, probe, options)
})
