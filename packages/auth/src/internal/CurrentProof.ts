/**
 * The proof that the layers around a client agreed on.
 */
import * as Context from "effect/Context"
import * as TokenEndpoint from "../TokenEndpoint.ts"

/** @default a bearer token, which needs none */
export const CurrentProof: Context.Reference<TokenEndpoint.Proof> = Context.Reference<TokenEndpoint.Proof>(
  "@mcp-effect/auth/CurrentProof",
  { defaultValue: () => TokenEndpoint.bearer }
)
