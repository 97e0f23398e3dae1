/**
 * Starts the servers of others, and servers that misbehave, as real processes.
 *
 * A server on stdio is a `Command` for a transport to run. A server over HTTP runs in a scope: it is up when the Effect
 * that starts it succeeds, and its process group is gone when the scope closes.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Script } from "./servers/Script.ts"

/** What a transport needs to run a server on stdio. */
export interface Command {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>> | undefined
}

/** A server that listens. */
export interface Listening {
  readonly url: string
}

/** A server that did not come up. */
export class StartFailed extends Data.TaggedError("StartFailed")<{ readonly message: string }> {}

// =============================================================================
// Commands
// =============================================================================

// `process.execPath` and not `node`: what is first on the path may be an older Node.
const node = (...args: ReadonlyArray<string>): Command => ({ command: process.execPath, args })

const ours = (file: string, ...args: ReadonlyArray<string>): Command =>
  node(fileURLToPath(new URL(`servers/${file}`, import.meta.url)), ...args)

/** The program behind the `bin` entry of an installed package. */
const bin = (name: string, ...args: ReadonlyArray<string>): Command => {
  for (let directory = import.meta.dirname; directory !== dirname(directory); directory = dirname(directory)) {
    const folder = join(directory, "node_modules", name)
    const manifest = readIfThere(join(folder, "package.json"))
    if (manifest === undefined) continue
    const [program] = Object.values<string>(JSON.parse(manifest).bin)
    if (program !== undefined) return node(join(folder, program), ...args)
  }
  throw new Error(`${name} has no program here`)
}

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/** `@modelcontextprotocol/server` 2.x, both eras. */
export const dual: Command = ours("DualServer.ts")

/** `@modelcontextprotocol/server` 2.x, both eras, that asks before it answers. */
export const asking: Command = ours("AskingServer.ts")

/** Effect's `McpServer` in one revision, or in all five. */
export const effect = (revision?: string): Command =>
  ours("EffectServer.ts", ...revision === undefined ? [] : [revision])

/** `fastmcp`, legacy. */
export const fastMcp: Command = ours("FastMcpServer.ts")

/** `@modelcontextprotocol/server-everything`, legacy. */
export const everything: Command = bin("@modelcontextprotocol/server-everything", "stdio")

/** `@modelcontextprotocol/server-filesystem` with access to one directory, legacy. */
export const filesystem = (directory: string): Command => bin("@modelcontextprotocol/server-filesystem", directory)

/** `@modelcontextprotocol/server-memory` with its graph in a file, legacy. */
export const memory = (file: string): Command => ({
  ...bin("@modelcontextprotocol/server-memory"),
  env: { MEMORY_FILE_PATH: file }
})

/** A server whose calls become tasks of the extension. Everything that is said is added to a file. */
export const tasks = (transcript: string): Command => ours("TaskServer.ts", transcript)

/** A server that does what a script says. */
export const scripted = (script: Script): Command => ours("ScriptedStdioServer.ts", JSON.stringify(script))

/**
 * The same server started through a launcher, as `npx` is one: it passes on no signals. The ids of both processes are
 * written to a file, for `allGone`.
 */
export const launched = (pidFile: string, { args, command, env }: Command): Command => ({
  ...ours("Launcher.ts", pidFile, command, ...args),
  env
})

/** A process that outlived its connection. */
export class StillRunning extends Data.TaggedError("StillRunning")<{ readonly pids: ReadonlyArray<number> }> {}

/** Succeeds once every process of a `launched` server is gone. The kernel may take a moment after the leader's end. */
export const allGone = (pidFile: string): Effect.Effect<void, StillRunning> =>
  Effect.suspend(() => {
    const pids = readFileSync(pidFile, "utf8").trim().split("\n").map(Number).filter(isRunning)
    return pids.length === 0 ? Effect.void : Effect.fail(new StillRunning({ pids }))
  }).pipe(Effect.retry(Schedule.spaced("25 millis").pipe(Schedule.upTo({ duration: "10 seconds" }))))

// An orphan that nobody waits for stays in the process table as a zombie.
const isRunning = (pid: number): boolean => {
  const state = /\) (\w)/.exec(readIfThere(`/proc/${pid}/stat`) ?? "")?.[1]
  if (state !== undefined) return state !== "Z"
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

// =============================================================================
// Starting
// =============================================================================

const startTimeout = "60 seconds"
const shutdownGraceMillis = 5_000

type Start = Effect.Effect<Listening, StartFailed, Scope.Scope>

interface Output {
  text: string
  onText: (text: string) => void
}

const started = Effect.fnUntraced(function*(
  command: Command,
  ready: (output: Output) => Effect.Effect<string>
): Effect.fn.Return<Listening, StartFailed, Scope.Scope> {
  const output: Output = { text: "", onText: () => {} }
  const child = yield* Effect.acquireRelease(Effect.sync(() => spawnGroup(command, output)), endGroup)
  const exited = Effect.callback<never, StartFailed>((resume) => {
    child.once("close", () => resume(Effect.fail(new StartFailed({ message: `exited: ${output.text}` }))))
  })
  return yield* Effect.raceFirst(ready(output), exited).pipe(
    Effect.timeoutOrElse({
      duration: startTimeout,
      orElse: () => Effect.fail(new StartFailed({ message: `did not listen: ${output.text}` }))
    }),
    Effect.map((url) => ({ url }))
  )
})

// Standard input stays open while this process lives: a server that watches it ends with us, however we end.
const spawnGroup = ({ args, command, env }: Command, output: Output): ChildProcess => {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: "pipe", detached: true })
  const take = (chunk: string): void => {
    output.text = (output.text + chunk).slice(-8_192)
    output.onText(output.text)
  }
  child.stdout.setEncoding("utf8").on("data", take)
  child.stderr.setEncoding("utf8").on("data", take)
  child.on("error", ({ message }) => take(message))
  return child
}

const endGroup = (child: ChildProcess): Effect.Effect<void> =>
  Effect.promise(async () => {
    if (child.pid === undefined) return
    const exited = child.exitCode === null && child.signalCode === null ? once(child, "exit") : Promise.resolve()
    signalGroup(child.pid, "SIGTERM")
    const impatience = setTimeout(signalGroup, shutdownGraceMillis, child.pid, "SIGKILL")
    await exited
    clearTimeout(impatience)
    // What the leader started and left behind.
    signalGroup(child.pid, "SIGKILL")
  })

const signalGroup = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(-pid, signal)
  } catch {
    // ESRCH: the group is gone already.
  }
}

const freePort: Effect.Effect<number> = Effect.promise(async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  return typeof address === "object" && address !== null ? address.port : 0
})

// Not every server says when it listens.
const accepts = (port: number): Effect.Effect<void> =>
  Effect.callback<void, Error>((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("error", (error) => resume(Effect.fail(error))).once("connect", () => {
      socket.destroy()
      resume(Effect.void)
    })
    return Effect.sync(() => socket.destroy())
  }).pipe(Effect.retry(Schedule.spaced("25 millis")), Effect.orDie)

/** Starts a server that chooses its port and prints `listening <url>`. */
const startAnnounced = (command: Command): Start =>
  started(command, (output) =>
    Effect.callback<string>((resume) => {
      output.onText = (text) => {
        const url = /^listening (\S+)$/m.exec(text)?.[1]
        if (url !== undefined) resume(Effect.succeed(url))
      }
    }))

const guarded = ({ args, command, env }: Command): Command => ({ ...ours("Guardian.ts", command, ...args), env })

/** Starts a server of others, told its port. Another process may take the port meanwhile, so it is tried again. */
const startOnFreePort = (command: (port: number) => Command, path = "/mcp"): Start =>
  freePort.pipe(
    Effect.flatMap((port) =>
      started(guarded(command(port)), () => Effect.as(accepts(port), `http://127.0.0.1:${port}${path}`))
    ),
    Effect.retry({ times: 2 })
  )

// =============================================================================
// Servers over HTTP
// =============================================================================

/** `@modelcontextprotocol/server` 2.x over HTTP, both eras. */
export const dualHttp: Start = startAnnounced(ours("DualServer.ts", "http"))

/** `@modelcontextprotocol/server` 2.x over HTTP, both eras, that asks before it answers. */
export const askingHttp: Start = startAnnounced(ours("AskingServer.ts", "http"))

/** Effect's `McpServer` over HTTP, all five revisions at one URL. */
export const effectHttp: Start = startAnnounced(ours("EffectServer.ts", "http"))

/** `fastmcp` over HTTP, legacy with sessions. */
export const fastMcpHttp: Start = startOnFreePort((port) => ours("FastMcpServer.ts", "http", String(port)))

/** `@modelcontextprotocol/server-everything` over HTTP, legacy with sessions. */
export const everythingHttp: Start = startOnFreePort((port) => ({
  ...bin("@modelcontextprotocol/server-everything", "streamableHttp"),
  env: { PORT: String(port) }
}))

/** `@modelcontextprotocol/server-everything` over HTTP+SSE. */
export const everythingSse: Start = startOnFreePort((port) => ({
  ...bin("@modelcontextprotocol/server-everything", "sse"),
  env: { PORT: String(port) }
}), "/sse")

const proxy = (port: number, kind: "stream" | "sse"): Command => {
  const options = ["--host", "127.0.0.1", "--port", String(port), "--server", kind]
  return bin("mcp-proxy", ...options, "--", everything.command, ...everything.args)
}

/** `mcp-proxy` in front of `@modelcontextprotocol/server-everything`: both eras. */
export const proxyHttp: Start = startOnFreePort((port) => proxy(port, "stream"))

/** The same over HTTP+SSE. */
export const proxySse: Start = startOnFreePort((port) => proxy(port, "sse"), "/sse")

/** A server over HTTP whose calls become tasks of the extension. Everything that is said is added to a file. */
export const tasksHttp = (transcript: string): Start => startAnnounced(ours("TaskServer.ts", transcript, "http"))

/** A server over HTTP that does what a script says. */
export const scriptedHttp = (script: Script): Start =>
  startAnnounced(ours("ScriptedHttpServer.ts", JSON.stringify(script)))

/** A URL where nothing listens. */
export const refusedUrl: Effect.Effect<string> = Effect.map(freePort, (port) => `http://127.0.0.1:${port}/mcp`)
