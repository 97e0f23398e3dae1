/**
 * Who is signed in at a server, as far as the token file knows.
 */
import type { Account, Registration } from "@mcp-effect/auth"
import type { McpError } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SignIn from "./SignIn.ts"

/** A test puts accounts of its own in the place of the file. */
export class Accounts extends Context.Service<Accounts, {
  readonly list: (url: string) => Effect.Effect<ReadonlyArray<Account.Account>, McpError.McpError>
  readonly keepClient: (url: string, client: Registration.Preregistered) => Effect.Effect<boolean, McpError.McpError>
  readonly forget: (
    url: string,
    options: Pick<Account.ForgetOptions, "registration">
  ) => Effect.Effect<ReadonlyArray<Account.Forgotten>, McpError.McpError>
}>()("@mcp-effect/cli/Accounts") {}

// Loaded when it is needed: most commands do without.
const account = Effect.promise(() => import("@mcp-effect/auth/Account"))

const forget: Accounts["Service"]["forget"] = Effect.fnUntraced(function*(url, options) {
  const { NodeHttp, NodeOAuth } = yield* Effect.promise(() => import("@mcp-effect/node"))
  const { UrlPolicy } = yield* Effect.promise(() => import("@mcp-effect/auth"))
  const { forget } = yield* account
  return yield* Effect.provide(
    forget(url, options),
    [SignIn.store, NodeHttp.layer(), UrlPolicy.layer(NodeOAuth.urlPolicy)]
  )
})

export const layer: Layer.Layer<Accounts> = Layer.succeed(Accounts, {
  list: (url) => Effect.flatMap(account, ({ accounts }) => Effect.provide(accounts(url), SignIn.store)),
  keepClient: (url, client) =>
    Effect.flatMap(account, ({ keepClient }) => Effect.provide(keepClient(url, client), SignIn.store)),
  forget
})
