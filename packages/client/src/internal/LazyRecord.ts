/**
 * Records whose members are made when they are first asked for.
 *
 * A closure for each of many functions adds up where there are many records. These hold only what was asked for: their
 * accessors are the same functions for all of them, which also keeps all of them in one hidden class. The members are
 * own and enumerable, so that a record can be spread and taken apart like one that was written out.
 */

/** How each member of a record is made of what the record stands for. */
export type Makers<State, A> = { readonly [Name in keyof A]: (state: State) => A[Name] }

const stateOf = Symbol("state")
const madeOf = Symbol("made")

export const make = <State, A extends object>(makers: Makers<State, A>): (state: State) => A => {
  interface LazyRecord {
    readonly [stateOf]: State
    [madeOf]: Map<string, unknown> | undefined
  }
  const descriptors = Object.entries<(state: State) => unknown>(makers).map(([name, make]) => ({
    name,
    descriptor: {
      enumerable: true,
      get(this: LazyRecord): unknown {
        const made = this[madeOf] ??= new Map()
        if (!made.has(name)) made.set(name, make(this[stateOf]))
        return made.get(name)
      }
    }
  }))
  return (state) => {
    const record = {}
    Object.defineProperty(record, stateOf, { value: state })
    Object.defineProperty(record, madeOf, { value: undefined, writable: true })
    for (const { descriptor, name } of descriptors) Object.defineProperty(record, name, descriptor)
    return record as A
  }
}
