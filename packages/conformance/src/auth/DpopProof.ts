/**
 * Checks proofs of possession as a protected server does (RFC 9449 section 4.3).
 */
import { createHash, createPublicKey, type JsonWebKey, verify } from "node:crypto"

const digests: Readonly<Record<string, string | undefined>> = { ES256: "sha256", ES384: "sha384" }
const acceptedSeconds = 300

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url")
const json = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString())

/** RFC 7638 section 3.2. */
const thumbprint = ({ crv, kty, x, y }: JsonWebKey): string => sha256(JSON.stringify({ crv, kty, x, y }))

export interface Request {
  readonly method: string
  readonly url: string
  readonly token: string
  /** The key that the token is bound to, by its thumbprint. */
  readonly boundTo: string | undefined
  /** Those that are taken; `undefined` where none is wanted. */
  readonly nonces: ReadonlyArray<string> | undefined
  /** Whether the identifier was not seen before. */
  readonly isFresh: (jti: string) => boolean
}

/** Says what is wrong with a proof, as the `error` of a challenge. */
export const problem = (proof: string | undefined, request: Request): string | undefined => {
  const invalid = "invalid_dpop_proof"
  const parts = proof?.split(".") ?? []
  if (parts.length !== 3) return invalid
  const [head = "", body = "", signature = ""] = parts
  try {
    const header = json(head)
    const claims = json(body)
    const digest = digests[header.alg]
    if (header.typ !== "dpop+jwt" || digest === undefined || header.jwk.d !== undefined) return invalid
    const key = createPublicKey({ key: header.jwk, format: "jwk" })
    const isSigned = verify(
      digest,
      Buffer.from(`${head}.${body}`),
      { key, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url")
    )
    const isRecent = Math.abs(Date.now() / 1000 - claims.iat) <= acceptedSeconds
    if (
      !isSigned || !isRecent || claims.htm !== request.method || claims.htu !== request.url
      || claims.ath !== sha256(request.token) || thumbprint(header.jwk) !== request.boundTo
    ) return invalid
    if (request.nonces?.includes(claims.nonce) === false) return "use_dpop_nonce"
    return typeof claims.jti === "string" && request.isFresh(claims.jti) ? undefined : invalid
  } catch {
    return invalid
  }
}
