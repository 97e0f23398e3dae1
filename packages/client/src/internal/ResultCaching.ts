/**
 * One client's use of a `ResultCache`: what may be kept, for whom, and when it is dropped. The rules, and why they are as
 * they are, stand in `ResultCache`.
 */
import type { Caching, Envelope, Json } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import type * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as ResultCache from "../ResultCache.ts"
import type { Session } from "./Session.ts"

/** How many URIs are remembered for the reads that are under way when they change. */
const maxChangedUris = 256

/** A request whose answer may be kept. */
export interface Flight {
  /** What it carries in `_meta`, as text. */
  readonly parameters: string
  /** How many invalidations there had been before it. */
  readonly startedAt: number
}

/** What a notification drops, by the methods that asked for it. */
const changedBy: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["notifications/tools/list_changed", ["tools/list"]],
  ["notifications/prompts/list_changed", ["prompts/list"]],
  // There is no other word about templates, nor about a resource that is gone.
  ["notifications/resources/list_changed", ["resources/list", "resources/templates/list", "resources/read"]]
])

/** The capability whose `listChanged` announces changes of a list. Templates have none of their own. */
const announcing: ReadonlyMap<string, string> = new Map([
  ["tools/list", "tools"],
  ["prompts/list", "prompts"],
  ["resources/list", "resources"]
])

/** Whether a legacy list is sure to be followed by a word when it changes. */
const isAnnounced = (session: Session, method: string): boolean => {
  const capability = announcing.get(method)
  return capability !== undefined && !session.http && session.declares([capability, "listChanged"]) === true
}

/** An update may be one of a part: "this might be a sub-resource of the one that the client actually subscribed to". */
export const concerns = (updated: string) => (uri: string | undefined): boolean =>
  uri !== undefined && updated.startsWith(uri)
  && (updated.length === uri.length || uri.endsWith("/") || updated[uri.length] === "/")

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/** The same objects are given to everybody, so nobody may change them. JSON may be nested deeper than a stack is. */
const freeze = (value: unknown): void => {
  const left = [value]
  for (let next = left.pop(); isObject(next); next = left.pop()) {
    if (Object.isFrozen(next)) continue
    Object.freeze(next)
    if (Array.isArray(next)) {
      for (const member of next) if (isObject(member)) left.push(member)
      continue
    }
    for (const key in next) {
      const member = (next as Json.JsonObject)[key]
      if (isObject(member)) left.push(member)
    }
  }
}

export class ResultCaching {
  private cache: ResultCache.ResultCache | undefined
  private readonly server: string
  private readonly clock: Clock.Clock
  private session: Session | undefined = undefined
  /** Tells this client from others, where nothing else does. */
  private owner: string | undefined = undefined
  /** Counts invalidations; the maps hold the count at which something was last invalidated. */
  private invalidations = 0
  private clearedAt = 0
  private changedAt: Map<string, number> | undefined = undefined
  private urisChangedAt: Map<string, number> | undefined = undefined
  private listeners: Set<(method: string) => void> | undefined = undefined

  /** Without a cache that is shared, one is made when there is something to keep. */
  constructor(cache: ResultCache.ResultCache | undefined, server: string, clock: Clock.Clock) {
    this.cache = cache
    this.server = server
    this.clock = clock
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Keeping
  // ------------------------------------------------------------------------------------------------------------------

  /** Notes that a request is about to be made. Where it is not known what it will carry, its answer is not kept. */
  begin(parameters: string | undefined): Flight | undefined {
    return parameters === undefined ? undefined : { parameters, startedAt: this.invalidations }
  }

  /** Keeps an answer that may be kept, in the place of an older one; that goes even if this one may not. */
  keep(
    flight: Flight | undefined,
    session: Session,
    evidence: Transport.Evidence,
    method: string,
    argument: string | undefined,
    { cacheScope, ttlMs: hint }: Caching.CacheHints,
    value: () => unknown
  ): void {
    if (flight === undefined || session !== this.session) return
    const { cacheHints } = session.revision
    const ttlMs = cacheHints ? hint : isAnnounced(session, method) ? Infinity : 0
    if (ttlMs === 0 && this.cache === undefined) return
    if (this.isChangedSince(flight.startedAt, method, argument)) return
    const cache = this.cache ??= ResultCache.make()
    const authorization = this.bindingOf(evidence)
    const publicKey = this.keyOf(session, flight.parameters, method, argument, undefined)
    const privateKey = authorization === undefined
      ? undefined
      : this.keyOf(session, flight.parameters, method, argument, authorization)
    cache.remove(publicKey)
    if (privateKey !== undefined) cache.remove(privateKey)
    const scope = cacheHints ? cacheScope : "private"
    const key = scope === "public" ? publicKey : privateKey
    if (ttlMs === 0 || evidence.authorization === "unknown" || key === undefined) return
    const kept = value()
    freeze(kept)
    cache.set(key, { ttlMs, cacheScope: scope, receivedAt: this.now(), value: kept })
  }

  /** What is kept for a request like this one on the session in use, fresh or not. */
  find(
    session: Session | undefined,
    parameters: string | undefined,
    method: string,
    argument: string | undefined
  ): ResultCache.Entry | undefined {
    const { cache } = this
    if (cache === undefined || session === undefined || parameters === undefined) return undefined
    const shared = cache.get(this.keyOf(session, parameters, method, argument, undefined))
    const authorization = this.bindingOf(session.evidence)
    if (authorization === undefined) return shared
    const own = cache.get(this.keyOf(session, parameters, method, argument, authorization))
    return shared === undefined || (own !== undefined && own.receivedAt > shared.receivedAt) ? own : shared
  }

  /** The same, where it is fresh. */
  findFresh(
    session: Session | undefined,
    parameters: string | undefined,
    method: string,
    argument: string | undefined
  ): ResultCache.Entry | undefined {
    const entry = this.find(session, parameters, method, argument)
    return entry !== undefined && ResultCache.isFresh(entry, this.now()) ? entry : undefined
  }

  /** What is known of the freshness of an entry, or of it and others: that of what goes stale first. */
  info(entry: ResultCache.Entry, others?: ResultCache.CacheInfo): ResultCache.CacheInfo {
    const { cacheScope, receivedAt, ttlMs } = entry
    const info = { ttlMs, cacheScope, receivedAt, fresh: ResultCache.isFresh(entry, this.now()) }
    if (others === undefined) return info
    const first = receivedAt + ttlMs < others.receivedAt + others.ttlMs ? info : others
    return {
      ttlMs: first.ttlMs,
      cacheScope: info.cacheScope === "private" ? "private" : others.cacheScope,
      receivedAt: first.receivedAt,
      fresh: info.fresh && others.fresh
    }
  }

  now(): number {
    return this.clock.currentTimeMillisUnsafe()
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Dropping
  // ------------------------------------------------------------------------------------------------------------------

  /** Drops what a notification says is no longer so. It comes before anybody else hears of it. */
  onNotification({ method, params }: Envelope.Notification): void {
    if (method === "notifications/resources/updated") {
      const uri = params?.["uri"]
      if (typeof uri === "string") this.dropRead(uri)
      return
    }
    const methods = changedBy.get(method)
    if (methods === undefined) return
    for (const method of methods) this.drop(method)
    for (const method of methods) this.tell(method)
  }

  /** Begins a connection. What was learned on another is forgotten. */
  onSession(session: Session): void {
    const isFirst = this.session === undefined
    this.session = session
    if (isFirst) return
    this.cache?.invalidate(this.server)
    this.tellAll()
  }

  /** What the server has said in the meantime may be lost. */
  onGap(): void {
    this.clear()
    this.tellAll()
  }

  drop(method: string): void {
    this.changedAt ??= new Map()
    this.changedAt.set(method, ++this.invalidations)
    this.cache?.invalidate(this.server, method)
  }

  clear(): void {
    this.clearedAt = ++this.invalidations
    this.cache?.invalidate(this.server)
  }

  /** Hears of what has changed, or may have, after the cache has. */
  onChange(listener: (method: string) => void): () => void {
    const listeners = this.listeners ??= new Set()
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  private dropRead(uri: string): void {
    const changed = this.urisChangedAt ??= new Map()
    changed.delete(uri)
    changed.set(uri, ++this.invalidations)
    const [oldest] = changed.size > maxChangedUris ? changed : []
    if (oldest !== undefined) {
      // Whatever was read before that moment counts as changed.
      changed.delete(oldest[0])
      this.changedAt ??= new Map()
      const known = this.changedAt.get("resources/read") ?? 0
      this.changedAt.set("resources/read", Math.max(known, oldest[1]))
    }
    this.cache?.invalidate(this.server, "resources/read", concerns(uri))
  }

  private isChangedSince(startedAt: number, method: string, argument: string | undefined): boolean {
    if (this.invalidations === startedAt) return false
    if (this.clearedAt > startedAt || (this.changedAt?.get(method) ?? 0) > startedAt) return true
    if (method !== "resources/read" || this.urisChangedAt === undefined) return false
    for (const [uri, changedAt] of this.urisChangedAt) {
      if (changedAt > startedAt && concerns(uri)(argument)) return true
    }
    return false
  }

  private tellAll(): void {
    for (const methods of changedBy.values()) {
      for (const method of methods) this.tell(method)
    }
  }

  private tell(method: string): void {
    if (this.listeners === undefined) return
    for (const listener of this.listeners) listener(method)
  }

  // ------------------------------------------------------------------------------------------------------------------
  // For whom
  // ------------------------------------------------------------------------------------------------------------------

  /** Whom an answer belongs to that was sent under this evidence, if the next request is sure to be theirs, too. */
  private bindingOf(evidence: Transport.Evidence | undefined): string | undefined {
    if (evidence === undefined || evidence.authorization === "unknown") return undefined
    if (evidence.authorization === "none") return this.owner ??= SecureRandom.uuidV4Unsafe()
    return evidence.isConfigured === true ? evidence.authorization : undefined
  }

  private keyOf(
    session: Session,
    parameters: string,
    method: string,
    argument: string | undefined,
    authorization: string | undefined
  ): ResultCache.Key {
    const { constantMetadata, revision } = session.agreement.terms
    const request = `${revision.version} ${constantMetadata} ${parameters}`
    return {
      server: this.server,
      method,
      argument,
      context: authorization === undefined ? request : `${authorization} ${request}`
    }
  }
}
