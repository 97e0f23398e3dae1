/**
 * A connection to a server at a URL where every message is a POST of its own: what Streamable HTTP and plain HTTP have
 * in common.
 */
import { McpError, type Revision } from "@mcp-effect/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as Scope from "effect/Scope"
import { type Connection, Transport } from "../Transport.ts"
import { AuthorizationDigest } from "./AuthorizationDigest.ts"
import { Draining } from "./Draining.ts"
import * as HttpEndpoint from "./HttpEndpoint.ts"
import { HttpExchange } from "./HttpExchange.ts"
import * as HttpHeaders from "./HttpHeaders.ts"
import * as HttpOptions from "./HttpOptions.ts"
import type { HttpPeer } from "./HttpPeer.ts"
import * as HttpSend from "./HttpSend.ts"
import { HttpSession } from "./HttpSession.ts"
import * as StandbyStream from "./StandbyStream.ts"

export const make = (
  kind: "streamable-http" | "http",
  options: HttpOptions.Options
): Effect.Effect<Transport["Service"], never, HttpClient.HttpClient> =>
  Effect.map(Effect.context<HttpClient.HttpClient>(), (context) => {
    const client = Context.get(context, HttpClient.HttpClient)
    const target = HttpOptions.targetOf(options)
    const isStreamable = kind === "streamable-http"

    const connect: Transport["Service"]["connect"] = Effect.fnUntraced(function*(inbound) {
      const endpoint = yield* HttpOptions.check(options, target)
      const scope = yield* Scope.Scope
      const own = Context.merge(context, yield* Effect.context<never>())
      const overrides = HttpOptions.overridesOf(own)
      const services = Context.merge(own, overrides)
      const ended = yield* Deferred.make<McpError.McpError>()

      const peer: HttpPeer = {
        client,
        endpoint,
        headers: HttpHeaders.make(endpoint),
        session: new HttpSession(),
        inbound,
        isStreamable,
        maxMessageBytes: options.maxMessageBytes ?? HttpOptions.defaultMaxMessageBytes,
        maxEventBytes: options.maxEventBytes ?? HttpOptions.defaultMaxEventBytes,
        digest: new AuthorizationDigest(),
        draining: new Draining((effect) => {
          Fiber.runIn(Effect.runForkWith(services)(effect), scope)
        }),
        scope,
        overrides,
        context: services
      }
      // Finalizers run in reverse: what is under way ends first, then the session.
      yield* Scope.addFinalizer(
        scope,
        Deferred.succeed(
          ended,
          McpError.make(new McpError.ConnectionClosed({ target, local: true }), "unknown", { server: target })
        )
      )
      yield* Scope.addFinalizer(scope, HttpSend.endSession(peer))

      return {
        open: (outgoing, exchange, context) =>
          new HttpExchange(peer, outgoing, exchange, (outgoing, reason) => HttpSend.cancelled(peer, outgoing, reason))
            .start(context),
        send: (message, revision) => HttpSend.send(peer, message, revision),
        established: (revision: Revision.Facts) =>
          Effect.sync(() => {
            peer.session.revision = revision
          }),
        standby: isStreamable ? (exchange, context) => StandbyStream.open(peer, exchange, context) : undefined,
        closed: Deferred.await(ended)
      } satisfies Connection
    })

    return Transport.of({
      kind,
      target,
      fingerprint: HttpEndpoint.fingerprintOf(kind, options.url, options.headers ?? {}),
      connect
    })
  })
