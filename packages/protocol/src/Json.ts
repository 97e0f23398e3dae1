/**
 * JSON values as they come from a peer.
 *
 * @since 0.1.0
 */

/**
 * An object as `JSON.parse` gives it. Its keys are the peer's: read them by name, never spread them into an object
 * whose keys carry meaning.
 *
 * @category models
 * @since 0.1.0
 */
export interface JsonObject {
  readonly [key: string]: unknown
}

/**
 * Tells whether a parsed value is a JSON object, which neither `null` nor an array is.
 *
 * @category guards
 * @since 0.1.0
 */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Reads a member that must itself be an object; anything else counts as absent.
 *
 * @category accessors
 * @since 0.1.0
 */
export const objectMember = (object: JsonObject | undefined, key: string): JsonObject | undefined => {
  if (object === undefined || !Object.hasOwn(object, key)) return undefined
  const member = object[key]
  return isJsonObject(member) ? member : undefined
}
