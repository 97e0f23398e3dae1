/**
 * What is remembered of one MCP server: the authorization server it named last, and for every authorization server it
 * ever named what that one issued. Nothing of one is used with another.
 */
import type { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as ProtectedResource from "../ProtectedResource.ts"
import type { TokenStore } from "../TokenStore.ts"
import * as Failure from "./Failure.ts"

const Secret = Schema.RedactedFromValue(Schema.String)
const optional = <S extends Schema.Constraint>(schema: S) => Schema.optional(schema)

const Token = Schema.Struct({
  accessToken: Secret,
  /** In lower case. */
  tokenType: Schema.String,
  /** RFC 9449: the key it is bound to, by its thumbprint. */
  boundTo: optional(Schema.String),
  /** Whom it was issued to; only that client may refresh it. */
  clientId: Schema.String,
  /** In milliseconds since the epoch. */
  issuedAt: Schema.Finite,
  /** In milliseconds since the epoch; absent where the server did not say. */
  expiresAt: optional(Schema.Finite),
  refreshToken: optional(Secret),
  scope: optional(Schema.String)
})

const Registered = Schema.Struct({
  clientId: Schema.String,
  clientSecret: optional(Secret),
  authMethod: optional(Schema.String),
  /** Absent for one that was registered beforehand. */
  redirectUri: optional(Schema.String),
  secretExpiresAt: optional(Schema.Finite),
  scopes: optional(Schema.Array(Schema.String))
})

const Authorization = Schema.Struct({
  issuer: Schema.String,
  tokenEndpoint: Schema.String,
  tokenEndpointAuthMethods: optional(Schema.Array(Schema.String)),
  /** The `resource` that was sent; absent where none was. */
  resource: optional(Schema.String),
  /** Every scope that was asked for or granted so far. */
  scopes: Schema.Array(Schema.String),
  registered: optional(Registered),
  token: optional(Token)
})

const Record = Schema.Struct({
  version: Schema.Literal(1),
  /** The authorization server that the MCP server named last. */
  issuer: optional(Schema.String),
  authorizations: Schema.Array(Authorization)
})

export type Token = typeof Token.Type
export type Registered = typeof Registered.Type
export type Authorization = typeof Authorization.Type
export type Record = typeof Record.Type

const json = Schema.fromJsonString(Schema.toCodecJson(Record))
const decode = Schema.decodeUnknownExit(json)
const encode = Schema.encodeUnknownExit(json)

export const empty: Record = { version: 1, authorizations: [] }

/** The name of the record of a server. */
export const keyOf = (server: URL, principal: string | undefined): string => {
  const id = ProtectedResource.canonical(server)
  return principal === undefined ? id : `${id}#principal=${encodeURIComponent(principal)}`
}

/** What is known of an authorization server; of the one named last by default. */
export const authorizationOf = (record: Record, issuer = record.issuer): Authorization | undefined =>
  record.authorizations.find((authorization) => authorization.issuer === issuer)

/** Changes what is known of one authorization server. */
export const update = (
  record: Record,
  issuer: string,
  change: (authorization: Authorization | undefined) => Authorization
): Record => ({
  ...record,
  authorizations: [
    ...record.authorizations.filter((authorization) => authorization.issuer !== issuer),
    change(authorizationOf(record, issuer))
  ]
})

/** The text of a record; `undefined` for one that says nothing. */
const textOf = (record: Record): Effect.Effect<Redacted.Redacted | undefined, McpError.McpError> => {
  if (record.issuer === undefined && record.authorizations.length === 0) return Effect.succeed(undefined)
  const encoded = encode(record)
  return Exit.isSuccess(encoded)
    ? Effect.succeed(Redacted.make(encoded.value))
    : Effect.fail(Failure.failed("storage", "what the authorization server issued cannot be stored"))
}

const maxAttempts = 20

/** The records of one store. */
export interface Records {
  readonly load: (key: string) => Effect.Effect<Record, McpError.McpError>
  /** Changes a record, as often as it takes until nobody comes in between; `undefined` leaves it. Gives what is stored. */
  readonly modify: (
    key: string,
    change: (record: Record) => Record | undefined
  ) => Effect.Effect<Record, McpError.McpError>
}

export const make = (store: TokenStore["Service"]): Records => {
  const read = (key: string) =>
    Effect.gen(function*() {
      const text = yield* store.get(key)
      if (text === undefined) return { text, record: empty }
      const decoded = decode(Redacted.value(text))
      if (Exit.isSuccess(decoded)) return { text, record: decoded.value }
      yield* Effect.logWarning("What the token store holds for a server cannot be read and is not used")
      return { text, record: empty }
    })

  return {
    load: (key) => Effect.map(read(key), ({ record }) => record),
    modify: Effect.fnUntraced(function*(key, change) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const { record, text } = yield* read(key)
        const next = change(record)
        if (next === undefined) return record
        if (yield* store.compareAndSet(key, text, yield* textOf(next))) return next
      }
      return yield* Effect.fail(Failure.failed("storage", "the token store is changed by others all the time"))
    })
  }
}
