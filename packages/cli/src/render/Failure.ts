/**
 * What went wrong and what to do about it, for people and for programs.
 */
import { McpTask } from "@mcp-effect/client"
import { Json, McpError, PeerText } from "@mcp-effect/protocol"
import * as TerminalText from "../TerminalText.ts"

/** A failure, told in parts. */
export interface Failure {
  /** The class of the failure: the tag of an `McpError`'s reason, or `UsageError`. */
  readonly kind: string
  readonly message: string
  /** The evidence, each under a label; lines of text in the server's own words, escaped. */
  readonly details: ReadonlyArray<readonly [label: string, lines: ReadonlyArray<string>]>
  readonly hints: ReadonlyArray<string>
  readonly exitCode: number
  /** What a program may want to know besides. */
  readonly data: Json.JsonObject
}

// The last lines tell most; all of them are in the JSON output.
const stderrLines = 20

const said = (excerpt: string | undefined): Failure["details"] =>
  excerpt === undefined || excerpt === "" ? [] : [["the server said", [excerpt]]]

const json = (label: string, value: unknown): Failure["details"] =>
  value === undefined ? [] : [[label, [PeerText.excerpt(JSON.stringify(value) ?? "", 400)]]]

const list = (label: string, values: ReadonlyArray<string>): Failure["details"] =>
  values.length === 0 ? [] : [[label, [values.map((value) => PeerText.excerpt(value)).join(", ")]]]

const challenges = (reason: McpError.Unauthorized | McpError.InsufficientScope): Failure["details"] =>
  list(
    "it asks for",
    reason.challenges.map(({ parameters, scheme }) =>
      [scheme, ...Object.entries(parameters).map(([name, value]) => `${name}="${value}"`)].join(" ")
    )
  )

const details = (reason: McpError.McpErrorReason): Failure["details"] => {
  switch (reason._tag) {
    case "ConnectionClosed": {
      // The tail is escaped, its line breaks included.
      const lines = (reason.stderr ?? "").split(/\\r\\n|\\n|\n/).filter((line) => line.trim() !== "")
      return lines.length === 0 ? [] : [["the last it wrote to standard error", lines.slice(-stderrLines)]]
    }
    case "HttpStatus":
    case "MalformedMessage":
      return said(reason.excerpt)
    case "ServerError":
      return [...said(reason.excerpt), ...json("data", reason.data)]
    case "HeaderMismatch":
    case "ResourceNotFound":
      return said(reason.excerpt)
    case "TaskFailed":
      return [...said(reason.excerpt), ...json("data", reason.data)]
    case "MissingClientCapability":
      return [...said(reason.excerpt), ...json("it requires", reason.requiredCapabilities)]
    case "UnsupportedProtocolVersion":
      return [
        ...said(reason.excerpt),
        ...list("requested", [reason.requested]),
        ...list("it supports", reason.supported)
      ]
    case "NegotiationFailed":
      return [
        ...said(reason.excerpt),
        ...list("offered", reason.offered),
        ...list("it supports", reason.supported)
      ]
    case "RedirectRefused":
      return reason.location === undefined ? [] : list("it points to", [reason.location])
    case "Unauthorized":
      return challenges(reason)
    case "InsufficientScope":
      return [...said(reason.excerpt), ...challenges(reason)]
    case "AuthorizationFailed":
    case "InvalidGrant":
      return [
        ...(reason.issuer === undefined ? [] : list("the authorization server", [reason.issuer])),
        ...(reason.excerpt === undefined || reason.excerpt === "" ? [] : list("it said", [reason.excerpt]))
      ]
    default:
      return []
  }
}

const howToAnswer = "run it at a terminal to be asked, or answer with --yes or --answer key=value"

export const howToSignIn = "sign in: mcp-effect login URL"

const howToDeclare = (required: unknown): string | undefined => {
  if (!Json.isJsonObject(required)) return undefined
  if (Object.hasOwn(required, "elicitation")) return howToAnswer
  const extensions = Json.objectMember(required, "extensions") ?? {}
  return Object.hasOwn(extensions, McpTask.extension)
    ? "let the server answer with a task: --tasks, or --as-task"
    : undefined
}

const hint = (reason: McpError.McpErrorReason): string | undefined => {
  switch (reason._tag) {
    case "SpawnFailed":
      return /\s/.test(reason.command)
        ? "give the command and its arguments as separate words after --, not in one pair of quotes"
        : undefined
    case "ConnectionClosed":
      return "run the command by itself to see why it ends; variables it needs are passed on with --env NAME"
    case "StreamIdle":
      return "give it more time with --idle-timeout, as in --idle-timeout 5m"
    case "RequestTimeout":
      return reason.kind === "idle"
        ? "give it more time with --idle-timeout, as in --idle-timeout 5m"
        : reason.kind === "deadline"
        ? "give it more time with --timeout, as in --timeout 30m"
        : "give it more time with --connect-timeout, as in --connect-timeout 2m; --verbose shows what the server writes"
    case "NegotiationFailed":
      return "--protocol auto tries every revision; --verbose shows what the server writes"
    case "CapabilityMissing":
      return "mcp-effect info shows what the server offers"
    case "InputRequired":
      return reason.problem === "unhandled" ? howToAnswer : undefined
    case "MissingClientCapability":
      return howToDeclare(reason.requiredCapabilities)
    case "TaskFailed":
      return reason.problem === "not-found"
        ? "a server that is started by its command takes its tasks with it when it ends"
        : undefined
    case "UnknownTool":
      return "mcp-effect tools shows what the server offers"
    case "ResourceNotFound":
      return "mcp-effect resources and mcp-effect templates show what the server offers"
    case "Unauthorized":
      return `${howToSignIn}, or give a token: --header "Authorization: Bearer ..."`
    case "InvalidGrant":
      return howToSignIn
    case "AuthorizationFailed":
      if (reason.stage === "registration") {
        return "register a client there by hand and name it: mcp-effect login URL --client-id ID --issuer ISSUER"
      }
      // A token that cannot be refreshed is kept, in case that passes.
      return reason.stage === "token" && !reason.isTransient
        ? "if that does not pass, sign in anew: mcp-effect logout URL, then mcp-effect login URL"
        : undefined
    case "InsufficientScope":
      return "give a token with more permissions: --header \"Authorization: Bearer ...\""
    default:
      return undefined
  }
}

// What a reason is, not what it tells.
const notData: ReadonlySet<string> = new Set(["_tag", "isTransient", "cause"])

const fields = (reason: McpError.McpErrorReason): Json.JsonObject =>
  Object.fromEntries(Object.entries(reason).filter(([name, value]) => value !== undefined && !notData.has(name)))

const maxCauses = 4

/** The errors of this library that led to an error, the nearest first. */
const causesOf = (error: McpError.McpError): ReadonlyArray<McpError.McpError> => {
  const causes: Array<McpError.McpError> = []
  let cause: unknown = error.reason.cause
  while (McpError.isMcpError(cause) && causes.length < maxCauses) {
    causes.push(cause)
    cause = cause.reason.cause
  }
  return causes
}

/** Tells of a failure of the client. */
export const ofMcpError = (error: McpError.McpError, exitCode: number): Failure => {
  const causes = causesOf(error)
  const executed = error.method === "tools/call" && error.delivery === "unknown"
    && error.reason._tag !== "AmbiguousDelivery"
  return {
    kind: error.reason._tag,
    message: error.message,
    details: [
      ...details(error.reason),
      ...causes.flatMap((cause): Failure["details"] => [["because", [cause.message]], ...details(cause.reason)])
    ],
    hints: [
      ...[error, ...causes].map(({ reason }) => hint(reason)).filter((line) => line !== undefined),
      ...(executed ? ["the tool may have run; check its effect before you repeat the call"] : [])
    ],
    exitCode,
    data: {
      ...(error.server === undefined ? {} : { server: error.server }),
      ...(error.method === undefined ? {} : { method: error.method }),
      delivery: error.delivery,
      reason: fields(error.reason)
    }
  }
}

// Points a program to a member of the reason; people have it before their eyes.
const pointer = /; (?:see stderr of this reason for its last words|its words are in the excerpt of this reason)$/

/** The lines for people. */
export const text = (failure: Failure): string =>
  [
    `error: ${TerminalText.escapeLines(failure.message.replace(pointer, ""))}`,
    ...failure.details.flatMap(([label, lines]) => {
      const shown = lines.map(TerminalText.escapeLines)
      return shown.length === 1 ? [`  ${label}: ${shown[0]}`] : [`  ${label}:`, ...shown.map((line) => `    ${line}`)]
    }),
    ...failure.hints.map((line) => `  hint: ${TerminalText.escapeLines(line)}`)
  ].join("\n")

/** The document for programs. */
export const document = ({ data, exitCode, hints, kind, message }: Failure): Json.JsonObject => ({
  error: { kind, message, exitCode, ...data, ...(hints.length === 0 ? {} : { hints }) }
})
