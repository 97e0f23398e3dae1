/** What a worker can measure, by name. */
import { bigLine } from "./measures/BigLine.ts"
import { idleSessions } from "./measures/IdleSessions.ts"
import { listing } from "./measures/Listing.ts"
import { load } from "./measures/Load.ts"
import { sequentialCalls } from "./measures/SequentialCalls.ts"
import { slowListener } from "./measures/SlowListener.ts"
import { spanCost } from "./measures/SpanCost.ts"

export interface Measures {
  readonly bigLine: typeof bigLine
  readonly idleSessions: typeof idleSessions
  readonly listing: typeof listing
  readonly load: typeof load
  readonly sequentialCalls: typeof sequentialCalls
  readonly slowListener: typeof slowListener
  readonly spanCost: typeof spanCost
}

/** Each measurement as a function of its input in JSON. */
export const takers: { readonly [K in keyof Measures]: (input: string) => Promise<unknown> } = {
  bigLine: (input) => bigLine(JSON.parse(input)),
  idleSessions: (input) => idleSessions(JSON.parse(input)),
  listing: (input) => listing(JSON.parse(input)),
  load: (input) => load(JSON.parse(input)),
  sequentialCalls: (input) => sequentialCalls(JSON.parse(input)),
  slowListener: (input) => slowListener(JSON.parse(input)),
  spanCost: (input) => spanCost(JSON.parse(input))
}

export const isMeasure = (name: string): name is keyof Measures => Object.hasOwn(takers, name)
