import { assert, describe } from "@effect/vitest"
import { Account, Authorize, TokenStore } from "@mcp-effect/auth"
import type { McpClient } from "@mcp-effect/client"
import { signIn } from "@mcp-effect/conformance/auth/Person"
import * as SseServer from "@mcp-effect/conformance/http/SseServer"
import * as AuthorizationServer from "@mcp-effect/conformance/servers/AuthorizationServer"
import * as ProtectedServer from "@mcp-effect/conformance/servers/ProtectedServer"
import { verifiesLive, verifiesPure } from "@mcp-effect/conformance/Verifies"
import { Connect, type NodeOAuth } from "@mcp-effect/node"
import { Effect, Layer, Redacted, Result } from "effect"
import * as Servers from "./http/Servers.ts"

const timeoutMillis = 60_000

/** Somebody who signs in as often as asked, and a store. */
const ada = Effect.gen(function*() {
  const store = yield* TokenStore.makeMemory
  const signIns: Array<URL> = []
  const oauth: NodeOAuth.Options = {
    store: Layer.succeed(TokenStore.TokenStore, store),
    dynamicRegistration: true,
    authorize: Authorize.layer({
      redirectUri: "http://127.0.0.1/callback",
      authorize: ({ redirectUri, url }) => {
        signIns.push(url)
        return signIn(url, redirectUri, { name: "ada", choice: "allow" })
      }
    })
  }
  const accounts = (url: string) => Effect.provideService(Account.accounts(url), TokenStore.TokenStore, store)
  return { accounts, oauth, signIns }
})

const start = Effect.gen(function*() {
  const authorizationServer = yield* AuthorizationServer.start()
  return { authorizationServer, server: yield* ProtectedServer.start(authorizationServer), ...(yield* ada) }
})

const call = (client: McpClient.McpClient) => client.callTool("whoami", {})

describe("Connect with oauth", () => {
  for (const transport of [undefined, "http"] as const) {
    verifiesLive(
      ["OAS-01", "CON-12", "OAT-12"],
      `signs in and keeps the token for the URL: ${transport ?? "Streamable HTTP"}`,
      () =>
        Effect.gen(function*() {
          const { accounts, authorizationServer, oauth, server, signIns } = yield* start
          const options = { oauth, transport }
          const client = yield* Connect.connect(server.url, options)
          assert.isUndefined((yield* call(client)).isError)
          assert.lengthOf(signIns, 1)
          const [account] = yield* accounts(server.url)
          assert.deepInclude(account, { issuer: authorizationServer.issuer, isSignedIn: true, isCurrent: true })
          const second = yield* Connect.connect(new URL(server.url), options)
          assert.isUndefined((yield* call(second)).isError)
          assert.lengthOf(signIns, 1)
        }),
      timeoutMillis
    )
  }

  verifiesLive(
    "PAIN-26",
    "sends its own requests by the same proxy",
    () =>
      Effect.gen(function*() {
        const { authorizationServer: { issuer }, oauth, server } = yield* start
        const proxy = yield* Servers.serveProxy()
        const client = yield* Connect.connect(server.url, { oauth, proxy: { http: proxy.url } })
        assert.isUndefined((yield* call(client)).isError)
        const origin = new URL(server.url).origin
        for (
          const hit of [
            `POST ${server.url}`,
            `GET ${origin}/.well-known/oauth-protected-resource/mcp`,
            `GET ${issuer}/.well-known/oauth-authorization-server`,
            `POST ${issuer}/reg`,
            `POST ${issuer}/token`
          ]
        ) assert.include(proxy.hits, hit)
      }),
    timeoutMillis
  )

  verifiesLive(
    ["OAT-01", "SSE-03"],
    "presents the token of the URL where messages of HTTP+SSE go, too",
    () =>
      Effect.gen(function*() {
        const authorizationServer = yield* AuthorizationServer.start()
        const { accounts, oauth, signIns } = yield* ada
        const tokens = new Set<string | undefined>()
        const server = yield* SseServer.serve({
          onGet: (open, { headers, url }, response) => {
            const origin = `http://${headers.host}`
            if (url.startsWith("/.well-known/oauth-protected-resource")) {
              response.json({ resource: `${origin}/sse`, authorization_servers: [authorizationServer.issuer] })
            } else if (headers.authorization === undefined) {
              response.send(401, { "www-authenticate": "Bearer scope=\"read\"" })
            } else {
              tokens.add(headers.authorization)
              open()
            }
          },
          onPost: (accept, { headers }) => {
            tokens.add(headers.authorization)
            accept()
          },
          onMessage: (message, stream) => {
            if (message.method === "initialize") {
              stream.result(message, {
                protocolVersion: "2024-11-05",
                capabilities: {},
                serverInfo: { name: "old", version: "1.0.0" }
              })
            } else if (message.method === "ping") stream.result(message, {})
          }
        })
        const url = new URL("/sse", server.url).href
        authorizationServer.addResource(url, ["read"])
        const client = yield* Connect.connect(url, { oauth })
        yield* client.ping()
        assert.lengthOf(signIns, 1)
        assert.strictEqual(tokens.size, 1, [...tokens].join())
        assert.match([...tokens][0] ?? "", /^Bearer ./)
        assert.deepInclude((yield* accounts(url))[0], { isSignedIn: true, resource: url })
      }),
    timeoutMillis
  )

  verifiesLive(
    "OAS-07",
    "leaves alone who brings a token, and reports a server that nobody signs in to",
    () =>
      Effect.gen(function*() {
        const { oauth, server, signIns } = yield* start
        const headers = { authorization: Redacted.make("Bearer of-the-host") }
        const refused = yield* Effect.flip(Connect.connect(server.url, { oauth, headers }))
        assert.strictEqual(refused.reason._tag, "Unauthorized")
        const nobody = { ...oauth, authorize: Authorize.layerNone }
        for (const options of [{ oauth: nobody }, {}]) {
          const error = yield* Effect.flip(Connect.connect(server.url, options))
          assert.strictEqual(error.reason._tag, "Unauthorized")
        }
        assert.deepStrictEqual(signIns, [])
      }),
    timeoutMillis
  )

  verifiesPure(["CON-12", "ERR-12"], "is refused for a command", () => {
    for (const target of ["npx -y some-server", ["some-server"], { command: "some-server" }]) {
      const { reason } = Result.getOrThrow(Result.flip(Connect.detect(target, { oauth: {} })))
      assert(reason._tag === "InvalidRequest")
      assert.strictEqual(reason.path, "oauth")
    }
  })
})
