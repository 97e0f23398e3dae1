/**
 * Digests, signatures and random bytes of WebCrypto, which every runtime has.
 */
import * as Digest from "effect/crypto/Digest"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Signature from "effect/crypto/Signature"
import * as Layer from "effect/Layer"
import type { Crypto } from "./Grant.ts"

export const layer: Layer.Layer<Crypto> = Layer.provideMerge(
  Layer.mergeAll(Digest.layerWebCrypto, Signature.layerWebCrypto),
  SecureRandom.layerWebCrypto
)
