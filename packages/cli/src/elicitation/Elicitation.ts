/**
 * Answers what servers ask the user: by a dialogue at the terminal, or by what the command line says.
 */
import { Form, type McpHandlers } from "@mcp-effect/client"
import { PeerText } from "@mcp-effect/protocol"
import * as Flag from "effect/cli/Flag"
import type * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import * as Semaphore from "effect/Semaphore"
import type * as Terminal from "effect/Terminal"
import { encodeJson, Output } from "../Output.ts"
import { Person } from "../Person.ts"
import * as TerminalText from "../TerminalText.ts"
import type { UsageError } from "../UsageError.ts"
import * as Answers from "./Answers.ts"
import * as Dialogue from "./Dialogue.ts"
import * as Field from "./Field.ts"
import * as FormDialogue from "./FormDialogue.ts"
import * as Page from "./Page.ts"
import * as PageDialogue from "./PageDialogue.ts"

/** The flags of every command during which a server may ask something. */
export const flags = {
  yes: Flag.Boolean("yes").pipe(
    Flag.withAlias("y"),
    Flag.withDescription(
      "Accept what the server asks without asking back: forms with their defaults and the answers given, and visits of "
        + "pages"
    ),
    Flag.withoutNegation,
    Flag.withDefault(false)
  ),
  answers: Flag.String("answer").pipe(
    Flag.withMetavar("KEY=VALUE"),
    Flag.withDescription(
      "The answer to a field of a form, read as the form wants it, or KEY:=JSON; may be repeated. Without a terminal "
        + "forms are answered by it"
    ),
    Flag.atLeast(0)
  )
}

export interface Given {
  readonly yes: boolean
  readonly answers: ReadonlyArray<string>
}

// In columns: a command can be long.
const maxServer = 100

type Environment = Output | Person | FileSystem.FileSystem | Path.Path

/** How a form is answered without asking anybody, and why it is declined, if it is. */
const byAnswers = (
  { defaults, requestedSchema }: Pick<McpHandlers.FormElicitation, "defaults" | "requestedSchema">,
  answers: Answers.Answers
): { readonly answer: FormDialogue.Answer; readonly problem: string | undefined } => {
  const { problems, values } = Answers.forForm(answers, requestedSchema)
  const content = Object.fromEntries([...Object.entries(defaults), ...values])
  const decline = (problem: string) => ({ answer: { action: "decline" }, problem } as const)
  if (problems.length > 0) return decline(problems.join("; "))
  const problem = Form.problem(requestedSchema, content)
  if (problem === undefined) return { answer: { action: "accept", content }, problem: undefined }
  const field = PeerText.excerpt(problem.field, 60)
  return decline(
    Object.hasOwn(content, problem.field)
      ? `The answer ${field} ${problem.problem}`
      : `The form requires ${field}: --answer ${field}=VALUE`
  )
}

const answered = (
  server: string,
  { message }: McpHandlers.FormElicitation,
  answer: FormDialogue.Answer,
  problem: string | undefined
): ReadonlyArray<string> => {
  const names = answer.action === "accept" ? Object.keys(answer.content).map(TerminalText.oneLine) : []
  return [
    `${server} asks:`,
    Dialogue.quote(message),
    problem !== undefined
      ? `  Declined: ${TerminalText.oneLine(problem)}`
      : names.length === 0
      ? "  Accepted."
      : `  Accepted with: ${names.join(", ")}`
  ]
}

/**
 * Runs a command with handlers for what the server may ask, as far as it can be answered: a handler is what declares
 * elicitation to the server.
 */
export const answering = <A, E, R>(
  given: Given,
  use: (handlers: (server: string) => McpHandlers.McpHandlers) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | UsageError, R | Environment> =>
  Effect.gen(function*() {
    const answers = yield* Effect.fromResult(Answers.parse(given.answers))
    const { colors, terminal } = yield* Person
    const { format, note } = yield* Output
    const context = yield* Effect.context<Environment>()
    const oneAtATime = yield* Semaphore.make(1)
    const unused = new Set(answers.keys())
    let hasAsked = false

    const tell = (lines: ReadonlyArray<string>, fields: object): void => {
      if (format === "json") note(encodeJson({ elicitation: fields }))
      else lines.forEach(note)
    }

    const dialogue = <B>(
      asking: Terminal.Terminal,
      questions: Effect.Effect<B, Terminal.QuitError, Prompt.Environment>
    ): Effect.Effect<B | { readonly action: "cancel" }> =>
      Dialogue.hold(asking, colors, questions).pipe(
        Effect.catchTag("QuitError", () => Effect.succeed({ action: "cancel" } as const)),
        oneAtATime.withPermit,
        Effect.provideContext(context)
      )

    const form = (server: string) => (request: McpHandlers.FormElicitation): Effect.Effect<McpHandlers.FormAnswer> =>
      Effect.suspend(() => {
        hasAsked = true
        for (const { name } of Field.fields(request.requestedSchema)) unused.delete(name)
        if (terminal !== undefined && !given.yes) {
          const { problems, values } = Answers.forForm(answers, request.requestedSchema)
          return dialogue(
            terminal,
            Effect.andThen(
              Dialogue.say(...problems.map(TerminalText.oneLine)),
              FormDialogue.answer(server, request, values)
            )
          )
        }
        const { answer, problem } = byAnswers(request, answers)
        const { message } = request
        tell(answered(server, request, answer, problem), {
          mode: "form",
          server,
          message,
          action: answer.action,
          problem
        })
        return Effect.succeed(answer)
      })

    const url = (server: string) => (request: McpHandlers.UrlElicitation): Effect.Effect<McpHandlers.UrlAnswer> =>
      Effect.suspend(() => {
        const page = Page.inspect(request.url)
        if (terminal !== undefined && !given.yes) {
          return dialogue(terminal, PageDialogue.answer(server, request.message, page))
        }
        const { message } = request
        tell([...PageDialogue.describe(server, message, page), "  Accepted."], {
          mode: "url",
          server,
          message,
          ...page,
          action: "accept"
        })
        return Effect.succeed({ action: "accept" })
      })

    const canConsent = terminal !== undefined || given.yes
    const canFillIn = canConsent || answers.size > 0
    const run = use((command) => {
      const server = TerminalText.truncate(TerminalText.oneLine(command), maxServer)
      return {
        elicitation: { form: canFillIn ? form(server) : undefined, url: canConsent ? url(server) : undefined }
      }
    })
    const warning = Effect.suspend(() =>
      Effect.logWarning(`No form asked for ${Array.from(unused, (name) => `--answer ${name}`).join(", ")}`)
    )
    return yield* Effect.onExit(
      run,
      (exit) => unused.size > 0 && (hasAsked || Exit.isSuccess(exit)) ? warning : Effect.void
    )
  })
