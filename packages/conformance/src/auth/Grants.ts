/**
 * How each scenario wants its client authorized. What a scenario knows beforehand is in its context.
 */
import { Authorize, ClientCredentials, Dpop, EnterpriseManaged, JwtBearer, OAuth } from "@mcp-effect/auth"
import type { McpError } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

/** What a scenario tells its client. */
export type Context = Readonly<Record<string, unknown>>

type Authorized = Layer.Layer<HttpClient.HttpClient, McpError.McpError, HttpClient.HttpClient>

// A client that is registered beforehand knows its authorization server. The scenarios start one on a port of its own and
// do not say which.
const issuerOf = Effect.fnUntraced(function*(server: string) {
  const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
  const { origin, pathname } = new URL(server)
  const request = HttpClientRequest.get(`${origin}/.well-known/oauth-protected-resource${pathname}`)
  const metadata = yield* Effect.flatMap(client.execute(request), (response) => response.json)
  return (metadata as { readonly authorization_servers: readonly [string] }).authorization_servers[0]
})

const registered = (
  server: string,
  layer: (issuer: string) => Authorized
): Authorized => Layer.unwrap(Effect.map(Effect.orDie(issuerOf(server)), layer))

const text = (context: Context, name: string): string => String(context[name])
const secret = (context: Context, name: string): Redacted.Redacted => Redacted.make(text(context, name))

/** Signs in; the authorization servers of the suite consent without a person. */
const signingIn = (context: Context): Authorized =>
  OAuth.layer({
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
    clients: context["client_id"] === undefined ? [] : [{
      issuer: text(context, "issuer"),
      clientId: text(context, "client_id"),
      clientSecret: secret(context, "client_secret")
    }]
  }).pipe(Layer.provide(Authorize.layerUnattended()))

/** The layer of a scenario; `undefined` for one without authorization. */
export const layer = (scenario: string, context: Context, server: string): Authorized | undefined => {
  const clientId = text(context, "client_id")
  switch (scenario) {
    case "auth/client-credentials-basic":
      return registered(
        server,
        (issuer) => ClientCredentials.layer({ issuer, clientId, clientSecret: secret(context, "client_secret") })
      )
    case "auth/client-credentials-jwt":
      return registered(server, (issuer) =>
        ClientCredentials.layer({
          issuer,
          clientId,
          privateKey: { key: secret(context, "private_key_pem"), algorithm: "ES256" }
        }))
    case "auth/wif-jwt-bearer":
      return registered(
        server,
        (issuer) => JwtBearer.layer({ issuer, clientId, assertion: secret(context, "valid_jwt") })
      )
    case "auth/enterprise-managed-authorization":
      return registered(server, (issuer) =>
        EnterpriseManaged.layer({
          issuer,
          clientId,
          clientSecret: secret(context, "client_secret"),
          identityProvider: {
            issuer: text(context, "idp_issuer"),
            tokenEndpoint: text(context, "idp_token_endpoint"),
            clientId: text(context, "idp_client_id"),
            subjectToken: secret(context, "idp_id_token")
          }
        }))
    case "auth/dpop":
    case "auth/dpop-nonce":
      return signingIn(context).pipe(Layer.provide(Dpop.layer()))
    default:
      return scenario.startsWith("auth/") ? signingIn(context) : undefined
  }
}
