/** What is measured: one way to talk to a server. */
import * as Effect from "effect/Effect"

export type Era = "legacy" | "modern"

export interface StdioTarget {
  readonly channel: "stdio"
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/** How the server is reached. */
export type Target = StdioTarget | { readonly channel: "http"; readonly url: string }

/** An open client. */
export interface Client {
  /** Calls `echo` once, cancellable by a signal where the client can do that, and checks the answer. */
  readonly call: (signal?: AbortSignal) => Promise<void>
  /** Calls `echo` so many times with so many calls in flight, and checks every answer. */
  readonly run: (calls: number, inFlight: number) => Promise<void>
  readonly close: () => Promise<void>
}

export interface Subject {
  readonly open: (target: Target, era: Era) => Promise<Client>
}

/** A client of a peer in the same process, which answers every `tools/list` with the same text. */
export interface MemorySubject {
  readonly open: (toolsResult: string) => Promise<{
    /** The number of tools listed. */
    readonly list: () => Promise<number>
    readonly close: () => Promise<void>
  }>
}

/** A client on stdio that takes messages of any size. */
export interface BigSubject {
  readonly open: (target: StdioTarget) => Promise<{
    /** Calls `big` and gives the length of its text. */
    readonly read: (megabytes: number) => Promise<number>
    readonly close: () => Promise<void>
  }>
}

/** 96 bytes that every answer has to repeat. */
export const message =
  "The quick brown fox jumps over the lazy dog, twice a day, and never asks the dog what it thinks."

export const check = (answer: unknown): void => {
  if (answer !== message) throw new Error(`a wrong answer: ${JSON.stringify(answer)}`)
}

/** Keeps promises in flight. */
export const runPromises = async (call: () => Promise<void>, calls: number, inFlight: number): Promise<void> => {
  let started = 0
  const worker = async (): Promise<void> => {
    while (started++ < calls) await call()
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}

/** Keeps effects in flight, with the same workers as `runPromises`. */
export const runEffects = <E>(call: Effect.Effect<void, E>, calls: number, inFlight: number): Promise<void> => {
  let started = 0
  const worker = Effect.gen(function*() {
    while (started++ < calls) yield* call
  })
  return Effect.runPromise(
    Effect.all(Array.from({ length: inFlight }, () => worker), { concurrency: "unbounded", discard: true })
  )
}
