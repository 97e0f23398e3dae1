/**
 * Runs a program to its exit code, and ends it when a signal says so.
 */
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import type { ChildProcess } from "node:child_process"
import { subscribe } from "node:diagnostics_channel"
import * as ExitCode from "./ExitCode.ts"

const exitCodes: ReadonlyArray<readonly [signal: NodeJS.Signals, code: number]> = [
  ["SIGINT", ExitCode.interrupted],
  ["SIGTERM", ExitCode.terminated],
  ["SIGHUP", ExitCode.hungUp]
]

// A server leads a process group of its own, which a signal from the terminal does not reach.
const killGroup = (child: ChildProcess): void => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(process.platform === "win32" ? child.pid : -child.pid, "SIGKILL")
  } catch {
    // It is gone already, or leads no group.
    child.kill("SIGKILL")
  }
}

const children = new Set<ChildProcess>()

const watchChildren = (): void =>
  subscribe("child_process", (message) => {
    const { process: child } = message as { readonly process: ChildProcess }
    children.add(child)
    child.once("exit", () => children.delete(child))
  })

/**
 * Runs a program whose result is the exit code of this process. The first signal interrupts it, so that the request
 * under way is cancelled and the server is closed; a second one ends everything at once.
 */
export const runMain = Runtime.makeRunMain(({ fiber }) => {
  let received: number | undefined
  watchChildren()
  for (const [signal, code] of exitCodes) {
    process.on(signal, () => {
      if (received !== undefined) {
        children.forEach(killGroup)
        process.exit(code)
      }
      received = code
      fiber.interruptUnsafe(fiber.id)
    })
  }
  fiber.addObserver((exit) => {
    const code = Exit.isSuccess(exit) && typeof exit.value === "number" ? exit.value : ExitCode.failed
    process.exit(received ?? code)
  })
})
