/**
 * A protected MCP server, its authorization server and an identity provider in memory, so that their time is the test's.
 * What is signed is checked by Node's own cryptography, not by the one under test.
 */
import { TokenStore } from "@mcp-effect/auth"
import type { McpError } from "@mcp-effect/protocol"
import { Clock, Context, Effect, Layer, Logger, Tracer } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import * as Crypto from "node:crypto"
import { clientOf, type TestClient } from "./Client.ts"

// ====================================================================================================================
// Signed tokens
// ====================================================================================================================

type Json = Record<string, unknown>

export interface Jwt {
  readonly header: Json
  readonly claims: Json
  readonly isSignedBy: (key: Crypto.KeyObject) => boolean
}

const verified: Record<string, (input: Buffer, key: Crypto.KeyObject, signature: Buffer) => boolean> = {
  ES256: (input, key, signature) => Crypto.verify("sha256", input, { key, dsaEncoding: "ieee-p1363" }, signature),
  ES384: (input, key, signature) => Crypto.verify("sha384", input, { key, dsaEncoding: "ieee-p1363" }, signature),
  RS256: (input, key, signature) => Crypto.verify("sha256", input, key, signature),
  PS256: (input, key, signature) =>
    Crypto.verify("sha256", input, {
      key,
      padding: Crypto.constants.RSA_PKCS1_PSS_PADDING,
      saltLength: Crypto.constants.RSA_PSS_SALTLEN_DIGEST
    }, signature),
  EdDSA: (input, key, signature) => Crypto.verify(undefined, input, key, signature)
}

export const jwtOf = (text: string | null | undefined): Jwt => {
  const [header = "", claims = "", signature = "", ...rest] = (text ?? "").split(".")
  const json = (part: string): Json => JSON.parse(Buffer.from(part, "base64url").toString())
  const read = { header: json(header), claims: json(claims) }
  return {
    ...read,
    isSignedBy: (key) =>
      rest.length === 0
      && verified[String(read.header["alg"])]?.(
          Buffer.from(`${header}.${claims}`),
          key,
          Buffer.from(signature, "base64url")
        ) === true
  }
}

const generate = {
  ES256: () => Crypto.generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ES384: () => Crypto.generateKeyPairSync("ec", { namedCurve: "P-384" }),
  RS256: () => Crypto.generateKeyPairSync("rsa", { modulusLength: 2048 }),
  PS256: () => Crypto.generateKeyPairSync("rsa", { modulusLength: 2048 }),
  EdDSA: () => Crypto.generateKeyPairSync("ed25519")
} as const

export type Algorithm = keyof typeof generate
export const algorithms = Object.keys(generate) as ReadonlyArray<Algorithm>

export const keyPair = (algorithm: Algorithm) => {
  const { privateKey, publicKey } = generate[algorithm]()
  return {
    publicKey,
    pem: privateKey.export({ format: "pem", type: "pkcs8" }) as string,
    jwk: privateKey.export({ format: "jwk" }) as JsonWebKey
  }
}

/** RFC 7638 section 3.2: the required members of each type of key, in the order of their names. */
export const thumbprint = (jwk: Json): string => {
  const members = { EC: ["crv", "kty", "x", "y"], RSA: ["e", "kty", "n"], OKP: ["crv", "kty", "x"] }[
    jwk["kty"] as "EC" | "RSA" | "OKP"
  ]
  const text = `{${members.map((name) => `"${name}":"${String(jwk[name])}"`).join(",")}}`
  return Crypto.createHash("sha256").update(text).digest("base64url")
}

// ====================================================================================================================
// The servers
// ====================================================================================================================

export interface Seen {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
  readonly form: URLSearchParams
  /** In milliseconds since the epoch. */
  readonly at: number
}

export interface Answer {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

export class TestTokenEndpoint {
  readonly server: string = "https://mcp.example/mcp"
  readonly issuer: string = "https://as.example"
  readonly seen: Array<Seen> = []
  /** When each token runs out, in milliseconds since the epoch. */
  readonly tokens = new Map<string, number>()
  scheme: "Bearer" | "DPoP" = "Bearer"
  resourceMetadata: Json = { resource: this.server, authorization_servers: [this.issuer] }
  metadata: Json = {}
  /** In seconds. */
  expiresIn = 3600
  /** Answers instead of the servers, where it gives something. */
  intercept: (seen: Seen) => Answer | undefined = () => undefined

  requests(url: string): ReadonlyArray<Seen> {
    return this.seen.filter((one) => `${one.url.origin}${one.url.pathname}` === url)
  }

  get tokenRequests(): ReadonlyArray<Seen> {
    return this.requests(`${this.issuer}/token`)
  }

  get calls(): ReadonlyArray<Seen> {
    return this.requests(this.server)
  }

  issue(at: number, extra: Json = {}): Answer {
    const token = `access-secret-${this.tokens.size + 1}`
    this.tokens.set(token, at + this.expiresIn * 1000)
    return { body: { access_token: token, token_type: this.scheme, expires_in: this.expiresIn, ...extra } }
  }

  private answer(seen: Seen): Answer {
    const intercepted = this.intercept(seen)
    if (intercepted !== undefined) return intercepted
    switch (`${seen.url.origin}${seen.url.pathname}`) {
      case this.server: {
        const [scheme, token = ""] = (seen.headers["authorization"] ?? "").split(" ")
        return scheme === this.scheme && seen.at < (this.tokens.get(token) ?? 0)
          ? { body: { ok: true } }
          : { status: 401, headers: { "www-authenticate": `${this.scheme} realm="mcp"` } }
      }
      case "https://mcp.example/.well-known/oauth-protected-resource/mcp":
        return { body: this.resourceMetadata }
      case `${this.issuer}/.well-known/oauth-authorization-server`:
        return { body: { issuer: this.issuer, token_endpoint: `${this.issuer}/token`, ...this.metadata } }
      case `${this.issuer}/token`:
        return this.issue(seen.at)
      default:
        return { status: 404 }
    }
  }

  readonly http: HttpClient.HttpClient = HttpClient.make((request, url) =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      const { body } = request
      const text = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
      const seen = {
        method: request.method,
        url,
        headers: request.headers,
        body: text,
        form: new URLSearchParams(text),
        at
      }
      this.seen.push(seen)
      const answer = this.answer(seen)
      return HttpClientResponse.fromWeb(
        request,
        new Response(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? null), {
          status: answer.status ?? 200,
          headers: { "content-type": "application/json", ...answer.headers }
        })
      )
    })
  )
}

// ====================================================================================================================
// The client
// ====================================================================================================================

/** What came out of a client other than by its requests. */
export class Traces {
  readonly logs: Array<string> = []
  readonly spans: Array<string> = []

  readonly layer = Layer.mergeAll(
    Logger.layer([Logger.make(({ cause, message }) => this.logs.push(`${JSON.stringify(message)} ${String(cause)}`))]),
    Layer.succeed(
      Tracer.Tracer,
      Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          const end = span.end.bind(span)
          span.end = (time, exit) => {
            this.spans.push(`${span.name} ${JSON.stringify([...span.attributes])} ${JSON.stringify(exit)}`)
            end(time, exit)
          }
          return span
        }
      })
    )
  )
}

export interface Options {
  /** @default memory */
  readonly store?: TokenStore.TokenStore["Service"] | undefined
  readonly traces?: Traces | undefined
  readonly dpop?: Layer.Layer<never, McpError.McpError> | undefined
}

/** A client of the servers by a layer under test; it closes with the scope. */
export const connect = Effect.fnUntraced(function*(
  servers: TestTokenEndpoint,
  layer: Layer.Layer<HttpClient.HttpClient, McpError.McpError, HttpClient.HttpClient>,
  { dpop = Layer.empty, store, traces = new Traces() }: Options = {}
) {
  const context = yield* Layer.build(
    Layer.fresh(layer).pipe(
      Layer.provide(Layer.succeed(HttpClient.HttpClient, servers.http)),
      Layer.provide(store === undefined ? TokenStore.layerMemory : Layer.succeed(TokenStore.TokenStore, store)),
      Layer.provide(dpop),
      Layer.provide(traces.layer)
    )
  )
  const client = clientOf(Context.get(context, HttpClient.HttpClient), servers.server)
  const within = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> => Effect.provide(effect, traces.layer)
  return { ...client, call: within(client.call), failure: within(client.failure) } satisfies TestClient
})
