/**
 * An `HttpClient` for Node: undici's connections with as little as possible between them and Effect.
 *
 * Differences from `NodeHttpClient.layerUndici` of `@effect/platform-node`: it costs less per request, honours
 * proxy variables, and opens no span and sends no trace header of its own. Not there: upgrades, HTTP/2.
 *
 * @since 0.1.0
 */
import { McpError } from "@mcp-effect/protocol"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { Socket } from "node:net"
import type * as Undici from "undici"
import * as DispatchClient from "./internal/DispatchClient.ts"
import * as ProxyEnvironment from "./internal/ProxyEnvironment.ts"

/**
 * Certificates for the connections of one client, in PEM.
 *
 * @category models
 * @since 0.1.0
 */
export interface TlsOptions {
  /**
   * The authorities to trust, in place of the ones that Node trusts.
   *
   * @default the authorities of Node
   */
  readonly ca?: string | Uint8Array | ReadonlyArray<string | Uint8Array> | undefined
  /**
   * The certificate to present to a server that asks for one. It takes a `key`.
   *
   * @default none
   */
  readonly cert?: string | Uint8Array | undefined
  /**
   * The private key of `cert`.
   *
   * @default none
   */
  readonly key?: string | Uint8Array | Redacted.Redacted | undefined
}

/**
 * Proxies by the scheme of the server's URL. Credentials may stand in the URL of the proxy.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProxyOptions {
  /**
   * The proxy for `http:` servers, which are asked for in absolute form, and for `https:` servers if `https` is absent.
   *
   * @default none
   */
  readonly http?: string | Redacted.Redacted | undefined
  /**
   * The proxy for `https:` servers, which are tunnelled to by `CONNECT`.
   *
   * @default the one of `http`
   */
  readonly https?: string | Redacted.Redacted | undefined
  /**
   * Hosts to reach directly, separated by commas, in the syntax of `NO_PROXY`: `localhost,.example.com,10.0.0.1:8080`.
   *
   * @default none
   */
  readonly noProxy?: string | undefined
}

/**
 * How connections are made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The proxies in between: those that `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` (in either case) name when the client
   * is made, none, or these.
   *
   * @default "environment"
   */
  readonly proxy?: "environment" | "none" | ProxyOptions | undefined
  /**
   * Certificates to trust and to present.
   *
   * @default those of Node
   */
  readonly tls?: TlsOptions | undefined
}

// Silent connections are probed by TCP, so that a dead peer is noticed.
const tcpKeepAliveMillis = 30_000

const reveal = (value: string | Redacted.Redacted | undefined): string =>
  value === undefined ? "" : Redacted.isRedacted(value) ? Redacted.value(value) : value

const proxiesOf = (proxy: Options["proxy"]): ProxyEnvironment.Proxies => {
  if (proxy === undefined || proxy === "environment") return ProxyEnvironment.read(process.env)
  if (proxy === "none") return { http: "", https: "", noProxy: "" }
  return { http: reveal(proxy.http), https: reveal(proxy.https), noProxy: proxy.noProxy ?? "" }
}

const tlsOf = (tls: TlsOptions) => ({
  ...(tls.ca === undefined ? undefined : { ca: [tls.ca].flat().map(pem) }),
  ...(tls.cert === undefined ? undefined : { cert: pem(tls.cert) }),
  ...(tls.key === undefined
    ? undefined
    : { key: pem(Redacted.isRedacted(tls.key) ? Redacted.value(tls.key) : tls.key) })
})

const pem = (value: string | Uint8Array): string | Buffer =>
  typeof value === "string" ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength)

type Connector = Undici.buildConnector.connector

/**
 * The sockets of a dispatcher, until they are closed: itself it forgets those that are not connected yet, and those that
 * became tunnels. An `AbortSignal` for all of them would hold on to every one that was ever made.
 */
class Sockets {
  private readonly open = new Set<Socket>()

  tracked(connect: Connector): Connector {
    return (to, callback) => {
      // It does return the socket, which its type does not tell.
      const socket: unknown = connect(to, callback)
      if (!(socket instanceof Socket)) return
      this.open.add(socket)
      socket.once("close", () => this.open.delete(socket))
    }
  }

  close(): void {
    for (const socket of this.open) socket.destroy()
  }
}

const makeDispatcher = (
  undici: typeof Undici,
  options: Options,
  sockets: Sockets
): Result.Result<Undici.Dispatcher, McpError.McpError> => {
  const keptAlive = { keepAlive: true, keepAliveInitialDelay: tcpKeepAliveMillis }
  const tls = { ...keptAlive, ...(options.tls === undefined ? undefined : tlsOf(options.tls)) }
  const pool = (origin: string | URL, given: Undici.Pool.Options): Undici.Pool =>
    new undici.Pool(origin, {
      ...given,
      ...(typeof given.connect === "function" ? { connect: sockets.tracked(given.connect) } : undefined)
    })
  const shared = {
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: undici.buildConnector({ ...tls, allowH2: false }),
    factory: pool
  }
  const proxies = proxiesOf(options.proxy)
  if (proxies.http === "" && proxies.https === "") return Result.succeed(new undici.Agent(shared))
  return Result.try({
    try: () =>
      new undici.EnvHttpProxyAgent({
        ...shared,
        clientFactory: pool,
        httpProxy: proxies.http,
        httpsProxy: proxies.https,
        noProxy: proxies.noProxy,
        proxyTls: keptAlive,
        requestTls: tls
      }),
    // Its message repeats the URL, which may hold a password.
    catch: () =>
      McpError.make(
        new McpError.InvalidRequest({
          problem: "HTTP_PROXY, HTTPS_PROXY or the proxy option is not the URL of a proxy, such as http://host:3128",
          path: "proxy"
        }),
        "unsent"
      )
  })
}

/**
 * Creates a client with connections of its own, which close with the scope.
 *
 * Redirects are not followed and bodies are not decompressed. Connections are kept alive; there is no limit to them, no
 * timeout on a silent server, and one of 10 seconds on connecting. An interruption closes the socket.
 *
 * Fails with `InvalidRequest` when the URL of a proxy is none.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: Options = {}
): Effect.Effect<HttpClient.HttpClient, McpError.McpError, Scope.Scope> =>
  Effect.gen(function*() {
    // Loaded when it is needed: it is large, and a client over stdio does without.
    const undici = yield* Effect.promise(() => import("undici"))
    const sockets = new Sockets()
    const dispatcher = yield* Effect.acquireRelease(
      Effect.fromResult(makeDispatcher(undici, options, sockets)),
      (dispatcher) =>
        Effect.promise(() => {
          const destroyed = dispatcher.destroy()
          sockets.close()
          return destroyed
        })
    )
    return DispatchClient.make(dispatcher)
  })

/**
 * Layer that provides the client, see `make`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<HttpClient.HttpClient, McpError.McpError> =>
  Layer.effect(HttpClient.HttpClient, make(options))

/**
 * Layer that provides the client with options from configuration.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Config.Wrap<Options>
): Layer.Layer<HttpClient.HttpClient, McpError.McpError | Config.ConfigError> =>
  Layer.effect(HttpClient.HttpClient, Effect.flatMap(Config.unwrap(options), make))
