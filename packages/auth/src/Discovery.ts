/**
 * Finds who issues tokens for an MCP server, from what the server answers to a request without one (2026-07-28
 * authorization, Authorization Server Discovery).
 *
 * @since 0.1.0
 */
import { type Json, type McpError, Revision } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as AuthorizationServer from "./AuthorizationServer.ts"
import type { AuthHttp } from "./internal/AuthHttp.ts"
import * as Failure from "./internal/Failure.ts"
import * as Fields from "./internal/Fields.ts"
import * as ProtectedResource from "./ProtectedResource.ts"

type Challenge = McpError.Unauthorized["challenges"][number]

/**
 * What was found: the resource to name in requests for tokens, and the authorization server to ask.
 *
 * @category models
 * @since 0.1.0
 */
export interface Discovered {
  /** RFC 8707 `resource`: the metadata's own string, or the canonical URL of the server where there is none. */
  readonly resource: string
  readonly scopesSupported: ReadonlyArray<string> | undefined
  /** The server takes only tokens that are bound to a key (RFC 9449). */
  readonly dpopRequired: boolean
  readonly authorizationServer: AuthorizationServer.AuthorizationServer
}

// 2025-03-26 authorization, Authorization Server Metadata Discovery: the server may choose its answer by it.
const versionHeader = { "MCP-Protocol-Version": Revision.latestModern.version }

const isMissing = (status: number): boolean => status === 404 || status === 410

const parse = <A>(
  text: string,
  what: string,
  read: (document: Json.JsonObject) => Result.Result<A, string>
): Effect.Effect<A, McpError.McpError> => {
  const parsed = Result.flatMap(Fields.parse(text), read)
  return Result.isSuccess(parsed)
    ? Effect.succeed(parsed.success)
    : Effect.fail(Failure.failed("discovery", `the ${what} cannot be used: ${parsed.failure}`))
}

// ====================================================================================================================
// Protected resource
// ====================================================================================================================

/** The metadata of the server; `undefined` when it publishes none. */
const protectedResource = Effect.fnUntraced(function*(
  http: AuthHttp,
  server: URL,
  challenge: Challenge | undefined
): Effect.fn.Return<ProtectedResource.ProtectedResource | undefined, McpError.McpError> {
  const named = ProtectedResource.metadataUrl(challenge)
  if (named !== undefined && !URL.canParse(named)) {
    return yield* Effect.fail(Failure.failed("discovery", "the challenge names something that is no URL"))
  }
  // What the challenge names is authoritative: nothing else is tried when it is not there.
  const candidates = named === undefined ? ProtectedResource.wellKnownUrls(server) : [new URL(named)]
  for (const url of candidates) {
    const { status, text } = yield* http.get(url, "resource-metadata")
    if (isMissing(status) && named === undefined) continue
    if (status !== 200) {
      return yield* Effect.fail(
        Failure.failed("discovery", `the protected resource metadata cannot be had (HTTP ${status})`, { status })
      )
    }
    const resource = yield* parse(text, "protected resource metadata", ProtectedResource.read)
    if (resource.resource !== undefined && !ProtectedResource.covers(resource.resource, server)) {
      return yield* Effect.fail(
        Failure.failed(
          "discovery",
          "the protected resource metadata is for another resource than this server; no token is asked for",
          { description: resource.resource }
        )
      )
    }
    return resource
  }
  return undefined
})

// ====================================================================================================================
// Authorization server
// ====================================================================================================================

/** The first document of an issuer that is there; `undefined` when it publishes none. */
const metadataOf = Effect.fnUntraced(function*(
  http: AuthHttp,
  issuer: URL,
  headers?: Readonly<Record<string, string>>
): Effect.fn.Return<AuthorizationServer.AuthorizationServer | undefined, McpError.McpError> {
  for (const url of AuthorizationServer.wellKnownUrls(issuer)) {
    const { status, text } = yield* http.get(url, "authorization-server-metadata", headers)
    if (status >= 400 && status < 500) continue
    if (status !== 200) {
      return yield* Effect.fail(
        Failure.failed("discovery", `the authorization server metadata cannot be had (HTTP ${status})`, {
          status,
          issuer: issuer.href
        })
      )
    }
    return yield* parse(text, "authorization server metadata", AuthorizationServer.read)
  }
  return undefined
})

const isIssuer = (issuer: string): boolean => {
  if (!URL.canParse(issuer)) return false
  const { hash, search } = new URL(issuer)
  return hash === "" && search === ""
}

/**
 * The metadata of an authorization server, by its issuer.
 *
 * @category constructors
 * @since 0.1.0
 */
export const authorizationServer = Effect.fnUntraced(function*(
  http: AuthHttp,
  issuer: string
): Effect.fn.Return<AuthorizationServer.AuthorizationServer, McpError.McpError> {
  if (!isIssuer(issuer)) {
    return yield* Effect.fail(
      Failure.failed(
        "discovery",
        "the protected resource metadata names an authorization server that is no issuer URL",
        {
          issuer
        }
      )
    )
  }
  const metadata = yield* metadataOf(http, new URL(issuer))
  if (metadata === undefined) {
    return yield* Effect.fail(
      Failure.failed(
        "discovery",
        "the authorization server publishes no metadata (RFC 8414, OpenID Connect Discovery)",
        {
          issuer
        }
      )
    )
  }
  // RFC 8414 section 3.3: identical, or the document may be another's.
  return metadata.issuer === issuer ? metadata : yield* Effect.fail(mismatch(issuer))
})

const mismatch = (issuer: string): McpError.McpError =>
  Failure.failed(
    "discovery",
    "the authorization server metadata names another issuer than the one it was asked for (RFC 8414 section 3.3)",
    { issuer }
  )

/** Before 2025-06-18 the MCP server was its own authorization server, at the root of its origin. */
const legacy = Effect.fnUntraced(function*(
  http: AuthHttp,
  origin: string
): Effect.fn.Return<AuthorizationServer.AuthorizationServer, McpError.McpError> {
  const metadata = yield* metadataOf(http, new URL(origin), versionHeader)
  if (metadata === undefined) return AuthorizationServer.legacyDefaults(origin)
  // Nobody wrote this identifier down, so that an origin may end in a slash or not.
  return metadata.issuer === origin || metadata.issuer === `${origin}/`
    ? metadata
    : yield* Effect.fail(mismatch(origin))
})

// ====================================================================================================================
// Both
// ====================================================================================================================

/**
 * Finds the authorization server of an MCP server. Of several, `prefer` picks one; the first by default.
 *
 * A refusal anywhere ends it: nothing is guessed where a document exists and cannot be used.
 *
 * @category constructors
 * @since 0.1.0
 */
export const discover = Effect.fnUntraced(function*(
  http: AuthHttp,
  server: URL,
  challenge: Challenge | undefined,
  prefer: (issuers: ReadonlyArray<string>) => string | undefined
): Effect.fn.Return<Discovered, McpError.McpError> {
  const resource = yield* protectedResource(http, server, challenge)
  const issuer = resource === undefined
    ? undefined
    : prefer(resource.authorizationServers) ?? resource.authorizationServers[0]
  return {
    resource: resource?.resource ?? ProtectedResource.canonical(server),
    scopesSupported: resource?.scopesSupported,
    dpopRequired: resource?.dpopRequired === true,
    authorizationServer: issuer === undefined
      ? yield* legacy(http, server.origin)
      : yield* authorizationServer(http, issuer)
  }
})
