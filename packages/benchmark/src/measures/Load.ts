/** Calls with so many in flight: throughput, processor time of this process per call, and its peak memory. */
import type { Era, Target } from "../Subject.ts"
import { type SubjectName, subjects } from "../Subjects.ts"

export interface LoadInput {
  readonly subject: SubjectName
  readonly target: Target
  readonly era: Era
  readonly inFlight: number
  /** Calls before the measurement, for the compiler to settle. */
  readonly warmUp: number
  readonly calls: number
}

export interface Load {
  readonly callsPerSecond: number
  readonly cpuMicrosPerCall: number
  readonly peakMegabytes: number
}

export const load = async ({ calls, era, inFlight, subject, target, warmUp }: LoadInput): Promise<Load> => {
  const client = await (await subjects[subject]()).open(target, era)
  await client.run(warmUp, inFlight)
  const cpu = process.cpuUsage()
  const start = performance.now()
  await client.run(calls, inFlight)
  const seconds = (performance.now() - start) / 1_000
  const { system, user } = process.cpuUsage(cpu)
  await client.close()
  return {
    callsPerSecond: calls / seconds,
    cpuMicrosPerCall: (user + system) / calls,
    peakMegabytes: process.resourceUsage().maxRSS / 1_024
  }
}
