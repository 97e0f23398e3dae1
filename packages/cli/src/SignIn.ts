/**
 * How somebody signs in at a server that wants it. What it takes is loaded when it is needed.
 */
import type { Authorize, TokenStore } from "@mcp-effect/auth"
import type { NodeOAuth } from "@mcp-effect/node"
import { McpError } from "@mcp-effect/protocol"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type * as Terminal from "effect/Terminal"
import * as Dialogue from "./elicitation/Dialogue.ts"
import { encodeJson, Output } from "./Output.ts"
import { Person } from "./Person.ts"
import * as TerminalText from "./TerminalText.ts"
import { UsageError } from "./UsageError.ts"

type Means = Layer.Layer<Authorize.Authorize, McpError.McpError>

/** Keeps tokens in the file of the user, or in the one that `MCP_EFFECT_TOKEN_FILE` names. */
export const store: Layer.Layer<TokenStore.TokenStore> = Layer.unwrap(Effect.map(
  Effect.promise(() => import("@mcp-effect/node/NodeOAuth")),
  ({ layerTokenStore }) => layerTokenStore(process.env["MCP_EFFECT_TOKEN_FILE"] || undefined)
))

// Nobody is asked: stored tokens are used and refreshed.
const none: Means = Layer.unwrap(
  Effect.map(Effect.promise(() => import("@mcp-effect/auth/Authorize")), ({ layerNone }) => layerNone)
)

/** Opens the browser, and shows the URL for whoever has none here. */
const browser = (
  { format, note }: Output["Service"],
  port: number | undefined
): Means =>
  Layer.unwrap(Effect.map(Effect.promise(() => import("@mcp-effect/node/BrowserAuthorize")), ({ layer }) =>
    layer({
      port,
      onUrl: ({ href }) =>
        Effect.sync(() => {
          if (format === "json") return note(encodeJson({ signIn: { url: href } }))
          note("The server wants you to sign in, and your browser opens for it. If it does not, visit:")
          note(`  ${TerminalText.oneLine(href)}`)
        })
    })))

const givenUp = (): McpError.McpError =>
  McpError.make(
    new McpError.AuthorizationFailed({ stage: "sign-in", problem: "no address was given, so nobody signed in" }),
    "unsent"
  )

/** Shows the URL, and takes the address that the browser ends at. */
const headless = (
  { colors, terminal }: { readonly colors: boolean; readonly terminal: Terminal.Terminal },
  port: number | undefined
) =>
  Effect.map(Effect.context<Output | FileSystem.FileSystem | Path.Path>(), (context): Means => {
    const dialogue = <A>(questions: Effect.Effect<A, Terminal.QuitError, Prompt.Environment>) =>
      Dialogue.hold(terminal, colors, questions).pipe(
        Effect.mapError(givenUp),
        Effect.provideContext(context)
      )
    return Layer.unwrap(
      Effect.map(Effect.promise(() => import("@mcp-effect/node/BrowserAuthorize")), ({ layerHeadless }) =>
        layerHeadless({
          redirectUri: port === undefined ? undefined : `http://127.0.0.1:${port}/callback`,
          ask: ({ href }) =>
            dialogue(Effect.andThen(
              Dialogue.say(
                "",
                "Open this page in a browser, on any machine:",
                `  ${TerminalText.oneLine(href)}`,
                "When you have signed in, the browser ends at a page that it cannot show. Copy that page's address and",
                "paste it here (Esc cancels)."
              ),
              Prompt.String({ message: "Address" })
            )),
          onMistake: (problem) => Effect.ignore(dialogue(Dialogue.say(`  ${problem}`)))
        }))
    )
  })

/** What a command is told about signing in. */
export interface Options extends Pick<NodeOAuth.Options, "clients" | "scopes"> {
  readonly port?: number | undefined
}

// No client of this program is known beforehand.
const usual = { store, dynamicRegistration: true } as const

/** What every command does where a server wants a sign-in: it asks whoever is at the terminal, and otherwise nobody. */
export const atTerminal: Effect.Effect<NodeOAuth.Options, never, Output | Person> = Effect.gen(function*() {
  const { terminal } = yield* Person
  return { ...usual, authorize: terminal === undefined ? none : browser(yield* Output, undefined) }
})

/** Signs in with the browser of this machine, with a terminal or without. */
export const withBrowser = ({ port, ...options }: Options): Effect.Effect<NodeOAuth.Options, never, Output> =>
  Effect.map(Output, (output) => ({ ...options, ...usual, authorize: browser(output, port) }))

/** Signs in with a browser elsewhere. */
export const withoutBrowser = Effect.fnUntraced(function*({ port, ...options }: Options) {
  const { colors, terminal } = yield* Person
  const { format } = yield* Output
  if (terminal === undefined || format === "json") {
    return yield* new UsageError({
      message: "--no-browser asks for an address, and there is no terminal to ask at"
        + (format === "json" ? " with --output json" : ""),
      hint:
        "run it at a terminal; or leave --no-browser out, open the URL that is shown, and let the browser come back "
        + "through a forwarded port, as in: ssh -L 8765:127.0.0.1:8765 HOST mcp-effect login URL --callback-port 8765"
    })
  }
  const oauth: NodeOAuth.Options = {
    ...options,
    ...usual,
    authorize: yield* headless({ colors, terminal }, port)
  }
  return oauth
})
