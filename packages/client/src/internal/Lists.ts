/**
 * Walks the pages of a list by their cursors, and stops where a list does not.
 */
import type { Diagnostic, Json, ListResult, McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { maxItems, maxPages, type Page, type PageOptions } from "../Pages.ts"
import type { Calls, RunOptions } from "./Calls.ts"
import type { Session } from "./Session.ts"

/** A list that a server offers. */
export interface Listing<A> {
  /** All items over all pages, under one deadline. */
  readonly all: (options?: RunOptions) => Effect.Effect<ReadonlyArray<A>, McpError.McpError>
  readonly pages: (options?: PageOptions) => Stream.Stream<Page<A>, McpError.McpError>
}

interface Walk {
  readonly seen: Set<string>
  cursor: string | undefined
  pages: number
  items: number
}

export const make = <A>(options: {
  readonly method: string
  readonly read: (
    result: Json.JsonObject,
    session: Session
  ) => Exit.Exit<ListResult.Page<A>, McpError.McpErrorReason>
  readonly calls: Calls
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
  /** Hears of each page. */
  readonly onPage?: ((page: ListResult.Page<A>) => void) | undefined
  /** Hears of each list that was read from its beginning to its end. */
  readonly onAll?: ((pages: ReadonlyArray<ListResult.Page<A>>) => void) | undefined
}): Listing<A> => {
  const { method } = options

  const fetch = (walk: Walk, request: RunOptions | undefined): Effect.Effect<Page<A>, McpError.McpError> =>
    Effect.map(
      options.calls.run(
        {
          method,
          params: walk.cursor === undefined ? {} : { cursor: walk.cursor },
          decode: options.read
        },
        // A caller's id names one request only.
        walk.pages === 0 ? request : { ...request, requestId: undefined }
      ),
      (list) => {
        walk.pages++
        walk.items += list.items.length
        for (const item of list.setAside) options.onDiagnostic(item)
        const cursor = list.nextCursor
        const cutShort = cursor === undefined
          ? undefined
          : walk.seen.has(cursor)
          ? "repeated-cursor" as const
          : walk.pages >= maxPages
          ? "page-limit" as const
          : walk.items >= maxItems
          ? "item-limit" as const
          : undefined
        if (cutShort !== undefined) {
          options.onDiagnostic({ _tag: "ListCutShort", method, cause: cutShort, pages: walk.pages, items: walk.items })
        }
        if (cursor !== undefined) walk.seen.add(cursor)
        walk.cursor = cutShort === undefined ? cursor : undefined
        options.onPage?.(list)
        return { ...list, cutShort }
      }
    )

  const begin = (cursor: string | undefined): Walk => ({
    seen: new Set(cursor === undefined ? [] : [cursor]),
    cursor,
    pages: 0,
    items: 0
  })

  return {
    all: (request) =>
      Effect.withFiber((fiber) => {
        const walk = begin(undefined)
        const limited = { ...request, deadlineAt: request?.deadlineAt ?? options.calls.deadlineAt(fiber, request) }
        const pages: Array<Page<A>> = []
        const next: Effect.Effect<ReadonlyArray<A>, McpError.McpError> = Effect.suspend(() =>
          Effect.flatMap(fetch(walk, limited), (page) => {
            pages.push(page)
            if (walk.cursor !== undefined) return next
            if (page.cutShort === undefined) options.onAll?.(pages)
            return Effect.succeed(pages.length === 1 ? page.items : pages.flatMap(({ items }) => items))
          })
        )
        return next
      }),
    pages: (request) =>
      Stream.suspend(() =>
        Stream.paginate(begin(request?.cursor), (walk) =>
          Effect.map(fetch(walk, request), (page) => [
            [page],
            walk.cursor === undefined ? Option.none() : Option.some(walk)
          ]))
      )
  }
}
