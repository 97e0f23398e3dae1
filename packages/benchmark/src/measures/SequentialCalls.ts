/** Many calls over HTTP, one after the other, under one abort signal: what they leave behind. */
import { getEventListeners } from "node:events"
import type { Target } from "../Subject.ts"
import { type SubjectName, subjects } from "../Subjects.ts"

export interface SequentialInput {
  readonly subject: SubjectName
  readonly target: Target
  readonly calls: number
}

export interface Sequential {
  /** Growth of the heap from the first third of the calls to their end, each after a collection. */
  readonly heapGrowthKilobytes: number
  /** Most abort listeners that were seen on the caller's signal. */
  readonly peakListeners: number
  /** Abort listeners that are left on it. */
  readonly leftListeners: number
  /** Warnings of the process, such as `MaxListenersExceededWarning`. */
  readonly warnings: number
}

// The second collection takes what finalizers of the first let go.
const heapKilobytes = async (): Promise<number> => {
  for (let round = 0; round < 2; round++) {
    await new Promise((resolve) => setImmediate(resolve))
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed / 1_024
}

export const sequentialCalls = async ({ calls, subject, target }: SequentialInput): Promise<Sequential> => {
  let warnings = 0
  process.on("warning", () => warnings++)
  const client = await (await subjects[subject]()).open(target, "modern")
  const { signal } = new AbortController()
  let peakListeners = 0
  const run = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const call = client.call(signal)
      peakListeners = Math.max(peakListeners, getEventListeners(signal, "abort").length)
      await call
    }
  }
  const third = Math.ceil(calls / 3)
  await run(third)
  const before = await heapKilobytes()
  await run(calls - third)
  const after = await heapKilobytes()
  const leftListeners = getEventListeners(signal, "abort").length
  await client.close()
  return { heapGrowthKilobytes: after - before, peakListeners, leftListeners, warnings }
}
