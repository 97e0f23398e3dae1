/**
 * One page of a list (2026-07-28 server/utilities/pagination). Its items are checked one by one: a bad one is set aside
 * and does not hide the others.
 *
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Caching from "./Caching.ts"
import * as Decode from "./Decode.ts"
import type { Diagnostic } from "./Diagnostic.ts"
import * as Wire from "./internal/Wire.ts"
import { isJsonObject, type JsonObject } from "./Json.ts"
import { excerpt } from "./PeerText.ts"

/**
 * Schema of `PaginatedRequestParams`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PaginatedRequestParams = Schema.Struct({
  _meta: Wire.meta,
  /** `nextCursor` of the page before, as it came; `""` is a cursor like any other. */
  cursor: Schema.optional(Schema.String)
})

/**
 * Params of every `…/list`.
 *
 * @category models
 * @since 0.1.0
 */
export type PaginatedRequestParams = typeof PaginatedRequestParams.Type

/**
 * An item that was set aside: a diagnostic that also says where it stood. `path` leads to the fault from the result on.
 *
 * @category models
 * @since 0.1.0
 */
export type SetAside = Extract<Diagnostic, { readonly _tag: "InvalidItem" }> & { readonly index: number }

/**
 * One page of a list.
 *
 * @category models
 * @since 0.1.0
 */
export interface Page<out A> {
  readonly items: ReadonlyArray<A>
  readonly setAside: ReadonlyArray<SetAside>
  /** Asks for the next page. Absent on the last one; `""` is a cursor like any other. */
  readonly nextCursor: string | undefined
  readonly cache: Caching.CacheHints
}

const nameOf = (item: unknown): string | undefined => {
  const name = isJsonObject(item) && Object.hasOwn(item, "name") ? item["name"] : undefined
  return typeof name === "string" ? excerpt(name) : undefined
}

/**
 * Reads the answer to `method`, whose items stand under `key`. Refused is only what has no items at all, or a cursor that
 * is not a string.
 *
 * @category decoding
 * @since 0.1.0
 */
export const read = <A>(
  method: string,
  result: JsonObject,
  key: string,
  validate: Decode.Validator<A>
): Exit.Exit<Page<A>, Decode.DecodeIssue> => {
  const given = Object.hasOwn(result, key) ? result[key] : undefined
  if (!Array.isArray(given)) return Decode.refuse(`/${key}`, given === undefined ? "is missing" : "is not an array")
  const nextCursor = result["nextCursor"] ?? undefined
  if (nextCursor !== undefined && typeof nextCursor !== "string") return Decode.refuse("/nextCursor", "is not a string")
  const items: Array<A> = []
  const setAside: Array<SetAside> = []
  for (const [index, item] of given.entries()) {
    const exit = validate(item)
    if (Exit.isSuccess(exit)) {
      items.push(exit.value)
      continue
    }
    const { path, problem } = Decode.issueOf(exit)
    setAside.push({
      _tag: "InvalidItem",
      method,
      index,
      name: nameOf(item),
      path: `/${key}/${index}${path}`,
      problem
    })
  }
  return Exit.succeed({ items, setAside, nextCursor, cache: Caching.read(result) })
}
