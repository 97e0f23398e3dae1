/**
 * A connection over Streamable HTTP as a test drives it, without a session above it.
 */
import { NodeHttp } from "@mcp-effect/node"
import { type Diagnostic, type Envelope, type McpError, Revision } from "@mcp-effect/protocol"
import { StreamableHttpTransport, type Transport } from "@mcp-effect/transport"
import { Context, Deferred, Effect, Layer, type Scope } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"

export const dispatch = NodeHttp.layer({ proxy: "none" })

/** The HTTP clients that the transport has to work with. */
export const httpClients: ReadonlyArray<readonly [name: string, layer: Layer.Layer<HttpClient.HttpClient, unknown>]> = [
  ["dispatch", dispatch],
  ["fetch", FetchHttpClient.layer]
]

export const modern = Revision.latestModern
export const legacy = Revision.latestLegacy

export type Settled =
  | { readonly _tag: "Response"; readonly response: Envelope.Response; readonly evidence: Transport.Evidence }
  | { readonly _tag: "Failure"; readonly error: McpError.McpError }

export interface Call {
  readonly cancel: Transport.Cancel
  readonly messages: ReadonlyArray<Envelope.Request | Envelope.Notification>
  /** The grace of every sign of life. */
  readonly activity: ReadonlyArray<number>
  readonly settlements: ReadonlyArray<Settled>
  readonly settled: Effect.Effect<Settled>
}

export interface RequestOptions {
  readonly id?: Envelope.RequestId
  readonly revision?: Revision.Facts
  readonly params?: Record<string, unknown>
  readonly routing?: Transport.Routing
  readonly onAbandon?: Transport.Outgoing["onAbandon"]
  readonly onMessage?: (message: Envelope.Request | Envelope.Notification) => void
  readonly onActivity?: (graceMillis: number) => void
}

export interface TestClient {
  readonly connection: Transport.Connection
  readonly inbound: ReadonlyArray<Envelope.Request | Envelope.Notification>
  readonly diagnostics: ReadonlyArray<Diagnostic.Diagnostic>
  readonly open: (method: string, options?: RequestOptions) => Call
  /** Waits for the response of a request; a failure is a defect. */
  readonly response: (
    method: string,
    options?: RequestOptions
  ) => Effect.Effect<Settled & { readonly _tag: "Response" }>
  /** Waits for the failure of a request; a response is a defect. */
  readonly failure: (method: string, options?: RequestOptions) => Effect.Effect<McpError.McpError>
}

interface ClientOptions {
  readonly httpClient?: Layer.Layer<HttpClient.HttpClient, unknown> | undefined
  /** The revision of requests that name none. */
  readonly revision?: Revision.Facts | undefined
}

export type Options = Omit<StreamableHttpTransport.Options, "url"> & ClientOptions

export const connect = (
  url: string | URL,
  { httpClient, revision, ...options }: Options = {}
): Effect.Effect<TestClient, unknown, Scope.Scope> =>
  connectBy(StreamableHttpTransport.make({ url, ...options }), { httpClient, revision })

/** Connects by any transport. */
export const connectBy = (
  make: Effect.Effect<Transport.Transport["Service"], never, HttpClient.HttpClient>,
  { httpClient = dispatch, revision: defaultRevision = modern }: ClientOptions = {}
): Effect.Effect<TestClient, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const inbound: Array<Envelope.Request | Envelope.Notification> = []
    const diagnostics: Array<Diagnostic.Diagnostic> = []
    const services = yield* Layer.build(httpClient)
    const client = Context.get(services, HttpClient.HttpClient)
    const transport = yield* Effect.provideService(make, HttpClient.HttpClient, client)
    const connection = yield* transport.connect({
      onMessage: (message) => {
        inbound.push(message)
      },
      onDiagnostic: (diagnostic) => {
        diagnostics.push(diagnostic)
      }
    })
    const context = yield* Effect.context<never>()
    let nextId = 1

    const open: TestClient["open"] = (method, request = {}) => {
      const { id = nextId++, onAbandon = "cancel", params = {}, revision = defaultRevision } = request
      const messages: Array<Envelope.Request | Envelope.Notification> = []
      const activity: Array<number> = []
      const settlements: Array<Settled> = []
      const first = Deferred.makeUnsafe<Settled>()
      const settle = (settled: Settled): void => {
        settlements.push(settled)
        Deferred.doneUnsafe(first, Effect.succeed(settled))
      }
      const cancel = connection.open(
        {
          id,
          method,
          text: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
          revision,
          routing: request.routing,
          onAbandon
        },
        {
          onMessage: (message) => {
            messages.push(message)
            request.onMessage?.(message)
          },
          onActivity: (graceMillis) => {
            activity.push(graceMillis)
            request.onActivity?.(graceMillis)
          },
          onResponse: (response, evidence) => settle({ _tag: "Response", response, evidence }),
          onFailure: (error) => settle({ _tag: "Failure", error })
        },
        context
      )
      // Who waits goes on within the callback; let the reader finish first.
      const settled = Effect.tap(Deferred.await(first), () => Effect.yieldNow)
      return { cancel, messages, activity, settlements, settled }
    }

    return {
      connection,
      inbound,
      diagnostics,
      open,
      response: (method, request) =>
        Effect.flatMap(
          Effect.suspend(() => open(method, request).settled),
          (settled) => settled._tag === "Response" ? Effect.succeed(settled) : Effect.die(settled.error)
        ),
      failure: (method, request) =>
        Effect.flatMap(
          Effect.suspend(() => open(method, request).settled),
          (settled) => settled._tag === "Failure" ? Effect.succeed(settled.error) : Effect.die(settled.response)
        )
    }
  })

/** The result of a response, `undefined` if it has none. */
export const resultOf = ({ response }: { readonly response: Envelope.Response }): unknown =>
  response.outcome._tag === "Result" ? response.outcome.result : undefined
