/** What deciding about a span costs a request while no tracer is installed. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { median } from "../Median.ts"

export interface SpanInput {
  readonly operations: number
}

export interface SpanCost {
  readonly microsEach: number
}

type WithSpan = (
  effect: Effect.Effect<void>,
  fiber: Fiber.Fiber<unknown, unknown>,
  name: string,
  attributes: () => Record<string, unknown>
) => Effect.Effect<void>

const rounds = 9

export const spanCost = async ({ operations }: SpanInput): Promise<SpanCost> => {
  // The function is internal to the client, so it is loaded from the built file, by path.
  const { withSpan }: { readonly withSpan: WithSpan } = await import(
    new URL("../../../client/dist/internal/Telemetry.js", import.meta.url).href
  )
  const timed = async (one: Effect.Effect<void>): Promise<number> => {
    const all = Effect.gen(function*() {
      for (let index = 0; index < operations; index++) yield* one
    })
    const start = performance.now()
    await Effect.runPromise(all)
    return (performance.now() - start) * 1_000 / operations
  }
  const without = Effect.withFiber(() => Effect.void)
  const attributes = (): Record<string, unknown> => ({ "mcp.method.name": "tools/call", "gen_ai.tool.name": "echo" })
  const within = Effect.withFiber((fiber) => withSpan(Effect.void, fiber, "tools/call echo", attributes))
  const differences: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const base = await timed(without)
    differences.push(await timed(within) - base)
  }
  return { microsEach: Math.max(0, median(differences)) }
}
