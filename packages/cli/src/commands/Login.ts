/**
 * `login`, `whoami` and `logout`: who uses a server.
 */
import type { Account, Registration } from "@mcp-effect/auth"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Accounts } from "../Accounts.ts"
import { NotSignedIn } from "../NotSignedIn.ts"
import { Output, print } from "../Output.ts"
import * as Render from "../render/Accounts.ts"
import { urlOf, withServer } from "../Server.ts"
import * as SignIn from "../SignIn.ts"
import * as StandardInput from "../StandardInput.ts"
import * as TerminalText from "../TerminalText.ts"
import { UsageError } from "../UsageError.ts"
import { url } from "./Lists.ts"

// ====================================================================================================================
// login
// ====================================================================================================================

const flags = {
  clientId: Flag.String("client-id").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("The client that is registered with the authorization server, where none can register itself"),
    Flag.optional
  ),
  issuer: Flag.String("issuer").pipe(
    Flag.withMetavar("URL"),
    Flag.withDescription(
      "The authorization server that --client-id is registered with: the client is named to no other"
    ),
    Flag.optional
  ),
  clientSecret: Flag.String("client-secret").pipe(
    Flag.withMetavar("VARIABLE|-"),
    Flag.withDescription("The variable that holds the secret of --client-id; - reads the secret from standard input"),
    Flag.optional
  ),
  scopes: Flag.String("scope").pipe(
    Flag.withMetavar("SCOPE"),
    Flag.withDescription("A scope to ask for where the server names none; may be repeated"),
    Flag.atLeast(0)
  ),
  noBrowser: Flag.Boolean("no-browser").pipe(
    Flag.withDescription("Show the URL to open elsewhere, and ask for the address that the browser ends at"),
    Flag.withoutNegation,
    Flag.withDefault(false)
  ),
  callbackPort: Flag.Int("callback-port").pipe(
    Flag.filter((port) => port > 0 && port < 65_536, (port) => `a port from 1 to 65535, not ${port}`),
    Flag.withMetavar("PORT"),
    Flag.withDescription("The port on 127.0.0.1 that the browser comes back to (default: a free one)"),
    Flag.optional
  )
}

// The message does not repeat what was given, which may be the secret itself.
const unknownVariable = new UsageError({
  message: "--client-secret names a variable that is not set here",
  hint: "put the secret into a variable and give the variable's name, or write - and give it on standard input"
})

const secretOf = Effect.fnUntraced(function*(source: string) {
  const secret = source === "-" ? yield* StandardInput.read : process.env[source] ?? ""
  const trimmed = secret.trim()
  if (trimmed !== "") return Redacted.make(trimmed)
  return yield* source === "-" ? new UsageError({ message: "Standard input holds no secret" }) : unknownVariable
})

const clientOf = Effect.fnUntraced(function*(config: {
  readonly clientId: Option.Option<string>
  readonly issuer: Option.Option<string>
  readonly clientSecret: Option.Option<string>
}) {
  const { clientId, clientSecret, issuer } = config
  if (Option.isNone(clientId)) {
    if (Option.isNone(issuer) && Option.isNone(clientSecret)) return undefined
    return yield* new UsageError({ message: "--issuer and --client-secret go with --client-id" })
  }
  if (Option.isNone(issuer) || !URL.canParse(issuer.value)) {
    return yield* new UsageError({
      message: "--client-id needs the --issuer that it is registered with, so that it goes to no other",
      hint: "the issuer is the URL that the authorization server calls itself, as in: --issuer https://auth.example.com"
    })
  }
  const client: Registration.Preregistered = {
    clientId: clientId.value,
    issuer: issuer.value,
    clientSecret: Option.isSome(clientSecret) ? yield* secretOf(clientSecret.value) : undefined
  }
  return client
})

/** Says what keeps a sign-in that is there from being the one that is asked for. */
const differenceOf = (
  { clientId, issuer, scopes }: Account.Account,
  client: Registration.Preregistered | undefined,
  wanted: ReadonlyArray<string>
): string | undefined => {
  if (client !== undefined && (client.clientId !== clientId || client.issuer !== issuer)) return "as another client"
  return wanted.every((scope) => scopes.includes(scope)) ? undefined : "with other scopes"
}

export const login = Command.make("login", { url, ...flags }, (config) =>
  Effect.gen(function*() {
    const server = yield* urlOf(config.url)
    const client = yield* clientOf(config)
    const accounts = yield* Accounts
    const now = yield* Clock.currentTimeMillis
    const before = (yield* accounts.list(server)).find((one) => one.isCurrent && Render.isUsable(one, now))
    const difference = before === undefined ? undefined : differenceOf(before, client, config.scopes)
    if (difference !== undefined) {
      return yield* new UsageError({
        message: `Somebody is signed in already, ${difference}`,
        hint: `sign out first: mcp-effect logout ${server}`
      })
    }
    const options: SignIn.Options = {
      scopes: config.scopes.length === 0 ? undefined : config.scopes,
      clients: client === undefined ? undefined : [client],
      port: Option.getOrUndefined(config.callbackPort)
    }
    const oauth = yield* config.noBrowser ? SignIn.withoutBrowser(options) : SignIn.withBrowser(options)
    yield* withServer(config.url, () => Effect.void, { oauth })
    if (client !== undefined) yield* accounts.keepClient(server, client)
    const after = (yield* accounts.list(server)).filter(({ isSignedIn }) => isSignedIn)
    const { format, note } = yield* Output
    if (after.length === 0 && format === "text") return note("The server wants nobody to sign in.")
    const end = yield* Clock.currentTimeMillis
    yield* print(Render.json(after), () => Render.text(after, end))
  })).pipe(
    Command.withDescription("Sign in at a server, with the browser of this machine or with another one"),
    Command.withExamples([
      { command: "mcp-effect login https://example.com/mcp" },
      { command: "mcp-effect login https://example.com/mcp --no-browser" },
      {
        command:
          "mcp-effect login https://example.com/mcp --client-id my-app --issuer https://auth.example.com --client-secret SECRET"
      }
    ])
  )

// ====================================================================================================================
// whoami and logout
// ====================================================================================================================

export const whoami = Command.make("whoami", { url }, (config) =>
  Effect.gen(function*() {
    const server = yield* urlOf(config.url)
    const accounts = (yield* (yield* Accounts).list(server)).filter(({ isSignedIn }) => isSignedIn)
    const now = yield* Clock.currentTimeMillis
    const current = accounts.find(({ isCurrent }) => isCurrent)
    if (current === undefined) return yield* new NotSignedIn({ message: "Nobody is signed in at this server" })
    if (!Render.isUsable(current, now)) {
      return yield* new NotSignedIn({ message: "The sign-in at this server has ended" })
    }
    yield* print(Render.json(accounts), () => Render.text(accounts, now))
  })).pipe(
    Command.withDescription("Show who is signed in at a server, without asking it"),
    Command.withExamples([{ command: "mcp-effect whoami https://example.com/mcp" }])
  )

const signedOut = ({ isRevoked, issuer }: Account.Forgotten): string =>
  `Signed out: ${TerminalText.oneLine(issuer)} ${
    isRevoked ? "has revoked the token" : "was not told, or did not confirm it; the token is forgotten here"
  }`

export const logout = Command.make("logout", {
  url,
  forgetClient: Flag.Boolean("forget-client").pipe(
    Flag.withDescription("Forget the registration of the client as well, which the next sign-in would use"),
    Flag.withoutNegation,
    Flag.withDefault(false)
  )
}, (config) =>
  Effect.gen(function*() {
    const server = yield* urlOf(config.url)
    const { forget } = yield* Accounts
    const forgotten = yield* forget(server, { registration: config.forgetClient ? "forget" : "keep" })
    const { format, note } = yield* Output
    if (forgotten.length === 0 && format === "text") return note("Nobody was signed in at this server.")
    yield* print(
      { signedOut: forgotten.map(({ isRevoked, issuer }) => ({ issuer, revoked: isRevoked })) },
      () => forgotten.map(signedOut).join("\n")
    )
  })).pipe(
    Command.withDescription("Sign out: have the tokens revoked, and forget them"),
    Command.withExamples([{ command: "mcp-effect logout https://example.com/mcp" }])
  )
