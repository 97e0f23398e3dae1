/**
 * Has the person at the terminal fill in a form.
 */
import { Form, type McpHandlers } from "@mcp-effect/client"
import * as Prompt from "effect/cli/Prompt"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Terminal from "effect/Terminal"
import * as TerminalText from "../TerminalText.ts"
import * as Dialogue from "./Dialogue.ts"
import * as Field from "./Field.ts"

/** What came of it. */
export type Answer =
  | { readonly action: "accept"; readonly content: Form.Content }
  | { readonly action: "decline" | "cancel" }

type Answering<A> = Effect.Effect<A, Terminal.QuitError, Prompt.Environment>

interface Offer<A> {
  readonly title: string
  readonly value: A
}

const select = <A>(message: string, offers: ReadonlyArray<Offer<A>>, initial: A): Prompt.Prompt<A> => {
  // Two that are the same must not both be the initial one.
  const index = offers.findIndex(({ value }) => value === initial)
  return Prompt.Select({ message, choices: offers.map((offer, at) => ({ ...offer, selected: at === index })) })
}

const askText = (field: Field.Field, initial: Field.Value | undefined): Answering<Field.Value | undefined> => {
  const text = initial === undefined ? "" : String(initial)
  const prompt = Prompt.String({
    message: Field.label(field),
    default: Field.isEditable(text) ? text : "",
    validate: (typed) =>
      Effect.fromResult(Result.mapBoth(Field.read(field, typed, initial), {
        onSuccess: () => typed,
        onFailure: (problem) => `${Field.title(field)} ${problem}`
      }))
  })
  return Effect.map(prompt, (typed) => Result.getOrUndefined(Field.read(field, typed, initial)))
}

const askSeveral = (
  field: Field.Field,
  choices: ReadonlyArray<Field.Choice>,
  initial: Field.Value | undefined
): Answering<Field.Value | undefined> =>
  Effect.gen(function*() {
    const selected = Array.isArray(initial) ? initial : []
    const values = yield* Prompt.MultiSelect({
      message: `${Field.label(field)}, space selects`,
      choices: choices.map(({ title, value }) => ({
        title: TerminalText.oneLine(title),
        value,
        selected: selected.includes(value)
      }))
    })
    if (values.length === 0 && !field.required && field.definition.default === undefined) return undefined
    const problem = Form.fieldProblem(field.definition, values)
    if (problem === undefined) return values
    yield* Dialogue.say(`  ${Field.title(field)} ${problem}`)
    return yield* askSeveral(field, choices, values)
  })

const ask = (field: Field.Field, initial: Field.Value | undefined): Answering<Field.Value | undefined> => {
  const { definition, required } = field
  const choices = Field.choices(field)
  if (definition.type === "array") return askSeveral(field, choices ?? [], initial)
  // What is left out gets its default.
  const leavingOut = required || definition.default !== undefined ? [] : [{ title: "(leave it out)", value: undefined }]
  if (definition.type === "boolean") {
    return select<Field.Value | undefined>(Field.label(field), [
      { title: "yes", value: true },
      { title: "no", value: false },
      ...leavingOut
    ], initial)
  }
  if (choices === undefined) return askText(field, initial)
  const offers = [
    ...choices.map(({ title, value }) => ({ title: TerminalText.oneLine(title), value })),
    ...leavingOut
  ]
  return offers.length === 0 ? Effect.undefined : select<Field.Value | undefined>(Field.label(field), offers, initial)
}

type Decision = "send" | "fill-in" | "decline" | "cancel"

const refusals: ReadonlyArray<Offer<Decision>> = [
  { title: "Decline", value: "decline" },
  { title: "Cancel", value: "cancel" }
]

/**
 * Asks for the fields of a form one by one, but not for those given already, and has the answer reviewed before it is
 * sent (2026-07-28 client/elicitation, User interaction model). Fails with `QuitError` where the person leaves.
 */
export const answer = (
  server: string,
  request: McpHandlers.FormElicitation,
  given: ReadonlyMap<string, Field.Value>
): Answering<Answer> =>
  Effect.gen(function*() {
    const { defaults, message, requestedSchema } = request
    const fields = Field.fields(requestedSchema)
    const values = new Map(given)
    const current = (name: string): Field.Value | undefined =>
      values.get(name) ?? (Object.hasOwn(defaults, name) ? defaults[name] : undefined)
    const content = (): Form.Content =>
      Object.fromEntries(fields.flatMap(({ name }) => {
        const value = current(name)
        return value === undefined ? [] : [[name, value]]
      }))

    const fillIn = (asked: ReadonlyArray<Field.Field>): Answering<void> =>
      Effect.forEach(asked, (field) =>
        Effect.gen(function*() {
          const { description } = field.definition
          const initial = current(field.name)
          if (description !== undefined) yield* Dialogue.say(`  ${TerminalText.oneLine(description)}`)
          if (typeof initial === "string" && !Field.isEditable(initial)) {
            yield* Dialogue.say(`  An empty line stands for: ${TerminalText.oneLine(initial)}`)
          }
          const value = yield* ask(field, initial)
          if (value === undefined) values.delete(field.name)
          else values.set(field.name, value)
        }), { discard: true })

    const review: Answering<Decision> = Effect.gen(function*() {
      for (const field of fields) {
        const value = current(field.name)
        const shown = value === undefined ? "(left out)" : Field.show(field, value)
        yield* Dialogue.say(`  ${Field.title(field)}: ${shown}`)
      }
      const problem = Form.problem(requestedSchema, content())
      if (problem !== undefined) {
        yield* Dialogue.say(`  It cannot be sent: ${TerminalText.oneLine(problem.field)} ${problem.problem}`)
      }
      const offers: ReadonlyArray<Offer<Decision>> = [
        ...(problem === undefined ? [{ title: "Send", value: "send" } as const] : []),
        ...(fields.length === 0 ? [] : [{ title: "Change", value: "fill-in" } as const]),
        ...refusals
      ]
      return yield* Prompt.Select({ message: "Send this answer?", choices: offers })
    })

    yield* Dialogue.say(
      "",
      `${server} asks:`,
      Dialogue.quote(message),
      "(Esc cancels)"
    )
    let asked: ReadonlyArray<Field.Field> = fields.filter(({ name }) => !values.has(name))
    let decision: Decision = "fill-in"
    if (asked.length > 0) {
      decision = yield* Prompt.Select<Decision>({
        message: "Answer?",
        choices: [{ title: "Answer", value: "fill-in" }, ...refusals]
      })
    }
    while (decision === "fill-in") {
      yield* fillIn(asked)
      asked = fields
      decision = yield* review
    }
    return decision === "send" ? { action: "accept", content: content() } : { action: decision }
  })
