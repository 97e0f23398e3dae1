/**
 * How a token is obtained where none is at hand: the part in which the ways to authorize differ.
 */
import type { McpError } from "@mcp-effect/protocol"
import type * as Digest from "effect/crypto/Digest"
import type * as SecureRandom from "effect/crypto/SecureRandom"
import type * as Signature from "effect/crypto/Signature"
import type * as Effect from "effect/Effect"
import type * as Discovery from "../Discovery.ts"
import type * as TokenEndpoint from "../TokenEndpoint.ts"
import type { AuthHttp } from "./AuthHttp.ts"
import type { Authorization, Registered } from "./Records.ts"

/** What authorization computes with; the same on every runtime. */
export type Crypto = SecureRandom.SecureRandom | Digest.Digest | Signature.Signature

/** One attempt to obtain a token. */
export interface Attempt {
  readonly http: AuthHttp
  readonly server: URL
  readonly discovered: Discovery.Discovered
  /** RFC 8707; `undefined` when the host wants none sent. */
  readonly resource: string | undefined
  readonly scopes: ReadonlyArray<string>
  readonly proof: TokenEndpoint.Proof
  /** What is known of the authorization server. */
  readonly known: Authorization | undefined
  /** Keeps a registration, or fails. */
  readonly keep: (registered: Registered) => Effect.Effect<void, McpError.McpError>
  /** Fails when the server has meanwhile named another authorization server: nothing goes to the old one any more. */
  readonly ensureCurrent: Effect.Effect<void, McpError.McpError>
  /** Marks the time in which a person acts. */
  readonly person: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export interface Obtained {
  readonly client: TokenEndpoint.Client
  readonly issued: TokenEndpoint.Issued
}

export interface Grant {
  /** `undefined` when there is nobody to ask. */
  readonly obtain: (attempt: Attempt) => Effect.Effect<Obtained | undefined, McpError.McpError, Crypto>
  /** The client that a refresh token was issued to, where the host still has it. */
  readonly clientOf: (known: Authorization, clientId: string) => TokenEndpoint.Client | undefined
  /** Which of several authorization servers to use. */
  readonly prefer: (issuers: ReadonlyArray<string>, known: (issuer: string) => boolean) => string | undefined
  /** Nobody is asked: a token that runs out is replaced in time, without a refresh token. */
  readonly isUnattended: boolean
}
