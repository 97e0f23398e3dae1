/**
 * Tells a request that a person is acting, so that the time it takes does not count as silence of the server.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/**
 * `hold()` pauses the idle timeout of the request it belongs to until the function it returns is called.
 *
 * @category models
 * @since 0.1.0
 */
export interface Activity {
  readonly hold: () => () => void
}

/**
 * The activity of the request that the current effect serves. A transport provides it around an HTTP exchange; an
 * authorization layer holds it while a person signs in. By default nothing is paused.
 *
 * @category services
 * @since 0.1.0
 */
export const Activity: Context.Reference<Activity> = Context.Reference<Activity>("@mcp-effect/protocol/Activity", {
  defaultValue: () => ({ hold: () => () => {} })
})
