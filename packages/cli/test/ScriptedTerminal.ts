/**
 * A terminal at which a test sits: it presses keys that are known beforehand, and keeps what is shown.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Terminal from "effect/Terminal"

export const enter = "\r"
export const escape = "\u001b"
export const down = "\t"
/** Empties a line. */
export const clear = "\u0015"

const names = new Map([[enter, "return"], [escape, "escape"], [down, "tab"], [clear, "u"], [" ", "space"]])

// ECMA-48 section 5.4.
const controlSequence = new RegExp(`${escape}\\[[0-9;?]*[A-Za-z]`, "g")

export interface ScriptedTerminal {
  readonly terminal: Terminal.Terminal
  /** What was shown, without the sequences that move the cursor and erase. */
  readonly shown: () => string
}

/** Presses the keys one after the other. With Escape, or after the last one, nothing more comes. */
export const make = (keys: string): Effect.Effect<ScriptedTerminal> =>
  Effect.gen(function*() {
    const queue = yield* Queue.make<Terminal.UserInput, Cause.Done>()
    let text = ""
    for (const key of keys) {
      if (key === escape) break
      Queue.offerUnsafe(queue, {
        input: Option.some(key),
        key: { name: names.get(key) ?? key, ctrl: key === clear, meta: false, shift: false }
      })
    }
    Queue.endUnsafe(queue)
    return {
      terminal: Terminal.make({
        columns: Effect.succeed(80),
        rows: Effect.succeed(24),
        size: Effect.never,
        readInput: Effect.succeed(queue),
        readLine: Effect.never,
        display: (shown) =>
          Effect.sync(() => {
            text += shown
          })
      }),
      shown: () => text.replace(controlSequence, "")
    }
  })
