/**
 * A protected MCP server and the authorization servers it names, in one real HTTP server on loopback. Refresh tokens
 * rotate, and one that is used twice revokes its whole family (RFC 9700 section 4.14).
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Crypto from "node:crypto"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"

interface Seen {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
  readonly form: URLSearchParams
}

interface Token {
  readonly issuer: string
  readonly scope: string
  readonly expiresAt: number
  readonly family: string
}

interface Code {
  readonly issuer: string
  readonly clientId: string
  readonly redirectUri: string
  readonly challenge: string
  readonly scope: string
  readonly resource: string | undefined
}

type Json = Record<string, unknown>
type Answer = (seen: Seen, raw: Http.ServerResponse) => boolean

export class TestAuthority {
  readonly origin: string
  readonly seen: Array<Seen> = []
  /** Answers instead of the server, where it returns `true`. */
  intercept: Answer = () => false

  // What the MCP server does.
  requiredScope: string | undefined
  challengedScope: string | undefined
  challengedMetadata: string | undefined
  /** `undefined`: 404. */
  pathMetadata: Json | undefined
  rootMetadata: Json | undefined
  issuer: string

  // What the authorization servers do.
  metadataOverrides: Json = {}
  /** In seconds; `undefined`: not said. */
  expiresIn: number | undefined = 3600
  issuesRefreshTokens = true
  tokenType: unknown = "Bearer"
  callbackOverrides: Record<string, string | undefined> = {}

  readonly tokens = new Map<string, Token>()
  readonly refreshTokens = new Map<string, Token & { readonly clientId: string; used: boolean }>()
  readonly clients = new Map<string, { readonly secret: string | undefined; readonly issuer: string }>()
  private readonly codes = new Map<string, Code>()

  constructor(origin: string) {
    this.origin = origin
    this.issuer = `${origin}/as1`
    this.pathMetadata = { resource: this.url, authorization_servers: [this.issuer] }
    this.challengedMetadata = `${origin}/.well-known/oauth-protected-resource/mcp`
  }

  get url(): string {
    return `${this.origin}/mcp`
  }

  metadata(issuer: string): Json {
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
      authorization_response_iss_parameter_supported: true,
      ...this.metadataOverrides
    }
  }

  /** Names another authorization server from now on. */
  migrate(issuer: string): void {
    this.issuer = issuer
    this.pathMetadata = { resource: this.url, authorization_servers: [issuer] }
  }

  requests(path: string | RegExp): ReadonlyArray<Seen> {
    return this.seen.filter((one) => typeof path === "string" ? one.path === path : path.test(one.path))
  }

  expireAll(): void {
    for (const [token, facts] of this.tokens) this.tokens.set(token, { ...facts, expiresAt: 0 })
  }

  handle(seen: Seen, raw: Http.ServerResponse): void {
    this.seen.push(seen)
    if (this.intercept(seen, raw)) return
    if (seen.path === "/mcp") return this.resource(seen, raw)
    if (seen.path === "/.well-known/oauth-protected-resource/mcp") return json(raw, this.pathMetadata)
    if (seen.path === "/.well-known/oauth-protected-resource") return json(raw, this.rootMetadata)
    const named = /^\/\.well-known\/oauth-authorization-server(\/as\d)$/.exec(seen.path)
    if (named !== null) return json(raw, this.metadata(`${this.origin}${named[1]}`))
    const endpoint = /^(\/as\d)\/(authorize|token|register)$/.exec(seen.path)
    if (endpoint === null) return json(raw, undefined)
    return this.endpoint(`${this.origin}${endpoint[1]}`, endpoint[2] ?? "", seen, raw)
  }

  endpoint(issuer: string, name: string, seen: Seen, raw: Http.ServerResponse): void {
    if (name === "authorize") return this.authorize(issuer, seen, raw)
    if (name === "register") return this.register(issuer, seen, raw)
    return this.token(issuer, seen, raw)
  }

  private resource(seen: Seen, raw: Http.ServerResponse): void {
    const presented = /^Bearer (.+)$/.exec(seen.headers.authorization ?? "")?.[1]
    const token = presented === undefined ? undefined : this.tokens.get(presented)
    const challenge = (error: string | undefined, scope: string | undefined): string =>
      [
        "Basic realm=\"other\"",
        "Bearer realm=\"mcp\"" + (error === undefined ? "" : `, error="${error}"`)
        + (this.challengedMetadata === undefined ? "" : `, resource_metadata="${this.challengedMetadata}"`)
        + (scope === undefined ? "" : `, scope="${scope}"`)
      ].join(", ")
    if (token === undefined || token.expiresAt <= Date.now() || token.issuer !== this.issuer) {
      raw.writeHead(401, {
        "www-authenticate": challenge(presented === undefined ? undefined : "invalid_token", this.challengedScope)
      })
      return void raw.end()
    }
    if (this.requiredScope !== undefined && !token.scope.split(" ").includes(this.requiredScope)) {
      raw.writeHead(403, { "www-authenticate": challenge("insufficient_scope", this.requiredScope) })
      return void raw.end()
    }
    json(raw, { ok: true })
  }

  private authorize(issuer: string, seen: Seen, raw: Http.ServerResponse): void {
    const { query } = seen
    const code = Crypto.randomUUID()
    this.codes.set(code, {
      issuer,
      clientId: query.get("client_id") ?? "",
      redirectUri: query.get("redirect_uri") ?? "",
      challenge: query.get("code_challenge") ?? "",
      scope: query.get("scope") ?? "",
      resource: query.get("resource") ?? undefined
    })
    const location = new URL(query.get("redirect_uri") ?? "")
    const answer = { code, state: query.get("state") ?? "", iss: issuer, ...this.callbackOverrides }
    for (const [name, value] of Object.entries(answer)) {
      if (value !== undefined) location.searchParams.append(name, value)
    }
    raw.writeHead(302, { location: location.href })
    raw.end()
  }

  private register(issuer: string, seen: Seen, raw: Http.ServerResponse): void {
    const request = JSON.parse(seen.body) as {
      redirect_uris: ReadonlyArray<string>
      token_endpoint_auth_method: string
    }
    const clientId = `client-${this.clients.size + 1}`
    const secret = request.token_endpoint_auth_method === "none" ? undefined : `secret of ${clientId}: 100%&+`
    this.clients.set(clientId, { secret, issuer })
    json(raw, {
      client_id: clientId,
      client_secret: secret,
      client_secret_expires_at: 0,
      redirect_uris: request.redirect_uris,
      token_endpoint_auth_method: request.token_endpoint_auth_method
    }, 201)
  }

  private token(issuer: string, seen: Seen, raw: Http.ServerResponse): void {
    const { form } = seen
    const basic = /^Basic (.+)$/.exec(seen.headers.authorization ?? "")?.[1]
    const decoded = basic === undefined ? undefined : Buffer.from(basic, "base64").toString().split(":")
    const unescape = (text: string | undefined) => new URLSearchParams(`a=${text ?? ""}`).get("a") ?? ""
    const clientId = decoded === undefined ? form.get("client_id") ?? "" : unescape(decoded[0])
    const secret = decoded === undefined ? form.get("client_secret") ?? undefined : unescape(decoded[1])
    const client = this.clients.get(clientId)
    if (client !== undefined && (client.secret !== secret || client.issuer !== issuer)) {
      return json(raw, { error: "invalid_client" }, 401)
    }
    switch (form.get("grant_type")) {
      case "authorization_code": {
        const code = this.codes.get(form.get("code") ?? "")
        this.codes.delete(form.get("code") ?? "")
        const challenge = Crypto.createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url")
        return code === undefined || code.issuer !== issuer || code.clientId !== clientId
            || code.redirectUri !== form.get("redirect_uri") || code.challenge !== challenge
            || code.resource !== (form.get("resource") ?? undefined)
          ? json(raw, { error: "invalid_grant", error_description: "the code is of no use" }, 400)
          : this.issue(raw, issuer, code.scope, clientId, Crypto.randomUUID())
      }
      case "refresh_token": {
        const refresh = this.refreshTokens.get(form.get("refresh_token") ?? "")
        if (refresh === undefined || refresh.issuer !== issuer || refresh.clientId !== clientId || refresh.used) {
          if (refresh !== undefined) this.revoke(refresh.family)
          return json(raw, { error: "invalid_grant", error_description: "the refresh token is of no use" }, 400)
        }
        refresh.used = true
        return this.issue(raw, issuer, refresh.scope, clientId, refresh.family)
      }
      case "client_credentials":
        return this.issue(raw, issuer, form.get("scope") ?? "", clientId, Crypto.randomUUID())
      default:
        return json(raw, { error: "unsupported_grant_type" }, 400)
    }
  }

  private revoke(family: string): void {
    for (const [token, facts] of this.tokens) if (facts.family === family) this.tokens.delete(token)
    for (const [token, facts] of this.refreshTokens) if (facts.family === family) this.refreshTokens.delete(token)
  }

  private issue(raw: Http.ServerResponse, issuer: string, scope: string, clientId: string, family: string): void {
    // Rotation ends what was issued before.
    for (const [token, facts] of this.tokens) if (facts.family === family) this.tokens.delete(token)
    const accessToken = `access-secret-${Crypto.randomUUID()}`
    const expiresAt = Date.now() + (this.expiresIn ?? 3600) * 1000
    this.tokens.set(accessToken, { issuer, scope, expiresAt, family })
    const refreshToken = this.issuesRefreshTokens ? `refresh-secret-${Crypto.randomUUID()}` : undefined
    if (refreshToken !== undefined) {
      this.refreshTokens.set(refreshToken, { issuer, scope, expiresAt: Infinity, family, clientId, used: false })
    }
    json(raw, {
      access_token: accessToken,
      token_type: this.tokenType,
      expires_in: this.expiresIn,
      refresh_token: refreshToken,
      scope: scope === "" ? undefined : scope
    })
  }
}

/** Answers with JSON, or with 404 for nothing. */
export const json = (raw: Http.ServerResponse, value: Json | undefined, status = 200): void => {
  raw.writeHead(value === undefined ? 404 : status, { "content-type": "application/json" })
  raw.end(value === undefined ? "" : JSON.stringify(value))
}

/** Starts the server; it ends with the scope. */
export const start: Effect.Effect<TestAuthority, never, Scope.Scope> = Effect.gen(function*() {
  let authority: TestAuthority | undefined
  const server = Http.createServer((request, raw) => {
    const pieces: Array<Buffer> = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      const url = new URL(request.url ?? "/", "http://127.0.0.1")
      const body = Buffer.concat(pieces).toString()
      authority?.handle({
        method: request.method ?? "",
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body,
        form: new URLSearchParams(body)
      }, raw)
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  authority = new TestAuthority(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return authority
})
