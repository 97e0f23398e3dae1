/**
 * Feeds the stdin of a process without a queue: a write resumes the pull of the process's sink on the spot.
 */
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"

type Chunk = Arr.NonEmptyReadonlyArray<Uint8Array>

export interface StdinFeed {
  readonly stream: Stream.Stream<Uint8Array>
  /** Hands over text. `ready` is called once the process has taken it and wants more. */
  readonly write: (text: string, ready: () => void) => void
  /** Ends the stream; `false` when the process is still at what it was given, because it does not read. */
  readonly end: () => boolean
}

export const make = (): StdinFeed => {
  const utf8 = new TextEncoder()
  let pull: ((effect: Effect.Effect<Chunk, Cause.Done>) => void) | undefined
  let unread: Uint8Array | undefined
  let onTaken: (() => void) | undefined
  let isEnded = false

  const next: Pull.Pull<Chunk> = Effect.callback<Chunk, Cause.Done>((resume) => {
    if (unread !== undefined) {
      const bytes = unread
      unread = undefined
      return resume(Effect.succeed([bytes]))
    }
    if (isEnded) return resume(Cause.done())
    pull = resume
    const taken = onTaken
    onTaken = undefined
    taken?.()
  })

  const give = (effect: Effect.Effect<Chunk, Cause.Done>): boolean => {
    const resume = pull
    pull = undefined
    resume?.(effect)
    return resume !== undefined
  }

  return {
    stream: Stream.fromPull(Effect.succeed(next)),
    write: (text, ready) => {
      const bytes = utf8.encode(text)
      onTaken = ready
      if (!give(Effect.succeed([bytes]))) unread = bytes
    },
    end: () => {
      isEnded = true
      return give(Cause.done())
    }
  }
}
