/**
 * Signing in with a browser: `Authorize` for programs that run where a person is.
 *
 * The browser comes back to a server on loopback, which is open only while somebody signs in (RFC 8252 section 7.3).
 * Without a browser on the machine, the person opens the URL elsewhere and brings back the address that the browser ended
 * at.
 *
 * **Example** (Tools of a server that wants a sign-in)
 *
 * ```ts
 * import { OAuth } from "@mcp-effect/auth"
 * import { McpClient } from "@mcp-effect/client"
 * import { BrowserAuthorize, NodeHttp } from "@mcp-effect/node"
 * import { StreamableHttpTransport } from "@mcp-effect/transport"
 * import { Layer } from "effect"
 *
 * const Tracker = McpClient.layer().pipe(
 *   Layer.provide(StreamableHttpTransport.layer({ url: "https://tracker.example/mcp" })),
 *   Layer.provide(OAuth.layer()),
 *   Layer.provide(BrowserAuthorize.layer()),
 *   Layer.provide(NodeHttp.layer())
 * )
 * ```
 *
 * @since 0.1.0
 */
import { Authorize } from "@mcp-effect/auth"
import { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Browser from "./internal/Browser.ts"
import * as CallbackServer from "./internal/CallbackServer.ts"

// ====================================================================================================================
// With a browser
// ====================================================================================================================

/**
 * How a browser is used.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * The port on 127.0.0.1 that the browser comes back to. An authorization server that knows this client beforehand may
   * want a fixed one.
   *
   * @default a free one
   */
  readonly port?: number | undefined
  /**
   * The path that the browser comes back to.
   *
   * @default "/callback"
   */
  readonly path?: string | undefined
  /**
   * Opens the URL. One that fails does not end the sign-in where `onUrl` shows the URL.
   *
   * @default the browser of the system, without a shell in between
   */
  readonly open?: ((url: URL) => Effect.Effect<void, McpError.McpError>) | undefined
  /** Is told the URL before it is opened, so that a person can open it by hand. */
  readonly onUrl?: ((url: URL) => Effect.Effect<void>) | undefined
}

const invalid = (path: string, problem: string): Effect.Effect<never, McpError.McpError> =>
  Effect.fail(McpError.make(new McpError.InvalidRequest({ path, problem }), "unsent"))

const check = ({ path, port }: Options): Effect.Effect<void, McpError.McpError> => {
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    return invalid("port", "is no port; give a number from 1 to 65535, or 0 for a free one")
  }
  return path === undefined || /^\/[\w./~-]*$/.test(path)
    ? Effect.void
    : invalid("path", "must begin with a slash and hold letters, digits, slashes and - . _ ~ only")
}

/**
 * Creates the service. A fixed port that is in use, and a browser that cannot be opened where no `onUrl` is given, fail
 * the sign-in with `AuthorizationFailed`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Authorize.Authorize["Service"] => {
  const { onUrl, open = (url: URL) => Browser.open(url), path = "/callback", port = 0 } = options
  return {
    receiver: Effect.map(
      Effect.andThen(check(options), CallbackServer.make({ port, path })),
      ({ next, redirectUri }): Authorize.Receiver => ({
        redirectUri,
        authorize: (request) => {
          const { url } = request
          const opened = onUrl === undefined ? open(url) : Effect.andThen(onUrl(url), Effect.ignore(open(url)))
          // The answer may come while the opener still runs.
          return Effect.raceFirst(next(request), Effect.andThen(opened, Effect.never))
        }
      })
    )
  }
}

/**
 * Layer of {@link make}.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<Authorize.Authorize> =>
  Layer.succeed(Authorize.Authorize, make(options))

// ====================================================================================================================
// Without one
// ====================================================================================================================

/**
 * How a person without a browser on this machine is asked.
 *
 * @category models
 * @since 0.1.0
 */
export interface HeadlessOptions {
  /**
   * Where the authorization server sends the browser. Nothing needs to answer there: the address alone counts.
   *
   * @default "http://127.0.0.1/callback"
   */
  readonly redirectUri?: string | undefined
  /** Shows the URL and gives what the person brings back: the whole address, or what follows its question mark. */
  readonly ask: (url: URL) => Effect.Effect<string, McpError.McpError>
  /** Tells that what was brought back is not an answer; then `ask` runs again. */
  readonly onMistake?: ((problem: string) => Effect.Effect<void>) | undefined
}

const maxMistakes = 5

/** What a person pasted, as the parameters of a callback. */
const parametersOf = (text: string): URLSearchParams => {
  const trimmed = text.trim()
  const start = trimmed.indexOf("?")
  return new URLSearchParams(trimmed.slice(start + 1).replace(/#.*$/, ""))
}

/**
 * Layer that shows the URL and takes the address that the browser ended at from a person, as over SSH. After five answers
 * to something else the sign-in fails with `AuthorizationFailed`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerHeadless = (
  { ask, onMistake, redirectUri = "http://127.0.0.1/callback" }: HeadlessOptions
): Layer.Layer<Authorize.Authorize> => {
  const attempt = (
    request: Authorize.Request,
    mistakes: number
  ): Effect.Effect<URLSearchParams, McpError.McpError> =>
    Effect.flatMap(ask(request.url), (text) => {
      const parameters = parametersOf(text)
      if (request.accepts(parameters)) return Effect.succeed(parameters)
      const problem = parameters.has("state")
        ? "this address answers another sign-in"
        : "this is not the address that the browser was sent back to; it holds state= and code="
      return mistakes + 1 >= maxMistakes
        ? Effect.fail(McpError.make(new McpError.AuthorizationFailed({ stage: "sign-in", problem }), "unsent"))
        : Effect.andThen(onMistake?.(problem) ?? Effect.void, attempt(request, mistakes + 1))
    })
  return Authorize.layer({ redirectUri, authorize: (request) => attempt(request, 0) })
}
