/**
 * A server in a child process: one JSON-RPC message a line on its stdin and stdout (2026-07-28 basic/transports/stdio).
 *
 * Every connection is a process of its own, started without a shell, in a process group of its own. Closing the scope
 * closes its stdin, waits, ends the whole group by SIGTERM and then SIGKILL, and returns when the process is gone.
 *
 * @since 0.1.0
 */
import { McpError } from "@mcp-effect/protocol"
import * as Config from "effect/Config"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Redacted from "effect/Redacted"
import * as Environment from "./internal/Environment.ts"
import * as Launch from "./internal/Launch.ts"
import * as ProcessOutcome from "./internal/ProcessOutcome.ts"
import * as ServerProcess from "./internal/ServerProcess.ts"
import { type Inbound, Transport } from "./Transport.ts"

export { HostEnvironment, type Inherit, safeVariables, type Variables } from "./internal/Environment.ts"

/**
 * How to start a server.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The program: a name that is looked up in the child's `PATH`, or a path. No shell is involved, so that nothing in it
   * or in `args` is interpreted. On Windows, where `npx` and its like are batch files, these are found through
   * `PATHEXT` and run by `cmd.exe` with every argument quoted; that needs a `FileSystem` beside the
   * `ChildProcessSpawner`, and both are in `NodeServices`.
   */
  readonly command: string
  /** @default [] */
  readonly args?: ReadonlyArray<string | Redacted.Redacted> | undefined
  /**
   * What the server is called in errors and in logs.
   *
   * @default the command
   */
  readonly name?: string | undefined
  /**
   * The working directory.
   *
   * @default that of this process
   */
  readonly cwd?: string | undefined
  /**
   * Variables of the child, besides those it inherits. `undefined` takes one out that would be inherited.
   *
   * @default {}
   */
  readonly env?: Environment.Variables | undefined
  /**
   * What the child inherits from the environment of this process: `safe` is what programs commonly need and holds no
   * secrets (`safeVariables`, and what starts with `LC_` or `XDG_`), `all` is everything, `none` nothing, and a list
   * names the variables.
   *
   * @default "safe"
   */
  readonly inheritEnv?: Environment.Inherit | undefined
  /**
   * What becomes of the child's stderr. `capture`: it is logged by line at debug level, and its last 4 kB stand in the
   * error that reports the child's end; values given as `Redacted` are left out of both. `inherit`: it goes to the
   * stderr of this process. `ignore`: it goes nowhere.
   *
   * @default "capture"
   */
  readonly stderr?: "capture" | "inherit" | "ignore" | undefined
  /**
   * Takes each captured line of stderr, escaped, in order. The next lines are read when it is done: one that does not
   * end stops a server that writes much.
   */
  readonly onStderr?: ((line: string) => Effect.Effect<void>) | undefined
  /**
   * The largest message taken from the child, in bytes. A larger one fails its own request and is not kept.
   *
   * @default 67_108_864 (64 MiB)
   */
  readonly maxMessageBytes?: number | undefined
  /**
   * How much may wait for a child that does not read, in UTF-16 units: bytes, as far as it is ASCII. A request beyond
   * it fails unsent.
   *
   * @default 67_108_864 (64 MiB)
   */
  readonly maxOutboxBytes?: number | undefined
  readonly shutdown?: {
    /**
     * How long the child may take to exit once its stdin is closed, before it gets SIGTERM.
     *
     * @default 2 seconds
     */
    readonly exitWithin?: Duration.Input | undefined
    /**
     * How long the child and what it started may take to exit after SIGTERM, before they get SIGKILL.
     *
     * @default 2 seconds
     */
    readonly forceKillAfter?: Duration.Input | undefined
  } | undefined
}

const defaultLimitBytes = 64 * 1024 * 1024
const defaultGrace = "2 seconds"

/** Command, arguments, directory and names of variables tell one configuration from another; values stay out. */
const fingerprintOf = ({ args = [], command, cwd, env = {}, inheritEnv = "safe" }: Options): string =>
  JSON.stringify(["stdio", command, args.map(String), cwd ?? null, Object.keys(env).sort(), inheritEnv])

/**
 * Creates the transport. Connecting fails with `SpawnFailed` when the command cannot be started.
 *
 * `target` is the name or the command. `fingerprint` is readable: it holds the command, the arguments (`<redacted>` for those given
 * as `Redacted`), the working directory and the names of the variables, not their values.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Transport["Service"], never, ChildProcessSpawner> =>
  Effect.gen(function*() {
    const spawner = yield* ChildProcessSpawner
    const fileSystem = yield* Effect.serviceOption(FileSystem.FileSystem)
    const host = yield* Environment.HostEnvironment
    const { args = [], command, cwd, env = {}, inheritEnv = "safe", shutdown, stderr = "capture" } = options
    const server = options.name ?? command
    const secrets = [...args, ...Object.values(env)].filter((value) => Redacted.isRedacted(value)).map(Launch.reveal)

    const open = (inbound: Inbound): Effect.Effect<ServerProcess.ServerProcess, McpError.McpError> =>
      Effect.gen(function*() {
        const variables = Environment.resolve(host, inheritEnv, env)
        const searched = Environment.searchPath(command, variables, host.platform)
        const launched = { command, cwd, searched }
        const launch = yield* Launch.make({
          ...launched,
          args,
          platform: host.platform,
          settings: {
            cwd,
            env: variables,
            stderr: stderr === "capture" ? "pipe" : stderr,
            forceKillAfter: shutdown?.forceKillAfter ?? defaultGrace
          },
          fileSystem: Option.getOrUndefined(fileSystem)
        })
        return yield* ServerProcess.open(spawner, {
          target: server,
          command: launch,
          inbound,
          maxMessageBytes: options.maxMessageBytes ?? defaultLimitBytes,
          maxOutboxBytes: options.maxOutboxBytes ?? defaultLimitBytes,
          exitWithin: shutdown?.exitWithin ?? defaultGrace,
          secrets,
          onStderr: options.onStderr ?? (() => Effect.void)
        }).pipe(Effect.mapError((failure) => ProcessOutcome.spawnFailed(failure, launched)))
      }).pipe(Effect.mapError((reason) => McpError.make(reason, "unsent", { server })))

    return Transport.of({
      kind: "stdio",
      target: server,
      fingerprint: fingerprintOf(options),
      connect: (inbound) =>
        Effect.map(
          Effect.acquireRelease(open(inbound), (process) => process.shutdown),
          (process) => process.connection
        )
    })
  })

/**
 * The transport as a layer.
 *
 * **Example** (A server started by npx)
 *
 * ```ts
 * import { StdioTransport } from "@mcp-effect/transport"
 * import { Redacted } from "effect"
 *
 * const GitHub = StdioTransport.layer({
 *   command: "npx",
 *   args: ["-y", "@modelcontextprotocol/server-github"],
 *   env: { GITHUB_PERSONAL_ACCESS_TOKEN: Redacted.make("...") }
 * })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Transport, never, ChildProcessSpawner> =>
  Layer.effect(Transport, make(options))

/**
 * The transport as a layer whose options come from a `Config`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Config.Wrap<Options>
): Layer.Layer<Transport, Config.ConfigError, ChildProcessSpawner> =>
  Layer.effect(Transport, Effect.flatMap(Config.unwrap<Options>(options), make))
