/**
 * Who is signed in at a server.
 */
import type { Account } from "@mcp-effect/auth"
import type { Json } from "@mcp-effect/protocol"
import * as TerminalText from "../TerminalText.ts"

/** What JSON output tells. */
export const json = (accounts: ReadonlyArray<Account.Account>): Json.JsonObject => ({
  accounts: accounts.map(({ canRefresh, clientId, expiresAt, isCurrent, isSignedIn, issuer, resource, scopes }) => ({
    issuer,
    current: isCurrent,
    signedIn: isSignedIn,
    clientId,
    scopes,
    resource,
    expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
    refreshable: canRefresh
  }))
})

/** The token is of use, or can be replaced by one that is. */
export const isUsable = ({ canRefresh, expiresAt, isSignedIn }: Account.Account, now: number): boolean =>
  isSignedIn && (canRefresh || expiresAt === undefined || now < expiresAt)

const tokenOf = ({ canRefresh, expiresAt, isSignedIn }: Account.Account, now: number): string => {
  if (!isSignedIn) return "none"
  const time = expiresAt === undefined ? undefined : new Date(expiresAt).toISOString().replace(/\.\d+Z$/, "Z")
  const end = time === undefined
    ? "ends at a time that was not told"
    : now < Number(expiresAt)
    ? `until ${time}`
    : `ended ${time}`
  return canRefresh ? `${end}, renewed without a sign-in` : end
}

/** What text output tells. */
export const text = (accounts: ReadonlyArray<Account.Account>, now: number): string =>
  accounts.map((account) => {
    const { clientId, isCurrent, issuer, resource, scopes } = account
    const lines: ReadonlyArray<readonly [label: string, value: string | undefined]> = [
      ["Signed in", TerminalText.oneLine(issuer) + (isCurrent ? "" : " (which the server does not name any more)")],
      ["Client", clientId === undefined ? undefined : TerminalText.oneLine(clientId)],
      ["Scopes", scopes.length === 0 ? undefined : scopes.map(TerminalText.oneLine).join(" ")],
      ["Resource", resource === undefined ? undefined : TerminalText.oneLine(resource)],
      ["Token", tokenOf(account, now)]
    ]
    return lines.flatMap(([label, value]) => value === undefined ? [] : [`${TerminalText.pad(label, 11)}${value}`])
      .join("\n")
  }).join("\n\n")
