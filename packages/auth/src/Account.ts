/**
 * Who is signed in at an MCP server, as far as a `TokenStore` knows, and how to sign out. Nothing here is secret.
 *
 * @since 0.1.0
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Redacted from "effect/Redacted"
import * as Discovery from "./Discovery.ts"
import * as AuthHttp from "./internal/AuthHttp.ts"
import * as Crypto from "./internal/Crypto.ts"
import * as Failure from "./internal/Failure.ts"
import * as Records from "./internal/Records.ts"
import * as Registration from "./Registration.ts"
import * as Scopes from "./Scopes.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"
import { TokenStore } from "./TokenStore.ts"
import * as UrlPolicy from "./UrlPolicy.ts"

// ====================================================================================================================
// What is known
// ====================================================================================================================

/**
 * What is kept for one authorization server. Its strings are the peer's own: escape them where they are shown.
 *
 * @category models
 * @since 0.1.0
 */
export interface Account {
  readonly issuer: string
  /** The MCP server named this authorization server last. */
  readonly isCurrent: boolean
  /** There is a token, which may have run out. */
  readonly isSignedIn: boolean
  /** Whom the token was issued to, else who is registered. */
  readonly clientId: string | undefined
  /** What the token is good for, as far as it was said. */
  readonly scopes: ReadonlyArray<string>
  /** RFC 8707; `undefined` where none was sent. */
  readonly resource: string | undefined
  /** In milliseconds since the epoch; `undefined` where the authorization server did not say. */
  readonly expiresAt: number | undefined
  /** There is a refresh token, so that a token that runs out is replaced without a person. */
  readonly canRefresh: boolean
}

/**
 * Which of the sign-ins in a store is meant.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * Whose tokens they are, as `OAuth.Options` has it.
   *
   * @default one for all
   */
  readonly principal?: string | undefined
}

const keyOf = (server: string | URL, { principal }: Options): Effect.Effect<string, McpError.McpError> =>
  URL.canParse(server)
    ? Effect.succeed(Records.keyOf(new URL(server), principal))
    : Effect.fail(Failure.invalid("server", "is no URL"))

const accountOf = (authorization: Records.Authorization, current: string | undefined): Account => {
  const { issuer, registered, resource, scopes, token } = authorization
  return {
    issuer,
    isCurrent: issuer === current,
    isSignedIn: token !== undefined,
    clientId: token?.clientId ?? registered?.clientId,
    // RFC 6749 section 5.1: no word of the scope means the scope that was asked for.
    scopes: token === undefined ? [] : token.scope === undefined ? scopes : Scopes.split(token.scope),
    resource,
    expiresAt: token?.expiresAt,
    canRefresh: token?.refreshToken !== undefined
  }
}

/**
 * What the store knows of a server: one account for each authorization server that it ever named, the current one first.
 * `server` is the URL that `OAuth` is used with.
 *
 * @category accessors
 * @since 0.1.0
 */
export const accounts = Effect.fnUntraced(function*(
  server: string | URL,
  options: Options = {}
): Effect.fn.Return<ReadonlyArray<Account>, McpError.McpError, TokenStore> {
  const key = yield* keyOf(server, options)
  const { authorizations, issuer } = yield* Records.make(yield* TokenStore).load(key)
  return authorizations
    .map((authorization) => accountOf(authorization, issuer))
    .sort((left, right) => Number(right.isCurrent) - Number(left.isCurrent))
})

// ====================================================================================================================
// A client that is known beforehand
// ====================================================================================================================

/**
 * Keeps the credentials of a client that was registered beforehand with what its sign-in gave, so that later programs
 * refresh its token without having them in their options. Tells whether there is such a sign-in.
 *
 * @category combinators
 * @since 0.1.0
 */
export const keepClient = Effect.fnUntraced(function*(
  server: string | URL,
  client: Omit<Registration.Preregistered, "privateKey">,
  options: Options = {}
): Effect.fn.Return<boolean, McpError.McpError, TokenStore> {
  const key = yield* keyOf(server, options)
  const { authMethod, clientId, clientSecret } = Registration.clientOf(client)
  const isIts = (record: Records.Record): boolean =>
    Records.authorizationOf(record, client.issuer)?.token?.clientId === clientId
  const record = yield* Records.make(yield* TokenStore).modify(key, (record) => {
    const known = Records.authorizationOf(record, client.issuer)
    if (known === undefined || !isIts(record)) return undefined
    return Records.update(
      record,
      client.issuer,
      () => ({ ...known, registered: { clientId, clientSecret, authMethod } })
    )
  })
  return isIts(record)
})

// ====================================================================================================================
// Signing out
// ====================================================================================================================

/**
 * How to sign out.
 *
 * @category models
 * @since 0.1.0
 */
export interface ForgetOptions extends Options, Pick<Registration.Options, "clients" | "clientMetadataUrl"> {
  /**
   * Whether the registration of the client is kept for the next sign-in.
   *
   * @default "keep"
   */
  readonly registration?: "keep" | "forget" | undefined
  /**
   * How long the authorization servers may take to revoke the tokens. What they did not do by then they do not do.
   *
   * @default "10 seconds"
   */
  readonly revocationTimeout?: Duration.Input | undefined
}

/**
 * A sign-in that is over.
 *
 * @category models
 * @since 0.1.0
 */
export interface Forgotten {
  readonly issuer: string
  /** The authorization server says that what it issued is of no use any more (RFC 7009). */
  readonly isRevoked: boolean
}

const defaultRevocationTimeout = Duration.seconds(10)

const tokenOf = (authorization: Records.Authorization | undefined): string | undefined =>
  authorization?.token === undefined ? undefined : Redacted.value(authorization.token.accessToken)

/** Gives back what an authorization server issued. The refresh token comes first: the others follow from it. */
const revoke = Effect.fnUntraced(function*(
  http: AuthHttp.AuthHttp,
  { issuer, registered }: Records.Authorization,
  { accessToken, clientId, refreshToken }: Records.Token,
  options: ForgetOptions
) {
  const authorizationServer = yield* Discovery.authorizationServer(http, issuer)
  const client = Registration.find(options, issuer, clientId, registered) ?? { clientId }
  const endpoint = { authorizationServer, client }
  const isRefreshRevoked = refreshToken === undefined
    ? undefined
    : yield* TokenEndpoint.revoke(http, endpoint, refreshToken, "refresh_token")
  const isAccessRevoked = yield* TokenEndpoint.revoke(http, endpoint, accessToken, "access_token")
  // Not every server revokes access tokens, which do not outlive the refresh token by much (RFC 7009 section 2.1).
  return isRefreshRevoked ?? isAccessRevoked
})

/**
 * Signs out of a server: tokens and refresh tokens are revoked where the authorization server has an endpoint for it
 * (RFC 7009), and forgotten in any case. Gives the sign-ins that were there.
 *
 * A client that runs goes on with its token until the server refuses it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const forget = Effect.fnUntraced(function*(
  server: string | URL,
  options: ForgetOptions = {}
): Effect.fn.Return<ReadonlyArray<Forgotten>, McpError.McpError, TokenStore | HttpClient.HttpClient> {
  const key = yield* keyOf(server, options)
  const store = yield* TokenStore
  const records = Records.make(store)
  const timeoutMillis = Duration.toMillis(options.revocationTimeout ?? defaultRevocationTimeout)
  const http = AuthHttp.make({
    client: yield* HttpClient.HttpClient,
    policy: yield* UrlPolicy.UrlPolicy,
    server: new URL(server),
    timeoutMillis
  })

  // No other process refreshes what is being revoked.
  return yield* store.withLock(
    key,
    Effect.gen(function*() {
      const before = yield* records.load(key)
      const forgotten = yield* Effect.forEach(
        before.authorizations.flatMap((one) => one.token === undefined ? [] : [{ ...one, token: one.token }]),
        (authorization) =>
          revoke(http, authorization, authorization.token, options).pipe(
            Effect.timeoutOrElse({ duration: timeoutMillis, orElse: () => Effect.succeed(false) }),
            Effect.orElseSucceed(() => false),
            Effect.map((isRevoked): Forgotten => ({ issuer: authorization.issuer, isRevoked }))
          ),
        { concurrency: "unbounded" }
      )
      yield* records.modify(key, (record) => {
        const authorizations = record.authorizations.flatMap((one) => {
          // Somebody who signed in meanwhile stays signed in.
          if (tokenOf(one) !== tokenOf(Records.authorizationOf(before, one.issuer))) return [one]
          return one.registered === undefined || options.registration === "forget"
            ? []
            : [{ ...one, token: undefined, scopes: [] }]
        })
        return authorizations.length === 0 ? Records.empty : { ...record, authorizations }
      })
      return forgotten
    })
  ).pipe(Effect.provide(Crypto.layer))
})
