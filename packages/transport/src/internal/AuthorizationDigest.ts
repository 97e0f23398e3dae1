/**
 * Which credentials a response was given for, told without keeping them: answers that hold for one caller must not
 * reach another.
 */
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"

// Tokens are renewed now and then, so few are in use at a time.
const capacity = 8

export class AuthorizationDigest {
  private readonly known = new Map<string, string>()

  /**
   * The SHA-256 of the authorization that was sent, in hex; `none` without one, `unknown` where the client's response
   * does not keep the request that was sent or nothing can be hashed. It waits only for credentials seen the first time.
   */
  of(response: HttpClientResponse): string | Effect.Effect<string> {
    // Clients that were made by hand may leave it out.
    const headers = (response.request as HttpClientResponse["request"] | undefined)?.headers
    if (headers === undefined) return "unknown"
    const authorization = headers["authorization"]
    return authorization === undefined ? "none" : this.known.get(authorization) ?? this.compute(authorization)
  }

  private compute(authorization: string): Effect.Effect<string> {
    return Digest.Digest.use((digest) => digest.digestHex(Digest.sha256, new TextEncoder().encode(authorization))).pipe(
      Effect.provide(Digest.layerWebCrypto),
      Effect.tap((hex) =>
        Effect.sync(() => {
          const [oldest] = this.known.size >= capacity ? this.known.keys() : []
          if (oldest !== undefined) this.known.delete(oldest)
          this.known.set(authorization, hex)
        })
      ),
      // Browsers have no WebCrypto on pages without TLS.
      Effect.catchCause(() => Effect.succeed("unknown"))
    )
  }
}
