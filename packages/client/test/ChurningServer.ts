/**
 * A server in memory that never rests: what it offers changes, its streams break, its process ends and its sessions are
 * lost. It knows what it has told to whom, so that a test can tell whether a client ends up with the same.
 *
 * Everything happens by the clock and the random numbers of the Effect that makes it.
 */
import { type Json, McpError, Metadata } from "@mcp-effect/protocol"
import type { Transport } from "@mcp-effect/transport"
import { Clock, Effect, Random, type Scope } from "effect"
import * as Scripted from "./ScriptedTransport.ts"

/** The kinds of servers: of the modern era on stdio and over HTTP, and of the legacy era over HTTP. */
export type Kind = "stdio" | "http" | "legacy http"

/** What changes: the three lists, and resources by their URI. */
export const lists = ["tools", "prompts", "resources"] as const
export const busy = "test://busy"
export const quiet = "test://quiet"
const uris = [busy, quiet]

/** The tool that does not change. */
export const tool = "work"

/** The member of `_meta` by which a test names a subscription, to ask what was told on it. */
export const listenerKey = "test/listener"

export interface ChurningServer {
  readonly transport: Transport.Transport["Service"]
  readonly links: ReadonlyArray<Scripted.Link>
  /** How many times each has changed, which is what its list or contents say. */
  readonly versions: ReadonlyMap<string, number>
  /** The last version that was told of each, on the subscription of that name. */
  readonly told: (listener: string) => ReadonlyMap<string, number>
  /** How often each fault was made. */
  readonly faults: ReadonlyMap<string, number>
  /** The methods of requests that are neither answered nor cancelled, on connections that are open. */
  readonly outstanding: () => ReadonlyArray<string>
  /** Streams for what belongs to no request that are open. */
  readonly standbyStreams: () => number
  /** Changes something and tells of it, that many times in a row. */
  readonly change: (subject: string, times?: number) => void
  /** Breaks something, if that can be survived at the moment. */
  readonly fail: Effect.Effect<void>
  /** Lets everything work from now on. */
  readonly heal: () => void
}

/** A process that ends sooner after its first subscription is given up by those who subscribe. */
const crashMillis = 5_000
/** Connections that last so long are no reason to leave the server alone; only so many others may follow one another. */
const healthyMillis = 30_000
const maxShortLives = 5

interface Outstanding {
  readonly request: Scripted.Received
  /** Whether it is a subscription, of which nothing is told before it is acknowledged. */
  readonly isListen: boolean
  isAcknowledged: boolean
}

interface Standby {
  readonly link: Scripted.Link
  readonly exchange: Transport.Exchange
}

const methodOf = (subject: string): string =>
  uris.includes(subject) ? "notifications/resources/updated" : `notifications/${subject}/list_changed`

const isAbout = (filter: Json.JsonObject, subject: string): boolean => {
  const resources = filter["resourceSubscriptions"]
  return filter[`${subject}ListChanged`] === true || (Array.isArray(resources) && resources.includes(subject))
}

export const make = Effect.fnUntraced(function*(kind: Kind): Effect.fn.Return<ChurningServer, never, Scope.Scope> {
  const isLegacy = kind === "legacy http"
  const isHttp = kind !== "stdio"
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const clock = yield* Clock.Clock
  const now = (): number => clock.currentTimeMillisUnsafe()

  const versions = new Map<string, number>([...lists, ...uris].map((subject) => [subject, 1]))
  const told = new Map<string, Map<string, number>>()
  const faults = new Map<string, number>()
  const requests = new Set<Outstanding>()
  const standbys = new Set<Standby>()
  /** Of the legacy era: who has subscribed to what, and who is forgotten. */
  const subscribed = new Map<Scripted.Link, Set<string>>()
  const forgotten = new Set<Scripted.Link>()
  /** Of processes that have ended: the client may not have heard of it. */
  const exited = new Set<Scripted.Link>()
  const openedAt = new Map<Scripted.Link, number>()
  const listenedAt = new Map<Scripted.Link, number>()
  let shortLives = 0
  let isHealed = false
  let outageUntil = 0

  // ------------------------------------------------------------------------------------------------------------------
  // Answers
  // ------------------------------------------------------------------------------------------------------------------

  const later = (maxMillis: number, step: () => void): void =>
    void fork(
      isHealed
        ? Effect.sync(step)
        : Effect.flatMap(Random.nextIntBetween(0, maxMillis), (millis) =>
          Effect.andThen(Effect.sleep(millis), Effect.sync(step)))
    )

  /** Takes a request, unless nothing works at the moment. */
  const taking = (
    handle: (request: Scripted.Received, outstanding: Outstanding) => void,
    isListen = false
  ): Scripted.Handler =>
  (request) => {
    if (isHttp && now() < outageUntil) {
      return request.fail(new McpError.ConnectionFailed({ target: "churning", description: "outage" }), "unsent")
    }
    if (forgotten.has(request.connection)) {
      return request.fail(new McpError.SessionExpired({ status: 404 }), "refused")
    }
    const outstanding: Outstanding = { request, isListen, isAcknowledged: false }
    requests.add(outstanding)
    const settling =
      <Arguments extends ReadonlyArray<unknown>>(settle: (...given: Arguments) => void) =>
      (...given: Arguments): void => {
        requests.delete(outstanding)
        settle(...given)
      }
    handle(
      Object.assign(request, {
        result: settling(request.result),
        error: settling(request.error),
        fail: settling(request.fail)
      }),
      outstanding
    )
  }

  /** Answers with what is true when the request comes, which may no longer be so when the answer arrives. */
  const answering = (resultOf: (params: Json.JsonObject) => Json.JsonObject): Scripted.Handler =>
    taking(({ params, result }) => {
      const answer = { resultType: "complete", ttlMs: 3_600_000, cacheScope: "public", ...resultOf(params) }
      later(300, () => result(answer))
    })

  const listOf = (subject: typeof lists[number]): Scripted.Handler =>
    answering(() => {
      const names = [String(versions.get(subject)), tool]
      return { [subject]: names.map((name) => ({ name, uri: `test:${name}`, inputSchema: { type: "object" } })) }
    })

  const isGone = (link: Scripted.Link): boolean => link.closed || exited.has(link)

  const tell = (subject: string, version: number): void => {
    const notification = (params?: Json.JsonObject) => ({
      ...params,
      version,
      ...(uris.includes(subject) ? { uri: subject } : {})
    })
    for (const { isAcknowledged, request } of requests) {
      const filter = request.params["notifications"] as Json.JsonObject
      if (!isAcknowledged || isGone(request.connection) || !isAbout(filter, subject)) continue
      request.notify(methodOf(subject), notification({ _meta: { [Metadata.subscriptionIdKey]: request.id } }))
      const listener = String(request.meta[listenerKey])
      told.set(listener, (told.get(listener) ?? new Map()).set(subject, version))
    }
    for (const { exchange, link } of standbys) {
      if (forgotten.has(link) || (uris.includes(subject) && subscribed.get(link)?.has(subject) !== true)) continue
      exchange.onMessage({ _tag: "Notification", method: methodOf(subject), params: notification() })
    }
  }

  const acknowledge = (request: Scripted.Received, outstanding: Outstanding): void => {
    if (!listenedAt.has(request.connection)) listenedAt.set(request.connection, now())
    later(200, () => {
      outstanding.isAcknowledged = true
      request.notify("notifications/subscriptions/acknowledged", {
        _meta: { [Metadata.subscriptionIdKey]: request.id },
        notifications: request.params["notifications"]
      })
    })
  }

  const call = (request: Scripted.Received): void => {
    const done = { resultType: "complete", content: [{ type: "text", text: "done" }] }
    switch (Object(request.params["arguments"])["behaviour"]) {
      case "refuse":
        return later(1_000, () => request.error(-32602, "no"))
      case "break":
        return later(
          1_000,
          () => isHttp ? request.fail(new McpError.StreamEnded({ resumable: false })) : request.error(-32603, "broken")
        )
      case "busy":
        return later(
          1_000,
          () =>
            isHttp ? request.fail(new McpError.HttpStatus({ status: 503 }), "refused") : request.error(-32603, "busy")
        )
      case "progress":
        for (let step = 1; step <= 5; step++) later(1_000, () => request.progress(step))
        return later(5_000, () => request.result(done))
      case "silent":
        return
      default:
        return later(2_000, () => request.result(done))
    }
  }

  const common: Scripted.Handlers = {
    "tools/list": listOf("tools"),
    "prompts/list": listOf("prompts"),
    "resources/list": listOf("resources"),
    "resources/read": answering(({ uri }) => ({ contents: [{ uri, text: String(versions.get(String(uri))) }] })),
    "tools/call": taking(call),
    "subscriptions/listen": taking(acknowledge, true),
    "resources/subscribe": taking((request) => {
      const { connection, params } = request
      subscribed.set(connection, (subscribed.get(connection) ?? new Set()).add(String(params["uri"])))
      later(200, () => request.result({}))
    }),
    "resources/unsubscribe": taking((request) => {
      subscribed.get(request.connection)?.delete(String(request.params["uri"]))
      later(200, () => request.result({}))
    })
  }

  const begin = isLegacy
    ? { initialize: taking(({ result }) => result(Scripted.initialization("2025-11-25"))) }
    : { "server/discover": taking(({ result }) => result(Scripted.discovery())) }

  const scripted = yield* Scripted.make({ ...common, ...begin }, {
    kind: isHttp ? "streamable-http" : "stdio",
    onOpen: (link) => openedAt.set(link, now())
  })

  const openStandby = (link: Scripted.Link, exchange: Transport.Exchange): Transport.Cancel => {
    const standby: Standby = { link, exchange }
    const fails = (reason: McpError.McpErrorReason) => exchange.onFailure(McpError.make(reason, "unsent"))
    let isWanted = true
    later(200, () => {
      if (!isWanted) return
      if (forgotten.has(link)) return fails(new McpError.SessionExpired({ status: 404 }))
      if (now() < outageUntil) {
        return fails(new McpError.ConnectionFailed({ target: "churning", description: "outage" }))
      }
      standbys.add(standby)
      exchange.onActivity(0)
      exchange.onStream?.(true)
    })
    return () => {
      isWanted = false
      standbys.delete(standby)
    }
  }

  const transport: Transport.Transport["Service"] = {
    ...scripted.transport,
    connect: (inbound) =>
      Effect.suspend(() => {
        const index = scripted.links.length
        return Effect.map(scripted.transport.connect(inbound), (connection) => {
          const link = scripted.links[index]
          return isLegacy && link !== undefined
            ? { ...connection, standby: (exchange) => openStandby(link, exchange) }
            : connection
        })
      })
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Faults
  // ------------------------------------------------------------------------------------------------------------------

  const breakStandby = (standby: Standby): void => {
    standbys.delete(standby)
    standby.exchange.onFailure(McpError.make(new McpError.StreamEnded({ resumable: false }), "unknown"))
  }

  const open = (): Scripted.Link | undefined => scripted.links.findLast((link) => !isGone(link) && !forgotten.has(link))

  /** Whether those who depend on the connection come back to the server if it ends now. */
  const mayEnd = (link: Scripted.Link): boolean => {
    const first = listenedAt.get(link)
    if (first !== undefined && now() - first < crashMillis) return false
    return now() - (openedAt.get(link) ?? now()) >= healthyMillis || shortLives < maxShortLives
  }

  const end = (link: Scripted.Link): void => {
    shortLives = now() - (openedAt.get(link) ?? now()) >= healthyMillis ? 0 : shortLives + 1
  }

  const listens = () => [...requests].filter(({ isListen, request }) => isListen && !isGone(request.connection))

  /** How to break each stream that is open. */
  const breakable = (): ReadonlyArray<() => void> => {
    if (!isHttp) return []
    return isLegacy
      ? [...standbys].map((standby) => () => breakStandby(standby))
      : listens().map(({ request }) => () => request.fail(new McpError.StreamEnded({ resumable: false })))
  }

  /** Each tells whether it could be done. */
  const possible: Readonly<Record<string, () => Effect.Effect<boolean>>> = {
    exit: () =>
      Effect.sync(() => {
        const link = open()
        if (isHttp || link === undefined || !mayEnd(link)) return false
        end(link)
        exited.add(link)
        link.exit(1)
        return true
      }),
    loss: () =>
      Effect.sync(() => {
        const link = open()
        if (!isLegacy || link === undefined || !mayEnd(link)) return false
        end(link)
        forgotten.add(link)
        for (const standby of standbys) if (standby.link === link) breakStandby(standby)
        return true
      }),
    drop: () =>
      Effect.map(Random.shuffle(breakable()), ([breaks]) => {
        breaks?.()
        return breaks !== undefined
      }),
    graceful: () =>
      Effect.map(
        Random.shuffle(listens().filter(({ request }) => request.meta[listenerKey] === undefined)),
        ([one]) => {
          one?.request.result({ resultType: "complete", _meta: { [Metadata.subscriptionIdKey]: one.request.id } })
          return one !== undefined
        }
      ),
    outage: () =>
      Effect.map(Random.nextIntBetween(500, 8_000), (millis) => {
        if (!isHttp || now() < outageUntil) return false
        outageUntil = now() + millis
        for (const { request } of listens()) request.fail(new McpError.StreamEnded({ resumable: false }))
        for (const standby of standbys) breakStandby(standby)
        return true
      })
  }

  const isCancelled = ({ connection, id }: Scripted.Received): boolean =>
    scripted.streamsClosed.includes(id)
    || scripted.sentOf("notifications/cancelled").some(({ connection: index, params }) =>
      index === connection.index && params["requestId"] === id
    )

  return {
    transport,
    links: scripted.links,
    versions,
    told: (listener) => told.get(listener) ?? new Map(),
    faults,
    outstanding: () =>
      [...requests]
        .filter(({ request }) => !isGone(request.connection) && !isCancelled(request))
        .map(({ request }) => request.method),
    standbyStreams: () => standbys.size,
    change: (subject, times = 1) => {
      for (let time = 0; time < times; time++) {
        const version = (versions.get(subject) ?? 0) + 1
        versions.set(subject, version)
        tell(subject, version)
      }
    },
    fail: Effect.flatMap(Random.shuffle(Object.entries(possible)), (shuffled) =>
      Effect.gen(function*() {
        for (const [name, fault] of shuffled) {
          if (!(yield* fault())) continue
          faults.set(name, (faults.get(name) ?? 0) + 1)
          return
        }
      })),
    heal: () => {
      isHealed = true
      outageUntil = 0
    }
  }
})
