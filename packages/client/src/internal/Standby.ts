/**
 * Keeps the stream open on which a legacy HTTP server sends what belongs to no request (2025-11-25 basic/transports,
 * Listening for Messages from the Server).
 *
 * It is opened only where something needs it, and a server that has none, or that closes it again and again without a
 * word, is left alone.
 */
import type { McpError } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Session } from "./Session.ts"

const firstDelayMillis = 1_000
const longestDelayMillis = 30_000

// Streams in a row that end without a message.
const maxUnproductive = 5

/** How long connecting waits for the stream, so that the server does not speak before somebody listens. */
const openingMillis = 1_000

/** What a stream came to. */
interface Ended {
  readonly error: McpError.McpError
  readonly productive: boolean
}

const open = (
  session: Session,
  standby: NonNullable<Transport.Connection["standby"]>,
  onOpen: () => void
): Effect.Effect<Ended> =>
  Effect.contextWith((context: Parameters<typeof standby>[1]) =>
    Effect.callback<Ended>((resume) => {
      let productive = false
      const cancel = standby({
        onMessage: (message) => {
          productive = true
          session.requests.onInbound(message)
        },
        onActivity: onOpen,
        onResponse: () => {},
        onFailure: (error) => resume(Effect.succeed({ error, productive }))
      }, context)
      return Effect.sync(() => cancel(undefined))
    })
  )

/** A server that refuses the stream will refuse it again; one that only broke it off may not. */
const mayComeBack = (error: McpError.McpError): boolean =>
  error.reason._tag === "StreamEnded" || (error.reason._tag !== "SessionExpired" && error.reason.isTransient)

/** Opens the stream and keeps it open for as long as the session lives; returns once it is open, or will not be. */
export const keep = (session: Session): Effect.Effect<void, never, Scope.Scope> => {
  const standby = session.requests.connection.standby
  if (standby === undefined || !session.revision.standbyStream) return Effect.void
  return Effect.gen(function*() {
    const opened = yield* Deferred.make<void>()
    const onOpen = (): void => void Deferred.doneUnsafe(opened, Effect.void)
    const loop = (unproductive: number): Effect.Effect<void> =>
      Effect.flatMap(open(session, standby, onOpen), ({ error, productive }) => {
        onOpen()
        const failures = productive ? 0 : unproductive + 1
        if (!mayComeBack(error) || failures >= maxUnproductive) {
          return Effect.logDebug(`${session.requests.server} has no standby stream: ${error.reason._tag}`)
        }
        const delay = Math.min(firstDelayMillis * 2 ** Math.max(failures - 1, 0), longestDelayMillis)
        return Effect.andThen(Effect.sleep(delay), loop(failures))
      })
    yield* Effect.forkScoped(loop(0))
    yield* Effect.timeoutOption(Deferred.await(opened), Duration.millis(openingMillis))
  })
}
