/**
 * The errors of this package. What a peer wrote goes escaped into fields, never into a message.
 */
import { McpError, PeerText } from "@mcp-effect/protocol"

export interface Details {
  readonly issuer?: string | undefined
  readonly status?: number | undefined
  readonly error?: string | undefined
  readonly description?: string | undefined
  readonly cause?: unknown
}

const excerpt = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : PeerText.excerpt(text)

/** Authorization failed at a stage, for a reason in our own words. */
export const failed = (
  stage: McpError.AuthorizationFailed["stage"],
  problem: string,
  details: Details = {}
): McpError.McpError =>
  McpError.make(
    new McpError.AuthorizationFailed({
      stage,
      problem,
      issuer: excerpt(details.issuer),
      status: details.status,
      error: excerpt(details.error),
      excerpt: excerpt(details.description),
      ...(details.cause === undefined ? undefined : { cause: details.cause })
    }),
    "unsent"
  )

export const invalidGrant = (details: Details): McpError.McpError =>
  McpError.make(
    new McpError.InvalidGrant({ issuer: excerpt(details.issuer), excerpt: excerpt(details.description) }),
    "unsent"
  )

export const unreachable = (url: URL, code: string | undefined): McpError.McpError =>
  McpError.make(
    new McpError.ConnectionFailed({
      target: PeerText.excerpt(url.origin),
      code: code === undefined ? undefined : PeerText.excerpt(code, 64),
      description: "a request for authorization got no answer"
    }),
    "unsent"
  )

/** An argument that the host gave is unusable. */
export const invalid = (path: string, problem: string): McpError.McpError =>
  McpError.make(new McpError.InvalidRequest({ problem, path }), "unsent")
