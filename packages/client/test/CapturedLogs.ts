/**
 * Everything that is logged while a test runs, at every level.
 */
import { Effect, Logger, References } from "effect"

export interface Line {
  readonly level: string
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
  /** Message, annotations and cause, as a logger would write them. */
  readonly text: string
}

/** Runs an effect with a logger that only keeps what it is given. */
export const capture = <A, E, R>(
  body: (lines: ReadonlyArray<Line>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const lines: Array<Line> = []
  const logger = Logger.make(({ cause, fiber, logLevel, message }) => {
    const words = Array.isArray(message) ? message.map(String).join(" ") : String(message)
    const annotations = fiber.getRef(References.CurrentLogAnnotations)
    lines.push({
      level: logLevel,
      message: words,
      annotations,
      text: `${words} ${JSON.stringify(annotations)} ${String(cause)} ${JSON.stringify(message)}`
    })
  })
  return Effect.suspend(() => body(lines)).pipe(
    Effect.provide(Logger.layer([logger])),
    Effect.provideService(References.MinimumLogLevel, "All")
  )
}
