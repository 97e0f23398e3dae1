/**
 * What the exit code says. Scripts rely on it: the README and the help list the same codes.
 */
import type { McpError } from "@mcp-effect/protocol"

export const ok = 0
/** The tool ran and reported an error, its task was cancelled, or the output could not be written. */
export const failed = 1
/** What was typed is not usable. */
export const usage = 2
/** No conversation with the server came about, or its connection died. */
const unreachable = 3
/** The server answered with an error, or not as the protocol wants it. */
const protocol = 4
/** Time was up. */
const timeout = 5
/** The server does not let this caller in. */
export const unauthorized = 6
/** Ended by Ctrl-C: 128 and the number of the signal, as shells have it. */
export const interrupted = 130
/** Ended by SIGTERM. */
export const terminated = 143
/** Ended because the terminal was closed. */
export const hungUp = 129

/** The lines of the help. */
export const descriptions: ReadonlyArray<readonly [code: string, meaning: string]> = [
  ["0", "it worked"],
  ["1", "the tool reported an error, its task was cancelled, or the output could not be written"],
  ["2", "the command line or an argument is not usable"],
  ["3", "the server cannot be reached: not started, no connection, no common revision"],
  ["4", "the server answered with an error, or broke the protocol"],
  ["5", "time was up"],
  ["6", "the server requires authorization, or more of it"],
  ["130", "cancelled by Ctrl-C"]
]

const ofTask = (problem: McpError.TaskFailed["problem"]): number => {
  switch (problem) {
    case "cancelled":
      return failed
    case "failed":
    case "not-found":
      return protocol
    case "expired":
      return timeout
    case "session-ended":
      return unreachable
  }
}

/** The exit code for a failure of the client. */
export const ofReason = (reason: McpError.McpErrorReason): number => {
  switch (reason._tag) {
    case "ToolFailed":
      return failed
    case "SpawnFailed":
    case "ConnectionFailed":
    case "ConnectionClosed":
    case "RedirectRefused":
    case "StreamEnded":
    case "NegotiationFailed":
    case "AmbiguousDelivery":
    case "ServerUnavailable":
      return unreachable
    case "HttpStatus":
    case "MalformedMessage":
    case "MessageTooLarge":
    case "ServerError":
    case "HeaderMismatch":
    case "MissingClientCapability":
    case "UnsupportedProtocolVersion":
    case "ResourceNotFound":
    case "SessionExpired":
    case "CapabilityMissing":
    case "SchemaUnsupported":
    case "OutputInvalid":
    case "SkillRejected":
    case "TaskReplaced":
      return protocol
    case "TaskFailed":
      return ofTask(reason.problem)
    case "RequestTimeout":
    case "StreamIdle":
      return timeout
    case "InputRequired":
      return reason.problem === "deadline" ? timeout : protocol
    case "UnknownTool":
    case "InvalidRequest":
      return usage
    case "Unauthorized":
    case "InsufficientScope":
    case "AuthorizationFailed":
    case "InvalidGrant":
      return unauthorized
    case "Cancelled":
      return interrupted
  }
}
