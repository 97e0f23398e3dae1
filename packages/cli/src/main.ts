import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Accounts from "./Accounts.ts"
import * as Invocation from "./Invocation.ts"
import * as Output from "./Output.ts"
import * as Person from "./Person.ts"
import * as Program from "./Program.ts"
import * as Server from "./Server.ts"
import * as Signals from "./Signals.ts"

const invocation = Invocation.read(process.argv.slice(2))

Program.run(invocation).pipe(
  Effect.provide(
    Layer.mergeAll(NodeServices.layer, Server.layer, Accounts.layer, Person.layer, Output.layer(invocation.format))
  ),
  Signals.runMain({ disableErrorReporting: true })
)
