/**
 * What the browser shows after a sign-in: pages of plain HTML that load nothing and run nothing.
 */

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&#39;"
}

/** Text as HTML shows it. */
const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? "")

const page = (title: string, ...paragraphs: ReadonlyArray<string>): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<style>
:root { color-scheme: light dark; font: 1.1rem/1.5 system-ui, sans-serif }
body { margin: 20vh auto 0; max-width: 32rem; padding: 0 1rem }
</style>
</head>
<body>
<h1>${escape(title)}</h1>
${paragraphs.map((paragraph) => `<p>${escape(paragraph)}</p>`).join("\n")}
</body>
</html>
`

/** The answer holds a code. */
export const received = page("Signed in", "You can close this window and go back to the application.")

// Longer texts are no message for a person.
const maxWords = 200

/** The authorization server refused, in its own words as far as they fit. */
export const refused = (parameters: URLSearchParams): string => {
  const words = parameters.get("error_description") ?? parameters.get("error") ?? ""
  return page(
    "Not signed in",
    "The authorization server refused the request. Close this window and go back to the application.",
    ...(words === "" ? [] : [`It says: ${words.slice(0, maxWords)}`])
  )
}

/** The answer is not one of the authorization server that was asked, or holds nothing; its words are not shown. */
export const invalid = page(
  "Not signed in",
  "This answer cannot be used. Close this window, go back to the application, and try again."
)

/** The answer belongs to another attempt, such as one from a tab that was left open. */
export const unexpected = page(
  "Nothing to do here",
  "This page answers a sign-in that nobody waits for. Close this window, and use the newest one."
)

export const notFound = page("Not found", "There is nothing at this address.")
