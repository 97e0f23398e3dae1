/**
 * Resources under watch: what one holds, and again after each update, by `resources/subscribe` up to 2025-11-25 and by a
 * `subscriptions/listen` request of its own in later revisions (2026-07-28 basic/patterns/subscriptions).
 *
 * All who watch a resource share what is done for it, as all who watch a list do.
 */
import { McpError, type Resource } from "@mcp-effect/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { State } from "../Subscription.ts"
import * as Backoff from "./Backoff.ts"
import type { Calls } from "./Calls.ts"
import type { Link } from "./Link.ts"
import type { NotificationRouter } from "./NotificationRouter.ts"
import { concerns, type ResultCaching } from "./ResultCaching.ts"
import type { Session } from "./Session.ts"
import type { Subscriptions } from "./Subscriptions.ts"
import * as Watch from "./Watch.ts"

/** How long telling a server that nobody watches any more may take. */
const partingMillis = 1_000

type Contents = Resource.ReadResourceResult

export interface Options {
  readonly server: string
  readonly calls: Calls
  readonly link: Link
  readonly router: NotificationRouter
  readonly caching: ResultCaching
  readonly subscriptions: Subscriptions
  /** Reads a resource as the server has it now. */
  readonly read: (uri: string) => Effect.Effect<Contents, McpError.McpError>
  /** Has a legacy server given the stream on which it sends updates, until the scope closes. */
  readonly standby: Effect.Effect<void, never, Scope.Scope>
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Runs something that nobody waits for, and that the server should still hear when the client closes. */
  readonly part: (effect: Effect.Effect<void>) => void
  readonly scope: Scope.Scope
}

const capability = "resources.subscribe"

/** How the server is made to tell of one resource. */
interface Source {
  /** Makes sure that the server tells from now on; runs before each read. */
  readonly ensure: Effect.Effect<void, McpError.McpError>
  /** Whether it tells at the moment, as far as is known. */
  readonly isLive: () => boolean
}

export const make = (options: Options): (uri: string) => Stream.Stream<Contents, McpError.McpError> => {
  const { caching, calls, fork, link, router, scope, server, subscriptions } = options
  const shared = new Map<string, { readonly stream: Stream.Stream<Contents, McpError.McpError>; watchers: number }>()
  /** Subscriptions that are being given up: another to the same resource must not be overtaken by that. */
  const leaving = new Map<string, Deferred.Deferred<void>>()

  const notHonoured = (): McpError.McpError =>
    McpError.make(new McpError.CapabilityMissing({ capability }), "refused", { server, method: "subscriptions/listen" })

  // ------------------------------------------------------------------------------------------------------------------
  // resources/subscribe
  // ------------------------------------------------------------------------------------------------------------------

  const unsubscribe = (uri: string, { generation }: Session): void => {
    const done = Deferred.makeUnsafe<void>()
    leaving.set(uri, done)
    options.part(
      calls.run({ method: "resources/unsubscribe", params: { uri }, uri, generation, decode: () => Exit.void }).pipe(
        Effect.timeoutOption(partingMillis),
        // A server that does not listen goes on telling what nobody hears.
        Effect.ignore,
        Effect.ensuring(Effect.sync(() => {
          if (leaving.get(uri) === done) leaving.delete(uri)
          Deferred.doneUnsafe(done, Effect.void)
        }))
      )
    )
  }

  /** Subscribes on each session that the watch lives through. */
  const bySubscribing = Effect.fnUntraced(function*(uri: string): Effect.fn.Return<
    Source,
    McpError.McpError,
    Scope.Scope
  > {
    let subscribed: Session | undefined
    const ensure = Effect.flatMap(link.current, (session) => {
      if (session === subscribed) return Effect.void
      const left = leaving.get(uri)
      return Effect.andThen(
        left === undefined ? Effect.void : Deferred.await(left),
        Effect.map(
          calls.run({
            method: "resources/subscribe",
            params: { uri },
            uri,
            generation: session.generation,
            decode: () => Exit.void
          }),
          () => {
            subscribed = session
          }
        )
      )
    })
    yield* options.standby
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        if (subscribed !== undefined && subscribed === link.ready()) unsubscribe(uri, subscribed)
      })
    )
    yield* ensure
    return { ensure, isLive: () => subscribed !== undefined && subscribed === link.ready() }
  })

  // ------------------------------------------------------------------------------------------------------------------
  // subscriptions/listen
  // ------------------------------------------------------------------------------------------------------------------

  /** Listens until the scope closes, on another subscription where the server ends one. */
  const byListening = Effect.fnUntraced(function*(uri: string, onGap: () => void): Effect.fn.Return<
    Source,
    McpError.McpError,
    Scope.Scope
  > {
    const opened = Deferred.makeUnsafe<void, McpError.McpError>()
    let isLive = false
    let isFirst = true
    let refusal: McpError.McpError | undefined

    const open = Effect.scoped(Effect.gen(function*() {
      const subscription = yield* subscriptions.listen({ resourceSubscriptions: [uri] })
      yield* Effect.forkScoped(Effect.ignore(Stream.runDrain(subscription.notifications)))
      let wasHonoured = false
      const onState = (state: State): Effect.Effect<void, McpError.McpError> =>
        Effect.flatMap(subscription.acknowledged, (acknowledged) => {
          isLive = state._tag === "Active"
          switch (state._tag) {
            case "Active":
              // Each acknowledgment may grant less than the one before.
              if (acknowledged?.resourceSubscriptions?.includes(uri) !== true) return Effect.fail(notHonoured())
              wasHonoured = true
              if (!isFirst) onGap()
              isFirst = false
              Deferred.doneUnsafe(opened, Effect.void)
              return Effect.void
            case "Closed":
              return state.error !== undefined
                ? Effect.fail(state.error)
                : wasHonoured
                ? Effect.void
                : Effect.fail(notHonoured())
            default:
              return Effect.void
          }
        })
      return yield* Stream.runForEach(subscription.state, onState)
    }))

    const keepOpen = (failures: number): Effect.Effect<void> =>
      Effect.flatMap(Effect.result(open), (ended) => {
        isLive = false
        if (Result.isFailure(ended) && (isFirst || !ended.failure.reason.isTransient)) {
          refusal = ended.failure
          Deferred.doneUnsafe(opened, Effect.fail(ended.failure))
          onGap()
          return Effect.void
        }
        return Effect.andThen(
          Effect.sleep(Backoff.delayMillis(failures)),
          keepOpen(Result.isSuccess(ended) ? 0 : failures + 1)
        )
      })

    yield* Effect.forkScoped(keepOpen(0), { startImmediately: true })
    yield* Deferred.await(opened)
    return {
      ensure: Effect.suspend(() => refusal === undefined ? Effect.void : Effect.fail(refusal)),
      isLive: () => isLive
    }
  })

  // ------------------------------------------------------------------------------------------------------------------
  // Streams
  // ------------------------------------------------------------------------------------------------------------------

  const watch = (uri: string): Stream.Stream<Contents, McpError.McpError> => {
    let source: Source | undefined
    const listen = Effect.fnUntraced(function*(onGap: () => void): Effect.fn.Return<
      void,
      McpError.McpError,
      Scope.Scope
    > {
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          router.onInvalidate(({ method, params }) => {
            const updated = params?.["uri"]
            if (method === "notifications/resources/updated" && typeof updated === "string" && concerns(updated)(uri)) {
              onGap()
            }
          })
        ),
        (stop) => Effect.sync(stop)
      )
      const { revision } = yield* link.current
      source = yield* revision.subscriptions === "listen" ? byListening(uri, onGap) : bySubscribing(uri)
    })
    const contents = Watch.make<Contents>({
      method: "resources/read",
      list: () => Effect.andThen(source?.ensure ?? Effect.void, Effect.map(options.read(uri), (read) => [read])),
      isLive: () => source?.isLive() === true,
      caching,
      link,
      listen,
      fork,
      scope
    })
    return Stream.flatMap(contents, (read) => Stream.fromIterable(read))
  }

  return (uri) =>
    Stream.unwrap(Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => {
          const entry = shared.get(uri) ?? { stream: watch(uri), watchers: 0 }
          entry.watchers++
          shared.set(uri, entry)
          return entry
        }),
        (entry) =>
          Effect.sync(() => {
            entry.watchers--
            if (entry.watchers === 0 && shared.get(uri) === entry) shared.delete(uri)
          })
      ),
      ({ stream }) => stream
    ))
}
