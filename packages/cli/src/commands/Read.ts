/**
 * `prompt` and `read`: one prompt, one resource.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as CallArguments from "../CallArguments.ts"
import * as Elicitation from "../elicitation/Elicitation.ts"
import { print } from "../Output.ts"
import * as ProgressBar from "../ProgressBar.ts"
import * as Content from "../render/Content.ts"
import { withServer } from "../Server.ts"

export const prompt = Command.make("prompt", {
  name: Argument.String("prompt").pipe(Argument.withDescription("The name of the prompt")),
  words: Argument.String("key=value").pipe(
    Argument.withDescription("Arguments of the prompt, which are strings"),
    Argument.variadic()
  ),
  ...Elicitation.flags
}, ({ answers, name, words, yes }) =>
  Effect.gen(function*() {
    const args = yield* Effect.fromResult(CallArguments.strings(words))
    return yield* Elicitation.answering({ answers, yes }, (handlers) =>
      withServer(Option.none(), (client) =>
        Effect.flatMap(
          ProgressBar.during(name, (onProgress) =>
            client.getPrompt(name, args, { onProgress })),
          (result) => print(result, (show) => Content.prompt(result, show))
        ), { handlers }))
  })).pipe(
    Command.withDescription("Fill in a prompt and show its messages"),
    Command.withExamples([
      { command: "mcp-effect prompt args-prompt city=Berlin -- npx -y @modelcontextprotocol/server-everything" }
    ])
  )

export const read = Command.make(
  "read",
  {
    uri: Argument.String("uri").pipe(Argument.withDescription("The URI of the resource")),
    ...Elicitation.flags
  },
  ({ answers, uri, yes }) =>
    Elicitation.answering({ answers, yes }, (handlers) =>
      withServer(Option.none(), (client) =>
        Effect.flatMap(
          ProgressBar.during(uri, (onProgress) => client.readResource(uri, { onProgress })),
          (result) => print(result, (show) => Content.resource(result, show))
        ), { handlers }))
).pipe(
  Command.withDescription("Read a resource and show what it holds"),
  Command.withExamples([
    { command: "mcp-effect read file:///README.md -- npx -y @modelcontextprotocol/server-filesystem ." }
  ])
)
