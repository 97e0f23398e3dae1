/**
 * One run of the program: from the words of the command line to the exit code.
 */
import { McpError } from "@mcp-effect/protocol"
import * as Cause from "effect/Cause"
import * as CliError from "effect/cli/CliError"
import * as Effect from "effect/Effect"
import * as CommandLine from "./CommandLine.ts"
import * as ExitCode from "./ExitCode.ts"
import * as Invocation from "./Invocation.ts"
import * as Log from "./Log.ts"
import { NotSignedIn } from "./NotSignedIn.ts"
import { encodeJson, Output, OutputFailed } from "./Output.ts"
import * as Failure from "./render/Failure.ts"
import { ToolFailed } from "./ToolFailed.ts"
import { UsageError } from "./UsageError.ts"

const plain = (
  kind: string,
  exitCode: number,
  message: string,
  hints: ReadonlyArray<string | undefined> = []
): Failure.Failure => ({
  kind,
  message,
  details: [],
  hints: hints.filter((hint) => hint !== undefined),
  exitCode,
  data: {}
})

// Without the bug's stack nobody could find it, and it is no fault of the person who reads it.
const bug = (cause: Cause.Cause<unknown>): Failure.Failure => ({
  ...plain("InternalError", ExitCode.failed, "This is a bug in mcp-effect"),
  details: [["what happened", Cause.pretty(cause).split("\n")]]
})

/** What is reported of a run that failed; `undefined` where everything has been said. */
const failureOf = (cause: Cause.Cause<unknown>): Failure.Failure | undefined => {
  if (Cause.hasDies(cause)) return bug(cause)
  const error = Cause.squash(cause)
  if (McpError.isMcpError(error)) return Failure.ofMcpError(error, ExitCode.ofReason(error.reason))
  if (error instanceof UsageError) return plain("UsageError", ExitCode.usage, error.message, [error.hint])
  if (error instanceof NotSignedIn) {
    return plain("NotSignedIn", ExitCode.unauthorized, error.message, [Failure.howToSignIn])
  }
  if (error instanceof ToolFailed) {
    return plain("ToolFailed", ExitCode.failed, `${error.subject} reported an error`)
  }
  if (CliError.isCliError(error)) {
    if (error._tag !== "ShowHelp") return plain("UsageError", ExitCode.usage, error.message)
    if (error.errors.length === 0) return undefined
    return plain("UsageError", ExitCode.usage, error.errors.map(({ message }) => message).join("\n"), [
      error.errors.some(({ _tag }) => _tag === "UnrecognizedOption")
        ? "the server's command, with flags of its own, stands after --"
        : undefined,
      `${error.commandPath.join(" ")} --help tells what it understands`
    ])
  }
  if (error instanceof OutputFailed) {
    // The reader has what it wants.
    return error.code === "EPIPE" ? undefined : plain("OutputFailed", ExitCode.failed, error.message)
  }
  return bug(cause)
}

const report = (failure: Failure.Failure): Effect.Effect<void, never, Output> =>
  Effect.map(Output, ({ format, note }) => {
    // In JSON the result says it already.
    if (format === "text") note(Failure.text(failure))
    else if (failure.kind !== "ToolFailed") note(encodeJson(Failure.document(failure)))
  })

/** Carries out a command line and gives the exit code. Interruption stays interruption. */
export const run = ({ afterDashes, words }: Invocation.Invocation) =>
  CommandLine.run(words).pipe(
    Effect.provideService(Invocation.AfterDashes, afterDashes),
    Effect.as(ExitCode.ok),
    Effect.catchCause((cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
      const failure = failureOf(cause)
      return failure === undefined
        ? Effect.succeed(ExitCode.ok)
        : Effect.as(report(failure), failure.exitCode)
    }),
    Effect.onInterrupt(() => report(plain("Cancelled", ExitCode.interrupted, "Cancelled"))),
    Effect.provide(Log.layer),
    Effect.ensuring(Effect.flatMap(Output, ({ flush }) => flush))
  )
