/** Runs one measurement in a process of its own, so that none inherits another's heap or compiled code. */
import { fork, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import type { Measures } from "./Measures.ts"
import type { StdioTarget } from "./Subject.ts"

const limitMillis = 300_000

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The bare server on stdio, for a client to start. */
export const stdioTarget: StdioTarget = {
  channel: "stdio",
  command: process.execPath,
  args: [file("servers/BareStdioServer.ts")]
}

/** Runs the bare server over HTTP while `use` runs. */
export const withHttpServer = async <A>(use: (origin: string) => Promise<A>): Promise<A> => {
  const server = spawn(process.execPath, [file("servers/BareHttpServer.ts")], { stdio: ["pipe", "pipe", "inherit"] })
  try {
    const [origin] = await once(createInterface({ input: server.stdout }), "line")
    return await use(String(origin))
  } finally {
    const exited = once(server, "exit")
    server.kill()
    await exited
  }
}

type Input<K extends keyof Measures> = Parameters<Measures[K]>[0]
type Output<K extends keyof Measures> = Awaited<ReturnType<Measures[K]>>

/** Takes one measurement in a fresh process. */
export const measure = async <K extends keyof Measures>(name: K, input: Input<K>): Promise<Output<K>> => {
  const child = fork(file("worker.ts"), [name, JSON.stringify(input)], {
    execArgv: [...process.execArgv, "--expose-gc"],
    signal: AbortSignal.timeout(limitMillis)
  })
  let output: Output<K> | undefined
  child.on("message", (value: Output<K>) => {
    output = value
  })
  const [code] = await once(child, "exit")
  if (output === undefined) throw new Error(`${name} of ${JSON.stringify(input)} ended with ${code} and no result`)
  return output
}
