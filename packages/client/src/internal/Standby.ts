/**
 * Keeps the stream open on which a legacy HTTP server sends what belongs to no request (2025-11-25 basic/transports,
 * Listening for Messages from the Server).
 *
 * It is opened once something needs it. A feature that does says so by `need(session)`, again for each session that it
 * lives through; `listening` says it for as long as a scope is open. What comes on the stream goes to the session like
 * anything else that belongs to no request. The stream ends with its session.
 *
 * | what happens to the stream                              | what becomes of it                                       |
 * | ------------------------------------------------------- | -------------------------------------------------------- |
 * | it ends after a message, or after it stood for a while  | opened again, after the server's `retry` or a second     |
 * | it ends without either, or cannot be had for the moment | opened again after 1 s, doubling to 30 s                 |
 * | that happens five times in a row, or permission is gone | left alone until it is needed again, then tried once;    |
 * |                                                         | while somebody listens, every five minutes               |
 * | nothing comes on it for five minutes                    | opened again at once: the connection may be dead         |
 * | the server has none (405, 501) or answers otherwise     | left alone                                               |
 * | the server has forgotten the session                    | the session is given up, and another begun for listeners |
 */
import { McpError } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import type { Session } from "./Session.ts"

const firstDelayMillis = 1_000
const longestDelayMillis = 30_000

/** How much longer a delay may be, so that clients that lost the same server do not come back together. */
const jitter = 0.25

/** Streams in a row that were of no use. */
const maxUnproductive = 5

/** A stream that stood this long was of use, even if nothing was said on it. */
const standingMillis = 30_000

const idleMillis = 300_000

/** How long a stream of no use is left alone while somebody listens. */
const restMillis = 300_000

/** How long a need waits for the stream, so that the server does not speak before somebody listens. */
const openingMillis = 1_000

export interface Options {
  readonly mode: "auto" | "off" | "required"
  /** Whether a session needs the stream from the beginning. */
  readonly isNeeded: (session: Session) => boolean
  /** The session in use. */
  readonly current: () => Session | undefined
  /** The server has forgotten the session; somebody may be listening for what the next one brings. */
  readonly onSessionLost: (session: Session, isListening: boolean) => Effect.Effect<void>
  /** The stream is open again, and what the server said meanwhile may be lost. */
  readonly onGap: (session: Session) => void
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

type Open = NonNullable<Transport.Connection["standby"]>

/** The stream of one session. */
interface Line {
  readonly session: Session
  readonly open: Open
  state: "new" | "kept" | "quiet" | "refused"
  isResting: boolean
  /** What the next stream brings goes on where the last one ended. */
  isWhole: boolean
  /** Completes when the attempt under way has opened the stream, or has failed to. */
  opening: Deferred.Deferred<void, McpError.McpError>
}

/** What a stream came to. */
interface Ended {
  /** Absent when it was given up because nothing came. */
  readonly error: McpError.McpError | undefined
  readonly opened: boolean
  readonly productive: boolean
}

/** Opens the stream and gives what comes on it to the session, until it ends or is silent for too long. */
const openOnce = (line: Line, onOpen: () => void): Effect.Effect<Ended> =>
  Effect.clockWith((clock) => {
    const now = (): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    let spoke = false
    let openedAt: number | undefined
    let lastAt = now()
    const ended = (error: McpError.McpError | undefined): Ended => ({
      error,
      opened: openedAt !== undefined,
      productive: spoke || (openedAt !== undefined && now() - openedAt >= standingMillis)
    })
    const stream = Effect.contextWith((context: Parameters<Open>[1]) =>
      Effect.callback<Ended>((resume) => {
        const cancel = line.open({
          onMessage: (message) => {
            spoke = true
            line.session.requests.onInbound(message)
          },
          onActivity: () => {
            lastAt = now()
          },
          onStream: () => {
            openedAt = now()
            onOpen()
          },
          onResponse: () => {},
          onFailure: (error) => resume(Effect.succeed(ended(error)))
        }, context)
        return Effect.sync(() => cancel(undefined))
      })
    )
    const silence: Effect.Effect<Ended> = Effect.suspend(() => {
      const left = lastAt + idleMillis - now()
      return left > 0 ? Effect.andThen(Effect.sleep(left), silence) : Effect.succeed(ended(undefined))
    })
    return Effect.raceFirst(stream, silence)
  })

/** Whether a stream that ended like that may be had again: soon, when it is needed again, or never. */
const chanceAfter = ({ reason }: McpError.McpError): "soon" | "later" | "never" => {
  switch (reason._tag) {
    case "HttpStatus":
      // A server with one stream for each session may not have noticed yet that the last one is gone.
      return (reason.isTransient && reason.status !== 501) || reason.status === 409 ? "soon" : "never"
    case "MalformedMessage":
    case "RedirectRefused":
      return "never"
    default:
      return reason.isTransient ? "soon" : "later"
  }
}

const isResumable = (error: McpError.McpError | undefined): boolean =>
  error?.reason._tag === "StreamEnded" && error.reason.resumable

const announcedMillis = (error: McpError.McpError | undefined): number | undefined =>
  error?.reason._tag === "StreamEnded" || error?.reason._tag === "HttpStatus"
    ? error.reason.retryAfterMillis
    : undefined

/** How long to wait after that many streams in a row that were of no use. */
const delayMillis = (unproductive: number, announced: number | undefined): number =>
  unproductive === 0
    ? announced ?? firstDelayMillis
    : Math.max(Math.min(firstDelayMillis * 2 ** (unproductive - 1), longestDelayMillis), announced ?? 0)

export class Standby {
  private readonly options: Options
  private listeners = 0
  private line: Line | undefined = undefined

  constructor(options: Options) {
    this.options = options
  }

  /** Opens the stream of a new session where it is needed. Fails if it is required and the server has none. */
  prepare(session: Session): Effect.Effect<void, McpError.McpError> {
    const { isNeeded, mode } = this.options
    if (mode !== "required") {
      return this.listeners > 0 || isNeeded(session) ? this.need(session) : Effect.void
    }
    const line = this.lineOf(session)
    if (line === undefined) return Effect.void
    this.start(line)
    const server = session.requests.server
    return Effect.mapError(Deferred.await(line.opening), (cause) =>
      McpError.make(
        new McpError.ConnectionFailed({
          target: server,
          description: "it has no standby stream, which standbyStream: \"required\" insists on",
          cause
        }),
        cause.delivery,
        { server }
      ))
  }

  /** Has the stream opened if it is not. Returns once it is open or will not be, within a second. */
  need(session: Session): Effect.Effect<void> {
    return Effect.suspend(() => {
      const line = this.lineOf(session)
      if (line === undefined) return Effect.void
      this.start(line)
      return Effect.ignore(Effect.timeoutOption(Deferred.await(line.opening), openingMillis))
    })
  }

  /** The session in use and those that follow it need the stream, until the scope closes. */
  readonly listening: Effect.Effect<void, never, Scope.Scope> = Effect.andThen(
    Effect.acquireRelease(
      Effect.sync(() => {
        this.listeners++
      }),
      () =>
        Effect.sync(() => {
          this.listeners--
        })
    ),
    Effect.suspend(() => {
      const session = this.options.current()
      return session === undefined ? Effect.void : this.need(session)
    })
  )

  private lineOf(session: Session): Line | undefined {
    const open = session.requests.connection.standby
    if (this.options.mode === "off" || open === undefined || !session.revision.standbyStream) return undefined
    if (this.line?.session !== session) {
      this.line = { session, open, state: "new", isResting: false, isWhole: true, opening: Deferred.makeUnsafe() }
    }
    return this.line
  }

  private start(line: Line): void {
    if (line.state !== "new" && line.state !== "quiet") return
    // A stream that was of no use again and again is not hoped for more than once.
    const unproductive = line.state === "new" ? 0 : maxUnproductive - 1
    line.state = "kept"
    line.opening = Deferred.makeUnsafe()
    Fiber.runIn(this.options.fork(this.keep(line, unproductive)), line.session.scope)
  }

  private keep(line: Line, unproductive: number): Effect.Effect<void> {
    const { opening, session } = line
    const onOpen = (): void => {
      Deferred.doneUnsafe(opening, Effect.void)
      if (!line.isWhole) this.options.onGap(session)
    }
    return Effect.flatMap(openOnce(line, onOpen), ({ error, opened, productive }) => {
      // What could not be opened may be asked for again from the same place, unless that is gone.
      if (opened || error?.reason._tag === "StreamEnded") line.isWhole = isResumable(error)
      Deferred.doneUnsafe(opening, error === undefined ? Effect.void : Effect.fail(error))
      if (error?.reason._tag === "SessionExpired") {
        line.state = "refused"
        // It closes the scope that this runs in.
        return Effect.sync(() => void this.options.fork(this.options.onSessionLost(session, this.listeners > 0)))
      }
      if (error === undefined && opened) return this.again(line, 0)
      const count = productive ? 0 : unproductive + 1
      const chance = error === undefined ? "soon" : chanceAfter(error)
      if (chance === "soon" && count < maxUnproductive) {
        return Effect.flatMap(Random.next, (random) =>
          Effect.andThen(
            Effect.sleep(delayMillis(count, announcedMillis(error)) * (1 + jitter * random)),
            this.again(line, count)
          ))
      }
      line.state = chance === "never" ? "refused" : "quiet"
      const told = Effect.logDebug(
        `${session.requests.server} gives no standby stream: ${error?.reason._tag ?? "silence"}`
      )
      return chance === "never" || line.isResting ? told : Effect.andThen(told, this.rest(line))
    })
  }

  /** Whoever listens all the time never needs it anew. */
  private rest(line: Line): Effect.Effect<void> {
    return Effect.suspend(() => {
      line.isResting = true
      return Effect.flatMap(Effect.sleep(restMillis), () => {
        line.isResting = false
        if (this.listeners > 0) this.start(line)
        return Effect.void
      })
    })
  }

  private again(line: Line, unproductive: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      line.opening = Deferred.makeUnsafe()
      return this.keep(line, unproductive)
    })
  }
}
