/**
 * Names the requirement that a test proves. The ids stand in `requirements.json`; `coverage.md` is made from both.
 */
import { it } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

type Ids = string | ReadonlyArray<string>

const title = (ids: Ids, text: string): string => `[${typeof ids === "string" ? ids : ids.join(" ")}] ${text}`

/** A test that runs an Effect under `TestClock`. */
export const verifies = <A, E>(
  ids: Ids,
  text: string,
  body: () => Effect.Effect<A, E, Scope.Scope>,
  timeoutMillis?: number
): void => it.effect(title(ids, text), body, timeoutMillis)

/** A test that runs an Effect on the real clock: sockets and processes. */
export const verifiesLive = <A, E>(
  ids: Ids,
  text: string,
  body: () => Effect.Effect<A, E, Scope.Scope>,
  timeoutMillis?: number
): void => it.live(title(ids, text), body, timeoutMillis)

/** A test of pure code. */
export const verifiesPure = (
  ids: Ids,
  text: string,
  body: () => void | Promise<void>,
  timeoutMillis?: number
): void => it(title(ids, text), body, timeoutMillis)
