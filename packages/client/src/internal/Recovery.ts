/**
 * What is done about a request that failed. Pure decisions; `Attempts` carries them out.
 *
 * Nothing is sent again that may have been executed, unless repeating does no harm, or the protocol wants it so.
 *
 * | what happened                                     | what is done                                                   |
 * | ------------------------------------------------- | -------------------------------------------------------------- |
 * | the server refused the revision that it lists     | sent again, once                                               |
 * | headers and body differ                           | headers learned anew, sent again, once                         |
 * | the server asks for input                         | answered, sent again                                           |
 * | the server requires that pages are visited        | visited, sent again                                            |
 * | the response stream broke                         | issued anew, once, as far as `reissue` allows                  |
 * | the session is lost, and repeating does no harm   | sent again in the next session, once                           |
 * | the session or connection was gone before it left | sent in the next one, once                                     |
 * | another failure that may pass                     | what the schedule says, unless it may have been executed       |
 * | a call may have been executed                     | fails with `AmbiguousDelivery`                                 |
 * | a timeout, an answer, anything that is lasting    | fails                                                          |
 */
import { ErrorReply, type McpError, type Revision } from "@mcp-effect/protocol"
import type { Reissue } from "../ClientOptions.ts"

export type Action =
  | "resend"
  | "refresh-headers"
  | "answer"
  | "visit"
  | "reissue"
  | "renew"
  | "retry"
  | "ambiguous"
  | "fail"

/** What was done already about one set of parameters; each is done once. */
export interface Done {
  readonly resent: boolean
  readonly refreshed: boolean
  readonly reissued: boolean
  readonly renewed: boolean
}

export const nothing: Done = { resent: false, refreshed: false, reissued: false, renewed: false }

/** What has to be known of a request to decide about it. */
export interface Circumstances {
  readonly revision: Revision.Facts
  /** The method only asks, or somebody vouches for the tool. */
  readonly isRepeatable: boolean
  /** It makes sense in its session only. */
  readonly isPinned: boolean
  readonly reissue: Reissue
  readonly done: Done
}

/** Whether the same request may succeed soon. What only a person can mend does not pass, and a timeout was the limit. */
export const mayPass = (reason: McpError.McpErrorReason): boolean => {
  switch (reason._tag) {
    case "RequestTimeout":
    case "StreamIdle":
    // A broken stream is issued anew instead.
    case "StreamEnded":
      return false
    case "HttpStatus":
      return reason.status === 429 || reason.status >= 500
    default:
      return reason.isTransient
  }
}

/** Whether the way to the server broke, so that nothing is known of the request. */
const isBroken = (reason: McpError.McpErrorReason): boolean =>
  reason._tag === "ConnectionFailed" || reason._tag === "StreamEnded" || reason._tag === "SessionExpired"
  || (reason._tag === "ConnectionClosed" && !reason.local)

const mayReissue = (
  reason: McpError.StreamEnded,
  { done, isRepeatable, reissue, revision }: Circumstances
): boolean => {
  if (done.reissued || reissue === "never") return false
  // What could not be resumed may be at work still (2025-11-25 basic/transports, Sending Messages to the Server).
  if (revision.era === "legacy") return isRepeatable && !reason.resumable
  return isRepeatable || reissue === "always"
}

/** How a request fails for good. */
const endsUnknown = ({ delivery, method, reason }: McpError.McpError, { isRepeatable }: Circumstances): Action =>
  delivery === "unknown" && method === "tools/call" && !isRepeatable && isBroken(reason) ? "ambiguous" : "fail"

export const decide = (error: McpError.McpError, request: Circumstances): Action => {
  const { delivery, reason } = error
  const { done, isPinned, isRepeatable, revision } = request
  switch (reason._tag) {
    // Servers exist that refuse the very revision they list, once.
    case "UnsupportedProtocolVersion":
      return !done.resent && reason.supported.includes(revision.version) ? "resend" : "fail"
    // "Clients SHOULD call tools/list to refresh the schema and retry" (2026-07-28 streamable-http, Headers).
    case "HeaderMismatch":
      return done.refreshed ? "fail" : "refresh-headers"
    case "InputRequired":
      return "answer"
    // The user has to visit pages first; then the request is made again (2025-11-25 client/elicitation).
    case "ServerError":
      if (!revision.resultType && ErrorReply.requiredElicitations(reason) !== undefined) return "visit"
      break
    case "StreamEnded":
      if (mayReissue(reason, request)) return "reissue"
      break
    // 2025-11-25 basic/transports, Session Management: a new session has to begin.
    case "SessionExpired":
    // What this side closed was a session that another has replaced, or all of the client, which then says so itself.
    case "ConnectionClosed":
      if (isPinned) return endsUnknown(error, request)
      if (delivery === "unsent" || (isRepeatable && reason._tag === "SessionExpired")) {
        if (!done.renewed) return "renew"
        if (reason._tag === "SessionExpired") return "fail"
      }
      break
    default:
      break
  }
  return (delivery !== "unknown" || isRepeatable) && mayPass(reason) ? "retry" : endsUnknown(error, request)
}
