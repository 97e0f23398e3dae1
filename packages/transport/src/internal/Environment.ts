/**
 * The environment that a child process inherits from.
 */
import * as Context from "effect/Context"
import type * as Redacted from "effect/Redacted"

/**
 * What this process runs in: its environment variables and the name of its platform as Node gives it (`linux`,
 * `darwin`, `win32`).
 *
 * @category models
 * @since 0.1.0
 */
export interface HostEnvironment {
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly platform: string
}

interface ProcessLike {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly platform?: string
}

/**
 * The environment of this process. By default that of `globalThis.process`, which Node, Bun and Deno have; where there
 * is none, it is empty.
 *
 * @category services
 * @since 0.1.0
 */
export const HostEnvironment: Context.Reference<HostEnvironment> = Context.Reference<HostEnvironment>(
  "@mcp-effect/transport/HostEnvironment",
  {
    defaultValue: () => {
      const process = (globalThis as { readonly process?: ProcessLike }).process
      return { variables: process?.env ?? {}, platform: process?.platform ?? "unknown" }
    }
  }
)

/**
 * What a server inherits from the environment of this process: the variables that programs commonly need and that hold
 * no secrets (`safe`), all of them, none, or those of the given names.
 *
 * @category models
 * @since 0.1.0
 */
export type Inherit = "safe" | "all" | "none" | ReadonlyArray<string>

/**
 * Variables of the child, by name. `undefined` takes one out that would be inherited.
 *
 * @category models
 * @since 0.1.0
 */
export type Variables = Readonly<Record<string, string | Redacted.Redacted | undefined>>

/**
 * The variables that `inheritEnv: "safe"` lets through, besides those that start with `LC_` or `XDG_`: who and where
 * the user is, proxies, certificates, and what Windows programs cannot start without.
 *
 * @category models
 * @since 0.1.0
 */
export const safeVariables: ReadonlyArray<string> = [
  "HOME",
  "PATH",
  "SHELL",
  "TERM",
  "USER",
  "LOGNAME",
  "LANG",
  "TMPDIR",
  "TMP",
  "TEMP",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "USERPROFILE",
  "PATHEXT",
  "COMSPEC",
  "WINDIR",
  "HOMEDRIVE",
  "HOMEPATH",
  "USERNAME",
  "PROCESSOR_ARCHITECTURE"
]

const safePrefixes = ["LC_", "XDG_"]

/** Names of variables are compared without regard to case on Windows, and only there. */
const keyOn = (platform: string) => (name: string): string => platform === "win32" ? name.toUpperCase() : name

/** The environment of a child: what it inherits, with `variables` set or taken out. */
export const resolve = (host: HostEnvironment, inherit: Inherit, variables: Variables): Variables => {
  const key = keyOn(host.platform)
  const names = new Set((inherit === "safe" ? safeVariables : typeof inherit === "string" ? [] : inherit).map(key))
  const isInherited = (name: string): boolean =>
    inherit === "all" || names.has(name) ||
    (inherit === "safe" && safePrefixes.some((prefix) => name.startsWith(prefix)))
  const child = new Map<string, readonly [name: string, value: string | Redacted.Redacted]>()
  for (const [name, value] of Object.entries(host.variables)) {
    if (value !== undefined && isInherited(key(name))) child.set(key(name), [name, value])
  }
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) child.delete(key(name))
    else child.set(key(name), [name, value])
  }
  return Object.fromEntries(child.values())
}

/** The value of one variable of a child. */
export const valueOf = (
  variables: Variables,
  platform: string,
  name: string
): string | Redacted.Redacted | undefined => {
  const key = keyOn(platform)
  return Object.entries(variables).find(([other]) => key(other) === key(name))?.[1]
}

/** Whether a command says itself where it is, so that nothing is searched. */
export const isPath = (command: string, platform: string): boolean =>
  platform === "win32" ? /[\\/]|^[A-Za-z]:/.test(command) : command.includes("/")

/** The directories that a command is looked up in. */
export const searchPath = (command: string, variables: Variables, platform: string): ReadonlyArray<string> => {
  const path = isPath(command, platform) ? undefined : valueOf(variables, platform, "PATH")
  return typeof path === "string" ? path.split(platform === "win32" ? ";" : ":").filter((entry) => entry !== "") : []
}
