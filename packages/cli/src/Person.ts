/**
 * The person at the terminal, where there is one who can be asked.
 */
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { systemError } from "effect/PlatformError"
import * as Terminal from "effect/Terminal"
import { usualColumns } from "./Output.ts"

export class Person extends Context.Service<Person, {
  /** Reads keys, and shows on standard error; `undefined` where nobody could see a question, or answer it. */
  readonly terminal: Terminal.Terminal | undefined
  readonly colors: boolean
}>()("@mcp-effect/cli/Person") {}

// While keys are read one by one, the terminal sends no signal for Ctrl-C. It ends the whole program, not the question
// alone, so the question stays until it is interrupted.
const quits = ({ key }: Terminal.UserInput): boolean => {
  if (key.ctrl && key.name === "c") {
    process.emit("SIGINT", "SIGINT")
    return false
  }
  return key.name === "escape" || (key.ctrl && key.name === "d")
}

const display = (text: string) =>
  Effect.callback<void, ReturnType<typeof systemError>>((resume) => {
    process.stderr.write(text, (error) => {
      resume(
        error === null || error === undefined
          ? Effect.void
          : Effect.fail(systemError({ _tag: "Unknown", module: "Terminal", method: "display", cause: error }))
      )
    })
  })

/** Asks on the terminal of this process. */
export const layer: Layer.Layer<Person> = Layer.effect(
  Person,
  Effect.gen(function*() {
    const colors = (process.env["NO_COLOR"] ?? "") === ""
    const canAsk = process.stdin.isTTY && process.stderr.isTTY && process.env["TERM"] !== "dumb"
    if (!canAsk) return { terminal: undefined, colors }
    const { readInput, readLine, rows, size } = yield* NodeTerminal.make(quits)
    return {
      terminal: Terminal.make({
        columns: Effect.sync(() => process.stderr.columns || usualColumns),
        rows,
        size,
        readInput,
        readLine,
        display
      }),
      colors
    }
  })
)
