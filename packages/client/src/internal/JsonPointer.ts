/**
 * JSON pointers (RFC 6901).
 */

/** The pointer to a member or an item of what a pointer points to. */
export const child = (pointer: string, token: string | number): string =>
  typeof token === "number" ? `${pointer}/${token}` : `${pointer}/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`

/** The tokens of a pointer. */
export const tokens = (pointer: string): ReadonlyArray<string> =>
  pointer.split("/").slice(1).map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))

/** What a member or an item of a JSON value is, if the value has it. */
export const step = (value: unknown, token: string): unknown => {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(token) ? value[Number(token)] : undefined
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, token)) return undefined
  return Reflect.get(value, token)
}
