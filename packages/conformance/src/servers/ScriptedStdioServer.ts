/** A server on stdio that does what the script in its argument says. */
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { answer, fill, receive, type Received, type Script, type Step, stepsFor } from "./Script.ts"

const script: Script = JSON.parse(process.argv[2] ?? "{}")

// A pipe that is full is waited for: exiting at once would lose what was written.
const write = (stream: NodeJS.WriteStream, text: string, times = 1): Promise<void> =>
  new Promise((resolve) => stream.write(text.repeat(times), () => resolve()))

const run = async (steps: ReadonlyArray<Step>, message: Received, count: number): Promise<void> => {
  for (const step of steps) {
    switch (step.kind) {
      case "hang":
        return
      case "wait":
        await sleep(step.millis)
        break
      case "exit":
        return process.exit(step.code)
      case "write":
        await write(process.stdout, fill(step.text, message, count), step.times)
        break
      case "complain":
        await write(process.stderr, fill(step.text, message, count), step.times)
        break
      default: {
        const text = answer(script, step, message, count)
        if (text !== undefined) await write(process.stdout, `${text}\n`)
      }
    }
  }
}

await run(script.start ?? [], {}, 0)
let received = 0
for await (const line of createInterface({ input: process.stdin })) {
  received += 1
  const message = receive(script, line)
  void run(stepsFor(script, message), message, received)
}
process.exit(0)
