/**
 * The grants without a person: a client that is registered with one authorization server asks for a token for itself, or
 * for whoever an assertion is about.
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Registration from "../Registration.ts"
import * as TokenEndpoint from "../TokenEndpoint.ts"
import * as AuthorizedClient from "./AuthorizedClient.ts"
import * as Crypto from "./Crypto.ts"
import * as Failure from "./Failure.ts"
import type { Attempt, Crypto as Computing, Grant } from "./Grant.ts"
import * as Jwt from "./Jwt.ts"

type Credentials = Omit<Registration.Preregistered, "clientId"> & {
  /** Absent for a client that is not registered: it presents an assertion and nothing else (RFC 7521 section 4.1). */
  readonly clientId?: string | undefined
}

/** What every one of these grants can be told. */
export type Options = AuthorizedClient.Options & Credentials

/** RFC 7523 section 2.1. */
export const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

type Problem = Effect.Effect<void, McpError.McpError>

/** Finds out at once whether credentials can be used. `path` leads to them in the options. */
export const checkCredentials = (credentials: Credentials, path = ""): Problem => {
  const { authMethod, clientId, clientSecret, issuer, privateKey } = credentials
  if (!URL.canParse(issuer)) return Effect.fail(Failure.invalid(`${path}issuer`, "is no URL"))
  if (clientId === "") return Effect.fail(Failure.invalid(`${path}clientId`, "is empty"))
  if (clientId === undefined && (clientSecret !== undefined || privateKey !== undefined)) {
    return Effect.fail(Failure.invalid(`${path}clientId`, "is needed beside a secret or a key"))
  }
  if (authMethod === "private_key_jwt" && privateKey === undefined) {
    return Effect.fail(Failure.invalid(`${path}privateKey`, "is needed for private_key_jwt"))
  }
  if (authMethod?.startsWith("client_secret") === true && clientSecret === undefined) {
    return Effect.fail(Failure.invalid(`${path}clientSecret`, `is needed for ${authMethod}`))
  }
  if (privateKey === undefined) return Effect.void
  return Effect.asVoid(Effect.mapError(
    Jwt.decodeKey(privateKey.key, privateKey.algorithm),
    () =>
      Failure.invalid(`${path}privateKey`, `is no private key for ${privateKey.algorithm}, in PKCS#8 (PEM) or as a JWK`)
  ))
}

const check = (options: Options): Problem =>
  options.server !== undefined && !URL.canParse(options.server)
    ? Effect.fail(Failure.invalid("server", "is no URL"))
    : checkCredentials(options)

/** No refresh token is asked for: a token that runs out is replaced by a new one. */
const scopesOf = ({ scopes }: Attempt): ReadonlyArray<string> => scopes.filter((scope) => scope !== "offline_access")

/** The scopes of an attempt as a parameter; `undefined` for none. */
export const scopeOf = (attempt: Attempt): string | undefined => {
  const scopes = scopesOf(attempt)
  return scopes.length === 0 ? undefined : scopes.join(" ")
}

/** What an assertion is asked for with. */
export const requestOf = (attempt: Attempt) => ({
  server: attempt.server,
  issuer: attempt.discovered.authorizationServer.issuer,
  resource: attempt.resource ?? attempt.discovered.resource,
  scopes: scopesOf(attempt)
})

type Text = string | Redacted.Redacted

/** A secret that the host gives, or makes when it is wanted. */
export type Given<Request> = Text | ((request: Request) => Effect.Effect<Text, unknown>)

/** Gets a secret from the host. */
export const secretOf = <Request>(
  given: Given<Request>,
  request: Request,
  what: string,
  issuer: string
): Effect.Effect<string, McpError.McpError> => {
  const made = Predicate.isFunction(given)
    ? Effect.mapError(given(request), (cause) => Failure.failed("token", `${what} cannot be had`, { issuer, cause }))
    : Effect.succeed(given)
  // A file ends in a line break.
  return Effect.map(made, (text) => (typeof text === "string" ? text : Redacted.value(text)).trim())
}

/** The parameters of a token request, save `resource`. */
export type Parameters = Readonly<Record<string, string | undefined>>

const grantOf = (
  options: Options,
  parameters: (attempt: Attempt) => Effect.Effect<Parameters, McpError.McpError, Computing>
): Grant => {
  const client = Registration.clientOf({ ...options, clientId: options.clientId ?? "" })
  return {
    obtain: Effect.fnUntraced(function*(attempt) {
      const { discovered: { authorizationServer }, http, proof, resource } = attempt
      const { issuer } = authorizationServer
      if (issuer !== options.issuer) {
        return yield* Effect.fail(
          Failure.failed(
            "token",
            "the client is registered with another authorization server (issuer) than the one that the server names; "
              + "nothing was sent to it",
            { issuer }
          )
        )
      }
      const granted = yield* parameters(attempt)
      yield* attempt.ensureCurrent
      const issued = yield* TokenEndpoint.request(http, { authorizationServer, client, proof }, {
        ...granted,
        resource
      })
      return { client, issued }
    }),
    clientOf: ({ issuer }, clientId) => issuer === options.issuer && clientId === client.clientId ? client : undefined,
    prefer: (issuers) => issuers.find((issuer) => issuer === options.issuer),
    isUnattended: true
  }
}

/** Makes the client of a grant. */
export const make = Effect.fnUntraced(function*(
  options: Options,
  parameters: (attempt: Attempt) => Effect.Effect<Parameters, McpError.McpError, Computing>
) {
  yield* check(options)
  return yield* Effect.provide(AuthorizedClient.make(options, grantOf(options, parameters)), Crypto.layer)
})
