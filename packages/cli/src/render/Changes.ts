/**
 * What became of a list that is watched: what is new, what is gone and what is another.
 */
import * as TerminalText from "../TerminalText.ts"

const byKey = <A>(items: ReadonlyArray<A>, key: (item: A) => string): ReadonlyMap<string, string> =>
  new Map(items.map((item) => [key(item), JSON.stringify(item)]))

/** One line for each difference, in the order of the lists; none where they say the same. */
export const between = <A>(
  before: ReadonlyArray<A>,
  after: ReadonlyArray<A>,
  key: (item: A) => string
): ReadonlyArray<string> => {
  const old = byKey(before, key)
  const current = byKey(after, key)
  const line = (sign: string, name: string) => `${sign} ${TerminalText.oneLine(name)}`
  return [
    ...[...old.keys()].filter((name) => !current.has(name)).map((name) => line("-", name)),
    ...[...current].filter(([name]) => !old.has(name)).map(([name]) => line("+", name)),
    ...[...current].filter(([name, text]) => old.has(name) && old.get(name) !== text).map(([name]) => line("~", name))
  ]
}

/** The time of day here, as it stands before what happened then. */
export const timeOfDay = (millis: number): string => new Date(millis).toTimeString().slice(0, 8)
