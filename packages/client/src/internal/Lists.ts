/**
 * Walks the pages of a list by their cursors, and stops where a list does not.
 */
import type { Diagnostic, Json, ListResult, McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { RequestOptions } from "../ClientOptions.ts"
import { maxItems, maxPages, type Page, type PageOptions } from "../Pages.ts"
import type { Calls, RunOptions } from "./Calls.ts"

/** A list that a server offers. */
export interface Listing<A> {
  /** All items over all pages, under one deadline. */
  readonly all: (options?: RequestOptions) => Effect.Effect<ReadonlyArray<A>, McpError.McpError>
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
  readonly read: (result: Json.JsonObject) => Exit.Exit<ListResult.Page<A>, McpError.McpErrorReason>
  readonly calls: Calls
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
  /** Hears of each page: whether it is the first, and whether the list ends with it. */
  readonly onPage?: ((items: ReadonlyArray<A>, first: boolean, last: boolean) => void) | undefined
}): Listing<A> => {
  const { method } = options

  const fetch = (walk: Walk, request: RunOptions | undefined): Effect.Effect<Page<A>, McpError.McpError> =>
    Effect.map(
      options.calls.run(
        {
          method,
          params: walk.cursor === undefined ? {} : { cursor: walk.cursor },
          decode: (result) => options.read(result)
        },
        // A caller's id names one request only.
        walk.pages === 0 ? request : { ...request, requestId: undefined }
      ),
      (list) => {
        const first = walk.pages === 0
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
        options.onPage?.(list.items, first, walk.cursor === undefined)
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
        const limited = { ...request, deadlineAt: options.calls.deadlineAt(fiber, request) }
        const pages: Array<ReadonlyArray<A>> = []
        const next: Effect.Effect<ReadonlyArray<A>, McpError.McpError> = Effect.suspend(() =>
          Effect.flatMap(fetch(walk, limited), (page) => {
            pages.push(page.items)
            if (walk.cursor !== undefined) return next
            return Effect.succeed(pages.length === 1 ? page.items : pages.flat())
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
