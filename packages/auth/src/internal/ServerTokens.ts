/**
 * The tokens of one MCP server: which to present, and what to do when the server refuses one.
 */
import type { McpError } from "@mcp-effect/protocol"
import { Activity } from "@mcp-effect/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import * as Discovery from "../Discovery.ts"
import * as ProtectedResource from "../ProtectedResource.ts"
import * as Registration from "../Registration.ts"
import * as Scopes from "../Scopes.ts"
import * as TokenEndpoint from "../TokenEndpoint.ts"
import type { TokenStore } from "../TokenStore.ts"
import type { AuthHttp } from "./AuthHttp.ts"
import * as Failure from "./Failure.ts"
import type { Flights } from "./Flights.ts"
import type { Crypto, Grant, Obtained } from "./Grant.ts"
import * as Lifetime from "./Lifetime.ts"
import * as Records from "./Records.ts"
import { Waiting } from "./Waiting.ts"

type Challenge = McpError.Unauthorized["challenges"][number]

/** A token to present. */
export type Presented = Redacted.Redacted

export interface Settings {
  readonly grant: Grant
  readonly store: TokenStore["Service"]
  readonly records: Records.Records
  readonly proof: TokenEndpoint.Proof
  readonly scopes: ReadonlyArray<string> | undefined
  readonly resource: "omit" | string | undefined
  readonly stepUp: boolean
}

// A refresh that failed is not tried again with every request.
const refreshPauseMillis = 10_000
// 2026-07-28 authorization, Step-Up Authorization Flow: the same scopes are asked for again at most this often.
const maxStepUps = 2
// What a server wants is remembered, so that it cannot want ever more.
const maxScopeSets = 64

/** Has an effect run to its end, whoever is interrupted. What bounds its time still does, since it is a fiber of its own. */
const whole = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.uninterruptible(Effect.flatMap(Effect.forkDetach(effect), Fiber.join))

const isSame = (left: Redacted.Redacted | undefined, right: Redacted.Redacted | undefined): boolean =>
  left !== undefined && right !== undefined && Redacted.value(left) === Redacted.value(right)

export class ServerTokens {
  private record: Records.Record | undefined
  private writes = 0
  private discovered: Discovery.Discovered | undefined
  /** The server named something that cannot be accepted; until it names something else it gets no token. */
  private isBlocked = false
  private invalidGrant: McpError.McpError | undefined
  private refreshNotBefore = 0
  private readonly stepUps = new Map<string, number>()
  /** One person, one window. */
  private readonly window = Semaphore.makeUnsafe(1)
  private readonly waiting = new Waiting()

  private readonly key: string
  private readonly server: URL
  private readonly http: AuthHttp
  private readonly flights: Flights<Crypto>
  private readonly settings: Settings

  constructor(key: string, server: URL, http: AuthHttp, flights: Flights<Crypto>, settings: Settings) {
    this.key = key
    this.server = server
    this.http = http
    this.flights = flights
    this.settings = settings
  }

  // ------------------------------------------------------------------------------------------------------------------
  // For a request
  // ------------------------------------------------------------------------------------------------------------------

  /** The token to present; `undefined` when there is none, so that the server says what it wants. */
  readonly present: Effect.Effect<Presented | undefined, McpError.McpError> = Effect.suspend(() => {
    if (this.record === undefined) return Effect.flatMap(this.reload, () => this.present)
    if (this.isBlocked) return Effect.succeed(undefined)
    const known = Records.authorizationOf(this.record)
    const token = this.usable(known)
    if (known === undefined || token === undefined) return Effect.succeed(undefined)
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (!Lifetime.isDue(token, now)) return Effect.succeed(token.accessToken)
      const isExpired = Lifetime.isExpired(token, now)
      const replace = this.replacement(known, token)
      if (replace === undefined) return Effect.succeed(isExpired ? undefined : token.accessToken)
      if (!isExpired) {
        const ahead = now < this.refreshNotBefore
          ? Effect.void
          : Effect.forkDetach(Effect.ignore(replace))
        return Effect.as(ahead, token.accessToken)
      }
      return replace
    })
  })

  /** The token to try instead of a rejected one; `undefined` when there is none to be had. */
  afterUnauthorized(
    rejected: Presented | undefined,
    challenge: Challenge | undefined
  ): Effect.Effect<Presented | undefined, McpError.McpError> {
    return this.asOneOfThose(Effect.gen({ self: this }, function*() {
      // Another process may have replaced it, which this one learns from the store alone.
      yield* this.reload
      const current = yield* this.current()
      if (current !== undefined && !isSame(current, rejected)) return current
      const discovered = yield* this.discover(challenge, rejected)
      return yield* this.renew(discovered, rejected, ProtectedResource.parameter(challenge, "scope"))
    }))
  }

  /** The token to try instead of one whose scopes did not suffice; `undefined` when another would not help. */
  afterInsufficientScope(
    used: Presented | undefined,
    challenge: Challenge
  ): Effect.Effect<Presented | undefined, McpError.McpError> {
    const challenged = ProtectedResource.parameter(challenge, "scope")
    const wanted = Scopes.split(challenged)
    const name = [...wanted].sort().join(" ")
    if (!this.settings.stepUp) return Effect.succeed(undefined)
    const better = Effect.map(this.current(), (current) => {
      const known = this.known()
      const isWider = wanted.every((scope) => known?.scopes.includes(scope) === true)
      return current !== undefined && !isSame(current, used) && isWider ? current : undefined
    })
    return this.asOneOfThose(Effect.gen({ self: this }, function*() {
      const current = yield* better
      if (current !== undefined) return current
      const discovered = yield* this.discover(challenge, undefined)
      return yield* this.flights.run(
        `${this.stepUpKey(discovered.authorizationServer.issuer)}${name}`,
        this.window.withPermits(1)(Effect.gen({ self: this }, function*() {
          yield* this.reload
          const current = yield* better
          if (current !== undefined) return current
          const count = this.stepUps.get(name) ?? 0
          if (count >= maxStepUps || (count === 0 && this.stepUps.size >= maxScopeSets)) return undefined
          const asked = Effect.sync(() => this.stepUps.set(name, count + 1))
          return yield* this.obtain(discovered, challenged).pipe(
            Effect.tap(asked),
            // Nothing was asked of a server that did not answer.
            Effect.tapError(({ reason }) => reason.isTransient ? Effect.void : asked)
          )
        }))
      )
    }))
  }

  private asOneOfThose<A>(effect: Effect.Effect<A, McpError.McpError>): Effect.Effect<A, McpError.McpError> {
    return Effect.flatMap(Activity.Activity, (activity) => this.waiting.during(activity, effect))
  }

  // ------------------------------------------------------------------------------------------------------------------
  // What is at hand
  // ------------------------------------------------------------------------------------------------------------------

  private readonly reload: Effect.Effect<Records.Record, McpError.McpError> = Effect.suspend(() => {
    const { writes } = this
    return Effect.map(this.settings.records.load(this.key), (record) => {
      // What was written while the store was being read is newer.
      const newest = this.record === undefined || this.writes === writes ? record : this.record
      this.record = newest
      return newest
    })
  })

  private modify(change: (record: Records.Record) => Records.Record | undefined) {
    return Effect.map(this.settings.records.modify(this.key, change), (record) => {
      this.writes++
      this.record = record
      return record
    })
  }

  private known(): Records.Authorization | undefined {
    return this.record === undefined ? undefined : Records.authorizationOf(this.record)
  }

  /** A stored token that this client can present: its own, of its type, bound to its key, and fit for a header. */
  private usable(known: Records.Authorization | undefined): Records.Token | undefined {
    const { grant, proof } = this.settings
    const token = known?.token
    if (known === undefined || token === undefined) return undefined
    return token.tokenType === proof.tokenType && token.boundTo === proof.thumbprint
        && TokenEndpoint.isHeaderSafe(Redacted.value(token.accessToken))
        // A store may be shared with a person, whose token is not for a program.
        && (!grant.isUnattended || grant.clientOf(known, token.clientId) !== undefined)
      ? token
      : undefined
  }

  /** The token at hand, unless it has run out or the server is to get none. */
  private current(): Effect.Effect<Presented | undefined, McpError.McpError> {
    return Effect.map(Clock.currentTimeMillis, (now) => {
      const token = this.isBlocked ? undefined : this.usable(this.known())
      return token === undefined || Lifetime.isExpired(token, now) ? undefined : token.accessToken
    })
  }

  /** Why nothing of an authorization server is for the server any more, if that is so. */
  private problemWith(issuer: string): McpError.McpError | undefined {
    if (this.record?.issuer !== issuer) return changed(issuer)
    return this.isBlocked ? blocked(issuer) : undefined
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Discovery
  // ------------------------------------------------------------------------------------------------------------------

  private discover(
    challenge: Challenge | undefined,
    rejected: Presented | undefined
  ): Effect.Effect<Discovery.Discovered, McpError.McpError> {
    const prefer = (issuers: ReadonlyArray<string>): string | undefined => {
      const { issuer } = this.record ?? Records.empty
      const isKnown = (issuer: string) => Records.authorizationOf(this.record ?? Records.empty, issuer) !== undefined
      return this.settings.grant.prefer(issuers, isKnown)
        ?? (issuer !== undefined && issuers.includes(issuer) ? issuer : undefined)
        ?? issuers.find(isKnown)
    }
    return this.flights.run(
      `discover ${this.key} ${ProtectedResource.metadataUrl(challenge) ?? ""}`,
      Effect.gen({ self: this }, function*() {
        yield* this.reload
        const discovered = yield* Effect.tapError(
          Discovery.discover(this.http, this.server, challenge, prefer),
          (error) =>
            Effect.sync(() => {
              if (error.reason._tag === "AuthorizationFailed" && !error.reason.isTransient) this.isBlocked = true
            })
        )
        yield* this.bind(discovered, rejected)
        return discovered
      })
    )
  }

  /** Turns to an authorization server. What the one before issued stays its own, and a rejected token is forgotten. */
  private bind(discovered: Discovery.Discovered, rejected: Presented | undefined) {
    const { issuer } = discovered.authorizationServer
    return Effect.gen({ self: this }, function*() {
      const before = this.record?.issuer
      if (before !== undefined && before !== issuer) {
        this.flights.end(this.signInKey(before), changed(before))
        this.flights.end(this.stepUpKey(before), changed(before))
        this.refreshNotBefore = 0
      }
      if (before !== issuer) {
        yield* this.modify((record) => {
          const retired = record.authorizations.filter((one) =>
            one.issuer !== issuer && isSame(one.token?.accessToken, rejected)
          )
          return retired.reduce<Records.Record>(
            (record, one) => Records.update(record, one.issuer, () => ({ ...one, token: undefined })),
            { ...record, issuer }
          )
        })
      }
      this.discovered = discovered
      this.isBlocked = false
    })
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Refresh
  // ------------------------------------------------------------------------------------------------------------------

  /** How a token can be replaced without a person. */
  private replacement(
    known: Records.Authorization,
    token: Records.Token
  ): Effect.Effect<Presented | undefined, McpError.McpError> | undefined {
    const { discovered } = this
    if (this.refreshable(known, token) !== undefined) return this.refresh(known.issuer, token.accessToken)
    return this.settings.grant.isUnattended && discovered?.authorizationServer.issuer === known.issuer
      ? Effect.tapError(this.renew(discovered, token.accessToken, undefined), () => this.pauseRefresh)
      : undefined
  }

  private readonly pauseRefresh = Effect.map(Clock.currentTimeMillis, (now) => {
    this.refreshNotBefore = now + refreshPauseMillis
  })

  private refreshable(known: Records.Authorization, token: Records.Token) {
    const client = this.settings.grant.clientOf(known, token.clientId)
    return token.refreshToken === undefined || client === undefined
      ? undefined
      : { client, refreshToken: token.refreshToken }
  }

  /**
   * Refreshes a token once for all who wait, in every process that shares the store. `undefined` when the authorization
   * server wants a new sign-in.
   */
  private refresh(issuer: string, stale: Presented): Effect.Effect<Presented | undefined, McpError.McpError> {
    const { settings } = this
    const attempt = Effect.gen({ self: this }, function*() {
      const known = Records.authorizationOf(yield* this.reload, issuer)
      const token = this.usable(known)
      if (known === undefined || token === undefined) return undefined
      // Somebody else was faster.
      if (!isSame(token.accessToken, stale) && !Lifetime.isExpired(token, yield* Clock.currentTimeMillis)) {
        return undefined
      }
      const means = this.refreshable(known, token)
      return means === undefined ? undefined : yield* whole(this.exchange(issuer, known, token, means))
    }).pipe(Effect.catch((error) => Effect.as(this.afterRefusedRefresh(issuer, stale, error), undefined)))

    return this.flights.run(
      `refresh ${this.key} ${issuer}`,
      settings.store.withLock(this.key, attempt).pipe(
        Effect.tapError(() => this.pauseRefresh),
        Effect.flatMap((fresh) => {
          if (this.record?.issuer !== issuer) return Effect.fail(changed(issuer))
          // A token that runs out at once is good for the request that it was issued for.
          return fresh === undefined || this.isBlocked ? this.current() : Effect.succeed(fresh)
        })
      )
    )
  }

  /** Exchanges a refresh token and keeps what comes of it. */
  private exchange(
    issuer: string,
    known: Records.Authorization,
    token: Records.Token,
    { client, refreshToken }: { readonly client: TokenEndpoint.Client; readonly refreshToken: Redacted.Redacted }
  ): Effect.Effect<Presented | undefined, McpError.McpError, Crypto> {
    return Effect.gen({ self: this }, function*() {
      // Once the server has rotated the refresh token, a store that cannot be written would lose the sign-in.
      yield* this.modify((record) => record)
      const issued = yield* TokenEndpoint.request(
        this.http,
        {
          authorizationServer: { ...known, tokenEndpointAuthMethods: known.tokenEndpointAuthMethods },
          client,
          proof: this.settings.proof
        },
        { grant_type: "refresh_token", refresh_token: Redacted.value(refreshToken), resource: known.resource }
      )
      const next = yield* this.stored({ client, issued }, token)
      const record = yield* this.modify((record) => {
        const now = Records.authorizationOf(record, issuer)
        // What came of an authorization server that is not the server's any more, or after another's, is not kept.
        return record.issuer === issuer && now !== undefined && isSame(now.token?.accessToken, token.accessToken)
          ? Records.update(record, issuer, () => ({
            ...now,
            token: next,
            scopes: Scopes.union(now.scopes, Scopes.split(next.scope))
          }))
          : undefined
      }).pipe(Effect.retry({ times: 1 }))
      const kept = Records.authorizationOf(record, issuer)?.token?.accessToken
      return isSame(kept, next.accessToken) ? next.accessToken : undefined
    })
  }

  /**
   * Only `invalid_grant` says that the refresh token is of no use any more, and only where no other process replaced it.
   * A client that registered itself may also have been forgotten.
   */
  private afterRefusedRefresh(issuer: string, stale: Presented, error: McpError.McpError) {
    return Effect.suspend(() => {
      const { reason } = error
      const isRefused = reason._tag === "InvalidGrant"
      const isUnknown = reason._tag === "AuthorizationFailed" && reason.error === "invalid_client"
      const isForgotten = (known: Records.Authorization) =>
        isUnknown && known.registered !== undefined && !Registration.isPreregistered(known.registered)
        && known.registered.clientId === known.token?.clientId
      const before = Records.authorizationOf(this.record ?? Records.empty, issuer)
      if (!isRefused && (before === undefined || !isForgotten(before))) return Effect.fail(error)
      return Effect.asVoid(this.modify((record) => {
        const known = Records.authorizationOf(record, issuer)
        if (known === undefined || !isSame(known.token?.accessToken, stale)) return undefined
        this.invalidGrant = error
        const registered = isForgotten(known) ? undefined : known.registered
        return Records.update(record, issuer, () => ({ ...known, token: undefined, registered }))
      }))
    })
  }

  // ------------------------------------------------------------------------------------------------------------------
  // A new token
  // ------------------------------------------------------------------------------------------------------------------

  // No key is the beginning of another: neither of the parts holds a space.
  private signInKey(issuer: string): string {
    return `sign-in ${this.key} ${issuer} `
  }

  private stepUpKey(issuer: string): string {
    return `step-up ${this.key} ${issuer} `
  }

  /** Gets a token that is not the rejected one: by refresh, else by the grant. */
  private renew(
    discovered: Discovery.Discovered,
    rejected: Presented | undefined,
    challenged: string | undefined
  ): Effect.Effect<Presented | undefined, McpError.McpError> {
    const { issuer } = discovered.authorizationServer
    return this.flights.run(
      this.signInKey(issuer),
      this.window.withPermits(1)(Effect.gen({ self: this }, function*() {
        const known = Records.authorizationOf(yield* this.reload, issuer)
        const current = yield* this.current()
        if (current !== undefined && !isSame(current, rejected)) return current
        const token = this.usable(known)
        if (known !== undefined && token !== undefined && this.refreshable(known, token) !== undefined) {
          const refreshed = yield* this.refresh(issuer, token.accessToken)
          if (refreshed !== undefined && !isSame(refreshed, rejected)) return refreshed
        }
        return yield* this.obtain(discovered, challenged)
      }))
    )
  }

  /** Asks the grant for a token and keeps it. */
  private obtain(discovered: Discovery.Discovered, challenged: string | undefined) {
    const { settings } = this
    const { authorizationServer, scopesSupported } = discovered
    const { issuer, tokenEndpoint, tokenEndpointAuthMethods } = authorizationServer
    return Effect.gen({ self: this }, function*() {
      const problem = settings.proof.problem(discovered)
      if (problem !== undefined) return yield* Effect.fail(Failure.failed("token", problem, { issuer }))
      const known = Records.authorizationOf(this.record ?? Records.empty, issuer)
      const scopes = Scopes.select({
        challenged,
        resource: scopesSupported,
        configured: settings.scopes,
        previous: known?.scopes ?? [],
        authorizationServer: authorizationServer.scopesSupported
      })
      const resource = settings.resource === "omit" ? undefined : settings.resource ?? discovered.resource
      const blank: Records.Authorization = { issuer, tokenEndpoint, tokenEndpointAuthMethods, resource, scopes: [] }
      const ensureCurrent = Effect.flatMap(this.reload, () => {
        const problem = this.problemWith(issuer)
        return problem === undefined ? Effect.void : Effect.fail(problem)
      })
      const obtained = yield* settings.grant.obtain({
        http: this.http,
        server: this.server,
        discovered,
        resource,
        scopes,
        proof: settings.proof,
        known,
        keep: (registered) =>
          Effect.asVoid(
            this.modify((record) => Records.update(record, issuer, (now) => ({ ...(now ?? blank), registered })))
          ),
        ensureCurrent,
        person: (effect) => this.waiting.person(effect)
      })
      if (obtained === undefined) return this.invalidGrant === undefined ? undefined : yield* this.invalidGrant
      const token = yield* this.stored(obtained, undefined)
      const record = yield* this.modify((record) =>
        record.issuer !== issuer ? undefined : Records.update(record, issuer, (now) => ({
          ...(now ?? blank),
          tokenEndpoint,
          tokenEndpointAuthMethods,
          resource,
          scopes: Scopes.union(now?.scopes ?? [], scopes, Scopes.split(token.scope)),
          token
        }))
      )
      if (record.issuer === issuer) this.invalidGrant = undefined
      const refusal = this.problemWith(issuer)
      if (refusal !== undefined) return yield* refusal
      return token.accessToken
    })
  }

  /** A token as it is kept. What a refresh leaves out stays as it was (RFC 6749 section 6). */
  private stored(
    { client, issued }: Obtained,
    before: Records.Token | undefined
  ): Effect.Effect<Records.Token> {
    return Effect.map(Clock.currentTimeMillis, (now) => ({
      accessToken: issued.accessToken,
      tokenType: issued.tokenType,
      boundTo: this.settings.proof.thumbprint,
      clientId: client.clientId,
      issuedAt: now,
      expiresAt: issued.expiresIn === undefined ? undefined : now + Math.max(0, issued.expiresIn) * 1000,
      refreshToken: issued.refreshToken ?? before?.refreshToken,
      scope: issued.scope ?? before?.scope
    }))
  }
}

const blocked = (issuer: string): McpError.McpError =>
  Failure.failed("sign-in", "the server has meanwhile named what cannot be accepted, and gets no token", { issuer })

const changed = (issuer: string): McpError.McpError =>
  Failure.failed("sign-in", "the server has meanwhile named another authorization server; try again", { issuer })
