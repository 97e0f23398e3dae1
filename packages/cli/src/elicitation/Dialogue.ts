/**
 * A dialogue with the person at the terminal: one at a time, undisturbed by other output.
 */
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Terminal from "effect/Terminal"
import { Output } from "../Output.ts"
import * as TerminalText from "../TerminalText.ts"

const display = (text: string): Effect.Effect<void, never, Terminal.Terminal> =>
  Effect.flatMap(Terminal.Terminal, (terminal) => Effect.orDie(terminal.display(text)))

/** A server's own words, marked as such line by line: they could imitate what this program says. */
export const quote = (text: string): string =>
  TerminalText.escapeLines(text).split("\n").map((line) => `  | ${line}`).join("\n")

/** Shows lines, which must be fit for a terminal. */
export const say = (...lines: ReadonlyArray<string>): Effect.Effect<void, never, Terminal.Terminal> =>
  display(lines.map((line) => `${line}\n`).join(""))

/** Runs a dialogue, which fails with `QuitError` when the person leaves it by Esc or Ctrl-D. */
export const hold = <A, E, R>(
  terminal: Terminal.Terminal,
  colors: boolean,
  dialogue: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, Terminal.Terminal> | Output> =>
  Effect.flatMap(Output, ({ exclusively }) =>
    exclusively(Effect.scoped(Effect.gen(function*() {
      // One reader for all questions, so that nothing typed ahead is lost between two of them.
      const keys = yield* terminal.readInput
      return yield* dialogue.pipe(
        // A question that was left stands unfinished on its line.
        Effect.onExit((exit) => Exit.isSuccess(exit) ? Effect.void : display("\n")),
        Effect.provideService(Terminal.Terminal, Terminal.make({ ...terminal, readInput: Effect.succeed(keys) })),
        Effect.provideService(Prompt.Theme, Prompt.makeTheme({ colors }))
      )
    }))))
