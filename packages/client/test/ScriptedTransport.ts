/**
 * A server in memory that a test scripts: it records everything that the client sends, checks it against the official
 * schemas where they are at hand, and answers as the test wants, at once or later.
 *
 * Of kind "memory" and "stdio" it speaks over one shared channel. Of an HTTP kind every request is an exchange of its
 * own.
 */
import * as OfficialSchema from "@mcp-effect/conformance/OfficialSchema"
import { Envelope, type Json, McpError, Metadata, type Revision } from "@mcp-effect/protocol"
import { Transport } from "@mcp-effect/transport"
import * as Duplex from "@mcp-effect/transport/Duplex"
import { Deferred, Effect, Layer, Schedule, type Scope, Stream } from "effect"
import type { ClientOptions } from "../src/ClientOptions.ts"
import * as McpClient from "../src/McpClient.ts"

/** Waits until everything that is under way in memory has come to rest, to show that nothing follows. */
export const settled: Effect.Effect<void> = Effect.promise(async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
})

/** One message that the client sent. */
export interface Sent {
  readonly connection: number
  readonly revision: Revision.Version
  readonly method: string | undefined
  readonly id: unknown
  readonly params: Json.JsonObject
  /** The params without their `_meta`. */
  readonly content: Json.JsonObject
  readonly meta: Json.JsonObject
  /** The whole message. */
  readonly message: Json.JsonObject
}

/** A request of the client that can be answered. */
export interface Received {
  readonly id: Envelope.RequestId
  readonly method: string
  readonly params: Json.JsonObject
  readonly meta: Json.JsonObject
  readonly outgoing: Transport.Outgoing
  readonly connection: Link
  readonly result: (result: Json.JsonObject, evidence?: Partial<Transport.Evidence>) => void
  readonly error: (code: number, message?: string, data?: unknown, httpStatus?: number) => void
  /** Answers with something that is no proper response: the members beside `jsonrpc` and `id`. */
  readonly malformed: (members: Json.JsonObject) => void
  readonly notify: (method: string, params?: Json.JsonObject) => void
  readonly progress: (progress: number, more?: Json.JsonObject) => void
  /** Fails the exchange as a transport does. */
  readonly fail: (reason: McpError.McpErrorReason, delivery?: McpError.Delivery) => void
  /** A sign of life; over HTTP only. */
  readonly alive: (graceMillis?: number) => void
  /** Sends a request of the server on the stream of this one; over HTTP only. */
  readonly ask: (id: Envelope.RequestId, method: string, params?: Json.JsonObject) => void
}

export type Handler = (request: Received) => void

/** What the server does about each method; a method that is not listed is answered with -32601. */
export interface Handlers {
  readonly [method: string]: Handler
}

/** One connection, from the server's side. */
export interface Link {
  readonly index: number
  readonly closed: boolean
  readonly established: Revision.Version | undefined
  /** Writes a message as it stands; on a shared channel only. */
  readonly text: (text: string) => void
  readonly notify: (method: string, params?: Json.JsonObject) => void
  readonly ask: (id: Envelope.RequestId, method: string, params?: Json.JsonObject) => void
  /** The process ends. */
  readonly exit: (exitCode?: number) => void
}

export interface Options {
  readonly kind?: string | undefined
  readonly fingerprint?: string | undefined
  /** Runs before each connection opens; it may fail or hang. */
  readonly connect?: ((index: number) => Effect.Effect<void, McpError.McpError>) | undefined
  /** Runs while a connection opens, before the client has it. */
  readonly onOpen?: ((link: Link) => void) | undefined
}

export interface Server {
  readonly transport: Transport.Transport["Service"]
  readonly layer: Layer.Layer<Transport.Transport>
  readonly sent: ReadonlyArray<Sent>
  readonly links: ReadonlyArray<Link>
  /** The ids of requests whose stream the client closed; over HTTP only. */
  readonly streamsClosed: ReadonlyArray<Envelope.RequestId>
  /** The methods of everything sent; an answer counts as `undefined`. */
  readonly methods: () => ReadonlyArray<string | undefined>
  readonly sentOf: (method: string) => ReadonlyArray<Sent>
  /** The answers of the client to requests of the server. */
  readonly replies: () => ReadonlyArray<Json.JsonObject>
  /** The next request of that method that was left open, once it is there; each is given once. */
  readonly take: (method: string) => Effect.Effect<Received>
  /** Waits until the condition holds, which is looked at whenever something is sent, opened or closed. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
}

export const target = "scripted"
const httpKinds: ReadonlySet<string> = new Set(["streamable-http", "http"])
const object = (value: unknown): Json.JsonObject => (typeof value === "object" && value !== null ? { ...value } : {})

let count = 0

const closedError = (local: boolean, exitCode?: number): McpError.McpError =>
  McpError.make(new McpError.ConnectionClosed({ target, local, exitCode }), "unsent", { server: target })

export const make = Effect.fnUntraced(function*(handlers: Handlers, options: Options = {}): Effect.fn.Return<
  Server,
  never,
  Scope.Scope
> {
  const kind = options.kind ?? "memory"
  const isHttp = httpKinds.has(kind)
  const sent: Array<Sent> = []
  const links: Array<Link> = []
  const open: Array<Received> = []
  const streamsClosed: Array<Envelope.RequestId> = []
  const problems: Array<string> = []
  const watchers = new Set<() => void>()
  const changed = (): void => {
    for (const watcher of watchers) watcher()
  }

  const record = (connection: number, text: string, revision: Revision.Facts, asked: Map<unknown, string>): Sent => {
    const message = object(JSON.parse(text))
    const method = typeof message["method"] === "string" ? message["method"] : undefined
    if (OfficialSchema.available) {
      problems.push(
        ...OfficialSchema.validateOutgoing(
          revision.version,
          message,
          method === undefined ? asked.get(message["id"]) : undefined
        ).map((problem) => `${revision.version} ${text}: ${problem}`)
      )
    }
    const params = object(message["params"])
    const { _meta, ...content } = params
    const entry: Sent = {
      connection,
      revision: revision.version,
      method,
      id: message["id"],
      params,
      content,
      meta: object(_meta),
      message
    }
    sent.push(entry)
    return entry
  }

  const receive = (received: Received): void => {
    const handler = Object.hasOwn(handlers, received.method) ? handlers[received.method] : undefined
    open.push(received)
    if (handler === undefined) received.error(-32601, `Method not found: ${received.method}`)
    else handler(received)
    changed()
  }

  const progressOf = (meta: Json.JsonObject, progress: number, more?: Json.JsonObject): Json.JsonObject => ({
    progressToken: meta["progressToken"],
    progress,
    ...more
  })

  const asked = new Map<unknown, string>()
  const requestOf = (id: Envelope.RequestId, method: string, params: Json.JsonObject = {}) => {
    asked.set(id, method)
    return { _tag: "Request" as const, id, method, params }
  }

  const connectShared = (inbound: Transport.Inbound, index: number) => {
    const revisions = new Map<Envelope.RequestId, Revision.Facts>()
    const notified: Array<Revision.Facts> = []
    let established: Revision.Version | undefined
    let closed = false
    const duplex = Duplex.make({
      target,
      inbound,
      outboxLimit: Infinity,
      messageLimit: Infinity,
      write: (frames, ready) => {
        for (const frame of frames) {
          const outgoing = frame.request
          if (outgoing === undefined) {
            const { method, params } = object(JSON.parse(frame.text))
            const cancelled = method === "notifications/cancelled"
              ? revisions.get(object(params)["requestId"] as Envelope.RequestId)
              : undefined
            const revision = cancelled ?? notified.shift()
            if (revision === undefined) throw new Error(`Nobody asked for ${frame.text}`)
            record(index, frame.text, revision, asked)
            continue
          }
          revisions.set(outgoing.id, outgoing.revision)
          const { meta, params } = record(index, frame.text, outgoing.revision, asked)
          const { id, method } = outgoing
          const text = (members: Json.JsonObject) => link.text(JSON.stringify({ jsonrpc: "2.0", ...members }))
          const notify = (method: string, params?: Json.JsonObject) => text({ method, params })
          receive({
            id,
            method,
            params,
            meta,
            outgoing,
            connection: link,
            result: (result) => text({ id, result }),
            error: (code, message = "", data) => text({ id, error: { code, message, data } }),
            malformed: (members) => text({ id, ...members }),
            notify,
            progress: (progress, more) => notify("notifications/progress", progressOf(meta, progress, more)),
            fail: (reason, delivery = "unknown") => duplex.fail(id, McpError.make(reason, delivery)),
            alive: () => {},
            ask: (id, method, params) => link.ask(id, method, params)
          })
        }
        ready()
        changed()
      }
    })
    const link: Link = {
      index,
      get closed() {
        return closed
      },
      get established() {
        return established
      },
      text: (text) => duplex.onText(text),
      notify: (method, params) => duplex.onText(JSON.stringify({ jsonrpc: "2.0", method, params })),
      ask: (id, method, params) => {
        asked.set(id, method)
        duplex.onText(JSON.stringify({ jsonrpc: "2.0", id, method, params }))
      },
      exit: (exitCode) => duplex.close(closedError(false, exitCode))
    }
    const connection: Transport.Connection = {
      ...duplex.connection,
      send: (message, revision) =>
        Effect.suspend(() => {
          notified.push(revision)
          return duplex.connection.send(message, revision)
        }),
      established: (revision) => {
        established = revision.version
        return duplex.connection.established(revision)
      }
    }
    return {
      link,
      connection,
      close: () => {
        closed = true
        duplex.close(closedError(true))
      }
    }
  }

  const connectHttp = (inbound: Transport.Inbound, index: number) => {
    const exchanges = new Map<Envelope.RequestId, (error: McpError.McpError) => void>()
    const ended = Deferred.makeUnsafe<McpError.McpError>()
    let established: Revision.Version | undefined
    let closed = false
    const close = (error: McpError.McpError): void => {
      closed = true
      for (const fail of exchanges.values()) fail(error)
      Deferred.doneUnsafe(ended, Effect.succeed(error))
    }
    const link: Link = {
      index,
      get closed() {
        return closed
      },
      get established() {
        return established
      },
      text: () => {
        throw new Error("An HTTP connection has no channel of its own")
      },
      notify: (method, params) => inbound.onMessage({ _tag: "Notification", method, params }),
      ask: (id, method, params) => inbound.onMessage(requestOf(id, method, params)),
      exit: () => close(closedError(false))
    }
    const connection: Transport.Connection = {
      open: (outgoing, exchange) => {
        const { id, method, revision } = outgoing
        let isOpen = true
        const settle = (tell: () => void): void => {
          if (!isOpen) return
          isOpen = false
          exchanges.delete(id)
          tell()
        }
        const respond = (members: Json.JsonObject, evidence: Partial<Transport.Evidence> = {}): void =>
          settle(() => {
            const response = Envelope.read({ jsonrpc: "2.0", id, ...members })
            if (response?._tag !== "Response") throw new Error("A server cannot answer with that")
            exchange.onResponse(response, { authorization: "none", ...evidence })
          })
        exchanges.set(id, (error) => settle(() => exchange.onFailure(error)))
        const { meta, params } = record(index, outgoing.text, revision, asked)
        const tell = (message: Envelope.Request | Envelope.Notification): void => {
          if (isOpen) exchange.onMessage(message)
        }
        const notify = (method: string, params?: Json.JsonObject) => tell({ _tag: "Notification", method, params })
        queueMicrotask(() => {
          if (!isOpen) return
          receive({
            id,
            method,
            params,
            meta,
            outgoing,
            connection: link,
            result: (result, evidence) => respond({ result }, { httpStatus: 200, ...evidence }),
            error: (code, message = "", data, httpStatus = 200) =>
              respond({ error: { code, message, data } }, { httpStatus }),
            malformed: (members) => respond(members, { httpStatus: 200 }),
            notify,
            progress: (progress, more) => notify("notifications/progress", progressOf(meta, progress, more)),
            fail: (reason, delivery = "unknown") =>
              settle(() => exchange.onFailure(McpError.make(reason, delivery, { server: target, method }))),
            alive: (graceMillis = 0) => exchange.onActivity(graceMillis),
            ask: (id, method, params) => tell(requestOf(id, method, params))
          })
        })
        return (reason) =>
          settle(() => {
            if (outgoing.onAbandon === "silent") return
            if (revision.httpCancellation === "close-stream") streamsClosed.push(id)
            else {
              const params = reason === undefined ? { requestId: id } : { requestId: id, reason }
              const text = Envelope.encode({ _tag: "Notification", method: "notifications/cancelled", params })
              record(index, text, revision, asked)
            }
            changed()
          })
      },
      send: (message, revision) =>
        Effect.sync(() => {
          record(index, Envelope.encode(message), revision, asked)
          changed()
        }),
      established: (revision) =>
        Effect.sync(() => {
          established = revision.version
        }),
      closed: Deferred.await(ended)
    }
    return { link, connection, close: () => close(closedError(true)) }
  }

  const transport: Transport.Transport["Service"] = {
    kind,
    target,
    fingerprint: options.fingerprint ?? `scripted ${++count}`,
    connect: Effect.fnUntraced(function*(inbound) {
      const index = links.length
      const made = isHttp ? connectHttp(inbound, index) : connectShared(inbound, index)
      links.push(made.link)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          made.close()
          changed()
        })
      )
      changed()
      yield* options.connect?.(index) ?? Effect.void
      options.onOpen?.(made.link)
      return made.connection
    })
  }

  const until = (condition: () => boolean): Effect.Effect<void> =>
    Effect.callback((resume) => {
      const watcher = (): void => {
        if (!condition()) return
        watchers.delete(watcher)
        resume(Effect.void)
      }
      watchers.add(watcher)
      watcher()
      return Effect.sync(() => watchers.delete(watcher))
    })

  yield* Effect.addFinalizer(() =>
    problems.length === 0
      ? Effect.void
      : Effect.die(new Error(`The client sent what it must not:\n${problems.join("\n")}`))
  )

  return {
    transport,
    layer: Layer.succeed(Transport.Transport, transport),
    sent,
    links,
    streamsClosed,
    methods: () => sent.map(({ method }) => method),
    sentOf: (method) => sent.filter((entry) => entry.method === method),
    replies: () => sent.filter(({ method }) => method === undefined).map(({ message }) => message),
    take: (method) => {
      const find = () => open.findIndex((request) => request.method === method)
      return Effect.map(until(() => find() !== -1), () => {
        const [request] = open.splice(find(), 1)
        if (request === undefined) throw new Error("unreachable")
        return request
      })
    },
    until
  }
})

// ====================================================================================================================
// Servers of both eras
// ====================================================================================================================

/** Leaves a request open, to be answered later by whoever takes it. */
export const never: Handler = () => {}

/** Answers every request with that result. */
export const answer = (result: Json.JsonObject): Handler => (request) => request.result(result)

/** Answers with the elements in turn, the last one for ever. */
export const inTurn = (...handlers: ReadonlyArray<Handler>): Handler => {
  let next = 0
  return (request) => handlers[Math.min(next++, handlers.length - 1)]?.(request)
}

export const everyCapability: Json.JsonObject = {
  tools: {},
  prompts: {},
  resources: { subscribe: true },
  logging: {},
  completions: {}
}

/** The answer of a modern server to `server/discover`. */
export const discovery = (members?: Json.JsonObject): Json.JsonObject => ({
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: everyCapability,
  ttlMs: 0,
  cacheScope: "private",
  _meta: { [Metadata.serverInfoKey]: { name: "modern-server", version: "2.0.0" } },
  ...members
})

/** The answer of a legacy server to `initialize`. */
export const initialization = (version: string, members?: Json.JsonObject): Json.JsonObject => ({
  protocolVersion: version,
  capabilities: everyCapability,
  serverInfo: { name: "legacy-server", version: "1.0.0" },
  ...members
})

/** A server of the modern era. */
export const modern = (handlers: Handlers = {}, options?: Options): Effect.Effect<Server, never, Scope.Scope> =>
  make({ "server/discover": answer(discovery()), ...handlers }, options)

/** A server of the legacy era. */
export const legacy = (
  handlers: Handlers = {},
  options?: Options & { readonly version?: Revision.Version | undefined }
): Effect.Effect<Server, never, Scope.Scope> =>
  make({ initialize: answer(initialization(options?.version ?? "2025-11-25")), ...handlers }, options)

/** For a client that sends nothing again. */
export const once: ClientOptions = { retry: Schedule.recurs(0), reissue: "never" }

/** A client of the server, that lives as long as the test. What it sent while it connected has left. */
export const connect = (
  server: Server,
  options?: ClientOptions
): Effect.Effect<McpClient.McpClient, McpError.McpError, Scope.Scope> =>
  Effect.tap(
    Effect.provideService(McpClient.make(options), Transport.Transport, server.transport),
    Effect.promise(async () => {})
  )

/** Everything that a stream gives from now on, as it comes. */
export const collect = <A, E>(stream: Stream.Stream<A, E>): Effect.Effect<ReadonlyArray<A>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const collected: Array<A> = []
    yield* Effect.forkScoped(
      Stream.runForEach(stream, (value) => Effect.sync(() => collected.push(value))),
      { startImmediately: true }
    )
    return collected
  })
