/**
 * Has the person at the terminal decide on the visit of a page.
 */
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import type * as Terminal from "effect/Terminal"
import * as TerminalText from "../TerminalText.ts"
import * as Dialogue from "./Dialogue.ts"
import type { Page } from "./Page.ts"

/** What came of it. */
export interface Answer {
  readonly action: "accept" | "decline" | "cancel"
}

/** The lines that tell of a page. */
export const describe = (server: string, message: string, page: Page): ReadonlyArray<string> => [
  `${server} asks you to visit a page:`,
  Dialogue.quote(message),
  `  URL:    ${TerminalText.oneLine(page.url)}`,
  `  Domain: ${TerminalText.oneLine(page.domain)}`,
  ...page.warnings.map((warning) => `  Warning: ${TerminalText.oneLine(warning)}`)
]

/**
 * Asks for consent, and after it until the person is done there, since a server may look at once whether the visit has
 * happened (2026-07-28 client/elicitation, URL mode). Fails with `QuitError` where the person leaves.
 */
export const answer = (
  server: string,
  message: string,
  page: Page
): Effect.Effect<Answer, Terminal.QuitError, Prompt.Environment> =>
  Effect.gen(function*() {
    yield* Dialogue.say("", ...describe(server, message, page), "(Esc cancels)")
    // Nobody consents by pressing Enter once too often.
    const action = yield* Prompt.Select<Answer["action"]>({
      message: "Visit this page?",
      choices: [
        { title: "Decline", value: "decline" },
        { title: "Agree", value: "accept" },
        { title: "Cancel", value: "cancel" }
      ]
    })
    if (action !== "accept") return { action }
    yield* Dialogue.say("  Open it in your browser:", `  ${TerminalText.oneLine(page.url)}`)
    const next = yield* Prompt.Select<Answer["action"]>({
      message: "And then?",
      choices: [
        { title: "I am done there, go on", value: "accept" },
        { title: "Cancel", value: "cancel" }
      ]
    })
    return { action: next }
  })
