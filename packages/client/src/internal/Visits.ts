/**
 * Pages that the user was asked to visit, until their server tells that the visit is over (2025-11-25
 * client/elicitation, Completion Notifications for URL Mode Elicitation).
 */
import type { Envelope } from "@mcp-effect/protocol"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

export class Visits {
  private readonly followers = new Set<(elicitationId: string) => void>()

  /**
   * Listens from before the user is asked, since the visit may be over before the answer is given. `over` waits until all
   * of these visits are, for ever where the server does not tell.
   */
  follow<A, E>(
    ids: ReadonlyArray<string>,
    use: (over: Effect.Effect<void>) => Effect.Effect<A, E>
  ): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const left = new Set(ids)
      const latch = Latch.makeUnsafe(false)
      const follower = (elicitationId: string): void => {
        if (left.delete(elicitationId) && left.size === 0) latch.openUnsafe()
      }
      this.followers.add(follower)
      return Effect.ensuring(use(latch.await), Effect.sync(() => this.followers.delete(follower)))
    })
  }

  /** "Clients MUST ignore notifications referencing unknown or already-completed IDs." */
  onNotification({ method, params }: Envelope.Notification): void {
    const elicitationId = params?.["elicitationId"]
    if (method !== "notifications/elicitation/complete" || typeof elicitationId !== "string") return
    for (const follower of this.followers) follower(elicitationId)
  }
}
