/**
 * A program that shares a token file with others and cannot ask anybody. For each line on standard input its clock goes an
 * hour ahead, it calls `whoami`, and says what came of it. Arguments: the URL of a `ProtectedServer`, the token file.
 */
import { Authorize } from "@mcp-effect/auth"
import { Connect, NodeOAuth } from "@mcp-effect/node"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { createInterface } from "node:readline"
import * as SteppedClock from "./SteppedClock.ts"

const [url = "", file = ""] = process.argv.slice(2)

const program = Effect.gen(function*() {
  const time = SteppedClock.make(yield* Clock.Clock, 3_600_000)
  const client = yield* Effect.provideService(
    Connect.connect(url, { oauth: { store: NodeOAuth.layerTokenStore(file), authorize: Authorize.layerNone } }),
    Clock.Clock,
    time.clock
  )
  const call = Effect.match(client.callTool("whoami", {}), {
    onSuccess: () => "called",
    onFailure: ({ reason }) => reason._tag
  }).pipe(Effect.provideService(Clock.Clock, time.clock))
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  process.stdout.write("ready\n")
  while ((yield* Effect.promise(() => lines.next())).done !== true) {
    time.step()
    process.stdout.write(`${yield* call}\n`)
  }
})

Effect.runPromise(Effect.scoped(program)).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`)
  process.exitCode = 1
})
