/**
 * Which URLs that a peer names may be contacted: metadata, authorization, token and registration endpoints all come
 * from documents of others, and each is checked before anything is sent to it.
 *
 * @since 0.1.0
 */
import { McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as IpAddress from "./internal/IpAddress.ts"

// ====================================================================================================================
// Models
// ====================================================================================================================

/**
 * What a URL is to be used for.
 *
 * @category models
 * @since 0.1.0
 */
export type Purpose =
  | "resource-metadata"
  | "authorization-server-metadata"
  | "authorization"
  | "token"
  | "registration"
  | "revocation"

/**
 * Decides whether a URL may be contacted on behalf of `server`, the URL of the MCP server that the host configured. It
 * is asked before each request, and again for each redirect of a metadata document.
 *
 * @category models
 * @since 0.1.0
 */
export interface UrlPolicy {
  readonly check: (url: URL, use: { readonly purpose: Purpose; readonly server: URL }) => Effect.Effect<
    void,
    McpError.McpError
  >
}

// ====================================================================================================================
// The rules
// ====================================================================================================================

const names: { readonly [P in Purpose]: string } = {
  "resource-metadata": "protected resource metadata",
  "authorization-server-metadata": "authorization server metadata",
  authorization: "authorization endpoint",
  token: "token endpoint",
  registration: "registration endpoint",
  revocation: "revocation endpoint"
}

const refuse = (purpose: Purpose, problem: string): Effect.Effect<never, McpError.McpError> =>
  Effect.fail(McpError.make(
    new McpError.AuthorizationFailed({
      stage: "discovery",
      problem: `the URL of the ${names[purpose]} ${problem}; nothing was sent to it`
    }),
    "unsent"
  ))

/**
 * The default rules (RFC 9700 section 4, 2026-07-28 security best practices, SSRF): `https:` and no address of this
 * machine, of a private network, link-local or of a cloud's metadata service, in whatever spelling; no user name or
 * password. A server on loopback may also name URLs on loopback, over `http:` too, and a server on a private network its
 * own origin. Only what the URL says is looked at; {@link resolving} also looks at what its host name resolves to.
 *
 * @category services
 * @since 0.1.0
 */
export const strict: UrlPolicy = {
  check: (url, { purpose, server }) => {
    if (url.username !== "" || url.password !== "") return refuse(purpose, "holds a user name or password")
    if (url.protocol !== "https:" && url.protocol !== "http:") return refuse(purpose, "is neither https: nor http:")
    const reach = IpAddress.reachOfHost(url.hostname)
    const isLocal = reach === "loopback" && IpAddress.reachOfHost(server.hostname) === "loopback"
    if (url.protocol !== "https:" && !isLocal) {
      return refuse(purpose, "is not https:, which only a server on this machine may do without")
    }
    if (reach === "loopback" && !isLocal) return refuse(purpose, "points to this machine")
    if (reach === "private" && url.host !== server.host) {
      return refuse(purpose, "points into a private network; allow its origin by UrlPolicy.layerAllow if it is trusted")
    }
    return Effect.void
  }
}

/**
 * Adds to a policy: every origin of `origins` may be contacted, whatever the policy says.
 *
 * @category combinators
 * @since 0.1.0
 */
export const allow = (policy: UrlPolicy, origins: Iterable<string | URL>): UrlPolicy => {
  const allowed = new Set(Array.from(origins, (origin) => new URL(origin).origin))
  return { check: (url, use) => allowed.has(url.origin) ? Effect.void : policy.check(url, use) }
}

/**
 * Adds to a policy: a host name must not resolve into a private network or, unless the server is on loopback itself, to
 * this machine. `lookup` gives the addresses of a host name; a name it cannot resolve is left to the request to fail on.
 *
 * @category combinators
 * @since 0.1.0
 */
export const resolving = (
  policy: UrlPolicy,
  lookup: (hostname: string) => Effect.Effect<ReadonlyArray<string>, unknown>
): UrlPolicy => ({
  check: (url, use) =>
    Effect.flatMap(policy.check(url, use), () => {
      // A literal was looked at already, and the host of the server is reached by every request anyway.
      if (IpAddress.reachOfHost(url.hostname) !== undefined || url.host === use.server.host) return Effect.void
      const isLocal = IpAddress.reachOfHost(use.server.hostname) === "loopback"
      return Effect.flatMap(Effect.orElseSucceed(lookup(url.hostname), () => []), (addresses) => {
        const reaches = addresses.map((address) => IpAddress.reach(address))
        return reaches.some((reach) => reach === "private" || (reach === "loopback" && !isLocal))
          ? refuse(use.purpose, "resolves to an address inside a private network or of this machine")
          : Effect.void
      })
    })
})

// ====================================================================================================================
// Service
// ====================================================================================================================

/**
 * The policy in force.
 *
 * @default strict
 * @category services
 * @since 0.1.0
 */
export const UrlPolicy: Context.Reference<UrlPolicy> = Context.Reference<UrlPolicy>("@mcp-effect/auth/UrlPolicy", {
  defaultValue: () => strict
})

/**
 * Layer of a policy of your own.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (policy: UrlPolicy): Layer.Layer<never> => Layer.succeed(UrlPolicy, policy)

/**
 * Layer of the default rules with some origins trusted, such as an authorization server in a company's network.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerAllow = (origins: Iterable<string | URL>): Layer.Layer<never> => layer(allow(strict, origins))
