/** Sessions in the same process that were opened and do nothing: what each one weighs. */
import { type MemorySubjectName, memorySubjects } from "../Subjects.ts"

export interface IdleInput {
  readonly subject: MemorySubjectName
  readonly sessions: number
}

export interface Idle {
  readonly kilobytesEach: number
}

const noTools = "{\"tools\":[]}"

const heapKilobytes = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1_024
}

export const idleSessions = async ({ sessions, subject }: IdleInput): Promise<Idle> => {
  const { open } = await memorySubjects[subject]()
  // What is loaded and compiled once is not counted.
  await (await open(noTools)).close()
  const opened = []
  const before = heapKilobytes()
  for (let index = 0; index < sessions; index++) opened.push(await open(noTools))
  const kilobytesEach = (heapKilobytes() - before) / sessions
  for (const session of opened) await session.close()
  return { kilobytesEach }
}
