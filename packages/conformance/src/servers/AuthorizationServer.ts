/**
 * An authorization server made with `oidc-provider`: authorization code with PKCE and a page to sign in on, refresh tokens
 * that rotate and whose reuse revokes all, revocation, client credentials, dynamic registration, resource indicators, `iss`
 * in its answers and DPoP.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { generateKeyPairSync, type JsonWebKey, randomBytes } from "node:crypto"
import { errors, Provider } from "oidc-provider"
import * as Listening from "../auth/Listening.ts"
import * as MemoryAdapter from "../auth/MemoryAdapter.ts"
import * as SignInPage from "../auth/SignInPage.ts"

/** A client that is registered beforehand; see RFC 7591 section 2. */
export interface RegisteredClient {
  readonly client_id: string
  readonly client_secret?: string
  readonly jwks?: { readonly keys: ReadonlyArray<JsonWebKey> }
  readonly token_endpoint_auth_method: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt"
  readonly grant_types: ReadonlyArray<string>
  readonly redirect_uris: ReadonlyArray<string>
  readonly response_types: ReadonlyArray<string>
  readonly application_type?: "native" | "web"
}

export interface Options {
  readonly clients?: ReadonlyArray<RegisteredClient> | undefined
  /** @default 3600 */
  readonly accessTokenSeconds?: number | undefined
  /**
   * Whether proofs have to carry a nonce.
   *
   * @default false
   */
  readonly nonces?: boolean | undefined
}

/** What was asked of the token endpoint. */
export interface TokenRequest {
  readonly grantType: string | undefined
  readonly clientId: string | undefined
  readonly error: string | undefined
}

export interface AuthorizationServer {
  readonly issuer: string
  /** Answers of the token endpoint so far. `use_dpop_nonce` is among its errors. */
  readonly tokenRequests: ReadonlyArray<TokenRequest>
  /** Issues tokens for a resource from now on. */
  readonly addResource: (resource: string, scopes: ReadonlyArray<string>) => void
  /** By which a protected server asks about tokens (RFC 7662). */
  readonly introspection: { readonly url: string; readonly authorization: string }
}

const introspector = "protected-server"

const signingKey = (): JsonWebKey => ({
  ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
  use: "sig",
  alg: "RS256"
})

export const start = (options: Options = {}): Effect.Effect<AuthorizationServer, never, Scope.Scope> =>
  Listening.listen((issuer) => {
    const { accessTokenSeconds = 3600, clients = [], nonces = false } = options
    const resources = new Map<string, ReadonlyArray<string>>()
    const tokenRequests: Array<TokenRequest> = []
    const secret = randomBytes(16).toString("hex")
    const provider = new Provider(issuer, {
      adapter: MemoryAdapter.make(),
      clients: [...clients, {
        client_id: introspector,
        client_secret: secret,
        grant_types: [],
        redirect_uris: [],
        response_types: []
      }],
      cookies: { keys: [randomBytes(16).toString("hex")] },
      jwks: { keys: [signingKey()] },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        introspection: { enabled: true, allowedPolicy: () => true },
        registration: { enabled: true },
        revocation: {
          enabled: true,
          allowedPolicy: (
            _context: unknown,
            client: { readonly clientId: string },
            token: { readonly clientId: string }
          ) => client.clientId === token.clientId
        },
        dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => nonces },
        resourceIndicators: {
          enabled: true,
          defaultResource: (_context: unknown, _client: unknown, oneOf: unknown) => oneOf,
          useGrantedResource: () => true,
          getResourceServerInfo: (_context: unknown, resource: string) => {
            const scopes = resources.get(resource)
            if (scopes === undefined) throw new errors.InvalidTarget()
            return {
              scope: scopes.join(" "),
              audience: resource,
              accessTokenTTL: accessTokenSeconds,
              accessTokenFormat: "opaque"
            }
          }
        }
      },
      pkce: { required: () => true },
      rotateRefreshToken: true,
      issueRefreshToken: (_context: unknown, client: { grantTypeAllowed: (type: string) => boolean }) =>
        client.grantTypeAllowed("refresh_token"),
      scopes: ["openid", "offline_access", "read", "write"],
      ttl: {
        AccessToken: accessTokenSeconds,
        AuthorizationCode: 60,
        ClientCredentials: accessTokenSeconds,
        Grant: 86_400,
        IdToken: 3600,
        Interaction: 600,
        RefreshToken: 86_400,
        Session: 86_400
      },
      findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub }) }),
      interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => SignInPage.urlOf(uid) }
    })
    provider.on("grant.success", ({ oidc }) => {
      tokenRequests.push({
        grantType: oidc.params?.["grant_type"],
        clientId: oidc.client?.clientId,
        error: undefined
      })
    })
    provider.on("grant.error", ({ oidc }, error) => {
      tokenRequests.push({
        grantType: oidc.params?.["grant_type"],
        clientId: oidc.client?.clientId,
        error: error?.message
      })
    })
    const serve = provider.callback()
    return {
      handler: (request, response) => {
        if (!SignInPage.isPage(request.url ?? "")) return serve(request, response)
        SignInPage.handle(provider, request, response).catch(() => {
          // The interaction is over, or was never this browser's.
          response.writeHead(400).end()
        })
      },
      value: {
        issuer,
        tokenRequests,
        addResource: (resource, scopes) => void resources.set(resource, scopes),
        introspection: {
          url: `${issuer}/token/introspection`,
          authorization: `Basic ${Buffer.from(`${introspector}:${secret}`).toString("base64")}`
        }
      }
    }
  })
