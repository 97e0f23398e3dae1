/**
 * Where a client keeps lists and resources for as long as their server says they stay fresh (2026-07-28
 * server/utilities/caching).
 *
 * **What is kept.** The pages of `tools/list`, `prompts/list`, `resources/list` and `resources/templates/list`, and the
 * results of `resources/read`, each with a positive `ttlMs`, counted from its receipt on the client's clock. A legacy
 * server has no `ttlMs`: its lists are kept until it says that they changed, where it declares `listChanged` and speaks
 * on one shared channel, so that this is sure to arrive. Over HTTP the stream for such messages may be missing, or break
 * unnoticed; there, and for resource templates, which have no declaration of their own, nothing is kept. Answers to
 * requests for which the server had to ask something are never kept.
 *
 * **For whom.** An answer is given only to a request that would carry the same things as the one that it answered: the
 * server, the method, the cursor or URI, the revision, and what the client puts into `_meta`: identity, capabilities and
 * the host's own members. Trace context and progress tokens are no part of it. Where that is not known before a request is
 * made, because an `around` hook may change it or `requestMetadata` is an Effect, nothing is kept.
 *
 * An answer whose `cacheScope` is `public` may be given to any such request. A `private` one, and every other, is bound to
 * the SHA-256 of the authorization that its own request went out with, as the transport saw it leave. What the *next*
 * request would carry cannot be seen before it leaves: a token may be renewed, or chosen anew for each user. So a
 * `private` answer is given again only if
 *
 * - the newest answer of this session, whatever it was an answer to, was sent under the same authorization, and
 * - that authorization was none, or the one that the transport itself is configured with, which does not change.
 *
 * With an HTTP client that adds the authorization (`@mcp-effect/auth`, for one) only `public` answers are therefore kept.
 * Without authorization a `private` answer stays with the client that got it, even in a cache that several share. Where
 * the transport cannot tell what was sent, nothing is kept; and a request that is refused for its authorization ends the
 * reuse of `private` answers until another is answered. Credentials elsewhere, such as cookies, keys in headers of their own
 * or TLS certificates, are not looked at: a client stands for one of those.
 *
 * **Until when.** Notifications drop what they concern before anybody hears of them, and what was under way at that moment
 * is not kept. A cursor that the server rejects drops its list. A new connection begins with nothing.
 *
 * What is kept is frozen, all the way down, since everybody is given the same objects: a list of a thousand tools costs
 * nothing to give again, and what was worked out for a schema is found by the same object. Freezing that list once takes
 * a third of the time that parsing it does; copying it, each time, four times as long.
 *
 * @since 0.1.0
 */
import type { Caching } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/**
 * The lists that are kept.
 *
 * @category models
 * @since 0.1.0
 */
export type ListKind = "tools" | "prompts" | "resources" | "resourceTemplates"

/**
 * What is known of the freshness of something that is kept. A list is as fresh as the page of it that goes stale first,
 * and `private` if one of its pages is.
 *
 * @category models
 * @since 0.1.0
 */
export interface CacheInfo extends Caching.CacheHints {
  /** When it was received, in milliseconds since 1970. */
  readonly receivedAt: number
  readonly fresh: boolean
}

/**
 * What tells one answer from another.
 *
 * @category models
 * @since 0.1.0
 */
export interface Key {
  /** The server, by the fingerprint of its transport. */
  readonly server: string
  readonly method: string
  /** The URI of a read, or the cursor of a page; `undefined` for the first page. */
  readonly argument: string | undefined
  /** What else the answer may depend on: the rest of the request and, for `private` ones, the authorization. */
  readonly context: string
}

/**
 * An answer that is kept.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry extends Caching.CacheHints {
  /** `Infinity` where the server announces changes. */
  readonly ttlMs: number
  /** In milliseconds since 1970. */
  readonly receivedAt: number
  readonly value: unknown
}

/**
 * A place for answers. Whoever provides another than the one in memory decides how much it holds and how long; entries
 * that are no longer fresh may be dropped at any time.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResultCache {
  readonly get: (key: Key) => Entry | undefined
  readonly set: (key: Key, entry: Entry) => void
  readonly remove: (key: Key) => void
  /** Drops what is kept of a server: everything, all of one method, or what was asked for with these arguments. */
  readonly invalidate: (server: string, method?: string, concerns?: (argument: string | undefined) => boolean) => void
}

/**
 * How many reads are kept in memory by default.
 *
 * @category models
 * @since 0.1.0
 */
export const defaultMaxReads = 64

/**
 * How many pages of lists are kept in memory by default.
 *
 * @category models
 * @since 0.1.0
 */
export const defaultMaxPages = 256

/**
 * Tells whether an entry is fresh at a moment. A clock that was set back makes it stale.
 *
 * @category guards
 * @since 0.1.0
 */
export const isFresh = (entry: Entry, now: number): boolean =>
  entry.receivedAt <= now && now < entry.receivedAt + entry.ttlMs

interface Kept {
  readonly key: Key
  readonly entry: Entry
}

/** Entries in the order they came, up to a number. */
class Shelf {
  private readonly capacity: number
  private readonly kept = new Map<string, Kept>()

  constructor(capacity: number) {
    this.capacity = capacity
  }

  get(key: Key): Entry | undefined {
    return this.kept.get(this.nameOf(key))?.entry
  }

  set(key: Key, entry: Entry): void {
    const name = this.nameOf(key)
    this.kept.delete(name)
    if (this.kept.size >= this.capacity) this.makeRoom(entry.receivedAt)
    if (this.kept.size < this.capacity) this.kept.set(name, { key, entry })
  }

  remove(key: Key): void {
    this.kept.delete(this.nameOf(key))
  }

  removeWhere(concerns: (key: Key) => boolean): void {
    for (const [name, { key }] of this.kept) {
      if (concerns(key)) this.kept.delete(name)
    }
  }

  /** What is stale goes first, then what came first. */
  private makeRoom(now: number): void {
    for (const [name, { entry }] of this.kept) {
      if (!isFresh(entry, now)) this.kept.delete(name)
    }
    if (this.kept.size < this.capacity) return
    const [oldest] = this.kept.keys()
    if (oldest !== undefined) this.kept.delete(oldest)
  }

  private nameOf({ argument, context, method, server }: Key): string {
    return JSON.stringify([server, method, argument ?? null, context])
  }
}

/**
 * Creates a cache in memory. When it is full, what is stale makes room first, then what has been kept longest.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: {
  /** @default 64 */
  readonly maxReads?: number | undefined
  /** @default 256 */
  readonly maxPages?: number | undefined
}): ResultCache => {
  const reads = new Shelf(options?.maxReads ?? defaultMaxReads)
  const pages = new Shelf(options?.maxPages ?? defaultMaxPages)
  const shelfOf = (key: Key): Shelf => key.method === "resources/read" ? reads : pages
  return {
    get: (key) => shelfOf(key).get(key),
    set: (key, entry) => shelfOf(key).set(key, entry),
    remove: (key) => shelfOf(key).remove(key),
    invalidate: (server, method, concerns) => {
      const isConcerned = (key: Key): boolean =>
        key.server === server && (method === undefined || key.method === method)
        && (concerns === undefined || concerns(key.argument))
      reads.removeWhere(isConcerned)
      pages.removeWhere(isConcerned)
    }
  }
}

/**
 * The cache of the clients that are made where it is provided. By default each client has one of its own in memory.
 *
 * @category references
 * @since 0.1.0
 */
export const ResultCache: Context.Reference<ResultCache | undefined> = Context.Reference<ResultCache | undefined>(
  "@mcp-effect/client/ResultCache",
  { defaultValue: () => undefined }
)

/**
 * Lets the clients that are built on it share what they keep: answers that are `public`, and `private` ones that were
 * sent under the same authorization.
 *
 * The fingerprint of a transport holds the names of environment variables and headers, not their values. Clients whose
 * values make them see different things must not share a cache.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Parameters<typeof make>[0]): Layer.Layer<never> =>
  Layer.sync(ResultCache, () => make(options))
