/**
 * Servers whose process ends when it is probed, so that the next one is not probed (core decision 14).
 *
 * A bounded memory of this process: the oldest verdict goes first.
 */
import * as Context from "effect/Context"

/** How many servers are remembered. */
const capacity = 1_000

export interface EraCache {
  readonly endsOnProbe: (fingerprint: string) => boolean
  readonly remember: (fingerprint: string) => void
}

export const make = (): EraCache => {
  const fingerprints = new Set<string>()
  return {
    endsOnProbe: (fingerprint) => fingerprints.has(fingerprint),
    remember: (fingerprint) => {
      fingerprints.delete(fingerprint)
      fingerprints.add(fingerprint)
      if (fingerprints.size > capacity) {
        for (const oldest of fingerprints) {
          fingerprints.delete(oldest)
          break
        }
      }
    }
  }
}

export const EraCache: Context.Reference<EraCache> = Context.Reference<EraCache>(
  "@mcp-effect/client/internal/EraCache",
  { defaultValue: make }
)
