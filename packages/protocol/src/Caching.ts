/**
 * How long a result stays fresh, and for whom (2026-07-28 server/utilities/caching).
 *
 * @since 0.1.0
 */
import type { JsonObject } from "./Json.ts"

/**
 * Who may be served a result that is kept: those with the authorization it was asked for with, or everybody.
 *
 * @category models
 * @since 0.1.0
 */
export type CacheScope = "private" | "public"

/**
 * What a result says of its freshness.
 *
 * @category models
 * @since 0.1.0
 */
export interface CacheHints {
  /** In milliseconds from the moment it was received; 0 is stale at once. */
  readonly ttlMs: number
  readonly cacheScope: CacheScope
}

/**
 * Reads what a result says of its freshness. "If `ttlMs` is absent, clients SHOULD assume 0 … negative values SHOULD be
 * treated as 0"; one that is not an integer counts as 0 too. A scope that is absent or unknown is `private`, the safe one.
 *
 * @category accessors
 * @since 0.1.0
 */
export const read = (result: JsonObject): CacheHints => {
  const ttlMs = result["ttlMs"]
  return {
    ttlMs: typeof ttlMs === "number" && Number.isInteger(ttlMs) && ttlMs > 0 ? ttlMs : 0,
    cacheScope: result["cacheScope"] === "public" ? "public" : "private"
  }
}
