/**
 * Signed JSON Web Tokens (RFC 7515, RFC 7519), as clients assert and prove things with.
 */
import type * as CryptoError from "effect/crypto/CryptoError"
import * as KeyFormat from "effect/crypto/KeyFormat"
import * as Signature from "effect/crypto/Signature"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Redacted from "effect/Redacted"

/** The algorithms of RFC 7518 section 3.1 and RFC 8037 that clients use. */
export type Algorithm = "ES256" | "ES384" | "RS256" | "PS256" | "EdDSA"

export const algorithms: { readonly [A in Algorithm]: Signature.Algorithm } = {
  ES256: Signature.ecdsaP256,
  ES384: Signature.ecdsaP384,
  RS256: Signature.rsaPkcs1v15Sha256,
  PS256: Signature.rsaPssSha256,
  EdDSA: Signature.ed25519
}

/** A private key: PKCS#8 in PEM, or a JWK. */
export type KeyInput = string | JsonWebKey | Redacted.Redacted<string | JsonWebKey>

export const decodeKey = (
  input: KeyInput,
  algorithm: Algorithm
): Effect.Effect<Signature.PrivateKey, CryptoError.CryptoError> => {
  const key = Redacted.isRedacted(input) ? Redacted.value(input) : input
  return typeof key === "string"
    ? KeyFormat.decodePrivate(KeyFormat.pem(KeyFormat.pkcs8), algorithms[algorithm], key)
    : KeyFormat.decodePrivate(KeyFormat.jwk, algorithms[algorithm], key)
}

/** Signs claims. */
export const sign = (
  key: Signature.PrivateKey,
  header: { readonly alg: Algorithm; readonly [name: string]: unknown },
  claims: Readonly<Record<string, unknown>>
): Effect.Effect<string, CryptoError.CryptoError, Signature.Signature> =>
  Effect.gen(function*() {
    const signature = yield* Signature.Signature
    const input = `${Base64Url.encode(JSON.stringify(header))}.${Base64Url.encode(JSON.stringify(claims))}`
    return `${input}.${Base64Url.encode(yield* signature.sign(key, new TextEncoder().encode(input)))}`
  })
