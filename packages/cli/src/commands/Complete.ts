/**
 * `complete`: what a server proposes for an argument.
 */
import type { Completion } from "@mcp-effect/protocol"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as CallArguments from "../CallArguments.ts"
import { Output, print } from "../Output.ts"
import { withServer } from "../Server.ts"
import { UsageError } from "../UsageError.ts"

/** Reads `prompt:NAME` or `resource:URI`, each also with `ref/` before it as the protocol writes it. */
const parseReference = (
  word: string
): Result.Result<Completion.CompleteRequestParams["ref"], UsageError> => {
  const match = /^(?:ref\/)?(prompt|resource):(.+)$/s.exec(word)
  const value = match?.[2] ?? ""
  switch (match?.[1]) {
    case "prompt":
      return Result.succeed({ type: "ref/prompt", name: value })
    case "resource":
      return Result.succeed({ type: "ref/resource", uri: value })
    default:
      return Result.fail(
        new UsageError({
          message: `Not a reference: ${word}`,
          hint: "write prompt:NAME for a prompt, or resource:URI-TEMPLATE for a resource template"
        })
      )
  }
}

export const complete = Command.make("complete", {
  reference: Argument.String("reference").pipe(
    Argument.withDescription("prompt:NAME or resource:URI-TEMPLATE, whose argument it is")
  ),
  argument: Argument.String("key=value").pipe(
    Argument.withDescription("The argument to complete, and what of its value is there already")
  ),
  context: Argument.String("other=value").pipe(
    Argument.withDescription("Arguments whose values are known, for what depends on them"),
    Argument.variadic()
  )
}, ({ argument, context, reference }) =>
  Effect.gen(function*() {
    const ref = yield* Effect.fromResult(parseReference(reference))
    const [[name, value] = ["", ""]] = Object.entries(yield* Effect.fromResult(CallArguments.strings([argument])))
    const known = yield* Effect.fromResult(CallArguments.strings(context))
    return yield* withServer(Option.none(), (client) =>
      Effect.gen(function*() {
        const completion = yield* client.complete({
          ref,
          argument: { name, value },
          ...(context.length === 0 ? {} : { context: { arguments: known } })
        })
        const { format, note } = yield* Output
        if (completion.values.length === 0 && format === "text") return note("The server proposes nothing.")
        yield* print({ completion }, (show) => completion.values.map(show).join("\n"))
        if (completion.hasMore === true && format === "text") {
          note(completion.total === undefined ? "There are more." : `There are ${completion.total} in all.`)
        }
      }))
  })).pipe(
    Command.withDescription("Show what a server proposes for an argument of a prompt or of a resource template"),
    Command.withExamples([
      {
        command:
          "mcp-effect complete prompt:completable-prompt department=E -- npx -y @modelcontextprotocol/server-everything"
      },
      {
        command:
          "mcp-effect complete prompt:completable-prompt name=A department=Engineering -- npx -y @modelcontextprotocol/server-everything"
      },
      { command: "mcp-effect complete 'resource:file:///{path}' path=src/ --url https://example.com/mcp" }
    ])
  )
