/**
 * Somebody at a browser without a screen: follows redirects with cookies and fills in the forms of `SignInPage`.
 */
import * as Effect from "effect/Effect"

const maxSteps = 20

export interface Person {
  readonly name: string
  /** What is said to consent. */
  readonly choice: "allow" | "deny"
}

/** Goes from a URL to where the browser is sent back to, which is given and not visited. */
export const walk = async (start: URL, redirectUri: string, person: Person): Promise<URL> => {
  const cookies = new Map<string, string>()
  let url = start
  let form: URLSearchParams | undefined
  for (let step = 0; step < maxSteps; step++) {
    const response = await fetch(url, {
      redirect: "manual",
      method: form === undefined ? "GET" : "POST",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form === undefined ? undefined : { body: form })
    })
    const page = await response.text()
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === "") cookies.delete(name)
      else cookies.set(name, value)
    }
    const location = response.headers.get("location")
    if (location !== null) {
      url = new URL(location, url)
      form = undefined
      if (url.href.startsWith(redirectUri)) return url
    } else if (page.includes("<form method=\"post\">")) {
      const isConsent = page.includes("<h1>Consent</h1>")
      form = new URLSearchParams({ login: person.name, choice: isConsent ? person.choice : "allow" })
    } else {
      throw new Error(`HTTP ${response.status} at ${url.pathname}: ${page.slice(0, 200)}`)
    }
  }
  throw new Error("the sign-in does not end")
}

/** Signs in and answers; gives where the browser was sent back to. */
export const signIn = (url: URL, redirectUri: string, person: Person): Effect.Effect<URL> =>
  Effect.promise(() => walk(url, redirectUri, person))
