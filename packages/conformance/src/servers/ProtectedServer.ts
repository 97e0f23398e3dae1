/**
 * An MCP server made with `@modelcontextprotocol/server` that takes only the tokens of an authorization server, about
 * which it asks there. Its metadata says which (RFC 9728); what a token may do goes by its scopes.
 */
import { toNodeHandler } from "@modelcontextprotocol/node"
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import * as DpopProof from "../auth/DpopProof.ts"
import * as Listening from "../auth/Listening.ts"
import type { AuthorizationServer } from "./AuthorizationServer.ts"

export interface Options {
  /**
   * Which tokens it takes.
   *
   * @default "bearer"
   */
  readonly scheme?: "bearer" | "dpop" | undefined
  /**
   * Whether proofs have to carry a nonce, which changes with every so many requests. The one before is taken too.
   *
   * @default never
   */
  readonly requestsPerNonce?: number | undefined
}

/** A request, as far as authorization is concerned. */
export interface Call {
  readonly status: number
  /** The scheme of its credentials. */
  readonly scheme: string | undefined
  /** Whom the token was issued to. */
  readonly clientId: string | undefined
}

export interface ProtectedServer {
  readonly url: string
  readonly calls: ReadonlyArray<Call>
}

/** What the authorization server says of a token (RFC 7662 section 2.2, RFC 9449 section 6.2). */
interface Introspected {
  readonly active: boolean
  readonly scope?: string
  readonly aud?: string
  readonly client_id?: string
  readonly sub?: string
  readonly cnf?: { readonly jkt?: string }
}

const scopes = ["read", "write"]

const makeServer = (): McpServer => {
  const server = new McpServer({ name: "protected", version: "1.0.0" })
  server.registerTool("whoami", { description: "Tells whom the token was issued to." }, (context) => ({
    content: [{ type: "text", text: context.http?.authInfo?.clientId ?? "nobody" }]
  }))
  server.registerTool("write", { description: "Needs the scope \"write\"." }, () => ({
    content: [{ type: "text", text: "written" }]
  }))
  return server
}

const handlerOf = (origin: string, authorizationServer: AuthorizationServer, options: Options) => {
  const { requestsPerNonce, scheme = "bearer" } = options
  const url = `${origin}/mcp`
  const metadataPath = "/.well-known/oauth-protected-resource/mcp"
  const calls: Array<Call> = []
  const known = new Set<string>()
  const serve = toNodeHandler(createMcpHandler(makeServer))
  let nonces: readonly [newest: string, before: string] = [randomUUID(), randomUUID()]
  let proved = 0
  authorizationServer.addResource(url, scopes)

  const introspect = async (token: string): Promise<Introspected> => {
    const { authorization, url } = authorizationServer.introspection
    const response = await fetch(url, {
      method: "POST",
      headers: { authorization },
      body: new URLSearchParams({ token })
    })
    return await response.json() as Introspected
  }

  const protect = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [named, token = ""] = (request.headers.authorization ?? "").split(" ")
    const refuse = (status: 401 | 403, parameters: Readonly<Record<string, string>>): void => {
      const all = { ...parameters, resource_metadata: `${origin}${metadataPath}` }
      const text = Object.entries(all).map(([name, value]) => `${name}="${value}"`).join(", ")
      calls.push({ status, scheme: named === "" ? undefined : named, clientId: undefined })
      response.writeHead(status, { "www-authenticate": `${scheme === "dpop" ? "DPoP" : "Bearer"} ${text}` }).end()
    }
    if (token === "") return refuse(401, { scope: "read" })
    const { active, aud, client_id = "", cnf, scope = "" } = await introspect(token)
    if (!active || aud !== url || named?.toLowerCase() !== scheme || (cnf?.jkt !== undefined) !== (scheme === "dpop")) {
      return refuse(401, { error: "invalid_token" })
    }
    if (scheme === "dpop") {
      const header = request.headers["dpop"]
      const wrong = DpopProof.problem(Array.isArray(header) ? undefined : header, {
        method: request.method ?? "",
        url,
        token,
        boundTo: cnf?.jkt,
        nonces: requestsPerNonce === undefined ? undefined : nonces,
        isFresh: (jti) => known.size < known.add(jti).size
      })
      if (requestsPerNonce !== undefined) {
        if (wrong === undefined && ++proved % requestsPerNonce === 0) nonces = [randomUUID(), nonces[0]]
        response.setHeader("dpop-nonce", nonces[0])
      }
      if (wrong !== undefined) return refuse(401, { error: wrong })
    }
    const granted = scope.split(" ")
    // Over HTTP the name of the tool is in a header too (2026-07-28 transports).
    if (request.headers["mcp-name"] === "write" && !granted.includes("write")) {
      return refuse(403, { error: "insufficient_scope", scope: "write" })
    }
    response.on("finish", () => {
      calls.push({ status: response.statusCode, scheme: named, clientId: client_id })
    })
    const { method = "GET", url: path = "/" } = request
    await serve(
      Object.assign(request, { method, url: path, auth: { token, clientId: client_id, scopes: granted } }),
      response
    )
  }

  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname } = new URL(request.url ?? "/", origin)
    if (pathname === "/mcp") {
      protect(request, response).catch(() => {
        // Its caller sees what happened.
        if (!response.headersSent) response.writeHead(500)
        response.end()
      })
      return
    }
    if (pathname !== metadataPath) return void response.writeHead(404).end()
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({
      resource: url,
      authorization_servers: [authorizationServer.issuer],
      scopes_supported: ["read"],
      bearer_methods_supported: ["header"],
      ...(scheme === "dpop" ? { dpop_bound_access_tokens_required: true } : undefined)
    }))
  }

  return { handler, value: { url, calls } }
}

/** Starts a server that ends with the scope. */
export const start = (
  authorizationServer: AuthorizationServer,
  options: Options = {}
): Effect.Effect<ProtectedServer, never, Scope.Scope> =>
  Listening.listen((origin) => handlerOf(origin, authorizationServer, options))
