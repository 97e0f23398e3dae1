/** One message of so many megabytes on stdio, from the call to the parsed answer. */
import type { StdioTarget } from "../Subject.ts"
import { type BigSubjectName, bigSubjects } from "../Subjects.ts"

export interface BigLineInput {
  readonly subject: BigSubjectName
  readonly target: StdioTarget
  readonly megabytes: number
}

export interface BigLine {
  readonly millis: number
}

export const bigLine = async ({ megabytes, subject, target }: BigLineInput): Promise<BigLine> => {
  const reader = await (await bigSubjects[subject]()).open(target)
  // The first call pays for what is loaded and compiled once.
  await reader.read(1)
  const start = performance.now()
  const length = await reader.read(megabytes)
  const millis = performance.now() - start
  await reader.close()
  if (length !== megabytes * 1_000_000) throw new Error(`${length} characters instead of ${megabytes} million`)
  return { millis }
}
