/**
 * How a client becomes known to an authorization server: by credentials that were registered before, by the URL of its
 * Client ID Metadata Document, or, deprecated, by registering itself (2026-07-28 authorization, Client Registration;
 * RFC 7591).
 *
 * @since 0.1.0
 */
import type { Json, McpError } from "@mcp-effect/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as AuthorizationCode from "./AuthorizationCode.ts"
import type { AuthorizationServer } from "./AuthorizationServer.ts"
import type { AuthHttp } from "./internal/AuthHttp.ts"
import * as Failure from "./internal/Failure.ts"
import * as Fields from "./internal/Fields.ts"
import * as IpAddress from "./internal/IpAddress.ts"
import * as Scopes from "./Scopes.ts"
import type * as TokenEndpoint from "./TokenEndpoint.ts"

// ====================================================================================================================
// Models
// ====================================================================================================================

/**
 * Credentials that were registered with an authorization server beforehand. They go to that server and to no other.
 *
 * @category models
 * @since 0.1.0
 */
export interface Preregistered {
  /** The issuer of the authorization server, exactly as its metadata has it. */
  readonly issuer: string
  readonly clientId: string
  /** @default none: a public client */
  readonly clientSecret?: string | Redacted.Redacted | undefined
  /** For `private_key_jwt`. */
  readonly privateKey?: TokenEndpoint.PrivateKey | undefined
  /** @default what follows from the credentials and from what the server lists */
  readonly authMethod?: TokenEndpoint.AuthMethod | undefined
}

/**
 * What dynamic registration tells about the client (RFC 7591 section 2).
 *
 * @category models
 * @since 0.1.0
 */
export interface ClientMetadata {
  /** @default "mcp-effect" */
  readonly clientName?: string | undefined
  readonly clientUri?: string | undefined
  readonly logoUri?: string | undefined
  readonly softwareId?: string | undefined
  readonly softwareVersion?: string | undefined
  /** @default "native" for a redirect URI on this machine or of a private scheme, else "web" */
  readonly applicationType?: "native" | "web" | undefined
}

/**
 * How the client may become known. Tried in this order.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** @default none */
  readonly clients?: ReadonlyArray<Preregistered> | undefined
  /**
   * The URL of the Client ID Metadata Document: `https:`, with a path. It is the client id at every authorization server
   * that takes one.
   *
   * @default none
   */
  readonly clientMetadataUrl?: string | undefined
  /**
   * Whether the client may register itself (RFC 7591). The protocol deprecates it, which is logged unless `true` says that
   * it is meant.
   *
   * @default it may
   */
  readonly dynamicRegistration?: boolean | undefined
  /** What the client says of itself when it registers. */
  readonly clientMetadata?: ClientMetadata | undefined
}

/**
 * A client that one issuer knows: it registered itself, or was registered beforehand and is kept.
 *
 * @category models
 * @since 0.1.0
 */
export interface Registered {
  readonly clientId: string
  readonly clientSecret?: Redacted.Redacted | undefined
  readonly authMethod?: string | undefined
  /** What it registered; `undefined` for one that was registered beforehand, by whoever knows what with. */
  readonly redirectUri?: string | undefined
  /** In milliseconds since the epoch. */
  readonly secretExpiresAt?: number | undefined
  /** What it was registered for; `undefined` where the authorization server did not say. */
  readonly scopes?: ReadonlyArray<string> | undefined
}

// ====================================================================================================================
// What the host gives
// ====================================================================================================================

/**
 * Says what is wrong with the URL of a Client ID Metadata Document.
 *
 * @category guards
 * @since 0.1.0
 */
export const clientMetadataUrlProblem = (text: string): string | undefined => {
  if (!URL.canParse(text)) return "is no URL"
  const url = new URL(text)
  if (url.protocol !== "https:") return "is not https:"
  if (url.username !== "" || url.password !== "") return "holds a user name or password"
  if (text.includes("#")) return "has a fragment"
  if (url.pathname === "/") return "has no path"
  // A parser resolves these away, so that the client id would not be the URL of the document.
  return /\/(\.|%2e){1,2}(\/|$|\?)/i.test(text) ? "has a . or .. in its path" : undefined
}

const secretOf = (secret: string | Redacted.Redacted | undefined): Redacted.Redacted | undefined =>
  typeof secret === "string" ? Redacted.make(secret) : secret

/**
 * The client of credentials that a host gave.
 *
 * @category constructors
 * @since 0.1.0
 */
export const clientOf = (
  { authMethod, clientId, clientSecret, privateKey }: Omit<Preregistered, "issuer">
): TokenEndpoint.Client => ({ clientId, clientSecret: secretOf(clientSecret), privateKey, authMethod })

const clientOfMetadataUrl = (url: string): TokenEndpoint.Client => ({ clientId: url, authMethod: "none" })

/**
 * The client with an id that an authorization server knows, if the host or a registration still has it.
 *
 * @category accessors
 * @since 0.1.0
 */
export const find = (
  options: Options,
  issuer: string,
  clientId: string,
  registered: Registered | undefined
): TokenEndpoint.Client | undefined => {
  const preregistered = options.clients?.find((client) => client.issuer === issuer && client.clientId === clientId)
  if (preregistered !== undefined) return clientOf(preregistered)
  if (options.clientMetadataUrl === clientId) return clientOfMetadataUrl(clientId)
  return registered?.clientId === clientId ? registered : undefined
}

// ====================================================================================================================
// Dynamic registration
// ====================================================================================================================

const applicationType = (redirectUri: string): "native" | "web" => {
  const { hostname, protocol } = new URL(redirectUri)
  return protocol === "https:" && IpAddress.reachOfHost(hostname) !== "loopback" ? "web" : "native"
}

// A public client where the server takes one. A server that lists nothing has client_secret_basic (RFC 8414 section 2).
const registeredAuthMethod = (supported: ReadonlyArray<string> = ["client_secret_basic"]): string =>
  ["none", "client_secret_basic", "client_secret_post"].find((method) => supported.includes(method)) ?? "none"

const readRegistration = (
  document: Json.JsonObject,
  redirectUri: string,
  asked: ReadonlyArray<string>
): Result.Result<Registered, string> =>
  Result.gen(function*() {
    const clientId = yield* Fields.string("client_id")(document)
    if (clientId === undefined || clientId === "") return yield* Result.fail("client_id is missing")
    const redirectUris = yield* Fields.strings("redirect_uris")(document)
    const refused = redirectUris?.find((uri) => AuthorizationCode.redirectUriProblem(uri) !== undefined)
    if (refused !== undefined) return yield* Result.fail("it registers a redirect URI that is neither local nor https:")
    if (redirectUris !== undefined && !redirectUris.includes(redirectUri)) {
      return yield* Result.fail("it registers other redirect URIs than the one that was asked for")
    }
    const secret = yield* Fields.string("client_secret")(document)
    const expires = yield* Fields.number("client_secret_expires_at")(document)
    const scope = yield* Fields.string("scope")(document)
    return {
      clientId,
      clientSecret: secret === undefined || secret === "" ? undefined : Redacted.make(secret),
      authMethod: yield* Fields.string("token_endpoint_auth_method")(document),
      redirectUri,
      // 0 means never (RFC 7591 section 3.2.1).
      secretExpiresAt: expires === undefined || expires === 0 ? undefined : expires * 1000,
      // What it was asked for and left out, another registration would not have either.
      scopes: scope === undefined ? undefined : Scopes.union(asked, Scopes.split(scope))
    }
  })

/**
 * Registers the client with an authorization server. When the server refuses the redirect URI, it is asked once more as
 * the other type of application.
 *
 * @category constructors
 * @since 0.1.0
 */
export const register = Effect.fnUntraced(function*(
  http: AuthHttp,
  server: AuthorizationServer,
  request: {
    readonly metadata: ClientMetadata | undefined
    readonly redirectUri: string
    readonly scopes: ReadonlyArray<string>
  }
): Effect.fn.Return<Registered, McpError.McpError> {
  const { issuer, registrationEndpoint = "" } = server
  const { metadata, redirectUri, scopes } = request
  if (!URL.canParse(registrationEndpoint)) {
    return yield* Effect.fail(Failure.failed("registration", "the registration endpoint is no URL", { issuer }))
  }
  const url = new URL(registrationEndpoint)
  const attempt = (type: "native" | "web") =>
    http.post(
      url,
      "registration",
      HttpClientRequest.post(url, { headers: { accept: "application/json" } }).pipe(HttpClientRequest.bodyText(
        JSON.stringify({
          client_name: metadata?.clientName ?? "mcp-effect",
          client_uri: metadata?.clientUri,
          logo_uri: metadata?.logoUri,
          software_id: metadata?.softwareId,
          software_version: metadata?.softwareVersion,
          redirect_uris: [redirectUri],
          application_type: type,
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          token_endpoint_auth_method: registeredAuthMethod(server.tokenEndpointAuthMethods),
          scope: scopes.length === 0 ? undefined : scopes.join(" ")
        }),
        "application/json"
      ))
    )
  const errorOf = (text: string, name: string) =>
    Result.getOrUndefined(Result.flatMap(Fields.parse(text), Fields.string(name)))
  const type = metadata?.applicationType ?? applicationType(redirectUri)
  const first = yield* attempt(type)
  const isRedirectRefused = first.status === 400 && errorOf(first.text, "error") === "invalid_redirect_uri"
  const { status, text } = isRedirectRefused ? yield* attempt(type === "native" ? "web" : "native") : first
  if (status < 200 || status > 299) {
    const error = errorOf(text, "error")
    return yield* Effect.fail(
      Failure.failed(
        "registration",
        error === "invalid_redirect_uri"
          ? "the authorization server does not accept the redirect URI; register a client by hand and give its id (clients)"
          : `the authorization server refused to register the client (HTTP ${status}); give a client id (clients)`,
        { issuer, status, error, description: errorOf(text, "error_description") }
      )
    )
  }
  const registered = Result.flatMap(Fields.parse(text), (document) => readRegistration(document, redirectUri, scopes))
  return Result.isSuccess(registered) ? registered.success : yield* Effect.fail(
    Failure.failed("registration", `the answer of the registration endpoint cannot be used: ${registered.failure}`, {
      issuer
    })
  )
})

// ====================================================================================================================
// The choice
// ====================================================================================================================

/**
 * Tells whether a client that is kept was registered beforehand: no redirect URI was given for it.
 *
 * @category accessors
 * @since 0.1.0
 */
export const isPreregistered = ({ redirectUri }: Registered): boolean => redirectUri === undefined

/**
 * Finds or registers the client for an authorization server: credentials of that very issuer, given or kept, then the
 * Client ID Metadata Document, then a registration that was kept, then a new one. `keep` stores a new registration, and
 * fails where it cannot be kept.
 *
 * @category constructors
 * @since 0.1.0
 */
export const choose = Effect.fnUntraced(function*(
  http: AuthHttp,
  server: AuthorizationServer,
  options: Options,
  request: {
    readonly redirectUri: string
    readonly scopes: ReadonlyArray<string>
    readonly kept: Registered | undefined
    readonly keep: (registered: Registered) => Effect.Effect<void, McpError.McpError>
  }
): Effect.fn.Return<TokenEndpoint.Client, McpError.McpError> {
  const { issuer } = server
  const clients = options.clients ?? []
  const preregistered = clients.find((client) => client.issuer === issuer)
  if (preregistered !== undefined) return clientOf(preregistered)
  const { kept, redirectUri, scopes } = request
  if (kept !== undefined && isPreregistered(kept)) return kept
  if (options.clientMetadataUrl !== undefined && server.clientIdMetadataDocument) {
    return clientOfMetadataUrl(options.clientMetadataUrl)
  }
  if (clients.length > 0) {
    return yield* Effect.fail(
      Failure.failed(
        "registration",
        "the client ids that were given are for other authorization servers than this one (issuer); they are not sent to it",
        { issuer }
      )
    )
  }
  const now = yield* Clock.currentTimeMillis
  const isFit = kept !== undefined && kept.redirectUri === redirectUri
    && (kept.secretExpiresAt ?? Infinity) > now
    // A client may ask for what it registered for; what a server wants later takes another registration.
    && scopes.every((scope) => kept.scopes?.includes(scope) !== false)
  if (isFit) {
    return kept
  }
  if (options.dynamicRegistration === false || server.registrationEndpoint === undefined) {
    return yield* Effect.fail(
      Failure.failed(
        "registration",
        "the authorization server needs a client id and this client has none there; register one with it and give it "
          + "(clients), with the issuer it is for",
        { issuer }
      )
    )
  }
  if (options.dynamicRegistration === undefined) {
    yield* Effect.logWarning(
      "Registering with an authorization server dynamically, which the protocol deprecates; prefer a Client ID Metadata "
        + "Document (clientMetadataUrl) or a registered client (clients)"
    )
  }
  const registered = yield* register(http, server, { metadata: options.clientMetadata, redirectUri, scopes })
  yield* request.keep(registered)
  return registered
})
