/**
 * When a token runs out, and when to replace it.
 */
import type { Token } from "./Records.ts"

type Times = Pick<Token, "issuedAt" | "expiresAt">

const leastMarginMillis = 60_000
const marginShare = 0.1

/** Nobody accepts it any more. */
export const isExpired = ({ expiresAt }: Times, now: number): boolean => expiresAt !== undefined && now >= expiresAt

/**
 * It runs out soon: within a minute or a tenth of its lifetime, whichever is longer. Of a token that lives shorter than
 * two minutes it is the second half.
 */
export const isDue = ({ expiresAt, issuedAt }: Times, now: number): boolean => {
  if (expiresAt === undefined) return false
  const lifetime = Math.max(0, expiresAt - issuedAt)
  return now >= expiresAt - Math.min(Math.max(leastMarginMillis, lifetime * marginShare), lifetime / 2)
}
