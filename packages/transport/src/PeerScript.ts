/**
 * A server that is written down as data: what it does about each method, step by step.
 *
 * `TransportContract` describes the peers of its cases this way, so that the same peer can stand at the other end of
 * any channel: a child process, an HTTP server, a pair in memory. The module imports nothing at run time; a child
 * process can load it on its own.
 *
 * @since 0.1.0
 */
import type { Envelope, Json } from "@mcp-effect/protocol"

/**
 * One step of the answer to a request.
 *
 * - `echo` answers with the request's own `params` as the result.
 * - `result` and `error` answer; `large` answers with `{ "text": "xx…" }` of that many bytes.
 * - `progress` notifies about progress under the request's own token; `notify` sends any notification.
 * - `text` writes a message as it stands, well formed or not, with each `"$id"` replaced by the request's id.
 * - `until` waits for a message of that method; `until-cancelled` waits until any request was cancelled or abandoned.
 * - `report` answers with what was received so far: a `Report`.
 * - `never` stops without an answer and leaves the request open.
 * - `disconnect` breaks the connection off, without an answer.
 *
 * @category models
 * @since 0.1.0
 */
export type Step =
  | { readonly do: "echo" }
  | { readonly do: "result"; readonly result: Json.JsonObject }
  | { readonly do: "error"; readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly do: "large"; readonly bytes: number }
  | { readonly do: "progress"; readonly progress: number }
  | { readonly do: "notify"; readonly method: string; readonly params: Json.JsonObject }
  | { readonly do: "text"; readonly text: string }
  | { readonly do: "until"; readonly method: string }
  | { readonly do: "until-cancelled" }
  | { readonly do: "report" }
  | { readonly do: "never" }
  | { readonly do: "disconnect" }

/**
 * What a peer does about each method. A method that is not listed is answered with -32601.
 *
 * @category models
 * @since 0.1.0
 */
export interface Script {
  readonly [method: string]: ReadonlyArray<Step>
}

/**
 * What a peer has received, in order, and the ids of the requests that were cancelled or abandoned.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly received: ReadonlyArray<{ readonly method: string; readonly params?: Json.JsonObject }>
  readonly cancelled: ReadonlyArray<Envelope.RequestId>
}

/**
 * The channel that a peer writes to. `about` is the id of the request that a message belongs to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Channel {
  /** Writes one message, without a line break. */
  readonly write: (text: string, about: Envelope.RequestId) => void
  /** Nothing more is written about a request: its response stream ends here. */
  readonly end: (about: Envelope.RequestId) => void
  /** Breaks the connection off that a request came over. */
  readonly disconnect: (about: Envelope.RequestId) => void
}

/**
 * A running peer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Peer {
  /** Takes one message of the client. */
  readonly receive: (text: string) => void
  /** Tells that nobody listens to the response of a request any more, on channels that can tell. */
  readonly abandon: (id: Envelope.RequestId) => void
}

interface Message {
  readonly id?: Envelope.RequestId
  readonly method?: string
  readonly params?: Json.JsonObject
}

/**
 * Runs a script against a channel.
 *
 * @category constructors
 * @since 0.1.0
 */
export const run = (script: Script, channel: Channel): Peer => {
  const received: Array<Message & { readonly method: string }> = []
  const cancelled: Array<Envelope.RequestId> = []
  let waiting: Array<{ readonly isOver: () => boolean; readonly proceed: () => void }> = []

  const cancel = (id: Envelope.RequestId): void => {
    if (!cancelled.includes(id)) cancelled.push(id)
  }

  const proceed = (): void => {
    const over = waiting.filter(({ isOver }) => isOver())
    waiting = waiting.filter((entry) => !over.includes(entry))
    for (const entry of over) entry.proceed()
  }

  const perform = (id: Envelope.RequestId, params: Json.JsonObject, steps: ReadonlyArray<Step>): void => {
    const respond = (body: Json.JsonObject): void => channel.write(JSON.stringify({ jsonrpc: "2.0", id, ...body }), id)
    const notify = (method: string, params: Json.JsonObject): void =>
      channel.write(JSON.stringify({ jsonrpc: "2.0", method, params }), id)
    for (let index = 0; index < steps.length; index++) {
      const step = steps[index]
      if (step === undefined) break
      const wait = (isOver: () => boolean): boolean => {
        if (isOver()) return false
        waiting.push({ isOver, proceed: () => perform(id, params, steps.slice(index + 1)) })
        return true
      }
      switch (step.do) {
        case "echo":
          respond({ result: params })
          break
        case "result":
          respond({ result: step.result })
          break
        case "error":
          respond({ error: { code: step.code, message: step.message, data: step.data } })
          break
        case "large":
          respond({ result: { text: "x".repeat(step.bytes) } })
          break
        case "progress":
          notify("notifications/progress", { progressToken: id, progress: step.progress })
          break
        case "notify":
          notify(step.method, step.params)
          break
        case "text":
          channel.write(step.text.replaceAll("\"$id\"", JSON.stringify(id)), id)
          break
        case "until":
          if (wait(() => received.some(({ method }) => method === step.method))) return
          break
        case "until-cancelled":
          if (wait(() => cancelled.length > 0)) return
          break
        case "report":
          respond({ result: { received: received.map(({ method, params }) => ({ method, params })), cancelled } })
          break
        case "never":
          return
        case "disconnect":
          channel.disconnect(id)
          return
      }
    }
    channel.end(id)
  }

  return {
    receive: (text) => {
      const message: Message = JSON.parse(text)
      const { id, method, params = {} } = message
      if (method === undefined) return
      received.push({ method, params })
      if (method === "notifications/cancelled") cancel(params["requestId"] as Envelope.RequestId)
      if (id !== undefined) {
        const steps = Object.hasOwn(script, method) ? script[method] : undefined
        perform(id, params, steps ?? [{ do: "error", code: -32601, message: `Method not found: ${method}` }])
      }
      proceed()
    },
    abandon: (id) => {
      cancel(id)
      proceed()
    }
  }
}
