/**
 * Which scopes to ask for.
 *
 * @since 0.1.0
 */

/**
 * The scopes of a `scope` parameter (RFC 6749 section 3.3).
 *
 * @category decoding
 * @since 0.1.0
 */
export const split = (scope: string | undefined): ReadonlyArray<string> =>
  scope === undefined ? [] : union(scope.split(/\s+/).filter((one) => one !== ""))

/**
 * Every scope of the lists once, in the order of their first occurrence.
 *
 * @category combinators
 * @since 0.1.0
 */
export const union = (
  ...lists: ReadonlyArray<ReadonlyArray<string>>
): ReadonlyArray<string> => [...new Set(lists.flat())]

/**
 * What the scopes of a request follow from.
 *
 * @category models
 * @since 0.1.0
 */
export interface Sources {
  /** `scope` of the challenge. */
  readonly challenged: string | undefined
  /** `scopes_supported` of the protected resource. */
  readonly resource: ReadonlyArray<string> | undefined
  /** What the host configured. */
  readonly configured: ReadonlyArray<string> | undefined
  /** What was asked for and granted before, by the same authorization server. */
  readonly previous: ReadonlyArray<string>
  /** `scopes_supported` of the authorization server. */
  readonly authorizationServer: ReadonlyArray<string> | undefined
}

const offlineAccess = "offline_access"

/**
 * The scopes to ask for: those of the challenge, else of the resource metadata, else the configured, together with what
 * was asked for before (2026-07-28 authorization, Scope Selection Strategy and Step-Up). `offline_access` is added where
 * the authorization server lists it and left out where it does not; without any other scope nothing is asked for.
 *
 * @category constructors
 * @since 0.1.0
 */
export const select = (sources: Sources): ReadonlyArray<string> => {
  const challenged = split(sources.challenged)
  const listed = sources.resource ?? []
  const wanted = challenged.length > 0 ? challenged : listed.length > 0 ? listed : sources.configured ?? []
  const scopes = union(sources.previous, wanted).filter((scope) => scope !== offlineAccess)
  const isOffered = sources.authorizationServer?.includes(offlineAccess) === true
  return isOffered && scopes.length > 0 ? [...scopes, offlineAccess] : scopes
}
