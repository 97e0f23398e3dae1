/**
 * Progress of core tasks. It goes on under the token of the request that started the task, after that was answered
 * (2025-11-25 basic/utilities/tasks, Task Progress).
 */
import type { Envelope, Progress } from "@mcp-effect/protocol"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Read from "./Read.ts"

/** How many tasks are followed; the oldest go first, since a handle may never be asked for its result. */
const capacity = 4_096

type OnProgress = (progress: Progress.ProgressNotificationParams) => Effect.Effect<void>

/** What one caller hears of a task. */
export class Follower {
  readonly token: unknown
  private readonly onProgress: OnProgress
  private readonly context: Context.Context<never>
  private running: Fiber.Fiber<void> | undefined = undefined

  constructor(token: unknown, onProgress: OnProgress, context: Context.Context<never>) {
    this.token = token
    this.onProgress = onProgress
    this.context = context
  }

  /** Runs the callback, after those that are still running. */
  hear(progress: Progress.ProgressNotificationParams): void {
    const run = Effect.catchCause(
      Effect.suspend(() => this.onProgress(progress)),
      (cause) => Effect.logWarning("An onProgress callback failed; the task goes on without it", cause)
    )
    const { running } = this
    const isRunning = running !== undefined && running.pollUnsafe() === undefined
    this.running = Effect.runForkWith(this.context)(isRunning ? Effect.andThen(Fiber.await(running), run) : run)
  }

  /** Waits for the callbacks that are running. */
  readonly settled: Effect.Effect<unknown> = Effect.suspend(() =>
    this.running === undefined ? Effect.void : Fiber.await(this.running)
  )
}

export class TaskProgress {
  private readonly followers = new Map<unknown, Follower>()
  private count = 0

  /** Follows what a request starts under a token: that of the host, or else one of ours. */
  follow(token: unknown, onProgress: OnProgress, context: Context.Context<never>): Follower {
    const follower = new Follower(token ?? `task-${++this.count}`, onProgress, context)
    this.followers.set(follower.token, follower)
    const [oldest] = this.followers.keys()
    if (this.followers.size > capacity) this.followers.delete(oldest)
    return follower
  }

  end(follower: Follower): void {
    if (this.followers.get(follower.token) === follower) this.followers.delete(follower.token)
  }

  /** Takes progress of no request that is open. */
  onNotification({ params }: Envelope.Notification): void {
    const follower = this.followers.get(params?.["progressToken"])
    const progress = params === undefined ? undefined : Read.progress(params)
    if (follower !== undefined && progress !== undefined) follower.hear(progress)
  }
}
