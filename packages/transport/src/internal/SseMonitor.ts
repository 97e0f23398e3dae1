/**
 * Watches over a stream that may be silent for long: a server that is gone without a word is found out by pings.
 */
import { McpError, type Revision } from "@mcp-effect/protocol"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Connection } from "../Transport.ts"

export interface Options {
  readonly target: string
  /** How long the stream may be silent before the server is pinged. */
  readonly pingMillis: number
  readonly now: () => number
  /** When something came over the stream last. */
  readonly heardAt: () => number
  readonly ping: Effect.Effect<McpError.McpError | undefined>
}

/** A stream that is silent for that many times `pingMillis` is taken for dead. */
const silentPings = 2.5
const maxFailures = 3
const retryMillis = 1_000

/** Pings the server. Gives why that failed; an error of the server is an answer. */
export const ping = (
  connection: Connection,
  revision: Revision.Facts,
  context: Context.Context<never>
): Effect.Effect<McpError.McpError | undefined> => {
  let count = 0
  return Effect.callback<McpError.McpError | undefined>((resume) => {
    // No id of a client looks like this.
    const id = `mcp-effect/ping/${++count}`
    const text = JSON.stringify({ jsonrpc: "2.0", id, method: "ping" })
    const cancel = connection.open(
      { id, method: "ping", text, revision, routing: undefined, onAbandon: "silent" },
      {
        onMessage: () => {},
        onActivity: () => {},
        onResponse: () => resume(Effect.succeed(undefined)),
        onFailure: (error) => resume(Effect.succeed(error))
      },
      context
    )
    return Effect.sync(() => cancel(undefined))
  })
}

/** Ends when the server is taken for dead, with the reason. */
export const watch = ({ heardAt, now, ping, pingMillis, target }: Options): Effect.Effect<McpError.McpErrorReason> => {
  const deadMillis = pingMillis * silentPings

  const next = (failures: number): Effect.Effect<McpError.McpErrorReason> =>
    Effect.suspend(() => {
      const silentMillis = now() - heardAt()
      if (silentMillis >= deadMillis) {
        const description = `its stream was silent for ${Math.round(silentMillis)} ms and no ping was answered`
        return Effect.succeed(new McpError.ConnectionFailed({ target, description }))
      }
      if (silentMillis < pingMillis) return Effect.andThen(Effect.sleep(pingMillis - silentMillis), next(0))
      const heard = heardAt()
      return Effect.flatMap(
        Effect.timeoutOption(ping, Math.min(pingMillis, deadMillis - silentMillis)),
        (answer) => {
          if (heardAt() !== heard) return next(0)
          // Without an answer it is judged by its silence.
          if (Option.isNone(answer)) return next(failures)
          if (failures + 1 < maxFailures) return Effect.andThen(Effect.sleep(retryMillis), next(failures + 1))
          const description = `${maxFailures} pings in a row could not be delivered`
          return Effect.succeed(new McpError.ConnectionFailed({ target, description, cause: answer.value }))
        }
      )
    })

  return next(0)
}
