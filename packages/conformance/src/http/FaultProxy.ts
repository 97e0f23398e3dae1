/**
 * A TCP proxy on loopback in front of a real server, whose connections a test cuts, stalls, delays and refuses.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"

/** How a connection ends for the client: as if the peer had crashed, or in good order. */
export type Cut = "reset" | "end"

export interface FaultProxy {
  /** Where the server is reached through the proxy. */
  readonly url: string
  /** Connections that were made so far. */
  readonly connections: () => number
  /** Connections that are open. */
  readonly open: () => number
  /** Breaks off every connection that is open. */
  readonly cut: (how?: Cut) => Effect.Effect<void>
  /** Passes nothing on in either direction until the scope closes. New connections are accepted all the same. */
  readonly stalled: Effect.Effect<void, never, Scope.Scope>
  /** Resets new connections until the scope closes. */
  readonly refusing: Effect.Effect<void, never, Scope.Scope>
  /** Holds everything back on its way for so many milliseconds. To be set while nothing is on its way. */
  readonly delay: (millis: number) => Effect.Effect<void>
}

/** One connection of a client, and the proxy's own to the server for it. */
interface Pair {
  readonly client: Net.Socket
  readonly server: Net.Socket
}

class Proxy {
  readonly listener = Net.createServer({ allowHalfOpen: true }, (client) => this.accept(client))
  readonly pairs = new Set<Pair>()
  made = 0
  delayMillis = 0
  private stalls = 0
  private refusals = 0
  private readonly target: URL

  constructor(target: URL) {
    this.target = target
  }

  cut(how: Cut): void {
    for (const { client, server } of this.pairs) {
      server.destroy()
      if (how === "reset") client.resetAndDestroy()
      else client.end(() => client.destroy())
    }
  }

  stall(by: number): void {
    this.stalls += by
    for (const pair of this.pairs) this.setFlow(pair)
  }

  refuse(by: number): void {
    this.refusals += by
  }

  private accept(client: Net.Socket): void {
    this.made++
    client.on("error", () => {})
    if (this.refusals > 0) return void client.resetAndDestroy()
    const server = Net.connect({ port: Number(this.target.port), host: this.target.hostname, allowHalfOpen: true })
    server.on("error", () => {})
    const pair: Pair = { client, server }
    this.pairs.add(pair)
    for (const [from, to] of [[client, server], [server, client]] as const) {
      from.on("data", (chunk) => this.later(() => to.writable && to.write(chunk)))
      from.on("end", () => this.later(() => to.end()))
      from.on("close", () => {
        this.pairs.delete(pair)
        this.later(() => to.destroy())
      })
    }
    this.setFlow(pair)
  }

  private setFlow({ client, server }: Pair): void {
    for (const socket of [client, server]) {
      if (this.stalls > 0) socket.pause()
      else socket.resume()
    }
  }

  /** Timers of one length run in order. */
  private later(step: () => void): void {
    if (this.delayMillis === 0) step()
    else setTimeout(step, this.delayMillis)
  }
}

const until = (change: (by: number) => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(Effect.sync(() => change(1)), () => Effect.sync(() => change(-1)))

/** Starts a proxy to the server at that URL. It ends with the scope, and its connections with it. */
export const make = (target: string): Effect.Effect<FaultProxy, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<Proxy>((resume) => {
        const proxy = new Proxy(new URL(target))
        proxy.listener.listen(0, "127.0.0.1", () => resume(Effect.succeed(proxy)))
      }),
      (proxy) =>
        Effect.callback<void>((resume) => {
          proxy.listener.close(() => resume(Effect.void))
          proxy.cut("reset")
        })
    ),
    (proxy): FaultProxy => {
      const url = new URL(target)
      url.hostname = "127.0.0.1"
      url.port = String((proxy.listener.address() as Net.AddressInfo).port)
      return {
        url: url.href,
        connections: () => proxy.made,
        open: () => proxy.pairs.size,
        cut: (how = "reset") => Effect.sync(() => proxy.cut(how)),
        stalled: until((by) => proxy.stall(by)),
        refusing: until((by) => proxy.refuse(by)),
        delay: (millis) =>
          Effect.sync(() => {
            proxy.delayMillis = millis
          })
      }
    }
  )
