/**
 * The headers of each message.
 */
import { HeaderParams, HeaderValue, McpError, type Revision } from "@mcp-effect/protocol"
import * as Headers from "effect/http/Headers"
import * as Result from "effect/Result"
import type { Routing } from "../Transport.ts"
import * as HttpEndpoint from "./HttpEndpoint.ts"

export interface Message {
  /** Absent for the answer to a request of the server. */
  readonly method: string | undefined
  readonly revision: Revision.Facts
  readonly routing?: Routing | undefined
}

export interface HttpHeaders {
  /** The headers of a POST. Fails when the name of a mirrored argument is not the name of a header. */
  readonly forPost: (
    message: Message,
    options: { readonly sessionId: string | undefined; readonly compression: boolean }
  ) => Result.Result<Headers.Headers, McpError.InvalidRequest>
  /** The headers of the GET for a stream of events, from the beginning or from what followed an event. */
  readonly forGet: (
    sessionId: string | undefined,
    revision: Revision.Facts | undefined,
    lastEventId?: string | undefined
  ) => Headers.Headers
  /** The headers of the DELETE that ends a session. */
  readonly forDelete: (sessionId: string, revision: Revision.Facts | undefined) => Headers.Headers
}

const paramPrefix = HeaderParams.headerPrefix.toLowerCase()

/** The version that accompanies a message of that method (2025-06-18 basic/transports, Protocol Version Header). */
const versionFor = (method: string | undefined, revision: Revision.Facts): string | undefined => {
  switch (revision.protocolVersionHeader) {
    case "never":
      return undefined
    case "after-handshake":
      return method === "initialize" ? undefined : revision.version
    case "always":
      return revision.version
  }
}

export const make = (endpoint: HttpEndpoint.HttpEndpoint): HttpHeaders => {
  const plain = {
    ...endpoint.headers,
    accept: "application/json, text/event-stream",
    "content-type": "application/json"
  }
  const compressed = { "accept-encoding": "gzip", ...plain }
  // Where the revision mirrors arguments, a configured header could only contradict them.
  const withoutParams = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(paramPrefix)))
  const byEra = {
    legacy: { plain, compressed },
    modern: { plain: withoutParams(plain), compressed: withoutParams(compressed) }
  }

  const forSession = (
    sessionId: string | undefined,
    revision: Revision.Facts | undefined,
    more: Readonly<Record<string, string>>
  ): Headers.Headers => {
    const version = revision === undefined ? undefined : versionFor(undefined, revision)
    return Headers.fromRecordUnsafe({
      ...endpoint.headers,
      ...more,
      ...(sessionId === undefined ? undefined : { "mcp-session-id": sessionId }),
      ...(version === undefined ? undefined : { "mcp-protocol-version": version })
    })
  }

  return {
    forGet: (sessionId, revision, lastEventId) =>
      forSession(sessionId, revision, {
        accept: "text/event-stream",
        ...(lastEventId === undefined ? undefined : { "last-event-id": lastEventId })
      }),
    forPost: ({ method, revision, routing }, { compression, sessionId }) => {
      const base = byEra[revision.requestHeaders ? "modern" : "legacy"]
      const headers: Record<string, string> = { ...(compression ? base.compressed : base.plain) }
      const version = versionFor(method, revision)
      if (version !== undefined) headers["mcp-protocol-version"] = version
      if (sessionId !== undefined) headers["mcp-session-id"] = sessionId
      if (revision.requestHeaders) {
        if (method !== undefined) headers["mcp-method"] = HeaderValue.encode(method)
        if (routing?.name !== undefined) headers["mcp-name"] = HeaderValue.encode(routing.name)
        for (const [name, value] of routing?.params ?? []) {
          if (!HttpEndpoint.isFieldName(name)) {
            return Result.fail(
              new McpError.InvalidRequest({ problem: `${JSON.stringify(name)} cannot be part of the name of a header` })
            )
          }
          headers[`${paramPrefix}${name.toLowerCase()}`] = HeaderParams.encodeValue(value)
        }
      }
      return Result.succeed(Headers.fromRecordUnsafe(headers))
    },
    forDelete: (sessionId, revision) => forSession(sessionId, revision, {})
  }
}
