/**
 * Shows on standard error that something is going on, where that is a terminal.
 */
import { PeerText, type Progress } from "@mcp-effect/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Output } from "./Output.ts"
import * as TerminalText from "./TerminalText.ts"

type Notification = Pick<Progress.ProgressNotificationParams, "progress" | "total" | "message">

// What is over sooner needs no bar; more often than this, nobody can read it.
const patienceMillis = 400
const redrawMillis = 100

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
const barColumns = 20

const meter = ({ progress, total }: Notification): string => {
  if (total === undefined || !(total > 0)) return String(progress)
  const share = Math.min(1, Math.max(0, progress / total))
  const full = Math.round(share * barColumns)
  return `${"█".repeat(full)}${"░".repeat(barColumns - full)} ${Math.round(share * 100)}%`
}

/** One picture of the bar, at most as wide as the terminal. */
export const draw = (
  label: string,
  latest: Notification | undefined,
  elapsedMillis: number,
  columns: number
): string => {
  const frame = frames[Math.floor(elapsedMillis / redrawMillis) % frames.length] ?? ""
  const parts = [
    `${frame} ${PeerText.excerpt(label, 60)}`,
    latest === undefined ? "" : meter(latest),
    TerminalText.oneLine(latest?.message ?? ""),
    TerminalText.millis(elapsedMillis)
  ]
  // A full line would make some terminals go on to the next.
  return TerminalText.truncate(parts.filter((part) => part !== "").join("  "), columns - 1)
}

/**
 * Runs something that takes its time, with a bar under its label. `use` is given what takes its progress, or
 * `undefined` where none is shown.
 */
export const during = <A, E, R>(
  label: string,
  use: (onProgress: ((progress: Notification) => Effect.Effect<void>) | undefined) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Output> =>
  Effect.gen(function*() {
    const { status, statusColumns } = yield* Output
    if (statusColumns === undefined) return yield* use(undefined)
    const start = yield* Clock.currentTimeMillis
    let latest: Notification | undefined
    const redraw = Effect.map(Clock.currentTimeMillis, (now) => status(draw(label, latest, now - start, statusColumns)))
    const animation = redraw.pipe(
      Effect.andThen(Effect.sleep(redrawMillis)),
      Effect.forever,
      Effect.delay(patienceMillis)
    )
    return yield* Effect.raceFirst(
      use((progress) =>
        Effect.sync(() => {
          latest = progress
        })
      ),
      animation
    ).pipe(Effect.ensuring(Effect.sync(() => status(undefined))))
  })
