import { assert, describe } from "@effect/vitest"
import { Authorize, OAuth, TokenStore } from "@mcp-effect/auth"
import { McpClient } from "@mcp-effect/client"
import { verifiesLive } from "@mcp-effect/conformance/Verifies"
import { Connect, NodeHttp, NodeOAuth } from "@mcp-effect/node"
import { StreamableHttpTransport } from "@mcp-effect/transport"
import { Clock, Context, Deferred, Effect, Layer, type Scope } from "effect"
import { HttpClient } from "effect/http"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { signIn } from "../src/auth/Person.ts"
import * as SteppedClock from "../src/auth/SteppedClock.ts"
import * as AuthorizationServer from "../src/servers/AuthorizationServer.ts"
import * as ProtectedServer from "../src/servers/ProtectedServer.ts"

const timeoutMillis = 120_000

const hour = 3_600

/** A protected server, and somebody who signs in as often as asked. */
const start = Effect.gen(function*() {
  const authorizationServer = yield* AuthorizationServer.start({ accessTokenSeconds: hour })
  const server = yield* ProtectedServer.start(authorizationServer)
  const signIns: Array<URL> = []
  const authorize = (before: Effect.Effect<void> = Effect.void) =>
    Authorize.layer({
      redirectUri: "http://127.0.0.1/callback",
      authorize: ({ redirectUri, url }) => {
        signIns.push(url)
        return Effect.andThen(before, signIn(url, redirectUri, { name: "ada", choice: "allow" }))
      }
    })
  return { authorizationServer, server, signIns, authorize }
})

const grants = ({ tokenRequests }: AuthorizationServer.AuthorizationServer) =>
  tokenRequests.map(({ error, grantType }) => error ?? grantType)

describe("requests that meet without a good token", () => {
  verifiesLive(
    ["PAIN-64", "PAIN-67", "OAT-03"],
    "five calls with a token that ran out: one refresh, five successes, and nobody is asked",
    () =>
      Effect.gen(function*() {
        const { authorizationServer, authorize, server, signIns } = yield* start
        const time = SteppedClock.make(yield* Clock.Clock, hour * 1000)
        const onTime = Effect.provideService(Clock.Clock, time.clock)
        const oauth = { authorize: authorize(), store: TokenStore.layerMemory, dynamicRegistration: true }
        const client = yield* onTime(Connect.connect(server.url, { oauth }))
        for (let round = 1; round <= 3; round++) {
          time.step()
          const calls = Array.from({ length: 5 }, () => onTime(client.callTool("whoami", {})))
          const results = yield* Effect.all(calls, { concurrency: "unbounded" })
          assert.deepStrictEqual(results.map(({ isError }) => isError), Array.from({ length: 5 }, () => undefined))
          assert.deepStrictEqual(grants(authorizationServer), [
            "authorization_code",
            ...Array.from({ length: round }, () => "refresh_token")
          ])
        }
        assert.lengthOf(signIns, 1)
        // Only the very first request went without a token, and none with one that was known to have run out.
        assert.deepStrictEqual(server.calls.filter(({ status }) => status === 401).map(({ scheme }) => scheme), [
          undefined
        ])
      }),
    timeoutMillis
  )

  verifiesLive(
    ["PAIN-66", "OAZ-13"],
    "four refusals at once: one person is sent to one URL, and all four go on",
    () =>
      Effect.gen(function*() {
        const { authorizationServer, authorize, server, signIns } = yield* start
        const refusedFour = yield* Deferred.make<void>()
        let refused = 0
        const counting = Layer.effect(
          HttpClient.HttpClient,
          Effect.map(
            HttpClient.HttpClient,
            HttpClient.tap(({ status }) =>
              status === 401 && ++refused === 4 ? Deferred.succeed(refusedFour, undefined) : Effect.void
            )
          )
        )
        const http = OAuth.layer({ dynamicRegistration: true }).pipe(
          // Nobody signs in before all four wait for it.
          Layer.provide(authorize(Deferred.await(refusedFour))),
          Layer.provide(counting),
          Layer.provide(NodeHttp.layer())
        )
        const client = Context.get(yield* Layer.build(http), HttpClient.HttpClient)
        const connect = Layer.build(Layer.fresh(
          McpClient.layer().pipe(
            Layer.provide(StreamableHttpTransport.layer({ url: server.url })),
            Layer.provide(Layer.succeed(HttpClient.HttpClient, client))
          )
        ))
        const clients = yield* Effect.all(Array.from({ length: 4 }, () => connect), { concurrency: "unbounded" })
        assert.lengthOf(signIns, 1)
        assert.deepStrictEqual(grants(authorizationServer), ["authorization_code"])
        for (const context of clients) {
          assert.isUndefined((yield* Context.get(context, McpClient.McpClient).callTool("whoami", {})).isError)
        }
        assert.strictEqual(refused, 4)
      }),
    timeoutMillis
  )

  verifiesLive(
    ["OAS-03", "OAS-04", "OAS-08"],
    "a tool that needs another scope: the person consents to both, and the call goes on",
    () =>
      Effect.gen(function*() {
        const { authorizationServer, authorize, server, signIns } = yield* start
        const oauth = { authorize: authorize(), store: TokenStore.layerMemory, dynamicRegistration: true }
        const client = yield* Connect.connect(server.url, { oauth })
        const scopes = () => signIns.map(({ searchParams }) => searchParams.get("scope"))
        assert.deepStrictEqual(scopes(), ["read offline_access"])
        assert.isUndefined((yield* client.callTool("write", {})).isError)
        assert.deepStrictEqual(scopes(), ["read offline_access", "read write offline_access"])
        assert.isUndefined((yield* client.callTool("whoami", {})).isError)
        assert.deepStrictEqual(grants(authorizationServer), ["authorization_code", "authorization_code"])
        assert.lengthOf(server.calls.filter(({ status }) => status === 403), 1)
      }),
    timeoutMillis
  )
})

interface Caller {
  readonly next: Effect.Effect<string>
  /** Calls an hour later, and gives what came of it. */
  readonly call: Effect.Effect<string>
}

/** A process of its own that calls when it is told to. */
const startCaller = (url: string, file: string): Effect.Effect<Caller, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const program = path.resolve(import.meta.dirname, "../src/auth/Caller.ts")
      const child = spawn(process.execPath, ["--conditions=@mcp-effect/source", program, url, file], {
        stdio: ["pipe", "pipe", "inherit"]
      })
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const next = Effect.promise(async () => String((await lines.next()).value))
      const call = Effect.andThen(Effect.sync(() => void child.stdin.write("call\n")), next)
      return { child, next, call }
    }),
    ({ child }) =>
      Effect.promise(async () => {
        const exited = once(child, "exit")
        child.stdin.end()
        await exited
      })
  )

describe("processes that share a token file", () => {
  verifiesLive(
    ["PAIN-65", "OAT-12"],
    "refresh once an hour between them, and both stay signed in",
    () =>
      Effect.gen(function*() {
        const { authorizationServer, authorize, server, signIns } = yield* start
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "shared-"))),
          (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true }))
        )
        const file = path.join(folder, "tokens.json")
        yield* Effect.scoped(Connect.connect(server.url, {
          oauth: { authorize: authorize(), store: NodeOAuth.layerTokenStore(file), dynamicRegistration: true }
        }))
        const callers = yield* Effect.all([startCaller(server.url, file), startCaller(server.url, file)])
        const both = (what: (caller: Caller) => Effect.Effect<string>) =>
          Effect.all(callers.map(what), { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* both(({ next }) => next), ["ready", "ready"])
        for (let round = 1; round <= 4; round++) {
          assert.deepStrictEqual(yield* both(({ call }) => call), ["called", "called"])
        }
        // A refresh token that two had used would have ended both (RFC 9700 section 4.14).
        assert.deepStrictEqual(grants(authorizationServer), [
          "authorization_code",
          ...Array.from({ length: 4 }, () => "refresh_token")
        ])
        assert.lengthOf(signIns, 1)
        assert.deepStrictEqual(fs.readdirSync(folder), ["tokens.json"])
      }),
    timeoutMillis
  )
})
