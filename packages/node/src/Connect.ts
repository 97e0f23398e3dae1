/**
 * The short way to a server: by a command or by a URL, with everything wired that Node needs.
 *
 * **Example** (Listing the tools of a server)
 *
 * ```ts
 * import { Console, Effect } from "effect"
 * import { Connect } from "@mcp-effect/node"
 *
 * const program = Effect.gen(function*() {
 *   const client = yield* Connect.connect("npx -y @modelcontextprotocol/server-filesystem .")
 *   for (const tool of yield* client.listTools()) yield* Console.log(tool.name)
 * }).pipe(Effect.scoped)
 * ```
 *
 * One target is one server. An application with several gives each a tag of its own (`McpClient.Service`), and its
 * transport by {@link layerTransport}.
 *
 * @since 0.1.0
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { type ClientOptions, McpClient } from "@mcp-effect/client"
import { McpError } from "@mcp-effect/protocol"
import {
  DetectHttpTransport,
  HttpTransport,
  SseTransport,
  StdioTransport,
  StreamableHttpTransport,
  type Transport
} from "@mcp-effect/transport"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as CommandText from "./internal/CommandText.ts"
import * as NodeHttp from "./NodeHttp.ts"
import type * as NodeOAuth from "./NodeOAuth.ts"

// ====================================================================================================================
// Models
// ====================================================================================================================

/**
 * Where a server is. {@link detect} has the table.
 *
 * @category models
 * @since 0.1.0
 */
export type Target = string | URL | ReadonlyArray<string> | StdioTransport.Options

/**
 * How a server is reached: what {@link detect} makes of a target.
 *
 * @category models
 * @since 0.1.0
 */
export type Detected =
  | { readonly _tag: "Stdio"; readonly command: StdioTransport.Options }
  | { readonly _tag: "StreamableHttp" | "Http" | "Sse" | "DetectHttp"; readonly url: string }

/**
 * What the transport to a server can be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface TransportOptions {
  /**
   * The transport to use, whatever the target looks like. `sse` is the HTTP+SSE of 2024-11-05, which the protocol has
   * deprecated; `http` is Streamable HTTP without compression and without a stream for what belongs to no request.
   *
   * @default what `detect` finds
   */
  readonly transport?: "stdio" | "streamable-http" | "sse" | "http" | undefined
  /**
   * The era that is spoken. HTTP+SSE has none but the legacy one: with `modern` a path that ends in `/sse` says nothing,
   * no other transport is tried where Streamable HTTP fails, and `transport: "sse"` is refused.
   *
   * @default "auto"
   */
  readonly protocol?: ClientOptions.ClientOptions["protocol"]
  /**
   * What the server is called in errors and in logs.
   *
   * @default the command, or the URL without its query
   */
  readonly name?: string | undefined
  /**
   * Headers for every request over HTTP. Refused for a command.
   *
   * @default none
   */
  readonly headers?: StreamableHttpTransport.Options["headers"]
  /**
   * Variables for the process of a command, on top of what it inherits. Refused for a URL.
   *
   * @default none
   */
  readonly env?: StdioTransport.Options["env"]
  /**
   * Which variables of this process a command inherits. Unused over HTTP.
   *
   * @default "safe"
   */
  readonly inheritEnv?: StdioTransport.Options["inheritEnv"]
  /**
   * The working directory of a command. Unused over HTTP.
   *
   * @default the one of this process
   */
  readonly cwd?: string | undefined
  /**
   * Certificates to trust and to present. Unused by a command.
   *
   * @default those of Node
   */
  readonly tls?: NodeHttp.Options["tls"]
  /**
   * The proxies in between. Unused by a command.
   *
   * @default "environment": what `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` name
   */
  readonly proxy?: NodeHttp.Options["proxy"]
  /**
   * Signs in where a server wants it, see `NodeOAuth`: `{}` does it with the browser of this machine and keeps tokens in
   * a file of the user. Its own requests go by `proxy` and `tls` as well, and `oauth.server` is the URL unless it is
   * given. A server to which `headers` present an `authorization` is not signed in to. Refused for a command.
   *
   * @default none: a server that wants it fails with `Unauthorized`
   */
  readonly oauth?: NodeOAuth.Options | undefined
  /**
   * How long the stream of HTTP+SSE may be silent before the server is pinged. Unused by other transports.
   *
   * @default 10 seconds
   */
  readonly pingInterval?: SseTransport.Options["pingInterval"]
  /**
   * The largest message that is taken from the server, in bytes after decompression. A larger one fails its own request
   * and leaves the connection standing.
   *
   * @default 67_108_864 (64 MiB), and 33_554_432 (32 MiB) for one event of a response stream
   */
  readonly maxMessageBytes?: number | undefined
}

/**
 * What a connection can be told: everything a client and its transport can. `R` is what the client's handlers require.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<in out R = never> extends ClientOptions.ClientOptions<R>, TransportOptions {}

// ====================================================================================================================
// Detection
// ====================================================================================================================

const isArray = (target: Target): target is ReadonlyArray<string> => Array.isArray(target)

const forms =
  "give an http(s) URL, a command that starts with a known launcher (\"npx -y some-server\"), \"stdio://\" and "
  + "any other command, an array of a command and its arguments, or { command, args, env, cwd }"

const invalid = (path: string, problem: string): Result.Result<never, McpError.McpError> =>
  Result.fail(McpError.make(new McpError.InvalidRequest({ problem, path }), "unsent"))

const unusable = (problem: string): Result.Result<never, McpError.McpError> => invalid("target", `${problem}; ${forms}`)

const stdio = (command: StdioTransport.Options): Result.Result<Detected, McpError.McpError> =>
  Predicate.isString(command.command) && command.command.trim() !== ""
    ? Result.succeed({ _tag: "Stdio", command })
    : unusable("the target names no command")

const detectArray = (words: ReadonlyArray<string>): Result.Result<Detected, McpError.McpError> => {
  if (!words.every(Predicate.isString)) return unusable("the array holds something other than strings")
  const [command = "", ...args] = words
  if (!/^\s*(?:https?|stdio):\/\//i.test(command)) return stdio({ command, args })
  return unusable("a list of servers is no target, connect to each by itself")
}

const detectCommand = (target: Exclude<Target, URL>): Result.Result<Detected, McpError.McpError> => {
  if (Predicate.isString(target)) {
    const words = CommandText.split(target.replace(/^\s*stdio:\/\//i, ""))
    return Result.flatMap(words, ([command, ...args]) => stdio({ command, args }))
  }
  if (isArray(target)) return detectArray(target)
  return Predicate.isObject(target) ? stdio(target) : unusable("the target is neither a URL nor a command")
}

type UrlTag = Exclude<Detected["_tag"], "Stdio">

const readUrl = (target: string | URL): Result.Result<URL, McpError.McpError> => {
  const url = URL.parse(target)
  if (url === null) return unusable("the URL cannot be read")
  return url.protocol === "http:" || url.protocol === "https:"
    ? Result.succeed(url)
    : unusable("the scheme of the URL is not http or https")
}

/** What a path says about a server, which may also be newer than its path. */
const tagOf = ({ pathname }: URL, protocol: TransportOptions["protocol"]): UrlTag => {
  // Only an `initialize` can be refused in the way that older servers do it.
  if (protocol === "modern" || /\/mcp\/?$/i.test(pathname)) return "StreamableHttp"
  return /\/sse\/?$/i.test(pathname) ? "Sse" : "DetectHttp"
}

const detectUrl = (target: string | URL, protocol: TransportOptions["protocol"]) =>
  Result.map(readUrl(target), (url): Detected => ({ _tag: tagOf(url, protocol), url: url.href }))

const forceUrl = (target: Target, tag: UrlTag): Result.Result<Detected, McpError.McpError> =>
  typeof target === "string" || target instanceof URL
    ? Result.map(readUrl(target), ({ href }) => ({ _tag: tag, url: href }))
    : unusable("a command has no URL")

const detectTarget = (
  target: Target,
  { protocol, transport }: TransportOptions
): Result.Result<Detected, McpError.McpError> => {
  switch (transport) {
    case "stdio":
      return target instanceof URL ? unusable("a URL is no command") : detectCommand(target)
    case "streamable-http":
      return forceUrl(target, "StreamableHttp")
    case "http":
      return forceUrl(target, "Http")
    case "sse":
      return protocol === "modern"
        ? invalid("protocol", "HTTP+SSE has no modern revision; name another transport, or no protocol")
        : forceUrl(target, "Sse")
    case undefined:
      break
    default:
      return invalid("transport", "the transport is not one of \"stdio\", \"streamable-http\", \"http\" and \"sse\"")
  }
  if (target instanceof URL) return detectUrl(target, protocol)
  if (typeof target !== "string") return detectCommand(target)
  if (/^\s*https?:/i.test(target)) return detectUrl(target, protocol)
  if (/^\s*stdio:\/\//i.test(target) || CommandText.startsWithLauncher(target)) return detectCommand(target)
  return unusable("the target is neither a URL nor a known command")
}

/**
 * Tells how a server is reached.
 *
 * | target | transport |
 * | --- | --- |
 * | an `http:` or `https:` URL whose path ends in `/mcp` | Streamable HTTP |
 * | one whose path ends in `/sse` | HTTP+SSE, unless `protocol` is `modern` |
 * | any other | Streamable HTTP, then HTTP+SSE, then plain HTTP, see `DetectHttpTransport` |
 * | a string that starts with a known launcher: `npx`, `npm`, `pnpm`, `yarn`, `node`, `tsx`, `bun`, `bunx`, `deno`, `python`, `python3`, `uv`, `uvx`, `pipx`, `ruby`, `php`, `java`, `cargo`, `go run`, `dotnet`, `docker`, `podman` | stdio |
 * | `stdio://` and a command | stdio |
 * | an array of a command and its arguments | stdio |
 * | `{ command, args, env, cwd, ... }`, the options of `StdioTransport` | stdio |
 *
 * A command in a string is split into words as a POSIX shell does it, on every platform; what would need a shell is
 * refused. `transport` decides where the target does not.
 *
 * Fails with `InvalidRequest` for anything else, where `headers` or `oauth` are given to a command or `env` to a URL, and
 * where HTTP+SSE is named for a modern server.
 *
 * @category constructors
 * @since 0.1.0
 */
export const detect = (target: Target, options: TransportOptions = {}): Result.Result<Detected, McpError.McpError> =>
  Result.flatMap(detectTarget(target, options), (detected) => {
    if (detected._tag === "Stdio" && options.headers !== undefined) {
      return invalid("headers", "a server that is started by a command takes no headers; give it variables in env")
    }
    if (detected._tag === "Stdio" && options.oauth !== undefined) {
      return invalid("oauth", "a server that is started by a command is not signed in to; give it variables in env")
    }
    if (detected._tag !== "Stdio" && options.env !== undefined) {
      return invalid("env", "a server at a URL takes no variables; give it headers")
    }
    return Result.succeed(detected)
  })

// ====================================================================================================================
// Layers
// ====================================================================================================================

const transportTo = (
  { _tag, url }: Exclude<Detected, { readonly _tag: "Stdio" }>,
  { headers, maxMessageBytes, name, pingInterval }: TransportOptions
): Layer.Layer<Transport.Transport, never, HttpClient.HttpClient> => {
  const options = { url, name, headers, maxMessageBytes, maxEventBytes: maxMessageBytes, pingInterval }
  switch (_tag) {
    case "StreamableHttp":
      return StreamableHttpTransport.layer(options)
    case "Http":
      return HttpTransport.layer(options)
    case "Sse":
      return SseTransport.layer(options)
    case "DetectHttp":
      return DetectHttpTransport.layer(options)
  }
}

const httpFor = (
  url: string,
  { oauth, proxy, tls }: TransportOptions
): Layer.Layer<HttpClient.HttpClient, McpError.McpError> => {
  const http = NodeHttp.layer({ tls, proxy })
  if (oauth === undefined) return http
  // Loaded when it is needed: most servers do without.
  return Layer.unwrap(Effect.map(
    Effect.promise(() => import("./NodeOAuth.ts")),
    // HTTP+SSE posts to another URL of the server than the one that is known.
    ({ layer }) => layer({ ...oauth, server: oauth.server ?? url })
  )).pipe(Layer.provide(http))
}

/**
 * Provides the transport to a server, for a client with a tag of its own.
 *
 * Fails with `InvalidRequest` where `detect` does.
 *
 * **Example** (Two servers)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { McpClient } from "@mcp-effect/client"
 * import { Connect } from "@mcp-effect/node"
 *
 * class Files extends McpClient.Service<Files>()("app/Files") {}
 * class Search extends McpClient.Service<Search>()("app/Search") {}
 *
 * const Servers = Layer.mergeAll(
 *   Files.layer().pipe(Layer.provide(Connect.layerTransport("npx -y @modelcontextprotocol/server-filesystem ."))),
 *   Search.layer().pipe(Layer.provide(Connect.layerTransport("https://search.example/mcp")))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerTransport = (
  target: Target,
  options: TransportOptions = {}
): Layer.Layer<Transport.Transport, McpError.McpError> =>
  Layer.unwrap(Effect.gen(function*() {
    const detected = yield* Effect.fromResult(detect(target, options))
    if (detected._tag === "Stdio") {
      const { command } = detected
      return StdioTransport.layer({
        ...command,
        env: { ...options.env, ...command.env },
        inheritEnv: command.inheritEnv ?? options.inheritEnv,
        cwd: command.cwd ?? options.cwd,
        name: command.name ?? options.name,
        maxMessageBytes: command.maxMessageBytes ?? options.maxMessageBytes
      }).pipe(Layer.provide(NodeServices.layer))
    }
    return transportTo(detected, options).pipe(Layer.provide(httpFor(detected.url, options)))
  }))

/**
 * Connects to a server, agrees on a revision and provides `McpClient`.
 *
 * Fails with `InvalidRequest` where `detect` does, and otherwise as `McpClient.layer` does.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <R = never>(
  target: Target,
  options: Options<R> = {}
): Layer.Layer<McpClient.McpClient, McpError.McpError, Exclude<R, Scope.Scope>> =>
  McpClient.layer(options).pipe(Layer.provide(layerTransport(target, options)))

/**
 * The same as {@link layer}, with target and options read from the configuration.
 *
 * **Example** (A server that the environment names)
 *
 * ```ts
 * import { Config } from "effect"
 * import { Connect } from "@mcp-effect/node"
 *
 * const Server = Connect.layerConfig(Config.String("MCP_SERVER"), {
 *   headers: { authorization: Config.Redacted("MCP_AUTHORIZATION") }
 * })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = <R = never>(
  target: Config.Wrap<Target>,
  options?: Config.Wrap<Options<R>>
): Layer.Layer<McpClient.McpClient, McpError.McpError | Config.ConfigError, Exclude<R, Scope.Scope>> =>
  Layer.unwrap(Effect.gen(function*() {
    return layer(
      yield* Config.unwrap(target),
      options === undefined ? undefined : yield* Config.unwrap(options)
    )
  }))

/**
 * Connects to a server and gives its client, ready for use. Process, connections and session end with the scope.
 *
 * Fails with `InvalidRequest` where `detect` does, and otherwise as `McpClient.make` does.
 *
 * @category constructors
 * @since 0.1.0
 */
export const connect = <R = never>(
  target: Target,
  options?: Options<R>
): Effect.Effect<McpClient.McpClient, McpError.McpError, Scope.Scope | R> =>
  Effect.map(Layer.build(layer(target, options)), Context.get(McpClient.McpClient))
