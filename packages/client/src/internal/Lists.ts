/**
 * Walks the pages of a list by their cursors, and stops where a list does not. What is kept and fresh is not requested.
 */
import { type Diagnostic, ErrorCode, type Json, type ListResult, type McpError } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { maxItems, maxPages, type Page, type PageOptions } from "../Pages.ts"
import type * as ResultCache from "../ResultCache.ts"
import type { Calls, RunOptions } from "./Calls.ts"
import type { ResultCaching } from "./ResultCaching.ts"
import type { Session } from "./Session.ts"

/** A list that a server offers. */
export interface Listing<A> {
  /** All items over all pages, under one deadline. */
  readonly all: (options?: RunOptions) => Effect.Effect<ReadonlyArray<A>, McpError.McpError>
  /** The same as the server has it now, whatever is kept. */
  readonly anew: (options?: RunOptions) => Effect.Effect<ReadonlyArray<A>, McpError.McpError>
  readonly pages: (options?: PageOptions) => Stream.Stream<Page<A>, McpError.McpError>
  /** What is known of the freshness of the whole list, where it is kept. */
  readonly info: Effect.Effect<ResultCache.CacheInfo | undefined>
}

interface Walk {
  readonly seen: Set<string>
  /** Tells its pages from those of another walk, once one is kept. */
  id: symbol | undefined
  cursor: string | undefined
  pages: number
  items: number
}

/** A page as it is kept. A whole list is put together from pages of one walk only. */
interface KeptPage<A> {
  readonly page: ListResult.Page<A>
  readonly walk: symbol
}

interface KeptList<A> {
  readonly pages: ReadonlyArray<ListResult.Page<A>>
  readonly info: ResultCache.CacheInfo
}

const begin = (cursor: string | undefined): Walk => ({
  seen: new Set(cursor === undefined ? [] : [cursor]),
  id: undefined,
  cursor,
  pages: 0,
  items: 0
})

const itemsOf = <A>(pages: ReadonlyArray<ListResult.Page<A>>): ReadonlyArray<A> =>
  pages.length === 1 && pages[0] !== undefined ? pages[0].items : pages.flatMap(({ items }) => items)

/** "Invalid cursors SHOULD result in an error with code -32602" (2026-07-28 server/utilities/pagination). */
const isDeadCursor = ({ reason }: McpError.McpError): boolean =>
  reason._tag === "ServerError" && reason.code === ErrorCode.InvalidParams

/**
 * Whether a list that could not be had may be given as it was kept: "Clients MAY serve stale responses if errors occur"
 * (2026-07-28 server/utilities/caching). A refusal of the authorization has to reach whoever can mend it.
 */
const allowsStale = ({ reason }: McpError.McpError): boolean =>
  reason.isTransient && reason._tag !== "AuthorizationFailed"

export const make = <A>(options: {
  readonly method: string
  readonly read: (
    result: Json.JsonObject,
    session: Session
  ) => Exit.Exit<ListResult.Page<A>, McpError.McpErrorReason>
  readonly calls: Calls
  /** Keeps what may be kept; without it, nothing is. */
  readonly caching?: ResultCaching | undefined
  readonly onDiagnostic: (diagnostic: Diagnostic.Diagnostic) => void
  /** Hears of each page. */
  readonly onPage?: ((page: ListResult.Page<A>) => void) | undefined
  /** Hears of each list that was read from its beginning to its end. */
  readonly onAll?: ((pages: ReadonlyArray<ListResult.Page<A>>) => void) | undefined
}): Listing<A> => {
  const { caching, calls, method } = options
  /** What `onAll` heard of last: a list may have been kept by another client. */
  let told: ReadonlyArray<A> | undefined

  const tell = (pages: ReadonlyArray<ListResult.Page<A>>): void => {
    if (options.onAll === undefined || told === pages[0]?.items) return
    told = pages[0]?.items
    options.onAll(pages)
  }

  const advance = (walk: Walk, list: ListResult.Page<A>): Page<A> => {
    walk.pages++
    walk.items += list.items.length
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

  const fetch = (
    walk: Walk,
    request: RunOptions | undefined,
    fiber: Fiber.Fiber<unknown, unknown>
  ): Effect.Effect<Page<A>, McpError.McpError> => {
    const { cursor } = walk
    let flight = caching?.begin(calls.parameters(fiber, request))
    const decode = (result: Json.JsonObject, session: Session, evidence: Transport.Evidence) => {
      const read = options.read(result, session)
      if (caching !== undefined && Exit.isSuccess(read)) {
        const page = read.value
        const keep = (): KeptPage<A> => ({ page, walk: walk.id ??= Symbol() })
        caching.keep(flight, session, evidence, method, cursor, page.cache, keep)
      }
      return read
    }
    const fetched = Effect.map(
      calls.run(
        {
          method,
          params: cursor === undefined ? {} : { cursor },
          decode,
          onInputRequired: () => {
            flight = undefined
          }
        },
        // A caller's id names one request only.
        walk.pages === 0 ? request : { ...request, requestId: undefined }
      ),
      (list) => {
        for (const item of list.setAside) options.onDiagnostic(item)
        return advance(walk, list)
      }
    )
    if (cursor === undefined || caching === undefined) return fetched
    // The pages belong to a list that its server does not know any more (2026-07-28 server/utilities/caching).
    return Effect.tapError(fetched, (error) => Effect.sync(() => isDeadCursor(error) && caching.drop(method)))
  }

  /** Requests every page. */
  const load = (
    request: RunOptions | undefined,
    fiber: Fiber.Fiber<unknown, unknown>
  ): Effect.Effect<ReadonlyArray<A>, McpError.McpError> => {
    const limited = { ...request, deadlineAt: request?.deadlineAt ?? calls.deadlineAt(fiber, request) }
    const walkThrough = (isRestarted: boolean): Effect.Effect<ReadonlyArray<A>, McpError.McpError> => {
      const walk = begin(undefined)
      const pages: Array<Page<A>> = []
      const next: Effect.Effect<ReadonlyArray<A>, McpError.McpError> = Effect.suspend(() =>
        Effect.flatMap(fetch(walk, isRestarted ? { ...limited, requestId: undefined } : limited, fiber), (page) => {
          pages.push(page)
          if (walk.cursor === undefined) {
            if (page.cutShort === undefined) tell(pages)
            return Effect.succeed(itemsOf(pages))
          }
          if (isRestarted || pages.length > 1) return next
          return Effect.catch(next, (error) => isDeadCursor(error) ? walkThrough(true) : Effect.fail(error))
        })
      )
      return next
    }
    return walkThrough(false)
  }

  /** The whole list, where all of it is kept. */
  const kept = (parameters: string | undefined): KeptList<A> | undefined => {
    const session = calls.ready()
    const pages: Array<ListResult.Page<A>> = []
    let cursor: string | undefined
    let id: symbol | undefined
    let info: ResultCache.CacheInfo | undefined
    while (true) {
      const entry = caching?.find(session, parameters, method, cursor)
      if (caching === undefined || entry === undefined) return undefined
      const { page, walk } = entry.value as KeptPage<A>
      if ((id !== undefined && walk !== id) || pages.includes(page)) return undefined
      id = walk
      pages.push(page)
      info = caching.info(entry, info)
      if (page.nextCursor === undefined) return { pages, info }
      cursor = page.nextCursor
    }
  }

  return {
    all: (request) =>
      Effect.withFiber((fiber) => {
        // What was cancelled before it began fails as such.
        const parameters = request?.signal?.aborted === true ? undefined : calls.parameters(fiber, request)
        const list = kept(parameters)
        if (list === undefined) return load(request, fiber)
        if (list.info.fresh) {
          tell(list.pages)
          return Effect.succeed(itemsOf(list.pages))
        }
        return Effect.catch(load(request, fiber), (error) => {
          // It may have been dropped meanwhile.
          const stale = calls.ready()?.http === true && allowsStale(error) ? kept(parameters) : undefined
          if (caching === undefined || stale === undefined) return Effect.fail(error)
          options.onDiagnostic({
            _tag: "StaleListServed",
            method,
            ageMillis: caching.now() - stale.info.receivedAt,
            cause: error.reason._tag
          })
          return Effect.succeed(itemsOf(stale.pages))
        })
      }),
    anew: (request) =>
      Effect.withFiber((fiber) => {
        caching?.drop(method)
        return load(request, fiber)
      }),
    pages: (request) =>
      Stream.suspend(() =>
        Stream.paginate(begin(request?.cursor), (walk) =>
          Effect.map(
            Effect.withFiber((fiber) => {
              const parameters = request?.signal?.aborted === true ? undefined : calls.parameters(fiber, request)
              const entry = caching?.findFresh(calls.ready(), parameters, method, walk.cursor)
              if (entry === undefined) return fetch(walk, request, fiber)
              return Effect.succeed(advance(walk, (entry.value as KeptPage<A>).page))
            }),
            (page) => [[page], walk.cursor === undefined ? Option.none() : Option.some(walk)]
          ))
      ),
    info: Effect.withFiber((fiber) => Effect.succeed(kept(calls.parameters(fiber, undefined))?.info))
  }
}
