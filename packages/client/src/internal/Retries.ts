/**
 * Asks a schedule what is done about each failure of one request, and waits as long as it says.
 */
import { McpError } from "@mcp-effect/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import type { Retry } from "../ClientOptions.ts"
import * as Abort from "./Abort.ts"
import * as Recovery from "./Recovery.ts"

const longestDelay = Duration.seconds(5)

/** Longer than this no server is waited for on behalf of a caller, who may know better. */
const longestAnnouncedMillis = 60_000

/** Three times, after 200 ms, doubling to 5 s, with jitter, so that clients of one server do not come back together. */
export const defaultSchedule: Retry = Schedule.exponential("200 millis").pipe(
  Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, longestDelay))),
  Schedule.jittered,
  Schedule.upTo({ times: 3 })
)

/** The time that a request has. */
export interface Bounds {
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly deadlineAt: number
  readonly signal: AbortSignal | undefined
}

const announcedMillis = ({ reason }: McpError.McpError): number =>
  reason._tag === "HttpStatus" || reason._tag === "ServerUnavailable" ? reason.retryAfterMillis ?? 0 : 0

type Step = (now: number, error: McpError.McpError) => Pull.Pull<[unknown, Duration.Duration], never, unknown>

export class Retries {
  private readonly schedule: Retry
  private readonly bounds: Bounds
  private step: Step | undefined = undefined

  constructor(schedule: Retry, bounds: Bounds) {
    this.schedule = schedule
    this.bounds = bounds
  }

  /** Waits until the request is due again after `error`; fails with it where it is not to be repeated. */
  after(error: McpError.McpError): Effect.Effect<void, McpError.McpError> {
    const { step } = this
    if (step !== undefined) return this.next(step, error)
    return Effect.flatMap(Schedule.toStep(this.schedule), (step) => this.next(this.step = step, error))
  }

  private next(step: Step, error: McpError.McpError): Effect.Effect<void, McpError.McpError> {
    const { bounds } = this
    return Pull.matchEffect(step(bounds.now(), error), {
      onSuccess: ([, delay]) => {
        const announced = announcedMillis(error)
        const millis = Math.max(Duration.toMillis(delay), announced)
        if (announced > longestAnnouncedMillis || bounds.now() + millis >= bounds.deadlineAt) return Effect.fail(error)
        return Abort.orElse(
          Effect.sleep(millis),
          bounds.signal,
          (reason) => McpError.make(new McpError.Cancelled({ reason }), error.delivery, error)
        )
      },
      onFailure: Effect.failCause,
      onDone: () => Effect.fail(error)
    })
  }
}

/** Repeats what was never sent, or does no harm if it is done twice. */
export const run = <A, R>(
  effect: Effect.Effect<A, McpError.McpError, R>,
  schedule: Retry,
  bounds: Bounds,
  mayPass: (reason: McpError.McpErrorReason) => boolean = Recovery.mayPass
): Effect.Effect<A, McpError.McpError, R> =>
  Effect.catch(effect, (error) => {
    const retries = new Retries(schedule, bounds)
    const again = (error: McpError.McpError): Effect.Effect<A, McpError.McpError, R> =>
      mayPass(error.reason)
        ? Effect.flatMap(retries.after(error), () => Effect.catch(effect, again))
        : Effect.fail(error)
    return again(error)
  })
