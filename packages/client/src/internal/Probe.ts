/**
 * What the answer to a `server/discover` probe says about a server (2026-07-28 basic/versioning; transports/stdio and
 * transports/streamable-http, Backward compatibility). Pure decisions.
 */
import { ErrorCode, Json, McpError, Revision } from "@mcp-effect/protocol"

/** What a `server/discover` request came to. */
export type Outcome =
  | { readonly _tag: "Discovered"; readonly result: Json.JsonObject }
  | { readonly _tag: "Failed"; readonly error: McpError.McpError }

export type Verdict =
  /** A modern server: converse under this revision. */
  | { readonly _tag: "Modern"; readonly revision: Revision.Facts; readonly result: Json.JsonObject }
  /** A modern server that wants another revision: probe once more under this one. */
  | { readonly _tag: "ProbeAgain"; readonly revision: Revision.Facts }
  /** A server with a handshake. `undiscovered` ones may yet turn out to be modern without discovery. */
  | { readonly _tag: "Legacy"; readonly undiscovered: boolean }
  /** The era is settled and there is no revision in common, or the answer settles nothing: give up with this. */
  | { readonly _tag: "Failed"; readonly error: McpError.McpError }

const strings = (value: unknown): ReadonlyArray<string> | undefined =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined

const isLegacyVersion = (version: string): boolean => Revision.legacy.some((facts) => facts.version === version)

/** The newest modern revision that a server lists too. */
const mutual = (supported: ReadonlyArray<string>): Revision.Facts | undefined =>
  Revision.modern.find((facts) => supported.includes(facts.version))

const incompatible = (
  supported: ReadonlyArray<string>,
  problem: string,
  cause?: McpError.McpError
): McpError.McpError =>
  McpError.make(
    new McpError.NegotiationFailed({
      problem,
      offered: Revision.modern.map((facts) => facts.version),
      supported: supported.map((version) => version.slice(0, 32)),
      excerpt: undefined,
      ...(cause === undefined ? undefined : { cause })
    }),
    "refused",
    { server: cause?.server, method: "server/discover" }
  )

/** A list without any modern revision comes from a server that speaks modern errors and legacy revisions. */
const withoutMutual = (supported: ReadonlyArray<string>, cause?: McpError.McpError): Verdict =>
  supported.length > 0 && supported.every(isLegacyVersion)
    ? { _tag: "Legacy", undiscovered: false }
    : { _tag: "Failed", error: incompatible(supported, "the server lists no revision that this client speaks", cause) }

const discovered = (result: Json.JsonObject): Verdict => {
  const supported = strings(result["supportedVersions"])
  if (supported === undefined || !Json.isJsonObject(result["capabilities"])) {
    return { _tag: "Legacy", undiscovered: false }
  }
  const revision = mutual(supported)
  return revision === undefined ? withoutMutual(supported) : { _tag: "Modern", revision, result }
}

// An answer with a resultType was written by a modern server, but it is none that a discovery can have.
const isModernResult = (reason: McpError.MalformedMessage): boolean => reason.path === "/resultType"

// Neither says anything about the era: who may not ask, or asks too often, learns nothing else.
const inconclusiveStatuses: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429])

const failed = (error: McpError.McpError, again: boolean): Verdict => {
  const reason = error.reason
  switch (reason._tag) {
    case "UnsupportedProtocolVersion": {
      const revision = mutual(reason.supported)
      if (revision === undefined) return withoutMutual(reason.supported, error)
      // Servers exist that refuse the very revision they list, once.
      return again ? { _tag: "ProbeAgain", revision } : { _tag: "Failed", error }
    }
    case "HeaderMismatch":
    case "MissingClientCapability":
      return { _tag: "Failed", error }
    case "ServerError":
      if (reason.httpStatus !== undefined) {
        if (reason.httpStatus >= 500 || inconclusiveStatuses.has(reason.httpStatus)) return { _tag: "Failed", error }
        return { _tag: "Legacy", undiscovered: reason.httpStatus === 404 && reason.code === ErrorCode.MethodNotFound }
      }
      return { _tag: "Legacy", undiscovered: false }
    case "HttpStatus":
      return reason.status >= 500 || inconclusiveStatuses.has(reason.status)
        ? { _tag: "Failed", error }
        : { _tag: "Legacy", undiscovered: false }
    case "MalformedMessage":
      return isModernResult(reason) ? { _tag: "Failed", error } : { _tag: "Legacy", undiscovered: false }
    default:
      return { _tag: "Failed", error }
  }
}

/** Judges a probe. `again` says whether another probe may still be made. */
export const classify = (outcome: Outcome, again: boolean): Verdict =>
  outcome._tag === "Discovered" ? discovered(outcome.result) : failed(outcome.error, again)

/** The codes that only a modern server uses. */
export const isModernError = (error: McpError.McpError): boolean =>
  error.reason._tag === "UnsupportedProtocolVersion" || error.reason._tag === "HeaderMismatch"
  || error.reason._tag === "MissingClientCapability"

/** Whether only a modern server answers a probe like this, whatever is then made of it. */
export const provesModern = (outcome: Outcome): boolean =>
  outcome._tag === "Discovered"
    ? discovered(outcome.result)._tag !== "Legacy"
    : isModernError(outcome.error)
      || (outcome.error.reason._tag === "MalformedMessage" && isModernResult(outcome.error.reason))

/**
 * Whether a server that refused `initialize` after it had not known `server/discover` is a modern one without
 * discovery.
 */
export const refusesHandshake = (error: McpError.McpError): boolean =>
  isModernError(error)
  || (error.reason._tag === "ServerError"
    && (error.reason.code === ErrorCode.MethodNotFound || error.reason.httpStatus === 404))
  || (error.reason._tag === "HttpStatus" && error.reason.status === 404)

/** The legacy revisions an error to `initialize` lists, newest first (2025-11-25 basic/lifecycle, Error handling). */
export const legacyAlternative = (error: McpError.McpError, tried: Revision.Facts): Revision.Facts | undefined => {
  const reason = error.reason
  const data = reason._tag === "ServerError" && reason.code === ErrorCode.InvalidParams ? reason.data : undefined
  const supported = reason._tag === "UnsupportedProtocolVersion"
    ? reason.supported
    : Json.isJsonObject(data)
    ? strings(data["supported"])
    : undefined
  return supported === undefined
    ? undefined
    : Revision.legacy.find((facts) => facts !== tried && supported.includes(facts.version))
}
