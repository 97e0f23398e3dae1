/**
 * Tokens that are bound to a key: who takes one away cannot use it (RFC 9449, MCP extension
 * `io.modelcontextprotocol/auth/dpop`).
 *
 * **Example** (A sign-in whose tokens are bound)
 *
 * ```ts
 * import { type Authorize, Dpop, OAuth } from "@mcp-effect/auth"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * declare const browser: Layer.Layer<Authorize.Authorize>
 *
 * const http = OAuth.layer().pipe(
 *   Layer.provide(Dpop.layer()),
 *   Layer.provide(browser),
 *   Layer.provide(FetchHttpClient.layer)
 * )
 * ```
 *
 * @since 0.1.0
 */
import { type McpError, WwwAuthenticate } from "@mcp-effect/protocol"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Digest from "effect/crypto/Digest"
import * as KeyFormat from "effect/crypto/KeyFormat"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Signature from "effect/crypto/Signature"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Crypto from "./internal/Crypto.ts"
import { CurrentProof } from "./internal/CurrentProof.ts"
import * as Failure from "./internal/Failure.ts"
import * as Fields from "./internal/Fields.ts"
import * as Jwt from "./internal/Jwt.ts"
import * as ProtectedResource from "./ProtectedResource.ts"
import type * as TokenEndpoint from "./TokenEndpoint.ts"

// ====================================================================================================================
// Options
// ====================================================================================================================

/**
 * The key that tokens are bound to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /**
   * What proofs are signed with.
   *
   * @default "ES256"
   */
  readonly algorithm?: Jwt.Algorithm | undefined
  /**
   * A private key, in PKCS#8 (PEM) or as a JWK. With one of its own a program uses the tokens that a `TokenStore` kept
   * from an earlier run: those bound to another key are set aside.
   *
   * @default a new key for each layer
   */
  readonly key?: TokenEndpoint.PrivateKey["key"] | undefined
}

// ====================================================================================================================
// Nonces
// ====================================================================================================================

const maxServers = 64
const maxNonceLength = 1024

// RFC 9449 section 8.1: NQCHAR of RFC 6749.
const isNonce = (text: string): boolean => text.length <= maxNonceLength && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)

/**
 * The newest nonce of each server. Those of an authorization server and of a protected resource are apart, on the same
 * origin too (RFC 9449 sections 8 and 9).
 */
class Nonces {
  private readonly nonces = new Map<string, string>()

  get(key: string): string | undefined {
    return this.nonces.get(key)
  }

  /** Tells whether there was one. */
  note(key: string, headers: Readonly<Record<string, string | undefined>>): boolean {
    const nonce = headers["dpop-nonce"]
    if (nonce === undefined || !isNonce(nonce)) return false
    this.nonces.delete(key)
    this.nonces.set(key, nonce)
    for (const oldest of this.nonces.keys()) {
      if (this.nonces.size <= maxServers) break
      this.nonces.delete(oldest)
    }
    return true
  }
}

const tokenEndpoint = ({ origin }: URL): string => `token ${origin}`
const resource = ({ origin }: URL): string => `resource ${origin}`

// ====================================================================================================================
// Proofs
// ====================================================================================================================

const encoder = new TextEncoder()

/** RFC 7638 section 3: the members of a public key in the order of their names. `KeyFormat` writes no other. */
const canonical = (jwk: JsonWebKey): string =>
  JSON.stringify(Object.fromEntries(Object.entries(jwk).sort(([left], [right]) => left < right ? -1 : 1)))

/** RFC 9449 section 4.2: without query and fragment. */
const htu = ({ origin, pathname }: URL): string => `${origin}${pathname}`

const asksForNonce = (text: string): boolean =>
  Result.getOrUndefined(Result.flatMap(Fields.parse(text), Fields.string("error"))) === "use_dpop_nonce"

const makeProof = Effect.fnUntraced(function*(options: Options) {
  const { algorithm = "ES256", key } = options
  const signature = yield* Signature.Signature
  const random = yield* SecureRandom.SecureRandom
  const digest = yield* Digest.Digest
  const hash = (text: string) =>
    Effect.map(digest.digest(Digest.sha256, encoder.encode(text)), (bytes) => Base64Url.encode(bytes))

  const { jwk, privateKey } = yield* Effect.gen(function*() {
    const privateKey = key === undefined
      ? (yield* signature.generateKeyPair(Jwt.algorithms[algorithm])).privateKey
      : yield* Jwt.decodeKey(key, algorithm)
    // `publicKeyOf` loses which algorithm it was.
    const publicKey = (yield* signature.publicKeyOf(privateKey)) as KeyFormat.Key
    return { privateKey, jwk: yield* KeyFormat.encode(KeyFormat.jwk, publicKey) }
  }).pipe(
    Effect.mapError(() =>
      key === undefined
        ? Failure.invalid("algorithm", `${algorithm} is something that this runtime has no keys for`)
        : Failure.invalid("key", `is no private key for ${algorithm}, in PKCS#8 (PEM) or as a JWK`)
    )
  )
  const nonces = new Nonces()

  const proof: TokenEndpoint.Proof = {
    tokenType: "dpop",
    thumbprint: yield* hash(canonical(jwk)),
    problem: ({ authorizationServer: { dpopSigningAlgorithms } }) =>
      dpopSigningAlgorithms === undefined || dpopSigningAlgorithms.includes(algorithm)
        ? undefined
        : `the authorization server takes no proofs that are signed with ${algorithm} (DPoP); set the algorithm option`,
    headers: (method, url, token) =>
      Effect.gen(function*() {
        const nonce = nonces.get(token === undefined ? tokenEndpoint(url) : resource(url))
        return {
          dpop: yield* Jwt.sign(privateKey, { alg: algorithm, typ: "dpop+jwt", jwk }, {
            jti: yield* random.uuidV4(),
            htm: method,
            htu: htu(url),
            iat: Math.floor((yield* Clock.currentTimeMillis) / 1000),
            ...(token === undefined ? undefined : { ath: yield* hash(Redacted.value(token)) }),
            ...(nonce === undefined ? undefined : { nonce })
          })
        }
      }).pipe(
        Effect.provideService(Signature.Signature, signature),
        Effect.mapError(() => Failure.failed("token", `nothing can be signed with ${algorithm} (DPoP)`))
      ),
    retryToken: (url, { headers, status, text }) =>
      nonces.note(tokenEndpoint(url), headers) && (status === 400 || status === 401) && asksForNonce(text),
    retryRequest: (url, { headers, status }) => {
      if (!nonces.note(resource(url), headers) || status !== 401) return false
      const challenges = WwwAuthenticate.parse(headers["www-authenticate"] ?? "")
      return challenges.some((challenge) =>
        challenge.scheme === "dpop" && ProtectedResource.parameter(challenge, "error") === "use_dpop_nonce"
      )
    }
  }
  return proof
})

// ====================================================================================================================
// Layers
// ====================================================================================================================

/**
 * Layer for the layers that authorize, of whatever grant: their tokens are asked for bound to a key, and each request
 * proves anew that it has the key. A token that is not bound to it is refused.
 *
 * Nonces that a server hands out are used from then on, and a request that a server wants repeated with one is sent once
 * more. Proofs carry the time of this machine, which has to be about right.
 *
 * Fails with `InvalidRequest` for a key that does not fit the algorithm.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<never, McpError.McpError> =>
  Layer.effect(CurrentProof, Effect.provide(makeProof(options), Crypto.layer))

/**
 * Layer with options from configuration.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Config.Wrap<Options>
): Layer.Layer<never, McpError.McpError | Config.ConfigError> =>
  Layer.effect(
    CurrentProof,
    Effect.flatMap(Config.unwrap(options), (options) => Effect.provide(makeProof(options), Crypto.layer))
  )
