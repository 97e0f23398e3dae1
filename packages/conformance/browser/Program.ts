/**
 * A program at the desk of a person: calls a tool of a server, for which the browser of this machine opens, and prints what
 * came of it as JSON. Arguments: the URL of a `ProtectedServer`, the token file.
 */
import { Connect, NodeOAuth } from "@mcp-effect/node"
import * as Effect from "effect/Effect"

const [url = "", file = ""] = process.argv.slice(2)

const program = Effect.gen(function*() {
  const oauth = { store: NodeOAuth.layerTokenStore(file), dynamicRegistration: true }
  const client = yield* Connect.connect(url, { oauth })
  return (yield* client.callTool("whoami", {})).content
}).pipe(
  Effect.scoped,
  Effect.catch(({ reason }) => Effect.succeed({ ...reason }))
)

process.stdout.write(`${JSON.stringify(await Effect.runPromise(program))}\n`)
