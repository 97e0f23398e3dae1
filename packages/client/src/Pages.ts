/**
 * Lists, page by page (2026-07-28 server/utilities/pagination).
 *
 * A list that never ends, by a cursor that comes again or by too many pages, gives what it has and says so.
 *
 * @since 0.1.0
 */
import type { ListResult } from "@mcp-effect/protocol"
import type { RequestOptions } from "./ClientOptions.ts"

/**
 * How many pages a list may have.
 *
 * @category models
 * @since 0.1.0
 */
export const maxPages = 1_000

/**
 * How many items a list may have.
 *
 * @category models
 * @since 0.1.0
 */
export const maxItems = 100_000

/**
 * What one page is asked for with.
 *
 * @category models
 * @since 0.1.0
 */
export interface PageOptions extends RequestOptions {
  /** Where to begin: the `nextCursor` of an earlier page. An empty string is a cursor like any other. */
  readonly cursor?: string | undefined
}

/**
 * One page of a list: its items, those that were set aside, the cursor of the next page, and how long it stays fresh.
 *
 * @category models
 * @since 0.1.0
 */
export interface Page<out A> extends ListResult.Page<A> {
  /** Why the list ends with this page although the server names another. */
  readonly cutShort: "repeated-cursor" | "page-limit" | "item-limit" | undefined
}
