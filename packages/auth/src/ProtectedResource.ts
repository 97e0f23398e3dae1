/**
 * Protected resource metadata: where an MCP server says who issues tokens for it (RFC 9728).
 *
 * @since 0.1.0
 */
import type { Json, McpError } from "@mcp-effect/protocol"
import * as Result from "effect/Result"
import * as Fields from "./internal/Fields.ts"

type Challenge = McpError.Unauthorized["challenges"][number]

/**
 * What of the metadata matters to a client.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProtectedResource {
  /** The identifier of the resource, byte for byte as the server wrote it. */
  readonly resource: string | undefined
  readonly authorizationServers: ReadonlyArray<string>
  readonly scopesSupported: ReadonlyArray<string> | undefined
  /** RFC 9449: it takes only tokens that are bound to a key. */
  readonly dpopRequired: boolean
}

/**
 * The challenge that a client with a bearer or DPoP token has to answer, of all those a response lists: the one of its
 * scheme, else of the other. Parameters of other schemes do not count.
 *
 * @category accessors
 * @since 0.1.0
 */
export const challengeOf = (
  challenges: ReadonlyArray<Challenge>,
  scheme: "bearer" | "dpop" = "bearer"
): Challenge | undefined =>
  challenges.find((challenge) => challenge.scheme === scheme)
    ?? challenges.find((challenge) => challenge.scheme === "bearer" || challenge.scheme === "dpop")

/**
 * A parameter of a challenge.
 *
 * @category accessors
 * @since 0.1.0
 */
export const parameter = (challenge: Challenge | undefined, name: string): string | undefined =>
  challenge !== undefined && Object.hasOwn(challenge.parameters, name) ? challenge.parameters[name] : undefined

const wellKnown = "/.well-known/oauth-protected-resource"

/**
 * The URL of the metadata that a challenge names (RFC 9728 section 5.1). Drafts of the RFC called the parameter
 * `resource`, which counts where it names the well-known location.
 *
 * @category accessors
 * @since 0.1.0
 */
export const metadataUrl = (challenge: Challenge | undefined): string | undefined => {
  const named = parameter(challenge, "resource_metadata")
  if (named !== undefined) return named
  const legacy = parameter(challenge, "resource")
  return legacy !== undefined && URL.canParse(legacy) && new URL(legacy).pathname.startsWith(wellKnown)
    ? legacy
    : undefined
}

/**
 * Where the metadata is when no challenge names it: the well-known location with the path of the server, then the one of
 * its root (RFC 9728 section 3.1).
 *
 * @category constructors
 * @since 0.1.0
 */
export const wellKnownUrls = (server: URL): ReadonlyArray<URL> => {
  const path = server.pathname.replace(/\/$/, "")
  const root = new URL(wellKnown, server)
  if (path === "" && server.search === "") return [root]
  const withPath = new URL(`${wellKnown}${path}`, server)
  withPath.search = server.search
  return [withPath, root]
}

/**
 * Reads the metadata. A member of the wrong type refuses the whole document.
 *
 * @category decoding
 * @since 0.1.0
 */
export const read = (document: Json.JsonObject): Result.Result<ProtectedResource, string> =>
  Result.gen(function*() {
    return {
      resource: yield* Fields.string("resource")(document),
      authorizationServers: (yield* Fields.strings("authorization_servers")(document)) ?? [],
      scopesSupported: yield* Fields.strings("scopes_supported")(document),
      dpopRequired: (yield* Fields.boolean("dpop_bound_access_tokens_required")(document)) === true
    }
  })

/**
 * Tells whether the metadata's `resource` covers a server: the same origin, and a path that the server's begins with, in
 * whole segments.
 *
 * @category guards
 * @since 0.1.0
 */
export const covers = (resource: string, server: URL): boolean => {
  if (!URL.canParse(resource)) return false
  const covering = new URL(resource)
  if (covering.origin !== server.origin || covering.origin === "null" || covering.hash !== "") return false
  if (covering.username !== "" || covering.password !== "") return false
  if (covering.search !== "" && covering.search !== server.search) return false
  const path = covering.pathname.replace(/\/$/, "")
  return server.pathname === path || server.pathname.startsWith(`${path}/`)
}

/**
 * The canonical URL of a server (2026-07-28 authorization, Canonical Server URI): no fragment, and no slash at the end of
 * an origin.
 *
 * @category constructors
 * @since 0.1.0
 */
export const canonical = (server: URL): string => {
  const url = new URL(server)
  url.hash = ""
  url.username = ""
  url.password = ""
  return url.pathname === "/" && url.search === "" ? url.origin : url.href
}
