/**
 * The pages on which a person signs in and consents, at `/interaction/<id>`. Any name does; there are no passwords.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import type { Interaction, Provider } from "oidc-provider"

const path = /^\/interaction\/[\w-]+$/

/** Where a person is sent to. */
export const urlOf = (id: string): string => `/interaction/${id}`

export const isPage = (url: string): boolean => path.test(url)

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;" }
const escape = (value: string): string => value.replace(/[&<>"]/g, (character) => escapes[character] ?? "")

const page = (title: string, form: string): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body>
<h1>${title}</h1>
<form method="post">
${form}
<button id="deny" name="choice" value="deny" formnovalidate>Cancel</button>
</form>
</body>
</html>
`

const signIn = page(
  "Sign in",
  `<label for="login">Name</label>
<input id="login" name="login" required autofocus>
<button id="allow" name="choice" value="allow">Sign in</button>`
)

const consent = (client: string, scopes: ReadonlyArray<string>): string =>
  page(
    "Consent",
    `<p><strong id="client">${escape(client)}</strong> asks for:</p>
<ul id="scopes">${scopes.map((scope) => `<li>${escape(scope)}</li>`).join("")}</ul>
<button id="allow" name="choice" value="allow">Allow</button>`
  )

const scopesOf = ({ prompt: { details } }: Interaction): ReadonlyArray<string> => [
  ...new Set([...details.missingOIDCScope ?? [], ...Object.values(details.missingResourceScopes ?? {}).flat()])
]

const grantConsent = async (provider: Provider, interaction: Interaction): Promise<string> => {
  const { grantId, params, prompt: { details }, session } = interaction
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId)
  const grant = known ?? new provider.Grant({ accountId: session?.accountId ?? "", clientId: params["client_id"] })
  if (details.missingOIDCScope !== undefined) grant.addOIDCScope(details.missingOIDCScope.join(" "))
  if (details.missingOIDCClaims !== undefined) grant.addOIDCClaims(details.missingOIDCClaims)
  for (const [resource, scopes] of Object.entries(details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(" "))
  }
  return grant.save()
}

/** Shows a page, or takes what was answered on one. */
export const handle = async (provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const interaction = await provider.interactionDetails(request, response)
  const { params, prompt } = interaction
  if (request.method !== "POST") {
    const client = await provider.Client.find(params["client_id"])
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" })
    response.end(
      prompt.name === "login" ? signIn : consent(client?.clientName ?? params["client_id"] ?? "", scopesOf(interaction))
    )
    return
  }
  const form = new URLSearchParams(await text(request))
  const finish = (result: object, mergeWithLastSubmission: boolean) =>
    provider.interactionFinished(request, response, result, { mergeWithLastSubmission })
  if (form.get("choice") !== "allow") {
    await finish({ error: "access_denied", error_description: "The person said no" }, false)
  } else if (prompt.name === "login") {
    await finish({ login: { accountId: form.get("login") } }, false)
  } else {
    await finish({ consent: { grantId: await grantConsent(provider, interaction) } }, true)
  }
}
